#!/usr/bin/python3
"""python_jobs.py SOCKET - what large commits and answers take with the Python client and numpy, in turns with the same bytes over a
bare socket. Prints rows of CSV as clients.sh names them. Every answer is checked."""

import socket
import sys
import time
from pathlib import Path
from urllib.parse import quote

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "build/clients/python"))
import obbd  # noqa: E402, the installed one

BOXES = 100_000
ROUNDS = 15
# Until the history of a scene is full, 25 commits after its first, each commit takes new memory for its boxes.
ROUNDS_OF_POSES = 60
SIDE = 47  # boxes along each edge of a lattice that holds them


def row(job, must, client, bare):
    figures = min(client), sorted(client)[len(client) // 2], min(bare), min(client) - min(bare)
    print(job, must, *(f"{1e6 * figure:.0f}" for figure in figures), sep=",", flush=True)


def measure(job, must, must_cpu, works, rounds=ROUNDS):
    """Runs two works in turns, with the client and over a bare socket, so that both meet the same machine and the same daemon. A work
    may prepare something that does not count, and returns what does."""
    took, cpu = ([], []), ([], [])
    for i in range(rounds):
        for which, work in enumerate(works):
            act = work(i)
            used, begun = time.process_time(), time.perf_counter()
            act()
            took[which].append(time.perf_counter() - begun)
            cpu[which].append(time.process_time() - used)
    row(job, must, *took)
    row(f"{job}: CPU", must_cpu, *cpu)


class Kept(Exception):
    """A request that was kept in place of being sent."""

    def __init__(self, path, body):
        super().__init__(path)
        self.path = path
        self.body = b"".join(body)


class Keeping:
    """In place of the connections of a client."""

    page = None

    def send(self, _method, path, _headers, body, _deadline):
        raise Kept(path, body)


keeping = obbd.connect(f"unix:{sys.argv[1]}", retries=0)  # a commit that may be sent again has an id, and would be made once
keeping._sender.pool = Keeping()


def kept(scene, work):
    """The request that the work sends of a scene."""
    try:
        work(keeping.scene(scene))
    except Kept as request:
        return request
    raise AssertionError("nothing was sent")


def by_hand(request, path=None):
    """Sends the request of a client over a bare socket, to another path if there is one, and reads its answer."""
    head = f"POST {path or request.path} HTTP/1.1", "Host: x", "Content-Type: application/cbor", "Accept: application/cbor"
    whole = "\r\n".join([*head, f"Content-Length: {len(request.body)}", "", ""]).encode() + request.body

    def act():
        bare.sendall(whole)
        answer = bare.recv(1 << 16)
        assert answer.startswith(b"HTTP/1.1 200"), answer
        told, _, body = answer.partition(b"\r\n\r\n")
        rest = memoryview(bytearray(int(told.lower().split(b"content-length: ")[1].split(b"\r")[0]) - len(body)))
        while rest:
            rest = rest[bare.recv_into(rest) :]

    return act


def lattice():
    """Boxes in rows along x, each touching the next one, and no other."""
    n = np.arange(BOXES)
    return np.column_stack([2.0 * (n % SIDE), 5.0 * (n // SIDE % SIDE), 5.0 * (n // SIDE**2)])


centers = lattice()
rotations = np.tile([0.0, 0, 0, 1], (BOXES, 1))
touching = BOXES - -(-BOXES // SIDE)
bare = socket.socket(socket.AF_UNIX)
bare.connect(sys.argv[1])
with obbd.connect(f"unix:{sys.argv[1]}") as db:

    def load(i):
        scene = db.scene(f"load {i}")

        def act():
            ids = scene.load(centers, [1, 1, 1], rotations, prefix="car-")
            assert len(ids) == BOXES and ids[-1] == BOXES

        return act

    load_kept = kept("any", lambda scene: scene.load(centers, [1, 1, 1], rotations, prefix="car-"))

    def load_by_hand(i):
        return by_hand(load_kept, f"/v1/scenes/{quote(f'bare {i}')}/commit")

    measure("Python: first load of 100000 boxes", 120_000, "", (load, load_by_hand), 5)
    for i in range(5):
        db.scene(f"bare {i}").delete()
    for i in range(2, 5):
        db.scene(f"load {i}").delete()

    # The client moves all boxes, and the bare socket moves them back, so that each commit changes all of them. Doubles and floats have a
    # scene each.
    for i, (word, kind) in enumerate((("doubles", np.float64), ("floats", np.float32))):
        scene = db.scene(f"load {i}")
        ids = np.asarray(scene.ids([f"car-{k}" for k in range(BOXES)]))
        there, back = ((ids, (centers + [0, 0, z]).astype(kind), rotations.astype(kind)) for z in (0.25, 0))

        def pose(_, scene=scene, there=there):
            def act():
                assert scene.commit(pose=there).posed == BOXES

            return act

        pose_back = by_hand(kept(scene.name, lambda scene, back=back: scene.commit(pose=back)))
        works = (pose, lambda _, act=pose_back: act)
        measure(f"Python: 100000 poses by id in {word}", 15_000, 2000, works, ROUNDS_OF_POSES)

    def pairs(_):
        def act():
            found = scene.all_pairs()
            assert len(found) == touching, len(found)

        return act

    pairs_by_hand = by_hand(kept(scene.name, lambda scene: scene.all_pairs()))
    measure("Python: all pairs of 100000 boxes to an array", 10_000, "", (pairs, lambda _: pairs_by_hand))
