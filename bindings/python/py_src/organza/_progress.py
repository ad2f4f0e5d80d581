"""What a run is at: by tqdm if it is there, otherwise by the tool's own bar."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

#: Who is told what a run is at: the stage, the part that is done, and how many there are of what.
Tell = Callable[[str, "float | None", "tuple[int, str] | None"], None]


class Bar:
    """A bar of tqdm, which shows the stage that a run is at. *Not private*: it follows the data."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm

        self._make: Any = tqdm
        self._bar: Any = None
        self._stage = ""

    def __call__(self, stage: str, part: float | None, of: tuple[int, str] | None) -> None:
        """Show what the run is at."""
        if stage != self._stage or self._bar is None:
            self.close()
            self._stage = stage
            self._bar = self._make(total=None if part is None else 1.0, desc=stage, leave=False)
            if part is not None:
                self._bar.bar_format = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        if part is not None:
            self._bar.n = part
        self._bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def chosen(progress: bool | None) -> tuple[Bar | None, list[str]]:
    """Give who is told, and the flag for the tool, for what a user asked for.

    Without a wish a bar is shown where somebody sees it: in a notebook, or on a terminal.
    """
    notebook = "ipykernel" in sys.modules
    seen = notebook or (sys.stderr is not None and sys.stderr.isatty())
    if progress is False or (progress is None and not seen):
        return None, ["--progress=none"]
    if importlib.util.find_spec("tqdm") is not None:
        return Bar(), ["--progress=none"]
    return None, ["--progress=auto"]
