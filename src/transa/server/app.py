"""The application: all calls, the page, and what every error becomes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.security import HTTPBearer
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from transa import __version__
from transa.errors import TransaError
from transa.readable import one_line
from transa.server import graph, questions, review
from transa.server.guard import HEALTH, App, Guard
from transa.server.limits import Limits
from transa.server.metrics import Metered
from transa.server.runs import Runs
from transa.server.schemas import Health, Ready
from transa.server.service import REFUSALS, Service, Serving
from transa.server.work import RefusedError

PAGE = Path(__file__).parent / "page"
API = "/api/v1"
LOG = logging.getLogger("transa.server")


def make_app(
    runs: Runs,
    *,
    token: str | None = None,
    local: bool = True,
    limits: Limits | None = None,
    origins: Sequence[str] = (),
) -> App:
    """Return the ASGI application that serves runs.

    Parameters
    ----------
    runs
        The runs.
    token
        What clients must know; None lets everybody ask who reaches the server.
    local
        Whether requests must be addressed to this machine by name; see `Guard`.
    limits
        How much is taken on.
    origins
        Other origins whose pages may read answers (CORS).
    """
    limits = limits or Limits()
    service = Service(runs, limits)
    app = FastAPI(
        title="transa",
        version=__version__,
        description="Questions to trained knowledge graph embeddings. Names match by key, by name, or by their beginning.",
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # its page loads scripts from another host
        redoc_url=None,
        lifespan=service.running,
        dependencies=[] if token is None else [Depends(HTTPBearer(auto_error=False))],  # for OpenAPI; `Guard` checks it
    )
    app.state.service = service
    metered = Metered(app, service)
    app.include_router(graph.every_run, prefix=API)
    for router in (graph.router, questions.router, review.router):
        app.include_router(router, prefix=f"{API}/runs/{{run}}")
    _add_watching(app, metered)
    _add_errors(app)
    app.mount("/", StaticFiles(directory=PAGE, html=True))
    if origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(origins),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return Guard(metered, token, local, limits.body)


def _add_watching(app: FastAPI, metered: Metered) -> None:
    """Add the calls for those who watch the server."""

    @app.get(HEALTH, response_model=Health, tags=["watching"])
    async def health() -> dict[str, Any]:
        """Tell that the server runs; this needs no token."""
        return {"status": "ok"}

    @app.get("/ready", response_model=Ready, responses={503: {"model": Ready}, 401: REFUSALS[401]}, tags=["watching"])
    async def ready(service: Serving) -> Response:
        """Tell whether every run can be asked."""
        state = {run.name: run.ready for run in service.runs}
        done = all(state.values())
        headers = {} if done else {"retry-after": "1"}
        return JSONResponse({"ready": done, "runs": state}, 200 if done else 503, headers)

    @app.get(
        "/metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}}, 401: REFUSALS[401]},
        tags=["watching"],
    )
    async def metrics() -> Response:
        """Return figures for Prometheus."""
        return Response(metered.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_errors(app: FastAPI) -> None:
    """Let every error end in a status and one sentence. What no one foresaw goes to the log, and not to the client."""

    def said(status: int, text: str, headers: dict[str, str] | None = None) -> Response:
        return JSONResponse({"error": one_line(text)}, status, headers)

    @app.exception_handler(TransaError)
    async def wrong(_: Request, error: TransaError) -> Response:
        if getattr(error, "path", None) is not None:  # a file of this machine, which is no matter of the client
            LOG.error(one_line(str(error)))
            return said(503, "a file of the run cannot be read or written now", {"retry-after": "10"})
        return said(400, str(error))

    @app.exception_handler(RefusedError)
    async def refused(_: Request, error: RefusedError) -> Response:
        return said(error.status, str(error), {"retry-after": str(error.after)})

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        texts = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:5]]
        if any(each["type"] == "json_invalid" for each in error.errors()):
            return said(422, "the body is not valid JSON")
        return said(422, "; ".join(texts))

    @app.exception_handler(HTTPException)
    async def known(_: Request, error: HTTPException) -> Response:
        return said(error.status_code, str(error.detail), dict(error.headers or {}))

    @app.exception_handler(Exception)
    async def unforeseen(_: Request, error: Exception) -> Response:
        return said(500, "an error of the server, which its log tells")
