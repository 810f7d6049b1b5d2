// A question that somebody asked the scene and the daemon kept, with its answer: in words, and as it is drawn.
import type { Vector3 } from "three";
import { type Box, numbers, type Numbers, point, short } from "./box";
import type { Mark, Tint } from "./marks";

type Ref = string | number; // a box by name or id

interface Hit {
    box: Ref;
    point?: Numbers;
    distance?: number;
}

interface Result {
    hits?: Hit[];
    boxes?: (Ref | Hit)[];
    missing?: Ref[];
    overlap?: boolean;
}

interface Ray {
    origin?: Numbers;
    direction?: Numbers;
    max_distance?: number;
    from?: Numbers;
    to?: Numbers;
}

interface RayColumns {
    origins: Numbers;
    directions?: Numbers;
    targets?: Numbers;
    max_distances?: Numbers | number; // one for all rays
}

type Shape = Ref | { center?: Numbers; half_extents?: Numbers; sphere?: { center: Numbers; radius: number }; capsule?: { a: Numbers; b: Numbers; radius: number } };

export interface Shot {
    id: number;
    kind: string;
    query: {
        rays?: Ray[] | RayColumns;
        points?: Numbers[] | Numbers;
        shapes?: Shape[];
        boxes?: Shape[];
        sweeps?: { box: Shape; motion: Numbers }[];
        at?: Record<string, unknown>;
        [option: string]: unknown;
    };
    answer: { results?: Result[]; count?: number; columns?: { boxes: number[]; points: Numbers } };
    at: { revision: number; time: number; clamped: boolean };
    revision: number;
    time: number;
    tag: string | null;
    request: string;
    token: string | null;
}

/** How a box fared, as `explain` says it. */
export interface Explanation {
    box: Ref;
    verdict: "hit" | "behind" | "missed" | "filtered" | "absent" | "cut";
    by?: string;
    gap?: number;
    axis?: { name: string };
    behind?: Ref;
}

/** Boxes that the answer names, the first ones of each item; ids as they are. */
export function foundOf({ answer }: Shot): Hit[] {
    if (answer.columns) {
        const { boxes, points } = answer.columns;
        const n = points.length / Math.max(1, boxes.length);
        return boxes.flatMap((box, i) => (box === 0 ? [] : [{ box, point: points.slice(n * i, n * i + n) }]));
    }
    return (answer.results ?? []).flatMap(({ hits = [], boxes = [] }) => [...hits, ...boxes.map((box) => (typeof box === "object" ? box : { box }))]);
}

/** As the daemon's own filter takes it. */
export function hasHit(shot: Shot): boolean {
    if (shot.kind === "pairs") return (shot.answer.results ?? []).some(({ overlap }) => overlap);
    return shot.kind === "all-pairs" ? (shot.answer.count ?? 0) > 0 : foundOf(shot).length > 0;
}

const HOLD_BOXES = new Set(["box", "boxes", "pair", "pairs", "shapes", "exclude", "missing", "explain", "behind"]);

/** Does the question or its answer name the box, or give its id? Takes the same members for boxes as the daemon's list does. */
export function names({ query, answer }: Shot, name: string, id: number | undefined): boolean {
    const holds = (value: unknown, boxes: boolean): boolean => {
        if (typeof value !== "object" || value === null) return boxes && (value === name || (id !== undefined && value === id));
        if (Array.isArray(value)) return value.some((item) => holds(item, boxes));
        return Object.entries(value).some(([key, member]) => key !== "data" && holds(member, HOLD_BOXES.has(key)));
    };
    return holds(query, false) || holds(answer, false);
}

export function explained({ verdict, by, gap, axis, behind }: Explanation, nameOf: (ref: Ref) => string): string {
    if (verdict === "behind") return `behind ${nameOf(behind ?? "")}`;
    if (verdict === "filtered") return `filtered by its ${by}`;
    if (verdict === "missed") return `missed by ${short(gap ?? 0)}${axis ? `, parted by ${axis.name}` : ""}`;
    return { hit: "hit", absent: "was not there", cut: "beyond the limit of the list" }[verdict];
}

/** The rays of the question, from and to; those without an end go as far as `reach`. */
export function raysOf({ query: { rays } }: Shot, dimensions: number, reach: number): [from: Numbers, to: Numbers][] {
    const on = (from: Numbers, direction: Numbers, length: number) => {
        const way = point(direction).normalize();
        return numbers(point(from).addScaledVector(way, length), dimensions);
    };
    if (rays === undefined) return [];
    if (Array.isArray(rays))
        return rays.map(({ origin, direction, max_distance, from, to }) =>
            from && to ? [from, to] : [origin ?? [], on(origin ?? [], direction ?? [], Math.min(reach, max_distance ?? reach))],
        );
    const { origins, directions, targets, max_distances } = rays;
    const lengthOf = (i: number) => (typeof max_distances === "number" ? max_distances : max_distances?.[i]) ?? reach;
    return Array.from({ length: origins.length / dimensions }, (_, i) => {
        const of = (column: Numbers) => column.slice(i * dimensions, (i + 1) * dimensions);
        return [of(origins), targets ? of(targets) : on(of(origins), of(directions ?? []), Math.min(reach, lengthOf(i)))];
    });
}

function pointsOf(points: Numbers[] | Numbers | undefined, dimensions: number): Numbers[] {
    if (!points || typeof points[0] !== "number") return (points ?? []) as Numbers[];
    const flat = points as Numbers;
    return Array.from({ length: flat.length / dimensions }, (_, i) => flat.slice(i * dimensions, (i + 1) * dimensions));
}

/** What it asked and what it found, drawn. `boxOf` gives the boxes that it names. */
export function marksOf(shot: Shot, tint: Tint, dimensions: number, reach: number, boxOf: (ref: Ref) => Box | undefined): Mark[] {
    const { query } = shot;
    const marks: Mark[] = raysOf(shot, dimensions, reach).map(([from, to]) => ({ kind: "arrow", tint, from, to }));
    for (const at of pointsOf(query.points, dimensions)) marks.push({ kind: "point", tint, at });
    const shape = (some: Shape, motion?: Numbers) => {
        if (typeof some === "object" && some.sphere) marks.push({ kind: "sphere", tint, ...some.sphere });
        if (typeof some === "object" && some.capsule) marks.push({ kind: "line", tint, from: some.capsule.a, to: some.capsule.b });
        const box = typeof some === "object" ? some : boxOf(some);
        if (!box?.center || !("half_extents" in box) || !box.half_extents) return;
        const { center, half_extents } = box;
        marks.push({ kind: "box", tint, box: { ...box, center, half_extents } });
        if (motion) marks.push({ kind: "arrow", tint, from: center, to: center.map((value, i) => value + motion[i]) });
    };
    for (const some of [...(query.shapes ?? []), ...(shot.kind === "nearest" ? (query.boxes ?? []) : [])]) shape(some);
    for (const { box, motion } of query.sweeps ?? []) shape(box, motion);
    for (const { point: at } of foundOf(shot)) if (at) marks.push({ kind: "point", tint: "hit", at });
    return marks;
}

/** What such marks are about: where each begins, and what was hit, or where they end if nothing was. */
export function placesOf(marks: Mark[]): Vector3[] {
    const hit = marks.some(({ tint }) => tint === "hit");
    const places = marks.flatMap((mark): Numbers[] => {
        if (mark.kind === "point") return [mark.at];
        if (mark.kind === "sphere") return [mark.center];
        if (mark.kind === "box") return [mark.box.center];
        return hit ? [mark.from] : [mark.from, mark.to];
    });
    return places.map(point);
}
