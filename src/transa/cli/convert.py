"""The command that writes a graph in another format: convert."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from transa import choices
from transa.cli.loading import load_graph
from transa.cli.options import GraphSelection, Json, Overwrite, Source, Split, SplitSeed, TextFormat, add_command
from transa.cli.output import emit_json, note
from transa.readable import graph_size


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, convert, example="films.csv films --split 0.8,0.1,0.1")


def known_format(name: str | None) -> str | None:
    """Return the name of a format for folders, or refuse it as click does."""
    from transa.data.formats import targets

    if name is not None and name not in targets():
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(targets())}.")
    return name


@dataclass(frozen=True)
class Writing:
    """What to write, and how."""

    to: Annotated[
        str | None,
        typer.Option(
            metavar="FORMAT",
            callback=known_format,
            help="Format of a folder, or of standard output; `transa formats` lists them.",
            show_default="parquet, or tsv",
        ),
    ] = None
    part: Annotated[Literal[choices.Split, "all"] | None, typer.Option(help="Which triples a single file gets.")] = None
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="For text with more triples than memory holds: use no more than this, such as 2GB, and the disk.",
        ),
    ] = None
    overwrite: Overwrite = False


def convert(
    source: Source,
    target: Annotated[
        Path,
        typer.Argument(
            metavar="OUT",
            help="A folder, or one file whose suffix tells the format: out.tsv, out.nt.gz; - is standard output.",
        ),
    ],
    text: TextFormat,
    selection: GraphSelection,
    writing: Writing,
    split: Split = None,
    split_seed: SplitSeed = 0,
    as_json: Json = False,
) -> None:
    """Write a graph in another format, and split it on request."""
    from transa.data.graph import SPLITS
    from transa.data.writing import write, write_file, write_stream
    from transa.errors import InputError

    if writing.memory is not None:
        _convert_large(source, target, text, selection, writing, split=split, as_json=as_json)
        return
    to, part, overwrite = writing.to, writing.part, writing.overwrite
    piped = str(target) == "-"
    if piped and as_json:
        raise InputError("--json would mix with the triples on standard output; name a file or leave it out")
    graph = load_graph(source, text, selection, split, split_seed)
    note(*graph.notes)
    chosen: list[choices.Split] = list(SPLITS)
    if piped or target.suffix:
        if to is not None and not piped:
            raise InputError("--to is for folders; the suffix of a single file tells its format", path=target)
        filled: list[choices.Split] = [name for name in SPLITS if len(graph.triples(name))]
        if part is None and len(filled) > 1:
            raise InputError(
                f"the graph has {', '.join(filled)} triples, which one file cannot tell apart; name a folder or use --part",
                path=target,
            )
        chosen = filled if part in (None, "all") else [name for name in SPLITS if name == part]
        if piped:
            write_stream(graph, typer.get_binary_stream("stdout"), chosen, format=to or "tsv")
            return
        write_file(graph, target, chosen, overwrite=overwrite)
    else:
        if part is not None:
            raise InputError("--part is for single files; a folder gets every split", path=target)
        write(graph, target, format=to or "parquet", overwrite=overwrite)
    sizes = {name: len(graph.triples(name)) for name in chosen}
    if as_json:
        result = {
            "path": str(target),
            "entities": len(graph.entities),
            "relations": len(graph.relations),
            "triples": sizes,
        }
        emit_json({**result, "notes": list(graph.notes)})
    else:
        written = " / ".join(f"{size:,} {name}" for name, size in sizes.items())
        typer.echo(f"{target}: {graph_size(len(graph.entities), len(graph.relations))}, {written} triples")


def _convert_large(
    source: str,
    target: Path,
    text: TextFormat,
    selection: GraphSelection,
    writing: Writing,
    *,
    split: str | None,
    as_json: bool,
) -> None:
    """Convert within a limit of memory."""
    from transa.data.large import convert_large
    from transa.errors import InputError

    plain = replace(text, delimiter=None, header=None, no_quotes=False)
    if plain != TextFormat() or text.header or selection != GraphSelection() or split is not None:
        raise InputError("--memory: goes with plain text of three columns, without a header, and without --split")
    if writing.to not in (None, "mapped") or writing.part is not None:
        raise InputError("--memory: a folder of the format mapped is written; leave out --to and --part", path=target)
    delimiter = text.options()["delimiter"]
    sizes = convert_large(
        Path(source), target, memory=_bytes(writing.memory or ""), delimiter=delimiter, overwrite=writing.overwrite
    )
    if as_json:
        emit_json({"path": str(target), **sizes})
        return
    written = " / ".join(f"{sizes[name]:,} {name}" for name in ("train", "valid", "test") if name in sizes)
    typer.echo(f"{target}: {graph_size(sizes['entities'], sizes['relations'])}, {written} triples")


def _bytes(text: str) -> int:
    """Read a size such as 2GB or 500MB."""
    from transa.errors import InputError, quote

    found = re.fullmatch(r"(\d{1,6})\s*([GM])B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise InputError(f"--memory: expected a size such as 2GB or 800MB, found {quote(text)}")
    return int(found[1]) * (10**9 if found[2].upper() == "G" else 10**6)
