"""The commands of the guide work as they stand; what it says in Python is a test of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

GUIDE = Path(__file__).parents[3] / "docs" / "guide" / "distributed.md"


def test_every_command_of_the_guide(tmp_path: Path) -> None:
    """From a CSV to recommendations, in the order of the guide, in an empty folder with this CSV."""
    tastes = [["tent", "map", "rucksack", "stove"], ["novel", "lamp", "armchair", "blanket"]]
    rows = [f"c{n},{tastes[n % 2][(n // 2 + step) % 4]}\n" for n in range(4000) for step in (0, 1, 2)]
    (tmp_path / "events.csv").write_text("customer,article\n" + "".join(rows))
    blocks = re.findall(r"^```sh\n(.*?)^```", GUIDE.read_text(), flags=re.M | re.S)
    assert len(blocks) >= 3
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    said = ""
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        said += done.stdout
    assert "rucksack" in said and "stove" in said
    certificate = json.loads((tmp_path / "run" / "certificate.json").read_text())
    assert certificate["private"] and certificate["epsilon"] <= 3.0
    # Nothing is left of partials and tasks.
    assert not list(tmp_path.glob("part-*")) and not (tmp_path / "run" / "task").exists()
    assert not (tmp_path / "run" / "private").exists()
    assert len(list(tmp_path.glob("shard-*.csv"))) == 3
