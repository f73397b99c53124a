"""The command that searches for settings."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transa.cli.loading import load_graph
from transa.cli.options import GraphSelection, Json, Source, Split, SplitSeed, TextFormat, Threads, add_command
from transa.cli.output import emit_json, note, table
from transa.cli.train import read_setting
from transa.readable import counted

if TYPE_CHECKING:
    from transa.training.general import Trial
    from transa.tuning import Attempt


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, tune, example="films --out runs/search --minutes 30")


@dataclass(frozen=True)
class Search:
    """What to search for, and for how long."""

    model: Annotated[str, typer.Option(help="One of those that `transa models` lists.")] = "transa"
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="FIELD=VALUE", help="A setting that all trials have; repeatable."),
    ] = None
    minutes: Annotated[float, typer.Option(help="How long to search.")] = 30.0
    trials: Annotated[int | None, typer.Option(min=1, help="How many trials at most.")] = None
    workers: Annotated[int, typer.Option(min=1, help="Processes that train trials at once.")] = 1
    threads: Threads = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the search in the folder.")] = False


def tune(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="STUDY", help="The folder of the search.")],
    search: Search,
    text: TextFormat,
    selection: GraphSelection,
    split: Split = None,
    split_seed: SplitSeed = 0,
    as_json: Json = False,
) -> None:
    """Search for settings that suit a graph, and write the best as a recipe (needs transa[tune])."""
    from transa.analysis.drawing import NEEDS_MATPLOTLIB, can_draw
    from transa.analysis.tuning_plot import plot_tuning
    from transa.training import Options
    from transa.tuning import tune as search_settings

    graph = load_graph(source, text, selection, split, split_seed)
    note(*graph.notes)
    try:
        tuned = search_settings(
            graph,
            search.model,
            dict(map(read_setting, search.settings or [])),
            minutes=search.minutes,
            trials=search.trials,
            folder=out,
            resume=search.resume,
            workers=search.workers,
            options=Options(threads=search.threads),
            callback=_tell,
        )
    except KeyboardInterrupt:
        note(f"stopped; what was found is kept in {out}. Go on with --resume")
        raise typer.Exit(130) from None
    if can_draw():
        plot_tuning(tuned, out / "tuning.png", overwrite=True)
    else:
        note(f"no picture was drawn: {NEEDS_MATPLOTLIB}")
    best, default = tuned.best, tuned.default
    if as_json:
        emit_json(
            {
                "study": str(out),
                "best": asdict(best),
                "default": None if default is None else asdict(default),
                "recipe": tuned.recipe.model_dump(exclude_defaults=True),
                "importance": tuned.importance,
                "trials": len(tuned.attempts),
            }
        )
        return
    rows = [(each.number, each.way, f"{each.score:.4f}", each.runs) for each in (default, best) if each is not None]
    title = f"{counted(len(tuned.attempts), 'trial')}: the default and the best"
    table(title, ("trial", "way", "valid", "mean of runs"), rows)
    typer.echo(f"Written: {out / 'best.toml'}. Train it: transa train {source} --recipe {out / 'best.toml'} --out RUN")


def _tell(done: Trial | Attempt) -> None:
    from transa.tuning import Attempt

    if isinstance(done, Attempt):
        score = "no score" if done.score is None else f"{done.score:.4f}"
        ended = {"done": "", "pruned": ", ended early", "failed": ", failed"}[done.state]
        again = f" with seed {done.seed}, once more" if done.seed else ""
        note(f"trial {done.number}, {done.way}{again}: {score} on valid{ended}, {done.seconds:.1f} s")
    else:
        note(f"looking for the default: {done.name}: {done.score:.4f} on valid")
