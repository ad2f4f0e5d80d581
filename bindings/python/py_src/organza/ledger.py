"""Budgets: what may be spent on a data set, and what was.

A :class:`Ledger` is a file that all work on one data set shares: estimators take it as
``ledger=``, mechanisms as ``budget=``. A :class:`Budget` is the same without a file, for as
long as the process lives. :func:`read` reads what a single run was charged with.

Epsilons and deltas of what is paid from one budget are added, because whoever asks for the
next release has seen the results of those before: tight composition does not cover that.

Examples
--------
>>> from organza.ledger import Budget
>>> budget = Budget(epsilon=1.0, delta=1e-6)
>>> budget.charge(0.25, purpose="a mechanism of my own")
>>> budget.left
Amount(epsilon=0.75, delta=1e-06)
>>> budget.charge(0.8, purpose="one too many")
Traceback (most recent call last):
    ...
organza.exceptions.BudgetError: the budget is too small: `one too many` would take epsilon 0.8 \
and delta 0, but of epsilon 1 and delta 1e-6 only 0.75 and 1e-6 are left. Nothing was charged \
and nothing drawn
>>> budget.total
Amount(epsilon=0.25, delta=0.0)
"""

from __future__ import annotations

import html
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, NoReturn, cast

from organza import _organza, accounting
from organza._organza import Event

if TYPE_CHECKING:
    from organza.accounting import Accountant, Neighbouring

__all__ = ["Amount", "Budget", "Charge", "Ledger", "RunLedger", "Share", "Unit", "read"]

Unit = Literal["user", "record", "line", "document", "pair", "group"]
"""What is protected as one."""


class Amount(NamedTuple):
    """Epsilon and delta."""

    epsilon: float
    delta: float


@dataclass(frozen=True)
class Share:
    """What one run or release has taken.

    Attributes
    ----------
    purpose : str
        What it was for.
    epsilon, delta : float
        How much.
    key : str or None
        What tells it from others on the ledger of a data set: for a run the public name of the
        key of its noise, for a release of ``organza.mechanisms`` a name of its own.
    """

    purpose: str
    epsilon: float
    delta: float
    key: str | None = None


class _Purse:
    """What a budget with and without a file have in common."""

    _purse: _organza.Purse

    @property
    def epsilon(self) -> float:
        """What may be spent in all."""
        return self._purse.epsilon

    @property
    def delta(self) -> float:
        """The sum of the deltas of all that is paid."""
        return self._purse.delta

    @property
    def unit(self) -> Unit:
        """What is protected as one."""
        return cast("Unit", self._purse.unit)

    @property
    def neighbouring(self) -> Neighbouring:
        """Which data sets are neighbours."""
        return cast("Neighbouring", self._purse.neighbouring)

    @property
    def total(self) -> Amount:
        """What was taken so far."""
        return Amount(*self._purse.total())

    @property
    def left(self) -> Amount:
        """What is left, to nine digits."""
        return Amount(*self._purse.left())

    def shares(self) -> list[Share]:
        """What was taken so far, one by one."""
        return [Share(*share) for share in self._purse.shares()]

    def charge(self, epsilon: float, delta: float = 0.0, *, purpose: str) -> None:
        """Charges for a release that you make yourself, which must be within epsilon and delta.

        Parameters
        ----------
        epsilon, delta : float
            What the release costs.
        purpose : str
            What it is for, in a few words that are computed from no data.

        Raises
        ------
        BudgetError
            If there is not enough left. Nothing is charged then.

        Warns
        -----
        RuntimeWarning
            If the last line of a ledger had been cut short. It did not count, and was cut off.
        """
        self._purse.charge(purpose, epsilon, delta)

    def _summary(self) -> str:
        total, left = self.total, self.left
        return (
            f"epsilon={self.epsilon:g}, delta={self.delta:g}, unit={self.unit!r}, "
            f"neighbouring={self.neighbouring!r}: epsilon {total.epsilon:.9g} and delta "
            f"{total.delta:.9g} are taken, {left.epsilon:.9g} and {left.delta:.9g} left"
        )

    def _repr_html_(self) -> str:
        rows = [(share.purpose, share.epsilon, share.delta) for share in self.shares()]
        rows += [("total", *self.total), ("left", *self.left)]
        cells = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{epsilon:.9g}</td><td>{delta:.9g}</td></tr>"
            for name, epsilon, delta in rows
        )
        caption = html.escape(
            f"{getattr(self, 'name', 'budget')}: epsilon {self.epsilon:g} and delta "
            f"{self.delta:g} for each {self.unit} ({self.neighbouring})"
        )
        return (
            f"<table><caption>{caption}</caption>"
            f"<tr><th></th><th>epsilon</th><th>delta</th></tr>{cells}</table>"
        )


