"""Releases: charged before they are drawn, with noise of the right law."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from organza import accounting, mechanisms
from organza.exceptions import BudgetError, DataError, PrivacyWarning, SettingsError
from organza.ledger import Amount, Budget, Ledger

FALSE_ALARM = 1e-6
seeded = pytest.mark.filterwarnings("ignore::organza.exceptions.PrivacyWarning")
UNITS = [["tea", "milk"]] * 300 + [["a secret"]]


def count(budget: Budget | Ledger, **changed: Any) -> Any:
    return mechanisms.count(**{"n": 1000, "epsilon": 0.25, "budget": budget, **changed})


def histogram(budget: Budget | Ledger, **changed: Any) -> Any:
    rows = np.ones((50, 4))
    settings = {"counts": rows, "l1_bound": 4, "epsilon": 0.25, "budget": budget}
    return mechanisms.histogram(**{**settings, **changed})


def set_union(budget: Budget | Ledger, **changed: Any) -> Any:
    settings = {"units": UNITS, "items_per_unit": 2, "epsilon": 0.25, "delta": 1e-6}
    return mechanisms.set_union(**{**settings, "budget": budget, **changed})


MECHANISMS = [count, histogram, set_union]


@pytest.fixture(params=["budget", "ledger"])
def budget(request: pytest.FixtureRequest, tmp_path: Path) -> Budget | Ledger:
    if request.param == "ledger":
        return Ledger.create(tmp_path / "ledger", "people", 1.0, 1e-5)
    return Budget(1.0, 1e-5)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_release_is_charged_as_it_says(
    mechanism: Callable[..., Any], budget: Budget | Ledger
) -> None:
    for _ in range(4):
        mechanism(budget, purpose="again")
    assert [(share.purpose, share.epsilon) for share in budget.shares()] == [("again", 0.25)] * 4
    with pytest.raises(BudgetError, match="too small"):
        mechanism(budget)
    assert budget.total.epsilon == 1.0 and len(budget.shares()) == 4


@seeded
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_same_seed_is_charged_every_time(
    mechanism: Callable[..., Any], budget: Budget | Ledger
) -> None:
    """Two releases of one seed are not private anyway; they are no copies for the ledger either."""
    mechanism(budget, random_state=3)
    mechanism(budget, random_state=3)
    assert budget.total.epsilon == 0.5


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_seed_is_warned_of_and_gives_the_same_again(mechanism: Callable[..., Any]) -> None:
    budget = Budget(100.0, 1e-3)
    with pytest.warns(PrivacyWarning, match="not private"):
        first, again = (mechanism(budget, random_state=7) for _ in range(2))
    fresh = mechanism(budget)
    if mechanism is count:
        assert first == again
    else:
        assert (first.counts == again.counts).all()
        assert not first.private and fresh.private


@pytest.mark.parametrize(
    ("mechanism", "changed", "error"),
    [
        (count, {"epsilon": -1.0}, SettingsError),
        (count, {"epsilon": 0.0}, SettingsError),
        (count, {"epsilon": math.nan}, SettingsError),
        (count, {"epsilon": "1"}, TypeError),
        (count, {"n": -1}, DataError),
        (count, {"n": 2**64}, DataError),
        (count, {"n": math.nan}, DataError),
        (count, {"n": 10.0}, DataError),
        (count, {"n": True}, DataError),
        (count, {"purpose": ""}, SettingsError),
        (count, {"random_state": -1}, SettingsError),
        (count, {"random_state": 0.5}, SettingsError),
        (histogram, {"epsilon": -1.0}, SettingsError),
        (histogram, {"counts": np.array([[1.0, math.nan]])}, DataError),
        (histogram, {"counts": np.array([[1.0, math.inf]])}, DataError),
        (histogram, {"counts": np.array([[1, -1]])}, DataError),
        (histogram, {"counts": np.array([["a", "b"]])}, DataError),
        (histogram, {"counts": np.array([[1, 2]], dtype=object)}, DataError),
        (histogram, {"counts": np.array([[True, False]])}, DataError),
        (histogram, {"counts": np.ones(4)}, DataError),
        (histogram, {"counts": [{0: 1}]}, SettingsError),
        (histogram, {"counts": [{4: 1}], "cells": 4}, DataError),
        (histogram, {"counts": [{-1: 1}], "cells": 4}, DataError),
        (histogram, {"counts": [{0: -1.0}], "cells": 4}, DataError),
        (histogram, {"counts": [[1, 2]], "cells": 4}, DataError),
        (histogram, {"counts": ([0, 2], [0], [1.0]), "cells": 4}, DataError),
        (histogram, {"counts": ([0, 2, 1], [0], [1.0]), "cells": 4}, DataError),
        (histogram, {"counts": ([], [], []), "cells": 4}, DataError),
        (histogram, {"cells": 0}, DataError),
        (histogram, {"counts": [], "cells": 0}, SettingsError),
        (histogram, {"l2_bound": 1.0}, SettingsError),
        (histogram, {"l1_bound": None}, SettingsError),
        (histogram, {"l1_bound": 0}, SettingsError),
        (histogram, {"l1_bound": 1.5}, SettingsError),
        (histogram, {"delta": 1e-6}, SettingsError),
        (histogram, {"l1_bound": None, "l2_bound": 1.0}, SettingsError),
        (histogram, {"l1_bound": None, "l2_bound": -1.0, "delta": 1e-6}, SettingsError),
        (histogram, {"l1_bound": None, "l2_bound": math.nan, "delta": 1e-6}, SettingsError),
        (histogram, {"threshold": math.nan}, SettingsError),
        (set_union, {"epsilon": -1.0}, SettingsError),
        (set_union, {"delta": 0.0}, SettingsError),
        (set_union, {"items_per_unit": 0}, SettingsError),
        (set_union, {"noise": "uniform"}, SettingsError),
        (set_union, {"units": ["tea", "milk"]}, DataError),
        (set_union, {"units": [[1.5]]}, DataError),
        (set_union, {"units": [[2**63]]}, DataError),
        (set_union, {"units": [[None]]}, DataError),
    ],
)
def test_bad_input_raises_and_charges_nothing(
    mechanism: Callable[..., Any], changed: dict[str, Any], error: type[Exception]
) -> None:
    budget = Budget(1.0, 1e-5)
    with pytest.raises(error):
        mechanism(budget, **changed)
    assert budget.shares() == []


def test_a_generator_that_raises_charges_nothing() -> None:
    def units() -> Any:
        yield ["tea"]
        raise KeyError("gone")

    budget = Budget(1.0, 1e-5)
    with pytest.raises(KeyError):
        set_union(budget, units=units())
    with pytest.raises(SettingsError, match="must be a Budget or a Ledger"):
        mechanisms.count(3, epsilon=1.0, budget=None)  # type: ignore[arg-type]
    assert budget.total == Amount(0.0, 0.0)


def chances_of_laplace(epsilon: float, values: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of two-sided geometric noise."""
    ratio = math.exp(-epsilon)
    chances: NDArray[np.float64] = (1 - ratio) / (1 + ratio) * ratio ** np.abs(values)
    return chances


