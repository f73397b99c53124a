"""A map of the entities: their vectors in the plane, by PCA or UMAP, coloured by degree or by type."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.analysis.style import BLUE, GREEN, GREY, ORANGE, RED, SUFFIXES, drawing, literal, save_figure, shortened
from transa.choices import Layout
from transa.data import Vocabulary
from transa.data.graph import Triples
from transa.errors import InputError
from transa.evaluation.tables import check_target
from transa.inference.neighbours import degrees_of
from transa.inference.trained import Trained

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Method = Layout

#: Entities whose names are written, at most, and how far apart in parts of the map: those of the highest degree come first.
LABELLED, APART = 15, 0.06
#: How the largest types are drawn; all others are one more.
MARKS = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (RED, "D"), ("#CC79A7", "v"), ("#56B4E9", "P"), ("#000000", "X"))


@dataclass(frozen=True, eq=False)
class EntityMap:
    """Entities in the plane.

    Attributes
    ----------
    places
        Of shape (entities, 2).
    explained
        With PCA the share of the variance along each direction, otherwise None.
    degrees
        Training triples of each entity.
    entities
        Their names.
    types
        Of each entity, None where it has none; None as a whole where types were not asked for.
    """

    places: npt.NDArray[np.float64]
    explained: tuple[float, float] | None
    degrees: npt.NDArray[np.int64]
    entities: Vocabulary = field(repr=False)
    types: list[str | None] | None = field(default=None, repr=False)

    def frame(self) -> pa.Table:
        """Return key, name, x, y, degree and, where they were asked for, type of each entity as an Arrow table."""
        columns = {
            "key": self.entities.keys,
            "name": [self.entities.name(each) for each in range(len(self.entities))],
            "x": self.places[:, 0],
            "y": self.places[:, 1],
            "degree": self.degrees,
        }
        return pa.table(columns if self.types is None else columns | {"type": pa.array(self.types, pa.string())})


def entity_map(trained: Trained, method: Method = "pca", colour: str = "degree", *, seed: int = 0) -> EntityMap:
    """Lay out the vectors of all entities in the plane.

    Parameters
    ----------
    trained
        The model and its graph.
    method
        ``"pca"``: the two directions in which vectors differ most. ``"umap"``: near neighbours stay near; needs the extra
        ``transa[umap]``.
    colour
        ``"degree"``; ``"role"``, the type of an entity being the side of the relation on which it stands most often in train; or the
        key or name of a relation that leads to types, such as ``rdf:type``: of several, the most frequent.
    seed
        Of UMAP.
    """
    vectors = trained.model.entity.vector.detach().double().cpu().numpy()
    if len(vectors) < 2:
        raise InputError(f"a map needs at least two entities, and there are {len(vectors)}")
    types = None if colour == "degree" else _types(trained, colour)
    if method == "umap":
        places, explained = _umap(vectors, seed), None
    else:
        places, explained = _pca(vectors)
    return EntityMap(places, explained, degrees_of(trained), trained.graph.entities, types)


def _pca(vectors: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """Project on the first two principal directions, each with its largest entry positive, since its sign is arbitrary."""
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    two = np.zeros((2, vectors.shape[1]))
    two[: len(directions[:2])] = directions[:2]  # in one dimension, the second is 0
    two *= np.where(two[np.arange(2), np.abs(two).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    shares = np.append(np.square(values) / max(float(np.square(values).sum()), 1e-300), 0.0)
    return centred @ two.T, (float(shares[0]), float(shares[1]))


def _umap(vectors: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Lay out by UMAP from the places of PCA, with one thread, so that the same seed gives the same map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of parts that are not installed
        try:
            from umap import UMAP
        except ImportError:
            raise InputError("umap-learn is not installed; `pip install umap-learn` brings it") from None
        near = min(15, len(vectors) - 1)
        if near < 2:
            raise InputError(f"UMAP needs at least three entities, and there are {len(vectors)}")
        start, _ = _pca(vectors)
        start *= 10 / max(float(np.abs(start).max()), 1e-12)
        laid = UMAP(n_neighbors=near, init=start, random_state=seed, n_jobs=1).fit_transform(vectors)
    return np.asarray(laid, dtype=np.float64)


def _types(trained: Trained, colour: str) -> list[str | None]:
    """Return a name for the type of each entity."""
    graph = trained.graph
    if colour == "role":
        sides = np.concatenate([graph.train[:, :2], graph.train[:, :0:-1]]).astype(np.int64)  # (head, r), (tail, r)
        codes = 2 * sides[:, 1] + np.repeat([0, 1], len(graph.train))
        names = [
            f"{side} of {graph.relations.name(r)}" for r in range(len(graph.relations)) for side in ("head", "tail")
        ]
        chosen = _most_frequent(np.stack([sides[:, 0], codes], axis=1), len(graph.entities))
        return [None if each < 0 else names[each] for each in chosen.tolist()]
    relation = trained.relations.id(colour)
    led: Triples = graph.train[graph.train[:, 1] == relation]
    often = np.bincount(led[:, 2], minlength=len(graph.entities))
    order = np.argsort(-often[led[:, 2]], kind="stable")
    first = np.full(len(graph.entities), -1)
    entities, rows = np.unique(led[order, 0], return_index=True)
    first[entities] = led[order][rows, 2]
    return [None if each < 0 else graph.entities.name(each) for each in first.tolist()]


def _most_frequent(pairs: npt.NDArray[np.int64], number: int) -> npt.NDArray[np.int64]:
    """Return for each first member the second that it stands with most often, -1 for those in no pair."""
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    order = np.lexsort((distinct[:, 1], -counts, distinct[:, 0]))
    firsts, rows = np.unique(distinct[order, 0], return_index=True)
    found = np.full(number, -1)
    found[firsts] = distinct[order][rows, 1]
    return found


def plot_map(found: EntityMap, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the map into a .png, .svg or .pdf file."""
    from matplotlib.patheffects import withStroke

    check_target(target, SUFFIXES, overwrite=overwrite)
    order = np.argsort(found.degrees, kind="stable")
    with drawing(8, 6.5) as figure:
        axes = figure.subplots()
        if found.types is None:
            _draw_degrees(figure, axes, found, order)
        else:
            _draw_types(figure, axes, found)
        for entity in _apart(found.places, order[::-1]):
            axes.annotate(
                literal(found.entities.name(entity)),
                found.places[entity],
                (3, 3),
                textcoords="offset points",
                fontsize=7,
                path_effects=[withStroke(linewidth=1.8, foreground="white")],  # points may lie below
            )
        if found.explained is not None:
            first, second = found.explained
            axes.set_xlabel(f"first direction ({first:.0%} of the variance)")
            axes.set_ylabel(f"second direction ({second:.0%})")
        else:
            axes.set_xticks([])
            axes.set_yticks([])
        axes.set_title(f"{len(order):,} entities{'' if found.explained else ' (UMAP)'}")
        return save_figure(figure, target, overwrite=overwrite)


