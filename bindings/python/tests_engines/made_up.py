"""Made-up data that everybody may see, what a fit leaves, and estimators to fit; also for drivers in processes of their own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from organza import Recommender, Typeahead, WordVectors

#: Files of a run that tell of time, memory and places, or, not private, of the data; and what the page is made of.
_NOT_RELEASED = ("summary.json", "report.html", "metrics.jsonl", "settings.json")


WORDS = "see you tomorrow soon thank very much are there where we".split()


def events(persons: int = 1500) -> pa.Table:
    """Who has what: persons of four tastes."""
    draw = random.Random(0)
    rows = [
        (f"c{person}", f"article {5 * (person % 4) + draw.randrange(5)}")
        for person in range(persons)
        for _ in range(draw.randrange(1, 6))
    ]
    draw.shuffle(rows)
    return pa.table({"customer": [who for who, _ in rows], "article": [what for _, what in rows]})


def messages(writers: int = 1500) -> pa.Table:
    """Who wrote what."""
    draw = random.Random(1)
    sayings = ["see you tomorrow", "see you soon", "thank you very much", "are you there", "where are we"]
    rows = [
        (writer, draw.choice(sayings)) for writer in range(writers) for _ in range(draw.randrange(1, 5))
    ]
    draw.shuffle(rows)
    return pa.table({"writer": [who for who, _ in rows], "message": [what for _, what in rows]})


def estimator(name: str, **settings: Any) -> Any:
    """Give a seeded estimator."""
    text = {"text_column": "message", "user_column": "writer"}
    shop = {"user_column": "customer", "item_column": "article"}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "recommender": (Recommender, shop),
        "typeahead": (Typeahead, text),
        "completions": (Typeahead, {**text, "vocabulary": WORDS}),
        "words": (WordVectors, text),
    }
    kind, columns = kinds[name]
    return kind(epsilon=4.0, random_state=7, progress=False, **columns, **settings)


def data(name: str) -> pa.Table:
    """Give what it is fitted to."""
    return events() if name == "recommender" else messages()


def left(fitted: Any) -> dict[str, bytes]:
    """Give every file that a fit released."""
    return released(fitted._run.folder)


def released(folder: Path) -> dict[str, bytes]:
    """Give every file of a run that holds what was released and promised, and any that should not be there."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    names = [(str(path.relative_to(folder)), path) for path in files if path.name not in _NOT_RELEASED]
    return {
        name: path.read_bytes()
        for name, path in names
        if not name.startswith(("figures/", "tables/"))
    }
