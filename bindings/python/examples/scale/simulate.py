"""The model of cost of a recommender in shards, held against runs: constants from small runs, predictions for larger ones, and what came.

    python simulate.py --small 5000 10000 --large 40000 100000 --shards 16 --machines 8

Every shard is counted, one after another, by the tool `organza`, which has to be on the path. The seconds of a processor that each task took are
then laid out on `--machines` made-up machines of one core (the next task goes to whoever is free first), with partials joined by a tree; the
model lays out its own.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass
from typing import Any

import numpy as np
from cost import FAN_IN, NETWORK, TABLE, Round, measured


def distinct(draws: float, items: int) -> float:
    """Give how many different items so many events have, expected, by the law of `cost.events`."""
    return float((1 - np.exp(draws * np.log1p(-probabilities(items)))).sum())


def probabilities(items: int) -> Any:
    """Give how likely each item is, by the law of `cost.events`, the likeliest first."""
    ranks = np.arange(items - 1, dtype=np.float64)
    return np.log((ranks + 2) / (ranks + 1)) / np.log(items)


def filled(users: float, table: int, items: int, each: int) -> float:
    """Give how many cells of a table of the most frequent items are not empty, expected."""
    own = probabilities(items)[:table]
    total = 0.0
    for place in range(len(own)):
        both = each**2 * own[place] * own[place:]
        total += float((1 - np.exp(-users * np.minimum(both, 1.0))).sum())
    return total


def table_of(users: float, bar: float, items: int, each: int) -> int:
    """Give the items that so many users have often enough to be in the table."""
    often = users * (1 - (1 - probabilities(items)) ** each)
    return int(np.clip((often >= bar).sum(), 2, TABLE))


@dataclass(frozen=True)
class Constants:
    """What the model knows, from small runs."""

    #: Seconds of a processor to start a task of a look, and for each user in it.
    look: tuple[float, float]
    #: The same of the round of pairs.
    pairs: tuple[float, float]
    #: Bytes of a partial of a look for each different item of the shard.
    of_name: float
    #: How many users have the rarest item of the table.
    bar: float
    #: Bytes of a partial of pairs for each cell that is not empty.
    of_cell: float
    #: Seconds to start a merge of a look, and for each byte of its partials; of pairs, for each cell of the table.
    merging: tuple[float, float]
    merging_pairs: tuple[float, float]


def line(places: list[float], values: list[float]) -> tuple[float, float]:
    """Give the start and the slope of the best line, neither below zero."""
    slope, start = np.polyfit(places, values, 1)
    if slope < 0:
        return float(np.mean(values)), 0.0
    return (float(start), float(slope)) if start > 0 else (0.0, float(np.dot(places, values) / np.dot(places, places)))


def cells(table: int) -> float:
    """Give the cells of a table of so many items."""
    return table * (table + 1) / 2


def learned(runs: list[tuple[int, list[Round]]], items: int, each: int, shards: int) -> Constants:
    """Give the constants that small runs show."""
    users = [count / shards for count, _ in runs]
    looks = [[it for it in rounds[:-1]] for _, rounds in runs]
    pairs = [rounds[-1] for _, rounds in runs]

    def mean_look(rounds: list[Round]) -> float:
        return float(np.mean([np.mean(it.seconds) for it in rounds]))

    bars = [
        count * (1 - (1 - probabilities(items)[min(it.items, items - 1) - 1]) ** each)
        for (count, _), it in zip(runs, pairs, strict=True)
    ]
    own_cells = [filled(count, it.items, items, each) for count, it in zip(users, pairs, strict=True)]
    names = [np.mean([np.mean(it.sizes) for it in rounds]) / distinct(count * each, items) for rounds, count in zip(looks, users, strict=True)]
    return Constants(
        look=line(users, [mean_look(rounds) for rounds in looks]),
        pairs=line(users, [float(np.mean(it.seconds)) for it in pairs]),
        of_name=float(np.mean(names)),
        bar=float(np.mean(bars)),
        of_cell=float(np.mean([np.mean(it.sizes) / own for it, own in zip(pairs, own_cells, strict=True)])),
        merging=line(
            [float(sum(it.sizes)) for rounds in looks for it in rounds], [it.merging for rounds in looks for it in rounds]
        ),
        merging_pairs=line([cells(it.items) for it in pairs], [it.merging for it in pairs]),
    )


def predicted(known: Constants, users: int, items: int, each: int, shards: int, rounds: int) -> list[Round]:
    """Give what the model expects of a run."""
    own = users / shards
    look = Round("look", [known.look[0] + known.look[1] * own] * shards)
    look.sizes = [round(known.of_name * distinct(own * each, items))] * shards
    look.merging = known.merging[0] + known.merging[1] * sum(look.sizes)
    pairs = Round("pairs", [known.pairs[0] + known.pairs[1] * own] * shards)
    pairs.items = table_of(users, known.bar, items, each)
    pairs.sizes = [round(known.of_cell * filled(own, pairs.items, items, each))] * shards
    pairs.merging = known.merging_pairs[0] + known.merging_pairs[1] * cells(pairs.items)
    return [look] * (rounds - 1) + [pairs]


def makespan(rounds: list[Round], machines: int) -> float:
    """Give the seconds that the rounds take on so many machines of one core."""
    total = 0.0
    for it in rounds:
        free = [0.0] * machines
        for seconds in it.seconds:
            heapq.heappush(free, heapq.heappop(free) + seconds)
        levels = int(np.ceil(np.log(max(len(it.sizes), 2)) / np.log(FAN_IN)))
        total += max(free) + levels * FAN_IN * max(it.sizes) / NETWORK + it.merging
    return total


def main() -> None:
    """Measure small runs, predict larger ones, and measure these too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--small", type=int, nargs=2, default=[5_000, 10_000])
    parser.add_argument("--large", type=int, nargs="+", default=[40_000, 100_000])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--machines", type=int, default=8)
    parser.add_argument("--epsilon", type=float, default=3.0)
    asked = parser.parse_args()
    items, each, few = asked.items, asked.each, 4
    known = learned(
        [(users, measured(users, items, each, few, asked.epsilon)) for users in asked.small], items, each, few
    )
    print(known, "\n")
    print("| users | shards | | predicted | measured | measured / predicted |\n|---:|---:|---|---:|---:|---:|")
    for users in asked.large:
        found = measured(users, items, each, asked.shards, asked.epsilon)
        expected = predicted(known, users, items, each, asked.shards, len(found))
        figures = {
            "items of the table": [float(rounds[-1].items) for rounds in (expected, found)],
            "CPU of all counts, s": [sum(sum(it.seconds) for it in rounds) for rounds in (expected, found)],
            "bytes of all partials, MB": [sum(sum(it.sizes) for it in rounds) / 1e6 for rounds in (expected, found)],
            "all merges, s": [sum(it.merging for it in rounds) for rounds in (expected, found)],
            f"the run on {asked.machines} machines, s": [makespan(rounds, asked.machines) for rounds in (expected, found)],
        }
        for name, (model, seen) in figures.items():
            print(f"| {users:,} | {asked.shards} | {name} | {model:.1f} | {seen:.1f} | {seen / model:.2f} |", flush=True)


if __name__ == "__main__":
    main()
