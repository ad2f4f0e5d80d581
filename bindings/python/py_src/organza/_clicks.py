"""Click models."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza import _data, _organza
from organza._estimator import Fitting, PrivateEstimator
from organza._organza import HANDED_OVER
from organza.exceptions import DataError, SettingsError

if TYPE_CHECKING:
    from typing_extensions import Self


class ClickModel(PrivateEstimator):
    """The probability of a click, from numbers and categories, with the user as the unit.

    Categories are hashed into buckets by a public hash, and numbers become logarithms between 0 and a declared maximum, so
    nothing has to be learned from the data first.

    Parameters
    ----------
    epsilon : float, default=3.0
        The budget: noise is calibrated to spend it.
    delta : float, default=1e-6
        The probability that the promise fails; well below one over the number of users.
    method : {"one-shot", "one-shot-dpsgd", "dpsgd", "sparse", "none"}, default="one-shot"
        How it is learned: from noisy counts and moments that are released once, by steps, or by steps from there. "none" is *not
        private*.
    model : {"logistic", "factorisation-machine"}, default="logistic"
        What is learned. A factorisation machine takes steps.
    label_column : str
        The column that says whether it was clicked.
    user_column : str, optional
        The column that says whose the row is: all rows of a user are protected as one. Without it each row is protected alone.
    categories : list of str, optional
        The columns of categories that are hashed.
    private_categories : list of str, optional
        Columns of which the categories that many units have are released, with a charge; all others share a feature.
    numbers : dict or list of str, optional
        The columns of counts or amounts, with what counts as 1: ``{"paid": 500}``; 10,000 unless you say it.
    buckets : int, optional
        Buckets of each column of categories; 1,000 unless you say it.
    units : int, optional
        Declares that the number of units is public; otherwise methods with steps release it with a charge.
    ledger, random_state, folder, threads, progress
        As in :class:`WordVectors`.
    options : dict, optional
        Any other flag of ``organza clicks`` by its name, such as ``{"epochs": 5}``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from organza import ClickModel
    >>> shown = pa.table({
    ...     "user": [f"u{row // 4}" for row in range(8000)],
    ...     "ad": [f"ad{row * 7 % 5}" for row in range(8000)],
    ...     "clicked": [int(row * 7 % 5 < 2) for row in range(8000)],
    ... })
    >>> model = ClickModel(epsilon=3.0, label_column="clicked", user_column="user", categories=["ad"], buckets=50).fit(shown)
    >>> likely, unlikely = model.predict_proba(pa.table({"ad": ["ad0", "ad4"]}))[:, 1]
    >>> bool(likely > 0.8 and unlikely < 0.2)
    True
    """

    def __init__(
        self,
        epsilon: float = 3.0,
        delta: float = 1e-6,
        *,
        method: str = "one-shot",
        model: str = "logistic",
        label_column: str | None = None,
        user_column: str | None = None,
        categories: Sequence[str] | None = None,
        private_categories: Sequence[str] | None = None,
        numbers: Mapping[str, float] | Sequence[str] | None = None,
        buckets: int | None = None,
        units: int | None = None,
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
        self.model = model
        self.label_column = label_column
        self.user_column = user_column
        self.categories = categories
        self.private_categories = private_categories
        self.numbers = numbers
        self.buckets = buckets
        self.units = units
        self.ledger = ledger
        self.random_state = random_state
        self.folder = folder
        self.threads = threads
        self.progress = progress
        self.options = options

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what is clicked.

        Parameters
        ----------
        X : table, iterable of tables, or path
            Rows of what was shown, in the columns that are named.
        y : None
            Not used: `label_column` names the labels.

        Returns
        -------
        self
        """
        if y is not None:
            raise DataError("`label_column` names the labels: leave `y` out")
        self._fit(self._fitting(X), X)
        return self

    def _fitting(self, X: Any) -> Fitting:
        if self.label_column is None or not (self.categories or self.private_categories):
            raise SettingsError(
                "say what was clicked by `label_column`, and which columns are `categories`"
            )
        numbers: Any = self.numbers
        if isinstance(numbers, Mapping):
            numbers = [f"{name}={float(most)!r}" for name, most in numbers.items()]
        settings = {
            "method": self.method,
            "model": self.model,
            "label_column": self.label_column,
            "user_column": self.user_column,
            "category": list(self.categories or ()),
            "private_category": list(self.private_categories or ()),
            "number": None if numbers is None else list(numbers),
            "buckets": self.buckets,
            "units": self.units,
        }
        if _data.is_path(X):
            return Fitting("clicks", {**settings, "data": X}, None)
        return Fitting("clicks", {**settings, "data": HANDED_OVER}, _data.table(X))

    def _takes_steps(self) -> bool:
        return self.method in ("dpsgd", "sparse")

    def _load(self) -> None:
        self._model = _organza.ClickModel(str(self._fitted().folder))
        self.classes_ = np.array([0, 1])

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give the probabilities that a row is not clicked, and that it is.

        Parameters
        ----------
        X : table
            Rows in the same columns; labels and users are not looked at.

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        self._fitted()
        said = self._model.predict(_data.table(X))
        return np.column_stack([1 - said, said])

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Say for each row whether a click is likelier than none."""
        return np.asarray(self.predict_proba(X)[:, 1] > 0.5, dtype=np.int64)

    def score(self, X: Any, y: Any) -> float:
        """Give the AUC on rows and their labels: how often a click has the larger of two probabilities.

        *Not private*: it is about the rows that are given.
        """
        said, clicked = self.predict_proba(X)[:, 1], np.asarray(y).astype(bool)
        order = np.concatenate([said[~clicked], said[clicked]])
        places, number = np.unique(order, return_inverse=True)
        ends = np.cumsum(np.bincount(number, minlength=len(places)))
        ranks = (ends - (np.bincount(number, minlength=len(places)) - 1) / 2)[number]
        others, own = int((~clicked).sum()), int(clicked.sum())
        if not others or not own:
            raise DataError("the AUC needs rows with a click and rows without")
        return float((ranks[others:].sum() - own * (own + 1) / 2) / (own * others))
