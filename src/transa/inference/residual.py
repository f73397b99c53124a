"""What each dimension adds to a score."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from torch import Tensor

from transa.data.graph import Triples
from transa.models import Model, Rows
from transa.models.decomposition import Decomposition

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Parts:
    """What each dimension adds to the score of a triple.

    Attributes
    ----------
    what
        In words: which vector has these dimensions, and what their parts add up to.
    values
        The entries of the residual, or of the head's vector if the model has no residual.
    shares
        What each of them adds.
    total
        The sum of the shares.
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


def exact_rows(model: Model, role: str, ids: int | npt.NDArray[np.int64]) -> Rows:
    """Return the parameters of one or more entities or relations, in double precision."""
    return Rows({name: table[ids].detach().double().cpu() for name, table in getattr(model, role).items()})


def rows_of(model: Model, triple: Triples) -> tuple[Rows, Rows, Rows]:
    """Return the parameters of head, relation and tail of a triple of shape (1, 3), in double precision."""
    head, relation, tail = triple[0].tolist()
    return exact_rows(model, "entity", head), exact_rows(model, "relation", relation), exact_rows(model, "entity", tail)


def parts(model: Model, triple: Triples) -> Parts:
    """Return what each dimension adds to the score of a triple of shape (1, 3); a model without vectors has no dimensions."""
    if not model.has_vectors:
        return Parts("no dimensions: rules alone", np.empty(0), np.empty(0), 0.0)
    head, relation, tail = rows_of(model, triple)
    model = copy(model)
    model.shared = Rows({name: table.detach().double().cpu() for name, table in model.shared.items()})
    residual = model.residual(head, relation, tail)
    if residual is None:
        return _by_gradient(model, head, relation, tail)
    shares: Values = model.parts(residual, relation).numpy()
    values, what = _weighed(model, residual)
    total = "the square of the score" if model.root else "the score"
    total += " before biases" * model.biases + " in this direction" * model.directional
    return Parts(f"{what}; parts add up to {total}", values, shares, float(shares.sum()))


def _weighed(model: Model, residual: Tensor) -> tuple[Values, str]:
    """Return the residual as a metric weighs it, and what that is called."""
    values: Values = residual.numpy()
    if model.metric_rules is not None and model.metric_rules.absolute:
        return np.abs(values), "absolute values of the residual"
    return values, "the residual"


def _by_gradient(model: Model, head: Rows, relation: Rows, tail: Rows) -> Parts:
    """Return the head's entries times their gradients: they add up to the score if it is linear in the head."""
    leaf = head.vector.clone().requires_grad_()
    one = relation if model.grouped else Rows({name: table.unsqueeze(0) for name, table in relation.items()})
    heads = Rows({**{name: table.unsqueeze(0) for name, table in head.items()}, "vector": leaf.unsqueeze(0)})
    tails = Rows({name: table.unsqueeze(0) for name, table in tail.items()})
    model.score(heads, one, tails).sum().backward()  # type: ignore[no-untyped-call]
    assert leaf.grad is not None  # noqa: S101
    values = head.vector.numpy()
    shares: Values = values * leaf.grad.numpy()
    what = (
        "the head's vector; parts are its entries times the score's gradient, and add up to a score that is linear in h"
    )
    return Parts(what, values, shares, float(shares.sum()))


def transformed(model: Model, triple: Triples) -> Transformed | None:
    """Return the score in the dimensions of W_r = L D L^T, or None where a model has no metric."""
    metric = model.metric_matrix(int(triple[0, 1]))
    residual = model.residual(*rows_of(model, triple))
    if metric is None or residual is None:
        return None
    found = Decomposition.of(metric)
    values = found.transformed(_weighed(model, residual)[0])
    shares = found.weights * np.square(values)
    return Transformed(found.pivots, values, found.weights, shares, float(shares.sum()))
