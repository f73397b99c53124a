"""Where compiled kernels are kept."""

from __future__ import annotations

import os
from pathlib import Path


def use_writable_cache() -> None:
    """Keep compiled kernels beside the sources, or in the user's cache where the package's folder cannot be written."""
    here = Path(__file__).resolve().parent / "__pycache__"
    writable = os.access(here if here.exists() else here.parent, os.W_OK)
    if not writable and "NUMBA_CACHE_DIR" not in os.environ:
        import platformdirs

        os.environ["NUMBA_CACHE_DIR"] = str(Path(platformdirs.user_cache_dir("transa", appauthor=False)) / "kernels")


def is_compiled() -> bool:
    """Tell whether training kernels have been compiled on this machine before."""
    given = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(given) if given else Path(__file__).resolve().parent / "__pycache__"
    return any(folder.rglob("training.gradient_phase-*.nbi"))
