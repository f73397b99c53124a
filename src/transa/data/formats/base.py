"""What a format is: a kind of file, or a kind of folder, that triples are read from and written to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

from transa.data.graph import KnowledgeGraph, Split
from transa.data.triple_table import TripleTable
from transa.errors import InputError, quote


@dataclass(frozen=True)
class ReadOptions:
    """What a user says about a file that is to be read. A format looks at the options that concern it; None means: find out.

    Attributes
    ----------
    columns
        Head, relation, tail and perhaps label, each the name in the header or the position counted from 0.
    header
        Whether the first line names the columns. By default it does if columns are given by name, or if it is a usual header such
        as ``head relation tail`` or ``subject predicate object``, or has nothing in common with the other lines.
    delimiter
        One character.
    quotes
        Whether a field that starts with ``"`` is quoted, so that it may hold delimiters and line ends.
    minimum_confidence
        A column of numbers, by name or position, and the least of them with which a row is kept. A format with columns puts these
        numbers into the table's `confidence`; `read_file` does the rest.
    lines
        Whether somebody needs the line of each row, for messages. A format of lines then puts them into the table's `places`.
    """

    columns: tuple[str | int, ...] | None = None
    header: bool | None = None
    delimiter: str | None = None
    quotes: bool = True
    minimum_confidence: tuple[str | int, float] | None = None
    lines: bool = False

    def __post_init__(self) -> None:
        if self.columns is not None and len(self.columns) not in (3, 4):
            raise InputError(
                f"expected 3 or 4 columns (head, relation, tail, label), found {len(self.columns)}: {self.columns}"
            )
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0'):
            raise InputError(f"the delimiter must be one character, found {quote(self.delimiter)}")
        if self.minimum_confidence is not None and not (
            isinstance(self.minimum_confidence, tuple)
            and len(self.minimum_confidence) == 2
            and isinstance(self.minimum_confidence[0], str | int)
            and isinstance(self.minimum_confidence[1], int | float)
        ):
            found = quote(self.minimum_confidence)
            raise InputError(
                f"minimum confidence: expected a column and a number such as ('score', 0.7), found {found}"
            )
        if self.header is False and self.by_name:
            named = (*(self.columns or ()), *(() if self.confidence_column is None else (self.confidence_column,)))
            raise InputError(f"columns by name ({', '.join(map(str, named))}) need a header")

    @property
    def by_name(self) -> bool:
        """Whether any column is given by its name."""
        return any(isinstance(column, str) for column in (*(self.columns or ()), self.confidence_column))

    @property
    def confidence_column(self) -> str | int | None:
        """The column of confidence, if there is one to look at."""
        return None if self.minimum_confidence is None else self.minimum_confidence[0]


class Format(ABC):
    """What every format states.

    Attributes
    ----------
    name
        What ``transa convert --to`` and `transa.data.write` call it.
    description
        One line, which ``transa formats`` shows.
    holds_labels
        Whether it can hold the labels 1 and -1 beside triples. A graph with labels is refused where it cannot.
    """

    name: ClassVar[str]
    description: ClassVar[str]
    holds_labels: ClassVar[bool] = False


class FileFormat(Format):
    """A format of single files. A folder with train, valid and test files in it is read and written with no further code.

    Attributes
    ----------
    extensions
        Lower-case, with the dot, and without a compression: ``.gz`` and ``.zst`` may follow any of them. All are read; the first
        one is written.
    holds_names
        Whether files hold readable names and descriptions beside keys. If not, a folder gets side files for them.
    compressible
        Whether a file may be written as ``.gz``.
    """

    extensions: ClassVar[tuple[str, ...]]
    holds_names: ClassVar[bool] = False
    compressible: ClassVar[bool] = True

    @abstractmethod
    def read(self, path: Path, options: ReadOptions) -> TripleTable:
        """Read a file.

        `transa.data.text_files.text_lines` and `transa.data.streams.open_bytes` open it and take care of compression.

        Raises
        ------
        InputError
            If the file is not in this format; the message names the file, the line and the value.
        """

    @abstractmethod
    def write(self, graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO) -> None:
        """Write the triples of some splits, one after the other, so that `read` gives them back.

        Each of the splits holds triples, and labels only if the format can hold them.
        """


class FolderFormat(Format):
    """A format that is a folder as a whole, with rules of its own for the files in it.

    Attributes
    ----------
    files
        The names of all files that `write` may make. ``--overwrite`` replaces a folder only if it holds nothing else.
    """

    files: ClassVar[tuple[str, ...]]

    @abstractmethod
    def is_mine(self, folder: Path) -> bool:
        """Tell whether a folder looks as if it were in this format."""

    @abstractmethod
    def read(self, folder: Path) -> KnowledgeGraph:
        """Read a folder that `is_mine` recognised."""

    @abstractmethod
    def write(self, graph: KnowledgeGraph, folder: Path) -> None:
        """Write a graph into an empty folder."""
