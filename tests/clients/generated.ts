// The contract's types as openapi-typescript makes them, in a program of somebody who uses no client of ours. Unions are told apart by
// the fields that their objects have, and queries by `kind`; what fits none of the objects does not pass the compiler.
import type { components } from "../../build/clients/contract.js";

type Schemas = components["schemas"];

export function lengthOf(ray: Schemas["Ray"]): number {
    if ("origin" in ray) return ray.max_distance ?? Infinity;
    return Math.hypot(...ray.to.map((end, i) => end - ray.from[i]));
}

export function endsOf(rays: Schemas["RayColumns"]): number[] {
    if ("targets" in rays) return rays.targets;
    return rays.directions.map((part, i) => rays.origins[i] + part);
}

export function timeOf(at: Schemas["At"], newest: number, timeOfRevision: (revision: number) => number): number {
    if ("time" in at) return at.time;
    return "ago" in at ? newest - at.ago : timeOfRevision(at.revision);
}

export function degreesOf(turn: Schemas["Turn"]): number {
    if ("angle" in turn) return turn.angle;
    if ("axis_angle" in turn) return turn.axis_angle.degrees;
    if ("axes" in turn) return (Math.acos(turn.axes[0][0]) * 180) / Math.PI;
    return (Math.acos(turn.rotation?.[3] ?? 1) * 360) / Math.PI;
}

export function heightOf(box: Schemas["BoxForm"]): number {
    if ("center" in box) return 2 * box.half_extents[1];
    if ("matrix" in box) return 2 * box.matrix[5];
    if ("min" in box) return box.max[1] - box.min[1];
    if ("local" in box) return 2 * box.half_extents[1];
    const heights = ("points" in box ? box.points : box.corners).map((point) => point[1]);
    return Math.max(...heights) - Math.min(...heights);
}

export function stepOf(transform: Schemas["Transform"]): number[] {
    return "matrix" in transform ? transform.matrix.slice(12, 15) : (transform.translate ?? [0, 0, 0]);
}

export function namesOf(pose: Schemas["Columns"], nameOf: (id: number) => string): string[] {
    return "names" in pose ? pose.names : pose.ids.map(nameOf);
}

export function sizeOf(query: Schemas["Query"]): number {
    switch (query.kind) {
        case "ray":
            return Array.isArray(query.rays) ? query.rays.map(lengthOf).length : endsOf(query.rays).length / 3;
        case "sweep":
            return query.sweeps.length;
        case "overlap":
            return query.shapes.length;
        case "pairs":
            return query.pairs.length;
        case "nearest":
            return "boxes" in query ? query.boxes.length : query.points.length;
        case "point":
            return query.points.length;
        case "all-pairs":
            return query.count_only ? 1 : Infinity;
    }
}

export const fit: Schemas["Query"][] = [
    { kind: "ray", rays: [{ from: [0, 0, 0], to: [1, 0, 0] }], at: { ago: 50 } },
    { kind: "ray", rays: { origins: [0, 0, 0], targets: [1, 0, 0] }, columns: true, by: "id" },
    { kind: "nearest", boxes: ["a"], k: 2 },
];
export const others: unknown[] = [
    // @ts-expect-error half a ray
    { origin: [0, 0, 0] } satisfies Schemas["Ray"],
    // @ts-expect-error a state that is not stated
    { interpolate: false } satisfies Schemas["At"],
    // @ts-expect-error a state in a field that is misspelt
    { tiem: 5 } satisfies Schemas["At"],
    // @ts-expect-error a query without its kind
    { rays: [{ from: [0, 0, 0], to: [1, 0, 0] }] } satisfies Schemas["Query"],
    // @ts-expect-error a query of one kind with the fields of another one
    { kind: "point", sweeps: [] } satisfies Schemas["Query"],
    // @ts-expect-error nearest to nothing
    { kind: "nearest", k: 2 } satisfies Schemas["Query"],
    // @ts-expect-error rays that go nowhere
    { origins: [0, 0, 0] } satisfies Schemas["RayColumns"],
    // @ts-expect-error poses of nobody
    { centers: [0, 0, 0] } satisfies Schemas["Columns"],
    // @ts-expect-error a box in no form
    { center: [0, 0, 0] } satisfies Schemas["BoxForm"],
];
