"""On a cluster of Spark: rows of a unit meet in a partition, Arrow batches go to the workers, only partials come back.

    from organza import Recommender
    from organza.distributed.spark import fit

    events = spark.table("shop.events")
    recommender = fit(Recommender(user_column="customer", item_column="article"), events, shards=64)

The package has to be installed where the executors run Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, TypeVar

from organza._estimator import PrivateEstimator
from organza.distributed._rounds import count, fitted, join, shards_of_begun, unit_of
from organza.distributed._shards import shards_of
from organza.exceptions import SettingsError

__all__ = ["fit"]

Estimator = TypeVar("Estimator", bound=PrivateEstimator)

#: The schema of what comes back.
_PARTIALS = "partial binary"
#: The column that says where a row goes.
_SHARD = "organza_shard"
#: The column that says where it stood: rows of a unit keep their order, on which its text depends.
_ROW = "organza_row"
#: More rows than a partition has.
_MOST_ROWS = 1 << 40


def fit(
    estimator: Estimator,
    frame: Any,
    *,
    shards: int | None = None,
    unit: str | None = None,
    fan_in: int = 8,
) -> Estimator:
    """Fit to a table of Spark, on its cluster.

    Parameters
    ----------
    estimator : Recommender, Typeahead or WordVectors
        What shall be learned. Its `folder` is on the machine of the driver; with one, a driver that died goes on where it was
        when it is started again.
    frame : pyspark.sql.DataFrame
        Events or texts. Select the columns that are needed: all of them are sent to the workers.
    shards : int, optional
        How many partitions the units are split into: ``spark.sql.shuffle.partitions``, unless you say so.
    unit : str, optional
        The column that names the unit of a row: the `user_column` of the estimator, unless you say so.
    fan_in : int, default=8
        If there are more shards than this, partials are joined on the cluster until so many are left for the driver.

    Returns
    -------
    estimator
        Fitted: the same seed gives the same bits as on one machine.
    """
    unit = unit or unit_of(estimator)
    shards = shards or shards_of_begun(estimator)
    if shards is None:
        shards = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions"))
    schema = frame.limit(0).toArrow().schema
    numbered = frame.mapInArrow(
        _numbers(unit, shards), f"{_types(frame)}, {_SHARD} int, {_ROW} bigint"
    )
    parts = numbered.repartitionById(shards, _SHARD).sortWithinPartitions(_ROW)
    parts = parts.drop(_SHARD, _ROW).persist()
    try:

        def counted(task: bytes) -> list[bytes]:
            partials = parts.mapInArrow(_counts(task, shards, schema), _PARTIALS)
            if shards > fan_in:
                partials = partials.repartition(fan_in).mapInArrow(_joins, _PARTIALS)
            return [bytes(row["partial"]) for row in partials.collect()]

        return fitted(estimator, counted, schema.empty_table(), frame, shards)
    finally:
        parts.unpersist()


def _types(frame: Any) -> str:
    """Give the columns of a table as Spark writes them."""
    return ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in frame.schema)


def _partition() -> int:
    """Give the number of the partition that this task is at."""
    from pyspark import TaskContext

    context = TaskContext.get()
    if context is None:
        raise SettingsError("this is for tasks of Spark")
    number: int = context.partitionId()
    return number


def _numbers(unit: str, shards: int) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Give what adds to each row the number of its shard, and its place."""

    def numbers(batches: Iterator[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        first = _partition() * _MOST_ROWS
        for batch in batches:
            where = pa.array(shards_of(batch, unit, shards), pa.int32())
            place = pa.array(np.arange(first, first + len(batch)), pa.int64())
            first += len(batch)
            yield batch.append_column(_SHARD, where).append_column(_ROW, place)

    return numbers


def _counts(
    task: bytes, shards: int, schema: Any
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Give what counts a partition."""

    def counts(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        number = _partition()
        # Without any batch a partition still has columns.
        shard = chain([schema.empty_table()], (pa.Table.from_batches([batch]) for batch in batches))
        yield _batch([count(task, shard, number, shards)])

    return counts


def _joins(batches: Iterator[Any]) -> Iterator[Any]:
    """Join the partials of a partition."""
    partials = [partial for batch in batches for partial in batch.column(0).to_pylist()]
    if partials:
        yield _batch([join(partials)])


def _batch(partials: list[bytes]) -> Any:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"partial": pa.array(partials, pa.binary())})
