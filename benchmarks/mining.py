"""Mining rules: how long it takes on FB15K and WN18RR, and how much memory a generated graph of a million entities needs.

    python benchmarks/mining.py [one_atom two_atoms five_atoms all million …]

Each case runs in a process of its own on one thread, so that the peak memory is its own. Seconds are those of the processor, which
other work on the machine hardly changes; kernels are compiled before. The generated graph has degrees by a power law and three planted
rules, which must be found: an inverse, a chain of two atoms, and a constant.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import load, save

import transa
from transa.data import KnowledgeGraph
from transa.rules import Mining, mine

ENTITIES, RELATIONS, TRIPLES, SEED = 1_000_000, 50, 5_000_000, 0
#: The chance of the entity of rank i to stand in a fact is proportional to i to the power of -EXPONENT.
EXPONENT = 0.6
#: How often a planted rule holds.
HOLDS = 0.8
#: Pairs of the planted rules.
PLANTED = 100_000

#: What is mined: the graph, and the settings.
CASES = {
    "one_atom": ("fb15k", Mining(length=1, constants=False)),
    "two_atoms": ("fb15k", Mining(length=2, constants=False)),
    "five_atoms": ("wn18rr", Mining(constants=False)),
    "all": ("fb15k", Mining()),
    "million": ("generated", Mining()),
}
#: The planted rules, as texts.
RULES = ("r1(X,Y) <= r0(Y,X)", "r4(X,Y) <= r2(X,A), r3(A,Y)", "r6(X,e7) <= r5(X,e3)")


def generated() -> KnowledgeGraph:
    """Return the generated graph."""
    random = np.random.default_rng(SEED)
    ranks = np.cumsum(np.arange(1, ENTITIES + 1) ** -EXPONENT)
    names = random.permutation(ENTITIES)

    def drawn(size: int) -> Any:
        return names[np.searchsorted(ranks, random.random(size) * ranks[-1])]

    def facts(heads: Any, relation: int, tails: Any) -> Any:
        return np.stack([heads, np.full(len(heads), relation), tails], axis=1)

    holds = random.random(PLANTED) < HOLDS
    first, second = drawn(PLANTED), drawn(PLANTED)
    middle, ends = random.integers(0, ENTITIES, PLANTED), drawn(PLANTED)
    some = random.integers(0, ENTITIES, PLANTED // 100)
    fixed = np.ones(len(some), np.int64)
    background = np.stack([drawn(TRIPLES), random.integers(7, RELATIONS, TRIPLES), drawn(TRIPLES)], axis=1)
    rows = [
        *(facts(first, 0, second), facts(second[holds], 1, first[holds])),
        *(facts(first, 2, middle), facts(middle, 3, ends), facts(first[holds], 4, ends[holds])),
        *(facts(some, 5, 3 * fixed), facts(some[holds[: len(some)]], 6, 7 * fixed[holds[: len(some)]])),
        background,
    ]
    every = np.unique(np.concatenate(rows).astype(np.int32), axis=0)
    entities, relations = [f"e{i}" for i in range(ENTITIES)], [f"r{i}" for i in range(RELATIONS)]
    return KnowledgeGraph.from_ids(every, entities=entities, relations=relations)


def measured(case: str) -> dict[str, Any]:
    """Mine in this process."""
    mine(transa.load("nations"))  # compiles the kernels, or loads them
    name, mining = CASES[case]
    graph = generated() if name == "generated" else transa.load(name)
    before = time.process_time()
    found = mine(graph, mining)
    seconds = time.process_time() - before
    texts = set()
    if name == "generated":
        chosen = found.rules.head < 7
        texts = set(found.rules.take(chosen).texts(graph.entities, graph.relations))
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    return {
        "graph": repr(graph),
        "cpu_seconds": round(seconds, 2),
        "peak_memory_gigabytes": round(peak / 1e9, 2),
        "rules": len(found.rules),
        "length": found.length,
        "sampled": found.sampled,
        "complete": found.complete,
        **({"planted": {rule: rule in texts for rule in RULES}} if texts else {}),
    }


def main() -> None:
    if sys.argv[1:2] == ["--here"]:
        print(json.dumps(measured(sys.argv[2])))
        return
    started = time.time()
    kept = {case: found for case, found in load("benchmark_mining").items() if case in CASES}
    for case in [case for case in sys.argv[1:] if case in CASES] or list(CASES):
        command = [sys.executable, __file__, "--here", case]
        single = dict.fromkeys(("NUMBA_NUM_THREADS", "OMP_NUM_THREADS"), "1")
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | single).stdout
        kept[case] = json.loads(output)
        print(case, kept[case], flush=True)
        save("benchmark_mining", started, seed=SEED, exponent=EXPONENT, **kept)


if __name__ == "__main__":
    main()
