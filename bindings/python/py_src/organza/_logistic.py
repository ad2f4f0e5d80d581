"""Logistic regression."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza._checks import checked
from organza._estimator import ClassifierMixin
from organza._linear import LinearEstimator
from organza.exceptions import DataError, PrivacyWarning, SettingsError

if TYPE_CHECKING:
    from typing_extensions import Self


class LogisticRegression(ClassifierMixin, LinearEstimator):
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
