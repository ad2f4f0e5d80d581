"""Order the ways to a private click model, on made-up data with a known truth.

    python order.py --users 40000 --seeds 3 --model logistic

prints a table in markdown: AUC, log loss, and expected over observed clicks, with mean and standard deviation over seeds. The unit
is the user: all rows of one are protected as one. Each seed has its own truth, rows and test users.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter

import torch
from data import Clicks, made_up, read_criteo
from measures import Measures, measure
from models import MODELS, plain
from one_shot import release
from settings import PLAIN, SHARE_OF_START, settings_of
from train import scores, train_plainly, train_privately

from organza.exceptions import PrivacyWarning
from organza.ledger import Ledger

DELTA = 1e-6
#: What the methods are called in the table.
PLANS = {
    "DP-SGD": "dp-sgd",
    "selection, exponential, by row": "exponential",
    "selection, uniform, by row": "uniform",
}


@dataclass(frozen=True)
class Task:
    """Data to learn from and to be tested on, and the model for it."""

    train: Clicks
    test: Clicks
    users: int
    rows: int
    buckets: int
    model: str

    def by_plan(self, method: str, epsilon: float) -> Measures:
        """Train the network with the whole budget."""
        with _ledger(epsilon) as ledger:
            model = MODELS[self.model](self.buckets)
            train_privately(model, self.train, settings_of(method, epsilon), ledger, users=self.users)
            return measure(scores(model, self.test), self.test.labels)

    def by_counts(self, epsilon: float) -> Measures:
        """Release counts once, with the whole budget."""
        with _ledger(epsilon) as ledger:
            start = release(
                self.train,
                buckets=self.buckets,
                rows_per_user=self.rows,
                epsilon=epsilon,
                delta=DELTA,
                budget=ledger,
            )
            return measure(start.score(self.test), self.test.labels)

    def by_counts_and_plan(self, epsilon: float) -> Measures:
        """Release counts with a part of the budget, and train the network on what they leave with the rest."""
        with _ledger(epsilon) as ledger:
            start = release(
                self.train,
                buckets=self.buckets,
                rows_per_user=self.rows,
                epsilon=SHARE_OF_START * epsilon,
                delta=SHARE_OF_START * DELTA,
                budget=ledger,
            )
            model = MODELS[self.model](self.buckets)
            settings = settings_of("after-start", epsilon)
            offset = start.score(self.train)
            train_privately(model, self.train, settings, ledger, users=self.users, offset=offset)
            return measure(scores(model, self.test, start.score(self.test)), self.test.labels)

    def without_privacy(self) -> Measures:
        """Train the same network in plain PyTorch."""
        model = MODELS[self.model](self.buckets, plain)
        epochs, learning_rate = PLAIN[self.model]
        train_plainly(model, self.train, epochs=epochs, learning_rate=learning_rate)
        return measure(scores(model, self.test), self.test.labels)

    def by_a_constant(self) -> Measures:
        """Predict the rate of clicks of the training rows, without noise, for each row."""
        rate = self.train.labels.mean()
        return measure(torch.logit(rate).expand(len(self.test)), self.test.labels)

    def methods(self, epsilons: list[float]) -> Iterator[tuple[str, float | None, Callable[[], Measures]]]:
        """Give all methods: a name, an epsilon if it is private, and what measures it."""
        yield "a constant", None, self.by_a_constant
        truth = self.test.truth
        if truth is not None:
            yield "the truth itself", None, lambda: measure(truth, self.test.labels)
        yield "without privacy", None, self.without_privacy
        for epsilon in epsilons:
            for name, method in PLANS.items():
                yield name, epsilon, lambda method=method, epsilon=epsilon: self.by_plan(method, epsilon)  # type: ignore[misc]
            yield "one-shot", epsilon, lambda epsilon=epsilon: self.by_counts(epsilon)  # type: ignore[misc]
            yield "one-shot + network", epsilon, lambda epsilon=epsilon: self.by_counts_and_plan(epsilon)  # type: ignore[misc]


class _ledger:  # noqa: N801, used as a function
    """The ledger of one line of the table, for as long as it is needed."""

    def __init__(self, epsilon: float) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._ledger = Ledger.create(Path(self._folder.name) / "clicks.ledger", "clicks", epsilon, DELTA, unit="user")

    def __enter__(self) -> Ledger:
        return self._ledger

    def __exit__(self, *_: object) -> None:
        spent = self._ledger.total
        assert spent.epsilon <= self._ledger.epsilon and spent.delta <= self._ledger.delta, "more was spent than there was"
        self._folder.cleanup()


Found = dict[tuple[str, float | None], list[Measures]]


def table(found: Found, epsilons: list[float]) -> str:
    """Give a table in markdown."""
    names = list(dict.fromkeys(name for name, _ in found))
    heads = [f"epsilon {epsilon:g}" for epsilon in epsilons]
    lines = ["| AUC · log loss · expected over observed | " + " | ".join(heads) + " |", "|---" * (len(heads) + 1) + "|"]
    for name in names:
        if (name, None) in found:
            cells = [_cell(found[name, None])] + [""] * (len(epsilons) - 1)
        else:
            cells = [_cell(found[name, epsilon]) for epsilon in epsilons]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(measured: list[Measures]) -> str:
    def of(values: list[float], digits: int) -> str:
        spread = f" ± {stdev(values):.{digits}f}" if len(values) > 1 else ""
        return f"{mean(values):.{digits}f}{spread}"

    aucs, losses, ratios = (list(values) for values in zip(*measured, strict=True))
    return f"**{of(aucs, 3)}** · {of(losses, 3)} · {of(ratios, 2)}"


def tasks(arguments: argparse.Namespace) -> Iterator[tuple[int, Task]]:
    """Give the data of each seed; rows of a file are the same for all."""
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        if arguments.criteo is None:
            train, test = made_up(arguments.users, arguments.rows, arguments.buckets, seed=seed)
            yield seed, Task(train, test, arguments.users, arguments.rows, arguments.buckets, arguments.model)
        else:
            train, test = (read_criteo(path, arguments.buckets) for path in arguments.criteo)
            yield seed, Task(train, test, len(train), 1, arguments.buckets, arguments.model)


def parsed() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=40_000, help="users to learn from; 10,000 others are for the test")
    parser.add_argument("--rows", type=int, default=10, help="the rows of each user")
    parser.add_argument("--buckets", type=int, default=1_000, help="the buckets of each of the 26 columns")
    parser.add_argument("--epsilons", type=float, nargs="+", default=[1.0, 3.0, 8.0])
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--first-seed", type=int, default=0, help="100 and above were used to find settings")
    parser.add_argument("--model", choices=list(MODELS), default="factorisation-machine")
    parser.add_argument("--criteo", nargs=2, metavar=("TRAIN", "TEST"), help="files in Criteo's format; a row is then a unit")
    return parser.parse_args()


def main() -> None:
    """Measure all methods with all seeds, and print the table."""
    torch.set_num_threads(1)
    # All methods learn from the same made-up data, for comparison: their epsilons are not meant to be added.
    warnings.simplefilter("ignore", PrivacyWarning)
    arguments = parsed()
    found: Found = defaultdict(list)
    for seed, task in tasks(arguments):
        for name, epsilon, method in task.methods(arguments.epsilons):
            torch.manual_seed(seed)
            begin = perf_counter()
            measured = method()
            found[name, epsilon].append(measured)
            at = "" if epsilon is None else f" at epsilon {epsilon:g}"
            print(f"seed {seed}, {name}{at}: AUC {measured.auc:.4f}, {perf_counter() - begin:.0f} s", flush=True)
    print(f"\n{table(found, arguments.epsilons)}")


if __name__ == "__main__":
    main()
