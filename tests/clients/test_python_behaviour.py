#!/usr/bin/python3
"""The rows of proto/clients/behaviour.json, played by the Python client against the server that misbehaves."""

import sys
import time
from array import array
from itertools import islice

from rows import play_all, sees

import obbd

MAKERS = {"pairs": obbd.pairs, "overlap": obbd.overlap, "point": obbd.point, "ray": obbd.ray, "sweep": obbd.sweep}
ITEMS = {"pairs": "pairs", "overlap": "shapes", "point": "points", "ray": "rays", "sweep": "sweeps"}


def query(given):
    """A query of the file, made by the function of its kind."""
    fields = dict(given)
    kind = fields.pop("kind")
    return obbd.all_pairs(**fields) if kind == "all-pairs" else MAKERS[kind](fields.pop(ITEMS[kind]), **fields)


def typed(value, kept):
    """{"u32": [..]} and {"f32": [..]} stand for typed arrays, "kept" for the ids that a step kept."""
    if isinstance(value, str) and value == "kept":
        return kept
    if not isinstance(value, dict):
        return value
    if "u32" in value:
        return array("I", value["u32"])
    if "f32" in value:
        return array("f", value["f32"])
    return {key: typed(member, kept) for key, member in value.items()}


def act(client, scene, step):
    call = {"retries": step["retries"]} if "retries" in step else {}
    if "commit" in step:
        commit = dict(step["commit"])
        queries = [query(one) for one in commit.pop("queries", [])]
        return scene.commit(**typed(commit, step["kept"]), queries=queries, **call)
    if "query" in step:
        answer = scene.query(query(step["query"]), **call)
        return answer if isinstance(answer, dict) else {"count": len(answer)}  # an array of pairs
    if "read" in step:
        return scene.info(**step["read"])
    if "ids" in step:
        return scene.ids(step["ids"])
    if "delete" in step:
        return scene.delete()
    if "request" in step:
        return client.request(*step["request"]).value
    if "events" in step:
        silence = {"silence": step["silence"] / 1000} if "silence" in step else {}
        events = scene.events(step["topics"], **silence)
        seen = [{"event": event.kind, **event} for event in islice(events, step["events"])]
        events.close()
        return seen
    return time.sleep(step["wait"] / 1000)


def play(row, address):
    options = dict(row.get("options", {}))
    if "timeout" in options:
        options["timeout"] /= 1000
    with obbd.connect(address, **options) as client:
        scene = client.scene("yard")
        if "on_lost" in row:
            again = row["on_lost"]
            scene.on_lost = lambda lost: [lost.put(again["put"]) for _ in range(again.get("times", 1))]
        kept = None
        for i, step in enumerate(row["do"]):
            kept = scene.ids(step["ids"]) if "keep" in step else kept
            sees(step.get("sees"), lambda: act(client, scene, {**step, "kept": kept}), f"step {i}")


sys.exit(play_all(play))
