#!/usr/bin/python3
"""The Python client against the real daemon: codec, arrays, ids, columns, events, tokens, spawn, and what is in the package.

With the word without-numpy it runs without numpy. test_python_plain does that.
"""

import ast
import json
import multiprocessing
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from array import array
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from cutter import Cutter, Prefixed, Slow
from python import INSTALLED, ROOT, plain
from rfc8949 import BROKEN, READ, WRITTEN, random_value

import obbd
from daemon import Daemon, certificate, token_file
from obbd import arrays
from obbd.cbor import decode, encode
from sums import effort, run, test, until

FOLDER = Path(tempfile.mkdtemp(prefix="obbd-clients-"))
SOCKET = f"unix:{FOLDER}/socket"
DAEMON = Daemon("--listen", SOCKET)
CLIENT = obbd.connect(DAEMON.url)
NUMPY = arrays.numpy
scenes = 0


def fresh():
    global scenes
    scenes += 1
    return CLIENT.scene(f"scene-{scenes}")


def cube(x, **more):
    return {"center": [x, 0, 0], "half_extents": [1, 1, 1], **more}


def raises(kind, work, text=""):
    try:
        value = work()
    except kind as error:
        assert re.search(text, str(error)), str(error)
        return error
    raise AssertionError(f"no {kind} but {value!r}")


def in_threads(work, count):
    """Calls work(0), work(1) and so on, each in a thread of its own."""
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def doubles(*numbers):
    return NUMPY.array(numbers, "f8") if NUMPY else array("d", numbers)


def written(value):
    return b"".join(bytes(part) for part in encode(value))


# ---- CBOR ---------------------------------------------------------------------------------------

TYPED = [("d846480100000002000000", array("I", [1, 2])), ("d855440000c03f", array("f", [1.5])), ("d85648000000000000f83f", array("d", [1.5]))]


@test
def cbor_as_in_rfc_8949_and_rfc_8746():
    for wanted, value in WRITTEN + TYPED:
        assert written(value).hex() == wanted, value
        assert plain(decode(bytes.fromhex(wanted))) == plain(value), wanted
    for given, value in READ:
        assert decode(bytes.fromhex(given)) == value, given
    assert str(decode(written(-0.0))) == "-0.0"


@test
def broken_cbor_is_refused_and_every_truncated_prefix():
    whole = written({"a": [1, 300, 1e300, "text", -5, None], "columns": {"boxes": array("I", [1, 2, 3]), "points": array("d", [1, 2])}})
    for size in range(len(whole)):
        raises(ValueError, lambda size=size: decode(whole[:size]))
    assert plain(decode(whole)["columns"]) == {"boxes": [1, 2, 3], "points": [1, 2]}
    for given in BROKEN:
        raises(ValueError, lambda given=given: decode(bytes.fromhex(given)))
    raises(TypeError, lambda: encode({"a": object()}), "has no form in CBOR")
    raises(TypeError, lambda: encode({"a": {1: 2}}), "found the key 1; keys of objects are texts")


@test
def random_values_come_back():
    rng = random.Random(20261123)
    nested = 0
    for _ in range(effort(600)):
        value = random_value(rng)
        nested += isinstance(value, (list, dict))
        assert decode(written(value)) == value
    assert nested > effort(60)


@test
def lists_of_texts_are_written_as_their_texts_are():
    lengths = [0, 1, 23, 24, 127, 128, 129, 255, 256]
    texts = ["a" * length for length in lengths]
    snowman = ["\u2603" * length for length in lengths]
    lists = [texts, texts[:5], snowman, texts + snowman, ["a", "\u00fc"], ["a", 1], ["a", ["b"]], ["a", None], ("a", "b"), [""] * 40]
    together = 0
    for members in lists:
        head, *rest = written(list(members)), *map(written, members)
        assert head.endswith(b"".join(rest)) and decode(head) == list(members)
        together += all(isinstance(text, str) and text.isascii() and len(text) < 128 for text in members)
    assert together == 3
    raises(TypeError, lambda: encode(["a", object()]), "has no form in CBOR")


@test
def large_arrays_go_out_from_where_they_lie_and_come_in_as_views():
    centers = doubles(*range(300))
    part = encode({"centers": arrays.floats(centers)})[-1]
    centers[0] = 7.0
    assert part[:8].tobytes() == bytes.fromhex("0000000000001c40"), "a copy does not see the change"
    for kind, make, taken in (("f", arrays.floats, True), ("d", arrays.floats, True), ("I", arrays.ids, True), ("h", arrays.floats, False), ("H", arrays.ids, False)):
        numbers = array(kind, [1, 2, 3])
        sent = make(numbers)
        numbers[0] = 7
        assert plain(sent) == [7 if taken else 1, 2, 3], kind
    if NUMPY:
        grid = NUMPY.arange(12, dtype="f4").reshape(6, 2)
        sent, halves = arrays.floats(grid), arrays.floats(grid[:, :1])
        grid[0, 0] = 7
        assert (sent[0], halves[0]) == (7, 0), "in pieces it is copied"
    body = bytearray(written({"boxes": array("I", [7, 8, 9])}))
    aligned = 0
    for shift in range(4):
        shifted = memoryview(bytearray(shift) + body)
        boxes = decode(shifted[shift:])["boxes"]
        assert plain(boxes) == [7, 8, 9]
        at = bytes(shifted).index(b"\x07\0\0\0")
        shifted[at] = 6
        aligned += boxes[0] == 6
    assert aligned == (1 if NUMPY else 4)


