"""Your own PyTorch network on private tables.

PyTorch keeps the dense part of a model. Organza keeps its embedding tables, draws the batches (Poisson, by unit), clips the
gradient of each unit over tables and dense part together, selects, adds noise, moves, and pays.

Examples
--------
>>> import torch
>>> from organza.torch import Plan, Table
>>> table = Table(rows=1_000, dim=8)
>>> head = torch.nn.Linear(8, 1)
>>> data = {"ids": torch.randint(0, 1_000, (400, 5)), "y": torch.rand(400)}
>>> plan = Plan([table], dense=head, epsilon=3.0, delta=1e-6, batch=50, steps=4)
>>> def loss(example):
...     score = head(table.bag(example.ids))
...     return (score.squeeze(-1) - example.y) ** 2
>>> for batch in plan.batches(data):
...     plan.step(batch, loss)
>>> plan.certificate()["epsilon"] <= 3.0
True
"""

from organza.torch._data import Batch
from organza.torch._plan import Plan
from organza.torch._table import Table

__all__ = ["Batch", "Plan", "Table"]
