"""What releases cost: events, epsilon, delta, and the noise for a budget.

An :class:`Event` says what a mechanism releases, in the terms that determine its privacy
loss. Events are made by the functions of this module, joined by ``+``, ``.repeat`` and
``.poisson``, and priced by :func:`epsilon` and :func:`delta`. Every answer is an upper
bound, and is the answer of ``organza account`` to the last bit.

Examples
--------
Training by DP-SGD, and what it costs:

>>> from organza import accounting
>>> run = accounting.gaussian(0.5).poisson(1e-4).repeat(200_000)
>>> run
gaussian(0.5).poisson(0.0001).repeat(200000)
>>> print(run)
200,000 times
└─ on a Poisson batch that each unit joins with probability 0.0001
   └─ Gaussian noise: deviation 0.5 x L2 sensitivity
>>> round(accounting.epsilon(run, delta=1e-5), 3)
2.418

The noise for a budget:

>>> accounting.calibrate(epsilon=3, delta=1e-5, rate=1e-4, steps=200_000)
0.48038
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from organza import _organza
from organza._events import (
    added,
    approximate,
    cluster,
    compose,
    discrete_gaussian,
    discrete_laplace,
    exponential,
    from_dp_event,
    gaussian,
    laplace,
    limited_domain,
    near,
    noisy_max,
    pure,
    rounded_gaussian,
    selected,
    sparse_vector,
    to_dp_event,
    uniform_mask,
)
from organza._organza import Event
from organza.exceptions import SettingsError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Accountant",
    "Event",
    "Guarantee",
    "Neighbouring",
    "added",
    "approximate",
    "calibrate",
    "calibrate_rate",
    "calibrate_steps",
    "cluster",
    "compose",
    "delta",
    "delta_curve",
    "discrete_gaussian",
    "discrete_laplace",
    "epsilon",
    "epsilon_curve",
    "exponential",
    "from_dp_event",
    "gaussian",
    "guarantee",
    "laplace",
    "limited_domain",
    "near",
    "noisy_max",
    "pure",
    "rounded_gaussian",
    "selected",
    "sparse_vector",
    "to_dp_event",
    "uniform_mask",
]

Accountant = Literal["pld", "rdp"]
"""Privacy loss distributions, which are tight, or Renyi divergences, a second opinion."""

Neighbouring = Literal["add-remove", "replace-one"]
"""Whether neighbours have one unit more or less, or another one."""


@dataclass(frozen=True)
class Guarantee:
    """All that was priced is (epsilon, delta)-differentially private.

    Attributes
    ----------
    epsilon : float
        The bound on the privacy loss.
    delta : float
        The probability of exceeding it.
    neighbouring : {"add-remove", "replace-one"}
        The relation that the guarantee speaks about.
    accountant : {"pld", "rdp"}
        Who found it.
    units : int
        To how many units at once it is promised.
    direction : {"add", "remove"} or None
        Which change is worse, where there are two and the accountant tells them apart.
    order : float or None
        The order of the Renyi divergence that gave epsilon.
    """

    epsilon: float
    delta: float
    neighbouring: Neighbouring = "add-remove"
    accountant: Accountant = "pld"
    units: int = 1
    direction: str | None = None
    order: float | None = None


def _listed(events: Event | Iterable[Event]) -> list[Event]:
    """The events as a list: one event is a list of one."""
    listed = [events] if isinstance(events, Event) else list(events)
    for event in listed:
        if not isinstance(event, Event):
            raise SettingsError(
                f"an event is asked for, but {event!r} is none: make one by gaussian(...), "
                "laplace(...) and so on, or by from_dp_event(...)"
            )
    return listed


def guarantee(
    events: Event | Iterable[Event],
    *,
    delta: float | None = None,
    epsilon: float | None = None,
    neighbouring: Neighbouring = "add-remove",
    accountant: Accountant = "pld",
    units: int = 1,
) -> Guarantee:
    """What events cost together, with all that the accountant says.

    Parameters
    ----------
    events : Event or iterable of Event
        What is released. Each event may depend on the results of those before it, but which
        events there are must be fixed beforehand.
    delta, epsilon : float
        One of the two; the other one is found.
    neighbouring : {"add-remove", "replace-one"}
        The relation for which the events state their parameters.
    accountant : {"pld", "rdp"}
        Who answers.
    units : int
        Ask for someone who has as many units, all of which are there or not (pld only).

    Returns
    -------
    Guarantee

    Raises
    ------
    SettingsError
        If the question makes no sense, or the accountant cannot treat an event soundly.

    Examples
    --------
    >>> from organza.accounting import gaussian, guarantee
    >>> run = gaussian(1.0).poisson(0.01).repeat(1000)
    >>> answer = guarantee(run, delta=1e-6)
    >>> round(answer.epsilon, 3), answer.direction
    (2.125, 'remove')
    >>> round(guarantee(run, delta=1e-6, units=2).epsilon, 2)
    4.55
    """
    found = _organza.price(_listed(events), delta, epsilon, neighbouring, accountant, units)
    return Guarantee(found[0], found[1], neighbouring, accountant, units, found[2], found[3])


def epsilon(
    events: Event | Iterable[Event],
    delta: float,
    *,
    neighbouring: Neighbouring = "add-remove",
    accountant: Accountant = "pld",
    units: int = 1,
) -> float:
    """An upper bound on epsilon at ``delta`` of all events together.

    The arguments are those of :func:`guarantee`.

    Examples
    --------
    >>> from organza import accounting
    >>> run = accounting.gaussian(0.5).poisson(1e-4).repeat(200_000)
    >>> accounting.epsilon(run, 1e-5) < 2.42
    True
    >>> round(accounting.epsilon(run, 1e-5, accountant="rdp"), 3)
    3.519
    """
    return guarantee(
        events, delta=delta, neighbouring=neighbouring, accountant=accountant, units=units
    ).epsilon


def delta(
    events: Event | Iterable[Event],
    epsilon: float,
    *,
    neighbouring: Neighbouring = "add-remove",
    accountant: Accountant = "pld",
    units: int = 1,
) -> float:
    """An upper bound on delta at ``epsilon`` of all events together.

    The arguments are those of :func:`guarantee`.

    Examples
    --------
    >>> from organza import accounting
    >>> round(accounting.delta(accounting.gaussian(1.0), 1.0), 4)
    0.1269
    """
    return guarantee(
        events, epsilon=epsilon, neighbouring=neighbouring, accountant=accountant, units=units
    ).delta


def _points(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """One axis of a curve."""
    try:
        points = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise SettingsError(f"`{name}` must be numbers: {error}") from error
    if points.ndim != 1:
        raise SettingsError(f"`{name}` must have one dimension, not {points.ndim}")
    return points


def epsilon_curve(
    events: Event | Iterable[Event],
    deltas: ArrayLike,
    *,
    neighbouring: Neighbouring = "add-remove",
    accountant: Accountant = "pld",
    units: int = 1,
) -> NDArray[np.float64]:
    """Epsilon at each of ``deltas``.

    Examples
    --------
    >>> from organza import accounting
    >>> accounting.epsilon_curve(accounting.gaussian(1.0), [1e-6, 1e-5]).round(3)
    array([4.887, 4.377])
    """
    points = _points("deltas", deltas)
    return _organza.curve(_listed(events), points, False, neighbouring, accountant, units)


def delta_curve(
    events: Event | Iterable[Event],
    epsilons: ArrayLike,
    *,
    neighbouring: Neighbouring = "add-remove",
    accountant: Accountant = "pld",
    units: int = 1,
) -> NDArray[np.float64]:
    """Delta at each of ``epsilons``.

    Examples
    --------
    >>> from organza import accounting
    >>> accounting.delta_curve(accounting.gaussian(1.0), [0.0, 1.0]).round(4)
    array([0.3829, 0.1269])
    """
    points = _points("epsilons", epsilons)
    return _organza.curve(_listed(events), points, True, neighbouring, accountant, units)


def calibrate(
    epsilon: float,
    delta: float,
    rate: float | None = None,
    steps: int | None = None,
    *,
    event: Callable[[float], Event] | None = None,
    neighbouring: Neighbouring = "add-remove",
) -> float:
    """The smallest noise with which a budget is kept.

    Parameters
    ----------
    epsilon, delta : float
        The budget.
    rate : float, default 1
        The probability with which a unit joins a batch.
    steps : int, default 1
        The number of batches, each of which gets Gaussian noise.
    event : callable, optional
        Instead of `rate` and `steps`: from a scale of noise to the event of everything that is
        released. Its cost has to fall as the scale grows. Where it raises
        :class:`~organza.exceptions.SettingsError` the scale counts as too small.
    neighbouring : {"add-remove", "replace-one"}
        The relation that the budget speaks about.

    Returns
    -------
    float
        The noise multiplier, rounded up to six digits, as by ``organza calibrate``. What it costs
        never exceeds the budget.

    Examples
    --------
    >>> from organza.accounting import calibrate, discrete_laplace, epsilon, gaussian
    >>> noise = calibrate(1.0, 1e-6, rate=0.01, steps=1000)
    >>> noise
    1.56284
    >>> epsilon(gaussian(noise).poisson(0.01).repeat(1000), 1e-6) <= 1.0
    True

    Ten histograms with Gaussian noise and a count:

    >>> calibrate(
    ...     1.0, 1e-6, event=lambda noise: gaussian(noise).repeat(10) + discrete_laplace(20)
    ... )
    13.635
    """
    if event is None:
        chance = 1.0 if rate is None else rate
        times = 1 if steps is None else steps
        if times < 0:
            raise SettingsError(f"`steps` is {times}, but must be zero or more")
        return _organza.calibrate_training(epsilon, delta, chance, times, neighbouring)
    if rate is not None or steps is not None:
        raise SettingsError(
            "`event` says all that is released: give it, or `rate` and `steps`, not both"
        )
    return _organza.calibrate_event(epsilon, delta, event, neighbouring)


def calibrate_steps(
    event: Event,
    epsilon: float,
    delta: float,
    *,
    neighbouring: Neighbouring = "add-remove",
) -> int:
    """The largest number of times that ``event`` may happen within a budget.

    Examples
    --------
    >>> from organza.accounting import calibrate_steps, gaussian
    >>> calibrate_steps(gaussian(1.0).poisson(0.01), 1.0, 1e-6)
    120
    """
    return _organza.calibrate_steps(event, epsilon, delta, neighbouring)


def calibrate_rate(
    event: Event,
    steps: int,
    epsilon: float,
    delta: float,
    *,
    neighbouring: Neighbouring = "add-remove",
) -> float:
    """The largest rate of Poisson batches on which ``event`` may happen ``steps`` times.

    Examples
    --------
    >>> from organza.accounting import calibrate_rate, gaussian
    >>> calibrate_rate(gaussian(1.0), 1000, 1.0, 1e-6)
    0.00487016
    """
    return _organza.calibrate_rate(event, steps, epsilon, delta, neighbouring)
