"""Logistic regression of organza and of diffprivlib on Adult, side by side.

Run it by ``python examples/compare_diffprivlib.py``; it needs
``pip install diffprivlib 'scikit-learn<1.8' pandas``, since diffprivlib 0.6.6 does not run with newer
versions of scikit-learn. Both get the same rows and the same epsilon, and are measured by the area
under the curve on 8,000 persons that neither has seen. How the rows are prepared decides much, so
there are three ways. What they promise is not quite the same: diffprivlib has delta 0, organza 1e-6;
and with its defaults diffprivlib takes the largest norm from the data, of which it warns.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from public_data import adult_rows

import organza

SEEDS = 10
EPSILON = 1.0
#: No scaled row is longer: five numbers up to 1, and seven categories.
BOUND = 3.5


def main() -> None:
    theirs = import_module("diffprivlib.models").LogisticRegression
    area = import_module("sklearn.metrics").roc_auc_score
    plain = import_module("sklearn.linear_model").LogisticRegression
    # Theirs warns of the norm that it takes from the data, scikit-learn of steps that do not converge.
    warnings.showwarning = lambda *_, **__: None

    def ours(**settings: Any) -> Callable[[int], Any]:
        return lambda seed: organza.LogisticRegression(
            epsilon=EPSILON, classes=[0, 1], random_state=seed, **settings
        )

    makers: dict[str, Callable[[int], Any]] = {
        "diffprivlib, its defaults": lambda seed: theirs(epsilon=EPSILON, random_state=seed),
        f"diffprivlib, data_norm={BOUND:g}": lambda seed: theirs(
            epsilon=EPSILON, data_norm=BOUND, random_state=seed
        ),
        "organza, its defaults": ours(),
        f"organza, bound={BOUND:g}": ours(bound=BOUND),
        "scikit-learn, not private": lambda seed: plain(max_iter=200),
    }
    forms, labels = adult_rows()
    order = np.random.default_rng(0).permutation(len(labels))
    test, train = order[:8000], order[8000:]
    print(f"| rows | AUC at epsilon {EPSILON:g}, {SEEDS} seeds | least | median | best | seconds |")
    print("|---|---|---|---|---|---|")
    for form, rows in forms.items():
        for name, make in makers.items():
            areas, seconds = [], []
            for seed in range(SEEDS):
                model = make(seed)
                start = perf_counter()
                model.fit(rows[train], labels[train])
                seconds.append(perf_counter() - start)
                areas.append(area(labels[test], model.predict_proba(rows[test])[:, 1]))
            found = " | ".join(f"{value:.3f}" for value in np.quantile(areas, [0, 0.5, 1]))
            print(f"| {form} | {name} | {found} | {np.median(seconds):.2f} |", flush=True)


if __name__ == "__main__":
    main()
