"""Every test and every example of the documentation is alone with its data."""

from collections.abc import Iterator

import pytest

from organza import _again


@pytest.fixture(autouse=True)
def nothing_was_fitted_before() -> Iterator[None]:
    """Forget what other tests have fitted."""
    _again._before.clear()
    yield
