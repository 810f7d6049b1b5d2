"""Queries, each made by a function named after its kind."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

from . import arrays
from .problem import Truncated


class Query(dict):
    """A query, ready to be sent; and what becomes of its answer."""

    def __init__(self, kind: str, fields: dict, read: Any = None):
        super().__init__(kind=kind, **{name: value for name, value in fields.items() if value is not None})
        self._read = read
        at = arrays.number(fields.get("at"))
        if at is not None:
            self["at"] = {"time": at, "clamp": True}

    def read(self, answer: dict) -> Any:
        return answer if self._read is None or "problem" in answer else self._read(self, answer)


class Hits:
    """The first hit of each ray: id 0 and zeros where nothing was hit.

    `times`, `revisions` and `clamped` are those of each ray if it has a time of its own, else None;
    `at` is the state that was asked if that was one of the past.
    """

    def __init__(self, query: dict, answer: dict):
        columns = answer["columns"]
        width = _width(columns["points"], columns["boxes"])
        self.ids = columns["boxes"]
        self.distances = columns["distances"]
        self.points = arrays.rows(columns["points"], width)
        self.normals = arrays.rows(columns["normals"], width)
        self.times = columns.get("times")
        self.revisions = columns.get("revisions")
        self.clamped = columns.get("clamped")
        self.at = answer.get("at")
        self.tag = answer.get("tag")

    def __len__(self) -> int:
        return len(self.ids)


def _width(points: Any, boxes: Any) -> int:
    return len(points) // len(boxes) if len(boxes) else 3


def _pairs(query: dict, answer: dict) -> Any:
    pairs = arrays.rows(answer["pairs"], 2)
    if answer.get("truncated") and "limit" not in query:
        raise Truncated(pairs, answer["count"])
    return pairs


def ago(milliseconds: float) -> dict:
    """`at`: so long before the newest time, or as far back as the history goes."""
    return {"ago": milliseconds, "clamp": True}


def all_pairs(**options: Any) -> Query:
    """Which boxes of the scene overlap each other? With `by="id"` the result is an array of rows of two ids."""
    as_array = options.get("by") == "id" and not options.get("want") and not options.get("count_only")
    return Query("all-pairs", options, _pairs if as_array else None)


def rays(
    origins: Any,
    directions: Any = None,
    max_distance: Any = None,
    *,
    targets: Any = None,
    times: Any = None,
    mode: str = "closest",
    at: Any = None,
    inside: str | None = None,
    tag: str | None = None,
    record: bool | None = None,
    fresh: bool | None = None,
    float32: bool = False,
    **filter: Any,
) -> Query:
    """What do these rays hit first? The result is a Hits.

    origins, directions, targets   n rows of coordinates; directions or targets
    max_distance                   one length, or n
    times                          n times: each ray is judged at its own
    at                             the state that is asked: see `ago`; a number is a time, with clamp
    record                         False: a scene that records queries leaves this one out
    fresh                          True: of the newest state of all daemons over one log
    filter                         exclude (ids), exclude_entities, prefix, category, mask
    """
    columns: dict[str, Any] = {"origins": arrays.floats(origins)}
    if directions is not None:
        columns["directions"] = arrays.floats(directions)
    if targets is not None:
        columns["targets"] = arrays.floats(targets)
    if max_distance is not None:
        length = arrays.number(max_distance)
        columns["max_distances"] = arrays.floats(max_distance) if length is None else length
    if times is not None:
        columns["times"] = arrays.floats(times)
        at = {"clamp": True} if at is None else at
    fields = {"rays": columns, "columns": True, "mode": mode, "at": at, "inside": inside, "filter": filter or None}
    return Query("ray", {**fields, "tag": tag, "record": record, "fresh": fresh, "float": 32 if float32 else None}, Hits)


def ray(rays: Iterable[Mapping], **options: Any) -> Query:
    """What do these rays hit? Each is {"origin", "direction", "max_distance"} or {"from", "to"}."""
    given = rays if isinstance(rays, (list, tuple, Mapping)) else list(rays)
    return Query("ray", {"rays": given, **options})


def pairs(pairs: Any, **options: Any) -> Query:
    """Which of these pairs overlap? Pairs of names or boxes; with `by="id"` also one flat array of ids."""
    return Query("pairs", {"pairs": pairs, **options})


def overlap(shapes: list, **options: Any) -> Query:
    """Which boxes do these shapes overlap?"""
    return Query("overlap", {"shapes": shapes, **options})


def point(points: Any, **options: Any) -> Query:
    """Which boxes hold these points?"""
    return Query("point", {"points": points, **options})


def sweep(sweeps: list, **options: Any) -> Query:
    """What do these boxes hit on their way? Each is {"box", "motion"}."""
    return Query("sweep", {"sweeps": sweeps, **options})


def nearest(*, points: Any = None, boxes: Any = None, **options: Any) -> Query:
    """Which boxes are nearest to these points, or to these boxes?"""
    return Query("nearest", {"points": points, "boxes": boxes, **options})
