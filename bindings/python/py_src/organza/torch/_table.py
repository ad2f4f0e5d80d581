"""Tables that Organza keeps: modules without parameters, which no optimizer of PyTorch can move."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from torch import nn

from organza.exceptions import DataError, RunError, SettingsError

if TYPE_CHECKING:
    from organza.torch._plan import Plan


#: The plans of which a step computes gradients right now.
reading: weakref.WeakSet[Any] = weakref.WeakSet()


class Table(nn.Module):
    """An embedding table whose rows a plan keeps and moves.

    Called with numbers of rows it gives the rows, as ``torch.nn.Embedding`` does. A number below zero is none: it gives
    zeros, and gets no gradient, so that lists of different lengths are padded with -1. So is a number beyond the last row: it is
    somebody's, and whether a run stops is seen by everybody. How many there were in steps is among the notes of the plan.

    Parameters
    ----------
    rows : int
        The number of rows. Public: it must not come from the data.
    dim : int
        The numbers of a row.
    deviation : float, default 0.1
        The deviation of the first values, which are normal.
    weights : array-like, optional
        The first values instead, rows x dim. Public: they must not come from the data that is protected.
    name : str, optional
        Its name in the files of the model.
    """

    def __init__(
        self,
        rows: int,
        dim: int,
        *,
        deviation: float = 0.1,
        weights: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__()
        self.rows = int(rows)
        self.dim = int(dim)
        self.deviation = float(deviation)
        self.name = name
        self._number = 0
        self._plan: Plan | None = None
        self._values: torch.Tensor | None = None
        if weights is not None:
            values = torch.as_tensor(weights).detach().to(device="cpu", dtype=torch.float32)
            if values.shape != (self.rows, self.dim):
                raise SettingsError(f"`weights` has the shape {tuple(values.shape)}, not {(self.rows, self.dim)}")
            self._values = values.clone().contiguous()

    def extra_repr(self) -> str:
        """Give what ``print`` shows."""
        return f"{self.rows}, {self.dim}"

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Give the rows of these numbers."""
        _check(ids)
        plan = self._plan
        if plan is not None and plan._network is not None:
            return plan._read(self, ids, None)
        if reading and torch.is_grad_enabled():
            raise RunError(
                "a table was read in a step of a plan that does not train it, so that its rows would get no gradient: name it among "
                "`tables`, or read it under `torch.no_grad()`"
            )
        if self._values is None:
            raise RunError("the table has no values yet: they are drawn by the first `plan.batches(data)`")
        return _gathered(self._values, ids)

    def bag(
        self,
        ids: torch.Tensor,
        *,
        mode: Literal["mean", "sum"] = "mean",
        weights: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Give the sum or the mean of the rows over the last axis, weighted if weights are given; none is for none.

        The mean is over the rows that are there, whatever their weights.
        """
        if mode not in ("mean", "sum"):
            raise SettingsError(f"`mode` is {mode!r}, but must be 'mean' or 'sum'")
        _check(ids)
        plan = self._plan
        if plan is not None and plan._network is not None and weights is None and ids.ndim > 0 and ids.shape[-1] > 0:
            # Rows that are put together where they are: a gradient for all of a bag, and not one for each row.
            return plan._read(self, ids, mode)
        rows: torch.Tensor = self(ids)
        inside = (ids >= 0) & (ids < self.rows)
        there = inside.to(rows.dtype)
        # Where there is no row its weight is none either, whatever stands there: zero times what is no number is none.
        factors = there if weights is None else torch.where(inside, weights, 0.0)
        total: torch.Tensor = (rows * factors.unsqueeze(-1)).sum(-2)
        if mode == "sum":
            return total
        mean: torch.Tensor = total / there.sum(-1, keepdim=True).clamp(min=1)
        return mean

    @property
    def weight(self) -> torch.Tensor:
        """All rows as they are now: a copy, which was released with the last step. Within a step it would have no gradient."""
        if reading and torch.is_grad_enabled():
            raise RunError(
                "`table.weight` was read in a step: it is a copy, which gets no gradient. Read the rows of an example by `table(ids)`; "
                "to look at all of them, do it outside of the step or under `torch.no_grad()`"
            )
        return self._all()

    def _all(self) -> torch.Tensor:
        if self._plan is not None and self._plan._network is not None:
            values = self._plan._network.read(self._number, np.arange(self.rows), self.dim)
            return torch.from_numpy(values)
        if self._values is None:
            raise RunError("the table has no values yet: they are drawn by the first `plan.batches(data)`")
        return self._values.clone()

    def get_extra_state(self) -> torch.Tensor | None:
        """Give all rows, for ``state_dict``."""
        plan = self._plan
        known = self._values is not None or (plan is not None and plan._network is not None)
        return self._all() if known else None

    def set_extra_state(self, state: torch.Tensor | None) -> None:
        """Take all rows from a ``state_dict``: those of a model that was released, or public ones."""
        if self._plan is not None and self._plan._network is not None:
            raise RunError("a table that is being trained is moved by its plan alone")
        self._values = None if state is None else state.detach().to(dtype=torch.float32, device="cpu")

    def __getstate__(self) -> dict[str, Any]:
        # A copy is of the values: the plan stays with the original.
        return {**self.__dict__, "_plan": None, "_values": self.get_extra_state()}


def _check(ids: torch.Tensor) -> None:
    if ids.is_floating_point() or ids.is_complex() or ids.dtype == torch.bool:
        raise DataError(f"rows are numbered by whole numbers, not by {ids.dtype}")


def _gathered(values: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    there = ((ids >= 0) & (ids < len(values))).unsqueeze(-1)
    return torch.where(there, values.to(ids.device)[ids.clamp(0, len(values) - 1)], 0.0)
