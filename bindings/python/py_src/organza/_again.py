"""Whether data was fitted before in this process, without a ledger that adds both up."""

from __future__ import annotations

import os
import warnings
import weakref
from typing import Any

import numpy as np

from organza._data import is_path, is_sparse
from organza.exceptions import PrivacyWarning

#: How many rows of a data set are remembered: those with the smallest hashes, so that parts of it are known again.
_REMEMBERED = 256
#: The part of them from which on two data sets are taken for the same, or for parts of the same.
_ALIKE = 0.2
#: Values that are looked at; more would take longer than they are worth.
_MOST = 5_000_000

#: Who was fitted to what: only hashes, only in this process.
_before: list[tuple[frozenset[int], str, float]] = []


def _hashes(data: Any) -> frozenset[int]:
    """Give the smallest hashes of rows; none of what cannot be looked at, and is refused elsewhere if it cannot be used."""
    try:
        return _hashes_of(data)
    except (TypeError, ValueError, OverflowError):
        return frozenset()


def _hashes_of(data: Any) -> frozenset[int]:
    if is_path(data):
        status = os.stat(data) if os.path.exists(data) else None
        stamp = (os.path.abspath(data), status and (status.st_mtime_ns, status.st_size))
        return frozenset([hash(stamp)])
    if is_sparse(data) or isinstance(data, np.ndarray):
        if getattr(data, "ndim", 0) != 2 or data.dtype == object or 0 in data.shape:
            return frozenset()
        direction = np.random.default_rng(0).standard_normal(data.shape[1])
        values = np.asarray(_head(data) @ direction, dtype=np.float64)
        # Sums differ in their last bits by how a matrix is laid out.
        values = np.round(values, 6)
        keys = values.view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    elif isinstance(data, (list, tuple)) and data and all(isinstance(it, str) for it in data[:99]):
        keys = np.fromiter((hash(it) for it in data[:_MOST]), dtype=np.int64).view(np.uint64)
    else:
        return _identity(data)
    return frozenset(np.unique(keys)[:_REMEMBERED].tolist())


def _head(matrix: Any) -> Any:
    """Give the first rows of a matrix, without a copy."""
    if isinstance(matrix, np.ndarray):
        return matrix[: max(1, _MOST // matrix.shape[1])]
    matrix = matrix.tocsr()
    rows = int(np.searchsorted(matrix.indptr, _MOST, side="right")) - 1
    end = matrix.indptr[rows]
    parts = (matrix.data[:end], matrix.indices[:end], matrix.indptr[: rows + 1])
    return type(matrix)(parts, shape=(rows, matrix.shape[1]))


def _identity(data: Any) -> frozenset[int]:
    """Give what a table is known by: itself, as long as it lives."""
    name = id(data)
    try:
        weakref.finalize(data, _forget, name).atexit = False
    except TypeError:
        return frozenset()
    return frozenset([name])


def _forget(name: int) -> None:
    _before[:] = [entry for entry in _before if name not in entry[0]]


def warn_of_another_fit(name: str, data: Any, epsilon: float) -> None:
    """Say so if data that looks like this was fitted before, and remember it.

    Examples
    --------
    >>> import warnings
    >>> lines = [f"a line that only this example has, {number}" for number in range(9)]
    >>> warn_of_another_fit("WordVectors", lines, 1.0)
    >>> with warnings.catch_warnings(record=True) as said:
    ...     warnings.simplefilter("always")
    ...     warn_of_another_fit("WordVectors", lines[2:], 2.0)
    >>> "epsilon 3 together" in str(said[0].message)
    True
    """
    hashes = _hashes(data)
    # What is no budget is refused elsewhere.
    if not hashes or not isinstance(epsilon, (int, float)) or not epsilon > 0:
        return
    alike = [
        (other, spent)
        for rows, other, spent in _before
        if len(rows & hashes) >= max(1.0, _ALIKE * min(len(rows), len(hashes)))
    ]
    _before.append((hashes, name, epsilon))
    del _before[:-10_000]
    if alike:
        together = epsilon + sum(spent for _, spent in alike)
        others = ", ".join(sorted({other for other, _ in alike}))
        warnings.warn(
            f"this data, or a part of it, was fitted before in this process ({others}): what both promise is epsilon "
            f"{together:g} together. Give all fits one `ledger`, which adds up what they spend and keeps to a budget",
            PrivacyWarning,
            stacklevel=4,
        )
