"""The command that mines rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transa.cli.loading import load_graph
from transa.cli.options import GraphSelection, Json, Overwrite, Source, TextFormat, add_command
from transa.cli.output import emit_json, note, note_compiling_rules, progress_bar, table


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, rules, example="films --out rules.tsv")


def rules(
    source: Source,
    text: TextFormat,
    selection: GraphSelection,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write all rules to this .parquet, .csv, .tsv, or as AnyBURL to .txt.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Begin nothing new after this time.")] = None,
    length: Annotated[int, typer.Option(min=0, max=5, help="Most atoms of a body; 0: chosen by the graph.")] = 0,
    support: Annotated[int, typer.Option(min=1, help="In how many cases a rule must hold.")] = 2,
    top: Annotated[int, typer.Option("-k", "--top", min=0, help="How many rules to show.")] = 20,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Mine rules from the training triples: which facts follow from which others, how often, and how surely.

    To predict with rules, train a model on them: transa train GRAPH --model rules.
    """
    from transa.data.result_files import check_target
    from transa.kernels.threads import set_threads
    from transa.rules import Mining, mine, write_rules
    from transa.rules.files import SUFFIXES, rule_table

    if out is not None:
        check_target(out, SUFFIXES, overwrite=overwrite)
    graph = load_graph(source, text, selection)
    note(*graph.notes)
    note_compiling_rules()
    mining = Mining(length=length, support=support, constant_support=support, minutes=minutes)
    with progress_bar("mining", 4 * len(graph.relations)) as advance:
        found = mine(graph, mining, threads=set_threads(None), callback=lambda done, every: advance(1))
    ordered = found.rules.ordered()
    if out is not None:
        write_rules(ordered, graph, out, overwrite=overwrite)
    shown = rule_table(ordered.take(slice(top)), graph).to_pylist()
    summary = {
        "rules": len(ordered),
        "with_constant": int((ordered.constant >= 0).sum()),
        "length": found.length,
        "seconds": found.seconds,
        "complete": found.complete,
    }
    if as_json:
        emit_json({"source": source, **summary, "shown": shown})
        return
    keys = ("rule", "support", "body_size", "confidence", "pca_confidence")
    heads = ("rule", "holds", "of", "confidence", "PCA confidence")
    table(f"Rules of {source}", heads, [tuple(row[key] for key in keys) for row in shown])
    note(
        f"{len(ordered):,} rules, {summary['with_constant']:,} of them with a constant, in {found.seconds:.1f} s; "
        f"bodies of up to {found.length} atoms"
    )
    if found.done < found.tasks:
        note(f"time was up after {found.done:,} of {found.tasks:,} steps")
    if found.sampled:
        note(f"{found.sampled:,} first steps have so many walks that only some were counted")
