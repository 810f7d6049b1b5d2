"""Plays the exchanges of the contract through a client, each file against a fresh daemon, whichever client it is."""

import json

from python import ROOT, plain, same

from daemon import Daemon
from sums import add

EXCHANGES = [json.loads(line) for line in open(ROOT / "build/tools/exchanges.ndjson", encoding="utf-8")]
FILES = sorted({exchange["file"] for exchange in EXCHANGES})
JSON_TYPES = ("application/json", "application/problem+json")


def _ask(client, exchange, media, fill):
    text = None if exchange["request"] is None else fill(exchange["request"])
    body, headers = text, {name: fill(value) for name, value in exchange["headers"].items()}
    raw = True
    if text is not None and exchange["request_type"] in JSON_TYPES:
        try:
            body, raw = json.loads(text, parse_constant=int), False  # int refuses NaN, which is no JSON
        except ValueError:
            pass  # the malformed one is sent as it stands
    if text is not None and raw:
        headers["Content-Type"] = exchange["request_type"]
    cbor_back = exchange["target"].startswith("/v1/") and "Accept" not in headers and exchange["answer_type"] == "application/json"
    if media == "cbor" and not cbor_back:
        headers.setdefault("Accept", "*/*")  # the body alone is CBOR
    return client.ask(exchange["method"], exchange["target"], body, headers, media)


def _is_stream(exchange):
    """Is the answer one that goes on until its scene is deleted, by the last exchange of the file?"""
    follows = exchange["answer_type"] == "text/event-stream" or "follow=true" in exchange["target"]
    return exchange["status"] == 200 and follows


def replay(connect, media):
    """Plays all in "json" or "cbor", holds each answer against the exchange, and returns how many answers came in CBOR.

    connect(url)   a context manager of a client with two methods:
                   ask(method, target, body, headers, media) gives status, headers and value, also of a problem;
                   stream(target, headers) gives an object with `headers` and text(), which waits for the end
    """
    looked_at = in_cbor = followed = 0
    for file in FILES:
        with Daemon() as daemon, connect(daemon.url) as client:
            epoch, streams = "", []
            for exchange in EXCHANGES:
                if exchange["file"] != file:
                    continue
                where = f"{file}:{exchange['line']}: {exchange['title']}"
                looked_at += 1
                if _is_stream(exchange):
                    headers = {name: value.replace("{epoch}", epoch) for name, value in exchange["headers"].items()}
                    streams.append((where, exchange, client.stream(exchange["target"], headers)))
                    continue
                status, headers, value = _ask(client, exchange, media, lambda text: text.replace("{epoch}", epoch))
                epoch = headers.get("obbd-epoch", epoch)
                assert status == exchange["status"], f"{where}: {status} {value}"
                for name, wanted in exchange["expected"].items():
                    assert headers.get(name.lower()) == wanted.replace("{epoch}", epoch), f"{where}: {name}"
                wanted = exchange["answer"]
                if wanted is not None and exchange["answer_type"] in JSON_TYPES:
                    assert same(plain(value), json.loads(wanted.replace("{epoch}", epoch))), f"{where}: {value}"
                else:
                    assert (value and value.rstrip()) == wanted, f"{where}: {value}"
                in_cbor += headers.get("content-type") == "application/cbor"
            for where, exchange, stream in streams:
                told = stream.text().rstrip()
                assert told == exchange["answer"].replace("{epoch}", epoch), f"{where}: {told}"
                assert stream.headers["content-type"] == exchange["answer_type"], where
                followed += 1
    print(f"{looked_at} exchanges in {len(FILES)} files, {followed} of them streams, {in_cbor} answers in CBOR")
    assert followed >= 5
    assert looked_at == len(EXCHANGES) > 100
    return in_cbor


def _in_json(connect):
    assert replay(connect, "json") == 0


def _in_cbor(connect):
    assert replay(connect, "cbor") > len(EXCHANGES) / 3


def add_tests(connect):
    """Adds the tests of a client, see `replay`: every exchange in each of the two media types."""
    add("every exchange in json", lambda: _in_json(connect))
    add("every exchange in cbor", lambda: _in_cbor(connect))
