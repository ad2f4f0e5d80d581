"""A private step of the same network by Organza, by Opacus and by hand: milliseconds and memory.

    python torch_peers.py --threads 1

A table of 1,000, 100,000 and 1,000,000 rows of 64; the mean of 20 rows goes through two layers. 256 users are expected in
a batch, one example each, and the same 1,000 rows are in use at every width. Each way runs in a process of its own, draws its
batches by Poisson sampling without a data loader, and counts the drawing. Its first steps are not timed. Prints Markdown.

Time is that of the processor (`time.process_time`), with that of the clock beside it: on one thread they are the same where nothing else runs.
Opacus by hooks holds a gradient of the whole table for each example, and steps in parts that fit in `--most` GB.

A way that leaves out steps or noise would look fast: steps are counted, and after DP-SGD the rows that nobody has are held
against the noise that all steps together give them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

WIDTHS = (1_000, 100_000, 1_000_000)
DIM, IDS, DISTINCT = 64, 20, 1_000
USERS, BATCH = 25_600, 256
NOISE, CLIP, RATE, FIRST = 1.0, 1.0, 1.0, 0.01
#: Rows that are selected in a step, at every width.
DRAWS = 100
#: Steps that are not timed, those that are, and the seconds after which no more are.
WARM, TIMED, ENOUGH = 20, 200, 30.0
SLOW_WARM, SLOW_TIMED = 2, 5


@dataclass
class Measured:
    """What a way took."""

    #: The median of the processor's time for a step.
    milliseconds: float
    #: The median of the time on the clock.
    clock: float
    megabytes: float
    #: Seconds from the last step to the end of the run.
    end: float
    steps: int
    note: str = ""


class Clock:
    """Times steps from the end of one to the end of the next."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.processor: list[float] = []
        self._last = self._begun = time.perf_counter()
        self._used = time.process_time()

    def tick(self) -> None:
        """Note the end of a step."""
        now, used = time.perf_counter(), time.process_time()
        self.seconds.append(now - self._last)
        self.processor.append(used - self._used)
        self._last, self._used = now, used

    def goes_on(self) -> bool:
        """Say whether there is time for another step, of ways that need no number of steps before they begin."""
        if len(self.seconds) >= WARM + TIMED:
            return False
        late = self._last - self._begun > ENOUGH
        return not (late and len(self.seconds) >= SLOW_WARM + SLOW_TIMED)

    def measured(self) -> Measured:
        """Give the median of the steps, and the memory so far."""
        warm = WARM if len(self.seconds) > 2 * WARM else SLOW_WARM
        used, taken = (1e3 * statistics.median(it[warm:]) for it in (self.processor, self.seconds))
        return Measured(used, taken, peak(), 0.0, len(self.seconds))


def peak() -> float:
    """Give the most memory that this process had, in MB."""
    with open("/proc/self/status") as status:
        (line,) = (it for it in status if it.startswith("VmHWM"))
    return int(line.split()[1]) / 1_000


