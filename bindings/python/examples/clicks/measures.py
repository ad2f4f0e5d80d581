"""How good predictions are: AUC, log loss, and expected over observed clicks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import functional


class Measures(NamedTuple):
    """What is said of predictions. *Not private*: it is for made-up data, or for data that is public."""

    #: How often a row with a click is ranked above one without; ties count half.
    auc: float
    #: The mean log loss.
    log_loss: float
    #: The sum of the probabilities over the number of clicks; 1 is calibrated.
    expected_over_observed: float


def measure(log_odds: torch.Tensor, labels: torch.Tensor) -> Measures:
    """Compare log odds with what happened."""
    log_odds, labels = log_odds.detach().double(), labels.double()
    _, place, count = torch.unique(log_odds, return_inverse=True, return_counts=True)
    # Rows of equal log odds share the mean of their ranks.
    ranks = (count.cumsum(0) - (count - 1) / 2)[place]
    clicks = labels.sum()
    others = len(labels) - clicks
    auc = (ranks[labels > 0.5].sum() - clicks * (clicks + 1) / 2) / (clicks * others)
    loss = functional.binary_cross_entropy_with_logits(log_odds, labels)
    return Measures(float(auc), float(loss), float(torch.sigmoid(log_odds).sum() / clicks))
