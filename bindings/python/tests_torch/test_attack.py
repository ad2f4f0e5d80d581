"""A trained network under attack: canaries in one run, and membership over many runs. Each with broken twins.

False alarms: each bound on epsilon is wrong, and each AUC beyond its bound, with probability at most 1e-6; seeds are fixed.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from scipy.stats import beta
from torch import nn
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from organza.audit import lower_bound
from organza.torch import Plan, Table

pytestmark = pytest.mark.filterwarnings("ignore:this run is NOT private")

FALSE_ALARM = 1e-6
DELTA = 1e-6
DIM = 4


def direction() -> torch.Tensor:
    """Give the first weights of the head, which everybody knows."""
    return torch.full((1, DIM), 1.0)


def network(rows: int) -> tuple[Table, nn.Linear]:
    """Give a table of zeros and a head."""
    head = nn.Linear(DIM, 1)
    with torch.no_grad():
        head.weight.copy_(direction())
        head.bias.zero_()
    return Table(rows, DIM, weights=torch.zeros(rows, DIM)), head


# Canaries in one run.

CANARIES, OTHERS, COMMON, GUESSES, STEPS = 1_000, 500, 50, 150, 12
CLAIMED = 1.0
#: Below the false alarms, which a bound of this kind has to be for all canaries together.
DELTA_OF_CANARIES = 1e-10


def canaries(fault: str) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Train with half of the canaries; give how sure an observer is of each, which were in, and the noise.

    A canary is a user of whom each example reads a row that nobody else has. The loss is steep, so that nothing but the clip holds
    it down.
    """
    random = torch.Generator().manual_seed(11)
    is_in = torch.rand(CANARIES, generator=random) < 0.5
    times = 12 if fault == "unit split" else 1
    planted = is_in.nonzero().squeeze(1).repeat_interleave(times)
    others = torch.randint(0, COMMON, (OTHERS, 2), generator=random)
    ids = torch.cat([others, torch.stack([COMMON + planted, torch.full_like(planted, -1)], 1)])
    # Labels that cancel out, so that what others have in common says nothing of a canary.
    labels = torch.randint(0, 2, (CANARIES,), generator=random).float()
    y = torch.cat([torch.randint(0, 2, (OTHERS,), generator=random).float(), labels[planted]])
    # The number of users is declared, and the same however the coins fell; all of them join each step.
    settings: dict[str, Any] = {"epsilon": CLAIMED, "clip": 1.0}
    if fault != "sound":
        noise = canaries_noise()
        settings = {
            "little noise": {"noise_multiplier": noise / 15, "clip": 1.0},
            "no clip": {"noise_multiplier": noise / 1_000, "clip": 1_000.0},
            "unit split": {"noise_multiplier": noise, "clip": 1.0},
            "not private": {"noise_multiplier": 1e-3, "clip": 1.0},
        }[fault]
    table, head = network(COMMON + CANARIES)
    plan = Plan(
        [table],
        dense=head,
        delta=DELTA_OF_CANARIES,
        number_of_units=OTHERS + CANARIES // 2,
        batch=OTHERS + CANARIES // 2,
        steps=STEPS,
        learning_rate=1.0,
        random_state=12,
        **settings,
    )

    def loss(example: Any) -> torch.Tensor:
        score = head(table.bag(example.ids, mode="sum")).squeeze(-1)
        return 20.0 * cross_entropy(score, example.y)

    noise = 0.0
    for batch in plan.batches({"ids": ids, "y": y}):
        noise = plan.noise_multiplier
        plan.step(batch, loss)
    if fault == "sound":
        assert plan.certificate()["epsilon"] <= CLAIMED
    sure = (2 * labels - 1) * (table.weight[COMMON:] * direction()).sum(1)
    return sure, is_in, noise


def canaries_noise() -> float:
    """Give the noise of the sound run."""
    if not hasattr(canaries_noise, "known"):
        canaries_noise.known = canaries("sound")[2]  # type: ignore[attr-defined]
    known: float = canaries_noise.known  # type: ignore[attr-defined]
    return known


def bound_of_canaries(fault: str) -> float:
    """Guess "in" for those of which an observer is surest, "out" for the others, and bound epsilon."""
    sure, is_in, _ = canaries(fault)
    order = sure.argsort(descending=True)
    right = int(is_in[order[:GUESSES]].sum()) + int((~is_in[order[-GUESSES:]]).sum())
    return lower_bound(CANARIES, 2 * GUESSES, right, delta=DELTA_OF_CANARIES, confidence=1 - FALSE_ALARM)


