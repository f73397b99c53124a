"""What people say of facts: accepted or rejected, kept in a file of the run to which lines are only ever added.

The last verdict on a triple counts; a withdrawn one counts as none. Each line is synced to the disk before it is confirmed, so a
process that is killed loses nothing that it confirmed. A line that was cut short is skipped.
"""

from __future__ import annotations

import io
import json
import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from typing import Literal, get_args

import pyarrow as pa

from transa.data.result_files import write_text
from transa.errors import InputError
from transa.inference.check import Checked
from transa.storage import check_regular, writing
from transa.training import RunFolder

#: The file of a run folder that keeps them.
FILE = "verdicts.jsonl"

Said = Literal["accept", "reject", "withdraw"]
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class Verdict:
    """What somebody said of a triple.

    Attributes
    ----------
    head, relation, tail
        Keys.
    verdict
        Accepted, rejected, or an earlier verdict withdrawn.
    probability, known
        What the model and the graph said at that time.
    by, note
        Who said it and why, if they told.
    time
        When, in UTC.
    """

    head: str
    relation: str
    tail: str
    verdict: Said
    probability: float | None = None
    known: bool = False
    by: str | None = None
    note: str | None = None
    time: str = ""

    @property
    def triple(self) -> Triple:
        """The keys."""
        return self.head, self.relation, self.tail

    @classmethod
    def on(cls, checked: Checked, said: Said, by: str | None = None, note: str | None = None) -> Verdict:
        """Return a verdict of this moment on a triple that a model has checked."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        keys = checked.head, checked.relation, checked.tail
        return cls(*keys, said, checked.probability, checked.known, by, note, now)


SCHEMA = pa.schema([(each.name, pa.string()) for each in fields(Verdict)])
SCHEMA = SCHEMA.set(4, pa.field("probability", pa.float64())).set(5, pa.field("known", pa.bool_()))


class Verdicts:
    """The verdicts of a run.

    Parameters
    ----------
    folder
        The run. Several processes may add verdicts; each sees those of the others.
    """

    def __init__(self, folder: RunFolder) -> None:
        self.folder = folder
        self._said: dict[Triple, Verdict] = {}
        self._read = 0
        self._lock = threading.Lock()

    def add(self, verdict: Verdict) -> None:
        """Keep a verdict: when this returns, it is on the disk."""
        line = (json.dumps(asdict(verdict), ensure_ascii=False) + "\n").encode()
        path = self.folder.place(FILE)
        with self._lock, writing(path, len(line)), path.open("a+b") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":  # a process was killed in the middle of a line
                    line = b"\n" + line
            file.write(line)
            file.flush()
            os.fsync(file.fileno())

    def all(self) -> list[Verdict]:
        """Return the verdicts that count, in the order in which the triples were first judged."""
        with self._lock:
            self._refresh()
            return [each for each in self._said.values() if each.verdict != "withdraw"]

    def judged(self) -> set[Triple]:
        """Return the triples on which there is a verdict that counts."""
        return {each.triple for each in self.all()}

    def _refresh(self) -> None:
        """Read what was added since the last time."""
        path = self.folder.place(FILE)
        try:
            check_regular(path)
            with path.open("rb") as file:
                file.seek(self._read)
                content = file.read()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"not readable ({error.strerror or error})", path=path) from None
        whole = content[: content.rfind(b"\n") + 1]
        self._read += len(whole)
        for line in whole.splitlines():
            verdict = _verdict(line)
            if verdict is not None:
                self._said[verdict.triple] = verdict


def _verdict(line: bytes) -> Verdict | None:
    """Return the verdict of a line; None for a line that holds none, such as one that was cut short."""
    try:
        found = Verdict(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    texts = (*found.triple, found.time, found.by or "", found.note or "")
    whole = all(isinstance(each, str) for each in texts) and found.verdict in get_args(Said)
    return found if whole and isinstance(found.probability, float | int | None) else None


def frame_of(verdicts: Iterable[Verdict]) -> pa.Table:
    """Return verdicts as an Arrow table."""
    return pa.Table.from_pylist([asdict(each) for each in verdicts], SCHEMA)


def as_file(verdicts: Sequence[Verdict], suffix: str) -> bytes:
    """Return verdicts as the content of a file: .csv or .tsv with all columns, or accepted triples as RDF (.nt, .ttl).

    Raises
    ------
    InputError
        If a verdict that is no acceptance is to be written as RDF, where the triple would say the contrary.
    """
    file = io.BytesIO()
    if suffix in (".csv", ".tsv"):
        write_text(frame_of(verdicts), file, "," if suffix == ".csv" else "\t")
        return file.getvalue()
    if any(each.verdict != "accept" for each in verdicts):
        raise InputError("RDF states facts, so it holds accepted ones alone; .csv holds rejected ones too")
    from transa.data.oxigraph import serialize, statement

    serialize((statement(*each.triple) for each in verdicts), file, suffix)
    return file.getvalue()
