"""Data in every form, and data that cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from organza import (
    BudgetError,
    DataError,
    LogisticRegression,
    Recommender,
    SettingsError,
    Typeahead,
    WordVectors,
)
from organza._organza import dense_rows
from organza._organza import histories as lent

WORDS = ["bread", "butter", "salt", "pepper"]


def frames() -> list[tuple[str, Callable[[dict[str, list[Any]]], Any]]]:
    """Ways to hold a table."""

    def arrow(table: dict[str, list[Any]]) -> Any:
        return pytest.importorskip("pyarrow").table(table)

    def pandas(table: dict[str, list[Any]]) -> Any:
        return pytest.importorskip("pandas").DataFrame(table)

    def polars(table: dict[str, list[Any]]) -> Any:
        return pytest.importorskip("polars").DataFrame(table)

    def duckdb(table: dict[str, list[Any]]) -> Any:
        module = pytest.importorskip("duckdb")
        frame = arrow(table)
        return module.from_arrow(frame)

    def parts(table: dict[str, list[Any]]) -> Any:
        whole = arrow(table)
        return (whole.slice(start, 700) for start in range(0, whole.num_rows, 700))

    return [(it.__name__, it) for it in (arrow, pandas, polars, duckdb, parts)]


@pytest.mark.parametrize(("name", "make"), frames())
def test_tables_of_every_library(
    name: str, make: Callable[[dict[str, list[Any]]], Any], lines: list[str]
) -> None:
    """The same table from every library gives the same bits."""
    who = [number % 700 for number in range(len(lines))]
    usual = WordVectors(vocabulary=WORDS, random_state=1).fit(lines, units=who)
    table = make({"who": who, "text": lines, "more": [1.5] * len(lines)})
    model = WordVectors(
        vocabulary=WORDS, random_state=1, text_column="text", user_column="who"
    ).fit(table)
    np.testing.assert_array_equal(model.vectors_, usual.vectors_)


@pytest.mark.parametrize(("name", "make"), frames())
def test_events_of_every_library(
    name: str, make: Callable[[dict[str, list[Any]]], Any], histories: csr_matrix
) -> None:
    """The same for events."""
    who, what = (numbers.tolist() for numbers in histories.nonzero())
    table = make({"who": who, "what": what})
    settings: dict[str, Any] = {"items": range(20), "random_state": 1}
    model = Recommender(user_column="who", item_column="what", **settings).fit(table)
    usual = Recommender(**settings).fit(histories)
    assert model.recommend([1], n=3) == usual.recommend([1], n=3)


def test_columns_alone_are_lines(lines: list[str]) -> None:
    """A column of a frame is iterated; a line of nobody is left out where others are somebody's."""
    usual = WordVectors(random_state=1).fit(lines)
    for column in (
        pytest.importorskip("pandas").Series(lines),
        pytest.importorskip("polars").Series(lines),
        np.array(lines, dtype=object),
    ):
        model = WordVectors(random_state=1).fit(column)
        np.testing.assert_array_equal(model.vectors_, usual.vectors_)
    who: list[Any] = [number % 700 for number in range(len(lines))]
    usual = WordVectors(random_state=1).fit(lines, units=who)
    more = WordVectors(random_state=1).fit([*lines, "no", "body"], units=[*who, None, np.nan])
    np.testing.assert_array_equal(more.vectors_, usual.vectors_)


def test_arrays_that_stand_askew() -> None:
    """Numbers are read where they are only where such numbers may stand."""
    buffer = np.zeros(8 * 600 + 1, dtype=np.uint8)
    askew = np.frombuffer(buffer, dtype=np.float64, offset=1).reshape(200, 3)
    y = np.arange(200) % 2
    with pytest.raises(DataError, match="contiguous"):
        dense_rows(askew, None, None)
    LogisticRegression(random_state=1).fit(askew, y)
    strided = np.zeros((200, 6))[:, ::2]
    LogisticRegression(random_state=1).fit(strided, y)
    truths = np.full((30, 2), 2, dtype=np.uint8).view(bool)
    Recommender(random_state=1).fit(truths)


def test_lines_may_come_from_a_generator(lines: list[str]) -> None:
    """Text that does not fit into memory is read once, as it comes."""
    usual = WordVectors(random_state=1).fit(lines)
    model = WordVectors(random_state=1).fit(line for line in lines)
    np.testing.assert_array_equal(model.vectors_, usual.vectors_)


class Broken(Exception):
    """What a generator raises."""


def broken() -> Iterator[str]:
    """Give a few lines, and break."""
    yield from ["bread and butter"] * 5000
    raise Broken("the database has gone")


