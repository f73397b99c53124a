"""JSON Lines: one JSON object on each line, which holds a triple and perhaps its label."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from transa.data.columns import unused, usual_columns
from transa.data.formats.base import FileFormat, ReadOptions
from transa.data.graph import KnowledgeGraph, Split
from transa.data.places import Places
from transa.data.text_files import MAX_LINE, text_lines
from transa.data.triple_table import TableBuilder, TripleTable
from transa.data.vocabulary import is_unicode
from transa.errors import InputError, quote, suggest

#: What the parts of a triple are called in messages and, where nothing else is said, in files.
PARTS = ("head", "relation", "tail", "label")
#: Rows that are turned into text at a time.
CHUNK = 1 << 16


class JsonLines(FileFormat):
    """Lines such as ``{"head": "ada", "relation": "knows", "tail": "bob"}``."""

    name = "jsonl"
    description = "JSON Lines: an object with head, relation and tail on each line"
    extensions = (".jsonl", ".ndjson")
    holds_labels = True

    def read(self, path: Path, options: ReadOptions) -> TripleTable:
        """Read the keys that were asked for, or those with usual names in the first object. Other keys are skipped."""
        builder = TableBuilder()
        labels, confidence, lines = array("b"), array("d"), array("q")
        keys: tuple[str, ...] = ()
        notes: tuple[str, ...] = ()
        number_key = options.confidence_column
        for number, text in enumerate(text_lines(path), start=1):
            line = text.rstrip("\r\n")
            if not line.strip():
                continue
            try:
                found = _object(line)
                if not keys:
                    keys = _keys(options.columns, found)
                    used = [place for place, key in enumerate(found) if key in (*keys, number_key)]
                    notes = unused(list(found), used, path)
                names = [_name(found, part, key) for part, key in zip(PARTS[:3], keys[:3], strict=True)]
                if len(keys) == 4:
                    labels.append(_label(found, keys[3]))
                elif options.columns is None and "label" in found:
                    raise InputError(
                        f"a label, which the first line has not; every line needs one, or none: {quote(line)}"
                    )
                if number_key is not None:
                    confidence.append(_number(found, number_key))
            except InputError as error:  # the functions below say what is wrong, not where
                raise InputError(str(error), path=path, line=number) from None
            builder.add(*names)
            lines.append(number)
        return builder.table(
            labels=np.array(labels, dtype=np.int8) if labels else None,
            confidence=np.array(confidence) if confidence else None,
            notes=notes,
            places=Places(path, "line", lines) if options.lines else Places(path),
        )

    def write(self, graph: KnowledgeGraph, splits: Sequence[Split], file: BinaryIO) -> None:
        """Write objects with the keys head, relation, tail and perhaps label."""
        for split in splits:
            for batch in graph.named(split).to_batches(max_chunksize=CHUNK):
                lines = [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in batch.to_pylist()]
                for line in lines:
                    if len(line) > MAX_LINE:
                        raise InputError(f"the triple {quote(line.decode())} is too long for a text file; use parquet")
                file.write(b"".join(lines))


def _object(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"not valid JSON ({error.msg}, column {error.colno}): {quote(line)}") from None
    except RecursionError:
        raise InputError(f"JSON that is nested too deeply: {quote(line)}") from None
    except ValueError:  # Python's limit on the digits of a number
        raise InputError(f"a number with too many digits: {quote(line)}") from None
    if not isinstance(found, dict):
        raise InputError(f'expected a JSON object such as {{"head": …, "relation": …, "tail": …}}, found {quote(line)}')
    return found


def _keys(asked: tuple[str | int, ...] | None, first: dict[str, Any]) -> tuple[str, ...]:
    """Return the keys of head, relation, tail and perhaps label."""
    if asked is None:
        available = list(first)
        usual = usual_columns(available)
        return PARTS[:3] if usual is None else tuple(available[position] for position in usual)
    keys = tuple(key for key in asked if isinstance(key, str))
    if len(keys) < len(asked):
        raise InputError(f"JSON objects have keys and no positions; give columns by name, found {quote(asked)}")
    if len(set(keys)) < len(keys):
        raise InputError(f"a column is asked for twice: {quote(asked)}")
    return keys


def _name(found: dict[str, Any], part: str, key: str) -> str:
    """Return a name: a string, or a whole number as its text, as in Parquet."""
    if key not in found:
        raise InputError(f"{_missing(found, key)}{suggest(key, found)}")
    value = found[key]
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise InputError(f"the {part} is neither a string nor a whole number: {_shown(value)}")
    if not value.strip():
        raise InputError(f"the {part} is blank: {quote(value)}")
    if not is_unicode(value):
        raise InputError(f"the {part} is not valid Unicode: {quote(value)}")
    return value


def _label(found: dict[str, Any], key: str) -> int:
    if key not in found:
        raise InputError(f"{_missing(found, key)}; every line needs a label, or none")
    value = found[key]
    if value not in (1, -1, "1", "-1") or isinstance(value, bool):
        raise InputError(f"expected the label 1 or -1, found {_shown(value)}")
    return int(value)


def _number(found: dict[str, Any], key: str | int) -> float:
    if not isinstance(key, str):
        raise InputError(f"JSON objects have keys and no positions; name the column of confidence, found {key}")
    if key not in found:
        raise InputError(_missing(found, key))
    value = found[key]
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < 1e300:
        raise InputError(f"expected a number for {quote(key)}, found {_shown(value)}")
    return float(value)


def _missing(found: dict[str, Any], key: str) -> str:
    return f"no key {quote(key)} among {', '.join(map(quote, list(found)[:20])) or 'none'}"


def _shown(value: object) -> str:
    """Return a value as it stands in the file; lists and objects may be too deep for that."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return quote(value if isinstance(value, str) else json.dumps(value))
