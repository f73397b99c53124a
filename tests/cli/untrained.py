"""Run folders of models that were never trained: all that some commands need."""

from __future__ import annotations

from pathlib import Path

import transa
from transa.training import RunFolder, load_recipe


def untrained_run(path: Path, model: str, **settings: object) -> Path:
    """Write a run on UMLS with the model's first parameters."""
    graph = transa.load("umls")
    recipe = load_recipe(model, None, None, {"dim": 6, **settings})
    folder = RunFolder(path)
    path.mkdir()
    folder.write_start(graph, recipe)
    built = recipe.build_model(len(graph.entities), len(graph.relations)).initialise(0)
    folder.write_tensors("weights.safetensors", built.tensors())
    return path
