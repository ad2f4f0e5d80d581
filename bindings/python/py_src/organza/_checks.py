"""Whether matrices and labels can be used: as scikit-learn checks them, and without it as well as numpy can."""

from __future__ import annotations

from typing import Any

import numpy as np

from organza._data import is_sparse
from organza._estimator import PrivateEstimator
from organza.exceptions import DataError

#: What stands for labels where there are none to look at.
_NO_LABELS = "no_validation"


def checked(
    estimator: PrivateEstimator,
    X: Any,
    y: Any = _NO_LABELS,
    *,
    reset: bool,
    dtype: Any = np.float64,
    non_negative: bool = False,
    y_numeric: bool = False,
) -> Any:
    """Give a matrix, and labels if there are any.

    That there are no rows is no error: it would tell that there are none.
    """
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return _by_numpy(estimator, X, y, reset, dtype, non_negative)
    try:
        return validate_data(
            estimator,
            X,
            y,
            reset=reset,
            accept_sparse="csr",
            accept_large_sparse=True,
            dtype=dtype,
            ensure_min_samples=0,
            **(_of_rows(X, non_negative) if isinstance(y, str) else {"y_numeric": y_numeric}),
        )
    except ValueError as problem:
        raise DataError(str(problem)) from problem


def _of_rows(X: Any, non_negative: bool) -> dict[str, bool]:
    # Of no values scikit-learn cannot find the least.
    return {
        "ensure_non_negative": non_negative
        and (X.nnz if is_sparse(X) else np.asarray(X).size) > 0
    }


def _by_numpy(
    estimator: PrivateEstimator, X: Any, y: Any, reset: bool, dtype: Any, non_negative: bool
) -> Any:
    if is_sparse(X):
        X = X.tocsr()
    else:
        X = np.asarray(X, dtype=None if dtype == "numeric" else dtype)
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise DataError(
                "Expected 2D array of numbers. Reshape your data: a row a record, a column a feature"
            )
    values = X.data if is_sparse(X) else X
    if values.size and not np.isfinite(values.sum(dtype=np.float64)):
        raise DataError("Input X contains NaN or infinity")
    if non_negative and values.size and values.min() < 0:
        raise DataError("Negative values in data: a count or a weight is not negative")
    if reset:
        estimator.__dict__["n_features_in_"] = int(X.shape[1])
    elif X.shape[1] != estimator.__dict__.get("n_features_in_"):
        raise DataError(f"X has {X.shape[1]} features, but another number was fitted")
    if isinstance(y, str):
        return X
    y = np.asarray(y)
    if y.ndim != 1 or len(y) != X.shape[0]:
        raise DataError("y has to have one label for each row")
    return X, y
