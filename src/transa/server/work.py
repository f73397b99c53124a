"""Work off the event loop: lanes of one thread each, behind which only so many requests wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

Found = TypeVar("Found")


class RefusedError(Exception):
    """A request cannot be served now. The client may ask again after some seconds.

    Parameters
    ----------
    status
        429 if too many requests wait, 503 if the work takes too long or cannot be done now.
    message
        What to tell the client.
    after
        In how many seconds to ask again.
    """

    def __init__(self, status: int, message: str, after: int = 1) -> None:
        super().__init__(message)
        self.status = status
        self.after = after


class Lane:
    """One thread that does one piece of work after another.

    The compiled kernels use all processors for each piece, so that more threads would not be faster.

    Parameters
    ----------
    name
        Of the thread.
    waiting
        How many pieces may be in work or wait.
    """

    def __init__(self, name: str, waiting: int) -> None:
        self.waiting = waiting
        self.inside = 0
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=name)

    def check_free(self) -> None:
        """Refuse if no more may wait."""
        if self.inside >= self.waiting:
            raise RefusedError(429, "too many requests wait already; ask again")

    async def run(self, seconds: float, function: Callable[..., Found], *values: Any) -> Found:
        """Return what a function returns, or refuse if it has not ended after so many seconds.

        Work that has begun goes on to its end even if nobody waits for it any more, and keeps its place until then.
        """
        self.check_free()
        self.inside += 1
        work = self._executor.submit(function, *values)
        done = asyncio.wrap_future(work)
        done.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.shield(done), seconds)
        except TimeoutError:
            work.cancel()
            raise RefusedError(503, f"not done within {seconds:g} seconds; ask for less, or again", 5) from None

    def _leave(self, done: asyncio.Future[Any]) -> None:
        self.inside -= 1
        if not done.cancelled():
            done.exception()  # is known by now, even if nobody waits for it any more

    def close(self) -> None:
        """Let the thread end after what it is doing."""
        self._executor.shutdown(wait=False, cancel_futures=True)
