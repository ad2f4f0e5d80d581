"""A plan: who draws batches, clips, selects, adds noise, moves and pays."""

from __future__ import annotations

import json
import logging
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from organza._again import warn_of_another_fit
from organza._organza import Network
from organza._progress import chosen
from organza._run import Run
from organza.exceptions import DataError, PrivacyWarning, RunError, SettingsError
from organza.ledger import RunLedger, read
from organza.torch import _one_example
from organza.torch._backward import Backward
from organza.torch._data import Batch, Examples, by_unit, fingerprint
from organza.torch._draws import Draws
from organza.torch._model import Dense, check, check_free
from organza.torch._table import Table, reading

#: Gradients of examples by the dense part, and by what was read of tables: which, ids, gradients.
_Found = dict[str, torch.Tensor]
_Noted = list[_one_example.Noted]

_log = logging.getLogger("organza")


class Plan:
    """Private training of a network: embedding tables that Organza keeps, and a dense part that PyTorch keeps.

    It draws the batches (each unit joins with the same probability, alone), clips what a unit contributes over tables and dense
    part together, selects rows if it is asked to, adds noise, moves all parameters, and charges for it.

    Parameters
    ----------
    tables : sequence of Table
        The tables.
    dense : torch.nn.Module, optional
        The rest of the model. Its parameters are moved by the plan alone, with no optimizer of PyTorch.
    units : array-like, optional
        Whose each example is: all that one contributes is protected as one. Without it each example is on its own.
    epsilon, delta : float
        What is promised.
    batch : float, default 256
        The expected number of units in a batch.
    epochs : float, default 10
        How often each unit is seen, in expectation.
    steps : int, optional
        The number of steps, instead of `epochs`.
    clip : float, default 1
        The largest gradient of a unit, in L2, over tables and dense part.
    optimizer : {'sgd', 'adam', 'adagrad'}, default 'sgd'
        How parameters move. With Adam and without selection a step costs as much as all tables: its noise cannot wait.
    learning_rate : float, default 0.1
        The learning rate.
    select : {'exponential', 'uniform', 'sparse-vector', 'noisy-max', 'limited-domain'}, optional
        Select some rows (or coordinates) privately in each step, and add noise to those alone. Without it all get noise: DP-SGD.
        The dense part always gets noise, whatever is selected.
    by : {'row', 'coordinate'}, default 'row'
        What is selected.
    draws : int, optional
        How many are selected; without it `gamma` of all.
    gamma : float, default 0.001
        The part that is selected.
    share : float, default 0.1
        The share of the budget that selection gets.
    score_cap, threshold : float
        The cap on scores, and the threshold of the sparse vector technique.
    second_clip : float, optional
        A clip of what was selected.
    adaptive_clip : float, optional
        The part of the units whose gradients are to be within the clip, which then follows a released quantile from `clip` on.
    average : bool, default False
        Whether the result is the average over the second half of the steps.
    per_unit : int, optional
        At most so many examples of a unit are in a step, drawn anew for each.
    number_of_units : int, optional
        The number of units, if that is public; without it, it is released with a charge.
    noise_multiplier : float, optional
        The noise, instead of `epsilon`, which is then what it costs.
    neighbouring : {'add-remove', 'replace-one'}, default 'add-remove'
        What two neighbouring data sets are.
    unit : str, optional
        What a unit is, in a word, for the certificate: 'user' with `units`, otherwise 'record'.
    backward : bool, default False
        Whether gradients come from ``backward()`` of a loss of the whole batch, which shows its fields then; that this loss is a sum
        over examples which do not reach each other is not checked, and the certificate says so.
    units_at_once : int, optional
        A batch is handed out in parts of at most so many units, and stepped after the last: large batches in bounded memory.
    checkpoints : int, default 20
        How often the run is saved, if it has a `folder`.
    ledger : path-like or ledger, optional
        One budget for all runs on the same data.
    random_state : int, optional
        A seed, which makes the run reproducible and *not private*.
    folder : path-like, optional
        Where the run is written. A run that was killed goes on from there, bit for bit, when the same program runs again.
    threads : int, optional
        How many threads Organza uses; the result is the same with any number.
    progress : bool, optional
        Whether a bar is shown; by default where somebody sees it.

    Examples
    --------
    >>> import torch
    >>> from organza.torch import Plan, Table
    >>> table, head = Table(rows=100, dim=4), torch.nn.Linear(4, 1)
    >>> data = {"ids": torch.randint(0, 100, (200, 3)), "y": torch.rand(200)}
    >>> users = torch.arange(200) // 2
    >>> plan = Plan([table], dense=head, units=users, epsilon=2.0, delta=1e-6, batch=20, steps=5)
    >>> for batch in plan.batches(data):
    ...     plan.step(batch, lambda one: (head(table.bag(one.ids)).squeeze(-1) - one.y) ** 2)
    >>> plan.certificate()["unit"], plan.private
    ('user', True)
    """

    def __init__(
        self,
        tables: Sequence[Table],
        *,
        dense: nn.Module | None = None,
        units: Any = None,
        epsilon: float | None = 3.0,
        delta: float = 1e-6,
        batch: float = 256,
        epochs: float = 10,
        steps: int | None = None,
        clip: float = 1.0,
        optimizer: str = "sgd",
        learning_rate: float = 0.1,
        select: str | None = None,
        by: str = "row",
        draws: int | None = None,
        gamma: float = 0.001,
        share: float = 0.1,
        score_cap: float = 0.1,
        threshold: float = 0.5,
        second_clip: float | None = None,
        adaptive_clip: float | None = None,
        average: bool = False,
        per_unit: int | None = None,
        number_of_units: int | None = None,
        noise_multiplier: float | None = None,
        neighbouring: str = "add-remove",
        unit: str | None = None,
        backward: bool = False,
        units_at_once: int | None = None,
        checkpoints: int = 20,
        ledger: Any = None,
        random_state: int | None = None,
        folder: str | os.PathLike[str] | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        self.tables = list(tables)
        self.dense = nn.Module() if dense is None else dense
        if units_at_once is not None and units_at_once < 1:
            raise SettingsError(f"`units_at_once` is {units_at_once}, but must be at least 1")
        self._units = units
        self._at_once = units_at_once or 2**62
        self._folder = folder
        self._threads = threads
        self._progress = progress
        self._network: Network | None = None
        self._run: Run | None = None
        self._examples: Examples | None = None
        self._open: Batch | None = None
        self._seed = 0
        self._draws = Draws()
        self._reads: _one_example.Reads | None = None
        self._each: _one_example.OneByOne | None = None
        check(self.tables, self.dense)
        self._values = Dense(self.dense)
        if units is None and unit in ("user", "group"):
            raise SettingsError(
                f"`unit` is {unit!r}, but without `units` each example is protected on its own, whoever has several: say whose each "
                "example is"
            )
        self._backward = Backward(self.dense, used=backward)
        names = [table.name or f"table{number or ''}" for number, table in enumerate(self.tables)]
        dataset = None
        if hasattr(ledger, "path"):
            ledger, dataset = ledger.path, getattr(ledger, "name", None)
        self._settings: dict[str, Any] = {
            "epsilon": None if noise_multiplier is not None else epsilon,
            "delta": delta,
            "noise_multiplier": noise_multiplier,
            "unit": unit or ("record" if units is None else "user"),
            "neighbouring": neighbouring,
            "number_of_units": number_of_units,
            "per_unit": per_unit,
            "one_at_a_time": not backward,
            "batch": float(batch),
            "epochs": float(epochs),
            "steps": steps,
            "clip": clip,
            "second_clip": second_clip,
            "adaptive_clip": adaptive_clip,
            "optimizer": optimizer,
            "learning_rate": learning_rate,
            "average": average,
            "select": select,
            "by": by,
            "draws": draws,
            "gamma": gamma,
            "share": share,
            "score_cap": score_cap,
            "threshold": threshold,
            "checkpoints": checkpoints,
            "seed": random_state,
            "ledger": None if ledger is None else os.fspath(ledger),
            "dataset": dataset,
            "tables": [
                {"name": name, "rows": it.rows, "dimensions": it.dim, "deviation": it.deviation}
                for name, it in zip(names, self.tables)
            ],
            "dense": [
                {"name": f"dense.{name}", "shape": list(value.shape)}
                for name, value in self._values.live.items()
            ],
        }

    def batches(self, data: Any) -> Iterator[Batch]:
        """Draw the batches of all steps that are left, and step those that nobody joined.

        Parameters
        ----------
        data : dict or tuple of tensors, TensorDataset, or data set with ``__getitem__`` and ``__len__``
            All examples. Only the plan takes from it: who is in a batch is drawn by chance.

        Yields
        ------
        Batch
            What :meth:`step` takes, each once. With `backward` it has the fields of the examples, as ``batch.ids`` or
            ``batch["ids"]`` for a dictionary, ``batch[0]`` for a tuple.
        """
        if self._run is not None:
            raise RunError("the run is finished: make a new plan for another")
        if self._network is None:
            self._begin(data)
        elif self._examples is None or self._examples.source is not data:
            raise DataError("these are not the data that the run has begun with")
        bar, _ = chosen(self._progress)
        try:
            while (batch := self._draw()) is not None:
                if bar is not None and self._network is not None:
                    done, steps = self._network.steps()
                    bar("training", done / steps, None)
                yield batch
                if self._open is batch:
                    raise RunError(
                        "a batch was drawn and not stepped: call `plan.step(batch)` once for each, also where there is little to "
                        "learn"
                    )
        finally:
            # Also where the loop was left: nobody listens to what a program does after it.
            self._backward.end()
            self._draws.give_back()
            if bar is not None:
                bar.close()
        self._finish()

    def _begin(self, data: Any) -> None:
        self._examples = examples = Examples(data)
        order, ends = by_unit(self._units, len(examples))
        if self._settings["seed"] is not None:
            warnings.warn("this run is NOT private: a seed can be repeated", PrivacyWarning, stacklevel=4)
        elif self._settings["ledger"] is None and self._settings["epsilon"] is not None:
            warn_of_another_fit("Plan", examples.known_by(), self._settings["epsilon"])
        own = self._folder is None
        place = Path(tempfile.mkdtemp(prefix="organza-")) / "run" if own else Path(str(self._folder))
        check_free(self.tables)
        self._values.begin()
        self._network = Network(
            json.dumps(self._settings),
            order,
            ends,
            fingerprint(examples.fingerprint(order, ends), self._values.kept),
            [None if it._values is None else it._values.numpy() for it in self.tables],
            self._values.first(),
            str(place),
            not own,
            self._threads,
        )
        self._place = place
        for number, table in enumerate(self.tables):
            table._plan, table._number, table._values = self, number, None
        self._values.take(self._network.dense())

    def _draw(self) -> Batch | None:
        """Give the part of a batch that waits for gradients, of those that have examples."""
        while True:
            network = self._running()
            drawn = network.draw(self._at_once)
            if drawn is None:
                return None
            numbers, ends, self._seed = drawn
            if len(numbers):
                assert self._examples is not None
                shown = self._backward.used
                self._open = Batch(self._examples.take(numbers), ends, len(numbers), shown=shown)
                self._backward.begin(len(numbers))
                if shown:
                    self._draws.lend(self._seed)
                return self._open
            self._hand_over([], [torch.zeros(0) for _ in self._values.live])

    def step(self, batch: Batch, loss: Callable[..., torch.Tensor] | None = None) -> None:
        """Clip the gradients of the units of a batch, select, add noise, move.

        Parameters
        ----------
        batch : Batch
            The batch that :meth:`batches` has given last.
        loss : callable, optional
            Computes the loss of *one* example from its fields: ``loss(example)`` for a dictionary, ``loss(*fields)`` for a tuple.
            Examples cannot reach each other in it, which the certificate then says. With `backward` it may be left out, and
            ``backward()`` of the sum of the losses of the batch has to have been called before.
        """
        self._running()
        if batch is not self._open:
            raise RunError("this batch does not wait for a step: it was stepped before, or the plan did not draw it")
        # A loss of one example reads what the plan keeps, whatever the module holds.
        self._values.check(values=self._backward.used)
        if loss is None and not self._backward.used:
            raise RunError(
                "`plan.step(batch)` needs the loss of one example: `plan.step(batch, loss)`. To call `backward()` on losses of "
                "the whole batch instead, make the plan with `backward=True`"
            )
        if loss is not None:
            found, noted = self._one_by_one(batch, loss)
        else:
            found, noted = self._by_backward()
        lookups = [_lookup(it, batch._length, self.tables[it.table].dim) for it in noted]
        self._hand_over(lookups, [found[f"dense.{name}"] for name in self._values.live])

    def _one_by_one(self, batch: Batch, loss: Callable[..., torch.Tensor]) -> tuple[_Found, _Noted]:
        """Compute the gradient of each example where no other is within reach."""
        self._backward.end()
        each = self._each
        if each is None or not each.is_of(loss, batch._fields):
            each = self._each = _one_example.OneByOne(self.dense, loss, type(batch._fields))
        reads = self._reads = _one_example.Reads()
        # What a layer draws, as dropout does, is drawn again where a step is made again, and from a state that only the run
        # knows: a unit more moves the draws of all others by a place.
        self._draws.lend(self._seed)
        reading.add(self)
        try:
            found = each.gradients(self._values.trained, self._values.kept, batch._fields, reads)
        finally:
            self._reads = None
            reading.discard(self)
            self._draws.give_back()
        return found, reads.noted

    def _by_backward(self) -> tuple[_Found, _Noted]:
        """Take what one ``backward()`` has shown."""
        self._backward.check()
        noted = self._backward.noted()
        if not noted and all(value.grad is None for value in self._values.live.values()):
            raise RunError("nothing has a gradient: call `loss.backward()` before `plan.step(batch)`")
        found = self._backward.gradients(self._values.live)
        return {f"dense.{name}": values for name, values in found.items()}, noted

    def _hand_over(self, lookups: list[Any], dense: list[torch.Tensor]) -> None:
        network = self._running()
        values = [it.detach().cpu().to(torch.float32).contiguous().reshape(-1).numpy() for it in dense]
        try:
            moved = network.add(lookups, values)
        finally:
            self._open = None
            self._backward.end()
            self._draws.give_back()
        if moved is not None:
            self._values.take(moved)

    def _read(self, table: Table, ids: torch.Tensor, pool: _one_example.Pool) -> torch.Tensor:
        """Give rows of a table of this plan, or what they are put together to."""
        if self._reads is not None:

            def gather(ids: torch.Tensor) -> torch.Tensor:
                return self._gather(table, ids, pool)

            return _one_example.read(self._reads, table._number, gather, ids, pool)
        if not torch.is_grad_enabled():
            return self._gather(table, ids, pool)
        if not self._backward.listens:
            raise RunError(
                "a table was read outside of a batch of its plan, or after the loop over `plan.batches(data)` was left, while it is "
                "trained: what is read so gets no gradient. Read it in the loss of one example; to look at the model on the way, "
                "read it under `torch.no_grad()`"
            )
        return self._backward.read(table._number, ids, self._gather(table, ids, pool), pool)

    def _gather(self, table: Table, ids: torch.Tensor, pool: _one_example.Pool) -> torch.Tensor:
        flat = ids.detach().cpu().to(torch.int64).reshape(-1).contiguous()
        values = self._running().read(table._number, flat.numpy(), table.dim, _of_bag(ids, pool))
        shape = ids.shape if pool is None else ids.shape[:-1]
        return torch.from_numpy(values).reshape(*shape, table.dim).to(ids.device)

    def _running(self) -> Network:
        if self._network is None:
            raise RunError(
                "the run is finished" if self._run is not None else "nothing is drawn yet: call `plan.batches(data)` first"
            )
        return self._network

    def _finish(self) -> None:
        """End a run whose steps are all made."""
        if self._network is None:
            return
        parameters, notes = self._network.finish()
        start = 0
        for table in self.tables:
            end = start + table.rows * table.dim
            table._values = torch.from_numpy(parameters[start:end].copy()).reshape(table.rows, table.dim)
            start = end
        self._values.take(parameters[start:].copy())
        self._network = None
        self._run = Run(self._place, own=self._folder is None, notes=notes)
        for note in notes:
            _log.info("%s (not private)", note)

    def record(self, *, train: float = float("nan"), validation: float = float("nan"), test: float = float("nan")) -> None:
        """Put losses on the learning curve of the page. *Not private* where they come from the data."""
        self._running().record(train, validation, test)

    @property
    def steps(self) -> tuple[int, int]:
        """The steps that were made, and those that there are; after :meth:`batches` has begun."""
        return self._running().steps()

    @property
    def noise_multiplier(self) -> float:
        """The deviation of the noise over the clip; after :meth:`batches` has begun."""
        return self._running().noise()[0]

    def _finished(self) -> Run:
        if self._run is None:
            done, steps = self._running().steps()
            raise RunError(f"{steps - done} steps are left of {steps}: the certificate is for all of them")
        return self._run

    def certificate(self) -> dict[str, Any]:
        """Give what is promised, under which conditions, and what it was spent on; after the last step."""
        return self._finished().certificate

    def ledger(self) -> RunLedger:
        """Give what was charged, in its order."""
        return read(self._finished().folder)

    def report(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Write the page of the run, beside its files or to `path`."""
        return self._finished().report(None if path is None else Path(path))

    @property
    def notes(self) -> list[str]:
        """What is to be said about the data, such as numbers of rows that no table has. *Not private.*"""
        return list(self._finished().notes)

    @property
    def private(self) -> bool:
        """Whether there is a promise at all: with a seed there is none."""
        return bool(self.certificate()["private"])

    @property
    def folder(self) -> Path:
        """The folder of the finished run."""
        return self._finished().folder

    def _repr_html_(self) -> str:
        return f"<pre>{self!r}</pre>" if self._run is None else self._run.card()


def _of_bag(ids: torch.Tensor, pool: _one_example.Pool) -> tuple[int, bool] | None:
    """Give how rows are put together, as the engine takes it."""
    return None if pool is None else (ids.shape[-1], pool == "mean")


def _lookup(noted: _one_example.Noted, examples: int, dim: int) -> tuple[Any, ...]:
    """Give rows and gradients as the engine takes them: the table, rows an example, rows, values, how they are put together."""
    table, ids, gradient, pool = noted
    rows = ids.detach().cpu().to(torch.int64).reshape(-1).contiguous()
    values = gradient.detach().cpu().to(torch.float32).reshape(-1, dim).contiguous()
    return table, rows.numel() // examples, rows.numpy(), values.numpy(), _of_bag(ids, pool)
