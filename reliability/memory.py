"""Hold the estimates of memory against what commands really take: ``transa train`` for two epochs, and ``transa evaluate``.

    python reliability/memory.py                      # a few models on UMLS, WN18 and FB15K
    python reliability/memory.py --only fb15k

Each command is a process of its own; its peak is what the operating system counted. An estimate is good if it is neither below two
thirds of the peak nor above one and a half times as much.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from transa.data import load
from transa.errors import amount
from transa.evaluation.memory import evaluation_memory
from transa.training import Options, RunFolder, load_recipe
from transa.training.memory import training_memory

sys.path.append(str(Path(__file__).resolve().parent.parent / "benchmarks"))
from record import save

#: Dataset, model, settings.
CASES: list[tuple[str, str, dict[str, object]]] = [
    ("umls", "transe", {"dim": 50}),
    ("umls", "transa", {}),
    ("wn18", "transe", {"dim": 100, "optimizer": "adam", "validate_every": 1}),
    ("wn18", "transh", {"dim": 50}),
    ("wn18", "sme_linear", {"dim": 50}),
    ("fb15k", "transa", {"dim": 150, "metric": "full", "metric_update": "end", "training_score": "l1"}),
    ("fb15k", "rescal", {"dim": 100, "optimizer": "adagrad"}),
    ("fb15k", "slm", {"dim": 50, "optimizer": "adam"}),
]
LIMIT = 1000
FACTOR = 1.5


def peak(*arguments: str) -> int:
    """Return the most memory that a command had at a time, in bytes."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([sys.executable, "-m", "transa", *arguments], stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            log.seek(0)
            raise SystemExit(log.read().decode())
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def measure(dataset: str, model: str, values: dict[str, object], work: Path) -> list[dict[str, object]]:
    """Train and evaluate one case."""
    run = work / f"{dataset}-{model}"
    settings = {"epochs": 2, "warm_epochs": 0, **values} if model in ("transr", "ctransr") else {"epochs": 2, **values}
    given = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    graph, recipe = load(dataset), load_recipe(model, None, dataset, settings)
    trained = peak("train", dataset, "--model", model, *given, "--out", str(run))
    evaluated = peak("evaluate", str(run), "--limit", str(LIMIT))
    needs = {
        "train": (training_memory(graph, recipe, Options()), trained),
        "evaluate": (evaluation_memory(RunFolder(run).empty_model(), graph, LIMIT, None), evaluated),
    }
    return [
        {
            "command": command,
            "dataset": dataset,
            "model": model,
            "settings": settings,
            "estimated": need.total,
            "measured": measured,
            "ratio": round(need.total / measured, 3),
        }
        for command, (need, measured) in needs.items()
    ]


def main() -> None:
    """Measure, print, and keep a record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", help="a dataset")
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    rows: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as work:
        for dataset, model, values in CASES:
            if given.only in (None, dataset):
                for row in measure(dataset, model, values, Path(work)):
                    rows.append(row)
                    sizes = f"estimated {amount(row['estimated'])}, measured {amount(row['measured'])}"  # type: ignore[arg-type]
                    print(f"{row['command']} {dataset} {model}: {sizes}, ratio {row['ratio']}", flush=True)
    if not given.no_record:
        print(save("reliability_memory", started, factor=FACTOR, cases=rows))
    wrong = [row for row in rows if not 1 / FACTOR <= float(str(row["ratio"])) <= FACTOR]
    if wrong:
        raise SystemExit(f"{len(wrong)} estimates are off by more than {FACTOR}: {wrong}")


if __name__ == "__main__":
    main()
