"""Whether kernels are compiled yet.

Numba keeps compiled kernels beside their sources, or in the user's cache where that folder cannot be written.
"""

from __future__ import annotations

from pathlib import Path


def is_compiled() -> bool:
    """Tell whether training kernels have been compiled on this machine before."""
    from transa.kernels.training import gradient_phase

    return any(Path(gradient_phase.stats.cache_path).glob("training.gradient_phase-*.nbi"))
