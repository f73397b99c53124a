"""What a misfit of types costs, learned on the validation split after training.

Each question of some validation triples is ranked under every weight of a list. For all questions together, each weight has a mean
reciprocal rank. A relation and side takes the weight for which its own reciprocal ranks, and those of all questions counted as some of
its own, add up to most. So a side with many questions decides for itself, also for 0, and one with few goes with the others.
"""

from __future__ import annotations

from copy import copy

import numpy as np

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.evaluation.queries import SIDES, Queries
from transa.evaluation.ranking import as_asked
from transa.evaluation.type_ranking import TypeRanker
from transa.models import Model
from transa.models.loop_prior import barred_answers
from transa.models.type_penalty import TypePenalty
from transa.training.recipe import Recipe
from transa.training.validation import valid_sample

#: How many validation triples are learned from.
SAMPLE = 2000
#: The weights that are tried, in units of how far the scores of entities differ for a question.
TRIED = np.array([0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0])
#: As how many questions of its own a relation and side counts the mean of all.
PULL = 20.0


def learned_penalty(model: Model, graph: KnowledgeGraph, recipe: Recipe) -> TypePenalty | None:
    """Return the type penalty whose weights rank validation triples best, or None where 0 is the best of all.

    Raises
    ------
    InputError
        If the graph has no validation triples to learn from.
    """
    sample = valid_sample(graph, SAMPLE, recipe.seed)
    if not len(sample):
        raise InputError("type_penalty: the graph has no validation triples to learn it from; see --split")
    known, count = graph.known("train", "valid"), len(graph.relations)
    free = copy(model)
    free.evidence, free.penalty = None, TypePenalty.of(graph)
    ranker, questions = TypeRanker(free, None), [Queries.of(sample, known, side) for side in SIDES]
    tried = TRIED * max(ranker.spread(as_asked(free, queries)) for queries in questions)
    reciprocal, steps = [], []
    for side, queries in zip(SIDES, questions, strict=True):
        barred = barred_answers(free, queries.fixed, queries.relations)
        reciprocal.append(1 / ranker.ranks_by_weight(as_asked(free, queries), barred, tried))
        steps.append(queries.relations[queries.query_of_target] + (count if side == "head" else 0))
    found, owner = np.concatenate(reciprocal, axis=1), np.concatenate(steps)
    sums = np.stack([np.bincount(owner, row, minlength=2 * count) for row in found])
    best = (sums + PULL * found.mean(axis=1, keepdims=True)).argmax(axis=0)
    weights = tried[best]
    return free.penalty.weighed(weights) if weights.any() else None
