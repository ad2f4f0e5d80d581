"""What linear models have in common."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from organza import _data, _organza
from organza._checks import checked
from organza._estimator import Fitting, PrivateEstimator
from organza._organza import HANDED_OVER, Data, LinearModel
from organza.exceptions import DataError, SettingsError

#: The columns of a table that are features: numbers with their ranges, and categories.
_COLUMNS = ("numeric", "categorical", "private_categories")


class LinearEstimator(PrivateEstimator):
    """What linear models have in common."""

    _MODEL: str

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        method: str | None = None,
        bound: float | None = None,
        l2: float | None = None,
        fit_intercept: bool = True,
        label_column: str | None = None,
        user_column: str | None = None,
        numeric: Mapping[str, tuple[float, float] | None] | Sequence[str] | None = None,
        categorical: Sequence[str] | None = None,
        private_categories: Sequence[str] | None = None,
        ledger: Any = None,
        random_state: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.bound = bound
        self.l2 = l2
        self.fit_intercept = fit_intercept
        self.label_column = label_column
        self.user_column = user_column
        self.numeric = numeric
        self.categorical = categorical
        self.private_categories = private_categories
        self.ledger = ledger
        self.random_state = random_state
        self.folder = folder
        self.threads = threads
        self.progress = progress
        self.options = options

    def _settings(self) -> dict[str, Any]:
        return {
            "model": self._MODEL,
            "method": self.method,
            "bound": self.bound,
            "l2": self.l2,
            "no_intercept": not self.fit_intercept,
        }

    def _columns(self) -> dict[str, Any]:
        numeric: Any = self.numeric
        if isinstance(numeric, Mapping):
            numeric = [
                name if ends is None else f"{name}={float(ends[0])!r}:{float(ends[1])!r}"
                for name, ends in numeric.items()
            ]
        return {
            "label_column": self.label_column,
            "user_column": self.user_column,
            "numeric": None if numeric is None else list(numeric),
            "categorical": None if self.categorical is None else list(self.categorical),
            "private_categories": (
                None if self.private_categories is None else list(self.private_categories)
            ),
        }

    def _is_table(self) -> bool:
        return any(getattr(self, name) is not None for name in (*_COLUMNS, "label_column"))

    def _refuse_beside_a_table(self, y: Any, units: Any) -> None:
        if y is not None:
            raise DataError("`label_column` names the labels: leave `y` out")
        if units is not None:
            raise DataError("name a `user_column` of the table: leave `units` out")

    def _fit_table(self, X: Any, classes: list[str]) -> None:
        """Fit to named columns of a table or a file."""
        settings = {**self._settings(), **self._columns()}
        if _data.is_path(X):
            data = None
            where: dict[str, Any] = {"data": X}
        else:
            data, where = _data.table(X), {"data": HANDED_OVER, "format": "arrow"}
        settings["classes"] = ",".join(classes) or None
        self._fit(Fitting("linear", {**settings, **where}, data), X)

    def _fit_matrix(
        self, X: Any, labels: NDArray[np.float64], units: Any, classes: list[str], source: Any
    ) -> None:
        """Fit to a matrix and numbers as labels."""
        if self.user_column is not None:
            raise SettingsError("`user_column` is for tables whose columns are named: give `units`")
        groups = None if units is None else [_named(unit) for unit in units]
        if groups is not None and len(groups) != len(labels):
            raise DataError(
                f"`units` has {len(groups)} members, but there are {len(labels)} rows"
            )
        settings = {
            **self._settings(),
            "data": HANDED_OVER,
            "features": int(X.shape[1]),
            "user_column": None if groups is None else "units",
            "classes": ",".join(classes) or None,
        }
        data = _rows(X, _data.in_place(labels, np.float64), groups)
        self._fit(Fitting("linear", settings, data), source)

    def _load(self) -> None:
        self._model = LinearModel(str(self._fitted().folder))
        self.coef_ = self._shaped(self._model.weights())
        intercepts = self._model.intercepts()
        self.intercept_ = self._shaped_intercept(intercepts)
        names = self._model.feature_names()
        if self._is_table() and names is not None:
            self.feature_names_ = names

    def _shaped(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return weights

    def _shaped_intercept(self, intercepts: NDArray[np.float64]) -> Any:
        return intercepts

    def _predictions(self, X: Any) -> NDArray[np.float64]:
        self._fitted()
        if self._is_table():
            return self._model.predict(_data.table(X))
        X = checked(self, X, reset=False)
        return self._model.predict(_rows(X, None, None))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        tags.target_tags.required = True
        return tags


def _named(unit: Any) -> str:
    """Give the name of whoever a row belongs to."""
    if unit is None or unit != unit or not str(unit).strip():
        raise DataError(f"`units` names nobody for a row: {unit!r}")
    return str(unit)


def _rows(X: Any, labels: NDArray[np.float64] | None, groups: list[str] | None) -> Data:
    if _data.is_sparse(X):
        matrix = X.tocsr()
        return _organza.sparse_rows(
            _data.in_place(matrix.indptr),
            _data.in_place(matrix.indices),
            _data.in_place(matrix.data),
            int(X.shape[1]),
            labels,
            groups,
        )
    return _organza.dense_rows(_data.in_place(X, np.float64), labels, groups)
