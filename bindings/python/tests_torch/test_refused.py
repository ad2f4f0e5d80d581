"""What a plan refuses, and what it takes because nobody's data may stop it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_plan import SEEDED, data, fitted, model, weights
from torch import nn

from organza.exceptions import RunError, SettingsError
from organza.torch import Plan, Table
from organza.torch._draws import Draws

pytestmark = pytest.mark.filterwarnings("ignore:this run is NOT private")


def test_what_mixes_examples_is_refused() -> None:
    table, _ = model()
    with pytest.raises(SettingsError, match="normalises over the examples"):
        Plan([table], dense=nn.Sequential(nn.Linear(4, 2), nn.BatchNorm1d(2)))
    with pytest.raises(SettingsError, match="running_stats"):
        Plan([table], dense=nn.InstanceNorm1d(4, track_running_stats=True))


def test_what_mixes_examples_outside_of_the_plan_fails_for_one_example() -> None:
    table, head = model()
    for norm in (nn.BatchNorm1d(4), nn.BatchNorm1d(4, track_running_stats=False)):
        plan = Plan([table], dense=head, **SEEDED)
        batch = next(plan.batches(data()))
        with pytest.raises((RuntimeError, ValueError)):
            plan.step(batch, lambda one, norm=norm: head(norm(table.bag(one.ids))).sum())
        table, head = model()


def test_nobody_else_moves_the_dense_part() -> None:
    table, head = model()
    plan = Plan([table], dense=head, **SEEDED)
    batch = next(plan.batches(data()))
    with torch.no_grad():
        next(head.parameters()).add_(1.0)
    with pytest.raises(RunError, match="something other than the plan"):
        plan.step(batch, lambda example: table.bag(example.ids).sum())


@pytest.mark.parametrize("what", ["buffer", "frozen"])
def test_nothing_is_kept_of_one_batch_for_the_next(what: str) -> None:
    table, _ = model()
    head = nn.Linear(4, 1)
    if what == "buffer":
        head.register_buffer("seen", torch.zeros(1))
    else:
        head.weight.requires_grad_(False)
    plan = Plan([table], dense=head, **SEEDED)
    batch = next(plan.batches(data()))
    with torch.no_grad():
        (head.seen if what == "buffer" else head.weight).add_(1.0)  # type: ignore[operator]
    with pytest.raises(RunError, match="something other than the plan"):
        plan.step(batch, lambda example: head(table.bag(example.ids)).sum())


def score(table: Table, head: nn.Module) -> Callable[[Any], torch.Tensor]:
    """Give a loss of one example."""
    return lambda example: (head(table.bag(example.ids)).squeeze(-1) - example.y) ** 2


@pytest.mark.parametrize("write", ["data", "numpy"])
@pytest.mark.parametrize("what", ["trained", "frozen", "buffer"])
@pytest.mark.parametrize("form", ["loss of one example", "backward"])
def test_writes_that_pytorch_does_not_count_reach_no_step(form: str, what: str, write: str) -> None:
    """The loss of one example reads what the plan keeps; one ``backward()`` reads the module, whose bits are compared."""

    def trained(writes: bool) -> torch.Tensor:
        table, _ = model()
        head = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 1))
        head.register_buffer("shift", torch.zeros(1))
        first: Any = head[0]
        first.weight.requires_grad_(False)
        targets: Any = {"trained": head[1].weight, "frozen": first.weight, "buffer": head.shift}
        plan = Plan([table], dense=head, backward=form == "backward", **SEEDED)

        def loss(example: Any) -> torch.Tensor:
            result: torch.Tensor = (head(table.bag(example.ids)) + head.shift).squeeze(-1) - example.y
            return result**2

        for batch in plan.batches(data()):
            if writes and write == "data":
                targets[what].data.add_(1.0)
            elif writes:
                targets[what].detach().numpy()[:] += 1.0
            if form == "backward":
                total: Any = loss(batch).sum()
                total.backward()
                plan.step(batch)
            else:
                plan.step(batch, loss)
        return weights(plan) if what == "trained" else table.weight

    if form == "backward":
        with pytest.raises(RunError, match="something other than the plan"):
            trained(True)
    else:
        assert torch.equal(trained(True), trained(False))


def test_a_loss_keeps_nothing_in_the_dense_part_for_the_next_step() -> None:
    """What a loss writes to the module that it is given, or to a live parameter, is not there in the next pass."""

    def trained(writes: bool) -> torch.Tensor:
        table, head = model()
        head.register_buffer("count", torch.zeros(1))
        plan = Plan([table], dense=head, units_at_once=9, **SEEDED)

        def loss(example: Any) -> torch.Tensor:
            result = score(table, head)(example) * (1 + head.count.sum())  # type: ignore[operator]
            if writes:
                head.count.add_(1.0)  # type: ignore[operator]
            return result

        for batch in plan.batches(data()):
            plan.step(batch, loss)
        assert float(head.count) == 0  # type: ignore[arg-type]
        return weights(plan)

    assert torch.equal(trained(True), trained(False))


def test_an_id_that_no_row_has_is_none_and_is_told_of_at_the_end() -> None:
    """It is somebody's, so that a run which stops shows that the unit is there."""
    found, notes = [], []
    for none in (-1, 200, 2**40):
        table, head = model()
        plan = Plan([table], dense=head, **SEEDED)
        some = data()
        some["ids"][::3, 1] = none
        for number, batch in enumerate(plan.batches(some)):
            plan.step(batch, lambda one, table=table, head=head: score(table, head)(one) + table(one.ids).square().sum())
            with torch.no_grad():
                assert table(torch.tensor([none, 3])).abs().sum(1).gt(0).tolist() == [False, True], number
        found.append(weights(plan))
        notes.append(plan.notes)
        assert table(torch.tensor([none])).abs().sum() == 0
        weighted = table.bag(torch.tensor([none, 3]), weights=torch.tensor([float("nan"), 1.0]))
        assert torch.equal(weighted, table(torch.tensor(3)))
    assert torch.equal(found[0], found[1]) and torch.equal(found[0], found[2])
    assert notes[0] == [] and "beyond the last row" in notes[1][0] and notes[1] == notes[2]


