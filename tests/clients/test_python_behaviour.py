#!/usr/bin/python3
"""The rows of proto/clients/behaviour.json, played by the Python client against the server that misbehaves."""

import json
import subprocess
import sys
import time
from array import array
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from python import ROOT, plain

import obbd
from sums import add, run

BEHAVIOUR = ROOT / "proto/clients/behaviour.json"
ROWS = json.loads(BEHAVIOUR.read_text(encoding="utf-8"))["rows"]
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


def holds(found, wanted, where):
    """Is everything that is wanted there? Arrays must be equal in length."""
    if isinstance(wanted, dict):
        assert isinstance(found, dict), f"{where}: {found}"
        for key, one in wanted.items():
            holds(found.get(key), one, f"{where}/{key}")
    elif isinstance(wanted, list):
        assert isinstance(found, list) and len(found) == len(wanted), f"{where}: {found}"
        for i, one in enumerate(wanted):
            holds(found[i], one, f"{where}/{i}")
    else:
        assert found == wanted, f"{where}: {found} instead of {wanted}"


def act(client, scene, step):
    call = {"retries": step["retries"]} if "retries" in step else {}
    if "commit" in step:
        commit = dict(step["commit"])
        queries = [query(one) for one in commit.pop("queries", [])]
        return scene.commit(**typed(commit, step["kept"]), queries=queries, **call)
    if "query" in step:
        answer = scene.query(query(step["query"]), **call)
        return answer if isinstance(answer, dict) else {"count": len(answer)}  # an array of pairs
    if "ids" in step:
        return scene.ids(step["ids"])
    if "request" in step:
        return client.request(*step["request"]).value
    if "events" in step:
        silence = {"silence": step["silence"] / 1000} if "silence" in step else {}
        events = scene.events(step["topics"], **silence)
        seen = [{"event": event.kind, **event} for event in islice(events, step["events"])]
        events.close()
        return seen
    return time.sleep(step["wait"] / 1000)


def sees(wanted, work, where):
    value = error = None
    try:
        value = work()
    except Exception as raised:
        error = raised
    if wanted is None or "error" not in wanted:
        if error:
            raise error
        if wanted:
            holds(plain(value), wanted["value"] if "value" in wanted else wanted["events"], where)
        return
    assert error is not None, f"{where}: no error but {value}"
    if wanted["error"] != "any":
        assert type(error).__name__ == wanted["error"], f"{where}: {error!r}"
    assert str(error) == wanted.get("text", str(error))
    for field in ("type", "status", "pointer", "committed"):
        if field in wanted:
            holds(getattr(error, field), wanted[field], where)


def judge(row, requests):
    heads = "\n".join(f"{one['method']} {one['path']}" for one in requests)
    assert len(requests) == len(row["requests"]), f"requests that arrived:\n{heads}"
    for i, wanted in enumerate(row["requests"]):
        request, gap_ms = requests[i], wanted.get("gap_ms", 0)
        holds(request, {key: one for key, one in wanted.items() if key in request}, f"request {i}")
        for field in wanted.get("without", []):
            assert field not in request["body"], f"request {i} has {field}"
        if "same_id_as" in wanted:
            assert request["body"]["id"] == requests[wanted["same_id_as"]]["body"]["id"], f"request {i} has another id"
        if "other_id_than" in wanted:
            assert request["body"]["id"] != requests[wanted["other_id_than"]]["body"]["id"], f"request {i} has the same id"
        assert gap_ms == 0 or request["at"] - requests[i - 1]["at"] >= gap_ms, f"request {i} came too soon"


def play(row, address):
    options = dict(row.get("options", {}))
    if "timeout" in options:
        options["timeout"] /= 1000
    with obbd.connect(address, **options) as client:
        scene = client.scene("yard")
        if "on_lost" in row:
            scene.on_lost = lambda lost: lost.put(row["on_lost"]["put"])
        kept = None
        for i, step in enumerate(row["do"]):
            kept = scene.ids(step["ids"]) if "keep" in step else kept
            sees(step.get("sees"), lambda: act(client, scene, {**step, "kept": kept}), f"step {i}")


def main():
    command = [sys.executable, str(ROOT / "tests/clients/bad_server.py"), str(BEHAVIOUR)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    addresses = json.loads(server.stdout.readline())
    pool = ThreadPoolExecutor(len(ROWS))
    for row in ROWS:  # all rows at once: some of them wait
        add(row["name"], lambda row=row, playing=pool.submit(play, row, addresses[row["name"]]): finish(server, row, playing))
    status = run()
    server.stdin.close()
    server.wait()
    return status


def finish(server, row, playing):
    playing.result()
    print(row["name"], file=server.stdin, flush=True)
    judge(row, json.loads(server.stdout.readline())["requests"])


sys.exit(main())
