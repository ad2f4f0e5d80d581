"""Pickles, copies, threads, interruptions, warnings, reports."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

import organza
from organza import (
    LogisticRegression,
    PrivacyWarning,
    Recommender,
    RunError,
    SettingsError,
    Typeahead,
    WordVectors,
    _progress,
    audit,
    plots,
)

SECRET = "a zephyrean sentence that nobody else has written"


def models(lines: list[str], histories: csr_matrix, rows: Any) -> list[Any]:
    """One of each."""
    return [
        WordVectors().fit([*lines, SECRET]),
        Typeahead().fit([*lines, SECRET]),
        Recommender().fit(histories),
        LogisticRegression().fit(*rows),
    ]


def answers(model: Any) -> Any:
    """What a model says."""
    if isinstance(model, WordVectors):
        return model.vectors_.tolist()
    if isinstance(model, Typeahead):
        return model.complete("bread ", n=3)
    if isinstance(model, Recommender):
        return model.recommend([1], n=3)
    return model.coef_.tolist()


@pytest.mark.filterwarnings("ignore::organza.PrivacyWarning")
def test_pickles_hold_what_was_released(
    lines: list[str],
    histories: csr_matrix,
    rows: tuple[NDArray[np.float64], NDArray[np.int64]],
    tmp_path: Path,
) -> None:
    """A model comes back, with its promise; neither data nor keys nor what is not private go along."""
    for model in models(lines, histories, rows):
        packed = pickle.dumps(model)
        assert b"zephyrean" not in packed
        kept = set(model._run.__getstate__()["files"])
        assert "certificate.json" in kept
        assert not kept & {"state.json", "summary.json", "metrics.jsonl", "report.html"}
        again = pickle.loads(packed)
        joblib.dump(model, tmp_path / "model.joblib")
        for other in (again, joblib.load(tmp_path / "model.joblib"), copy.deepcopy(model)):
            assert answers(other) == answers(model)
            assert other.certificate_ == model.certificate_
            assert other.summary_ == {}
        assert again.notes_ == []
        assert "html" in again.report(tmp_path / "page.html").read_text()[:100]


@pytest.mark.filterwarnings("ignore::organza.PrivacyWarning")
def test_the_key_is_not_kept(lines: list[str], tmp_path: Path) -> None:
    """Neither in a folder that goes away nor in one that stays."""
    in_memory = WordVectors().fit(lines)
    kept = WordVectors(folder=tmp_path / "run").fit(lines)
    for model in (in_memory, kept):
        assert not list(model._run.folder.glob("private/*"))
    with pytest.raises(SettingsError, match="name another `folder`"):
        WordVectors(folder=tmp_path / "run").fit(lines)
    place = in_memory._run.folder
    del in_memory, model
    assert not place.exists()


def test_a_second_fit_warns(lines: list[str], histories: csr_matrix) -> None:
    """Unless it is of other data, has a seed, or shares a ledger."""
    WordVectors(epsilon=1.0).fit(lines)
    with pytest.warns(PrivacyWarning, match="epsilon 3 together"):
        Typeahead(epsilon=2.0).fit(lines[: len(lines) // 2])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="this data")
        warnings.filterwarnings("ignore", message="this fit is NOT private")
        WordVectors(random_state=1).fit(lines)
        WordVectors(method="none").fit(lines)
        Recommender().fit(histories)
    table = pytest.importorskip("pandas").DataFrame({"text": lines})
    model = WordVectors(text_column="text").fit(table)
    with pytest.warns(PrivacyWarning, match="fitted before"):
        model.fit(table)


def test_threads_change_nothing(lines: list[str]) -> None:
    """The result is the same with any number of threads."""
    one = WordVectors(random_state=1, threads=1).fit(lines)
    two = WordVectors(random_state=1, threads=2).fit(lines)
    np.testing.assert_array_equal(one.vectors_, two.vectors_)


def test_the_lock_of_python_is_free_while_it_works(histories: csr_matrix) -> None:
    """Another thread of Python goes on, and several fits go on at once."""
    ticks: list[float] = []

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    done = threading.Event()
    other = threading.Thread(target=tick)
    other.start()
    fits = [
        threading.Thread(
            target=Recommender(random_state=seed, method="dpsgd").fit, args=[histories]
        )
        for seed in range(2)
    ]
    for fit in fits:
        fit.start()
    for fit in fits:
        fit.join()
    done.set()
    other.join()
    assert len(ticks) > 20 and max(np.diff(ticks)) < 1.0


STEPS = 3_000
INTERRUPTED = """
import os, signal, sys, threading, time
from organza import WordVectors
# Whoever is started in the background has no Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)
folder, steps, stops = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "stops"
lines = [f"word{n % 50} word{n % 7} word{n % 11}" for n in range(4000)]
words = WordVectors(method="dpsgd", vocabulary="declared-public", random_state=3, folder=folder,
                    options={"steps": steps, "batch": 200})
