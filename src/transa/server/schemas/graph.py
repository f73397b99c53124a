"""The bodies that show a graph: entities, relations, the map, the metric."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from transa.inference.reasons import Fact
from transa.server.schemas.common import Got


class Item(Got):
    """An entity or a relation, and in how many training triples it stands."""

    id: int
    key: str
    name: str
    triples: int


class Items(Got):
    """A page of a search."""

    run: str
    total: int
    items: list[Item]


class Facts(Got):
    """A page of known facts, of all splits."""

    total: int
    facts: list[Fact]


class EntityGot(Item):
    """An entity with its facts."""

    run: str
    description: str | None
    types: list[str]
    out: Facts
    in_: Annotated[Facts, Field(alias="in")]


class RelationGot(Item):
    """A relation with its counts in train, its threshold and some of its training triples."""

    run: str
    description: str | None
    category: Literal["1-1", "1-N", "N-1", "N-N"]
    tails_per_head: float
    heads_per_tail: float
    loops: float
    threshold: float | None
    domain: list[str]
    range: list[str]
    examples: list[Fact]


class MapGot(Got):
    """All entities in the plane, in the order of their ids; `type` holds positions in `types`, -1 for none."""

    run: str
    explained: list[float] | None
    x: list[float]
    y: list[float]
    degree: list[int]
    type: list[int] | None
    types: list[str] | None


class MetricGot(Got):
    """What `transa weights --relation NAME --json` prints."""

    run: str
    model: str
    dim: int
    n: int
    positive_definite: int
    non_negative: int
    median_weight_difference: float | None
    relations: list[dict[str, Any]]
