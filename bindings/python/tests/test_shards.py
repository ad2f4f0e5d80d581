"""Runs that are made of shards: bytes in and bytes out, and the bits of one machine."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from organza import _organza
from organza.exceptions import OrganzaError

FLAGS = ["--text-column", "text", "--user-column", "unit", "--order", "2", "--seed", "3"]


def _rows() -> tuple[list[str], list[str]]:
    days = ["Monday", "Friday", "Tuesday"]
    lines = [f"See you on {days[row % 3]}. Thank you very much!" for row in range(900)]
    return lines, [f"w{row * 7 % 300}" for row in range(900)]


def _flags(place: Path) -> list[str]:
    words = place / "words.txt"
    words.write_text("see\nyou\non\nmonday\nfriday\ntuesday\nthank\nvery\nmuch\n")
    return ["typeahead", "--vocabulary-file", str(words), *FLAGS]


def test_shards_have_the_bits_of_one_machine(tmp_path: Path) -> None:
    """Of rows that are handed over, all to everybody or parted by the hash of their units."""
    flags, (lines, units) = _flags(tmp_path), _rows()
    whole, run = tmp_path / "whole", tmp_path / "run"
    words = [*flags, "--data", _organza.HANDED_OVER, "--out", str(whole)]
    _organza.run(words, _organza.texts(lines, units))

    shards = 3
    task: bytes | None = _organza.begin(flags, str(run))
    own = _organza.shard_of(units, shards)
    assert set(own) == {0, 1, 2}
    told = []
    while task is not None:
        parts = []
        for shard in range(shards):
            rows = [row for row in range(len(lines)) if own[row] == shard]
            mine = {"text": [lines[row] for row in rows], "unit": [units[row] for row in rows]}
            data = _organza.table(pa.table(mine))
            parted = _organza.count(
                _organza.for_shard(task, shard), data, shard, shards, strict=True
            )
            every = _organza.count(task, _organza.texts(lines, units), shard, shards)
            assert parted == every
            parts.append(parted)
        task, progress = _organza.merge(str(run), [parts[2], _organza.join(parts[:2])])
        told.append((progress["round"], progress["rounds"], progress["finished"]))
    assert told == [(2, 3, False), (3, 3, False), (3, 3, True)]
    for name in ("model.safetensors", "ngrams.safetensors", "certificate.json", "ledger.jsonl"):
        assert (run / name).read_bytes() == (whole / name).read_bytes(), name


def test_what_is_no_partial_is_refused(tmp_path: Path) -> None:
    """Nothing is charged by it."""
    run = tmp_path / "run"
    task = _organza.begin(_flags(tmp_path), str(run))
    lines, units = _rows()
    part = _organza.count(task, _organza.texts(lines, units), 0, 2)
    before = (run / "ledger.jsonl").read_bytes()
    for parts in ([part], [part, part], [part[:-1]], []):
        with pytest.raises(OrganzaError):
            _organza.merge(str(run), parts)
    with pytest.raises(OrganzaError, match="no shard 2 of 2"):
        _organza.count(task, _organza.texts(lines, units), 2, 2)
    assert (run / "ledger.jsonl").read_bytes() == before
