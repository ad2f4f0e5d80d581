"""One fit of each kind on one machine, which all others have to equal, and clusters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from made_up import data, estimator, left

NAMES = ("recommender", "typeahead", "words")


@pytest.fixture(scope="session")
def alone() -> dict[str, dict[str, bytes]]:
    """What an ordinary fit leaves."""
    return {name: left(estimator(name).fit(data(name))) for name in NAMES}


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Spark on this machine."""
    from pyspark.sql import SparkSession

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
