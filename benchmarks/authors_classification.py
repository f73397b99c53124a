"""`transa train wn11|fb13 --recipe authors`: triple classification on the test split, thresholds from valid.

TRANSA_DATA=... python benchmarks/authors_classification.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from record import save

from transa.training import RunFolder


def transa(*arguments: str) -> dict[str, object]:
    """Run a command and read what it prints as JSON."""
    command = [str(Path(sys.executable).with_name("transa")), *arguments, "--json"]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return json.loads(output)  # type: ignore[no-any-return]


if __name__ == "__main__":
    started = time.time()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("wn11", "fb13"):
            run = f"{folder}/{name}"
            training = transa("train", name, "--recipe", "authors", "--out", run)
            test = transa("classify", run)
            found[name] = {
                "commands": [f"transa train {name} --recipe authors --out RUN", "transa classify RUN"],
                "training_seconds": training["seconds"],
                "validation": training["validation"],
                "recipe": RunFolder(run).recipe().model_dump(),
                "test": {key: value for key, value in test.items() if key not in ("run", "relations")},
            }
            print(f"{name}: test accuracy {test['accuracy']:.4f}, trained in {training['seconds']:.0f} s")
    print(save("authors_classification", started, **found))
