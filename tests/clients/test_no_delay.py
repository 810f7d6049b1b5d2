#!/usr/bin/python3
"""Each client over TCP, under strace: a small request does not wait in its socket for the acknowledgement of the one before."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from python import INSTALLED, ROOT

from daemon import Daemon
from sums import add, run

BUILT = ROOT / "build/clients"
COMMIT = {"do": "commit", "commit": {"put": {"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}}}}
PYTHON = """
import json, sys, obbd
scene = obbd.connect(sys.argv[1]).scene("yard")
for line in sys.stdin:
    print(json.dumps({"value": scene.commit(**json.loads(line)["commit"])}), flush=True)
"""
# How a client is run with an address, and what is said to it before the commit.
CLIENTS = {
    "JavaScript": (["node", str(ROOT / "tests/clients/js_driver.mjs"), "URL"], []),
    "Python": ([sys.executable, "-c", PYTHON, "URL"], []),
    "C": ([str(BUILT / "c/driver")], [{"do": "open", "url": "URL"}]),
    "C#": (["mono", str(BUILT / "csharp/driver.exe")], [{"do": "connect", "url": "URL"}]),
}


def traced(language, url):
    """What strace writes of the calls on sockets while the client commits."""
    command, first = CLIENTS[language]
    with tempfile.TemporaryDirectory(prefix="obbd-no-delay-") as folder:
        trace = Path(folder) / "trace"
        strace = ["strace", "-f", "-qq", "-o", str(trace), "-e", "trace=connect,setsockopt"]
        env = {**os.environ, "PYTHONPATH": str(INSTALLED), "ASAN_OPTIONS": "detect_leaks=0"}  # leaks are not to be had under strace
        whole = strace + [url if word == "URL" else word for word in command]
        with subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as child:
            for step in [*first, COMMIT]:
                said = {name: url if value == "URL" else value for name, value in step.items()}
                print(json.dumps({"session": "0", **said}), file=child.stdin, flush=True)
                answer = json.loads(child.stdout.readline())
                assert "error" not in answer, answer
            child.stdin.close()
        return trace.read_text(encoding="utf-8")


def sends_at_once(language):
    with Daemon() as daemon:
        calls = traced(language, daemon.url)
        port = daemon.url.rsplit(":", 1)[1]
    made = re.findall(rf"connect\((\d+), {{sa_family=AF_INET6?, sin6?_port=htons\({port}\)", calls)
    assert made, calls
    without_delay = re.findall(r"setsockopt\((\d+), SOL_TCP, TCP_NODELAY, \[1\], 4(?!\) = -1)", calls)
    assert set(made) <= set(without_delay), calls


add("a small request in JavaScript is not held back for the one before", lambda: sends_at_once("JavaScript"))
add("a small request in Python is not held back for the one before", lambda: sends_at_once("Python"))
add("a small request in C is not held back for the one before", lambda: sends_at_once("C"))
add("a small request in C# is not held back for the one before", lambda: sends_at_once("C#"))
sys.exit(run())
