"""TransH: a relation is a translation on a hyperplane.

Wang, Zhang, Feng, Chen: *Knowledge Graph Embedding by Translating on Hyperplanes*, AAAI 2014.
"""

from __future__ import annotations

import torch
from torch import Tensor

from transa.kernels.codes import TILT
from transa.models.algebra import dot
from transa.models.base import Kernel, Rows
from transa.models.residual_model import ResidualModel


class TransH(ResidualModel):
    """``f_r(h, t) = |h_w + r - t_w|^2`` with ``e_w = e - (w_r . e) w_r``: e projected on the hyperplane with unit normal w_r.

    The relation does not see along w_r: entities that differ in this direction alone can all be its answers, without being forced
    together.
    Neighbours: TransE has no hyperplane (w_r = 0); TransR has a matrix in place of the projection.

    Constraints: |w_r| = 1 after every step; r on the hyperplane, softly: [(w_r . r)^2 / |r|^2 - epsilon^2]_+ with epsilon = 0.1 for
    each positive of a batch, times C (`soft_penalty`); |e| <= 1 (`entity_norm`), where the paper has another soft term.
    Original settings: k=50 to 100, learning rate 0.001 to 0.01, margin 0.25 to 2, C 0.015625 to 1.

    Parameters
    ----------
    norm, root
        2: the squared L2 norm, as printed, or with `root` the L2 norm; 1: the L1 norm.
    """

    name = "transh"
    label = "TransH"
    formula = "|(h - (w_r . h) w_r) + r - (t - (w_r . t) w_r)|^2"
    size = "n k + 2 m k"
    cost = "3 k"
    options = ("norm", "root")
    constraints = {"relation.normal": "unit"}  # noqa: RUF012

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Add the normal w_r."""
        return {"vector": (self.dim,), "normal": (self.dim,)}

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Start normals in random directions."""
        values = super().start(table, shape, 1.0 if table == "normal" else width, generator)
        return values / torch.linalg.vector_norm(values, dim=1, keepdim=True) if table == "normal" else values

    def residual(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the translated difference on the hyperplane."""
        normal = relation.normal
        along = dot(normal, head.vector) - dot(normal, tail.vector)
        return super().residual(head, relation, tail) - along.unsqueeze(-1) * normal

    def excess(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return how far r leaves the hyperplane."""
        r = relation.vector
        cosine = dot(relation.normal, r).square() / dot(r, r).clamp(min=1e-12)
        return (cosine - TILT**2).clamp(min=0)

    def kernel(self) -> Kernel:
        """Return the kernel of the norm; it finds the normals."""
        return Kernel("hyperplane_l1" if self.norm == 1 else "hyperplane_l2" if self.root else "hyperplane_squared_l2")
