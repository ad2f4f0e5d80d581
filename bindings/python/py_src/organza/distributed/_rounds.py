"""A run in rounds: what workers do, what the driver does, and the loop around both."""

from __future__ import annotations

import builtins
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from organza import _organza
from organza._again import warn_of_another_fit
from organza._data import first_of, is_path, is_table
from organza._estimator import PrivateEstimator
from organza._flags import flags
from organza._organza import Data
from organza._run import Run
from organza.distributed._steps import StepWorker, WorkersHere, trained
from organza.exceptions import DataError, RunError, SettingsError

if TYPE_CHECKING:
    from organza._organza import Progress

Estimator = TypeVar("Estimator", bound=PrivateEstimator)

#: What a run was planned with, so that a driver that is started again goes on with nothing else.
_PLANNED = "planned.json"
#: What the folder of a finished run has, and no other.
_CERTIFICATE = "certificate.json"
#: What workers need for the round that comes next.
_TASK = "task"
#: What the folder of a run has that can go on.
_SETTINGS = "settings.json"
#: A run that is begun, until its folder is whole.
_RUN = "run"


def plan(
    estimator: PrivateEstimator, folder: str | os.PathLike[str], like: Any = None
) -> bytes | None:
    """Begin a run in shards, or go on with one that was begun by the same settings.

    Parameters
    ----------
    estimator : Recommender, Typeahead or WordVectors
        What shall be learned, and its budget. It is not changed.
    folder : path-like
        The folder of the run, where it will be merged. The key of the noise is drawn here, and stays here.
    like : optional
        One of the shards, if they are not files: only its kind is looked at.

    Returns
    -------
    bytes or None
        The task: what workers need to :func:`count`. None if the run is finished.
    """
    return _planned(estimator, Path(folder), like, f"{os.fspath(folder)}.", None)


def _planned(
    estimator: PrivateEstimator, folder: Path, like: Any, beside: str, shards: int | None
) -> bytes | None:
    """Plan, with files of lists whose names begin by `beside`, for so many shards where that is known."""
    fitting = estimator._fitting(os.curdir if like is None else like)
    fitting = replace(fitting, lists={name: list(them) for name, them in fitting.lists.items()})
    folder.parent.mkdir(parents=True, exist_ok=True)
    options = estimator._options(fitting, beside)
    options = {name: value for name, value in options.items() if name != "data"}
    words = [fitting.command, *flags({**options, "threads": estimator.threads})]
    planned = {"words": words, "lists": fitting.lists, "shards": shards}
    planned = json.loads(json.dumps(planned))
    begun = _begun(folder)
    if folder.exists() and any(folder.iterdir()):
        _check_planned(folder, planned, folder)
        shutil.rmtree(begun, ignore_errors=True)
        return _organza.current(folder)
    # A folder is there as a whole or not at all. One that was left half made has the key of the run, under which it may be on the ledger of a
    # data set already: so it is gone on with. Settings are written before that.
    run = begun / _RUN
    if (run / _SETTINGS).exists():
        _check_planned(begun, planned, folder)
    else:
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(mode=0o700)
        _write_planned(begun, planned)
    try:
        is_there = (run / "private" / _TASK).exists()
        task = _organza.current(run) if is_there else _organza.begin(words, str(run))
    finally:
        if not (run / _SETTINGS).exists():
            shutil.rmtree(begun, ignore_errors=True)
    _write_planned(run, planned)
    os.replace(run, folder)
    shutil.rmtree(begun, ignore_errors=True)
    return task


def _begun(folder: Path) -> Path:
    """Give where a run is begun: the folder `run`, and beside it what it was planned with."""
    return Path(f"{folder}.begun")


