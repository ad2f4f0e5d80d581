"""The settings of all methods, found on data of seed 100; what is reported is from other seeds.

The search was small and alike for all methods: learning rates in steps of two, clips 1, 2 and 4, batches of 512, 1,024 and 2,048
users, and for selection a hundredth, a tenth and a half of all rows. It looked at made-up data only, and so costs nothing. On
data of people a search has to be paid for, or made on data that is public.
"""

from __future__ import annotations

from train import Settings

#: The part of the budget that the one-shot start gets where a network follows it.
SHARE_OF_START = 0.2

#: Epochs and learning rate of each model without privacy.
PLAIN = {
    "logistic": (3, 2e-3),
    "factorisation-machine": (3, 2e-3),
    "wide-and-deep": (2, 1e-3),
    "dlrm": (3, 2e-3),
}

#: The users of a batch, in expectation.
BATCH = 1_024
STEPS = 400
#: The part of all rows of a table that selection selects in a step.
SELECTED = 0.5


def settings_of(method: str, epsilon: float) -> Settings:
    """Give the settings of a method: 'dp-sgd', 'exponential', 'uniform', or 'after-start' for a network after a one-shot start."""
    learning_rate = 2.0 if epsilon < 2 else 4.0
    select = method if method in ("exponential", "uniform") else None
    return Settings(learning_rate=learning_rate, batch=BATCH, steps=STEPS, select=select, gamma=SELECTED)
