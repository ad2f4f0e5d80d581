"""Made-up data that everybody may see."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


@pytest.fixture
def lines() -> list[str]:
    """Lines of made-up text."""
    pairs = [("bread", "butter"), ("salt", "pepper"), ("tea", "milk")]
    kinds = [f"{one} {how} {other}" for one, other in pairs for how in ("and", "with")]
    return [kinds[number % 6] for number in range(3000)]


@pytest.fixture
def histories() -> csr_matrix:
    """What made-up persons of four tastes have."""
    person = np.repeat(np.arange(2000), 3)
    item = (person % 4) * 5 + (person // 4 + np.tile([0, 1, 2], 2000)) % 5
    return csr_matrix((np.ones(6000), (person, item)), shape=(2000, 20))


@pytest.fixture
def rows() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Rows of two classes."""
    X = np.random.default_rng(0).normal(size=(3000, 3))
    return X, (X @ [1.0, -1.0, 0.5] > 0).astype(np.int64)
