#!/usr/bin/python3
"""The C# client against the real daemon: codec, ids, ticks, events, tokens, Unity components, and what is in the package.

The checks themselves are in C#, in tests/clients/csharp; most tests here call one of them by its name.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from csharp import PACKAGE, Driver, Session
from cutter import Cutter, Slow
from python import ROOT, same
from rfc8949 import BROKEN, READ, WRITTEN

from daemon import Daemon, token_file
from sums import run, test

FOLDER = Path(tempfile.mkdtemp(prefix="obbd-csharp-"))
SOCKET = f"unix:{FOLDER}/socket"
DAEMON = Daemon("--listen", SOCKET)
DRIVER = Driver()
CLIENT = Session(DRIVER, DAEMON.url)


def check(name, **arguments):
    return CLIENT(name, url=DAEMON.url, **arguments)


def raises(kind, work, text=""):
    try:
        value = work()
    except Exception as error:
        assert (type(error).__name__, bool(re.search(text, str(error)))) == (kind, True), repr(error)
        return error
    raise AssertionError(f"no {kind} but {value!r}")


# ---- Codecs -------------------------------------------------------------------------------------

TYPED = [
    ("d846480100000002000000", {"u32": [1, 2]}),
    ("d855440000c03f", {"f32": [1.5]}),
    ("d85648000000000000f83f", {"f64": [1.5]}),
]


@test
def cbor_as_in_rfc_8949_and_rfc_8746():
    for wanted, value in WRITTEN:
        assert same(CLIENT("Cbor", hex=wanted, value=value), value), wanted
    for wanted, value in TYPED:
        assert CLIENT("Cbor", hex=wanted, **value) == list(value.values())[0], wanted
    for given, value in READ:
        assert CLIENT("ReadCbor", hex=given) == value, given


@test
def broken_cbor_is_refused_and_every_truncated_prefix():
    assert CLIENT("EveryPrefixIsRefused") > 80
    for given in BROKEN:
        CLIENT("BrokenCbor", hex=given)


@test
def json_as_in_rfc_8259():
    wrong = ["", "{", "[1,]", "01x", '"a', '"\\u12"', '"\\x"', "nul", "[1] 2", '{"a" 1}', '"\n"', "--1", "1e", "1e400", "{1:2}", "[" * 300]
    text = ' {"a" : [1, -2.5e-3, true, null, "\\u00e9\\ud834\\udd1e\\n\\/"], "b": 123456789012345678901234567890, "c": -0.0} '
    written = CLIENT("Json_", wrong=wrong, text=text)
    assert json.loads(written) == {"a": [1, -0.0025, True, None, "\u00e9\U0001d11e\n/"], "b": 123456789012345678901234567890, "c": 0}
    assert written.endswith('"c":-0.0}'), written


@test
def random_values_come_back_through_both_codecs():
    assert CLIENT("RandomValues") > 300


# ---- Scenes and ticks ---------------------------------------------------------------------------


@test
def ids_of_boxes_that_were_put_and_of_boxes_that_were_there_before():
    check("Ids")


@test
def ids_of_boxes_that_another_program_removed_and_put_again():
    check("IdsOfOthers")


@test
def a_put_whose_ids_cannot_be_read_behind_it_has_its_answer():
    file = Path(token_file(FOLDER, "writes"))
    file.write_text(file.read_text(encoding="utf-8").replace('"read", ', ""), encoding="utf-8")
    with Daemon("--token-file", str(file)) as guarded:
        check("PutWithoutReading", guarded=guarded.url, token="writes")


@test
def every_kind_of_query_of_a_tick():
    assert check("Queries") == 23


@test
def a_distance_or_a_limit_that_is_none_is_refused_by_the_daemon():
    check("WrongDistances")


@test
def shots_into_the_past_and_what_they_saw():
    check("Times")


@test
def everything_that_a_tick_changes_and_how_it_is_refused():
    check("ChangesOfATick")


@test
def a_thousand_ticks_allocate_nothing():
    for url, ticks in ((DAEMON.url, 1000), (SOCKET, 200)):
        with Session(DRIVER, url) as client:
            told = client("Allocated", ticks=ticks)
        print(f"{ticks} ticks of 1,000 poses and 64 rays by {url.split(':')[0]}: {told['allocated']} bytes allocated,", end=" ")
        print(f"at best {told['worked_us']:.0f} us to build, send and read one, {told['waited_us']:.0f} us for its answer")
        assert told["allocated"] == 0
        # each tick: 64 rays and 2 of a batch hit, the sphere finds 2 boxes and its second is box 2; no pair overlaps
        assert told["hits"] == ticks * (64 + 2 + 2 + 2)
    with Session(DRIVER, DAEMON.url) as client:
        told = client("Allocated", ticks=50, little=True)
    assert (told["allocated"], told["hits"]) == (0, 50 * 70), "more than was stated makes the memory grow once, before the first of these ticks"


@test
def a_scene_that_was_deleted_and_made_again_is_noticed_and_its_boxes_are_put_again():
    check("Lost")


@test
def boxes_that_could_not_be_put_again_are_put_by_the_next_call_of_a_builder_too():
    check("LostAgain")


@test
def boxes_settings_copies_the_plain_calls():
    check("PlainCalls")


@test
def many_ticks_under_way_at_once_have_their_own_answers():
    check("ManyAtOnce")


@test
def large_bodies_go_out_and_come_in():
    assert check("Large") > 2_000_000
    with Session(DRIVER, SOCKET) as client:
        assert client("Large") > 2_000_000


@test
def a_commit_of_a_builder_whose_answer_was_cut_is_sent_again_and_applied_once():
    cutter = Cutter(DAEMON.port)
    CLIENT("SentAgain", url=cutter.url)
    cutter.listener.close()
    assert cutter.answers == 3


class Scripted:
    """A server that answers each connection with the next text, or with nothing for None, and closes it."""

    def __init__(self, *answers):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.requests = []
        threading.Thread(target=self.serve, args=(answers,), daemon=True).start()

    def serve(self, answers):
        for answer in answers:
            near, _ = self.listener.accept()
            with near:
                received = near.recv(1 << 16)
                length = re.search(rb"\r\nContent-Length: (\d+)", received)
                while length and len(received.split(b"\r\n\r\n", 1)[1]) < int(length.group(1)):
                    received += near.recv(1 << 16)
                self.requests.append(received)
                if answer is not None:
                    near.sendall(answer.encode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


def http(status, body, *headers):
    lines = [f"HTTP/1.1 {status} Scripted", "Content-Type: application/json", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", body])


COMMITTED = '{"revision":7,"time":1,"removed":0,"put":0,"posed":1,"transformed":0,"results":[{"count":2,"pairs":[]}]}'
BUSY = http(503, '{"type":"/problems/unavailable","title":"busy","status":503,"detail":"found too much"}', "Retry-After: 1")


@test
def an_import_that_is_refused_leaves_the_ids_as_they_are():
    put = COMMITTED.replace('"put":0', '"put":1,"ids":{"a":5}').replace('{"count":2,"pairs":[]}', "")
    with Scripted(http(200, put, "Connection: close"), None) as server:
        CLIENT("Imports", url=server.url)


@test
def a_polled_tick_never_waits_whatever_the_server_does():
    def against(*answers, **how):
        with Scripted(*answers) as server:
            told = CLIENT("TickAgainst", url=server.url, **how)
            assert told["longest"] < 900, told  # it would be a second if it waited for the time that the server states
            return told["problem"], told["revision"], told["count"], len(server.requests)

    assert against(http(200, COMMITTED)) == (None, 7, 2, 1), "an answer in JSON is understood"
    assert against(BUSY, http(200, COMMITTED)) == (None, 7, 2, 2), "what is no tick is sent again"
    assert against(BUSY, time=5) == ("ObbdProblem", 0, 0, 1), "a tick is not"
    assert against(None, http(200, COMMITTED)) == (None, 7, 2, 2), "what has an id is sent again behind a cut"
    assert against(None, time=5) == ("ObbdUnknown", 0, 0, 1)
    assert against(http(200, '{"revision":7,'), time=5) == ("ObbdUnknown", 0, 0, 1), "an answer that nobody can read"
    unanswered = COMMITTED.replace('{"count":2,"pairs":[]}', '{"problem":{"type":"/problems/unavailable","status":503,"detail":"x"}}')
    assert against(http(200, unanswered), time=5) == ("ObbdUnanswered", 7, 0, 1), "the commit was made"
    chunked = "HTTP/1.1 200 OK\r\ncontent-type:application/json\r\ntransfer-encoding: chunked\r\n\r\n"
    half = len(COMMITTED) // 2
    chunked += f"{half:x};x=y\r\n{COMMITTED[:half]}\r\n{len(COMMITTED) - half:X}\r\n{COMMITTED[half:]}\r\n0\r\n\r\n"
    assert against(chunked, time=5) == (None, 7, 2, 1)
    until_close = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{COMMITTED}"
    assert against(until_close, time=5) == (None, 7, 2, 1)
    for broken in ("SSH-2.0-x\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", chunked[:-40], http(200, COMMITTED)[:-5]):
        assert against(broken, time=5)[0] == "ObbdUnknown", broken
    with socket.create_server(("127.0.0.1", 0)) as closed:
        gone = f"http://127.0.0.1:{closed.getsockname()[1]}"
    assert CLIENT("TickAgainst", url=gone, time=5)["problem"] == "ObbdRefused"


@test
def a_host_of_many_addresses_is_tried_at_each_and_asked_for_again():
    with socket.create_server(("127.0.0.1", 0)) as bound:
        closed = bound.getsockname()[1]
    CLIENT("Addresses", open=DAEMON.port, closed=closed)


@test
def a_body_that_is_taken_slowly_or_not_at_all_has_the_time_of_its_call_and_no_more():
    slow = Slow()
    CLIENT("LargeAndSlow", url=slow.url)
    slow.listener.close()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        CLIENT("LargeAndSlow", url=f"http://127.0.0.1:{silent.getsockname()[1]}")


@test
def an_answer_is_read_though_the_daemon_did_not_take_the_whole_body():
    listen = f"unix:{FOLDER}/refuses"
    with Daemon("--listen", listen, "--body-limit", "64KiB") as small:
        for url in (listen, small.url):
            CLIENT("LargeAndRefused", url=url)


@test
def a_client_that_is_disposed_ends_what_it_waits_for():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        CLIENT("Disposed", url=f"http://127.0.0.1:{silent.getsockname()[1]}")


@test
def a_tick_reads_broken_answers_of_a_transport_of_the_program_without_falling_over():
    told = CLIENT("BrokenAnswers")
    print(f"{told['broken']} of {told['answers']} answers could not be read, {told['wrong']} had members of another type")
    assert told["answers"] == 20000 and told["broken"] > 5000 and told["answers"] - told["broken"] > 5000


@test
def hits_in_columns_are_read_however_many_rays_there_are():
    assert CLIENT("ColumnsOfAllSizes")["hits"] == 6 * sum(range(99))


@test
def queries_without_an_answer_are_asked_again_of_the_same_state_by_a_builder_too():
    problem = '{"problem":{"type":"/problems/unavailable","status":503,"detail":"x"}}'
    first = COMMITTED.replace('"time":1', '"time":100').replace(']}]}', ']},' + problem + "]}")
    with Scripted(http(200, first), http(200, COMMITTED.replace('{"count":2,"pairs":[]}', '{"results":[{"boxes":[5]}]}'))) as server:
        assert CLIENT("AskedAgain", url=server.url) == {"revision": 7, "count": 2, "box": 5}
        first, again = (request.split(b"\r\n\r\n", 1)[1] for request in server.requests)
    commit = CLIENT("ReadCbor", hex=first.hex())
    assert commit["id"] == "round-1" and [query.get("fresh") for query in commit["queries"]] == [True, None]
    query = {"kind": "point", "points": [[1, 0, 0]], "by": "id", "at": {"time": 70, "clamp": True}}
    assert CLIENT("ReadCbor", hex=again.hex()) == {"queries": [query]}


@test
def queries_that_stay_without_an_answer_are_told_by_a_builder_too():
    problem = '{"problem":{"type":"/problems/unavailable","status":503,"detail":"found too much"}}'
    made = http(200, COMMITTED.replace("]}]}", "]}," + problem + "]}"), "Connection: close")
    again = http(200, COMMITTED.replace('{"count":2,"pairs":[]}', problem), "Connection: close")
    refused = http(410, '{"type":"/problems/history","title":"history","status":410,"detail":"found too much"}', "Connection: close")
    for second in (again, refused):
        with Scripted(made, second, made) as server:
            CLIENT("Unanswered", url=server.url)
            assert len(server.requests) == 3, "the builder asked once more, the tick did not"


@test
def frames_with_a_time_are_a_tick_of_a_builder_too():
    with Scripted(None, None, http(200, COMMITTED, "Connection: close")) as server:
        CLIENT("CutFrames", url=server.url)
    tick, cut, again = (CLIENT("ReadCbor", hex=request.split(b"\r\n\r\n", 1)[1].hex()) for request in server.requests)
    assert ("id" in tick, tick["time"], "time" in cut) == (False, 5, False)
    assert cut["id"] == again["id"]


@test
def events_from_the_present_set_on_until_the_scene_is_deleted():
    with Session(DRIVER, DAEMON.url) as client, Session(DRIVER, DAEMON.url) as writer:
        box = {"center": [0, 0, 0], "half_extents": [1, 1, 1]}
        writer("scene", name="events")
        client("scene", name="events")
        writer("commit", commit={"put": {"a": box, "b": {**box, "center": [1.5, 0, 0]}}})
        topics = ["collisions", "boxes"]
        assert client("events", topics=topics, which="prefix=a&include=pose", count=1)[0]["pairs"] == [["a", "b"]]
        assert client("events", count=1, within=300) == []
        writer("commit", commit={"time": 5, "pose": {"a": {"center": [20, 0, 0]}}})
        end, boxes = client("events", count=2)
        assert (end["event"], end["pairs"]) == ("end", [["a", "b"]])
        assert boxes["columns"] == {"ids": [1], "centers": [20, 0, 0], "rotations": [0, 0, 0, 1]}
        writer("request", method="DELETE", path="/v1/scenes/events")
        assert [event["event"] for event in client("events", count=9)] == ["gone"]


@test
def events_go_on_over_a_restart():
    with Daemon() as first:
        client = Session(DRIVER, first.url, on_lost={"put": {"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}}})
        client("commit", commit={"put": {"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}}})
        assert client("events", topics=["collisions"], count=1)[0]["event"] == "state"
        port = first.port
    with Daemon(port=port):
        assert client("events", count=1)[0]["event"] == "state"
        assert client("ids", names=["a"]) == [1]
        client("close")


@test
def events_end_when_their_client_is_disposed():
    state = 'event: state\ndata: {"revision":1,"time":0,"pairs":[]}\n\n'
    with Scripted(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{state}") as server:
        CLIENT("DisposedEvents", url=server.url, daemon=DAEMON.url)


# ---- Ways to the daemon -------------------------------------------------------------------------


@test
def a_unix_socket_and_the_address_and_token_of_the_environment():
    with Session(DRIVER, SOCKET) as client:
        assert client("scene", name="x") is None, "no page"
        assert isinstance(client("request", method="GET", path="/v1/scenes")["value"]["scenes"], list)
    assert CLIENT("scene", name="it's") == f"{DAEMON.url}/#it%27s"
    with Session(DRIVER, None) as client:
        assert client("scene", name="x") == "http://localhost:7480/#x"
    for address in ("ftp://x", "https://x", "unix:", "localhost:7480"):
        raises("ArgumentException", lambda address=address: Session(DRIVER, address), f"found the address '{address}'")
    closed = Session(DRIVER, "http://127.0.0.1:1", options={"retries": 0})
    raises("Refused", lambda: closed("request", method="GET", path="/healthz"), "no connection to http://127.0.0.1:1")
    raises("Refused", lambda: Session(DRIVER, "unix:/nowhere", options={"retries": 0})("request", method="GET", path="/healthz"))
    for path, prefix in (("/", ""), ("/obbd", "/obbd"), ("/a/obbd%201/", "/a/obbd%201")):
        with Scripted(http(200, "{}", "Connection: close")) as server, Session(DRIVER, server.url + path) as client:
            client("request", method="GET", path="/v1/scenes?limit=1")
            assert client("scene", name="x") == f"{server.url}{prefix}/#x"
            assert server.requests[0].startswith(f"GET {prefix}/v1/scenes?limit=1 HTTP/1.1\r\n".encode()), server.requests
    token = 500 * "long " + "token"  # longer than the room for a head in front of a body
    with Scripted(http(200, "{}")) as server, Driver(OBBD_URL=server.url, OBBD_TOKEN=token) as driver:
        Session(driver, None)("request", method="POST", path="/x", body={"a": 1})
        head, body = server.requests[0].split(b"\r\n\r\n")
    assert head.startswith(b"POST /x HTTP/1.1\r\n") and f"\r\nAuthorization: Bearer {token}\r\n".encode() in head + b"\r\n"
    assert body == b'{"a":1}'


@test
def a_token_is_asked_for_when_there_is_none_and_again_when_it_is_refused():
    token = "a fresh token"
    list_ = {"method": "GET", "path": "/v1/scenes"}
    with Daemon("--token-file", token_file(FOLDER, token)) as guarded:
        with Session(DRIVER, guarded.url, options={"tokens": ["an old one", token]}) as asking:
            assert asking("request", **list_)["status"] == 200
        with Session(DRIVER, guarded.url, options={"token": token}) as given:
            assert given("request", **list_)["status"] == 200
        with Session(DRIVER, guarded.url, options={"token": "wrong"}) as wrong:
            assert raises("Problem", lambda: wrong("request", **list_)).status == 401


@test
def each_request_is_printed_as_a_curl_that_works():
    with (FOLDER / "curl").open("w+") as said:
        with Driver(OBBD_DEBUG="1", stderr=said) as driver, Session(driver, DAEMON.url) as client:
            client("scene", name="it's")
            client("commit", commit={"put": {"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}}})
            client("query", query={"kind": "pairs", "pairs": {"u32": [1, 1]}, "by": "id"})
        said.seek(0)
        commands = said.read().strip().split("\n")
    assert len(commands) == 2, commands
    assert json.loads(subprocess.check_output(["sh", "-c", commands[1]]))["results"] == [{"overlap": True}]


# ---- Unity --------------------------------------------------------------------------------------


@test
def the_unity_components_judge_shots_follow_touches_and_put_their_boxes_again():
    check("Unity")


@test
def a_fixed_update_does_not_wait_for_the_daemon():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        CLIENT("UnityDoesNotWait", url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        connection, _ = silent.accept()
        with connection:
            assert b"".join(iter(lambda: connection.recv(1 << 16), b"")).count(b"POST ") == 1, "later ticks are not sent"


@test
def a_fixed_update_asks_for_no_id_of_a_box_that_was_there():
    made = COMMITTED.replace('"put":0', '"put":1,"ids":[5]').replace('{"count":2,"pairs":[]}', "")
    with Scripted(http(200, made, "Connection: close")) as server:
        CLIENT("UnityDoesNotAsk", url=server.url)
        put = CLIENT("ReadCbor", hex=server.requests[0].split(b"\r\n\r\n", 1)[1].hex())["put"]
    assert put["names"] == ["ann"] and put["rotations"] == [0, 0, 0, 1] and "entities" not in put


@test
def a_fixed_update_does_not_wait_for_the_time_of_a_scene_that_is_ahead():
    behind = http(422, '{"type":"/problems/time-backwards","title":"time","status":422,"detail":"found 5"}', "Connection: close")
    told = http(200, COMMITTED.replace('"time":1', '"time":9e14'), "Connection: close")
    with Scripted(behind, told, None) as server:
        CLIENT("UnityBehind", url=server.url)
        heads, bodies = zip(*(request.split(b"\r\n\r\n", 1) for request in server.requests))
    assert all(head.startswith(b"POST /v1/scenes/match/commit ") for head in heads)
    assert bodies[1] == b"\xa0", "an empty commit"
    assert CLIENT("ReadCbor", hex=bodies[2].hex())["time"] == 9e14 + 1


@test
def boxes_are_put_in_columns_by_a_builder_and_all_ids_are_told():
    check("PutColumns")


@test
def unity_types_go_in_as_they_lie():
    check("UnityTypes")


@test
def the_scene_of_the_sample_names_what_is_there_and_its_shots_hit_where_they_were_aimed():
    scene = PACKAGE / "Samples~/Hitscan/Hitscan.unity"
    text = scene.read_text(encoding="utf-8")
    metas = {guid: path.name[: -len(".cs.meta")] for path in PACKAGE.rglob("*.cs.meta") for guid in re.findall(r"^guid: (\w+)$", path.read_text(), re.M)}
    used = set(re.findall(r"m_Script: .*guid: (\w+)", text))
    assert {metas[guid] for guid in used} == {"ObbdWorld", "ObbdHitbox", "Runner", "Shooter"}
    ids = re.findall(r"^--- !u!\d+ &(\d+)$", text, re.M)
    assert len(ids) == len(set(ids)) and set(re.findall(r"fileID: (\d+)\}", text)) <= {*ids, "0"}
    classes = {guid: f"Obbd.Unity.{name}" if name.startswith("Obbd") else name for guid, name in metas.items() if guid in used}
    seen = check("UnitySample", scene=str(scene), guids=classes, now=False)
    now = check("UnitySample", scene=str(scene), guids=classes, now=True)
    print(f"judged by what was seen {seen['hits']} of {seen['fired']} hit, by now {now['hits']}")
    assert seen["scripts"] == 5 and seen["fired"] > 20
    assert seen["fired"] - 1 <= seen["hits"] <= seen["fired"]  # the last one may be on its way
    assert now["hits"] < now["fired"] / 3


@test
def a_thousand_fixed_updates_allocate_nothing():
    told = check("UnityAllocated")
    print(f"1,000 FixedUpdates of 1,500 hitboxes and 8 shots: {told['allocated']} bytes allocated, {told['hits']} shots hit")
    assert (told["allocated"], told["failures"]) == (0, 0)
    assert told["hits"] > 4000


# ---- The package --------------------------------------------------------------------------------


@test
def the_package_has_the_version_of_the_daemon_and_a_meta_file_for_everything():
    manifest = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    version = subprocess.check_output([os.environ["OBBD"], "--version"], text=True).split()[1]
    assert (manifest["version"], manifest["unity"], "dependencies" in manifest) == (version, "2021.3", False)
    held = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*")}
    tree = ROOT / "proto/clients/csharp"
    assert held == {path.relative_to(tree).as_posix() for path in tree.rglob("*")}
    things = {name for name in held if not name.endswith(".meta")}
    things.remove("Samples~")  # Unity looks into it only when somebody imports a sample, whose files have theirs
    assert {name + ".meta" for name in things} == held - things - {"Samples~"}, "Unity ignores what has no meta file"
    assert [PACKAGE / sample["path"] for sample in manifest["samples"]] == sorted(path for path in (PACKAGE / "Samples~").iterdir() if path.is_dir())
    guids = [re.search(r"^guid: ([0-9a-f]{32})$", (PACKAGE / f"{name}.meta").read_text(), re.M).group(1) for name in things]
    assert len(set(guids)) == len(things) > 20
    for name in ("Runtime/Obbd.asmdef", "Runtime/Unity/Obbd.Unity.asmdef"):
        assert json.loads((PACKAGE / name).read_text(encoding="utf-8"))["allowUnsafeCode"] is True


@test
def the_core_needs_neither_unity_nor_anything_beyond_the_standard_library():
    used = set()
    for file in (PACKAGE / "Runtime").glob("*.cs"):
        used |= set(re.findall(r"^using ([\w.]+);", file.read_text(encoding="utf-8"), re.M))
    assert len(used) > 8 and all(name == "System" or name.startswith("System.") for name in used), used


@test
def the_client_starts_no_thread():
    sources = "".join(file.read_text(encoding="utf-8") for file in (PACKAGE / "Runtime").rglob("*.cs"))
    assert set(re.findall(r"\bThread\w*\.\w+", sources)) == {"Thread.Sleep"}
    assert not re.search(r"new Thread|new Timer|\bTasks?\b|\basync\b|\bBegin(?:Connect|Send|Receive|Invoke)\b|Async\(", sources)


status = 1
with DRIVER:
    status = run()
DAEMON.stop()
shutil.rmtree(FOLDER)
sys.exit(status)
