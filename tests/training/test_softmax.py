"""The softmax over entities: both engines do the same, for any number of threads, and a small graph is learned."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import pytest
import torch

import transa
from tests.training.helpers import largest_difference, same_bits, settings, train
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.kernels.softmax import CHUNK, Tile, cross_entropy, space_for
from transa.kernels.threads import one_blas_thread
from transa.training.query_batches import QueryBatches
from transa.training.trainer import start_model

UMLS = transa.load("umls")
SOFTMAX: dict[str, Any] = {"loss": "softmax", "negatives": "all", "optimizer": "adagrad", "learning_rate": 0.05}
MODELS = {
    "diagonal": {"model": "transa", "metric": "diagonal", "metric_update": "gradient"},
    "signed, directional, biases": {
        "model": "transa",
        "metric": "signed",
        "metric_update": "gradient",
        "directional": True,
        "biases": True,
    },
    "transe": {"model": "transe", "norm": 2, "squared": True, "biases": True},
    "low rank, psd": {"model": "adaptive_metric", "metric": "lowrank", "rank": 2, "metric_update": "gradient"},
    "low rank, signed, directional, biases": {
        "model": "adaptive_metric",
        "metric": "signed_lowrank",
        "rank": 3,
        "metric_update": "gradient",
        "directional": True,
        "biases": True,
    },
}
HOW: dict[str, dict[str, Any]] = {
    "all entities": {},
    "some entities": {"sampled_entities": 20, "batch_size": 16},
    "neighbours of answers": {"sampled_entities": 20, "neighbour_candidates": 3, "batch_size": 16},
    "a few answers at once": {"answers_at_once": 2, "batch_size": 64},
    "others hidden": {"answers_at_once": 2, "hide_answers": True, "sampled_entities": 60, "batch_size": 64},
    "dropout and smoothing": {"dropout": 0.3, "label_smoothing": 0.1},
    "dropout of entities": {"entity_dropout": 0.3, "dropout": 0.1},
    "cubic penalty": {"cubic_penalty": 0.1, "sampled_entities": 40, "batch_size": 32},
    "adam, unit, temperature": {
        "temperature": 5.0,
        "optimizer": "adam",
        "learning_rate": 0.01,
        "entity_norm": "unit",
        "schedule": "cosine",
    },
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("relations", "rank", "smoothing", "biased"),
    [(3, 0, 0.0, True), (0, 0, 0.1, False), (5, 0, 0.1, True), (4, 1, 0.0, False), (3, 3, 0.1, True)],
)
def test_losses_and_gradients_are_those_of_autograd(
    kind: type, relations: int, rank: int, smoothing: float, biased: bool
) -> None:
    random = np.random.default_rng(0)
    queries, candidates, dim = 37, 2 * CHUNK + 100, 24
    linear, every = (random.normal(size=(rows, dim)).astype(kind) for rows in (queries, candidates))
    squared = 0.3 * random.normal(size=(relations, 1 + rank, dim)).astype(kind)
    bias = random.normal(size=candidates if biased else 0).astype(kind)
    owner = np.sort(random.integers(0, max(relations, 1), queries))
    counts = random.integers(1, 5, queries)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    targets = random.integers(0, candidates, offsets[-1])
    losses, results = np.empty(queries), [np.zeros_like(table) for table in (linear, squared, every, bias)]
    with one_blas_thread():
        nothing = np.zeros(queries + 1, np.int64), np.empty(0, np.int64)
        tile = Tile(linear, squared, owner, offsets, targets, *nothing, smoothing)
        space = space_for(queries + 3, relations * (1 + rank), candidates, dim, kind)
        cross_entropy(tile, every, bias, space, losses, *results)
    a, w, c, b = (
        torch.tensor(table, dtype=torch.float64, requires_grad=True) for table in (linear, squared, every, bias)
    )
    scores = a @ c.T
    if relations:
        scores = scores - (w[:, 0] @ c.square().T + (w[:, 1:] @ c.T).square().sum(1))[owner]
    logs = torch.log_softmax(scores + b if biased else scores, 1)
    rows = np.repeat(np.arange(queries), counts)
    each = -(1 - smoothing) * logs[rows, targets] - smoothing * logs[rows].mean(1)
    total = each.sum()
    total.backward()
    exact = 1e-10 if kind is np.float64 else 2e-4
    assert losses.sum() == pytest.approx(total.item(), rel=exact)
    for found, leaf in zip(results, (a, w, c, b), strict=True):
        if leaf.numel():
            assert leaf.grad is not None
            np.testing.assert_allclose(found, leaf.grad.numpy(), atol=exact)


@pytest.mark.slow
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("model", MODELS)
def test_both_engines_give_the_same_parameters(model: str, how: str) -> None:
    recipe = settings(**SOFTMAX | MODELS[model] | HOW[how])
    ours, our_reports = train(UMLS, recipe, "numba")
    theirs, their_reports = train(UMLS, recipe, "torch")
    assert largest_difference(ours, theirs) < 1e-8
    assert [one.loss for one in our_reports] == pytest.approx([one.loss for one in their_reports])
    assert largest_difference(ours, start_model(UMLS, recipe)) > 1e-3  # it did train


@pytest.mark.slow
@pytest.mark.parametrize("model", ["diagonal", "low rank, psd"])
@pytest.mark.parametrize("how", ["all entities", "some entities"])
def test_the_same_bits_for_one_and_two_threads(how: str, model: str) -> None:
    recipe = settings(**SOFTMAX | MODELS[model] | HOW[how], precision="float32")
    before = numba.get_num_threads()
    try:
        results = []
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            results.append(train(UMLS, recipe, "numba")[0].tensors())
    finally:
        numba.set_num_threads(before)
    assert same_bits(*results)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["rescal", "transh"])
def test_torch_trains_every_model(model: str) -> None:
    _, reports = train(UMLS, settings(**SOFTMAX | {"model": model, "batch_size": 64}), "auto", epochs=4)
    assert reports[-1].loss < reports[0].loss


def test_neighbours_of_the_answers_are_candidates() -> None:
    some = {"sampled_entities": 1, "neighbour_candidates": 4, "batch_size": 8}
    queries = QueryBatches(UMLS, settings(**SOFTMAX | {"model": "transe"} | some), heads=True)
    near: dict[int, set[int]] = {}
    for head, _, tail in UMLS.train.tolist():
        near.setdefault(head, set()).add(tail)
        near.setdefault(tail, set()).add(head)
    for batch in queries.epoch(1):
        found = queries.candidates(batch, 1)
        assert found is not None
        candidates, answers = set(found.tolist()), set(batch.targets.tolist())
        assert all(len(near[answer] & candidates) >= min(4, len(near[answer])) for answer in answers)
        others = candidates - answers - set(batch.fixed.tolist())
        assert len(others) <= 1 + 4 * len(answers)
        assert len([entity for entity in others if not any(entity in near[answer] for answer in answers)]) <= 1


@pytest.mark.slow
def test_it_learns() -> None:
    recipe = settings(**SOFTMAX | MODELS["diagonal"] | {"dim": 16, "learning_rate": 0.1, "batch_size": 128})
    model, _ = train(UMLS, recipe, "numba", epochs=30)
    mrr = link_prediction(model, UMLS.train[:500], UMLS.known("train")).summary()["both"]["mrr"]
    assert mrr > 0.45  # 0.03 by chance


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"loss": "margin"}, "negatives: 'all' goes with the loss 'softmax'"),
        ({"candidates": "typed"}, "negatives: 'all' goes without"),
        ({"neighbour_candidates": 4}, "neighbour_candidates: goes with sampled_entities"),
        ({"negatives": 4, "dropout": 0.1}, "dropout: goes with negatives 'all' alone, found 4"),
        ({"negatives": "some"}, "negatives"),
        ({"dropout": 1.0}, "dropout"),
    ],
)
def test_settings_that_do_not_go_together(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        settings(**SOFTMAX | {"model": "transe"} | values)


def test_dropout_needs_a_vector_to_drop_from() -> None:
    with pytest.raises(InputError, match="dropout: rescal"):
        train(UMLS, settings(**SOFTMAX | {"model": "rescal", "dropout": 0.1}), "auto")
