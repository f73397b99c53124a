"""How much memory training needs; the formulas follow what the code allocates.

They count the tables and the optimiser's state, the graph with its indexes, and what a batch, a ranking or a checkpoint takes for a
while. ``reliability/memory.py`` compares them with measured peaks.
"""

from __future__ import annotations

from math import prod

from transa.data import KnowledgeGraph
from transa.evaluation.memory import FACT, graph_bytes, ranking_bytes
from transa.memory import MemoryEstimate
from transa.models import Model
from transa.training.engine import training_model, why_not_numba
from transa.training.epoch_batches import DRAWN, GROUP_SIZE
from transa.training.optimizers import state_shapes
from transa.training.progress import Options
from transa.training.recipe import Recipe
from transa.training.settings import table_settings

#: Bytes for each training triple in the order of an epoch.
TRAINED = 140
#: Copies of the tables while they are written: tensors, serialised, and as bytes.
COPIES = 3
#: Bytes for each training triple that rules and what they are counted with take.
RULES = 2000
#: Bytes for each training triple in the index of paths, and for the paths that are kept of it.
PATHS = 600
#: How many arrays as large as a batch's vectors autograd holds, and how many analytic gradients take.
AUTOGRAD, ANALYTIC = 10, 8


def training_memory(graph: KnowledgeGraph, recipe: Recipe, options: Options) -> MemoryEstimate:
    """Return the memory that training by a recipe takes, with a run folder."""
    if recipe.solver == "mining":
        return MemoryEstimate(
            {"graph": graph_bytes(graph) + FACT * len(graph.train)}, {"rules": RULES * len(graph.train)}
        )
    model = recipe.build_model(len(graph.entities), len(graph.relations))
    width = 8 if recipe.precision == "float64" else 4
    tables = sum(map(prod, model.shapes().values())) * width
    state = 0 if recipe.solver == "als" else _state(model, recipe) * width
    trained = len(graph.train) * (2 if recipe.directional else 1)
    indexed = len(graph.train) + (len(graph.valid) if recipe.validate_every else 0)
    lasting = {
        "graph": graph_bytes(graph) + FACT * (trained + bool(recipe.validate_every) * indexed),
        "order of an epoch": TRAINED * trained,
        "tables": tables,
        "optimiser": state,
        "batch": _batch(model, graph, recipe, options, width),
    }
    if model.by_paths:
        lasting["paths"] = PATHS * len(graph.train)
    passing = {"checkpoint": COPIES * (tables + state)}
    if recipe.validate_every:
        passing["best tables"] = (1 + COPIES) * tables
        by_accuracy = recipe.validate_on != "mrr" and graph.valid_labels is not None
        if not by_accuracy or recipe.decided_by == "questions":
            ranked = len(graph.valid) if by_accuracy else min(recipe.validate_sample, len(graph.valid))
            passing["ranking"] = ranking_bytes(model, ranked, None, width)
    return MemoryEstimate(lasting, passing)


def _state(model: Model, recipe: Recipe) -> int:
    """Return how many numbers the optimiser keeps."""
    found = 0
    for name, settings in table_settings(model, recipe).items():
        rows, *size = model.shapes()[name]
        found += sum(map(prod, state_shapes(settings.optimizer, rows, prod(size))))
    return found


def _batch(model: Model, graph: KnowledgeGraph, recipe: Recipe, options: Options, width: int) -> int:
    """Return the bytes that one batch takes with the engine that trains it."""
    positives, negatives = min(recipe.batch_size, len(graph.train)), recipe.drawn_negatives
    vectors = positives * (1 + negatives) * model.dim * width
    of_entity, of_relation = (
        sum(map(prod, shapes.values())) for shapes in (model.entity_tables(), model.relation_tables())
    )
    groups = min(positives, 1 + positives * model.num_relations // len(graph.train) + positives // GROUP_SIZE)
    if recipe.solver == "als":
        pointers = model.num_relations * (model.num_entities + 1) * 8
        return 6 * model.num_entities * model.dim * 8 + pointers + model.num_relations * model.dim**2 * 8

    def touched(ends: int) -> int:
        """Return how many numbers are in the rows that a batch touches, given the heads and tails in it."""
        shared = sum(map(prod, model.shared_tables().values()))
        return min(model.num_entities, ends) * of_entity + min(model.num_relations, positives) * of_relation + shared

    if model.by_paths:
        return 8 * model.num_relations * model.dim * width + 2 * 8 * len(graph.train)
    if recipe.shared_negatives:
        ends = 2 * positives + negatives
        pairs = 2 * positives * negatives * (1 if model.products else model.dim)
        return (AUTOGRAD * (pairs + ends * model.dim) + 4 * touched(ends)) * width
    scored = training_model(model, recipe)
    if options.engine == "torch" or why_not_numba(scored, recipe, options.device):
        return AUTOGRAD * vectors + 4 * touched(2 * positives * (1 + negatives)) * width
    drawn = max(positives, min(len(graph.train), DRAWN // negatives)) * negatives * 5
    kernels = vectors + 2 * positives * model.dim * width + drawn + 8 * 2 * positives * (3 + negatives)
    if scored.analytic_gradients:
        return kernels + ANALYTIC * vectors + groups * of_relation * width
    return kernels + (positives * of_relation * width if recipe.learns_metric else 0)
