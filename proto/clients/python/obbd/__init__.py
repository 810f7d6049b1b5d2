"""Client of obbd, the collision service: commits, queries, events, and the daemon itself."""

from .client import Client, connect
from .daemon import spawn
from .problem import Disconnected, Lost, Problem, Truncated, Unanswered, Unknown
from .queries import Hits, Query, ago, all_pairs, nearest, overlap, pairs, point, ray, rays, sweep
from .record import Committed, Event, Record
from .scene import Scene
from .sender import Reply
from .transport import Received

__all__ = [
    "Client",
    "Committed",
    "Disconnected",
    "Event",
    "Hits",
    "Lost",
    "Problem",
    "Query",
    "Received",
    "Record",
    "Reply",
    "Scene",
    "Truncated",
    "Unanswered",
    "Unknown",
    "ago",
    "all_pairs",
    "connect",
    "nearest",
    "overlap",
    "pairs",
    "point",
    "ray",
    "rays",
    "spawn",
    "sweep",
]
