#!/usr/bin/python3
"""The exchanges of the contract, through Request() of the C# client: in JSON and in CBOR, each file against a fresh daemon."""

import sys

from csharp import Driver, Session
from exchanges import add_tests

from sums import run

DRIVER = Driver()


class Asking(Session):
    def __init__(self, url):
        super().__init__(DRIVER, url, options={"retries": 0})
        self.opened = 0

    def ask(self, method, target, body, headers, media):
        try:
            reply = self("request", method=method, path=target, body=body, headers=headers, media=media)
            return reply["status"], reply["headers"], reply["value"]
        except Exception as problem:
            if type(problem).__name__ != "Problem":
                raise
            return problem.status, problem.headers, problem.body

    def stream(self, target, headers):
        self.opened += 1  # names the stream, as several may have one path
        return Stream(self, str(self.opened), self("stream", name=str(self.opened), path=target, headers=headers))


class Stream:
    def __init__(self, client, name, headers):
        self.client, self.name, self.headers = client, name, headers

    def text(self):
        return self.client("text", name=self.name)


add_tests(Asking)
with DRIVER:
    status = run()
sys.exit(status)
