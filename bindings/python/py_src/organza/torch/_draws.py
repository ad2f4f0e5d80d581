"""What layers draw, such as dropout: from PyTorch's generators, in a state that only the run knows."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import torch

from organza.exceptions import RunError

#: The state of a Mersenne twister, and where it stands in what PyTorch gives: after a seed, two counts and a place.
_WORDS, _FIRST = 624, 24
#: Devices beside the CPU whose generators a program may draw from.
_DEVICES = ("cuda", "xpu", "mps")


def _template() -> torch.Tensor:
    generator = torch.Generator()
    generator.manual_seed(_WORDS)
    state = generator.get_state()
    words = state[_FIRST : _FIRST + 8 * _WORDS].numpy().view(np.uint64)
    if len(words) != _WORDS or words[0] != _WORDS:
        raise RunError("the generator of this PyTorch is not known: take another version")
    return state


class Draws:
    """Lends PyTorch's generators to a run, and gives them back as they were."""

    def __init__(self) -> None:
        self._kept: torch.Tensor | None = None
        self._state: torch.Tensor | None = None
        #: The generators of devices that were in use when the run got them.
        self._devices: dict[str, Any] = {}

    def state_of(self, seed: int) -> torch.Tensor:
        """Give a state of PyTorch's generator of which all words come from all bits of a seed, until it is asked for another.

        ``torch.manual_seed`` takes 32 bits of a seed on the CPU: those could be tried one after the other. It also has devices seeded
        that nobody uses, which costs more than all draws.
        """
        if self._state is None:
            self._state = _template()
        words = self._state[_FIRST : _FIRST + 8 * _WORDS].numpy().view(np.uint64)
        secret = hashlib.shake_256(seed.to_bytes(8, "little")).digest(4 * _WORDS)
        words[:] = np.frombuffer(secret, dtype="<u4")
        return self._state

    def lend(self, seed: int) -> None:
        """Put the generator of the CPU, and by the seed those of other devices that are in use, in a state of the run."""
        if self._kept is None:
            self._kept = torch.get_rng_state()
            self._devices = {name: _states(name) for name in _DEVICES if _is_in_use(name)}
        torch.set_rng_state(self.state_of(seed))
        for name in self._devices:
            # These take all 64 bits.
            _seed(name, seed)

    def give_back(self) -> None:
        """Put them back, so that nothing that is drawn later shows the state of the run."""
        if self._kept is None:
            return
        torch.set_rng_state(self._kept)
        for name, states in self._devices.items():
            _restore(name, states)
        new = [name for name in _DEVICES if _is_in_use(name) and name not in self._devices]
        self._kept, self._devices = None, {}
        if new:
            raise RunError(
                f"a step was the first to use {new[0]}, whose generator was in a state that anyone may know: put something there, such as "
                "the dense part, before the plan is made"
            )


def _is_in_use(name: str) -> bool:
    if name == "mps":
        return torch.backends.mps.is_available()
    return bool(getattr(torch, name).is_initialized()) if hasattr(torch, name) else False


def _states(name: str) -> Any:
    module: Any = getattr(torch, name)
    return module.get_rng_state() if name == "mps" else module.get_rng_state_all()


def _seed(name: str, seed: int) -> None:
    module: Any = getattr(torch, name)
    (module.manual_seed if name == "mps" else module.manual_seed_all)(seed)


def _restore(name: str, states: Any) -> None:
    module: Any = getattr(torch, name)
    (module.set_rng_state if name == "mps" else module.set_rng_state_all)(states)
