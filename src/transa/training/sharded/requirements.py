"""What several workers can train."""

from __future__ import annotations

from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.kernels.scores import RowScore, find_score, no_excess, no_finish
from transa.models import Model
from transa.training.engine import training_model, why_not_numba
from transa.training.progress import Options
from transa.training.recipe import Recipe


def check_sharded(graph: KnowledgeGraph, recipe: Recipe, options: Options) -> None:
    """Raise an `InputError` if several workers cannot train by a recipe, or torch cannot use the device."""
    options.check()
    model = recipe.build_model(len(graph.entities), len(graph.relations))
    why = why_not_sharded(model, recipe)
    labelled = graph.valid_labels is not None and recipe.validate_on == "auto"
    if recipe.validate_every and (labelled or recipe.validate_on == "accuracy"):
        why = "they validate by MRR (--set validate_on=mrr, or validate_every=0)"
    if not why and options.lock_free:
        why = "workers take the steps of a batch together, without lock_free"
    by_torch = options.engine == "torch" or options.device != "cpu"
    if not why and by_torch and (model.grouped or options.engine == "numba"):
        why = "full metrics, and what compiled kernels are asked for, are trained on the CPU"
    if why:
        raise InputError(f"several workers cannot train this: {why}")


def why_not_sharded(model: Model, recipe: Recipe) -> str:
    """Return why several workers cannot train by a recipe, or an empty string if they can."""
    trained = training_model(model, recipe)
    if recipe.solver != "gradient" or model.by_paths or recipe.entity_texts:
        return f"{recipe.model} has an engine of its own here"
    if recipe.negatives == "all":
        return "the softmax over all entities needs all of them in one place (--recipe modern, or --set negatives=…)"
    known = set(model.entity_tables()) <= {"vector"} and set(model.relation_tables()) <= {"vector", "metric"}
    if not known or "vector" not in model.relation_tables() or model.shared_tables() or model.analytic_gradients:
        return f"{recipe.model} has tables other than vectors and metrics"
    refused = {
        "smoothness": recipe.smoothness != "none",
        "with_rules": recipe.with_rules,
        "type_penalty": recipe.type_penalty,
        "warm_epochs": bool(recipe.warm_epochs),
        "shrink_to": recipe.shrink_to != "prior",
        "metric_pairs": recipe.has_metric and recipe.metric_pairs != "all" and recipe.metric_update in ("epoch", "end"),
    }
    for field, wrong in refused.items():
        if wrong:
            return f"{field}={getattr(recipe, field)!r} is not available"
    return why_not_numba(trained, recipe, "cpu") or _why_not_in_lanes(trained)


def _why_not_in_lanes(trained: Model) -> str:
    """Return why the gradients of lanes, of which only sums are kept, do not suit a score."""
    kernel = trained.kernel()
    score = find_score(kernel.score) if kernel is not None else None
    if isinstance(score, RowScore) and (score.finish is not no_finish or score.excess is not no_excess):
        return f"the score {score.name!r} needs the gradients of all negatives at once"
    return ""
