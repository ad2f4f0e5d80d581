"""On a cluster of Ray: shards and partials in its object store, counting and joining as tasks.

    import organza, ray
    from organza.distributed.ray import fit

    events = ray.data.read_parquet("s3://shop/events")
    recommender = fit(organza.Recommender(user_column="customer", item_column="article"), events, shards=64)

Tasks are repeated where a worker or a node dies, which changes no bit. Partials are joined by a tree of tasks, and only the last of
them come to the driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import ray

from organza import _organza
from organza._data import first_of, is_path, is_table
from organza._estimator import PrivateEstimator
from organza.distributed._rounds import (
    _handed,
    count,
    fitted,
    for_shard,
    join,
    shards_of_begun,
    unit_of,
)
from organza.distributed._shards import split_by
from organza.distributed._steps import Answer, HoldersLostError, StepWorker, trained
from organza.exceptions import DataError, RunError, SettingsError

__all__ = ["fit"]

Estimator = TypeVar("Estimator", bound=PrivateEstimator)

#: Options of actors, unless the user gives others.
_ACTOR = {"num_cpus": 1, "scheduling_strategy": "SPREAD"}
#: An actor that dies so often before it has answered will not do better.
_MOST_STARTS = 50
#: And one that dies so often in a run.
_MOST_RESTARTS = 10_000


def fit(
    estimator: Estimator,
    data: Any,
    *,
    shards: int | None = None,
    unit: str | None = None,
    fan_in: int = 8,
    retries: int = 20,
    options: dict[str, Any] | None = None,
    holders: int | None = None,
) -> Estimator:
    """Fit on the cluster that this process is connected to, or on this machine.

    Parameters
    ----------
    estimator : Recommender, Typeahead, WordVectors or ClickModel
        What shall be learned; a click model by counts, as tasks, or by steps, whose gradients are computed by actors. Its `folder` is on the machine of the driver; with one, a driver that died goes on where it was
        when it is started again.
    data : ray.data.Dataset, or iterable of paths, tables or references to them
        A data set is split by its units. So is an iterable if `unit` is given; otherwise its members are the shards, as
        :func:`organza.distributed.split` gives them.
    shards : int, optional
        How many shards a data set is split into, or how many actors there are: as many as it has blocks, unless you say so. A run that goes on
        keeps the number that it was begun with.
    unit : str, optional
        The column that names the unit of a row: the `user_column` of the estimator, unless you say so.
    fan_in : int, default=8
        How many partials are joined by a task, and come to the driver at most.
    retries : int, default=20
        How often a task is repeated whose worker died.
    options : dict, optional
        Options of Ray for every task, such as ``{"num_cpus": 2}``.
    holders : int, optional
        How many actors keep the tables of a model that is learned by steps, each a range of the rows with the keys of the noise on them; they
        get `options` as well. Unless you say so, the driver keeps all. Tables of fewer than 1,024 rows for each have fewer holders.

    Returns
    -------
    estimator
        Fitted: the same seed gives the same bits on any number of workers. What is released once has those of an ordinary fit.
    """
    if holders is not None and (holders < 1 or not estimator._takes_steps()):
        raise SettingsError("`holders` is a number of actors, for a model that is learned by steps")
    if fan_in < 2:
        raise SettingsError(f"`fan_in` is {fan_in}, but must be 2 or more")
    if not ray.is_initialized():
        ray.init()
    every = {"max_retries": retries, "num_cpus": 1, **(options or {})}
    is_dataset = hasattr(data, "to_arrow_refs")
    parts = data.to_arrow_refs() if is_dataset else list(data)
    own = unit or unit_of(estimator) if is_dataset or estimator._takes_steps() else unit
    if not parts:
        raise DataError("there are no shards")
    like: Any = None
    if own is not None:
        if estimator._takes_steps():
            count = shards or len(parts)
            by_worker = _pieces(parts, own, count, every, _organza.worker_of)
            remote = holders is not None
            holding: Any = (lambda jobs: HoldersOfRay(jobs, options)), holders
            trained(
                estimator,
                lambda jobs, of: ActorsOfRay(jobs, by_worker, options, of, remote),
                count,
                data,
                holding if remote else None,
            )
            return estimator
        # A data set may have other blocks when a driver is started again.
        of = shards or shards_of_begun(estimator) or len(parts)
        pieces = _pieces(parts, own, of, every, _organza.shard_of)
        like = ray.get(ray.remote(_head).options(**every).remote(pieces[0][0]))
    elif shards is not None:
        raise SettingsError("`shards` is for what is split: name the column of the units by `unit`")
    else:
        pieces = [[part] for part in parts]
        like = parts[0]
        if isinstance(like, ray.ObjectRef):
            # The driver has the key of the noise, and sees no rows.
            like = ray.get(ray.remote(_head).options(**every).remote(like))
    counting = ray.remote(_count).options(**every)
    joining = ray.remote(_join).options(**every)

    def counted(task: bytes) -> list[bytes]:
        partials = [
            counting.remote(for_shard(task, number), number, len(pieces), *piece)
            for number, piece in enumerate(pieces)
        ]
        while len(partials) > fan_in:
            groups = [partials[at : at + fan_in] for at in range(0, len(partials), fan_in)]
            partials = [joining.remote(*group) for group in groups]
        found: list[bytes] = ray.get(partials)
        return found

    return fitted(estimator, counted, like, data, len(pieces))


class ActorsOfRay:
    """Actors of Ray that compute the parts of steps, spread over the nodes.

    An actor that dies is started again by Ray, with its rows from the object store. It has no job then, and says so: jobs, which hold
    keys, are sent by a call that Ray does not repeat. It is told again what it was told last; a step takes the part of each bucket once.
    """

    def __init__(
        self,
        jobs: Sequence[bytes],
        pieces: Sequence[Sequence[Any]],
        options: dict[str, Any] | None,
        holders: int,
        remote: bool,
    ) -> None:
        always = {"max_restarts": _MOST_RESTARTS, "max_task_retries": -1}
        actor = ray.remote(_Actor).options(**{**_ACTOR, **(options or {}), **always})
        self._actors = [actor.remote(*own) for own in pieces]
        # Kept, so that an actor that is started again finds its rows.
        self._pieces, self._jobs = pieces, jobs
        # Whether rows and parts go from actor to actor, and not through the driver.
        self._holders, self._remote = holders, remote
        self._asked: dict[Any, tuple[int, bytes, Sequence[Any] | None, list[Any]]] = {}
        self._begun: dict[int, Any] = {}
        self._starts = [0] * len(jobs)

    def tell(self, number: int, order: bytes, rows: Sequence[Any] | None) -> None:
        """Have an actor answer."""
        answer = self._actors[number].answer.options(num_returns=1 + self._holders)
        head, *parts = answer.remote(order, self._holders, rows is not None, *(rows or ()))
        self._asked[head] = (number, order, rows, parts)

    def answer(self) -> tuple[int, Answer]:
        """Wait for the first answer."""
        while True:
            [first], _ = ray.wait(list(self._asked), num_returns=1)
            number, order, rows, parts = self._asked.pop(first)
            told: Sequence[Any] = parts
            with _holders_may_be_lost(self._remote):
                begun, asks = ray.get(first)
                if begun and asks is None and not self._remote:
                    told = ray.get(parts)
            # A part that was lost on its way was made again by an actor that may have no job any more.
            if begun and (asks is not None or self._remote or all(told)):
                self._starts[number] = 0
                return number, (asks, [] if asks is not None else told)
            if number in self._begun:
                with suppress(ray.exceptions.RayActorError):
                    # It failed, or the actor was started again since, perhaps while it began.
                    ray.get(self._begun[number])
            self._starts[number] += 1
            if self._starts[number] > _MOST_STARTS:
                raise RunError(f"actor {number} died {_MOST_STARTS} times before its part was done: it may need more memory")
            begin = self._actors[number].begin.options(max_task_retries=0)
            self._begun[number] = begin.remote(self._jobs[number])
            self.tell(number, order, rows)

    def forget(self) -> None:
        """Wait for none of the answers that are still to come."""
        self._asked.clear()


@contextmanager
def _holders_may_be_lost(remote: bool) -> Iterator[None]:
    """Say so if it was a holder that died: workers are started again by Ray, and fail for other reasons alone."""
    try:
        yield
    except (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError, _PartLostError) as error:
        if remote:
            raise HoldersLostError from error
        raise


class _PartLostError(Exception):
    """A part was lost on its way, and made again by an actor that had no job any more."""


class HoldersOfRay:
    """Actors of Ray that keep rows of the tables, with the keys of the noise on them.

    One that dies takes the steps since the last checkpoint with it: it is not started again, and all begin there again.
    """

    def __init__(self, jobs: Iterable[tuple[bytes, bytes]], options: dict[str, Any] | None) -> None:
        always = {"max_restarts": 0, "max_task_retries": 0}
        actor = ray.remote(_Holder).options(**{**_ACTOR, **(options or {}), **always})
        self._actors: list[Any] = []
        try:
            with _holders_may_be_lost(True):
                for job, rows in jobs:
                    self._actors.append(actor.remote())
                    # Jobs hold keys: they are sent by a call of their own, which nobody repeats.
                    ray.get(self._actors[-1].begin.remote(job, rows))
        except BaseException:
            self.end()
            raise
        self.count = len(self._actors)

    def tell(self, number: int, message: Any) -> Any:
        """Tell an actor something; give a reference to its answer."""
        return self._actors[number].answer.remote(message)

    def read(self, answer: Any) -> bytes:
        """Wait for an answer."""
        with _holders_may_be_lost(True):
            found: bytes = ray.get(answer)
            return found

    def end(self) -> None:
        """End all actors."""
        for actor in self._actors:
            ray.kill(actor)


class _Holder:
    """The rows of a job."""

    def begin(self, job: bytes, rows: bytes) -> None:
        """Take a job."""
        self._holder = _organza.RowHolder(job, rows, 1)

    def answer(self, message: bytes) -> bytes:
        """Answer a message."""
        if not message:
            raise _PartLostError
        return self._holder.answer(message)


class _Actor:
    """A worker, on the rows of its units."""

    def __init__(self, *pieces: Any) -> None:
        self._pieces = _flat(pieces)
        self._worker: StepWorker | None = None

    def begin(self, job: bytes) -> None:
        """Take a job, once."""
        self._worker = self._worker or StepWorker(job, _handed(self._pieces), threads=1)

    def answer(self, order: bytes, holders: int, has_rows: bool, *rows: bytes) -> Any:
        """Answer an order, or rows that were asked for: whether it has a job, what it asks for, and what each holder is told."""
        if self._worker is None:
            return [(False, None), *[b""] * holders]
        asks, parts = self._worker.answer(order, rows if has_rows else None, holders)
        return [(True, asks), *(parts or [b""] * holders)]


def _pieces(
    parts: Sequence[Any],
    unit: str,
    shards: int,
    every: dict[str, Any],
    place_of: Callable[[list[str], int], list[int]],
) -> list[list[Any]]:
    """Give references to what each shard consists of."""
    splitting = ray.remote(_split).options(num_returns=shards, **every)
    split_parts: list[Any] = [splitting.remote(part, unit, shards, place_of) for part in parts]
    if shards == 1:
        split_parts = [[part] for part in split_parts]
    return [[part[number] for part in split_parts] for number in range(shards)]


def _split(
    part: Any, unit: str, shards: int, place_of: Callable[[list[str], int], list[int]]
) -> Any:
    """Split a part of the data by units."""
    tables = split_by(_table(part), unit, shards, place_of)
    return tables[0] if shards == 1 else tuple(tables)


def _table(part: Any) -> Any:
    """Give a table of pyarrow for what is one, or names one."""
    import pyarrow as pa
    import pyarrow.dataset

    if is_path(part):
        return pyarrow.dataset.dataset(part).to_table()
    return part if isinstance(part, pa.Table) else pa.table(part)


def _head(part: Any) -> Any:
    """Give what is of the same kind, without rows: what a driver looks at holds no data."""
    if is_path(part):
        return part
    if is_table(part):
        return _table(part).slice(0, 0)
    first, _ = first_of(part)
    return [_table(first).slice(0, 0)] if is_table(first) else []


def _count(task: bytes, number: int, shards: int, *pieces: Any) -> bytes:
    """Count a shard that consists of pieces."""
    return count(task, pieces[0] if len(pieces) == 1 else _flat(pieces), number, shards)


def _flat(pieces: Iterable[Any]) -> list[Any]:
    return [piece for piece in pieces if len(piece)] or list(pieces)[:1]


def _join(*partials: bytes) -> bytes:
    """Join partials."""
    return join(partials)
