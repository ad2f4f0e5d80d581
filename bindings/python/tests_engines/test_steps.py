"""Steps whose gradients actors of Ray compute, on rows that actors keep: the same bits on any number of them, whoever is killed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import ray
from made_up import data, estimator, left, released, unit_of
from test_kills import Killer, cluster, nothing_left

from organza import distributed
from organza.distributed.ray import fit
from organza.exceptions import OrganzaError

__all__ = ["cluster"]

#: How many are killed, unless the environment says otherwise.
ACTORS = int(os.environ.get("ORGANZA_KILLED_ACTORS", "20"))
DRIVERS = int(os.environ.get("ORGANZA_KILLED_STEP_DRIVERS", "5"))


#: Runs with the number of holders of rows: the driver keeps those of one, actors those of the other.
RUNS = pytest.mark.parametrize(("name", "holders"), [("steps", None), ("wide steps", 2)])


def here(name: str) -> dict[str, bytes]:
    """What workers in this process leave."""
    return left(distributed.fit(estimator(name), [data(name)]))


def charges(files: dict[str, bytes]) -> int:
    """Give the number of charges on a ledger."""
    return files["ledger.jsonl"].count(b"\n")


def test_any_number_of_actors() -> None:
    """One, two and four, of rows that are split differently; and without one person the bits are others."""
    expected, table = here("steps"), data("steps")
    fewer = left(distributed.fit(estimator("steps"), [table.slice(0, len(table) - 9)]))
    assert fewer["model.safetensors"] != expected["model.safetensors"]
    assert charges(expected) > 1
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    try:
        with pytest.raises(OrganzaError, match="nothing"):
            fit(estimator("steps").set_params(categories=["nothing"]), [table], shards=2)
        for count in (1, 2, 4):
            blocks = [table.slice(0, 100 * count), table.slice(100 * count)]
            fitted = fit(estimator("steps"), blocks, unit=unit_of("steps"), shards=count)
            assert left(fitted) == expected, count
    finally:
        ray.shutdown()


def test_any_number_of_holders() -> None:
    """Of the rows of wide tables: the driver, one, two and three actors, and more than there are ranges."""
    expected, table = here("wide steps"), data("wide steps")
    ray.init(address="local", num_cpus=32, include_dashboard=False, log_to_driver=False)
    try:
        for holders in (None, 1, 2, 3, 20):
            fitted = fit(estimator("wide steps"), [table], unit="user", shards=2, holders=holders)
            assert left(fitted) == expected, holders
        with pytest.raises(OrganzaError, match="holders"):
            fit(estimator("wide steps"), [table], unit="user", holders=0)
        with pytest.raises(OrganzaError, match="holders"):
            fit(estimator("clicks"), [data("clicks")], unit="user", holders=1)
    finally:
        ray.shutdown()


@RUNS
def test_actors_are_killed(
    name: str, holders: int | None, cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At random points of steps, on three nodes."""
    ray.init(address=cluster.address, log_to_driver=False)
    expected = here(name)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killer = Killer(ACTORS)
    killer.start()
    fits = 0
    while killer.left:
        # Four actors have three CPUs between them.
        options = {"num_cpus": 0.5}
        fitted = fit(estimator(name), [data(name)], unit="user", shards=2, options=options, holders=holders)
        assert left(fitted) == expected
        del fitted
        fits += 1
        print(f"{ACTORS - killer.left} actors were killed in {fits} fits", flush=True)
    killer.ended.set()
    killer.join()
    kept = sum("_Holder" in name for name in killer.killed)
    print(f"{kept} of them kept rows", flush=True)
    assert (kept > 0) == (holders is not None)
    nothing_left(tmp_path)


@pytest.mark.parametrize("name", ["steps", "wide steps"])
def test_drivers_are_killed(name: str, cluster: Any, tmp_path: Path) -> None:
    """Each is started again on its folder, and makes the steps since its checkpoint again: no charge twice, the same bits."""
    ray.init(address=cluster.address, log_to_driver=False)
    draw = random.Random(6)
    script = Path(__file__).with_name("driver.py")
    (tmp_path / "alone").mkdir()
    distributed.fit(estimator(name, folder=tmp_path / "alone" / "run"), [data(name)])
    expected = released(tmp_path / "alone" / "run")
    kills = runs = 0
    took = 6.0
    while kills < DRIVERS:
        folder = tmp_path / f"{runs}" / "run"
        folder.parent.mkdir()
        finished = False
        while not finished:
            words = [sys.executable, "-W", "ignore", str(script), cluster.address, str(folder), name]
            driver = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            assert driver.stdout is not None
            assert driver.stdout.readline() == "ready\n"
            killed = False
            if kills < DRIVERS:
                try:
                    driver.wait(draw.uniform(0.0, took))
                except subprocess.TimeoutExpired:
                    driver.kill()
                    kills, killed = kills + 1, True
            last = driver.stdout.read().split()
            assert driver.wait() == 0 or killed
            finished = last[:1] == ["done"]
            if finished:
                took = max(1.0, float(last[1]))
        assert released(folder) == expected
        runs += 1
        print(f"{kills} drivers were killed in {runs} runs", flush=True)
