"""The metric's round: W_r from its closed form, then scaled, clipped and shrunk."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from transa.kernels.metric import closed_form
from transa.kernels.random import stream
from transa.models import Model
from transa.training.recipe import Recipe
from transa.training.rounds import CLOSED_FORM, ByRelation, Rounds
from transa.training.threads import one_blas_thread

#: Relations that are finished at a time: the only copies of W_r ever made are of this many.
CHUNK = 64


def update_metric(model: Model, rounds: Rounds, recipe: Recipe, number: int) -> None:
    """Replace W_r of every relation that has training triples by its closed form; the others get the prior.

    The closed form is ``sum |e'||e'|^T - sum |e||e|^T`` over a relation's corrupted and true triples, with fresh corruptions, each true
    triple being counted as often as its corruptions are. Without the absolute values it is that of the Adaptive Metric.
    """
    metric = model.relation.metric
    place = metric.device
    table = metric.cpu()
    vectors = torch.cat([model.entity.vector, model.relation.vector]).cpu().numpy()
    sorted_ = ByRelation.of(rounds)
    counts = np.diff(sorted_.offsets)
    facts = rounds.corruptor.facts
    with one_blas_thread():
        closed_form(
            sorted_.triples,
            sorted_.spans,
            sorted_.offsets,
            np.argsort(-counts, kind="stable"),
            np.uint64(stream(recipe.seed, CLOSED_FORM, number)),
            rounds.corruptor.head_probability,
            facts.num_entities,
            facts.heads.answers,
            facts.tails.answers,
            vectors,
            table.numpy(),
            model.name == "adaptive_metric",
            recipe.metric_pairs == "violating",
            recipe.margin,
            recipe.metric_negatives,
            recipe.root,
        )
    sizes = torch.from_numpy(counts).to(table.dtype)
    for start in range(0, len(table), CHUNK):
        part = slice(start, start + CHUNK)
        table[part] = finish(table[part], sizes[part], recipe)
    if place.type != "cpu":
        metric.copy_(table)


def finish(raw: Tensor, counts: Tensor, recipe: Recipe) -> Tensor:
    """Scale, clip and shrink closed forms (relations, k, k) of relations with the given numbers of triples."""
    size = raw.shape[-1]
    identity = torch.eye(size, dtype=raw.dtype)
    prior = identity if recipe.prior == "identity" else torch.ones_like(identity)
    if recipe.metric_scale == "columns":
        metric = raw + identity
        metric = metric / torch.linalg.vector_norm(metric, dim=-2, keepdim=True).clamp(min=1e-12)
        metric = (metric + metric.transpose(-1, -2)) / 2  # f_r sees the symmetric part alone
    else:
        metric = _clip(raw, recipe)
        if recipe.metric_scale == "lambda":
            metric = metric / (2 * recipe.metric_penalty)
        elif recipe.metric_scale == "trace":
            trace = metric.diagonal(dim1=-2, dim2=-1).sum(-1)
            metric = metric * (size / trace.clamp(min=1e-12)).reshape(-1, 1, 1)
            metric = torch.where((trace > 1e-12).reshape(-1, 1, 1), metric, prior)
    weight = (counts / (counts + recipe.shrinkage).clamp(min=1e-12)).reshape(-1, 1, 1)
    return torch.where((counts > 0).reshape(-1, 1, 1), weight * metric + (1 - weight) * prior, prior)


def _clip(metric: Tensor, recipe: Recipe) -> Tensor:
    if not recipe.metric_clip:
        return metric
    if recipe.model == "transa":
        return metric.clamp(min=0)
    values, vectors = torch.linalg.eigh(metric)
    projected: Tensor = (vectors * values.clamp(min=0).unsqueeze(-2)) @ vectors.transpose(-1, -2)
    return (projected + projected.transpose(-1, -2)) / 2
