"""PyKEEN and this package side by side: TransA in PyKEEN, models trained by PyKEEN here. It needs the extra `pykeen`.

Whoever imports this package can say ``pipeline(model="TransA", ...)``: its models and interactions are in PyKEEN's resolvers.
"""

from __future__ import annotations

from transa.frames import needed

needed("pykeen", "transa.pykeen", "'transa[pykeen]'")

from pykeen.models import model_resolver  # noqa: E402
from pykeen.nn.modules import interaction_resolver  # noqa: E402

from transa.data.sources.pykeen import graph_of  # noqa: E402
from transa.pykeen.factories import factories_of  # noqa: E402
from transa.pykeen.interactions import AdaptiveMetricInteraction, TransAInteraction  # noqa: E402
from transa.pykeen.models import AdaptiveMetric, TransA  # noqa: E402
from transa.pykeen.opening import open_model  # noqa: E402

__all__ = [
    "AdaptiveMetric",
    "AdaptiveMetricInteraction",
    "TransA",
    "TransAInteraction",
    "factories_of",
    "graph_of",
    "open_model",
]

for _resolver, _classes in (
    (model_resolver, (TransA, AdaptiveMetric)),
    (interaction_resolver, (TransAInteraction, AdaptiveMetricInteraction)),
):
    for _class in _classes:
        _resolver.register(_class, raise_on_conflict=False)
