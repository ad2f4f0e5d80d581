"""Data as users have it: tables, matrices, lines of text, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from organza import _organza
from organza._organza import HANDED_OVER, Data
from organza.exceptions import DataError

#: The columns of lines of text that are handed over without a table.
TEXT, UNIT = "text", "unit"


def is_path(source: object) -> bool:
    """Whether it names a file or a folder."""
    return isinstance(source, (str, os.PathLike))


def is_table(source: object) -> bool:
    """Whether it is a table of pandas, polars, pyarrow, duckdb or others."""
    # A column alone has the interface too, and neither of the others.
    columns = hasattr(source, "columns") or hasattr(source, "schema")
    return hasattr(source, "__arrow_c_stream__") and columns


def is_sparse(source: object) -> bool:
    """Whether it is a sparse matrix of scipy."""
    return hasattr(source, "tocsr") and hasattr(source, "nnz")


def in_place(array: Any, dtype: Any = None) -> NDArray[Any]:
    """Give an array whose numbers stand one after another, where such numbers may stand; itself if they do."""
    return np.require(array, dtype, ["C", "A"])


def table(source: Any) -> Data:
    """Give a table, or an iterable of tables, as the libraries read it.

    Examples
    --------
    >>> table([1, 2])
    Traceback (most recent call last):
    organza.exceptions.DataError: int is not a table: give a table of pandas, polars, pyarrow or duckdb
    """
    if is_table(source):
        return _organza.table(source)
    first, rest = first_of(source)
    if first is not None and not is_table(first):
        kind = type(first).__name__
        raise DataError(
            f"{kind} is not a table: give a table of pandas, polars, pyarrow or duckdb"
        )
    return _organza.batches(rest)


def first_of(source: Any) -> tuple[Any, Iterator[Any]]:
    """Give the first of an iterable, and all of it."""
    try:
        members = iter(source)
    except TypeError:
        raise DataError(
            f"{type(source).__name__} is not data that can be read: give a path, a table, or lines"
        ) from None
    none: Any = object()
    first = next(members, none)
    return (None, iter(())) if first is none else (first, chain([first], members))


def text(
    source: Any,
    units: Iterable[Any] | None,
    text_column: str | None,
    user_column: str | None,
) -> tuple[Data | None, dict[str, Any]]:
    """Give text, and the settings that say where it is and whose.

    Returns
    -------
    data
        None if the text is in a file, which the tool reads itself.
    settings
        The flags ``data``, ``text_column`` and ``user_column``.
    """
    columns = {"text_column": text_column, "user_column": user_column}
    if is_path(source):
        if units is not None:
            raise DataError("`units` belongs to lines of text: name a `user_column` of the file")
        return None, {"data": source, **columns}
    if is_table(source):
        return _text_table(_organza.table(source), units, columns)
    first, rest = first_of(source)
    if is_table(first):
        return _text_table(_organza.batches(rest), units, columns)
    if text_column is not None or user_column is not None:
        raise DataError("`text_column` and `user_column` belong to a table, but this is no table")
    lines = _organza.texts(rest, None if units is None else iter(units))
    user = None if units is None else UNIT
    return lines, {"data": HANDED_OVER, "text_column": TEXT, "user_column": user}


def _text_table(
    handed: Data, units: Iterable[Any] | None, columns: dict[str, Any]
) -> tuple[Data, dict[str, Any]]:
    if units is not None:
        raise DataError("`units` belongs to lines of text: name a `user_column` of the table")
    if columns["text_column"] is None:
        raise DataError("name the column of the text by `text_column`")
    return handed, {"data": HANDED_OVER, **columns}
