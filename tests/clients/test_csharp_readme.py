#!/usr/bin/python3
"""The programs of the README of the C# client, compiled with the package as its README says, and run."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from csharp import BUILT, PACKAGE
from python import ROOT

from daemon import Daemon
from sums import TIMEOUT_S, run, test

TEXT = (PACKAGE / "README.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"^```csharp\n(.*?)^```", TEXT, re.S | re.M)
COMMAND = re.search(r"`(mcs .*?) Program\.cs", TEXT).group(1).split()
FOLDER = Path(tempfile.mkdtemp(prefix="obbd-csharp-"))


def compiled(program, *more):
    (FOLDER / "Program.cs").write_text(program, encoding="utf-8")
    out = FOLDER / "Program.exe"
    command = [*COMMAND, "-langversion:7", "-warnaserror", f"-out:{out}", str(FOLDER / "Program.cs"), *map(str, more)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=4 * TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


def output(program):
    """What a program prints, also if it is run once more with the same daemon."""
    out = compiled(program, *(PACKAGE / "Runtime").glob("*.cs"))
    with Daemon() as daemon:
        env = {**{name: value for name, value in os.environ.items() if not name.startswith("OBBD_")}, "OBBD_URL": daemon.url}
        printed = []
        for _ in range(2):
            done = subprocess.run(["mono", str(out)], env=env, capture_output=True, text=True, timeout=4 * TIMEOUT_S, check=False)
            assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
            printed.append(done.stdout.replace(daemon.url, "URL"))
        assert printed[0] == printed[1], printed
        return printed[0]


def lines(program):
    return len(program.strip().split("\n"))


@test
def the_first_program_has_less_than_ten_lines_and_does_what_its_comment_says():
    assert lines(PROGRAMS[0]) < 10
    says = re.search(r"// (crate is hit.*)", PROGRAMS[0]).group(1)
    assert output(PROGRAMS[0]) == says + "\nwatch it at URL/#first\n"


@test
def the_game_loop_has_30_lines_and_judges_the_shot_at_the_time_that_was_seen():
    assert lines(PROGRAMS[1]) <= 30
    says = re.search(r"It prints `(.*?)`, then `(.*?)`", TEXT).groups()
    assert output(PROGRAMS[1]) == "\n".join(says) + "\n"


@test
def collisions_are_told_as_they_happen():
    assert output(PROGRAMS[2]) == "state\nbegin crate cart\nend crate cart\n"


@test
def the_unity_script_compiles():
    stubs = ROOT / "tests/clients/csharp/UnityStubs.cs"
    sources = [*(PACKAGE / "Runtime/Unity").glob("*.cs"), stubs]
    compiled(PROGRAMS[3], *sources, "-target:library", f"-r:{BUILT / 'Obbd.dll'}")
    assert len(PROGRAMS) == 4


@test
def the_table_of_files_names_all():
    table = TEXT[TEXT.index("## Files") :]
    named = set(re.findall(r"`(\w+)`", table))
    assert {file.stem for file in (PACKAGE / "Runtime").rglob("*.cs")} - {"ObbdConversions"} <= named
    assert "types of Unity" in table


status = run()
shutil.rmtree(FOLDER)
sys.exit(status)