def _write_planned(place: Path, planned: dict[str, Any]) -> None:
    """Write what a run was planned with: as a whole or not at all, for the owner alone."""
    half = place / f"{_PLANNED}.half"
    with open(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(planned, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(half, place / _PLANNED)


def _check_planned(place: Path, planned: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with a run that was begun by other settings, or of another number of shards."""
    before = _planned_before(place)
    if before is None:
        raise SettingsError(
            f"{folder} is not empty, and has no run in shards that could go on: name another `folder`"
        )
    of = before["shards"], planned["shards"]
    if {**before, "shards": None} != {**planned, "shards": None}:
        raise SettingsError(
            f"the run in {folder} was begun by other settings: name another `folder`, or the same settings"
        )
    if None not in of and of[0] != of[1]:
        raise SettingsError(
            f"the run in {folder} was begun with {of[0]} shards, and these are {of[1]}: give the same ones, or name another `folder`"
        )


def _planned_before(place: Path) -> dict[str, Any] | None:
    """Give what the run in a folder was planned with, if it is there."""
    try:
        before = json.loads((place / _PLANNED).read_text())
    except FileNotFoundError:
        return None
    # A list is of steps, which go on in their own way.
    return before if isinstance(before, dict) else None


def shards_of_begun(estimator: PrivateEstimator) -> int | None:
    """Give the number of shards of the run in the folder of an estimator, if it was begun and has one."""
    if estimator.folder is None:
        return None
    folder = Path(estimator.folder)
    begun = _begun(folder)
    place = begun if (begun / _RUN / _SETTINGS).exists() else folder
    before = _planned_before(place)
    shards: int | None = None if before is None else before["shards"]
    return shards


def count(
    task: bytes, data: Any, shard: int, shards: int, *, among_others: bool = False
) -> bytes:
    """Sum what the units of a shard contribute to the round of a task.

    Parameters
    ----------
    task : bytes
        As :func:`plan` or the last :func:`merge` gave it.
    data : path, table, iterable of tables, or list of str
        The shard: *all* rows of its units, which are those that :func:`shard_of` says.
    shard : int
        Its number, from 0.
    shards : int
        How many there are.
    among_others : bool, default=False
        Whether rows of other shards may be among them, and are passed over. Otherwise they are refused.

    Returns
    -------
    bytes
        A partial. **Not private**: it holds exact sums. The same task and shard give the same bytes, however often and
        wherever they are counted.
    """
    return _organza.count(task, _handed(data), shard, shards, not among_others)


def for_shard(task: bytes, shard: int) -> bytes:
    """Give a task for the worker of one shard, without what other shards alone have.

    Between the looks of a release of names, such as private items, a task holds noisy sums of names that are not released in the end. A
    worker needs those of its own shard.
    """
    return _organza.for_shard(task, shard)


def _handed(data: Any) -> str | Data:
    """Give a shard as the libraries read it."""
    if is_path(data):
        return str(os.fspath(data))
    if is_table(data):
        return _organza.table(data)
    first, rest = first_of(data)
    if first is None or is_table(first):
        return _organza.batches(rest)
    if isinstance(first, str):
        return _organza.texts(rest)
    raise DataError(
        f"a shard of {type(first).__name__} cannot be counted: give a path, a table of events or texts, or lines of text"
    )


def join(partials: Iterable[bytes]) -> bytes:
    """Add partials of one round up to one, in any order, as often as you like. *Not private.*"""
    return _organza.join(list(partials))


def merge(
    folder: str | os.PathLike[str], partials: Iterable[bytes]
) -> tuple[bytes | None, Progress]:
    """Release the total of a round: one charge, one draw of noise, at one place.

    Partials that are missing, double, or of another run, round or number of shards are refused. A merge that was killed can be
    repeated with the same partials: nothing is charged or drawn twice.

    Parameters
    ----------
    folder : path-like
        The folder of the run.
    partials : iterable of bytes
        Of all shards.

    Returns
    -------
    task
        That of the next round; None if the run is finished.
    state
        Which round comes next, and of how many.
    """
    return _organza.merge(os.fspath(folder), list(partials))


def fit(
    estimator: Estimator,
    shards: Iterable[Any],
    *,
    map: Callable[..., Iterable[bytes]] = builtins.map,
) -> Estimator:
    """Fit to shards, with the counting wherever `map` does it.

    Parameters
    ----------
    estimator : Recommender, Typeahead, WordVectors or ClickModel
        What shall be learned. With a `folder` a driver that died goes on where it was when it is started again. A click model that is
        learned by steps is trained here, with the bits of any number of workers elsewhere.
    shards : iterable
        Paths, tables, lists of tables or lists of text, as :func:`split` gives them: each with all rows of its units.
    map : callable, optional
        Such as that of ``concurrent.futures.ProcessPoolExecutor`` or ``multiprocessing.Pool``.

    Returns
    -------
    estimator
        Fitted, as if by its own `fit` to all shards together: the same seed gives the same bits.
    """
    parts = list(shards)
    if not parts:
        raise DataError("there are no shards")
    if estimator._takes_steps():
        if len(parts) > 1 and is_path(parts[0]):
            raise SettingsError("steps on this machine take tables, or one path: a folder is all tables in it")
        data = _handed(parts[0] if is_path(parts[0]) else parts)
        trained(estimator, lambda jobs, of: WorkersHere([StepWorker(jobs[0], data)], of), 1, parts)
        return estimator
    numbered = list(enumerate(parts))

    def counted(task: bytes) -> list[bytes]:
        tasks = [(for_shard(task, number), number, data) for number, data in numbered]
        return list(map(partial(_counted, len(parts)), tasks))

    return fitted(estimator, counted, parts[0], parts, len(parts))


def _counted(shards: int, numbered: tuple[bytes, int, Any]) -> bytes:
    task, number, data = numbered
    return count(task, data, number, shards)


def rounds(
    estimator: Estimator, partials: Callable[[bytes], Sequence[bytes]], *, like: Any = None
) -> Estimator:
    """Fit by rounds, counted by whatever gives the partials: plan, count, merge, until there is a model.

    Parameters
    ----------
    estimator : Recommender, Typeahead or WordVectors
        What shall be learned. With a `folder` a driver that died goes on where it was when it is started again.
    partials : callable
        Gives the partials of all shards for a task, joined or not.
    like : optional
        One of the shards, if they are neither tables nor files: only its kind is looked at.

    Returns
    -------
    estimator
        Fitted: the same seed gives the same bits as on one machine.
    """
    return fitted(estimator, partials, like, partials, None)


def unit_of(estimator: PrivateEstimator) -> str:
    """Give the column that names the unit of a row: whose it is, or its text where each is a unit of its own."""
    for name in ("user_column", "text_column"):
        column: str | None = getattr(estimator, name, None)
        if column is not None:
            return column
    raise SettingsError("say whose a row is by `unit`, or by the `user_column` of the estimator")


def fitted(
    estimator: Estimator,
    partials: Callable[[bytes], Sequence[bytes]],
    like: Any,
    source: Any,
    shards: int | None,
) -> Estimator:
    """Fit by rounds, of so many shards where that is known, to data that the user gave as `source`, by which they are known again."""
    if estimator._spends_unseen(estimator._fitting(os.curdir if like is None else like)):
        warn_of_another_fit(type(estimator).__name__, source, estimator.epsilon)
    own = estimator.folder is None
    place = Path(tempfile.mkdtemp(prefix="organza-")) / "run" if own else Path(estimator.folder)
    try:
        beside = f"{place.parent}/" if own else f"{place}."
        task = _planned(estimator, place, like, beside, shards)
        while task is not None:
            task, _ = merge(place, partials(task))
        if not (place / _CERTIFICATE).exists():
            raise RunError(f"the run in {place} ended without a certificate")
        run = Run(place, own=own, notes=[])
        estimator._take(run)
    except BaseException:
        if own:
            shutil.rmtree(place.parent, ignore_errors=True)
        raise
    (place / _PLANNED).unlink(missing_ok=True)
    return estimator
