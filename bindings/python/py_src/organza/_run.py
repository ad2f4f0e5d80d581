"""A run: the folder that a fit wrote, as the command line tool writes it."""

from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from organza import _organza
from organza._flags import flags
from organza._organza import Data
from organza._progress import chosen
from organza.exceptions import RunError

_log = logging.getLogger("organza")

#: What is not private, and hence in no pickle.
_NOT_PRIVATE = ("summary.json", "metrics.jsonl", "outcome.json", "report.html")


class Run:
    """The folder of a finished run.

    A pickle of it holds what was released and the promise about it: neither data, nor the key of the noise, nor
    what is not private.
    """

    def __init__(self, folder: Path, *, own: bool, notes: list[str]) -> None:
        self.folder = folder
        self.notes = notes
        #: Whether somebody wanted to stop the run when it was too late.
        self.interrupted = False
        self._own = own
        if own:
            weakref.finalize(self, _removed, folder.parent, os.getpid())

    def json(self, name: str) -> Any:
        """Read a file of the run."""
        try:
            return json.loads((self.folder / name).read_bytes())
        except FileNotFoundError:
            raise RunError(f"the run has no {name} any more") from None

    @property
    def certificate(self) -> dict[str, Any]:
        """What is promised."""
        certificate: dict[str, Any] = self.json("certificate.json")
        return certificate

    @property
    def summary(self) -> dict[str, Any]:
        """What came of it, part of which is not private; empty where it was left out of a pickle."""
        if not (self.folder / "summary.json").exists():
            return {}
        summary: dict[str, Any] = self.json("summary.json")
        return summary

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The learning curve. *Not private.*"""
        return self.lines("metrics.jsonl")

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Read the lines of a file of the run; there are none if there is no such file."""
        path = self.folder / name
        if not path.exists():
            return []
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

    def report(self, path: Path | None) -> Path:
        """Write the page of the run, beside its files or to `path`."""
        _organza.run(["report", str(self.folder)])
        page = self.folder / "report.html"
        if path is None:
            return page
        if path.is_dir():
            path = path / "report.html"
        shutil.copyfile(page, path)
        return path

    def card(self) -> str:
        """Give the head of the page for a notebook."""
        return _organza.card(str(self.folder))

    def __getstate__(self) -> dict[str, Any]:
        files = {
            path.name: path.read_bytes()
            for path in sorted(self.folder.iterdir())
            if path.is_file() and path.name not in _NOT_PRIVATE
        }
        # Notes may be about the data, such as how many gradients were no numbers.
        return {"files": files}

    def __setstate__(self, state: dict[str, Any]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="organza-")) / "run"
        folder.mkdir()
        for name, content in state["files"].items():
            (folder / Path(name).name).write_bytes(content)
        Run.__init__(self, folder, own=True, notes=[])


def _removed(place: Path, process: int) -> None:
    """Take away a place that this process has made, and not the one that it was forked from."""
    if os.getpid() == process:
        shutil.rmtree(place, ignore_errors=True)


def fit(
    command: str,
    options: Mapping[str, Any],
    data: Data | None,
    *,
    folder: Any,
    threads: int | None,
    progress: bool | None,
) -> Run:
    """Run a command that fits, and give what it wrote.

    With a `folder` a run that was stopped goes on when it is fitted again with the same settings and data. Without one it
    is written to a place of its own, without the key of its noise, and goes with the last reference to it.
    """
    own = folder is None
    place = Path(tempfile.mkdtemp(prefix="organza-")) / "run" if own else Path(folder)
    bar, words = chosen(progress)
    try:
        notes, _, interrupted = _organza.run(
            [command, *flags({**options, "threads": threads, "out": str(place)}), *words],
            data,
            bar,
            not own,
        )
    except BaseException:
        if own:
            shutil.rmtree(place.parent, ignore_errors=True)
        raise
    finally:
        if bar is not None:
            bar.close()
    for note in notes:
        _log.info("%s (not private)", note)
    run = Run(place, own=own, notes=notes)
    run.interrupted = interrupted
    return run
