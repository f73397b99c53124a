"""The torch engine trains any model on any device by autograd. Tests hold the compiled engines to its results."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import embedding

from transa.data import KnowledgeGraph
from transa.models import Model, Rows
from transa.training.engine import EpochReport
from transa.training.epoch_batches import Batch, EpochBatches
from transa.training.losses import LOSSES, loss_of, without_negligible
from transa.training.optimizers import state_shapes, update_rows
from transa.training.recipe import Recipe
from transa.training.settings import decay_all, table_settings

#: The score given to known triples, so that they do not count as negatives.
FAR = 1e9


class TorchEngine:
    """Trains with autograd on the rows that each batch touches.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how.
    device
        Such as ``"cpu"`` or ``"cuda"``.
    """

    name = "torch"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe, device: str = "cpu") -> None:
        self.model = model.to(device)
        self.recipe = recipe
        self.device = torch.device(device)
        self.epoch_batches = EpochBatches(graph, recipe, grouped=model.grouped)
        self.settings = table_settings(model, recipe)
        self._first, self._second = {}, {}
        for name, table in model.tensors().items():
            if name in self.settings:
                shapes = state_shapes(self.settings[name].optimizer, *table.reshape(len(table), -1).shape)
                self._first[name], self._second[name] = (
                    torch.zeros(shape, dtype=table.dtype, device=self.device) for shape in shapes
                )
        self._steps = 0

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch."""
        self.epoch_batches.start_epoch(number)
        factor = self.recipe.learning_rate_factor(number)
        loss, violations = 0.0, 0
        take = self._shared_batch if self.recipe.shared_negatives else self._batch
        for batch in self.epoch_batches.batches:
            batch_loss, batch_violations = take(batch, factor)
            loss += batch_loss
            violations += batch_violations
        decay_all(self.model, self.recipe, self.settings, factor)
        pairs = len(self.epoch_batches) * self.recipe.drawn_negatives
        return EpochReport(loss / len(self.epoch_batches), violations / pairs)

    def _batch(self, batch: Batch, learning_rate_factor: float) -> tuple[float, int]:
        examples = self.epoch_batches.examples(batch)
        triples, entities, at_head = examples.triples[batch.start : batch.stop], examples.negatives, examples.at_head
        heads = np.concatenate([triples[:, :1], np.where(at_head, entities, triples[:, :1])], axis=1)
        tails = np.concatenate([triples[:, 2:], np.where(at_head, triples[:, 2:], entities)], axis=1)
        touched_entities, places = np.unique(np.stack([heads, tails]), return_inverse=True)
        touched_relations, of_triples = np.unique(triples[:, 1], return_inverse=True)
        relation_places = self._tensor(of_triples)
        head_places, tail_places = self._tensor(places.reshape(2, *heads.shape))
        touched = {
            "entity": self._tensor(touched_entities),
            "relation": self._tensor(touched_relations),
            "shared": None,  # all rows
        }
        leaves = {role: self._leaves(role, ids) for role, ids in touched.items()}
        recipe = self.recipe
        scores, excess = self._scores(batch, leaves, head_places, relation_places, tail_places, soft=True)
        if recipe.negligible and recipe.loss != "margin":
            scores.register_hook(partial(without_negligible, share=recipe.negligible))  # type: ignore[no-untyped-call]
        scores.retain_grad()
        losses, violating = loss_of(LOSSES[recipe.loss], recipe.margin, recipe.temperature, scores[:, 0], scores[:, 1:])
        total = losses.sum() if excess is None else losses.sum() + recipe.soft_penalty * excess.sum()
        total.backward()  # type: ignore[no-untyped-call]
        self._steps += 1
        # Rows that occur only in triples without a gradient stay as they are: no step of Adam, no penalty.
        assert scores.grad is not None  # noqa: S101
        active = torch.ne(scores.grad, 0)
        active[:, 0] = active.any(1)
        if excess is not None:
            active[:, 0] |= excess.detach() > 0
        moved: dict[str, Tensor | slice] = {
            "entity": torch.unique(torch.cat([head_places[active], tail_places[active]])),
            "relation": torch.unique(relation_places[active[:, 0]]),
            "shared": slice(None if active.any() else 0),
        }
        for role, rows in moved.items():
            ids = touched[role]
            self._step(role, rows if ids is None else ids[rows], rows, leaves[role], learning_rate_factor)
        return float(total.detach()), int(violating.sum())

    def _shared_batch(self, batch: Batch, learning_rate_factor: float) -> tuple[float, int]:
        """Train a batch whose positives share their negatives, on both sides or for tails alone.

        Known triples among the negatives do not count.
        """
        recipe, size = self.recipe, batch.stop - batch.start
        triples = self.epoch_batches.triples[batch.start : batch.stop]
        drawn, known = self.epoch_batches.share(batch, recipe.drawn_negatives)
        touched_entities, places = np.unique(np.concatenate([triples[:, 0], triples[:, 2], drawn]), return_inverse=True)
        touched_relations, of_triples = np.unique(triples[:, 1], return_inverse=True)
        touched = {
            "entity": self._tensor(touched_entities),
            "relation": self._tensor(touched_relations),
            "shared": None,
        }
        leaves = {role: self._leaves(role, ids) for role, ids in touched.items()}
        relations = self._tensor(of_triples)
        heads, tails, others = (self._tensor(part) for part in np.split(places, [size, 2 * size]))
        heads, tails, others = heads.unsqueeze(1), tails.unsqueeze(1), others.unsqueeze(0)
        positive, excess = self._scores(batch, leaves, heads, relations, tails, soft=True)
        total, violating = positive.new_zeros(()), 0
        sides = [((heads, others), known[1])]
        if recipe.replaced != "tail":
            sides.insert(0, ((others, tails), known[0]))
        for ends, hidden in sides:
            scores, _ = self._scores(batch, leaves, ends[0], relations, ends[1])
            scores = scores.masked_fill(torch.from_numpy(hidden).to(self.device), FAR)
            losses, violations = loss_of(LOSSES[recipe.loss], recipe.margin, recipe.temperature, positive[:, 0], scores)
            total = total + losses.sum() / len(sides)
            violating += int(violations.sum())
        if excess is not None:
            total = total + recipe.soft_penalty * excess.sum()
        total.backward()  # type: ignore[no-untyped-call]
        self._steps += 1
        for role, ids in touched.items():
            self._step(role, slice(None) if ids is None else ids, slice(None), leaves[role], learning_rate_factor)
        return float(total.detach()), violating // len(sides)

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).long().to(self.device)

    def _leaves(self, role: str, ids: Tensor | None) -> Rows:
        """Return rows of the tables; those of trained tables collect gradients."""
        tables = getattr(self.model, role)
        rows = Rows({name: table.detach() if ids is None else table[ids] for name, table in tables.items()})
        for name, table in rows.items():
            if f"{role}.{name}" in self.settings:
                table.requires_grad_()
        return rows

    def _scores(
        self,
        batch: Batch,
        leaves: dict[str, Rows],
        heads: Tensor,
        relations: Tensor,
        tails: Tensor,
        *,
        soft: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Return the scores of triples; with `soft` also how far the first of each row exceeds the soft constraints.

        `heads` and `tails` are of shape (rows, K), (rows, 1) or (1, K).
        """
        entity, relation = leaves["entity"], leaves["relation"]
        head, tail = (Rows({name: _rows(table, at) for name, table in entity.items()}) for at in (heads, tails))
        if self.model.grouped:
            sizes = np.diff(batch.groups).tolist()
            ones = [
                Rows(zip(relation, one, strict=True))
                for one in zip(*(t.unbind() for t in relation.values()), strict=True)
            ]
            chosen = [ones[place] for place in relations[self._tensor(batch.groups[:-1] - batch.start)].tolist()]
            parts = list(zip(_split(head, sizes), chosen, _split(tail, sizes), strict=True))
        else:
            parts = [(head, Rows({name: table[relations].unsqueeze(1) for name, table in relation.items()}), tail)]
        kept, self.model.shared = self.model.shared, leaves["shared"]
        try:
            scores = [self.model.score(*part) for part in parts]
            soft = soft and self.recipe.soft_penalty > 0
            excess = [self.model.excess(_positives(h), r, _positives(t)) for h, r, t in parts] if soft else []
        finally:
            self.model.shared = kept
        exceeding = [part.reshape(-1) for part in excess if part is not None]
        return torch.cat(scores), torch.cat(exceeding) if exceeding else None

    def _step(
        self, role: str, ids: Tensor | slice, places: Tensor | slice, leaves: Rows, learning_rate_factor: float
    ) -> None:
        for name, leaf in leaves.items():
            settings = self.settings.get(f"{role}.{name}")
            if settings is None or leaf.grad is None:
                continue
            full = f"{role}.{name}"
            first, second = self._first[full][ids], self._second[full][ids]
            new = update_rows(
                settings.optimizer,
                settings.learning_rate * learning_rate_factor,
                settings.penalty,
                settings.constraint,
                self._steps,
                leaf.detach().reshape(len(leaf), -1)[places],
                leaf.grad.reshape(len(leaf), -1)[places],
                first,
                second,
            )
            getattr(self.model, role)[name][ids] = new.reshape(-1, *leaf.shape[1:])
            self._first[full][ids], self._second[full][ids] = first, second

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state."""
        return {
            **{f"first.{name}": table for name, table in self._first.items()},
            **{f"second.{name}": table for name, table in self._second.items()},
            "steps": torch.tensor([self._steps]),
        }

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""
        self._steps = int(state["steps"][0])
        for name in self._first:
            self._first[name] = state[f"first.{name}"].to(self.device)
            self._second[name] = state[f"second.{name}"].to(self.device)


def _rows(table: Tensor, ids: Tensor) -> Tensor:
    """Return rows of a table, whose gradient is summed faster by `embedding`; this takes no table of single numbers."""
    return embedding(ids, table) if table.dim() > 1 else table[ids]


def _split(rows: Rows, sizes: list[int]) -> list[Rows]:
    """Divide rows into groups; a single row belongs to every group."""
    if len(rows.vector) == 1:
        return [rows] * len(sizes)
    parts = zip(*(torch.split(table, sizes) for table in rows.values()), strict=True)
    return [Rows(zip(rows, part, strict=True)) for part in parts]


def _positives(rows: Rows) -> Rows:
    return Rows({name: table[:, :1] for name, table in rows.items()})
