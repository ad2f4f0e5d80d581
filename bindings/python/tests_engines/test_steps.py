"""Steps whose gradients actors of Ray compute: the same bits on any number of them, whoever is killed."""

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


@pytest.fixture(scope="module")
def here() -> dict[str, bytes]:
    """What workers in this process leave."""
    return left(distributed.fit(estimator("steps"), [data("steps")]))


def charges(files: dict[str, bytes]) -> int:
    """Give the number of charges on a ledger."""
    return files["ledger.jsonl"].count(b"\n")


def test_any_number_of_actors(here: dict[str, bytes]) -> None:
    """One, two and four, of rows that are split differently; and without one person the bits are others."""
    table = data("steps")
    fewer = left(distributed.fit(estimator("steps"), [table.slice(0, len(table) - 9)]))
    assert fewer["model.safetensors"] != here["model.safetensors"]
    assert charges(here) > 1
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False)
    try:
        with pytest.raises(OrganzaError, match="nothing"):
            fit(estimator("steps").set_params(categories=["nothing"]), [table], shards=2)
        for count in (1, 2, 4):
            blocks = [table.slice(0, 100 * count), table.slice(100 * count)]
            fitted = fit(estimator("steps"), blocks, unit=unit_of("steps"), shards=count)
            assert left(fitted) == here, count
    finally:
        ray.shutdown()


def test_actors_are_killed(
    cluster: Any, here: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At random points of steps, on three nodes."""
    ray.init(address=cluster.address, log_to_driver=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    killer = Killer(ACTORS)
    killer.start()
    fits = 0
    while killer.left:
        fitted = fit(estimator("steps"), [data("steps")], unit="user", shards=2)
        assert left(fitted) == here
        del fitted
        fits += 1
        print(f"{ACTORS - killer.left} actors were killed in {fits} fits", flush=True)
    killer.ended.set()
    killer.join()
    nothing_left(tmp_path)


def test_drivers_are_killed(cluster: Any, tmp_path: Path) -> None:
    """Each is started again on its folder, and makes the steps since its checkpoint again: no charge twice, the same bits."""
    ray.init(address=cluster.address, log_to_driver=False)
    draw = random.Random(6)
    script = Path(__file__).with_name("driver.py")
    (tmp_path / "alone").mkdir()
    distributed.fit(estimator("steps", folder=tmp_path / "alone" / "run"), [data("steps")])
    expected = released(tmp_path / "alone" / "run")
    kills = runs = 0
    took = 6.0
    while kills < DRIVERS:
        folder = tmp_path / f"{runs}" / "run"
        folder.parent.mkdir()
        finished = False
        while not finished:
            words = [sys.executable, "-W", "ignore", str(script), cluster.address, str(folder), "steps"]
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
