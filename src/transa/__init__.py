"""Knowledge graph embedding with adaptive metrics.

>>> import transa
>>> transa.load("umls")
KnowledgeGraph(135 entities, 46 relations, 5,216 train / 652 valid / 661 test triples)
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph, load, split_graph
    from transa.errors import InputError, TransaError
    from transa.estimators import UM, AdaptiveMetric, TransA, TransE, TransM

__version__ = "0.1.0"

# Threads that wait for each other should soon sleep, not spin: on a machine that does other work as well, spinning threads take the
# processor from the very thread they wait for, and training becomes ten times slower. Read when OpenMP is loaded, hence so early.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # long enough for the next phase of a batch, too short to be in the way

#: Public name -> where it lives. Imported when first used, so that `import transa` and the command line start at once.
_PUBLIC = {
    "AdaptiveMetric": "transa.estimators",
    "InputError": "transa.errors",
    "KnowledgeGraph": "transa.data",
    "TransA": "transa.estimators",
    "TransE": "transa.estimators",
    "TransM": "transa.estimators",
    "TransaError": "transa.errors",
    "UM": "transa.estimators",
    "load": "transa.data",
    "split_graph": "transa.data",
}

__all__ = [
    "UM",
    "AdaptiveMetric",
    "InputError",
    "KnowledgeGraph",
    "TransA",
    "TransE",
    "TransM",
    "TransaError",
    "__version__",
    "load",
    "split_graph",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'transa' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return __all__
