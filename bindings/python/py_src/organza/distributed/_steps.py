"""Steps whose gradients workers compute, on rows that holders keep: the loop of a driver, and both in its own process."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from organza import _organza
from organza._again import warn_of_another_fit
from organza._estimator import PrivateEstimator
from organza._flags import flags
from organza._run import Run
from organza.exceptions import RunError, SettingsError

#: What a run was planned with, so that a driver that is started again goes on with nothing else.
_PLANNED = "planned.json"
#: What the folder of a finished run has, and no other.
_CERTIFICATE = "certificate.json"
#: A run whose holders die so often without a checkpoint in between gets nowhere.
_MOST_LOST = 20

#: What a worker asks for, or None and what each holder is told of its part. *Not private.* An engine may have references in place of
#: what holders are told.
Answer = tuple[bytes | None, Sequence[Any]]


class StepWorkers(Protocol):
    """Workers as a driver sees them: they are told something, and answer in any order."""

    def tell(self, number: int, order: bytes, rows: Sequence[Any] | None) -> None:
        """Send worker `number` the order of a step, with rows of holders if it asked for some."""
        raise NotImplementedError

    def answer(self) -> tuple[int, Answer]:
        """Wait for an answer; give who it is of."""
        raise NotImplementedError

    def forget(self) -> None:
        """Wait for no answer of a step that will not be made."""
        raise NotImplementedError


class RowHolders(Protocol):
    """Holders of rows as a driver sees them: each answers what it is told, in the order in which it is told."""

    count: int

    def tell(self, number: int, message: Any) -> Any:
        """Tell holder `number` something; give its answer, or a reference to it."""
        raise NotImplementedError

    def read(self, answer: Any) -> bytes:
        """Give what an answer says."""
        raise NotImplementedError

    def end(self) -> None:
        """Let go of all rows, and of what they were held by."""
        raise NotImplementedError


class HoldersLostError(Exception):
    """A holder died, and the rows since the last checkpoint with it."""


#: Starts holders, each with its job, which holds keys, and its rows.
Holding = Callable[[Iterable[tuple[bytes, bytes]]], RowHolders]
#: Starts workers by their jobs, for so many holders of rows.
Working = Callable[[list[bytes], int], StepWorkers]


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

    def answer(self, order: bytes, rows: Sequence[bytes] | None, holders: int) -> Answer:
        """Answer an order, or rows that were asked for in its step."""
        answer = None
        if rows is None or order != self._order:
            answer = self._worker.order(order)
        if rows is not None:
            answer = self._worker.rows(list(rows))
        assert answer is not None
        asks, message = answer
        # It keeps nothing of a step whose part is made.
        self._order = order if asks else None
        return (message, []) if asks else (None, _organza.part_for_holders(message, holders))


class WorkersHere:
    """Workers in this process, one after another."""

    def __init__(self, workers: Sequence[StepWorker], holders: int) -> None:
        self._workers, self._holders = workers, holders
        self._answers: deque[tuple[int, Answer]] = deque()

    def tell(self, number: int, order: bytes, rows: Sequence[Any] | None) -> None:
        """Have a worker answer."""
        self._answers.append((number, self._workers[number].answer(order, rows, self._holders)))

    def answer(self) -> tuple[int, Answer]:
        """Give the oldest answer."""
        return self._answers.popleft()

    def forget(self) -> None:
        """Forget all answers."""
        self._answers.clear()


class HoldersHere:
    """Holders of rows in the process of the driver: one has all, where nobody else has any."""

    def __init__(self, jobs: Iterable[tuple[bytes, bytes]], threads: int = 0) -> None:
        self._holders = [_organza.RowHolder(job, rows, threads) for job, rows in jobs]
        self.count = len(self._holders)

    def tell(self, number: int, message: bytes) -> bytes:
        """Have a holder answer."""
        return self._holders[number].answer(message)

    def read(self, answer: bytes) -> bytes:
        """Give the answer."""
        return answer

    def end(self) -> None:
        """Let go of all rows."""
        self._holders.clear()


def trained(
    estimator: PrivateEstimator,
    working: Working,
    count: int,
    source: Any,
    holding: tuple[Holding, int] | None = None,
) -> None:
    """Fit by steps to data that the user gave as `source`, by `count` workers, with rows held here or by so many holders elsewhere."""
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
            threads = estimator.threads or 0
            if holding is None:
                holding = (lambda jobs: HoldersHere(jobs, threads)), 1
            _trained(words, place, threads, working, count, *holding)
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


def _trained(
    words: list[str],
    place: Path,
    threads: int,
    working: Working,
    count: int,
    holding: Holding,
    of: int,
) -> None:
    """Begin a run, or go on with it, as often as holders are lost, unless it gets nowhere."""
    workers: StepWorkers | None = None
    holders: RowHolders | None = None
    lost = at = 0
    while True:
        driver = _organza.StepDriver(words, str(place), threads)
        try:
            with open(os.open(place / _PLANNED, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(words, file)
            made, _ = driver.steps()
            lost, at = (0 if made > at else lost), made
            of = max(1, min(of, driver.ranges()))
            # One after another: all rows together may be more than this process can keep.
            holders = holding((driver.holder_job(number, of), driver.holder_state(number, of)) for number in range(of))
            workers = workers or working([driver.job(number, count) for number in range(count)], of)
            _made(driver, workers, count, holders)
            ends = [holders.tell(number, _organza.RowHolder.END) for number in range(of)]
            driver.finish([holders.read(end) for end in ends])
            return
        except HoldersLostError:
            if workers is not None:
                workers.forget()
            lost += 1
            if lost > _MOST_LOST:
                raise RunError(
                    f"rows of the tables were lost {lost} times without a checkpoint in between: the actors that hold them may "
                    "need more memory, or fewer of them a machine"
                ) from None
        finally:
            driver.close()
            if holders is not None:
                # Whoever takes their place needs the room.
                holders.end()
                holders = None


def _made(
    driver: _organza.StepDriver, workers: StepWorkers, count: int, holders: RowHolders
) -> None:
    """Make all steps that are left."""
    of = holders.count
    told: list[Any] = []
    while (order := driver.order()) is not None:
        told += [holders.tell(number, driver.opening(number, of)) for number in range(of)]
        for number in range(count):
            workers.tell(number, order, None)
        offers: list[Any] = []
        for _ in range(count):
            told += offers
            number, (asks, parts) = workers.answer()
            while asks is not None:
                asked = driver.rows(asks, of)
                workers.tell(number, order, [holders.tell(holder, rows) for holder, rows in asked])
                number, (asks, parts) = workers.answer()
            # The last of all parts is answered by what the rows offer.
            offers = [holders.tell(holder, part) for holder, part in enumerate(parts)]
        _read_all(holders, told)
        for offer in offers:
            driver.offers(holders.read(offer))
        told += [holders.tell(number, decision) for number, decision in enumerate(driver.decide(of))]
        if driver.saves():
            _read_all(holders, told)
            states = [holders.tell(number, _organza.RowHolder.SAVE) for number in range(of)]
            for state in states:
                driver.save(holders.read(state))
    _read_all(holders, told)


def _read_all(holders: RowHolders, told: list[Any]) -> None:
    """Read answers that say nothing, unless that somebody has failed."""
    while told:
        holders.read(told.pop(0))
