#!/usr/bin/python3
"""The exchanges of the contract, through request() of the Python client: in JSON and in CBOR, each file against a fresh daemon."""

import sys

from exchanges import add_tests

import obbd
from sums import run


class Asking:
    def __init__(self, url):
        self.client = obbd.connect(url, retries=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def ask(self, method, target, body, headers, media):
        try:
            reply = self.client.request(method, target, body, headers=headers, media=media)
            return reply.status, reply.headers, reply.value
        except obbd.Problem as problem:
            return problem.status, problem.headers, problem.body

    def stream(self, target, headers):
        received = self.client.stream(target, headers=headers)
        received.text = lambda: b"".join(received).decode()
        return received


add_tests(Asking)
sys.exit(run())
