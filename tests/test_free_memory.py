"""What the system says about memory: the machine, and the control groups around the process."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from transa.free_memory import free_memory, resident_memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="control groups are those of Linux")

MACHINE = {
    "proc/meminfo": "MemTotal: 9000 kB\nMemFree: 7000 kB\nMemAvailable: 8000 kB\nBuffers: 1 kB\nCached: 1 kB\nShmem: 0 kB\n"
    "Active: 0 kB\nInactive: 0 kB\n"
}


@pytest.fixture
def system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root folder in which tests write what the system says; psutil asks there too."""
    monkeypatch.setattr(psutil, "PROCFS_PATH", str(tmp_path / "proc"))
    return tmp_path


def say(system: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (system / name).parent.mkdir(parents=True, exist_ok=True)
        (system / name).write_text(text)
    return system


def test_without_groups_it_is_what_the_machine_has(system: Path) -> None:
    assert free_memory(say(system, MACHINE)) == 8000 * 1024


def test_here_there_is_some() -> None:
    free = free_memory()
    assert free is not None
    assert 0 < free < psutil.virtual_memory().total
    assert 10_000_000 < resident_memory() < psutil.virtual_memory().total


def test_a_system_that_says_nothing_is_unknown(system: Path) -> None:
    assert free_memory(system) is None
    assert resident_memory() == 0


@pytest.mark.parametrize("limit", ["max", "1000000"])
def test_the_limit_of_a_group_counts(system: Path, limit: str) -> None:
    group = "sys/fs/cgroup/box/inner"
    files = {
        "proc/self/cgroup": "0::/box/inner\n",
        f"{group}/memory.max": "max\n",
        f"{group}/memory.current": "5000\n",
        f"{group}/memory.stat": "inactive_file 3000\n",
        "sys/fs/cgroup/box/memory.max": f"{limit}\n",
        "sys/fs/cgroup/box/memory.current": "400000\n",
        "sys/fs/cgroup/box/memory.stat": "anon 1\ninactive_file 100000\n",
    }
    assert free_memory(say(system, MACHINE | files)) == (8000 * 1024 if limit == "max" else 700_000)


def test_the_limit_of_an_older_group_counts(system: Path) -> None:
    group = "sys/fs/cgroup/memory/box"
    files = {
        "proc/self/cgroup": "5:cpu:/\n4:memory:/box\n",
        f"{group}/memory.limit_in_bytes": "1000000\n",
        f"{group}/memory.usage_in_bytes": "400000\n",
        f"{group}/memory.stat": "total_inactive_file 0\n",
    }
    assert free_memory(say(system, MACHINE | files)) == 600_000
