"""Figures for Prometheus: requests, how long they took, and how many questions were joined."""

from __future__ import annotations

import time

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from transa.free_memory import resident_memory
from transa.server.guard import App, Message, Receive, Scope, Send
from transa.server.service import Service

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


class Metered:
    """An ASGI application around another one, whose requests it counts.

    Parameters
    ----------
    app
        What is measured.
    service
        Whose lanes and passes are told.
    """

    def __init__(self, app: App, service: Service) -> None:
        self._app, self._service = app, service
        self._registry = registry = CollectorRegistry()
        self._requests = Counter("transa_requests", "Requests served.", ("route", "status"), registry=registry)
        self._seconds = Histogram(
            "transa_request_seconds", "Seconds of a request.", ("route",), buckets=SECONDS, registry=registry
        )
        self._open = Gauge("transa_open_requests", "Requests being served.", registry=registry)
        told = {
            "transa_passes": ("Passes of the ranking kernel for questions.", lambda: service.joiner.passes),
            "transa_questions": ("Questions answered.", lambda: service.joiner.answered),
            "transa_waiting_searches": ("Searches that run or wait.", lambda: service.searches.inside),
            "transa_memory_bytes": ("Memory of the process.", resident_memory),
        }
        for name, (text, value) in told.items():
            Gauge(name, text, registry=registry).set_function(value)

    def text(self) -> bytes:
        """Return all figures as Prometheus reads them."""
        found: bytes = generate_latest(self._registry)
        return found

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request and count it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status, started = 500, time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self._open.inc()
        try:
            await self._app(scope, receive, watched)
        finally:
            self._open.dec()
            route = getattr(scope.get("route"), "path", "other")  # not the address, of which there are endlessly many
            self._requests.labels(route, str(status)).inc()
            self._seconds.labels(route).observe(time.perf_counter() - started)
