"""Rows of clicks: Criteo's format from a file, or made up with a known truth.

A row has a label (clicked or not), 13 numbers and 26 categories. All that is done to them is fixed beforehand: categories are
hashed into buckets by a public hash, and numbers brought into [0, 1] by a logarithm with fixed constants. No mean, no
vocabulary, no quantile is taken from the data, so that nothing has to be paid for it, and the row of one person never depends
on that of another.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

NUMBERS = 13
CATEGORIES = 26

#: A number of this size or above counts as 1. It is the same for all columns, and not from the data.
LARGEST_NUMBER = 10_000.0

#: Of the made-up data, each third column describes the user and is the same in all rows of one.
USER_COLUMNS = range(0, CATEGORIES, 3)
#: The columns with at most 1,000 values, whose pairs matter.
PAIRED_COLUMNS = 13
#: The dimension of the made-up interactions of pairs.
RANK = 4


@dataclass(frozen=True)
class Clicks:
    """Rows of clicks as tensors.

    Attributes
    ----------
    labels : float tensor of shape (rows,)
        1 for a click, 0 for none.
    numbers : float tensor of shape (rows, 13)
        In [0, 1]; what is missing is 0.
    categories : integer tensor of shape (rows, 26)
        The number of a bucket, from 0 to 26 x buckets - 1: each column has buckets of its own. -1 is missing.
    users : integer tensor of shape (rows,)
        Whose the row is.
    truth : float tensor of shape (rows,), optional
        The true log odds without what only the user knows; for made-up rows.
    """

    labels: torch.Tensor
    numbers: torch.Tensor
    categories: torch.Tensor
    users: torch.Tensor
    truth: torch.Tensor | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def fields(self) -> dict[str, torch.Tensor]:
        """Give what a model reads."""
        return {"labels": self.labels, "numbers": self.numbers, "categories": self.categories}


def bucket(column: NDArray[np.int64] | int, value: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Hash the values of columns into their buckets, by SplitMix64. It is public: there is no secret in it, and no data."""
    mixed = np.asarray(value).astype(np.uint64) + (np.asarray(column).astype(np.uint64) << np.uint64(48))
    with np.errstate(over="ignore"):
        mixed = mixed + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed = mixed ^ (mixed >> np.uint64(31))
    own = (mixed % np.uint64(buckets)).astype(np.int64)
    return np.asarray(own + np.asarray(column, dtype=np.int64) * buckets, dtype=np.int64)


def bounded(numbers: NDArray[np.float64]) -> NDArray[np.float32]:
    """Bring numbers into [0, 1]: log(1 + x) over log(1 + 10,000), negative and missing ones to 0."""
    positive = np.clip(np.nan_to_num(numbers, nan=0.0), 0.0, LARGEST_NUMBER)
    return np.asarray(np.log1p(positive) / np.log1p(LARGEST_NUMBER), dtype=np.float32)


def read_criteo(path: str | Path, buckets: int) -> Clicks:
    """Read a file in Criteo's format: label, 13 numbers, 26 categories in hexadecimal, with tabs between.

    The format does not say whose a row is: each row is a unit of its own.
    """
    labels: list[float] = []
    numbers: list[list[float]] = []
    categories: list[list[int]] = []
    with Path(path).open(encoding="utf-8") as lines:
        for place, line in enumerate(lines, start=1):
            cells = line.rstrip("\n").split("\t")
            if len(cells) != 1 + NUMBERS + CATEGORIES:
                raise ValueError(f"{path}, line {place}: {len(cells)} cells, but 40 are expected, with tabs between")
            try:
                label = int(cells[0])
                row = [float(cell) if cell else np.nan for cell in cells[1 : 1 + NUMBERS]]
                named = [int(cell, 16) if cell else -1 for cell in cells[1 + NUMBERS :]]
            except ValueError as error:
                raise ValueError(f"{path}, line {place}: {error}") from None
            if label not in (0, 1) or any(not -1 <= value < 2**32 for value in named):
                raise ValueError(f"{path}, line {place}: labels are 0 or 1, and categories have at most 8 digits")
            labels.append(float(label))
            numbers.append(row)
            categories.append(named)
    values = np.asarray(categories, dtype=np.int64).reshape(-1, CATEGORIES)
    hashed = np.where(values < 0, -1, bucket(np.arange(CATEGORIES), np.maximum(values, 0), buckets))
    return Clicks(
        labels=torch.tensor(labels, dtype=torch.float32),
        numbers=torch.from_numpy(bounded(np.asarray(numbers, dtype=np.float64).reshape(-1, NUMBERS))),
        categories=torch.from_numpy(hashed),
        users=torch.arange(len(labels)),
    )


