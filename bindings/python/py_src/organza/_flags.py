"""Settings as the flags of the command line tool: one name for one thing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from organza.exceptions import SettingsError


def flags(options: Mapping[str, Any]) -> list[str]:
    """Give the flags for settings: ``vocabulary_size=100`` is ``--vocabulary-size=100``.

    What is None or False is left out, and what is a list is given once for each of its members.

    Examples
    --------
    >>> flags({"vocabulary_size": 100, "unit": None, "strict": True, "numeric": ["age", "hours"]})
    ['--vocabulary-size=100', '--strict', '--numeric=age', '--numeric=hours']
    """
    words: list[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if hasattr(value, "item"):
            value = value.item()
        if value is None or value is False:
            continue
        if value is True:
            words.append(flag)
        elif isinstance(value, (list, tuple)):
            words.extend(f"{flag}={_text(name, member)}" for member in value)
        else:
            words.append(f"{flag}={_text(name, value)}")
    return words


def _text(name: str, value: Any) -> str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, (int, float)):
        return repr(value)
    raise SettingsError(f"`{name}` is {value!r}: a number or a text is expected")
