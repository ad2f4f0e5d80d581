"""Data as a plan reads it: tensors of all examples, or a data set that gives them one by one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import TensorDataset, default_collate

from organza.exceptions import DataError, RunError


class Fields(dict[str, Any]):
    """What an example or a batch has, by name: ``example.ids`` is ``example["ids"]``."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the data has no {name!r}, but {sorted(self)}") from None


class Examples:
    """All examples, which can be taken by their numbers."""

    def __init__(self, data: Any) -> None:
        if isinstance(data, TensorDataset):
            data = data.tensors
        self.source = data
        self._columns: dict[str, torch.Tensor] | tuple[torch.Tensor, ...] | None
        if isinstance(data, Mapping):
            self._columns = {str(name): _tensor(value) for name, value in data.items()}
            lengths = {len(column) for column in self._columns.values()}
        elif isinstance(data, (tuple, list)) and all(hasattr(value, "shape") for value in data):
            self._columns = tuple(_tensor(value) for value in data)
            lengths = {len(column) for column in self._columns}
        elif hasattr(data, "__getitem__") and hasattr(data, "__len__"):
            self._columns = None
            lengths = {len(data)}
        else:
            raise DataError(
                "the data is a dictionary or a tuple of tensors, or a data set with `__getitem__` and `__len__`, "
                f"not {type(data).__name__}"
            )
        if len(lengths) != 1:
            raise DataError(f"the tensors have {sorted(lengths)} examples: each needs the same number")
        (self._length,) = lengths

    def __len__(self) -> int:
        return self._length

    def take(self, numbers: np.ndarray[Any, np.dtype[np.int64]]) -> Any:
        """Give the fields of some examples."""
        index = torch.from_numpy(numbers)
        if isinstance(self._columns, dict):
            return Fields({name: column[index] for name, column in self._columns.items()})
        if self._columns is not None:
            return tuple(column[index] for column in self._columns)
        fields = default_collate([self.source[int(number)] for number in numbers])
        if isinstance(fields, Mapping):
            return Fields(fields)
        return tuple(fields) if isinstance(fields, (tuple, list)) else (fields,)

    def known_by(self) -> Any:
        """Give what tells these data from others while they live."""
        if self._columns is None:
            return self.source
        columns = self._columns.values() if isinstance(self._columns, dict) else self._columns
        return next(iter(columns), self.source)

    def fingerprint(self, *units: np.ndarray[Any, np.dtype[np.int64]]) -> bytes:
        """Hash all examples and whose they are, by which a run knows its data again. *Not private.*"""
        digest = hashlib.sha256()
        for numbers in units:
            digest.update(numbers.tobytes())
        if self._columns is None:
            for start in range(0, len(self), 1_024):
                numbers = np.arange(start, min(start + 1_024, len(self)), dtype=np.int64)
                _hash(digest, self.take(numbers))
        else:
            _hash(digest, self._columns)
        return digest.digest()


class Batch:
    """A part of a batch that a plan has drawn: whole units, with all that they have in this step.

    What it holds is not private. A plan that computes the gradient of each example by itself shows nothing of it, not
    even its size: a loss that is divided by the number of examples lets each of them change the gradients of all others. Where
    gradients come from ``backward()``, it has the fields of the data.
    """

    def __init__(
        self, fields: Any, ends: np.ndarray[Any, np.dtype[np.int64]], length: int, *, shown: bool
    ) -> None:
        self._fields = fields
        self._ends = ends
        self._length = length
        self._shown = shown

    @property
    def fields(self) -> Any:
        """The fields of the examples: a dictionary with attributes, or a tuple."""
        if not self._shown:
            raise RunError(
                "a batch is handed to `plan.step(batch, loss)`, and its examples one by one to the loss; its size and what else "
                "is in it are private. To compute losses of the whole batch, make the plan with `backward=True`"
            )
        return self._fields

    def __len__(self) -> int:
        return self._length if self.fields is not None else 0

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: Any) -> Any:
        return self.fields[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.fields, name)

    def __repr__(self) -> str:
        # Without its size, which is private.
        return "Batch(private)"


def fingerprint(data: bytes, kept: Mapping[str, torch.Tensor]) -> bytes:
    """Hash data that are hashed, and what of the dense part is not trained: a run goes on with the same, or not at all."""
    digest = hashlib.sha256(data)
    _hash(digest, kept)
    return digest.digest()


def by_unit(
    units: Any, length: int
) -> tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.int64]]]:
    """Give the examples unit by unit, and where those of each end."""
    if units is None:
        examples = np.arange(length, dtype=np.int64)
        return examples, examples + 1
    names = np.asarray(units.cpu() if isinstance(units, torch.Tensor) else units)
    if names.ndim != 1 or len(names) != length:
        raise DataError(f"`units` has the shape {names.shape}, but one for each of {length} examples is expected")
    if names.dtype.kind == "f":
        raise DataError("`units` are numbers with a point: give whole numbers or texts, so that equal ones are equal")
    _, inverse, counts = np.unique(names, return_inverse=True, return_counts=True)
    order = np.argsort(inverse, kind="stable").astype(np.int64)
    return order, np.cumsum(counts).astype(np.int64)


def _tensor(value: Any) -> torch.Tensor:
    if isinstance(value, torch.Tensor):
        tensor = value.detach()
    else:
        try:
            tensor = torch.as_tensor(np.asarray(value))
        except TypeError as error:
            raise DataError(f"a field of the data is no tensor: {error}") from None
    if tensor.ndim == 0:
        raise DataError("a field of the data has no examples: its first axis is that of the examples")
    return tensor


def _hash(digest: Any, fields: Any) -> None:
    if isinstance(fields, Mapping):
        for name in sorted(fields):
            digest.update(f"{name}:".encode())
            _hash(digest, fields[name])
    elif isinstance(fields, torch.Tensor):
        values = fields.detach().cpu().contiguous()
        digest.update(f"{values.dtype}{tuple(values.shape)}".encode())
        digest.update(values.flatten().view(torch.uint8).numpy().data)
    elif isinstance(fields, Sequence) and not isinstance(fields, (str, bytes)):
        for value in fields:
            digest.update(b"[")
            _hash(digest, value)
    else:
        digest.update(repr(fields).encode())
