"""A linear model from counts that are released once. Whatever is done with them afterwards is free.

Two releases, each by :func:`organza.mechanisms.histogram`: what one user adds is scaled down to a public L2 bound, and the noise
is Gaussian in whole numbers, exact in law and not made of floats.

1. *Hashed marginals.* For each bucket of each column, the rows with and without a click. They give a log odds for each bucket,
   shrunk by as much as noise and chance ask for.
2. *Weighted second moments* of a constant, the sum of those log odds, and the 13 numbers: X'WX, X'y and X'p, where p is what the
   marginals predict and W = p (1 - p). From them follows one step of Newton's method for the logistic loss, which brings in the
   numbers and corrects how far the marginals, which know nothing of each other, go.

Both are charged to one ledger, where epsilons and deltas are simply added: that is sound whatever comes next, here a network
whose plan gets the rest from the same ledger. For that network the scores are a fixed offset: a function of what was released
and of the row itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from data import CATEGORIES, NUMBERS, Clicks
from numpy.typing import NDArray
from scipy.sparse import csr_array

from organza.ledger import Budget, Ledger
from organza.mechanisms import histogram

#: The part of the budget of this start that pays for the marginals; the moments get the rest.
SHARE_OF_MARGINALS = 0.8
#: The L2 bounds on what a user adds to the marginals and to the moments, for each row that a user may have. Public.
MARGINALS_BOUND = 2.0
MOMENTS_BOUND = 1.0
#: The deviation of the log odds of a bucket before anything is seen. A guess, not from the data.
PRIOR_DEVIATION = 0.3
#: The sum of the log odds of a row's buckets is kept within this.
LARGEST_SUM = 3.0

_SIZE = 2 + NUMBERS
_UPPER = np.triu_indices(_SIZE)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class OneShot:
    """A linear model: log odds for buckets, and weights for their sum and for numbers. All of it is released."""

    rate: float
    buckets: Array
    weights: Array

    def score(self, data: Clicks) -> torch.Tensor:
        """Give the log odds of a click of each row."""
        begin = _logit(self.rate) + _summed(self.buckets, data)
        return torch.from_numpy((begin + _features(self.buckets, data) @ self.weights).astype(np.float32))


def release(
    data: Clicks, *, buckets: int, rows_per_user: int, epsilon: float, delta: float, budget: Budget | Ledger
) -> OneShot:
    """Release the counts, with each user as a unit, and make the model of them.

    Privacy: both releases are Gaussian mechanisms of a sum over users, of which each has an L2 norm within a bound that is fixed
    beforehand. Together they are (epsilon, delta)-differentially private for a user who is there or not. The second
    depends on the data through the first's result alone, which simple composition allows.

    Parameters
    ----------
    data : Clicks
        The rows of all users.
    buckets : int
        The buckets of each column.
    rows_per_user : int
        The rows that a user usually has, declared public. A user with more is scaled down, not refused.
    epsilon, delta : float
        What both releases cost.
    budget : Budget or Ledger
        What they are paid from.
    """
    labels = data.labels.double().numpy()
    _, users = np.unique(data.users.numpy(), return_inverse=True)

    marginals = histogram(
        _cells_of_users(data, users, CATEGORIES * buckets),
        l2_bound=MARGINALS_BOUND * rows_per_user,
        epsilon=SHARE_OF_MARGINALS * epsilon,
        delta=SHARE_OF_MARGINALS * delta,
        budget=budget,
        purpose="marginals",
    )
    without, with_click = marginals.counts.reshape(2, -1)
    rate = float(np.clip(with_click.sum() / max(marginals.counts.sum(), 1.0), 0.001, 0.999))
    log_odds = _shrunk(without, with_click, rate, marginals.deviation)

    features = _features(log_odds, data)
    said = 1.0 / (1.0 + np.exp(-(_logit(rate) + _summed(log_odds, data))))
    squares = features[:, _UPPER[0]] * features[:, _UPPER[1]] * (said * (1.0 - said))[:, None]
    each = np.hstack([squares, features * labels[:, None], features * said[:, None]])
    moments = histogram(
        np.asarray(_by_user(users) @ each),
        l2_bound=MOMENTS_BOUND * rows_per_user,
        epsilon=(1.0 - SHARE_OF_MARGINALS) * epsilon,
        delta=(1.0 - SHARE_OF_MARGINALS) * delta,
        budget=budget,
        purpose="second moments",
    )
    return OneShot(rate, log_odds, _newton(moments.counts, moments.deviation))


def _cells_of_users(data: Clicks, users: NDArray[np.int64], width: int) -> csr_array:
    """Give the cells that each user adds to: the buckets of rows without a click, then of those with one."""
    ids = data.categories.numpy()
    cells = ids + width * data.labels.numpy().astype(np.int64)[:, None]
    there = ids >= 0
    whose = np.broadcast_to(users[:, None], ids.shape)[there]
    ones = np.ones(len(whose))
    return csr_array((ones, (whose, cells[there])), shape=(int(users.max(initial=-1)) + 1, 2 * width))


def _by_user(users: NDArray[np.int64]) -> csr_array:
    """Give the matrix that sums rows by user."""
    rows = np.arange(len(users))
    return csr_array((np.ones(len(users)), (users, rows)), shape=(int(users.max(initial=-1)) + 1, len(users)))


def _shrunk(without: Array, with_click: Array, rate: float, deviation: float) -> Array:
    """Give the expected log odds of each bucket beyond those of the rate.

    With n rows, v = rate (1 - rate) and a bucket whose log odds are e beyond those of the rate, clicks - rate x n is about n v e, with
    a variance of n v by chance and (1 - rate)^2 + rate^2 times that of a cell by noise; e itself is normal beforehand.
    """
    rows = np.maximum(without + with_click, 0.0)
    variance = rate * (1.0 - rate)
    noise = deviation**2 * ((1.0 - rate) ** 2 + rate**2)
    beyond = (1.0 - rate) * with_click - rate * without
    slope = rows * variance * PRIOR_DEVIATION**2
    return np.asarray(slope * beyond / (slope * rows * variance + rows * variance + noise))


def _summed(buckets: Array, data: Clicks) -> Array:
    """Give the sum of the log odds of each row's buckets, within its bound."""
    ids = data.categories.numpy()
    found = np.where(ids >= 0, buckets[np.maximum(ids, 0)], 0.0).sum(1)
    return np.asarray(np.clip(found, -LARGEST_SUM, LARGEST_SUM))


def _features(buckets: Array, data: Clicks) -> Array:
    """Give a constant, the sum of log odds and the numbers, all in [0, 1]: counts cannot be negative."""
    summed = (_summed(buckets, data) / LARGEST_SUM + 1.0) / 2.0
    return np.column_stack([np.ones(len(data)), summed, data.numbers.double().numpy()])


def _newton(moments: Array, deviation: float) -> Array:
    """Take one step of Newton's method, with a ridge where noisy moments end."""
    upper, clicks, said = np.split(moments, [len(_UPPER[0]), len(_UPPER[0]) + _SIZE])
    curvature = np.zeros((_SIZE, _SIZE))
    curvature[_UPPER] = upper
    curvature = curvature + np.triu(curvature, 1).T
    values, vectors = np.linalg.eigh(curvature)
    ridge = deviation * np.sqrt(_SIZE)
    return np.asarray(vectors @ ((vectors.T @ (clicks - said)) / (np.maximum(values, 0.0) + ridge)))


def _logit(rate: float) -> float:
    return float(np.log(rate / (1.0 - rate)))
