"""A process that serves: its socket, its signals, its end."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import uvicorn

from transa.errors import InputError
from transa.server.app import make_app
from transa.server.guard import App, is_loopback
from transa.server.limits import Limits
from transa.server.runs import Runs

#: The largest head of a request, in bytes: a few names of the greatest length, percent-encoded.
HEAD = 1 << 17


@dataclass(frozen=True)
class Address:
    """Where to listen, and who may ask.

    Attributes
    ----------
    host, port
        Where; port 0 is any that is free.
    token
        What clients must know. An address that other machines can reach needs one.
    origins
        Other origins whose pages may read answers.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    token: str | None = None
    origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token.strip()):
            raise InputError("the token must be printable ASCII characters, such as those of `openssl rand -hex 16`")
        if self.token is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines, so that a token is needed: --token, or TRANSA_TOKEN in the "
                "environment; without one the server listens on 127.0.0.1"
            )


def serve(runs: Runs, address: Address, limits: Limits | None = None, *, started: Callable[[str], None]) -> None:
    """Serve runs until SIGTERM or Ctrl-C, and then finish what has begun.

    Parameters
    ----------
    runs
        What is served.
    address
        Where, and to whom.
    limits
        How much is taken on.
    started
        Called with the URL as soon as the server listens.
    """
    limits = limits or Limits()
    local = is_loopback(address.host)
    app = make_app(runs, token=address.token, local=local, limits=limits, origins=address.origins)
    listening = listen(address)
    port = listening.getsockname()[1]
    name = f"[{address.host}]" if ":" in address.host else address.host
    started(f"http://{name}:{port}/")
    with _ending_quietly():
        make_server(app, limits).run(sockets=[listening])


def make_server(app: App, limits: Limits) -> uvicorn.Server:
    """Return a server that listens once it is run with a socket."""
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            limit_concurrency=limits.connections,
            timeout_graceful_shutdown=limits.drain,
            h11_max_incomplete_event_size=HEAD,
        )
    )


def listen(address: Address) -> socket.socket:
    """Return a socket that listens on an address."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sends without delay (TCP_NODELAY) only what it knows to be TCP; otherwise the body of an answer comes 40 ms after its head
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((address.host, address.port))
        listening.listen(1024)
    except (OSError, OverflowError, UnicodeError) as error:
        listening.close()
        why = getattr(error, "strerror", None) or error
        raise InputError(f"cannot listen on {address.host}, port {address.port}: {why}") from None
    return listening


@contextmanager
def _ending_quietly() -> Iterator[None]:
    """Let the server end with code 0 once it has drained: it raises the signal that ended it again, for those who want it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    former = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
