"""Triple classification: a triple is true where its score is below its relation's threshold."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

from transa.data.graph import Labels, Triples
from transa.models import Model

#: Triples that are scored at a time.
CHUNK = 8192


def scores_of(model: Model, triples: Triples) -> npt.NDArray[np.float64]:
    """Return the score of each triple."""
    ids = torch.from_numpy(triples.astype(np.int64)).to(model.entity.vector.device)
    with torch.no_grad():
        parts = [model.score_triples(ids[start : start + CHUNK]) for start in range(0, len(ids), CHUNK)]
    return np.concatenate([part.double().cpu().numpy() for part in parts]) if parts else np.empty(0)


def best_threshold(scores: npt.NDArray[np.float64], labels: Labels) -> tuple[float, int]:
    """Return the threshold under which the most triples are classified rightly, and how many these are.

    Candidates lie half-way between neighbouring scores, below all and above all; of equally good ones the lowest is taken.
    """
    order = np.argsort(scores, kind="stable")
    ordered, signs = scores[order], labels[order].astype(np.int64)
    right = np.concatenate([[0], np.cumsum(signs)]) + int((labels == -1).sum())
    borders = np.concatenate([[True], ordered[1:] > ordered[:-1], [True]])  # no border between equal scores
    best = int(np.argmax(np.where(borders, right, -1)))
    if best == 0:
        return float(np.nextafter(ordered[0], -np.inf)) if len(ordered) else 0.0, int(right[0])
    if best == len(ordered):
        return float(np.nextafter(ordered[-1], np.inf)), int(right[-1])
    return float((ordered[best - 1] + ordered[best]) / 2), int(right[best])


def accuracy(model: Model, triples: Triples, labels: Labels) -> float:
    """Return the accuracy on labelled triples with the thresholds that are best on these very ones: for validation only."""
    scores = scores_of(model, triples)
    right = 0
    for relation in np.unique(triples[:, 1]):
        rows = triples[:, 1] == relation
        right += best_threshold(scores[rows], labels[rows])[1]
    return right / max(len(triples), 1)
