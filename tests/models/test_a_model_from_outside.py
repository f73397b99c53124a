"""A model that is no part of the package: what its class states is enough for training, questions and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import transa
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import classify, link_prediction
from transa.inference import Trained, explain, extend, neighbours
from transa.models import MODELS, Model, Rows, build, register
from transa.models.residual_model import ResidualModel
from transa.training import Options, RunFolder, Trainer, load_recipe
from transa.training.engine import choose_engine
from transa.training.memory import training_memory


class Spread(ResidualModel):
    """``f_r(h, t) = sum_i exp(s_i + s_{r,i}) |h_i + r_i - t_i|^1.5``: the weights of the dimensions are learned too."""

    name, label = "spread", "Spread"
    formula, size, cost = "sum_i exp(s_i + s_{r,i}) |h_i + r_i - t_i|^1.5", "n k + 2 m k + k", "2 k"

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        return {**super().relation_tables(), "scale": (self.dim,)}

    def shared_tables(self) -> dict[str, tuple[int, ...]]:
        return {"scale": (self.dim,)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        return torch.zeros(shape) if table == "scale" else super().start(table, shape, width, generator)

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        return (self.shared.scale + relation.scale).exp() * (residual.abs() + 1e-9) ** 1.5


UMLS = transa.load("umls")


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    register(Spread)
    yield
    del MODELS["spread"]


def trained(folder: RunFolder | None = None) -> Trained:
    objective = {"loss": "softmax", "negatives": 16, "optimizer": "adagrad", "learning_rate": 0.1}
    recipe = load_recipe(
        "spread", None, None, {"dim": 8, "epochs": 20, "batch_size": 256, "validate_every": 5, **objective}
    )
    return Trained(Trainer(UMLS, recipe, None, folder, "umls").fit(), UMLS, recipe)


def test_it_trains_is_evaluated_saved_and_opened(tmp_path: Path) -> None:
    one = trained(RunFolder(tmp_path / "run"))
    assert not torch.equal(one.model.relation.scale, torch.zeros_like(one.model.relation.scale))
    untrained = build("spread", len(UMLS.entities), len(UMLS.relations), 8).initialise(0)
    mrr = [link_prediction(model, UMLS.test, UMLS.known()).summary()["both"]["mrr"] for model in (one.model, untrained)]
    assert mrr[0] > 5 * mrr[1]
    assert classify(one.model, UMLS).summary()["accuracy"] > 0.7  # 0.5 by chance
    again = Trained.open(tmp_path / "run")
    assert type(again.model) is Spread
    assert all(torch.equal(again.model.tensors()[name], table) for name, table in one.model.tensors().items())
    assert training_memory(UMLS, one.recipe, Options()).total > 0  # type: ignore[arg-type]


def test_a_compiled_engine_is_not_forced_on_it() -> None:
    recipe = load_recipe("spread", None, None, {"dim": 4})
    model = recipe.build_model(3, 1).initialise(0)
    assert choose_engine(model, KnowledgeGraph.from_ids([(0, 0, 1)], entities=3, relations=1), recipe).name == "torch"


def test_it_explains_and_has_neighbours_and_grows() -> None:
    one = trained()
    found = explain(one, "virus", "causes", "disease_or_syndrome")
    triple = one.triple("virus", "causes", "disease_or_syndrome")
    assert np.isclose(found.parts.total, float(one.scores(triple)[0]))
    assert len(found.dimensions()) == 8 and found.without is None and found.transformed is None
    near = neighbours(one, "virus", "causes", top=3)
    h, r, t = triple[0].tolist()
    apart = one.model.entity.vector[h] - one.model.entity.vector[one.entities.id(near.nearest[0].key)]
    weights = (one.model.shared.scale + one.model.relation.scale[r]).exp()
    assert near.nearest[0].distance == pytest.approx(float((weights * apart.abs() ** 1.5).sum()), rel=1e-4)
    grown = extend(one, [("prion", "causes", "disease_or_syndrome")], steps=0).trained
    expected = one.model.entity.vector[t] - one.model.relation.vector[r]
    torch.testing.assert_close(grown.model.entity.vector[-1], expected)


def test_two_models_cannot_share_a_name_and_each_states_what_it_is() -> None:
    class Other(ResidualModel):
        name, label, formula, size, cost = "transe", "Other", "", "", ""

    class Unfinished(Model):
        name = "unfinished"

    with pytest.raises(InputError, match="TransE is already called 'transe'"):
        register(Other)
    with pytest.raises(InputError, match="Unfinished: a model states its label"):
        register(Unfinished)
    assert register(Spread) is Spread
    assert repr(build("spread", 2, 1, 3)) == "Spread(2 entities, 1 relation, dim=3)"
