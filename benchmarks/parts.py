"""What parts on disk cost in quality beside all rows in memory: TransE on FB15K, valid split.

    python benchmarks/parts.py                        # 1 and 4 parts, about 7 minutes on one core
    python benchmarks/parts.py --parts 1,2,8 --epochs 3 --no-record

All are trained by `transa train --parts P` with the same recipe; a single part trains the bits of one process in memory.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from record import save

import transa
from transa.evaluation import link_prediction
from transa.training import Options, RunFolder, load_recipe
from transa.training.parts.trainer import PartsTrainer


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="fb15k")
    parser.add_argument("--parts", default="1,4", help="how many, each by itself")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--negatives", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--sample", type=int, default=5000, help="validation triples")
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    graph = transa.load(given.dataset)
    triples, known = graph.valid[: given.sample], graph.known("train", "valid")
    changed = {"epochs": given.epochs, "dim": given.dim, "negatives": given.negatives, "validate_every": 0}
    recipe = load_recipe("transe", "modern", given.dataset, {**changed, "batch_size": given.batch_size, "lanes": 8})
    found = {}
    for parts in map(int, given.parts.split(",")):
        with tempfile.TemporaryDirectory() as name:
            folder = RunFolder(Path(name) / "run")
            trainer = PartsTrainer(graph, recipe, Options(threads=1), folder, parts=parts)
            trainer.fit()
            measures = link_prediction(folder.model(), triples, known).summary()["both"]
        found[parts] = {"seconds": round(trainer.seconds, 1), **measures}
        print(parts, json.dumps(found[parts]), flush=True)
    if not given.no_record:
        settings = {name: value for name, value in vars(given).items() if name != "no_record"}
        print(save("benchmark_parts", started, **settings, recipe=recipe.model_dump(), valid=found))


if __name__ == "__main__":
    main()
