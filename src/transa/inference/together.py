"""A trained model whose rows are not all here: several workers hold a part of them each, or they are on disk."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from transa.evaluation.ranking import Ranker
from transa.inference.trained import Trained
from transa.training import RunFolder
from transa.training.sharded.model import Held
from transa.training.sharded.pulled import pulled_model
from transa.training.sharded.ranking import ShardedRanker


@dataclass(eq=False)
class TrainedTogether(Trained):
    """A `Trained` that answers as one process does which has all rows; every worker makes one and asks the same.

    Attributes
    ----------
    held
        The rows of this worker, or those on disk.
    """

    held: Held = field(kw_only=True, repr=False)

    @classmethod
    def of_run(cls, folder: RunFolder, held: Held) -> TrainedTogether:
        """Return the model of a run whose rows are held like this."""
        return cls(pulled_model(held), folder.graph(), held.recipe, folder, held=held)

    @cached_property
    def ranker(self) -> Ranker:
        """Ranks entities by the rows of all workers."""
        return ShardedRanker(self.held, loop_prior=self.loop_prior)

    def agreed(self, value: Any) -> Any:
        """Return what the first worker has."""
        return self.held.workers.tell(value)
