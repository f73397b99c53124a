"""Train across two hosts whose link is cut for a while: network namespaces joined by a veth pair. Needs root and iproute2.

    sudo python reliability/two_hosts.py                # the link is down for 30 s
    sudo python reliability/two_hosts.py --seconds 5

First the run is trained across the link, undisturbed. Then once more, and after some epochs the link goes down and comes back. Training
either goes on to the same bits, or ends with an error on both hosts and is resumed across the link to the same bits.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from transa.training import RunFolder

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from record import save

HOSTS = ("transa-a", "transa-b")
ADDRESSES = ("10.77.0.1", "10.77.0.2")
PORT = 29400
SETTINGS = ("epochs=60", "dim=32", "negatives=8", "optimizer=adam", "seed=2", "validate_every=0")
#: Epochs before the link is cut.
BEFORE = 5
#: Seconds that a run may take before it counts as hanging.
PATIENCE = 400.0


def ip(*words: str) -> None:
    """Change the network."""
    subprocess.run(["ip", *words], check=True)


class Link:
    """Two hosts and the link between them."""

    def __enter__(self) -> Link:
        for host in HOSTS:
            ip("netns", "add", host)
        ip("link", "add", "veth-a", "netns", HOSTS[0], "type", "veth", "peer", "name", "veth-b", "netns", HOSTS[1])
        for host, name, address in zip(HOSTS, ("veth-a", "veth-b"), ADDRESSES, strict=True):
            ip("-n", host, "addr", "add", f"{address}/24", "dev", name)
            ip("-n", host, "link", "set", "lo", "up")
            ip("-n", host, "link", "set", name, "up")
        return self

    def __exit__(self, *_: object) -> None:
        for host in HOSTS:
            ip("netns", "del", host)

    def cut(self, seconds: float) -> None:
        """Take the link down for a while."""
        ip("-n", HOSTS[0], "link", "set", "veth-a", "down")
        time.sleep(seconds)
        ip("-n", HOSTS[0], "link", "set", "veth-a", "up")


def start(folder: Path, log: Path, *, resume: bool = False) -> list[subprocess.Popen[bytes]]:
    """Start torchrun on both hosts, with one worker each."""
    settings = [word for each in SETTINGS for word in ("--set", each)]
    trained = ["train", "umls", "--model", "transe", "--recipe", "modern", *settings, "--checkpoint-epochs", "1"]
    command = ["-m", "transa", *trained, "--sharded", "--out", str(folder), *(["--resume"] if resume else [])]
    processes = []
    for number, (host, name, address) in enumerate(zip(HOSTS, ("veth-a", "veth-b"), ADDRESSES, strict=True)):
        where = ["--nnodes", "2", "--node-rank", str(number), "--nproc-per-node", "1", "--local-addr", address]
        meet = ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"{ADDRESSES[0]}:{PORT}", "--rdzv-id", folder.name]
        meet += ["--rdzv-conf", f"is_host={str(number == 0).lower()}"]  # the names of hosts are no use here
        torchrun = [sys.executable, "-m", "torch.distributed.run", *where, *meet, "--max-restarts", "3"]
        environment = {
            **os.environ,
            "GLOO_SOCKET_IFNAME": name,
            "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
            "OMP_NUM_THREADS": "1",
            "NUMBA_NUM_THREADS": "1",
        }
        with log.open("ab") as file:
            words = ["ip", "netns", "exec", host, *torchrun, *command]
            processes.append(subprocess.Popen(words, stdout=file, stderr=file, env=environment))
    return processes


def ended_well(processes: list[subprocess.Popen[bytes]]) -> bool:
    """Wait for both hosts; those that hang are killed."""
    deadline = time.monotonic() + PATIENCE
    codes = []
    for process in processes:
        try:
            codes.append(process.wait(max(1.0, deadline - time.monotonic())))
        except subprocess.TimeoutExpired:
            process.kill()
            codes.append(-1)
    return not any(codes)


def epochs_of(folder: Path) -> int:
    """Return how many epochs the log of a run has."""
    log = folder / "log.jsonl"
    return len(log.read_text().splitlines()) if log.exists() else 0


def disturbed(work: Path, link: Link, seconds: float) -> dict[str, Any]:
    """Train, cut the link meanwhile, and resume if that ended the run."""
    folder, log = work / "cut", work / "log"
    processes = start(folder, log)
    deadline = time.monotonic() + PATIENCE
    while epochs_of(folder) < BEFORE and time.monotonic() < deadline:
        time.sleep(0.1)
    at = epochs_of(folder)
    link.cut(seconds)
    found = {"epochs before the link was cut": at, "seconds without a link": seconds}
    found["went on by itself"] = ended_well(processes)
    if not found["went on by itself"] and not ended_well(start(folder, log, resume=True)):
        raise SystemExit(f"{folder}: cannot be resumed\n{log.read_text()[-4000:]}")
    return found


def main() -> None:
    """Cut the link, compare, and keep a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    with tempfile.TemporaryDirectory() as name, Link() as link:
        work = Path(name)
        if not ended_well(start(work / "whole", work / "log")):
            raise SystemExit(f"cannot train across the link\n{(work / 'log').read_text()[-4000:]}")
        found = disturbed(work, link, given.seconds)
        mine, its = (RunFolder(work / run).model().tensors() for run in ("cut", "whole"))
        found["same bits"] = mine.keys() == its.keys() and all(torch.equal(mine[name], its[name]) for name in its)
    print(json.dumps(found, indent=2))
    if not found["same bits"]:
        raise SystemExit(1)
    if not given.no_record:
        print(save("reliability_two_hosts", started, **found))


if __name__ == "__main__":
    main()
