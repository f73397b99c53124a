"""The command that classifies triples."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from transa.cli.graphs import Json


class Evaluated(StrEnum):
    """Splits that can be classified."""

    test = "test"
    valid = "valid"


class CalibrationChoice(StrEnum):
    """Ways from margins to probabilities."""

    isotonic = "isotonic"
    platt = "platt"
    none = "none"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command()(classify)


def classify(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    split: Annotated[Evaluated, typer.Option(help="Which triples.")] = Evaluated.test,
    seed: Annotated[int, typer.Option(min=0, help="Of what is drawn: false triples, the sample.")] = 0,
    calibration: Annotated[
        CalibrationChoice, typer.Option(help="How scores become probabilities.")
    ] = CalibrationChoice.isotonic,
    decisions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write every decision: .csv, .tsv or .parquet.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw how far probabilities can be relied on: .png, .svg or .pdf."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only a random sample of this many triples.")] = None,
    top: Annotated[int, typer.Option(min=0, help="How many relations to show.")] = 15,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there.")] = False,
    as_json: Json = False,
) -> None:
    """Tell true triples from false ones, with thresholds from the validation split."""
    from transa.analysis.calibration_plot import plot_calibration
    from transa.analysis.drawing import check_picture
    from transa.cli.output import emit_json, note
    from transa.data.result_files import check_target
    from transa.errors import InputError
    from transa.evaluation import classify as classify_triples
    from transa.training import RunFolder

    if decisions is not None:
        check_target(decisions, overwrite=overwrite)
    if picture is not None:
        if calibration is CalibrationChoice.none:
            raise InputError("--picture shows probabilities, which --calibration none leaves out", path=picture)
        check_picture(picture, overwrite=overwrite)
    folder = RunFolder(run)
    method: Any = None if calibration is CalibrationChoice.none else calibration.value
    result = classify_triples(folder.model(), folder.graph(), split.value, seed=seed, calibration=method, limit=limit)
    note(*result.notes)
    if decisions is not None:
        result.write(decisions, overwrite=overwrite)
    if picture is not None:
        plot_calibration(result, picture, overwrite=overwrite)
    summary = {"run": str(run), **result.summary()}
    if as_json:
        emit_json(summary)
    else:
        _show(summary, top)
        for written in (decisions, picture):
            if written is not None:
                typer.echo(f"Written: {written}")


def _show(summary: dict[str, Any], top: int) -> None:
    from transa.cli.output import table

    estimate, calibration = summary["estimate"], summary["calibration"]
    rows = [
        ("accuracy", _percent(summary["accuracy"])),
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
            ("relation", "n", "accuracy", "F1", "AUC", "AP", "threshold"),  # fits into 80 columns; --json has the rest
            [
                (
                    name,
                    found["n"],
                    *(_percent(found[measure]) for measure in ("accuracy", "f1")),
                    *(_number(found[measure]) for measure in ("auc", "average_precision")),
                    f"{found['threshold']:.4g}{'' if found['own_threshold'] else '*'}",
                )
                for name, found in largest
            ],
        )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _interval(estimate: dict[str, Any]) -> str:
    low, high = estimate["accuracy_interval"]
    return f"{low:.1%} to {high:.1%}"
