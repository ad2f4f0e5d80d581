"""Which shard a unit belongs to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from organza import _organza
from organza.exceptions import DataError


def shard_of(unit: str, shards: int) -> int:
    """Give the number of the shard that a unit belongs to: the same on every machine.

    It follows the name of the unit alone, so all rows of a unit meet in one shard: the first 64 bits of the SHA-256 of ``organza shard``,
    a zero byte and the name, the lowest first, modulo the number of shards. Where a line is a unit of its own, its text is the name.

    Examples
    --------
    >>> shard_of("c17", 16) == shard_of(" c17", 16) < 16
    True
    >>> len({shard_of(str(customer), 16) for customer in range(200)})
    16
    """
    return _organza.shard_of([str(unit)], shards)[0]


def split(table: Any, unit: str, shards: int) -> list[Any]:
    """Split a table of pyarrow by the units of a column; rows keep their order.

    Parameters
    ----------
    table : pyarrow.Table
        A part of the data, as large as you like.
    unit : str
        The column that says whose a row is: texts or whole numbers.
    shards : int
        How many shards there are.

    Returns
    -------
    list of pyarrow.Table
        What belongs to each shard. Rows of nobody are in the first, which leaves them out.

    Examples
    --------
    >>> import pyarrow
    >>> events = pyarrow.table({"who": ["a", "b", "a", None], "what": [1, 2, 3, 4]})
    >>> parts = split(events, "who", 5)
    >>> parts[shard_of("b", 5)].to_pydict()["what"][-1:], sum(len(part) for part in parts)
    ([2], 4)
    """
    return split_by(table, unit, shards, _organza.shard_of)


def split_by(
    table: Any, unit: str, parts: int, place_of: Callable[[list[str], int], list[int]]
) -> list[Any]:
    """Split a table by where `place_of` says that units belong; rows keep their order."""
    import numpy as np
    import pyarrow as pa

    where = shards_of(table, unit, parts, place_of)
    order = np.argsort(where, kind="stable")
    ends = np.searchsorted(where[order], np.arange(parts + 1))
    return [
        table.take(pa.array(order[start:end])) for start, end in zip(ends[:-1], ends[1:], strict=True)
    ]


def shards_of(
    table: Any,
    unit: str,
    shards: int,
    place_of: Callable[[list[str], int], list[int]] = _organza.shard_of,
) -> Any:
    """Give the number of the shard of each row, as an array; `place_of` gives those of names."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if unit not in table.schema.names:
        raise DataError(f"the table has no column {unit!r}: its columns are {table.schema.names}")
    column = table.column(unit)
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_large_string, pa.types.is_null)
    if not any(is_kind(column.type) for is_kind in kinds) and str(column.type) != "string_view":
        # 1 and 1.0 would be one person in two shards.
        raise DataError(
            f"the column {unit!r} has the type {column.type}: units are split by their names, which are texts or whole "
            "numbers; cast it first"
        )
    names = column.cast(pa.large_string())
    if isinstance(names, pa.ChunkedArray):
        names = names.combine_chunks()
    coded = names.dictionary_encode()
    # Rows of nobody are in the first shard.
    places = np.asarray([*place_of(coded.dictionary.to_pylist(), shards), 0], np.int32)
    return places[pc.fill_null(coded.indices, len(places) - 1).to_numpy(zero_copy_only=False)]
