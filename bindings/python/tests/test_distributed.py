"""Runs in shards, without an engine: the same bits, drivers that die, and what is refused."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from organza import Recommender, Typeahead, _organza, distributed
from organza.distributed import _rounds, shard_of, split
from organza.exceptions import DataError, OrganzaError, SettingsError
from organza.ledger import Ledger


def events(persons: int = 600) -> Any:
    """Give who has what."""
    rows = [(f"c{n}", f"a{5 * (n % 4) + (n // 4 + k) % 5}") for n in range(persons) for k in range(3)]
    return pa.table({"who": [who for who, _ in rows], "what": [what for _, what in rows]})


def shop(**settings: Any) -> Recommender:
    """Give a seeded recommender."""
    return Recommender(
        epsilon=5.0, random_state=3, user_column="who", item_column="what", **settings
    )


def kept(folder: Path) -> dict[str, bytes]:
    """Give all files of a run but those that tell of time, memory and places, or, not private, of the data."""
    of_the_machine = ("summary.json", "report.html", "metrics.jsonl", "settings.json")
    names = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    released = [path for path in names if path.name not in of_the_machine]
    shown = {str(path.relative_to(folder)): path.read_bytes() for path in released}
    return {
        name: held for name, held in shown.items() if not name.startswith(("figures/", "tables/"))
    }


def test_shards_give_the_bits_of_one_machine(tmp_path: Path) -> None:
    """However many there are and whoever counts them; without the rows of somebody the bits are others."""
    shop(folder=tmp_path / "alone").fit(events())
    alone = kept(tmp_path / "alone")
    for shards in (1, 3):
        folder = tmp_path / str(shards)
        with ThreadPoolExecutor(2) as pool:
            distributed.fit(shop(folder=folder), split(events(), "who", shards), map=pool.map)
        assert kept(folder) == alone
    distributed.fit(shop(folder=tmp_path / "fewer"), split(events(599), "who", 3))
    assert kept(tmp_path / "fewer") != alone


def test_lines_of_text_are_shards() -> None:
    """Lines that are handed over as lists."""
    lines = ["see you soon", "thank you very much"] * 600
    words = ["see", "you", "soon", "thank", "very", "much"]
    settings: dict[str, Any] = {"vocabulary": words, "random_state": 1, "epsilon": 6.0}
    alone = Typeahead(**settings).fit(lines)
    shards = [[line for line in lines if shard_of(line, 3) == number] for number in range(3)]
    sharded = distributed.fit(Typeahead(**settings), shards)
    assert kept(alone._run.folder) == kept(sharded._run.folder)
    assert [word for word, _ in sharded.complete("thank ", n=1)] == ["you"]


class Died(Exception):
    """A driver that dies."""


def dying(at: int) -> Callable[..., Iterable[bytes]]:
    """Give a `map` that dies at its so manyth call."""
    calls = iter(range(at))

    def mapped(function: Callable[[Any], bytes], members: Iterable[Any]) -> list[bytes]:
        if next(calls, None) is None:
            raise Died
        return [function(member) for member in members]

    return mapped


def test_a_driver_goes_on_where_it_was(tmp_path: Path) -> None:
    """It dies again and again, and in the end charged what a fit on one machine charges."""
    shop(folder=tmp_path / "alone").fit(events())
    shards = split(events(), "who", 2)
    folder = tmp_path / "run"
    for at in (0, 1, 3):
        with pytest.raises(Died):
            distributed.fit(shop(folder=folder), shards, map=dying(at))
    with pytest.raises(SettingsError, match="other settings"):
        distributed.fit(shop(folder=folder, most_items=5), shards)
    distributed.fit(shop(folder=folder), shards)
    assert kept(folder) == kept(tmp_path / "alone")
    assert [path.name for path in tmp_path.iterdir()].count("run.begun") == 0


def test_a_finished_run_is_read_if_its_driver_died_then(tmp_path: Path) -> None:
    """The last merge was done, and nobody was there to see it."""
    shards = split(events(), "who", 2)
    folder = tmp_path / "run"
    task = distributed.plan(shop(folder=folder), folder)
    finished = False
    while task is not None:
        task, state = distributed.merge(
            folder, [distributed.count(task, shard, number, 2) for number, shard in enumerate(shards)]
        )
        finished = state["finished"]
    assert finished
    found = distributed.fit(shop(folder=folder), shards, map=dying(0))
    assert len(found.items_) > 0
    with pytest.raises(SettingsError, match="not empty"):
        distributed.fit(shop(folder=folder), shards)


def test_a_driver_that_died_at_the_beginning_has_one_place_on_a_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often, and wherever it died: begun again the run has the same key, and so the same place."""
    Ledger.create(tmp_path / "shared", "events", epsilon=6.0, delta=1e-5)
    fitting = Recommender(
        epsilon=5.0, user_column="who", item_column="what", ledger=str(tmp_path / "shared")
    )
    written, replaced, begin = _rounds._write_planned, os.replace, _organza.begin

    def dies(*_: Any) -> Any:
        raise Died

    def begun_and_dies(words: list[str], folder: str) -> Any:
        begin(words, folder)
        raise Died

    def dies_in_run(place: Path, planned: Any) -> None:
        if place.name == "run":
            raise Died
        written(place, planned)

    def dies_at_last(source: Any, target: Any) -> None:
        if Path(target).name == "run":
            raise Died
        replaced(source, target)

    folder = tmp_path / "run"
    deaths: list[tuple[Any, str, Any]] = [
        (_organza, "begin", dies),
        (_organza, "begin", begun_and_dies),
        (_rounds, "_write_planned", dies_in_run),
        (os, "replace", dies_at_last),
    ]
    for module, name, dying_now in deaths:
        with monkeypatch.context() as patch, pytest.raises(Died):
            patch.setattr(module, name, dying_now)
            distributed.plan(fitting, folder)
        assert not folder.exists()
    begun = tmp_path / "run.begun" / "run"
    # Killed before the task was where workers find it, or written at all.
    (begun / "task").unlink()
    with monkeypatch.context() as patch, pytest.raises(Died):
        patch.setattr(_rounds, "_write_planned", dies_in_run)
        distributed.plan(fitting, folder)
    (begun / "task").unlink()
    (begun / "private" / "task").unlink()
    assert len(Ledger(tmp_path / "shared").shares()) == 1
    with pytest.raises(SettingsError, match="other settings"):
        distributed.plan(shop(most_items=5), folder)
    task = distributed.plan(fitting, folder)
    assert task is not None and distributed.plan(fitting, folder) == task
    assert len(Ledger(tmp_path / "shared").shares()) == 1
    assert not begun.parent.exists() and (folder / "task").read_bytes() == task
    (folder / "task").unlink()
    assert distributed.plan(fitting, folder) == task
    # What was refused is no hindrance for other settings.
    with pytest.raises(OrganzaError):
        distributed.plan(shop(method="dpsgd"), tmp_path / "refused")
    assert not (tmp_path / "refused.begun").exists()


