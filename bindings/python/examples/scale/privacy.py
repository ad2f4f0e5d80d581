"""Epsilon over the number of users, at the same quality.

    python privacy.py --histories train.txt.gz test.txt.gz --texts blogs.jsonl.gz --svg scale-privacy.svg

Sums over k times as many users from the same population, with noise of deviation s, look like k times the sums over these users
with noise of s / k. So runs on these users with a `--noise-multiplier` that is scaled down show what quality more users would
have, and the price of s is what they would pay. Less noise than some 0.05 has no finite epsilon at this delta, so that the best
quality here is that of the least noise, and not of none. The runs themselves are seeded and *not private*.

Histories are a person a line: a number, then those of items; lines of one person belong together. Texts are JSON lines of
`writer` and `text`. The tool `organza` has to be on the path.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: The delta of all figures: less than one over a billion users.
DELTA = 1e-10
#: Numbers of users that are priced.
USERS = [10**exponent * step for exponent in range(4, 9) for step in (1, 3)] + [10**9]
#: Words that a typeahead has, the most used ones, which are declared public so that all noises are measured on the same words.
WORDS = 10_000
#: Persons that are kept for measuring.
TEST = 1000


def tool(*words: object) -> str:
    """Run the command line tool, and give what it prints."""
    done = subprocess.run(
        ["organza", *map(str, words)], check=True, capture_output=True, text=True
    )
    return done.stdout


def lines(path: Path) -> list[str]:
    """Give the lines of a file that may be packed."""
    opened = gzip.open(path, "rt") if path.suffix == ".gz" else path.open()
    with opened as file:
        return file.read().splitlines()


def people(paths: list[Path]) -> list[list[str]]:
    """Give the items of each person."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for line in lines(path):
            who, *items = line.split()
            found.setdefault(who, []).extend(items)
    return list(found.values())


