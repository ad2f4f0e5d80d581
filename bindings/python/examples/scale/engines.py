"""The same fits on one machine, in shards, on workers of Ray and on Spark: times, bytes, and that all bits are the same.

    python engines.py --persons 20000 --shards 8
"""

from __future__ import annotations

import argparse
import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from organza import ClickModel, Recommender, Typeahead, WordVectors
from organza.distributed import count, join, merge, plan, split

#: Of a run's files, those that tell of time and memory, or are made from such figures.
NOT_RELEASED = ("summary.json", "report.html", "metrics.jsonl", "settings.json", "planned.json")
#: How many partials a task joins.
FAN_IN = 4


def zipf(draw: np.random.Generator, among: int, size: int) -> Any:
    """Draw ranks by Zipf's law, nearly: their logarithm is uniform."""
    return np.exp(draw.random(size) * np.log(among)).astype(np.int64) - 1


def events(persons: int) -> Any:
    """Give made-up events: items by Zipf's law, of which a person likes a tenth better."""
    draw = np.random.default_rng(0)
    who = np.repeat(np.arange(persons, dtype=np.int64), 20)
    rank = zipf(draw, 200, len(who))
    what = rank * 10 + np.where(draw.random(len(who)) < 0.5, who % 10, draw.integers(0, 10, len(who)))
    order = draw.permutation(len(who))
    return pa.table({"person": who[order], "item": what[order]})


def messages(persons: int) -> Any:
    """Give made-up messages: words by Zipf's law, of which half follow from the word before."""
    draw = np.random.default_rng(1)
    who = np.repeat(np.arange(persons, dtype=np.int64), 10)
    words = zipf(draw, 2_000, len(who) * 8).reshape(len(who), 8)
    for place in range(1, 8):
        follows = draw.random(len(who)) < 0.5
        words[:, place] = np.where(follows, (words[:, place - 1] * 7 + 3) % 2_000, words[:, place])
    texts = [" ".join(f"w{word}" for word in line) for line in words.tolist()]
    return pa.table({"person": who, "text": texts})


def shown(persons: int) -> Any:
    """Give made-up rows of what was shown: eight categories by Zipf's law, two of which decide about clicks."""
    draw = np.random.default_rng(2)
    who = np.repeat(np.arange(persons, dtype=np.int64), 10)
    columns = {f"category {place}": zipf(draw, 1_000, len(who)) for place in range(8)}
    odds = columns["category 0"] % 5 + columns["category 1"] % 3
    return pa.table({"person": who, **columns, "clicked": (draw.random(len(who)) < odds / 8).astype(np.int64)})


@dataclass(frozen=True)
class Fit:
    """What is fitted, and to what: seeded, so that bits can be compared."""

    name: str
    kind: Any
    columns: dict[str, Any]
    table: Any

    def estimator(self, folder: Path) -> Any:
        """Give the estimator."""
        return self.kind(epsilon=3.0, random_state=1, progress=False, folder=folder, **self.columns)


def fits(persons: int) -> list[Fit]:
    """Give all of them."""
    texts = messages(persons)
    text = {"text_column": "text", "user_column": "person"}
    shop = {"user_column": "person", "item_column": "item"}
    categories = [f"category {place}" for place in range(8)]
    clicks = {"user_column": "person", "label_column": "clicked", "categories": categories}
    return [
        Fit("recommender", Recommender, shop, events(persons)),
        Fit("typeahead", Typeahead, text, texts),
        Fit("word embeddings", WordVectors, text, texts),
        Fit("click model", ClickModel, clicks, shown(persons)),
    ]


def digest(folder: Path) -> str:
    """Give what all that was released and promised is known by."""
    known = hashlib.sha256()
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in files:
        name = str(path.relative_to(folder))
        if path.name not in NOT_RELEASED and not name.startswith(("figures/", "tables/")):
            known.update(name.encode() + b"\0" + path.read_bytes())
    return known.hexdigest()[:12]