def test_a_driver_that_died_at_the_end_leaves_no_key(tmp_path: Path) -> None:
    """The model is there, and all or some of what is private, with the task or without it."""
    shards = split(events(), "who", 2)
    folder = tmp_path / "run"
    task = distributed.plan(shop(), folder)
    while task is not None:
        shutil.rmtree(tmp_path / "before", ignore_errors=True)
        shutil.copytree(folder, tmp_path / "before")
        partials = [distributed.count(task, shard, number, 2) for number, shard in enumerate(shards)]
        task, _ = distributed.merge(folder, partials)
    private = ["private/state.json", "private/sums.txt", "private/task"]
    for number, held in enumerate((private, [*private, "task"], [*private[1:], "task"], ["task"], [])):
        killed = tmp_path / f"killed-{number}"
        shutil.copytree(folder, killed)
        for name in held:
            (killed / name).parent.mkdir(exist_ok=True)
            shutil.copy(tmp_path / "before" / name, killed / name)
        found = distributed.fit(shop(folder=killed), shards)
        assert len(found.items_) > 0
        assert not (killed / "private").exists() and not (killed / "task").exists()


def test_a_run_goes_on_with_as_many_shards(tmp_path: Path) -> None:
    """Of others the sums would be others, after which it could not go on."""
    folder = tmp_path / "run"
    with pytest.raises(Died):
        distributed.fit(shop(folder=folder), split(events(), "who", 2), map=dying(1))
    with pytest.raises(SettingsError, match="begun with 2 shards, and these are 3"):
        distributed.fit(shop(folder=folder), split(events(), "who", 3))
    assert len(distributed.fit(shop(folder=folder), split(events(), "who", 2)).items_) > 0


def test_partials_have_to_be_all_and_each_once(tmp_path: Path) -> None:
    """Missing, double and foreign ones are refused, and nothing is charged; joined ones are as good."""
    shards = split(events(), "who", 3)
    task = distributed.plan(shop(), tmp_path / "run")
    assert task is not None
    partials = [distributed.count(task, shard, number, 3) for number, shard in enumerate(shards)]
    assert partials[0] == distributed.count(task, shards[0], 0, 3)
    other = distributed.plan(shop(most_items=7), tmp_path / "other")
    assert other is not None
    foreign = distributed.count(other, shards[2], 2, 3)
    before = kept(tmp_path / "run")
    for wrong in (partials[:2], [*partials, partials[1]], [*partials[:2], foreign], []):
        with pytest.raises(OrganzaError):
            distributed.merge(tmp_path / "run", wrong)
        assert kept(tmp_path / "run") == before
    with pytest.raises(OrganzaError):
        distributed.join([partials[0], partials[0]])
    with pytest.raises(OrganzaError):
        distributed.count(task, events(), 0, 3)
    assert distributed.count(task, events(), 0, 3, among_others=True) == partials[0]
    joined = distributed.join([distributed.join(partials[1:]), partials[0]])
    following, _ = distributed.merge(tmp_path / "run", [joined])
    assert following is not None and following != task


def test_units_are_split_by_their_names() -> None:
    """All rows of a unit meet, nobody is lost, and what has no clear name is refused."""
    numbers = pa.table({"who": pa.array([1, 2, None, 1], pa.int64()), "what": [1, 2, 3, 4]})
    names = numbers.set_column(0, "who", pa.array(["1", "2", None, "1"]).dictionary_encode())
    for table in (numbers, names):
        parts = split(table, "who", 4)
        assert parts[shard_of("1", 4)]["what"].to_pylist()[0] == 1
        assert sorted(what for part in parts for what in part["what"].to_pylist()) == [1, 2, 3, 4]
        assert 3 in parts[0]["what"].to_pylist()
    with pytest.raises(DataError, match="cast it"):
        split(pa.table({"who": [1.0, 2.0]}), "who", 2)
    with pytest.raises(DataError, match="no column"):
        split(numbers, "nobody", 2)
    with pytest.raises(DataError, match="no shards"):
        distributed.fit(shop(), [])
    with pytest.raises(DataError, match="cannot be counted"):
        distributed.count(b"", [3.0], 0, 1)
