"""Pictures of fits, as axes of matplotlib, which has to be installed.

Examples
--------
>>> import matplotlib
>>> matplotlib.use("Agg")
>>> from organza import WordVectors, plots
>>> lines = ["bread and butter", "salt and pepper"] * 1000
>>> model = WordVectors(vocabulary=["bread", "butter", "salt", "pepper"]).fit(lines)
>>> plots.budget(model).get_xlabel()
'epsilon'
"""

from __future__ import annotations

from typing import Any

import numpy as np

from organza._estimator import PrivateEstimator
from organza._recommender import Recommender
from organza._words import WordVectors
from organza.accounting import Event, epsilon
from organza.exceptions import RunError

__all__ = ["budget", "learning_curve", "map_of", "spectrum"]


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.subplots()[1]


def budget(model: PrivateEstimator, ax: Any = None) -> Any:
    """Draw what the budget of a fit was spent on, each by what it would cost alone.

    Costs do not add up: together they cost what the certificate says, which is drawn as a line.
    """
    ledger = model.ledger_
    axes = _axes(ax)
    spent: dict[str, list[Event]] = {}
    for charge in ledger:
        spent.setdefault(charge.purpose, []).append(charge.event.repeat(charge.steps))
    names = list(spent)
    costs = [
        epsilon(events, ledger.delta, neighbouring=ledger.neighbouring) for events in spent.values()
    ]
    axes.barh(names[::-1], costs[::-1])
    axes.axvline(model.certificate_["epsilon"], linestyle="--", color="black", label="all together")
    axes.set_xlabel("epsilon")
    axes.set_title("What the budget was spent on")
    axes.legend()
    return axes


def learning_curve(model: PrivateEstimator, ax: Any = None) -> Any:
    """Draw the losses of a fit by steps. *Not private.*"""
    axes = _axes(ax)
    points = model._fitted().metrics
    if len(points) < 2:
        raise RunError("there is no learning curve: this fit takes no steps")
    steps = [point["step"] for point in points]
    for name in ("train", "validation", "test"):
        values = [point.get(name) for point in points]
        if any(value is not None for value in values):
            axes.plot(steps, [np.nan if it is None else it for it in values], label=name)
    axes.set_xlabel("step")
    axes.set_ylabel("loss (not private)")
    axes.legend()
    return axes


def spectrum(model: Recommender, ax: Any = None) -> Any:
    """Draw the eigenvalues that stand out of the noise of a recommender."""
    axes = _axes(ax)
    found = model.spectrum()
    if found is None:
        raise RunError("this method chooses nothing by a spectrum")
    values, edge = found
    axes.plot(np.arange(1, len(values) + 1), values, marker="o", label="what stands out")
    axes.axhline(edge, linestyle="--", color="black", label="edge of the noise")
    axes.set_xlabel("number")
    axes.set_ylabel("eigenvalue")
    axes.legend()
    return axes


def map_of(model: WordVectors | Recommender, n: int = 50, ax: Any = None) -> Any:
    """Draw the first `n` words or items on a plane, such that those that are alike stand near each other."""
    axes = _axes(ax)
    if isinstance(model, WordVectors):
        model._fitted()
        names: list[Any] = model.words_[:n]
        places = model._model.plane(n)
    else:
        model._fitted()
        names = model.items_[:n]
        vectors = np.asarray(model.item_vectors_[:n], dtype=np.float64)
        vectors = vectors - vectors.mean(axis=0)
        directions = np.linalg.svd(vectors, full_matrices=False)[2]
        places = vectors @ directions[:2].T
    axes.scatter(places[:, 0], places[:, 1], s=6)
    for name, (x, y) in zip(names, places, strict=False):
        axes.annotate(str(name), (x, y), fontsize=8)
    axes.set_xticks([])
    axes.set_yticks([])
    return axes