def test_what_would_get_no_gradient_is_refused() -> None:
    other, finished = nn.Linear(4, 1), fitted()
    free = nn.Parameter(torch.ones(4))
    for outside in (
        lambda table, example: table.weight.mean(),
        lambda table, example: other(table.bag(example.ids)).sum(),
        lambda table, example: (free * table.bag(example.ids)).sum(),
        lambda table, example: free.sum(),
        lambda table, example: finished.tables[0](example.ids).sum(),
        lambda table, example: finished.tables[0].bag(example.ids).sum(),
    ):
        table, head = model()
        plan = Plan([table], dense=head, **SEEDED)
        batch = next(plan.batches(data()))
        with pytest.raises(RunError, match="gradient|trained"):
            plan.step(
                batch,
                lambda one, outside=outside, table=table, head=head: score(table, head)(one) + outside(table, one),
            )
    # What is not to be trained says so.
    other.requires_grad_(False)
    table, head = model()
    plan = Plan([table], dense=head, **SEEDED)

    def loss(example: Any) -> torch.Tensor:
        with torch.no_grad():
            known = finished.tables[0].bag(example.ids)
        result: torch.Tensor = score(table, head)(example) + other(known).sum()
        return result

    for batch in plan.batches(data()):
        plan.step(batch, loss)
    assert table.weight.shape == (200, 4)


def test_what_would_get_no_gradient_is_refused_in_a_batch() -> None:
    other, finished = nn.Linear(4, 4), fitted()
    table, head = model()
    plan = Plan([table], dense=head, backward=True, **SEEDED)
    batches = plan.batches(data())
    batch = next(batches)
    with pytest.raises(RunError, match="would not be trained"):
        other(table.bag(batch.ids))
    with pytest.raises(RunError, match="gets no gradient"):
        table.bag(batch.ids) + table.weight[0]
    with pytest.raises(RunError, match="would get no gradient"):
        finished.tables[0].bag(batch.ids)
    with torch.no_grad():
        assert table.weight.shape == (200, 4) and other(torch.ones(1, 4)).shape == (1, 4)
    total: Any = score(table, head)(batch).sum()
    total.backward()
    plan.step(batch)
    # Between batches nobody listens, nor after a loop that was left.
    other(torch.ones(1, 4)).sum().backward()
    next(batches)
    del batches
    other(torch.ones(1, 4)).sum().backward()
    assert table.weight.shape == (200, 4)


def test_two_plans_do_not_train_one_table_at_once() -> None:
    first, second = Table(rows=200, dim=4), Table(rows=200, dim=4)
    one = Plan([first, second], **SEEDED)
    # Its tables have other numbers in each.
    other = Plan([second, first], **SEEDED)

    def loss(example: Any) -> torch.Tensor:
        return first.bag(example.ids).sum() + 0 * second.bag(example.ids).sum()

    batches = one.batches(data())
    batch = next(batches)
    with pytest.raises(SettingsError, match="another plan"):
        next(other.batches(data()))
    one.step(batch, loss)
    for batch in batches:
        one.step(batch, loss)
    moved = [float((table.weight - table.weight.mean()).abs().mean()) for table in (first, second)]
    assert moved[0] > 0 and one.certificate()["steps"] == 6
    for batch in other.batches(data()):
        other.step(batch, loss)


def test_a_promise_about_users_says_who_they_are() -> None:
    table, head = model()
    with pytest.raises(SettingsError, match="say whose each"):
        Plan([table], dense=head, unit="user")
    assert fitted(units=None, unit="line").certificate()["unit"] == "line"
    plan = Plan([table], dense=head, unit="user", units=range(400), **SEEDED)
    for batch in plan.batches(data()):
        plan.step(batch, score(table, head))
    certificate = plan.certificate()
    assert certificate["unit"] == "user"
    conditions = "\n".join(certificate["conditions"])
    for said in ("first values", "PyTorch's generator", "rounded"):
        assert said in conditions


def test_generators_of_devices_are_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that is not here: what is asked of it is written down."""
    asked: list[Any] = []

    class Device:
        started = True

        @classmethod
        def is_initialized(cls) -> bool:
            return cls.started

        @staticmethod
        def get_rng_state_all() -> str:
            return "before"

        @staticmethod
        def manual_seed_all(seed: int) -> None:
            asked.append(seed)

        @staticmethod
        def set_rng_state_all(states: Any) -> None:
            asked.append(states)

    monkeypatch.setattr(torch, "xpu", Device)
    draws = Draws()
    draws.lend(2**63 + 5)
    draws.give_back()
    assert asked == [2**63 + 5, "before"]
    # The twin: a step that wakes a device up has drawn from a state that everybody knows.
    Device.started = False
    draws.lend(1)
    Device.started = True
    with pytest.raises(RunError, match="first to use xpu"):
        draws.give_back()
