"""The gradient of each example from one ``loss.backward()`` over all of them."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.utils.hooks import RemovableHandle

from organza.exceptions import RunError, SettingsError
from organza.torch._one_example import Noted, Pool
from organza.torch._table import reading

#: How far the sum of the gradients of examples may be from that of the batch, relative to its size.
_TOLERANCE = 1e-3


class Backward:
    """Listens to a dense part, and knows the gradient of each example after ``backward()``."""

    def __init__(self, dense: nn.Module, *, used: bool) -> None:
        self._dense = dense
        self.used = used
        self._seen: dict[int, torch.Tensor] = {}
        self.reads: list[tuple[int, torch.Tensor, torch.Tensor, Pool]] = []
        self._examples: int | None = None
        self._watch: RemovableHandle | None = None
        if not used:
            return
        for module in dense.modules():
            if type(module) is nn.Linear:
                module.register_forward_hook(self._listen)

    def begin(self, examples: int) -> None:
        """Listen to a batch of so many examples."""
        self._seen.clear()
        self.reads.clear()
        if not self.used:
            return
        self._examples = examples
        reading.add(self)
        own, me = {id(module) for module in self._dense.modules()}, weakref.ref(self)

        def outside(module: nn.Module, _: Any) -> None:
            listens = (it := me()) is not None and it.listens and torch.is_grad_enabled()
            if listens and id(module) not in own and any(it.requires_grad for it in module.parameters(recurse=False)):
                raise RunError(
                    f"{type(module).__name__} was called in a batch, but is none of the dense part, so that it would not be trained: "
                    "make it a part of `dense`; what is not to be trained needs `requires_grad_(False)`"
                )

        self._watch = register_module_forward_pre_hook(outside)

    def end(self) -> None:
        """Listen no more."""
        self._examples = None
        reading.discard(self)
        if self._watch is not None:
            self._watch.remove()
            self._watch = None

    @property
    def listens(self) -> bool:
        """Whether a batch is open."""
        return self._examples is not None

    def read(self, number: int, ids: torch.Tensor, rows: torch.Tensor, pool: Pool) -> torch.Tensor:
        """Note what a table gave, which begin a graph of their own."""
        if ids.ndim == 0 or ids.shape[0] != self._examples:
            raise RunError(
                f"a table was read for {tuple(ids.shape)}, but the first axis has to be the {self._examples} examples of the "
                "batch: read it for all of the batch, or pass `plan.step(batch, loss_of_one_example)`"
            )
        rows.requires_grad_(True)
        self.reads.append((number, ids, rows, pool))
        return rows

    def noted(self) -> list[Noted]:
        """Give what has got a gradient of what was read."""
        return [
            Noted(number, ids, rows.grad, pool)
            for number, ids, rows, pool in self.reads
            if rows.grad is not None
        ]

    def _listen(self, module: nn.Module, inputs: tuple[torch.Tensor, ...], output: torch.Tensor) -> None:
        if self._examples is None or not output.requires_grad or not isinstance(module, nn.Linear):
            return
        given = inputs[0].detach()
        if given.shape[0] != self._examples:
            raise RunError(
                f"a layer was given {tuple(given.shape)}, but the first axis has to be the {self._examples} examples of the "
                "batch"
            )

        def take(gradient: torch.Tensor) -> None:
            values = gradient.detach().reshape(len(given), -1, gradient.shape[-1])
            inside = given.reshape(len(given), -1, given.shape[-1])
            self._add(module.weight, torch.einsum("eko,eki->eoi", values, inside))
            if module.bias is not None:
                self._add(module.bias, values.sum(1))

        output.register_hook(take)  # type: ignore[no-untyped-call]

    def _add(self, parameter: torch.Tensor, values: torch.Tensor) -> None:
        before = self._seen.get(id(parameter))
        self._seen[id(parameter)] = values if before is None else before + values

    def check(self) -> None:
        """Refuse layers whose gradients of examples one ``backward()`` does not show."""
        for name, module in self._dense.named_modules():
            own = [it for it in module.parameters(recurse=False) if it.requires_grad]
            if own and type(module) is not nn.Linear:
                raise SettingsError(
                    f"one `backward()` shows the gradients of single examples for nn.Linear, not for {name or 'the model'} "
                    f"({type(module).__name__}): pass `plan.step(batch, loss_of_one_example)`"
                )

    def gradients(self, parameters: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Give the gradient of each example by each parameter, and leave none behind."""
        found = {}
        for name, parameter in parameters.items():
            values = self._seen.get(id(parameter))
            if values is None:
                values = torch.zeros((self._examples or 0, *parameter.shape))
            whole: Any = parameter.grad
            parameter.grad = None
            if whole is not None:
                size = float(whole.norm()) + float(values.norm())
                if float((values.sum(0) - whole).norm()) > _TOLERANCE * size + 1e-6:
                    raise RunError(
                        f"the gradients of single examples do not add up to that of {name}: it is used outside of nn.Linear, or "
                        "`backward()` was called twice. Pass `plan.step(batch, loss_of_one_example)`"
                    )
            found[name] = values
        return found