def examples(rows: int) -> dict[str, Any]:
    """Make the examples: ids that differ within each, and a label."""
    import numpy as np
    import torch

    generator = np.random.default_rng(0)
    ids = np.stack([generator.choice(DISTINCT, IDS, replace=False) for _ in range(USERS)])
    labels = generator.integers(0, 2, USERS).astype(np.float32)
    return {"ids": torch.from_numpy(ids * (rows // DISTINCT)), "y": torch.from_numpy(labels)}


def drawn(data: dict[str, Any], clock: Clock) -> Iterator[tuple[Any, Any]]:
    """Draw batches: each user joins with the same probability, alone."""
    import torch

    while clock.goes_on():
        joins = (torch.rand(USERS) < BATCH / USERS).nonzero().squeeze(1)
        yield data["ids"][joins], data["y"][joins]


def two_layers() -> Any:
    """Give the head."""
    from torch import nn

    return nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU(), nn.Linear(DIM, 1))


def check_noise(weights: Any, steps: int) -> None:
    """Hold rows that nobody has against the noise of so many steps."""
    import torch

    rows = len(weights)
    if rows == DISTINCT:
        return
    nobody = torch.ones(rows, dtype=torch.bool)
    nobody[:: rows // DISTINCT] = False
    found = float(weights[nobody].std())
    wanted = math.hypot(FIRST, RATE * NOISE * CLIP / BATCH * math.sqrt(steps))
    if abs(found / wanted - 1) > 0.01:
        raise SystemExit(f"rows that nobody has deviate by {found}, but {steps} steps give {wanted}")


def organza(rows: int, threads: int, *, loop: bool = False, **settings: Any) -> Measured:
    """Step by `organza.torch`, with the loss of one example, or with `backward()` over the batch."""
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

    from organza.torch import Plan, Table

    data = examples(rows)
    table, head = Table(rows=rows, dim=DIM, deviation=FIRST), two_layers()
    plan = Plan(
        [table],
        dense=head,
        epsilon=None,
        noise_multiplier=NOISE,
        clip=CLIP,
        learning_rate=RATE,
        batch=BATCH,
        steps=WARM + TIMED,
        units=range(USERS),
        number_of_units=USERS,
        threads=threads,
        progress=False,
        backward=loop,
        **settings,
    )

    def loss(example: Any) -> Any:
        return cross_entropy(head(table.bag(example.ids)).squeeze(-1), example.y)

    clock = Clock()
    batches = plan.batches(data)
    for _ in range(WARM + TIMED):
        batch = next(batches)
        if loop:
            scores = head(table.bag(batch.ids)).squeeze(-1)
            total: Any = cross_entropy(scores, batch.y, reduction="sum")
            total.backward()
            plan.step(batch)
        else:
            plan.step(batch, loss)
        clock.tick()
    training = peak()
    begun = time.perf_counter()
    if next(batches, None) is not None:
        raise SystemExit("there are more steps than were planned")
    measured = clock.measured()
    measured.end = time.perf_counter() - begun
    measured.note = f"{training:.0f} MB before the end of the run"
    if plan.certificate()["steps"] != measured.steps:
        raise SystemExit(f"{measured.steps} steps were made, but {plan.certificate()['steps']} are certified")
    if "select" not in settings:
        check_noise(table.weight, measured.steps)
    return measured


def opacus(rows: int, threads: int, *, mode: str, part: int = 2 * BATCH) -> Measured:
    """Step by Opacus, which is spared its data loader."""
    import torch
    from opacus import PrivacyEngine  # type: ignore[import-untyped,unused-ignore]
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(rows, DIM)
            self.table.weight.data.mul_(FIRST)
            self.head = two_layers()

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            scores: torch.Tensor = self.head(self.table(ids).mean(1)).squeeze(-1)
            return scores

    data = examples(rows)
    model: Any = Model()
    weights = model.table.weight
    engine = PrivacyEngine()
    made = engine.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=RATE),
        criterion=nn.BCEWithLogitsLoss(reduction="mean"),
        data_loader=DataLoader(TensorDataset(data["ids"], data["y"]), batch_size=BATCH),
        noise_multiplier=NOISE,
        max_grad_norm=CLIP,
        grad_sample_mode=mode,
    )
    model, optimizer = made[0], made[1]
    criterion = made[2] if mode == "ghost" else nn.BCEWithLogitsLoss(reduction="mean")
    clock = Clock()
    for ids, labels in drawn(data, clock):
        starts = range(0, max(len(ids), 1), part)
        for start in starts:
            optimizer.zero_grad()
            if len(starts) > 1:
                optimizer.signal_skip_step(do_skip=start + part < len(ids))
            criterion(model(ids[start : start + part]), labels[start : start + part]).backward()
            optimizer.step()
        clock.tick()
    measured = clock.measured()
    if part < BATCH:
        measured.note = f"in parts of {part} examples"
    accounted = sum(steps for _, _, steps in engine.accountant.history)
    if accounted != measured.steps:
        raise SystemExit(f"{measured.steps} steps were made, but {accounted} are accounted for")
    check_noise(weights.detach(), measured.steps)
    return measured


def by_hand(rows: int, threads: int) -> Measured:
    """Step by PyTorch alone: gradients by the rows of each example, and noise on all of the table."""
    import torch
    from torch.func import functional_call, grad, vmap
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

    data = examples(rows)
    weights, head = torch.empty(rows, DIM).normal_(0, FIRST), two_layers()
    parameters = {name: value.detach() for name, value in head.named_parameters()}

    def loss(parameters: dict[str, torch.Tensor], vectors: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        score: torch.Tensor = functional_call(head, parameters, (vectors.mean(0),))
        return cross_entropy(score.squeeze(-1), label)

    each = vmap(grad(loss, argnums=(0, 1)), in_dims=(None, 0, 0))
    clock = Clock()
    for ids, labels in drawn(data, clock):
        by_head, by_rows = each(parameters, weights[ids], labels)
        # A row that an example has twice counts with the sum of both gradients.
        same = (ids.unsqueeze(2) == ids.unsqueeze(1)).float()
        squares = (torch.bmm(by_rows, by_rows.transpose(1, 2)) * same).sum((1, 2))
        squares += sum(it.flatten(1).square().sum(1) for it in by_head.values())
        factors = (CLIP / squares.sqrt()).clamp(max=1)
        noisy = torch.normal(0.0, NOISE * CLIP, weights.shape)
        noisy.index_add_(0, ids.reshape(-1), (by_rows * factors[:, None, None]).reshape(-1, DIM))
        weights.sub_(noisy, alpha=RATE / BATCH)
        for name, value in parameters.items():
            total = torch.einsum("e,e...->...", factors, by_head[name])
            value.sub_(total + torch.normal(0.0, NOISE * CLIP, value.shape), alpha=RATE / BATCH)
        clock.tick()
    measured = clock.measured()
    check_noise(weights, measured.steps)
    return measured


def nothing(rows: int, threads: int) -> Measured:
    """Only load what all ways load."""
    import torch

    examples(rows)
    return Measured(0.0, 0.0, peak(), 0.0, 0, f"PyTorch {torch.__version__}")


def by_hooks(rows: int, threads: int) -> Measured:
    """Step by hooks, in parts of as many examples as fit: each holds a table of gradients, and for a while a copy of it."""
    most = float(os.environ.get("MOST_GB", "4"))
    fits = int(most * 1e9 / (2 * 4 * rows * DIM))
    return opacus(rows, threads, mode="hooks", part=max(1, fits) if fits < 2 * BATCH else 2 * BATCH)


WAYS: dict[str, Callable[[int, int], Measured]] = {
    "Organza, loss of one example": organza,
    "Organza, backward()": lambda rows, threads: organza(rows, threads, loop=True),
    f"Organza, selection of {DRAWS} rows, SGD": lambda rows, threads: organza(
        rows, threads, select="exponential", draws=DRAWS
    ),
    f"Organza, selection of {DRAWS} rows, Adam": lambda rows, threads: organza(
        rows, threads, select="exponential", draws=DRAWS, optimizer="adam"
    ),
    "Opacus, hooks": by_hooks,
    "Opacus, ghost clipping": lambda rows, threads: opacus(rows, threads, mode="ghost"),
    "PyTorch by hand": by_hand,
    "nothing": nothing,
}


def run(way: str, rows: int, threads: int, most: float) -> Measured | str:
    """Measure a way in a process of its own; give what failed if it did."""
    words = [sys.executable, __file__, "--way", way, "--rows", str(rows), "--threads", str(threads)]
    number = str(threads)
    surroundings = {**os.environ, "OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number, "MOST_GB": str(most)}
    done = subprocess.run(words, capture_output=True, text=True, env=surroundings)
    if done.returncode != 0:
        return "failed: " + (done.stderr.strip().splitlines() or [str(done.returncode)])[-1][:200]
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def one(way: str, rows: int, threads: int) -> None:
    """Measure a way in this process."""
    import torch

    warnings.filterwarnings("ignore")
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    print(json.dumps(asdict(WAYS[way](rows, threads))))


def main() -> None:
    """Measure all ways, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most", type=float, default=4.0, help="the memory for gradients of examples by hooks, in GB")
    parser.add_argument("--way", choices=WAYS, help="only this, in this process")
    parser.add_argument("--rows", type=int, action="append", help="only this width; can be given again")
    parser.add_argument("--only", action="append", default=[], help="only ways with this in their names; can be given again")
    given = parser.parse_args()
    widths = tuple(given.rows or WIDTHS)
    if given.way is not None:
        return one(given.way, widths[0], given.threads)
    empty = run("nothing", DISTINCT, given.threads, given.most)
    wanted = given.only or [""]
    ways = [way for way in WAYS if way != "nothing" and any(it in way for it in wanted)]
    results = {(way, rows): run(way, rows, given.threads, given.most) for way in ways for rows in widths}
    print("| | " + " | ".join(f"{rows:,} rows" for rows in widths) + " |")
    print("|---|" + "---:|" * len(widths))
    for way in ways:
        cells = [results[way, rows] for rows in widths]
        texts = [
            it if isinstance(it, str) else f"{it.milliseconds:.1f} ({it.clock:.1f}), {it.megabytes:,.0f} MB" for it in cells
        ]
        print(f"| {way} | " + " | ".join(texts) + " |")
    print("\nMedian milliseconds of a step by the processor (by the clock), peak memory of the process.", end=" ")
    if isinstance(empty, Measured):
        print(f"{empty.megabytes:,.0f} MB are there before anything is done ({empty.note}, {given.threads} threads).")
    for (way, rows), it in results.items():
        if isinstance(it, Measured):
            end = f", then {it.end:.2f} s to the end of the run; {it.note}" if it.note else ""
            print(f"- {way}, {rows:,} rows: {it.steps} steps{end}")


if __name__ == "__main__":
    main()
