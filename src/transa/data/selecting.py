"""Leave relations, or triples with literals, out of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from transa.data.graph import SPLITS, KnowledgeGraph, Split
from transa.data.triple_table import TripleTable
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError
from transa.readable import counted

#: Numbers, and dates and times as ISO 8601 writes them.
LITERAL = r"^\s*([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|\d{4}-\d{2}(-\d{2})?([T ]\d{2}:\d{2}.*)?)\s*$"


def select(graph: KnowledgeGraph, drop_relations: Sequence[str] = (), *, literals: bool = True) -> KnowledgeGraph:
    """Return a graph with fewer triples; what stands in none of them any more is no entity or relation of it.

    Parameters
    ----------
    graph
        The whole graph.
    drop_relations
        The keys of relations whose triples are left out.
    literals
        Whether to keep triples whose tail is a number or a date, and the head of no triple.

    Raises
    ------
    InputError
        If the graph has no relation of such a key, or if no training triple is left.
    """
    kept, notes = _kept(graph, drop_relations, literals, "training triple")
    return only(graph, kept).with_notes(*notes) if notes else graph


def select_rows(table: TripleTable, drop_relations: Sequence[str] = (), *, literals: bool = True) -> TripleTable:
    """Return some of the triples of a table, as `select` does of a graph."""
    if not drop_relations and literals:
        return table
    kept, notes = _kept(KnowledgeGraph.from_tables({"train": table}), drop_relations, literals, "triple")
    return table.where(kept["train"]).with_notes(*notes)


def _kept(
    graph: KnowledgeGraph, drop_relations: Sequence[str], literals: bool, needed: str
) -> tuple[dict[Split, npt.NDArray[np.bool_]], list[str]]:
    """Tell for each triple whether it stays, and say how many do not."""
    if isinstance(drop_relations, str):
        raise InputError(f"expected a list of relations to drop, found the text {drop_relations!r}")
    if not drop_relations and literals:
        return {}, []
    edges = np.zeros(len(graph.relations), dtype=bool)
    edges[graph.relations.ids(drop_relations)] = True
    tails = np.zeros(len(graph.entities), dtype=bool) if literals else _literals(graph)
    by_literal = {split: tails[graph.triples(split)[:, 2]] for split in SPLITS}
    kept = {split: ~(edges[graph.triples(split)[:, 1]] | by_literal[split]) for split in SPLITS}
    if not kept["train"].any():
        raise InputError(f"no {needed} is left without the relations and literals that are to be dropped")
    notes = []
    if drop_relations:
        count = sum(int(edges[graph.triples(split)[:, 1]].sum()) for split in SPLITS)
        notes.append(f"{counted(count, 'triple')} of {', '.join(drop_relations)} left out")
    if not literals:
        count = sum(int((by_literal[split] & ~edges[graph.triples(split)[:, 1]]).sum()) for split in SPLITS)
        notes.append(f"{counted(count, 'triple')} whose tail is a number or a date left out")
    return kept, notes


def _literals(graph: KnowledgeGraph) -> npt.NDArray[np.bool_]:
    """Tell for each entity whether it is a number or a date, and the head of no triple."""
    found: npt.NDArray[np.bool_] = pc.match_substring_regex(graph.entities.keys, LITERAL).to_numpy(zero_copy_only=False)
    found = found.copy()
    for split in SPLITS:
        found[graph.triples(split)[:, 0]] = False
    return found


def only(graph: KnowledgeGraph, kept: dict[Split, npt.NDArray[np.bool_]]) -> KnowledgeGraph:
    """Return the graph with some of its triples, and without what stood in the others alone."""
    train, valid, test = (graph.triples(split)[kept[split]] for split in SPLITS)
    left = np.concatenate([train, valid, test])
    gone = np.concatenate([graph.triples(split)[~kept[split]] for split in SPLITS])
    entities, entity_ids = _rest(graph.entities, gone[:, [0, 2]], left[:, [0, 2]])
    relations, relation_ids = _rest(graph.relations, gone[:, 1], left[:, 1])
    columns = (entity_ids, relation_ids, entity_ids)

    def moved(rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        return np.stack([ids[column] for ids, column in zip(columns, rows.T, strict=True)], axis=1)

    return replace(
        graph,
        entities=entities,
        relations=relations,
        train=moved(train),
        valid=moved(valid),
        test=moved(test),
        valid_labels=None if graph.valid_labels is None else graph.valid_labels[kept["valid"]],
        test_labels=None if graph.test_labels is None else graph.test_labels[kept["test"]],
    )


def _rest(
    vocabulary: Vocabulary, gone: npt.NDArray[np.int32], left: npt.NDArray[np.int32]
) -> tuple[Vocabulary, npt.NDArray[np.int32]]:
    """Return the vocabulary without what only the triples that are gone had, and the new ids of the others."""
    stays = np.ones(len(vocabulary), dtype=bool)
    stays[gone.ravel()] = False
    stays[left.ravel()] = True
    return vocabulary.take(np.flatnonzero(stays)), (np.cumsum(stays) - 1).astype(np.int32)
