"""Plays the rows of proto/clients/behaviour.json against the server that misbehaves, whichever client it is."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from python import ROOT, plain

from sums import add, is_picked, run

BEHAVIOUR = ROOT / "proto/clients/behaviour.json"
ROWS = json.loads(BEHAVIOUR.read_text(encoding="utf-8"))["rows"]


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


def asked(read):
    """What a step reads, as a query string: for clients whose calls take one."""
    return "&".join(f"{name}={str(value).lower()}" for name, value in read.items())


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
        assert request["whole"], f"request {i} came in pieces: head and body leave in one write"
        for field in wanted.get("without", []):
            assert field not in request["body"], f"request {i} has {field}"
        if "same_id_as" in wanted:
            assert request["body"]["id"] == requests[wanted["same_id_as"]]["body"]["id"], f"request {i} has another id"
        if "other_id_than" in wanted:
            assert request["body"]["id"] != requests[wanted["other_id_than"]]["body"]["id"], f"request {i} has the same id"
        assert gap_ms == 0 or request["at"] - requests[i - 1]["at"] >= gap_ms, f"request {i} came too soon"
    if "waits_ms" in row:
        waits = [again["at"] - first["at"] for first, again in zip(requests[::2], requests[1::2])]
        assert min(waits) >= row["waits_ms"]["from"] - 1, waits  # a millisecond: both times are rounded
        assert min(waits) < row["waits_ms"]["below"] and max(waits) > min(waits) + 3, waits


def play_all(play):
    """Calls play(row, address) for each row, and holds the requests that arrived against the row; returns the status to exit with."""
    command = [sys.executable, str(ROOT / "tests/clients/bad_server.py"), str(BEHAVIOUR)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    addresses = json.loads(server.stdout.readline())
    pool = ThreadPoolExecutor(len(ROWS))
    # All at once, for some wait. A row that nobody finishes follows its stream for ever.
    for row in (row for row in ROWS if is_picked(row["name"])):
        add(row["name"], lambda row=row, playing=pool.submit(play, row, addresses[row["name"]]): finish(server, row, playing))
    status = run()
    server.stdin.close()
    server.wait()
    return status


def finish(server, row, playing):
    playing.result()
    print(row["name"], file=server.stdin, flush=True)
    judge(row, json.loads(server.stdout.readline())["requests"])