class Budget(_Purse):
    """A budget that is kept for as long as the process lives.

    What was charged is forgotten with the process: if anything that was paid from it leaves the
    process, note down :attr:`total`, or use a :class:`Ledger`.

    Parameters
    ----------
    epsilon : float
        What may be spent in all.
    delta : float, default 0
        The sum of the deltas of all that is paid.
    unit : str, default "user"
        What is protected as one: "user", "record", "line", "document", "pair" or "group".
    neighbouring : {"add-remove", "replace-one"}
        Which data sets are neighbours.

    Examples
    --------
    >>> from organza.ledger import Budget
    >>> Budget(epsilon=1.0)
    Budget(epsilon=1, delta=0, unit='user', neighbouring='add-remove': epsilon 0 and delta 0 are \
taken, 1 and 0 left)
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        unit: Unit = "user",
        neighbouring: Neighbouring = "add-remove",
    ) -> None:
        self._purse = _organza.Purse.in_memory(epsilon, delta, unit, neighbouring)

    def __repr__(self) -> str:
        return f"Budget({self._summary()})"

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a budget cannot be copied or pickled, since both copies could be spent: use a Ledger, "
            "whose copies share one file"
        )


class Ledger(_Purse):
    """The ledger of a data set: one budget that all work on the data shares.

    It is a file. Every run or release reserves what it may spend before anything is released, and
    is refused if the sums would exceed the budget. Several processes may use it at the same time.
    It holds names and budgets, nothing of the data. Keep it: a lost or older copy forgets what
    was spent.

    Make one by :meth:`create`, and open it by :meth:`open`.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    name : str
        The name of the data set.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from organza.ledger import Ledger
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name) / "reviews.ledger"
    >>> ledger = Ledger.create(path, "reviews", epsilon=8, delta=1e-5, unit="line")
    >>> ledger.charge(3, 1e-6, purpose="a model of my own")
    >>> Ledger.open(path).left
    Amount(epsilon=5.0, delta=9e-06)
    >>> folder.cleanup()
    """

    path: Path
    name: str

    def __init__(self, path: str | os.PathLike[str], name: str | None = None) -> None:
        # Absolute, so that it is the same file for workers with another folder.
        self.path = Path(path).absolute()
        self._purse = _organza.Purse.open(self.path, name)
        self.name = cast("str", self._purse.name)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        name: str,
        epsilon: float,
        delta: float = 1e-5,
        unit: Unit = "user",
        neighbouring: Neighbouring = "add-remove",
    ) -> Ledger:
        """Makes the ledger of a data set, and fixes what all work on it may spend.

        Parameters
        ----------
        path : path-like
            The file, which must not be there yet.
        name : str
            What you call the data set.
        epsilon, delta : float
            What all runs and releases may spend in all.
        unit : str, default "user"
            What is protected as one, by all of them.
        neighbouring : {"add-remove", "replace-one"}
            Which data sets are neighbours, for all of them.

        Raises
        ------
        SettingsError
            If there is a file already, or a value makes no sense.
        """
        _organza.Purse.create(path, name, epsilon, delta, unit, neighbouring)
        return cls(path, name)

    @classmethod
    def open(cls, path: str | os.PathLike[str], name: str | None = None) -> Ledger:
        """Opens the ledger of a data set.

        Parameters
        ----------
        path : path-like
            The file.
        name : str, optional
            The name that the data set must have.

        Raises
        ------
        DataError
            If there is no such file, or it is damaged, or is the ledger of a single run.
        SettingsError
            If the data set has another name.
        """
        return cls(path, name)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r}, {self.name!r}, {self._summary()})"

    def __reduce__(self) -> tuple[type[Ledger], tuple[str, str]]:
        return type(self), (str(self.path), self.name)


@dataclass(frozen=True)
class Charge:
    """What a block of steps of a run may have released.

    Attributes
    ----------
    purpose : str
        What it was for, such as ``"training"``.
    from_step, steps : int
        The first step, and how many there are.
    event : Event
        What each step releases.
    key : str or None
        The public name of the key that the noise came from.
    """

    purpose: str
    from_step: int
    steps: int
    event: Event
    key: str | None = None


@dataclass(frozen=True)
class RunLedger:
    """What a run was charged with, before it released it.

    It can be used as a sequence of :class:`Charge`.

    Attributes
    ----------
    charges : tuple of Charge
        In the order in which they were made.
    events : tuple of Event
        All that they pay for, equal events counted together.
    delta : float
        The delta at which the budget of the run was stated.
    unit, neighbouring : str
        What the run protects.
    public : dict of str to str
        What was declared public, and hence used without a charge.
    """

    charges: tuple[Charge, ...]
    events: tuple[Event, ...]
    delta: float
    unit: Unit
    neighbouring: Neighbouring
    public: dict[str, str]

    def __iter__(self) -> Iterator[Charge]:
        return iter(self.charges)

    def __len__(self) -> int:
        return len(self.charges)

    def __getitem__(self, place: int) -> Charge:
        return self.charges[place]

    def epsilon(self, delta: float | None = None, *, accountant: Accountant = "pld") -> float:
        """What all charges cost together, at the delta of the run or another one."""
        return accounting.epsilon(
            self.events,
            self.delta if delta is None else delta,
            neighbouring=self.neighbouring,
            accountant=accountant,
        )


def read(path: str | os.PathLike[str]) -> RunLedger:
    """Reads the ledger of a run, also while the run writes to it.

    Parameters
    ----------
    path : path-like
        The file, or the folder of the run, in which it is called ``ledger.jsonl``.

    Returns
    -------
    RunLedger

    Raises
    ------
    DataError
        If there is no such file, or a line of it cannot be trusted.

    Warns
    -----
    RuntimeWarning
        If the last line was cut short. It was never confirmed, so nothing was released on its
        account, and it does not count.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "ledger.jsonl"
    found = _organza.read_ledger(file)
    if found["torn"] is not None:
        warnings.warn(found["torn"], RuntimeWarning, stacklevel=2)
    return RunLedger(
        charges=tuple(Charge(*charge) for charge in found["charges"]),
        events=tuple(found["events"]),
        delta=found["delta"],
        unit=cast("Unit", found["unit"]),
        neighbouring=cast("Neighbouring", found["neighbouring"]),
        public=dict(found["public"]),
    )
