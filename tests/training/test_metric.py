"""W_r from its closed form."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import transa
from tests.training.helpers import settings, train
from transa.data import KnowledgeGraph
from transa.data.types import relation_groups
from transa.errors import InputError
from transa.kernels.purposes import CLOSED_FORM
from transa.kernels.random import stream
from transa.training import Options, Recipe, recipe_from
from transa.training.engine import training_model
from transa.training.epoch_batches import EpochBatches
from transa.training.metric import project_psd, shrink_to_groups, update_metric
from transa.training.trainer import Trainer, start_model

pytestmark = pytest.mark.slow  # both precisions of the metric's kernels are compiled

UMLS = transa.load("umls")


def rounds_of(graph: KnowledgeGraph, seed: int = 0) -> EpochBatches:
    return EpochBatches(graph, Recipe(seed=seed, batch_size=64), grouped=True)


def brute_force(model, epoch_batches: EpochBatches, negatives: int, number: int, *, signed: bool) -> np.ndarray:
    """Sum over triples one by one, relation by relation."""
    from transa.kernels.facts import corrupt_pairs

    triples = epoch_batches.by_relation
    count = len(triples.triples)
    entities, at_head = np.empty((count, negatives), np.int32), np.empty((count, negatives), bool)
    key = np.uint64(stream(epoch_batches.seed, CLOSED_FORM, number))
    candidates = epoch_batches.corruptor.candidates
    corrupt_pairs(triples.triples, triples.spans, 0, count, 0, key, candidates, entities, at_head)
    vectors, moves = model.entity.vector.numpy(), model.relation.vector.numpy()

    def outer(head: int, relation: int, tail: int) -> np.ndarray:
        e = vectors[head] + moves[relation] - vectors[tail]
        e = e if signed else np.abs(e)
        return np.outer(e, e)

    total = np.zeros((len(moves), vectors.shape[1], vectors.shape[1]))
    for row, (head, relation, tail) in enumerate(triples.triples.tolist()):
        for j in range(negatives):
            other = int(entities[row, j])
            false = (other, relation, tail) if at_head[row, j] else (head, relation, other)
            total[relation] += (outer(*false) - outer(head, relation, tail)) / negatives
    return total


@pytest.mark.parametrize("negatives", [1, 3])
@pytest.mark.parametrize("name", ["transa", "adaptive_metric"])
def test_the_closed_form_is_the_sum_over_triples(name: str, negatives: int) -> None:
    recipe = settings(model=name, metric_scale="sum", metric_clip=False, metric_negatives=negatives)
    model, epochs = start_model(UMLS, recipe), rounds_of(UMLS)
    update_metric(model, epochs, recipe, 5)
    expected = brute_force(model, epochs, negatives, 5, signed=name == "adaptive_metric")
    np.testing.assert_allclose(model.relation.metric.numpy(), expected, atol=1e-10)


def test_metrics_are_symmetric_and_clipped_at_zero() -> None:
    recipe = settings(model="transa", metric_scale="sum")
    model, epochs = start_model(UMLS, recipe), rounds_of(UMLS)
    update_metric(model, epochs, recipe, 1)
    found = model.relation.metric.numpy()
    assert (found == found.transpose(0, 2, 1)).all()
    np.testing.assert_allclose(found, np.maximum(brute_force(model, epochs, 1, 1, signed=False), 0), atol=1e-10)


def test_lambda_scales_by_one_over_two_lambda() -> None:
    metrics = []
    for scale in ({"metric_scale": "sum"}, {"metric_scale": "lambda", "metric_penalty": 4.0}):
        recipe = settings(model="transa", **scale)
        model = start_model(UMLS, recipe)
        update_metric(model, rounds_of(UMLS), recipe, 1)
        metrics.append(model.relation.metric)
    torch.testing.assert_close(metrics[1], metrics[0] / 8)


def test_trace_scale_gives_the_trace_of_the_identity() -> None:
    recipe = settings(model="transa", metric_scale="trace")
    model = start_model(UMLS, recipe)
    update_metric(model, rounds_of(UMLS), recipe, 1)
    traces = model.relation.metric.diagonal(dim1=1, dim2=2).sum(1)
    torch.testing.assert_close(traces, torch.full_like(traces, 8.0))


def test_the_authors_scale_has_unit_columns_before_it_is_made_symmetric() -> None:
    recipe = settings(model="transa", metric_scale="columns", metric_clip=False)
    model, epochs = start_model(UMLS, recipe), rounds_of(UMLS)
    update_metric(model, epochs, recipe, 1)
    raw = brute_force(model, epochs, 1, 1, signed=False) + np.eye(8)
    scaled = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    np.testing.assert_allclose(model.relation.metric.numpy(), (scaled + scaled.transpose(0, 2, 1)) / 2, atol=1e-10)


def test_only_violating_pairs_count_where_asked() -> None:
    for margin, empty in ((-1e6, True), (1e6, False)):
        recipe = settings(
            model="transa", metric_scale="sum", metric_clip=False, metric_pairs="violating", margin=margin
        )
        model, epochs = start_model(UMLS, recipe), rounds_of(UMLS)
        update_metric(model, epochs, recipe, 1)
        expected = (
            0 * model.relation.metric if empty else torch.from_numpy(brute_force(model, epochs, 1, 1, signed=False))
        )
        torch.testing.assert_close(model.relation.metric, expected, atol=1e-10, rtol=0)


@pytest.mark.parametrize("prior", ["identity", "ones"])
def test_a_relation_without_triples_gets_the_prior(prior: str) -> None:
    graph = KnowledgeGraph.from_ids([(0, 0, 1), (1, 0, 2), (2, 0, 3)], entities=5, relations=2)
    recipe = settings(model="transa", dim=3, prior=prior)
    model = start_model(graph, recipe)
    update_metric(model, rounds_of(graph), recipe, 1)
    expected = torch.eye(3) if prior == "identity" else torch.ones(3, 3)
    torch.testing.assert_close(model.relation.metric[1], expected.double())


def test_shrinkage_mixes_with_the_prior_by_the_number_of_triples() -> None:
    plain, shrunk = (start_model(UMLS, settings(model="transa", shrinkage=kappa)) for kappa in (0.0, 10.0))
    for model, kappa in ((plain, 0.0), (shrunk, 10.0)):
        update_metric(model, rounds_of(UMLS), settings(model="transa", shrinkage=kappa), 1)
    counts = torch.bincount(torch.from_numpy(UMLS.train[:, 1].astype(np.int64)), minlength=len(UMLS.relations)).double()
    weight = (counts / (counts + 10)).reshape(-1, 1, 1)
    torch.testing.assert_close(
        shrunk.relation.metric, weight * plain.relation.metric + (1 - weight) * torch.eye(8).double()
    )


def test_the_psd_projection_is_the_nearest_psd_matrix() -> None:
    generator = torch.Generator().manual_seed(0)
    raw = torch.randn(5, 6, 6, generator=generator, dtype=torch.float64)
    raw = raw + raw.transpose(1, 2)
    projected = project_psd(raw)
    assert float(torch.linalg.eigvalsh(projected).min()) > -1e-12
    # Nearest: what is left over is negative semi-definite and orthogonal to the projection.
    rest = raw - projected
    assert float(torch.linalg.eigvalsh(rest).max()) < 1e-12
    torch.testing.assert_close((rest * projected).sum((1, 2)), torch.zeros(5, dtype=torch.float64), atol=1e-10, rtol=0)


def test_adaptive_metrics_come_out_positive_semi_definite() -> None:
    recipe = settings(model="adaptive_metric")
    model = start_model(UMLS, recipe)
    update_metric(model, rounds_of(UMLS), recipe, 1)
    assert float(torch.linalg.eigvalsh(model.relation.metric).min()) > -1e-12


@pytest.mark.parametrize("engine", ["numba", "torch"])
def test_a_metric_that_is_no_part_of_the_training_score_is_left_alone(engine: str) -> None:
    """With training_score "l1" the vectors are those of a TransE, and no gradient reaches W_r."""
    recipe = settings(model="transa", training_score="l1", metric_update="gradient", metric_penalty=0.1, epochs=2)
    model = Trainer(UMLS, recipe, Options(engine=engine)).fit()  # type: ignore[arg-type]
    assert torch.equal(model.relation.metric, start_model(UMLS, recipe).relation.metric)
    plain, _ = train(UMLS, settings(model="transe", norm=1), engine, epochs=2)
    assert torch.equal(model.entity.vector, plain.entity.vector)


def test_only_a_model_with_a_metric_is_trained_by_another_score() -> None:
    for name in ("transh", "rescal"):
        model = start_model(UMLS, recipe := settings(model=name, training_score="l1"))
        assert training_model(model, recipe) is model


@pytest.mark.parametrize(("name", "options"), [("transa", {"metric": "diagonal"}), ("transe", {})])
def test_without_a_closed_form_there_is_none_to_compute(name: str, options: dict[str, str]) -> None:
    recipe = settings(model=name, metric_update="none", **options)
    with pytest.raises(ValueError, match="has no closed form"):
        update_metric(start_model(UMLS, recipe), rounds_of(UMLS), recipe, 1)


def test_relations_with_the_same_types_share_their_metrics() -> None:
    random = np.random.default_rng(0)
    metrics, counts, prior = random.random((5, 3, 3)), np.array([10, 0, 30, 20, 5]), np.eye(3)
    mixed = metrics.copy()
    shrink_to_groups(mixed, counts, np.array([0, 0, 0, 1, 2]), 4.0, prior)
    np.testing.assert_allclose(mixed[0], (10 * metrics[0] + 4 * metrics[2]) / 14)
    np.testing.assert_allclose(mixed[1], (10 * metrics[0] + 30 * metrics[2]) / 40)
    np.testing.assert_allclose(mixed[2], (30 * metrics[2] + 4 * metrics[0]) / 34)
    np.testing.assert_allclose(mixed[3], (20 * metrics[3] + 4 * prior) / 24)


def test_metrics_are_shrunk_by_the_types_of_a_graph() -> None:
    graph = transa.load("umls")
    typed = graph.relations.typed(domains={graph.relations[0]: ["x"], graph.relations[1]: ["x"]})
    graph = KnowledgeGraph(graph.entities, typed, graph.train)
    assert len(np.unique(relation_groups(graph))) == 45
    usual = {"dim": 4, "epochs": 1, "metric": "full", "shrinkage": 1e9}
    alone, together = (Trainer(graph, recipe_from({**usual, "shrink_to": to})).fit() for to in ("prior", "types"))
    one, _, *rest = together.relation.metric
    assert torch.allclose(alone.relation.metric[0], torch.eye(4), atol=1e-4)
    assert not torch.allclose(one, torch.eye(4), atol=1e-2)
    assert torch.allclose(torch.stack(rest), alone.relation.metric[2:], atol=1e-4)
    with pytest.raises(InputError, match="shrink_to"):
        recipe_from({"shrink_to": "types"})
