"""Text, and which words of it count: what estimators of text have in common."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from organza import _data
from organza._estimator import Fitting, PrivateEstimator
from organza._organza import Data
from organza.exceptions import SettingsError

#: A public list of words, or where it is.
Words = str | os.PathLike[str] | Sequence[str]


class TextEstimator(PrivateEstimator):
    """An estimator of text."""

    unit: str | None
    method: str | None
    vocabulary: Words | None
    vocabulary_size: int | None
    tokens: str | None
    keep_case: bool
    stop_words: Words | None
    text_column: str | None
    user_column: str | None

    def _own(self) -> tuple[str, dict[str, Any]]:
        """Give the command, and the settings that only this estimator has."""
        raise NotImplementedError

    def _fitting(self, X: Any, units: Iterable[Any] | None = None) -> Fitting:
        data, where = _data.text(X, units, self.text_column, self.user_column)
        if units is not None and self.unit not in (None, "user"):
            raise SettingsError(f"`unit` is {self.unit}, but `units` says whose each line is")
        words, word_lists = words_of(self.vocabulary)
        stop, stop_lists = stop_words_of(self.stop_words)
        command, own = self._own()
        settings = {
            **where,
            **words,
            **stop,
            "unit": self.unit or _usual_unit(data, where),
            "method": self.method,
            "vocabulary_size": self.vocabulary_size,
            "tokens": self.tokens,
            "keep_case": self.keep_case,
            **own,
        }
        return Fitting(command, settings, data, {**word_lists, **stop_lists})

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.non_deterministic = self.random_state is None
        return tags


def _usual_unit(data: Data | None, where: dict[str, Any]) -> str | None:
    """Give what is protected as one: a user where one is named, and a line of what is handed over."""
    if where["user_column"] is not None:
        return "user"
    return None if data is None else "line"


def words_of(
    vocabulary: Words | None,
) -> tuple[dict[str, Any], dict[str, Iterable[str]]]:
    """Give the flags for a vocabulary, and the list of words if it is one.

    Examples
    --------
    >>> words_of("private")
    ({'vocabulary': 'private'}, {})
    >>> words_of(["tea", "cup"])
    ({}, {'vocabulary_file': ['tea', 'cup']})
    """
    if vocabulary is None:
        return {}, {}
    if isinstance(vocabulary, str) and vocabulary in ("private", "declared-public"):
        return {"vocabulary": vocabulary}, {}
    if isinstance(vocabulary, (str, os.PathLike)):
        return {"vocabulary_file": vocabulary}, {}
    return {}, {"vocabulary_file": list(vocabulary)}


def stop_words_of(
    stop_words: Words | None,
) -> tuple[dict[str, Any], dict[str, Iterable[str]]]:
    """Give the flags for words that are left out, and the list of them if it is one."""
    if stop_words is None:
        return {}, {}
    if stop_words == "english":
        return {"drop_stop_words": True}, {}
    if isinstance(stop_words, (str, os.PathLike)):
        return {"stop_words": stop_words}, {}
    return {}, {"stop_words": list(stop_words)}
