"""W_r from its closed form after an epoch: summed, scaled, clipped and mixed with the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.kernels.arguments import Array
from transa.kernels.purposes import CLOSED_FORM
from transa.kernels.threads import dealt, one_blas_thread
from transa.models import Model
from transa.training.recipe import Recipe

if TYPE_CHECKING:
    from transa.training.epoch_batches import EpochBatches

#: How many W_r are projected on the PSD cone at a time; only these are copied.
CHUNK = 64


def update_metric(
    model: Model, epoch_batches: EpochBatches, recipe: Recipe, number: int, groups: Array | None = None
) -> None:
    """Set the W_r of every relation to its closed form; relations without training triples get the prior.

    With `groups`, a number for each relation, W_r is shrunk to the mean of the other relations of its group instead of the prior.

    The closed form is ``sum |e'||e'|^T - sum |e||e|^T`` over a relation's corrupted and true triples, with fresh corruptions. A true
    triple counts once for each of its corruptions. If W_r weighs e and not |e|, there are no absolute values.
    """
    # these load the compiler, which takes a while
    from transa.kernels.closed_form import ClosedForm, closed_form
    from transa.kernels.random import stream

    rules = model.metric_rules
    if rules is None or not rules.closed_form:
        raise ValueError(f"the metric of {model!r} has no closed form")
    metric = model.relation.metric
    table = metric.cpu()
    raw = table.numpy()
    vectors = torch.cat([model.entity.vector, model.relation.vector]).cpu().numpy()
    triples = epoch_batches.by_relation
    counts = np.diff(triples.offsets)
    violating = recipe.metric_pairs == "violating"
    with one_blas_thread():
        closed_form(
            ClosedForm(rules.absolute, violating, recipe.margin, model.root, recipe.metric_negatives),
            triples,
            dealt(counts),
            stream(recipe.seed, CLOSED_FORM, number),
            epoch_batches.corruptor.candidates,
            vectors,
            raw,
        )
    finish(table, counts, model, recipe, groups)
    if metric.device.type != "cpu":
        metric.copy_(table)


def finish(
    table: Tensor, counts: npt.NDArray[np.int64], model: Model, recipe: Recipe, groups: Array | None = None
) -> None:
    """Turn the sums of the closed form into metrics, in place: scale, clip and mix with the prior.

    `table` and `counts` hold the sum and the number of triples of each relation; see `update_metric` for `groups`.
    """
    from transa.kernels.closed_form import finish_metric  # loads the compiler, which takes a while

    rules, raw = model.metric_rules, table.numpy()
    assert rules is not None  # noqa: S101
    if recipe.metric_clip and rules.clip == "eigenvalues":
        for start in range(0, len(table), CHUNK):
            table[start : start + CHUNK] = project_psd(table[start : start + CHUNK])
    scale = 1 / (2 * recipe.metric_penalty) if recipe.metric_scale == "lambda" else 1.0
    columns = recipe.metric_scale == "columns"
    mean = recipe.metric_trace if recipe.metric_scale == "trace" else 0.0
    clip = recipe.metric_clip and rules.clip == "entries"
    if groups is None:
        finish_metric(raw, counts, columns, clip, scale, mean, recipe.shrinkage, recipe.prior == "ones")
    else:
        finish_metric(raw, counts, columns, clip, scale, mean, 0.0, recipe.prior == "ones")
        prior = np.zeros_like(raw[:1])  # what a relation without triples gets
        finish_metric(prior, np.zeros(1, counts.dtype), columns, clip, scale, mean, 0.0, recipe.prior == "ones")
        shrink_to_groups(raw, counts, groups, recipe.shrinkage, prior[0])


def shrink_to_groups(metrics: Array, counts: Array, groups: Array, shrinkage: float, prior: Array) -> None:
    """Mix each W_r, in place, with the mean of the other relations of its group, weighted by their triples.

    A relation whose group has no other with triples is mixed with the prior. n_r triples weigh n_r, the mean weighs `shrinkage`.
    """
    for group in np.unique(groups):
        members = np.flatnonzero(groups == group)
        weights = counts[members].astype(np.float64)
        total = np.einsum("r,rij->ij", weights, metrics[members])
        mixed = []
        for relation, weight in zip(members, weights, strict=True):
            others = weights.sum() - weight
            goal = (total - weight * metrics[relation]) / others if others > 0 else prior
            mixed.append((weight * metrics[relation] + shrinkage * goal) / (weight + shrinkage))
        metrics[members] = np.stack(mixed)


def project_psd(matrices: Tensor) -> Tensor:
    """Return the nearest positive semi-definite matrices: negative eigenvalues become 0. NaN and infinity give NaN."""
    try:
        values, vectors = torch.linalg.eigh(matrices)
    except RuntimeError:  # LAPACK fails on NaN or infinity
        return torch.full_like(matrices, torch.nan)
    projected: Tensor = (vectors * values.clamp(min=0).unsqueeze(-2)) @ vectors.transpose(-1, -2)
    return (projected + projected.transpose(-1, -2)) / 2
