"""Starting workers: torchrun does it, on one machine or on several, and starts them again if one is lost."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import torch
import torch.distributed as dist

from transa.errors import InputError, TransaError

#: How often workers are started again, from the last checkpoint, after one of them was lost.
RESTARTS = 3
#: The variable by which workers know that `launch` started them, and how many.
STARTED = "TRANSA_WORKERS"
#: The option of prctl(2) that asks for a signal at the death of the parent.
_PARENT_DEATH = 1


def launch(workers: int, arguments: list[str], threads: int | None = None, *, restarts: int = RESTARTS) -> None:
    """Replace this process by torchrun, which starts workers on this machine, each with ``transa ARGUMENTS``.

    Without `threads`, the workers share the processors. Those that only ask a model have no checkpoint to go on from, and no restarts.
    """
    each = str(threads or max(1, (os.cpu_count() or 1) // workers))
    # with a shared store, restarts fail four times in five (pytorch#135712)
    settings = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", "OMP_NUM_THREADS": each, "NUMBA_NUM_THREADS": each}
    settings[STARTED] = str(workers)
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
    command = [sys.executable, *torchrun, "--max-restarts", str(restarts), "-m", "transa", *arguments]
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, command, {**os.environ, **settings})  # noqa: S606


def remember_start() -> None:
    """Note for the workers that torchrun may start in place of this one that training has begun."""
    note = _note()
    if note is not None:
        with suppress(OSError):
            note.touch()


def is_restarted() -> bool:
    """Tell whether the same torchrun has had workers that began training, one of which was lost.

    Torchrun starts workers again for any error. One that was refused at its start, as where the folder holds another run, has no run
    to go on with.
    """
    note = _note()
    return note is not None and note.exists()


def _note() -> Path | None:
    """Return the file that marks the start, in the folder that torchrun keeps as long as it runs; None without torchrun."""
    errors = os.environ.get("TORCHELASTIC_ERROR_FILE")  # FOLDER/attempt_0/RANK/error.json
    return Path(errors).parents[2] / "transa-started" if errors else None


def is_first() -> bool:
    """Tell whether this is the worker that speaks."""
    return int(os.environ.get("RANK", "0")) == 0


@contextmanager
def joined(device: str = "cpu") -> Iterator[None]:
    """Be one of the workers that torchrun started; alone, if it did not. Each worker of a machine takes a GPU of its own, if any.

    Raises
    ------
    TransaError
        If another worker is lost.
    """
    if "RANK" not in os.environ:
        yield
        return
    _end_with_parent()
    try:
        if device.startswith("cuda"):
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
        dist.init_process_group("cpu:gloo,cuda:nccl" if device.startswith("cuda") else "gloo")
    except (ValueError, RuntimeError) as error:
        raise InputError(f"the workers do not find one another ({error})") from None
    try:
        yield
    except RuntimeError as error:  # that is what gloo raises
        if isinstance(error, TransaError):
            raise
        raise TransaError(f"another worker is lost ({str(error).splitlines()[0]:.200})") from error
    finally:
        dist.destroy_process_group()


def _end_with_parent() -> None:
    """Let the system end this worker if torchrun is killed, so that nobody trains on unseen. Only Linux can."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH, signal.SIGKILL)