@test
def arrays_of_every_kind_become_what_the_contract_takes():
    assert plain(arrays.floats([[1, 2, 3], [4, 5, 6]])) == [1, 2, 3, 4, 5, 6]
    assert plain(arrays.ids(range(3))) == [0, 1, 2]
    assert written(arrays.floats(array("f", [1.5]))).hex() == "d855440000c03f", "floats stay floats"
    assert written(arrays.floats(array("l", [1]))).hex() == "d85648000000000000f03f"
    assert written(array("h", [1, -2])).hex() == "820121", "a type without a tag becomes a list"
    raises((ValueError, OverflowError), lambda: arrays.ids([2**32]))
    raises((ValueError, OverflowError), lambda: arrays.ids([-1]))
    if NUMPY:
        grid = NUMPY.arange(12, dtype="i8").reshape(4, 3)
        assert plain(arrays.floats(grid[:, :2])) == [0, 1, 3, 4, 6, 7, 9, 10]
        assert plain(arrays.floats(grid.astype(">f8"))) == list(range(12))
        assert written([NUMPY.float64(1.5), NUMPY.int64(2), NUMPY.bool_(True)]).hex() == "83fb3ff800000000000002f5"


# ---- Scenes -------------------------------------------------------------------------------------


@test
def ids_of_boxes_that_were_put_and_of_boxes_that_were_there_before():
    scene = fresh()
    raises(LookupError, lambda: scene.ids(["a"]), "the id of 'a' is not known")
    scene.put({"a": cube(0), "b": cube(1.5)})
    assert plain(scene.load([[9, 0, 0], [0, 0, 0]], [1, 1, 1], names=["c", "a"])) == [3, 1]
    assert plain(scene.ids(["a", "b", "c"])) == [1, 2, 3]
    other = obbd.connect(DAEMON.url).scene(scene.name)  # another program
    other.put({"b": cube(1.5), "d": cube(30)})
    assert plain(other.ids(["d", "b"])) == [4, 2]
    other.learn(["c", "nobody"])
    assert plain(other.ids(["c"])) == [3]
    many = {f"m{i}": cube(100 + 3 * i) for i in range(100)}
    scene.put(many)
    third = obbd.connect(DAEMON.url).scene(scene.name)
    third.put(many)  # read by listing
    assert plain(third.ids(["m0", "m99"])) == plain(scene.ids(["m0", "m99"]))
    lists = obbd.connect(DAEMON.url).scene(scene.name)
    assert [box["name"] for box in lists.boxes(prefix="d")] == ["d"]
    assert plain(lists.ids(["d"])) == [4]
    raises(LookupError, lambda: lists.ids(["b"]))
    scene.commit(remove=["a"])
    raises(LookupError, lambda: scene.ids(["a"]))


@test
def ids_of_boxes_that_another_program_made_anew_are_read_again():
    scene = fresh()
    many = {f"m{i}": cube(9 + 3 * i) for i in range(100)}
    scene.put({"a": cube(0), "b": cube(3), **many})
    elsewhere = obbd.connect(DAEMON.url).scene(scene.name)
    elsewhere.commit(remove=["a", "b", *many], put={"a": cube(0), "m7": cube(30)})
    scene.learn(["a"])
    assert (plain(scene.ids(["a"])), scene.commit(pose=(scene.ids(["a"]), doubles(5, 0, 0))).posed) == ([103], 1)
    scene.learn(["b", "m7"])
    assert plain(scene.ids(["m7"])) == [104]
    raises(LookupError, lambda: scene.ids(["b"]), "the id of 'b' is not known")
    scene.learn([*many])  # by listing
    raises(LookupError, lambda: scene.ids(["m8"]))
    elsewhere.commit(remove=["m7"], put={"m7": cube(30)})
    scene.put({"m7": cube(30)}, dry_run=True)
    assert plain(scene.ids(["m7"])) == [104]
    scene.learn(name for name in ["m7"])
    assert plain(scene.ids(["m7"])) == [105]
    elsewhere.delete()
    raises(obbd.Lost, lambda: scene.learn(["m7"]))


@test
def a_put_that_was_made_is_answered_though_its_ids_may_not_be_read():
    folder = tempfile.mkdtemp(dir=FOLDER)
    with Daemon("--token-file", token_file(folder, "writer", ["write"])) as guarded:
        scene = obbd.connect(guarded.url, token="writer").scene("yard")
        scene.put({"a": cube(0)})
        other = obbd.connect(guarded.url, token="writer").scene("yard")
        assert (other.put({"a": cube(5)}).revision, scene.put({"a": cube(6)}).revision) == (2, 3)
        assert plain(scene.ids(["a"])) == [1]
        raises(LookupError, lambda: other.ids(["a"]))
        assert raises(obbd.Problem, lambda: other.learn(["a"])).status == 403


