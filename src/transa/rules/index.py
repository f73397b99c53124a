"""The index of facts that rules are mined from and fire on."""

from __future__ import annotations

import numpy as np

from transa.data.facts import distinct
from transa.data.graph import Triples
from transa.kernels.rule_index import RuleIndex


def rule_index(triples: Triples, num_entities: int, num_relations: int) -> RuleIndex:
    """Return the index of some facts; those from an entity to itself, which serve no rule, are left out."""
    facts = distinct(triples[triples[:, 0] != triples[:, 2]], num_entities, num_relations).astype(np.int64)
    owners = np.concatenate([facts[:, 0], facts[:, 2]])
    steps = np.concatenate([facts[:, 1], facts[:, 1] + num_relations])
    ends = np.concatenate([facts[:, 2], facts[:, 0]])
    keys = owners * (2 * num_relations) + steps
    order = np.lexsort((ends, keys))
    ends, inside = ends[order], keys[order]
    rows = np.flatnonzero(np.diff(inside, prepend=-1))
    named = inside[rows]
    owners, steps = np.divmod(named, max(2 * num_relations, 1))
    backwards = (inside + num_relations) % max(2 * num_relations, 1)
    by_tail = facts[np.lexsort((facts[:, 1], facts[:, 2], facts[:, 0]))]
    by_step = np.argsort(steps, kind="stable")
    return RuleIndex(
        num_relations,
        owners.astype(np.int32),
        steps.astype(np.int32),
        np.append(rows, len(ends)).astype(np.int64),
        ends.astype(np.int32),
        np.searchsorted(named, ends * (2 * num_relations) + backwards).astype(np.int64),
        np.searchsorted(owners, np.arange(num_entities + 1)).astype(np.int64),
        by_step.astype(np.int64),
        np.searchsorted(steps[by_step], np.arange(2 * num_relations + 1)).astype(np.int64),
        np.searchsorted(by_tail[:, 0], np.arange(num_entities + 1)).astype(np.int64),
        by_tail[:, 2].astype(np.int32),
        by_tail[:, 1].astype(np.int32),
    )
