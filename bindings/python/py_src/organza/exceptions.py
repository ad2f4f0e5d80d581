"""What Organza raises, and what it warns of.

Every exception is an :class:`OrganzaError`; those that come from an argument or from
data are a :class:`ValueError` as well, as users of scikit-learn expect.

Examples
--------
>>> from organza.exceptions import OrganzaError, SettingsError
>>> issubclass(SettingsError, OrganzaError) and issubclass(SettingsError, ValueError)
True
"""

__all__ = [
    "BudgetError",
    "DataError",
    "OrganzaError",
    "PrivacyWarning",
    "RunError",
    "SettingsError",
]


class OrganzaError(Exception):
    """The base of all that Organza raises."""


class SettingsError(OrganzaError, ValueError):
    """An argument cannot be: nothing was read, charged or drawn."""


class DataError(OrganzaError, ValueError):
    """The data cannot be read as what they were given for."""


class BudgetError(OrganzaError):
    """The budget is too small for what was asked: nothing was charged, nothing drawn."""


class RunError(OrganzaError):
    """Work that had begun could not go on."""


class PrivacyWarning(UserWarning):
    """What follows is less private than it looks, or not private at all."""
