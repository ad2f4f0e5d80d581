"""Recommenders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza import _data, _organza
from organza._checks import checked
from organza._estimator import Fitting, PrivateEstimator, one_line_each
from organza._organza import HANDED_OVER, Data, RecommenderModel
from organza.exceptions import DataError, SettingsError

if TYPE_CHECKING:
    from typing_extensions import Self

#: The part of a history that is hidden to measure with.
_HIDDEN = 5


def _is_nested(X: Any) -> bool:
    """Whether it is a matrix as lists of numbers."""
    return isinstance(X, (list, tuple)) and bool(X) and isinstance(X[0], (list, tuple, np.ndarray))


class Recommender(PrivateEstimator):
    """Recommends items by what people did, without giving away what anyone did.

    The unit is the person: all of their events together.

    Parameters
    ----------
    epsilon : float, default=3.0
        The budget: noise is calibrated to spend it.
    delta : float, default=1e-6
        The probability that the promise fails; well below one over the number of persons.
    method : str, default="spectrum"
        How it is made. "popularity", "covariance", "als" and "dpsgd" are there to compare with; "ease" and
        "low-rank" are *not private*.
    items : sequence, optional
        The names of all items, which declares them public. Those of a matrix are its columns, numbered unless
        they are named here, and public in any case; those of a table are released with a charge unless they
        are named.
    titles : dict, optional
        Public titles of items.
    full_weight : float, optional
        The value that counts in full, which is declared public; larger ones are taken for it. Without it all
        positive values of a matrix count alike.
    user_column, item_column, weight_column, time_column : str, optional
        The columns of a table or file: who, what, how much and when.
    last : int, optional
        Only the newest items of a person count, so many of them; needs `time_column`.
    most_items : int, optional
        The most items of the model.
    ledger, random_state, folder, threads, progress
        As in :class:`WordVectors`.
    options : dict, optional
        Any other flag of ``organza recommender`` by its name, such as ``{"item_share": 0.2}``.

    Attributes
    ----------
    items_ : list
        The items of the model, the most frequent first; column numbers where items have no names.
    counts_ : ndarray
        How many persons have each of them, as it was released.
    item_vectors_ : ndarray
        What each of them is like.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> from organza import Recommender
    >>> who = np.repeat(np.arange(3000), 3)
    >>> what = (who % 4) * 5 + (who + np.tile([0, 1, 2], 3000)) % 5
    >>> histories = csr_matrix((np.ones(9000), (who, what)), shape=(3000, 20))
    >>> recommender = Recommender(epsilon=8.0).fit(histories)
    >>> {item // 5 for item, _ in recommender.recommend([10, 11], n=2)}
    {2}
    """

    n_features_in_: int

    def __init__(
        self,
        epsilon: float = 3.0,
        delta: float = 1e-6,
        *,
        method: str = "spectrum",
        items: Sequence[Any] | None = None,
        titles: Mapping[Any, str] | None = None,
        full_weight: float | None = None,
        user_column: str | None = None,
        item_column: str | None = None,
        weight_column: str | None = None,
        time_column: str | None = None,
        last: int | None = None,
        most_items: int | None = None,
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
        self.items = items
        self.titles = titles
        self.full_weight = full_weight
        self.user_column = user_column
        self.item_column = item_column
        self.weight_column = weight_column
        self.time_column = time_column
        self.last = last
        self.most_items = most_items
        self.ledger = ledger
        self.random_state = random_state
        self.folder = folder
        self.threads = threads
        self.progress = progress
        self.options = options

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what goes with what.

        Parameters
        ----------
        X : sparse matrix, ndarray, table, iterable of tables, or path
            A matrix with a row for each person and a column for each item, which is read where it is if it is a
            CSR matrix of scipy; or a table of events with a `user_column` and an `item_column`.
        y : None
            Not used.

        Returns
        -------
        self
        """
        self._fit(self._fitting(X), X)
        return self

    def _fitting(self, X: Any) -> Fitting:
        lists: dict[str, Iterable[str]] = {}
        if self.titles is not None:
            lists["titles"] = [f"{item}\t{title}" for item, title in self.titles.items()]
        settings: dict[str, Any] = {"method": self.method, "most_items": self.most_items}
        self.__dict__.pop("n_features_in_", None)
        if _data.is_sparse(X) or isinstance(X, np.ndarray) or _is_nested(X):
            data: Data | None = self._matrix(X)
            where: dict[str, Any] = {"data": HANDED_OVER}
            columns: dict[str, Any] = {"user_column": "row", "item_column": "column"}
            if self.full_weight is not None:
                columns.update(weight_column="value", full_weight=self.full_weight)
        else:
            data, where, columns = self._events(X)
            if self.items is not None:
                lists["items"] = [str(item) for item in self.items]
        self._named = {str(item): item for item in self._own_items()}
        return Fitting("recommender", {**settings, **where, **columns}, data, lists)

    def _own_items(self) -> Iterable[Any]:
        if self.items is not None:
            return self.items
        return range(self.n_features_in_) if hasattr(self, "n_features_in_") else ()

    def _matrix(self, X: Any) -> Data:
        for name in ("user_column", "item_column", "weight_column", "time_column", "last"):
            if getattr(self, name) is not None:
                raise SettingsError(f"`{name}` is for tables of events, but this is a matrix")
        X = checked(self, X, reset=True, dtype="numeric", non_negative=True)
        if isinstance(X, np.ndarray):
            starts = np.concatenate([[0], np.count_nonzero(X, axis=1).cumsum()]).astype(np.int64)
            indices = np.nonzero(X)[1].astype(np.int64)
            values = np.ascontiguousarray(X[X != 0])
        else:
            starts, indices, values = X.indptr, X.indices, X.data
        if values.dtype == bool:
            values = values.view(np.uint8)
        elif values.dtype.type not in (np.float32, np.float64, np.int32, np.int64, np.int8, np.uint8):
            values = values.astype(np.float32)
        full = self.full_weight
        if full is not None and not (isinstance(full, (int, float)) and 0 < full < np.inf):
            raise SettingsError(f"`full_weight` is {full}, but must be a positive number")
        width = int(X.shape[1])
        items = range(width) if self.items is None else self.items
        names = one_line_each("items", items)
        if len(names) != width:
            raise SettingsError(f"`items` names {len(names)} items, but the matrix has {width} columns")
        if len(set(names)) != width:
            raise SettingsError("`items` names an item twice")
        starts, indices, values = (_data.in_place(it) for it in (starts, indices, values))
        return _organza.histories(starts, indices, values, names, self.full_weight)

    def _events(self, X: Any) -> tuple[Data | None, dict[str, Any], dict[str, Any]]:
        if self.user_column is None or self.item_column is None:
            raise SettingsError(
                "say who and what by `user_column` and `item_column`, or give a sparse matrix: a row a person"
            )
        columns = {
            "user_column": self.user_column,
            "item_column": self.item_column,
            "weight_column": self.weight_column,
            "full_weight": self.full_weight,
            "time_column": self.time_column,
            "last": self.last,
        }
        if _data.is_path(X):
            return None, {"data": X}, columns
        return _data.table(X), {"data": HANDED_OVER}, columns

    def _load(self) -> None:
        self._model = RecommenderModel(str(self._fitted().folder))
        names = self._model.names()
        self._places = {name: place for place, name in enumerate(names)}
        self.items_ = [self._named.get(name, name) for name in names]
        self.counts_ = self._model.counts()
        self.item_vectors_ = self._model.vectors()

    def _history(self, history: Iterable[Any]) -> list[int]:
        places = (self._places.get(str(item)) for item in history)
        return [place for place in places if place is not None]

    def recommend(self, history: Iterable[Any], n: int = 10) -> list[tuple[Any, float]]:
        """Give the items to recommend to somebody.

        Parameters
        ----------
        history : iterable
            The items that they have. It is not protected by anything: recommend where it is.
        n : int, default=10
            How many items.

        Returns
        -------
        list of (item, float)
            Items that are not in the history, with their scores, the best first.
        """
        self._fitted()
        items, scores = self._model.recommend(self._history(history), n)
        return [
            (self.items_[item], float(score)) for item, score in zip(items, scores, strict=True)
        ]

    def because(self, history: Iterable[Any], item: Any) -> list[tuple[Any, float]]:
        """Give the items of a history that speak for `item`, with what they add to its score."""
        self._fitted()
        items, scores = self._model.because(self._history(history), self._place(item))
        return [(self.items_[it], float(score)) for it, score in zip(items, scores, strict=True)]

    def similar_items(self, item: Any, n: int = 10) -> list[tuple[Any, float]]:
        """Give the items that are most alike, with their cosines."""
        self._fitted()
        items, scores = self._model.similar(self._place(item), n)
        return [(self.items_[it], float(score)) for it, score in zip(items, scores, strict=True)]

    def _place(self, item: Any) -> int:
        try:
            return self._places[str(item)]
        except KeyError:
            raise KeyError(item) from None

    def recommend_all(self, X: Any, n: int = 10) -> NDArray[Any]:
        """Give the items to recommend to each row of a matrix.

        Parameters
        ----------
        X : sparse matrix or ndarray of shape (n_persons, n_items)
            Histories, with the columns of the matrix that it was fitted to.
        n : int, default=10
            How many items.

        Returns
        -------
        ndarray of shape (n_persons, n)
            Items, the best first; -1 or None where there are no more.
        """
        rows = [self.recommend(history, n) for history in self._histories(X)]
        width = max((len(row) for row in rows), default=0)
        whole = all(isinstance(item, (int, np.integer)) for item in self.items_)
        found = np.full((len(rows), width), -1 if whole else None, dtype=int if whole else object)
        for place, row in enumerate(rows):
            found[place, : len(row)] = [item for item, _ in row]
        return found

    def _histories(self, X: Any) -> Iterable[list[Any]]:
        self._fitted()
        if not hasattr(self, "n_features_in_"):
            raise DataError("it was fitted to a table: recommend to one history at a time")
        X = checked(self, X, reset=False, dtype="numeric", non_negative=True)
        names = list(self._named.values())
        if isinstance(X, np.ndarray):
            return [[names[column] for column in np.flatnonzero(row)] for row in X]
        return [
            [names[column] for column in X.indices[start:end][X.data[start:end] > 0]]
            for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True)
        ]

    def score(self, X: Any, y: Any = None, n: int = 20) -> float:
        """Give the recall at `n`: the share of hidden items, a fifth of each history, that are found again.

        *Not private*: it is about the histories that are given.
        """
        self._fitted()
        found = []
        for row in self._histories(X):
            hidden = row[_HIDDEN - 1 :: _HIDDEN]
            if not hidden:
                continue
            kept = [item for item in row if item not in set(hidden)]
            offered = {item for item, _ in self.recommend(kept, n)}
            found.append(len(offered & set(hidden)) / min(n, len(hidden)))
        return float(np.mean(found)) if found else 0.0

    def spectrum(self) -> tuple[NDArray[np.float64], float] | None:
        """Give the eigenvalues of what was released that stand out, and where noise ends; None if there is no such choice."""
        self._fitted()
        return self._model.spectrum()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.non_deterministic = self.random_state is None
        tags.target_tags.required = False
        return tags
