"""How much memory ranking needs; the formulas follow what the code allocates.

``reliability/memory.py`` compares them with measured peaks.
"""

from __future__ import annotations

from math import prod

from transa.data import KnowledgeGraph
from transa.evaluation.ranking import has_compiled_ranking
from transa.evaluation.reordering import PART
from transa.evaluation.torch_ranking import BUDGET, QUERIES
from transa.kernels.spectra import AXES
from transa.memory import MemoryEstimate
from transa.models import Model

#: Bytes for each name of an entity or relation, and for each fact while its index is built.
NAME, FACT = 150, 100


def evaluation_memory(
    model: Model, graph: KnowledgeGraph, triples: int, chunk: int | None, width: int = 4
) -> MemoryEstimate:
    """Return the memory that ranking takes.

    Parameters
    ----------
    model
        The model that ranks; it need not have its tables yet.
    graph, triples
        The graph, and how many of its triples are ranked.
    chunk
        Entities scored at a time.
    width
        Bytes of a number: 4 for float32, 8 for float64.
    """
    facts = sum(len(graph.triples(split)) for split in ("train", "valid", "test"))
    lasting = {
        "graph": graph_bytes(graph) + FACT * facts,
        "tables": sum(map(prod, model.shapes().values())) * width,
    }
    return MemoryEstimate(lasting, {"ranking": ranking_bytes(model, triples, chunk, width)})


def graph_bytes(graph: KnowledgeGraph) -> int:
    """Return the bytes that the triples and names of a graph take."""
    triples = sum(graph.triples(split).nbytes for split in ("train", "valid", "test"))
    return triples + NAME * (len(graph.entities) + len(graph.relations))


def ranking_bytes(model: Model, triples: int, chunk: int | None, width: int) -> int:
    """Return the bytes that ranking takes beside the tables, with compiled kernels or with torch."""
    stage = model.first_stage()
    if stage is not None:  # what it needs, and the best answers to some questions
        answers = 8 * 8 * min(2 * triples, PART) * model.reranked
        return ranking_bytes(stage, triples, chunk, width) + stage.num_entities * stage.dim * width + answers
    counted = 2 * 16 * 8 * triples
    table = model.num_entities * model.dim
    if has_compiled_ranking(model):
        projected = 3 * 8 * table if "normal" in model.relation_tables() else 0
        axes = model.num_relations * AXES * model.dim * width if model.grouped else 0
        return counted + projected + axes
    queries = max(1, min(QUERIES, triples, BUDGET // max(model.num_entities, 1)))
    scores = queries * model.num_entities
    residuals = min(chunk or BUDGET // (8 * model.dim), scores) * model.dim
    return counted + (3 * scores + 3 * residuals) * width
