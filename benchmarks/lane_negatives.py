"""What negatives that a lane shares cost in quality beside negatives of each positive's own: TransE on FB15K, valid split.

    python benchmarks/lane_negatives.py               # both, about 20 minutes on one core
    python benchmarks/lane_negatives.py --epochs 3 --no-record

The two differ in `lane_negatives` alone. A single process trains both: workers would give the same up to rounding.
"""

from __future__ import annotations

import argparse
import json
import time

from record import save

import transa
from transa.evaluation import link_prediction
from transa.training import Options, Trainer, load_recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="fb15k")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--dim", type=int, default=100)
    parser.add_argument("--negatives", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=4096)
    parser.add_argument("--lanes", type=int, default=8)
    parser.add_argument("--sample", type=int, default=5000, help="validation triples")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-record", action="store_true", help="print only")
    given = parser.parse_args()
    started = time.time()
    graph = transa.load(given.dataset)
    triples, known = graph.valid[: given.sample], graph.known("train", "valid")
    found = {}
    for lane_negatives in (False, True):
        how = {"epochs": given.epochs, "dim": given.dim, "negatives": given.negatives, "batch_size": given.batch_size}
        changed = {**how, "lanes": given.lanes, "lane_negatives": lane_negatives, "validate_every": 0}
        recipe = load_recipe("transe", "modern", given.dataset, changed)
        trainer = Trainer(graph, recipe, Options(threads=given.threads))
        model = trainer.fit()
        measures = link_prediction(model, triples, known).summary()["both"]
        name = "of the lane" if lane_negatives else "of each positive"
        found[name] = {"seconds": round(trainer.seconds, 1), **measures}
        print(name, json.dumps(found[name]), flush=True)
    difference = found["of the lane"]["mrr"] - found["of each positive"]["mrr"]
    print(f"difference of MRR: {difference:+.4f}")
    if not given.no_record:
        settings = {name: value for name, value in vars(given).items() if name != "no_record"}
        print(save("benchmark_lane_negatives", started, **settings, recipe=recipe.model_dump(), valid=found))


if __name__ == "__main__":
    main()
