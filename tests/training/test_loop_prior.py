"""The loop prior on its way from the training triples through checkpoints and files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import transa
from tests.training.helpers import same_bits, settings
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import evaluate
from transa.models import build
from transa.models.loop_prior import loop_free_relations
from transa.training import Options, RunFolder, Stopped, Trainer, load_recipe, recipe_from
from transa.training.recipe_files import general_tables
from transa.training.trainer import start_model

#: UMLS has no loops; here its first relation has many.
_UMLS = transa.load("umls")
_LOOPS = np.array([(entity, 0, entity) for entity in range(50)], np.int32)
UMLS = replace(_UMLS, train=np.concatenate([_UMLS.train, _LOOPS]))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)), max_size=30),
    st.sampled_from([0.01, 0.25, 0.5, 1.0]),
)
def test_a_relation_is_loop_free_if_its_share_of_loops_is_below_the_limit(
    rows: list[tuple[int, int, int]], limit: float
) -> None:
    found = loop_free_relations(np.array(rows, np.int32).reshape(-1, 3), 4, limit)
    for relation in range(4):
        mine = [(head, tail) for head, edge, tail in rows if edge == relation]
        share = sum(head == tail for head, tail in mine) / len(mine) if mine else 1.0
        assert bool(found[relation]) == (share < limit)


def test_the_prior_is_learned_from_train_alone_and_is_no_parameter() -> None:
    train = [(i, 0, i + 1) for i in range(5)] + [(i, 1, i) for i in range(3)]
    loops = [(i, 0, i) for i in range(6)]
    graph = KnowledgeGraph.from_ids(train, loops, loops, entities=6, relations=3)
    recipe = recipe_from({"model": "transe", "dim": 4, "loop_limit": 0.01})
    model = start_model(graph, recipe)
    assert model.loop_free is not None and model.loop_free.tolist() == [True, False, False]  # relation 2 has no triples
    assert model.parameters == start_model(graph, recipe.model_copy(update={"loop_limit": 0.0})).parameters == 4 * 9
    assert start_model(graph, recipe_from({"model": "transe"})).loop_free is None


@pytest.mark.parametrize("recipe", ["paper", "authors", "modern"])
def test_recipes_that_were_measured_without_it_have_none(recipe: str) -> None:
    assert load_recipe("transa", recipe, None).loop_limit == 0
    assert all(table["loop_limit"] == 0.01 for table in general_tables("transa").values())


@pytest.mark.parametrize("value", [-0.1, 1.1, "often"])
def test_a_limit_that_is_no_share_is_an_error(value: object) -> None:
    with pytest.raises(InputError, match="loop_limit"):
        recipe_from({"loop_limit": value})


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_an_interrupted_run_ends_with_the_same_bits_and_the_same_prior(tmp_path: Path, engine: str) -> None:
    recipe = settings(
        model="transe", epochs=4, validate_every=1, validate_sample=20, loop_limit=0.01, precision="float32"
    )
    options = Options(engine=engine, checkpoint_epochs=1)  # type: ignore[arg-type]
    whole = Trainer(UMLS, recipe, options, RunFolder(tmp_path / "whole")).fit()
    assert whole.loop_free is not None and whole.loop_free.any() and not whole.loop_free.all()
    first = Trainer(UMLS, recipe, options, RunFolder(tmp_path / "cut"))

    def stop(progress: object) -> None:
        first.stop()

    with pytest.raises(Stopped):
        first.fit(stop)
    Trainer(UMLS, recipe, options, RunFolder(tmp_path / "cut")).fit(resume=True)
    kept = RunFolder(tmp_path / "cut").model()
    assert same_bits(kept.tensors(), whole.tensors())
    assert torch.equal(kept.loop_free, whole.loop_free)  # type: ignore[arg-type]
    assert (kept.relation.keys(), kept.parameters) == (whole.relation.keys(), whole.parameters)


def test_a_directional_model_has_one_prior_for_both_directions(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    recipe = settings(model="transe", epochs=1, loop_limit=0.01, directional=True, precision="float32")
    trained = Trainer(UMLS, recipe, None, folder).fit()
    kept = folder.model()
    assert trained.loop_free is not None and len(trained.loop_free) == len(UMLS.relations) == kept.graph_relations
    assert same_bits(kept.tensors(), trained.tensors())
    found = evaluate(kept, UMLS, limit=50)
    assert found.found.without_prior is not None
    assert (found.ranks(filtered=False) <= found.found.without_prior.ranks(filtered=False)).all()  # test has no loops


def test_validation_uses_the_prior() -> None:
    recipe = settings(
        model="transe", epochs=1, validate_every=1, validate_sample=200, loop_limit=0.01, precision="float32"
    )
    trainer = Trainer(UMLS, recipe)
    assert trainer.validation is not None
    with_prior = trainer.validation.score(trainer.model)
    trainer.model.loop_free = None
    assert with_prior > trainer.validation.score(trainer.model)


def test_a_run_without_the_table_loads_with_the_prior_off(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    Trainer(UMLS, settings(model="transe", epochs=1, loop_limit=0.01, precision="float32"), None, folder).fit()
    tensors, _ = folder.read_tensors("weights.safetensors")
    assert tensors.pop("relation.loop_free").dtype == torch.bool
    folder.write_tensors("weights.safetensors", tensors)
    assert folder.model().loop_free is None


@pytest.mark.parametrize("wrong", [torch.ones(3), torch.ones(2, dtype=torch.bool), torch.ones(3, 1, dtype=torch.bool)])
def test_a_prior_of_another_kind_is_refused(wrong: torch.Tensor) -> None:
    model = build("transe", 4, 3, 2).initialise(0)
    with pytest.raises(InputError, match=r"relation\.loop_free in bool of shape \(3,\)"):
        build("transe", 4, 3, 2).load(model.tensors() | {"relation.loop_free": wrong})


def test_bytes_that_are_no_truth_values_are_taken_as_true() -> None:
    odd = torch.tensor([0, 7, 255], dtype=torch.uint8).view(torch.bool)
    model = build("transe", 4, 3, 2).initialise(0)
    found = build("transe", 4, 3, 2).load(model.tensors() | {"relation.loop_free": odd}).loop_free
    assert found is not None and found.view(torch.uint8).tolist() == [0, 1, 1]


def test_the_model_without_its_metric_has_the_same_prior() -> None:
    model = build("transa", 4, 3, 2).initialise(0)
    model.loop_free = torch.tensor([True, False, True])
    plain = model.to("cpu").plain()
    assert plain is not None and plain.loop_free is model.loop_free
