"""Wide models trained with differential privacy."""

from organza._organza import __version__

__all__ = ["__version__"]
