"""Plans: both forms of a step, what they show, and what their certificates say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from organza.exceptions import DataError, RunError, SettingsError
from organza.torch import Batch, Plan, Table
from organza.torch._draws import Draws

pytestmark = pytest.mark.filterwarnings("ignore:this run is NOT private")

SEEDED: dict[str, Any] = {"epsilon": 3.0, "delta": 1e-6, "batch": 40, "steps": 6, "random_state": 3}


def data() -> dict[str, torch.Tensor]:
    """Give made-up examples."""
    random = torch.Generator().manual_seed(0)
    return {"ids": torch.randint(-1, 200, (400, 5), generator=random), "y": torch.rand(400, generator=random)}


def model() -> tuple[Table, nn.Module]:
    """Give a table and a dense part."""
    torch.manual_seed(1)
    return Table(rows=200, dim=4), nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))


def fitted(checked: bool = True, **settings: Any) -> Plan:
    """Train a plan."""
    table, head = model()
    settings = {**SEEDED, "units": torch.arange(400) // 2, **settings}
    plan = Plan([table], dense=head, backward=not checked, **settings)

    def loss(example: Any) -> torch.Tensor:
        result: torch.Tensor = (head(table.bag(example.ids)).squeeze(-1) - example.y) ** 2
        return result

    for batch in plan.batches(data()):
        if checked:
            plan.step(batch, loss)
        else:
            total: Any = loss(batch).sum()
            total.backward()
            plan.step(batch)
    return plan


def weights(plan: Plan) -> torch.Tensor:
    """Give all parameters of a trained plan."""
    dense = [value.detach().reshape(-1) for value in plan.dense.parameters()]
    return torch.cat([plan.tables[0].weight.reshape(-1), *dense])


@pytest.mark.parametrize("select", [None, "exponential", "uniform", "sparse-vector", "noisy-max", "limited-domain"])
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_both_forms_make_the_same_steps(select: str | None, optimizer: str) -> None:
    settings = {"select": select, "optimizer": optimizer, "draws": 20 if select else None}
    one, other = fitted(True, **settings), fitted(False, **settings)
    assert torch.allclose(weights(one), weights(other), atol=1e-4)
    assert one.certificate()["epsilon"] <= 3.0
    assert not any("NOT CHECKED" in condition for condition in one.certificate()["conditions"])
    assert any("NOT CHECKED" in condition for condition in other.certificate()["conditions"])


def test_parts_of_a_batch_make_the_same_step() -> None:
    assert torch.allclose(weights(fitted()), weights(fitted(units_at_once=7)), atol=1e-5)


def test_the_account_is_that_of_the_library() -> None:
    from organza import accounting

    plan = fitted(random_state=None, number_of_units=200)
    ledger = plan.ledger()
    assert plan.certificate()["private"] and len(list(ledger)) > 0
    table, head = model()
    again = Plan([table], dense=head, units=torch.arange(400) // 2, **{**SEEDED, "number_of_units": 200})
    batches = again.batches(data())
    next(batches)
    event = accounting.gaussian(again.noise_multiplier).poisson(40 / 200).repeat(6)
    assert accounting.epsilon(event, 1e-6) == pytest.approx(3.0, rel=2e-2)


def test_a_page_is_written(tmp_path: Path) -> None:
    page = fitted().report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Network" in page


def test_a_loss_of_one_example_cannot_divide_by_the_batch() -> None:
    """The broken twin: a mean over the batch, forced through, is not there for a loss of one example."""
    table, head = model()
    plan = Plan([table], dense=head, **SEEDED)
    shapes = []

    def loss(example: Any) -> torch.Tensor:
        shapes.append(tuple(example.ids.shape))
        result: torch.Tensor = ((head(table.bag(example.ids)) - example.y) ** 2).mean()
        return result

    for batch in plan.batches(data()):
        plan.step(batch, loss)
    assert set(shapes) == {(5,)}


def test_a_batch_shows_neither_its_examples_nor_its_size() -> None:
    """Broken twins: a loss that is divided by the size of the batch, or that sees all labels, through the batch itself."""
    table, head = model()
    plan = Plan([table], dense=head, **SEEDED)
    batch = next(plan.batches(data()))

    def score(example: Any) -> torch.Tensor:
        return head(table.bag(example.ids)).sum()  # type: ignore[no-any-return]

    for loss in (
        lambda example: score(example) / len(batch),
        lambda example: score(example) - batch.y.mean(),
        lambda example: score(example) - batch["y"].mean(),
    ):
        with pytest.raises(RunError, match="backward=True"):
            plan.step(batch, loss)
    assert repr(batch) == "Batch(private)" and bool(batch)
    with pytest.raises(RunError, match="loss of one example"):
        plan.step(batch)
    with pytest.raises(RunError, match="outside of a batch"):
        table.bag(data()["ids"])
    plan.step(batch, score)
    shown = next(Plan([Table(200, 4)], dense=head, backward=True, **SEEDED).batches(data()))
    assert len(shown) == len(shown.y) == len(shown["ids"])


def test_a_vmap_within_an_example_is_right_or_refused() -> None:
    """A gradient that is noted for the wrong example would be clipped with another unit."""
    found = []
    for nested in (False, True):
        table, head = model()
        plan = Plan([table], dense=head, **{**SEEDED, "steps": 1})

        def rows(ids: torch.Tensor, nested: bool = nested, table: Table = table) -> torch.Tensor:
            return torch.vmap(table)(ids) if nested else table(ids)  # type: ignore[no-any-return]

        try:
            for batch in plan.batches(data()):
                plan.step(batch, lambda one, rows=rows, head=head: (head(rows(one.ids).mean(0)) - one.y).square().sum())
        except (RunError, DataError, RuntimeError):
            assert nested
            return
        found.append(weights(plan))
    assert torch.allclose(found[0], found[1], atol=1e-6)


def test_draws_are_of_all_bits_of_a_seed() -> None:
    """The twin: PyTorch takes 32 bits of a seed, which can be tried one after the other."""
    before = torch.get_rng_state()
    draws, drawn, twin = Draws(), [], []
    for seed in (5, 5 + (1 << 32)):
        draws.lend(seed)
        drawn.append(torch.rand(50_000))
        draws.give_back()
        torch.manual_seed(seed)
        twin.append(torch.rand(8))
        torch.set_rng_state(before)
    assert torch.equal(*twin) and not torch.equal(*drawn)
    # Uniform draws: a mean beyond 4.9 deviations has a probability of 1e-6.
    assert all(abs(float(it.mean()) - 0.5) < 4.9 * (12 * len(it)) ** -0.5 for it in drawn)
    assert torch.equal(torch.get_rng_state(), before)


def masks(random_state: int | None) -> torch.Tensor:
    """Give what dropout leaves of a one, for the first examples of a batch."""
    table, _ = model()
    head = nn.Sequential(nn.Linear(4, 1), nn.Dropout(0.5))
    plan = Plan([table], dense=head, **{**SEEDED, "random_state": random_state, "steps": 1, "batch": 200})
    torch.manual_seed(7)
    batch = next(plan.batches(data()))
    seen: list[torch.Tensor] = []
    before = plan._hand_over

    def noted(lookups: Any, dense: list[torch.Tensor]) -> None:
        seen.append(dense[-1].reshape(-1)[:100].clone())
        before(lookups, dense)

    plan._hand_over = noted  # type: ignore[method-assign]
    plan.step(batch, lambda example: head(table.bag(example.ids)).sum())
    (mask,) = seen
    return mask


def test_what_layers_draw_is_a_secret_of_the_run() -> None:
    """One unit more moves all draws by a place, so that nobody may know them. The twin is a seed, which everybody may know."""
    assert set(masks(None).tolist()) == {0.0, 2.0}
    assert not torch.equal(masks(None), masks(None))
    assert torch.equal(masks(3), masks(3))


def test_batches_are_stepped_once_and_come_from_the_plan() -> None:
    table, head = model()
    plan = Plan([table], dense=head, **SEEDED)
    batches = plan.batches(data())
    first = next(batches)

    def loss(example: Any) -> torch.Tensor:
        result: torch.Tensor = (head(table.bag(example.ids)).squeeze(-1) - example.y) ** 2
        return result

    with pytest.raises(RunError, match="did not draw"):
        plan.step(Batch(first._fields, first._ends, first._length, shown=True), loss)
    plan.step(first, loss)
    with pytest.raises(RunError, match="stepped before"):
        plan.step(first, loss)
    with pytest.raises(RunError, match="outside of a batch"):
        table(torch.tensor([1]))
    with torch.no_grad():
        assert table(torch.tensor([1, -1])).shape == (2, 4)
    next(batches)
    with pytest.raises(RunError, match="not stepped"):
        next(batches)
    with pytest.raises(RunError, match="steps are left"):
        plan.certificate()
