"""The workers that train together: who this one is, and how arrays get from each to each.

They talk through ``torch.distributed``. A single worker needs none of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.distributed as dist

from transa.errors import InputError
from transa.kernels.arguments import Array

Counts = npt.NDArray[np.int64]


class Workers:
    """The workers as one of them sees them; each trains the same number of lanes.

    Parameters
    ----------
    lanes
        How many lanes a batch has.
    device
        Through whose memory arrays travel: nccl takes those of GPUs alone, gloo those of the CPU.

    Attributes
    ----------
    rank, count
        The number of this worker, from 0, and how many there are.
    lanes
        The numbers of the lanes that this worker trains.
    bytes_sent
        What it has sent to others so far, for the record.

    Raises
    ------
    InputError
        If the number of workers does not divide the number of lanes.
    """

    def __init__(self, lanes: int, device: str = "cpu") -> None:
        self.device = device
        together = dist.is_available() and dist.is_initialized()
        self.rank, self.count = (dist.get_rank(), dist.get_world_size()) if together else (0, 1)
        check_workers(self.count, lanes)
        each = lanes // self.count
        self.lanes = range(self.rank * each, (self.rank + 1) * each)
        self.bytes_sent = 0

    @property
    def is_first(self) -> bool:
        """Whether this is the worker that writes what there is one of: the log, the configuration."""
        return self.rank == 0

    def announce(self, sent: Counts) -> Counts:
        """Tell each worker how many rows it will get; return how many this one gets from each."""
        return self.exchange(sent, np.ones_like(sent), np.ones_like(sent))

    def exchange(self, values: Array, sent: Counts, received: Counts) -> Array:
        """Send the first ``sent[0]`` rows to worker 0, and so on; return what comes from each, in the order of the workers."""
        if self.count == 1:
            return values
        own = torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
        found = torch.empty((int(received.sum()), *values.shape[1:]), dtype=own.dtype, device=self.device)
        dist.all_to_all_single(found, own, received.tolist(), sent.tolist())
        self.bytes_sent += int(sent.sum() - sent[self.rank]) * values[:1].nbytes
        return found.cpu().numpy()

    def gather(self, values: Array) -> Array:
        """Return the rows of all workers, which hold the same number each, in the order of the workers."""
        if self.count == 1:
            return values
        own = torch.from_numpy(np.ascontiguousarray(values)).to(self.device)
        parts = [torch.empty_like(own) for _ in range(self.count)]
        dist.all_gather(parts, own)
        return torch.cat(parts).cpu().numpy()

    def any(self, flag: bool) -> bool:
        """Tell whether any worker says yes; this one waits until all have answered."""
        return bool(self.gather(np.array([flag], np.int64)).any())

    def tell(self, value: Any) -> Any:
        """Return what the first worker says."""
        if self.count == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box)
        return box[0]


def check_workers(count: int, lanes: int) -> None:
    """Raise an `InputError` if workers could not share the lanes of a batch evenly."""
    if count < 1 or lanes % count:
        raise InputError(f"workers: {count:,} do not divide the {lanes:,} lanes of a batch (--set lanes=…)")
