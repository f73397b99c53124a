"""Memory estimates, and the check that enough is free before it is taken.

A process that takes more memory than there is gets killed without a message. `transa.training.memory` and `transa.evaluation.memory`
make the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from transa.errors import InputError, amount
from transa.free_memory import free_memory, resident_memory

#: Python with the libraries: 420 to 480 MB before training, plus the compiled kernels.
PROGRAM = 500_000_000

#: What to try if this part needs the most memory.
ADVICE = {
    "tables": "a smaller dim, or for TransA metric=lowrank or diagonal with metric_update=gradient",
    "batch": "a smaller batch_size or fewer negatives",
    "ranking": "a smaller --chunk (of entities), or another machine",
    "graph": "a part of the graph, or another machine",
}
ADVICE |= dict.fromkeys(("optimiser", "checkpoint", "best tables"), ADVICE["tables"] + "; or optimizer=adagrad_row")
ADVICE["order of an epoch"] = ADVICE["graph"]


@dataclass(frozen=True)
class MemoryEstimate:
    """The bytes that a task needs, by purpose.

    Attributes
    ----------
    lasting
        Memory held the whole time, beside the program itself.
    passing
        Memory held for a while, one part after the other; only the largest counts.
    """

    lasting: dict[str, int]
    passing: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The peak."""
        return PROGRAM + sum(self.lasting.values()) + max(self.passing.values(), default=0)

    @property
    def largest(self) -> str:
        """The part that needs the most memory."""
        parts = {**self.lasting, **self.passing}
        return max(parts, key=lambda name: parts[name])

    def __str__(self) -> str:
        parts = {"program": PROGRAM, **self.lasting, **self.passing}
        large = sorted(((name, size) for name, size in parts.items() if size > 1e6), key=lambda part: -part[1])
        return f"{amount(self.total)} ({', '.join(f'{name} {amount(size)}' for name, size in large)})"


def check_memory(need: MemoryEstimate, free: int | None = None) -> None:
    """Raise an `InputError` with advice if less memory is free than is needed.

    Parameters
    ----------
    need
        The estimate.
    free
        The free bytes; by default what the system reports.
    """
    free = free_memory() if free is None else free
    loaded = PROGRAM + need.lasting.get("graph", 0)
    taken = min(resident_memory(), loaded)  # what the process already holds of the estimate
    if free is not None and need.total - taken > free:
        raise InputError(
            f"needs about {need} of memory, and {amount(free)} are free. Try {ADVICE[need.largest]}; "
            "--ignore-memory (in Python, Options(ignore_memory=True)) goes on anyway"
        )
