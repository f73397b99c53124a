"""A map of the entities: their vectors in the plane of the two directions in which they differ most (PCA)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.analysis.style import SUFFIXES, drawing, literal, save_figure
from transa.data import Vocabulary
from transa.errors import InputError
from transa.evaluation.tables import check_target
from transa.inference.neighbours import degrees_of
from transa.inference.trained import Trained

#: Entities whose names are written, at most, and how far apart in parts of the map: those of the highest degree come first.
LABELLED, APART = 15, 0.06


@dataclass(frozen=True, eq=False)
class EntityMap:
    """Entities in the plane.

    Attributes
    ----------
    places
        Of shape (entities, 2).
    explained
        The share of the variance along each direction.
    degrees
        Training triples of each entity.
    entities
        Their names.
    """

    places: npt.NDArray[np.float64]
    explained: tuple[float, float]
    degrees: npt.NDArray[np.int64]
    entities: Vocabulary = field(repr=False)

    def frame(self) -> pa.Table:
        """Return key, name, x, y and degree of each entity as an Arrow table."""
        return pa.table(
            {
                "key": self.entities.keys,
                "name": [self.entities.name(each) for each in range(len(self.entities))],
                "x": self.places[:, 0],
                "y": self.places[:, 1],
                "degree": self.degrees,
            }
        )


def entity_map(trained: Trained) -> EntityMap:
    """Project the vectors of all entities on their first two principal directions.

    The sign of a direction, which is arbitrary, is chosen so that its largest entry is positive.
    """
    vectors = trained.model.entity.vector.detach().double().cpu().numpy()
    if len(vectors) < 2:
        raise InputError(f"a map needs at least two entities, and there are {len(vectors)}")
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    two = np.zeros((2, vectors.shape[1]))
    two[: len(directions[:2])] = directions[:2]  # in one dimension, the second is 0
    two *= np.where(two[np.arange(2), np.abs(two).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    shares = np.append(np.square(values) / max(float(np.square(values).sum()), 1e-300), 0.0)
    return EntityMap(centred @ two.T, (float(shares[0]), float(shares[1])), degrees_of(trained), trained.graph.entities)


def plot_map(found: EntityMap, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the map, coloured by degree, into a .png, .svg or .pdf file."""
    from matplotlib.colors import LogNorm
    from matplotlib.patheffects import withStroke

    check_target(target, SUFFIXES, overwrite=overwrite)
    order = np.argsort(found.degrees, kind="stable")
    degrees = np.maximum(found.degrees[order], 1)
    with drawing(8, 6.5) as figure:
        axes = figure.subplots()
        drawn = axes.scatter(
            found.places[order, 0],
            found.places[order, 1],
            c=degrees,
            s=float(np.clip(20_000 / len(order), 2, 30)),
            cmap="viridis",
            norm=LogNorm(1, max(2, int(degrees.max()))),
            linewidths=0,
            rasterized=True,
        )
        figure.colorbar(drawn, label="training triples", format="{x:g}")
        for entity in _apart(found.places, order[::-1]):
            axes.annotate(
                literal(found.entities.name(entity)),
                found.places[entity],
                (3, 3),
                textcoords="offset points",
                fontsize=7,
                path_effects=[withStroke(linewidth=1.8, foreground="white")],  # points may lie below
            )
        first, second = found.explained
        axes.set_xlabel(f"first direction ({first:.0%} of the variance)")
        axes.set_ylabel(f"second direction ({second:.0%})")
        axes.set_title(f"{len(order):,} entities")
        return save_figure(figure, target, overwrite=overwrite)


def _apart(places: npt.NDArray[np.float64], order: npt.NDArray[np.int64]) -> list[int]:
    """Return the first entities of an order that are not too near each other for their names to be read."""
    scaled = places / np.maximum(np.ptp(places, axis=0), 1e-12) * [0.3, 1.0]  # names are wide
    chosen: list[int] = []
    for entity in order[: 100 * LABELLED].tolist():
        if len(chosen) < LABELLED and all(np.hypot(*(scaled[entity] - scaled[other])) > APART for other in chosen):
            chosen.append(entity)
    return chosen
