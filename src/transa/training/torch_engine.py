"""The torch engine: any model, any device, gradients by autograd. It is the specification of the other one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data import KnowledgeGraph
from transa.models import Model, Rows
from transa.training.engine import RoundReport
from transa.training.losses import LOSSES, loss_of
from transa.training.optimizers import state_shapes, update_rows
from transa.training.recipe import Recipe
from transa.training.rounds import Batch, Rounds
from transa.training.settings import TableSettings, table_settings


class TorchEngine:
    """Trains with autograd on the rows each batch touches.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, how.
    device
        Where.
    """

    name = "torch"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe, device: str = "cpu") -> None:
        self.model = model.to(device)
        self.recipe = recipe
        self.device = torch.device(device)
        self.rounds = Rounds(
            graph, sampling=recipe.sampling, seed=recipe.seed, batch=recipe.batch, grouped=model.grouped
        )
        self.settings = table_settings(model, recipe)
        self._first, self._second = {}, {}
        for name, table in model.tensors().items():
            if name in self.settings:
                size = table[0].numel()
                shapes = state_shapes(self.settings[name].optimizer, len(table), size)
                self._first[name], self._second[name] = (
                    torch.zeros(shape, dtype=table.dtype, device=self.device) for shape in shapes
                )
        self._steps = 0

    def round(self, number: int) -> RoundReport:
        """Go once over the training triples."""
        self.rounds.lay_out(number)
        factor = self.recipe.rate_factor(number)
        loss, violations = 0.0, 0
        for batch in self.rounds.batches:
            batch_loss, batch_violations = self._batch(batch, factor)
            loss += batch_loss
            violations += batch_violations
        decay_all(self.model, self.recipe, self.settings, factor)
        pairs = len(self.rounds) * self.recipe.negatives
        return RoundReport(loss / len(self.rounds), violations / pairs)

    def _batch(self, batch: Batch, rate_factor: float) -> tuple[float, int]:
        size = batch.stop - batch.start
        entities = np.empty((size, self.recipe.negatives), dtype=np.int32)
        at_head = np.empty((size, self.recipe.negatives), dtype=bool)
        self.rounds.corrupt(batch.start, batch.stop, entities, at_head)
        triples = self.rounds.triples[batch.start : batch.stop]
        heads = np.concatenate([triples[:, :1], np.where(at_head, entities, triples[:, :1])], axis=1)
        tails = np.concatenate([triples[:, 2:], np.where(at_head, triples[:, 2:], entities)], axis=1)
        touched_entities, places = np.unique(np.stack([heads, tails]), return_inverse=True)
        touched_relations, of_triples = np.unique(triples[:, 1], return_inverse=True)
        relation_places = self._tensor(of_triples)
        head_places, tail_places = self._tensor(places.reshape(2, *heads.shape))
        touched = {"entity": self._tensor(touched_entities), "relation": self._tensor(touched_relations)}
        leaves = {role: self._leaves(role, ids) for role, ids in touched.items()}
        scores = self._scores(batch, leaves, head_places, relation_places, tail_places)
        recipe = self.recipe
        scores.retain_grad()
        losses, violating = loss_of(LOSSES[recipe.loss], recipe.margin, recipe.temperature, scores[:, 0], scores[:, 1:])
        total = losses.sum()
        total.backward()  # type: ignore[no-untyped-call]
        self._steps += 1
        # Rows met only in triples without a gradient are left alone: no step of Adam, no penalty.
        assert scores.grad is not None  # noqa: S101
        active = torch.ne(scores.grad, 0)
        active[:, 0] = active.any(1)
        moved = {
            "entity": torch.unique(torch.cat([head_places[active], tail_places[active]])),
            "relation": torch.unique(relation_places[active[:, 0]]),
        }
        for role, places in moved.items():
            self._step(role, touched[role][places], places, leaves[role], rate_factor)
        return float(total.detach()), int(violating.sum())

    def _tensor(self, array: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).long().to(self.device)

    def _leaves(self, role: str, ids: Tensor) -> Rows:
        rows = self.model.gather(role, ids)
        for name, table in rows.items():
            if f"{role}.{name}" in self.settings:
                table.requires_grad_()
        return rows

    def _scores(self, batch: Batch, leaves: dict[str, Rows], heads: Tensor, relations: Tensor, tails: Tensor) -> Tensor:
        """Return the scores of positives and negatives, of shape (size, 1 + K)."""

        def rows(role: str, places: Tensor) -> Rows:
            return Rows({name: table[places] for name, table in leaves[role].items()})

        if not self.model.grouped:
            relation = Rows({name: table.unsqueeze(1) for name, table in rows("relation", relations).items()})
            return self.model.score(rows("entity", heads), relation, rows("entity", tails))
        parts = []
        for begin, end in zip(
            (batch.groups - batch.start).tolist(), (batch.groups - batch.start).tolist()[1:], strict=False
        ):
            relation = rows("relation", relations[begin])
            parts.append(self.model.score(rows("entity", heads[begin:end]), relation, rows("entity", tails[begin:end])))
        return torch.cat(parts)

    def _step(self, role: str, ids: Tensor, places: Tensor, leaves: Rows, rate_factor: float) -> None:
        for name, leaf in leaves.items():
            settings = self.settings.get(f"{role}.{name}")
            if settings is None or leaf.grad is None:
                continue
            full = f"{role}.{name}"
            first, second = self._first[full][ids], self._second[full][ids]
            new = update_rows(
                settings.optimizer,
                settings.rate * rate_factor,
                settings.penalty,
                settings.constraint,
                self._steps,
                leaf.detach().flatten(1)[places],
                leaf.grad.flatten(1)[places],
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
        """Take up the state after a round."""
        self._steps = int(state["steps"][0])
        for name in self._first:
            self._first[name] = state[f"first.{name}"].to(self.device)
            self._second[name] = state[f"second.{name}"].to(self.device)


def decay_all(model: Model, recipe: Recipe, settings: dict[str, TableSettings], rate_factor: float) -> None:
    """Take the round's one step against C * |row|^2 on every vector, where the recipe says all rows."""
    if recipe.penalty_rows == "all" and recipe.penalty:
        for name, table in model.tensors().items():
            if name.endswith(".vector"):
                table.mul_(1 - 2 * recipe.penalty * settings[name].rate * rate_factor)
