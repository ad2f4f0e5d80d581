"""The same recommender on one machine, in shards, on workers of Ray and on Spark: times, bytes, and that all bits are the same.

    python engines.py --persons 20000 --shards 8
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from organza import Recommender
from organza.distributed import count, join, merge, plan, split

#: What was released and promised.
RELEASED = ("model.safetensors", "items.txt", "certificate.json", "ledger.jsonl")
FAN_IN = 4


def events(persons: int, items: int, each: int) -> Any:
    """Give made-up events: items by Zipf's law, of which a person likes a tenth better."""
    draw = np.random.default_rng(0)
    who = np.repeat(np.arange(persons, dtype=np.int64), each)
    rank = np.exp(draw.random(len(who)) * np.log(items / 10)).astype(np.int64) - 1
    what = rank * 10 + np.where(draw.random(len(who)) < 0.5, who % 10, draw.integers(0, 10, len(who)))
    order = draw.permutation(len(who))
    return pa.table({"person": who[order], "item": what[order]})


def digest(folder: Path) -> str:
    """Give what the files of a run are known by."""
    known = hashlib.sha256()
    for name in RELEASED:
        known.update((folder / name).read_bytes())
    return known.hexdigest()[:12]


def estimator(folder: Path) -> Recommender:
    """Give the estimator, seeded so that bits can be compared."""
    columns: dict[str, Any] = {"user_column": "person", "item_column": "item"}
    return Recommender(epsilon=3.0, random_state=1, progress=False, folder=folder, **columns)


def by_hand(folder: Path, shards: list[Any]) -> tuple[int, int]:
    """Fit by the plain functions; give the bytes of all partials, and those that a driver gets if `FAN_IN` are joined."""
    made = got = 0
    task = plan(estimator(folder), folder, shards[0])
    while task is not None:
        partials = [count(task, shard, number, len(shards)) for number, shard in enumerate(shards)]
        made += sum(map(len, partials))
        groups = [join(partials[at : at + FAN_IN]) for at in range(0, len(partials), FAN_IN)]
        got += sum(map(len, groups))
        task, _ = merge(folder, groups)
    return made, got


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--persons", type=int, default=20_000)
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--shards", type=int, default=8)
    asked = parser.parse_args()
    table = events(asked.persons, asked.items, asked.each)
    print(f"{len(table):,} events, {table.nbytes / 1e6:.1f} MB\n\n| where | s | files |\n|---|---:|---|")

    def row(name: str, fitted: Callable[[Path], Any]) -> Any:
        with TemporaryDirectory() as place:
            begun = time.perf_counter()
            found = fitted(Path(place, "run"))
            seconds = time.perf_counter() - begun
            print(f"| {name} | {seconds:.1f} | {digest(Path(place, 'run'))} |", flush=True)
            return found

    row("one machine", lambda folder: estimator(folder).fit(table))
    shards = split(table, "person", asked.shards)
    made, got = row("shards, one after another", lambda folder: by_hand(folder, shards))

    import ray

    from organza.distributed import ray as on_ray
    from organza.distributed import spark as on_spark

    for workers in (2, 4):
        ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
        for how in ("first", "again"):
            row(
                f"Ray, {workers} workers, {how}",
                lambda folder: on_ray.fit(
                    estimator(folder), [table], unit="person", shards=asked.shards, fan_in=FAN_IN
                ),
            )
        ray.shutdown()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    frame = session.createDataFrame(table)
    for how in ("first", "again"):
        row(
            f"Spark, 2 workers, {how}",
            lambda folder: on_spark.fit(
                estimator(folder), frame, shards=asked.shards, fan_in=FAN_IN
            ),
        )
    session.stop()
    print(f"\npartials of all shards in all rounds: {made / 1e6:.1f} MB; to the driver: {got / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
