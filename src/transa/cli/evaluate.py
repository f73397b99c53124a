"""The command that ranks: evaluate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.choices import Split, Ties
from transa.cli.options import IgnoreMemory, Json, Largest, Limit, NoLoopPrior, Overwrite, Run, Threads, add_command
from transa.cli.output import (
    REACHED,
    emit_json,
    note,
    note_compiling,
    note_compiling_rules,
    progress_bar,
    rules_mined,
    shown_names,
    table,
)
from transa.cli.sharing import SharedAsking
from transa.readable import counted

if TYPE_CHECKING:
    from transa.evaluation import Evaluation

#: What tables call the baseline by popularity, and its MRR.
POPULAR = "popular"
#: The same for rules alone.
RULES = "rules"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, evaluate, example="runs/films --hits 1,3,10")


@dataclass(frozen=True)
class Ranking:
    """What to rank, and how."""

    split: Annotated[Split, typer.Option(help="Which triples.")] = "test"
    known: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="SPLITS",
            help="Whose facts filtered ranks leave out: train,valid,test, a part, or none; by default without test for other splits.",
        ),
    ] = None
    ties: Annotated[Ties, typer.Option(help="The true one in the middle of its equals, first or last.")] = "realistic"
    hits: Annotated[str, typer.Option(metavar="K,K,...", help="The k of Hits@k.")] = "1,3,10"
    limit: Limit = None
    seed: Annotated[int, typer.Option(min=0, help="Of the sample.")] = 0
    no_loop_prior: NoLoopPrior = False
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Without rules alone beside the model.")] = False


@dataclass(frozen=True)
class Report:
    """What to show and to write."""

    ranks: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every single rank: .csv, .tsv or .parquet.")
    ] = None
    answers: Annotated[int, typer.Option(min=0, help="Best answers beside each rank in the file.")] = 3
    top: Largest = 10
    overwrite: Overwrite = False
    as_json: Json = False


@dataclass(frozen=True)
class Machine:
    """What to rank on."""

    chunk: Annotated[int | None, typer.Option(min=1, help="Entities at a time.")] = None
    threads: Threads = None
    device: Annotated[str, typer.Option(help="cpu, cuda, …")] = "cpu"
    ignore_memory: IgnoreMemory = False


def evaluate(run: Run, ranking: Ranking, machine: Machine, sharing: SharedAsking, report: Report) -> None:
    """Rank the true head and tail of each triple among all entities."""
    if sharing.is_given:
        with sharing.one_voice():
            _evaluate_together(run, ranking, machine, sharing, report)
        return
    import time

    from transa.data.result_files import check_target
    from transa.devices import check_device
    from transa.estimators import load_model
    from transa.evaluation.memory import evaluation_memory
    from transa.kernels.threads import set_threads
    from transa.memory import check_memory
    from transa.training import RunFolder

    if report.ranks is not None:
        check_target(report.ranks, overwrite=report.overwrite)
    places, known = _places(ranking.hits), _splits(ranking.known)
    set_threads(machine.threads)
    check_device(machine.device)
    folder = RunFolder(run)
    width, graph = 8 if folder.recipe().precision == "float64" else 4, folder.graph()
    triples = len(graph.positives(ranking.split))
    triples = min(ranking.limit or triples, triples)
    # before the tables are read, since they may be what there is no room for
    need = evaluation_memory(folder.empty_model(), graph, triples, machine.chunk, width)
    note(f"memory: about {need}")
    if not machine.ignore_memory:
        check_memory(need)
    model = load_model(folder)
    model.model_.to(machine.device)
    note_compiling("count_better", model.model_)
    started = time.perf_counter()
    with progress_bar("ranking", 2 * triples) as callback:
        found = model.evaluate(
            split=ranking.split,
            known=known,
            limit=ranking.limit,
            seed=ranking.seed,
            chunk=machine.chunk,
            callback=callback,
            loop_prior=not ranking.no_loop_prior,
            rules=not ranking.no_rules,
        )
    seconds = time.perf_counter() - started
    if report.ranks is not None:
        found.write(report.ranks, answers=report.answers, overwrite=report.overwrite)
    if not ranking.no_rules:
        note_compiling_rules()
    _tell({"run": str(run), **found.report(ties=ranking.ties, hits=places), "seconds": seconds}, found, ranking, report)


def _evaluate_together(run: Path, ranking: Ranking, machine: Machine, sharing: SharedAsking, report: Report) -> None:
    """Rank with several workers, of which the first one tells, or by rows on disk."""
    import time

    from transa.errors import InputError
    from transa.kernels.threads import set_threads
    from transa.training import RunFolder

    if report.ranks is not None or machine.device != "cpu":
        raise InputError("--workers, --sharded and --on-disk go without --ranks and --device")
    places = _places(ranking.hits)
    if sharing.workers is None:
        set_threads(machine.threads)
    started = time.perf_counter()
    asked = {"split": ranking.split, "known": _splits(ranking.known), "limit": ranking.limit, "seed": ranking.seed}
    found = sharing.evaluate(RunFolder(run), {**asked, "loop_prior": not ranking.no_loop_prior}, machine.threads)
    if found is None:
        return
    seconds = time.perf_counter() - started
    _tell({"run": str(run), **found.report(ties=ranking.ties, hits=places), "seconds": seconds}, found, ranking, report)


def _tell(figures: dict[str, Any], found: Evaluation, ranking: Ranking, report: Report) -> None:
    """Print what was found."""
    places = _places(ranking.hits)
    if figures["unseen"]:
        unseen = f"{figures['unseen']:,} of the triples have an entity or relation that does not occur in train"
        note(f"{unseen}; they are counted")
    if ranking.split == "train":
        note("these are the triples the model was trained on: the figures say nothing about new ones")
    if report.as_json:
        emit_json(figures)
        return
    _show(figures, shown_names(found.graph.relations), places, report.top)
    if report.ranks is not None:
        typer.echo(f"Written: {report.ranks}")


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


def _show(report: dict[str, Any], names: dict[str, str], places: tuple[int, ...], top: int) -> None:
    estimate = report["estimate"]
    of = f" of {estimate['population']:,} (an estimate)" if estimate else ""
    measures = ("MR", "MRR", *(f"Hits@{k}" for k in places))  # as many as fit into 80 columns; --json has the rest

    def line(found: dict[str, float], *more: str) -> tuple[str, ...]:
        hits = (f"{found[f'hits@{k}']:.1%}" for k in places)
        return (f"{found['mr']:,.1f}", f"{found['mrr']:.3f}", *hits, *(f"{found[name]:,.3g}" for name in more))

    def popular(found: dict[str, Any], side: str) -> str:
        return f"{found['popularity'][side]['filtered']['mrr']:.3f}"

    def sides(title: str, found: dict[str, Any]) -> None:
        rows = [
            (side, kind, *line(found[side][kind], "median", "amri"))
            for side in ("both", "head", "tail")
            for kind in ("raw", "filtered")
        ]
        for label, baseline in ((POPULAR, found.get("popularity")), (RULES, found.get("rules_alone"))):
            rows += [
                (side, label, *line(baseline[side]["filtered"], "median", "amri"))
                for side in ("both", "head", "tail")
                if baseline
            ]
        table(title, ("", "", *measures, "median", "AMRI"), rows)

    ranked = f"{report['split']}, {counted(report['n'], 'triple')}{of}, {report['ties']} ranks"
    sides(f"Link prediction with {report['model']} ({ranked})", report)
    typer.echo("popular: filtered ranks by how often an entity stands on that side of the relation in train.")
    rules = report["rules_alone"]
    if rules:
        typer.echo(f"rules: filtered ranks by {rules_mined(rules)}.")
        table(
            "Triples by what reaches them from train (both sides, filtered)",
            ("reached by", "n", "share", *measures, RULES),
            [
                (
                    *(REACHED[name], some["n"], f"{some['share']:.1%}"),
                    *line(some["both"]["filtered"]),
                    f"{some['rules_alone']['both']['filtered']['mrr']:.3f}",
                )
                for name, some in rules["reached"].items()
            ],
        )
    prior = report["loop_prior"]
    if prior:
        barred = f"in {prior['relations']:,} of {prior['of']:,} relations an entity is no answer to itself"
        typer.echo(f"With the loop prior: {barred}.")
        sides("Without the loop prior", prior["without"])
    else:
        typer.echo("Without a loop prior: every entity may be an answer to itself.")
    if estimate:
        low_high = estimate["filtered"]
        shown = [(name, f"{low:.4g} to {high:.4g}") for name, (low, high) in low_high.items() if low_high[name]]
        table("95 % intervals (both sides, filtered)", ("", ""), shown)
    table(
        "Categories (filtered)",
        ("category", "n", "side", *measures, POPULAR),
        [
            (category, found["n"], side, *line(found[side]["filtered"]), popular(found, side))
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
            ("relation", "n", *measures, POPULAR),
            [
                (names[key], found["n"], *line(found["both"]["filtered"]), popular(found, "both"))
                for key, found in largest
            ],
        )
    typer.echo(
        f"{report['queries']:,} distinct queries against {report['entities']:,} entities in {report['seconds']:.1f} s; "
        f"{report['rescored']:.3%} of the scores had to be computed in full."
    )
