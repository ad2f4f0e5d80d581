"""One machine, workers of Ray and partitions of Spark: the same bits, the same certificate."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
import ray
import ray.data
from conftest import NAMES
from made_up import data, estimator, left, unit_of

from organza import distributed
from organza.distributed import ray as on_ray
from organza.distributed import spark as on_spark
from organza.distributed._rounds import shards_of_begun
from organza.exceptions import SettingsError

Left = dict[str, dict[str, bytes]]


def same(one: dict[str, bytes], other: dict[str, bytes]) -> None:
    """Every file of two runs is the same."""
    assert sorted(one) == sorted(other)
    for name in one:
        assert one[name] == other[name], name
    assert "certificate.json" in one and "ledger.jsonl" in one and len(one) >= 4


@pytest.fixture(params=[2, 4])
def workers(request: Any) -> Any:
    """Ray with so many workers."""
    ray.init(address="local", num_cpus=request.param, include_dashboard=False, log_to_driver=False)
    yield request.param
    ray.shutdown()


@pytest.mark.parametrize("name", NAMES)
def test_shards_on_this_machine(name: str, alone: Left) -> None:
    """The loop without an engine, and one more person is noticed, so that a comparison that cannot fail would be."""
    table = data(name)
    shards = distributed.split(table, unit_of(name), 5)
    same(alone[name], left(distributed.fit(estimator(name), shards)))
    fewer = [*shards[:-1], shards[-1].slice(0, 0)]
    assert left(distributed.fit(estimator(name), fewer)) != alone[name]


def test_workers_of_ray(workers: int, alone: Left) -> None:
    """Shards as they come, blocks that are split by their units, and a tree of joins."""
    for name in NAMES:
        table = data(name)
        shards = distributed.split(table, unit_of(name), 3 * workers)
        same(alone[name], left(on_ray.fit(estimator(name), shards, fan_in=3)))
        blocks = [table.slice(0, len(table) // 3), table.slice(len(table) // 3)]
        split = on_ray.fit(estimator(name), blocks, unit=unit_of(name), shards=workers)
        same(alone[name], left(split))


def test_ray_data_and_paths(alone: Left, tmp_path: Any) -> None:
    """A data set of Ray, and files that hold whole units."""
    import pyarrow.parquet as pq

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        table = data("recommender")
        events = ray.data.from_arrow([table.slice(0, 900), table.slice(900)])
        same(alone["recommender"], left(on_ray.fit(estimator("recommender"), events, shards=4)))
        paths = []
        for number, shard in enumerate(distributed.split(table, "customer", 3)):
            paths.append(tmp_path / f"{number}.parquet")
            pq.write_table(shard, paths[-1])
        same(alone["recommender"], left(on_ray.fit(estimator("recommender"), paths)))
        with pytest.raises(SettingsError, match="`unit`"):
            on_ray.fit(estimator("recommender"), paths, shards=4)
    finally:
        ray.shutdown()


def test_a_driver_of_ray_sees_no_rows(workers: int, alone: Left, monkeypatch: Any, tmp_path: Any) -> None:
    """Of shards that are references it gets their kind and their partials; and it goes on with as many blocks as it began with."""
    table, columns = data("recommender"), {"customer", "article"}
    seen = []
    get = ray.get

    def watched(asked: Any, **options: Any) -> Any:
        seen.append(get(asked, **options))
        return seen[-1]

    monkeypatch.setattr(ray, "get", watched)
    shards = [ray.put(shard) for shard in distributed.split(table, "customer", workers)]
    same(alone["recommender"], left(on_ray.fit(estimator("recommender"), shards)))
    tables = [it for it in seen if isinstance(it, pa.Table)]
    assert [(len(it), set(it.column_names)) for it in tables] == [(0, columns)]
    assert all(isinstance(it, (pa.Table, list)) for it in seen)
    assert all(isinstance(partial, bytes) for it in seen if isinstance(it, list) for partial in it)
    texts = on_ray._head(["a line", "another line"]), on_ray._head([table])
    assert texts[0] == [] and len(texts[1][0]) == 0
    assert len(on_ray._head(table.to_pandas())) == 0 and on_ray._head("path") == "path"

    folder = tmp_path / "run"
    task = distributed.plan(estimator("recommender"), folder)
    assert task is not None
    (folder / "planned.json").write_text(
        (folder / "planned.json").read_text().replace('"shards": null', '"shards": 3')
    )
    fitting = estimator("recommender", folder=folder)
    assert shards_of_begun(fitting) == 3
    blocks = [table.slice(start, 500) for start in range(0, len(table), 500)]
    with pytest.raises(SettingsError, match="begun with 3 shards"):
        on_ray.fit(fitting, blocks, unit="customer", shards=4)
    same(alone["recommender"], left(on_ray.fit(fitting, blocks, unit="customer")))


@pytest.mark.parametrize("name", NAMES)
def test_partitions_of_spark(name: str, spark: Any, alone: Left) -> None:
    """Few partitions, and so many that they are joined on the cluster."""
    frame = spark.createDataFrame(data(name).to_pandas())
    for shards in (3, 10):
        same(alone[name], left(on_spark.fit(estimator(name), frame, shards=shards)))


def test_more_partitions_than_persons(spark: Any) -> None:
    """Partitions without rows have partials, too."""
    few = data("recommender").slice(0, 5)
    frame = spark.createDataFrame(few.to_pandas())
    one = left(estimator("recommender").fit(few))
    assert one == left(on_spark.fit(estimator("recommender"), frame, shards=12))
    assert isinstance(few, pa.Table)
