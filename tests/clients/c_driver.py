"""The C client as a program that copied its two files, played through c_driver.c."""

import json
import os
import subprocess

from python import ROOT

INSTALLED = ROOT / "build/clients/c"
COMMAND = [str(INSTALLED / "driver")]
OPTIONS = {"ASAN_OPTIONS": "detect_leaks=1"}


class Failure(Exception):
    """What obbd_why says, of one class for each of its errors: see `failure`."""

    def __init__(self, why):
        super().__init__(why["text"])
        self.__dict__.update(why)


def failure(why):
    return type(why["error"], (Failure,), {})(why)


class Driver:
    """A context manager, whose end expects that the program ends with 0, so without a leak."""

    def __init__(self, url, variables=None, **options):
        env = {**os.environ, **OPTIONS, **(variables or {})}
        self.child = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        self.play(do="open", url=url, **options)

    def play(self, **step):
        print(json.dumps(step), file=self.child.stdin, flush=True)
        line = self.child.stdout.readline()
        assert line, f"the driver ended at {step}"
        return json.loads(line)

    def value(self, **step):
        """The value of the answer; raises what obbd_why says."""
        answer = self.play(**step)
        if "error" in answer:
            raise failure(answer)
        return answer["value"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        self.child.stdout.close()
        assert self.child.wait() == 0


def fields(lines):
    """The header of an answer, by name in lower case."""
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines.splitlines())}
