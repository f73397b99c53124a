"""Growing a trained model: new entities get vectors from their triples, while everything else stays as it is.

A new entity starts where its triples say it should be, the mean of t - r over those it heads and of h + r over those it ends, and
takes some steps down the training loss from there. Old entities keep their ids and, unless training goes on, their vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch
from torch import Tensor

from transa.data import Corruptor, KnowledgeGraph, Vocabulary
from transa.data.graph import Triples
from transa.errors import InputError
from transa.inference.trained import Trained
from transa.kernels.codes import ADAGRAD_ROW
from transa.models import Model, Rows
from transa.models.adaptive_metric import AdaptiveMetric
from transa.models.transa import TransA
from transa.models.transe import TransE
from transa.models.transh import TransH
from transa.models.um import UM
from transa.training import Options, Progress, Recipe, RunFolder, Trainer
from transa.training.losses import LOSSES, loss_of
from transa.training.optimizers import update_rows
from transa.training.settings import table_settings

#: Triples of one step, at most.
BATCH = 4096
#: Random numbers of its own for corruptions.
PURPOSE = 6


@dataclass(frozen=True, eq=False)
class Extended:
    """A model that has grown.

    Attributes
    ----------
    trained
        The new model and graph.
    new_entities
        Their keys, in the order of their ids, which follow those of the old.
    triples
        How many triples were added to train.
    repeated
        How many of the given ones were there already.
    losses
        Of the new triples: at the start of the steps and at their end; None where there was nothing to place.
    """

    trained: Trained
    new_entities: tuple[str, ...]
    triples: int
    repeated: int
    losses: tuple[float, float] | None

    def frame(self) -> pa.Table:
        """Return the new entities with their ids and numbers of training triples as an Arrow table."""
        graph = self.trained.graph
        degrees = np.bincount(graph.train[:, [0, 2]].ravel(), minlength=len(graph.entities))
        first = len(graph.entities) - len(self.new_entities)
        return pa.table(
            {
                "key": pa.array(self.new_entities, pa.string()),
                "id": np.arange(first, len(graph.entities)),
                "triples": degrees[first:],
            }
        )


def extend(
    trained: Trained,
    triples: Sequence[Sequence[str]],
    *,
    steps: int = 100,
    refine: int = 0,
    seed: int = 0,
    options: Options | None = None,
    folder: RunFolder | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> Extended:
    """Add triples to a model's graph, with vectors for the entities it does not know.

    Parameters
    ----------
    trained
        What grows; it is left as it is.
    triples
        Heads, relations and tails by key (or by readable name). What is no entity yet becomes one; relations must be known.
    steps
        Steps down the loss of the new triples, in which only vectors of new entities move; 0 leaves them at their start.
    refine
        Rounds of training on all triples afterwards, in which everything moves.
    seed
        Of corruptions.
    options
        How to train, for `refine`.
    folder
        Where to keep the result as a run; it must not hold one.
    watch
        Called after each round of `refine`.
    """
    recipe = trained.recipe
    if recipe is None:
        raise InputError("extend: how the model was trained is not known")
    for name, value in (("steps", steps), ("refine", refine)):
        if value < 0:
            raise InputError(f"{name}: expected 0 or more, found {value}")
    graph, added, repeated = grow_graph(trained, triples)
    old = len(trained.graph.entities)
    model = _grown(trained.model, graph, added, old)
    losses = None
    if len(graph.entities) > old:
        losses = _settle(model, graph, added, old, recipe, steps, seed)
    if refine:
        model = _refine(trained, model, graph, recipe, refine, options, folder, watch)
    elif folder is not None:
        _keep(folder, model, graph, recipe)
    if folder is not None:
        source = None if trained.folder is None else str(trained.folder.path)
        record = {"from": source, "new_entities": len(graph.entities) - old, "triples": len(added), "steps": steps}
        folder.write_json("extension.json", {**record, "refine": refine, "losses": losses})
    return Extended(
        Trained(model, graph, recipe, folder),
        tuple(graph.entities[each] for each in range(old, len(graph.entities))),
        len(added),
        repeated,
        losses,
    )


def grow_graph(trained: Trained, triples: Sequence[Sequence[str]]) -> tuple[KnowledgeGraph, Triples, int]:
    """Return the graph with the triples in train, these triples by id, and how many of them it had already.

    New entities come after the old ones, in the order of their keys.
    """
    graph = trained.graph
    called: dict[str, int] = {}
    for end in {str(row[place]) for row in triples for place in (0, 2)}:
        found = trained.entities.exact(end)
        if found is not None:
            called[end] = found
    new = sorted({str(row[place]) for row in triples for place in (0, 2)} - set(called))
    called |= {key: len(graph.entities) + position for position, key in enumerate(new)}
    ids = np.empty((len(triples), 3), dtype=np.int32)
    for row, (head, relation, tail) in enumerate(triples):
        try:
            ids[row] = called[str(head)], trained.relations.id(str(relation)), called[str(tail)]
        except InputError as error:
            raise InputError(
                f"{error}; a new relation needs a training of its own", line=row + 1, unit="triple"
            ) from None
    ids = ids[np.sort(np.unique(ids, axis=0, return_index=True)[1])] if len(ids) else ids
    grown = replace(graph, entities=_appended(graph.entities, new))
    held = grown.known().contains(ids) if len(ids) else np.zeros(0, bool)
    added = np.ascontiguousarray(ids[~held])
    if not len(added):
        raise InputError("there is nothing to add: the graph holds all of these triples")
    return replace(grown, train=np.concatenate([graph.train, added])), added, len(triples) - len(added)


def _appended(vocabulary: Vocabulary, new: list[str]) -> Vocabulary:
    columns = [
        None if column is None else [*column.to_pylist(), *([None] * len(new))]
        for column in (vocabulary.names, vocabulary.descriptions)
    ]
    return Vocabulary([*vocabulary, *new], *columns)


# ---------------------------------------------------------------------- where new entities begin


def _grown(model: Model, graph: KnowledgeGraph, added: Triples, old: int) -> Model:
    """Return a copy of the model with rows for new entities, in which they stand where their triples say."""
    grown = copy(model)
    grown.num_entities = len(graph.entities)
    more = grown.num_entities - old
    for role in ("relation", "shared"):
        setattr(grown, role, Rows({name: table.detach().clone() for name, table in getattr(model, role).items()}))
    grown.entity = Rows()
    for name, table in model.entity.items():
        middle = table.detach().mean(0, keepdim=True)
        grown.entity[name] = torch.cat([table.detach(), middle.expand(more, *middle.shape[1:])]).clone()
    if more:
        _place(grown, graph, added, old)
    return grown


def _place(model: Model, graph: KnowledgeGraph, added: Triples, old: int) -> None:
    """Give new entities the mean of what their triples say, those next to old ones first, then those next to these."""
    vectors = model.entity.vector
    placed = np.arange(model.num_entities) < old
    peers = None if _translates(model) else _peers(model, graph, old)
    while True:
        total = torch.zeros_like(vectors[old:])
        count = np.zeros(model.num_entities - old)
        for side, other, sign in ((0, 2, -1.0), (2, 0, 1.0)):
            rows = added[~placed[added[:, side]] & (placed[added[:, other]] | (peers is not None))]
            edges = torch.from_numpy(rows[:, 1].astype(np.int64))
            if peers is not None:
                said = peers[side][edges]
            else:
                shift = sign * model.relation.vector[edges] if "vector" in model.relation else 0.0
                said = vectors[torch.from_numpy(rows[:, other].astype(np.int64))] + shift
            total.index_add_(0, torch.from_numpy(rows[:, side].astype(np.int64) - old), said)
            np.add.at(count, rows[:, side] - old, 1)
        found = np.flatnonzero(count)
        if not len(found):
            return
        chosen = torch.from_numpy(found)
        vectors[old + chosen] = total[chosen] / torch.from_numpy(count[found]).to(vectors).unsqueeze(1)
        placed[old + found] = True


def _translates(model: Model) -> bool:
    """Tell whether h + r is where the model expects t, in the space of entities."""
    return isinstance(model, UM | TransE | TransH | TransA | AdaptiveMetric)


def _peers(model: Model, graph: KnowledgeGraph, old: int) -> dict[int, Tensor]:
    """Return for each side and relation the mean vector of the entities that stand there: a start for any model."""
    found = {}
    rows = graph.train[(graph.train[:, [0, 2]] < old).all(axis=1)]
    edges = torch.from_numpy(rows[:, 1].astype(np.int64))
    for side in (0, 2):
        ends = torch.from_numpy(rows[:, side].astype(np.int64))
        total = torch.zeros(model.num_relations, model.dim, dtype=model.entity.vector.dtype)
        total.index_add_(0, edges, model.entity.vector[ends])
        count = torch.bincount(edges, minlength=model.num_relations).clamp(min=1)
        found[side] = total / count.unsqueeze(1)
    return found


# ---------------------------------------------------------------------- a few steps


def _settle(
    model: Model, graph: KnowledgeGraph, added: Triples, old: int, recipe: Recipe, steps: int, seed: int
) -> tuple[float, float]:
    """Move new entities down the loss of their triples; return it before and after.

    Steps are those of Adagrad with one sum a row, a tenth of an entity vector's usual entry long at first: whatever the
    recipe's own optimiser is, its rate is meant for many rounds over all triples.
    """
    mine = added[(added[:, [0, 2]] >= old).any(axis=1)]
    corruptor = Corruptor(
        graph.training_facts, recipe.sampling, seed, purpose=PURPOSE, typed=recipe.candidates == "typed"
    )
    constraints = {name: setting.constraint for name, setting in table_settings(model, recipe).items()}
    sums = {name: torch.zeros(len(table) - old, 1, dtype=table.dtype) for name, table in model.entity.items()}
    rates = {name: 0.1 * float(table[:old].square().mean().sqrt()) for name, table in model.entity.items()}
    first = _loss(model, corruptor, mine, recipe, old, 0)[0]
    start = {name: table[old:].clone() for name, table in model.entity.items()}
    random = np.random.default_rng(seed)
    for step in range(1, steps + 1):
        rows = mine if len(mine) <= BATCH else mine[random.choice(len(mine), BATCH, replace=False)]
        _, gradients = _loss(model, corruptor, rows, recipe, old, step)
        for name, gradient in gradients.items():
            table, shape = model.entity[name], model.entity[name][old:].shape
            moved = update_rows(
                ADAGRAD_ROW,
                rates[name] * (1 - (step - 1) / steps),
                recipe.penalty,
                constraints.get(f"entity.{name}", 0),
                step,
                table[old:].reshape(shape[0], -1),
                gradient.reshape(shape[0], -1),
                sums[name],
                sums[name],
            )
            table[old:] = moved.reshape(shape)
    last = _loss(model, corruptor, mine, recipe, old, 0)[0]
    if last > first:  # the start was better, by the same corruptions
        for name, table in model.entity.items():
            table[old:] = start[name]
    return first, min(first, last)


def _loss(
    model: Model, corruptor: Corruptor, triples: Triples, recipe: Recipe, old: int, number: int
) -> tuple[float, dict[str, Tensor]]:
    """Return the mean loss of some triples, and the gradient of its sum for the rows of new entities."""
    wrong = corruptor.corrupt(triples, recipe.negatives, round=number)
    every = np.concatenate([triples[:, None], wrong], axis=1)
    touched, places = np.unique(every[..., [0, 2]], return_inverse=True)
    places = places.reshape(*every.shape[:2], 2)
    known = int(np.searchsorted(touched, old))
    some = copy(model)
    ids = torch.from_numpy(touched.astype(np.int64))
    leaves = {name: table[old:].clone().requires_grad_() for name, table in model.entity.items()}
    some.entity = Rows(
        {name: torch.cat([table[ids[:known]], leaves[name][ids[known:] - old]]) for name, table in model.entity.items()}
    )
    some.num_entities = len(touched)
    asked: npt.NDArray[Any] = np.stack([places[..., 0], every[..., 1], places[..., 1]], axis=-1).astype(np.int64)
    scores = some.score_triples(torch.from_numpy(asked.reshape(-1, 3))).reshape(asked.shape[:2])
    losses, _ = loss_of(LOSSES[recipe.loss], recipe.margin, recipe.temperature, scores[:, 0], scores[:, 1:])
    losses.sum().backward()  # type: ignore[no-untyped-call]
    gradients = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    return float(losses.detach().mean()), gradients


# ---------------------------------------------------------------------- training that goes on


def _refine(
    trained: Trained,
    model: Model,
    graph: KnowledgeGraph,
    recipe: Recipe,
    rounds: int,
    options: Options | None,
    folder: RunFolder | None,
    watch: Callable[[Progress], None] | None,
) -> Model:
    source = None if trained.folder is None else str(trained.folder.path)
    chosen = recipe.model_copy(update={"rounds": rounds, "warm_rounds": 0})
    trainer = Trainer(graph, chosen, options, folder, source)
    for name, table in trainer.model.tensors().items():
        if name not in model.fixed:
            table.copy_(model.tensors()[name])
    _resume_optimizer(trained, trainer, len(trained.graph.entities))
    return trainer.fit(watch)


def _resume_optimizer(trained: Trained, trainer: Trainer, old: int) -> None:
    """Take over the optimiser's state from the old run, so that what is well known moves little; new entities have none."""
    if trained.folder is None:
        return
    try:
        tensors, _ = trained.folder.read_tensors("checkpoint.safetensors")
    except InputError:
        return  # without it, training goes on with a fresh optimiser
    kept = {name.removeprefix("engine."): table for name, table in tensors.items() if name.startswith("engine.")}
    state = {}
    for name, table in trainer.engine.state().items():
        former = kept.get(name)
        if former is None or former.shape[1:] != table.shape[1:]:
            return
        more = len(table) - len(former)
        at = old if name in ("first", "second", "first.entity.vector", "second.entity.vector") else len(former)
        state[name] = torch.cat([former[:at], former.new_zeros(more, *former.shape[1:]), former[at:]])
        if state[name].shape != table.shape:
            return
    trainer.engine.load_state(state)


def _keep(folder: RunFolder, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
    folder.open(resume=False)
    try:
        folder.write_start(graph, recipe, source=None, engine="extend")
        folder.write_tensors("weights.safetensors", model.tensors())
        folder.write_json("metrics.json", {"rounds": 0, "parameters": model.parameters, "validation": None})
    finally:
        folder.close()
