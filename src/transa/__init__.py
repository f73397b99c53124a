"""Knowledge graph embedding with adaptive metrics.

>>> import transa
>>> transa.load("umls")
KnowledgeGraph(135 entities, 46 relations, 5,216 train / 652 valid / 661 test triples)
"""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from transa import forked as _forked  # noqa: F401  (what happens at a fork is known from here on)

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph, load, split_graph
    from transa.errors import InputError, TransaError
    from transa.estimator import Estimator
    from transa.estimators import (
        LFM,
        NTN,
        RESCAL,
        SE,
        SLM,
        UM,
        AdaptiveMetric,
        CTransR,
        PTransE,
        Rules,
        SMEBilinear,
        SMELinear,
        SMETensor,
        TransA,
        TransE,
        TransH,
        TransM,
        TransR,
        load_model,
    )
    from transa.inference import Question
    from transa.training import Callback, Options, Progress, Recipe, tracker
    from transa.tuning import tune

__version__ = "0.1.0"

# Threads that wait for each other should sleep soon and not spin: on a machine that does other work as well, spinning threads take the
# processor from the very thread they wait for, and training becomes ten times slower. OpenMP reads this when it is loaded.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "3000")  # long enough to reach the next phase of a batch

__all__ = [
    "LFM",
    "NTN",
    "RESCAL",
    "SE",
    "SLM",
    "UM",
    "AdaptiveMetric",
    "CTransR",
    "Callback",
    "Estimator",
    "InputError",
    "KnowledgeGraph",
    "Options",
    "PTransE",
    "Progress",
    "Question",
    "Recipe",
    "Rules",
    "SMEBilinear",
    "SMELinear",
    "SMETensor",
    "TransA",
    "TransE",
    "TransH",
    "TransM",
    "TransR",
    "TransaError",
    "__version__",
    "load",
    "load_model",
    "split_graph",
    "tracker",
    "tune",
]

#: Where public names live that are not in `transa.estimators`. A name is imported when first used, so that `import transa` is fast.
_ELSEWHERE = {
    "Callback": "transa.training",
    "InputError": "transa.errors",
    "KnowledgeGraph": "transa.data",
    "Options": "transa.training",
    "Progress": "transa.training",
    "Question": "transa.inference",
    "Recipe": "transa.training",
    "TransaError": "transa.errors",
    "load": "transa.data",
    "split_graph": "transa.data",
    "tracker": "transa.training",
    "tune": "transa.tuning",
}

if not TYPE_CHECKING:  # type checkers read the imports above, and report names that are not there

    def __getattr__(name):
        if (
            name in __all__ or name[:1].isupper()
        ):  # a class may be the estimator of a model that is registered elsewhere
            with suppress(AttributeError):
                return getattr(import_module(_ELSEWHERE.get(name, "transa.estimators")), name)
        raise AttributeError(f"module 'transa' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
