"""The command line: parse, call, print.

Nothing heavy is imported before a command runs, so that ``transa --help`` answers at once.
"""

from __future__ import annotations

import gc
import sys
import warnings
from typing import TextIO

import typer

from transa.cli import (
    classify,
    consistent,
    convert,
    datasets,
    doctor,
    evaluate,
    explain,
    export,
    extend,
    figure,
    models,
    predict,
    reproduce,
    rules,
    serve,
    stats,
    train,
    tune,
    weights,
)
from transa.cli.mistakes import Group
from transa.cli.output import note
from transa.cli.stopping import exiting_on_termination, leaving_at_once
from transa.errors import TransaError, TransaWarning
from transa.readable import one_line

#: New objects after which garbage is looked for. Python's own 700 make imports take a sixth longer, and a command makes little garbage.
COLLECT = 50_000

app = typer.Typer(
    name="transa",
    cls=Group,
    help="Knowledge graph embedding with adaptive metrics.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: rich takes [umap] for markup, and cuts long options on a narrow terminal
    context_settings={"help_option_names": ["-h", "--help"]},
)
datasets.register(app)
stats.register(app)
convert.register(app)
train.register(app)
tune.register(app)
evaluate.register(app)
classify.register(app)
models.register(app)
rules.register(app)
predict.register(app)
consistent.register(app)
explain.register(app)
extend.register(app)
export.register(app)
weights.register(app)
figure.register(app)
serve.register(app)
reproduce.register(app)
doctor.register(app)


@app.callback(invoke_without_command=True)
def _options(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from transa import __version__

        typer.echo(__version__)
        raise typer.Exit


def main() -> None:
    """Run a command. Bad input ends in one line on stderr and exit code 2."""
    gc.set_threshold(COLLECT)
    with leaving_at_once(), warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            with exiting_on_termination():
                app(prog_name="transa")
        except TransaError as error:
            typer.secho(f"error: {one_line(str(error))}", fg="red", err=True)
            sys.exit(2)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print our own warnings as notes, without the line of the program they come from."""
    if issubclass(category, TransaWarning):
        note(str(message))
    else:
        typer.echo(warnings.formatwarning(message, category, filename, lineno, line), err=True, nl=False)
