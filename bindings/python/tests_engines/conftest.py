"""One fit of each kind on one machine, which all others have to equal, and clusters."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from made_up import data, estimator, left

#: Of a recommender, a typeahead with private and one with declared words, word embeddings from counts, and a click model from counts.
NAMES = ("recommender", "typeahead", "completions", "words", "clicks")


@pytest.fixture(scope="session")
def alone() -> dict[str, dict[str, bytes]]:
    """What an ordinary fit releases, made when it is asked for."""

    class Alone(dict[str, dict[str, bytes]]):
        def __missing__(self, name: str) -> dict[str, bytes]:
            self[name] = left(estimator(name).fit(data(name)))
            return self[name]

    return Alone()


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark on this machine."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable

    builder = SparkSession.builder.master("local[2,4]").appName("organza")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.driver.memory": "1g",
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    yield session
    session.stop()
