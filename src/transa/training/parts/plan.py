"""What training by parts on disk will take, computed before it starts."""

from __future__ import annotations

from math import prod

from transa.evaluation.memory import FACT, NAME
from transa.training.memory import TRAINED
from transa.training.parts.pairs import check_parts
from transa.training.recipe import Recipe
from transa.training.sharded.plan import DEALT, DRAWN, ORDER, TRIPLE, WORKER, Plan, Sizes, state_numbers
from transa.training.sharded.slices import FILE


def parts_plan(sizes: Sizes, recipe: Recipe, parts: int, *, mapped: bool = False) -> Plan:
    """Return what training a graph of a size by parts takes: a pair of parts, its triples, and all relations, twice.

    `mapped` tells whether the graph is read where it lies.
    """
    check_parts(parts, recipe.lanes)
    share, pairs = min(2 / parts, 1), max(parts * (parts - 1) // 2, 1)
    entities = int(sizes.entities * share)
    pair = recipe.build_model(entities, sizes.relations)
    width = 8 if recipe.precision == "float64" else 4
    relations = sum(prod(shape) for name, shape in pair.shapes().items() if name.startswith("relation"))
    trained = int(sizes.triples / pairs) * (2 if recipe.directional else 1)
    known = trained + int(2 * sizes.triples / parts**2) * (2 if recipe.directional else 1)
    positives = min(recipe.batch_size, trained)
    memory = {
        "program": WORKER,
        "names": NAME * (sizes.entities + entities + sizes.relations),
        "graph": 0 if mapped else TRIPLE * sizes.triples,
        "order of an epoch": ORDER * sizes.triples + TRAINED * trained + FACT * known,
        "lanes": DEALT * sizes.entities,
        "tables": (sum(map(prod, pair.shapes().values())) + relations) * width,
        "optimiser": state_numbers(pair, recipe) * width,
        "batch": positives * (3 + recipe.drawn_negatives) * pair.dim * width
        + DRAWN * positives * recipe.drawn_negatives,
        "checkpoint": 2 * FILE,
    }
    return Plan(1, memory, TRIPLE * sizes.triples if mapped else 0, 0)
