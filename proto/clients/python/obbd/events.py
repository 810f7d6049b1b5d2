"""Server-Sent Events: a stream that goes on over many connections."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import Callable, Iterator

from .problem import Disconnected, Lost, Problem, Unknown
from .record import Event
from .transport import NEVER, Received

SILENCE_S = 45.0  # three comments of the daemon
WAIT_LEAST_S, WAIT_MOST_S = 0.25, 5.0
OPEN_LEAST_S = 1.0  # for making a connection, however short the caller wants to wait for a message


class _Quiet(Exception):
    """No message came for as long as the caller wants to wait."""


class _Lines:
    """The lines of one connection, each waited for until the earlier of two deadlines."""

    def __init__(self, received: Received, silence: float):
        self.received = received
        self.silence = silence
        self.rest = b""
        self.ready: list[bytes] = []

    def next(self, quiet_at: float) -> str | None:
        """The next line; None at the end of the stream."""
        while not self.ready:
            silent_at = time.monotonic() + self.silence
            try:
                part = self.received.part(min(silent_at, quiet_at))
            except Disconnected:
                if time.monotonic() >= quiet_at:
                    raise _Quiet from None
                raise
            if not part:
                return None
            *self.ready, self.rest = (self.rest + part).split(b"\n")
        return self.ready.pop(0).decode()


def follow(open_stream: Callable, timeout: float | None, silence: float, closed: threading.Event) -> Iterator[Event]:
    """Follows a stream over all its connections.

    `open_stream(last, first, seconds)` makes one that goes on behind the message `last`, within so many
    seconds; `first` says that there was none before. Ends with `gone`, if no message came for `timeout`
    seconds, or if the client was closed. After a break the daemon sends again whatever belongs to a
    revision that was not told in full, so apply sets of pairs as sets.
    """
    last = ""
    first = True
    wait = WAIT_LEAST_S
    quiet_at = _later(timeout)
    while not closed.is_set():
        received = None
        try:
            received = open_stream(last, first, max(OPEN_LEAST_S, quiet_at - time.monotonic()))
            first = False
            if closed.is_set():
                return
            for event, identity in _messages(_Lines(received, silence), lambda: quiet_at):
                if event.kind in ("overrun", "shutdown"):
                    break
                wait = WAIT_LEAST_S
                yield event
                quiet_at = _later(timeout)
                if event.kind == "gone":
                    return
                last = identity or last  # only now, for the message may be the one that breaks
        except _Quiet:
            return
        except (Disconnected, Lost, Unknown):
            # Lost and Unknown come from on_lost: the daemon went once more while the boxes were put.
            if first and not closed.is_set():
                raise
        except Problem as problem:
            # A scene that is not there behind a break will be put again, for a scene that is deleted says `gone`.
            if first or (problem.status not in (429, 503) and problem.type != "/problems/no-scene"):
                raise
        finally:
            if received is not None:
                received.close()
        pause = wait * random.uniform(0.5, 1)
        if time.monotonic() + pause >= quiet_at:
            return
        closed.wait(pause)
        wait = min(WAIT_MOST_S, 2 * wait)


def _later(timeout: float | None) -> float:
    return NEVER if timeout is None else time.monotonic() + timeout


def _messages(lines: _Lines, quiet_at: Callable[[], float]) -> Iterator[tuple[Event, str]]:
    """Each message, and the id of the last one that had one."""
    kind = identity = ""
    data: list[str] = []
    while True:
        line = lines.next(quiet_at())
        if line is None:
            return
        if line == "":
            if data:
                yield Event(kind, json.loads("\n".join(data))), identity
            kind, data = "", []
            continue
        field, _, text = line.partition(":")  # no field in a comment
        text = text[1:] if text.startswith(" ") else text
        if field == "id":
            identity = text
        elif field == "event":
            kind = text
        elif field == "data":
            data.append(text)
