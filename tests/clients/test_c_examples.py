#!/usr/bin/python3
"""The exchanges of the contract, through obbd_request of the C client: in JSON and in CBOR, each file against a fresh daemon."""

import json
import sys

from exchanges import JSON_TYPES, add_tests

from c_driver import Driver, fields
from sums import run


class Stream:
    def __init__(self, asking, head):
        self.asking = asking
        self.number = asking.streams
        self.headers = fields(head["fields"])
        asking.streams += 1

    def text(self):
        """All streams are read at once, when the first one is asked for."""
        if self.asking.told is None:
            self.asking.told = self.asking.driver.value(do="drain")
        return self.asking.told[self.number]


class Asking:
    def __init__(self, url):
        self.driver = Driver(url, retries=0)
        self.streams = 0
        self.told = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.driver.__exit__()

    def ask(self, method, target, body, headers, media):
        step = {"do": "request", "method": method, "path": target, "cbor": media == "cbor"}
        if isinstance(body, str):
            step.update(body=body, type=headers.pop("Content-Type"))
        elif body is not None:
            step["body"] = json.dumps(body)
        answer = self.driver.play(**step, headers=[f"{name}: {value}" for name, value in headers.items()])
        header = fields(answer["fields"])
        known = header.get("content-type", "") in (*JSON_TYPES, "application/cbor")
        value = json.loads(answer["body"]) if known and answer["body"] else answer["body"] or None
        return answer["status"], header, value

    def stream(self, target, headers):
        return Stream(self, self.driver.play(do="stream", path=target, headers=[f"{name}: {value}" for name, value in headers.items()]))


add_tests(Asking)
sys.exit(run())
