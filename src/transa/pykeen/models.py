"""TransA and the Adaptive Metric as models of PyKEEN, for its pipeline and its search for settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import torch
from pykeen.constants import DEFAULT_EMBEDDING_HPO_EMBEDDING_DIM_RANGE
from pykeen.models import ERModel
from pykeen.nn.init import xavier_uniform_, xavier_uniform_norm_
from torch import Tensor
from torch.nn import functional

from transa.models import build
from transa.models.transa import Metric
from transa.pykeen.interactions import AdaptiveMetricInteraction, TransAInteraction


class TransA(ERModel):  # type: ignore[misc]
    """A translation measured by an adaptive metric W_r, which is learned by gradient and kept >= 0.

    Vectors start as those of PyKEEN's TransE and entities keep norm 1, so that the metric is all that differs.

    Parameters
    ----------
    embedding_dim
        The dimension k of the vectors.
    metric, rank, root
        See `transa.models.transa.TransA`. The square root is the default, except for a signed metric, which has none.
    kwargs
        See `pykeen.models.ERModel`.
    """

    hpo_default: ClassVar[Mapping[str, Any]] = {
        "embedding_dim": DEFAULT_EMBEDDING_HPO_EMBEDDING_DIM_RANGE,
        "metric": {"type": "categorical", "choices": ["lowrank", "diagonal", "signed"]},
    }

    def __init__(
        self,
        *,
        embedding_dim: int = 50,
        metric: Metric = "lowrank",
        rank: int = 1,
        root: bool | None = None,
        **kwargs: Any,
    ) -> None:
        rows = embedding_dim if metric == "full" else 1 + rank * metric.endswith("lowrank")
        super().__init__(
            interaction=TransAInteraction,
            interaction_kwargs={"metric": metric, "root": not metric.startswith("signed") if root is None else root},
            entity_representations_kwargs=_entities(embedding_dim),
            relation_representations_kwargs=[
                {"shape": embedding_dim, "initializer": xavier_uniform_norm_},
                {
                    "shape": (rows, embedding_dim),
                    "initializer": partial(_start, metric=metric, rank=rank),
                    "constrainer": None if metric.startswith("signed") else functional.relu,
                },
            ],
            **kwargs,
        )


class AdaptiveMetric(ERModel):  # type: ignore[misc]
    """A translation measured by a positive semi-definite metric W_r = L_r L_r^T; L_r is learned by gradient.

    Parameters
    ----------
    embedding_dim
        The dimension k of the vectors.
    root
        Score with the square root of the form.
    kwargs
        See `pykeen.models.ERModel`.
    """

    hpo_default: ClassVar[Mapping[str, Any]] = {
        "embedding_dim": DEFAULT_EMBEDDING_HPO_EMBEDDING_DIM_RANGE,
        "root": {"type": bool},
    }

    def __init__(self, *, embedding_dim: int = 50, root: bool = True, **kwargs: Any) -> None:
        super().__init__(
            interaction=AdaptiveMetricInteraction,
            interaction_kwargs={"root": root},
            entity_representations_kwargs=_entities(embedding_dim),
            relation_representations_kwargs=[
                {"shape": embedding_dim, "initializer": xavier_uniform_norm_},
                {"shape": (embedding_dim, embedding_dim), "initializer": partial(_start, metric="full", rank=0)},
            ],
            **kwargs,
        )


def _entities(dim: int) -> dict[str, Any]:
    return {"shape": dim, "initializer": xavier_uniform_, "constrainer": functional.normalize}


def _start(values: Tensor, metric: Metric, rank: int) -> Tensor:
    """Return the first values of metrics, those of our own model."""
    model = build("transa", 0, len(values), values.shape[-1], metric=metric, rank=rank)
    return model.start("metric", tuple(values.shape), 1.0, torch.default_generator)
