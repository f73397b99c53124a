"""What memory the machine has left for this process, control groups (containers) included."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

#: The files of a control group that hold its limit and what it uses, by the name of the controller: version 2 names none.
_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


def free_memory(system: Path = Path("/")) -> int | None:
    """Return the bytes this process can still take; None where the system does not say.

    That is what the machine has free, or less where a control group around the process has less left.

    Parameters
    ----------
    system
        Where ``proc/self/cgroup`` and ``sys/fs/cgroup`` are looked for.
    """
    try:
        free = int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return None
    return min([free, *_left_in_groups(system)])


def resident_memory() -> int:
    """Return the bytes this process holds already; 0 where the system does not say."""
    try:
        return int(psutil.Process().memory_info().rss)
    except (OSError, psutil.Error):
        return 0


def _left_in_groups(system: Path) -> Iterator[int]:
    """Yield what is left in each control group around this process, of either version."""
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # no Linux
        return
    for line in lines:
        _, controller, path = line.split(":", 2)
        if controller not in _FILES:
            continue
        limit, usage = _FILES[controller]
        root = system / "sys/fs/cgroup" / controller
        group = root / path.strip("/")
        for place in [group, *group.parents]:
            with suppress(OSError, ValueError):  # no such file, or "max"
                yield max(0, int((place / limit).read_text()) - int((place / usage).read_text()) + _cached(place))
            if place == root:
                break


def _cached(group: Path) -> int:
    """Return what a group holds of files only, which it gives back when asked for memory."""
    for line in (group / "memory.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0
