"""Commands that list where graphs come from: datasets, formats."""

from __future__ import annotations

from pathlib import Path

import typer

from transa.cli.options import Json, add_command
from transa.cli.output import emit_json, table


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, datasets)
    add_command(app, formats)


def datasets(as_json: Json = False) -> None:
    """List the datasets known by name and where they are."""
    from transa.data.registry import DATASETS, whereabouts

    places = {name: whereabouts(name) for name in DATASETS}
    if as_json:
        emit_json(
            {
                name: {
                    "entities": dataset.entities,
                    "relations": dataset.relations,
                    "train": dataset.train,
                    "valid": dataset.valid,
                    "test": dataset.test,
                    "source": dataset.source,
                    "embedded": dataset.embedded,
                    "path": None if places[name] is None else str(places[name]),
                }
                for name, dataset in DATASETS.items()
            }
        )
        return
    header = ("name", "entities", "relations", "train", "valid", "test", "here")  # no more than fits into 80 columns
    rows = [
        (name, data.entities, data.relations, data.train, data.valid, data.test, _place(name, places))
        for name, data in DATASETS.items()
    ]
    table("Datasets", header, rows)


def _place(name: str, places: dict[str, Path | None]) -> str:
    from transa.data.registry import DATASETS

    if places[name] is None:
        return "to download"
    return "in package" if DATASETS[name].embedded else "yes"


def formats(as_json: Json = False) -> None:
    """List the formats that graphs are read from and written to."""
    from transa.data.formats import FILE_FORMATS, FOLDER_FORMATS

    files, folders = FILE_FORMATS.values(), FOLDER_FORMATS.values()
    if as_json:
        described = [{"name": each.name, "description": each.description} for each in folders]
        extended = [{"name": f.name, "extensions": f.extensions, "description": f.description} for f in files]
        emit_json({"files": extended, "folders": described})
        return
    table(
        "Files; the first extension is the one that is written",
        ("name", "extensions", "description"),
        [(f.name, " ".join(extension or "(none)" for extension in f.extensions), f.description) for f in files],
    )
    table("Folders", ("name", "description"), [(each.name, each.description) for each in folders])
