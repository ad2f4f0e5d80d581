"""Executes the notebooks, and fails if one has an error or takes too long.

Run it by ``python notebooks/run.py``, with names of notebooks to run only those; it needs
``pip install nbclient ipykernel scikit-learn scipy pandas matplotlib``. What they print is not kept,
unless ``--keep FOLDER`` says where.
"""

from __future__ import annotations

import argparse
import sys
from importlib import import_module
from pathlib import Path
from time import perf_counter

#: Seconds that a notebook may take.
MOST = 45.0


def main() -> int:
    folder = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="notebooks, all by default")
    parser.add_argument("--keep", type=Path, help="a folder for the executed notebooks")
    asked = parser.parse_args()
    nbformat, nbclient = import_module("nbformat"), import_module("nbclient")
    failed = []
    for path in sorted(folder.glob("*.ipynb")):
        if asked.names and path.stem not in [Path(name).stem for name in asked.names]:
            continue
        book = nbformat.read(path, as_version=4)
        if any(cell.get("outputs") for cell in book.cells):
            failed.append(f"{path.name} is stored with outputs: clear them")
        # A cell that hangs must end, too.
        client = nbclient.NotebookClient(
            book, timeout=2 * MOST, resources={"metadata": {"path": str(folder)}}
        )
        start = perf_counter()
        try:
            client.execute()
        except (nbclient.exceptions.CellExecutionError, nbclient.exceptions.CellTimeoutError) as error:
            failed.append(f"{path.name}: {error}")
        seconds = perf_counter() - start
        print(f"{path.name}: {seconds:.1f} s", flush=True)
        if seconds > MOST:
            failed.append(f"{path.name} took {seconds:.1f} s, but at most {MOST:g} s are allowed")
        if asked.keep is not None:
            asked.keep.mkdir(parents=True, exist_ok=True)
            nbformat.write(book, asked.keep / path.name)
    for reason in failed:
        print(reason, file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
