"""Steps whose gradients workers compute: the loop of a driver, and workers in its own process."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from organza import _organza
from organza._again import warn_of_another_fit
from organza._estimator import PrivateEstimator
from organza._flags import flags
from organza._run import Run
from organza.exceptions import SettingsError

#: What a run was planned with, so that a driver that is started again goes on with nothing else.
_PLANNED = "planned.json"
#: What the folder of a finished run has, and no other.
_CERTIFICATE = "certificate.json"

#: Whether it asks for rows, or is a part; and the message. *Not private.*
Answer = tuple[bool, bytes]


class StepWorkers(Protocol):
    """Workers as a driver sees them: they are told something, and answer in any order."""

    def tell(self, number: int, order: bytes, rows: bytes | None) -> None:
        """Send worker `number` the order of a step, with rows if it asked for some."""
        raise NotImplementedError

    def answer(self) -> tuple[int, Answer]:
        """Wait for an answer; give who it is of."""
        raise NotImplementedError


class StepWorker:
    """A worker of steps, which may be told the same again, and may have been started again in between.

    Parameters
    ----------
    job : bytes
        What the driver has for this worker alone. **Private**: it holds keys.
    data : path or Data
        All rows of its units; those of others are passed over.
    threads : int, default=0
        How many threads it has; one a core if 0.
    """

    def __init__(self, job: bytes, data: Any, threads: int = 0) -> None:
        self._worker = _organza.StepWorker(job, data, threads)
        self._order: bytes | None = None

    def answer(self, order: bytes, rows: bytes | None) -> Answer:
        """Answer an order, or rows that were asked for in its step."""
        answer = None
        if rows is None or order != self._order:
            answer = self._worker.order(order)
        if rows is not None:
            answer = self._worker.rows(rows)
        assert answer is not None
        # It keeps nothing of a step whose part is made.
        self._order = order if answer[0] else None
        return answer


class WorkersHere:
    """Workers in this process, one after another."""

    def __init__(self, workers: Sequence[StepWorker]) -> None:
        self._workers = workers
        self._answers: deque[tuple[int, Answer]] = deque()

    def tell(self, number: int, order: bytes, rows: bytes | None) -> None:
        """Have a worker answer."""
        self._answers.append((number, self._workers[number].answer(order, rows)))

    def answer(self) -> tuple[int, Answer]:
        """Give the oldest answer."""
        return self._answers.popleft()


def trained(
    estimator: PrivateEstimator,
    workers_of: Callable[[list[bytes]], StepWorkers],
    count: int,
    source: Any,
) -> None:
    """Fit by steps to data that the user gave as `source`; `workers_of` starts workers, each by its job."""
    if getattr(estimator, "units", None) is None:
        raise SettingsError(
            "`units` has to declare the number of users: a driver of workers has none to count"
        )
    fitting = estimator._fitting(os.curdir)
    if estimator._spends_unseen(fitting):
        warn_of_another_fit(type(estimator).__name__, source, estimator.epsilon)
    own = estimator.folder is None
    place = Path(tempfile.mkdtemp(prefix="organza-")) / "run" if own else Path(estimator.folder)
    options = estimator._options(fitting, f"{place}.")
    options = {name: value for name, value in options.items() if name != "data"}
    words = [fitting.command, *flags(options)]
    try:
        if not _is_finished(place, words):
            driver = _organza.StepDriver(words, str(place), estimator.threads or 0)
            with open(os.open(place / _PLANNED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(words, file)
            jobs = [driver.job(number, count) for number in range(count)]
            _made(driver, workers_of(jobs), count)
            driver.finish()
        run = Run(place, own=own, notes=[])
        estimator._take(run)
    except BaseException:
        if own:
            shutil.rmtree(place.parent, ignore_errors=True)
        raise
    (place / _PLANNED).unlink(missing_ok=True)


def _is_finished(place: Path, words: list[str]) -> bool:
    """Whether a driver with these settings came to the end, and to nothing after it."""
    planned = place / _PLANNED
    ended = (place / _CERTIFICATE).exists() and not (place / "private").exists()
    return ended and planned.exists() and json.loads(planned.read_text()) == words


def _made(driver: _organza.StepDriver, workers: StepWorkers, count: int) -> None:
    """Make all steps that are left."""
    while (order := driver.order()) is not None:
        for number in range(count):
            workers.tell(number, order, None)
        while driver.is_waiting():
            number, (asks, message) = workers.answer()
            if asks:
                workers.tell(number, order, driver.rows(message))
            else:
                driver.add(message)
        driver.make()