@test
def ids_of_columns_are_those_that_were_told_whenever_they_are_asked():
    scene = fresh()
    names = [f"box {i}" for i in range(50)]
    columns = {"names": names, "centers": [3.0 * i for i in range(150)], "half_extents": [1, 1, 1]}
    ids = scene.commit(put=columns, queries=[obbd.all_pairs(by="id")])["ids"]
    names.reverse()
    if NUMPY and ids.flags.writeable:
        ids += 1
    assert plain(scene.ids(["box 49", "box 0"])) == [50, 1]
    for first in (0, 50, 100):  # columns after columns, and names between them
        scene.load([[first, 9, 9]], [1, 1, 1], names=[f"more {first}"])
    scene.put({"late": cube(70)})
    assert plain(scene.ids(["more 0", "more 50", "more 100", "late", "box 7"])) == [51, 52, 53, 54, 8]
    scene.load([[0, 9, 9]], [1, 1, 1], names=["gone"])
    scene.commit(remove=["gone"])
    raises(LookupError, lambda: scene.ids(["gone"]), "the id of 'gone' is not known")
    found = []
    scene.load([[3.0 * i, 50, 0] for i in range(1000)], [1, 1, 1], prefix="many ")
    in_threads(lambda *_: found.append(plain(scene.ids(["many 999"]))), 8)
    assert found == [plain(scene.ids(["many 999"]))] * 8


@test
def load_takes_rows_one_size_for_all_entities_and_planes():
    scene = fresh()
    extents, rotations = [[1, 1, 1], [2, 1, 1]], [[0, 0, 0, 1]] * 2
    ids = scene.load([[0, 0, 0], [3, 0, 0]], extents, rotations, prefix="car-", entity=["ann", None], time=5.0, category=4)
    assert plain(ids) == [1, 2]
    assert [(box["name"], box["half_extents"], box["category"], box.get("entity")) for box in scene.boxes()] == [
        ("car-0", [1, 1, 1], 4, "ann"),
        ("car-1", [2, 1, 1], 4, None),
    ]
    assert plain(scene.all_pairs()) == ([[1, 2]] if NUMPY else [1, 2])
    flat = fresh()
    flat.set({"dimensions": 2})
    flat.load([[0, 0], [1, 0], [9, 9]], [1, 1])
    assert plain(flat.all_pairs()) == ([[1, 2]] if NUMPY else [1, 2])
    assert plain(flat.rays([[0, -5]], [[0, 1]]).points) == ([[0, -1]] if NUMPY else [0, -1])


@test
def columns_in_and_out_each_ray_at_its_own_time():
    scene = fresh()
    scene.commit(time=0, put={"bob": cube(0)})
    scene.commit(time=100, pose=(scene.ids(["bob"]), doubles(10, 0, 0)))
    hits = scene.rays([[0, 0, -5], [5, 0, -5], [10, 0, -5], [0, 0, -5]], [[0, 0, 1]] * 4, times=[0, 50, 900, 100])
    assert (plain(hits.ids), plain(hits.distances), plain(hits.clamped)) == ([1, 1, 1, 0], [4, 4, 4, 0], [0, 0, 1, 0])
    kind = NUMPY.ndarray if NUMPY else memoryview
    assert all(isinstance(one, kind) for one in (hits.ids, hits.distances, hits.points, hits.normals))
    assert isinstance(scene.ids(["bob"]), NUMPY.ndarray if NUMPY else array)
    assert len(hits.points) == (4 if NUMPY else 12)
    assert len(hits) == 4 and plain(hits.normals)[:1] == ([[0, 0, -1]] if NUMPY else [0])
    assert scene.rays([[0, 0, -5]], [[0, 0, 1]], 30.0, at=obbd.ago(500)).at == {"revision": 1, "time": 0, "clamped": True}
    assert plain(scene.rays([[10, 0, -5]], targets=[[10, 0, 5]], exclude=[1]).ids) == [0]
    assert plain(scene.rays([[10, 0, -5]], [[0, 0, 1]], doubles(3.5), mode="any", float32=True).ids) == [0]


@test
def results_of_a_commit_in_order_and_by_form():
    scene = fresh()
    queries = [
        obbd.all_pairs(by="id"),
        obbd.all_pairs(),
        obbd.pairs([["a", "b"], ["a", "far"]], want=["mtv"]),
        obbd.pairs(array("I", [1, 2]), by="id"),
        obbd.ray([{"from": [-5, 0, 0], "to": [5, 0, 0]}], at=1e9),
        obbd.overlap([{"sphere": {"center": [9, 0, 0], "radius": 1}}]),
        obbd.point(doubles(0, 0, 0)),
        obbd.sweep([{"box": "a", "motion": [5, 0, 0]}]),
        obbd.nearest(points=[[20, 0, 0]], k=1),
        {"kind": "all-pairs", "count_only": True},
    ]
    done = scene.commit(put={"a": cube(0), "b": cube(1.5), "far": cube(9)}, queries=queries)
    pairs, named, wanted, by_id, ray, overlap, point, sweep, nearest, bare = done.results
    assert plain(pairs) == ([[1, 2]] if NUMPY else [1, 2])
    assert named["pairs"] == [["a", "b"]] and bare == {"count": 1}
    assert wanted["results"] == [{"overlap": True, "mtv": {"normal": [1, 0, 0], "depth": 0.5}}, {"overlap": False}]
    assert by_id["results"] == [{"overlap": True}]
    assert (ray["results"][0]["hits"][0]["point"], ray["at"]["clamped"]) == ([-1, 0, 0], True)
    assert [overlap["results"][0]["boxes"], point["results"][0]["boxes"]] == [["far"], ["a"]]
    assert [sweep["results"][0]["hits"][0]["box"], nearest["results"][0]["boxes"][0]["box"]] == ["b", "far"]
    assert (done.put, done.revision, done.ids["far"]) == (3, 1, 3)
    raises(AttributeError, lambda: done.nothing, "the answer has no nothing")


