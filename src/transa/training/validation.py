"""The validation score that compares epochs. It never sees the test split."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from transa.choices import DecidedBy
from transa.data import KnowledgeGraph, KnownFacts
from transa.data.graph import Labels, Triples
from transa.errors import InputError
from transa.evaluation import accuracy, link_prediction
from transa.evaluation.ranking import QuickRanker, Ranker
from transa.models import Model
from transa.training.recipe import Recipe


@dataclass(frozen=True, eq=False)
class Validation:
    """Scores a model on the validation split: higher is better.

    Attributes
    ----------
    measure
        ``"mrr"``: filtered MRR over both sides, with ties counted half and train and valid as filter. ``"accuracy"``: accuracy of
        triple classification with a threshold for each relation.
    triples, labels
        The triples to score, and their labels for the accuracy.
    known
        The filter for the MRR.
    decided_by
        What decides whether a triple is true, for the accuracy.
    """

    measure: Literal["mrr", "accuracy"]
    triples: Triples
    labels: Labels | None
    known: KnownFacts | None
    decided_by: DecidedBy = "score"

    @classmethod
    def of(cls, graph: KnowledgeGraph, recipe: Recipe) -> Validation | None:
        """Return the validation that a recipe asks for, or None if it asks for none."""
        if not recipe.validate_every:
            return None
        if not len(graph.valid):
            raise InputError("validate_every: the graph has no validation triples")
        labelled = graph.valid_labels is not None
        measure = recipe.validate_on if recipe.validate_on != "auto" else "accuracy" if labelled else "mrr"
        if measure == "accuracy":
            if not labelled:
                raise InputError("validate_on: accuracy needs labelled validation triples")
            return cls("accuracy", graph.valid, graph.valid_labels, None, recipe.decided_by)
        return cls("mrr", valid_sample(graph, recipe.validate_sample, recipe.seed), None, graph.known("train", "valid"))

    def score(self, model: Model | Ranker) -> float:
        """Return the measure of a model; a ranker will do for the MRR."""
        if self.labels is not None:
            assert isinstance(model, Model)  # noqa: S101
            return accuracy(model, self.triples, self.labels, self.decided_by)
        assert self.known is not None  # noqa: S101
        ranker = QuickRanker(model) if isinstance(model, Model) else model
        return link_prediction(ranker, self.triples, self.known).summary()["both"]["mrr"]


def valid_sample(graph: KnowledgeGraph, size: int, seed: int) -> Triples:
    """Return the true triples of the validation split, or so many of them, drawn by a seed, in their order."""
    positives = graph.positives("valid")
    chosen = np.random.default_rng(seed).permutation(len(positives))[:size]
    return positives[np.sort(chosen)]
