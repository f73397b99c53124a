"""Calls that look into a run: entities, relations, the map, metrics, figures."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query, Response

from transa import __version__
from transa.analysis.weights import weights_of
from transa.errors import InputError
from transa.server.cards import entity_card, found, relation_card
from transa.server.limits import NAME
from transa.server.runs import ServedRun
from transa.server.schemas import (
    EntityGot,
    EvaluationGot,
    FiguresGot,
    Items,
    MapGot,
    MetricGot,
    RelationGot,
    RunGot,
    RunsGot,
)
from transa.server.service import REFUSALS, Offset, Rows, Run, Serving, Text

Sought = Annotated[str, Query(max_length=NAME, description="A beginning, a part or a close spelling; blank finds all.")]
Sample = Annotated[int, Query(ge=1, le=100_000, description="Only a random sample of this many triples.")]

every_run = APIRouter(responses={401: REFUSALS[401], 421: REFUSALS[421]}, tags=["runs"])
router = APIRouter(responses=REFUSALS, tags=["graph"])


@every_run.get("/runs", response_model=RunsGot)
async def runs(service: Serving) -> dict[str, Any]:
    """List the runs that are served."""
    return {"version": __version__, "runs": [sizes_of(run) for run in service.runs]}


def sizes_of(run: ServedRun) -> dict[str, Any]:
    """Return what a run is called, its model, and how large it is."""
    model, graph = run.trained.model, run.trained.graph
    return RunGot(
        run=run.name,
        model=model.name,
        label=model.label,
        dim=model.dim,
        entities=len(graph.entities),
        relations=len(graph.relations),
        train=len(graph.train),
        valid=len(graph.valid),
        test=len(graph.test),
        probabilities=bool(len(graph.valid)),
        metric=model.metric_rules is not None,
        vectors=model.has_vectors,
        types=graph.types is not None,
    ).model_dump()


@router.get("", response_model=FiguresGot)
async def figures(run: Run, service: Serving) -> Response:
    """Return a run with its settings and its training, epoch by epoch."""

    def report() -> dict[str, Any]:
        folder, recipe = run.folder, run.trained.recipe
        curve = folder.curve() if folder.holds("log.jsonl") else []
        return {
            **sizes_of(run),
            "recipe": {} if recipe is None else recipe.model_dump(),
            "training": folder.read_json("metrics.json") if folder.holds("metrics.json") else None,
            "curve": [dict(zip(("epoch", "loss", "validation"), line, strict=True)) for line in curve],
        }

    return await service.look_up(report)


@router.get("/entities", response_model=Items)
async def entities(run: Run, service: Serving, search: Sought = "", offset: Offset = 0, limit: Rows = 20) -> Response:
    """Search entities by a part of their name or key; the best fit first, then those with more facts."""
    return await service.look_up(lambda: {"run": run.name, **found(run.entities, search, offset, limit)})


@router.get("/relations", response_model=Items)
async def relations(run: Run, service: Serving, search: Sought = "", offset: Offset = 0, limit: Rows = 20) -> Response:
    """Search relations by a part of their name or key."""
    return await service.look_up(lambda: {"run": run.name, **found(run.relations, search, offset, limit)})


@router.get("/entity", response_model=EntityGot)
async def entity(
    run: Run,
    service: Serving,
    name: Annotated[str | None, Query(min_length=1, max_length=NAME)] = None,
    id: Annotated[int | None, Query(ge=0, le=1 << 31, description="In the place of a name.")] = None,  # noqa: A002
    offset: Offset = 0,
    limit: Rows = 50,
) -> Response:
    """Return an entity with its description, types and known facts."""

    def report() -> dict[str, Any]:
        number = _entity(run, name, id)
        return {"run": run.name, **entity_card(run.trained, run.entities, number, offset, limit)}

    return await service.look_up(report)


def _entity(run: ServedRun, name: str | None, number: int | None) -> int:
    if (name is None) == (number is None):
        raise InputError("expected a name or an id")
    if name is not None:
        return run.trained.entities.id(name)
    assert number is not None  # noqa: S101
    if number >= len(run.trained.graph.entities):
        raise InputError(f"unknown entity {number}: ids end at {len(run.trained.graph.entities) - 1}")
    return number


@router.get("/relation", response_model=RelationGot)
async def relation(run: Run, service: Serving, name: Text) -> Response:
    """Return a relation with its category, counts, threshold and examples."""

    def report() -> dict[str, Any]:
        return {"run": run.name, **relation_card(run.trained, run.relations, run.trained.relations.id(name))}

    return await service.look_up(report)


@router.get("/metric", response_model=MetricGot)
async def metric(
    run: Run, service: Serving, relation: Text, dimensions: Annotated[int, Query(ge=1, le=1000)] = 5
) -> Response:
    """Return what the metric of a relation weighs: the diagonal of D in W_r = L D L^T."""

    def report() -> dict[str, Any]:
        weights = weights_of(run.trained.model, run.trained.graph, [relation])
        return {"run": run.name, **weights.summary(dimensions)}

    return await service.ask(report)


@router.get("/map", response_model=MapGot)
async def entity_map(
    run: Run,
    service: Serving,
    colour: Annotated[
        str, Query(min_length=1, max_length=NAME, description="degree, type, role, or a relation")
    ] = "role",
) -> Response:
    """Lay out all entities in the plane, by PCA; `transa map` knows UMAP too, which takes minutes."""

    def report() -> dict[str, Any]:
        laid = run.map(colour)
        types = None if laid.types is None else sorted({each for each in laid.types if each is not None})
        number = {each: place for place, each in enumerate(types or ())}
        x, y = np.round(laid.places.T, 4).tolist()
        return {
            "run": run.name,
            "explained": None if laid.explained is None else list(laid.explained),
            "x": x,
            "y": y,
            "degree": laid.degrees.tolist(),
            "type": None if laid.types is None else [-1 if t is None else number[t] for t in laid.types],
            "types": types,
        }

    return await service.search(report)


@router.get("/evaluation", response_model=EvaluationGot)
async def evaluation(
    run: Run, service: Serving, split: Literal["test", "valid"] = "test", limit: Sample = 2_000
) -> Response:
    """Rank the true head and tail of triples among all entities, as `transa evaluate` does."""
    return await service.search(lambda: {"run": run.name, **run.evaluation(split, limit)})


@router.get("/classification", response_model=EvaluationGot)
async def classification(
    run: Run, service: Serving, split: Literal["test", "valid"] = "test", limit: Sample = 2_000
) -> Response:
    """Tell true triples from false ones, as `transa classify` does."""
    return await service.search(lambda: {"run": run.name, **run.classification(split, limit)})
