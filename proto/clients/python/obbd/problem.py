"""What can go wrong, each as a class of its own."""

from __future__ import annotations

from typing import Any


class Problem(Exception):
    """The daemon refused the request, or another server answered in its place. Nothing was changed.

    `body` is the problem document (RFC 9457).
    """

    def __init__(self, body: dict, headers: dict):
        pointer = body.get("pointer")
        super().__init__(body["detail"] + (f" ({pointer})" if pointer else ""))
        self.body = body
        self.headers = headers
        self.type: str = body["type"]
        self.status: int = body["status"]
        self.pointer: str | None = pointer


class Lost(Problem):
    """The scene's ids and revisions began anew: it was made again, or is gone. `on_lost` has run."""

    @classmethod
    def before(cls, scene: str) -> Lost:
        """The scene was lost before this call, and `on_lost` has run now; nothing was sent."""
        detail = f"found the scene {scene!r} lost; its boxes were put again, so ask for their ids"
        return cls({"type": "/problems/epoch", "title": "Another epoch", "status": 412, "detail": detail}, {})


class Disconnected(Exception):
    """The connection could not be made, or broke before the whole answer to a question came. Nothing was changed."""


class Refused(Disconnected):
    """No connection was made, so nothing of the request can have arrived."""


class Unknown(Exception):
    """The connection broke after a change was sent, and attempts ended: it was made or not, and nobody can tell.

    A commit with an `id` may be sent again all the same.
    """


class Unanswered(Exception):
    """The commit was made, but some of its queries could not be answered.

    They may be asked again, the commit may not. `committed` is the answer to the commit. `__cause__` is
    the exception of the request that asked them again, if that failed.
    """

    def __init__(self, committed: Any, problems: list[dict], cause: Exception | None = None):
        super().__init__(f"the commit was made, its queries were not answered: {cause or problems[0]['detail']}")
        self.committed = committed
        self.problems = problems


class Truncated(Exception):
    """There are more pairs than an answer lists. `pairs` are those that were listed, `count` is how many there are.

    If a commit asked, it was made: `committed` is its answer, with the results of all queries, and with `pairs` as the
    result of this one. Without a commit it is None.
    """

    committed: Any = None

    def __init__(self, pairs: Any, count: int):
        super().__init__(f"there are {count} pairs, and the answer lists fewer; state a limit")
        self.pairs = pairs
        self.count = count
