"""What one request may ask for, and how much work may wait."""

from __future__ import annotations

from dataclasses import dataclass

#: What a request may hold: characters of a name, questions or triples, answers to a question and in all, rows of a page.
NAME, BATCH, TOP, ANSWERS, PAGE = 1_000, 1_000, 1_000, 50_000, 500


@dataclass(frozen=True)
class Limits:
    """How much a server takes on.

    Attributes
    ----------
    body
        The largest body of a request, in bytes.
    seconds
        How long a request may take; a search of the whole graph may take ten times as long.
    waiting
        How many requests may wait for one another.
    questions
        How many questions may wait in all of them.
    joined
        How many questions are answered in one pass, at most; 1 answers one after the other.
    searches
        How many searches of the whole graph may run and wait.
    connections
        How many connections may be open.
    drain
        How many seconds requests have to finish when the server is told to stop.
    """

    body: int = 1_000_000
    seconds: float = 30.0
    waiting: int = 128
    questions: int = 4_000
    joined: int = 256
    searches: int = 4
    connections: int = 512
    drain: int = 10
