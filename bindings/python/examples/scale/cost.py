"""What a recommender in shards costs, measured on made-up users, and drawn out to more than fit here.

    python cost.py --users 10000 100000 --items 1000 10000 100000 --each 20

Users have `--each` items by Zipf's law. A few shards are counted, joined and merged one after another on this machine; what a
thousand machines would take follows from seconds and bytes of one shard.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa

from organza import Recommender
from organza.distributed import count, join, merge, plan

#: Bytes a second between machines, as drawn out: 10 Gbit/s.
NETWORK = 1.25e9
#: How many partials a task joins.
FAN_IN = 8


def shard(users: int, items: int, each: int, number: int) -> Any:
    """Give the events of a shard: items by Zipf's law."""
    draw = np.random.default_rng(number)
    who = np.repeat(np.arange(users, dtype=np.int64) + number * users, each)
    # The inverse of the law, nearly: ranks whose logarithm is uniform.
    what = np.exp(draw.random(len(who)) * np.log(items)).astype(np.int64) - 1
    return pa.table({"user": who, "item": what})


@dataclass
class Round:
    """What one round took."""

    name: str
    #: Seconds of a processor, and bytes of a partial, of each shard.
    seconds: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    joining: float = 0.0
    merging: float = 0.0


def measured(users: int, items: int, each: int, shards: int, noise: float) -> list[Round]:
    """Run all rounds in shards on this machine."""
    tables = [shard(users // shards, items, each, number) for number in range(shards)]
    columns: dict[str, Any] = {"user_column": "user", "item_column": "item"}
    estimator = Recommender(epsilon=noise, delta=1e-10, random_state=1, threads=1, **columns)
    rounds = []
    with TemporaryDirectory() as folder:
        task = plan(estimator, f"{folder}/run", tables[0])
        name = "round 1"
        while task is not None:
            now = Round(name)
            partials = []
            for number, table in enumerate(tables):
                begun = time.process_time()
                partials.append(count(task, table, number, shards))
                now.seconds.append(time.process_time() - begun)
                now.sizes.append(len(partials[-1]))
            begun = time.process_time()
            joined = join(partials)
            now.joining = time.process_time() - begun
            begun = time.process_time()
            task, state = merge(f"{folder}/run", [joined])
            now.merging = time.process_time() - begun
            rounds.append(now)
            name = str(state.get("name"))
    return rounds


def show(users: int, items: int, each: int, shards: int, rounds: list[Round]) -> dict[str, float]:
    """Print a row, and give what it says about a user and a byte."""
    seconds = sum(sum(it.seconds) for it in rounds)
    largest = max(rounds, key=lambda it: max(it.sizes))
    moved = sum(sum(it.sizes) for it in rounds)
    joined = sum(it.joining for it in rounds)
    merged = sum(it.merging for it in rounds)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"| {users:,} | {items:,} | {len(rounds)} | {1e6 * seconds / users:.1f} | "
        f"{max(rounds[0].sizes) / 1e6:.2f} | {max(largest.sizes) / 1e6:.2f} | {moved / 1e6:.1f} | "
        f"{1e9 * joined / max(moved, 1):.2f} | {merged:.1f} | {peak:,.0f} |",
        flush=True,
    )
    return {
        "user": seconds / users,
        "rounds": len(rounds),
        "join": joined / max(moved, 1),
        "merge": merged,
        "largest": float(max(largest.sizes)),
        "moved": sum(float(np.mean(it.sizes)) for it in rounds),
    }


def draw_out(users: int, machines: int, each: int, once: dict[str, float]) -> None:
    """Print what so many users on so many machines of one core would take, by the constants of the last row."""
    counting = once["user"] * users / machines
    levels = int(np.ceil(np.log(machines) / np.log(FAN_IN)))
    # A task of each level reads FAN_IN partials one after another, and adds them.
    joining = levels * FAN_IN * once["moved"] * (1 / NETWORK + once["join"])
    rows = {
        "events read, TB": users * each * 16 * once["rounds"] / 1e12,
        "counting, hours of a core in all": once["user"] * users / 3600,
        f"counting, hours on {machines:,} cores": counting / 3600,
        f"joining over {levels} levels of {FAN_IN}, minutes": joining / 60,
        "partials moved, GB": once["moved"] * machines * (1 + 1 / (FAN_IN - 1)) / 1e9,
        "merging at one place, minutes": once["merge"] / 60,
    }
    print(f"\n{users:,} users, {each} events each, {machines:,} machines:\n\n| | |\n|---|---:|")
    for name, value in rows.items():
        print(f"| {name} | {value:,.3g} |")


def main() -> None:
    """Measure, and draw out."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--users", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--each", type=int, default=20)
    parser.add_argument("--shards", type=int, default=4)
    parser.add_argument("--epsilon", type=float, default=3.0)
    parser.add_argument("--to", type=int, nargs=2, default=[10**9, 10**3], metavar=("USERS", "MACHINES"))
    asked = parser.parse_args()
    print("| users | items | rounds | CPU a user, us | first partial, MB | largest partial, MB | all partials, MB "
          "| joining, ns a byte | merging, s | peak of memory, MB |\n" + "|---:" * 10 + "|")  # fmt: skip
    once: dict[str, float] = {}
    for users in asked.users:
        for items in asked.items:
            rounds = measured(users, items, asked.each, asked.shards, asked.epsilon)
            once = show(users, items, asked.each, asked.shards, rounds)
    draw_out(asked.to[0], asked.to[1], asked.each, once)


if __name__ == "__main__":
    main()
