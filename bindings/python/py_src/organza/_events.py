"""The events that there are, and their counterparts in dp_accounting."""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any, Literal

from organza._organza import Event
from organza.exceptions import SettingsError


def gaussian(noise_multiplier: float) -> Event:
    """Gaussian noise of deviation ``noise_multiplier`` times the L2 sensitivity.

    Examples
    --------
    >>> from organza.accounting import gaussian
    >>> gaussian(0.5).to_json()
    '{"gaussian":{"noise_multiplier":0.5}}'
    """
    return Event._make("gaussian", {"noise_multiplier": noise_multiplier})


def rounded_gaussian(noise_multiplier: float) -> Event:
    """Gaussian noise that is rounded to a whole number: it costs what the Gaussian does."""
    return Event._make("rounded_gaussian", {"noise_multiplier": noise_multiplier})


def discrete_gaussian(noise_multiplier: float) -> Event:
    """The discrete Gaussian, of which only concentrated privacy is used."""
    return Event._make("discrete_gaussian", {"noise_multiplier": noise_multiplier})


def laplace(noise_multiplier: float) -> Event:
    """Laplace noise of scale ``noise_multiplier`` times the L1 sensitivity."""
    return Event._make("laplace", {"noise_multiplier": noise_multiplier})


def discrete_laplace(noise_multiplier: float) -> Event:
    """Two-sided geometric noise of scale ``noise_multiplier`` times the L1 sensitivity."""
    return Event._make("discrete_laplace", {"noise_multiplier": noise_multiplier})


def pure(epsilon: float) -> Event:
    """Any mechanism that is epsilon-differentially private."""
    return Event._make("pure", {"epsilon": epsilon})


def approximate(epsilon: float, delta: float) -> Event:
    """Any mechanism that is (epsilon, delta)-differentially private."""
    return Event._make("approximate", {"epsilon": epsilon, "delta": delta})


def added(epsilon: float) -> Event:
    """A release of pure epsilon whose result decides what the other events are.

    Its epsilon is added as it is, since tight composition asks for events that were fixed
    beforehand.
    """
    return Event._make("added", {"epsilon": epsilon})


def near(total_variation: float) -> Event:
    """All other events have their law only within this total variation."""
    return Event._make("near", {"total_variation": total_variation})


def exponential(
    epsilon: float,
    draws: int = 1,
    *,
    candidates: int | None = None,
    cap: float | None = None,
    l2: float | None = None,
) -> Event:
    """Draws without replacement, each proportional to exp(weight x score).

    Parameters
    ----------
    epsilon : float
        The bounded range of one draw.
    draws : int
        How many are drawn.
    candidates : int, optional
        How many there are to draw from.
    cap : float, optional
        The largest score; the lowest is 0.
    l2 : float, optional
        How far one unit moves the vector of scores, in L2.
    """
    fields = {
        "epsilon": epsilon,
        "draws": draws,
        "candidates": candidates,
        "cap": cap,
        "l2": l2,
    }
    return Event._make("exponential", fields)


def selected(by: Event, noise: Event, *, sensitivity: float | None = None) -> Event:
    """Noise on just those coordinates that a selection among the same ones chose.

    Parameters
    ----------
    by : Event
        An :func:`exponential` selection with `candidates`, `cap` and `l2`.
    noise : Event
        :func:`gaussian` or :func:`rounded_gaussian`.
    sensitivity : float, optional
        How far one unit moves what gets the noise; the `l2` of the selection unless given.

    Examples
    --------
    >>> from organza.accounting import exponential, gaussian, selected
    >>> selection = exponential(0.28379, draws=100, candidates=100_000, cap=0.1, l2=0.75)
    >>> print(selected(selection, gaussian(0.5)))
    noise on just what is selected, which one unit moves by at most 0.75 in L2
    ├─ exponential selection: 100 draws of bounded range 0.28379, from 100,000 candidates, scores up to 0.1, moved by 0.75 in L2
    └─ Gaussian noise: deviation 0.5 x L2 sensitivity
    """
    return Event._make("selected", {"by": by, "sensitivity": sensitivity, "noise": noise})


def uniform_mask(share: float, event: Event) -> Event:
    """Noise on the coordinates that a public uniform mask lets through."""
    return Event._make("uniform_mask", {"share": share, "event": event})


