"""Linear models."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza import _data, _organza
from organza._checks import checked
from organza._estimator import ClassifierMixin, PrivateEstimator, RegressorMixin
from organza._organza import HANDED_OVER, Data, LinearModel
from organza.exceptions import DataError, PrivacyWarning, SettingsError

if TYPE_CHECKING:
    from typing_extensions import Self

#: The columns of a table that are features: numbers with their ranges, and categories.
_COLUMNS = ("numeric", "categorical", "private_categories")


class _Linear(PrivateEstimator):
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
        self._fit("linear", {**settings, **where}, data, X)

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
        self._fit("linear", settings, data, source)

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


class LogisticRegression(ClassifierMixin, _Linear):
    """Logistic regression with differential privacy.

    Parameters
    ----------
    epsilon : float, default=1.0
        The budget: noise is calibrated to spend it.
    delta : float, default=1e-6
        The probability that the promise fails; well below one over the number of units.
    method : {"objective", "dpsgd", "sparse", "corrected", "poisson-groups", "printed", "none"}, optional
        How to fit; by default the best private one. "printed" and "none" are *not private*.
    bound : float, optional
        The L2 norm of a row: longer ones are scaled down to it; 1 by default.
    l2 : float, optional
        The weight of half the squared norm of the coefficients beside the mean loss.
    fit_intercept : bool, default=True
        Whether there is an intercept.
    classes : sequence, optional
        All classes, which declares them public. Without it the labels are looked at, and which classes there
        are is taken for public, with a :class:`~organza.PrivacyWarning`.
    label_column, user_column : str, optional
        The columns of a table: the label, and whose the row is.
    numeric : dict or list, optional
        Columns of numbers of a table, with their declared ranges ``{"age": (17, 90)}``.
    categorical, private_categories : list of str, optional
        Columns of categories of a table: hashed, or released with a charge.
    ledger, random_state, folder, threads, progress
        As in :class:`WordVectors`.
    options : dict, optional
        Any other flag of ``organza linear`` by its name, such as ``{"steps": 500}``.

    Attributes
    ----------
    coef_ : ndarray
        The coefficients.
    intercept_ : ndarray
        The intercepts.
    classes_ : ndarray
        The classes.

    Examples
    --------
    >>> import numpy as np
    >>> from organza import LogisticRegression
    >>> X = np.random.default_rng(0).normal(size=(5000, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = LogisticRegression(epsilon=1.0, classes=[0, 1], bound=2.0).fit(X, y)
    >>> model.score(X, y) > 0.9
    True
    """

    _MODEL = "logistic"

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        method: str | None = None,
        bound: float | None = None,
        l2: float | None = None,
        fit_intercept: bool = True,
        classes: Sequence[Any] | None = None,
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
        super().__init__(
            epsilon,
            delta,
            method=method,
            bound=bound,
            l2=l2,
            fit_intercept=fit_intercept,
            label_column=label_column,
            user_column=user_column,
            numeric=numeric,
            categorical=categorical,
            private_categories=private_categories,
            ledger=ledger,
            random_state=random_state,
            folder=folder,
            threads=threads,
            progress=progress,
            options=options,
        )
        self.classes = classes

    def fit(self, X: Any, y: Any = None, *, units: Iterable[Any] | None = None) -> Self:
        """Fit to rows and their classes.

        Parameters
        ----------
        X : ndarray, sparse matrix, table, or path
            Rows; or a table with a `label_column`, of which only the columns that are named are read.
        y : array-like
            The class of each row; None where a column has it.
        units : iterable, optional
            Whose each row is: all rows of one are protected as one.

        Returns
        -------
        self
        """
        if self._is_table():
            self._refuse_beside_a_table(y, units)
            classes = np.asarray([0, 1] if self.classes is None else list(self.classes))
            names = [] if self.classes is None else [str(name) for name in self.classes]
            if names != (_names(classes) if names else []):
                raise SettingsError("`classes` of a table are names without commas, each once")
            self._fit_table(X, names)
            self.classes_ = classes
            return self
        source = X
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        X, y = checked(self, X, y, reset=True)
        declared = self.classes
        if declared is None:
            _check_targets(y)
            classes = np.unique(y)
            if not set(classes.tolist()) <= {0, 1}:
                warnings.warn(
                    "which classes there are was taken from the labels, and is public from now on: declare them by "
                    "`classes`",
                    PrivacyWarning,
                    stacklevel=2,
                )
        else:
            classes = np.asarray(list(declared))
            if len(np.unique(classes)) != len(classes):
                raise SettingsError("`classes` names a class twice")
        if len(classes) < 2:
            raise DataError("there has to be more than one class, but the data has 1 class")
        known = {name: place for place, name in enumerate(classes.tolist())}
        try:
            labels = np.asarray([known[label] for label in y.tolist()], dtype=np.float64)
        except KeyError as unknown:
            raise DataError(f"the label {unknown} is not one of `classes`") from None
        self._fit_matrix(X, labels, units, _names(classes), source)
        self.classes_ = classes
        return self

    def _shaped_intercept(self, intercepts: NDArray[np.float64]) -> Any:
        return intercepts

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probability of each class for each row."""
        said = self._predictions(X)
        if said.shape[1] > 1:
            return said
        return np.hstack([1 - said, said])

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the logarithm of the probability of each class for each row."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), np.finfo(float).tiny)))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Give the log odds of the second of two classes, or the logarithm of each probability."""
        proba = self.predict_proba(X)
        logs = np.log(np.maximum(proba, np.finfo(float).tiny))
        return np.asarray(logs if proba.shape[1] > 2 else logs[:, 1] - logs[:, 0])

    def predict(self, X: Any) -> NDArray[Any]:
        """Give the likeliest class of each row."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags


def _names(classes: NDArray[Any]) -> list[str]:
    names = [str(name) for name in classes.tolist()]
    plain = len(set(names)) == len(names) and not any("," in name or not name for name in names)
    return names if plain else [str(place) for place in range(len(names))]


def _check_targets(y: NDArray[Any]) -> None:
    try:
        from sklearn.utils.multiclass import check_classification_targets
    except ImportError:
        return
    check_classification_targets(y)


class _Regression(RegressorMixin, _Linear):
    """What regressions on numbers have in common."""

    def __init__(
        self,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        *,
        method: str | None = None,
        bound: float | None = None,
        label_bound: float | None = None,
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
        super().__init__(
            epsilon,
            delta,
            method=method,
            bound=bound,
            l2=l2,
            fit_intercept=fit_intercept,
            label_column=label_column,
            user_column=user_column,
            numeric=numeric,
            categorical=categorical,
            private_categories=private_categories,
            ledger=ledger,
            random_state=random_state,
            folder=folder,
            threads=threads,
            progress=progress,
            options=options,
        )
        self.label_bound = label_bound

    def _settings(self) -> dict[str, Any]:
        return {**super()._settings(), "label_bound": self.label_bound}

    def fit(self, X: Any, y: Any = None, *, units: Iterable[Any] | None = None) -> Self:
        """Fit to rows and their labels.

        Parameters
        ----------
        X : ndarray, sparse matrix, table, or path
            Rows; or a table with a `label_column`, of which only the columns that are named are read.
        y : array-like
            The label of each row; None where a column has it.
        units : iterable, optional
            Whose each row is: all rows of one are protected as one.

        Returns
        -------
        self
        """
        if self._is_table():
            self._refuse_beside_a_table(y, units)
            self._fit_table(X, [])
            return self
        source = X
        if y is None:
            raise DataError("requires y to be passed, but the target y is None")
        X, y = checked(self, X, y, reset=True, y_numeric=True)
        labels = np.asarray(y, dtype=np.float64)
        if self._MODEL == "poisson" and (labels < 0).any():
            raise DataError("some labels are negative, but they are counts")
        self._fit_matrix(X, labels, units, [], source)
        return self

    def _shaped(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(weights[0])

    def _shaped_intercept(self, intercepts: NDArray[np.float64]) -> Any:
        return float(intercepts[0])

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Give the expected label of each row."""
        return np.asarray(self._predictions(X)[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags


class LinearRegression(_Regression):
    """Least squares with differential privacy.

    Parameters
    ----------
    label_bound : float, optional
        The size of labels, declared public: larger ones are brought within; 1 by default.
    epsilon, delta, method, bound, l2, fit_intercept
        As in :class:`LogisticRegression`.
    label_column, user_column, numeric, categorical, private_categories
        As in :class:`LogisticRegression`.
    ledger, random_state, folder, threads, progress, options
        As in :class:`LogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients.
    intercept_ : float
        The intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from organza import LinearRegression
    >>> X = np.random.default_rng(0).uniform(-0.7, 0.7, size=(20000, 2))
    >>> model = LinearRegression(epsilon=1.0, label_bound=100.0).fit(X, 80 * X[:, 0] + 3)
    >>> bool(60 < model.coef_[0] < 100)
    True
    """

    _MODEL = "linear"


class PoissonRegression(_Regression):
    """Poisson regression, for counts, with differential privacy.

    Parameters
    ----------
    label_bound : float, optional
        The size of counts, declared public: larger ones are brought within; 1 by default.
    epsilon, delta, method, bound, l2, fit_intercept
        As in :class:`LogisticRegression`.
    label_column, user_column, numeric, categorical, private_categories
        As in :class:`LogisticRegression`.
    ledger, random_state, folder, threads, progress, options
        As in :class:`LogisticRegression`.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The coefficients.
    intercept_ : float
        The intercept.
    """

    _MODEL = "poisson"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


