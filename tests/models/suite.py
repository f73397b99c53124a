"""What every model has to do: a class of tests that each model's tests inherit."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from tests.training.helpers import largest_difference, same_bits, settings, train
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.models import MODELS, Model, Rows, build
from transa.training import Options, Progress, RunFolder, Trainer, recipe_from
from transa.training.trainer import start_model

ENTITIES, RELATIONS, DIM = 6, 3, 4
TRIPLES = torch.cartesian_prod(torch.arange(ENTITIES), torch.arange(RELATIONS), torch.arange(ENTITIES))
#: The letters of `Model.size`, by option.
LETTERS = {"relation_dim": "d", "hidden": "s", "clusters": "c", "factors": "p"}

#: Who works where, where that is, and so where people live: one relation follows from the others.
TOY = KnowledgeGraph.from_triples(
    [(f"p{i}", "works for", f"firm{i // 2}") for i in range(8)]
    + [(f"firm{i}", "in", f"town{i}") for i in range(4)]
    + [(f"p{i}", "lives in", f"town{i // 2}") for i in range(8)]
)


class Interrupted(Exception):  # noqa: N818
    """Stops a run from its callback."""


def randomised(name: str, seed: int = 0, **options: Any) -> Model:
    """A small model in double precision whose tables are all random, so that no part of the score vanishes."""
    model = build(name, ENTITIES, RELATIONS, DIM, **options).initialise(seed, dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    for table in model.tensors().values():
        table.add_(torch.rand(table.shape, generator=generator, dtype=torch.float64) * 0.5)
    return model


class ModelSuite:
    """Tests of one model, in one or more variants of its options."""

    name: ClassVar[str]
    options: ClassVar[dict[str, Any]] = {}
    #: Settings by which the toy graph is learned.
    toy: ClassVar[dict[str, Any]] = {}

    def model(self, seed: int = 0) -> Model:
        return randomised(self.name, seed, **self.options)

    def recipe(self, **values: Any):
        return settings(model=self.name, **{"optimizer": "adagrad", "learning_rate": 0.05, **self.options, **values})

    # ------------------------------------------------------------------ the score

    def test_single_triples_score_as_among_all_heads_and_all_tails(self) -> None:
        model = self.model()
        single = torch.cat([model.score_triples(row[None]) for row in TRIPLES]).reshape(ENTITIES, RELATIONS, ENTITIES)
        torch.testing.assert_close(model.score_triples(TRIPLES), single.ravel())
        one, all_ = (self.unsqueezed(model.entity, side) for side in (1, 0))
        for relation in range(RELATIONS):
            edge = model.gather("relation", torch.tensor(relation))
            torch.testing.assert_close(model.score(one, edge, all_), single[:, relation])
            torch.testing.assert_close(model.score(all_, edge, one), single[:, relation].T)
            for entity in range(ENTITIES):  # as in prediction: one entity against all, without a dimension of queries
                row = model.gather("entity", torch.tensor([entity]))
                torch.testing.assert_close(model.score(row, edge, model.entity), single[entity, relation])
                torch.testing.assert_close(model.score(model.entity, edge, row), single[:, relation, entity])
        if model.grouped:
            return
        for entity in range(ENTITIES):  # as in ranking: queries of several relations at once
            edges = self.unsqueezed(model.relation, 1)
            row = self.unsqueezed(model.gather("entity", torch.full((RELATIONS,), entity)), 1)
            torch.testing.assert_close(model.score(row, edges, all_), single[entity])
            torch.testing.assert_close(model.score(all_, edges, row), single[:, :, entity].T)

    @staticmethod
    def unsqueezed(rows: Rows, side: int) -> Rows:
        return Rows({name: table.unsqueeze(side) for name, table in rows.items()})

    def test_gradients_agree_with_finite_differences(self) -> None:
        model = self.model()
        parts = [model.gather(role, torch.tensor(i)) for role, i in (("entity", 0), ("relation", 1), ("entity", 2))]
        parts.append(model.shared)
        names = [list(part) for part in parts]
        flat = [part[name].clone().requires_grad_() for part, kept in zip(parts, names, strict=True) for name in kept]

        def scores(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            left = iter(tensors)
            head, relation, tail, model.shared = (Rows({name: next(left) for name in kept}) for kept in names)
            excess = model.excess(head, relation, tail)
            return (model.score(head, relation, tail), *(() if excess is None else (excess,)))

        assert torch.autograd.gradcheck(scores, flat)

    # ------------------------------------------------------------------ what a model says of itself

    def test_parts_of_the_residual_add_up_to_the_score(self) -> None:
        model = self.model()
        one, all_ = (self.unsqueezed(model.entity, side) for side in (1, 0))
        for relation in range(RELATIONS):
            edge = model.gather("relation", torch.tensor(relation))
            residual = model.residual(one, edge, all_)
            if residual is None:
                assert not model.translates and model.translation is None and model.metric_rules is None
                return
            score = model.score(one, edge, all_)
            if model.biases:
                score = score + one.bias + all_.bias
            torch.testing.assert_close(model.parts(residual, edge).sum(-1), score.square() if model.root else score)

    def test_the_metric_is_that_of_the_score_and_can_be_left_out(self) -> None:
        model = self.model()
        if model.metric_rules is None:
            assert model.metric_matrix(0) is None
            assert model.plain() is None
            return
        head, edge, tail = (
            model.gather(role, torch.tensor(i)) for role, i in (("entity", 0), ("relation", 1), ("entity", 2))
        )
        e, matrix = model.residual(head, edge, tail).numpy(), model.metric_matrix(1)  # type: ignore[union-attr]
        e = np.abs(e) if model.metric_rules.absolute else e
        assert np.array_equal(matrix, matrix.T)
        biases = float(head.bias + tail.bias) if model.biases else 0.0
        value = float(model.score(head, edge, tail)) + biases
        assert e @ matrix @ e == pytest.approx(value**2 if model.root else value)
        for norm in (1, 2):
            plain = model.plain(norm)
            assert plain.relation is model.relation and plain.entity is model.entity
            assert float(plain.score(head, edge, tail)) + biases == pytest.approx(np.linalg.norm(e, norm))

    def test_as_its_relations_see_it_an_entity_is_at_distance_0_from_itself(self) -> None:
        model = self.model()
        if model.translation is None:
            return
        for name in set(model.translation) & set(model.relation):
            model.relation[name].zero_()
        if model.biases:
            model.entity.bias.zero_()
        itself = torch.stack(
            [torch.arange(ENTITIES), torch.arange(ENTITIES) % RELATIONS, torch.arange(ENTITIES)], dim=1
        )
        assert float(model.score_triples(itself).abs().max()) < 1e-9

    # ------------------------------------------------------------------ parameters

    def test_parameters_are_as_many_as_stated(self) -> None:
        model = self.model()
        letters = {"n": ENTITIES, "m": RELATIONS, "k": DIM}
        letters |= {letter: getattr(model, option) for option, letter in LETTERS.items() if hasattr(model, option)}
        product = re.sub(r"(?<=[\w)]) (?=[\w(])", "*", self.size().replace("^", "**"))
        assert model.parameters == eval(product, {}, letters | {"rank": getattr(model, "rank", 0)})

    def size(self) -> str:
        return MODELS[self.name].size

    def test_parameters_are_loaded(self) -> None:
        model, copy = self.model(), self.model(seed=1)
        copy.load({name: table.clone() for name, table in model.tensors().items()})
        assert same_bits(copy.tensors(), model.tensors())
        assert torch.equal(copy.score_triples(TRIPLES), model.score_triples(TRIPLES))
        for name in model.tensors():
            with pytest.raises(InputError, match=re.escape(name)):
                copy.load({other: table for other, table in model.tensors().items() if other != name})

    # ------------------------------------------------------------------ training

    def test_a_run_is_kept_and_taken_up_with_the_same_bits(self, tmp_path) -> None:
        recipe = self.recipe(epochs=4, validate_every=2, precision="float32", **self.started())
        graph = KnowledgeGraph.from_ids(TOY.train, TOY.train[:3], entities=TOY.entities, relations=TOY.relations)
        options = Options(checkpoint_epochs=2)
        whole = Trainer(graph, recipe, options, RunFolder(tmp_path / "whole")).fit()

        def stop(progress: Progress) -> None:
            if progress.epoch == 3:
                raise Interrupted

        with pytest.raises(Interrupted):
            Trainer(graph, recipe, options, RunFolder(tmp_path / "cut")).fit(stop)
        resumed = Trainer(graph, recipe, options, RunFolder(tmp_path / "cut")).fit(resume=True)
        assert same_bits(resumed.tensors(), whole.tensors())
        loaded = RunFolder(tmp_path / "cut").model()
        assert same_bits(loaded.tensors(), whole.tensors())
        ids = torch.from_numpy(graph.train.astype(np.int64))
        assert torch.equal(loaded.score_triples(ids), whole.score_triples(ids))

    def started(self) -> dict[str, Any]:
        return {"warm_epochs": 3} if MODELS[self.name].from_transe else {}

    @pytest.mark.parametrize("optimizer", ["sgd", "adagrad_row", "adagrad", "adam"])
    def test_every_table_is_trained_by_every_optimiser(self, optimizer: str) -> None:
        recipe = self.recipe(
            optimizer=optimizer, learning_rate=0.01, loss="logistic", penalty=0.001, table_penalty=0.001
        )
        model, reports = train(TOY, recipe, "auto")
        before = start_model(TOY, recipe).tensors()
        moved = {name for name, table in model.tensors().items() if not torch.equal(table, before[name])}
        still = set(model.fixed) | ({"relation.metric"} if recipe.metric_update in ("none", "end") else set())
        assert moved == set(before) - still
        assert all(np.isfinite(report.loss) for report in reports)

    def test_both_engines_agree_where_there_are_two(self) -> None:
        model = self.model()
        if model.biases or (model.kernel() is None and not model.analytic_gradients):
            with pytest.raises(InputError, match="engine"):
                train(TOY, self.recipe(), "numba")
            return
        ours, theirs = (train(TOY, self.recipe(), engine)[0] for engine in ("numba", "torch"))
        assert largest_difference(ours, theirs) < 1e-6

    def test_a_toy_graph_is_learned(self) -> None:
        values = {
            "dim": 16,
            "epochs": 60,
            "negatives": 8,
            "loss": "softmax",
            "optimizer": "adagrad",
            "learning_rate": 0.1,
        }
        recipe = recipe_from({"model": self.name, "batch_size": 8, **values, **self.options, **self.toy})
        model = Trainer(TOY, recipe).fit()
        summary = link_prediction(model, TOY.train, TOY.known()).summary()["both"]
        assert summary["hits@1"] == 1
