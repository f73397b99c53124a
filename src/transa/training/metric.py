"""The metric's epoch: W_r from its closed form, then scaled, clipped and shrunk."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from transa.kernels.metric import closed_form, finish_metric
from transa.kernels.purposes import CLOSED_FORM
from transa.kernels.random import stream
from transa.kernels.threads import dealt, one_blas_thread
from transa.models import Model
from transa.training.epoch_batches import EpochBatches
from transa.training.recipe import Recipe

#: Relations that are projected on the PSD cone at a time: the only copies of W_r ever made are of this many.
CHUNK = 64


def update_metric(model: Model, epoch_batches: EpochBatches, recipe: Recipe, number: int) -> None:
    """Replace W_r of every relation that has training triples by its closed form; the others get the prior.

    The closed form is ``sum |e'||e'|^T - sum |e||e|^T`` over a relation's corrupted and true triples, with fresh corruptions, each true
    triple being counted as often as its corruptions are. Without the absolute values it is that of the Adaptive Metric.
    """
    metric = model.relation.metric
    table = metric.cpu()
    raw = table.numpy()
    vectors = torch.cat([model.entity.vector, model.relation.vector]).cpu().numpy()
    triples = epoch_batches.by_relation
    counts = np.diff(triples.offsets)
    psd = model.name == "adaptive_metric"
    with one_blas_thread():
        closed_form(
            triples.triples,
            triples.spans,
            triples.offsets,
            dealt(counts),
            np.uint64(stream(recipe.seed, CLOSED_FORM, number)),
            epoch_batches.corruptor.candidates,
            vectors,
            raw,
            psd,
            recipe.metric_pairs == "violating",
            recipe.margin,
            recipe.metric_negatives,
            recipe.root,
        )
    if psd and recipe.metric_clip:
        for start in range(0, len(table), CHUNK):
            table[start : start + CHUNK] = project_psd(table[start : start + CHUNK])
    scale = 1 / (2 * recipe.metric_penalty) if recipe.metric_scale == "lambda" else 1.0
    columns = recipe.metric_scale == "columns"
    mean = recipe.metric_trace if recipe.metric_scale == "trace" else 0.0
    clip = recipe.metric_clip and not psd
    finish_metric(raw, counts, columns, clip, scale, mean, recipe.shrinkage, recipe.prior == "ones")
    if metric.device.type != "cpu":
        metric.copy_(table)


def project_psd(matrices: Tensor) -> Tensor:
    """Return the nearest positive semi-definite matrices: negative eigenvalues become 0. NaN, where training has failed, stays NaN."""
    try:
        values, vectors = torch.linalg.eigh(matrices)
    except RuntimeError:  # of LAPACK, on NaN or infinity
        return torch.full_like(matrices, torch.nan)
    projected: Tensor = (vectors * values.clamp(min=0).unsqueeze(-2)) @ vectors.transpose(-1, -2)
    return (projected + projected.transpose(-1, -2)) / 2
