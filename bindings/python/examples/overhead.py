"""What Python costs beside the command line: the same fit by both, on the same files.

    python overhead.py events.csv user item lines.txt

Prints the median of several fits: by the tool that comes with the package, from a path, and from memory.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix

from organza import Recommender, WordVectors

FITS = 5


def median(fit: Callable[[Path], object]) -> float:
    """Give the median of the seconds that a fit takes."""
    times = []
    for _ in range(FITS):
        with tempfile.TemporaryDirectory() as place:
            begun = time.perf_counter()
            fit(Path(place) / "run")
            times.append(time.perf_counter() - begun)
    return statistics.median(times)


def tool(*words: str) -> Callable[[Path], object]:
    """Fit by the command line."""
    organza = str(Path(sys.executable).with_name("organza"))
    return lambda out: subprocess.run(
        [organza, *words, "--seed", "1", "--out", str(out)], check=True, capture_output=True
    )


def main(events: str, user: str, item: str, lines: str) -> None:
    """Print a table."""
    frame = pd.read_csv(events, usecols=[user, item])
    rows, columns = pd.factorize(frame[user])[0], pd.factorize(frame[item])[0]
    matrix = csr_matrix((np.ones(len(frame), dtype=np.float32), (rows, columns)))
    text = Path(lines).read_text(encoding="utf-8").splitlines()
    named: dict[str, Any] = {"user_column": user, "item_column": item, "random_state": 1}
    print(f"{'fit':<44}{'seconds':>8}")
    for name, fit in [
        (
            "recommender, command line",
            tool("recommender", "--data", events, "--user-column", user, "--item-column", item),
        ),
        ("recommender, path", lambda out: Recommender(**named, folder=out).fit(events)),
        ("recommender, data frame", lambda out: Recommender(**named, folder=out).fit(frame)),
        (
            "recommender, CSR (items declared)",
            lambda out: Recommender(random_state=1, folder=out).fit(matrix),
        ),
        ("words, command line", tool("train", "--data", lines)),
        ("words, path", lambda out: WordVectors(random_state=1, folder=out).fit(lines)),
        ("words, list of lines", lambda out: WordVectors(random_state=1, folder=out).fit(text)),
    ]:
        print(f"{name:<44}{median(fit):>8.2f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
