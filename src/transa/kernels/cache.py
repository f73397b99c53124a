"""Whether kernels are compiled yet.

Numba keeps compiled kernels beside their sources, or in the user's cache where that folder cannot be written.
"""

from __future__ import annotations

from pathlib import Path


def is_compiled(kernel: str) -> bool:
    """Tell whether one of the large kernels (gradient_phase, count_better, best_answers) has been compiled on this machine before."""
    from transa.kernels import ranking, training

    module = training if hasattr(training, kernel) else ranking
    statistics = getattr(getattr(module, kernel), "stats", None)
    if statistics is None:  # the compiler is switched off
        return True
    return any(Path(statistics.cache_path).glob(f"{module.__name__.rpartition('.')[2]}.{kernel}-*.nbi"))
