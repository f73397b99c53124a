"""The formats that graphs are read from and written to, one module each. A module with a format in it is found here by itself.

Whoever needs to know a format asks this registry. `register` adds one from outside the package.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from transa.data.formats.base import FileFormat, FolderFormat, Format, ReadOptions
from transa.data.streams import COMPRESSIONS, format_suffix
from transa.data.triple_table import TripleTable
from transa.errors import InputError, quote

__all__ = [
    "FILE_FORMATS",
    "FOLDER_FORMATS",
    "FileFormat",
    "FolderFormat",
    "Format",
    "ReadOptions",
    "format_of_file",
    "format_of_folder",
    "read_file",
    "register",
    "targets",
    "written_extensions",
]

#: Formats of single files by name.
FILE_FORMATS: dict[str, FileFormat] = {}
#: Formats of whole folders by name.
FOLDER_FORMATS: dict[str, FolderFormat] = {}


def register(added: Format) -> None:
    """Add a format; `transa.load`, `transa.data.write` and ``transa convert`` then know it.

    It takes the place of an earlier one of the same name.

    Raises
    ------
    InputError
        If one of its extensions belongs to another format or cannot be an extension.
    """
    if isinstance(added, FolderFormat):
        FOLDER_FORMATS[added.name] = added
        return
    if not isinstance(added, FileFormat) or not added.extensions:
        raise InputError(f"expected a FileFormat with extensions or a FolderFormat, found {added!r}")
    for extension in added.extensions:
        # What `format_suffix` could return: nothing else would ever be found.
        if extension in COMPRESSIONS or extension != format_suffix(f"x{extension}"):
            raise InputError(
                f"the format {added.name!r} cannot have the extension {extension!r}; expected one like '.abc'"
            )
        for other in FILE_FORMATS.values():
            if extension in other.extensions and other.name != added.name:
                raise InputError(f"the extension {extension!r} of {added.name!r} belongs to the format {other.name!r}")
    FILE_FORMATS[added.name] = added


def format_of_file(path: Path) -> FileFormat | None:
    """Return the format that a file's extension tells, or None if no format has that extension."""
    suffix = format_suffix(path)
    return next((each for each in FILE_FORMATS.values() if suffix in each.extensions), None)


def format_of_folder(folder: Path) -> FolderFormat | None:
    """Return the format that recognises a folder, or None. The one that was registered last is asked first."""
    return next((each for each in reversed(FOLDER_FORMATS.values()) if each.is_mine(folder)), None)


def targets() -> dict[str, FileFormat | FolderFormat]:
    """Return the formats that a folder can be written in, by name.

    A saved graph and a file of names are both called parquet; for a folder, that means the saved graph.
    """
    return {**FILE_FORMATS, **FOLDER_FORMATS}


def written_extensions() -> dict[str, FileFormat]:
    """Return the extensions that single files can be written with, each with its format."""
    return {each.extensions[0]: each for each in FILE_FORMATS.values()}


def read_file(path: Path, options: ReadOptions | None = None) -> TripleTable:
    """Read one file of triples in the format that its extension tells; with an unknown extension, as delimited text."""
    found = format_of_file(path) or FILE_FORMATS["tsv"]
    table = found.read(path, options or ReadOptions())
    table = replace(table, places=replace(table.places, path=path))
    if not len(table):
        raise InputError("the file holds no triple", path=path)
    return table if options is None else _confident(table, options.minimum_confidence, path)


def _confident(table: TripleTable, asked: tuple[str | int, float] | None, path: Path) -> TripleTable:
    """Return the rows of a table whose confidence is high enough."""
    if asked is None:
        return table
    column, minimum = asked
    if table.confidence is None:
        raise InputError(f"a file of this format has no column {quote(column)} of confidence", path=path)
    kept = table.confidence >= minimum
    if not kept.any():
        raise InputError(f"no row has {minimum:g} or more in column {quote(column)}", path=path)
    left_out = int((~kept).sum())
    if not left_out:
        return replace(table, confidence=None)
    note = f"{path}: {left_out:,} of {len(table):,} rows left out, with less than {minimum:g} in column {quote(column)}"
    return table.where(kept).with_notes(note)


def _register_modules() -> None:
    """Register the formats of the modules beside this one: the classes that state a name."""
    for module in iter_modules(__path__):
        for value in vars(import_module(f"{__name__}.{module.name}")).values():
            if isinstance(value, type) and issubclass(value, Format) and "name" in vars(value):
                register(value())


_register_modules()
