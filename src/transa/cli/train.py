"""Commands that train: train, demo."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.cli.graphs import Columns, Delimiter, Fractions, Header, Json, NoQuotes, Source, load_graph
from transa.cli.output import IgnoreMemory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from transa.models import Model
    from transa.training import Progress


class EngineChoice(StrEnum):
    """Engines."""

    auto = "auto"
    numba = "numba"
    torch = "torch"


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command()(train)
    app.command()(demo)


def train(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder.")],
    model: Annotated[str, typer.Option(help="One of those that `transa models` lists.")] = "transa",
    recipe: Annotated[
        str | None, typer.Option(help="One the model has, such as paper, authors or modern (transa), or a TOML file.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Any setting of the recipe; repeatable.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    threads: Annotated[int | None, typer.Option(help="By default all processors.")] = None,
    engine: Annotated[EngineChoice, typer.Option(help="Compiled kernels, torch, or what fits.")] = EngineChoice.auto,
    device: Annotated[str, typer.Option(help="Of the torch engine: cpu, cuda, …")] = "cpu",
    lock_free: Annotated[
        bool, typer.Option("--lock-free", help="Faster, but two runs with the same seed differ.")
    ] = False,
    checkpoint_epochs: Annotated[int | None, typer.Option(min=1, help="Epochs between checkpoints.")] = None,
    checkpoint_minutes: Annotated[float, typer.Option(min=0, help="Minutes between checkpoints.")] = 5.0,
    ignore_memory: IgnoreMemory = False,
    columns: Columns = None,
    header: Header = None,
    delimiter: Delimiter = None,
    no_quotes: NoQuotes = False,
    split: Fractions = None,
    as_json: Json = False,
) -> None:
    """Train a model on a graph and keep it in a run folder."""
    from transa.cli.output import emit_json, note, note_memory
    from transa.cli.stopping import stopping_between_epochs
    from transa.data.registry import canonical
    from transa.training import Options, RunFolder, Trainer, load_recipe
    from transa.training.memory import training_memory

    graph = load_graph(source, columns, header, delimiter, no_quotes, split)
    note(*graph.notes)
    folder = RunFolder(out)
    given = dict(map(read_setting, settings or []))
    same = resume and not given and recipe is None and folder.holds("config.json")
    chosen = folder.recipe() if same else load_recipe(model, recipe, canonical(source), given)
    options = Options(engine.value, device, threads, lock_free, checkpoint_epochs, checkpoint_minutes)
    if resume and folder.started() and not folder.holds("config.json"):
        note(f"{out} holds nothing yet to go on from: training starts anew, with the settings of this command")
    note_memory(training_memory(graph, chosen, options), ignore=ignore_memory)
    note_compiling()
    trainer = Trainer(graph, chosen, options, folder, source)
    note(
        f"{trainer.model!r}, {trainer.model.parameters:,} parameters; engine: {trainer.engine.name}, {trainer.threads} threads"
    )
    with stopping_between_epochs(trainer), live_view(chosen.epochs) as callback:
        trainer.fit(callback, resume=resume)
    if trainer.warm_start:
        first = trainer.warm_start
        note(
            f"started from a TransE of {first['epochs']} epochs, {first['seconds']:.1f} s, loss {first['last_loss']:.4f}"
        )
    summary = {"run": str(out), **trainer.summary()}
    if as_json:
        emit_json(summary)
    else:
        best = summary["validation"]
        scored = f", best validation {best['measure']} {best['best']:.4f} in epoch {best['epoch']}" if best else ""
        typer.echo(f"{out}: {summary['epochs']} epochs in {summary['seconds']:.1f} s{scored}")


def demo(
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder.")] = Path("runs/demo"),
    as_json: Json = False,
) -> None:
    """Train TransA on the embedded UMLS graph, and show scores, predictions and a picture."""
    from transa.analysis.training_curve import plot_training
    from transa.cli.output import emit_json, note, table
    from transa.data import load
    from transa.evaluation import link_prediction
    from transa.inference import predict
    from transa.training import RunFolder, Trainer, load_recipe

    graph = load("umls")
    folder = RunFolder(out)
    folder.discard()
    note_compiling()
    recipe = load_recipe("transa", None, "umls")
    trainer = Trainer(graph, recipe, None, folder, "umls")
    note(f"{trainer.model!r}; engine: {trainer.engine.name}, {trainer.threads} threads")
    with live_view(recipe.epochs) as callback:
        model = trainer.fit(callback)
    scores = link_prediction(model, graph.test, graph.known()).summary()
    picture = plot_training(out, out / "training.png")
    questions = [("virus", "causes"), ("hormone", "affects"), ("bird", "isa")]
    answers = {
        f"{head} {relation} ?": predict(model, graph, head=head, relation=relation, top=5)
        for head, relation in questions
    }
    if as_json:
        predictions = {question: [vars(answer) for answer in found] for question, found in answers.items()}
        emit_json(
            {"run": str(out), **trainer.summary(), "test": scores, "predictions": predictions, "picture": str(picture)}
        )
        return
    table(
        "Link prediction on UMLS (test, filtered, ties count half)",
        ("side", "MR", "MRR", "Hits@1", "Hits@3", "Hits@10"),
        [
            (side, f"{s['mr']:.2f}", f"{s['mrr']:.3f}", *(f"{s[f'hits@{k}']:.1%}" for k in (1, 3, 10)))
            for side, s in scores.items()
        ],
    )
    for question, found in answers.items():
        rows = [(answer.name, f"{answer.score:.3f}", "known" if answer.known else "new") for answer in found]
        table(question, ("answer", "score", ""), rows)
    typer.echo(f"Trained in {trainer.seconds:.1f} s. Run folder: {out}. Picture: {picture}")


def read_setting(text: str) -> tuple[str, Any]:
    """Read FIELD=VALUE, the value being TOML, or a plain word."""
    from transa.errors import InputError, quote

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"--set: expected FIELD=VALUE, found {quote(text)}")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # no TOML, or numbers and nesting without end
        return name.strip(), value.strip()


def note_compiling(kernel: str = "gradient_phase", model: Model | None = None) -> None:
    """Say that a kernel is being compiled, where this is the first time and the model has kernels."""
    from transa.cli.output import note
    from transa.kernels.cache import is_compiled

    if (model is None or model.kernel() is not None) and not is_compiled(kernel):
        note("first use on this machine: compiling kernels, which takes up to a minute and is kept for the next time")


@contextmanager
def live_view(epochs: int) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of training on stderr: a bar on a terminal, a line now and then elsewhere."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("training", total=epochs, state="")

        def callback(progress: Progress) -> None:
            state = f"loss {progress.loss:.4f}, violating {progress.violations:.1%}, {progress.triples_per_second:,.0f} triples/s"
            if progress.best is not None:
                state += f", best {progress.best:.4f} (epoch {progress.best_epoch})"
            bar.update(task, completed=progress.epoch, state=state)
            tenth = max(1, epochs // 10)
            if not console.is_terminal and (progress.epoch % tenth == 0 or progress.epoch in (1, epochs)):
                typer.echo(f"epoch {progress.epoch}/{epochs}: {state}", err=True)

        yield callback
