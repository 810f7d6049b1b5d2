"""Answers whose members are attributes, too."""

from __future__ import annotations

from typing import Any


class Record(dict):
    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the answer has no {name}") from None


class Committed(Record):
    """The answer to a commit; `results` has one entry for each query."""


class Event(Record):
    """A message. `kind` is state, begin, end, boxes, commit, query or gone; a state means: begin anew with this set."""

    def __init__(self, kind: str, data: dict):
        super().__init__(data)
        self.kind = kind
