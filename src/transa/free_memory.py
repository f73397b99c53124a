"""How much memory is left for this process, on the machine and in its control groups (containers)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

#: The files with the limit and the usage of a control group, by the name of the controller; version 2 has no name for it.
_FILES = {
    "": ("memory.max", "memory.current"),
    "memory": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


def free_memory(system: Path = Path("/")) -> int | None:
    """Return how many bytes this process can still take, or None if the system does not say.

    This is what the machine has free, or less if a control group around the process has less left.

    Parameters
    ----------
    system
        The folder with ``proc/self/cgroup`` and ``sys/fs/cgroup``.
    """
    try:
        free = int(psutil.virtual_memory().available)
    except (OSError, psutil.Error):
        return None
    return min([free, *_left_in_groups(system)])


def resident_memory() -> int:
    """Return how many bytes this process already holds, or 0 if the system does not say."""
    try:
        return int(psutil.Process().memory_info().rss)
    except (OSError, psutil.Error):
        return 0


def _left_in_groups(system: Path) -> Iterator[int]:
    """Yield how many bytes are left in each control group around this process, of version 1 or 2."""
    try:
        lines = (system / "proc/self/cgroup").read_text().splitlines()
    except OSError:  # not Linux
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
    """Return the bytes of a group that only cache files; the system frees them when memory is needed."""
    for line in (group / "memory.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name in ("inactive_file", "total_inactive_file"):
            return int(value)
    return 0
