"""Negatives shared by a batch: every entity drawn is scored at both sides of every positive, but for known facts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import transa
from tests.training.helpers import settings
from transa.errors import InputError
from transa.models import Model
from transa.training.engine import choose_engine
from transa.training.losses import LOSSES, loss_of
from transa.training.trainer import start_model

pytestmark = pytest.mark.slow  # many models are trained

NATIONS = transa.load("nations")
PART = transa.KnowledgeGraph.from_ids(
    NATIONS.train[::20], entities=list(NATIONS.entities), relations=list(NATIONS.relations)
)
FACTS = set(map(tuple, PART.train.tolist()))
NEGATIVES = 6

MODELS = ["transe", "transr", "lfm", "sme_linear", "sme_bilinear", "sme_tensor", "rescal", "ntn"]
OBJECTIVES = [("softmax", 1.0), ("logistic", 0.5), ("self_adversarial", 0.5), ("margin", 0.5)]


def whole_loss(
    model: Model, triples: np.ndarray, drawn: np.ndarray, loss: str, margin: float, tails_alone: bool = False
) -> torch.Tensor:
    """The loss of all positives, triple by triple."""

    def scores(rows: list[tuple[int, int, int]]) -> torch.Tensor:
        return model.score_triples(torch.tensor(rows, dtype=torch.long).reshape(-1, 3))

    total = torch.zeros((), dtype=torch.float64)
    for head, relation, tail in triples.tolist():
        positive = scores([(head, relation, tail)])
        sides = [[(e, relation, tail) for e in drawn], [(head, relation, e) for e in drawn]][tails_alone:]
        for corrupted in sides:
            false = [(int(h), r, int(t)) for h, r, t in corrupted if (h, r, t) not in FACTS]
            # The mean of logistic losses is over all that are drawn.
            share = len(false) / len(drawn) if loss == "logistic" else 1.0
            value, _ = loss_of(LOSSES[loss], margin, 1.0, positive, scores(false).unsqueeze(0))
            if loss == "logistic":
                alone = torch.nn.functional.softplus(positive - margin)
                value = alone + share * (value - alone)
            total = total + value.sum() / len(sides)
    return total


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("loss", "margin"), OBJECTIVES)
def test_a_step_follows_the_gradient_over_all_pairs(name: str, loss: str, margin: float) -> None:
    recipe = settings(
        model=name, dim=4, loss=loss, margin=margin, optimizer="sgd", learning_rate=1e-3, soft_penalty=0.0,
        negatives=NEGATIVES, sampling="uniform", shared_negatives=True, batch_size=10_000, entity_norm="free",
    )  # fmt: skip
    model, expected = start_model(PART, recipe), start_model(PART, recipe)
    engine = choose_engine(model, PART, recipe)
    report = engine.train_epoch(1)
    drawn, known = engine.epoch_batches.share(engine.epoch_batches.batches[0], NEGATIVES)
    assert known.shape == (2, len(PART.train), NEGATIVES) and known.any()
    trained = {
        name: table
        for name, table in expected.tensors().items()
        if name.removeprefix("relation.") not in expected.fixed
    }
    for table in trained.values():
        table.requires_grad_()
    value = whole_loss(expected, engine.epoch_batches.triples, drawn, loss, margin)
    assert report.loss == pytest.approx(float(value.detach()) / len(PART.train))
    gradients = torch.autograd.grad(value, list(trained.values()), allow_unused=True)
    constrained = set(expected.constraints)
    for (name_of, table), gradient in zip(trained.items(), gradients, strict=True):
        if gradient is not None and name_of not in constrained:
            assert torch.allclose(model.tensors()[name_of], table.detach() - 1e-3 * gradient, atol=1e-9), name_of


def test_the_same_seed_draws_the_same_and_rounds_differ() -> None:
    recipe = settings(model="rescal", negatives=20, sampling="uniform", shared_negatives=True)
    engine = choose_engine(start_model(NATIONS, recipe), NATIONS, recipe)
    engine.epoch_batches.start_epoch(1)
    first = engine.epoch_batches.share(engine.epoch_batches.batches[0], 20)[0]
    assert first.tolist() == engine.epoch_batches.share(engine.epoch_batches.batches[0], 20)[0].tolist()
    assert first.tolist() != engine.epoch_batches.share(engine.epoch_batches.batches[1], 20)[0].tolist()
    engine.epoch_batches.start_epoch(2)
    assert first.tolist() != engine.epoch_batches.share(engine.epoch_batches.batches[0], 20)[0].tolist()


@pytest.mark.parametrize("other", [{"sampling": "bern"}, {"sampling": "uniform", "candidates": "typed"}])
def test_they_stand_at_both_sides_alike(other: dict[str, str]) -> None:
    with pytest.raises(InputError, match="shared_negatives"):
        settings(model="rescal", shared_negatives=True, **other)


def test_the_compiled_engine_says_that_it_does_not_share() -> None:
    recipe = settings(model="transe", shared_negatives=True, sampling="uniform")
    with pytest.raises(InputError, match="share negatives"):
        choose_engine(start_model(NATIONS, recipe), NATIONS, recipe, engine="numba")


@pytest.mark.parametrize(("loss", "margin"), OBJECTIVES)
def test_they_may_stand_for_tails_alone(loss: str, margin: float) -> None:
    recipe = settings(
        model="transe", dim=4, loss=loss, margin=margin, negatives=NEGATIVES, sampling="tail", shared_negatives=True,
        batch_size=10_000,
    )  # fmt: skip
    engine = choose_engine(start_model(PART, recipe), PART, recipe)
    report = engine.train_epoch(1)
    drawn, _ = engine.epoch_batches.share(engine.epoch_batches.batches[0], NEGATIVES)
    value = whole_loss(start_model(PART, recipe), engine.epoch_batches.triples, drawn, loss, margin, tails_alone=True)
    assert report.loss == pytest.approx(float(value) / len(PART.train))
