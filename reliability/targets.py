"""What is fuzzed: every reader of the package, each with whole files from which broken ones are made.

A target is a folder of whole files, the names of those that are broken in turn, and a function that reads the folder. What it may
raise is a `TransaError`; what it returns must be usable.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from reliability.mutation import dumps, mutate, mutate_json, with_header
from transa.data import KnowledgeGraph, load, write
from transa.errors import TransaError
from transa.training.recipe_files import load_recipe

#: A file with what it is made from.
Broken = Callable[[Random, bytes], bytes]

TSV = 'ada\tknows\tbob\nbob\tknows\teve\neve\tlives in\tBérlin\n"a ""quoted"" name"\tlives in\tŌsaka\n'.encode()
CSV = b'head,relation,tail,label\nada,knows,bob,1\n"bob, the","knows",eve,1\neve,knows,"two\nlines",1\n'
LABELLED = b"ada\tknows\tbob\t1\nbob\tknows\tada\t1\neve\tlives in\tbob\t1\n"
JSON_LINES = (
    '{"head": "ada", "relation": "knows", "tail": "Bérlin", "label": 1}\n'
    '{"head": 7, "relation": "r", "tail": "\\ud83e\\udd89", "label": "1"}\n'
).encode()
N_TRIPLES = (
    b"<http://a/x> <http://a/p> <http://a/y> .\n_:b <http://a/p> <http://a/x> .\n"
    b'<http://a/x> <http://www.w3.org/2000/01/rdf-schema#label> "X"@en .\n<http://a/y> <http://a/q> <urn:transa:a%20b> .\n'
)
TURTLE = b"""@prefix a: <http://a/> .
@base <http://b/> .
a:x a:p a:y , [ a:q ( a:x a:y 1 "two"@en true ) ] ; a a:T .
<y> a:p \"\"\"long
text\"\"\"^^a:t .
"""
QUADS = b"<http://a/x> <http://a/p> <http://a/y> <http://a/g> .\n<http://a/y> <http://a/p> _:z .\n"
TRIG = b"@prefix a: <http://a/> .\na:g { a:x a:p a:y . }\nGRAPH a:h { a:y a:p [] }\na:z a:p a:x .\n"
XML = b"""<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE rdf:RDF [<!ENTITY a "http://a/">]>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:a="http://a/" xml:base="http://b/">
<rdf:Description rdf:about="&a;x"><a:p rdf:resource="#y"/><a:q xml:lang="en">text</a:q>
<a:r><a:T rdf:nodeID="n"/></a:r><a:s rdf:parseType="Collection"><a:U/></a:s></rdf:Description>
</rdf:RDF>
"""
RDF_TOKENS = (
    b"<http://a/x>",
    b"_:b",
    b"<<",
    b">>",
    b"<<(",
    b")>>",
    b"@prefix",
    b"^^",
    b"[",
    b"(",
    b"\\u0000",
    b"\\uD800",
    b"&a;",
    b"<!ENTITY",
    b"GRAPH",
)
RECIPE = b'model = "transe"\ndim = 4\nlearning_rate = 0.1\nnorm = 1\nepochs = 2\nloss = "margin"\nseed = 3\n'
QUESTIONS = b"head,relation,tail\ne0,next,\n,far,e3\ne1,,e2\n"


#: How many inputs each target gets, relative to the others: what is slow gets less.
SHARES = {
    **dict.fromkeys(("train.tsv", "train.csv", "train.txt", "train.jsonl"), 1.0),
    "train.tsv.gz": 2.0,
    "train.tsv.zst": 2.0,
    "inside.csv.gz": 0.5,
    "train.parquet": 1.5,
    "schema.parquet": 0.5,
    **dict.fromkeys(("train.nt", "train.ttl", "train.nq", "train.trig", "train.rdf"), 2.0),
    "folder of openke": 1.0,
    "folder of tsv": 0.3,
    "folder of parquet": 0.3,
    "run: config": 0.3,
    "run: weights": 0.5,
    "run: graph": 0.2,
    "run: calibration": 0.05,
    "run: resume": 0.05,
    "recipe": 2.0,
    "questions": 2.0,
    "questions.parquet": 1.0,
}


@dataclass(frozen=True)
class Target:
    """A reader and its files.

    Attributes
    ----------
    name
        For the record.
    files
        The whole files of the folder, by path in it.
    read
        Reads the folder; a `TransaError` is a right answer to a broken file.
    broken
        How each file that is fuzzed is broken.
    writes
        Whether reading changes the folder, so that it must be made anew.
    """

    name: str
    files: Mapping[str, bytes]
    read: Callable[[Path], object]
    broken: Mapping[str, Broken] = field(repr=False)
    writes: bool = False

    def input(self, seed: int, number: int) -> tuple[str, bytes]:
        """Return which file is broken in an input, and how."""
        random = Random(f"{seed} {self.name} {number}")
        name = random.choice(list(self.broken))
        return name, self.broken[name](random, self.files[name])

    def prepare(self, folder: Path) -> None:
        """Write the whole files."""
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    def accepts(self, folder: Path, name: str, content: bytes) -> bool:
        """Read the folder with a broken file and tell whether it was taken; raises what is no `TransaError`."""
        path = folder / name
        path.write_bytes(content)
        try:
            self.read(folder)
        except TransaError as error:
            if not str(error):
                raise AssertionError("an error without a message") from error
            return False
        finally:
            if self.writes:
                self.prepare(folder)
            else:
                path.write_bytes(self.files[name])
        return True


@cache
def targets() -> dict[str, Target]:
    """Return all targets by name."""
    texts = {".tsv": TSV, ".csv": CSV, ".txt": LABELLED, ".jsonl": JSON_LINES}
    rdf = {".nt": N_TRIPLES, ".ttl": TURTLE, ".nq": QUADS, ".trig": TRIG, ".rdf": XML}
    found = [
        *(_file(f"train{suffix}", content) for suffix, content in (texts | rdf).items()),
        _file("train.tsv.gz", gzip.compress(TSV, mtime=0)),
        _file("inside.csv.gz", gzip.compress(CSV, mtime=0), _inside_gzip),
        _file("train.tsv.zst", pa.compress(TSV, "zstd", asbytes=True)),
        _file("train.parquet", _parquet()),
        _file("schema.parquet", _parquet(), lambda random, _: _any_parquet(random)),
        *map(_folder, ("openke", "tsv", "parquet")),
        *_run_targets(),
        Target("recipe", {"mine.toml": RECIPE}, _recipe, {"mine.toml": _byte_change}),
        Target("questions", {"ask.csv": QUESTIONS}, _ask, {"ask.csv": _byte_change}),
        Target("questions.parquet", {"ask.parquet": _question_table()}, _ask, {"ask.parquet": _byte_change}),
    ]
    return {target.name: target for target in found}


def _byte_change(random: Random, data: bytes) -> bytes:
    return mutate(random, data, RDF_TOKENS, (TSV, CSV, LABELLED, N_TRIPLES, TURTLE, XML))


def _json_change(random: Random, data: bytes) -> bytes:
    if random.random() < 0.3:
        return mutate(random, data)
    return dumps(mutate_json(random, json.loads(data)))


def _file(name: str, content: bytes, broken: Broken = _byte_change) -> Target:
    return Target(name, {name: content}, lambda folder: _used(load(folder / name)), {name: broken})


def _used(graph: KnowledgeGraph) -> None:
    """Look at what was read, as training would."""
    graph.known()
    for split in ("train", "valid", "test"):
        assert graph.triples(split).shape == (len(graph.triples(split)), 3)
        graph.named(split)


def _graph() -> KnowledgeGraph:
    rows = [(i, 0, i + 1) for i in range(7)] + [(i, 1, i + 2) for i in range(6)]
    return KnowledgeGraph.from_ids(
        rows[:9], rows[9:11], rows[11:], entities=[f"e{i}" for i in range(8)], relations=["next", "far"]
    )


def _written(format: str) -> dict[str, bytes]:  # noqa: A002
    with TemporaryDirectory() as place:
        folder = write(_graph(), Path(place) / "graph", format=format)
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def _folder(format: str) -> Target:  # noqa: A002
    files = _written(format)
    if format == "tsv":
        files |= {"entities.txt": b"e0\nlonely\n", "entity_names.tsv": b"e0\tAda\ne1\tBob\n"}
    return Target(f"folder of {format}", files, lambda folder: _used(load(folder)), dict.fromkeys(files, _byte_change))


# ---------------------------------------------------------------------- compressed files, Parquet, tensors


def _inside_gzip(random: Random, data: bytes) -> bytes:
    return gzip.compress(_byte_change(random, gzip.decompress(data)), compresslevel=1, mtime=0)


def _parquet() -> bytes:
    names = pa.table({"head": ["ada", "bob", "eve"], "relation": ["knows"] * 3, "tail": ["bob", "eve", "ada"]})
    return _packed(names)


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none")
    return sink.getvalue().to_pybytes()


def _any_parquet(random: Random) -> bytes:
    """Return a whole Parquet file of strange columns."""
    columns: list[pa.Array] = [
        pa.array(["ada", None, ""]),
        pa.array([b"\xff", b"a", b"b"]),
        pa.array([1, 2, 3], pa.uint64()),
        pa.array([1, None, -1]),
        pa.array([0.5, float("nan"), 1.0]),
        pa.array([[1], [], None]),
        pa.array([{"a": 1}, None, {"a": 2}]),
        pa.array([True, False, None]),
        pa.array([0, 1, 2], pa.timestamp("us")),
        pa.array(["a", "b", "a"]).dictionary_encode(),
        pa.array(["ada\0", "b\nc", "\x1b[2J"]),
        pa.array([None, None, None], pa.null()),
        pa.array(["1", "-1", "1"]),
        pa.array([1.0, -1.0, 1.0]),
    ]
    wanted = ["head", "relation", "tail", "label", "key", "", "\n", "head"]
    usual = [pa.array(["ada", "bob", "eve"])] * 20
    chosen = random.choices(columns + usual, k=random.choice((1, 2, 3, 3, 3, 4, 4, 6)))
    names = wanted[: len(chosen)] if random.random() < 0.7 else random.choices(wanted, k=len(chosen))
    table = pa.Table.from_arrays(chosen, names)
    if random.random() < 0.4:
        said = random.choice(
            (b"{", b"[]", b"7", b'{"index_columns": 7}', b'{"index_columns": ["head"]}', b"\xff", b"[" * 5000, b"null")
        )
        table = table.replace_schema_metadata({b"pandas": said})
    return _packed(table.slice(0, random.choice((0, 1, 3))))


def _tensors_change(random: Random, data: bytes) -> bytes:
    """Break the header of a safetensors file as JSON, or any of its bytes."""
    length = int.from_bytes(data[:8], "little")
    if random.random() < 0.4:
        return mutate(random, data)
    header = dumps(mutate_json(random, json.loads(data[8 : 8 + length])))
    rest = data[8 + length :]
    if random.random() < 0.2:
        rest = rest[: random.randrange(len(rest) + 1)]
    if random.random() < 0.2:  # values that are no numbers
        place = 4 * random.randrange(len(rest) // 4) if len(rest) >= 4 else 0
        rest = rest[:place] + np.float32(random.choice((np.nan, np.inf, 3e38))).tobytes() + rest[place + 4 :]
    return with_header(header, rest, random.choice((None, None, None, len(header) + 1, 2**63, -1, 0)))


# ---------------------------------------------------------------------- runs


def _run_targets() -> list[Target]:
    files = _run_files()
    state = {"checkpoint.safetensors": _tensors_change, "config.json": _json_change, "log.jsonl": _byte_change}
    return [
        Target("run: config", files, _open, {"config.json": _json_change}),
        Target("run: weights", files, _open, {"weights.safetensors": _tensors_change}),
        Target("run: graph", files, _open, {name: _byte_change for name in files if name.startswith("graph/")}),
        Target("run: calibration", files, _predict, {"calibration.json": _json_change}, writes=True),
        Target("run: resume", files, _resume, state, writes=True),
    ]


def _run_files() -> dict[str, bytes]:
    from transa.inference import Trained
    from transa.training import Options, RunFolder, Trainer, recipe_from

    with TemporaryDirectory() as place:
        run = Path(place) / "run"
        recipe = recipe_from({"model": "transe", "dim": 4, "epochs": 2, "optimizer": "adagrad", "validate_every": 1})
        Trainer(_graph(), recipe, Options(engine="torch"), RunFolder(run)).fit()
        assert Trained.open(run).confidence is not None
        paths = [path for path in run.rglob("*") if path.is_file() and path.name != ".lock"]
        return {path.relative_to(run).as_posix(): path.read_bytes() for path in paths}


def _open(folder: Path) -> None:
    from transa.inference import Trained

    trained = Trained.open(folder)
    scores = trained.scores(trained.graph.train[:2])
    assert np.isfinite(scores).all()


def _predict(folder: Path) -> None:
    from transa.inference import Trained
    from transa.inference.check import check_ids

    trained = Trained.open(folder)
    for row in check_ids(trained, trained.graph.train[:2]).rows():
        assert np.isfinite([row["score"], row["threshold"], row["probability"]]).all()


def _resume(folder: Path) -> None:
    from transa.training import Options, RunFolder, Trainer

    run = RunFolder(folder)
    graph = _graph()
    Trainer(graph, run.recipe(), Options(engine="torch"), run).fit(resume=True)


def _recipe(folder: Path) -> None:
    load_recipe("transe", str(folder / "mine.toml"), None)


def _question_table() -> bytes:
    table = pa.table({"head": ["e0", None, "e1"], "relation": ["next", "far", None], "tail": [None, "e3", "e2"]})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def _ask(folder: Path) -> None:
    from transa.inference.question_files import read_questions

    read_questions(next(folder.glob("ask.*")))