def recommender(paths: list[Path], place: Path) -> tuple[int, Callable[[float], float]]:
    """Give how many persons it learns from, and the Recall@20 on others by the noise."""
    histories = people(paths)
    draw = random.Random(0)
    draw.shuffle(histories)
    for history in histories:
        draw.shuffle(history)
    test, train = histories[:TEST], histories[TEST:]
    events = place / "events.csv"
    events.write_text(
        "who,what\n" + "".join(f"p{n},{it}\n" for n, own in enumerate(train) for it in own)
    )
    known = place / "known.jsonl"
    hidden = [set(history[: len(history) // 5]) for history in test]
    shown = [history[len(history) // 5 :] for history in test]
    known.write_text("".join(json.dumps(history) + "\n" for history in shown))

    def recall(noise: float) -> float:
        run = place / f"run-{noise}"
        tool("recommender", "--data", events, "--user-column", "who", "--item-column", "what", "--delta", DELTA,
             "--noise-multiplier", noise, "--seed", 1, "--out", run)  # fmt: skip
        answers = tool("recommend", run, "--histories", known, "--top", 20, "--json").splitlines()
        found = [
            len({str(item) for item, _ in json.loads(answer)} & own) / min(20, len(own))
            for answer, own in zip(answers, hidden, strict=True)
            if own
        ]
        return sum(found) / len(found)

    return len(train), recall


def typeahead(texts: Path, place: Path) -> tuple[int, Callable[[float], float]]:
    """Give how many writers it learns from, and how often the next of `WORDS` declared words is offered first, by the noise."""
    rows = [json.loads(line) for line in lines(texts)]
    writers = {row["writer"] for row in rows}
    used = Counter(word for row in rows for word in re.findall(r"[a-z']+", row["text"].lower()))
    words = place / "words.txt"
    words.write_text("".join(f"{word}\n" for word, _ in used.most_common(WORDS)))

    def first(noise: float) -> float:
        run = place / f"run-{noise}"
        tool("typeahead", "--data", texts, "--text-column", "text", "--user-column", "writer", "--delta", DELTA,
             "--vocabulary-file", words, "--noise-multiplier", noise, "--seed", 1, "--out", run)  # fmt: skip
        return float(json.loads((run / "summary.json").read_text())["quality"]["first"])

    return round(0.95 * len(writers)), first


def price(run: Path, noise: float) -> Callable[[float], float]:
    """Give the epsilon of the releases of a run, which had this noise, by the noise that they had otherwise."""
    events = json.loads((run / "certificate.json").read_text())["events"]

    def scaled(event: Any, factor: float) -> Any:
        if isinstance(event, list):
            return [scaled(part, factor) for part in event]
        if not isinstance(event, dict):
            return event
        return {
            name: value * factor if name == "noise_multiplier" else scaled(value, factor)
            for name, value in event.items()
        }

    def epsilon(other: float) -> float:
        question = {
            "version": 2,
            "event": {"compose": scaled(events, other / noise)},
            "delta": DELTA,
        }
        file = run / "question.json"
        file.write_text(json.dumps(question))
        return float(json.loads(tool("account", "--file", file, "--json"))["epsilon"])

    return epsilon


def noise_for(quality: float, measured: list[tuple[float, float]]) -> float | None:
    """Give the noise over users at which a quality is reached, between two measured points; None beyond them."""
    for (less, better), (more, worse) in zip(measured, measured[1:], strict=False):
        if worse <= quality <= better and worse < better:
            part = (better - quality) / (better - worse)
            return math.exp(math.log(less) * (1 - part) + math.log(more) * part)
    return None


def table(
    name: str, users: int, quality: Callable[[float], float], place: Path, noises: list[float]
) -> dict[str, Any]:
    """Measure, and print what a quality costs by the number of users."""
    measured: list[tuple[float, float]] = []
    best = 0.0
    print(f"\n{name}: {users:,} users, delta {DELTA:g}\n\n| noise multiplier | quality |\n|---|---|")
    for noise in sorted(noises):
        found = quality(noise)
        print(f"| {noise:g} | {found:.3f} |", flush=True)
        best = max(best, found)
        measured.append((noise / users, found))
    epsilon = price(place / f"run-{noises[-1]}", noises[-1])
    shares = [0.95, 0.9, 0.8]
    print("\n| users | " + " | ".join(f"{share * best:.3f} ({share:.0%})" for share in shares) + " |")
    print("|---" * (len(shares) + 1) + "|")
    curves: dict[float, list[tuple[int, float]]] = {share: [] for share in shares}
    for count in USERS:
        row = []
        for share in shares:
            ratio = noise_for(share * best, measured)
            spent = None if ratio is None else epsilon(ratio * count)
            if spent is not None:
                curves[share].append((count, spent))
            row.append("" if spent is None else f"{spent:.2g}" if spent < 100 else f"{spent:.0f}")
        print(f"| {count:,} | " + " | ".join(row) + " |", flush=True)
    return {"name": name, "best": best, "curves": curves}


def draw(tables: list[dict[str, Any]], path: Path) -> None:
    """Draw epsilon over users."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "organza"
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(tables), figsize=(4.6 * len(tables), 3.6), squeeze=False)
    for ax, shown in zip(axes[0], tables, strict=True):
        for share, curve in shown["curves"].items():
            if curve:
                label = f"{share * shown['best']:.3f} ({share:.0%} of the best)"
                ax.loglog(*zip(*curve, strict=True), marker="o", markersize=3, label=label)
        ax.axhline(1.0, color="grey", linewidth=0.8, linestyle="--")
        ax.set_title(shown["name"], fontsize=10)
        ax.set_xlabel("users")
        ax.set_ylabel(f"epsilon at delta {DELTA:g}")
        ax.minorticks_off()
        ax.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--histories", type=Path, nargs="+")
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--svg", type=Path)
    asked = parser.parse_args()
    tables = []
    if asked.histories:
        with TemporaryDirectory() as folder:
            users, quality = recommender(asked.histories, Path(folder))
            noises = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
            name = "Recall@20 of a recommender"
            tables.append(table(name, users, quality, Path(folder), noises))
    if asked.texts:
        with TemporaryDirectory() as folder:
            users, quality = typeahead(asked.texts, Path(folder))
            name = "next word of a typeahead"
            tables.append(table(name, users, quality, Path(folder), [0.05, 0.5, 2.0, 8.0]))
    if asked.svg and tables:
        draw(tables, asked.svg)


if __name__ == "__main__":
    main()
