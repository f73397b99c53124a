"""Commands that train: train, demo."""

from __future__ import annotations

import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.choices import EngineName
from transa.cli.loading import load_graph
from transa.cli.options import (
    GraphSelection,
    IgnoreMemory,
    Json,
    Source,
    Split,
    SplitSeed,
    TextFormat,
    Threads,
    add_command,
)
from transa.cli.output import emit_json, note, note_compiling, note_compiling_rules, note_compiling_training, table
from transa.cli.serve import Listening, start
from transa.cli.sharing import SharedTraining
from transa.readable import counted, one_line

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph
    from transa.inference import Checked
    from transa.training import Options, Recipe, RunFolder


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, train, example="films --out runs/films --set dim=100 --set epochs=200")
    add_command(app, demo, example="--out runs/demo")


@dataclass(frozen=True)
class Training:
    """Which model to train, and how."""

    model: Annotated[str, typer.Option(help="One of those that `transa models` lists.")] = "transa"
    recipe: Annotated[
        str | None,
        typer.Option(help="One the model has, such as paper, authors, modern or general (transa), or a TOML file."),
    ] = None
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="FIELD=VALUE", help="Any setting of the recipe; repeatable.")
    ] = None
    with_rules: Annotated[
        bool | None,
        typer.Option(
            "--with-rules/--no-rules",
            help="Mine rules as well, and learn on valid how much they count; the general recipe does.",
        ),
    ] = None
    minutes: Annotated[
        float | None, typer.Option(help="How long training by the general recipe may take, its trials included; 10.")
    ] = None
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False


@dataclass(frozen=True)
class Machine:
    """What to train on, when to write checkpoints, and who else is told."""

    threads: Threads = None
    engine: Annotated[EngineName, typer.Option(help="Compiled kernels, torch, or what fits.")] = "auto"
    device: Annotated[str, typer.Option(help="Of the torch engine: cpu, cuda, …")] = "cpu"
    lock_free: Annotated[bool, typer.Option("--lock-free", help="Faster, but two runs with the same seed differ.")] = (
        False
    )
    checkpoint_epochs: Annotated[int | None, typer.Option(min=1, help="Epochs between checkpoints.")] = None
    checkpoint_minutes: Annotated[float, typer.Option(min=0, help="Minutes between checkpoints.")] = 5.0
    ignore_memory: IgnoreMemory = False
    track: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KIND[:WHERE]",
            help="Send every epoch to mlflow[:URI], tensorboard[:FOLDER], wandb[:PROJECT] or jsonl:FILE; repeatable.",
        ),
    ] = None

    def options(self) -> Options:
        """Return the options of the trainer."""
        from transa.training import Options

        return Options(
            self.engine,
            self.device,
            self.threads,
            self.lock_free,
            self.checkpoint_epochs,
            self.checkpoint_minutes,
            self.ignore_memory,
        )


def train(
    source: Source,
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder.")],
    training: Training,
    machine: Machine,
    sharing: SharedTraining,
    text: TextFormat,
    selection: GraphSelection,
    split: Split = None,
    split_seed: SplitSeed = 0,
    as_json: Json = False,
) -> None:
    """Train a model on a graph and keep it in a run folder."""
    from transa.training import RunFolder

    with sharing.one_voice():
        graph = load_graph(source, text, selection, split, split_seed)
        summary = _train(source, graph, RunFolder(out), training, machine, sharing)
    if summary is None:  # the first worker tells
        return
    summary = {"run": str(out), **summary}
    if as_json:
        emit_json(summary)
    elif sharing.plan:
        typer.echo(summary["plan"])
    else:
        best = summary["validation"]
        scored = f", best validation {best['measure']} {best['best']:.4f} in epoch {best['epoch']}" if best else ""
        typer.echo(f"{out}: {counted(summary['epochs'], 'epoch')} in {summary['seconds']:.1f} s{scored}")


def _train(
    source: str, graph: KnowledgeGraph, folder: RunFolder, training: Training, machine: Machine, sharing: SharedTraining
) -> dict[str, Any] | None:
    """Train, and return the summary."""
    from transa.cli.live_view import LiveView
    from transa.cli.stopping import stopping_between_epochs
    from transa.data.registry import canonical
    from transa.errors import InputError
    from transa.training import Trainer, tracker
    from transa.training.memory import training_memory
    from transa.training.recipe_files import GENERAL

    note(*graph.notes)
    if not len(graph.valid):
        from transa.inference.trained import NO_VALID  # all of inference comes with it, and training needs none of it

        note(f"{NO_VALID}; --split 0.8,0.1,0.1 takes some of the triples for it")
    given = dict(map(read_setting, training.settings or []))
    if training.with_rules is not None:
        given["with_rules"] = training.with_rules
    trackers = [tracker(each) for each in machine.track or []]
    if trackers and sharing.is_given:
        raise InputError("--track: goes with training in one process; several workers write log.jsonl alone")
    options = machine.options()
    if training.resume:
        folder.check_started()  # before any trials
    elif not sharing.sharded and not sharing.plan:
        folder.check_new()
    same = training.resume and not given and training.recipe in (None, GENERAL) and folder.holds("config.json")
    if not same and sharing.is_given:
        sharing.check_recipe(training.model, training.recipe, canonical(source), given)
    recipe = folder.recipe() if same else _recipe(graph, training, canonical(source), given, options)
    if training.resume and folder.started() and not folder.holds("config.json"):
        nothing = f"{folder.path} holds nothing yet to go on from"
        note(f"{nothing}: training starts anew, with the settings of this command")
    if sharing.is_given:
        return sharing.train(graph, recipe, options, folder, source, resume=training.resume)
    note(f"memory: about {training_memory(graph, recipe, options)}")
    trainer = Trainer(graph, recipe, options, folder, source)
    size = f"{trainer.model!r}, {trainer.model.parameters:,} parameters"
    note(f"{size}; engine: {trainer.engine.name}, {counted(trainer.threads, 'thread')}")
    note_compiling_training(options, recipe)
    if recipe.with_rules or not trainer.model.has_vectors:
        note("rules are mined from train: seconds on a small graph, minutes on a dense one")
        note_compiling_rules()
    with stopping_between_epochs(trainer):
        trainer.fit([LiveView(), *trackers], resume=training.resume)
    if trainer.warm_start:
        first = trainer.warm_start
        took = f"{first['epochs']} epochs, {first['seconds']:.1f} s, loss {first['last_loss']:.4f}"
        note(f"started from a TransE of {took}")
    return trainer.summary()