def sparse_vector(
    threshold_epsilon: float,
    query_epsilon: float,
    *,
    hits: int = 1,
    refreshed: bool = False,
    value_epsilon: float | None = None,
) -> Event:
    """The sparse vector technique, which stops after ``hits`` answers above its threshold."""
    fields = {
        "threshold_epsilon": threshold_epsilon,
        "query_epsilon": query_epsilon,
        "hits": hits,
        "refreshed": refreshed,
        "value_epsilon": value_epsilon,
    }
    return Event._make("sparse_vector", fields)


def noisy_max(
    epsilon: float,
    draws: int = 1,
    *,
    noise: Literal["gumbel", "laplace", "exponential"] = "gumbel",
) -> Event:
    """The best of noisy scores, taken ``draws`` times with fresh noise."""
    return Event._make("noisy_max", {"epsilon": epsilon, "draws": draws, "noise": noise})


def limited_domain(epsilon: float, delta: float, draws: int) -> Event:
    """The top items of a domain that is not known beforehand (Durfee and Rogers 2019)."""
    return Event._make("limited_domain", {"epsilon": epsilon, "delta": delta, "draws": draws})


def cluster(groups: int, event: Event) -> Event:
    """``event`` on one of ``groups`` fixed groups, picked uniformly, the choice visible."""
    return Event._make("cluster", {"groups": groups, "event": event})


def compose(*events: Event) -> Event:
    """All of these, each free to depend on the results of those before it.

    Examples
    --------
    >>> from organza.accounting import compose, gaussian, pure
    >>> gaussian(2.0) + pure(0.1)
    compose(gaussian(2.0), pure(0.1))
    >>> print(compose())
    nothing
    """
    return Event._compose(list(events))


def _fields(event: Event) -> Any:
    """The fields of an event."""
    return json.loads(event.to_json())[event.kind]


def from_dp_event(event: Any) -> Event:
    """The counterpart of an event of dp_accounting.

    Parameters
    ----------
    event : dp_accounting.DpEvent
        A Gaussian, Laplace, Poisson-sampled, composed, self-composed or empty event.

    Returns
    -------
    Event

    Raises
    ------
    SettingsError
        If there is no counterpart.
    """
    dp: Any = import_module("dp_accounting")

    if isinstance(event, dp.NoOpDpEvent):
        return compose()
    if isinstance(event, dp.GaussianDpEvent):
        return gaussian(event.noise_multiplier)
    if isinstance(event, dp.LaplaceDpEvent):
        return laplace(event.noise_multiplier)
    if isinstance(event, dp.PoissonSampledDpEvent):
        return from_dp_event(event.event).poisson(event.sampling_probability)
    if isinstance(event, dp.SelfComposedDpEvent):
        return from_dp_event(event.event).repeat(event.count)
    if isinstance(event, dp.ComposedDpEvent):
        return compose(*(from_dp_event(part) for part in event.events))
    raise SettingsError(
        f"{type(event).__name__} has no counterpart here: Gaussian, Laplace, PoissonSampled, "
        "SelfComposed, Composed and NoOp have"
    )


def to_dp_event(event: Event) -> Any:
    """The counterpart of an event in dp_accounting, which must be installed.

    Returns
    -------
    dp_accounting.DpEvent

    Raises
    ------
    SettingsError
        If there is no counterpart.

    Notes
    -----
    A rounded Gaussian becomes a Gaussian, of which it is a post-processing.
    """
    dp: Any = import_module("dp_accounting")

    fields = _fields(event)
    match event.kind:
        case "gaussian" | "rounded_gaussian":
            return dp.GaussianDpEvent(fields["noise_multiplier"])
        case "laplace":
            return dp.LaplaceDpEvent(fields["noise_multiplier"])
        case "poisson":
            return dp.PoissonSampledDpEvent(fields["rate"], to_dp_event(event.parts[0]))
        case "repeat":
            return dp.SelfComposedDpEvent(to_dp_event(event.parts[0]), fields["times"])
        case "compose" if not event.parts:
            return dp.NoOpDpEvent()
        case "compose":
            return dp.ComposedDpEvent([to_dp_event(part) for part in event.parts])
        case kind:
            raise SettingsError(
                f"the event `{kind}` has no counterpart in dp_accounting: gaussian, "
                "rounded_gaussian, laplace, poisson, repeat and compose have"
            )
