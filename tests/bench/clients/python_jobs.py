#!/usr/bin/python3
"""python_jobs.py SOCKET - what large commits and answers take with the Python client and numpy. Prints rows of CSV: the job, the least
and the median time, and the CPU of this program, in microseconds. Every answer is checked."""

import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "build/clients/python"))
import obbd  # noqa: E402, the installed one

BOXES = 100_000
ROUNDS = 15
SIDE = 47  # boxes along each edge of a lattice that holds them


def measure(job, work, rounds=ROUNDS):
    """Runs the work some times, each of which may prepare something that does not count and returns what does."""
    took, cpu = [], []
    for i in range(rounds):
        act = work(i)
        used, begun = time.process_time(), time.perf_counter()
        act()
        took.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    took.sort()
    cpu.sort()
    print(f"{job},{1e6 * took[0]:.0f},{1e6 * took[len(took) // 2]:.0f},{1e6 * cpu[len(cpu) // 2]:.0f}", flush=True)


def lattice():
    """Boxes in rows along x, each touching the next one, and no other."""
    n = np.arange(BOXES)
    return np.column_stack([2.0 * (n % SIDE), 5.0 * (n // SIDE % SIDE), 5.0 * (n // SIDE**2)])


centers = lattice()
rotations = np.tile([0.0, 0, 0, 1], (BOXES, 1))
touching = BOXES - -(-BOXES // SIDE)
with obbd.connect(f"unix:{sys.argv[1]}") as db:

    def load(i):
        scene = db.scene(f"load {i}")

        def act():
            ids = scene.load(centers, [1, 1, 1], rotations, prefix="car-")
            assert len(ids) == BOXES and ids[-1] == BOXES

        return act

    measure("Python: first load of 100000 boxes", load, 5)
    for i in range(1, 5):
        db.scene(f"load {i}").delete()
    scene = db.scene("load 0")
    ids = scene.ids([f"car-{i}" for i in range(BOXES)])

    def poses(kind):
        moved = [(centers + [0, 0, 0.25 * k]).astype(kind) for k in range(2)]
        turns = rotations.astype(kind)

        def work(i):
            pose = (ids, moved[i % 2], turns)

            def act():
                assert scene.commit(pose=pose).posed == BOXES

            return act

        return work

    measure("Python: 100000 poses by id in doubles", poses(np.float64))
    measure("Python: 100000 poses by id in floats", poses(np.float32))

    def pairs(i):
        def act():
            found = scene.all_pairs()
            assert len(found) == touching, len(found)

        return act

    measure("Python: all pairs of 100000 boxes to an array", pairs)
