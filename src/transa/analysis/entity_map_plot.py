"""A picture of the map of entities, coloured by degree or by type."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from transa.analysis.drawing import BLUE, GREEN, GREY, ORANGE, RED, drawing, shortened
from transa.analysis.entity_map import EntityMap

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: At most this many entities get a label, those of the highest degree first.
LABELLED = 15
#: The least distance between two labels, as a part of the map's height.
APART = 0.06
#: Colours and markers of the largest types. All others share a grey dot.
MARKS = ((BLUE, "o"), (ORANGE, "s"), (GREEN, "^"), (RED, "D"), ("#CC79A7", "v"), ("#56B4E9", "P"), ("#000000", "X"))


def plot_map(found: EntityMap, target: Path, *, overwrite: bool = False) -> Path:
    """Draw the map.

    Parameters
    ----------
    found
        The map.
    target
        A .png, .svg or .pdf file.
    overwrite
        Whether to replace a file that is there.
    """
    order = np.argsort(found.degrees, kind="stable")
    with drawing(target, 8, 6.5, overwrite=overwrite) as figure:
        from matplotlib.patheffects import withStroke

        axes = figure.subplots()
        if found.types is None:
            _draw_degrees(figure, axes, found, order)
        else:
            _draw_types(figure, axes, found)
        for entity in _apart(found.places, order[::-1]):
            axes.annotate(
                shortened(found.entities.name(entity), 40),
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
    return target


def _size(number: int) -> float:
    """Return the area of a point on a map of `number` points."""
    return float(np.clip(20_000 / number, 2, 30))


def _draw_degrees(figure: Figure, axes: Axes, found: EntityMap, order: npt.NDArray[np.int64]) -> None:
    """Colour points by degree, with the highest degrees on top."""
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
    """Give points the colour and marker of their type; small types and entities without a type are grey."""
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
    """Return the first entities of `order`, without those whose label would be too near another one to be read."""
    scaled = places / np.maximum(np.ptp(places, axis=0), 1e-12) * [0.3, 1.0]  # names are wide
    chosen: list[int] = []
    for entity in order[: 100 * LABELLED].tolist():
        if len(chosen) < LABELLED and all(np.hypot(*(scaled[entity] - scaled[other])) > APART for other in chosen):
            chosen.append(entity)
    return chosen