@test
def more_pairs_than_an_answer_lists_are_an_error_unless_a_limit_was_stated():
    scene = fresh()
    scene.load([[0, 0, 0]] * 1500, [1, 1, 1])
    error = raises(obbd.Truncated, scene.all_pairs, "there are 1124250 pairs")
    assert (len(error.pairs) if NUMPY else len(error.pairs) // 2) == 1_000_000
    assert len(scene.all_pairs(limit=5)) == (5 if NUMPY else 10)


@test
def a_commit_that_lists_fewer_pairs_than_there_are_loses_nothing():
    scene = fresh()
    elsewhere = obbd.connect(DAEMON.url).scene(scene.name)
    elsewhere.load([[0, 0, 0]] * 1500, [1, 1, 1])
    queries = [obbd.point([[50, 0, 0]]), obbd.all_pairs(by="id"), obbd.all_pairs(count_only=True)]
    error = raises(obbd.Truncated, lambda: scene.put({"b0": cube(0), "far": cube(50)}, queries=queries), "there are 1124250 pairs")
    done = error.committed
    point, pairs, counted = done.results
    assert (done.revision, done.put, done.ids) == (2, 2, {"far": 1501})
    assert point["results"][0]["boxes"] == ["far"] and pairs is error.pairs and counted["count"] == 1124250
    assert plain(scene.ids(["b0", "far"])) == [1, 1501]
    assert raises(obbd.Truncated, scene.all_pairs).committed is None


@test
def an_import_that_was_refused_leaves_the_ids_known():
    scene = fresh()
    scene.put({"a": cube(0), "b": cube(5)})
    raises(obbd.Problem, lambda: scene.import_lines("no lines"))
    assert plain(scene.ids(["a", "b"])) == [1, 2]
    lines = scene.export()
    scene.import_lines(lines)
    raises(LookupError, lambda: scene.ids(["a"]))


@test
def rays_of_a_generator_and_single_numbers_of_numpy_are_what_they_stand_for():
    scene = fresh()
    scene.commit(time=0, put={"a": cube(0)})
    rays = ({"origin": [-5, y, 0], "direction": [1, 0, 0]} for y in (0, 9))
    assert [len(result["hits"]) for result in scene.query(obbd.ray(rays)).results] == [1, 0]
    lengths = [3, 8.0] + ([NUMPY.float32(3), NUMPY.int64(8), NUMPY.array(8.0), NUMPY.float64(3)] if NUMPY else [])
    for length in lengths:
        hits = scene.rays([[-5, 0, 0], [-5, 9, 0]], [[1, 0, 0], [1, 0, 0]], length)
        assert plain(hits.ids) == [1 if length == 8 else 0, 0], length
    for at in [9] + ([NUMPY.float32(9), NUMPY.int64(9)] if NUMPY else []):
        assert scene.query(obbd.point([[0, 0, 0]], at=at)).at["clamped"] is True


@test
def boxes_frames_settings_copies_recorded_queries_the_plain_calls():
    scene = fresh()
    assert scene.set({"record": 10, "history": {"span": 1000}}).record == 10
    scene.commit(frames={"rig": {"center": [0, 5, 0]}}, put={"head": cube(0, frame="rig"), "a": cube(5), "b": cube(9, entity="ann")})
    assert scene.box("head", include=["aabb"]).aabb == {"min": [-1, 4, -1], "max": [1, 6, 1]}
    assert scene.patch("a", {"data": {"hp": 2**70}}).data == {"hp": 2**70}
    assert scene.transform("a", {"translate": [1, 0, 0]}).center == [6, 0, 0]
    assert scene.merge("a", ["b"]).center == [7.5, 0, 0]
    assert [box["name"] for box in scene.boxes(entity="ann")] == ["b"]
    assert list(scene.frames()) == [{"name": "rig", "center": [0, 5, 0], "rotation": [0, 0, 0, 1]}]
    scene.query(obbd.ray([{"from": [0, 5, -9], "to": [0, 5, 0]}], tag="shot"))
    assert [one["kind"] for one in scene.recorded(tag="shot", hit=True)] == ["ray"]
    for unrecorded in (obbd.rays([[0, 5, -9]], [[0, 0, 1]], record=False), obbd.point([[0, 5, 0]], record=False)):
        scene.query(unrecorded)
    assert len(list(scene.recorded())) == 1, "those two are left out"
    for read in (scene.info, partial(scene.box, "a"), scene.boxes, scene.frames, scene.recorded, scene.export):
        assert list(read(fresh=True)) == list(read(revision=1))
        raises(obbd.Problem, lambda read=read: list(read(revision=-1)), 'found "-1"')  # so the daemon gets what is asked
    copy = scene.copy(f"{scene.name} copy")
    assert (copy.boxes, copy.revision) == (3, 1)
    assert scene.commit(pose={"a": {"center": [0, 0, 0]}}).posed == 1, "the copy's epoch is not this scene's"
    assert f"{scene.name} copy" in [one["name"] for one in CLIENT.scenes()]
    assert CLIENT.scene(f"{scene.name} copy").import_lines(scene.export()).boxes == 3


@test
def a_scene_that_was_deleted_and_made_again_is_noticed_and_its_boxes_are_put_again():
    scene = fresh()
    lost = []

    def put(one):
        lost.append(one)
        one.put({"a": cube(0)})

    scene.on_lost = put
    scene.put({"wall": cube(9), "a": cube(0)})
    ids = scene.ids(["a"])
    elsewhere = obbd.connect(DAEMON.url).scene(scene.name)
    elsewhere.delete()
    elsewhere.put({"c": cube(3), "d": cube(6)})
    found = []

    def pose(_):
        found.append(raises(obbd.Lost, lambda: scene.commit(pose=(ids, doubles(1, 0, 0)))))

    in_threads(pose, 3)
    assert (len(found), len(lost)) == (3, 1)
    assert scene.box("d").center == [6, 0, 0], "the pose by an old id moved nothing"
    assert plain(scene.ids(["a"])) == [3]
    elsewhere.delete()
    raises(obbd.Lost, lambda: scene.query(obbd.all_pairs()))
    assert len(lost) == 2


@test
def boxes_that_could_not_be_put_again_are_put_by_the_next_call_once_however_many_threads_there_are():
    scene = fresh()
    lost = []

    def put(one):
        lost.append(one)
        if len(lost) == 1:
            raise ArithmeticError("not yet")
        in_threads(lambda i: one.put({f"a{i}": cube(i)}), 2)

    scene.on_lost = put
    scene.put({"a": cube(0)})
    obbd.connect(DAEMON.url).scene(scene.name).delete()
    raises(ArithmeticError, lambda: scene.query(obbd.all_pairs()), "not yet")
    together = threading.Barrier(3)
    seen = []

    def ask(_):
        together.wait()
        try:
            seen.append(scene.query(obbd.all_pairs()))  # one that comes while the boxes are put is not told
        except obbd.Problem as problem:
            seen.append(problem)

    in_threads(ask, 3)
    assert any(isinstance(one, obbd.Lost) and "its boxes were put again" in str(one) for one in seen), seen
    assert (len(lost), scene.query(obbd.all_pairs()).count) == (2, 1)


@test
def numbers_arrive_as_they_are():
    scene = fresh()
    scene.put({"a": cube(-0.0, data={"n": 2**70})})
    box = scene.box("a")
    assert (str(box.center[0]), box.data) == ("-0.0", {"n": 2**70})
    problem = raises(obbd.Problem, lambda: scene.put({"a": cube(float("nan"))}))
    assert (problem.type, problem.pointer) == ("/problems/bad-number", "/put/a/center/0")


@test
def a_commit_whose_answer_was_cut_is_sent_again_and_applied_once():
    cutter = Cutter(DAEMON.port)
    with obbd.connect(cutter.url) as client:
        client.scene("cut").put({"a": cube(0)})
    with obbd.connect(cutter.url) as client:
        done = client.scene("cut").commit(transform={"a": {"translate": [1, 0, 0]}}, queries=[obbd.all_pairs()])
    cutter.listener.close()
    assert (done.repeated, done.results[0]["count"], cutter.answers) == (True, 0, 3)
    assert CLIENT.scene("cut").box("a").center == [1, 0, 0]


@test
def events_from_the_present_set_on_until_the_scene_is_deleted():
    scene = fresh()
    scene.put({"a": cube(0), "b": cube(1.5)})
    seen = []
    for event in scene.events(["collisions", "boxes"], prefix="a", include=["pose"]):
        seen.append(event)
        if event.kind == "state":
            scene.commit(time=5, pose={"a": {"center": [20, 0, 0]}})
        if event.kind == "boxes":
            scene.delete()
    assert [event.kind for event in seen] == ["state", "end", "boxes", "gone"]
    assert seen[1].pairs == [["a", "b"]]
    assert seen[2].columns == {"ids": [1], "centers": [20, 0, 0], "rotations": [0, 0, 0, 1]}


@test
def events_end_after_a_time_without_a_message_and_go_on_over_a_restart():
    with Daemon() as first:
        scene = obbd.connect(first.url).scene("yard")
        scene.put({"a": cube(0)})
        assert [event.kind for event in scene.events(timeout=0.2)] == ["state"]
        events = scene.events()
        assert next(events).pairs == []
        port = first.port
    scene.on_lost = lambda lost: lost.put({"a": cube(0), "b": cube(1.5)})
    with Daemon(port=port):
        assert next(events).pairs == [["a", "b"]]
        events.close()


@test
def events_end_with_their_client():
    def stopped(follow, url, close=None):
        client = obbd.connect(url)
        kinds, over = [], threading.Event()

        def run():
            try:
                kinds.extend(kind for kind in follow(client, kinds.append))
            except obbd.Disconnected:
                kinds.append("left")
            over.set()

        threading.Thread(target=run, daemon=True).start()
        until("it follows", lambda: kinds)
        (close or (lambda: None))()
        client.close()
        assert over.wait(3), kinds
        return kinds

    def events(client, begin):
        for event in client.scene(scene.name).events():
            begin(event.kind)
        return []

    def log(client, begin):
        with client.stream(f"/v1/scenes/{scene.name}/log?follow=true") as stream:
            for _ in stream:
                begin("line")
        return []

    scene = fresh()
    scene.put({"a": cube(0)})
    assert stopped(events, DAEMON.url) == ["state"]
    assert stopped(log, DAEMON.url)[-1] == "left"
    other = Daemon()
    obbd.connect(other.url).scene(scene.name).put({"a": cube(0)})
    assert stopped(events, other.url, other.stop) == ["state"], "while it waits before it connects again"
    client = obbd.connect(DAEMON.url)
    events = client.scene(scene.name).events()
    assert next(events).kind == "state"
    client.close()
    assert list(events) == []
    assert next(client.scene(scene.name).events()).kind == "state", "a client that is used again begins anew"
    client.close()


@test
def a_time_without_end_and_a_server_that_says_nothing():
    assert obbd.connect(DAEMON.url, timeout=float("inf")).request("GET", "/healthz").status == 200
    assert CLIENT.request("GET", "/healthz", timeout=1e12).status == 200
    with socket.create_server(("127.0.0.1", 0)) as silent:
        scene = obbd.connect(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout=6).scene("yard")
        begun = time.monotonic()
        raises(obbd.Disconnected, lambda: list(scene.events(timeout=0.5)), "no answer in time")
        assert 0.9 < time.monotonic() - begun < 4


@test
def a_body_that_is_taken_slowly_has_the_time_of_its_call_and_no_more():
    slow = Slow()
    begun = time.monotonic()
    client = obbd.connect(slow.url, timeout=0.5)
    wait = partial(client.request, "POST", "/v1/scenes/x/commit", bytes(1 << 26))
    raises(obbd.Unknown, wait, "no answer in time")
    assert 0.4 < time.monotonic() - begun < 3
    slow.listener.close()


@test
def an_answer_is_read_though_the_daemon_did_not_take_the_whole_body():
    large = [3.0 * i for i in range(300_000)]
    listen = f"unix:{FOLDER}/refuses"
    with Daemon("--listen", listen, "--body-limit", "64KiB") as small:
        for address in (listen, small.url):
            with obbd.connect(address) as client:
                for _ in range(2):
                    work = partial(client.scene("yard").load, large, [1, 1, 1])
                    assert raises(obbd.Problem, work, "--body-limit").status == 413
                assert client.request("GET", "/healthz").status == 200
    token = "a fresh token"
    with Daemon("--listen", listen, "--token-file", token_file(FOLDER, token)):
        asks = {True: token, False: "an old one"}
        with obbd.connect(listen, token=asks.get) as client:
            assert len(client.scene("yard").load(large, [1, 1, 1])) == 100_000


# ---- Ways to the daemon -------------------------------------------------------------------------


@test
def a_unix_socket_and_the_address_of_the_environment():
    with obbd.connect(SOCKET) as over_socket:
        assert over_socket.scene("x").page is None
        assert isinstance(over_socket.request("GET", "/v1/scenes").value["scenes"], list)
    os.environ.pop("OBBD_URL", None)
    assert obbd.connect().scene("x").page == "http://localhost:7480/#x"
    os.environ["OBBD_URL"] = DAEMON.url
    assert obbd.connect().request("GET", "/healthz").value == {"status": "alive"}
    del os.environ["OBBD_URL"]
    raises(ValueError, lambda: obbd.connect("ftp://x"), "found the address 'ftp://x'")
    raises(obbd.Disconnected, lambda: obbd.connect("http://127.0.0.1:1", retries=0).request("GET", "/healthz"))


@test
def many_threads_share_a_client():
    scene = fresh()
    scene.load([[3.0 * i, 0, 0] for i in range(50)], [1, 1, 1])
    wrong = []

    def ask(i):
        for _ in range(40):
            hits = scene.rays([[3.0 * i, 0, -5]], [[0, 0, 1]])
            if hits.ids[0] != i + 1:
                wrong.append(i)

    in_threads(ask, 8)
    assert not wrong
    assert 1 <= len(CLIENT._sender.pool._free) <= 9, "connections are kept"


class TellsPort(BaseHTTPRequestHandler):
    """Answers with the port of the client, by which connections are told apart."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = str(self.client_address[1]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@test
def a_process_that_is_forked_makes_connections_of_its_own():
    server = ThreadingHTTPServer(("127.0.0.1", 0), TellsPort)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = obbd.connect(f"http://127.0.0.1:{server.server_port}")
    fork = multiprocessing.get_context("fork")
    told = fork.SimpleQueue()

    def port():
        return client.request("GET", "/").value

    first = port()
    child = fork.Process(target=lambda: told.put([port(), port()]))
    child.start()
    one, again = told.get()
    child.join()
    assert one == again != first == port(), (first, one, again)
    client.close()
    server.shutdown()
    server.server_close()


@test
def a_spawned_daemon_ends_though_a_process_that_was_forked_meanwhile_goes_on():
    fork = multiprocessing.get_context("fork")
    with obbd.spawn(os.environ["OBBD"]) as db:
        folder = Path(db._sender.pool.path).parent
        child = fork.Process(target=time.sleep, args=(20,))
        child.start()
        begun = time.monotonic()
    assert time.monotonic() - begun < 10 and child.is_alive() and not folder.exists()
    child.kill()
    child.join()


@test
def a_token_is_asked_for_when_there_is_none_and_again_when_it_is_refused():
    token = "a fresh token"
    asked = []

    def ask(refused):
        asked.append(refused)
        return token if refused else "an old one"

    with Daemon("--token-file", token_file(FOLDER, token)) as guarded:
        obbd.connect(guarded.url, token=ask).scene("yard").put({"a": cube(0)})
        assert asked == [False, True]
        assert raises(obbd.Problem, lambda: obbd.connect(guarded.url, token="wrong").request("GET", "/v1/scenes")).status == 401
        os.environ["OBBD_TOKEN"] = token
        assert obbd.connect(guarded.url).request("GET", "/v1/scenes").status == 200
        assert raises(obbd.Problem, lambda: obbd.connect(guarded.url, token="wrong").request("GET", "/v1/scenes")).status == 401
        del os.environ["OBBD_TOKEN"]


@test
def what_would_end_a_line_of_the_head_is_refused_before_anything_is_sent():
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        client = obbd.connect(url, token="of a file\n", timeout=1)
        error = raises(ValueError, lambda: client.scene("yard").put({"a": cube(0)}), "found '\\\\n' in the token")
        assert "of a file" not in str(error) and not isinstance(error, obbd.Disconnected)
        raises(ValueError, lambda: obbd.connect(url, token=lambda _: "x\r\nA: b").request("GET", "/healthz"), "in the token")
        client = obbd.connect(url, timeout=1)
        for name, value, wrong in (
            ("A", "b\r\nC: d", r"found '\\r' in the header A"),
            ("A", "b\0", r"found '\\x00' in the header A"),
            ("A", "b\u2603", "found '\u2603' in the header A"),
            ("A: b\nC", "d", "found ':' in the name of a header"),
            ("", "d", "found nothing in the name of a header"),
        ):
            raises(ValueError, lambda name=name, value=value: client.request("GET", "/healthz", headers={name: value}), wrong)
        for path, wrong in (("/a b", "found ' ' in the path"), ("/a\n", r"found '\\n' in"), ("/\xe4", "found '\xe4' in"), ("", "nothing in")):
            raises(ValueError, lambda path=path: client.request("GET", path), wrong)
        raises(ValueError, lambda: client.request("GET /x\r\n", "/healthz"), "found ' ' in the method")
        for address in (f"{url}\n", f"{url}/a b", f"{url}\r\nA: b", f"{url}/?a=b", f"{url}/#a"):
            raises(ValueError, lambda address=address: obbd.connect(address), "found the address")
        nobody.setblocking(False)
        raises(BlockingIOError, nobody.accept)
    headers = {"X-Any": "a\tb \xe4 ~", "X-Request-Id": "a!"}
    assert CLIENT.request("GET", "/healthz", headers=headers).headers["x-request-id"] == "a!"


@test
def a_path_of_the_address_stands_before_each_path():
    proxy = Prefixed(DAEMON.port)
    for address in (proxy.url, proxy.url + "/"):
        with obbd.connect(address) as client:
            scene = client.scene(f"{address[-1]} below")
            scene.put({"a": cube(0)})
            assert (scene.box("a").id, scene.page) == (1, f"{proxy.url}/#{scene.name.replace('/', '%2F').replace(' ', '%20')}")
            assert next(scene.events()).kind == "state"
            assert client.request("GET", "/healthz").value == {"status": "alive"}
    assert len(proxy.requests) == 8 and all(" /below/it/" in line for line in proxy.requests), proxy.requests
    command = program("import obbd, sys\nobbd.connect(sys.argv[1]).request('GET', '/healthz')", proxy.url, OBBD_DEBUG="1").communicate()[1]
    assert json.loads(subprocess.check_output(["sh", "-c", command])) == {"status": "alive"}
    proxy.listener.close()


def program(text, *words, **variables):
    """A program of somebody who installed the package."""
    env = {**os.environ, "PYTHONPATH": str(INSTALLED), "OBBD_BIN": os.environ["OBBD"], "TMPDIR": str(FOLDER), **variables}
    return subprocess.Popen([sys.executable, "-c", text, *words], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@test
def https_with_a_certificate_that_is_trusted_and_with_one_that_is_not():
    cert, key = certificate(FOLDER)
    text = """import obbd, sys
with obbd.connect(sys.argv[1], retries=0) as db:
    scene = db.scene("yard")
    ids = scene.load([3.0 * i for i in range(300000)], [1, 1, 1])
    print(len(ids), len(scene.all_pairs(margin=0.5)), next(scene.events()).kind)
    try:
        json = {"Content-Type": "application/json"}
        db.request("PUT", "/v1/scenes/x", bytes(1 << 24), headers=json)
    except obbd.Problem as problem:
        print(problem.status)
"""
    with Daemon("--tls-cert", cert, "--tls-key", key, "--body-limit", "8MiB") as secure:
        for url in (secure.url, secure.url.replace("127.0.0.1", "localhost")):
            done = program(text, url, SSL_CERT_FILE=cert)
            said, told = done.communicate()
            assert said == "100000 0 state\n413\n", said + told
        done = program(text, secure.url)
        assert re.search("Disconnected|Refused", done.communicate()[1]) and done.returncode == 1


@test
def each_request_is_printed_as_a_curl_that_works():
    text = """import obbd, sys
from array import array
from functools import partial
scene = obbd.connect(sys.argv[1]).scene("it's")
scene.put({"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}})
scene.query(obbd.pairs(array("I", [1, 1]), by="id"))"""
    done = program(text, DAEMON.url, OBBD_DEBUG="1")
    commands = done.communicate()[1].strip().split("\n")
    assert (done.returncode, len(commands)) == (0, 2), commands
    assert json.loads(subprocess.check_output(["sh", "-c", commands[1]]))["results"] == [{"overlap": True}]


@test
def spawn_finds_the_daemon_in_three_places():
    home = Path(tempfile.mkdtemp(dir=FOLDER))
    shutil.copytree(INSTALLED / "obbd", home / "obbd")
    for word in ("named", "path", "obbd/bin"):
        (home / word).mkdir()
        (home / word / "obbd").write_text(f"#!/bin/sh\necho {word} >&2; exit 1\n", encoding="utf-8")
        (home / word / "obbd").chmod(0o755)

    def finds(binary, words=""):
        env = {"PATH": f"{home}/path:{os.environ['PATH']}", "PYTHONPATH": str(home), "OBBD_BIN": binary or ""}
        unset = "import os; del os.environ['OBBD_BIN']\n" if binary is None else ""
        done = program(f"{unset}import obbd\ntry: obbd.spawn({words})\nexcept RuntimeError as error: print(error)", **env)
        said, told = done.communicate()
        assert re.match("the daemon .*obbd did not start", said), told
        return told.strip()

    assert [finds(f"{home}/named/obbd", none) for none in ("", "None", "''")] == ["named"] * 3
    assert finds("", "''") == "obbd/bin"
    assert finds(f"{home}/named/obbd", f"'{home}/path/obbd'") == "path"
    assert [finds(unset) for unset in (None, "")] == ["obbd/bin"] * 2
    shutil.rmtree(home / "obbd/bin")
    assert [finds(unset) for unset in (None, "")] == ["path"] * 2


@test
def a_daemon_with_a_certificate_is_spawned_and_its_page_is_https():
    cert, key = certificate(FOLDER)
    text = """import obbd, sys
with obbd.spawn(tls_cert=sys.argv[1], tls_key=sys.argv[2]) as db:
    db.scene("yard").put({"a": {"center": [0, 0, 0], "half_extents": [1, 1, 1]}})
    print(db.scene("yard").page)"""
    child = program(text, cert, key)
    try:
        said, told = child.communicate(timeout=10)
    finally:
        child.kill()
    assert re.fullmatch(r"https://127\.0\.0\.1:\d+/#yard\n", said), told


def listening(path):
    """The addresses at which the daemon with this socket listens, as the kernel knows them."""

    def look(how, file):
        try:
            return how(file)
        except OSError:
            return ""  # it has ended, or was closed

    def is_daemon(folder):
        return look(os.readlink, folder / "exe") == obbd and path in look(Path.read_text, folder / "cmdline")

    def rows(table):
        return [line.split() for line in Path("/proc/net", table).read_text(encoding="utf-8").splitlines()[1:]]

    obbd = os.path.realpath(os.environ["OBBD"])
    (daemon,) = filter(is_daemon, Path("/proc").glob("[0-9]*"))
    own = {look(os.readlink, fd) for fd in (daemon / "fd").iterdir()}
    tcp = [row[1] for row in rows("tcp") + rows("tcp6") if row[3] == "0A" and f"socket:[{row[9]}]" in own]
    return tcp + [row[7] for row in rows("unix") if row[3] == "00010000" and f"socket:[{row[6]}]" in own]


@test
def a_spawned_daemon_ends_with_its_program_however_that_ends():
    text = """import obbd, sys, time
db = obbd.spawn(history=2000, host=["a.example", "b.example"])
scene = db.scene("yard")
print(scene.page, scene.set()["history"]["span"], flush=True)
if sys.argv[1] == "hang": time.sleep(60)
if sys.argv[1] == "close": db.close()"""

    def gone(address):
        try:
            urllib.request.urlopen(address + "healthz").close()
        except urllib.error.URLError:
            return True
        return False

    for way in ("close", "leave", "hang"):
        child = program(text, way, OBBD_TOKEN="of another daemon")
        page, span = child.stdout.readline().split()
        assert span == "2000"
        if way == "hang":
            try:
                (own,) = FOLDER.glob("obbd-*")
                both = [page.split("/#")[0], f"unix:{own}/socket"]
                assert re.fullmatch(r"http://127\.0\.0\.1:\d+", both[0])
                port = int(both[0].rsplit(":", 1)[1])
                assert listening(f"{own}/socket") == [f"0100007F:{port:04X}", f"{own}/socket"]  # 127.0.0.1, and nowhere else
                for url in both:
                    with obbd.connect(url) as other:
                        assert [one["name"] for one in other.scenes()] == ["yard"], url
            finally:
                child.send_signal(signal.SIGKILL)
        child.communicate()
        until(f"{way}: the daemon is gone", lambda: gone(page.split("#")[0]))
        until(f"{way}: its folder is gone", lambda: not any(FOLDER.glob("obbd-*")))


# ---- The package --------------------------------------------------------------------------------


@test
def the_package_and_its_example_are_python_3_9():
    files = [*(INSTALLED / "obbd").glob("*.py"), *(ROOT / "proto/clients/python/examples").glob("*.py")]
    for file in files:
        ast.parse(file.read_text(encoding="utf-8"), str(file), feature_version=(3, 9))
    raises(SyntaxError, lambda: ast.parse("match 1:\n    case 1: pass", feature_version=(3, 9)))
    metadata = (next(INSTALLED.glob("obbd-*.dist-info")) / "METADATA").read_text(encoding="utf-8")
    assert len(files) > 10 and "\nRequires-Python: >=3.9\n" in metadata


@test
def the_package_has_the_version_of_the_daemon_and_needs_nothing():
    metadata = next(INSTALLED.glob("obbd-*.dist-info")) / "METADATA"
    fields = metadata.read_text(encoding="utf-8").split("\n\n")[0]
    version = subprocess.check_output([os.environ["OBBD"], "--version"], text=True).split()[1]
    assert f"\nVersion: {version}\n" in fields
    needed = [line for line in fields.split("\n") if line.startswith("Requires-Dist:") and "extra ==" not in line]
    assert needed == []
    sources = "".join(file.read_text(encoding="utf-8") for file in (INSTALLED / "obbd").glob("*.py"))
    imports = set(re.findall(r"^\s*(?:import|from) ([a-z]\w*)", sources, re.M))
    assert len(imports) > 10 and imports - set(sys.stdlib_module_names) == {"numpy"}


print("with" if NUMPY else "without", "numpy")
status = run()
CLIENT.close()
DAEMON.stop()
shutil.rmtree(FOLDER)
sys.exit(status)
