"""Measures against those of PyKEEN's evaluator on the same TransE vectors.

The vectors are rounded to multiples of 2^-10, so that sums of their differences are exact in single precision: the peer's ranks are
then exact too, and ties are ties.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import transa
from transa.evaluation import evaluate
from transa.models import Model
from transa.training import Trainer, recipe_from

pytestmark = pytest.mark.filterwarnings("ignore")
SETTINGS = {
    "model": "transe",
    "norm": 1,
    "entity_norm": "unit",
    "relation_norm": "unit",
    "learning_rate": 0.01,
    "epochs": 5,
}
NAMES = {
    "mr": "arithmetic_mean_rank",
    "mrr": "inverse_harmonic_mean_rank",
    "median": "median_rank",
    "amri": "adjusted_arithmetic_mean_rank_index",
    "hits@1": "hits_at_1",
    "hits@3": "hits_at_3",
    "hits@10": "hits_at_10",
}


def trained(graph: transa.KnowledgeGraph, dim: int) -> Model:
    model = Trainer(graph, recipe_from({**SETTINGS, "dim": dim})).fit()
    for rows in (model.entity, model.relation):
        rows["vector"] = torch.round(rows.vector * 1024) / 1024
    return model


def peer(model: Model, graph: transa.KnowledgeGraph, triples: Any, batch: int) -> Any:
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import TransE
    from pykeen.triples import CoreTriplesFactory

    splits = [torch.from_numpy(graph.triples(split).astype(np.int64)) for split in ("train", "valid", "test")]
    sizes = {"num_entities": len(graph.entities), "num_relations": len(graph.relations)}
    factory = CoreTriplesFactory(splits[0], **sizes)
    other = TransE(triples_factory=factory, embedding_dim=model.dim, scoring_fct_norm=1, random_seed=0)
    with torch.no_grad():
        other.entity_representations[0]._embeddings.weight.copy_(model.entity.vector)
        other.relation_representations[0]._embeddings.weight.copy_(model.relation.vector)
    asked = torch.from_numpy(triples.astype(np.int64))
    return RankBasedEvaluator(filtered=True).evaluate(
        other, asked, batch_size=batch, additional_filter_triples=splits, use_tqdm=False
    )


@pytest.mark.parametrize(
    ("name", "dim", "limit"),
    [("umls", 20, None), ("wn18", 10, 1000), ("fb15k", 20, 1000)],
    ids=["umls", "wn18", "fb15k"],
)
def test_measures_equal_those_of_pykeen(name: str, dim: int, limit: int | None, request: pytest.FixtureRequest) -> None:
    if name != "umls":
        folder: Path = request.getfixturevalue("benchmark_data")
        assert folder.is_dir()
    graph = transa.load(name)
    model = trained(graph, dim)
    found = evaluate(model, graph, limit=limit)
    theirs = peer(model, graph, found.found.triples, 64)
    for side, measures in found.summary().items():
        for ours, key in NAMES.items():
            assert measures[ours] == pytest.approx(theirs.get_metric(f"{side}.realistic.{key}"), 1e-6, 1e-6), (
                side,
                ours,
            )
