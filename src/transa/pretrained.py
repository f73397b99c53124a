"""Trained models written to folders. Those in the layout of Hugging Face hold:

======================= ==========================================================
config.json             model, recipe, sizes, versions; as in a run folder
model.safetensors       the trained tables
README.md               the card: what the model is, how to use it, its figures
graph/                  the graph, whose names answer questions
======================= ==========================================================

Such a folder is a run folder too, so `transa.load_model` and all commands open it. Nothing here talks to a server.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transa import __version__
from transa.data import Vocabulary
from transa.errors import InputError
from transa.evaluation import Evaluation
from transa.inference.trained import EXTENSION, Trained
from transa.storage import atomic_folder
from transa.training import RunFolder
from transa.training.run import PRETRAINED, WEIGHTS

CARD = "README.md"


def save_pretrained(trained: Trained, path: str | Path, evaluation: Evaluation | None = None) -> Path:
    """Write a trained model to a new folder, whole or not at all.

    Parameters
    ----------
    trained
        The model, its graph and its recipe.
    path
        A folder that does not exist yet or is empty.
    evaluation
        Figures for the card.
    """
    place = Path(path)
    with atomic_folder(place, ours=lambda name: False) as temporary:
        details = {"library_name": "transa", "model_type": trained.model.name}
        write_trained(trained, RunFolder(temporary), PRETRAINED, **details)
        (temporary / CARD).write_text(card(trained, place.name, evaluation), "utf-8")
    return place


def write_trained(trained: Trained, folder: RunFolder, weights: str = WEIGHTS, **details: Any) -> None:
    """Write what a run folder holds of a trained model.

    Parameters
    ----------
    trained, folder
        What to write, and where.
    weights
        The name of the file of tables.
    details
        More for the configuration.
    """
    if trained.recipe is None:
        raise InputError("the model has no recipe to keep")
    folder.write_start(trained.graph, trained.recipe, **details)
    folder.write_tensors(weights, trained.model.tensors())
    folder.write_json("metrics.json", {"parameters": trained.model.parameters, "validation": None})
    kept = {"loose": trained.loose, "told": trained.told}
    if any(kept.values()):
        named = {name: [trained.graph.entities[each] for each in ids] for name, ids in kept.items()}
        folder.write_json(EXTENSION, named)


def card(trained: Trained, name: str, evaluation: Evaluation | None = None) -> str:
    """Return the card of a model: its head in YAML for programs, the rest for people."""
    model, graph = trained.model, trained.graph
    kind = type(model).__name__
    lines = [
        "---",
        "library_name: transa",
        "pipeline_tag: graph-ml",
        "tags: [knowledge-graph, knowledge-graph-embedding, link-prediction]",
        "---",
        "",
        f"# {model.title} on a graph of {len(graph.entities):,} entities and {len(graph.relations):,} relations",
        "",
        f"`{model.formula}`, vectors of {model.dim} dimensions, {model.parameters:,} parameters, "
        f"{len(graph.train):,} training triples. Written by transa {__version__}.",
        "",
        "```python",
        "import transa",
        "",
        f'model = transa.{kind}.from_pretrained("{name}")',
        f'model.predict(head="{_example(graph.entities)}", relation="{_example(graph.relations)}")',
        "```",
        "",
    ]
    if evaluation is not None:
        table = evaluation.table()
        lines += [
            f"{table.title}:",
            "",
            _row(table.header),
            _row(["---"] * len(table.header)),
            *map(_row, table.rows),
            "",
        ]
    lines += ["The recipe, with all settings, is in `config.json`; facts and names are in `graph/`.", ""]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _example(vocabulary: Vocabulary) -> str:
    """Return a key as it stands in a string of Python."""
    return json.dumps(vocabulary[0], ensure_ascii=False)[1:-1]
