"""Click models: fits, probabilities, steps by workers, and what is refused."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from organza import ClickModel, distributed
from organza.exceptions import BudgetError, DataError, SettingsError
from organza.ledger import Ledger


def shown(users: int = 800) -> Any:
    """Give rows of what users were shown."""
    draw = random.Random(1)
    rows = [(f"u{user}", draw.randrange(8)) for user in range(users) for _ in range(draw.randrange(1, 5))]
    return pa.table({
        "who": [who for who, _ in rows],
        "ad": [f"ad {ad}" for _, ad in rows],
        "paid": [float(draw.randrange(40)) for _ in rows],
        "clicked": [int(draw.random() < 0.1 + 0.1 * ad) for _, ad in rows],
    })


def model(**settings: Any) -> ClickModel:
    """Give a seeded click model."""
    usual: dict[str, Any] = {
        "epsilon": 5.0,
        "random_state": 3,
        "label_column": "clicked",
        "user_column": "who",
        "categories": ["ad"],
        "numbers": {"paid": 50},
        "buckets": 30,
    }
    return ClickModel(**{**usual, **settings})


def steps(**settings: Any) -> ClickModel:
    """Give one that takes steps."""
    options = {"batch": 60, "steps": 30}
    return model(method="dpsgd", units=800, options=options, **settings)


def kept(fitted: ClickModel) -> dict[str, bytes]:
    """Give the files that the promise is about."""
    folder = fitted._run.folder
    names = ("model.safetensors", "certificate.json", "ledger.jsonl", "reader.json")
    return {name: (folder / name).read_bytes() for name in names}


@pytest.mark.filterwarnings("ignore:this fit is NOT private")
def test_a_fit_says_what_is_likely(tmp_path: Path) -> None:
    """From memory and from a file alike, and after a pickle."""
    table = shown()
    fitted = model().fit(table)
    said = fitted.predict_proba(table)[:, 1]
    assert said.shape == (len(table),) and ((said > 0) & (said < 1)).all()
    assert fitted.score(table, table["clicked"]) > 0.65
    assert set(fitted.predict(table).tolist()) == {0, 1}
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "shown.csv")
    assert kept(model().fit(tmp_path / "shown.csv"))["model.safetensors"] == kept(fitted)["model.safetensors"]
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict_proba(table)[:, 1] == said).all()


@pytest.mark.filterwarnings("ignore:this fit is NOT private")
def test_shards_give_the_bits_of_one_machine() -> None:
    """Counts of buckets and second moments."""
    table = shown()
    alone = kept(model().fit(table))
    for shards in (1, 4):
        assert kept(distributed.fit(model(), distributed.split(table, "who", shards))) == alone
    assert kept(distributed.fit(model(), distributed.split(shown(799), "who", 4))) != alone


@pytest.mark.filterwarnings("ignore:this fit is NOT private")
def test_steps_by_workers(tmp_path: Path) -> None:
    """They follow the data and the seed, not how the data is cut; the same folder goes on, and a finished one is refused."""
    table = shown()
    fitted = distributed.fit(steps(), [table])
    whole = kept(fitted)
    assert fitted.score(table, table["clicked"]) > 0.6
    assert fitted.certificate_["epsilon"] is None or fitted.certificate_["epsilon"] <= 5.0
    cut = distributed.split(table, "who", 3)
    assert kept(distributed.fit(steps(folder=tmp_path / "run"), cut)) == whole
    with pytest.raises(SettingsError, match="not empty"):
        distributed.fit(steps(folder=tmp_path / "run"), cut)
    import pyarrow.csv

    pyarrow.csv.write_csv(table, tmp_path / "shown.csv")
    assert kept(distributed.fit(steps(), [tmp_path / "shown.csv"])) == whole
    with pytest.raises(SettingsError, match="one path"):
        distributed.fit(steps(), [tmp_path / "shown.csv", tmp_path / "shown.csv"])
    with pytest.raises(SettingsError, match="units"):
        distributed.fit(model(method="dpsgd"), [table])


def test_what_cannot_be_used_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    """Columns that are not there, labels beside them, matrices, a budget that is too small."""
    table = shown(50)
    with pytest.raises(SettingsError, match="categories"):
        ClickModel(label_column="clicked").fit(table)
    with pytest.raises(DataError, match="label_column"):
        model().fit(table, [1])
    with pytest.raises(DataError):
        model(categories=["nothing"]).fit(table)
    with pytest.raises(DataError):
        distributed.fit(steps(categories=["nothing"]), [table])
    with pytest.raises(DataError, match="table"):
        model().fit([[1.0, 2.0]])
    ledger = Ledger.create(tmp_path / "shown.ledger", "shown", epsilon=1.0, delta=1e-5)
    with pytest.raises(BudgetError):
        model(ledger=ledger, random_state=None).fit(table)
    assert not ledger.shares()
