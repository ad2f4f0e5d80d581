"""What all estimators have: parameters, a run, and what it promises."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from organza._again import warn_of_another_fit
from organza._organza import Data
from organza._run import Run, fit
from organza.exceptions import RunError, SettingsError
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

    def _fit(
        self,
        command: str,
        settings: Mapping[str, Any],
        data: Data | None,
        source: Any,
        lists: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        """Fit by a command of the tool.

        Parameters
        ----------
        command
            The command.
        settings
            Its flags, beside those that all commands have.
        data
            What is handed over; None if flags name it.
        source
            The data as the user gave it, to know it again.
        lists
            Flags whose files are written for the time of the fit: a member a line.
        """
        private = settings.get("method") not in _NOT_PRIVATE
        seed = self._seed()
        shared = {**(self._budget() if private else {}), "seed": seed}
        if private and self.ledger is None and seed is None:
            warn_of_another_fit(type(self).__name__, source, self.epsilon)
        with tempfile.TemporaryDirectory(prefix="organza-") as place:
            written = {
                name: _written(Path(place) / f"{name}.txt", members)
                for name, members in (lists or {}).items()
            }
            options = {**settings, **written, **shared, **(self.options or {})}
            self._run = fit(
                command,
                options,
                data,
                folder=self.folder,
                threads=self.threads,
                progress=self.progress,
            )

        self._load()

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
        return int(seed.randint(2**31 - 1)) if hasattr(seed, "randint") else int(seed)

    def _budget(self) -> dict[str, Any]:
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
        """What the fit had to remark."""
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
        import shutil

        return Path(shutil.copytree(self._fitted().folder, folder))

    def _repr_html_(self) -> str:
        if not self.__sklearn_is_fitted__():
            return f"<pre>{self!r}</pre>"
        return self._fitted().card()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}


def _written(path: Path, members: Iterable[str]) -> Path:
    lines = [str(member) for member in members]
    for line in lines:
        if "\n" in line or "\r" in line or not line.strip():
            raise SettingsError(f"{line!r} cannot be a member of `{path.stem}`: it is not one line")
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path
