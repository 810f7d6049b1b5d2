#!/usr/bin/python3
"""The programs of the README of the C client, as somebody builds and runs them who installed it with `make install`."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from c_driver import INSTALLED
from daemon import Daemon
from sums import run, test

FOLDER = Path(tempfile.mkdtemp(prefix="obbd-clients-"))
TEXT = next(INSTALLED.glob("obbd-c-*")).joinpath("README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```c\n(.*?)^```", TEXT, re.S | re.M)
BUILD = re.search(r"^cc (.*) first\.c (.*)$", TEXT, re.M)
STRICT = "-Wall -Wextra -Werror -pedantic"


def output(number, url):
    """Builds a program by the line of the README, and runs it."""
    env = {**os.environ, "PKG_CONFIG_PATH": str(INSTALLED / "lib/pkgconfig"), "OBBD_URL": url}
    (FOLDER / "first.c").write_text(PROGRAMS[number], encoding="utf-8")
    subprocess.run(f"cc {STRICT} {BUILD.group(1)} first.c {BUILD.group(2)}", shell=True, cwd=FOLDER, env=env, check=True)
    said = []
    for _ in range(2):  # it finds what it left there
        done = subprocess.run([FOLDER / "a.out"], env=env, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        said.append(done.stdout)
    assert said[0] == said[1], said[1]
    return said[0]


def lines(program):
    return len(program.strip().split("\n"))


@test
def the_first_program_has_less_than_ten_lines_and_prints_what_is_said():
    assert lines(PROGRAMS[0]) < 10
    says = re.search(r"It prints `(the crate.*?)`, and the address of its scene", TEXT).group(1)
    assert output(0, DAEMON.url) == f"{says}\nwatch it at {DAEMON.url}/#first\n"


@test
def the_game_loop_has_30_lines_and_judges_the_shot_at_the_time_that_was_seen():
    assert lines(PROGRAMS[1]) <= 30
    assert output(1, DAEMON.url) == re.search(r"It prints `(bob.*?)`", TEXT).group(1) + "\n"


@test
def collisions_are_told_as_they_happen():
    assert output(2, f"unix:{FOLDER}/socket") == "state\nbegin\ncrate cart\nend\ncrate cart\n"
    assert len(PROGRAMS) == 3


DAEMON = Daemon("--listen", f"unix:{FOLDER}/socket")
status = run()
DAEMON.stop()
shutil.rmtree(FOLDER)
sys.exit(status)
