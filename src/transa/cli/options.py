"""Options that several commands share, and how a command takes a group of options as one argument.

A group is a frozen dataclass whose fields are annotated as typer wants parameters. `add_command` shows typer a function with an option
for each field, and calls the command with the groups that it packs from them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from transa.cli.mistakes import Command

Run = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]
Source = Annotated[
    str, typer.Argument(metavar="NAME-or-PATH", help="A dataset's name, a file, a folder, or sparql:URL.")
]
Split = Annotated[
    str | None,
    typer.Option("--split", metavar="TRAIN,VALID,TEST", help="Cut a graph of one piece, for example 0.8,0.1,0.1."),
]
SplitSeed = Annotated[int, typer.Option(min=0, help="Of --split.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Iris = Annotated[bool, typer.Option("--iris", help="Show IRIs in full, not by prefix or local name.")]
SkipUnknown = Annotated[
    bool, typer.Option("--skip-unknown", help="Leave out rows with names that the model does not know, and list them.")
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")]
Threads = Annotated[int | None, typer.Option(help="By default all processors.")]
IgnoreMemory = Annotated[bool, typer.Option("--ignore-memory", help="Go on where there seems to be too little.")]
Limit = Annotated[int | None, typer.Option(min=1, help="Only a random sample of this many triples.")]
Largest = Annotated[int, typer.Option(min=0, help="How many relations to show.")]
Only = Annotated[list[str] | None, typer.Option("--relation", help="Only this relation; repeatable.")]
NoLoopPrior = Annotated[
    bool, typer.Option("--no-loop-prior", help="Let an entity be an answer to itself in every relation.")
]
Picture = Annotated[Path | None, typer.Option("--picture", metavar="FILE", help="Draw it: .png, .svg or .pdf.")]


@dataclass(frozen=True)
class TextFormat:
    """How to read a text file."""

    columns: Annotated[
        str | None,
        typer.Option(
            help="Head, relation, tail[, label]: names in the header or positions from 0, separated by commas."
        ),
    ] = None
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
    ] = None
    delimiter: Annotated[str | None, typer.Option(help="Of text files, one character; \\t is a tab.")] = None
    no_quotes: Annotated[bool, typer.Option("--no-quotes", help='Take " literally.')] = False

    def options(self) -> dict[str, Any]:
        """Return the options as `transa.load` and `ReadOptions` take them."""
        return {
            "columns": None if self.columns is None else tuple(map(column_of, self.columns.split(","))),
            "header": self.header,
            "delimiter": "\t" if self.delimiter in ("\\t", "tab") else self.delimiter,
            "quotes": not self.no_quotes,
        }


@dataclass(frozen=True)
class Selection:
    """What to leave out of a graph."""

    drop_relation: Annotated[list[str] | None, typer.Option(help="Leave this relation out; repeatable.")] = None
    no_literals: Annotated[
        bool, typer.Option("--no-literals", help="Leave out triples whose tail is a number or a date.")
    ] = False
    minimum_confidence: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=NUMBER",
            help="Only rows with at least this number in a column, given by name or position from 0.",
        ),
    ] = None


@dataclass(frozen=True)
class GraphSelection(Selection):
    """What to take of a source, and what to leave out."""

    query: Annotated[
        str | None, typer.Option(help="What to ask a sparql: endpoint (in SPARQL) or a duckdb: database (in SQL).")
    ] = None


@dataclass(frozen=True)
class TableOutput:
    """Where a result goes that is a table: into a file, or to the screen as a table or as JSON."""

    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write a table: .csv, .tsv or .parquet.")
    ] = None
    overwrite: Overwrite = False
    as_json: Json = False
    iris: Iris = False

    def check(self) -> None:
        """Refuse a file that cannot be written, before the work begins."""
        from transa.data.result_files import check_target

        if self.out is not None:
            check_target(self.out, overwrite=self.overwrite)


def column_of(text: str) -> str | int:
    """Return a column as a user gives it: by its position, or by its name."""
    return int(text) if text.isdecimal() else text


def add_command(
    app: typer.Typer, function: Callable[..., None], name: str | None = None, *, example: str | None = None
) -> None:
    """Add a command, in which each parameter that is a dataclass stands for the options that are its fields.

    `example` is what may follow ``transa NAME``; help and messages show it.
    """
    first_line = inspect.getdoc(function).partition("\n")[0]  # type: ignore[union-attr]
    shown = None if example is None else f"Example: transa {name or function.__name__} {example}"
    # without the short help, the list of commands cuts long lines
    app.command(name, cls=Command, short_help=first_line, epilog=shown)(expanded(function))


def expanded(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function with the fields of dataclasses as parameters, which packs them and calls `function`."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Any]] = {}
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        if is_dataclass(parameter.annotation) and isinstance(parameter.annotation, type):
            groups[parameter.name] = parameter.annotation
            parameters += _parameters(parameter.annotation)
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    def command(**values: Any) -> None:
        packed = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        function(**values, **packed)

    command.__name__, command.__doc__, command.__module__ = function.__name__, function.__doc__, function.__module__
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command


def _parameters(group: type[Any]) -> list[inspect.Parameter]:
    """Return the fields of a dataclass as parameters of a function."""
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]
