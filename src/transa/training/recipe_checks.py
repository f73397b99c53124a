"""Which settings of a recipe go together. The first that does not is named, with what it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from transa.errors import quote, suggest
from transa.models import MODELS

if TYPE_CHECKING:
    from transa.training.recipe import Recipe


def check_together(recipe: Recipe) -> None:
    """Raise a `ValueError` if settings of a recipe contradict each other or do not fit its model."""
    _check_training(recipe)
    _check_metric(recipe)
    _check_negatives(recipe)
    _check_texts(recipe)
    _check_additions(recipe)


def _check_training(recipe: Recipe) -> None:
    """Refuse what does not fit the model or the way it is trained."""
    if recipe.model not in MODELS:
        raise ValueError(f"model: unknown model {quote(recipe.model)}{suggest(recipe.model, MODELS)}")
    if recipe.solver not in MODELS[recipe.model].solvers:
        raise ValueError(f"solver: {recipe.model} is not trained by {recipe.solver!r}")
    if MODELS[recipe.model].by_paths:
        for field, usual in (("directional", False), ("shared_negatives", False), ("candidates", "all")):
            if getattr(recipe, field) != usual:
                raise ValueError(f"{field}: {recipe.model} has its own way to draw negatives; expected {usual!r}")
        if recipe.negatives == "all":
            raise ValueError(f"negatives: {recipe.model} draws them; expected a number")
    if recipe.warm_epochs and not MODELS[recipe.model].from_transe:
        raise ValueError(f"warm_epochs: {recipe.model} does not start from a TransE")


def _check_metric(recipe: Recipe) -> None:
    """Refuse settings of W_r that do not go together."""
    if recipe.metric_scale == "lambda" and recipe.has_metric and not recipe.metric_penalty:
        raise ValueError("metric_scale: 'lambda' needs a metric_penalty (lambda) above 0")
    if recipe.shrink_to == "types" and (not recipe.shrinkage or recipe.metric_update not in ("epoch", "end")):
        raise ValueError("shrink_to: 'types' goes with a closed form of W_r and a shrinkage above 0")
    rules = recipe.build_model(0, 0).metric_rules
    if rules is not None and not rules.closed_form and recipe.metric_update in ("epoch", "end"):
        raise ValueError(f"metric_update: a {recipe.metric} metric has no closed form; expected 'gradient' or 'none'")


def _check_negatives(recipe: Recipe) -> None:
    """Refuse settings of negatives and of the softmax that do not go together."""
    if recipe.shared_negatives and (recipe.replaced == "bern" or recipe.candidates != "all"):
        raise ValueError(
            "shared_negatives: they replace both sides alike, or tails alone; "
            "expected sampling 'uniform' or 'tail' and candidates 'all'"
        )
    if recipe.lane_negatives and (recipe.negatives == "all" or recipe.shared_negatives or recipe.candidates != "all"):
        raise ValueError(
            "lane_negatives: goes with a number of negatives, without shared_negatives and with candidates 'all'"
        )
    if recipe.negatives == "all" and recipe.loss != "softmax":
        raise ValueError("negatives: 'all' goes with the loss 'softmax'")
    if recipe.negatives == "all" and (recipe.shared_negatives or recipe.candidates != "all"):
        raise ValueError("negatives: 'all' goes without shared_negatives and with candidates 'all'")
    if recipe.hide_answers and (not recipe.answers_at_once or recipe.label_smoothing):
        raise ValueError("hide_answers: goes with answers_at_once and without label_smoothing")
    if recipe.neighbour_candidates and recipe.sampled_entities is None:
        raise ValueError("neighbour_candidates: goes with sampled_entities; without, all entities are candidates")
    softmax_only = (
        "sampled_entities",
        "neighbour_candidates",
        "answers_at_once",
        "label_smoothing",
        "dropout",
        "entity_dropout",
        "cubic_penalty",
    )
    for field in softmax_only:
        if getattr(recipe, field) and recipe.negatives != "all":
            raise ValueError(
                f"{field}: goes with negatives 'all' alone, found {recipe.negatives}; a recipe with counted negatives, "
                "such as 'modern', has none"
            )


def _check_texts(recipe: Recipe) -> None:
    """Refuse settings of texts and of smoothness that do not go together."""
    if recipe.entity_texts and (recipe.negatives != "all" or recipe.entity_norm != "unit"):
        raise ValueError("entity_texts: goes with negatives 'all' and entity_norm 'unit'")
    if recipe.entity_texts and not recipe.build_model(0, 0).linear:
        raise ValueError(
            f"entity_texts: the score of {recipe.model} is not linear in a candidate; expected transe or transa"
        )
    for field in ("text_encoder", "own_vectors", "skip_gram"):
        if getattr(recipe, field) and not recipe.entity_texts:
            raise ValueError(f"{field}: expected entity_texts")
    if recipe.text_corpus and not recipe.skip_gram:
        raise ValueError("text_corpus: expected a skip_gram above 0, which trains the words of the corpus")
    if recipe.smoothness != "none" and recipe.entity_texts:
        raise ValueError("smoothness: entity_texts leaves no vectors to smooth")
    if recipe.smoothness != "none" and (not MODELS[recipe.model].has_vectors or recipe.solver != "gradient"):
        raise ValueError(f"smoothness: {recipe.model} has no vectors that are trained by gradient")


def _check_additions(recipe: Recipe) -> None:
    """Refuse rules, types and early stopping where they cannot be."""
    if recipe.with_rules and not MODELS[recipe.model].has_vectors:
        raise ValueError(f"with_rules: {recipe.model} has nothing but rules")
    if recipe.with_rules and MODELS[recipe.model].by_paths:
        raise ValueError(f"with_rules: {recipe.model} ranks in two stages, which rules do not join")
    if recipe.type_penalty and (MODELS[recipe.model].by_paths or not MODELS[recipe.model].has_vectors):
        raise ValueError(f"type_penalty: does not go with {recipe.model}, which ranks in a way of its own")
    if recipe.patience and not recipe.validate_every:
        raise ValueError("patience: early stopping needs validate_every above 0")
