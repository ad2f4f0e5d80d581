"""Runs that were killed: the same program ends with the same bits, another one is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

PROGRAM = """
import os, signal, sys
sys.path.insert(0, {tests!r})
import torch
from torch import nn
import test_plan as it

where, kill, result, change = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
torch.manual_seed(1)
# So wide that rows owe noise until they are read.
table = it.Table(rows=20_000, dim=4)
kept, head = nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.ReLU(), nn.Linear(8, 1))
kept.requires_grad_(False)
head.register_buffer("shift", torch.zeros(1))
if change == "frozen":
    kept.weight.mul_(1 + 1e-6)
if change == "buffer":
    head.shift.add_(1.0)
plan = it.Plan(
    [table], dense=nn.ModuleList([kept, head]), units=torch.arange(400) // 2, folder=where, checkpoints=2,
    **{{**it.SEEDED, "steps": 40, "learning_rate": 1.001 if change == "rate" else 1.0}},
)
examples = it.data()
examples["ids"] = torch.where(examples["ids"] < 0, -1, examples["ids"] * 100)
scale = 1.001 if change == "loss" else 1.0

def loss(one):
    return scale * (head(kept(table.bag(one.ids))).squeeze(-1) + head.shift - one.y) ** 2

def looked():
    with torch.no_grad():
        table(torch.arange(0, 20_000, 7)), table.weight

counter = 0
for batch in plan.batches(examples):
    if plan.steps[0] == kill:
        if change == "look":
            looked()
        os.kill(os.getpid(), signal.SIGKILL)
    plan.step(batch, loss)
    counter += 1
    # By the steps of the run at a checkpoint and elsewhere, and by a counter that a new process begins anew.
    if change == "counter" and counter % 5 == 0 or change == "steps" and plan.steps[0] % 10 == 0:
        looked()
        if plan.steps[0] == kill + 100:
            os.kill(os.getpid(), signal.SIGKILL)
dense = [value.detach().reshape(-1) for value in head.parameters()]
torch.save(torch.cat([table.weight.reshape(-1), *dense]), result)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the program."""
    place = tmp_path_factory.mktemp("killed")
    (place / "program.py").write_text(PROGRAM.format(tests=str(Path(__file__).parent)), encoding="utf-8")
    return place


def run(program: Path, folder: str, kill: int = -1, change: str = "none") -> subprocess.CompletedProcess[str]:
    """Run the program, which kills itself before the step `kill`, or 100 below it when it has looked after the step."""
    script, where = str(program / "program.py"), str(program / folder)
    words = [sys.executable, "-W", "ignore", script, where, str(kill), f"{where}.pt", change]
    return subprocess.run(words, env=os.environ, check=False, capture_output=True, text=True)


def bits(program: Path, folder: str) -> torch.Tensor:
    """Give what a run has ended with."""
    values: torch.Tensor = torch.load(program / f"{folder}.pt")
    return values


def test_a_run_that_was_killed_goes_on(program: Path) -> None:
    """Kill -9 with seven, thirteen and nineteen steps since the last checkpoint, which are made again."""
    assert run(program, "whole").returncode == 0
    for kill in (7, 33, 19):
        folder = f"killed{kill}"
        assert run(program, folder, kill).returncode == -signal.SIGKILL
        journal = (program / folder / "private" / "steps.txt").read_text(encoding="utf-8")
        sums = [line for line in journal.splitlines() if " sum " in line]
        assert len(sums) == kill % 20 and " rows " in journal, "steps are made again, and rows owed noise"
        again = run(program, folder)
        assert again.returncode == 0, again.stderr
        assert torch.equal(bits(program, "whole"), bits(program, folder))
    # The twin: a run of its own draws from a seed as well, and a step that was not made again would show.
    assert run(program, "other", change="rate").returncode == 0
    assert not torch.equal(bits(program, "whole"), bits(program, "other"))


@pytest.mark.parametrize("change", ["loss", "frozen", "buffer"])
def test_another_program_is_refused(program: Path, change: str) -> None:
    folder = f"changed {change}"
    assert run(program, folder, 7).returncode == -signal.SIGKILL
    refused = run(program, folder, change=change)
    assert refused.returncode == 1
    said = "of other gradients" if change == "loss" else "is not what it was when the run began"
    assert said in refused.stderr, refused.stderr


def test_a_run_that_has_lost_its_journal_does_not_go_on(program: Path) -> None:
    """In the first block as well, where no checkpoint says that steps were made."""
    assert run(program, "lost", 7).returncode == -signal.SIGKILL
    journal = program / "lost" / "private" / "steps.txt"
    kept = journal.read_bytes()
    journal.unlink()
    refused = run(program, "lost")
    assert refused.returncode == 1 and "it is missing" in refused.stderr, refused.stderr
    journal.write_bytes(kept)
    assert run(program, "lost").returncode == 0


@pytest.mark.parametrize("change", ["steps", "counter"])
def test_a_run_that_looks_at_its_tables_goes_on(program: Path, change: str) -> None:
    """Killed right after a look at a checkpoint, and some steps after one between two."""
    assert run(program, f"{change} whole", change=change).returncode == 0
    for kill in (20 - 100, 37):
        folder = f"{change} {kill}"
        killed = run(program, folder, kill, change)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        again = run(program, folder, change=change)
        assert again.returncode == 0, again.stderr
        # Noise is drawn where rows are read: a program that looks at other steps than before ends with other noise.
        if change == "steps":
            assert torch.equal(bits(program, f"{change} whole"), bits(program, folder))


def test_a_look_that_was_killed_is_repeated_whether_or_not_the_program_does(program: Path) -> None:
    assert run(program, "look", 24, "look").returncode == -signal.SIGKILL
    assert run(program, "look").returncode == 0
    assert run(program, "looks", 24, "look").returncode == -signal.SIGKILL
    assert run(program, "looks", 24, "look").returncode == -signal.SIGKILL
    assert run(program, "looks").returncode == 0
    assert torch.equal(bits(program, "look"), bits(program, "looks"))
