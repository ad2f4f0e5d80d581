"""Click models: a table (or two) of weights and vectors for hashed categories, and a small dense part.

The table is what is wide: 26 columns x buckets. With :func:`private` tables the model is trained by
:class:`organza.torch.Plan`, with :func:`plain` ones by any optimizer of PyTorch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from data import CATEGORIES, NUMBERS
from torch import nn
from torch.nn import functional

from organza.torch import Table

#: Makes a table from its first values, which are public.
MakeTable = Callable[[torch.Tensor], nn.Module]


def private(values: torch.Tensor) -> nn.Module:
    """Make a table that a plan keeps."""
    return Table(len(values), values.shape[1], weights=values)


class plain(nn.Module):  # noqa: N801, it stands beside `private`
    """A table of PyTorch, as a parameter: a number below zero gives zeros."""

    def __init__(self, values: torch.Tensor) -> None:
        super().__init__()
        self.weight = nn.Parameter(values.clone())

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        rows = functional.embedding(ids.clamp(min=0), self.weight, sparse=True)
        return rows * (ids >= 0).unsqueeze(-1)


class ClickModel:
    """What click models have in common. The log odds of a click are those of the model, plus a fixed offset if the data has one.

    Attributes
    ----------
    tables : list of nn.Module
        The tables.
    dense : nn.Module
        All the rest.
    """

    #: The rate of clicks that a model begins with. A guess from what is commonly known, not from the data.
    FIRST_RATE = 0.25

    tables: list[nn.Module]
    dense: nn.Module

    def log_odds(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        """Give the log odds of a click, for one row or for any number of them."""
        raise NotImplementedError

    def score(self, batch: Any) -> torch.Tensor:
        """Give the log odds of a click for a row or a batch of them, with the offset of the data."""
        found = self.log_odds(batch["numbers"], batch["categories"])
        return found + batch["offset"] if "offset" in batch else found

    def loss(self, example: Any) -> torch.Tensor:
        """Give the log loss of one row; of a batch, the sum of theirs."""
        return functional.binary_cross_entropy_with_logits(self.score(example), example["labels"], reduction="sum")

    def begin_at_zero(self) -> None:
        """Begin with what an offset says, instead of with :attr:`FIRST_RATE`."""
        last = [module for module in self.dense.modules() if isinstance(module, nn.Linear)][-1]
        nn.init.zeros_(last.bias)

    def _begin(self, last: nn.Linear, *, zeros: bool) -> None:
        rate = torch.tensor(self.FIRST_RATE)
        nn.init.constant_(last.bias, float(torch.logit(rate)))
        if zeros:
            nn.init.zeros_(last.weight)


class Logistic(ClickModel):
    """Logistic regression: a weight for each bucket and each number."""

    def __init__(self, buckets: int, make: MakeTable = private, dim: int = 1) -> None:
        self.weights = make(torch.zeros(CATEGORIES * buckets, 1))
        self.numbers = nn.Linear(NUMBERS, 1)
        self._begin(self.numbers, zeros=True)
        self.tables, self.dense = [self.weights], self.numbers

    def log_odds(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.numbers(numbers).squeeze(-1) + self.weights(categories).sum((-2, -1))
        return found


class FactorisationMachine(ClickModel):
    """A weight and a vector for each bucket: pairs of columns count by the product of their vectors.

    Weight and vector stand in one row of one table, so that a selection of rows takes both.
    """

    def __init__(self, buckets: int, make: MakeTable = private, dim: int = 8) -> None:
        first = torch.cat([torch.zeros(CATEGORIES * buckets, 1), 0.05 * torch.randn(CATEGORIES * buckets, dim)], 1)
        self.factors = make(first)
        self.numbers = nn.Linear(NUMBERS, 1)
        self._begin(self.numbers, zeros=True)
        self.tables, self.dense = [self.factors], self.numbers

    def log_odds(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        rows = self.factors(categories)
        vectors = rows[..., 1:]
        # The sum over pairs is half of (the square of the sum - the sum of the squares).
        pairs = vectors.sum(-2).square().sum(-1) - vectors.square().sum((-2, -1))
        found: torch.Tensor = self.numbers(numbers).squeeze(-1) + rows[..., 0].sum(-1) + 0.5 * pairs
        return found


class WideAndDeep(ClickModel):
    """Logistic regression beside a network on the vectors of all columns."""

    def __init__(self, buckets: int, make: MakeTable = private, dim: int = 8) -> None:
        self.weights = make(torch.zeros(CATEGORIES * buckets, 1))
        self.vectors = make(0.1 * torch.randn(CATEGORIES * buckets, dim))
        self.deep = nn.Sequential(nn.Linear(CATEGORIES * dim + NUMBERS, 32), nn.ReLU(), nn.Linear(32, 1))
        self.numbers = nn.Linear(NUMBERS, 1)
        self._begin(self.numbers, zeros=True)
        self.tables = [self.weights, self.vectors]
        self.dense = nn.ModuleDict({"deep": self.deep, "numbers": self.numbers})

    def log_odds(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        wide = self.numbers(numbers).squeeze(-1) + self.weights(categories).sum((-2, -1))
        joined = torch.cat([self.vectors(categories).flatten(-2), numbers], -1)
        found: torch.Tensor = wide + self.deep(joined).squeeze(-1)
        return found


class Dlrm(ClickModel):
    """After DLRM (Naumov et al. 2019): numbers become a vector, and a network reads it and the products of all pairs of vectors."""

    def __init__(self, buckets: int, make: MakeTable = private, dim: int = 8) -> None:
        pairs = (CATEGORIES + 1) * CATEGORIES // 2
        self.vectors = make(0.3 * torch.randn(CATEGORIES * buckets, dim))
        self.bottom = nn.Sequential(nn.Linear(NUMBERS, 32), nn.ReLU(), nn.Linear(32, dim))
        self.top = nn.Sequential(nn.Linear(dim + pairs, 32), nn.ReLU(), nn.Linear(32, 1))
        last = self.top[-1]
        assert isinstance(last, nn.Linear)
        self._begin(last, zeros=False)
        self.tables = [self.vectors]
        self.dense = nn.ModuleDict({"bottom": self.bottom, "top": self.top})
        self._upper = torch.triu_indices(CATEGORIES + 1, CATEGORIES + 1, offset=1)

    def log_odds(self, numbers: torch.Tensor, categories: torch.Tensor) -> torch.Tensor:
        below = self.bottom(numbers)
        vectors = torch.cat([below.unsqueeze(-2), self.vectors(categories)], -2)
        products = (vectors @ vectors.transpose(-2, -1))[..., self._upper[0], self._upper[1]]
        found: torch.Tensor = self.top(torch.cat([below, products], -1)).squeeze(-1)
        return found


MODELS: dict[str, Callable[..., ClickModel]] = {
    "logistic": Logistic,
    "factorisation-machine": FactorisationMachine,
    "wide-and-deep": WideAndDeep,
    "dlrm": Dlrm,
}
