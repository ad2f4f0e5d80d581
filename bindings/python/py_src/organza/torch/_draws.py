"""What layers draw, such as dropout: from PyTorch's generator, in a state that only the run knows."""

from __future__ import annotations

import hashlib

import numpy as np
import torch

from organza.exceptions import RunError

#: The state of a Mersenne twister, and where it stands in what PyTorch gives: after a seed, two counts and a place.
_WORDS, _FIRST = 624, 24


def state_of(seed: int) -> torch.Tensor:
    """Give a state of PyTorch's generator of which all words come from all bits of a seed.

    ``torch.manual_seed`` takes 32 bits of a seed on the CPU: those could be tried one after the other.
    """
    generator = torch.Generator()
    generator.manual_seed(_WORDS)
    state = generator.get_state()
    words = state[_FIRST : _FIRST + 8 * _WORDS].numpy().view(np.uint64)
    if len(words) != _WORDS or words[0] != _WORDS:
        raise RunError("the generator of this PyTorch is not known: take another version")
    secret = hashlib.shake_256(seed.to_bytes(8, "little")).digest(4 * _WORDS)
    words[:] = np.frombuffer(secret, dtype="<u4")
    return state


class Draws:
    """Lends PyTorch's generator to a run, and gives it back as it was."""

    def __init__(self) -> None:
        self._kept: torch.Tensor | None = None

    def lend(self, seed: int) -> None:
        """Put the generator of the CPU, and by the seed those of other devices, in a state of the run."""
        if self._kept is None:
            self._kept = torch.get_rng_state()
        torch.manual_seed(seed)
        torch.set_rng_state(state_of(seed))

    def give_back(self) -> None:
        """Put it back, so that nothing that is drawn later shows the state of the run."""
        if self._kept is not None:
            torch.set_rng_state(self._kept)
            self._kept = None