def _size(number: int) -> float:
    """Return the area of a point on a map of so many."""
    return float(np.clip(20_000 / number, 2, 30))


def _draw_degrees(figure: Figure, axes: Axes, found: EntityMap, order: npt.NDArray[np.int64]) -> None:
    """Draw points with the colour of their degree, the highest on top."""
    from matplotlib.colors import LogNorm

    degrees = np.maximum(found.degrees[order], 1)
    drawn = axes.scatter(
        found.places[order, 0],
        found.places[order, 1],
        c=degrees,
        s=_size(len(order)),
        cmap="viridis",
        norm=LogNorm(1, max(2, int(degrees.max()))),
        linewidths=0,
        rasterized=True,
    )
    figure.colorbar(drawn, label="training triples", format="{x:g}")


def _draw_types(figure: Figure, axes: Axes, found: EntityMap) -> None:
    """Draw points with colour and marker of their type; small types and entities without one are grey."""
    types = np.array([each or "" for each in found.types or ()], dtype=object)
    names, counts = np.unique(types[types != ""], return_counts=True)
    largest = [names[each] for each in np.argsort(-counts, kind="stable")[: len(MARKS)]]
    groups = [("other or none", ~np.isin(types, largest), GREY, ".")]
    groups += [(name, types == name, *mark) for name, mark in zip(largest, MARKS, strict=False)]
    for name, members, colour, marker in groups:
        if members.any():
            axes.scatter(
                found.places[members, 0],
                found.places[members, 1],
                c=colour,
                marker=marker,
                s=1.5 * _size(len(types)),
                alpha=0.35 if colour == GREY else 0.8,
                linewidths=0,
                label=f"{shortened(name, 40)} ({members.sum():,})",
                rasterized=True,
            )
    figure.legend(
        loc="outside lower center", ncols=2, frameon=False, markerscale=max(1.0, 4 / _size(len(types)) ** 0.5)
    )


def _apart(places: npt.NDArray[np.float64], order: npt.NDArray[np.int64]) -> list[int]:
    """Return the first entities of an order that are not too near each other for their names to be read."""
    scaled = places / np.maximum(np.ptp(places, axis=0), 1e-12) * [0.3, 1.0]  # names are wide
    chosen: list[int] = []
    for entity in order[: 100 * LABELLED].tolist():
        if len(chosen) < LABELLED and all(np.hypot(*(scaled[entity] - scaled[other])) > APART for other in chosen):
            chosen.append(entity)
    return chosen
