"""Small runs whose right answers are known."""

from __future__ import annotations

from pathlib import Path

import torch

from transa.data import KnowledgeGraph
from transa.data.vocabulary import Vocabulary
from transa.inference import Trained
from transa.models import Model, build
from transa.training import RunFolder, load_recipe

SIZE = 8


def line(valid: bool = True, named: bool = False) -> KnowledgeGraph:
    """Entities e0 to e7 in a row; next leads to the one on the right, far two to the right."""
    following = [(i, 0, i + 1) for i in range(SIZE - 1)]
    far = [(i, 1, i + 2) for i in range(SIZE - 2)]
    facts = following + far
    train, held = [fact for i, fact in enumerate(facts) if i % 4], [fact for i, fact in enumerate(facts) if not i % 4]
    keys = [f"e{i}" for i in range(SIZE)]
    names = ["Ada", "Bob", "bob", "Cleo", "Dora", "Dorothea", None, None] if named else None
    return KnowledgeGraph.from_ids(
        train, held if valid else None, None, entities=Vocabulary(keys, names), relations=["next", "far"]
    )


def on_a_line(graph: KnowledgeGraph, model: str = "transe", **options: object) -> Model:
    """Entities at 0, 1, 2, ...; relations move by one and by two."""
    found = build(model, len(graph.entities), 2, 2, **options).initialise(0)
    found.entity["vector"] = torch.stack([torch.arange(float(SIZE)), torch.zeros(SIZE)], dim=1)
    found.relation["vector"] = torch.tensor([[1.0, 0.0], [2.0, 0.0]])
    return found


def trained(valid: bool = True, named: bool = False) -> Trained:
    graph = line(valid, named)
    return Trained(
        on_a_line(graph), graph, load_recipe("transe", "paper", None, {"dim": 2, "negatives": 2, "entity_norm": "free"})
    )


def kept(path: Path, valid: bool = True, named: bool = False) -> Path:
    """The same as a run folder."""
    one = trained(valid, named)
    folder = RunFolder(path)
    path.mkdir(parents=True)
    assert one.recipe is not None
    folder.write_start(one.graph, one.recipe, source=None, engine="numba")
    folder.write_tensors("weights.safetensors", one.model.tensors())
    return path


def blurred(valid: bool = True) -> Trained:
    """The same model with entities off their places, so that some wrong triples look plausible."""
    one = trained(valid, named=True)
    one.model.entity["vector"] = one.model.entity["vector"] + torch.randn(
        one.model.entity["vector"].shape, generator=torch.Generator().manual_seed(5)
    )
    return one
