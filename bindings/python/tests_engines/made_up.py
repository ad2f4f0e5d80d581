"""Made-up data that everybody may see, what a fit leaves, and estimators to fit; also for drivers in processes of their own."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa

from organza import ClickModel, Recommender, Typeahead, WordVectors

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


def shown(users: int = 1500) -> pa.Table:
    """Who was shown what, and clicked."""
    draw = random.Random(2)
    rows = [(f"u{user}", draw.randrange(12), draw.randrange(5)) for user in range(users) for _ in range(draw.randrange(1, 6))]
    draw.shuffle(rows)
    return pa.table({
        "user": [who for who, _, _ in rows],
        "ad": [f"ad {ad}" for _, ad, _ in rows],
        "site": [f"site {site}" for _, _, site in rows],
        "clicked": [int(draw.random() < 0.1 + 0.06 * ad) for _, ad, _ in rows],
    })


def unit_of(name: str) -> str:
    """Give the column that says whose a row is."""
    names = {"recommender": "customer", "clicks": "user", "steps": "user", "wide steps": "user"}
    return names.get(name, "writer")


def estimator(name: str, **settings: Any) -> Any:
    """Give a seeded estimator."""
    text = {"text_column": "message", "user_column": "writer"}
    shop = {"user_column": "customer", "item_column": "article"}
    clicks: dict[str, Any] = {
        "label_column": "clicked",
        "user_column": "user",
        "categories": ["ad", "site"],
        "buckets": 40,
    }
    steps = {"method": "dpsgd", "units": 1500, "options": {"batch": 100, "steps": 40}}
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "recommender": (Recommender, shop),
        "typeahead": (Typeahead, text),
        "completions": (Typeahead, {**text, "vocabulary": WORDS}),
        "words": (WordVectors, text),
        "clicks": (ClickModel, clicks),
        "steps": (ClickModel, {**clicks, **steps}),
        # Of several ranges of rows.
        "wide steps": (ClickModel, {**clicks, **steps, "buckets": 3000}),
    }
    kind, columns = kinds[name]
    return kind(epsilon=4.0, random_state=7, progress=False, **columns, **settings)


def data(name: str) -> pa.Table:
    """Give what it is fitted to."""
    if name == "recommender":
        return events()
    return shown() if name == "clicks" or name.endswith("steps") else messages()


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
