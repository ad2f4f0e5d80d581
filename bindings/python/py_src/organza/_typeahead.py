"""Completions of what people write."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from organza._organza import TypeaheadModel
from organza._text import TextEstimator, Words

if TYPE_CHECKING:
    from typing_extensions import Self


class Typeahead(TextEstimator):
    """Completes what people write, without keeping what anyone wrote.

    Parameters
    ----------
    epsilon : float, default=3.0
        The budget: noise is calibrated to spend it.
    delta : float, default=1e-6
        The probability that the promise fails; well below one over the number of writers.
    unit : {"user", "document", "line"}, optional
        What is protected as one. By default everything of a user, where `units` or `user_column` say whose a
        text is, and a line otherwise.
    method : {"ngrams", "unigrams", "dpsgd", "none"}, optional
        How it is made; all but the first are there to compare with, and the last is *not private*.
    order : int, optional
        The longest n-grams; 3 by default.
    vocabulary : "private", "declared-public", path or list of str, default="private"
        Release the words with a charge, count them without protection and declare them public, or take those of
        a public list or file.
    vocabulary_size : int, optional
        Keep so many of the most frequent words.
    tokens : str, optional
        What a word is: "unicode" (the default), "ascii", "whitespace", or a regular expression.
    keep_case : bool, default=False
        Keep capitals.
    stop_words : "english", path or list of str, optional
        Words that are left out.
    text_column, user_column : str, optional
        The columns of a table or file that hold the text, and whose it is.
    ledger, random_state, folder, threads, progress
        As in :class:`WordVectors`.
    options : dict, optional
        Any other flag of ``organza typeahead`` by its name, such as ``{"test_share": 0.0}``.

    Attributes
    ----------
    words_ : list of str
        The words that can be offered.

    Examples
    --------
    >>> from organza import Typeahead
    >>> lines = ["see you tomorrow", "see you soon", "thank you very much"] * 2000
    >>> words = ["see", "you", "tomorrow", "soon", "thank", "very", "much"]
    >>> typeahead = Typeahead(epsilon=3.0, vocabulary=words).fit(lines)
    >>> [word for word, _ in typeahead.complete("thank ", n=1)]
    ['you']
    """

    def __init__(
        self,
        epsilon: float = 3.0,
        delta: float = 1e-6,
        *,
        unit: str | None = None,
        method: str | None = None,
        order: int | None = None,
        vocabulary: Words | None = "private",
        vocabulary_size: int | None = None,
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
        self.order = order
        self.vocabulary = vocabulary
        self.vocabulary_size = vocabulary_size
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
        """Learn what follows what.

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
        return "typeahead", {"order": self.order}

    def _load(self) -> None:
        self._model = TypeaheadModel(str(self._fitted().folder))
        self.words_ = self._model.words()

    def complete(self, text: str, n: int = 3) -> list[tuple[str, float]]:
        """Give the likeliest words for what was typed: the one that is begun, or the next after a space.

        Parameters
        ----------
        text : str
            What was typed. It is not protected by anything.
        n : int, default=3
            How many words.

        Returns
        -------
        list of (str, float)
            Words with their probabilities.
        """
        self._fitted()
        return self._model.complete(text, n)

    def phrases(self, text: str, n: int = 3, words: int = 3) -> list[tuple[str, float]]:
        """Give whole continuations of at most `words` words, with their probabilities."""
        self._fitted()
        return self._model.phrases(text, n, words)

    def predict(self, X: Iterable[str]) -> NDArray[np.object_]:
        """Give the likeliest word for each text; an empty one where there is none."""
        self._fitted()
        best = [self._model.complete(text, 1) for text in X]
        return np.asarray([found[0][0] if found else "" for found in best], dtype=object)

    def score(self, X: Iterable[str], y: Any = None) -> float:
        """Give the share of words that are offered first, letter for letter, after what stands before them.

        *Not private*: it is about the texts that are given.
        """
        self._fitted()
        right = words = 0
        for line in X:
            seen = ""
            for word in line.split():
                found = self._model.complete(seen, 1)
                right += bool(found) and found[0][0] == word.lower()
                words += 1
                seen += word + " "
        return right / max(words, 1)
