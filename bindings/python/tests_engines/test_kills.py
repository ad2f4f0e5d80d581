"""Workers, nodes and drivers are killed at random points: no charge twice, the same bits, nothing left behind.

Every process that is killed was started by the cluster of this test.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from made_up import data, estimator, left, released, unit_of
from ray.cluster_utils import Cluster

from organza.distributed import split
from organza.distributed.ray import fit

#: How many are killed, unless the environment says otherwise.
WORKERS = int(os.environ.get("ORGANZA_KILLED_WORKERS", "100"))
DRIVERS = int(os.environ.get("ORGANZA_KILLED_DRIVERS", "20"))
#: Of which runs: in few rounds, so that more of them end.
NAMES = tuple(os.environ.get("ORGANZA_KILLED_RUNS", "recommender completions").split())

Left = dict[str, dict[str, bytes]]


@pytest.fixture
def cluster() -> Iterator[Any]:
    """Three nodes on this machine."""
    nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    for _ in range(2):
        nodes.add_node(num_cpus=1)
    nodes.wait_for_nodes()
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def working() -> list[psutil.Process]:
    """Give the workers below this process that are at a task."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if process.cmdline()[:1] and process.cmdline()[0].startswith("ray::_"):
                found.append(process)
        except psutil.Error:
            continue
    return found


class Killer(threading.Thread):
    """Kills a worker that is at a task, again and again, at random points."""

    def __init__(self, kills: int) -> None:
        super().__init__(daemon=True)
        self.left, self.ended = kills, threading.Event()
        self.killed: list[str] = []

    def run(self) -> None:
        """Kill."""
        draw = random.Random(3)
        while self.left and not self.ended.wait(draw.expovariate(2.0)):
            workers = working()
            if workers:
                victim = draw.choice(workers)
                try:
                    name = victim.cmdline()[0]
                    victim.send_signal(signal.SIGKILL)
                except (psutil.Error, IndexError):
                    continue
                self.killed.append(name)
                self.left -= 1


def nothing_left(folder: Path) -> None:
    """No temporary folder, and no task that still runs."""
    # What is in a cycle with the traceback of an error of Ray.
    gc.collect()
    assert [path.name for path in folder.iterdir()] == []
    for _ in range(300):
        if ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"]:
            return
        time.sleep(0.1)
    raise AssertionError(f"tasks are left: {ray.available_resources()}")


def test_workers_are_killed(
    cluster: Any, alone: Left, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hundred workers, while they count and join."""
    ray.init(address=cluster.address, log_to_driver=False)
    places = tmp_path / "temporary"
    places.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    shards = {
        name: split(data(name), unit_of(name), 6) for name in NAMES
    }
    killer = Killer(WORKERS)
    killer.start()
    fits = 0
    while killer.left:
        name = NAMES[fits % len(NAMES)]
        fitted = fit(estimator(name), shards[name], fan_in=3, retries=1000)
        assert left(fitted) == alone[name]
        del fitted
        fits += 1
        print(f"{WORKERS - killer.left} workers were killed in {fits} fits", flush=True)
    killer.ended.set()
    killer.join()
    nothing_left(places)


def test_a_node_dies(cluster: Any, alone: Left) -> None:
    """What was on it is made again: partials, and shards that were split there."""
    ray.init(address=cluster.address, log_to_driver=False)
    table = data("recommender")
    blocks = [table.slice(start, 500) for start in range(0, len(table), 500)]
    dying = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    timer = threading.Timer(1.5, cluster.remove_node, (dying,), {"allow_graceful": False})
    timer.start()
    fitted = fit(estimator("recommender"), blocks, unit="customer", shards=6, fan_in=3)
    timer.join()
    assert left(fitted) == alone["recommender"]


def test_drivers_are_killed(cluster: Any, tmp_path: Path) -> None:
    """Twenty drivers, from before the first task until after the last merge, each started again on its folder."""
    ray.init(address=cluster.address, log_to_driver=False)
    draw = random.Random(5)
    places = tmp_path / "temporary"
    places.mkdir()
    environment = {**os.environ, "TMPDIR": str(places), "RAY_TMPDIR": "/tmp"}
    script = Path(__file__).with_name("driver.py")
    # A certificate names the file of a list, which stands beside a folder that has a name.
    expected = {}
    for name in NAMES:
        (tmp_path / name).mkdir()
        estimator(name, folder=tmp_path / name / "run").fit(data(name))
        expected[name] = released(tmp_path / name / "run")
    kills = runs = 0
    took = 4.0
    while kills < DRIVERS:
        name = NAMES[runs % len(NAMES)]
        folder = tmp_path / f"{runs}" / "run"
        finished = False
        while not finished:
            words = [sys.executable, "-W", "ignore", str(script), cluster.address, str(folder), name]
            driver = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)
            assert driver.stdout is not None
            assert driver.stdout.readline() == "ready\n"
            killed = False
            if kills < DRIVERS:
                try:
                    driver.wait(draw.uniform(0.0, took))
                except subprocess.TimeoutExpired:
                    driver.kill()
                    kills += 1
                    killed = True
            last = driver.stdout.read().split()
            code = driver.wait()
            finished = last[:1] == ["done"]
            # One that was left alone comes to its end, and none fails.
            assert code == 0 or (killed and code == -signal.SIGKILL), f"a driver ended with {code}"
            assert finished or killed
            if finished:
                took = max(1.0, float(last[1]))
        # What a fit on one machine leaves, and no more: no task, no partial, no second charge.
        assert released(folder) == expected[name]
        beside = {path.name for path in folder.parent.iterdir()}
        assert beside <= {"run", "run.vocabulary_file.txt"}
        runs += 1
        print(f"{kills} drivers were killed in {runs} runs", flush=True)
    nothing_left(places)