def stop():
    while not os.path.exists(os.path.join(folder, "metrics.jsonl")):
        time.sleep(0.02)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGINT)
if stops:
    threading.Thread(target=stop, daemon=True).start()
try:
    words.fit(lines)
except KeyboardInterrupt:
    sys.exit(5)
"""


def test_ctrl_c_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    """A run that was stopped goes on when it is fitted again, and ends with the very same vectors."""

    def fit(folder: str, stops: bool) -> int:
        words = [str(tmp_path / folder), str(STEPS), "stops" if stops else "goes on"]
        ended = subprocess.run(
            [sys.executable, "-c", INTERRUPTED, *words], capture_output=True, text=True, check=False
        )
        assert ended.returncode in (0, 5), ended.stderr
        return ended.returncode

    assert fit("run", stops=True) == 5
    assert not (tmp_path / "run" / "certificate.json").exists()
    assert (tmp_path / "run" / "private" / "state.json").exists()
    assert fit("run", stops=False) == 0
    assert not (tmp_path / "run" / "private").exists()
    assert fit("unbroken", stops=False) == 0
    vectors = [(tmp_path / it / "vectors.bin").read_bytes() for it in ("run", "unbroken")]
    assert vectors[0] == vectors[1]


def test_a_stage_without_polls_is_stopped_too(tmp_path: Path) -> None:
    """Reading an endless text stops at the next batch of lines."""

    def endless() -> Any:
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            yield "bread and butter and salt"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            WordVectors().fit(endless())
    finally:
        signal.signal(signal.SIGINT, before)


def test_progress_is_told_to_whoever_asks(
    lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A bar of tqdm, or nothing."""
    pytest.importorskip("tqdm")
    bar = _progress.Bar()
    bar("reading", None, None)
    bar("training", 0.5, (10, "steps"))
    bar.close()
    assert "training" in capsys.readouterr().err
    assert _progress.chosen(False) == (None, ["--progress=none"])
    WordVectors(progress=False, random_state=1).fit(lines)
    assert capsys.readouterr().err == ""


def test_reports_and_cards(lines: list[str], tmp_path: Path) -> None:
    """The page of a fit, and its head for a notebook, which shows nothing that is not private."""
    model = WordVectors(epsilon=3.0).fit(lines)
    page = model.report(tmp_path)
    assert page == tmp_path / "report.html" and "Organza" in page.read_text()
    card = model._repr_html_()
    assert "differential privacy" in card and "not private" not in card
    assert "organza-card" in model._repr_mimebundle_()["text/html"]
    assert "<pre>" in WordVectors()._repr_html_()
    copied = model.save(tmp_path / "saved")
    assert (copied / "certificate.json").exists()


def test_what_is_not_fitted_says_so() -> None:
    """As estimators of scikit-learn do."""
    from sklearn.exceptions import NotFittedError

    for model in (WordVectors(), Recommender(), Typeahead(), LogisticRegression()):
        with pytest.raises(NotFittedError):
            model.certificate_  # noqa: B018


def test_what_is_not_private_warns(lines: list[str]) -> None:
    """A seed is a reflex of many, and takes the promise away."""
    with pytest.warns(PrivacyWarning, match="NOT private: a seed"):
        WordVectors(random_state=1).fit(lines)
    with pytest.warns(PrivacyWarning, match="NOT private: its method"):
        WordVectors(method="none").fit(lines)


