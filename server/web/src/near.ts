// Which boxes a line passes by most closely.
import { type Line3, Vector3 } from "three";
import { type Box, point, turn } from "./box";

const STEPS = 48; // of the search along a line, each of which leaves two thirds of it

/**
 * The names of the boxes that come nearest to one of the lines, the nearest first.
 * @param count so many at most
 * Cost: a distance to the sphere around each box, and a search for those whose sphere is nearer than the last box that counts.
 */
export function nearest(boxes: Iterable<Box>, lines: Line3[], count: number): string[] {
    const at = new Vector3();
    const spheres: [number, Box][] = [];
    for (const box of boxes) {
        const middle = point(box.center);
        const least = Math.min(...lines.map((line) => line.closestPointToPoint(middle, true, at).distanceTo(middle)));
        spheres.push([least - point(box.half_extents).length(), box]);
    }
    spheres.sort(([a], [b]) => a - b);
    const found: [number, string][] = [];
    for (const [bound, box] of spheres) {
        if (found.length === count && bound > found[count - 1][0]) break; // no box after it is nearer than its sphere
        found.push([Math.min(...lines.map((line) => gap(line, box))), box.name]);
        found.sort(([a], [b]) => a - b);
        found.splice(count);
    }
    return found.map(([, name]) => name);
}

/** The distance between a line and a box. Along the line the distance to the box is convex. */
function gap(line: Line3, box: Box): number {
    const inverse = turn(box).invert();
    const half = point(box.half_extents);
    const [from, to] = [line.start, line.end].map((end) => end.clone().sub(point(box.center)).applyQuaternion(inverse));
    const away = (share: number) => {
        const [x, y, z] = ["x", "y", "z"].map((axis) => {
            const key = axis as "x" | "y" | "z";
            return Math.max(0, Math.abs(from[key] + share * (to[key] - from[key])) - half[key]);
        });
        return Math.hypot(x, y, z);
    };
    let [low, high] = [0, 1];
    for (let i = 0; i < STEPS; i++) {
        const [a, b] = [low + (high - low) / 3, high - (high - low) / 3];
        if (away(a) > away(b)) low = a;
        else high = b;
    }
    return away((low + high) / 2);
}
