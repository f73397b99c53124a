"""The entities nearest to one, by Euclidean distance or as a relation sees them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from transa.errors import InputError
from transa.inference.results import Results
from transa.inference.trained import Trained
from transa.models import Rows
from transa.readable import called, short
from transa.table import Table, figure

SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("name", pa.string()),
        ("distance", pa.float64()),
        ("degree", pa.int64()),
        ("types", pa.list_(pa.string())),
    ]
)
#: How many types of a neighbour, the rarest first, a table shows.
SHOWN = 3

#: What distances are.
EUCLIDEAN, BY_RELATION, ABSOLUTE = (
    "Euclidean",
    "the relation's score without its translation",
    "absolute weights of the metric",
)


@dataclass(frozen=True)
class Neighbour:
    """An entity, how far away it is, in how many training triples it stands, and its types, the rarest first."""

    key: str
    name: str
    distance: float
    degree: int
    types: tuple[str, ...] = ()


@dataclass(frozen=True, repr=False)
class Neighbours(Results[Neighbour]):
    """The entities nearest to one, the nearest first.

    Attributes
    ----------
    entity, relation
        Keys; the relation is None for plain distances.
    nearest
        The neighbours.
    entity_name, relation_name
        Readable names.
    measure
        What distances are: `EUCLIDEAN`, `BY_RELATION`, or for a metric with negative weights `ABSOLUTE`.
    """

    field_of_rows: ClassVar[str] = "nearest"
    schema: ClassVar[pa.Schema] = SCHEMA

    entity: str
    relation: str | None
    nearest: tuple[Neighbour, ...]
    entity_name: str = ""
    relation_name: str | None = None
    measure: str = EUCLIDEAN

    def rows(self) -> list[dict[str, Any]]:
        """Return plain values."""
        return [{**asdict(each), "types": list(each.types)} for each in self.nearest]

    def table(self, *, full: bool = False) -> Table:
        """Return the neighbours as people read them; `full` shows IRIs in full."""
        under = self.relation if full else self.relation_name
        title = f"Nearest to {self.entity if full else self.entity_name}{f' under {under}' if under else ''}"
        typed = any(n.types for n in self.nearest)
        rows = [
            (
                called(n.key, n.name, full=full),
                figure(n.distance),
                f"{n.degree:,}",
                *([", ".join(each if full else short(each) for each in n.types[:SHOWN])] if typed else []),
            )
            for n in self.nearest
        ]
        note = f"distance: by the {ABSOLUTE}, since weights may be negative" if self.measure == ABSOLUTE else ""
        return Table(title, ("entity", "distance", "triples", *(["types"] if typed else [])), tuple(rows), note)


def neighbours(trained: Trained, entity: str, relation: str | None = None, *, top: int = 10) -> Neighbours:
    """Return the entities nearest to one.

    Parameters
    ----------
    trained
        Whose vectors.
    entity, relation
        By key or by name. Without a relation, distances are Euclidean. With one, the distance is the relation's score without
        its translation and without biases; for TransA that is |a - b|^T W_r |a - b|, or its root. Of a directional model, it is
        that of questions about tails. A metric with negative weights gives no distance; then their absolute values weigh the squared
        differences.
    top
        How many.
    """
    trained.model.need_vectors("neighbours")
    if top < 1:
        raise InputError(f"top: expected at least 1, found {top}")
    here = trained.entities.id(entity)
    edge = None if relation is None else trained.relations.id(relation)
    away = distances(trained, here) if edge is None else view_of(trained, here, edge)
    order = np.argsort(away, kind="stable")
    order = order[order != here][:top]
    degrees = degrees_of(trained)
    names, types = trained.graph.entities, trained.graph.types
    return Neighbours(
        names[here],
        None if edge is None else trained.graph.relations[edge],
        tuple(
            Neighbour(
                *(names[each], names.name(each), float(away[each]), int(degrees[each])),
                () if types is None else tuple(types.of(each)),
            )
            for each in order.tolist()
        ),
        names.name(here),
        None if edge is None else trained.graph.relations.name(edge),
        EUCLIDEAN if edge is None else ABSOLUTE if trained.model.translation is None else BY_RELATION,
    )


def distances(trained: Trained, entity: int) -> npt.NDArray[np.float64]:
    """Return the Euclidean distance of every entity's vector from that of one."""
    vectors = trained.model.entity.vector
    away: npt.NDArray[np.float64] = torch.linalg.vector_norm(vectors - vectors[entity], dim=1).double().cpu().numpy()
    return away


def degrees_of(trained: Trained) -> npt.NDArray[np.int64]:
    """Return in how many training triples each entity stands."""
    ends = trained.graph.train[:, [0, 2]].ravel()
    return np.bincount(ends, minlength=len(trained.graph.entities)).astype(np.int64)


def view_of(trained: Trained, entity: int, relation: int) -> npt.NDArray[np.float64]:
    """Return the distance of every entity from one, as a relation sees it; see `neighbours`.

    Raises
    ------
    InputError
        If the model has no such distance.
    """
    model = trained.model
    translation = model.translation
    if translation is None:
        metric = model.metric_matrix(relation)
        if metric is None:
            raise InputError(
                f"{model.label} has no distance of a relation; without one (--relation), neighbours are Euclidean"
            )
        vectors = model.entity.vector.detach().double().cpu().numpy()
        away = np.abs(vectors - vectors[entity])
        weighted: npt.NDArray[np.float64] = np.einsum("ni,ij,nj->n", away, np.abs(metric), away, optimize=True)
        return weighted
    every = Rows({name: torch.zeros_like(table) if name == "bias" else table for name, table in model.entity.items()})
    here = Rows({name: table[entity].unsqueeze(0) for name, table in every.items()})
    one = {name: table[relation] for name, table in model.relation.items()}
    still = Rows({name: torch.zeros_like(row) if name in translation else row for name, row in one.items()})
    if not model.grouped:
        still = Rows({name: row.unsqueeze(0) for name, row in still.items()})
    with torch.no_grad():
        found: npt.NDArray[np.float64] = model.score(here, still, every).double().cpu().numpy()
    return found
