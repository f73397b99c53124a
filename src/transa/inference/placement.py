"""Vectors for new entities of a trained model: first a start from their triples, then some steps down the loss."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data import Corruptor, KnowledgeGraph
from transa.data.graph import Triples
from transa.kernels.codes import ADAGRAD_ROW
from transa.kernels.purposes import PLACEMENT
from transa.models import Model, Rows
from transa.training import Recipe
from transa.training.losses import LOSSES, loss_of
from transa.training.optimizers import update_rows
from transa.training.settings import table_settings

#: The most triples that one step takes.
BATCH = 4096


def grown_model(model: Model, graph: KnowledgeGraph, added: Triples, old: int) -> Model:
    """Return a copy of the model's tables, without company, with rows for new entities, placed where their triples expect them.

    The graph and the triples are those of training: of a directional model, with all inverses.
    """
    grown = copy(model)
    grown.evidence = grown.penalty = None
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
    """Give each new entity the mean of the vectors its triples expect.

    Entities in triples with old ones come first, then those in triples with these, and so on.
    """
    vectors = model.entity.vector
    placed = np.arange(model.num_entities) < old
    peers = None if model.translates else _peers(model, graph, old)
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


def _peers(model: Model, graph: KnowledgeGraph, old: int) -> dict[int, Tensor]:
    """Return for each side and relation the mean vector of the entities that stand there: a start that suits any model."""
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


def settle(
    model: Model, graph: KnowledgeGraph, added: Triples, old: int, recipe: Recipe, steps: int, seed: int
) -> tuple[float, float]:
    """Move new entities that have triples down the loss of these. Return the loss before and after.

    The steps are Adagrad's with one sum for each row. At first an entry moves by a tenth of what entries of entity vectors
    usually are. The recipe's own optimiser and learning rate are not used: they are meant for many epochs over all triples.
    """
    mine = added[(added[:, [0, 2]] >= old).any(axis=1)]
    corruptor = Corruptor(
        graph.training_facts, recipe.replaced, seed, purpose=PLACEMENT, typed=recipe.candidates == "typed"
    )
    constraints = {name: setting.constraint for name, setting in table_settings(model, recipe).items()}
    sums = {name: torch.zeros(len(table) - old, 1, dtype=table.dtype) for name, table in model.entity.items()}
    learning_rates = {name: 0.1 * float(table[:old].square().mean().sqrt()) for name, table in model.entity.items()}
    first = _loss(model, corruptor, mine, recipe, old, 0)[0]
    start = {name: table[old:].clone() for name, table in model.entity.items()}
    random = np.random.default_rng(seed)
    ends = np.unique(mine[:, [0, 2]])
    moving = torch.from_numpy(ends[ends >= old].astype(np.int64) - old)
    for step in range(1, steps + 1):
        rows = mine if len(mine) <= BATCH else mine[random.choice(len(mine), BATCH, replace=False)]
        _, gradients = _loss(model, corruptor, rows, recipe, old, step)
        for name, gradient in gradients.items():
            table = model.entity[name]
            rows_of, sum_of = table[old:][moving], sums[name][moving]
            moved = update_rows(
                ADAGRAD_ROW,
                learning_rates[name] * (1 - (step - 1) / steps),
                recipe.penalty,
                constraints.get(f"entity.{name}", 0),
                step,
                rows_of.reshape(len(moving), -1),
                gradient[moving].reshape(len(moving), -1),
                sum_of,
                sum_of,
            )
            table[old + moving] = moved.reshape(rows_of.shape)
            sums[name][moving] = sum_of
    last = _loss(model, corruptor, mine, recipe, old, 0)[0]
    if last > first:  # the start was better, by the same corruptions
        for name, table in model.entity.items():
            table[old:] = start[name]
    return first, min(first, last)


def _loss(
    model: Model, corruptor: Corruptor, triples: Triples, recipe: Recipe, old: int, number: int
) -> tuple[float, dict[str, Tensor]]:
    """Return the mean loss of some triples, and the gradient of its sum for the rows of new entities."""
    wrong = corruptor.corrupt(triples, recipe.drawn_negatives, epoch=number)
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
    scores = some.score_rows(torch.from_numpy(asked.reshape(-1, 3))).reshape(asked.shape[:2])
    losses, _ = loss_of(LOSSES[recipe.loss], recipe.margin, recipe.temperature, scores[:, 0], scores[:, 1:])
    losses.sum().backward()  # type: ignore[no-untyped-call]
    gradients = {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
    return float(losses.detach().mean()), gradients
