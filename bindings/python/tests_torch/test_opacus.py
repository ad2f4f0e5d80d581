"""Gradients of units: those of Opacus, those of autograd one example at a time, and what a whole step makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from opacus.grad_sample import GradSampleModule  # type: ignore[import-untyped,unused-ignore]
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from organza.torch import Batch, Plan, Table

pytestmark = [
    pytest.mark.filterwarnings("ignore:this run is NOT private"),
    # Hooks of Opacus, on a module whose inputs need no gradient.
    pytest.mark.filterwarnings("ignore:.*hook:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*hook:FutureWarning"),
]

ROWS, DIM, IDS, EXAMPLES, UNITS = 40, 6, 5, 90, 25

Array = NDArray[np.float64]
Fields = dict[str, torch.Tensor]


def made_up(*, repeated: bool = False, padded: bool = False) -> tuple[Fields, NDArray[np.int64]]:
    """Make examples of units that have from none to several, and say whose each is."""
    generator = np.random.default_rng(3)
    ids = np.stack([generator.choice(ROWS, IDS, replace=False) for _ in range(EXAMPLES)])
    if repeated:
        ids[:, 1] = ids[:, 0]
        ids[::2, 4] = ids[::2, 0]
    if padded:
        ids[np.arange(IDS) >= generator.integers(0, IDS + 1, EXAMPLES)[:, None]] = -1
    data = {
        "number": np.arange(EXAMPLES),
        "ids": ids,
        "weights": generator.uniform(0.5, 2.0, (EXAMPLES, IDS)).astype(np.float32),
        "y": generator.integers(0, 2, EXAMPLES).astype(np.float32),
    }
    fields = {name: torch.from_numpy(values) for name, values in data.items()}
    return fields, generator.integers(0, UNITS, EXAMPLES)


def first_values() -> tuple[torch.Tensor, nn.Sequential]:
    """Give the first values of the table, and the dense part."""
    torch.manual_seed(5)
    return torch.randn(ROWS, DIM), nn.Sequential(nn.Linear(DIM, 7), nn.Tanh(), nn.Linear(7, 1))


def pooled(rows: torch.Tensor, ids: torch.Tensor, weights: torch.Tensor, bag: str) -> torch.Tensor:
    """Pool rows over the ids that are there, by arithmetic that Organza has no part in."""
    there = (ids >= 0).float()
    factors = there * weights if bag == "weights" else there
    total = (rows * factors.unsqueeze(-1)).sum(-2)
    return total if bag == "sum" else total / there.sum(-1, keepdim=True).clamp(min=1)


@dataclass
class Captured:
    """The gradients of a batch, as they are handed to the engine: by unit, row and number of a row; by unit and parameter."""

    numbers: NDArray[np.int64]
    table: Array
    dense: Array


def captured(
    monkeypatch: pytest.MonkeyPatch, plan: Plan, data: Fields, step: Callable[[Batch], None], units: NDArray[np.int64]
) -> Captured:
    """Make the first step, and sum up by unit what is handed over in it."""
    seen: list[tuple[list[Any], Array]] = []
    hand_over = plan._hand_over

    def listen(lookups: list[Any], dense: list[torch.Tensor]) -> None:
        seen.append((lookups, torch.cat([it.reshape(len(it), -1) for it in dense], 1).double().numpy()))
        hand_over(lookups, dense)

    monkeypatch.setattr(plan, "_hand_over", listen)
    batches = plan.batches(data)
    batch = next(batches)
    numbers = batch._fields.number.numpy()
    step(batch)
    ((lookups, dense),) = seen
    table = np.zeros((UNITS, ROWS, DIM))
    for number, per_example, rows, values, pool in lookups:
        assert number == 0 and len(rows) == per_example * len(numbers)
        unit = np.repeat(units[numbers], per_example)
        there = rows >= 0
        if pool is not None:
            length, is_mean = pool
            count = there.reshape(-1, length).sum(1).clip(1) if is_mean else np.ones(len(rows) // length)
            values = np.repeat(values.astype(float) / count[:, None], length, axis=0)
        np.add.at(table, (unit[there], rows[there]), values[there])
    return Captured(numbers, table, by_unit(dense, units[numbers]))


def by_unit(values: Array, units: NDArray[np.int64]) -> Array:
    """Sum up gradients of examples by unit."""
    sums = np.zeros((UNITS, *values.shape[1:]))
    np.add.at(sums, units, values)
    return sums


def ours(monkeypatch: pytest.MonkeyPatch, form: str, bag: str, data: Fields, units: NDArray[np.int64]) -> Captured:
    """Capture gradients by one form of a step."""
    weights, head = first_values()
    table = Table(ROWS, DIM, weights=weights)
    plan = Plan(
        [table], dense=head, units=units, batch=UNITS / 2, steps=1, random_state=1, backward=form == "backward"
    )
    mode: Any = "sum" if bag == "sum" else "mean"

    def score(some: Any) -> torch.Tensor:
        vectors = table.bag(some.ids, mode=mode, weights=some.weights if bag == "weights" else None)
        result: torch.Tensor = head(vectors).squeeze(-1)
        return result

    def step(batch: Batch) -> None:
        if form == "loss of one example":
            plan.step(batch, lambda one: cross_entropy(score(one), one.y))
        else:
            total: Any = cross_entropy(score(batch), batch.y, reduction="sum")
            total.backward()
            plan.step(batch)

    return captured(monkeypatch, plan, data, step, units)


class Model(nn.Module):
    """The same network in PyTorch alone; a last row is read where nothing is."""

    def __init__(self, bag: str) -> None:
        super().__init__()
        weights, self.head = first_values()
        self.table = nn.Embedding(ROWS + 1, DIM, _weight=torch.cat([weights, torch.zeros(1, DIM)]))
        self.bag = bag

    def forward(self, ids: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        vectors = self.table(torch.where(ids < 0, ROWS, ids))
        result: torch.Tensor = self.head(pooled(vectors, ids, weights, self.bag)).squeeze(-1)
        return result


def same(one: Array, other: Array) -> bool:
    """Say whether gradients are equal as far as float32 can tell, and not all zero."""
    size = float(np.abs(other).max())
    return size > 1e-3 and float(np.abs(one - other).max()) <= 4e-7 * size


FORMS = ["loss of one example", "backward"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bag", ["mean", "sum", "weights", "padded", "repeated"])
def test_gradients_of_units_are_sums_of_those_of_opacus(monkeypatch: pytest.MonkeyPatch, form: str, bag: str) -> None:
    data, units = made_up(padded=bag == "padded", repeated=bag == "repeated")
    found = ours(monkeypatch, form, bag, data, units)
    numbers = torch.from_numpy(found.numbers)
    assert len(set(units[found.numbers])) < len(numbers) < EXAMPLES
    model = Model(bag)
    private: Any = GradSampleModule(model, loss_reduction="sum")
    scores = private(data["ids"][numbers], data["weights"][numbers])
    total: Any = cross_entropy(scores, data["y"][numbers], reduction="sum")
    total.backward()

    def opacus(parameter: Any) -> Array:
        values: Array = parameter.grad_sample.double().numpy()
        return by_unit(values, units[found.numbers])

    assert same(found.table, opacus(model.table.weight)[:, :ROWS])
    dense = [opacus(parameter).reshape(UNITS, -1) for parameter in model.head.parameters()]
    assert same(found.dense, np.concatenate(dense, 1))
    # Whose an example is matters: by other units it is another gradient.
    assert not same(found.table, np.roll(opacus(model.table.weight)[:, :ROWS], 1, axis=0))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("padded", [False, True])
def test_ids_that_repeat_have_the_gradient_of_autograd(
    monkeypatch: pytest.MonkeyPatch, form: str, padded: bool
) -> None:
    data, units = made_up(repeated=True, padded=padded)
    found = ours(monkeypatch, form, "weights", data, units)
    model = Model("weights")
    parameters = [model.table.weight, *model.head.parameters()]
    table, dense = np.zeros((UNITS, ROWS, DIM)), np.zeros_like(found.dense)
    for number in found.numbers:
        loss = cross_entropy(model(data["ids"][number], data["weights"][number]), data["y"][number])
        by_table, *others = (it.double().numpy() for it in torch.autograd.grad(loss, parameters))
        table[units[number]] += by_table[:ROWS]
        dense[units[number]] += np.concatenate([it.reshape(-1) for it in others])
    assert same(found.table, table) and same(found.dense, dense)


def gradients_by_arithmetic(
    data: Fields, numbers: NDArray[np.int64], table: Array, head: tuple[Array, float]
) -> Array:
    """Give the gradients of examples of a logistic model of the mean of rows, all parameters in one line each."""
    weight, bias = head
    lines = []
    for number in numbers:
        ids = data["ids"][number].numpy()
        mean = table[ids].mean(0)
        slope = 1 / (1 + np.exp(-(mean @ weight + bias))) - float(data["y"][number])
        by_table = np.zeros_like(table)
        np.add.at(by_table, ids, slope * weight / len(ids))
        lines.append(np.concatenate([by_table.reshape(-1), slope * mean, [slope]]))
    return np.array(lines)


def clipped(gradients: Array, clip: float) -> Array:
    """Shorten what is longer than the clip, and sum up."""
    norms = np.linalg.norm(gradients, axis=1)
    total: Array = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))[:, None]).sum(0)
    return total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("units_at_once", [None, 3])
def test_a_step_moves_by_the_clipped_sum_over_units_and_noise(form: str, units_at_once: int | None) -> None:
    data, units = made_up(repeated=True)
    weights, _ = first_values()
    before = weights.double().numpy()
    table, head = Table(ROWS, DIM, weights=weights), nn.Linear(DIM, 1)
    weight = head.weight.detach().double().numpy().reshape(-1)
    bias = float(head.bias.detach())
    clip, noise, rate, batch = 1.5, 0.002, 0.5, 15
    plan = Plan(
        [table],
        dense=head,
        units=units,
        clip=clip,
        noise_multiplier=noise,
        number_of_units=len(set(units)),
        learning_rate=rate,
        batch=batch,
        steps=1,
        random_state=2,
        backward=form == "backward",
        units_at_once=units_at_once,
    )
    numbers: list[int] = []
    for part in plan.batches(data):
        numbers += part._fields.number.tolist()
        if form == "backward":
            total: Any = cross_entropy(head(table.bag(part.ids)).squeeze(-1), part.y, reduction="sum")
            total.backward()
            plan.step(part)
        else:
            plan.step(part, lambda one: cross_entropy(head(table.bag(one.ids)).squeeze(-1), one.y))
    after = np.concatenate(
        [it.detach().double().numpy().reshape(-1) for it in (table.weight, head.weight, head.bias)]
    )
    moved = after - np.concatenate([before.reshape(-1), weight, [bias]])
    examples = gradients_by_arithmetic(data, np.array(numbers), before, (weight, bias))
    by_units = by_unit(examples, units[numbers])
    norms = np.linalg.norm(by_units, axis=1)
    assert np.any(norms > 1.2 * clip) and np.any((norms > 0) & (norms < 0.8 * clip))

    deviation = rate * noise * clip / batch
    left = moved + rate * clipped(by_units, clip) / batch
    # 8 deviations: beyond them once in 1e12 steps. The noise itself is there, neither 2/3 nor 3/2 of what it should be.
    assert np.abs(left).max() < 8 * deviation
    assert 0.82 < left.std() / deviation < 1.22

    # Broken twins: each example is clipped, as where a unit is split over two parts of a batch; none is; table and head have a
    # clip each; the sum is divided by the size of the batch, and not by what is expected.
    rows = before.size
    apart = np.concatenate([clipped(by_units[:, :rows], clip), clipped(by_units[:, rows:], clip)])
    true_size = len(set(units[numbers]))
    assert true_size != batch
    by_size = clipped(by_units, clip) * batch / true_size
    for wrong in (clipped(examples, clip), by_units.sum(0), apart, by_size):
        assert np.abs(moved + rate * wrong / batch).max() > 8 * deviation
