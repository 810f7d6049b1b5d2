#!/usr/bin/python3
"""The programs of the README of the Python client, as somebody runs them who installed the package."""

import os
import re
import subprocess
import sys
from email import message_from_string

from python import INSTALLED

from sums import TIMEOUT_S, run, test

METADATA = next(INSTALLED.glob("obbd-*.dist-info")) / "METADATA"
TEXT = message_from_string(METADATA.read_text(encoding="utf-8")).get_payload()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", TEXT, re.S | re.M)


def output(program):
    env = {**os.environ, "OBBD_BIN": os.environ["OBBD"], "PYTHONPATH": str(INSTALLED)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=4 * TIMEOUT_S, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    return done.stdout


def lines(program):
    return len(program.strip().split("\n"))


@test
def the_first_program_has_less_than_ten_lines_and_does_what_its_comment_says():
    assert lines(PROGRAMS[0]) < 10
    says = re.search(r"# (crate is hit.*)", PROGRAMS[0]).group(1)
    assert re.fullmatch(says + r"\nwatch it at http://127\.0\.0\.1:\d+/#first\n", output(PROGRAMS[0]))


@test
def the_simulation_finds_pairs_and_what_cars_see():
    said = output(PROGRAMS[1])
    says = r"(\d+) pairs touch\n(\d+) pairs touch now, (\d+) of 64 cars see something\na ray from below hits something at 2420\.0\n"
    found = re.fullmatch(says, said)
    assert found, said
    before, after, see = map(int, found.groups())
    assert before > 1000 and after > 1000 and 0 < see < 64


@test
def the_game_loop_has_30_lines_and_judges_the_shot_at_the_time_that_was_seen():
    assert lines(PROGRAMS[2]) <= 30
    says = re.search(r"It prints `(.*?)`, then `(.*?)`", TEXT).groups()
    assert output(PROGRAMS[2]) == "\n".join(says) + "\n"


@test
def collisions_are_told_as_they_happen():
    assert output(PROGRAMS[3]) == "state []\nbegin [['crate', 'cart']]\nend [['crate', 'cart']]\n"
    assert len(PROGRAMS) == 4


sys.exit(run())