def fits_laplace(noise: NDArray[np.int64], epsilon: float) -> bool:
    """Whether noise has the law that costs epsilon, value by value; false alarms are as rare as
    FALSE_ALARM says, by normal approximation of counts above 50."""
    values = np.arange(-40, 41)
    expected = len(noise) * chances_of_laplace(epsilon, values)
    often = expected > 50
    found = np.array([(noise == value).sum() for value in values])
    deviations = np.abs(found - expected) / np.sqrt(expected * (1 - expected / len(noise)))
    limit = NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * often.sum()))
    return bool((deviations[often] < limit).all())


@seeded
def test_the_noise_of_a_count_is_what_is_charged() -> None:
    budget = Budget(1e6)
    drawn = [count(budget, epsilon=0.5, random_state=seed) for seed in range(20_000)]
    noise = np.array(drawn) - 1000
    assert fits_laplace(noise, 0.5)
    # The broken twins: the same noise, charged as less or as more.
    assert not fits_laplace(noise, 0.45) and not fits_laplace(noise, 0.55)


@seeded
@pytest.mark.parametrize("neighbouring", ["add-remove", "replace-one"])
def test_the_noise_of_whole_counts_follows_bound_and_relation(neighbouring: Any) -> None:
    budget = Budget(10.0, neighbouring=neighbouring)
    rows = (np.array([0, 1]), np.array([7]), np.array([2]))
    noisy = histogram(budget, counts=rows, cells=60_000, l1_bound=2, epsilon=2.0, random_state=1)
    noise = noisy.counts.astype(np.int64)
    noise[7] -= 2
    each = 1.0 if neighbouring == "add-remove" else 0.5
    assert fits_laplace(noise, each)
    assert not fits_laplace(noise, 0.9 * each) and not fits_laplace(noise, 1.1 * each)


def has_deviation(noise: NDArray[np.float64], deviation: float) -> bool:
    """Whether the mean square of normal noise is what it should be, but for FALSE_ALARM."""
    limit = NormalDist().inv_cdf(1 - FALSE_ALARM / 2) * math.sqrt(2 / len(noise))
    return bool(abs(np.mean((noise / deviation) ** 2) - 1) < limit)


