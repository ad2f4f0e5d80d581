"""What fits give, and that the same seed gives the same bits from the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from organza import LinearRegression, LogisticRegression, Recommender, Typeahead, WordVectors


def tool(*words: str) -> None:
    """Run the command line tool that comes with the package."""
    code = "import sys; from organza._tool import main; sys.argv[0] = 'organza'; main()"
    subprocess.run([sys.executable, "-c", code, *words], check=True, capture_output=True)


def files(one: Path, other: Path, *names: str) -> None:
    """Files of two runs are the same."""
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_words_promise_what_they_say(lines: list[str]) -> None:
    """Vectors, a certificate, a ledger."""
    model = WordVectors(epsilon=2.0, delta=1e-7).fit(lines)
    assert model.private_ and model.epsilon_ <= 2.0
    assert model.certificate_["delta"] == 1e-7
    assert model.certificate_["unit"] == "line"
    assert model.vectors_.shape == (len(model.words_), 100)
    assert "vocabulary" in {charge.purpose for charge in model.ledger_}
    assert "butter" in model and model["butter"].shape == (100,)
    assert len(model.most_similar("bread", topn=2)) == 2
    assert model.transform(["bread and", "nothing"]).shape == (2, 100)
    np.testing.assert_allclose(model.transform(["bread"])[0], model["bread"])
    with pytest.raises(KeyError):
        model["nothing"]


def test_units_are_protected_as_one(lines: list[str]) -> None:
    """Lines of one person are one unit."""
    units = [number % 500 for number in range(len(lines))]
    words = WordVectors().fit(lines, units=units)
    assert words.certificate_["unit"] == "user"
    typing = Typeahead(vocabulary=["bread", "and", "butter"], random_state=1)
    typing.fit(lines, units=units)
    assert typing.certificate_["unit"] == "user"


def test_a_seed_marks_everything(lines: list[str]) -> None:
    """What can be repeated is not private."""
    model = WordVectors(random_state=3).fit(lines)
    assert not model.private_
    assert "not private" in model._repr_html_().lower() or "no guarantee" in model._repr_html_()


def test_words_are_those_of_the_command_line(lines: list[str], tmp_path: Path) -> None:
    """The same lines, flags and seed give the same vectors, bit for bit."""
    text = tmp_path / "lines.txt"
    text.write_text("\n".join(lines) + "\n")
    tool("train", "--data", str(text), "--epsilon", "3", "--seed", "5", "--out", f"{tmp_path}/tool")
    by_path = WordVectors(random_state=5, folder=tmp_path / "path").fit(text)
    in_memory = WordVectors(random_state=5, folder=tmp_path / "memory").fit(lines)
    for folder in ("path", "memory"):
        files(tmp_path / "tool", tmp_path / folder, "vectors.txt", "vocabulary.txt", "vectors.bin")
    assert by_path.words_ == in_memory.words_
    np.testing.assert_array_equal(by_path.vectors_, in_memory.vectors_)


def test_completions_are_those_of_the_command_line(lines: list[str], tmp_path: Path) -> None:
    """The same for a typeahead."""
    table = tmp_path / "lines.tsv"
    table.write_text("who\ttext\n" + "".join(f"{n % 900}\t{it}\n" for n, it in enumerate(lines)))
    columns = ["--text-column", "text", "--user-column", "who", "--seed", "5", "--epsilon", "30"]
    tool("typeahead", "--data", str(table), *columns, "--out", f"{tmp_path}/tool")
    units = [number % 900 for number in range(len(lines))]
    model = Typeahead(30.0, random_state=5, folder=tmp_path / "memory").fit(lines, units=units)
    files(tmp_path / "tool", tmp_path / "memory", "model.arpa")
    assert model.complete("bread ", n=1)[0][0] in ("and", "with")
    assert model.predict(["bread and "])[0] == "butter"
    assert model.phrases("salt ", n=1, words=2)[0][0].endswith("pepper")
    assert model.score(["bread and butter"] * 9) > 0.3


def test_recommendations_are_those_of_the_command_line(
    histories: csr_matrix, tmp_path: Path
) -> None:
    """The same for a recommender: from a matrix, and from a table of events."""
    pairs = zip(*histories.nonzero(), strict=True)
    table = tmp_path / "events.csv"
    table.write_text("who,what\n" + "".join(f"{who},{what}\n" for who, what in pairs))
    (tmp_path / "items.txt").write_text("".join(f"{item}\n" for item in range(20)))
    tool(
        *("recommender", "--data", str(table), "--user-column", "who", "--item-column", "what"),
        *("--items", f"{tmp_path}/items.txt", "--seed", "5", "--epsilon", "10"),
        *("--out", f"{tmp_path}/tool"),
    )
    model = Recommender(10.0, random_state=5, folder=tmp_path / "memory").fit(histories)
    files(tmp_path / "tool", tmp_path / "memory", "items.txt")
    events = Recommender(
        10.0,
        random_state=5,
        user_column="who",
        item_column="what",
        items=range(20),
        folder=tmp_path / "path",
    ).fit(table)
    assert model.recommend([0], n=5) == events.recommend([0], n=5)
    np.testing.assert_array_equal(model.item_vectors_, events.item_vectors_)
    assert {item // 5 for item, _ in model.recommend([0, 1], n=2)} == {0}
    assert model.recommend_all(histories[:4], n=2).shape == (4, 2)
    assert {item // 5 for item, _ in model.similar_items(7, n=3)} == {1}
    assert model.because([0, 1], 2)[0][0] in (0, 1)
    assert model.score(histories) >= 0.0


def test_a_matrix_is_the_same_in_every_form(histories: csr_matrix) -> None:
    """Dense or sparse, of whatever type, with entries in any order."""
    usual = Recommender(random_state=2).fit(histories).recommend([3], n=4)
    shuffled = histories.copy()
    for row in range(shuffled.shape[0]):
        ends = slice(shuffled.indptr[row], shuffled.indptr[row + 1])
        shuffled.indices[ends] = shuffled.indices[ends][::-1]
    forms = [
        histories.toarray(),
        histories.tocoo(),
        histories.astype(np.int16),
        histories.astype(bool),
        shuffled,
    ]
    for form in forms:
        assert Recommender(random_state=2).fit(form).recommend([3], n=4) == usual


def test_linear_models_are_those_of_the_command_line(
    rows: tuple[NDArray[np.float64], NDArray[np.int64]], tmp_path: Path
) -> None:
    """The same for a linear model, from a libsvm file."""
    X, y = rows[0].astype(np.float32).astype(np.float64), rows[1]
    path = tmp_path / "rows.libsvm"
    path.write_text(
        "".join(
            f"{label} " + " ".join(f"{at + 1}:{value!r}" for at, value in enumerate(row)) + "\n"
            for label, row in zip(y.tolist(), X.tolist(), strict=True)
        )
    )
    flags = ("--features", "3", "--epsilon", "1", "--seed", "5", "--bound", "2")
    tool("linear", "--data", str(path), *flags, "--out", f"{tmp_path}/tool")
    model = LogisticRegression(random_state=5, bound=2.0, folder=tmp_path / "memory").fit(X, y)
    files(tmp_path / "tool", tmp_path / "memory", "coefficients.csv")
    assert model.score(X, y) > 0.9
    sparse = LogisticRegression(random_state=5, bound=2.0).fit(csr_matrix(X), y)
    np.testing.assert_array_equal(sparse.coef_, model.coef_)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    # The tool goes on with what Python has saved.
    model.save(tmp_path / "saved")
    tool("predict", f"{tmp_path}/saved", "--data", str(path), "--out", f"{tmp_path}/said.csv")
    said = [float(line.split(",")[-1]) for line in (tmp_path / "said.csv").read_text().splitlines()[1:]]
    np.testing.assert_allclose(said, model.predict_proba(X)[:, 1])


def test_columns_of_a_table(tmp_path: Path) -> None:
    """Columns by name, with ranges and categories, from a file and from a frame."""
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(1)
    frame = pandas.DataFrame(
        {
            "age": random.integers(18, 80, 4000),
            "town": random.choice(["north", "south"], 4000),
        }
    )
    frame["rich"] = ((frame["age"] > 45) | (frame["town"] == "south")).map({True: "yes", False: "no"})
    frame.to_csv(tmp_path / "people.csv", index=False)
    columns = {"age": (18.0, 80.0)}
    model = LogisticRegression(
        epsilon=3.0,
        numeric=columns,
        categorical=["town"],
        label_column="rich",
        random_state=4,
        options={"buckets": 16},
    ).fit(frame)
    by_file = LogisticRegression(**model.get_params()).fit(tmp_path / "people.csv")
    np.testing.assert_array_equal(model.coef_, by_file.coef_)
    assert (model.predict(frame) == (frame["rich"] == "yes")).mean() > 0.8


def test_more_than_two_classes(rows: tuple[NDArray[np.float64], NDArray[np.int64]]) -> None:
    """Classes by their own names."""
    X = rows[0]
    y = np.array(["a", "b", "c"])[np.argmax(X, axis=1)]
    model = LogisticRegression(epsilon=8.0, classes=["a", "b", "c"], random_state=1).fit(X, y)
    assert model.coef_.shape == (3, 3)
    assert model.score(X, y) > 0.6
    assert model.predict_proba(X).shape == (3000, 3)


def test_least_squares() -> None:
    """Labels of a declared size."""
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20000, 2))
    y = 1000 * X[:, 0] - 500 * X[:, 1] + 40
    model = LinearRegression(epsilon=3.0, label_bound=1000.0).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.private_
