"""Budgets in memory and on the ledger of a data set, and the ledgers of runs."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from pathlib import Path
from typing import Any

import pytest

from organza import accounting
from organza.exceptions import BudgetError, DataError, SettingsError
from organza.ledger import Amount, Budget, Ledger, Share, read

RUN = Path(__file__).parent / "data" / "run"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "reviews.ledger", "reviews", epsilon=1.0, delta=1e-5)


@pytest.fixture(params=["budget", "ledger"])
def budget(request: pytest.FixtureRequest, ledger: Ledger) -> Budget | Ledger:
    return ledger if request.param == "ledger" else Budget(1.0, 1e-5)


def test_charges_add_up_and_one_too_many_is_refused(budget: Budget | Ledger) -> None:
    assert budget.total == Amount(0.0, 0.0) and budget.left == Amount(1.0, 1e-5)
    # Ten tenths fit, as people add them, and an eleventh does not.
    for number in range(10):
        budget.charge(0.1, 1e-6, purpose=f"part {number}")
    assert budget.left == Amount(0.0, 0.0)
    shares = budget.shares()
    assert [share.purpose for share in shares] == [f"part {number}" for number in range(10)]
    assert {(share.epsilon, share.delta) for share in shares} == {(0.1, 1e-6)}
    for more in [(1e-9, 0.0), (0.0, 1e-12)]:
        with pytest.raises(BudgetError, match="is too small"):
            budget.charge(*more, purpose="more")
    assert budget.shares() == shares


def test_the_refusal_says_what_is_left(budget: Budget | Ledger) -> None:
    budget.charge(0.3, purpose="first")
    with pytest.raises(BudgetError, match=r"too small.*0\.8.*only 0\.7 and 1e-5 are left"):
        budget.charge(0.8, purpose="second")
    with pytest.raises(BudgetError, match="too small"):
        budget.charge(0.1, 2e-5, purpose="third")
    assert budget.total == Amount(0.3, 0.0)


@pytest.mark.parametrize(
    ("epsilon", "delta", "purpose"),
    [
        (-0.1, 0.0, "x"),
        (math.nan, 0.0, "x"),
        (math.inf, 0.0, "x"),
        (0.1, -1e-9, "x"),
        (0.1, math.nan, "x"),
        (0.1, 1.0, "x"),
        (0.1, 0.0, ""),
        (0.1, 0.0, "two\nlines"),
        (0.1, 0.0, "x" * 65),
    ],
)
def test_what_makes_no_sense_is_not_charged(
    budget: Budget | Ledger, epsilon: float, delta: float, purpose: str
) -> None:
    with pytest.raises(SettingsError):
        budget.charge(epsilon, delta, purpose=purpose)
    assert budget.shares() == []


def test_budgets_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    for epsilon, delta in [(-1.0, 0.0), (math.nan, 0.0), (math.inf, 0.0), (1.0, 1.0), (1.0, -0.1)]:
        with pytest.raises(SettingsError):
            Budget(epsilon, delta)
        with pytest.raises(SettingsError):
            Ledger.create(tmp_path / "ledger", "x", epsilon, delta)
    with pytest.raises(SettingsError, match="`unit` is"):
        Budget(1.0, unit="planet")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="`neighbouring` is"):
        Budget(1.0, neighbouring="far")  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="name of a data set"):
        Ledger.create(tmp_path / "ledger", "", 1.0)
    assert not (tmp_path / "ledger").exists()


def test_a_budget_cannot_be_spent_twice_by_copying_it() -> None:
    budget = Budget(1.0)
    copies: list[Any] = [copy.copy, copy.deepcopy, pickle.dumps]
    for copied in copies:
        with pytest.raises(TypeError, match="cannot be copied"):
            copied(budget)


def test_copies_of_a_ledger_share_its_file(ledger: Ledger) -> None:
    for other in (pickle.loads(pickle.dumps(ledger)), copy.deepcopy(ledger), Ledger.open(ledger.path)):
        other.charge(0.25, purpose="other")
        assert (other.path, other.name, other.unit) == (ledger.path, "reviews", "user")
    assert ledger.left == Amount(0.25, 1e-5)
    assert b"reviews" not in pickle.dumps(Budget) and b"0.25" not in pickle.dumps(ledger)


def test_threads_keep_to_the_budget_together(budget: Budget | Ledger) -> None:
    refused: list[BudgetError] = []

    def spend() -> None:
        try:
            budget.charge(0.25, purpose="thread")
        except BudgetError as error:
            refused.append(error)

    threads = [threading.Thread(target=spend) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 8 and budget.total.epsilon == 1.0


def test_a_ledger_is_made_once_and_has_one_name(ledger: Ledger, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="already"):
        Ledger.create(ledger.path, "reviews", 9.0)
    with pytest.raises(SettingsError, match="`letters`"):
        Ledger.open(ledger.path, "letters")
    with pytest.raises(DataError, match="cannot open"):
        Ledger.open(tmp_path / "nowhere")
    with pytest.raises(DataError, match="ledger of a single run"):
        Ledger.open(RUN / "ledger.jsonl")


def test_a_changed_ledger_is_refused(ledger: Ledger) -> None:
    ledger.charge(0.5, purpose="first")
    text = ledger.path.read_text()
    ledger.path.write_text(text.replace('"epsilon":0.5', '"epsilon":0.1'))
    with pytest.raises(DataError):
        ledger.charge(0.5, purpose="second")
    with pytest.raises(DataError):
        _ = ledger.total
    ledger.path.write_text(text)
    assert ledger.total.epsilon == 0.5


def test_a_share_that_was_cut_short_is_told_and_does_not_count(ledger: Ledger) -> None:
    for _ in range(2):
        ledger.charge(0.25, purpose="first")
    ledger.path.write_bytes(ledger.path.read_bytes()[:-5])
    with pytest.warns(RuntimeWarning, match="line 3 of the ledger was cut short"):
        ledger.charge(0.125, purpose="second")
    assert ledger.total.epsilon == 0.375


def test_what_people_see(ledger: Ledger) -> None:
    ledger.charge(0.25, 1e-6, purpose="a <b> model")
    assert "epsilon 0.25 and delta 1e-06 are taken, 0.75 and 9e-06 left" in repr(ledger)
    page = ledger._repr_html_()
    assert "<th>a &lt;b&gt; model</th><td>0.25</td><td>1e-06</td>" in page
    assert "reviews: epsilon 1 and delta 1e-05 for each user (add-remove)" in page
    assert "budget: epsilon 2 and delta 0" in Budget(2.0)._repr_html_()
    (share,) = ledger.shares()
    assert share.key is not None and share == Share("a <b> model", 0.25, 1e-6, share.key)


def test_the_ledger_of_a_run_is_read_and_priced() -> None:
    run = read(RUN)
    assert [charge.purpose for charge in run] == [
        "vocabulary",
        "unit sizes",
        "word counts",
        "pair counts",
    ]
    assert run[1].event == accounting.discrete_laplace(16.666666666666668)
    assert len(run) == 4 and run[1].steps == 1 and run[1].key == run[0].key
    assert (run.unit, run.neighbouring, run.delta, run.public) == ("line", "add-remove", 1e-5, {})
    # What the certificate of that run says.
    assert run.epsilon() == 2.999710616388402
    assert run.epsilon(1e-4) < run.epsilon() < run.epsilon(accountant="rdp")


def test_a_line_that_was_cut_short_does_not_count_and_is_told(tmp_path: Path) -> None:
    text = (RUN / "ledger.jsonl").read_text()
    (tmp_path / "ledger.jsonl").write_text(text[:-20])
    with pytest.warns(RuntimeWarning, match="line 5 of the ledger was cut short"):
        assert len(read(tmp_path)) == 3
    (tmp_path / "ledger.jsonl").write_text(text.replace("unit sizes", "unit seizes"))
    with pytest.raises(DataError, match="line 3"):
        read(tmp_path)
    with pytest.raises(DataError, match="cannot open"):
        read(tmp_path / "nowhere")
