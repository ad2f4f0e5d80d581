"""Train a click model: with a private plan for users, or without privacy."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import cast

import torch
from data import Clicks
from models import ClickModel

from organza.exceptions import PrivacyWarning
from organza.ledger import Ledger
from organza.torch import Plan, Table

#: At most this many rows are scored at once.
AT_ONCE = 50_000


@dataclass(frozen=True)
class Settings:
    """How a plan moves: found on data of other seeds than those that are reported."""

    learning_rate: float
    clip: float = 1.0
    batch: float = 512
    steps: int = 200
    select: str | None = None
    gamma: float = 0.01
    share: float = 0.1
    score_cap: float = 0.1
    optimizer: str = "sgd"
    average: bool = True


def train_privately(
    model: ClickModel,
    data: Clicks,
    settings: Settings,
    ledger: Ledger,
    *,
    users: int,
    offset: torch.Tensor | None = None,
) -> float:
    """Train with all that the ledger has left, with each user as a unit, and give the epsilon that it took.

    Privacy: the plan draws users, clips what all rows of a user contribute over tables and dense part together, adds noise, and
    charges the ledger. The number of users is declared public. An offset must come from what was released before.

    Parameters
    ----------
    model : ClickModel
        A model with tables of :func:`models.private`.
    data : Clicks
        The rows of all users.
    settings : Settings
        How to move.
    ledger : Ledger
        What is paid from.
    users : int
        The number of users.
    offset : tensor, optional
        The log odds that a released model gives to each row.
    """
    fields = data.fields()
    if offset is not None:
        fields["offset"] = offset
        model.begin_at_zero()
    left = ledger.left
    plan = Plan(
        cast("list[Table]", model.tables),
        dense=model.dense,
        units=data.users,
        epsilon=left.epsilon,
        delta=left.delta,
        batch=settings.batch,
        steps=settings.steps,
        clip=settings.clip,
        optimizer=settings.optimizer,
        learning_rate=settings.learning_rate,
        select=settings.select,
        by="row",
        gamma=settings.gamma,
        share=settings.share,
        score_cap=settings.score_cap,
        average=settings.average,
        number_of_units=users,
        ledger=ledger,
        threads=1,
        progress=False,
    )
    with warnings.catch_warnings():
        # Each data set is trained on once for each line of the table: their epsilons are compared, not added.
        warnings.simplefilter("ignore", PrivacyWarning)
        for batch in plan.batches(fields):
            plan.step(batch, model.loss)
    return float(plan.certificate()["epsilon"])


def train_plainly(model: ClickModel, data: Clicks, *, epochs: int, learning_rate: float) -> None:
    """Train a model with tables of :class:`models.plain` by Adam. *Not private.*"""
    fields = data.fields()
    optimizers: list[torch.optim.Optimizer] = [
        torch.optim.SparseAdam([value for table in model.tables for value in table.parameters()], lr=learning_rate),
        torch.optim.Adam(model.dense.parameters(), lr=learning_rate),
    ]
    for _ in range(epochs):
        for chosen in torch.split(torch.randperm(len(data)), 1_000):
            loss = model.loss({name: value[chosen] for name, value in fields.items()}) / len(chosen)
            for optimizer in optimizers:
                optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            for optimizer in optimizers:
                optimizer.step()


@torch.no_grad()
def scores(model: ClickModel, data: Clicks, offset: torch.Tensor | None = None) -> torch.Tensor:
    """Give the log odds of a click of each row."""
    fields = data.fields()
    if offset is not None:
        fields["offset"] = offset
    parts = [
        model.score({name: value[start : start + AT_ONCE] for name, value in fields.items()})
        for start in range(0, len(data), AT_ONCE)
    ]
    return torch.cat(parts)
