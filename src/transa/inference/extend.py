"""Adding entities to a trained model: they get vectors from their triples or texts, and everything else stays as it is.

A new entity starts at the mean of the places where its triples put it: t - r where it is the head, h + r where it is the tail. If it
has a text, it starts where this leads to (`transa.inference.text_map`). From there it takes some gradient steps, if it has triples. Old
entities keep their ids and, unless all triples are trained again, their vectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from transa.data import KnowledgeGraph, Vocabulary
from transa.data.graph import Triples
from transa.data.triple_table import TripleTable
from transa.errors import InputError
from transa.inference.likeness import notes_on_case, notes_on_likeness
from transa.inference.placement import grown_model, settle
from transa.inference.rows import Skipped, understood
from transa.inference.texts import NewTexts, place_by_texts, with_texts
from transa.inference.trained import EXTENSION, Trained
from transa.models import Model
from transa.models.type_penalty import TypePenalty
from transa.training import Listener, Options, Recipe, RunFolder, Trainer
from transa.training.engine import training_graph


@dataclass(frozen=True, eq=False)
class Extended:
    """A model with more entities.

    Attributes
    ----------
    trained
        The new model and graph.
    new_entities
        The keys of the new entities, in the order of their ids, which follow those of the old ones.
    triples
        How many triples were added to train.
    repeated
        How many of the given triples the graph held before, or were given twice.
    losses
        The loss of the new triples before the first step and after the last; None if no entity is new.
    notes
        How the triples were read, names that were taken for known entities in another case, and new entities that look like others.
    skipped
        Triples that were left out on request, and why.
    told
        How many entities have the place that their texts gave them.
    """

    trained: Trained
    new_entities: tuple[str, ...]
    triples: int
    repeated: int
    losses: tuple[float, float] | None
    notes: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    told: int = 0

    def frame(self) -> pa.Table:
        """Return the new entities with their names, ids and numbers of training triples as an Arrow table."""
        graph = self.trained.graph
        degrees = np.bincount(graph.train[:, [0, 2]].ravel(), minlength=len(graph.entities))
        first = len(graph.entities) - len(self.new_entities)
        return pa.table(
            {
                "key": pa.array(self.new_entities, pa.string()),
                "name": [graph.entities.name(each) for each in range(first, len(graph.entities))],
                "id": np.arange(first, len(graph.entities)),
                "triples": degrees[first:],
            }
        )


def extend(
    trained: Trained,
    triples: Any = None,
    *,
    texts: NewTexts | None = None,
    steps: int = 100,
    refine: int = 0,
    seed: int = 0,
    options: Options | None = None,
    folder: RunFolder | None = None,
    callback: Listener | Iterable[Listener] | None = None,
    skip_unknown: bool = False,
) -> Extended:
    """Add triples, or entities with texts, to a model's graph, with vectors for the entities it does not know.

    Parameters
    ----------
    trained
        The model and its graph; both stay as they are.
    triples
        Heads, relations and tails by key or by readable name, as rows, an array or a frame. A name that fits a known entity but for
        its case means this entity. Unknown heads and tails become entities; relations must be known. Names and descriptions that
        a file has for new entities are kept. None if there are only texts.
    texts
        Texts of new entities, and of known ones without training triples. They start where their texts lead to.
    steps
        Gradient steps on the new triples in which only the new vectors move; with 0 they stay where they start.
    refine
        Epochs of training on all triples afterwards, in which all parameters move. If the model has rules, they are mined anew; without
        `refine`, they stay as they are, and the new triples are facts that they may rest on.
    seed
        The seed of the negatives.
    options
        How `refine` trains.
    folder
        Keeps the result as a run; it must not hold one.
    callback
        A callback of `refine`, or several; see `transa.training.Trainer.fit`.
    skip_unknown
        Leave out triples with an unknown relation or an ambiguous name, instead of refusing them.
    """
    recipe = trained.recipe
    if recipe is None:
        raise InputError("extend: it is not known how the model was trained")
    trained.model.need_vectors("extend")
    if trained.model.by_paths:
        raise InputError(f"extend: {trained.model.name} has to be trained again, since new triples change its paths")
    for name, value in (("steps", steps), ("refine", refine)):
        if value < 0:
            raise InputError(f"{name}: expected 0 or more, found {value}")
    graph, added, repeated, notes, skipped = grow_graph(trained, triples, texts, skip_unknown=skip_unknown)
    old = len(trained.graph.entities)
    whole = training_graph(graph, recipe)
    mine = np.concatenate([added, trained.model.inverted(added)]) if recipe.directional else added
    model = grown_model(trained.model, whole, mine, old)
    told: tuple[int, ...] = ()
    if texts is not None:
        placed, model.words = place_by_texts(trained, model, graph, texts, seed)
        told = tuple(placed.tolist())
    losses = None
    if len(graph.entities) > old and len(mine):
        losses = settle(model, whole, mine, old, recipe, steps, seed)
    if trained.model.evidence is not None:
        model.evidence = trained.model.evidence.extended(added, model.num_entities)
    if trained.model.penalty is not None:
        model.penalty = TypePenalty.of(graph).weighed(trained.model.penalty.weights)
    if refine:
        model = _refine(trained, model, graph, recipe, refine, options, folder, callback)
    elif folder is not None:
        _keep(folder, model, graph, recipe)
    loose = () if refine else loose_entities(graph, old, trained.loose)
    if folder is not None:
        source = None if trained.folder is None else str(trained.folder.path)
        record = {"from": source, "new_entities": len(graph.entities) - old, "triples": len(added), "steps": steps}
        named = {name: [graph.entities[each] for each in ids] for name, ids in (("loose", loose), ("told", told))}
        folder.write_json(EXTENSION, {**record, "refine": refine, "losses": losses, **named})
    grown = Trained(model, graph, recipe, folder, loose=loose, told=told)
    return Extended(
        grown,
        tuple(graph.entities[each] for each in range(old, len(graph.entities))),
        len(added),
        repeated,
        losses,
        notes,
        skipped,
        len(told),
    )


def grow_graph(
    trained: Trained, triples: Any, texts: NewTexts | None = None, *, skip_unknown: bool = False
) -> tuple[KnowledgeGraph, Triples, int, tuple[str, ...], tuple[Skipped, ...]]:
    """Return the graph with the triples in train, these triples by id, how many of them it had already, notes, and what was skipped.

    New entities come after the old ones, in the order of their keys.
    """
    if triples is None and texts is None:
        raise InputError("there is nothing to add: expected triples or texts, found neither")
    graph, table = trained.graph, TripleTable.of([] if triples is None else triples).trainable()
    called: dict[str, int | None] = {}

    def meaning(row: tuple[str, str, str]) -> tuple[str, int, str]:
        head, relation, tail = row
        for end in (head, tail):
            if end not in called:
                called[end] = trained.entities.find(end)
        try:
            return head, trained.relations.whole(relation), tail
        except InputError as error:
            raise InputError(f"{error}; a new relation needs a training of its own") from None

    rows, skipped = understood(table.rows(), meaning, table.places, skip=skip_unknown)
    ends = dict.fromkeys(end for head, _, tail in rows for end in (head, tail))
    ids_of = {end: found for end in ends if (found := called[end]) is not None}
    told = set() if texts is None else {key for key in texts.texts if key not in graph.entities}
    new = sorted((ends.keys() - ids_of.keys()) | told)
    notes = (*table.notes, *notes_on_case(trained.entities, ids_of), *notes_on_likeness(graph.entities, new))
    ids_of |= {key: len(graph.entities) + position for position, key in enumerate(new)}
    ids = np.array([(ids_of[head], edge, ids_of[tail]) for head, edge, tail in rows], np.int32).reshape(-1, 3)
    ids = ids[np.sort(np.unique(ids, axis=0, return_index=True)[1])] if len(ids) else ids
    grown = replace(graph, entities=_appended(graph.entities, new, table))
    grown = grown if texts is None else with_texts(grown, texts)
    held = grown.known().contains(ids) if len(ids) else np.zeros(0, bool)
    added = np.ascontiguousarray(ids[~held])
    if not len(added) and texts is None:
        raise InputError("there is nothing to add: the graph holds all of these triples", path=table.places.path)
    grown = replace(grown, train=np.concatenate([graph.train, added]))
    return grown, added, len(rows) - len(added), notes, tuple(skipped)


def loose_entities(graph: KnowledgeGraph, old: int, before: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the entities from id `old` on, and of those loose before, that no path of training triples links to any other entity."""
    linked = np.arange(len(graph.entities)) < old
    linked[list(before)] = False
    ends = graph.train[:, [0, 2]]
    ends = ends[~linked[ends].all(axis=1)]
    while True:
        reached = ends[linked[ends].any(axis=1)]
        if linked[reached].all():
            return tuple(np.flatnonzero(~linked).tolist())
        linked[reached] = True