def by_hand(fit: Fit, folder: Path, shards: list[Any]) -> tuple[int, int, int]:
    """Fit by the plain functions; give the rounds, the bytes of all partials, and those that a driver gets."""
    rounds = made = got = 0
    task = plan(fit.estimator(folder), folder, shards[0])
    while task is not None:
        partials = [count(task, shard, number, len(shards)) for number, shard in enumerate(shards)]
        made += sum(map(len, partials))
        groups = [join(partials[at : at + FAN_IN]) for at in range(0, len(partials), FAN_IN)]
        got += sum(map(len, groups))
        task, _ = merge(folder, groups)
        rounds += 1
    return rounds, made, got


@contextmanager
def on_workers_of_ray(workers: int, shards: int) -> Iterator[Callable[[Fit, Path], Any]]:
    """Ray with so many workers on this machine."""
    import ray

    from organza.distributed import ray as on_ray

    ray.init(address="local", num_cpus=workers, include_dashboard=False, log_to_driver=False)
    yield lambda fit, folder: on_ray.fit(
        fit.estimator(folder), [fit.table], unit="person", shards=shards, fan_in=FAN_IN
    )
    ray.shutdown()


@contextmanager
def on_partitions_of_spark(shards: int) -> Iterator[Callable[[Fit, Path], Any]]:
    """Spark with two workers on this machine."""
    from pyspark.sql import SparkSession

    from organza.distributed import spark as on_spark

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    yield lambda fit, folder: on_spark.fit(
        fit.estimator(folder), session.createDataFrame(fit.table), shards=shards, fan_in=FAN_IN
    )
    session.stop()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--persons", type=int, default=20_000)
    parser.add_argument("--shards", type=int, default=8)
    asked = parser.parse_args()
    all_fits = fits(asked.persons)
    known: dict[str, str] = {}

    def timed(fit: Fit, fitted: Callable[[Fit, Path], Any]) -> tuple[float, Any]:
        with TemporaryDirectory() as place:
            folder = Path(place, "run")
            begun = time.perf_counter()
            found = fitted(fit, folder)
            seconds = time.perf_counter() - begun
            if known.setdefault(fit.name, digest(folder)) != digest(folder):
                raise SystemExit(f"{fit.name}: other bits than on one machine")
            return seconds, found

    def row(name: str, fitted: Callable[[Fit, Path], Any]) -> list[Any]:
        found = [timed(fit, fitted) for fit in all_fits]
        print(f"| {name} | " + " | ".join(f"{seconds:.1f}" for seconds, _ in found) + " |", flush=True)
        return [result for _, result in found]

    print("| seconds | " + " | ".join(fit.name for fit in all_fits) + " |")
    print("|---" + "|---:" * len(all_fits) + "|")
    row("one machine", lambda fit, folder: fit.estimator(folder).fit(fit.table))
    shards = {fit.name: split(fit.table, "person", asked.shards) for fit in all_fits}
    moved = row(
        f"{asked.shards} shards, one after another",
        lambda fit, folder: by_hand(fit, folder, shards[fit.name]),
    )
    for workers in (2, 4):
        with on_workers_of_ray(workers, asked.shards) as on_ray:
            for how in ("first", "again"):
                row(f"Ray, {workers} workers, {how}", on_ray)
    with on_partitions_of_spark(asked.shards) as on_spark:
        for how in ("first", "again"):
            row(f"Spark, 2 workers, {how}", on_spark)
    figures = {
        "rounds": [f"{rounds}" for rounds, _, _ in moved],
        "data, MB": [f"{fit.table.nbytes / 1e6:.1f}" for fit in all_fits],
        "partials of all rounds, MB": [f"{made / 1e6:.1f}" for _, made, _ in moved],
        f"to the driver, joined by {FAN_IN}, MB": [f"{got / 1e6:.1f}" for _, _, got in moved],
        "digest of all files, everywhere the same": [known[fit.name] for fit in all_fits],
    }
    for name, values in figures.items():
        print(f"| {name} | " + " | ".join(values) + " |")


if __name__ == "__main__":
    main()
