"""What the package is made of, in Rust."""

__version__: str

# accounting, mechanisms, ledger
import os
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, final

import numpy as np
from numpy.typing import NDArray

@final
class Event:
    def __new__(cls, json: str) -> Event: ...
    @staticmethod
    def from_json(json: str) -> Event: ...
    @staticmethod
    def _make(kind: str, fields: dict[str, Any]) -> Event: ...
    @staticmethod
    def _compose(events: Sequence[Event]) -> Event: ...
    def to_json(self) -> str: ...
    def repeat(self, times: int) -> Event: ...
    def poisson(self, rate: float) -> Event: ...
    @property
    def kind(self) -> str: ...
    @property
    def parts(self) -> list[Event]: ...
    def __add__(self, other: Event) -> Event: ...
    def __radd__(self, other: int) -> Event: ...
    def __eq__(self, other: object) -> bool: ...
    def __hash__(self) -> int: ...

def price(
    events: Sequence[Event],
    delta: float | None,
    epsilon: float | None,
    relation: str,
    accountant: str,
    units: int,
) -> tuple[float, float, str | None, float | None]: ...
def curve(
    events: Sequence[Event],
    points: NDArray[np.float64],
    asks_delta: bool,
    relation: str,
    accountant: str,
    units: int,
) -> NDArray[np.float64]: ...
def calibrate_training(
    epsilon: float, delta: float, rate: float, steps: int, relation: str
) -> float: ...
def calibrate_event(
    epsilon: float, delta: float, event: Callable[[float], Event], relation: str
) -> float: ...
def calibrate_steps(event: Event, epsilon: float, delta: float, relation: str) -> int: ...
def calibrate_rate(
    event: Event, steps: int, epsilon: float, delta: float, relation: str
) -> float: ...
@final
class Purse:
    @staticmethod
    def in_memory(epsilon: float, delta: float, unit_name: str, relation: str) -> Purse: ...
    @staticmethod
    def create(
        path: str | os.PathLike[str],
        name: str,
        epsilon: float,
        delta: float,
        unit_name: str,
        relation: str,
    ) -> Purse: ...
    @staticmethod
    def open(path: str | os.PathLike[str], name: str | None) -> Purse: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def delta(self) -> float: ...
    @property
    def unit(self) -> str: ...
    @property
    def neighbouring(self) -> str: ...
    @property
    def name(self) -> str | None: ...
    def shares(self) -> list[tuple[str, float, float, str | None]]: ...
    def total(self) -> tuple[float, float]: ...
    def left(self) -> tuple[float, float]: ...
    def charge(self, purpose: str, epsilon: float, delta: float) -> None: ...

class RunLedger(TypedDict):
    unit: str
    neighbouring: str
    delta: float
    public: list[tuple[str, str]]
    charges: list[tuple[str, int, int, Event, str | None]]
    events: list[Event]
    torn: str | None

def read_ledger(path: str | os.PathLike[str]) -> RunLedger: ...
def noisy_count(
    count: int, purse: Purse, purpose: str, epsilon: float, seed: int | None
) -> int: ...

class HistogramTerms(TypedDict):
    cells: int
    l1_bound: int | None
    l2_bound: float | None
    threshold: float | None

def noisy_histogram(
    ends: NDArray[np.int64],
    cells: NDArray[np.int64],
    amounts: NDArray[np.float64],
    settings: HistogramTerms,
    purse: Purse,
    purpose: str,
    budget: tuple[float, float],
    seed: int | None,
) -> tuple[NDArray[np.uint64], NDArray[np.float64], float, float | None]: ...
def noisy_items(
    units: Sequence[Sequence[str | int]],
    items_per_unit: int,
    gaussian: bool,
    purse: Purse,
    purpose: str,
    budget: tuple[float, float],
    seed: int | None,
) -> tuple[list[str | int], NDArray[np.float64], float, float]: ...
