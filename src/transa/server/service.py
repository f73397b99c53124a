"""What all requests share: the runs, the limits, and the threads that work."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request, Response
from fastapi.params import Path as PathParameter
from fastapi.params import Query

from transa.server.joining import Joiner
from transa.server.limits import NAME, PAGE, TOP, Limits
from transa.server.runs import Runs, ServedRun, known
from transa.server.schemas import Error
from transa.server.work import Lane

#: What every call may say instead of answering.
REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Error, "description": text}
    for status, text in {
        400: "A name that is unknown or ambiguous, or something that this run cannot answer",
        401: "No token, or a wrong one",
        404: "No such run",
        413: "The body is too large",
        421: "Addressed to another host",
        422: "A value that is missing, too large or of another type",
        429: "Too many requests wait; see Retry-After",
        503: "Not possible now; see Retry-After",
    }.items()
}


class Service:
    """The runs, and three threads: for questions, for looking things up, and for searches of the whole graph.

    Parameters
    ----------
    runs
        What is served.
    limits
        How much is taken on.
    """

    def __init__(self, runs: Runs, limits: Limits) -> None:
        self.runs, self.limits = runs, limits
        self.questions = Lane("questions", limits.waiting)
        self.lookups = Lane("lookups", limits.waiting)
        self.searches = Lane("searches", limits.searches)
        self.joiner = Joiner(self.questions, limits)

    async def ask(self, make: Callable[[], dict[str, Any]]) -> Response:
        """Return what is computed by the model."""
        return _sent(await self.questions.run(self.limits.seconds, encoded, make))

    async def look_up(self, make: Callable[[], dict[str, Any]]) -> Response:
        """Return what needs no computation."""
        return _sent(await self.lookups.run(self.limits.seconds, encoded, make))

    async def search(self, make: Callable[[], dict[str, Any]]) -> Response:
        """Return what takes long."""
        return _sent(await self.searches.run(10 * self.limits.seconds, encoded, make))

    @asynccontextmanager
    async def running(self, _: Any) -> AsyncIterator[None]:
        """Make the runs ready while the first requests come, and end the threads at last."""
        tasks = [asyncio.create_task(self.questions.run(3600, run.warm_up)) for run in self.runs]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            for lane in (self.questions, self.lookups, self.searches):
                lane.close()


def encoded(make: Callable[[], dict[str, Any]]) -> bytes:
    """Return as JSON what a function returns; both are done in the thread that calls this."""
    return json.dumps(make(), ensure_ascii=False, allow_nan=False).encode()


def _sent(content: bytes) -> Response:
    return Response(content, media_type="application/json")


def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


def _run(request: Request, run: Annotated[str, PathParameter(max_length=120, examples=["umls"])]) -> ServedRun:
    try:
        return known(_service(request).runs, run)
    except LookupError as error:
        raise HTTPException(404, str(error.args[0])) from None


Serving = Annotated[Service, Depends(_service)]
Run = Annotated[ServedRun, Depends(_run)]
Text = Annotated[str, Query(min_length=1, max_length=NAME)]
Top = Annotated[int, Query(ge=1, le=TOP)]
Offset = Annotated[int, Query(ge=0, le=1 << 31)]
Rows = Annotated[int, Query(ge=1, le=PAGE)]