@pytest.mark.parametrize(
    ("fit", "error"),
    [
        (lambda: WordVectors().fit(broken()), Broken),
        (lambda: WordVectors().fit([1, 2, 3]), DataError),
        (lambda: WordVectors().fit(5), DataError),
        (lambda: WordVectors().fit(["a b"] * 9, units=[1, 2]), DataError),
        (lambda: WordVectors().fit(["a b"], units=[1, 2, 3]), DataError),
        (lambda: WordVectors().fit("no/such/file.txt"), DataError),
        (lambda: WordVectors(epsilon=-1.0).fit(["a b"]), SettingsError),
        (lambda: WordVectors(epsilon=float("nan")).fit(["a b"]), SettingsError),
        (lambda: WordVectors(epsilon="much").fit(["a b"]), SettingsError),  # type: ignore[arg-type]
        (lambda: WordVectors(method="magic").fit(["a b"]), SettingsError),
        (lambda: WordVectors(options={"no_such_flag": 1}).fit(["a b"]), SettingsError),
        (lambda: WordVectors(text_column="text").fit(["a b"]), DataError),
        (lambda: WordVectors(vocabulary=["two\nlines"]).fit(["a b"]), SettingsError),
        (lambda: Typeahead(delta=2.0).fit(["a b"]), SettingsError),
        (lambda: Recommender().fit([[1, "a"]]), DataError),
        (lambda: Recommender().fit(np.array([["a"]])), DataError),
        (lambda: Recommender().fit(np.array([[np.nan, 1.0]])), DataError),
        (lambda: Recommender().fit(np.array([[-1.0, 1.0]])), DataError),
        (lambda: Recommender().fit(np.array([1.0, 2.0])), DataError),
        (lambda: Recommender().fit(np.array([[object()]])), (TypeError, ValueError)),
        (lambda: Recommender(items=["one"]).fit(np.eye(3)), SettingsError),
        (lambda: Recommender(full_weight=0.0).fit(np.eye(3)), SettingsError),
        (lambda: LogisticRegression().fit(np.eye(3), [0, 1]), DataError),
        (lambda: LogisticRegression().fit([[np.nan], [1.0]], [0, 1]), DataError),
        (lambda: LogisticRegression(classes=[0, 1]).fit([[0.0], [1.0]], [0, 2]), DataError),
        (lambda: LogisticRegression().fit([[0.0], [1.0]], [0, 1], units=[1]), DataError),
        (lambda: LogisticRegression().fit([[0.0], [1.0]], [0, 1], units=[1, None]), DataError),
        (lambda: LogisticRegression(user_column="who").fit([[0.0], [1.0]], [0, 1]), SettingsError),
        (lambda: LogisticRegression(classes=[0, 1, 1]).fit([[0.0], [1.0]], [0, 1]), SettingsError),
        (lambda: LogisticRegression(label_column="y").fit([[0.0]], [0]), DataError),
        (lambda: LogisticRegression(options={"test": "x"}).fit(np.eye(2), [0, 1]), SettingsError),
        (lambda: WordVectors(unit="line").fit(["a b"] * 9, units=range(9)), SettingsError),
        (lambda: WordVectors(epsilon=None).fit(["a b"]), SettingsError),  # type: ignore[arg-type]
        (lambda: WordVectors().fit([None, "a b"]), DataError),
        (lambda: Recommender(items=["a\nb", "c"]).fit(np.eye(2)), SettingsError),
    ],
)
def test_bad_input_is_refused(
    fit: Callable[[], Any], error: type[Exception] | tuple[type[Exception], ...]
) -> None:
    """The right exception."""
    with pytest.raises(error):
        fit()


def test_a_table_without_its_columns(lines: list[str]) -> None:
    """The columns that there are are named."""
    table = pytest.importorskip("pyarrow").table({"who": [1], "say": ["a b"]})
    with pytest.raises(DataError, match="there is no column `text`, but who, say"):
        WordVectors(text_column="text").fit(table)
    with pytest.raises(DataError, match="text_column"):
        WordVectors().fit(table)
    with pytest.raises(SettingsError, match="user_column"):
        Recommender().fit(table)


def test_an_empty_frame_is_data_like_any_other() -> None:
    """That there is nothing is not told: what would be spent is spent."""
    table = pytest.importorskip("pandas").DataFrame({"text": []}, dtype=str)
    model = WordVectors(text_column="text", vocabulary=WORDS).fit(table)
    assert model.private_ and model.epsilon_ > 0
    nobody = Recommender().fit(np.zeros((0, 5)))
    assert nobody.private_


def test_settings_are_named_as_in_python() -> None:
    """A message names what the user wrote, not a flag."""
    with pytest.raises(SettingsError, match="`epsilon`") as said:
        WordVectors(epsilon=-1.0).fit(["a b"])
    assert "--" not in str(said.value)


@pytest.mark.parametrize(
    ("indptr", "indices"), [([0, 2], [0, 9]), ([0, 3], [0, 1]), ([1, 2], [0, 1]), ([0, 2], [0, -1])]
)
def test_a_matrix_whose_parts_do_not_fit(indptr: list[int], indices: list[int]) -> None:
    """Places beyond the end are never read."""
    with pytest.raises(DataError, match="do not fit"):
        lent(np.array(indptr), np.array(indices), np.ones(2), ["a", "b"], None)


def test_nothing_is_charged_for_what_is_refused(tmp_path: Path, lines: list[str]) -> None:
    """A ledger stays as it is if data or settings are refused, or the budget does not allow for the fit."""
    ledger = pytest.importorskip("organza.ledger")
    shared = ledger.Ledger.create(
        tmp_path / "lines.ledger", name="lines", epsilon=4.0, delta=1e-5, unit="line"
    )
    before = (tmp_path / "lines.ledger").read_bytes()
    refused: list[tuple[dict[str, Any], Any, Any]] = [
        ({}, broken(), None),
        ({}, [1], None),
        ({"epsilon": -1.0}, lines, None),
        ({}, lines, [1]),
    ]
    for settings, data, units in refused:
        with pytest.raises((Broken, DataError, SettingsError)):
            WordVectors(ledger=shared, **settings).fit(data, units=units)
    with pytest.raises(BudgetError):
        WordVectors(ledger=shared, epsilon=5.0).fit(lines)
    with pytest.raises(SettingsError, match="each line"):
        WordVectors(ledger=shared).fit(lines, units=list(range(len(lines))))
    assert (tmp_path / "lines.ledger").read_bytes() == before
    WordVectors(ledger=shared, epsilon=3.0).fit(lines)
    assert (tmp_path / "lines.ledger").read_bytes() != before
    unread = iter(lines)
    with pytest.raises(BudgetError):
        WordVectors(ledger=shared, epsilon=2.0).fit(unread)
