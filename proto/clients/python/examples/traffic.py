#!/usr/bin/env python3
"""Traffic: cars on a plain, and whoever touches another one brakes. Each tick is one commit with the poses of all cars, whose answer is
the pairs that touch and what the first cars see ahead. Open the printed address to look on.

python3 traffic.py [--cars 20000] [--ticks 1000] [--rate 20]
"""

import argparse
import time

import numpy as np

import obbd

HALF = np.array([2.2, 0.8, 0.9])  # of a car, along its way, up and across
SPEED = 14.0  # metres a second at the start
LOOKING = 64  # cars that look ahead


def place(cars, seed=1):
    """Where the cars are and how fast: one on 60 square metres."""
    rng = np.random.default_rng(seed)
    side = np.sqrt(60.0 * cars)
    heading = rng.uniform(0, 2 * np.pi, cars)
    centers = np.column_stack([rng.uniform(0, side, cars), np.full(cars, HALF[1]), rng.uniform(0, side, cars)])
    # a turn about y by -heading, so that the x of a car lies along its way
    rotations = np.column_stack([np.zeros(cars), np.sin(-heading / 2), np.zeros(cars), np.cos(heading / 2)])
    ways = np.column_stack([np.cos(heading), np.zeros(cars), np.sin(heading)])
    return centers, rotations, ways, np.full(cars, SPEED)


def drive(scene, cars, ticks, rate, told=lambda tick, pairs, seen, ms: None):
    """Drives, and returns where the cars are in the end and the pairs that touch, as ids. Calls `told` with each tick."""
    centers, rotations, ways, speeds = place(cars)
    ids = scene.load(centers, HALF, rotations, prefix="car-", time=0.0)
    pairs = np.empty(0, dtype=np.uint32)
    for tick in range(1, ticks + 1):
        centers += ways * speeds[:, None] / rate
        queries = [obbd.all_pairs(by="id"), obbd.rays(centers[:LOOKING], ways[:LOOKING], 40.0, inside="ignore")]
        begun = time.perf_counter()
        # With PyBullet that is two calls a car: resetBasePositionAndOrientation(car, ..), and, behind performCollisionDetection(),
        # getContactPoints(car). See bullet3#4153.
        pairs, seen = scene.commit(time=tick * 1000.0 / rate, pose=(ids, centers, rotations), queries=queries, timeout=5).results
        speeds *= 1.02  # faster again, up to the speed of the start
        np.minimum(speeds, SPEED, out=speeds)
        speeds[np.unique(pairs) - ids[0]] *= 0.5
        told(tick, pairs, seen, 1000 * (time.perf_counter() - begun))
    return centers, rotations, pairs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cars", type=int, default=20_000)
    parser.add_argument("--ticks", type=int, default=1000)
    parser.add_argument("--rate", type=float, default=20.0, help="ticks a second")
    options = parser.parse_args()
    with obbd.spawn() as db:
        scene = db.scene("traffic")
        print("watch it at", scene.page, flush=True)
        next_tick = time.perf_counter()

        def told(tick, pairs, seen, ms):
            nonlocal next_tick
            if tick % 10 == 0:
                ahead = np.count_nonzero(seen.ids)
                print(f"tick {tick}: {len(pairs)} pairs touch, {ahead} of {len(seen.ids)} see a car ahead, {ms:.1f} ms", flush=True)
            next_tick += 1 / options.rate
            time.sleep(max(0.0, next_tick - time.perf_counter()))

        try:
            drive(scene, options.cars, options.ticks, options.rate, told)
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