def _recipe(
    graph: KnowledgeGraph, training: Training, dataset: str | None, given: dict[str, Any], options: Options
) -> Recipe:
    """Return the recipe to train by; the general one after its trials."""
    from transa.errors import InputError
    from transa.training import load_recipe
    from transa.training.general import MINUTES, Trial, general_recipe, general_ways, is_general

    if not is_general(training.model, training.recipe, dataset, given):
        if training.minutes is not None:
            raise InputError("--minutes goes with the general recipe; others have a number of epochs (--set epochs=…)")
        return load_recipe(training.model, training.recipe, dataset, given)

    def told(trial: Trial) -> None:
        note(f"tried {trial.name}: {trial.score:.4f} on valid, {trial.seconds:.2g} s an epoch")

    tried = general_ways(training.model, graph, given)  # refuses wrong settings before anything is said
    note(
        "no recipe was made for this graph: a few ways of training are tried for a moment, and the best is trained in full"
    )
    note_compiling_training(options, *tried.values())
    minutes = MINUTES if training.minutes is None else training.minutes
    return general_recipe(training.model, graph, given, minutes=minutes, options=options, callback=told)


def demo(
    out: Annotated[Path, typer.Option(metavar="RUN", help="The run folder.")] = Path("runs/demo"),
    serve: Annotated[
        bool, typer.Option("--serve", help="Open the page on it afterwards; a run that people have judged is kept.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Train TransA on the embedded UMLS graph, and show scores, new facts with reasons, and a picture."""
    from transa.errors import InputError
    from transa.inference.verdicts import FILE
    from transa.training import RunFolder

    judged = RunFolder(out).holds(FILE)
    if judged and not serve:
        raise InputError("holds verdicts of people, which a new demo would delete; name another folder", path=out)
    if not judged:
        _demonstrate(out, as_json)
    if serve:
        start([out], Listening(open_page=True))


def _demonstrate(out: Path, as_json: bool) -> None:
    from transa.analysis.drawing import NEEDS_MATPLOTLIB, can_draw
    from transa.analysis.training_plot import plot_training
    from transa.cli.live_view import LiveView
    from transa.data import load
    from transa.estimators import load_model
    from transa.training import RunFolder, Trainer, load_recipe

    drawn = can_draw()
    if not drawn:
        note(f"no picture will be drawn: {NEEDS_MATPLOTLIB}")
    graph, folder, recipe = load("umls"), RunFolder(out), load_recipe("transa", None, "umls")
    folder.discard()
    trainer = Trainer(graph, recipe, folder=folder, source="umls")
    note(f"{trainer.model!r}; engine: {trainer.engine.name}, {counted(trainer.threads, 'thread')}")
    note_compiling_training(trainer.options, recipe)
    trainer.fit(LiveView())
    model = load_model(folder)
    scores = model.evaluate().summary()
    picture = plot_training(out, out / "training.png", overwrite=True) if drawn else None
    note_compiling("best_answers", model.model_)
    best: dict[str, Checked] = {}
    for fact in model.discover(top=500, each=1):
        best.setdefault(fact.relation, fact)
    new = list(best.values())[:5]
    why = [model.explain(fact.head, fact.relation, fact.tail, top=3).sentence for fact in new]
    if as_json:
        facts = [{**asdict(fact), "why": sentence} for fact, sentence in zip(new, why, strict=True)]
        shown = {"new_facts": facts, "picture": None if picture is None else str(picture)}
        emit_json({"run": str(out), **trainer.summary(), "test": scores, **shown})
        return
    table(
        "Link prediction on UMLS (test, filtered, ties count half)",
        ("side", "MR", "MRR", "Hits@1", "Hits@3", "Hits@10"),
        [
            (side, f"{s['mr']:.2f}", f"{s['mrr']:.3f}", *(f"{s[f'hits@{k}']:.1%}" for k in (1, 3, 10)))
            for side, s in scores.items()
        ],
    )
    rows = [
        (
            each.head_name,
            each.relation_name,
            each.tail_name,
            "-" if each.probability is None else f"{each.probability:.3f}",
        )
        for each in new
    ]
    table(
        "Facts that the graph lacks, the most probable of some relations", ("head", "relation", "tail", "prob."), rows
    )
    typer.echo("\nWhy:")
    for sentence in why:
        typer.echo(f"- {one_line(sentence)}")
    typer.echo(f"\nMore: transa discover {out}; transa explain {out} HEAD RELATION TAIL\n")
    written = "" if picture is None else f". Picture: {picture}"
    typer.echo(f"Trained in {trainer.seconds:.1f} s. Run folder: {out}{written}")


def read_setting(text: str) -> tuple[str, Any]:
    """Read FIELD=VALUE, where the value is TOML or a plain word."""
    from transa.errors import InputError, quote

    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise InputError(f"--set: expected FIELD=VALUE, found {quote(text)}")
    try:
        return name.strip(), tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):  # no TOML, or numbers and nesting without end
        return name.strip(), value.strip()
