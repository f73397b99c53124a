"""CTransR: TransR with several vectors for each relation, one for each cluster of its pairs.

Lin, Liu, Sun, Liu, Zhu: *Learning Entity and Relation Embeddings for Knowledge Graph Completion*, AAAI 2015.
"""

from __future__ import annotations

import warnings
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from transa.models.base import Rows
from transa.models.transr import TransR

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph

#: Passes of k-means.
PASSES = 50


class CTransR(TransR):
    """``f_r(h, t) = min_c |h M_r + r_c - t M_r|^2``, the least over the relation's clusters c.

    The offsets t - h of a relation's training pairs, from the TransE that is trained first, are clustered by k-means (the paper:
    affinity propagation), and r_c starts as the centre of a cluster. The paper keeps each training pair in its cluster and does not
    say which one an unseen triple takes; here every triple takes the one that fits it best, in training as well. Neighbours: with
    one cluster it is TransR.

    Constraints: those of TransR, and r_c near r and inside the ball, softly: alpha |r_c - r|^2 + [|r_c|^2 - 1]_+.
    Original settings: those of TransR, alpha=0.001.

    Parameters
    ----------
    clusters
        Clusters of a relation, where it has at least twice as many pairs.
    cluster_pull
        alpha.
    relation_dim, norm, root
        As TransR's.
    """

    name = "ctransr"
    label = "CTransR"
    formula = "min_c |h M_r + r_c - t M_r|^2"
    size = "n k + m (d + k d + c d)"
    cost = "2 k d + c d"
    analytic_gradients = False
    translation = ("vector", "centres")
    options = (*TransR.options, "clusters", "cluster_pull")

    def __init__(self, *sizes: int, clusters: int = 4, cluster_pull: float = 0.001, **options: Any) -> None:
        super().__init__(*sizes, **options)  # type: ignore[arg-type]
        self.clusters = clusters
        self.cluster_pull = cluster_pull

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the r_c; a relation with fewer clusters holds some of them twice."""
        return {**super().relation_tables(), "centres": (self.clusters, self.relation_dim)}

    def adapt(self, graph: KnowledgeGraph, seed: int) -> None:
        """Cluster the offsets of each relation's training pairs, in the dimensions that both spaces share."""
        entities = self.entity.vector[:, : self.relation_dim].cpu().numpy()
        width = entities.shape[1]
        for relation in range(self.num_relations):
            heads, _, tails = graph.train[graph.train[:, 1] == relation].T
            offsets = entities[tails] - entities[heads]
            count = min(self.clusters, len(offsets) // 2)
            self.relation.centres[relation] = self.relation.vector[relation]
            if count > 1:
                found = kmeans(offsets, count, np.random.default_rng([seed, relation]))
                repeated = torch.from_numpy(found[np.arange(self.clusters) % count])
                self.relation.centres[relation, :, :width] = repeated.to(self.relation.centres)

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the shortest of the residuals with each r_c."""
        residuals = self.between(head, relation, tail).unsqueeze(-2) + relation.centres
        shortest = self.length(residuals, relation).argmin(-1)
        return torch.take_along_dim(residuals, shortest[..., None, None], -2).squeeze(-2)

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the length of the shortest residual; only lengths are kept for all r_c."""
        between = self.between(head, relation, tail)
        return torch.stack([self.length(between + r, relation) for r in relation.centres.unbind(-2)]).amin(0)

    def excess(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Add how far the centres are from r, and from the ball."""
        pull = self.cluster_pull * (relation.centres - relation.vector).square().sum()
        return super().excess(head, relation, tail) + pull + (relation.centres.square().sum(-1) - 1).clamp(min=0).sum()


def kmeans(points: npt.NDArray[Any], count: int, random: np.random.Generator) -> npt.NDArray[Any]:
    """Return the centres of clusters by k-means++; the centre of a cluster that no point belongs to stays where it was.

    Points are scaled to at most 1, since scipy crashes where the square of a distance overflows. Those that are NaN or infinite have
    no clusters; training will report them.
    """
    from scipy.cluster.vq import kmeans2

    largest = float(np.abs(points).max())
    if not 0 < largest < np.inf:
        return points[:count]
    argument = "rng" if "rng" in signature(kmeans2).parameters else "seed"  # its name before scipy 1.15
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):  # points that are all equal
        warnings.filterwarnings("ignore", "One of the clusters is empty", UserWarning)
        centres = kmeans2(points / largest, count, PASSES, minit="++", **{argument: random})[0]
    scaled: npt.NDArray[Any] = centres * largest
    return scaled
