"""What of a model would break the promise, and who has written to it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from organza.exceptions import SettingsError
from organza.torch._table import Table

#: Layers that mix the examples of a batch, or keep what they have seen.
_MIXES = (nn.modules.batchnorm._BatchNorm, nn.LazyBatchNorm1d, nn.LazyBatchNorm2d, nn.LazyBatchNorm3d)


def check(tables: Sequence[Table], dense: nn.Module) -> None:
    """Refuse tables and layers that cannot be trained privately; number the tables."""
    if not tables or not all(isinstance(table, Table) for table in tables):
        raise SettingsError("`tables` are one or more organza.torch.Table")
    if len({id(table) for table in tables}) < len(tables):
        raise SettingsError("a table is named twice among `tables`")
    for number, table in enumerate(tables):
        if table._plan is not None and table._plan._network is not None:
            raise SettingsError("a table is being trained by another plan: finish that first")
        table._number = number
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


def state_of(dense: nn.Module) -> list[tuple[str, int, int]]:
    """Give what changes when a parameter or a buffer is replaced or written to, trained or not."""
    tensors = [*dense.named_parameters(), *dense.named_buffers()]
    return [(name, id(value), value._version) for name, value in tensors]
