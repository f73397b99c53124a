"""The tables of a model: its parameters by entity, by relation and for all together, and how they start, are saved and loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import torch
from torch import Tensor

from transa.errors import InputError

if TYPE_CHECKING:
    from transa.models.text_map import WordMap
    from transa.models.type_penalty import TypePenalty
    from transa.rules import Evidence

#: What a model has parameters for: each entity, each relation, all together.
ROLES = ("entity", "relation", "shared")
#: The full name of `Model.loop_free` among the tables.
LOOP_FREE = "relation.loop_free"
#: What the names of what `Model.evidence`, `Model.penalty` and `Model.words` keep begin with among the tables.
EVIDENCE, PENALTY, WORDS = "evidence.", "penalty.", "words."


class Rows(dict[str, Tensor]):
    """The parameters of some entities or relations, by table: ``rows.vector`` is ``rows["vector"]``."""

    def __getattr__(self, name: str) -> Tensor:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


class Tables:
    """Parameters for each entity, for each relation and for all of them.

    Parameters
    ----------
    num_entities, num_relations
        The sizes of the vocabularies; of a directional model, twice as many relations as the graph has.
    dim
        The dimension k of the vectors.

    Attributes
    ----------
    entity, relation
        The tables: ``model.entity["vector"]`` has a row for each entity.
    shared
        Tables that belong to no entity or relation, as they are.
    loop_free
        Whether an entity is no answer to itself, for each relation of the graph (`transa.models.loop_prior`); None without this prior.
    evidence
        The rules that count beside the score, or instead of one; None without rules.
    penalty
        What answers whose types do not fit a relation cost; None without this penalty.
    words
        Where the words of texts put entities; None if no text did.
    """

    #: Whether relations have parameters of their own for each direction: with m relations in the graph, row r of their tables answers
    #: (h, r, ?), and row r + m answers (?, r, t), as the tails of (t, r + m, ?). `transa.training.Recipe.build_model` sets it.
    directional: bool = False

    def __init__(self, num_entities: int, num_relations: int, dim: int = 50) -> None:
        if dim < 1:
            raise InputError(f"dim: expected at least 1, found {dim}")
        self.num_entities = num_entities
        self.num_relations = num_relations
        self.dim = dim
        self.entity: Rows = Rows()
        self.relation: Rows = Rows()
        self.shared: Rows = Rows()
        self.loop_free: Tensor | None = None
        self.evidence: Evidence | None = None
        self.penalty: TypePenalty | None = None
        self.words: WordMap | None = None

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of an entity's parameters, by table."""
        return {"vector": (self.dim,)}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of a relation's parameters, by table."""
        return {"vector": (self.dim,)}

    def shared_tables(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the parameters that belong to no entity or relation; `score` finds them in `self.shared`."""
        return {}

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of all tables by their full names, such as ``entity.vector``."""
        return {
            **{f"entity.{name}": (self.num_entities, *shape) for name, shape in self.entity_tables().items()},
            **{f"relation.{name}": (self.num_relations, *shape) for name, shape in self.relation_tables().items()},
            **{f"shared.{name}": shape for name, shape in self.shared_tables().items()},
        }

    def initialise(self, seed: int = 0, init_range: float | None = None, dtype: torch.dtype = torch.float32) -> Self:
        """Fill the tables: vectors uniform in +-6/sqrt(k) (Bordes et al. 2013) or +-`init_range`, the others as the model says."""
        generator = torch.Generator().manual_seed(seed)
        width = 6 / self.dim**0.5 if init_range is None else init_range
        for full, shape in self.shapes().items():
            role, name = full.split(".")
            getattr(self, role)[name] = self.start(name, shape, width, generator).to(dtype)
        return self

    def start(self, table: str, shape: tuple[int, ...], width: float, generator: torch.Generator) -> Tensor:
        """Return the first values of a table."""
        return (torch.rand(shape, generator=generator) * 2 - 1) * width

    @property
    def graph_relations(self) -> int:
        """The number of relations of the graph: of a directional model, half of those that have parameters."""
        return self.num_relations // 2 if self.directional else self.num_relations

    def gather(self, role: str, ids: Tensor) -> Rows:
        """Return the parameters of some entities or relations."""
        return Rows({name: table[ids] for name, table in getattr(self, role).items()})

    def tensors(self) -> dict[str, Tensor]:
        """Return all tables by their full names, such as ``entity.vector``, and the loop prior if there is one."""
        tables = {f"{role}.{name}": table for role in ROLES for name, table in getattr(self, role).items()}
        if self.loop_free is not None:
            tables[LOOP_FREE] = self.loop_free
        if self.evidence is not None:
            tables |= {EVIDENCE + name: torch.from_numpy(array) for name, array in self.evidence.arrays().items()}
        if self.penalty is not None:
            tables |= {PENALTY + name: table for name, table in self.penalty.tensors().items()}
        if self.words is not None:
            tables |= {WORDS + name: table for name, table in self.words.tensors().items()}
        return tables

    def load(self, tensors: dict[str, Tensor]) -> Self:
        """Put saved tables in place, and the loop prior if it was saved.

        Raises
        ------
        InputError
            If a table is missing, has another shape than this model's, or holds other numbers than of 32 or 64 bits.
        """
        for full, shape in self.shapes().items():
            found = tensors.get(full)
            if found is None or tuple(found.shape) != shape:
                what = "nothing" if found is None else tuple(found.shape)
                raise InputError(f"weights: expected {full} of shape {shape}, found {what}")
            if found.dtype not in (torch.float32, torch.float64) or found.dtype != tensors["entity.vector"].dtype:
                raise InputError(f"weights: expected {full} in float32 or float64, as all tables, found {found.dtype}")
            role, name = full.split(".")
            getattr(self, role)[name] = found
        prior = tensors.get(LOOP_FREE)
        size = self.graph_relations
        if prior is not None and (prior.dtype != torch.bool or tuple(prior.shape) != (size,)):
            what = f"{prior.dtype} {tuple(prior.shape)}"
            raise InputError(f"weights: expected {LOOP_FREE} in bool of shape ({size},), found {what}")
        # a file from someone else may hold other bytes than 0 and 1
        self.loop_free = None if prior is None else prior.view(torch.uint8) != 0
        arrays = {name.removeprefix(EVIDENCE): table.numpy() for name, table in tensors.items() if EVIDENCE in name}
        if arrays:
            from transa.rules import Evidence  # loads the compiler, which takes a while

            self.evidence = Evidence.of_arrays(arrays, self.num_entities, self.graph_relations)
        penalty = {name.removeprefix(PENALTY): table for name, table in tensors.items() if name.startswith(PENALTY)}
        if penalty:
            from transa.models.type_penalty import TypePenalty

            self.penalty = TypePenalty.of_tensors(penalty, self.num_entities, self.graph_relations)
        words = {name.removeprefix(WORDS): table for name, table in tensors.items() if name.startswith(WORDS)}
        if words:
            from transa.models.text_map import WordMap

            self.words = WordMap.of_tensors(words, self)
        return self

    def to(self, device: torch.device | str) -> Self:
        """Move all tables to a device."""
        for role in ROLES:
            rows = getattr(self, role)
            for name in rows:
                rows[name] = rows[name].to(device)
        self.loop_free = None if self.loop_free is None else self.loop_free.to(device)
        return self

    @property
    def has_company(self) -> bool:
        """Whether rules or a type penalty count beside the score."""
        return self.evidence is not None or self.penalty is not None

    @property
    def device(self) -> torch.device:
        """Where the tables are."""
        return next((table.device for table in self.entity.values()), torch.device("cpu"))

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return sum(table.numel() for role in ROLES for table in getattr(self, role).values())