def made_up(
    users: int = 200_000, rows: int = 10, buckets: int = 1_000, test_users: int = 10_000, seed: int = 0
) -> tuple[Clicks, Clicks]:
    """Make up rows with the shape of Criteo's attribution data, and part them by user.

    The columns have from 10 to 100,000 values, drawn by Zipf's law. 9 columns belong to the user, the other 17 and the
    numbers to the row. The log odds of a click are the sum of

    - a weight for each value (deviation 1.5 over all 26),
    - the product of vectors of 4 numbers for each pair of values, in the 13 columns with the fewest values (deviation 1),
    - a weight for each number (deviation 0.4 over all),
    - something about the user that no column shows (deviation 0.5).

    Rare values have weights as large as frequent ones, which nobody can learn: some of the truth is out of reach.

    Parameters
    ----------
    users, test_users : int
        How many users there are for training, and how many others for the test.
    rows : int
        The rows of each.
    buckets : int
        The buckets of each column.
    seed : int
        Both the truth and the rows are drawn by it.
    """
    chance = np.random.default_rng(seed)
    everyone = users + test_users
    whose = np.repeat(np.arange(everyone), rows)
    length = len(whose)

    logit = np.full(length, -1.8)
    summed = np.zeros((length, RANK))
    squares = np.zeros(length)
    categories = np.empty((length, CATEGORIES), dtype=np.int64)
    pairs = PAIRED_COLUMNS * (PAIRED_COLUMNS - 1) // 2
    spread = float((RANK * pairs) ** -0.25)
    sizes = np.geomspace(10, 100_000, CATEGORIES).astype(np.int64)
    for column, size in enumerate(sizes.tolist()):
        of_user = column in USER_COLUMNS
        values = _zipf(size, everyone if of_user else length, chance)
        if of_user:
            values = values[whose]
        weights = chance.normal(0.0, 1.5 / np.sqrt(CATEGORIES), size)
        logit += weights[values]
        if column < PAIRED_COLUMNS:
            vectors = chance.normal(0.0, spread, (size, RANK))[values]
            summed += vectors
            squares += (vectors**2).sum(1)
        categories[:, column] = bucket(column, values, buckets)
    # The sum over pairs is half of (the square of the sum - the sum of the squares).
    logit += ((summed**2).sum(1) - squares) / 2

    counts = np.floor(chance.lognormal(2.0, 2.0, (length, NUMBERS)))
    numbers = bounded(counts)
    # Of these counts the bounded form has a mean of about 0.24 and a deviation of about 0.19.
    logit += (numbers - 0.24) @ chance.normal(0.0, 0.4 / (0.19 * np.sqrt(NUMBERS)), NUMBERS)
    unseen = chance.normal(0.0, 0.5, everyone)[whose]
    clicked = chance.random(length) < 1.0 / (1.0 + np.exp(-(logit + unseen)))

    columns = (
        torch.from_numpy(clicked.astype(np.float32)),
        torch.from_numpy(numbers),
        torch.from_numpy(categories),
        torch.from_numpy(whose),
        torch.from_numpy(logit.astype(np.float32)),
    )
    ends = (0, users * rows, length)
    train, test = (Clicks(*(column[start:end] for column in columns)) for start, end in pairwise(ends))
    return train, test


def _zipf(size: int, length: int, chance: np.random.Generator) -> NDArray[np.int64]:
    """Draw values of which the k-th most frequent has a probability proportional to 1 / k."""
    ends = np.cumsum(1.0 / np.arange(1, size + 1))
    drawn = np.searchsorted(ends / ends[-1], chance.random(length), side="right")
    return np.asarray(np.minimum(drawn, size - 1), dtype=np.int64)
