"""The type penalty: which entities fit, what a misfit costs, and that it is learned where it helps and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.evaluation.queries import SIDES, Queries
from transa.evaluation.ranking import Ranker
from transa.evaluation.scores import answer_scores
from transa.inference import Trained, extend
from transa.models.type_penalty import TypePenalty
from transa.training import RunFolder, Trainer, recipe_from

PEOPLE, TOWNS = [f"p{i:02}" for i in range(30)], [f"t{i}" for i in range(10)]


def graph(*, typed: bool = True, schema: bool = False) -> KnowledgeGraph:
    """People live in towns, and know each other at random."""
    random = np.random.default_rng(0)
    rows = [(one, "lives_in", TOWNS[i % 10]) for i, one in enumerate(PEOPLE)]
    rows += [(one, "knows", PEOPLE[random.integers(30)]) for one in PEOPLE for _ in range(2)]
    plain = KnowledgeGraph.from_triples(rows)
    types = {key: ["person"] for key in PEOPLE[:-1]} | {key: ["town", "place"] for key in TOWNS}
    entities = plain.entities.typed(types=types) if typed else plain.entities
    relations = plain.relations.typed(ranges={"lives_in": ["town"]}) if schema else plain.relations
    chosen = random.permutation(len(plain.train))
    return KnowledgeGraph(entities, relations, plain.train[chosen[:70]], plain.train[chosen[70:]])


def trained(data: KnowledgeGraph, folder: Path | None = None, **values: object):
    settings = {"model": "transe", "dim": 6, "epochs": 2, "batch_size": 32, "type_penalty": True, **values}
    return Trainer(data, recipe_from(settings), folder=None if folder is None else RunFolder(folder)).fit()


def fitting(data: KnowledgeGraph, step: int) -> set[str]:
    return {data.entities[each] for each in np.flatnonzero(~TypePenalty.of(data).misfits(step))}


@pytest.mark.parametrize("schema", [False, True])
def test_types_of_the_schema_or_else_of_train_fit(schema: bool) -> None:
    data = graph(schema=schema)
    lives, knows, count = data.relations.id("lives_in"), data.relations.id("knows"), 2
    untyped = PEOPLE[-1]  # fits everywhere
    assert fitting(data, lives) == {*TOWNS, untyped}
    assert fitting(data, lives + count) == fitting(data, knows) == set(PEOPLE)


def test_without_types_the_roles_of_train_fit() -> None:
    data = graph(typed=False)
    knows = data.relations.id("knows")
    seen = {data.entities[each] for each in data.train[data.train[:, 1] == knows][:, 2]}
    roleless = set(data.entities) - {data.entities[each] for each in data.train[:, [0, 2]].ravel()}
    assert fitting(data, knows) == seen | roleless


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"model": "rescal", "dim": 4},
        {"model": "transa", "metric": "signed", "metric_update": "gradient", "directional": True, "biases": True,
         "loss": "softmax", "negatives": "all"},
    ],
    ids=["transe", "rescal", "directional"],
)  # fmt: skip
def test_ranks_are_those_of_score_and_penalty(values: dict[str, object], tmp_path: Path) -> None:
    """A few epochs mix people and towns, so that the types are worth something; every entity is scored by hand."""
    data = graph()
    model = trained(data, tmp_path / "run", **values)
    assert model.penalty is not None and (model.penalty.weights > 0).any()
    opened = Trained.open(tmp_path / "run").model
    assert opened.penalty is not None
    np.testing.assert_array_equal(opened.penalty.weights, model.penalty.weights)
    free = Trained.open(tmp_path / "run").model
    free.penalty = None
    misfit = {side: model.penalty.of_triples(data.valid, side) for side in SIDES}
    own = {side: answer_scores(free, data.valid, side) for side in SIDES}
    mean = np.mean([own[side] + misfit[side] for side in SIDES], axis=0)
    found = model.score_triples(torch.from_numpy(data.valid.astype(np.int64)))
    np.testing.assert_allclose(found.detach().numpy(), mean, rtol=1e-5)
    for side in SIDES:
        column = 0 if side == "head" else 2
        queries = Queries.of(data.valid, data.known(), side)
        _, scores = Ranker(opened).best(queries, 5)
        for row in range(len(queries)):
            given = (0, queries.relations[row], queries.fixed[row])
            every = np.tile(given if side == "head" else given[::-1], (len(data.entities), 1))
            every[:, column] = np.arange(len(data.entities))
            plain = answer_scores(free, every, side)
            step = int(queries.relations[row]) + (2 if side == "head" else 0)
            said = model.penalty.weights[step] * np.array([key not in fitting(data, step) for key in data.entities])
            np.testing.assert_allclose(scores[row], np.sort(plain + said)[:5], rtol=1e-5)


def test_it_helps_on_valid_and_is_left_out_where_it_cannot() -> None:
    data = graph()
    model = trained(data)
    with_types = link_prediction(model, data.valid, data.known()).summary()["both"]["mrr"]
    model.penalty = None
    assert with_types > link_prediction(model, data.valid, data.known()).summary()["both"]["mrr"]
    everywhere = data.entities.typed(types={key: ["thing"] for key in data.entities})
    assert trained(KnowledgeGraph(everywhere, data.relations, data.train, data.valid)).penalty is None


def test_new_entities_keep_their_types(tmp_path: Path) -> None:
    data = graph()
    trained(data, tmp_path / "run")
    grown = extend(Trained.open(tmp_path / "run"), [("new", "lives_in", "t0")]).trained.model
    assert grown.penalty is not None and grown.penalty.size == grown.num_entities == len(data.entities) + 1
    assert grown.penalty.weights.any()


def test_what_it_needs_is_said() -> None:
    data = graph()
    with pytest.raises(InputError, match="type_penalty: the graph has no validation triples"):
        trained(KnowledgeGraph(data.entities, data.relations, data.train))
    with pytest.raises(ValueError, match="type_penalty"):
        recipe_from({"model": "ptranse", "type_penalty": True})
    stored = TypePenalty.of(data).tensors()
    for name, broken in (("weights", stored["weights"] - 1), ("members", stored["members"] + 100)):
        with pytest.raises(InputError, match="the type penalty does not fit"):
            TypePenalty.of_tensors({**stored, name: broken}, len(data.entities), 2)
    with pytest.raises(InputError, match="cannot be read"):
        TypePenalty.of_tensors({}, 3, 2)