@seeded
@pytest.mark.parametrize("neighbouring", ["add-remove", "replace-one"])
def test_the_noise_of_real_counts_is_calibrated(neighbouring: Any) -> None:
    budget = Budget(10.0, 1e-5, neighbouring=neighbouring)
    settings = {"l1_bound": None, "l2_bound": 3.0, "epsilon": 2.0, "delta": 1e-6}
    noisy = histogram(budget, counts=[], cells=50_000, random_state=1, **settings)
    longest = 3.0 if neighbouring == "add-remove" else 3.0 * math.sqrt(2)
    deviation = longest * accounting.calibrate(2.0, 1e-6, neighbouring=neighbouring)
    assert noisy.deviation == pytest.approx(deviation, rel=1e-4)
    assert has_deviation(noisy.counts, deviation)
    assert not has_deviation(noisy.counts, 0.95 * deviation)
    assert not has_deviation(noisy.counts, 1.05 * deviation)
    assert budget.total == Amount(2.0, 1e-6)


@seeded
def test_one_unit_cannot_move_more_than_its_bound() -> None:
    """The same seed, with and without a unit that wants much: the difference is its bound."""
    crowd = [{0: 1}] * 10

    def counts(units: Any, **settings: Any) -> Any:
        budget = Budget(10.0, 1e-5)
        return histogram(budget, counts=units, cells=5, random_state=5, **settings).counts

    greedy = {cell: 1e6 for cell in range(5)}
    moved = counts([*crowd, greedy], l1_bound=3) - counts(crowd, l1_bound=3)
    assert np.abs(moved).sum() == 3
    real = {"l1_bound": None, "l2_bound": 2.0, "delta": 1e-6}
    moved = counts([*crowd, greedy], **real) - counts(crowd, **real)
    assert np.linalg.norm(moved) == pytest.approx(2.0, abs=1e-4)


def of_seed(counts: Any, cells: int | None = 4) -> list[float]:
    noisy: list[float] = histogram(
        Budget(1.0), counts=counts, cells=cells, random_state=1
    ).counts.tolist()
    return noisy


@seeded
def test_all_forms_of_counts_are_the_same() -> None:
    dense = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 3, 0, 1]])
    forms: list[Any] = [
        dense,
        dense.astype(np.float32),
        (np.array([0, 2, 2, 4]), [0, 2, 1, 3], [2, 1, 3, 1]),
        [{0: 2, 2: 1}, {}, {1: 3, 3: 1}],
        iter([{2: 1, 0: 2}, {}, {3: 1, np.int32(1): 3}]),
    ]
    for form in forms:
        assert of_seed(form) == of_seed(dense)


@seeded
def test_a_scipy_matrix_is_read_by_rows() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.array([[2, 0, 1, 0], [0, 0, 0, 0], [0, 3, 0, 1]])
    assert of_seed(sparse.csr_array(dense)) == of_seed(sparse.csr_matrix(dense)) == of_seed(dense)
    assert of_seed(sparse.csr_array(dense), cells=None) == of_seed(dense)
    with pytest.raises(DataError, match="CSR"):
        of_seed(sparse.csc_array(dense))


@seeded
def test_a_threshold_is_met_by_noisy_counts() -> None:
    budget = Budget(10.0)
    rows = [{5: 1}] * 100
    found = histogram(
        budget, counts=rows, cells=10**9, l1_bound=1, epsilon=1.0, threshold=30, random_state=2
    )
    assert found.threshold == 30 and found.cells.tolist() == [5]
    assert abs(found.counts[0] - 100) < 20 and len(found) == 1


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_what_one_unit_alone_has_stays_hidden(noise: str) -> None:
    budget = Budget(3.0, 1e-5)
    found = set_union(budget, noise=noise, epsilon=1.0)
    assert sorted(found) == ["milk", "tea"]
    assert (np.diff(found.counts) <= 0).all() and (found.counts >= found.threshold).all()
    assert budget.total == Amount(1.0, 1e-6)
    numbers = set_union(budget, units=[{1, np.int64(2)}] * 300, noise=noise, epsilon=1.0)
    assert sorted(numbers) == [1, 2] and len(numbers) == 2


@seeded
def test_the_secret_shows_as_rarely_as_delta_says() -> None:
    """Items of one unit alone, at a delta that can be seen; the false-alarm rate is FALSE_ALARM."""
    runs, delta = 2_000, 0.05

    def shown(items_per_unit: int, delta: float) -> int:
        return sum(
            len(
                mechanisms.set_union(
                    [["one", "two", "three"]],
                    items_per_unit=items_per_unit,
                    epsilon=1.0,
                    delta=delta,
                    budget=Budget(1.0, delta),
                    random_state=seed,
                )
            )
            > 0
            for seed in range(runs)
        )

    most = runs * delta + NormalDist().inv_cdf(1 - FALSE_ALARM) * math.sqrt(runs * delta)
    assert 0 < shown(3, delta) < most
    # The broken twin: a threshold for twice the delta.
    assert shown(3, 2 * delta) > most
