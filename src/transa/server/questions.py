"""Calls that put questions to a model: predict, check, explain, neighbours, discover."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from transa.choices import Side
from transa.data.places import Places
from transa.errors import TransaError
from transa.inference import Checks, Question, discover, doubtful, explain, neighbours
from transa.inference.check import check_ids, triple_ids
from transa.inference.discover import pairs
from transa.inference.reports import (
    report_of_answers,
    report_of_checks,
    report_of_discoveries,
    report_of_explanation,
    report_of_neighbours,
)
from transa.readable import one_line
from transa.server.joining import Manner
from transa.server.limits import NAME
from transa.server.runs import ServedRun
from transa.server.schemas import CheckGot, CheckSent, DiscoverGot, ExplainGot, NeighboursGot, PredictGot, PredictSent
from transa.server.service import REFUSALS, Run, Service, Serving, Text, Top, encoded
from transa.server.work import RefusedError

#: So many answers are made into JSON on the event loop; more go to a thread.
FEW = 1_000

router = APIRouter(responses=REFUSALS, tags=["questions"])


@router.post("/predict", response_model=PredictGot)
async def predict(run: Run, service: Serving, sent: PredictSent) -> Response:
    """Answer (head, relation, ?), (?, relation, tail) or (head, ?, tail). Questions of several clients are answered together."""
    questions = [Question(each.head, each.relation, each.tail) for each in sent.questions]
    manner = Manner(sent.new_only, sent.in_range, sent.loop_prior)
    answers = await service.joiner.ask(run.trained, manner, questions, sent.top)

    def report() -> dict[str, Any]:
        return {"run": run.name, **report_of_answers(run.trained, answers)}

    if len(questions) * sent.top > FEW:
        return await service.look_up(report)
    return Response(encoded(report), media_type="application/json")


@router.post("/check", response_model=CheckGot)
async def check(run: Run, service: Serving, sent: CheckSent) -> Response:
    """Say of each triple whether it is true, with probability and threshold."""

    def report() -> dict[str, Any]:
        rows = [(each.head, each.relation, each.tail) for each in sent.triples]
        ids, _ = triple_ids(run.trained, rows, Places())
        return {"run": run.name, **report_of_checks(run.trained, check_ids(run.trained, ids))}

    return await service.ask(report)


@router.get("/explain", response_model=ExplainGot)
async def explained(
    run: Run, service: Serving, head: Text, relation: Text, tail: Text, side: Side = "tail", top: Top = 5
) -> Response:
    """Say why a triple is plausible or not."""

    def report() -> dict[str, Any]:
        found = explain(run.trained, head, relation, tail, top=top, side=side)
        return {"run": run.name, **report_of_explanation(run.trained, found)}

    return await service.ask(report)


@router.get("/neighbours", response_model=NeighboursGot)
async def near(
    run: Run,
    service: Serving,
    entity: Text,
    relation: Annotated[str | None, Query(min_length=1, max_length=NAME)] = None,
    top: Top = 10,
) -> Response:
    """List the entities nearest to one, by their vectors or as a relation sees them."""

    def report() -> dict[str, Any]:
        return {"run": run.name, **report_of_neighbours(neighbours(run.trained, entity, relation, top=top))}

    return await service.ask(report)


@router.get(
    "/discover",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Lines of JSON: progress, and at last the facts",
            "content": {"application/x-ndjson": {"schema": DiscoverGot.model_json_schema()}},
        }
    },
)
async def discovered(
    run: Run,
    service: Serving,
    relation: Annotated[list[Text] | None, Query(max_length=5)] = None,
    top: Top = 50,
    each: Annotated[int, Query(ge=1, le=100)] = 10,
    errors: bool = False,
) -> Response:
    """Find the most probable new facts of the whole graph, or the least probable known ones; the answer is streamed."""
    service.searches.check_free()
    total = await service.lookups.run(service.limits.seconds, pairs, run.trained, relation)
    search = _Search(run, relation, top, each, errors)
    return StreamingResponse(_lines(service, search, total), media_type="application/x-ndjson")


class _Search:
    """A search of the whole graph that tells how far it is, and can be stopped."""

    def __init__(self, run: ServedRun, relations: list[str] | None, top: int, each: int, errors: bool) -> None:
        self.run, self.relations, self.top, self.each, self.errors = run, relations, top, each, errors
        self.stopped = threading.Event()
        self.told: asyncio.Queue[int] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    def __call__(self) -> bytes:
        return encoded(lambda: {"run": self.run.name, **report_of_discoveries(self.run.trained, self._found())})

    def _found(self) -> Checks:
        trained = self.run.trained
        if self.errors:
            return doubtful(trained, top=self.top, relations=self.relations)
        return discover(trained, top=self.top, each=self.each, relations=self.relations, callback=self._tell)

    def _tell(self, searched: int) -> None:
        if self.stopped.is_set():
            raise RefusedError(503, "the client has gone")
        self._loop.call_soon_threadsafe(self.told.put_nowait, searched)


async def _lines(service: Service, search: _Search, total: int) -> AsyncIterator[bytes]:
    work = asyncio.ensure_future(service.searches.run(10 * service.limits.seconds, search))
    searched = 0
    try:
        while not work.done():
            told = asyncio.ensure_future(search.told.get())
            await asyncio.wait((work, told), return_when=asyncio.FIRST_COMPLETED)
            if told.done():
                searched += told.result()
                yield json.dumps({"searched": searched, "of": total}).encode() + b"\n"
            else:
                told.cancel()
        yield work.result() + b"\n"
    except (TransaError, RefusedError) as error:
        yield json.dumps({"error": one_line(str(error))}).encode() + b"\n"
    finally:
        search.stopped.set()
        work.cancel()
