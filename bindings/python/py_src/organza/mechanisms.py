"""Releases that are made once: counts, histograms, and items whose names are secret.

Every mechanism takes ``budget=``, a :class:`~organza.ledger.Budget` or the
:class:`~organza.ledger.Ledger` of a data set. It checks its arguments, takes epsilon and delta
from the budget, and only then draws noise: whole numbers, exact in law, from a key that the
operating system gives. If the budget does not suffice, it raises
:class:`~organza.exceptions.BudgetError`, and nothing is charged or drawn.

What is wrong with arguments or data is said by an exception, before anything is charged. That
exception is not private: it is for whoever may see the data.

With ``random_state=`` the noise is that of a seed, which others can draw too. The result is
charged, but is *not private*; a :class:`~organza.exceptions.PrivacyWarning` says so.

Examples
--------
>>> from organza.ledger import Budget
>>> from organza.mechanisms import count
>>> budget = Budget(epsilon=1.0)
>>> 900 < count(1000, epsilon=0.5, budget=budget) < 1100
True
>>> budget.left
Amount(epsilon=0.5, delta=0.0)
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, SupportsIndex

import numpy as np

from organza import _organza
from organza.exceptions import DataError, PrivacyWarning, SettingsError
from organza.ledger import Budget, Ledger

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["NoisyHistogram", "NoisyItems", "count", "histogram", "set_union"]

Item = str | int
"""What a unit can have: a name or a whole number."""


def _purse(budget: Budget | Ledger) -> _organza.Purse:
    if not isinstance(budget, (Budget, Ledger)):
        raise SettingsError(
            f"`budget` is {budget!r}, but must be a Budget or a Ledger of organza.ledger"
        )
    return budget._purse


def _seed(random_state: int | None) -> int | None:
    """The seed, with the warning that belongs to it."""
    if random_state is None:
        return None
    seed = _whole("random_state", random_state, SettingsError)
    message = "with a `random_state` the noise can be drawn again: the result is not private"
    warnings.warn(message, PrivacyWarning, stacklevel=3)
    return seed


def _whole(name: str, value: object, error: type[SettingsError] | type[DataError]) -> int:
    """A whole number from 0 to 2^64 - 1."""
    if isinstance(value, SupportsIndex) and not isinstance(value, (bool, np.bool_)):
        whole = operator.index(value)
        if 0 <= whole < 2**64:
            return whole
    raise error(f"`{name}` is {value!r}, but must be a whole number, zero or more")


def count(
    n: int,
    *,
    epsilon: float,
    budget: Budget | Ledger,
    purpose: str = "count",
    random_state: int | None = None,
) -> int:
    """A noisy count, of units or of those units for which something holds.

    Parameters
    ----------
    n : int
        The count. One unit must change it by at most one.
    epsilon : float
        What it costs; 32 is used if that is less.
    budget : Budget or Ledger
        What it is paid from.
    purpose : str
        What it is for, as it shall stand on the ledger.
    random_state : int, optional
        A seed: the result is then not private.

    Returns
    -------
    int
        At least 1. The noise is discrete Laplace, of scale 1 / epsilon.

    Raises
    ------
    BudgetError
        If the budget does not suffice.

    Examples
    --------
    >>> from organza.ledger import Budget
    >>> from organza.mechanisms import count
    >>> noisy = count(1000, epsilon=1.0, budget=Budget(1.0))
    >>> isinstance(noisy, int)
    True
    """
    number = _whole("n", n, DataError)
    return _organza.noisy_count(number, _purse(budget), purpose, epsilon, _seed(random_state))


@dataclass(frozen=True)
class NoisyHistogram:
    """Noisy counts: a released result.

    Attributes
    ----------
    cells : numpy.ndarray of uint64
        The cells that were released, in ascending order: all, unless there was a threshold.
    counts : numpy.ndarray of float64
        Their noisy counts.
    deviation : float
        The standard deviation of the noise on each.
    threshold : float or None
        What a noisy count had to reach.
    private : bool
        Whether nobody can know the noise.
    """

    cells: NDArray[np.uint64]
    counts: NDArray[np.float64]
    deviation: float
    threshold: float | None
    private: bool

    def __len__(self) -> int:
        return len(self.cells)


def histogram(
    counts: Any,
    *,
    epsilon: float,
    delta: float = 0.0,
    l1_bound: int | None = None,
    l2_bound: float | None = None,
    cells: int | None = None,
    threshold: float | None = None,
    budget: Budget | Ledger,
    purpose: str = "histogram",
    random_state: int | None = None,
) -> NoisyHistogram:
    """Noisy counts over known cells, of which each unit contributes to some.

    Parameters
    ----------
    counts : sparse matrix, tuple, array or iterable
        What each unit contributes, one row for each unit: a matrix in CSR form (as
        ``scipy.sparse.csr_array``), its three parts ``(indptr, indices, data)``, an array with
        two dimensions, or an iterable with a mapping from cell to count for each unit.
    epsilon, delta : float
        What it costs.
    l1_bound : int, optional
        Counts are whole, and those of one unit add up to at most this; what is beyond it is left
        out. The noise is discrete Laplace and needs no delta.
    l2_bound : float, optional
        The L2 norm of the counts of one unit is at most this; larger ones are scaled down. The
        noise is Gaussian, and delta must be positive. Give one of the two bounds.
    cells : int, optional
        The number of cells, empty ones included. It must be known beforehand, not found from the
        data; a matrix says it by its shape.
    threshold : float, optional
        Release only cells whose *noisy* count reaches this.
    budget : Budget or Ledger
        What it is paid from.
    purpose : str
        What it is for, as it shall stand on the ledger.
    random_state : int, optional
        A seed: the result is then not private.

    Returns
    -------
    NoisyHistogram

    Raises
    ------
    BudgetError
        If the budget does not suffice.
    DataError
        If a count is negative or not a number, or a cell is out of range.

    Examples
    --------
    >>> from organza.ledger import Budget
    >>> from organza.mechanisms import histogram
    >>> visits = [{0: 2, 3: 1}, {3: 1}, {1: 1, 3: 2}]
    >>> noisy = histogram(visits, cells=4, l1_bound=3, epsilon=1.0, budget=Budget(1.0))
    >>> noisy.counts.shape, round(noisy.deviation, 2)
    ((4,), 4.22)
    """
    if (l1_bound is None) == (l2_bound is None):
        raise SettingsError("give one of `l1_bound` and `l2_bound`: what one unit may contribute")
    if l2_bound is not None and not 0 < delta < 1:
        raise SettingsError(f"`delta` is {delta}, but with an `l2_bound` must be between 0 and 1")
    if l1_bound is not None and delta != 0:
        raise SettingsError(f"`delta` is {delta}, but with an `l1_bound` none is needed: leave it out")
    purse = _purse(budget)
    ends, indices, amounts, width = _rows(counts, cells)
    settings: _organza.HistogramTerms = {
        "cells": width,
        "l1_bound": None if l1_bound is None else _whole("l1_bound", l1_bound, SettingsError),
        "l2_bound": l2_bound,
        "threshold": threshold,
    }
    seed = _seed(random_state)
    found = _organza.noisy_histogram(
        ends, indices, amounts, settings, purse, purpose, (epsilon, delta), seed
    )
    return NoisyHistogram(*found, private=seed is None)


_Rows = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float64]", int]


def _rows(counts: Any, cells: int | None) -> _Rows:
    """The checked parts of a matrix in CSR form, and the number of cells."""
    shape = getattr(counts, "shape", None)
    if all(hasattr(counts, part) for part in ("indptr", "indices", "data")):
        if getattr(counts, "format", "csr") != "csr":
            raise DataError("a sparse matrix must be in CSR form, with a row for each unit: .tocsr()")
        parts = (counts.indptr, counts.indices, counts.data)
    elif isinstance(counts, np.ndarray):
        if counts.ndim != 2:
            raise DataError(f"an array of counts has 2 dimensions, a row for each unit, not {counts.ndim}")
        ends = np.arange(counts.shape[0] + 1, dtype=np.int64) * counts.shape[1]
        places = np.tile(np.arange(counts.shape[1], dtype=np.int64), counts.shape[0])
        parts = (ends, places, counts.reshape(-1))
    elif isinstance(counts, tuple) and len(counts) == 3:
        parts = counts
    else:
        parts = _from_mappings(counts)
    stated = None if shape is None else int(shape[1])
    if cells is None and stated is None:
        raise SettingsError("`cells` is missing: how many cells are there, empty ones included?")
    width = _whole("cells", stated if cells is None else cells, SettingsError)
    ends = _numbers("indptr", parts[0], np.int64)
    indices = _numbers("indices", parts[1], np.int64)
    amounts = _numbers("counts", parts[2], np.float64)
    is_whole = len(ends) > 0 and ends[0] == 0 and ends[-1] == len(indices) == len(amounts)
    if not is_whole or (np.diff(ends) < 0).any():
        raise DataError("`indptr`, `indices` and `data` are not the parts of one CSR matrix")
    if len(indices) and not (indices.min() >= 0 and indices.max() < width):
        raise DataError(f"a cell is out of range: there are {width} cells, from 0 to {width - 1}")
    if not (np.isfinite(amounts) & (amounts >= 0)).all():
        raise DataError("a count is negative, infinite or not a number")
    return ends, indices, amounts, width


def _from_mappings(units: Iterable[Mapping[int, float]]) -> tuple[list[int], list[int], list[float]]:
    """The parts of a CSR matrix from one mapping for each unit."""
    ends, cells, amounts = [0], [], []
    for unit in units:
        if not isinstance(unit, Mapping):
            raise DataError(f"the counts of a unit must be a mapping from cell to count, not {type(unit).__name__}")
        cells += [_whole("cell", cell, DataError) for cell in unit]
        amounts += list(unit.values())
        ends.append(len(cells))
    return ends, cells, amounts


def _numbers(name: str, values: Any, kind: type[Any]) -> NDArray[Any]:
    """An array of one dimension of this kind, without a copy where it is one already."""
    array = np.asarray(values)
    allowed = "iu" if kind is np.int64 else "iuf"
    # An empty list has no kind of its own.
    if array.ndim != 1 or (array.size and array.dtype.kind not in allowed):
        numbers = "whole numbers" if kind is np.int64 else "numbers"
        raise DataError(f"`{name}` must be {numbers} in one dimension, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=kind)


@dataclass(frozen=True)
class NoisyItems:
    """Items that many units have: a released result.

    Attributes
    ----------
    items : list of str or int
        The items, the one of the largest noisy count first.
    counts : numpy.ndarray of float64
        Their noisy counts; with ``noise="gaussian"`` sums of weights.
    threshold : float
        What a noisy count had to reach.
    deviation : float
        The standard deviation of the noise on each.
    private : bool
        Whether nobody can know the noise.
    """

    items: list[Item]
    counts: NDArray[np.float64]
    threshold: float
    deviation: float
    private: bool

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)


def set_union(
    units: Iterable[Iterable[Item]],
    *,
    items_per_unit: int,
    epsilon: float,
    delta: float,
    noise: Literal["laplace", "gaussian"] = "laplace",
    budget: Budget | Ledger,
    purpose: str = "items",
    random_state: int | None = None,
) -> NoisyItems:
    """The items that many units have, where the very names of items may be secret.

    Parameters
    ----------
    units : iterable of iterables of str or int
        The items of each unit, in any order and as often as they come.
    items_per_unit : int
        How many different items of a unit count; of more, a random choice is taken.
    epsilon, delta : float
        What it costs. An item that one unit alone has shows with probability delta at most.
    noise : {"laplace", "gaussian"}
        Laplace noise on the number of units that have an item, for units of few items; or
        Gaussian noise on weights that a unit divides among its items, in 16 rounds, for units of
        many items.
    budget : Budget or Ledger
        What it is paid from.
    purpose : str
        What it is for, as it shall stand on the ledger.
    random_state : int, optional
        A seed: the result is then not private.

    Returns
    -------
    NoisyItems

    Raises
    ------
    BudgetError
        If the budget does not suffice.
    DataError
        If an item is neither a string nor a whole number.

    Examples
    --------
    >>> from organza.ledger import Budget
    >>> from organza.mechanisms import set_union
    >>> units = [["tea", "milk"]] * 500 + [["a secret"]]
    >>> found = set_union(
    ...     units, items_per_unit=2, epsilon=1.0, delta=1e-6, budget=Budget(1.0, 1e-6)
    ... )
    >>> sorted(found)
    ['milk', 'tea']
    """
    if noise not in ("laplace", "gaussian"):
        raise SettingsError(f'`noise` is {noise!r}, but must be "laplace" or "gaussian"')
    if not 0 < delta < 1:
        raise SettingsError(f"`delta` is {delta}, but must be between 0 and 1")
    purse = _purse(budget)
    most = _whole("items_per_unit", items_per_unit, SettingsError)
    listed = [_items(unit) for unit in units]
    seed = _seed(random_state)
    found = _organza.noisy_items(
        listed, most, noise == "gaussian", purse, purpose, (epsilon, delta), seed
    )
    items, noisy, deviation, threshold = found
    return NoisyItems(items, noisy, threshold, deviation, private=seed is None)


def _items(unit: Iterable[Item]) -> list[Item]:
    """The items of a unit, in the types that Rust takes."""
    if isinstance(unit, (str, bytes)):
        raise DataError("the items of a unit must be a list of them, not one text")
    items: list[Item] = []
    for item in unit:
        if isinstance(item, str):
            items.append(str(item))
            continue
        is_whole = isinstance(item, SupportsIndex) and not isinstance(item, (bool, np.bool_))
        if not is_whole or not -(2**63) <= operator.index(item) < 2**63:
            raise DataError(f"an item must be a string or a whole number, not {type(item).__name__}")
        items.append(operator.index(item))
    return items
