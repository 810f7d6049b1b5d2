#!/usr/bin/python3
"""python_jobs.py SOCKET - what large commits and answers take with the Python client and numpy. Prints rows of CSV: the job, the least
and the median time, and the CPU of this program, in microseconds. Every answer is checked."""

import socket
import sys
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "build/clients/python"))
import obbd  # noqa: E402, the installed one
from obbd.cbor import encode  # noqa: E402

BOXES = 100_000
ROUNDS = 15
SIDE = 47  # boxes along each edge of a lattice that holds them


def measure(jobs, rounds=ROUNDS):
    """Runs the jobs, a dictionary of name and work, in turns, so that all meet the same machine and the same daemon. A work may prepare
    something that does not count, and returns what does."""
    took, cpu = {job: [] for job in jobs}, {job: [] for job in jobs}
    for i in range(rounds):
        for job, work in jobs.items():
            act = work(i)
            used, begun = time.process_time(), time.perf_counter()
            act()
            took[job].append(time.perf_counter() - begun)
            cpu[job].append(time.process_time() - used)
    for job in jobs:
        middle = rounds // 2
        figures = min(took[job]), sorted(took[job])[middle], sorted(cpu[job])[middle]
        print(job, *(f"{1e6 * figure:.0f}" for figure in figures), sep=",", flush=True)


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

    measure({"Python: first load of 100000 boxes": load}, 5)
    for i in range(2, 5):
        db.scene(f"load {i}").delete()

    # The client moves all boxes, and the bare socket moves them back, so that each commit changes all of them.
    def by_client(scene, ids, kind):
        pose = ids, (centers + [0, 0, 0.25]).astype(kind), rotations.astype(kind)

        def act():
            assert scene.commit(pose=pose).posed == BOXES

        return lambda i: act

    def by_hand(scene, ids, kind):
        body = b"".join(encode({"pose": {"ids": ids, "centers": centers.astype(kind).ravel(), "rotations": rotations.astype(kind).ravel()}}))
        head = f"POST /v1/scenes/{quote(scene.name)}/commit HTTP/1.1", "Host: x", "Content-Type: application/cbor", f"Content-Length: {len(body)}"
        request = "\r\n".join([*head, "", ""]).encode() + body
        bare = socket.socket(socket.AF_UNIX)
        bare.connect(sys.argv[1])

        def act():
            bare.sendall(request)
            answer = b""
            while f'"posed":{BOXES}'.encode() not in answer:
                part = bare.recv(1 << 16)
                assert part, answer
                answer += part

        return lambda i: act

    for i, (word, kind) in enumerate((("doubles", np.float64), ("floats", np.float32))):
        scene = db.scene(f"load {i}")
        ids = scene.ids([f"car-{k}" for k in range(BOXES)])
        jobs = by_client(scene, ids, kind), by_hand(scene, ids, kind)
        measure(dict(zip((f"Python: 100000 poses by id in {word}", f"the same {word} over a bare socket"), jobs)))

    def pairs(i):
        def act():
            found = scene.all_pairs()
            assert len(found) == touching, len(found)

        return act

    measure({"Python: all pairs of 100000 boxes to an array": pairs})
