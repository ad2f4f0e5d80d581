"""What a recommender in shards costs, measured on made-up users, and drawn out to more than fit here.

    python cost.py --users 10000 100000 --items 1000 10000 100000 --each 20

Users have `--each` items by Zipf's law. A few shards are counted and merged one after another on this machine by the tool `organza`, which
has to be on the path; what a thousand machines would take follows from the seconds and bytes of one shard.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.ipc

#: Bytes a second between machines, as drawn out: 10 Gbit/s.
NETWORK = 1.25e9
#: How many partials a task joins.
FAN_IN = 8
#: Items of the table, at most.
TABLE = 4096


def tool(*words: object) -> tuple[str, float, float]:
    """Run the tool; give what it prints, its seconds of a processor, and the peak of its memory in MB."""
    process = subprocess.Popen(["organza", *map(str, words)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"`organza {' '.join(map(str, words))}` failed")
    return said, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def events(users: int, items: int, each: int, shards: int) -> list[Any]:
    """Give made-up events by shards: items by Zipf's law."""
    draw = np.random.default_rng(0)
    who = np.repeat(np.arange(users, dtype=np.int64), each)
    # The inverse of the law, nearly: ranks whose logarithm is uniform.
    what = np.exp(draw.random(len(who)) * np.log(items)).astype(np.int64) - 1
    # As `organza.distributed.shard_of`.
    names = (f"organza shard\0{user}".encode() for user in range(users))
    hashes = (int.from_bytes(sha256(name).digest()[:8], "little") % shards for name in names)
    where = np.repeat(np.fromiter(hashes, dtype=np.int32, count=users), each)
    return [
        pa.table({"user": who[where == number], "item": what[where == number]})
        for number in range(shards)
    ]


@dataclass
class Round:
    """What one round took."""

    name: str
    #: Seconds of a processor, and bytes of a partial, of each shard.
    seconds: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    merging: float = 0.0
    memory: float = 0.0
    #: The items of the table, of the round of pairs.
    items: int = 0


def measured(users: int, items: int, each: int, shards: int, epsilon: float) -> list[Round]:
    """Run all rounds in shards on this machine."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        for number, table in enumerate(events(users, items, each, shards)):
            with pyarrow.ipc.new_file(place / f"{number}.arrow", table.schema) as file:
                file.write_table(table)
        run = place / "run"
        said, _, _ = tool("shard", "begin", "recommender", "--user-column", "user", "--item-column", "item", "--epsilon", epsilon,
                          "--delta", 1e-10, "--seed", 1, "--out", run, "--json")  # fmt: skip
        state = json.loads(said)
        rounds = []
        while not state["finished"]:
            now = Round(state["name"])
            parts = [place / f"part-{number}" for number in range(shards)]
            for number, part in enumerate(parts):
                _, seconds, memory = tool("shard", "count", "--task", run / "task", "--data", place / f"{number}.arrow",
                                          "--shard", number, "--shards", shards, "--strict", "--out", part)  # fmt: skip
                now.seconds.append(seconds)
                now.sizes.append(part.stat().st_size)
                now.memory = max(now.memory, memory)
            said, now.merging, memory = tool("shard", "merge", run, *parts, "--json")
            state = json.loads(said)
            rounds.append(now)
        rounds[-1].items = len((run / "items.txt").read_text().splitlines())
        return rounds


def show(users: int, items: int, shards: int, rounds: list[Round]) -> dict[str, float]:
    """Print a row, and give what it says of a user and of a shard."""
    seconds = sum(sum(it.seconds) for it in rounds)
    pairs, looks = rounds[-1], rounds[:-1]
    moved = sum(float(np.mean(it.sizes)) for it in rounds)
    print(
        f"| {users:,} | {items:,} | {len(rounds)} | {1e6 * seconds / users / len(rounds):.1f} | "
        f"{max(max(it.sizes) for it in looks) / 1e6:.2f} | {max(pairs.sizes) / 1e6:.1f} | "
        f"{1e9 * pairs.merging / sum(pairs.sizes):.0f} | {sum(it.merging for it in looks) / len(looks):.2f} | {pairs.merging:.1f} | "
        f"{max(it.memory for it in rounds):,.0f} |",
        flush=True,
    )
    return {
        "user": seconds / users / len(rounds),
        "rounds": float(len(rounds)),
        "merge": sum(it.merging for it in rounds),
        "moved": moved,
        "shards": float(shards),
    }


def draw_out(users: int, machines: int, each: int, once: dict[str, float]) -> None:
    """Print what so many users on so many machines of one core would take, by the constants of the last row."""
    rounds = once["rounds"]
    # A cell is a number of seven bits a byte; that of a shard of any size has at most nine of them.
    cells = TABLE * (TABLE + 1) / 2 * 9
    levels = int(np.ceil(np.log(machines) / np.log(FAN_IN)))
    rows = {
        "events read, TB": users * each * 16 * rounds / 1e12,
        "counting, hours of a core in all": once["user"] * users * rounds / 3600,
        f"counting, minutes on {machines:,} cores": once["user"] * users * rounds / machines / 60,
        "a partial of pairs, MB, at most": cells / 1e6,
        "partials of pairs, GB": cells * machines / 1e9,
        f"joining them over {levels} levels of {FAN_IN}, network alone, s": levels * FAN_IN * cells / NETWORK,
        "merges of all rounds at one place, s": once["merge"],
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
    print("| users | items | rounds | CPU a user and round, us | partial of a look, MB | of pairs, MB | merge of pairs, ns a byte "
          "| merge of a look, s | of pairs, s | peak of memory, MB |\n" + "|---:" * 10 + "|")  # fmt: skip
    once: dict[str, float] = {}
    for users in asked.users:
        for items in asked.items:
            rounds = measured(users, items, asked.each, asked.shards, asked.epsilon)
            once = show(users, items, asked.shards, rounds)
    draw_out(asked.to[0], asked.to[1], asked.each, once)


if __name__ == "__main__":
    main()
