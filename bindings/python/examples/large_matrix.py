"""A large sparse matrix is read where it is: the memory of a fit beside that of its data.

    python large_matrix.py 100000000

Makes a CSR matrix of so many values, fits a recommender to it, and prints the peak of the memory before and after.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from scipy.sparse import csr_matrix

from organza import Recommender

EACH = 100
ITEMS = 20_000


def peak() -> float:
    """Give the largest memory of this process so far, in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(values: int) -> None:
    """Fit, and print."""
    persons = values // EACH
    random = np.random.default_rng(0)
    indices = np.empty(persons * EACH, dtype=np.int32)
    # Items by Zipf's law, each once for a person: a random start and a step that grows.
    for start in range(0, persons, 10_000):
        some = min(10_000, persons - start)
        drawn = (ITEMS * random.random((some, EACH)) ** 3).astype(np.int32)
        indices[start * EACH : (start + some) * EACH] = np.sort(drawn, axis=1).ravel()
    starts = np.arange(0, persons * EACH + 1, EACH, dtype=np.int64)
    matrix = csr_matrix(
        (np.ones(persons * EACH, dtype=np.float32), indices, starts), shape=(persons, ITEMS)
    )
    held = sum(part.nbytes for part in (matrix.data, matrix.indices, matrix.indptr)) / 1e6
    before = peak()
    begun = time.perf_counter()
    model = Recommender(epsilon=3.0, progress=False).fit(matrix)
    seconds = time.perf_counter() - begun
    print(f"values of the matrix        {matrix.nnz:>12,}")
    print(f"the matrix itself           {held:>12,.0f} MB")
    print(f"peak of memory before       {before:>12,.0f} MB")
    print(f"peak of memory after        {peak():>12,.0f} MB")
    print(f"the fit took                {seconds:>12.1f} s")
    print(f"items of the model          {len(model.items_):>12,}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
