"""How much memory training and ranking need, before they take it.

A process that takes more than there is gets killed without a word. These formulas follow what the code allocates: tables and what the
optimiser keeps beside them, the graph with its indexes, what a batch, a ranking or a checkpoint takes for a while.
``reliability/memory.py`` holds them against measured peaks.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from transa.data import KnowledgeGraph
from transa.errors import InputError, amount
from transa.evaluation.torch_ranking import BUDGET, QUERIES
from transa.kernels.spectra import AXES
from transa.models import Model, build
from transa.models.transe import TransE
from transa.training.engine import why_not_numba
from transa.training.epoch_batches import GROUP_SIZE
from transa.training.numba_engine import DRAWN
from transa.training.optimizers import OPTIMIZERS, state_shapes
from transa.training.progress import Options
from transa.training.recipe import Recipe

#: Python with the libraries: 420 to 480 MB before anything is trained, and compiled kernels on top.
PROGRAM = 500_000_000
#: Bytes for each name, for each fact of an index while it is made, and for each training triple in its order of the epoch.
NAME, FACT, TRAINED = 150, 100, 140
#: Copies that are made of tables while they are written: their own, serialised, and as bytes.
COPIES = 3
#: Arrays of the size of a batch's vectors that autograd holds, and that gradients by hand take.
AUTOGRAD, BY_HAND = 10, 8
#: Models whose scores are products, so that negatives which a batch shares are scored without a vector for each pair.
PRODUCTS = {"sme_linear", "sme_bilinear", "sme_tensor", "lfm", "rescal"}


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by what they are for.

    Attributes
    ----------
    lasting
        What stays for the whole time.
    passing
        What is taken for a while, one after the other: the largest counts.
    """

    lasting: dict[str, int]
    passing: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The peak."""
        return sum(self.lasting.values()) + max(self.passing.values(), default=0)

    @property
    def largest(self) -> str:
        """What needs most, the program itself aside."""
        parts = {**self.lasting, **self.passing}
        return max(parts, key=lambda name: parts[name] if name != "program" else 0)

    def __str__(self) -> str:
        parts = sorted({**self.lasting, **self.passing}.items(), key=lambda part: -part[1])
        return f"{amount(self.total)} ({', '.join(f'{name} {amount(size)}' for name, size in parts if size > 1e6)})"


def training_memory(graph: KnowledgeGraph, recipe: Recipe, options: Options) -> MemoryEstimate:
    """Return what training by a recipe takes, with a run folder."""
    model = build(recipe.model, len(graph.entities), len(graph.relations), recipe.dim, **recipe.options)
    width = 8 if recipe.precision == "float64" else 4
    tables = sum(map(prod, model.shapes().values())) * width
    state = 0 if recipe.solver == "als" else _state(model, recipe) * width
    indexed = len(graph.train) + (len(graph.valid) if recipe.validate_every else 0)
    lasting = {
        "program": PROGRAM,
        "graph": _graph(graph) + FACT * (len(graph.train) + bool(recipe.validate_every) * indexed),
        "order of an epoch": TRAINED * len(graph.train),
        "tables": tables,
        "optimiser": state,
        "batch": _batch(model, graph, recipe, options, width),
    }
    passing = {"checkpoint": COPIES * (tables + state)}
    if recipe.validate_every:
        passing["best tables"] = (1 + COPIES) * tables
        if not (recipe.validate_on != "mrr" and graph.valid_labels is not None):
            passing["ranking"] = _ranking(model, min(recipe.validate_sample, len(graph.valid)), None, width)
    return MemoryEstimate(lasting, passing)


def evaluation_memory(
    model: Model, graph: KnowledgeGraph, triples: int, chunk: int | None, width: int = 4
) -> MemoryEstimate:
    """Return what ranking some triples takes; the model may be without its tables yet."""
    facts = sum(len(graph.triples(split)) for split in ("train", "valid", "test"))
    lasting = {
        "program": PROGRAM,
        "graph": _graph(graph) + FACT * facts,
        "tables": sum(map(prod, model.shapes().values())) * width,
    }
    return MemoryEstimate(lasting, {"ranking": _ranking(model, triples, chunk, width)})


def _graph(graph: KnowledgeGraph) -> int:
    triples = sum(graph.triples(split).nbytes for split in ("train", "valid", "test"))
    return triples + NAME * (len(graph.entities) + len(graph.relations))


def _state(model: Model, recipe: Recipe) -> int:
    """Return how many numbers the optimiser keeps."""
    found = 0
    for name, shape in model.shapes().items():
        if name in _trained(model, recipe):
            rows, size = shape[0], prod(shape[1:])
            found += sum(map(prod, state_shapes(OPTIMIZERS[recipe.optimizer], rows, size)))
    return found


def _trained(model: Model, recipe: Recipe) -> set[str]:
    return {
        name
        for name in model.shapes()
        if name not in model.fixed and (name != "relation.metric" or recipe.learns_metric)
    }


def _batch(model: Model, graph: KnowledgeGraph, recipe: Recipe, options: Options, width: int) -> int:
    """Return what one batch takes, by the engine that trains it."""
    positives, negatives = min(recipe.batch_size, len(graph.train)), recipe.negatives
    vectors = positives * (1 + negatives) * model.dim * width
    of_entity, of_relation = (
        sum(map(prod, shapes.values())) for shapes in (model.entity_tables(), model.relation_tables())
    )
    groups = min(positives, 1 + positives * model.num_relations // len(graph.train) + positives // GROUP_SIZE)
    if recipe.solver == "als":
        pointers = model.num_relations * (model.num_entities + 1) * 8
        return 6 * model.num_entities * model.dim * 8 + pointers + model.num_relations * model.dim**2 * 8

    def touched(ends: int) -> int:
        """Return how many numbers the rows have that so many ends and the relations of a batch touch."""
        shared = sum(map(prod, model.shared_tables().values()))
        return min(model.num_entities, ends) * of_entity + min(model.num_relations, positives) * of_relation + shared

    if recipe.shared_negatives:
        ends = 2 * positives + negatives
        pairs = 2 * positives * negatives * (1 if model.name in PRODUCTS else model.dim)
        return (AUTOGRAD * (pairs + ends * model.dim) + 4 * touched(ends)) * width
    scored = TransE(model.num_entities, model.num_relations, model.dim) if recipe.training_score == "l1" else model
    if options.engine == "torch" or why_not_numba(scored, recipe, options.device):
        return AUTOGRAD * vectors + 4 * touched(2 * positives * (1 + negatives)) * width
    drawn = max(positives, min(len(graph.train), DRAWN // negatives)) * negatives * 5
    kernels = vectors + 2 * positives * model.dim * width + drawn + 8 * 2 * positives * (3 + negatives)
    if scored.analytic_gradients:
        return kernels + BY_HAND * vectors + groups * of_relation * width
    return kernels + (positives * of_relation * width if recipe.learns_metric else 0)


def _ranking(model: Model, triples: int, chunk: int | None, width: int) -> int:
    """Return what ranking takes beside the tables: with compiled kernels, or with torch."""
    counted = 2 * 9 * 8 * triples
    table = model.num_entities * model.dim
    if model.kernel() is not None:
        projected = 3 * 8 * table if "normal" in model.relation_tables() else 0
        axes = model.num_relations * AXES * model.dim * width if model.grouped else 0
        return counted + projected + axes
    queries = max(1, min(QUERIES, triples, BUDGET // max(model.num_entities, 1)))
    scores = queries * model.num_entities
    residuals = min(chunk or BUDGET // (8 * model.dim), scores) * model.dim
    return counted + (3 * scores + 3 * residuals) * width


# ---------------------------------------------------------------------- what there is


def available(system: Path = Path("/")) -> int | None:
    """Return the bytes this process can still take: what the machine has free, within its control groups; None where unknown."""
    try:
        lines = (system / "proc/meminfo").read_text().splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return None
    return min([free, *_of_groups(system)])


def _of_groups(system: Path) -> list[int]:
    """Return what is left in each control group around this process, of either version."""
    found = []
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        root = system / "sys/fs/cgroup" / controllers
        limit, usage = (
            ("memory.limit_in_bytes", "memory.usage_in_bytes") if controllers else ("memory.max", "memory.current")
        )
        group = root / path.strip("/")
        for place in [group, *group.parents]:
            try:
                room = int((place / limit).read_text()) - int((place / usage).read_text()) + _cached(place)
                found.append(max(0, room))
            except (OSError, ValueError):  # no such file, or "max"
                pass
            if place == root:
                break
    return found


def _cached(group: Path) -> int:
    """Return what a group holds of files only, which it gives back when asked for memory."""
    for line in (group / "memory.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0


def resident(system: Path = Path("/")) -> int:
    """Return the bytes this process has already."""
    try:
        lines = (system / "proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))
    except (OSError, StopIteration, ValueError, IndexError):
        return 0


ADVICE = {
    "tables": "a smaller dim, or for TransA metric=lowrank or diagonal with metric_update=gradient",
    "batch": "a smaller batch or fewer negatives",
    "ranking": "a smaller --chunk (of entities), or another machine",
    "graph": "a part of the graph, or another machine",
}
ADVICE |= dict.fromkeys(("optimiser", "checkpoint", "best tables"), ADVICE["tables"] + "; or optimizer=adagrad_row")
ADVICE["order of an epoch"] = ADVICE["graph"]


def check_memory(need: MemoryEstimate, free: int | None = None) -> None:
    """Raise an `InputError` with advice where there is less memory free than is needed.

    Parameters
    ----------
    need
        What is going to be taken.
    free
        What there is; by default what the system says.
    """
    free = available() if free is None else free
    taken = min(
        resident(), sum(need.lasting.get(part, 0) for part in ("program", "graph"))
    )  # whatever else a caller may hold
    if free is not None and need.total - taken > free:
        raise InputError(
            f"needs about {need} of memory, and {amount(free)} are free. Try {ADVICE[need.largest]}; "
            "--ignore-memory goes on all the same"
        )
