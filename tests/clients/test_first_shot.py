#!/usr/bin/python3
"""The first shot in each language, by the lines of proto/clients/README.md and the first program of the language alone."""

import os
import re
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from python import ROOT

from sums import TIMEOUT_S, add, run

CLIENTS = ROOT / "proto/clients"
README = (CLIENTS / "README.md").read_text(encoding="utf-8")
LANGUAGES = re.findall(r"^(\S+), with the program as `(\S+?)`.*?^```sh\n(.*?)^```", README, re.S | re.M)
FOLDERS = {"JavaScript": "js", "Python": "python", "C": "c", "C#": "csharp"}


def first_program(language):
    readme = (CLIENTS / FOLDERS[language] / "README.md").read_text(encoding="utf-8")
    return re.search(r"^## First program\n.*?^```\w+\n(.*?)^```", readme, re.S | re.M).group(1)


# What only one language needs, as the names of its packages begin.
OWN = {"JavaScript": ("nodejs", "npm"), "Python": ("python3",), "C": ("libcurl",), "C#": ("mono",)}


def installs_its_own_alone(language):
    """Does the set-up of a language install what that language needs, and nothing that only another one does?"""
    assert "`python`, `c` or `csharp`" in README and "make client-js\n" in README
    command = ["make", "-n", "HAVE_NODE=", f"client-{FOLDERS[language]}"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=8 * TIMEOUT_S, check=True).stdout
    packages = re.search(r"for p in (.*?); do", told).group(1).split()
    assert "gcc" in packages, packages
    for other, beginnings in OWN.items():
        for beginning in beginnings:
            assert any(one.startswith(beginning) for one in packages) == (other == language), (beginning, packages)


def a_free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def shoot(language, file, lines):
    url = f"http://127.0.0.1:{a_free_port()}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OBBD")}
    env = {**kept, "OBBD_BIN": os.path.abspath(os.environ["OBBD"]), "CLIENTS": str(ROOT / "build/clients")}
    if "--listen" in lines:
        assert lines.count("127.0.0.1:7480") == 1, "the address that a program without one goes to"
        lines, env["OBBD_URL"] = lines.replace("127.0.0.1:7480", url.removeprefix("http://")), url
        lines = lines.replace("& daemon=$!\n", "& daemon=$!\ntrap 'kill $daemon' EXIT\n").replace("\nkill $daemon\n", "\n")
    with tempfile.TemporaryDirectory(prefix="obbd-first-") as folder:
        (Path(folder) / file).write_text(first_program(language), encoding="utf-8")
        done = subprocess.run(["sh", "-eu"], input=lines, cwd=folder, env=env, capture_output=True, text=True, timeout=8 * TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"crate is hit at 4\nwatch it at http://\S+/#first\n", done.stdout), done.stdout + done.stderr
    assert len(first_program(language).strip().split("\n")) < 10


assert [language for language, _, _ in LANGUAGES] == list(FOLDERS)
for one in LANGUAGES:
    add(f"the set-up of {one[0]} installs what it needs and nothing of another language", lambda one=one: installs_its_own_alone(one[0]))
    add(f"the first shot in {one[0]}", lambda one=one: shoot(*one))
sys.exit(run())
