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
    from transa.estimators import load_model

__version__ = "0.1.0"

# Threads that wait for each other should soon sleep, not spin: on a machine that does other work as well, spinning threads take the
# processor from the very thread they wait for, and training becomes ten times slower. Read when OpenMP is loaded, hence so early.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # long enough for the next phase of a batch, too short to be in the way

#: Public name -> where it lives. Imported when first used, so that `import transa` and the command line start at once. Beside these
#: there is an estimator for every model, such as `transa.TransA`.
_PUBLIC = {
    "InputError": "transa.errors",
    "KnowledgeGraph": "transa.data",
    "TransaError": "transa.errors",
    "load": "transa.data",
    "load_model": "transa.estimators",
    "split_graph": "transa.data",
}

__all__ = ["InputError", "KnowledgeGraph", "TransaError", "__version__", "load", "load_model", "split_graph"]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    if name[:1].isupper():  # a class, while modules and what Python itself asks for are not
        found = import_module("transa.estimators").ESTIMATORS.get(name)
        if found is not None:
            return found
    raise AttributeError(f"module 'transa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *import_module("transa.estimators").ESTIMATORS]
