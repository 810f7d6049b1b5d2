"""The C# client as it was packed, under the control of a test in Python, and what its tests share."""

import json
import os
import queue
import subprocess
import threading
from itertools import count

from python import ROOT

BUILT = ROOT / "build/clients/csharp"
PACKAGE = BUILT / "package"
_numbers = count()


class Driver:
    """driver.exe of tests/clients/csharp, which has a client for each session. A context manager."""

    def __init__(self, stderr=None, **variables):
        env = {name: value for name, value in os.environ.items() if not name.startswith("OBBD_")}
        command = ["mono", str(BUILT / "driver.exe")]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": stderr}
        self.child = subprocess.Popen(command, text=True, env={**env, **variables}, **pipes)
        self.answers = {}
        self.lock = threading.Lock()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self.child.stdout:
            answer = json.loads(line)
            self.answers[answer["session"]].put(answer)
        for session in list(self.answers.values()):
            session.put({"error": {"name": "Ended", "text": "the driver ended"}})

    def say(self, session, command):
        with self.lock:
            self.answers.setdefault(session, queue.Queue())
            print(json.dumps({"session": session, **command}), file=self.child.stdin, flush=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        assert self.child.wait() == 0


class Session:
    """A client in the driver. Errors of C# are raised as exceptions of that name."""

    def __init__(self, driver, url, **how):
        self.driver = driver
        self.name = str(next(_numbers))
        self("connect", url=url, **how)

    def __call__(self, do, **arguments):
        self.begin(do, **arguments)
        return self.end()

    def begin(self, do, **arguments):
        self.driver.say(self.name, {"do": do, **{name: value for name, value in arguments.items() if value is not None}})

    def end(self):
        answer = self.driver.answers[self.name].get(timeout=120)
        if "error" not in answer:
            return answer["value"]
        told = answer["error"]
        error = type(told["name"], (Exception,), {})(told.get("trace", told["text"]))
        for name, value in told.items():
            setattr(error, name, value)
        raise error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self("close")
