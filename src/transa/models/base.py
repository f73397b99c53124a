"""What every model is: tables of parameters, and a score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from transa.errors import InputError


class Rows(dict[str, Tensor]):
    """The parameters of some entities or relations, by table: ``rows.vector`` is ``rows["vector"]``."""

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(frozen=True)
class Kernel:
    """How the compiled kernels compute a model's score.

    Attributes
    ----------
    kind
        A code of `transa.kernels.scores` or `transa.kernels.metric`.
    root
        Whether the square root is taken of it.
    """

    kind: int
    root: bool = False


class Model:
    """A model: parameters for each entity and each relation, and a score by which true triples come out lower than false ones.

    A subclass states its tables and its score; training, evaluation, saving and both engines work from these.

    Parameters
    ----------
    num_entities, num_relations
        The sizes of the vocabularies.
    dim
        The dimension k of the vectors.

    Attributes
    ----------
    entity, relation
        The tables: ``model.entity["vector"]`` has a row for each entity.
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    #: Options of the constructor beyond `dim`.
    options: ClassVar[tuple[str, ...]] = ()
    #: Whether triples are scored relation by relation, so that the work is matrix products.
    grouped: ClassVar[bool] = False

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50) -> None:
        if dim < 1:
            raise InputError(f"dim: expected at least 1, found {dim}")
        self.num_entities = num_entities
        self.num_relations = num_relations
        self.dim = dim
        self.entity: Rows = Rows()
        self.relation: Rows = Rows()

    # ------------------------------------------------------------------ what a model states

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of an entity's parameters, by table."""
        return {"vector": (self.dim,)}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of a relation's parameters, by table."""
        return {"vector": (self.dim,)}

    def score(self, head: Rows, relation: Rows, tail: Rows) -> Tensor:
        """Return the dissimilarity of triples: lower is more plausible.

        The parameters come with any leading dimensions that broadcast against each other; the last ones are those of the tables. Of
        a `grouped` model, `relation` is a single one, without leading dimensions.
        """
        raise NotImplementedError

    def kernel(self) -> Kernel | None:
        """Return how the compiled kernels compute the score, or None where they cannot."""
        return None

    # ------------------------------------------------------------------ what all models share

    def initialise(self, seed: int = 0, spread: float | None = None, dtype: torch.dtype = torch.float32) -> Model:
        """Fill the tables: vectors uniform in +-6/sqrt(k) (Bordes et al. 2013) or +-`spread`, the others as the model says."""
        generator = torch.Generator().manual_seed(seed)
        width = 6 / self.dim**0.5 if spread is None else spread
        for rows, tables, count in (
            (self.entity, self.entity_tables(), self.num_entities),
            (self.relation, self.relation_tables(), self.num_relations),
        ):
            for name, shape in tables.items():
                rows[name] = self.start(name, (count, *shape), width, generator).to(dtype)
        return self

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Return the first values of a table."""
        return (torch.rand(shape, generator=generator) * 2 - 1) * width

    def score_triples(self, triples: Tensor) -> Tensor:
        """Return the score of each row of (head, relation, tail) ids."""
        if not self.grouped:
            head, relation, tail = triples.unbind(1)
            return self.score(
                self.gather("entity", head), self.gather("relation", relation), self.gather("entity", tail)
            )
        scores = torch.empty(len(triples), dtype=self.entity.vector.dtype, device=triples.device)
        for relation in torch.unique(triples[:, 1]):
            rows = (triples[:, 1] == relation).nonzero().squeeze(1)
            head, tail = triples[rows, 0], triples[rows, 2]
            one = self.gather("relation", relation)
            scores[rows] = self.score(self.gather("entity", head), one, self.gather("entity", tail))
        return scores

    def gather(self, role: str, ids: Tensor) -> Rows:
        """Return the parameters of some entities or relations."""
        return Rows({name: table[ids] for name, table in getattr(self, role).items()})

    def tensors(self) -> dict[str, Tensor]:
        """Return all tables by their full names, such as ``entity.vector``."""
        return {
            f"{role}.{name}": table for role in ("entity", "relation") for name, table in getattr(self, role).items()
        }

    def load(self, tensors: dict[str, Tensor]) -> Model:
        """Put saved tables in place.

        Raises
        ------
        InputError
            If a table is missing or has another shape than this model's.
        """
        for role, tables, count in (
            ("entity", self.entity_tables(), self.num_entities),
            ("relation", self.relation_tables(), self.num_relations),
        ):
            for name, shape in tables.items():
                found = tensors.get(f"{role}.{name}")
                if found is None or tuple(found.shape) != (count, *shape):
                    what = "nothing" if found is None else tuple(found.shape)
                    raise InputError(f"weights: expected {role}.{name} of shape {(count, *shape)}, found {what}")
                getattr(self, role)[name] = found
        return self

    def to(self, device: torch.device | str) -> Model:
        """Move all tables to a device."""
        for rows in (self.entity, self.relation):
            for name in rows:
                rows[name] = rows[name].to(device)
        return self

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(table.numel() for table in self.tensors().values())

    def __repr__(self) -> str:
        chosen = "".join(f", {option}={getattr(self, option)!r}" for option in self.options)
        return f"{type(self).__name__}({self.num_entities:,} entities, {self.num_relations:,} relations, dim={self.dim}{chosen})"


def check_choice(field: str, value: Any, choices: tuple[Any, ...]) -> None:
    """Raise an `InputError` that names the field if the value is not one of the choices."""
    if value not in choices:
        raise InputError(f"{field}: expected one of {', '.join(map(str, choices))}, found {value!r}")


def square_root(value: Tensor) -> Tensor:
    """Return the square root, 0 (with a finite derivative) where rounding or an indefinite metric left something negative."""
    return torch.sqrt(value.clamp(min=1e-24))
