"""The gradient of each example where no other is within reach: ``vmap`` of ``grad``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import nn
from torch.func import functional_call, grad_and_value, vmap

from organza.exceptions import RunError

#: How rows are put together over the last axis where they are read: not at all, or to their sum or mean.
Pool = Literal["sum", "mean"] | None


class Noted(NamedTuple):
    """What a table was read for: its number, rows, the gradient by what was read, and how that was put together."""

    table: int
    ids: torch.Tensor
    gradient: torch.Tensor
    pool: Pool


class Reads:
    """What tables were read for in one pass."""

    def __init__(self) -> None:
        self.noted: list[Noted] = []
        self.anchor: torch.Tensor | None = None


class _Read(torch.autograd.Function):
    """Reads rows, and notes the gradient by them. It hangs on an anchor, a zero of which the gradient is never used."""

    @staticmethod
    def forward(
        ids: torch.Tensor,
        anchor: torch.Tensor,
        number: int,
        gather: Callable[[torch.Tensor], torch.Tensor],
        pool: Pool,
        reads: Reads,
    ) -> torch.Tensor:
        return gather(ids)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ids, _, ctx.number, _, ctx.pool, ctx.reads = inputs
        ctx.save_for_backward(ids)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (ids,) = ctx.saved_tensors
        zero = _Note.apply(gradients[0], ids, ctx.number, ctx.pool, ctx.reads)
        return None, zero, None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, ids: Any, anchor: Any, number: int, gather: Any, pool: Pool, reads: Reads
    ) -> Any:
        return _Read.apply(_first(ids, in_dims[0], info.batch_size), anchor, number, gather, pool, reads), 0


class _Note(torch.autograd.Function):
    """Notes a gradient of all examples at once; gives zeros."""

    @staticmethod
    def forward(gradient: Any, ids: Any, number: int, pool: Pool, reads: Reads) -> Any:
        raise RuntimeError("gradients of examples are computed by `vmap`")

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, None, None, None

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, gradient: Any, ids: Any, number: int, pool: Pool, reads: Reads
    ) -> Any:
        ids = _first(ids, in_dims[1], info.batch_size)
        gradient = _first(gradient, in_dims[0], info.batch_size)
        reads.noted.append(Noted(number, ids, gradient, pool))
        return gradient.new_zeros(info.batch_size), 0


def _first(values: torch.Tensor, axis: int | None, size: int) -> torch.Tensor:
    """Give the values with the axis of the examples in front."""
    return values.expand(size, *values.shape) if axis is None else values.movedim(axis, 0)


def read(
    reads: Reads, number: int, gather: Callable[[torch.Tensor], torch.Tensor], ids: torch.Tensor, pool: Pool
) -> torch.Tensor:
    """Give rows of a table, or what they are put together to, inside of :func:`gradients`."""
    rows: torch.Tensor = _Read.apply(ids, reads.anchor, number, gather, pool, reads)
    return rows


class _Loss(nn.Module):
    """The loss of one example as a module, so that its dense part can be taken from elsewhere for the time of a call."""

    def __init__(self, dense: nn.Module, loss: Callable[..., torch.Tensor], unpacked: bool) -> None:
        super().__init__()
        self.dense = dense
        self._loss = loss
        self._unpacked = unpacked

    def forward(self, example: Any) -> torch.Tensor:
        loss = self._loss(*example) if self._unpacked else self._loss(example)
        return loss.reshape(()) if loss.numel() == 1 else loss


class OneByOne:
    """The gradient of each example by a dense part, of one loss; made ready once, for all steps.

    `vmap` hands the loss one example at a time: there is no axis of examples that it could sum, divide or normalise over. The dense
    part is read from tensors that are handed over, whatever stands in the module or is written to it.
    """

    def __init__(self, dense: nn.Module, loss: Callable[..., torch.Tensor], kind: type[Any]) -> None:
        self._of = (loss, kind)
        self._reads: Reads | None = None
        unpacked = issubclass(kind, tuple)
        module = _Loss(dense, loss, unpacked)

        def of_one(
            trained: dict[str, torch.Tensor], anchor: torch.Tensor, kept: dict[str, torch.Tensor], example: Any
        ) -> torch.Tensor:
            assert self._reads is not None
            self._reads.anchor = anchor
            if not unpacked:
                example = kind(example)
            result: torch.Tensor = functional_call(module, {**kept, **trained}, (example,))
            return result

        gradient = grad_and_value(of_one, argnums=(0, 1))
        self._each = vmap(gradient, in_dims=(None, None, None, 0), randomness="different")

    def is_of(self, loss: Callable[..., torch.Tensor], fields: Any) -> bool:
        """Say whether it is of this loss, for fields of this kind."""
        return self._of[0] is loss and self._of[1] is type(fields)

    def gradients(
        self, trained: Mapping[str, torch.Tensor], kept: Mapping[str, torch.Tensor], fields: Any, reads: Reads
    ) -> dict[str, torch.Tensor]:
        """Compute the gradient of each example by what is trained; those by tables are noted in `reads`.

        Parameters
        ----------
        trained, kept : mapping of tensors
            The dense part, by names that begin with ``dense.``: what is trained, and all else. None of them needs a gradient.
        """
        plain = fields if isinstance(fields, tuple) else dict(fields)
        # Copies, so that a loss which writes to them does so for one pass.
        given = [{name: value.clone() for name, value in some.items()} for some in (trained, kept)]
        self._reads = reads
        try:
            with torch.enable_grad():
                (found, _), values = self._each(given[0], torch.zeros(()), given[1], plain)
        finally:
            self._reads = None
        if values.requires_grad:
            raise RunError(
                "the loss reads a parameter that is none of the dense part, so that it would not be trained: make the module it "
                "is of a part of `dense`, and take its parameters from there within the loss; what is not to be trained needs "
                "`requires_grad_(False)`"
            )
        by_name: dict[str, torch.Tensor] = found
        return by_name
