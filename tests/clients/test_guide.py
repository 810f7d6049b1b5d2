#!/usr/bin/python3
"""The pages for people: their links, the exchanges that they name, their pictures, and the table of coordinates against a daemon."""

import json
import math
import random
import re
import sys
import time
import urllib.error
import urllib.request
import xml.etree.ElementTree as xml

from python import ROOT

from daemon import Daemon
from sums import run, test

GUIDE = ROOT / "proto/contract/guide"
PAGES = sorted([*GUIDE.glob("*.md"), *(ROOT / "proto/clients").glob("*.md"), *(ROOT / "proto/clients").glob("*/*.md"),
                *(ROOT / "proto/clients").glob("*/examples/*.md"), ROOT / "README.md"])


def anchor(heading):
    """The anchor that a heading gets where pages are shown."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@test
def every_link_leads_somewhere():
    looked_at = 0
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            if link.startswith("http"):
                continue
            path, _, part = link.partition("#")
            target = page if path == "" else page.parent / path
            assert target.exists(), f"{page}: {link}"
            if part != "":
                headings = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), re.M)
                assert part in map(anchor, headings), f"{page}: {link}"
            looked_at += 1
    print(f"{looked_at} links of {len(PAGES)} pages")
    assert looked_at > 40


@test
def every_exchange_that_is_named_is_there_and_every_concept_names_one():
    sections = (GUIDE / "README.md").read_text(encoding="utf-8").split("\n## ")[1:]
    named = 0
    for section in sections:
        before = named
        shown = re.search(r"^Shown by (.*)", section, re.M | re.S)
        assert shown, section
        words = re.sub(r"\s+", " ", shown.group(1))
        for titles, file in re.findall(r'((?:"[^"]+"(?: \([^)]+\))?(?:, | and )?)+) in \[[\w-]+\]\(([^)]+)\)', words):
            text = (GUIDE / file).read_text(encoding="utf-8")
            for title in re.findall(r'"([^"]+)"', titles):
                assert f"### {title}\n" in text, f"{file}: {title}"
                named += 1
        assert named - before == words.count('"') / 2 > 0, words
    print(f"{named} exchanges named by {len(sections)} concepts")
    assert named > 10 and len(sections) == 7


@test
def only_a_scene_that_never_stated_a_time_has_the_milliseconds_of_the_service():
    places = iter(range(9))

    def commit(**changes):
        box = {"center": [next(places), 0, 0], "half_extents": [1, 1, 1]}
        return ask(daemon, "POST", "/v1/scenes/clock/commit", {"put": {"a": box}, **changes})["time"]

    with Daemon() as daemon:
        first = commit()
        time.sleep(0.2)
        assert 200 <= commit() - first < 60_000
        stated = commit(time=5, restart=True)
        time.sleep(0.01)
        assert stated == commit() == 5, "it stated one: the clock is the game's from now on"


@test
def every_picture_is_shown_and_says_in_words_what_it_shows():
    pictures = sorted((GUIDE / "pictures").glob("*.svg"))
    text = (GUIDE / "README.md").read_text(encoding="utf-8")
    for picture in pictures:
        assert f"(pictures/{picture.name})" in text, picture
        root = xml.parse(picture).getroot()
        assert root.get("aria-label") and root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"
        assert "style" not in root.attrib and not root.findall(".//{http://www.w3.org/2000/svg}style")
    assert len(pictures) == 7


@test
def the_cookbook_has_eight_recipes():
    titles = re.findall(r"^### Cookbook: ([\w ]+)\??$", (ROOT / "proto/contract/examples/14-cookbook.http").read_text(encoding="utf-8"), re.M)
    recipes = ["hitscan", "melee arc", "blast", "may I spawn here", "line of sight", "move validation", "all pairs of a simulation", "trigger zone"]
    assert [title for title in titles if title in recipes] == recipes


# ---- Coordinates ----------------------------------------------------------------------------------

AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def direction(word):
    """The unit vector that "+x" and the like name."""
    return [(-1 if word[0] == "-" else 1) * c for c in AXES[word[1]]]


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def engines():
    for line in (GUIDE / "coordinates.md").read_text(encoding="utf-8").split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 9 and cells[1] in ("left", "right"):
            yield cells


@test
def the_hand_of_each_engine_follows_from_its_axes():
    names = []
    for name, hand, right, up, forward, *_ in engines():
        ahead = cross(direction(right), direction(up))
        assert ahead == ([-c for c in direction(forward)] if hand == "right" else direction(forward)), name
        names.append(name)
    assert names == ["Unity", "Unreal", "Godot", "three.js", "Blender", "ROS"]


@test
def what_an_engine_writes_is_what_is_sent_but_for_the_order():
    for name, *_, written, sent, _ in engines():
        numbers = [float(number) for number in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", written.partition("(")[2])]
        order = re.findall(r"\b[xyzw]\b(?!=)", written.rpartition("`")[2])
        assert sorted(order) == ["w", "x", "y", "z"] and len(numbers) == 4, name
        assert [numbers[order.index(part)] for part in "xyzw"] == json.loads(sent.strip("`")), name


@test
def a_quarter_turn_about_up_brings_forward_to_where_the_table_says():
    with Daemon() as daemon:
        for name, hand, right, up, forward, *_, sent, becomes in engines():
            turned = [[round(c) for c in axis] for axis in axes_of(daemon, {"rotation": json.loads(sent.strip("`"))})]
            image = [sum(direction(forward)[i] * turned[i][k] for i in range(3)) for k in range(3)]
            assert image == direction(becomes), f"{name}: {image}"
            # the same as degrees, about the same axis
            by_degrees = axes_of(daemon, {"axis_angle": {"axis": direction(up), "degrees": 90}})
            assert [[round(c) for c in axis] for axis in by_degrees] == turned, name
            sideways = direction(right)
            assert image == (sideways if hand == "left" else [-c for c in sideways]), "to the right in Unity, to the left in Godot"
        refused = error_of(lambda: axes_of(daemon, {"euler": [0, 90, 0]}))
        assert (refused["status"], refused["pointer"]) == (422, "/euler"), "Euler angles are not taken"


@test
def a_quaternion_turns_by_the_formula_of_the_page():
    numbers = random.Random(20261123)
    with Daemon() as daemon:
        for _ in range(50):
            q = [numbers.gauss(0, 1) for _ in range(4)]
            length = math.sqrt(sum(c * c for c in q))
            v, w = [c / length for c in q[:3]], q[3] / length
            for axis, found in zip(AXES.values(), axes_of(daemon, {"rotation": q})):
                once = cross(v, axis)
                wanted = [a + 2 * w * b + 2 * c for a, b, c in zip(axis, once, cross(v, once))]
                assert all(abs(a - b) < 1e-12 for a, b in zip(wanted, found)), q


@test
def in_the_plane_an_angle_is_counter_clockwise_and_a_matrix_has_its_translation_at_12():
    with Daemon() as daemon:
        turned = axes_of(daemon, {"angle": 90}, scene="plane", dimensions=2)
        assert [[round(c) for c in axis] for axis in turned] == [[0, 1], [-1, 0]]
        ask(daemon, "PUT", "/v1/scenes/turns/boxes/box", {"matrix": [2, 0, 0, 0, 0, 3, 0, 0, 0, 0, 4, 0, 5, 6, 7, 1]})
        box = ask(daemon, "GET", "/v1/scenes/turns/boxes/box")
        assert (box["center"], box["half_extents"]) == ([5, 6, 7], [2, 3, 4])


def ask(daemon, method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {} if body is None else {"Content-Type": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(daemon.url + path, data=data, method=method, headers=headers)) as answer:
        return json.load(answer)


def error_of(asking):
    """The problem with which a request was refused."""
    try:
        asking()
    except urllib.error.HTTPError as error:
        return json.load(error)
    raise AssertionError("the request was answered")


def axes_of(daemon, turn, scene="turns", dimensions=3):
    """Where the axes of a box point that is turned so."""
    path = f"/v1/scenes/{scene}"
    ask(daemon, "PUT", path, {"dimensions": dimensions})
    ask(daemon, "PUT", f"{path}/boxes/box", {"center": [0, 0, 0][:dimensions], "half_extents": [1, 2, 3][:dimensions], **turn})
    return ask(daemon, "GET", f"{path}/boxes/box?include=axes")["axes"]


sys.exit(run())
