"""What of a model would break the promise, and who has written to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from organza.exceptions import RunError, SettingsError
from organza.torch._table import Table

#: Layers that mix the examples of a batch, or keep what they have seen.
_MIXES = (nn.modules.batchnorm._BatchNorm, nn.LazyBatchNorm1d, nn.LazyBatchNorm2d, nn.LazyBatchNorm3d)


def check(tables: Sequence[Table], dense: nn.Module) -> None:
    """Refuse tables and layers that cannot be trained privately."""
    if not tables or not all(isinstance(table, Table) for table in tables):
        raise SettingsError("`tables` are one or more organza.torch.Table")
    if len({id(table) for table in tables}) < len(tables):
        raise SettingsError("a table is named twice among `tables`")
    check_free(tables)
    for name, module in dense.named_modules():
        what = f"{name or 'the dense part'} ({type(module).__name__})"
        if isinstance(module, _MIXES):
            raise SettingsError(
                f"{what} normalises over the examples of a batch, so that one person changes the gradients of all: use "
                "nn.LayerNorm or nn.GroupNorm"
            )
        if getattr(module, "track_running_stats", False):
            raise SettingsError(f"{what} keeps statistics of what it has seen: set `track_running_stats=False`")
    for name, value in dense.named_parameters():
        if value.requires_grad and value.dtype != torch.float32:
            raise SettingsError(f"{name} of the dense part is {value.dtype}: it has to be float32")


def check_free(tables: Sequence[Table]) -> None:
    """Refuse tables that another plan is training."""
    if any(table._plan is not None and table._plan._network is not None for table in tables):
        raise SettingsError("a table is being trained by another plan: finish that first")


class Dense:
    """What of a dense part is trained, and what stands beside it: values that nobody else can write to.

    A program holds the module, and can write to its parameters and buffers while it trains: what it keeps there of one batch would
    reach others, without noise. So steps read from here: what is trained is what the engine released last, and all else is a copy
    that was made when the run began.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        #: The live parameters that are trained.
        self.live = {name: value for name, value in module.named_parameters() if value.requires_grad}
        #: What was released last, and what is not trained, by names as the module of a loss has them.
        self.trained: dict[str, torch.Tensor] = {}
        self.kept: dict[str, torch.Tensor] = {}
        self._marks: dict[str, tuple[int, int]] = {}

    def begin(self) -> None:
        """Copy what is not trained."""
        self.kept = {
            f"dense.{name}": value.detach().clone() for name, value in self._all() if name not in self.live
        }
        self._marks = {name: (id(value), value._version) for name, value in self._all()}

    def _all(self) -> list[tuple[str, torch.Tensor]]:
        return [*self._module.named_parameters(), *self._module.named_buffers()]

    def first(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Give the values that training begins with."""
        values = [value.detach().cpu().reshape(-1) for value in self.live.values()]
        return (torch.cat(values) if values else torch.zeros(0)).numpy()

    def take(self, values: np.ndarray[Any, np.dtype[np.float32]]) -> None:
        """Take what was released, and put it where PyTorch reads it."""
        start = 0
        for name, live in self.live.items():
            end = start + live.numel()
            own = torch.from_numpy(values[start:end]).reshape(live.shape).to(live.device)
            self.trained[f"dense.{name}"] = own
            with torch.no_grad():
                live.copy_(own)
            self._marks[name] = (id(live), live._version)
            start = end

    def check(self, *, values: bool) -> None:
        """Refuse a module that something else has written to, as far as can be seen.

        By `values` also what PyTorch does not count is found, such as writes through ``.data`` or NumPy: needed where the
        program itself reads the module.
        """
        found = dict(self._all())
        changed = {name: (id(value), value._version) for name, value in found.items()} != self._marks
        if values and not changed:
            own = {**self.trained, **self.kept}
            changed = any(not _same(value.detach(), own[f"dense.{name}"]) for name, value in found.items())
        if changed:
            raise RunError(
                "a parameter or buffer of the dense part was changed by something other than the plan: what it keeps of one batch "
                "would reach others, without noise. Leave out the optimizer of PyTorch, and everything that writes to the "
                "model while it is trained"
            )


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Compare bits: whether a run stops must not depend on a number that is none."""
    if one.shape != other.shape or one.dtype != other.dtype or one.device != other.device:
        return False
    bits = [it.contiguous().reshape(-1).view(torch.uint8) for it in (one, other)]
    return torch.equal(bits[0], bits[1])
