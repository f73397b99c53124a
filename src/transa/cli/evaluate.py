"""The command that ranks: evaluate."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from transa.cli.graphs import Json
from transa.cli.output import IgnoreMemory
from transa.cli.train import note_compiling


class Ranked(StrEnum):
    """Splits whose triples can be ranked."""

    test = "test"
    valid = "valid"
    train = "train"


class TieRule(StrEnum):
    """Where the true entity stands among those of equal score."""

    realistic = "realistic"
    optimistic = "optimistic"
    pessimistic = "pessimistic"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(evaluate)


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    split: Annotated[Ranked, typer.Option(help="Which triples.")] = Ranked.test,
    known: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="SPLITS",
            help="Whose facts filtered ranks leave out: train,valid,test, a part, or none; by default without test for other splits.",
        ),
    ] = None,
    ties: Annotated[
        TieRule, typer.Option(help="The true one in the middle of its equals, first or last.")
    ] = TieRule.realistic,
    hits: Annotated[str, typer.Option(metavar="K,K,...", help="The k of Hits@k.")] = "1,3,10",
    limit: Annotated[int | None, typer.Option(min=1, help="Only a random sample of this many triples.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 0,
    ranks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every single rank: .csv, .tsv or .parquet.")
    ] = None,
    answers: Annotated[int, typer.Option(min=0, help="Best answers beside each rank in the file.")] = 3,
    top: Annotated[int, typer.Option(min=0, help="How many relations to show.")] = 10,
    chunk: Annotated[int | None, typer.Option(min=1, help="Entities at a time.")] = None,
    threads: Annotated[int | None, typer.Option(help="By default all processors.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that is there.")] = False,
    ignore_memory: IgnoreMemory = False,
    as_json: Json = False,
) -> None:
    """Rank the true head and tail of each triple among all entities."""
    import time

    from transa.cli.output import emit_json, note, note_memory, progress_bar
    from transa.evaluation import evaluate as evaluate_model
    from transa.evaluation.memory import evaluation_memory
    from transa.evaluation.tables import check_target
    from transa.kernels.threads import set_threads
    from transa.training import RunFolder

    if ranks is not None:
        check_target(ranks, overwrite=overwrite)
    places, splits = _places(hits), _splits(known)
    set_threads(threads)
    folder = RunFolder(run)
    empty, graph = folder.empty_model(), folder.graph()
    triples = min(limit or len(graph.positives(split.value)), len(graph.positives(split.value)))
    precision = 8 if folder.recipe().precision == "float64" else 4
    note_memory(evaluation_memory(empty, graph, triples, chunk, precision), ignore=ignore_memory)
    model = _moved(folder.model(), device)
    note_compiling("count_better", model)
    started = time.perf_counter()
    with progress_bar("ranking", 2 * triples) as callback:
        found = evaluate_model(
            model, graph, split.value, known=splits, limit=limit, seed=seed, chunk=chunk, callback=callback
        )
    seconds = time.perf_counter() - started
    if ranks is not None:
        found.write(ranks, answers=answers, overwrite=overwrite)
    report = {"run": str(run), **found.report(ties=ties.value, hits=places), "seconds": seconds}
    if report["unseen"]:
        note(
            f"{report['unseen']:,} of the triples have an entity or relation that does not occur in train; they are counted"
        )
    if split is Ranked.train:
        note("these are the triples the model was trained on: the figures say nothing about new ones")
    if as_json:
        emit_json(report)
        return
    _show(report, places, top)
    if ranks is not None:
        typer.echo(f"Written: {ranks}")


def _places(text: str) -> tuple[int, ...]:
    from transa.errors import InputError, quote

    parts = text.split(",")
    if not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise InputError(f"--hits: expected whole numbers above 0 separated by commas, found {quote(text)}")
    return tuple(dict.fromkeys(int(part) for part in parts))


def _splits(text: str | None) -> Any:
    if text is None:
        return None
    return [] if text.strip() == "none" else [part.strip() for part in text.split(",")]


def _moved(model: Any, device: str) -> Any:
    from transa.errors import InputError, quote

    try:
        return model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"--device: {quote(device)} cannot be used ({str(error).splitlines()[0]})") from None


def _show(report: dict[str, Any], places: tuple[int, ...], top: int) -> None:
    from transa.cli.output import table

    estimate = report["estimate"]
    of = f" of {estimate['population']:,} (an estimate)" if estimate else ""
    measures = ("MR", "MRR", *(f"Hits@{k}" for k in places))  # as many as fit into 80 columns; --json has the rest

    def line(found: dict[str, float], *more: str) -> tuple[str, ...]:
        hits = (f"{found[f'hits@{k}']:.1%}" for k in places)
        return (f"{found['mr']:,.1f}", f"{found['mrr']:.3f}", *hits, *(f"{found[name]:,.3g}" for name in more))

    table(
        f"Link prediction with {report['model']} ({report['split']}, {report['n']:,} triples{of}, {report['ties']} ranks)",
        ("", "", *measures, "median", "AMRI"),
        [
            (side, kind, *line(report[side][kind], "median", "amri"))
            for side in ("both", "head", "tail")
            for kind in ("raw", "filtered")
        ],
    )
    if estimate:
        low_high = estimate["filtered"]
        shown = [(name, f"{low:.4g} to {high:.4g}") for name, (low, high) in low_high.items() if low_high[name]]
        table("95 % intervals (both sides, filtered)", ("", ""), shown)
    table(
        "Categories (filtered)",
        ("category", "n", "side", *measures),
        [
            (category, found["n"], side, *line(found[side]["filtered"]))
            for category, found in report["categories"].items()
            for side in ("head", "tail")
        ],
    )
    largest = sorted(report["relations"].items(), key=lambda item: (-item[1]["n"], item[0]))[:top]
    if largest:
        rest = (
            ""
            if len(largest) == len(report["relations"])
            else f", the {len(largest)} largest of {len(report['relations']):,}"
        )
        table(
            f"Relations (both sides, filtered{rest})",
            ("relation", "n", *measures),
            [(name, found["n"], *line(found["both"]["filtered"])) for name, found in largest],
        )
    typer.echo(
        f"{report['queries']:,} distinct queries against {report['entities']:,} entities in {report['seconds']:.1f} s; "
        f"{report['rescored']:.3%} of the scores had to be computed in full."
    )
