"""Commands on graphs: datasets, formats, stats, convert."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from transa import choices
from transa.cli.options import (
    GraphSelection,
    Json,
    Overwrite,
    Selection,
    Source,
    Split,
    SplitSeed,
    TextFormat,
    add_command,
    column_of,
)
from transa.cli.output import REACHED, emit_json, note, note_compiling_rules, rules_mined, shown_names, table
from transa.readable import graph_size, short

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph
    from transa.data.triple_table import TripleTable


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, datasets)
    add_command(app, formats)
    add_command(app, stats, example="films.csv")
    add_command(app, convert, example="films.csv films --split 0.8,0.1,0.1")


def datasets(as_json: Json = False) -> None:
    """List the datasets known by name and where they are."""
    from transa.data.registry import DATASETS, whereabouts

    places = {name: whereabouts(name) for name in DATASETS}
    if as_json:
        emit_json(
            {
                name: {
                    "entities": dataset.entities,
                    "relations": dataset.relations,
                    "train": dataset.train,
                    "valid": dataset.valid,
                    "test": dataset.test,
                    "source": dataset.source,
                    "embedded": dataset.embedded,
                    "path": None if places[name] is None else str(places[name]),
                }
                for name, dataset in DATASETS.items()
            }
        )
        return
    header = ("name", "entities", "relations", "train", "valid", "test", "here")  # no more than fits into 80 columns
    rows = [
        (name, data.entities, data.relations, data.train, data.valid, data.test, _place(name, places))
        for name, data in DATASETS.items()
    ]
    table("Datasets", header, rows)


def _place(name: str, places: dict[str, Path | None]) -> str:
    from transa.data.registry import DATASETS

    if places[name] is None:
        return "to download"
    return "in package" if DATASETS[name].embedded else "yes"


def formats(as_json: Json = False) -> None:
    """List the formats that graphs are read from and written to."""
    from transa.cli.output import emit_json, table
    from transa.data.formats import FILE_FORMATS, FOLDER_FORMATS

    files, folders = FILE_FORMATS.values(), FOLDER_FORMATS.values()
    if as_json:
        described = [{"name": each.name, "description": each.description} for each in folders]
        extended = [{"name": f.name, "extensions": f.extensions, "description": f.description} for f in files]
        emit_json({"files": extended, "folders": described})
        return
    table(
        "Files; the first extension is the one that is written",
        ("name", "extensions", "description"),
        [(f.name, " ".join(extension or "(none)" for extension in f.extensions), f.description) for f in files],
    )
    table("Folders", ("name", "description"), [(each.name, each.description) for each in folders])


def known_format(name: str | None) -> str | None:
    """Return the name of a format for folders, or refuse it as click does."""
    from transa.data.formats import targets

    if name is not None and name not in targets():
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(targets())}.")
    return name


def stats(
    source: Source,
    text: TextFormat,
    selection: GraphSelection,
    as_json: Json = False,
    top: Annotated[int, typer.Option(min=0, help="How many relations to show.")] = 15,
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Without what rules reach.")] = False,
) -> None:
    """Show what a graph holds: sizes, relations, categories, and what leaks from train into test."""
    graph = load_graph(source, text, selection)
    note(*graph.notes)
    found = {**graph.statistics().to_dict(), "reached_by_rules": None if no_rules else _reached_by_rules(graph)}
    if as_json:
        emit_json({"source": source, **found})
    else:
        _show(source, found, shown_names(graph.relations), top)


def _reached_by_rules(graph: KnowledgeGraph) -> dict[str, Any] | None:
    """Return which triples of valid and test follow from train by rules, or None if there are no triples of one or the other."""
    if not len(graph.train) or not len(graph.positives("valid")) + len(graph.positives("test")):
        return None
    from transa.rules import QuickRules

    note_compiling_rules()
    return QuickRules.of(graph).report()


def _show(source: str, found: dict[str, Any], names: dict[str, str], top: int) -> None:
    listed, types = found["entities"] - found["entities_in_triples"], found["types"]
    splits = ("train", "valid", "test")
    rows: list[tuple[str, object]] = [
        ("entities", found["entities"]),
        *([("  of these in triples", found["entities_in_triples"])] if listed else []),
        *([("  with a description", found["described"])] if found["described"] else []),
        *([("  with a type", types["entities"])] if types else []),
        ("relations", found["relations"]),
        *([("  with types of heads or tails", types["relations"])] if types and types["relations"] else []),
        *((f"{split} triples", found["triples"][split]) for split in splits),
        *((f"{split} negatives", found["negatives"][split]) for split in splits if found["negatives"][split]),
        ("triples per entity (ATPE)", found["atpe"]),
        *((f"repeated {split} lines", found["duplicates"][split]) for split in splits if found["duplicates"][split]),
    ]
    table(
        source, ("", ""), [(name, f"{value:.2f}" if isinstance(value, float) else f"{value:,}") for name, value in rows]
    )
    table(
        "Categories (train)",
        ("category", "relations", "triples"),
        [(name, part["relations"], part["triples"]) for name, part in found["categories"].items()],
    )
    largest = sorted(found["per_relation"].items(), key=lambda item: -item[1]["triples"])[:top]
    if largest:
        table(
            f"Relations (train{'' if len(largest) == found['relations'] else f', the {len(largest)} largest'})",
            ("relation", "triples", "tails per head", "heads per tail", "category"),
            [(names[n], r["triples"], r["tails_per_head"], r["heads_per_tail"], r["category"]) for n, r in largest],
        )
    if types and top:
        some = list(types["per_type"].items())[:top]
        shown = (
            "" if len(some) == len(types["per_type"]) else f", the {len(some)} largest of {len(types['per_type']):,}"
        )
        table(f"Types{shown}", ("type", "entities"), [(short(name), count) for name, count in some])
    related = found["related_relations"]
    if related and top:
        table(
            f"Relations that repeat each other ({len(related):,} in all)",
            ("kind", "relation", "relation", "overlap"),
            [
                (
                    "symmetric" if pair["relations"][0] == pair["relations"][1] else pair["kind"],
                    *(names[key] for key in pair["relations"]),
                    min(pair["shares"]),
                )
                for pair in related[:top]
            ],
        )
    rules = found["reached_by_rules"]
    if rules:
        table(
            f"Triples that {rules_mined(rules)} reach",
            ("reached by", *(each for split in rules["reached"] for each in (split, "share"))),
            [
                (
                    label,
                    *(
                        each
                        for counts in rules["reached"].values()
                        for each in (counts[name], f"{counts[name] / max(sum(counts.values()), 1):.1%}")
                    ),
                )
                for name, label in REACHED.items()
                if name != "other" or rules["forms"] == "all"
            ],
        )
    if found["leaked"]["test_triples"]:
        share = found["leaked"]["share"]
        note(
            f"{share:.1%} of the test triples stand in train under a relation that repeats theirs: easy to answer by copying"
        )


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


def load_graph(
    source: str, text: TextFormat, selection: GraphSelection, split: str | None = None, seed: int = 0
) -> KnowledgeGraph:
    """Load a graph as the options of a command say."""
    from transa.data import load

    return load(
        source,
        **text.options(),
        query=selection.query,
        minimum_confidence=_confidence(selection.minimum_confidence),
        drop_relations=selection.drop_relation or (),
        literals=not selection.no_literals,
        split=None if split is None else _fractions(split),
        seed=seed,
    )


def load_triples(path: Path, text: TextFormat, selection: Selection) -> TripleTable:
    """Read the triples of a file that are put to a model, as the options of a command say; they know their lines."""
    from transa.data.formats import ReadOptions, read_file
    from transa.data.selecting import select_rows

    confidence = _confidence(selection.minimum_confidence)
    table = read_file(path, ReadOptions(**text.options(), minimum_confidence=confidence, lines=True))
    return select_rows(table, selection.drop_relation or (), literals=not selection.no_literals)


def _confidence(text: str | None) -> tuple[str | int, float] | None:
    from transa.errors import InputError, quote

    if text is None:
        return None
    column, equals, number = text.rpartition("=")
    try:
        if equals and column:
            return column_of(column), float(number)
    except ValueError:
        pass
    raise InputError(f"--minimum-confidence: expected a column and a number such as score=0.7, found {quote(text)}")


def _fractions(text: str) -> list[float]:
    from transa.errors import InputError, quote

    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--split: expected three numbers such as 0.8,0.1,0.1, found {quote(text)}") from None
