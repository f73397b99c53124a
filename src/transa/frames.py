"""Frames of pandas and Polars, and other libraries that the core does without."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

import pyarrow as pa

from transa.errors import InputError


class Framed(ABC):
    """Whatever has a table of Arrow has frames of pandas and Polars too."""

    @abstractmethod
    def frame(self) -> pa.Table:
        """Return an Arrow table."""

    def to_pandas(self) -> Any:
        """Return a pandas data frame, if pandas is installed. A missing text is None in it, whatever the version of pandas."""
        return pandas_frame(self.frame())

    def to_polars(self) -> Any:
        """Return a Polars data frame, if Polars is installed."""
        return polars_frame(self.frame())


def pandas_frame(table: pa.Table) -> Any:
    """Return a table as a pandas data frame."""
    pandas = needed("pandas", "to_pandas")
    frame = table.to_pandas()
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_string(column.type) and column.null_count:
            frame[name] = pandas.Series(column.to_pylist(), dtype=object)
    return frame


def polars_frame(table: pa.Table) -> Any:
    """Return a table as a Polars data frame."""
    return needed("polars", "to_polars").from_arrow(table)


def needed(module: str, what: str, package: str | None = None) -> Any:
    """Import a library that the core does without.

    Parameters
    ----------
    module
        Its name in Python.
    what
        What needs it, for the message.
    package
        What to install, if that is called otherwise.

    Raises
    ------
    InputError
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError:
        raise InputError(f"{what} needs {module}, which is not installed: pip install {package or module}") from None
