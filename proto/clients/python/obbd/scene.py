"""A scene: its boxes, commits, queries and events, and what the client knows of it: the ids of names, and their epoch."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, urlencode
from uuid import uuid4

from . import arrays
from .events import SILENCE_S, follow
from .known import Known
from .problem import Lost, Problem, Truncated, Unanswered, Unknown
from .queries import Hits, Query, all_pairs, rays
from .record import Committed, Event, Record
from .sender import Reply, Sender
from .transport import Received

PAGE_OF_BOXES = 10_000
FEW = 64  # boxes that are asked one by one rather than by listing all
LINES = "application/x-ndjson"
NO_SCENE = "/problems/no-scene"
EPOCH = "obbd-epoch"
CHANGES = {"time", "remove", "remove_frames", "frames", "put", "pose", "transform"}


def asked(parameters: Mapping[str, Any]) -> str:
    """A query string of those that are given."""
    given = {}
    for name, value in parameters.items():
        if value is not None:
            listed = isinstance(value, (list, tuple))
            given[name] = ",".join(value) if listed else str(value).lower() if isinstance(value, bool) else value
    return "?" + urlencode(given) if given else ""


def _reading(fresh: bool | None = None, revision: int | None = None) -> dict:
    """Parameters of a request that reads: see Scene.info."""
    return {"fresh": fresh, "revision": revision}


def _is_columns(put: Any) -> bool:
    return isinstance(put, Mapping) and isinstance(put.get("names"), (list, tuple))


def _pose(pose: Any) -> Any:
    """(ids or names, centers, rotations) as columns; objects by name, and columns, as they are."""
    if isinstance(pose, tuple):
        which, centers, *rotations = pose
        by_name = len(which) > 0 and isinstance(which[0], str)
        pose = {"names" if by_name else "ids": which, "centers": centers}
        if rotations and rotations[0] is not None:
            pose["rotations"] = rotations[0]
    if not isinstance(pose, Mapping) or "centers" not in pose or isinstance(pose["centers"], Mapping):
        return pose
    columns = dict(pose)
    if "ids" in columns:
        columns["ids"] = arrays.ids(columns["ids"])
    for column in ("centers", "rotations", "angles"):
        if column in columns:
            columns[column] = arrays.floats(columns[column])
    return columns


def _at_state(query: Mapping, revision: int, time: float) -> dict:
    """`at` of the query, about the state that the commit made."""
    at = query.get("at")
    if at is None:
        return {"revision": revision}
    if "ago" not in at:
        return at
    return {**{name: value for name, value in at.items() if name != "ago"}, "time": time - at["ago"]}


class Scene:
    def __init__(self, name: str, sender: Sender):
        self.name = name
        self.on_lost: Callable[[Scene], Any] | None = None
        """Puts the boxes again when the daemon has lost them, as after a restart: scenes are in memory. Runs before Lost is raised.
        If it fails, the call raises its exception, and the next call runs it again."""
        self._sender = sender
        self._path = "/v1/scenes/" + quote(name, safe="")
        self._known = Known()
        self._given: dict[int, tuple[weakref.ref, str]] = {}
        self._epoch = ""
        self._losing = threading.RLock()
        self._owed = False  # was the scene lost, and has on_lost not run to its end since?
        self._putting = False  # does on_lost run?

    @property
    def page(self) -> str | None:
        """The scene in the web editor; None if only a unix socket is known."""
        page = self._sender.pool.page
        return page and f"{page}/#{quote(self.name, safe='')}"

    # ---- Commits and queries ----------------------------------------------------------------------

    def commit(
        self,
        *,
        time: float | None = None,
        pose: Any = None,
        put: Mapping[str, Any] | None = None,
        remove: Sequence[str] | None = None,
        queries: Sequence[Mapping] = (),
        if_revision: int | None = None,
        timeout: float | None = None,
        retries: int | None = None,
        **more: Any,
    ) -> Committed:
        """Applies the changes and asks the queries, all or nothing.

        pose     (ids, centers, rotations) as arrays, rotations may be left out; or poses by name
        put      boxes by name, or columns
        more     id, remove_frames, frames, transform, restart, if_box, ignore_missing, dry_run

        Raises Lost if the scene began anew, Unknown if nobody can tell whether the commit was made,
        Unanswered if it was made without an answer to its queries, and Truncated if it was made and
        `all_pairs(by="id")` without a limit found more pairs than an answer lists. The last two have the
        answer, with all other results, as `committed`. A commit gets an `id`, by which
        the scene knows it again, so it is sent again behind a cut. A commit with `time` and moves is a
        tick: it gets none and is not sent again, unless `retries` says so, for the next one is better.
        """
        given = {"time": time, "if_revision": if_revision, "remove": remove, "put": put, "pose": _pose(pose), **more}
        commit = {name: value for name, value in given.items() if value is not None}
        if queries:
            commit["queries"] = list(queries)
        if retries is None:
            tick = "time" in commit and ("pose" in commit or "frames" in commit)
            retries = 0 if tick else self._sender.retries
        changes = not commit.get("dry_run") and bool(commit.keys() & CHANGES)
        if changes and retries > 0:
            commit.setdefault("id", uuid4().hex)
        which = pose[0] if isinstance(pose, tuple) else pose.get("ids") if isinstance(pose, Mapping) else None
        how = {"timeout": timeout, "retries": retries}
        known_again = {"changes": changes, "again": "id" in commit}
        reply = self._send("POST", "/commit", commit, self._epoch_of(which), typed=_typed(queries), **known_again, **how)
        committed = Committed(reply.value)
        self._note_put(commit, committed)
        if "ids_omitted" in committed:
            self._learn_put(put, committed)
        return self._answered(commit, committed, how)

    def _note_put(self, commit: dict, committed: Committed) -> None:
        if commit.get("dry_run"):
            return
        if "remove" in commit:
            self._known.forget(commit["remove"])
        ids = committed.get("ids")
        if isinstance(ids, dict):
            self._known.tell(ids)
        elif ids is not None:
            self._known.tell_columns(commit["put"]["names"], ids)
            if not isinstance(ids, list):
                self._give(ids)

    def _learn_put(self, put: Any, committed: Committed) -> None:
        """Reads those ids that neither the answer tells nor are known: of boxes that were there before.

        The commit was made, so a failure here raises nothing and leaves them unknown.
        """
        if put is None or committed.get("dry_run"):
            return
        if isinstance(committed.get("ids", {}), dict):  # columns tell the id of each
            with suppress(Exception):
                self.learn(self._known.missing(put["names"] if _is_columns(put) else put))

    def _answered(self, commit: dict, committed: Committed, how: dict) -> Committed:
        """Asks those queries again, of the same state, that the daemon could not answer behind the commit; reads all results.

        Raises Unanswered whatever fails here, for the commit was made, and Truncated.
        """
        queries, results = commit.get("queries", []), committed["results"]
        open_ = [i for i, result in enumerate(results) if "problem" in result]
        cause = None
        if open_ and how["retries"] != 0:
            at = [_at_state(queries[i], committed["revision"], committed["time"]) for i in open_]
            asked = [{**queries[i], "at": state} for i, state in zip(open_, at)]
            typed = _typed([queries[i] for i in open_])
            try:
                reply = self._send("POST", "/commit", {"queries": asked}, changes=False, typed=typed, **how)
                for i, result in zip(open_, reply.value["results"]):
                    results[i] = result
            except Exception as error:
                cause = error
        problems = [result["problem"] for result in results if "problem" in result]
        truncated = None
        for i, query in enumerate(queries):
            try:
                results[i] = _read(query, results[i])
            except Truncated as error:
                results[i] = error.pairs
                truncated = truncated or error
        if problems:
            raise Unanswered(committed, problems, cause) from cause
        if truncated is not None:
            truncated.committed = committed
            raise truncated
        return committed

    def query(self, query: Mapping, *, timeout: float | None = None, retries: int | None = None) -> Any:
        """Asks one query. The result is an array for `all_pairs(by="id")`, a Hits for `rays`, else a Record."""
        body = {name: value for name, value in query.items() if name != "kind"}
        path = f"/query/{query['kind']}"
        reply = self._send("POST", path, body, changes=False, typed=_typed([query]), timeout=timeout, retries=retries)
        return _read(query, Record(reply.value))

    def all_pairs(self, *, margin: float = 0.0, at: Any = None, limit: int | None = None, **filter: Any) -> Any:
        """The ids of all pairs that overlap: rows of two. Raises Truncated if there are more than an answer lists by itself."""
        return self.query(all_pairs(by="id", margin=margin or None, at=at, limit=limit, filter=filter or None))

    def rays(self, origins: Any, directions: Any = None, max_distance: Any = None, **options: Any) -> Hits:
        """What n rays hit first; see `obbd.rays` for the options."""
        return self.query(rays(origins, directions, max_distance, **options))

    # ---- Boxes and ids ----------------------------------------------------------------------------

    def load(
        self,
        centers: Any,
        half_extents: Any,
        rotations: Any = None,
        *,
        names: Sequence[str] | None = None,
        prefix: str = "b",
        entity: Any = None,
        time: float | None = None,
        **columns: Any,
    ) -> Any:
        """Puts n boxes by columns, and returns their ids.

        centers        n rows, or flat: then 3n numbers, or 2n beside `angles`
        half_extents   n rows, or one for all
        names          by default the prefix and 0 to n - 1
        entity         one for all boxes, or n
        columns        category, mask, group, frames, ttl, angles
        """
        width = arrays.width(centers) or (2 if "angles" in columns else 3)
        centers = arrays.floats(centers)
        if names is None:
            names = [prefix + number for number in map(str, range(arrays.count(centers) // width))]
        put = {"names": list(names), "centers": centers, "half_extents": arrays.floats(half_extents), **columns}
        if rotations is not None:
            put["rotations"] = arrays.floats(rotations)
        if entity is not None:
            put["entities"] = entity if isinstance(entity, str) else list(entity)
        committed = self.commit(time=time, put=put)
        ids = committed.get("ids")
        return self.ids(put["names"]) if ids is None or isinstance(ids, list) else ids

    def put(self, boxes: Mapping[str, Any], **call: Any) -> Committed:
        """Puts boxes, by name or in columns. Their ids are known then, also of boxes that were there before.

        The answer to names does not tell the ids of boxes that were there before, so those that are not known are asked for:
        up to 64 one by one, more by listing all boxes. If that fails, they stay unknown. `commit` does not ask. `learn` asks for
        known ids as well: call it where another program may have removed boxes and put them again.
        """
        try:
            committed = self.commit(put=boxes, **call)
        except (Unanswered, Truncated) as error:  # it was made
            self._learn_put(boxes, error.committed)
            raise
        self._learn_put(boxes, committed)
        return committed

    def ids(self, names: Iterable[str]) -> Any:
        """The ids of boxes that were put or listed through this object, as an array."""
        try:
            return self._give(arrays.ids(self._known.ids(names)))
        except KeyError as error:
            raise LookupError(f"the id of {error.args[0]!r} is not known: put the box, or learn its id, first") from None

    def learn(self, names: Iterable[str]) -> None:
        """Reads the ids of boxes that are in the scene, whether they are known or not. Those that are not there are forgotten."""
        wanted = set(names)
        if len(wanted) <= FEW:
            for name in wanted:
                try:
                    self.box(name)
                except Problem as problem:
                    if isinstance(problem, Lost) or problem.status != 404:
                        raise
                    self._known.forget([name])
            return
        for box in self.boxes():
            wanted.discard(box["name"])
            if not wanted:
                return
        self._known.forget(wanted)

    def boxes(
        self,
        *,
        prefix: str | None = None,
        entity: str | None = None,
        at_revision: int | None = None,
        at_time: float | None = None,
        **reading: Any,
    ) -> Iterator[dict]:
        """The boxes by id, page by page; `reading` as for `info`."""
        which = {"prefix": prefix, "entity": entity, "at_revision": at_revision, "at_time": at_time, "limit": PAGE_OF_BOXES}
        for box in self._pages("/boxes", "boxes", {**which, **_reading(**reading)}):
            if at_revision is None and at_time is None:
                self._known.tell({box["name"]: box["id"]})
            yield box

    def box(
        self,
        name: str,
        *,
        include: Sequence[str] | None = None,
        at_revision: int | None = None,
        at_time: float | None = None,
        **reading: Any,
    ) -> Record:
        """One box. `include` adds derived geometry, as "corners"; `reading` as for `info`."""
        which = {"include": include, "at_revision": at_revision, "at_time": at_time, **_reading(**reading)}
        box = self._call("GET", self._box(name) + asked(which))
        if "at" not in box:
            self._known.tell({name: box["id"]})
        return box

    def patch(self, name: str, fields: Mapping[str, Any], **call: Any) -> Record:
        return self._call("PATCH", self._box(name), fields, **call)

    def transform(self, name: str, how: Mapping[str, Any], **call: Any) -> Record:
        return self._call("POST", self._box(name) + "/transform", how, **call)

    def merge(self, name: str, others: Sequence[str], **call: Any) -> Record:
        """Grows a box until it holds the others."""
        return self._call("POST", self._box(name) + "/merge", {"with": list(others)}, **call)

    def frames(self, *, prefix: str | None = None, **reading: Any) -> Iterator[dict]:
        """The frames by name, page by page; `reading` as for `info`."""
        return self._pages("/frames", "frames", {"prefix": prefix, **_reading(**reading)})

    # ---- The scene --------------------------------------------------------------------------------

    def info(self, *, fresh: bool | None = None, revision: int | None = None, **call: Any) -> Record:
        """What the scene is, and its newest state. If several daemons share a log (`--journal`):

        fresh      the newest state of all these daemons
        revision   a state of at least this revision. The daemon waits for it, so what was written at one daemon is read at
                   another one
        """
        return self._call("GET", asked(_reading(fresh, revision)), **call)

    def set(self, settings: Mapping[str, Any] | None = None, **call: Any) -> Record:
        """Makes the scene, or changes its settings."""
        return self._call("PUT", "", dict(settings or {}), **call)

    def delete(self, **call: Any) -> None:
        """Deletes the scene, unless it is gone already."""
        try:
            self._send("DELETE", "", None, changes=True, **call)
        except Problem as problem:
            if problem.type != NO_SCENE:
                raise
        self._forget()
        self._owed = False

    def copy(self, to: str, *, at: Any = None, replace: bool = False, **call: Any) -> Record:
        """Makes the scene `to` of a state of this one."""
        body = {"to": to, "replace": replace, **({} if at is None else {"at": at})}
        # The answer has the epoch of the copy, so it must not be taken for this scene's.
        return Record(self._sender.send("POST", self._path + "/copy", body, changes=True, **call).value)

    def export(self, *, fresh: bool | None = None, revision: int | None = None, **call: Any) -> str:
        """The scene as lines, for `import_lines`; `fresh` and `revision` as for `info`."""
        rest = "/export" + asked(_reading(fresh, revision))
        return self._send("GET", rest, None, headers={"Accept": LINES}, changes=False, **call).value

    def import_lines(self, lines: str | bytes, **call: Any) -> Record:
        """Replaces the scene by exported lines."""
        try:
            reply = self._send("POST", "/import", lines, headers={"Content-Type": LINES}, changes=True, **call)
        except Unknown:
            self._known.clear()
            raise
        self._known.clear()  # boxes have new ids
        return Record(reply.value)

    def recorded(
        self, *, tag: str | None = None, hit: bool | None = None, box: str | None = None, **reading: Any
    ) -> Iterator[dict]:
        """The queries that the scene recorded (`record` of its settings), page by page; `reading` as for `info`."""
        return self._pages("/queries", "queries", {"tag": tag, "hit": hit, "box": box, **_reading(**reading)})

    def events(
        self,
        topics: Sequence[str] = ("collisions",),
        timeout: float | None = None,
        *,
        silence: float = SILENCE_S,
        **which: Any,
    ) -> Iterator[Event]:
        """Follows the scene, over breaks and restarts of the daemon, until it is deleted, or until the client is closed.

        topics    of collisions, boxes, commits, queries
        timeout   seconds without a message after which the iteration ends. Making a connection may take a second all the
                  same; Disconnected is raised if the first is not made by then
        silence   seconds without a byte after which the connection counts as broken
        which     prefix, entity, category, include, rate

        With a rate, a pair that came and went between two messages is in the end and in the begin after it. The two
        cancel out: count for each pair how often it began and ended.
        """
        path = f"{self._path}/events{asked({'topics': topics, **which})}"

        def open_stream(last: str, first: bool, seconds: float) -> Received:
            headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last} if last else {})}
            retries = None if first else 0
            limit = min(seconds, self._sender.timeout)
            received = self._sender.open("GET", path, headers=headers, changes=False, retries=retries, timeout=limit)
            epoch = received.headers.get(EPOCH)
            known = self._epoch
            if self._owed or (known and epoch and epoch != known):
                try:
                    self._lost(known)
                except BaseException:
                    received.close()
                    raise
            return received

        def reopen(last: str, first: bool, seconds: float) -> Received:
            known = self._epoch
            try:
                return open_stream(last, first, seconds)
            except Problem as problem:
                if first or problem.type != NO_SCENE or self.on_lost is None:
                    raise
            self._lost(known)
            return open_stream(last, first, seconds)

        return follow(reopen, timeout, silence, self._sender.pool.closed)

    # ---- Rules ------------------------------------------------------------------------------------

    def _give(self, ids: Any) -> Any:
        """Notes the epoch of an array of ids: an old array must not name boxes of another epoch."""
        key = id(ids)
        self._given[key] = (weakref.ref(ids, lambda _: self._given.pop(key, None)), self._epoch)
        return ids

    def _epoch_of(self, ids: Any) -> str:
        array, epoch = self._given.get(id(ids), (None, ""))
        return epoch if array is not None and array() is ids else self._epoch

    def _box(self, name: str) -> str:
        return "/boxes/" + quote(name, safe="")

    def _forget(self) -> None:
        self._known.clear()
        self._epoch = ""

    def _lost(self, epoch: str) -> None:
        """Forgets what was known in the epoch, and lets the boxes be put again; once, however many threads notice it."""
        with self._losing:
            if epoch == self._epoch:
                self._forget()
                self._owed = True
            self._put_again()

    def _put_again(self) -> None:
        """Runs on_lost if it is owed, but not within itself."""
        with self._losing:
            if not self._owed or self._putting:
                return
            self._forget()
            self._putting, self._owed = True, False  # it is owed again if the scene is lost meanwhile
            try:
                if self.on_lost is not None:
                    self.on_lost(self)
            except BaseException:
                self._owed = True
                raise
            finally:
                self._putting = False

    def _send(self, method: str, rest: str, body: Any, epoch: str | None = None, **how: Any) -> Reply:
        """Every request names the epoch in which its ids and revisions were given."""
        deletes = method == "DELETE"  # no scene need be there
        if self._owed and not self._putting and not deletes:
            self._put_again()
            raise Lost.before(self.name)
        epoch = self._epoch if epoch is None else epoch
        headers = {**how.pop("headers", {}), **({"Obbd-If-Epoch": epoch} if epoch else {})}
        try:
            reply = self._sender.send(method, self._path + rest, body, headers=headers, **how)
        except Problem as problem:
            if not epoch or problem.type not in ("/problems/epoch", NO_SCENE) or (deletes and problem.type == NO_SCENE):
                raise
            self._lost(epoch)
            raise Lost(problem.body, problem.headers) from None
        if not epoch and not self._epoch:
            self._epoch = reply.headers.get(EPOCH, "")
        return reply

    def _call(self, method: str, rest: str, body: Any = None, **call: Any) -> Record:
        return Record(self._send(method, rest, body, changes=method != "GET", **call).value)

    def _pages(self, rest: str, members: str, which: Mapping[str, Any]) -> Iterator[dict]:
        cursor = None
        while True:
            page = self._call("GET", rest + asked({**which, "cursor": cursor}))
            yield from page[members]
            cursor = page.get("cursor")
            if cursor is None:
                return


def _typed(queries: Iterable[Mapping]) -> bool:
    """Does an answer hold ids or columns?"""
    return any(query.get("by") == "id" or query.get("columns") is True for query in queries)


def _read(query: Mapping, result: Any) -> Any:
    return query.read(result) if isinstance(query, Query) else result
