"""Wide models trained with differential privacy.

Estimators with the conventions of scikit-learn, private by default::

    >>> import organza
    >>> lines = ["the cat sat on the mat", "the dog sat on the rug"] * 2000
    >>> model = organza.WordVectors(epsilon=3.0).fit(lines)
    >>> model.epsilon_ <= 3.0
    True

What a fit promises stands on its ``certificate_``, and what it was spent on in its ``ledger_``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from organza._organza import __version__
from organza.exceptions import (
    BudgetError,
    DataError,
    OrganzaError,
    PrivacyWarning,
    RunError,
    SettingsError,
)

if TYPE_CHECKING:
    from organza import accounting, audit, distributed, ledger, mechanisms, plots
    from organza._clicks import ClickModel
    from organza._logistic import LogisticRegression
    from organza._recommender import Recommender
    from organza._regression import LinearRegression, PoissonRegression
    from organza._typeahead import Typeahead
    from organza._words import WordVectors

__all__ = [
    "BudgetError",
    "ClickModel",
    "DataError",
    "LinearRegression",
    "LogisticRegression",
    "OrganzaError",
    "PoissonRegression",
    "PrivacyWarning",
    "Recommender",
    "RunError",
    "SettingsError",
    "Typeahead",
    "WordVectors",
    "__version__",
    "accounting",
    "audit",
    "distributed",
    "ledger",
    "mechanisms",
    "plots",
]

_PLACES = {
    "ClickModel": "_clicks",
    "LinearRegression": "_regression",
    "LogisticRegression": "_logistic",
    "PoissonRegression": "_regression",
    "Recommender": "_recommender",
    "Typeahead": "_typeahead",
    "WordVectors": "_words",
}
_MODULES = ("accounting", "audit", "distributed", "ledger", "mechanisms", "plots")


def __getattr__(name: str) -> Any:
    # Estimators come with scikit-learn, if it is installed, which takes a while to import.
    if name in _PLACES:
        return getattr(import_module(f"organza.{_PLACES[name]}"), name)
    if name in _MODULES:
        return import_module(f"organza.{name}")
    raise AttributeError(f"module 'organza' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
