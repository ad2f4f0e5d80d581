"""Recommendations of organza and of implicit on MovieLens-100K, side by side.

Run it by ``python examples/compare_implicit.py``; it needs ``pip install implicit scipy pandas``.
Both learn from 743 persons. Of 200 others a fifth of the films is hidden, and has to be found among
the first 20 by the rest. Only organza is private, and there only in the rows with an epsilon; the
seeds, which make the figures repeatable, take the promise away here. Nothing is tuned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np
from public_data import movielens

import organza

HELD_OUT = 200
SEEDS = 5
FOUND = 20


def parted(persons: Any) -> tuple[Any, list[set[int]]]:
    """What is known of each person, and what is hidden."""
    chance = np.random.default_rng(0)
    known = persons.copy()
    hidden = []
    for start, end in zip(persons.indptr[:-1], persons.indptr[1:], strict=True):
        chosen = chance.permutation(np.arange(start, end))[: (end - start) // 5]
        hidden.append({int(item) for item in persons.indices[chosen]})
        known.data[chosen] = 0
    known.eliminate_zeros()
    return known, hidden


def recall(lists: Any, hidden: list[set[int]]) -> float:
    """What was found of the hidden films, over the most that could be."""
    found = [
        len(items.intersection(row.tolist())) / min(FOUND, len(items))
        for row, items in zip(lists, hidden, strict=True)
        if items
    ]
    return float(np.mean(found))


Maker = Callable[[int], tuple[Callable[[], Any], Callable[[], Any]]]


def main() -> None:
    # As implicit asks for: its own threads and those of linear algebra get into each other's way.
    import_module("threadpoolctl").threadpool_limits(1, "blas")
    warnings.simplefilter("ignore")
    als = import_module("implicit.als").AlternatingLeastSquares
    neighbours = import_module("implicit.nearest_neighbours").CosineRecommender
    matrix, _ = movielens()
    train, (known, hidden) = matrix[HELD_OUT:], parted(matrix[:HELD_OUT])
    old_train, old_known = (import_module("scipy.sparse").csr_matrix(it) for it in (train, known))

    def ours(**settings: Any) -> Maker:
        def make(seed: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
            model = organza.Recommender(random_state=seed, progress=False, **settings)
            return lambda: model.fit(train), lambda: model.recommend_all(known, FOUND)

        return make

    def theirs(kind: Callable[[int], Any]) -> Maker:
        def make(seed: int) -> tuple[Callable[[], Any], Callable[[], Any]]:
            model = kind(seed)
            return (
                lambda: model.fit(old_train, show_progress=False),
                lambda: model.recommend(
                    np.arange(HELD_OUT), old_known, N=FOUND, recalculate_user=True
                )[0],
            )

        return make

    counts = np.asarray(train.sum(axis=0)).ravel()

    def popular() -> Any:
        return (-np.where(known.toarray() > 0, -1, counts)).argsort(axis=1)[:, :FOUND]

    makers: dict[str, Maker] = {
        **{
            f"organza, epsilon {epsilon}": ours(epsilon=epsilon, delta=1e-4)
            for epsilon in (1, 3, 8)
        },
        "organza's EASE, not private": ours(method="ease"),
        "implicit's ALS, 64 factors, not private": theirs(
            lambda seed: als(factors=64, random_state=seed)
        ),
        "implicit's ALS, 16 factors, not private": theirs(
            lambda seed: als(factors=16, random_state=seed)
        ),
        "implicit's cosines, not private": theirs(lambda seed: neighbours(K=100)),
        "what is popular, not private": lambda seed: (lambda: None, popular),
    }
    print(f"| MovieLens-100K | Recall@{FOUND} | seconds to fit | to recommend to {HELD_OUT} |")
    print("|---|---|---|---|")
    for name, make in makers.items():
        recalls, fits, lists = [], [], []
        for seed in range(SEEDS):
            fit, recommend = make(seed)
            start = perf_counter()
            fit()
            fits.append(perf_counter() - start)
            start = perf_counter()
            found = recommend()
            lists.append(perf_counter() - start)
            recalls.append(recall(found, hidden))
        mean = np.mean(recalls)
        print(f"| {name} | {mean:.3f} | {np.median(fits):.2f} | {np.median(lists):.3f} |")


if __name__ == "__main__":
    main()
