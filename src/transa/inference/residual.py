"""How a score comes from the dimensions of a model: residuals, and the parts that add up to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.data.graph import Triples
from transa.models import Model, Rows
from transa.models.adaptive_metric import AdaptiveMetric
from transa.models.ctransr import CTransR
from transa.models.decomposition import Decomposition
from transa.models.se import SE
from transa.models.transa import TransA
from transa.models.transe import TransE
from transa.models.transh import TransH
from transa.models.transm import TransM
from transa.models.transr import TransR
from transa.models.um import UM

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """What each dimension adds to the score of a triple.

    Attributes
    ----------
    what
        What the dimensions are of, and what their parts add up to.
    values
        The value of each dimension: of the residual, or of the head's vector where a model has none.
    shares
        What it adds.
    total
        What the parts add up to.
    """

    what: str
    values: Values
    shares: Values
    total: float


@dataclass(frozen=True, eq=False)
class Transformed:
    """A score |e|^T W_r |e| in the dimensions of W_r = L D L^T.

    Attributes
    ----------
    pivots
        The dimension of e that each transformed dimension belongs to; see `transa.models.decomposition.Decomposition`.
    values
        L^T |e|, or L^T e for a model that takes no absolute value.
    weights
        The diagonal of D. A weight can be negative: W_r has no negative entries, but may have negative eigenvalues.
    shares
        What each transformed dimension adds to f_r: its weight times its squared value.
    total
        f_r.
    """

    pivots: npt.NDArray[np.int64]
    values: Values
    weights: Values
    shares: Values
    total: float


def rows_of(model: Model, triple: Triples) -> tuple[Rows, Rows, Rows]:
    """Return the parameters of head, relation and tail of a triple of shape (1, 3), in double precision."""
    head, relation, tail = triple[0].tolist()
    found = []
    for role, each in (("entity", head), ("relation", relation), ("entity", tail)):
        rows = getattr(model, role)
        found.append(Rows({name: table[each].detach().double().cpu() for name, table in rows.items()}))
    return found[0], found[1], found[2]


def residual(model: Model, head: Rows, relation: Rows, tail: Rows) -> Tensor | None:
    """Return the vector whose length is the score, or None where the score of a model is no length."""
    if isinstance(model, UM):
        return head.vector - tail.vector
    if isinstance(model, SE):
        return relation.head @ head.vector - relation.tail @ tail.vector
    if isinstance(model, CTransR):
        e = (head.vector - tail.vector) @ relation.matrix + relation.centres
        return e[int(torch.linalg.vector_norm(e, ord=model.norm, dim=-1).argmin())]
    if isinstance(model, TransR):
        return (head.vector - tail.vector) @ relation.matrix + relation.vector
    if isinstance(model, TransA | AdaptiveMetric | TransE | TransH):
        e = head.vector + relation.vector - tail.vector
        if isinstance(model, TransH):
            e = e - (relation.normal @ (head.vector - tail.vector)) * relation.normal
        return e
    return None


def metric_of(model: Model, relation: int) -> Values | None:
    """Return W_r, symmetric, or None where a model has none."""
    if isinstance(model, TransA):
        one = TransA(0, 1, model.dim, model.metric, max(model.rank, 1), model.root)
        one.relation["metric"] = model.relation.metric[relation : relation + 1].detach().double().cpu()
        matrix = one.matrices()[0].numpy()
    elif isinstance(model, AdaptiveMetric):
        matrix = model.relation.metric[relation].detach().double().cpu().numpy()
    else:
        return None
    symmetric: Values = (matrix + matrix.T) / 2
    return symmetric


def parts(model: Model, triple: Triples) -> Parts:
    """Return what each dimension adds to the score of a triple of shape (1, 3)."""
    head, relation, tail = rows_of(model, triple)
    e = residual(model, head, relation, tail)
    if e is None:
        return _by_gradient(model, head, relation, tail)
    values = e.numpy()
    metric = metric_of(model, int(triple[0, 1]))
    if metric is not None:
        values = np.abs(values) if isinstance(model, TransA) else values
        shares, what = values * (metric @ values), "|h + r - t|" if isinstance(model, TransA) else "h + r - t"
        return Parts(f"the residual {what}; parts add up to f_r", values, shares, float(shares.sum()))
    norm = 2 if isinstance(model, UM) else int(getattr(model, "norm", 2))
    weight = float(relation.weight) if isinstance(model, TransM) else 1.0
    shares = np.abs(values) * weight if norm == 1 else np.square(values) * weight**2
    total = "its L1 norm, the score" if norm == 1 else "its squared L2 norm"
    return Parts(f"the residual; parts add up to {total}", values, shares, float(shares.sum()))


def _by_gradient(model: Model, head: Rows, relation: Rows, tail: Rows) -> Parts:
    """Return head times gradient: for a score that is linear in the head, parts that add up to it."""
    leaf = head.vector.clone().requires_grad_()
    kept = model.shared
    model.shared = Rows({name: table.detach().double().cpu() for name, table in kept.items()})
    try:
        one = relation if model.grouped else Rows({name: table.unsqueeze(0) for name, table in relation.items()})
        heads = Rows({**{name: table.unsqueeze(0) for name, table in head.items()}, "vector": leaf.unsqueeze(0)})
        tails = Rows({name: table.unsqueeze(0) for name, table in tail.items()})
        model.score(heads, one, tails).sum().backward()  # type: ignore[no-untyped-call]
    finally:
        model.shared = kept
    assert leaf.grad is not None  # noqa: S101
    values = head.vector.numpy()
    shares: Values = values * leaf.grad.numpy()
    what = (
        "the head's vector; parts are its entries times the score's gradient, the score itself where it is linear in h"
    )
    return Parts(what, values, shares, float(shares.sum()))


def transformed(model: Model, triple: Triples) -> Transformed | None:
    """Return the score in the dimensions of W_r = L D L^T, or None where a model has no metric."""
    metric = metric_of(model, int(triple[0, 1]))
    if metric is None:
        return None
    e = residual(model, *rows_of(model, triple))
    assert e is not None  # noqa: S101
    found = Decomposition.of(metric)
    values = found.transformed(np.abs(e.numpy()) if isinstance(model, TransA) else e.numpy())
    shares = found.weights * np.square(values)
    return Transformed(found.pivots, values, found.weights, shares, float(shares.sum()))
