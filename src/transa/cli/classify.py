"""The command that classifies triples."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from transa.choices import Calibration, DecidedBy
from transa.cli.options import Json, Largest, Limit, Overwrite, Run, add_command
from transa.cli.output import emit_json, note, shown_names, table


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, classify, example="runs/wn11 --picture how_sure.png")


@dataclass(frozen=True)
class Task:
    """What to classify, and how."""

    split: Annotated[Literal["test", "valid"], typer.Option(help="Which triples.")] = "test"
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn: false triples, the sample.")] = 0
    calibration: Annotated[Literal[Calibration, "none"], typer.Option(help="How scores become probabilities.")] = (
        "isotonic"
    )
    limit: Limit = None
    by: Annotated[
        DecidedBy | None,
        typer.Option(help="Decide by the score, or beside other answers to both questions; by default as the recipe."),
    ] = None


@dataclass(frozen=True)
class Report:
    """What to show and to write."""

    decisions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every decision: .csv, .tsv or .parquet.")
    ] = None
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw how far probabilities can be relied on: .png, .svg or .pdf."),
    ] = None
    top: Largest = 15
    overwrite: Overwrite = False
    as_json: Json = False


def classify(run: Run, task: Task, report: Report) -> None:
    """Tell true triples from false ones, with thresholds from the validation split."""
    from transa.analysis.calibration_plot import plot_calibration
    from transa.analysis.drawing import check_picture
    from transa.data.result_files import check_target
    from transa.errors import InputError
    from transa.estimators import load_model

    if report.decisions is not None:
        check_target(report.decisions, overwrite=report.overwrite)
    if report.picture is not None:
        if task.calibration == "none":
            raise InputError("--picture shows probabilities, which --calibration none leaves out", path=report.picture)
        check_picture(report.picture, overwrite=report.overwrite)
    calibration = None if task.calibration == "none" else task.calibration
    model = load_model(run)
    result = model.classify(split=task.split, seed=task.seed, calibration=calibration, limit=task.limit, by=task.by)
    note(*result.notes)
    if report.decisions is not None:
        result.write(report.decisions, overwrite=report.overwrite)
    if report.picture is not None:
        plot_calibration(result, report.picture, overwrite=report.overwrite)
    summary = {"run": str(run), **result.summary()}
    if report.as_json:
        emit_json(summary)
    else:
        _show(summary, shown_names(model.graph_.relations), report.top)
        for written in (report.decisions, report.picture):
            if written is not None:
                typer.echo(f"Written: {written}")


def _show(summary: dict[str, Any], names: dict[str, str], top: int) -> None:
    estimate, calibration = summary["estimate"], summary["calibration"]
    rows = [
        ("accuracy", _percent(summary["accuracy"])),
        ("  without a model, by the relation's share in valid", _percent(summary["by_share"])),
        *([("  95 % interval", _interval(estimate))] if estimate else []),
        ("precision", _percent(summary["precision"])),
        ("recall", _percent(summary["recall"])),
        ("F1", _percent(summary["f1"])),
        ("ROC-AUC (margins)", _number(summary["auc"])),
        ("average precision (margins)", _number(summary["average_precision"])),
        ("global threshold", f"{summary['global_threshold']:.4g}"),
    ]
    if calibration:
        rows += [
            (f"Brier score ({calibration['method']})", _number(calibration["brier"])),
            ("expected calibration error", _number(calibration["ece"])),
        ]
    label = f"estimate from {summary['n']:,} of {estimate['population']:,}" if estimate else f"{summary['n']:,}"
    table(f"Triple classification ({summary['split']}, {label} triples)", ("", ""), rows)
    largest = sorted(summary["relations"].items(), key=lambda item: (-item[1]["n"], item[0]))[:top]
    if largest:
        total = len(summary["relations"])
        shown = "" if len(largest) == total else f", the {len(largest)} largest of {total:,}"
        starred = "" if all(found["own_threshold"] for _, found in largest) else "; *: not in valid, global threshold"
        table(
            f"Relations{shown}{starred}",
            (
                "relation",
                "n",
                "accuracy",
                "by share",
                "F1",
                "AUC",
                "AP",
                "threshold",
            ),  # fits into 80 columns; --json has the rest
            [
                (
                    names[key],
                    found["n"],
                    *(_percent(found[measure]) for measure in ("accuracy", "by_share", "f1")),
                    *(_number(found[measure]) for measure in ("auc", "average_precision")),
                    f"{found['threshold']:.4g}{'' if found['own_threshold'] else '*'}",
                )
                for key, found in largest
            ],
        )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(estimate: dict[str, Any]) -> str:
    low, high = estimate["accuracy_interval"]
    return f"{low:.1%} to {high:.1%}"
