#!/usr/bin/python3
"""The example of the Python client: 20,000 cars for 50 ticks, as somebody runs it; and fewer cars against a calculation of our own."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
from python import INSTALLED, ROOT

import obbd
from daemon import Daemon
from sums import TIMEOUT_S, run, test

EXAMPLES = ROOT / "proto/clients/python/examples"
sys.path.append(str(EXAMPLES))
import traffic  # noqa: E402, the example itself


@test
def cars_drive_for_50_ticks():
    env = {**os.environ, "PYTHONPATH": str(INSTALLED), "OBBD_BIN": os.environ["OBBD"]}
    command = [sys.executable, str(EXAMPLES / "traffic.py"), "--ticks", "50", "--rate", "1000"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=8 * TIMEOUT_S, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert re.match(r"watch it at http://127\.0\.0\.1:\d+/#traffic\n", done.stdout), done.stdout
    lines = re.findall(r"^tick (\d+): (\d+) pairs touch, (\d+) of 64 see a car ahead, ([\d.]+) ms$", done.stdout, re.M)
    assert [int(tick) for tick, *_ in lines] == [10, 20, 30, 40, 50]
    assert all(int(pairs) > 100 and 0 < int(ahead) < 64 for _, pairs, ahead, _ in lines), done.stdout
    print(lines[-1])


@test
def ctrl_c_ends_it_without_a_fault():
    env = {**os.environ, "PYTHONPATH": str(INSTALLED), "OBBD_BIN": os.environ["OBBD"]}
    command = [sys.executable, str(EXAMPLES / "traffic.py"), "--cars", "2000"]
    child = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    while not child.stdout.readline().startswith("tick 10:"):
        assert child.poll() is None
    os.killpg(child.pid, signal.SIGINT)  # as a terminal does
    said, told = child.communicate(timeout=TIMEOUT_S)
    assert (child.returncode, told) == (0, "") and said.endswith("stopped\n"), said + told


def corners_apart(a, b, axis):
    """The gap of two sets of corners along an axis."""
    p, q = a @ axis, b @ axis
    return max(p.min() - q.max(), q.min() - p.max())


@test
def the_pairs_are_those_of_a_look_at_every_pair():
    cars = 700
    with Daemon() as daemon, obbd.connect(daemon.url) as db:
        centers, rotations, pairs = traffic.drive(db.scene("few"), cars, 12, 20.0)
    # cars stand upright, so two of them touch if they do in the plane: the axes are those of their faces
    turns = 2 * np.arctan2(rotations[:, 1], rotations[:, 3])
    along = np.column_stack([np.cos(turns), -np.sin(turns)])
    across = np.column_stack([np.sin(turns), np.cos(turns)])
    signs = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
    plane = centers[:, [0, 2]]
    corners = plane[:, None] + signs[None, :, :1] * traffic.HALF[0] * along[:, None] + signs[None, :, 1:] * traffic.HALF[2] * across[:, None]
    expected = []
    for i in range(cars):
        near = np.nonzero(np.hypot(*(plane[i + 1 :] - plane[i]).T) < 5)[0] + i + 1
        for j in near:
            gap = max(corners_apart(corners[i], corners[j], axis) for axis in (along[i], across[i], along[j], across[j]))
            assert abs(gap) > 1e-9, "too close to tell"
            if gap < 0:
                expected.append([i + 1, j + 1])
    assert np.array_equal(np.reshape(pairs, (-1, 2)), expected)
    assert len(expected) > 20
    # the way of a car is its own x
    _, _, ways, _ = traffic.place(cars)
    assert np.allclose(np.column_stack([along[:, 0], along[:, 1]]), ways[:, [0, 2]])
    print(f"{len(expected)} of {cars * (cars - 1) // 2} pairs touch")


sys.exit(run())
