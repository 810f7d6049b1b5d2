"""The service as a whole: scenes, and whatever else the contract has."""

from __future__ import annotations

import os
import re
from typing import Any, Callable, Iterator

from .scene import Scene, asked
from .sender import Reply, Sender, Token
from .transport import Pool, Received

ADDRESS = "http://localhost:7480"
QUERY = re.compile(r"/v1/scenes/[^/?#]+/query/[^/?#]+(?![^?#])")  # scenes and boxes may be named query, too


class Client:
    """A context manager: at its end, `close` runs."""

    def __init__(self, pool: Pool, token: Token, timeout: float, retries: int, end: Callable[[], None] | None = None):
        self._sender = Sender(pool, token, timeout, retries)
        self._scenes: dict[str, Scene] = {}
        self._end = end

    def scene(self, name: str) -> Scene:
        """The scene of this name, one object for each. It is made by the first commit that puts a box."""
        return self._scenes.setdefault(name, Scene(name, self._sender))

    def scenes(self, *, fresh: bool | None = None) -> Iterator[dict]:
        """The scenes by name, page by page. `fresh`: those of the newest state of all daemons over one log."""
        cursor = None
        while True:
            page = self.request("GET", "/v1/scenes" + asked({"fresh": fresh, "cursor": cursor})).value
            yield from page["scenes"]
            cursor = page.get("cursor")
            if cursor is None:
                return

    def request(self, method: str, path: str, body: Any = None, **how: Any) -> Reply:
        """Any request of the contract.

        Bytes and strings are sent as they are and need a Content-Type; other bodies become JSON or
        CBOR. Raises a Problem for a status other than 2xx and 304, and for an answer under /v1/ of a
        type that the daemon does not send.

        how       headers, media ("json" or "cbor"), timeout, retries, and again: may a change be sent
                  again if the connection broke behind it? GET and queries always may
        """
        asks = method in ("GET", "HEAD", "OPTIONS") or (method == "POST" and QUERY.match(path) is not None)
        return self._sender.send(method, path, body, changes=not asks, **how)

    def stream(self, path: str, **how: Any) -> Received:
        """An answer that goes on, as GET /v1/scenes/{scene}/log?follow=true: iterate over it for the parts of its body.

        how       headers, timeout (for the beginning of the answer), retries
        """
        return self._sender.open("GET", path, changes=False, **how)

    def close(self) -> None:
        """Leaves the connections, and ends streams and events; a daemon that `spawn` started ends."""
        self._sender.pool.close()
        if self._end is not None:
            self._end()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(url: str | None = None, token: Token = None, timeout: float = 10.0, retries: int = 3) -> Client:
    """A client of the daemon at http://..., https://... or unix:/path; by default OBBD_URL, else http://localhost:7480.

    A path behind the host is put before the path of each request.

    token     a string, or a function that gives one; its argument says that the one before was refused; by default OBBD_TOKEN
    timeout   seconds for a call with all its attempts
    retries   how often a call may be sent again

    Nothing is sent yet.
    """
    address = url or os.environ.get("OBBD_URL") or ADDRESS
    return Client(Pool(address.rstrip("/")), token or os.environ.get("OBBD_TOKEN"), timeout, retries)
