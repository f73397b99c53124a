"""Calls for people who judge facts: what to look at, what they say, and files of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from fastapi.exceptions import HTTPException

from transa.data.places import Places
from transa.inference.check import check_ids, triple_ids
from transa.inference.verdicts import Verdict, as_file
from transa.server.schemas import ReviewGot, VerdictGot, VerdictSent, VerdictsGot
from transa.server.service import REFUSALS, Offset, Rows, Run, Serving

KINDS = {".csv": "text/csv", ".tsv": "text/tab-separated-values", ".nt": "application/n-triples", ".ttl": "text/turtle"}

router = APIRouter(responses=REFUSALS, tags=["review"])


@router.get("/review", response_model=ReviewGot)
async def review(
    run: Run, service: Serving, kind: Literal["new", "doubtful"] = "new", offset: Offset = 0, limit: Rows = 20
) -> Response:
    """List facts that nobody has judged: the most probable new ones, or the least probable known ones."""

    def report() -> dict[str, Any]:
        judged = run.verdicts.judged()
        left = [row for row in run.queue(kind).rows() if (row["head"], row["relation"], row["tail"]) not in judged]
        return {"run": run.name, "kind": kind, "total": len(left), "triples": left[offset : offset + limit]}

    return await service.search(report)


@router.post("/verdicts", response_model=VerdictGot, status_code=201)
async def judge(run: Run, service: Serving, sent: VerdictSent) -> Response:
    """Keep a verdict on a triple. When this answers, the verdict is on the disk."""

    def report() -> dict[str, Any]:
        ids, _ = triple_ids(run.trained, [(sent.head, sent.relation, sent.tail)], Places())
        checked = check_ids(run.trained, ids, as_answers=True).checked[0]
        verdict = Verdict.on(checked, sent.verdict, sent.by, sent.note)
        run.verdicts.add(verdict)
        return vars(verdict)

    response = await service.ask(report)
    response.status_code = 201
    return response


@router.get("/verdicts", response_model=VerdictsGot)
async def verdicts(run: Run, service: Serving) -> Response:
    """List the verdicts that count."""

    def report() -> dict[str, Any]:
        kept = run.verdicts.all()
        accepted = sum(each.verdict == "accept" for each in kept)
        counts = {"accepted": accepted, "rejected": len(kept) - accepted}
        return {"run": run.name, **counts, "verdicts": [vars(each) for each in kept]}

    return await service.look_up(report)


@router.get(
    "/verdicts/file",
    response_class=Response,
    responses={200: {"description": "The file", "content": {kind: {} for kind in KINDS.values()}}},
)
async def verdicts_file(
    run: Run,
    service: Serving,
    format: Literal["csv", "tsv", "nt", "ttl"] = "csv",  # noqa: A002
    verdict: Annotated[
        Literal["accept", "reject", "all"], Query(description="Which; RDF holds accepted ones.")
    ] = "all",
) -> Response:
    """Return verdicts as a file; accepted ones can be given to `transa extend`."""

    def content() -> bytes:
        return as_file([each for each in run.verdicts.all() if verdict in ("all", each.verdict)], f".{format}")

    if format in ("nt", "ttl") and verdict != "accept":
        raise HTTPException(400, "RDF states facts, so it holds accepted ones alone: verdict=accept")
    made = await service.lookups.run(service.limits.seconds, content)
    named = f'attachment; filename="{run.name}-{verdict}.{format}"'
    return Response(made, media_type=KINDS[f".{format}"], headers={"content-disposition": named})
