"""Ranks against brute force, with vectors of small whole numbers, so that ties are common and arithmetic is exact."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from transa.data import KnownFacts
from transa.evaluation import link_prediction
from transa.models import build

ENTITIES, RELATIONS, DIM = 19, 3, 4
VARIANTS = {
    "transe-l1": ("transe", {"norm": 1}),
    "transe-l2": ("transe", {"norm": 2}),
    "um": ("um", {}),
    "transm": ("transm", {}),
    "transa-diagonal": ("transa", {"metric": "diagonal"}),
    "transa-lowrank": ("transa", {"metric": "lowrank", "rank": 2}),
    "transa-full": ("transa", {"metric": "full"}),
    "adaptive_metric": ("adaptive_metric", {}),
}


def made(variant: str, seed: int):
    random = np.random.default_rng(seed)
    name, options = VARIANTS[variant]
    model = build(name, ENTITIES, RELATIONS, DIM, **options).initialise(0)
    for rows in (model.entity, model.relation):
        for table, values in rows.items():
            low = 0 if table in ("metric", "weight") else -2
            whole = random.integers(low, 3, values.shape)
            whole = whole + np.swapaxes(whole, -1, -2) if table == "metric" and model.grouped else whole
            rows[table] = torch.from_numpy(whole.astype(np.float32))
    if "weight" in model.relation:
        model.relation["weight"] = torch.ones(RELATIONS)
    triples = random.integers(0, (ENTITIES, RELATIONS, ENTITIES), (40, 3)).astype(np.int32)
    facts = np.concatenate([triples, random.integers(0, (ENTITIES, RELATIONS, ENTITIES), (120, 3)).astype(np.int32)])
    return model, triples, facts


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_ranks_equal_a_brute_force_count(variant: str, seed: int) -> None:
    model, triples, facts = made(variant, seed)
    found = link_prediction(model, triples, KnownFacts(facts, ENTITIES, RELATIONS))
    known = set(map(tuple, facts.tolist()))
    double = build(model.name, ENTITIES, RELATIONS, DIM, **{name: getattr(model, name) for name in model.options})
    double.load({name: table.double() for name, table in model.tensors().items()})
    for row, (head, relation, tail) in enumerate(triples.tolist()):
        for side in (0, 1):
            candidates = [(e, relation, tail) if side == 0 else (head, relation, e) for e in range(ENTITIES)]
            scores = double.score_triples(torch.tensor(candidates)).numpy()
            target = scores[head if side == 0 else tail]
            true = (head, relation, tail)
            others = [s for c, s in zip(candidates, scores, strict=True) if c != true]
            unknown = [s for c, s in zip(candidates, scores, strict=True) if c != true and c not in known]
            for filtered, rivals in ((False, others), (True, unknown)):
                better = sum(score < target for score in rivals)
                equal = sum(score == target for score in rivals)
                assert found.ranks(filtered=filtered)[row, side] == 1 + better + equal / 2


def test_the_summary_is_the_mean_over_sides() -> None:
    model, triples, facts = made("transe-l1", 3)
    found = link_prediction(model, triples, KnownFacts(facts, ENTITIES, RELATIONS))
    ranks, summary = found.ranks(), found.summary()
    assert summary["both"]["mrr"] == pytest.approx((1 / ranks).mean())
    assert summary["head"]["mr"] == pytest.approx(ranks[:, 0].mean())
    assert summary["tail"]["hits@3"] == pytest.approx((ranks[:, 1] <= 3).mean())
    assert (found.ranks(filtered=False) >= ranks).all()
