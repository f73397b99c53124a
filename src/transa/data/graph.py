"""The knowledge graph: the triples of each split as ids, and the vocabularies that name the ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.choices import Split as Split
from transa.data.ids import SPLITS as SPLITS
from transa.data.ids import Labels as Labels
from transa.data.ids import Triples as Triples
from transa.data.ids import checked_labels, checked_triples, id_rows, no_triples, same_labels
from transa.data.indexing import index_tables, tables_of, vocabulary_of
from transa.data.triple_table import TripleTable
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError
from transa.frames import pandas_frame, polars_frame
from transa.readable import graph_size
from transa.table import Table

if TYPE_CHECKING:
    from transa.data.facts import KnownFacts
    from transa.data.statistics import GraphStatistics
    from transa.data.types import Types

#: How many training triples a notebook shows.
FIRST = 5


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeGraph:
    """An immutable knowledge graph.

    Attributes
    ----------
    entities, relations
        The vocabularies.
    train, valid, test
        Rows of (head, relation, tail) ids, int32, read-only, in the order of the source, repeated lines included.
    valid_labels, test_labels
        1 (true) or -1 (false) for each row, if the source has labels.
    notes
        What a user should know about how the graph was read. No part of equality.
    name
        The dataset's name in the registry (``"fb15k"``) where the graph was loaded by name. No part of equality, and not saved.

    See Also
    --------
    transa.load : from a file, a folder or a dataset's name.
    KnowledgeGraph.from_triples : from names held in Python.
    KnowledgeGraph.from_frame : from a frame with columns of any names.
    KnowledgeGraph.from_networkx, KnowledgeGraph.from_rdflib : from graphs of these libraries.
    KnowledgeGraph.from_ids : from arrays of ids.
    """

    entities: Vocabulary
    relations: Vocabulary
    train: Triples
    valid: Triples = field(default_factory=no_triples)
    test: Triples = field(default_factory=no_triples)
    valid_labels: Labels | None = None
    test_labels: Labels | None = None
    notes: tuple[str, ...] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        sizes = len(self.entities), len(self.relations)
        for split in SPLITS:
            object.__setattr__(self, split, checked_triples(getattr(self, split), split, *sizes))
        for split in SPLITS[1:]:
            labels = checked_labels(self.labels(split), split, len(self.triples(split)))
            object.__setattr__(self, f"{split}_labels", labels)

    # ------------------------------------------------------------------ building

    @classmethod
    def from_triples(cls, train: Any, valid: Any = None, test: Any = None) -> KnowledgeGraph:
        """Build a graph from names.

        Parameters
        ----------
        train, valid, test
            Each a list of ``(head, relation, tail)`` or ``(head, relation, tail, label)``, an array of strings, or a pandas,
            polars or Arrow frame with columns of usual names (``head``, ``relation``, ``tail``, ``label``), or else with these columns
            in this order; a note of the graph says which were taken.

        Raises
        ------
        InputError
            If train holds no triple, a value is missing or a row is wrong.

        Examples
        --------
        >>> KnowledgeGraph.from_triples([("ada", "knows", "bob"), ("bob", "knows", "eve")])
        KnowledgeGraph(3 entities, 1 relation, 2 train / 0 valid / 0 test triples)
        """
        return cls.from_tables(tables_of((train, valid, test)))

    @classmethod
    def from_frame(
        cls,
        train: Any,
        valid: Any = None,
        test: Any = None,
        *,
        head: str = "head",
        relation: str = "relation",
        tail: str = "tail",
        label: str | None = None,
    ) -> KnowledgeGraph:
        """Build a graph from frames whose columns have names of the user's own.

        Parameters
        ----------
        train, valid, test
            Each a pandas, polars or Arrow frame.
        head, relation, tail
            What the columns are called. A column ``head_type`` beside a column ``head`` holds types, as in files.
        label
            The column of labels in valid and test, 1 or -1, if there is one.

        Examples
        --------
        >>> import pyarrow as pa
        >>> drugs = pa.table({"drug": ["aspirin", "warfarin"], "gene": ["PTGS1", "VKORC1"], "how": ["inhibits", "inhibits"]})
        >>> KnowledgeGraph.from_frame(drugs, head="drug", relation="how", tail="gene")
        KnowledgeGraph(4 entities, 1 relation, 2 train / 0 valid / 0 test triples)
        """
        columns = (head, relation, tail)
        labelled = columns if label is None else (*columns, label)
        return cls.from_tables(tables_of((train, valid, test), columns, labelled))

    @classmethod
    def from_networkx(cls, network: Any, relation: str | None = "relation") -> KnowledgeGraph:
        """Build a graph from a directed NetworkX graph: nodes become entities, edges training triples.

        Parameters
        ----------
        network
            Its nodes may have the attributes name, description and types (a list). Those without an edge are entities too.
        relation
            The attribute of an edge that names its relation; None: the keys of a multigraph name them.
        """
        from transa.data.exchange import table_of_network

        table, nodes = table_of_network(network, relation)
        return cls.from_tables({"train": table}, nodes)

    @classmethod
    def from_rdflib(cls, statements: Any) -> KnowledgeGraph:
        """Build a graph from an rdflib graph, as from a file of RDF: labels, comments and types are kept, other literals skipped."""
        from transa.data.exchange import table_of_rdflib

        return cls.from_tables({"train": table_of_rdflib(statements)})

    @classmethod
    def from_ids(
        cls,
        train: npt.ArrayLike,
        valid: npt.ArrayLike | None = None,
        test: npt.ArrayLike | None = None,
        *,
        entities: Vocabulary | Iterable[str] | int | None = None,
        relations: Vocabulary | Iterable[str] | int | None = None,
        valid_labels: npt.ArrayLike | None = None,
        test_labels: npt.ArrayLike | None = None,
    ) -> KnowledgeGraph:
        """Build a graph from arrays of (head, relation, tail) ids.

        Parameters
        ----------
        train, valid, test
            Whole numbers of shape (n, 3).
        entities, relations
            Vocabularies, names in the order of their ids, or how many there are. By default there is one more than the largest id,
            and each is called by its number.
        valid_labels, test_labels
            1 or -1 for each triple.
        """
        given = zip(SPLITS, (train, valid, test), strict=True)
        splits = [no_triples() if ids is None else id_rows(np.array(ids), split) for split, ids in given]
        together = np.concatenate(splits)
        return cls(
            vocabulary_of("entities", entities, together[:, [0, 2]]),
            vocabulary_of("relations", relations, together[:, 1]),
            splits[0],
            splits[1],
            splits[2],
            valid_labels=None if valid_labels is None else np.array(valid_labels),
            test_labels=None if test_labels is None else np.array(test_labels),
        )

    @classmethod
    def from_tables(cls, tables: dict[Split, TripleTable], listed: Sequence[str] = ()) -> KnowledgeGraph:
        """Build a graph from named triples.

        The id of a name is its position in sorted order, whatever the order of lines.

        Parameters
        ----------
        tables
            The triples of each split; no row of train is labelled false.
        listed
            Further entities, whether they occur in triples or not.
        """
        found = index_tables(tables, listed)
        return cls(
            found.entities,
            found.relations,
            found.triples.get("train", no_triples()),
            found.triples.get("valid", no_triples()),
            found.triples.get("test", no_triples()),
            valid_labels=found.labels.get("valid"),
            test_labels=found.labels.get("test"),
            notes=found.notes,
        )

    # ------------------------------------------------------------------ looking

    def __len__(self) -> int:
        return sum(len(getattr(self, split)) for split in SPLITS)

    def __repr__(self) -> str:
        sizes = " / ".join(f"{len(getattr(self, split)):,} {split}" for split in SPLITS)
        return f"KnowledgeGraph({graph_size(len(self.entities), len(self.relations))}, {sizes} triples)"

    def _repr_html_(self) -> str:
        named = zip((self.entities, self.relations, self.entities), self.train[:FIRST].T.tolist(), strict=True)
        columns = [[vocabulary.name(each) for each in ids] for vocabulary, ids in named]
        return Table(repr(self), ("head", "relation", "tail"), tuple(zip(*columns, strict=True)))._repr_html_()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnowledgeGraph):
            return NotImplemented
        return (
            self.entities == other.entities
            and self.relations == other.relations
            and all(np.array_equal(getattr(self, split), getattr(other, split)) for split in SPLITS)
            and all(same_labels(getattr(self, name), getattr(other, name)) for name in ("valid_labels", "test_labels"))
        )

    __hash__ = None  # type: ignore[assignment]

    def triples(self, split: Split) -> Triples:
        """Return all rows of a split."""
        triples: Triples = getattr(self, split)
        return triples

    def labels(self, split: Split) -> Labels | None:
        """Return the labels of a split, or None if it has none."""
        labels: Labels | None = None if split == "train" else getattr(self, f"{split}_labels")
        return labels

    def positives(self, split: Split) -> Triples:
        """Return the rows of a split that are not labelled false."""
        labels = self.labels(split)
        return self.triples(split) if labels is None else self.triples(split)[labels == 1]

    def named(self, split: Split) -> pa.Table:
        """Return a split as an Arrow table with columns head, relation and tail, and label if there are labels."""
        columns = {
            name: vocabulary.keys.take(pa.array(ids))
            for name, vocabulary, ids in zip(
                ("head", "relation", "tail"),
                (self.entities, self.relations, self.entities),
                self.triples(split).T,
                strict=True,
            )
        }
        labels = self.labels(split)
        if labels is not None:
            columns["label"] = pa.array(labels)
        return pa.table(columns)

    def to_pandas(self, split: Split = "train") -> Any:
        """Return a split as a pandas data frame with the columns of `named`."""
        return pandas_frame(self.named(split))

    def to_polars(self, split: Split = "train") -> Any:
        """Return a split as a Polars data frame with the columns of `named`."""
        return polars_frame(self.named(split))

    def to_networkx(self, split: Split = "train") -> Any:
        """Return a `networkx.MultiDiGraph` of all entities and the triples of a split; `from_networkx` takes it back.

        The key of an edge is its relation, so that a repeated triple is one edge.
        """
        from transa.data.exchange import network_of

        return network_of(self, split)

    def to_rdflib(self, split: Split = "train") -> Any:
        """Return an `rdflib.Graph` of a split, with labels, comments and types; `from_rdflib` takes it back."""
        from transa.data.exchange import rdflib_of

        return rdflib_of(self, split)

    def known(self, *splits: Split) -> KnownFacts:
        """Index the true triples of the given splits, by default all of them."""
        from transa.data.facts import KnownFacts

        chosen = [self.positives(split) for split in (splits or SPLITS)]
        return KnownFacts(np.concatenate(chosen), len(self.entities), len(self.relations))

    def denied(self) -> KnownFacts:
        """Index the triples that are labelled false, in any split."""
        from transa.data.facts import KnownFacts

        rows = [self.triples(split)[labels == -1] for split in SPLITS if (labels := self.labels(split)) is not None]
        return KnownFacts(np.concatenate([no_triples(), *rows]), len(self.entities), len(self.relations))

    @cached_property
    def training_facts(self) -> KnownFacts:
        """The index of the training triples, which corruption rejects."""
        return self.known("train")

    @cached_property
    def types(self) -> Types | None:
        """The types of entities and of the sides of relations, or None if the graph has none."""
        from transa.data.types import Types

        return Types.given(self)

    def statistics(self) -> GraphStatistics:
        """Count entities, triples and relations, and the test triples that leak from train."""
        from transa.data.statistics import GraphStatistics

        return GraphStatistics.of(self)

    # ------------------------------------------------------------------ changing and keeping

    def with_notes(self, *notes: str) -> KnowledgeGraph:
        """Return the same graph with more notes."""
        return replace(self, notes=(*self.notes, *notes))

    def with_inverses(self) -> KnowledgeGraph:
        """Return a graph that also asks for heads as for tails: with m relations, (h, r, t) of train is there as (t, r + m, h) too.

        The inverse of ``r`` is called ``r⁻¹``. Valid and test stay as they are.
        """
        inverses = self.train[:, ::-1] + np.array([0, len(self.relations), 0], dtype=np.int32)
        return replace(self, relations=self.relations.with_inverses(), train=np.concatenate([self.train, inverses]))

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the graph to a folder of Parquet files that `transa.load` reads back id for id."""
        from transa.data.writing import write

        return write(self, path, format="parquet", overwrite=overwrite)


def required(graph: object) -> KnowledgeGraph:
    """Return a graph as it is; raise an `InputError` that says how to make one if it is something else."""
    if isinstance(graph, KnowledgeGraph):
        return graph
    made = "load reads one" if isinstance(graph, str | os.PathLike) else "KnowledgeGraph.from_triples makes one"
    raise InputError(f"expected a KnowledgeGraph, found {type(graph).__name__}; transa.{made}")
