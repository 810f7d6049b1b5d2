"""HTTP/1.1 over a socket, kept connections, and nothing that judges."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Any, Iterator, Pattern
from urllib.parse import urlsplit

from .forked import OWN
from .problem import Disconnected, Refused

# The daemon closes a connection that is idle for --request-timeout, 10 s. A request on a connection
# that is just being closed is the one that nobody can judge, so the client leaves it first.
IDLE_S = 5.0
NEVER = float("inf")
LONG_S = 1e9  # 30 years
HEAD_MOST = 1 << 16  # bytes of the head of an answer
PARTS_MOST = 64  # of one gathered write

WORD = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"), "letters, digits and some marks stand there"  # RFC 9110, 5.6.2
TARGET = re.compile("[!-~]+"), "printable characters of ASCII stand there, others as %20 is for a blank"
VALUE = re.compile("[\t -~\xa0-\xff]*"), "printable characters of Latin-1, blanks and tabs stand there"


class Received:
    """An answer of which the head is there. The body is to be read once. A context manager, whose end leaves the rest of it."""

    def __init__(self, connection: Connection, status: int, headers: dict[str, str], head_only: bool):
        self.status = status
        self.headers = headers
        self._connection = connection
        empty = head_only or status in (204, 304)
        self._chunked = headers.get("transfer-encoding", "").lower() == "chunked" and not empty
        self._length = 0 if empty else int(headers.get("content-length", 0))
        self._until_close = not (empty or self._chunked or "content-length" in headers)
        closes = headers.get("connection", "").lower() == "close"
        self._kept = not (closes or self._until_close or connection.unsent)
        self._ended = False

    def read(self, deadline: float) -> Any:
        """The whole body; the connection is free then. Throws Disconnected."""
        if self._chunked or self._until_close:
            return b"".join(iter(lambda: self.part(deadline), b""))
        return self.part(deadline)

    def part(self, deadline: float) -> Any:
        """The next part of the body, empty at its end; the connection is free then. Throws Disconnected."""
        connection = self._connection
        try:
            if self._until_close:
                return connection.some(deadline)
            if not self._chunked:
                size, self._length = self._length, 0
                body = connection.exactly(size, deadline)
                if not self._ended:
                    self._end()
                return body
            size = int(connection.line(deadline).split(b";")[0], 16)
            body = connection.exactly(size, deadline)
            connection.line(deadline)
            if size == 0:
                self._end()
            return body
        except BaseException as error:
            self.close()
            raise broken(error) from error

    def __iter__(self) -> Iterator[bytes]:
        """The parts of a body that goes on, as the daemon writes them."""
        while part := self.part(NEVER):
            yield bytes(part)

    def __enter__(self) -> Received:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def goes_on(self) -> None:
        """The body has no end of its own: it ends when the pool is closed."""
        if not self._ended:
            self._connection.pool.follow(self._connection)

    def _end(self) -> None:
        self._ended = True
        if self._kept:
            self._connection.pool.give(self._connection)
        else:
            self._connection.close()

    def close(self) -> None:
        """Leaves the connection, wherever it stands in the body."""
        if not self._ended:
            self._ended = True
            self._connection.close()


class Connection:
    def __init__(self, pool: Pool, made: socket.socket):
        self.pool = pool
        self.socket = made
        self.buffer = bytearray()  # what was received and not read
        self.free_since = 0.0
        self.unsent: OSError | None = None  # why the other side did not take the whole request

    def close(self) -> None:
        self.pool.leave(self)
        self.socket.close()

    def stop(self) -> None:
        """Ends the connection for whoever waits for it, in whichever thread."""
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)

    def wait(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.socket.settimeout(_limit(left))

    def send(self, parts: list[Any], deadline: float) -> None:
        """Head and body in one write, from where they lie.

        Whoever refuses a request may answer and leave before all of it has come. So a connection
        that breaks here may still hold an answer: `head` tells.
        """
        try:
            self._send(parts, deadline)
        except (ConnectionError, ssl.SSLEOFError) as error:
            self.unsent = error

    def _send(self, parts: list[Any], deadline: float) -> None:
        self.wait(deadline)
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.sendall(b"".join(parts))
            return
        left = [memoryview(part) for part in parts]
        while left:
            sent = self.socket.sendmsg(left[:PARTS_MOST])
            while left and sent >= len(left[0]):
                sent -= len(left.pop(0))
            if left:
                left[0] = left[0][sent:]
                self.wait(deadline)

    def some(self, deadline: float) -> bytes:
        """What is there, or comes next; empty if the connection was closed."""
        if self.buffer:
            have, self.buffer = bytes(self.buffer), bytearray()
            return have
        self.wait(deadline)
        return self.socket.recv(1 << 16)

    def line(self, deadline: float) -> bytes:
        while True:
            end = self.buffer.find(b"\n")
            if end >= 0:
                line = bytes(self.buffer[:end]).rstrip(b"\r")
                del self.buffer[: end + 1]
                return line
            if len(self.buffer) > HEAD_MOST:
                raise ConnectionError("the head of the answer is too long")
            self.wait(deadline)
            received = self.socket.recv(1 << 16)
            if not received:
                raise ConnectionError("the answer was cut")
            self.buffer += received

    def exactly(self, size: int, deadline: float) -> bytearray:
        body = self.buffer[:size]
        del self.buffer[:size]
        have = len(body)
        if have < size:
            body += bytes(size - have)
            rest = memoryview(body)[have:]
            while rest:
                self.wait(deadline)
                received = self.socket.recv_into(rest)
                if received == 0:
                    raise ConnectionError("the answer was cut")
                rest = rest[received:]
        return body

    def head(self, deadline: float, head_only: bool) -> Received:
        """The head of the answer. Throws what broke the connection, here or in `send`."""
        try:
            return self._head(deadline, head_only)
        except (OSError, ValueError):
            if self.unsent is not None:
                raise self.unsent from None
            raise

    def _head(self, deadline: float, head_only: bool) -> Received:
        while True:
            line = self.line(deadline).split(b" ", 2)
            if len(line) < 2 or not line[0].startswith(b"HTTP/1."):
                raise ConnectionError("the answer is no HTTP/1.1")
            status, headers = int(line[1]), self._fields(deadline)
            if status == 101 or not 100 <= status < 200:  # else the answer itself follows
                return Received(self, status, headers, head_only)

    def _fields(self, deadline: float) -> dict[str, str]:
        headers: dict[str, str] = {}
        while line := self.line(deadline).decode("latin-1"):
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return headers


def _checked(text: str, where: str, rule: tuple[Pattern[str], str]) -> str:
    """The text, if nothing in it ends the head or its line early, as a token does that was read with the end of its line.

    Raises ValueError, which tells one character of the text and no more: the text may be a token.
    """
    allowed, says = rule
    if allowed.fullmatch(text) is None:
        wrong = next((repr(one) for one in text if allowed.fullmatch(one) is None), "nothing")
        raise ValueError(f"found {wrong} in {where}; {says}")
    return text


class Pool:
    """Connections to one daemon, for any number of threads."""

    def __init__(self, url: str, page: str | None = None):
        self.path: str | None = None
        self.base = url
        if url.startswith("unix:"):
            self.path = url[len("unix:") :]
            self.base = "http://localhost"
        parts = urlsplit(self.base)
        apart = any(one.isspace() or not one.isprintable() for one in self.base) or parts.query or parts.fragment
        if parts.scheme not in ("http", "https") or not parts.hostname or apart:
            raise ValueError(f"found the address {url!r}; it is http://..., https://... or unix:/path")
        self.secure = parts.scheme == "https"
        self.address = (parts.hostname, parts.port or (443 if self.secure else 80))
        self.host = parts.netloc
        self.prefix = parts.path  # of a daemon that a proxy shows below a path
        self.page = page if page is not None or self.path else self.base
        self.closed = threading.Event()  # of whoever began before `close`
        self._free: list[Connection] = []
        self._streams: set[Connection] = set()
        self._lock = threading.Lock()
        OWN.add(self)

    def forked(self) -> None:
        """This is another process now. The connections are of the one before."""
        kept = [*self._free, *self._streams]
        self._free, self._streams = [], set()
        self._lock = threading.Lock()  # a thread may have held it, and is not here
        for connection in kept:
            connection.socket.close()

    def _take(self) -> Connection | None:
        """The connection that was free for the shortest time; those that were for too long are left."""
        with self._lock:
            oldest = time.monotonic() - IDLE_S
            stale = [one for one in self._free if one.free_since < oldest]
            self._free = [one for one in self._free if one.free_since >= oldest]
            taken = None
            while self._free and taken is None:
                taken = self._free.pop()
                if _left(taken.socket):
                    stale.append(taken)
                    taken = None
        for one in stale:
            one.close()
        return taken

    def give(self, connection: Connection) -> None:
        """Keeps a connection for the next request."""
        connection.free_since = time.monotonic()
        with self._lock:
            self._streams.discard(connection)
            self._free.append(connection)

    def follow(self, connection: Connection) -> None:
        """Notes a connection whose answer goes on."""
        with self._lock:
            self._streams.add(connection)

    def leave(self, connection: Connection) -> None:
        with self._lock:
            self._streams.discard(connection)

    def close(self) -> None:
        """Leaves all connections but those of requests that wait for their answers. The next request makes new ones."""
        with self._lock:
            self.closed.set()
            self.closed = threading.Event()
            free, self._free = self._free, []
            streams, self._streams = self._streams, set()
        for connection in streams:
            connection.stop()
        for connection in free:
            connection.close()

    def _made(self, deadline: float) -> Connection:
        left = _limit(max(deadline - time.monotonic(), 0.001))
        made = None
        try:
            if self.path is not None:
                made = socket.socket(socket.AF_UNIX)
                made.settimeout(left)
                made.connect(self.path)
            else:
                made = socket.create_connection(self.address, left)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.secure:
                    made = ssl.create_default_context().wrap_socket(made, server_hostname=self.address[0])
        except OSError as error:
            if made is not None:
                made.close()
            raise Refused(f"no connection to {self.path or self.base}: {error}") from error
        return Connection(self, made)

    def send(self, method: str, path: str, headers: dict[str, str], body: list[Any] | None, deadline: float) -> Received:
        """Sends a request, and returns when the head of its answer is there."""
        target = self.prefix + _checked(path, "the path", TARGET)
        lines = [f"{_checked(method, 'the method', WORD)} {target} HTTP/1.1", f"Host: {self.host}"]
        if body is not None:
            lines.append(f"Content-Length: {sum(memoryview(part).nbytes for part in body)}")
        for name, value in headers.items():
            where = "the token" if name == "Authorization" else f"the header {name}"
            lines.append(f"{_checked(name, 'the name of a header', WORD)}: {_checked(str(value), where, VALUE)}")
        head = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
        connection = self._take() or self._made(deadline)
        try:
            connection.send([head, *(body or [])], deadline)
            return connection.head(deadline, method == "HEAD")
        except BaseException as error:
            connection.close()
            raise broken(error) from error


def _limit(seconds: float) -> float | None:
    """Seconds as a socket takes them: None for more than it can count."""
    return seconds if seconds < LONG_S else None


def _left(idle: socket.socket) -> bool:
    """Has the daemon closed this connection, or said something that nobody asked for?"""
    idle.settimeout(0)
    try:
        idle.recv(1)
    except (BlockingIOError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
    return True


def broken(error: BaseException) -> BaseException:
    """What a fault of the connection is called; other exceptions as they are."""
    if isinstance(error, (TimeoutError, socket.timeout)):  # the same from Python 3.10 on
        return Disconnected("no answer in time")
    if isinstance(error, (OSError, ValueError)):
        return Disconnected(f"the connection broke: {error}")
    return error
