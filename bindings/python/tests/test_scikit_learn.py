"""The conventions of scikit-learn, by its own checks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from organza import (
    LinearRegression,
    LogisticRegression,
    PoissonRegression,
    PrivacyWarning,
    Recommender,
    Typeahead,
    WordVectors,
)

_EMPTY = {
    "check_estimators_empty_data_messages": "that there is nobody in the data is private: such a fit ends as any other"
}
EXPECTED: dict[str, dict[str, str]] = {
    "LinearRegression": _EMPTY,
    "PoissonRegression": _EMPTY,
    "Recommender": _EMPTY,
}


def expected_failures(estimator: Any) -> dict[str, str]:
    """Give the checks that cannot hold, each with its reason."""
    return EXPECTED.get(type(estimator).__name__, {})


with warnings.catch_warnings():
    # Of estimators of text only the conventions can be checked: no check has text.
    warnings.simplefilter("ignore", SkipTestWarning)
    ALL = parametrize_with_checks(
        [
            LogisticRegression(),
            LinearRegression(),
            PoissonRegression(),
            Recommender(),
            WordVectors(),
            Typeahead(),
        ],
        expected_failed_checks=expected_failures,
    )


@pytest.mark.filterwarnings("ignore::organza.PrivacyWarning")
@ALL  # type: ignore[untyped-decorator]
def test_check_estimator(estimator: Any, check: Any) -> None:
    """All checks of scikit-learn."""
    check(estimator)


def test_clone_has_the_parameters_and_nothing_else(lines: list[str]) -> None:
    """A clone is as its estimator was before the fit."""
    model = WordVectors(epsilon=2.0, random_state=1).fit(lines)
    again: Any = clone(model)
    assert again.get_params() == model.get_params()
    assert not hasattr(again, "vectors_")


def test_a_pipeline_of_text_and_a_linear_model(lines: list[str]) -> None:
    """Estimators of both kinds go together with those of others."""
    y = [int("butter" in line) for line in lines]
    counted = make_pipeline(CountVectorizer(), LogisticRegression(epsilon=3.0, random_state=1))
    assert counted.fit(lines, y).score(lines, y) > 0.95
    vectors = WordVectors(epsilon=8.0, vocabulary_size=8, random_state=1)
    embedded = make_pipeline(vectors, LogisticRegression(epsilon=8.0, bound=3.0, random_state=1))
    assert embedded.fit(lines, y).score(lines, y) > 0.95


def test_a_search_warns_of_every_fit_after_the_first(
    rows: tuple[NDArray[np.float64], NDArray[np.int64]],
) -> None:
    """Tuning on private data costs what all fits cost."""
    search = GridSearchCV(LogisticRegression(), {"l2": [1e-3, 1e-2]}, cv=3)
    with pytest.warns(PrivacyWarning, match="together") as said:
        search.fit(*rows)
    # Six fits and the last one on everything: all but the first see rows that were seen before.
    assert len([it for it in said if issubclass(it.category, PrivacyWarning)]) == 6


def test_units_are_routed(rows: tuple[NDArray[np.float64], NDArray[np.int64]]) -> None:
    """`units` reaches the fit of every fold."""
    X, y = rows
    units = np.arange(len(y)) // 2
    with config_context(enable_metadata_routing=True):
        model: Any = LogisticRegression(epsilon=8.0, random_state=1)
        model.set_fit_request(units=True)
        scores = cross_val_score(model, X, y, params={"units": units}, cv=2)
        assert scores.min() > 0.6
    fitted = LogisticRegression(epsilon=8.0, random_state=1).fit(X, y, units=units)
    assert fitted.certificate_["unit"] == "group"


def test_a_recommender_is_searched(histories: csr_matrix) -> None:
    """A recommender has a score of its own."""
    search = GridSearchCV(
        Recommender(random_state=1), {"method": ["spectrum", "popularity"]}, cv=2
    ).fit(histories)
    assert search.best_params_ == {"method": "spectrum"}
