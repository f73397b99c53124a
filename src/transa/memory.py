"""Estimates of memory, and the check that there is enough of it before it is taken.

A process that takes more than there is gets killed without a word. `transa.training.memory` and `transa.evaluation.memory` make
the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from transa.errors import InputError, amount
from transa.free_memory import free_memory, resident_memory

#: Python with the libraries: 420 to 480 MB before anything is trained, and compiled kernels on top.
PROGRAM = 500_000_000

#: What to try where this part needs most.
ADVICE = {
    "tables": "a smaller dim, or for TransA metric=lowrank or diagonal with metric_update=gradient",
    "batch": "a smaller batch or fewer negatives",
    "ranking": "a smaller --chunk (of entities), or another machine",
    "graph": "a part of the graph, or another machine",
}
ADVICE |= dict.fromkeys(("optimiser", "checkpoint", "best tables"), ADVICE["tables"] + "; or optimizer=adagrad_row")
ADVICE["order of an epoch"] = ADVICE["graph"]


@dataclass(frozen=True)
class MemoryEstimate:
    """Bytes by what they are for.

    Attributes
    ----------
    lasting
        What stays for the whole time, beside the program itself.
    passing
        What is taken for a while, one after the other: the largest counts.
    """

    lasting: dict[str, int]
    passing: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """The peak."""
        return PROGRAM + sum(self.lasting.values()) + max(self.passing.values(), default=0)

    @property
    def largest(self) -> str:
        """The part that needs most."""
        parts = {**self.lasting, **self.passing}
        return max(parts, key=lambda name: parts[name])

    def __str__(self) -> str:
        parts = {"program": PROGRAM, **self.lasting, **self.passing}
        large = sorted(((name, size) for name, size in parts.items() if size > 1e6), key=lambda part: -part[1])
        return f"{amount(self.total)} ({', '.join(f'{name} {amount(size)}' for name, size in large)})"


def check_memory(need: MemoryEstimate, free: int | None = None) -> None:
    """Raise an `InputError` with advice where there is less memory free than is needed.

    Parameters
    ----------
    need
        What is going to be taken.
    free
        What there is; by default what the system says.
    """
    free = free_memory() if free is None else free
    loaded = PROGRAM + need.lasting.get("graph", 0)
    taken = min(resident_memory(), loaded)  # of what the process holds, no more than this is part of the estimate
    if free is not None and need.total - taken > free:
        raise InputError(
            f"needs about {need} of memory, and {amount(free)} are free. Try {ADVICE[need.largest]}; "
            "--ignore-memory goes on all the same"
        )
