"""Epsilon and time of organza and of dp_accounting, side by side.

Run it by ``python examples/compare_accounting.py``; it needs ``pip install dp-accounting``.
Both accountants use privacy loss distributions, dp_accounting with its default grid of 1e-4.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from importlib import import_module
from time import perf_counter

from organza import accounting
from organza.accounting import Event, gaussian, laplace

CASES: list[tuple[str, Event, float]] = [
    ("Gaussian 1", gaussian(1.0), 1e-6),
    ("Laplace 10, 100 times", laplace(10.0).repeat(100), 1e-6),
    ("Laplace 40, 200 times", laplace(40.0).repeat(200), 1e-6),
    ("8 Gaussians and 3 Laplaces", gaussian(8.0).repeat(8) + laplace(10.0).repeat(3), 1e-7),
    ("Gaussian 1, rate .01, 1,000 steps", gaussian(1.0).poisson(0.01).repeat(1000), 1e-6),
    ("Gaussian .8, rate .001, 50,000 steps", gaussian(0.8).poisson(1e-3).repeat(50_000), 1e-6),
    ("Gaussian .5, rate 1e-4, 200,000 steps", gaussian(0.5).poisson(1e-4).repeat(200_000), 1e-5),
]


def timed(work: Callable[[], float]) -> tuple[float, float]:
    """The answer, and the best of three times in milliseconds."""
    seconds = []
    answer = float("nan")
    for _ in range(3):
        start = perf_counter()
        answer = work()
        seconds.append(perf_counter() - start)
    return answer, 1e3 * min(seconds)


def main() -> None:
    pld = import_module("dp_accounting.pld")
    logging.disable(logging.WARNING)

    def theirs(event: Event, delta: float) -> float:
        account = pld.PLDAccountant()
        return float(account.compose(accounting.to_dp_event(event)).get_epsilon(delta))

    print("| events | delta | organza | ms | dp_accounting | ms | difference |")
    print("|---|---|---|---|---|---|---|")
    for name, event, delta in CASES:
        # A first call, so that neither pays for loading.
        timed(partial(accounting.epsilon, gaussian(1.0), 1e-6))
        ours, our_time = timed(partial(accounting.epsilon, event, delta))
        other, time = timed(partial(theirs, event, delta))
        difference = ours / other - 1
        print(
            f"| {name} | {delta:g} | {ours:.4f} | {our_time:.2f} | {other:.4f} | {time:.0f} "
            f"| {difference:+.4%} |"
        )


if __name__ == "__main__":
    main()