FORKED = """
import os, sys
from organza import WordVectors
from organza.ledger import Budget
from organza.mechanisms import count
lines = ["bread and butter", "salt and pepper"] * 500
model = WordVectors(vocabulary=["bread", "salt"]).fit(lines)
budget = Budget(1.0, 1e-6, unit="line")
child = os.fork()
if child == 0:
    del model
    try:
        count(10, epsilon=1.0, budget=budget)
    except Exception as refused:
        os._exit(7 if "another process" in str(refused) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert model.certificate_["private"]
print(count(10, epsilon=1.0, budget=budget))
"""


def test_a_forked_process_takes_nothing_away() -> None:
    """Neither the folder of a fit nor a budget in memory."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKED],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_lists_of_a_run_that_goes_on_stand_beside_it(lines: list[str], tmp_path: Path) -> None:
    """The same words are the same settings, each time."""
    model = WordVectors(vocabulary=["bread", "salt"], folder=tmp_path / "run").fit(lines)
    assert (tmp_path / "run.vocabulary_file.txt").read_text() == "bread\nsalt\n"
    assert sorted(model.words_) == ["bread", "salt"]


def test_an_interruption_that_comes_too_late_is_not_lost(
    histories: csr_matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is there, and what comes after the fit is not."""
    from organza import _organza

    def late(*words: Any, **more: Any) -> Any:
        notes, result, _ = run(*words, **more)
        return notes, result, True

    run = _organza.run
    monkeypatch.setattr(_organza, "run", late)
    model = Recommender()
    with pytest.raises(KeyboardInterrupt):
        model.fit(histories)
    assert model.private_


def test_without_privacy_there_is_no_promise(lines: list[str], histories: csr_matrix) -> None:
    """Which has to be asked for by name."""
    for model in (
        WordVectors(method="none").fit(lines),
        Recommender(method="ease").fit(histories),
        Typeahead(method="none").fit(lines),
    ):
        assert not model.private_ and model.epsilon_ == float("inf")


@pytest.mark.filterwarnings("ignore::organza.PrivacyWarning")
def test_an_audit_of_canaries(lines: list[str]) -> None:
    """A lower bound that is below the promise."""
    words = ["bread", "butter", "salt", *(f"rare{number}" for number in range(40))]
    planted = {"canaries": 10, "canary_repeats": 3, "tossed_canaries": 100}
    model = Typeahead(epsilon=1.0, vocabulary=words, options=planted).fit(lines)
    found = audit.audit(model)
    assert found["lower_bound"]["epsilon"] <= 1.0
    with pytest.raises(RunError):
        audit.audit(Typeahead().fit(lines))


@pytest.mark.filterwarnings("ignore::organza.PrivacyWarning")
def test_pictures(lines: list[str], histories: csr_matrix) -> None:
    """Axes of matplotlib."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    words = WordVectors().fit(lines)
    recommender = Recommender(epsilon=8.0).fit(histories)
    assert len(plots.budget(words).patches) >= 2
    assert len(plots.map_of(words, n=4).texts) == 4
    assert len(plots.map_of(recommender, n=5).texts) == 5
    assert plots.spectrum(recommender).get_ylabel() == "eigenvalue"
    steps = WordVectors(method="dpsgd", options={"epochs": 2}, random_state=1).fit(lines)
    assert "not private" in plots.learning_curve(steps).get_ylabel()
    with pytest.raises(RunError):
        plots.spectrum(Recommender(method="popularity", random_state=1).fit(histories))
    matplotlib.pyplot.close("all")


def test_the_package_imports_quickly_and_without_others() -> None:
    """Only numpy is needed, and nothing else is loaded before an estimator is used."""
    code = (
        "import sys, organza\n"
        "assert not {'sklearn', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.modules['sklearn'] = sys.modules['sklearn.base'] = sys.modules['scipy'] = None\n"
        "import numpy\n"
        "m = organza.LogisticRegression(epsilon=1.0, classes=[0, 1], random_state=1)\n"
        "X = numpy.random.default_rng(0).normal(size=(2000, 2)); y = (X[:, 0] > 0).astype(int)\n"
        "assert m.fit(X, y).score(X, y) > 0.8, m.score(X, y)\n"
        "assert m.get_params()['classes'] == [0, 1] and 'epsilon' in dir(m)\n"
        "print(repr(m.set_params(epsilon=2.0)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "LogisticRegression(epsilon=2.0" in done.stdout
    assert set(organza.__all__) <= set(dir(organza))
