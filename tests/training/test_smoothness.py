"""SSE: the term on entities of a type, its gradient, and its step after each epoch."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import transa
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.training import Options, Trainer, recipe_from
from transa.training.smoothness import Smoothness


def typed_graph() -> KnowledgeGraph:
    """Twelve entities in a ring, of three types: some have two, one has none, and one type has a single entity."""
    graph = KnowledgeGraph.from_triples([(f"e{i:02}", "next", f"e{(i + 1) % 12:02}") for i in range(12)])
    types = {f"e{i:02}": [["a"], ["b"], ["a", "b"]][i % 3] for i in range(10)} | {"e10": ["c"]}
    return KnowledgeGraph(graph.entities.typed(types=types), graph.relations, graph.train)


def recipe(kind: str, **values: object):
    return recipe_from(
        {"model": "transe", "dim": 4, "precision": "float64", "smoothness": kind, "batch_size": 64, **values}
    )


def vectors(size: int) -> torch.Tensor:
    return torch.randn(size, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_laplacian_is_the_sum_over_pairs() -> None:
    graph = typed_graph()
    types = graph.types
    shares = np.zeros((12, len(types.names)))
    shares[tuple(types.entities.T)] = 1
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    similar = (shares / shares.sum(axis=0)) @ shares.T
    table = vectors(12)
    pairs = (torch.cdist(table, table) ** 2).numpy()
    assert float(Smoothness(graph, recipe("laplacian")).value(table)) == pytest.approx((similar * pairs).sum() / 2)


def test_lle_takes_others_of_the_same_type() -> None:
    graph = typed_graph()
    term = Smoothness(graph, recipe("lle", smoothness_neighbours=7))
    named = [set(graph.types.of(entity)) for entity in range(12)]
    rows, others = term._rows.tolist(), term._others.tolist()
    assert rows == list(range(10))  # the last ones have no type, or none that another has
    for entity, drawn in zip(rows, others, strict=True):
        assert len(drawn) == 7 and entity not in drawn and all(named[entity] & named[each] for each in drawn)
    table = vectors(12)
    expected = sum(
        float((table[row] - table[drawn].mean(0)).square().sum()) for row, drawn in zip(rows, others, strict=True)
    )
    assert float(term.value(table)) == pytest.approx(expected)


@pytest.mark.parametrize("kind", ["laplacian", "lle"])
def test_gradients_agree_with_autograd(kind: str) -> None:
    term = Smoothness(typed_graph(), recipe(kind))
    table = vectors(12).requires_grad_()
    term.value(table).backward()
    torch.testing.assert_close(term.gradient(table.detach()), table.grad)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["laplacian", "lle"])
@pytest.mark.parametrize("model", ["transe", "softmax"])
def test_both_engines_give_the_same_parameters(kind: str, model: str) -> None:
    softmax = {"loss": "softmax", "negatives": "all", "squared": True, "norm": 2} if model == "softmax" else {}
    chosen = recipe(kind, epochs=3, smoothness_weight=0.5, learning_rate=0.05, entity_norm="unit", **softmax)
    umls = transa.load("umls")
    ours, theirs = (Trainer(umls, chosen, Options(engine=engine)).fit() for engine in ("numba", "torch"))
    torch.testing.assert_close(ours.entity.vector, theirs.entity.vector, atol=1e-8, rtol=0)


@pytest.mark.parametrize("kind", ["laplacian", "lle"])
def test_entities_of_a_type_lie_together(kind: str) -> None:
    umls = transa.load("umls")
    term = Smoothness(umls, recipe(kind))  # UMLS has no types; roles serve

    def apart(kind: str, weight: float) -> float:
        chosen = recipe(kind, epochs=5, learning_rate=0.1, smoothness_weight=weight)
        table = Trainer(umls, chosen).fit().entity.vector
        return float(term.value(table) / table.sub(table.mean(0)).square().sum())

    without = apart("none", 1.0)
    assert apart(kind, 0.0) == without
    assert apart(kind, 1.0) < 0.95 * without


def test_it_needs_vectors() -> None:
    with pytest.raises(InputError, match="smoothness: rescal"):
        recipe_from({"model": "rescal", "smoothness": "lle", "solver": "als"})
