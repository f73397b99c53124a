"""A trained model that several workers answer for, each of which holds a part of its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from transa.evaluation.ranking import Ranker
from transa.inference.trained import Trained
from transa.training import RunFolder
from transa.training.sharded.checkpoints import opened
from transa.training.sharded.model import ShardedModel
from transa.training.sharded.pulled import pulled_model
from transa.training.sharded.ranking import ShardedRanker
from transa.training.sharded.workers import Workers


@dataclass(eq=False)
class TrainedTogether(Trained):
    """A `Trained` of which every worker makes one and asks the same; all get the answers that one process would give.

    Attributes
    ----------
    held
        The rows of this worker.
    """

    held: ShardedModel = field(kw_only=True, repr=False)

    @classmethod
    def of_workers(cls, folder: RunFolder) -> TrainedTogether:
        """Read the part of a finished run of workers that this one holds; see `transa.training.sharded.checkpoints.opened`."""
        held = opened(folder, Workers(folder.recipe().lanes))
        return cls(pulled_model(held), folder.graph(), held.recipe, folder, held=held)

    @cached_property
    def ranker(self) -> Ranker:
        """Ranks entities by the rows of all workers."""
        return ShardedRanker(self.held, loop_prior=self.loop_prior)

    def agreed(self, value: Any) -> Any:
        """Return what the first worker has."""
        return self.held.workers.tell(value)
