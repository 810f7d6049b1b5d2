#!/usr/bin/python3
"""Each client with two daemons over one log (`--journal`): what was written at one is read at the other, and a commit is known at both."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time

from python import ROOT, plain
from rows import asked

import c_driver
import csharp
import obbd
from daemon import Daemon
from sums import TIMEOUT_S, add, run

CUBE = {"center": [0, 0, 0], "half_extents": [1, 1, 1]}
COUNT = {"kind": "all-pairs", "count_only": True}
HELD_S = 0.3  # how long a read must have waited that began so long before the commit


class Nats:
    """A server of NATS on loopback. A context manager."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="obbd-nats-")
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        log = os.path.join(self.folder.name, "log")
        where = ["-a", "127.0.0.1", "-p", str(port), "-js", "-sd", self.folder.name, "-l", log]
        self.child = subprocess.Popen(["nats-server", *where])
        self.url = f"nats://127.0.0.1:{port}"
        end = time.monotonic() + TIMEOUT_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                assert self.child.poll() is None and time.monotonic() < end, "nats-server does not run"
                time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait()
        self.folder.cleanup()


# ---- The clients, each by the same four words ------------------------------------------------------


class Python:
    def __init__(self, url):
        self.client = obbd.connect(url)
        self.yard = self.client.scene("yard")

    def commit(self, commit):
        return self.yard.commit(**commit)

    def read(self, read):
        return self.yard.info(**read)

    def query(self, query):
        return plain(self.yard.query(query))

    def close(self):
        self.client.close()


class JavaScript:
    def __init__(self, url):
        command = ["node", str(ROOT / "tests/clients/js_driver.mjs"), url]
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def play(self, **step):
        print(json.dumps(step), file=self.child.stdin, flush=True)
        answer = json.loads(self.child.stdout.readline())
        assert "error" not in answer, answer
        return answer["value"]

    def commit(self, commit):
        return self.play(do="commit", commit=commit)

    def read(self, read):
        return self.play(do="read", read=read)

    def query(self, query):
        return self.play(do="query", query=query)

    def close(self):
        self.child.stdin.close()
        self.child.stdout.close()
        assert self.child.wait() == 0


class C:
    def __init__(self, url):
        self.driver = c_driver.Driver(url)

    def commit(self, commit):
        return self.driver.value(do="commit", commit=commit)

    def read(self, read):
        return self.driver.value(do="request", method="GET", path=f"/v1/scenes/yard?{asked(read)}")

    def query(self, query):
        return self.driver.value(do="query", query=query)

    def close(self):
        self.driver.__exit__()


class CSharp:
    driver = None

    def __init__(self, url):
        CSharp.driver = CSharp.driver or csharp.Driver()
        self.session = csharp.Session(CSharp.driver, url)

    def commit(self, commit):
        return self.session("commit", commit=commit)

    def read(self, read):
        return self.session("info", which=asked(read))

    def query(self, query):
        return self.session("query", query=query)

    def close(self):
        self.session("close")


def play(language):
    with Nats() as nats:
        options = ("--journal", nats.url, "--journal-replicas", "1")
        with Daemon(*options) as first, Daemon(*options) as second:
            here, there = language(first.url), language(second.url)
            write_here_and_read_there(here, there)
            here.close()
            there.close()


def write_here_and_read_there(here, there):
    made = here.commit({"put": {"a": CUBE, "b": CUBE}})
    assert made["revision"] == 1
    assert there.read({"revision": 1})["boxes"] == 2  # a scene that this daemon may not know yet
    # a read of the next revision waits until somebody makes it
    seen = []
    reader = threading.Thread(target=lambda: seen.append((there.read({"revision": 2})["revision"], time.monotonic())))
    begun = time.monotonic()
    reader.start()
    time.sleep(HELD_S)
    assert seen == []
    known = {"id": "round-1", "transform": {"b": {"translate": [9, 0, 0]}}}
    assert here.commit(known)["revision"] == 2
    reader.join()
    assert seen[0][0] == 2 and seen[0][1] - begun >= HELD_S
    # what is fresh has all that was answered before, each time
    for revision in range(3, 23):
        assert here.commit({"transform": {"a": {"translate": [9 if revision % 2 else -9, 0, 0]}}})["revision"] == revision
        if revision % 4 == 0:
            assert there.read({"fresh": True})["revision"] == revision
        else:
            assert there.query({**COUNT, "fresh": True})["count"] == revision % 2  # a and b meet while both are away
    # a commit that was applied by one daemon is known to the other one
    again = there.commit(known)
    assert again["repeated"] is True and again["revision"] == 2 and there.read({"fresh": True})["revision"] == 22


add("what is written at one daemon is read at the other in JavaScript", lambda: play(JavaScript))
add("what is written at one daemon is read at the other in Python", lambda: play(Python))
add("what is written at one daemon is read at the other in C", lambda: play(C))
add("what is written at one daemon is read at the other in C#", lambda: play(CSharp))
STATUS = run()
if CSharp.driver:
    CSharp.driver.__exit__()
sys.exit(STATUS)
