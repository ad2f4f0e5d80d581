"""Word vectors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza._estimator import TransformerMixin
from organza._organza import WordModel
from organza._text import TextEstimator, Words
from organza.exceptions import DataError

if TYPE_CHECKING:
    from typing_extensions import Self


class WordVectors(TransformerMixin, TextEstimator):
    """Word vectors with differential privacy.

    Parameters
    ----------
    epsilon : float, default=3.0
        The budget: noise is calibrated to spend it.
    delta : float, default=1e-6
        The probability that the promise fails; well below one over the number of units.
    unit : {"line", "user", "document", "pair"}, optional
        What is protected as one. By default everything of a user, where `units` or `user_column` say whose a
        text is, and a line otherwise.
    method : {"counts", "dpsgd", "sparse", "none"}, optional
        Release counts once and train on them (the default), take private steps, or no privacy.
    dimensions : int, optional
        The length of a vector; 100 for counts, else 16.
    window : int, optional
        How many words to each side are context; 4 by default.
    vocabulary : "private", "declared-public", path or list of str, default="private"
        Release the words with a charge, count them without protection and declare them public, or take those of
        a public list or file.
    vocabulary_size : int, optional
        Keep so many of the most frequent words.
    minimum_count : int, optional
        Keep words that occur so often, where they are declared public.
    tokens : str, optional
        What a word is: "unicode" (the default), "ascii", "whitespace", or a regular expression.
    keep_case : bool, default=False
        Keep capitals.
    stop_words : "english", path or list of str, optional
        Words that are left out.
    text_column, user_column : str, optional
        The columns of a table or file that hold the text, and whose it is.
    ledger : path or organza.ledger.Ledger, optional
        The ledger of the data set, where several fits share one budget. A fit that would overspend raises
        :class:`~organza.BudgetError` before it looks at the data.
    random_state : int, optional
        A seed makes the fit repeatable, and *not private*.
    folder : path-like, optional
        Where the run is written. A run that was stopped goes on from there when it is fitted again.
    threads : int, optional
        How many threads; the result is the same with any number.
    progress : bool, optional
        Whether a bar is shown; by default where somebody sees it.
    options : dict, optional
        Any other flag of ``organza train`` by its name, such as ``{"pair_clip": 5.0}``.

    Attributes
    ----------
    words_ : list of str
        The words, in the order of the rows of `vectors_`.
    vectors_ : ndarray of shape (n_words, dimensions)
        Their vectors.

    Examples
    --------
    >>> from organza import WordVectors
    >>> lines = ["bread and butter", "salt and pepper", "bread and salt"] * 2000
    >>> vectors = WordVectors(epsilon=3.0, vocabulary=["bread", "butter", "salt", "pepper"]).fit(lines)
    >>> vectors.vectors_.shape
    (4, 100)
    >>> vectors.private_, vectors.certificate_["unit"]
    (True, 'line')
    """

    def __init__(
        self,
        epsilon: float = 3.0,
        delta: float = 1e-6,
        *,
        unit: str | None = None,
        method: str | None = None,
        dimensions: int | None = None,
        window: int | None = None,
        vocabulary: Words | None = "private",
        vocabulary_size: int | None = None,
        minimum_count: int | None = None,
        tokens: str | None = None,
        keep_case: bool = False,
        stop_words: Words | None = None,
        text_column: str | None = None,
        user_column: str | None = None,
        ledger: Any = None,
        random_state: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.unit = unit
        self.method = method
        self.dimensions = dimensions
        self.window = window
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
        self.minimum_count = minimum_count
        self.tokens = tokens
        self.keep_case = keep_case
        self.stop_words = stop_words
        self.text_column = text_column
        self.user_column = user_column
        self.ledger = ledger
        self.random_state = random_state
        self.folder = folder
        self.threads = threads
        self.progress = progress
        self.options = options

    def fit(self, X: Any, y: Any = None, *, units: Iterable[Any] | None = None) -> Self:
        """Learn vectors from text.

        Parameters
        ----------
        X : list of str, iterable of str, table, iterable of tables, or path
            Lines of text; or a table with a `text_column`; or a file or folder, as the tool reads it.
        y : None
            Not used.
        units : iterable, optional
            Whose each line is: all lines of one are protected as one.

        Returns
        -------
        self
        """
        self._fit(self._fitting(X, units), X)
        return self

    def _own(self) -> tuple[str, dict[str, Any]]:
        own = {"dimensions": self.dimensions, "window": self.window, "minimum_count": self.minimum_count}
        return "train", own

    def _load(self) -> None:
        self._model = WordModel(str(self._fitted().folder))
        self.words_ = self._model.words()
        self.vectors_ = self._model.vectors()

    def transform(self, X: Iterable[str]) -> NDArray[np.float32]:
        """Give the mean of the vectors of the words of each text.

        Parameters
        ----------
        X : iterable of str
            Texts.

        Returns
        -------
        ndarray of shape (n_texts, dimensions)
            Zero for a text without any known word. *Not private*: it is about the texts that are given.
        """
        self._fitted()
        if isinstance(X, (str, bytes)):
            raise DataError("give a list of texts, not one text")
        texts = list(X)
        if not all(isinstance(text, str) for text in texts):
            raise DataError("give texts: a list of str")
        return self._model.means(texts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Give the names of the columns of :meth:`transform`."""
        self._fitted()
        names = [f"wordvectors{number}" for number in range(self.vectors_.shape[1])]
        return np.asarray(names, dtype=object)

    def most_similar(self, word: str, topn: int = 10) -> list[tuple[str, float]]:
        """Give the words nearest to a word, with their cosines."""
        self._fitted()
        return self._model.nearest(word, topn)

    def analogy(self, a: str, b: str, c: str, topn: int = 10) -> list[tuple[str, float]]:
        """Give what is to `c` as `b` is to `a`."""
        self._fitted()
        return self._model.analogy(a, b, c, topn)

    def similarity(self, left: str, right: str) -> float:
        """Give the cosine of two words."""
        self._fitted()
        return self._model.cosine(left, right)

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        """Give the vector of a word."""
        self._fitted()
        try:
            vector: NDArray[np.float32] = self.vectors_[self.words_.index(word)]
        except ValueError:
            raise KeyError(word) from None
        return vector

    def __contains__(self, word: object) -> bool:
        return word in self.words_

    def to_keyed_vectors(self) -> Any:
        """Give the vectors as ``gensim.models.KeyedVectors``, which needs gensim."""
        from gensim.models import KeyedVectors

        self._fitted()
        keyed = KeyedVectors(self.vectors_.shape[1])
        keyed.add_vectors(self.words_, self.vectors_)
        return keyed
