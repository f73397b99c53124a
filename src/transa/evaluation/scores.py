"""The scores of given triples."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from transa.choices import Side
from transa.data.graph import KnowledgeGraph, Triples
from transa.errors import InputError
from transa.models import Model
from transa.models.company import scores_as_answers

#: Triples that are scored at a time.
CHUNK = 8192


def scores_of(model: Model, triples: Triples, *, one_way: bool = False) -> npt.NDArray[np.float64]:
    """Return the score of each triple, with `one_way` in the direction of its relation alone (`Model.score_rows`)."""
    ids = torch.from_numpy(triples.astype(np.int64)).to(model.device)
    score = model.score_rows if one_way else model.score_triples
    with torch.no_grad():
        parts = [score(ids[start : start + CHUNK]) for start in range(0, len(ids), CHUNK)]
    return np.concatenate([part.double().cpu().numpy() for part in parts]) if parts else np.empty(0)


def finite_scores(model: Model, triples: Triples, *, one_way: bool = False) -> npt.NDArray[np.float64]:
    """Return what `scores_of` returns; raise an `InputError` if a score is NaN or infinite."""
    scores = scores_of(model, triples, one_way=one_way)
    wrong = np.flatnonzero(~np.isfinite(scores))
    if len(wrong):
        ids = tuple(triples[wrong[0]].tolist())
        raise InputError(f"the model scores the triple {ids} (ids) as {scores[wrong[0]]}, which cannot be compared")
    return scores


def answer_scores(model: Model, triples: Triples, side: Side) -> npt.NDArray[np.float64]:
    """Return the score of each triple as an answer to the question about one side, as a ranker has it."""
    if model.has_company:
        return scores_as_answers(model, torch.from_numpy(triples.astype(np.int64)), side).numpy()
    asked = model.inverted(triples) if model.directional and side == "head" else triples
    return finite_scores(model, asked, one_way=model.directional)


def check_sizes(model: Model, graph: KnowledgeGraph) -> None:
    """Raise an `InputError` if a model and a graph differ in their number of entities or relations."""
    sizes = (len(graph.entities), len(graph.relations))
    if (model.num_entities, model.graph_relations) != sizes:
        raise InputError(
            f"the model has {model.num_entities:,} entities and {model.graph_relations:,} relations, "
            f"the graph {sizes[0]:,} and {sizes[1]:,}"
        )