def _appended(vocabulary: Vocabulary, new: list[str], table: TripleTable) -> Vocabulary:
    """Return a vocabulary with new keys, and the names, descriptions and types that a table has for them."""
    return vocabulary.followed_by(Vocabulary(new).described(table.names, table.descriptions).typed(types=table.types))


def _refine(
    trained: Trained,
    model: Model,
    graph: KnowledgeGraph,
    recipe: Recipe,
    epochs: int,
    options: Options | None,
    folder: RunFolder | None,
    callback: Listener | Iterable[Listener] | None,
) -> Model:
    source = None if trained.folder is None else str(trained.folder.path)
    chosen = recipe.model_copy(update={"epochs": epochs, "warm_epochs": 0})
    trainer = Trainer(graph, chosen, options, folder, source)
    for name in model.shapes():  # what follows from the training triples, the trainer has computed anew
        if name not in model.fixed:
            trainer.model.tensors()[name].copy_(model.tensors()[name])
    _resume_optimizer(trained, trainer, len(trained.graph.entities))
    return trainer.fit(callback)


def _resume_optimizer(trained: Trained, trainer: Trainer, old: int) -> None:
    """Take over the state of the optimiser from the old run, so that well-trained vectors move little; new entities have none."""
    if trained.folder is None:
        return
    try:
        tensors, _ = trained.folder.read_tensors("checkpoint.safetensors")
    except InputError:
        return  # then the optimiser starts without a state
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
        folder.write_json("metrics.json", {"epochs": 0, "parameters": model.parameters, "validation": None})
    finally:
        folder.close()
