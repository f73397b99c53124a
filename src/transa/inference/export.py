"""Files for other programs: the vectors and metrics of a model, or the facts that it predicts with their scores."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from transa.data.result_files import check_target
from transa.errors import InputError, quote
from transa.frames import needed
from transa.inference.check import Checks
from transa.inference.names import relation_rows
from transa.inference.trained import Trained
from transa.storage import atomic_file

#: Suffixes of files that hold parameters, and of those that hold predicted facts.
VECTORS, FACTS = (".parquet", ".npz", ".txt", ".vec"), (".nt", ".ttl")

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
DOUBLE = "http://www.w3.org/2001/XMLSchema#double"

_SPACE = re.compile(r"\s+")


def export(trained: Trained, path: Path, *, facts: Checks | None = None, overwrite: bool = False) -> Path:
    """Write a model to a file; the suffix tells the format.

    The relations of a directional model are followed by their inverses, which answer questions about heads.

    ====================== =====================================================================================================
    ``.parquet``           a row for each entity and relation: kind, id, key, name, vector, and for relations metric (W_r by rows)
    ``.npz``               all tables by their full names, and the keys as ``entities`` and ``relations``; for NumPy
    ``.txt``, ``.vec``     vectors of entities as word2vec text; white space in keys becomes ``_``
    ``.nt``, ``.ttl``      `facts` as reified RDF statements, with ``urn:transa:score`` and ``urn:transa:probability``
    ====================== =====================================================================================================

    Parameters
    ----------
    trained
        The model and its names.
    path
        The file.
    facts
        What `transa.inference.discover` found, for RDF.
    overwrite
        Whether the file may replace another.
    """
    check_target(path, VECTORS + FACTS, overwrite=overwrite)
    suffix = path.suffix.lower()
    if suffix in FACTS and facts is None:
        raise InputError("RDF holds predicted facts, and none were given", path=path)
    if suffix in FACTS:
        needed("pyoxigraph", "RDF", "'transa[rdf]'")  # before the file is opened
    words = _words(trained, path) if suffix in (".txt", ".vec") else []
    with atomic_file(path, overwrite=overwrite) as file:
        if suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(parameter_table(trained), file)
        elif suffix == ".npz":
            _write_npz(trained, file)
        elif facts is not None and suffix in FACTS:
            _write_rdf(facts, file, suffix)
        else:
            _write_word2vec(trained, words, file)
    return path


def parameter_table(trained: Trained) -> pa.Table:
    """Return vectors and metrics as an Arrow table, a row for each entity and relation."""
    trained.model.need_vectors("export")
    model = trained.model
    rows: dict[str, list[Any]] = {name: [] for name in ("kind", "id", "key", "name", "vector", "metric")}
    for kind, vocabulary, tables in (
        ("entity", trained.graph.entities, model.entity),
        ("relation", relation_rows(model, trained.graph), model.relation),
    ):
        size = len(vocabulary)
        rows["kind"] += [kind] * size
        rows["id"] += range(size)
        rows["key"] += vocabulary.keys.to_pylist()
        rows["name"] += [vocabulary.name(each) for each in range(size)]
        vectors = tables.get("vector")
        rows["vector"] += [None] * size if vectors is None else list(vectors.detach().float().cpu().numpy())
        metrics = [None] * size if kind == "entity" else [model.metric_matrix(each) for each in range(size)]
        rows["metric"] += [None if metric is None else metric.astype(np.float32).ravel() for metric in metrics]
    numbers = pa.list_(pa.float32())
    kinds = {"kind": pa.string(), "id": pa.int64(), "key": pa.string(), "name": pa.string(), "vector": numbers}
    return pa.table({name: pa.array(column, {**kinds, "metric": numbers}[name]) for name, column in rows.items()})


def _write_npz(trained: Trained, file: BinaryIO) -> None:
    trained.model.need_vectors("export")
    arrays = {name: table.detach().cpu().numpy() for name, table in trained.model.tensors().items()}
    keys = {
        name: np.array(vocabulary.keys.to_pylist(), dtype=np.str_)
        for name, vocabulary in (
            ("entities", trained.graph.entities),
            ("relations", relation_rows(trained.model, trained.graph)),
        )
    }
    np.savez_compressed(file, allow_pickle=False, **arrays, **keys)


def _words(trained: Trained, path: Path) -> list[str]:
    """Return the keys of the entities with ``_`` in the place of white space."""
    trained.model.need_vectors("export")
    words: dict[str, str] = {}
    for key in trained.graph.entities:
        word = _SPACE.sub("_", key)
        if word in words:
            raise InputError(f"{quote(words[word])} and {quote(key)} would be the same word; use .npz", path=path)
        words[word] = key
    return list(words)


def _write_word2vec(trained: Trained, words: list[str], file: BinaryIO) -> None:
    vectors = trained.model.entity.vector.detach().double().cpu().numpy()
    text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
    text.write(f"{len(vectors)} {vectors.shape[1]}\n")
    for word, vector in zip(words, vectors, strict=True):
        text.write(f"{word} {' '.join(f'{value:.9g}' for value in vector)}\n")
    text.detach()


def _write_rdf(facts: Checks, file: BinaryIO, suffix: str) -> None:
    import pyoxigraph as rdf

    from transa.data.oxigraph import SCHEME, serialize, term

    def statements() -> Iterator[rdf.Triple]:
        for number, fact in enumerate(facts.checked, start=1):
            node = rdf.BlankNode(f"prediction{number}")
            yield rdf.Triple(node, rdf.NamedNode(f"{RDF}type"), rdf.NamedNode(f"{RDF}Statement"))
            yield rdf.Triple(node, rdf.NamedNode(f"{RDF}subject"), term(fact.head))
            yield rdf.Triple(node, rdf.NamedNode(f"{RDF}predicate"), term(fact.relation, blank=False))
            yield rdf.Triple(node, rdf.NamedNode(f"{RDF}object"), term(fact.tail))
            for name, value in (("score", fact.score), ("probability", fact.probability)):
                if value is not None:
                    literal = rdf.Literal(repr(value), datatype=rdf.NamedNode(DOUBLE))
                    yield rdf.Triple(node, rdf.NamedNode(f"{SCHEME}{name}"), literal)

    serialize(statements(), file, suffix)
