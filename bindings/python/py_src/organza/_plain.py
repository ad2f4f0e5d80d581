"""What estimators need of scikit-learn where it is not installed."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar

Self = TypeVar("Self", bound="BaseEstimator")


class BaseEstimator:
    """Parameters by name, as in scikit-learn."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Give the parameters of this estimator."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self: Self, **params: Any) -> Self:
        """Set parameters of this estimator."""
        for name, value in params.items():
            if name not in self._names():
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. Valid parameters are: {self._names()!r}."
                )
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        usual = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(usual[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __sklearn_tags__(self) -> Any:
        raise AttributeError("scikit-learn is not installed")


class TransformerMixin:
    """Fit and transform in one."""

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit to data, then transform it."""
        estimator: Any = self
        return estimator.fit(X, y, **params).transform(X)


class ClassifierMixin:
    """The accuracy as a score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of rows whose class is predicted. *Not private.*"""
        import numpy as np

        estimator: Any = self
        right = np.asarray(estimator.predict(X)) == np.asarray(y)
        return float(np.average(right, weights=sample_weight))


class RegressorMixin:
    """R squared as a score."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give R squared. *Not private.*"""
        import numpy as np

        estimator: Any = self
        y = np.asarray(y, dtype=np.float64)
        mean = np.average(y, weights=sample_weight)
        left = np.average((y - estimator.predict(X)) ** 2, weights=sample_weight)
        return float(1 - left / np.average((y - mean) ** 2, weights=sample_weight))


class NotFittedError(ValueError, AttributeError):
    """An estimator was used before it was fitted."""
