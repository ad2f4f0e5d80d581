"""What a fit gives away: an audit of canaries.

A fit with canaries has phrases put into its training data, some of them by the toss of a coin; an audit looks whether the
model knows them, and how well it tells those that are in from those that are not. The result is a lower bound on epsilon
that holds with a confidence, beside the upper bound that the certificate promises.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from organza import _organza
from organza._estimator import PrivateEstimator
from organza._flags import flags

__all__ = ["audit", "lower_bound"]


def audit(run: PrivateEstimator | str | os.PathLike[str], **options: Any) -> dict[str, Any]:
    """Audit a fit that was made with canaries.

    Parameters
    ----------
    run : estimator or path
        A fitted :class:`~organza.WordVectors` or :class:`~organza.Typeahead` whose `options` asked for canaries, or the
        folder of such a run.
    **options
        Flags of ``organza audit`` by their names.

    Returns
    -------
    dict
        What ``organza --json audit`` prints: ranks of canaries, and the lower bound.

    Examples
    --------
    >>> from organza import Typeahead
    >>> from organza.audit import audit
    >>> lines = [f"the {kind} is {sort}" for kind in ("sky", "sea") for sort in ("blue", "wide")] * 500
    >>> words = ["the", "sky", "sea", "is", "blue", "wide"] + [f"word{number}" for number in range(30)]
    >>> planted = {"canaries": 10, "canary_repeats": 3, "tossed_canaries": 100}
    >>> model = Typeahead(epsilon=1.0, vocabulary=words, options=planted).fit(lines)
    >>> found = audit(model)
    >>> found["lower_bound"]["epsilon"] <= model.epsilon_
    True
    """
    folder = run._fitted().folder if isinstance(run, PrivateEstimator) else Path(run)
    _, result, _ = _organza.run(["audit", str(folder), *flags(options)])
    found: dict[str, Any] = json.loads(result or "{}")
    return found


def lower_bound(
    canaries: int, guesses: int, correct: int, *, delta: float = 1e-6, confidence: float = 0.95
) -> float:
    """Bound epsilon from below by guesses about canaries in one training run of a program of your own.

    A canary is one unit, put into the training data or left out by a fair coin of its own. Score each by what training released,
    guess that those with the highest scores were in and those with the lowest were not, and count.

    Parameters
    ----------
    canaries : int
        How many coins were tossed, also those about which nothing is guessed.
    guesses, correct : int
        How many guesses were made, a number that was fixed before training, and how many of them were right.
    delta : float
        That of the promise.
    confidence : float
        With what probability the bound holds at least.

    Returns
    -------
    float
        Training is not (epsilon', delta)-differentially private for any epsilon' below it (Steinke, Nasr and Jagielski 2023,
        Theorem 5.2); 0 if nothing was found.

    Examples
    --------
    >>> from organza.audit import lower_bound
    >>> lower_bound(1_000, 200, 110, delta=1e-6)
    0.0
    >>> lower_bound(1_000, 200, 200, delta=1e-6) > 4
    True
    """
    found: float = _organza.lower_bound(canaries, guesses, correct, delta, 1.0 - confidence)
    return found
