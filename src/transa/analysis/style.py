"""What all pictures share: colours that colour-blind readers can tell apart, markers, fonts, and how a picture becomes a file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transa.evaluation.tables import check_target
from transa.storage import atomic_file

if TYPE_CHECKING:
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

_SETTINGS = {
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


@contextmanager
def drawing(width: float, height: float) -> Iterator[Figure]:
    """Yield an empty figure (inches) of the common style; what is drawn inside the block follows it."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with mpl.rc_context(_SETTINGS):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: Figure, target: Path, *, overwrite: bool = False) -> Path:
    """Write a figure to a .png, .svg or .pdf file."""
    import matplotlib as mpl

    check_target(target, SUFFIXES, overwrite=overwrite)
    kind = target.suffix.lower()[1:]
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with mpl.rc_context(_SETTINGS), atomic_file(target, overwrite=overwrite) as file:
        figure.savefig(file, format=kind, dpi=200, metadata=undated)
    return target


def literal(text: str) -> str:
    """Return a text as matplotlib shows it literally: a dollar sign would start a formula."""
    return text.replace("$", r"\$")


def shortened(name: str, width: int = 28) -> str:
    """Return a name that fits beside a point: what stands between slashes or words in the middle gives way."""
    if "/" in name:
        name = name.rstrip("/").rpartition("/")[2] or name
    name = name.replace("_", " ").strip() or name
    return literal(name if len(name) <= width else textwrap.shorten(name, width, placeholder="…") or name[:width] + "…")
