"""What all pictures share: colours that colour-blind readers can tell apart, markers, fonts, and how a picture becomes a file."""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from transa.data.result_files import check_target
from transa.errors import TransaWarning
from transa.storage import atomic_file

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Formats a picture can have.
SUFFIXES = (".png", ".svg", ".pdf")

#: Okabe and Ito's colours. Nothing is told by colour alone: markers and hatches differ too.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"

#: How matched and unmatched entities are drawn, as in the paper: crosses in navy, circles in red.
MATCHED: dict[str, Any] = {"marker": "x", "color": "#00429D", "s": 34, "linewidths": 1.6, "zorder": 4}
UNMATCHED: dict[str, Any] = {
    "marker": "o",
    "facecolors": "none",
    "edgecolors": RED,
    "s": 26,
    "linewidths": 1.1,
    "zorder": 3,
}

#: Half the width of a mark in pixels: names keep off it.
MARK = 3.5

_SETTINGS: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "transa",  # the same picture gives the same file
    "svg.fonttype": "none",  # letters stay letters, so that they can be searched and selected
}

#: Fonts with the letters that matplotlib's own lacks; those that are installed stand in for them.
_WIDER = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Hiragino Sans",
    "PingFang SC",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Nirmala UI",
    "Noto Sans Arabic",
    "Noto Sans Hebrew",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Arial Unicode MS",
)


def _fonts() -> list[str]:
    """Return matplotlib's font and the wider ones that are installed."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _WIDER if name in installed)]


@contextmanager
def _letters() -> Iterator[None]:
    """Say once which letters no font has, in place of matplotlib's warning about each."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    missing: dict[str, None] = {}
    for each in caught:
        found = re.match(r"Glyph (\d+) ", str(each.message))
        if found:
            missing[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    if missing:
        warnings.warn(
            f"no font here has {''.join(list(missing)[:20])}: boxes stand for it, except in .svg files, which keep letters as text",
            TransaWarning,
            stacklevel=2,
        )


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure (inches) of the common style; what is drawn inside the block follows it."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with _letters(), mpl.rc_context({**_SETTINGS, "font.family": _fonts()}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: Figure, target: Path, *, overwrite: bool = False) -> Path:
    """Write a figure to a .png, .svg or .pdf file; to be called inside its `drawing`."""
    check_target(target, SUFFIXES, overwrite=overwrite)
    kind = target.suffix.lower()[1:]
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with atomic_file(target, overwrite=overwrite) as file:
        figure.savefig(file, format=kind, dpi=200, metadata=undated)
    return target


def literal(text: str) -> str:
    """Return a text as matplotlib shows it literally: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


def shortened(name: str, width: int = 28) -> str:
    """Return a name that fits beside a point: its first words, and of a path such as Freebase's relations the last part."""
    if name.startswith("/"):
        name = name.rstrip("/").rpartition("/")[2] or name
    name = name.replace("_", " ").strip() or name
    return literal(name if len(name) <= width else textwrap.shorten(name, width, placeholder="…") or name[:width] + "…")


def place_labels(
    figure: Figure, axes: Axes, points: npt.NDArray[np.float64], texts: Sequence[str], *, limit: int = 8
) -> list[str]:
    """Write names beside points where there is room, in the order given, and return those that were written.

    A name is tried on eight sides of its point; where it would cover another name, leave the axes or lie on a point, it is left out.

    Parameters
    ----------
    figure, axes
        Where; their layout is made final for this.
    points
        Positions of all points, of which the first ones have the names.
    texts
        Names of the first points.
    limit
        At most this many names.
    """
    from matplotlib.patheffects import withStroke

    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    frame = axes.get_window_extent()
    pixels = axes.transData.transform(points)
    taken: list[Any] = []
    written: list[str] = []
    sides = [("left", 1), ("right", -1), ("center", 0)]
    for point, text in zip(points, texts, strict=False):
        if len(written) == limit:
            break
        for (align, right), up in ((side, up) for up in (0, 1, -1) for side in sides if up or side[1]):
            label = axes.annotate(
                text,
                (float(point[0]), float(point[1])),
                (6.0 * right, (4.0 if right else 6.0) * up),
                textcoords="offset points",
                ha=align,
                va={0: "center", 1: "bottom", -1: "top"}[up],
                fontsize=7,
                color="#222222",
                zorder=6,
                path_effects=[withStroke(linewidth=1.8, foreground="white")],  # lines may pass below
            )
            label.set_in_layout(False)
            box = label.get_window_extent()
            inside = box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1
            x, y = pixels[:, 0], pixels[:, 1]
            near_x = (x > box.x0 - MARK) & (x < box.x1 + MARK)
            near_y = (y > box.y0 - MARK) & (y < box.y1 + MARK)
            if inside and not (near_x & near_y).any() and not any(box.overlaps(other) for other in taken):
                taken.append(box.padded(2))
                written.append(text)
                break
            label.remove()
    return written
