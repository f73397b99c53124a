"""Split a graph into train, valid and test, or hold out entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from transa.data.graph import SPLITS, KnowledgeGraph, Triples
from transa.data.selecting import only
from transa.errors import InputError


def split_graph(graph: KnowledgeGraph, fractions: Sequence[float] = (0.8, 0.1, 0.1), seed: int = 0) -> KnowledgeGraph:
    """Split the training triples so that every entity and relation of valid and test occurs in train.

    Repeated triples are dropped first, since a copy in another split would give the answer away. Then the triples are shuffled. The
    first triple of each entity and of each relation goes to train; valid and test are drawn from the rest. If the rest is too small,
    valid and test become smaller than asked for, in proportion, and a note says so.

    Parameters
    ----------
    graph
        A graph with training triples only.
    fractions
        Of train, valid and test; they sum to 1.
    seed
        Not negative. The same seed gives the same split.
    """
    if len(fractions) != 3 or not all(0 <= part <= 1 for part in fractions) or not np.isclose(sum(fractions), 1):
        raise InputError(f"expected three fractions (train, valid, test) that sum to 1, found {tuple(fractions)}")
    if seed < 0:
        raise InputError(f"expected a seed that is not negative, found {seed}")
    if len(graph.valid) or len(graph.test):
        raise InputError("the graph has valid or test triples already; only a graph of one piece can be split")
    triples, first = np.unique(graph.train, axis=0, return_index=True)
    triples = graph.train[np.sort(first)]
    order = np.random.default_rng(seed).permutation(len(triples))
    shuffled = triples[order]
    needed = np.zeros(len(order), dtype=bool)
    _, first = np.unique(shuffled[:, [0, 2]].ravel(), return_index=True)
    needed[first // 2] = True
    needed[np.unique(shuffled[:, 1], return_index=True)[1]] = True
    free = order[~needed]
    wanted = np.array([round(part * len(triples)) for part in fractions[1:]])
    given = wanted if wanted.sum() <= len(free) else (wanted * (len(free) / wanted.sum())).astype(int)
    valid, test = np.sort(free[: given[0]]), np.sort(free[given[0] : given.sum()])
    train = np.setdiff1d(np.arange(len(triples)), np.concatenate([valid, test]))
    notes = []
    if len(triples) < len(graph.train):
        notes.append(f"{len(graph.train) - len(triples):,} repeated triples dropped before splitting")
    if given.sum() < wanted.sum():
        notes.append(
            f"valid and test hold {given[0]:,} and {given[1]:,} triples instead of {wanted[0]:,} and {wanted[1]:,}: "
            "the others are needed in train, so that each entity and relation occurs there"
        )
    splits = {"train": triples[train], "valid": triples[valid], "test": triples[test]}
    return replace(graph, **splits, valid_labels=None, test_labels=None).with_notes(*notes)


def hold_out_entities(graph: KnowledgeGraph, share: float = 0.1, seed: int = 0) -> KnowledgeGraph:
    """Return a graph that knows nothing of some entities: none of their triples is left, in any split.

    What is left are the other entities and their triples. An entity whose training triples are all gone with those of others is
    left out as well. All the triples that are not in the result, under the keys that it lacks, are questions about entities that no
    model trained on it has seen.

    Parameters
    ----------
    graph
        The whole graph.
    share
        Of the entities with training triples; above 0 and below 1.
    seed
        Not negative. The same seed holds out the same entities.
    """
    if not 0 < share < 1:
        raise InputError(f"expected a share of entities above 0 and below 1, found {share}")
    if seed < 0:
        raise InputError(f"expected a seed that is not negative, found {seed}")
    known = np.unique(graph.train[:, [0, 2]])
    held = np.zeros(len(graph.entities), dtype=bool)
    held[np.random.default_rng(seed).choice(known, round(share * len(known)), replace=False)] = True
    trained = np.zeros(len(graph.entities), dtype=bool)
    trained[graph.train[_all_of(~held, graph.train)][:, [0, 2]]] = True
    return only(graph, {split: _all_of(trained, graph.triples(split)) for split in SPLITS})


def _all_of(entities: npt.NDArray[np.bool_], triples: Triples) -> npt.NDArray[np.bool_]:
    """Tell of each triple whether both its ends are among some entities."""
    found: npt.NDArray[np.bool_] = entities[triples[:, 0]] & entities[triples[:, 2]]
    return found
