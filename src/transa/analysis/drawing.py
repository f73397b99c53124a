"""What all pictures share: the check for matplotlib, colours, fonts, and the way from a figure to a file.

matplotlib comes with the extra ``transa[plot]``. It is imported only inside `drawing` and the functions that use it.
"""

from __future__ import annotations

import re
import textwrap
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from transa.data.result_files import check_target
from transa.errors import InputError, TransaWarning
from transa.readable import one_line, short
from transa.storage import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Formats a picture can have.
SUFFIXES = (".png", ".svg", ".pdf")

#: What to say where matplotlib is not installed.
NEEDS_MATPLOTLIB = "pictures need matplotlib: pip install 'transa[plot]'"

#: Okabe and Ito's colours, which colour-blind readers can tell apart. Markers and hatches differ too, so that colour is never all.
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#666666"

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

#: Fonts with letters that matplotlib's own font lacks; those that are installed are used for them.
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


def can_draw() -> bool:
    """Tell whether matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def check_picture(target: Path, *, overwrite: bool = False) -> None:
    """Raise an `InputError` where a picture cannot be drawn or written; call this before the work that the picture shows."""
    if not can_draw():
        raise InputError(NEEDS_MATPLOTLIB)
    check_target(target, SUFFIXES, overwrite=overwrite)


@contextmanager
def drawing(target: Path, width: float, height: float, *, overwrite: bool = False) -> Iterator[Figure]:
    """Yield an empty figure in the common style, and write it to a file at the end of the block.

    Parameters
    ----------
    target
        A .png, .svg or .pdf file.
    width, height
        The size of the figure in inches.
    overwrite
        Whether to replace a file that is there.
    """
    check_picture(target, overwrite=overwrite)
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    kind = target.suffix.lower()[1:]
    undated: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with _missing_letters(), mpl.rc_context({**_SETTINGS, "font.family": _fonts()}):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure
        with atomic_file(target, overwrite=overwrite) as file:
            figure.savefig(file, format=kind, dpi=200, metadata=undated)


def literal(text: str) -> str:
    """Return a text that matplotlib shows as it is: an unescaped dollar sign would start a formula."""
    return text.replace("$", r"\$")


def shortened(name: str, width: int = 28) -> str:
    """Return a name that fits beside a point: its first words, and only the last part of an IRI or of a path such as Freebase's."""
    name = short(name)
    if name.startswith("/"):
        name = name.rstrip("/").rpartition("/")[2] or name
    name = one_line(name.replace("_", " ").strip() or name)
    if len(name) > width:
        words = textwrap.shorten(name, width, placeholder="…")
        name = words if len(words) > width // 2 else f"{name[: width - 1]}…"  # the first word may be too long
    return literal(name)


def _fonts() -> list[str]:
    """Return matplotlib's font and the wider ones that are installed."""
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    return ["DejaVu Sans", *(name for name in _WIDER if name in installed)]


@contextmanager
def _missing_letters() -> Iterator[None]:
    """Replace matplotlib's warnings, one for each letter without a font, by a single one."""
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
