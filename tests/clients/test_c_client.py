#!/usr/bin/python3
"""The C client against real daemons: its codec alone, the tests of c_client.c, curl lines, and what is in the package."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cutter import Prefixed
from python import ROOT, same
from rfc8949 import BROKEN, random_value

from c_driver import INSTALLED, Driver
from daemon import Daemon, certificate, token_file
from sums import add, effort, run, test

FOLDER = Path(tempfile.mkdtemp(prefix="obbd-clients-"))
TOKEN = "a fresh token"
TESTS = re.findall(r"^    TEST\((\w+)\),$", (ROOT / "tests/clients/c_client.c").read_text(encoding="utf-8"), re.M)

# ---- CBOR and JSON ------------------------------------------------------------------------------

# Values of RFC 8949, appendix A, and of RFC 8746, that this codec writes as they stand there.
WRITTEN = [
    ("00", "0"), ("17", "23"), ("1818", "24"), ("1903e8", "1000"), ("1a000f4240", "1000000"), ("1b000000e8d4a51000", "1000000000000"),
    ("1bffffffffffffffff", "18446744073709551615"), ("c249010000000000000000", "18446744073709551616"),
    ("3bffffffffffffffff", "-18446744073709551616"), ("c349010000000000000000", "-18446744073709551617"), ("20", "-1"),
    ("3903e7", "-1000"), ("fb3ff199999999999a", "1.1"), ("fbc010666666666666", "-4.1"), ("fb7e37e43c8800759c", "1.0e+300"),
    ("fb8000000000000000", "-0.0"), ("fb8000000000000000", "-0"), ("f4", "false"), ("f5", "true"), ("f6", "null"), ("60", '""'),
    ("6449455446", '"IETF"'), ("62c3bc", '"\\u00fc"'), ("64f0908591", '"\\ud800\\udd51"'), ("62225c", '"\\"\\\\"'), ("80", "[]"), ("a0", "{}"),
    ("8301820203820405", "[1, [2, 3], [4, 5]]"), ("a26161016162820203", '{"a": 1, "b": [2, 3]}'), ("826161f6", '["a",null]'),
    ("98190102030405060708090a0b0c0d0e0f101112131415161718181819", str(list(range(1, 26)))), ("81" * 99 + "80", "[" * 100 + "]" * 100),
]  # fmt: skip
READ = [
    ("d846480100000002000000", [1, 2]), ("d855440000c03f", [1.5]), ("d85648000000000000f83f", [1.5]), ("d840420100", [1, 0]),
    ("fa47c35000", 100000), ("c340", -1), ("3b7fffffffffffffff", -(2**63)), ("c240", 0), ("c24102", 2), ("c34a01000000000000000000", -(2**72) - 1),
]  # fmt: skip
NO_JSON = ["", "{", "[1,]", '{"a" 1}', "01", "1.", "-", "1e", "nul", '"\\x"', '"\\ud800"', '"\\udc00"', '"a', "1 2", "1e999", "[" * 130 + "]" * 130]


def echoed(driver, text):
    """What the client makes of a JSON text that goes out in CBOR and comes back: the bytes in hex, and the JSON."""
    answer = driver.play(do="request", method="POST", path="/", body=text, cbor=True)
    return answer["hex"], answer["body"]


def read(driver, given):
    return driver.play(do="request", method="POST", path="/", hex=given, type="application/cbor")


@test
def cbor_as_in_rfc_8949_and_rfc_8746():
    with Driver("echo:") as driver:
        for wanted, text in WRITTEN:
            found, back = echoed(driver, text)
            assert found == wanted, (text, found)
            assert same(json.loads(back), json.loads(text)) or text == "-0", (text, back)
        assert echoed(driver, "-0")[1] == "-0.0"
        for given, value in READ:
            assert json.loads(read(driver, given)["body"]) == value, given


@test
def broken_cbor_is_refused_and_every_truncated_prefix():
    with Driver("echo:", retries=0) as driver:
        whole = "a3616186011901 2cfb7e37e43c8800759c647465787424f667636f6c756d6e73a265626f786573d8464c010000000200000003000000"
        whole = (whole + "66706f696e7473d85650000000000000f03f0000000000000040" + "6162c249010000000000000000").replace(" ", "")
        for size in range(2, len(whole), 2):
            assert read(driver, whole[:size])["error"] in ("Disconnected", "Unknown"), size
        value = {"a": [1, 300, 1e300, "text", -5, None], "columns": {"boxes": [1, 2, 3], "points": [1, 2]}, "b": 2**64}
        assert json.loads(read(driver, whole)["body"]) == value
        for given in [*BROKEN, "62c080", "40"]:  # a character in two bytes that wants one; bytes, which the contract does not have
            assert "error" in read(driver, given), given


@test
def what_is_no_json_goes_out_as_it_stands():
    with Driver("echo:", retries=0) as driver:
        for text in NO_JSON:
            answer = driver.play(do="request", method="POST", path="/", body=text, cbor=True)
            assert bytes.fromhex(answer["hex"]).decode() == text, text


@test
def random_values_come_back():
    rng = random.Random(20261123)
    nested = 0
    with Driver("echo:") as driver:
        for _ in range(effort(300)):
            value = random_value(rng)
            nested += isinstance(value, (list, dict))
            text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
            assert same(json.loads(echoed(driver, text)[1]), value), text
    assert nested > effort(50)


@test
def numbers_have_a_point_where_the_locale_has_a_comma():
    # A locale of nothing but that, for which localedef needs no other package: it warns of what is missing.
    codes = "".join(f"<U{i:04X}> /x{i:02x}\n" for i in range(128))
    Path(FOLDER, "codes").write_text(f"<code_set_name> CODES\n<escape_char> /\nCHARMAP\n{codes}END CHARMAP\n", encoding="ascii")
    Path(FOLDER, "numbers").write_text('LC_NUMERIC\ndecimal_point ","\nthousands_sep "."\ngrouping 3;3\nEND LC_NUMERIC\n', encoding="ascii")
    command = ["localedef", "-c", "-f", f"{FOLDER}/codes", "-i", f"{FOLDER}/numbers", f"{FOLDER}/comma"]
    subprocess.run(command, check=False, capture_output=True)
    variables = {"LOCPATH": str(FOLDER), "LC_ALL": "comma", "ASAN_OPTIONS": "detect_leaks=0"}  # LOCPATH leaks in glibc
    told = subprocess.run(["printf", "%.1f", "1,5"], env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    assert told.stdout == "1,5", "the locale has a comma"
    with Driver("echo:", variables=variables) as driver:
        assert echoed(driver, "[1.5,-2.25e-3,0.1,1e300]") == ("84fb3ff8000000000000fbbf626e978d4fdf3bfb3fb999999999999afb7e37e43c8800759c", "[1.5,-0.00225,0.1,1e+300]")


# ---- With daemons -------------------------------------------------------------------------------


def finish(name):
    """Runs one test of c_client.c: the daemons live as long as this program."""
    command = [str(INSTALLED / "client"), DAEMON.url, f"unix:{FOLDER}/socket", GUARDED.url, TOKEN, SECURE.url, CERTIFICATE[0]]
    done = subprocess.run(command, env={**os.environ, "ONLY": name}, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{name}: ok" in done.stdout, done.stdout + done.stderr


for one in TESTS:
    add(one.replace("_", " "), lambda one=one: finish(one))


@test
def a_path_of_the_address_stands_before_each_path():
    proxy = Prefixed(DAEMON.port)
    for address in (proxy.url, proxy.url + "/"):
        with Driver(address) as driver:
            assert driver.value(do="commit", commit={"put": {"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}}})["put"] == 1
            assert driver.value(do="query", query={"kind": "all-pairs"})["count"] == 0
            assert driver.value(do="events", count=1, topics=["collisions"])[0]["event"] == "state"
            assert json.loads(driver.play(do="request", method="GET", path="/healthz")["body"]) == {"status": "alive"}
            driver.value(do="delete")
    proxy.listener.close()
    assert len(proxy.requests) == 10 and all(" /below/it/" in line for line in proxy.requests), proxy.requests


@test
def each_request_is_printed_as_a_curl_that_works():
    os.environ["OBBD_DEBUG"] = "1"
    os.environ.pop("OBBD_URL", None)
    done = subprocess.run(
        [str(INSTALLED / "driver")],
        input="\n".join(
            json.dumps(step)
            for step in (
                {"do": "open", "url": DAEMON.url, "token": "secret"},
                {"do": "commit", "commit": {"put": {"it's": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}}}},
                {"do": "query", "query": {"kind": "all-pairs", "by": "id"}},
                {"do": "open", "url": f"unix:{FOLDER}/socket"},
                {"do": "request", "method": "GET", "path": "/v1/scenes/yard/boxes/it's"},
                {"do": "open", "retries": -1},
                {"do": "request", "method": "GET", "path": "/healthz"},
            )
        ),
        capture_output=True,
        text=True,
        check=True,
    )
    del os.environ["OBBD_DEBUG"]
    commands = done.stderr.strip().split("\n")
    assert " 'http://localhost:7480/healthz'" in commands.pop(), "the address of a program that states none"
    assert len(commands) == 3 and "secret" not in done.stderr, commands
    said = [json.loads(subprocess.check_output(["sh", "-c", command])) for command in commands]
    assert said[0]["repeated"] is True and said[0]["put"] == 1, "the command has the same id"
    assert said[1]["count"] == 0 and said[2]["name"] == "it's", said


# ---- The package --------------------------------------------------------------------------------


@test
def the_package_has_the_version_of_the_daemon_and_what_it_installs():
    version = subprocess.check_output([os.environ["OBBD"], "--version"], text=True).split()[1]
    packed = subprocess.check_output(["tar", "tzf", str(ROOT / f"build/clients/obbd-c-{version}.tar.gz")], text=True).split()
    assert packed == [f"obbd-c-{version}/{name}" for name in ("obbd.h", "obbd.c", "obbd.pc.in", "Makefile", "README.md")]
    env = {**os.environ, "PKG_CONFIG_PATH": str(INSTALLED / "lib/pkgconfig")}
    assert subprocess.check_output(["pkg-config", "--modversion", "obbd"], text=True, env=env).strip() == version
    files = {str(file.relative_to(INSTALLED)) for folder in ("include", "lib") for file in (INSTALLED / folder).rglob("*") if file.is_file()}
    assert files == {"include/obbd.h", "lib/libobbd.a", "lib/pkgconfig/obbd.pc"}


@test
def the_header_stands_alone_in_c99_and_c_plus_plus():
    header = str(INSTALLED / "include/obbd.h")
    strict = ["-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic", "-fsyntax-only"]
    subprocess.run(["gcc", "-std=c99", *strict, "-x", "c", header], check=True)
    subprocess.run(["g++", "-std=c++11", *strict, "-x", "c++", header], check=True)


@test
def the_library_shows_no_names_but_its_own_and_does_without_libcurl_where_it_is_told():
    symbols = subprocess.check_output(["nm", "-g", "--defined-only", str(INSTALLED / "lib/libobbd.a")], text=True)
    names = re.findall(r"^[0-9a-f]+ [A-Z] (\w+)$", symbols, re.M)
    declared = re.findall(r"\b(obbd_\w+)\(", (INSTALLED / "include/obbd.h").read_text(encoding="utf-8"))
    assert len(names) > 50 and sorted(names) == sorted(set(declared)), set(names) ^ set(declared)
    source = next(INSTALLED.glob("obbd-c-*")) / "obbd.c"
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-DOBBD_NO_CURL", "-c", str(source), "-o", f"{FOLDER}/obbd.o"]
    subprocess.run(command, check=True)
    assert "curl_easy" not in subprocess.check_output(["nm", f"{FOLDER}/obbd.o"], text=True)


CERTIFICATE = certificate(FOLDER)
DAEMON = Daemon("--listen", f"unix:{FOLDER}/socket")
GUARDED = Daemon("--token-file", token_file(FOLDER, TOKEN))
SECURE = Daemon("--tls-cert", CERTIFICATE[0], "--tls-key", CERTIFICATE[1])
status = run()
for daemon in (DAEMON, GUARDED, SECURE):
    daemon.stop()
shutil.rmtree(FOLDER)
sys.exit(status)
