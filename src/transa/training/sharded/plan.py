"""What training by several workers will take: memory of each, and bytes between them, computed before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from transa.data import KnowledgeGraph
from transa.errors import amount
from transa.evaluation.memory import FACT, NAME
from transa.models import Model
from transa.training.engine import training_model
from transa.training.optimizers import state_shapes
from transa.training.recipe import Recipe
from transa.training.settings import table_settings
from transa.training.sharded.slices import FILE

#: Bytes of the program in a worker. Several on a machine share the pages of libraries, which `transa.memory.PROGRAM` counts in full.
WORKER = 350_000_000
#: Bytes of the number of a row on the wire.
PLACE = 8
#: Bytes for each id that deal it to a lane (its row, its place in the list of the lane, scratch), and for each row that is held.
DEALT, HELD = 16, 8
#: How often a row that is pulled is in memory, beside its sums in each lane (as it comes, in the small table, its gradient as it
#: goes and as it comes), and bytes for each negative.
PULLED, DRAWN = 4, 32
#: Bytes for each training triple: the order of an epoch, the triple itself, and its place in the index of known facts.
ORDER, TRIPLE, INDEXED = 8, 12, 40


@dataclass(frozen=True)
class Sizes:
    """How large a graph is."""

    entities: int
    relations: int
    triples: int

    @classmethod
    def of(cls, graph: KnowledgeGraph) -> Sizes:
        """Return the sizes of a graph."""
        return cls(len(graph.entities), len(graph.relations), len(graph.train))


@dataclass(frozen=True)
class Plan:
    """What each worker takes.

    Attributes
    ----------
    workers
        How many there are.
    memory
        Bytes of one worker, by purpose.
    shared
        Bytes of files that all workers of a machine read where they lie, in the format ``mapped``; 0 if each worker holds the graph.
    sent
        Bytes that one worker sends to others in an epoch.
    """

    workers: int
    memory: dict[str, int]
    shared: int
    sent: int

    @property
    def of_worker(self) -> int:
        """The memory of one worker."""
        return sum(self.memory.values())

    @property
    def total(self) -> int:
        """The memory of all workers, if they are on one machine."""
        return self.workers * self.of_worker + self.shared

    def __str__(self) -> str:
        large = sorted(((name, size) for name, size in self.memory.items() if size > 1e6), key=lambda part: -part[1])
        parts = ", ".join(f"{name} {amount(size)}" for name, size in large)
        sent = f"; each sends about {amount(self.sent)} an epoch" if self.workers > 1 else ""
        shared = f" and {amount(self.shared)} of shared files" if self.shared else ""
        return f"{amount(self.total)}: {self.workers} x {amount(self.of_worker)} ({parts}){shared}{sent}"

    def report(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "plan": str(self),
            "workers": self.workers,
            "memory_of_a_worker": self.memory,
            "bytes_of_a_worker": self.of_worker,
            "bytes_of_shared_files": self.shared,
            "bytes_in_all": self.total,
            "bytes_sent_by_a_worker_in_an_epoch": self.sent,
        }


def plan(sizes: Sizes, recipe: Recipe, workers: int, *, mapped: bool = False) -> Plan:
    """Return what training a graph of a size takes; the formulas follow what the code allocates and sends.

    `mapped` tells whether the graph is read where it lies.
    """
    model = recipe.build_model(sizes.entities, sizes.relations)
    width = 8 if recipe.precision == "float64" else 4
    triples = sizes.triples * (2 if recipe.directional else 1)
    positives = -(-min(recipe.batch_size, triples) // workers)
    lanes = recipe.lanes // workers
    gradients = -(-positives // lanes) * (3 + recipe.drawn_negatives) if model.grouped else 0
    pulled = _pulled(recipe, sizes.entities, positives)
    memory = {
        "program": WORKER,
        "names": NAME * (sizes.entities + sizes.relations),
        "graph": 0 if mapped else TRIPLE * sizes.triples + FACT * triples,
        "order of an epoch": ORDER * triples,
        "lanes": (DEALT + HELD // workers) * (sizes.entities + model.num_relations),
        "tables": -(-sum(map(prod, model.shapes().values())) * width // workers),
        "optimiser": -(-state_numbers(model, recipe) * width // workers),
        "batch": (gradients + (PULLED + lanes) * pulled) * model.dim * width
        + DRAWN * positives * recipe.drawn_negatives,
    }
    memory["checkpoint"] = min(2 * FILE, memory["tables"] + memory["optimiser"])
    shared = (TRIPLE + INDEXED) * sizes.triples if mapped else 0
    return Plan(workers, memory, shared, _sent(model, recipe, triples, workers))


def state_numbers(model: Model, recipe: Recipe) -> int:
    """Return how many numbers the optimiser keeps."""
    settings = table_settings(training_model(model, recipe), recipe)
    shapes = {name: model.shapes()[name] for name in settings}
    return sum(
        sum(map(prod, state_shapes(settings[name].optimizer, rows, prod(shape))))
        for name, (rows, *shape) in shapes.items()
    )


def _pulled(recipe: Recipe, entities: int, positives: int) -> int:
    """Return about how many entities a worker pulls for a batch: heads and tails, and negatives, two for each positive if shared."""
    negatives = 2 if recipe.lane_negatives else recipe.drawn_negatives
    return min((2 + negatives) * positives, entities)


def _sent(model: Model, recipe: Recipe, triples: int, workers: int) -> int:
    """Return how many bytes a worker sends in an epoch: row numbers it asks for, rows it is asked for, and gradients.

    The negatives of a lane are its worker's own. That an entity stands in a batch more than once is not taken off.
    """
    if workers == 1:
        return 0
    width = 8 if recipe.precision == "float64" else 4
    trained = training_model(model, recipe)
    mine = triples / workers
    batches = -(-triples // recipe.batch_size)
    entities = 2 + (0 if recipe.lane_negatives else recipe.drawn_negatives)
    of_entity = 2 * (PLACE + model.dim * width)
    asked = sum(map(prod, trained.relation_tables().values()))
    learned = sum(
        prod(model.shapes()[name][1:]) for name in table_settings(trained, recipe) if name.startswith("relation")
    )
    lanes = recipe.lanes // workers
    of_batch = min(model.num_relations, recipe.batch_size // workers)
    of_lane = min(model.num_relations, recipe.batch_size // recipe.lanes)
    relations = of_batch * (PLACE + asked * width) + lanes * of_lane * (PLACE + learned * width)
    return int((mine * entities * of_entity + batches * relations) * (workers - 1) / workers)
