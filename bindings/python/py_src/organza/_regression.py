"""Regressions on numbers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza._checks import checked
from organza._estimator import RegressorMixin
from organza._linear import LinearEstimator
from organza.exceptions import DataError

if TYPE_CHECKING:
    from typing_extensions import Self


class _Regression(RegressorMixin, LinearEstimator):
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
