"""`transa train wn18 --recipe authors`: filtered ranks on the test split, with the closed-form metric and with L1 on its vectors.

TRANSA_DATA=... python benchmarks/authors_wn18.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import save

import transa
from transa.evaluation import link_prediction
from transa.models.transe import TransE
from transa.training import RunFolder

if __name__ == "__main__":
    started = time.time()
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "wn18"
        command = ["train", "wn18", "--recipe", "authors", "--out", str(run), "--json"]
        transa_command = Path(sys.executable).with_name("transa")
        output = subprocess.run([transa_command, *command], capture_output=True, text=True, check=True).stdout
        training = json.loads(output)
        recipe, model = RunFolder(run).recipe(), RunFolder(run).model()
    graph = transa.load("wn18")
    plain = TransE(model.num_entities, model.num_relations, model.dim, norm=1)
    plain.entity, plain.relation = model.entity, model.relation
    known = graph.known()
    scores = {
        name: link_prediction(one, graph.test, known).summary() for name, one in (("l1", plain), ("metric", model))
    }
    for name, sides in scores.items():
        print(
            name,
            {side: {measure: round(value, 4) for measure, value in found.items()} for side, found in sides.items()},
        )
    protocol = {
        "data": "wn18",
        "split": "test",
        "filter": "train+valid+test",
        "ties": "realistic (mean of best and worst)",
    }
    path = save(
        "authors_wn18",
        started,
        train_command="transa train wn18 --recipe authors",
        training_seconds=training["seconds"],
        threads=training["threads"],
        recipe=recipe.model_dump(),
        protocol=protocol,
        scores=scores,
    )
    print(f"trained in {training['seconds']:.0f} s", path)
