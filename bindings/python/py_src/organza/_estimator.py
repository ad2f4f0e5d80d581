"""What all estimators have: parameters, a run, and what it promises."""

from __future__ import annotations

import html
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from organza._again import warn_of_another_fit
from organza._organza import Data
from organza._run import Run, fit
from organza.exceptions import PrivacyWarning, RunError, SettingsError
from organza.ledger import RunLedger, read

if TYPE_CHECKING:
    from organza._plain import (
        BaseEstimator,
        ClassifierMixin,
        NotFittedError,
        RegressorMixin,
        TransformerMixin,
    )
else:
    try:
        from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
        from sklearn.exceptions import NotFittedError
    except ImportError:
        from organza._plain import (
            BaseEstimator,
            ClassifierMixin,
            NotFittedError,
            RegressorMixin,
            TransformerMixin,
        )

__all__ = [
    "ClassifierMixin",
    "NotFittedError",
    "PrivateEstimator",
    "RegressorMixin",
    "TransformerMixin",
]


#: Methods that have no budget.
_NOT_PRIVATE = ("none", "ease", "low-rank")


@dataclass(frozen=True)
class Fitting:
    """What a command of the tool is told: its name, its flags, and the data."""

    command: str
    #: Flags, beside those that all commands have.
    settings: Mapping[str, Any]
    #: What is handed over; None if flags name it.
    data: Data | None
    #: Flags whose files are written for the time of the fit: a member a line.
    lists: Mapping[str, Iterable[str]] = field(default_factory=dict)

    @property
    def private(self) -> bool:
        """Whether its method has a budget."""
        return self.settings.get("method") not in _NOT_PRIVATE


class PrivateEstimator(BaseEstimator):
    """A model whose fit is a run: with a ledger, a certificate and a page."""

    # What all of them are given; each estimator names them among its parameters.
    epsilon: float
    delta: float
    ledger: Any
    random_state: int | None
    folder: Any
    threads: int | None
    progress: bool | None
    options: Mapping[str, Any] | None

    _run: Run

    def _fit(self, fitting: Fitting, source: Any) -> None:
        """Fit by a command of the tool, to the data as the user gave it, to know it again."""
        if self._spends_unseen(fitting):
            warn_of_another_fit(type(self).__name__, source, self.epsilon)
        with tempfile.TemporaryDirectory(prefix="organza-") as place:
            # Those of a run that can go on stand beside it, under the same name each time.
            beside = f"{place}/" if self.folder is None else f"{os.fspath(self.folder)}."
            run = fit(
                fitting.command,
                self._options(fitting, beside),
                fitting.data,
                folder=self.folder,
                threads=self.threads,
                progress=self.progress,
            )
        self._take(run)

    def _fitting(self, X: Any) -> Fitting:
        """Give what the tool is told for data like this."""
        raise NotImplementedError

    def _spends_unseen(self, fitting: Fitting) -> bool:
        """Whether what it spends is on no ledger that adds it to what others spend."""
        return fitting.private and self.ledger is None and self.random_state is None

    def _takes_steps(self) -> bool:
        """Whether workers compute the gradients of its steps, where there are several machines."""
        return False

    def _options(self, fitting: Fitting, beside: str) -> dict[str, Any]:
        """Give all settings as flags; lists are written to files whose names begin by `beside`."""
        shared = {**(self._budget() if fitting.private else {}), "seed": self._seed()}
        if fitting.data is not None and "test" in (self.options or {}):
            raise SettingsError("`test` is for files: measure what is handed over by `score`")
        written = {
            name: _written(Path(f"{beside}{name}.txt"), members)
            for name, members in fitting.lists.items()
        }
        return {**fitting.settings, **written, **shared, **(self.options or {})}

    def _take(self, run: Run) -> None:
        """Be the model of a finished run."""
        self._run = run
        self._load()
        if not self.private_:
            why = "its method promises nothing" if self.random_state is None else "a seed can be repeated"
            warnings.warn(
                f"this fit is NOT private: {why}",
                PrivacyWarning,
                stacklevel=4,
            )
        if run.interrupted:
            raise KeyboardInterrupt

    def _load(self) -> None:
        """Read the model of the run."""
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_model"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_run" in state:
            self._load()

    def _seed(self) -> int | None:
        seed: Any = self.random_state
        if seed is None:
            return None
        for draw in ("randint", "integers"):
            if hasattr(seed, draw):
                return int(getattr(seed, draw)(2**31 - 1))
        return int(seed)

    def _budget(self) -> dict[str, Any]:
        for name in ("epsilon", "delta"):
            if getattr(self, name) is None or isinstance(getattr(self, name), bool):
                raise SettingsError(f"`{name}` is {getattr(self, name)}: a number is expected")
        ledger, dataset = self.ledger, None
        if hasattr(ledger, "path"):
            ledger, dataset = ledger.path, getattr(ledger, "name", None)
        elif ledger is not None and not isinstance(ledger, (str, os.PathLike)):
            raise SettingsError("`ledger` is a path, or a ledger of `organza.ledger`")
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "ledger": ledger,
            "dataset": dataset,
        }

    def _fitted(self) -> Run:
        run: Run | None = self.__dict__.get("_run")
        if run is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        return run

    def __sklearn_is_fitted__(self) -> bool:
        return "_run" in self.__dict__

    @property
    def certificate_(self) -> dict[str, Any]:
        """What is promised, under which conditions, and what it was spent on."""
        return self._fitted().certificate

    @property
    def ledger_(self) -> RunLedger:
        """What was charged, in its order; a fit without privacy has none."""
        folder = self._fitted().folder
        if not (folder / "ledger.jsonl").exists():
            raise RunError("this fit is not private: nothing was charged")
        return read(folder)

    @property
    def epsilon_(self) -> float:
        """The epsilon that is promised; infinite where nothing is, as with a seed."""
        certificate = self.certificate_
        epsilon = certificate["epsilon"] if certificate["private"] else None
        return float("inf") if epsilon is None else float(epsilon)

    @property
    def private_(self) -> bool:
        """Whether there is a promise at all: with a seed, or without privacy, there is none."""
        return bool(self.certificate_["private"])

    @property
    def summary_(self) -> dict[str, Any]:
        """Figures of the fit. Those named under ``not_private`` come from the data without noise."""
        return self._fitted().summary

    @property
    def notes_(self) -> list[str]:
        """What the fit had to remark, which may be about the data. *Not private*, and in no pickle."""
        return list(self._fitted().notes)

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the page of the fit: what is promised, what was learned, where the budget went.

        Parameters
        ----------
        path : path-like, optional
            The file, or a folder. Without it the page stands beside the other files of the fit.

        Returns
        -------
        pathlib.Path
            Where the page is. It shows what is not private, and marks it.
        """
        return self._fitted().report(None if path is None else Path(path))

    def save(self, folder: str | os.PathLike[str]) -> Path:
        """Copy the folder of the run, which the command line tool reads, to a new `folder`."""
        private = shutil.ignore_patterns("private")
        return Path(shutil.copytree(self._fitted().folder, folder, ignore=private))

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            return f"<pre>{html.escape(repr(self))}</pre>"
        return self._fitted().card()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def one_line_each(name: str, members: Iterable[Any]) -> list[str]:
    """Give the members of a list as texts, each of which is one line."""
    lines = [str(member) for member in members]
    for line in lines:
        if len(line.splitlines()) != 1 or not line.strip():
            raise SettingsError(f"{line!r} cannot be a member of `{name}`: it is not one line")
    return lines


def _written(path: Path, members: Iterable[Any]) -> Path:
    lines = one_line_each(path.name.split(".")[-2], members)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
