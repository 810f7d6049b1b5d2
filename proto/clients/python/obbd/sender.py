"""Sends requests by the rules that all clients of obbd share: what may be sent again, how long to wait, in which media type."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from typing import Any, Callable, NamedTuple, Union

from .cbor import decode, encode, needs_cbor
from .curl import curl, plain
from .problem import Disconnected, Problem, Refused, Unknown
from .transport import Pool, Received

CBOR = "application/cbor"
JSON = "application/json"
ONE_ONLY = ("application/x-ndjson", "text/event-stream")  # are not answered in another type than the request accepts
WAIT_FIRST_S, WAIT_MOST_S = 0.05, 2.0  # before another attempt, if the daemon names no time

Token = Union[str, Callable[[bool], str], None]


class Reply(NamedTuple):
    status: int
    headers: dict
    """By name, in lower case."""
    value: Any
    """None without a body; text and NDJSON as a string."""


class Sender:
    def __init__(self, pool: Pool, token: Token, timeout: float, retries: int):
        self.pool = pool
        self.timeout = timeout
        self.retries = retries
        self._asks = token if callable(token) else None
        self._token = None if callable(token) else token

    def send(self, method: str, path: str, body: Any = None, **how: Any) -> Reply:
        """Sends the request, again where that is allowed, and reads the whole answer.

        body      bytes and strings are sent as they are, anything else as JSON or CBOR
        changes   does it change something? If the connection breaks then, nobody can tell whether it was applied
        again     may it be sent again all the same, because the daemon knows it again?
        headers   more headers
        typed     the answer holds ids or columns, which CBOR brings as typed arrays
        media     "json" or "cbor", in place of choosing by the values
        timeout   seconds for the call with all its attempts
        retries   how often it may be sent again

        Raises Problem, Disconnected or Unknown.
        """

        def read(received: Received, deadline: float) -> Reply:
            return Reply(received.status, received.headers, _value(received, deadline))

        return self._attempts(read, method, path, body, **how)

    def open(self, method: str, path: str, **how: Any) -> Received:
        """The same for an answer that goes on: only its head is awaited in time. The caller reads the body and closes it.

        If the pool is closed, its connection breaks.
        """

        def keep(received: Received, _deadline: float) -> Received:
            received.goes_on()
            return received

        return self._attempts(keep, method, path, None, **how)

    def _attempts(
        self,
        read: Callable,
        method: str,
        path: str,
        body: Any,
        *,
        changes: bool,
        again: bool = False,
        headers: dict | None = None,
        typed: bool = False,
        media: str | None = None,
        timeout: float | None = None,
        retries: int | None = None,
    ) -> Any:
        deadline = time.monotonic() + (self.timeout if timeout is None else timeout)
        retries = self.retries if retries is None else retries
        sent, parts = self._written(method, path, body, headers or {}, typed, media)
        cut = refused_token = False
        cancelled = attempt = 0
        while True:
            wait = min(WAIT_MOST_S, WAIT_FIRST_S * 2**attempt) * random.uniform(0.5, 1)
            last = attempt >= retries
            failure: Disconnected | Problem
            try:
                received = self.pool.send(method, path, sent, parts, deadline)
                expected = _expected(path, sent)
                if not _refuses(received.status) and _answers(received, expected):
                    return read(received, deadline)
                failure = Problem(_problem(received, deadline, expected), received.headers)
                if failure.status == 401 and self._asks and not refused_token:
                    refused_token = True
                    self._token = self._asks(True)
                    sent.update(self._authorization())
                    continue
                if failure.status not in (429, 503):
                    raise failure
                # Took longer than --request-timeout, or the service ends: worth one more attempt.
                cancelled += failure.type == "/problems/cancelled"
                last = last or cancelled > 1
                wait += _seconds(received.headers.get("retry-after", ""))
            except Disconnected as error:
                failure = error
                if not isinstance(error, Refused):
                    cut = True
                    last = last or (changes and not again)
            if last or time.monotonic() + wait >= deadline:
                raise Unknown(f"{failure}; the change was made or not") if cut and changes else failure
            time.sleep(wait)
            attempt += 1

    def _authorization(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}

    def _written(self, method: str, path: str, body: Any, more: dict, typed: bool, media: str | None) -> tuple:
        if self._token is None and self._asks:
            self._token = self._asks(False)
        headers = self._authorization()
        cbor = media == "cbor" if media else typed or needs_cbor(body)
        if cbor:
            headers["Accept"] = CBOR
        parts: list[Any] | None = None
        if isinstance(body, (bytes, bytearray, memoryview)):
            parts = [body]
        elif isinstance(body, str):
            parts = [body.encode()]
        elif body is not None:
            text = None if cbor else _json(body)
            parts = encode(body) if text is None else [text]
            headers["Content-Type"] = CBOR if text is None else JSON
        headers.update(more)
        if os.environ.get("OBBD_DEBUG") == "1":
            print(curl(self.pool, method, path, headers, body), file=sys.stderr)
        return headers, parts


def _json(body: Any) -> bytes | None:
    """The body as JSON; None if there is a number in it that is not finite, so that the daemon says which."""
    try:
        return json.dumps(body, allow_nan=False, default=plain).encode()
    except ValueError:
        return None


def _refuses(status: int) -> bool:
    """Is this no answer to the request? A redirect is none: the daemon sends none, and the address is the program's to change."""
    return status >= 300 and status != 304


def _kind(received: Received) -> str:
    return received.headers.get("content-type", "").split(";")[0].strip().lower()


def _expected(path: str, headers: dict) -> tuple[str, ...]:
    """The types in which the daemon answers a request under /v1/; empty for other paths, which have types of their own."""
    if not path.startswith("/v1/"):
        return ()
    accept = headers.get("Accept")
    return (accept,) if accept in ONE_ONLY else (JSON, CBOR, *ONE_ONLY)


def _answers(received: Received, expected: tuple[str, ...]) -> bool:
    """Is this an answer of the daemon? Between here and there may be somebody who says 200 and means a page to log in."""
    empty = received.status in (204, 304) or received.headers.get("content-length") == "0"
    return not expected or empty or _kind(received) in expected


def _seconds(retry_after: str) -> float:
    """What a Retry-After of the daemon says. Others may say a date, or nothing: 0 then."""
    return float(retry_after) if retry_after.isdecimal() else 0.0


def _read(received: Received, body: Any) -> Any:
    """The value of a body. Raises ValueError if the body is not of the type that it is said to have."""
    kind = _kind(received)
    if not body:
        return None
    if kind == CBOR:
        return decode(body)
    text = body.decode()
    return json.loads(text) if kind in (JSON, "application/problem+json") else text


def _value(received: Received, deadline: float) -> Any:
    body = received.read(deadline)
    try:
        return _read(received, body)
    except ValueError as error:
        raise Disconnected(f"the answer cannot be read: {error}") from error


def _problem(received: Received, deadline: float, expected: tuple[str, ...]) -> dict:
    status = received.status
    body = received.read(deadline)
    detail = f"found the status {status} without a problem, as another server or a proxy would send it"
    value = None
    if _refuses(status):
        try:
            value = _read(received, body)
        except ValueError:
            pass  # told by its status
    else:
        found = _kind(received) or "no type"
        detail = f"found {found}, as another server or a proxy would send it; an answer is {' or '.join(expected)}"
    if isinstance(value, dict) and "detail" in value:
        return {"type": "", "status": status, **value}
    return {"type": "", "title": f"status {status}", "status": status, "detail": detail}
