#!/usr/bin/python3
"""The exchanges of the contract, through request() of the Python client: in JSON and in CBOR, each file against a fresh daemon."""

import json
import sys

from python import ROOT, plain, same

import obbd
from daemon import Daemon
from sums import run, test

EXCHANGES = [json.loads(line) for line in open(ROOT / "build/tools/exchanges.ndjson", encoding="utf-8")]
FILES = sorted({exchange["file"] for exchange in EXCHANGES})
JSON_TYPES = ("application/json", "application/problem+json")


def ask(client, exchange, media, fill):
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
    try:
        reply = client.request(exchange["method"], exchange["target"], body, headers=headers, media=media)
        return reply.status, reply.headers, reply.value
    except obbd.Problem as problem:
        return problem.status, problem.headers, problem.body


def is_stream(exchange):
    """Is the answer one that goes on until its scene is deleted, by the last exchange of the file?"""
    follows = exchange["answer_type"] == "text/event-stream" or "follow=true" in exchange["target"]
    return exchange["status"] == 200 and follows


def replay(media):
    looked_at = in_cbor = followed = 0
    for file in FILES:
        with Daemon() as daemon, obbd.connect(daemon.url, retries=0) as client:
            epoch, streams = "", []
            for exchange in EXCHANGES:
                if exchange["file"] != file:
                    continue
                where = f"{file}:{exchange['line']}: {exchange['title']}"
                looked_at += 1
                if is_stream(exchange):
                    headers = {name: value.replace("{epoch}", epoch) for name, value in exchange["headers"].items()}
                    streams.append((where, exchange, client.stream(exchange["target"], headers=headers)))
                    continue
                status, headers, value = ask(client, exchange, media, lambda text: text.replace("{epoch}", epoch))
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
                told = b"".join(stream).decode().rstrip()
                assert told == exchange["answer"].replace("{epoch}", epoch), f"{where}: {told}"
                assert stream.headers["content-type"] == exchange["answer_type"], where
                followed += 1
    print(f"{looked_at} exchanges in {len(FILES)} files, {followed} of them streams, {in_cbor} answers in CBOR")
    assert followed >= 5
    assert looked_at == len(EXCHANGES) > 100
    return in_cbor


@test
def every_exchange_in_json():
    assert replay("json") == 0


@test
def every_exchange_in_cbor():
    assert replay("cbor") > len(EXCHANGES) / 3


sys.exit(run())
