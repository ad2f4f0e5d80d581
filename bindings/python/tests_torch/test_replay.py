"""Record and replay: the same key on two neighbours. Noise is the same, so what differs is what it has to hide.

One unit more may move tables and dense part together by one clip, whatever the form of a step and the parts of a batch. Nothing is
left to chance here, so there are no false alarms; programs that break a condition are caught.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import nn

from organza.torch import Plan, Table

pytestmark = pytest.mark.filterwarnings("ignore:this run is NOT private")

UNITS, OWN, ROWS, DIM = 24, 3, 40, 4
CLIP, BATCH, KEYS = 0.5, 12, 6
#: How far the last place of a single may take a sum of squares.
ROUNDING = 1e-3

SOUND = "sound"
#: Programs that break a condition, all of which ``backward()`` cannot show or the plan was told.
FAULTS = ["clip twice as large", "unit split over parts", "mean over the batch", "normalised over the batch"]


@dataclass
class Compared:
    """How far two neighbours are apart under one key, and how far they may be."""

    found: float
    stated: float

    def violates(self) -> bool:
        """Say whether the unit has moved more than its clip."""
        return self.found > self.stated + ROUNDING * CLIP


def examples(with_last: bool) -> dict[str, torch.Tensor]:
    """Give three examples a unit. The last unit is another kind of person: larger, and of the other opinion."""
    random = torch.Generator().manual_seed(0)
    units = torch.arange(UNITS + 1).repeat_interleave(OWN)
    ids = torch.randint(0, ROWS, (len(units), 3), generator=random)
    is_last = units == UNITS
    data = {
        "ids": ids,
        "unit": units,
        "sign": torch.where(is_last, -1.0, 1.0),
        "weight": torch.where(is_last, 10.0, 1.0),
    }
    return data if with_last else {name: it[~is_last] for name, it in data.items()}


def stepped(form: str, fault: str, parts: int | None, key: int, with_last: bool) -> tuple[torch.Tensor, bool]:
    """Give all parameters after a step, in units of the sum, and whether the last unit was in the batch."""
    torch.manual_seed(1)
    table, head = Table(ROWS, DIM, weights=0.1 * torch.randn(ROWS, DIM)), nn.Linear(DIM, 1)
    data = examples(with_last)
    whose = data["unit"].clone()
    if fault == "unit split over parts":
        whose[whose == UNITS] += torch.arange(OWN if with_last else 0)
    # Where no clip hides what a program did wrong, gradients are shorter than it.
    short = fault in ("mean over the batch", "normalised over the batch")
    scale = 0.7 * CLIP / OWN if short else 20.0
    if fault == "reduction mean":
        # What the mean divides by is made up for by a loss that is as much larger, as a learning rate would be.
        scale = 0.7 * CLIP * BATCH
    plan = Plan(
        [table],
        dense=head,
        units=whose,
        clip=2 * CLIP if fault == "clip twice as large" else CLIP,
        noise_multiplier=0.5,
        number_of_units=UNITS,
        learning_rate=1.0,
        batch=BATCH,
        steps=1,
        random_state=key,
        backward=form == "backward",
        units_at_once=parts,
    )

    def loss(some: Any) -> torch.Tensor:
        score: torch.Tensor = head(table.bag(some.ids)).squeeze(-1)
        result: torch.Tensor = scale * some.sign * score
        return result

    joined = False
    for batch in plan.batches(data):
        joined |= bool((batch._fields.unit == UNITS).any())
        if form != "backward":
            plan.step(batch, loss)
            continue
        losses = loss(batch)
        if fault == "mean over the batch":
            total: Any = losses.mean() * OWN * BATCH
        elif fault == "reduction mean":
            total = losses.mean()
        elif fault == "normalised over the batch":
            total = (losses * batch.weight / batch.weight.max()).sum()
        else:
            total = losses.sum()
        total.backward()
        plan.step(batch)
    values = [table.weight, *(it.detach() for it in head.parameters())]
    return torch.cat([it.reshape(-1) for it in values]).double() * BATCH, joined


def compared(form: str, fault: str = SOUND, parts: int | None = None) -> list[Compared]:
    """Compare neighbours under some keys."""
    all_keys = []
    for key in range(KEYS):
        without, _ = stepped(form, fault, parts, key, False)
        with_last, joined = stepped(form, fault, parts, key, True)
        all_keys.append(Compared(float((with_last - without).norm()), CLIP if joined else 0.0))
    return all_keys


@pytest.mark.parametrize("parts", [None, 5])
@pytest.mark.parametrize("form", ["loss of one example", "backward"])
def test_a_unit_moves_all_parameters_by_one_clip(form: str, parts: int | None) -> None:
    found = compared(form, parts=parts)
    assert not any(it.violates() for it in found), found
    assert 0 < sum(it.stated > 0 for it in found) < KEYS, "it joins some batches"
    assert any(it.found > 0.9 * CLIP for it in found), "the bound is reached"


@pytest.mark.parametrize("fault", FAULTS)
def test_programs_that_break_a_condition_are_caught(fault: str) -> None:
    found = compared("backward", fault)
    assert any(it.violates() for it in found), found


@pytest.mark.parametrize("form", ["loss of one example", "backward"])
def test_a_unit_that_is_split_over_the_parts_of_a_batch_is_caught(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of parts that are handed out one after another: each has a clip, and here some of one unit have one each."""
    assert not any(it.violates() for it in compared(form, parts=1))
    drawn_of = Plan._begin

    def begin(plan: Plan, data: Any) -> None:
        # The engine is told of as many units as the last one has examples.
        whose = plan._units.clone()
        last = (whose == UNITS).nonzero().squeeze(1)
        whose[last] += torch.arange(len(last))
        plan._units = whose
        drawn_of(plan, data)

    monkeypatch.setattr(Plan, "_begin", begin)
    found = compared(form, parts=1)
    assert any(it.violates() for it in found), found


def test_a_mean_over_the_batch_as_people_write_it_is_caught() -> None:
    """``reduction="mean"``, and `total.backward()`: gradients that are small enough hide nothing behind the clip."""
    found = compared("backward", "reduction mean")
    assert any(it.violates() for it in found), found
