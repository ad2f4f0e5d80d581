"""Which shard a unit belongs to."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from organza.exceptions import DataError


def shard_of(unit: str, shards: int) -> int:
    """Give the number of the shard that a unit belongs to: the same on every machine.

    It follows the name of the unit alone, by BLAKE2b, so all rows of a unit meet in one shard.

    Examples
    --------
    >>> shard_of("c17", 16) == shard_of("c17", 16) < 16
    True
    >>> len({shard_of(str(customer), 16) for customer in range(200)})
    16
    """
    digest = blake2b(str(unit).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % shards


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
        What belongs to each shard. Rows of nobody are left out, as they are everywhere.

    Examples
    --------
    >>> import pyarrow
    >>> events = pyarrow.table({"who": ["a", "b", "a", None], "what": [1, 2, 3, 4]})
    >>> parts = split(events, "who", 5)
    >>> parts[shard_of("a", 5)].to_pydict()["what"][:1], sum(len(part) for part in parts)
    ([1], 3)
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if unit not in table.column_names:
        raise DataError(f"the table has no column {unit!r}: its columns are {table.column_names}")
    column = table.column(unit)
    if isinstance(column.type, pa.DictionaryType):
        column = column.cast(column.type.value_type)
    if not (
        pa.types.is_integer(column.type)
        or any(is_text(column.type) for is_text in (pa.types.is_string, pa.types.is_large_string))
        or str(column.type) == "string_view"
        or pa.types.is_null(column.type)
    ):
        # 1 and 1.0 would be one person in two shards.
        raise DataError(
            f"the column {unit!r} has the type {column.type}: units are split by their names, which are texts or whole "
            "numbers; cast it first"
        )
    coded = pc.dictionary_encode(column.cast(pa.string()).combine_chunks())
    named = [shard_of(name.as_py(), shards) for name in coded.dictionary]
    # Rows of nobody come behind all shards.
    places = np.asarray([*named, shards], dtype=np.int64)
    codes = pc.fill_null(coded.indices, len(named)).to_numpy(zero_copy_only=False)
    where = places[codes]
    order = np.argsort(where, kind="stable")
    ends = np.searchsorted(where[order], np.arange(shards + 1))
    return [
        table.take(pa.array(order[start:end])) for start, end in zip(ends[:-1], ends[1:], strict=True)
    ]
