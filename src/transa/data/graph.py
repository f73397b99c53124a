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
from transa.data.indexing import index_names, united, vocabulary_of
from transa.data.name_notes import notes_on_names
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

SPLITS: tuple[Split, ...] = ("train", "valid", "test")
#: How many training triples a notebook shows.
FIRST = 5
Triples = npt.NDArray[np.int32]
Labels = npt.NDArray[np.int8]


def _no_triples() -> Triples:
    return np.empty((0, 3), dtype=np.int32)


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
    valid: Triples = field(default_factory=_no_triples)
    test: Triples = field(default_factory=_no_triples)
    valid_labels: Labels | None = None
    test_labels: Labels | None = None
    notes: tuple[str, ...] = ()
    name: str | None = None

    def __post_init__(self) -> None:
        bounds = (len(self.entities), len(self.relations), len(self.entities))
        for split in SPLITS:
            triples = _frozen(_id_rows(getattr(self, split), split))
            wrong = np.argwhere((triples < 0) | (triples >= bounds))
            if len(wrong):
                row, column = wrong[0]
                raise InputError(
                    f"{split}: the {('head', 'relation', 'tail')[column]} id {triples[row, column]} is out of range "
                    f"(expected 0 to {bounds[column] - 1:,})",
                    line=int(row) + 1,
                    unit="row",
                )
            object.__setattr__(self, split, triples)
        for split in ("valid", "test"):
            labels = getattr(self, f"{split}_labels")
            if labels is not None:
                labels = np.asarray(labels)
                if labels.shape != (len(getattr(self, split)),) or not np.isin(labels, (1, -1)).all():
                    raise InputError(f"{split}: expected a label of 1 or -1 for each triple")
                object.__setattr__(self, f"{split}_labels", _frozen(labels.astype(np.int8, copy=False)))

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
        return cls.from_tables(_tables((train, valid, test)))

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
        return cls.from_tables(_tables((train, valid, test), columns, labelled))

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
        splits = [_no_triples() if ids is None else _id_rows(np.array(ids), split) for split, ids in given]
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
        present = [split for split in SPLITS if split in tables]
        sides = [side for split in present for side in (tables[split].heads, tables[split].tails)]
        entities, entity_ids = index_names(sides, listed)
        relations, relation_ids = index_names([tables[split].relations for split in present], ())
        triples: dict[Split, Triples] = {}
        labels: dict[Split, Labels | None] = {}
        notes: list[str] = []
        for position, split in enumerate(present):
            table = tables[split]
            columns = (entity_ids[2 * position], relation_ids[position], entity_ids[2 * position + 1])
            triples[split] = np.stack(columns, axis=1) if len(table) else _no_triples()
            labels[split] = table.labels
            notes += table.notes
        last_to_first = [tables[split] for split in reversed(present)]  # names in train replace those in valid and test
        names = {key: name for table in last_to_first for key, name in table.names.items()}
        descriptions = {key: text for table in last_to_first for key, text in table.descriptions.items()}
        types, domains, ranges = (
            united([getattr(table, kind) for table in tables.values()]) for kind in ("types", "domains", "ranges")
        )
        return cls(
            Vocabulary(entities).described(names, descriptions).typed(types=types),
            Vocabulary(relations).described(names, descriptions).typed(domains=domains, ranges=ranges),
            triples.get("train", _no_triples()),
            triples.get("valid", _no_triples()),
            triples.get("test", _no_triples()),
            valid_labels=labels.get("valid"),
            test_labels=labels.get("test"),
            notes=(*notes, *notes_on_names(entities, relations)),
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
            and all(_same_labels(getattr(self, name), getattr(other, name)) for name in ("valid_labels", "test_labels"))
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
        return KnownFacts(np.concatenate([_no_triples(), *rows]), len(self.entities), len(self.relations))

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


def _tables(
    sources: Sequence[Any], columns: Sequence[str] | None = None, labelled: Sequence[str] | None = None
) -> dict[Split, TripleTable]:
    """Return train, valid and test as tables; `labelled` are the columns of valid and test."""
    tables: dict[Split, TripleTable] = {}
    for split, source in zip(SPLITS, sources, strict=True):
        if source is not None:
            table = TripleTable.of(source, columns if split == "train" else labelled)
            if split == "train" and not len(table):
                raise InputError("train: there is no triple")
            tables[split] = table.trainable() if split == "train" else table
    return tables


def _frozen(array: npt.NDArray[Any]) -> Any:
    array = np.ascontiguousarray(array).view()  # so that the caller's own array stays writeable
    array.flags.writeable = False
    return array


def _id_rows(values: npt.ArrayLike, split: Split) -> Triples:
    array = np.asarray(values)
    if not array.size:
        return _no_triples()
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"{split}: expected whole numbers, found {array.dtype}; names go to from_triples")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InputError(f"{split}: expected rows of 3 ids, found an array of shape {array.shape}")
    limits = np.iinfo(np.int32)
    for extreme in (int(array.min()), int(array.max())):
        if not limits.min <= extreme <= limits.max:
            raise InputError(f"{split}: the id {extreme} is out of range (ids are 32-bit numbers)")
    return array.astype(np.int32, copy=False)


def _same_labels(left: Labels | None, right: Labels | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)
