"""The engine that mines rules, in one epoch, and lets the validation split decide how they are put together."""

from __future__ import annotations

import numba
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.evaluation import link_prediction
from transa.models import Model
from transa.rules import Aggregation, Evidence, Mining, mine
from transa.training.engine import EpochReport
from transa.training.epoch_batches import EpochBatches
from transa.training.recipe import Recipe
from transa.training.validation import valid_sample

#: Ways to put confidences together, in the order in which they are tried: which one, and of how many rules.
WAYS: tuple[tuple[Aggregation, int], ...] = (("maximum", 0), ("noisy_or", 5), ("noisy_or", 10), ("noisy_or", 0))


class RuleEngine:
    """Mines rules from the training triples.

    Parameters
    ----------
    model, graph, recipe
        What to train and on what. The engine reads the settings of rules in the recipe.
    """

    name = "rules"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        self.model = model
        self.graph = graph
        self.recipe = recipe
        self.epoch_batches = EpochBatches(graph, recipe, grouped=False)

    def train_epoch(self, number: int) -> EpochReport:
        """Mine all rules."""
        evidence = mined_evidence(self.graph, self.recipe)
        self.model.evidence = chosen_way(self.model, evidence, self.graph, self.recipe)
        return EpochReport(0.0, None)

    def state(self) -> dict[str, Tensor]:
        """Return no state: the rules are all there is."""
        return {}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load nothing."""


def mined_evidence(graph: KnowledgeGraph, recipe: Recipe) -> Evidence:
    """Return the rules of a graph by the settings of a recipe, with its training triples."""
    mining = Mining(
        length=recipe.rule_length,
        constants=recipe.rule_constants,
        support=recipe.rule_support,
        constant_support=recipe.rule_support,
        discount=recipe.rule_discount,
        minutes=recipe.rule_minutes,
        seed=recipe.seed,
    )
    found = mine(graph, mining, threads=numba.get_num_threads())
    return Evidence(found.rules, graph.train, len(graph.entities), len(graph.relations))


def chosen_way(model: Model, evidence: Evidence, graph: KnowledgeGraph, recipe: Recipe) -> Evidence:
    """Return the evidence put together as the recipe says, or in the way that ranks a sample of the validation triples best."""
    if recipe.aggregation != "auto":
        return evidence.aggregated(recipe.aggregation, recipe.strongest_rules)
    sample = valid_sample(graph, recipe.validate_sample, recipe.seed)
    if not len(sample):
        return evidence.aggregated("noisy_or", 5)
    known, scores = graph.known("train", "valid"), []
    for way in WAYS:
        model.evidence = evidence.aggregated(*way)
        scores.append(link_prediction(model, sample, known).measures()["mrr"])
    return evidence.aggregated(*WAYS[max(range(len(WAYS)), key=scores.__getitem__)])
