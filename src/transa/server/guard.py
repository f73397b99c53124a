"""What stands before every request: who may ask, how much they may send, and what browsers must not do."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "transa"
HEALTH, LOGIN = "/health", "/login"

#: Everything comes from this server, nothing is inline, nobody may frame the page.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True)
class Guard:
    """An ASGI application around another one, which it protects.

    Attributes
    ----------
    app
        What is protected.
    token
        What clients must know, if anything: as ``Authorization: Bearer TOKEN``, or as the cookie that `/login` gives for it.
    local
        Whether requests must be addressed to this machine by name. A page of another site could otherwise give its own name our
        address, and read what the server says (DNS rebinding).
    body
        The largest body, in bytes.
    """

    app: App
    token: str | None
    local: bool
    body: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                more = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in given]
                message = {**message, "headers": [*message["headers"], *more]}
            await send(message)

        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        if self.local and not is_loopback(_host(headers.get("host", ""))):
            await _refuse(safely, 421, "this server answers to the name of its own machine alone, such as localhost")
        elif self.token is not None and scope["path"] == LOGIN and scope["method"] == "POST":
            await self._log_in(receive, safely)
        elif not self._may_ask(scope, headers):
            await _ask_for_token(safely, page="text/html" in headers.get("accept", ""))
        elif _length(headers) > self.body:
            await _refuse(safely, 413, too_large(self.body))
        else:
            await self.app(scope, _Counted(receive, self.body), safely)

    def _may_ask(self, scope: Scope, headers: dict[str, str]) -> bool:
        """Tell whether the client knows the token. Comparisons take the same time wherever the first difference is."""
        if self.token is None or scope["path"] == HEALTH:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return hmac.compare_digest(given.strip().encode(), self.token.encode())
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and hmac.compare_digest(cookie.value.encode(), _pass(self.token).encode())

    async def _log_in(self, receive: Receive, send: Send) -> None:
        """Give a cookie to a browser whose form holds the token."""
        assert self.token is not None  # noqa: S101
        body = await _whole(receive, 10_000)
        given = parse_qs((body or b"").decode("utf-8", "replace")).get("token", [""])[0]
        if not hmac.compare_digest(given.encode(), self.token.encode()):
            await _ask_for_token(send, page=True)
            return
        cookie = f"{COOKIE}={_pass(self.token)}; HttpOnly; SameSite=Strict; Path=/"
        headers = [(b"location", b"/"), (b"set-cookie", cookie.encode()), (b"content-length", b"0")]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


def too_large(most: int) -> str:
    """Say that a body is too large."""
    return f"the body has more than {most:,} bytes"


class _Counted:
    """Receives a body, and stops when there is too much of it."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._most, self._left = receive, most, most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise HTTPException(413, too_large(self._most))  # its length was not announced
        return message


def _length(headers: dict[str, str]) -> int:
    """Return how long a body says that it is."""
    text = headers.get("content-length", "")
    return int(text) if text.isdecimal() and len(text) < 20 else 0


def _host(header: str) -> str:
    """Return the name in a Host header, without the port."""
    return header.partition("]")[0] + "]" if header.startswith("[") else header.partition(":")[0]


def _pass(token: str) -> str:
    """Return what the cookie holds: it follows from the token, and the token does not follow from it."""
    return hmac.new(token.encode(), b"transa page", hashlib.sha256).hexdigest()


async def _whole(receive: Receive, most: int) -> bytes | None:
    """Return a body, None if it is larger than `most` bytes."""
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            return None
    return body


async def _ask_for_token(send: Send, *, page: bool) -> None:
    if page:
        form = (files("transa.server") / "page" / "login.html").read_bytes()
        await _respond(send, 401, form, b"text/html; charset=utf-8", (b"www-authenticate", b"Bearer"))
    else:
        await _refuse(send, 401, "a token is needed: Authorization: Bearer TOKEN", (b"www-authenticate", b"Bearer"))


async def _refuse(send: Send, status: int, why: str, *headers: tuple[bytes, bytes]) -> None:
    await _respond(send, status, json.dumps({"error": why}).encode(), b"application/json", *headers)


async def _respond(send: Send, status: int, body: bytes, kind: bytes, *headers: tuple[bytes, bytes]) -> None:
    every = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": every})
    await send({"type": "http.response.body", "body": body})
