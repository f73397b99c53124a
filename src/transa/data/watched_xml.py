"""XML that is checked while it is read, for the faults that Oxigraph does not report."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any
from xml.parsers import expat

from transa.errors import InputError

#: The longest text that an XML entity may stand for.
MAX_ENTITY = 1 << 16
#: How deep elements may be nested; Oxigraph's time grows with the square of the depth.
MAX_DEPTH = 1000
_REFERENCE = re.compile(r"&([^;&\s]+);")
_MULTIPLIED = "malformed RDF: entities that multiply each other beyond measure"
#: Expat's code for entities that multiply where they are used.
_AMPLIFIED = 43

_CUT_SHORT = (
    expat.errors.XML_ERROR_NO_ELEMENTS,
    expat.errors.XML_ERROR_UNCLOSED_TOKEN,
    expat.errors.XML_ERROR_UNCLOSED_CDATA_SECTION,
)


class WatchedXml(io.RawIOBase):
    """An XML file that a second parser looks at while Oxigraph reads it.

    Oxigraph's parser for RDF/XML names no lines, accepts a file that is cut short, and writes out entities of any size. The second
    parser finds these faults. It knows fewer characters than Oxigraph, so its other complaints do not count.

    Attributes
    ----------
    wrong_line
        The line at which the second parser stopped, or None.
    cut_short
        Whether the file ends before its last tag.
    """

    def __init__(self, file: io.BufferedReader, path: Path) -> None:
        self._file = file
        self._path = path
        self._parser = expat.ParserCreate()
        self._parser.EntityDeclHandler = self._declared
        self._parser.StartElementHandler = self._opened
        self._parser.EndElementHandler = self._closed
        self._entities: dict[str, int] = {}
        self._depth = 0
        self._begun = self._done = False
        self.wrong_line: int | None = None
        self.cut_short = False

    def readable(self) -> bool:
        """Say that this can be read from, as `io.RawIOBase` asks."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Hand on the next bytes of the file, and show them to the second parser."""
        block = self._file.read(len(buffer))
        self._begun = True
        if not self._done:
            self._done = not block
            try:
                self._parser.Parse(block, self._done)
            except expat.ExpatError as error:
                self._done = True
                self.wrong_line = error.lineno
                self.cut_short = expat.ErrorString(error.code) in _CUT_SHORT
                if error.code == _AMPLIFIED:
                    raise InputError(_MULTIPLIED, path=self._path, line=error.lineno) from None
            except InputError:
                raise
            except (LookupError, ValueError):  # an encoding that it does not know
                self._done = True
        buffer[: len(block)] = block
        return len(block)

    def _declared(self, name: str, parameter: bool, value: str | None, *rest: object) -> None:
        """Refuse an entity that stands for too long a text, the entities it names included, since Oxigraph would write it out."""
        if value is not None and not parameter:
            named = (self._entities.get(other, 0) for other in _REFERENCE.findall(value))
            self._entities[name] = size = len(value) + sum(named)
            if size > MAX_ENTITY:
                raise InputError(_MULTIPLIED, path=self._path, line=self._parser.CurrentLineNumber)

    def _opened(self, name: str, attributes: object) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InputError(
                f"malformed RDF: more than {MAX_DEPTH:,} elements in each other",
                path=self._path,
                line=self._parser.CurrentLineNumber,
            )

    def _closed(self, name: str) -> None:
        self._depth -= 1

    def finish(self) -> None:
        """Look for a wrong line in what has not been read yet, in 64 MB at most."""
        block = bytearray(1 << 20)
        for _ in range(64):
            if self._done or not self._begun:
                break
            self.readinto(block)