def test_canaries_find_no_more_than_is_promised() -> None:
    found = bound_of_canaries("sound")
    assert found <= CLAIMED, found


@pytest.mark.parametrize("fault", ["little noise", "no clip", "unit split"])
def test_canaries_find_what_is_broken(fault: str) -> None:
    found = bound_of_canaries(fault)
    assert found > CLAIMED, found


def test_canaries_find_training_without_privacy() -> None:
    """The most that 300 guesses can show at this confidence is 3.06."""
    found = bound_of_canaries("not private")
    assert found > 2.5, found


# Membership: many runs on two neighbours.

RUNS, UNITS, OWN, ROWS = 110, 12, 40, 30


def trained(fault: str, with_last: bool, seed: int, noise: float) -> torch.Tensor:
    """Train for two steps that everybody joins, and give all parameters."""
    random = torch.Generator().manual_seed(5)
    units = torch.arange(UNITS + 1).repeat_interleave(OWN)
    ids = torch.randint(0, ROWS - 2, (len(units), 2), generator=random)
    y = torch.randint(0, 2, (len(units),), generator=random).float()
    ids[units == UNITS], y[units == UNITS] = ROWS - 1, 1.0
    if not with_last:
        ids, y, units = (it[: UNITS * OWN] for it in (ids, y, units))
    elif fault == "unit split":
        units[units == UNITS] += torch.arange(OWN)
    table, head = network(ROWS)
    clip = 1_000.0 if fault == "no clip" else 1.0
    plan = Plan(
        [table],
        dense=head,
        units=units,
        noise_multiplier=noise / clip,
        delta=DELTA,
        clip=clip,
        number_of_units=UNITS,
        batch=UNITS,
        steps=2,
        learning_rate=1.0,
        random_state=seed,
    )

    def loss(example: Any) -> torch.Tensor:
        return 20.0 * cross_entropy(head(table.bag(example.ids)).squeeze(-1), example.y)

    for batch in plan.batches({"ids": ids, "y": y}):
        plan.step(batch, loss)
    if fault == "sound":
        assert plan.certificate()["epsilon"] <= CLAIMED
    return torch.cat([table.weight.reshape(-1), head.weight.detach().reshape(-1), head.bias.detach()]).double()


def epsilon_at_least(happened: int, other: int, runs: int) -> float:
    """Bound epsilon from below by how often an event happened on either side (Clopper and Pearson)."""
    least = beta.ppf(FALSE_ALARM / 2, happened, runs - happened + 1) if happened else 0.0
    most = beta.ppf(1 - FALSE_ALARM / 2, other + 1, runs - other) if other < runs else 1.0
    return max(0.0, math.log(max(least - DELTA, 1e-300) / most))


def attacked(fault: str) -> tuple[float, float]:
    """Give the AUC of an observer who knows all but whether the unit is there, and the epsilon that is shown."""
    # The least at which two steps that all join keep to the claim; by the accountant, as the sound run asserts.
    sound = 7.2
    noise = sound / 40 if fault == "little noise" else sound
    # What an observer simulates: the way from one neighbour to the other, without noise. It fixes the decision.
    without, with_last = (trained("simulated" if fault == "sound" else fault, it, 0, 1e-9) for it in (False, True))
    way = with_last - without
    middle = float((way * (without + with_last)).sum()) / 2

    def scores(side: bool) -> torch.Tensor:
        first = 1 + RUNS * int(side)
        return torch.stack([(way * trained(fault, side, first + run, noise)).sum() for run in range(RUNS)])

    out, there = scores(False), scores(True)
    auc = float((there[:, None] > out[None, :]).double().mean())
    over = [int((it > middle).sum()) for it in (there, out)]
    shown = max(
        epsilon_at_least(over[0], over[1], RUNS),
        epsilon_at_least(RUNS - over[1], RUNS - over[0], RUNS),
    )
    return auc, shown


#: The largest AUC that epsilon allows (Kairouz, Oh and Viswanath 2015), with room for chance (Hoeffding).
MOST = math.exp(CLAIMED) / (1 + math.exp(CLAIMED)) + math.sqrt(math.log(1 / FALSE_ALARM) / (2 * RUNS)) + DELTA


def test_membership_does_not_show() -> None:
    auc, shown = attacked("sound")
    assert auc <= MOST and shown <= CLAIMED, (auc, shown)


@pytest.mark.parametrize("fault", ["little noise", "no clip", "unit split"])
def test_membership_shows_where_something_is_broken(fault: str) -> None:
    auc, shown = attacked(fault)
    assert auc > MOST and shown > CLAIMED, (fault, auc, shown)
