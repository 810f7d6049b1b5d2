// What an edit does to a box: sent, undone, and held against what others have done to the same box meanwhile.
import { type Box, numbers, point, type PutBox, putOf, turn } from "./box";
import { stringify } from "./json";

export type Fields = Partial<PutBox>;

/** What becomes of what was, either of the same fields of a box (`alters`), or of a box as a whole; null: there is none. Where a box stands
 * is said in its frame, which stands beside it: so a place stays right however the frame moves. */
export interface Change {
    alters: boolean;
    was: Fields | null;
    becomes: Fields | null;
}

type Field = keyof PutBox;

const NEEDED: Field[] = ["center", "half_extents", "category", "mask", "group"];
const ALLOWED = new Set<string>([...NEEDED, "rotation", "angle", "entity", "data", "ttl"]);
const PLACE = new Set<string>(["frame", "center", "rotation", "angle"]);
const NEAR = 1e-9; // so much, times its size, a number may differ that is the same: rotations are normalised by the daemon

const fieldsOf = (fields: Fields) => Object.keys(fields) as Field[];
const near = (a: number, b: number) => Math.abs(a - b) <= NEAR * Math.max(1, Math.abs(a), Math.abs(b));

const numeric = (value: unknown): value is number[] => Array.isArray(value) && value.every((part) => typeof part === "number");

/** Do two values of a field say the same in this component? */
function sameAt(a: unknown, b: unknown, i: number): boolean {
    return Array.isArray(a) && Array.isArray(b) && near(a[i] as number, b[i] as number);
}

function same(a: unknown, b: unknown): boolean {
    if (typeof a === "number" && typeof b === "number") return near(a, b);
    if (numeric(a) && numeric(b)) return a.length === b.length && a.every((_, i) => sameAt(a, b, i));
    return stringify(a) === stringify(b);
}

/** The components of a field that change; null: it has none, or changes as a whole. */
function components(field: Field, was: unknown, becomes: unknown): number[] | null {
    if ((field !== "center" && field !== "half_extents") || !Array.isArray(was) || !Array.isArray(becomes)) return null;
    return becomes.map((_, i) => i).filter((i) => was[i] !== becomes[i]);
}

/** A box as it stands in its frame, or in the scene if it has none. */
export function own({ local, ...box }: Box): Box {
    return { ...box, ...local };
}

/** The fields that say something else than the box. */
function differing(box: Fields, fields: Fields): Field[] {
    return fieldsOf(fields).filter((field) => stringify(fields[field]) !== stringify(box[field]));
}

const pick = (from: Fields, fields: Field[]) => Object.fromEntries(fields.map((field) => [field, from[field]])) as Fields;

/** Of a box these fields, its place in its frame, become so; null: it is so already. */
export function alteration(box: Box, fields: Fields): Change | null {
    const was = own(box);
    const changed = differing(was, fields);
    if (changed.length === 0) return null;
    if (changed.some((field) => PLACE.has(field)) && !changed.includes("frame")) changed.push("frame");
    return { alters: true, was: pick(was, changed), becomes: pick({ frame: box.frame, ...fields }, changed) };
}

export function reversed({ alters, was, becomes }: Change): Change {
    return { alters, was: becomes, becomes: was };
}

/** An alteration as it is done to a box that others may have changed: of points and sizes only the components that change. */
export function alteredFields(now: Box, { was, becomes }: Change): Fields {
    const fields: Fields = { ...becomes };
    const is = own(now);
    if ("frame" in fields && fields.frame !== now.frame) return fields; // it comes back into its frame
    delete fields.frame;
    for (const field of ["center", "half_extents"] as const) {
        const [from, to] = [was?.[field], becomes?.[field]];
        const changed = components(field, from, to);
        if (changed && to) fields[field] = is[field].map((value, i) => (changed.includes(i) ? to[i] : value));
    }
    return fields;
}

/** Is it only about where the box is? */
export function isMove(change: Change): boolean {
    return change.alters && fieldsOf(change.becomes ?? {}).every((field) => PLACE.has(field));
}

/** Is it written as the daemon writes it? Files may hold other forms, and boxes in frames do. */
export function isPlain(box: object): box is PutBox {
    return NEEDED.every((key) => key in box) && Object.keys(box).every((key) => ALLOWED.has(key));
}

/** The box as it can be put back where it was, also into its frame. */
export function kept(box: Box): PutBox {
    return box.frame === undefined ? putOf(box) : ({ ...putOf(box), ...box.local, frame: box.frame } as PutBox);
}

/** What of these fields is other than of the box, whose place they say in the scene: its place in its frame, which stands as that of `by`. */
export function inFrame(box: Box, fields: Fields, by = box): Fields {
    const said = pick(fields, differing(box, fields));
    const { local } = by;
    if (!local) return said;
    const frame = turn(by).multiply(turn(local).invert());
    const back = frame.clone().invert();
    const origin = point(by.center).sub(point(local.center).applyQuaternion(frame));
    const { center, rotation, angle } = said;
    if (center) {
        const place = numbers(point(center).sub(origin).applyQuaternion(back), center.length);
        said.center = place.map((value, i) => (near(value, local.center[i]) ? local.center[i] : value)); // along other axes it stays
    }
    if (rotation) said.rotation = back.multiply(turn(said)).toArray();
    if (angle !== undefined) said.angle = angle - ((by.angle ?? 0) - (local.angle ?? 0));
    return said;
}

const DEEDS: Partial<Record<Field, string>> = { frame: "moved", center: "moved", rotation: "turned", angle: "turned", half_extents: "resized" };

/**
 * What somebody else did to the box in the fields that the change is about, in words; null: nothing.
 * @param now as it is; undefined: there is none
 * @param written what was last written from here: that is nobody else
 * @param moves a box of which it is known that it moves all the time, so that its place is no news
 */
export function clash({ alters, was, becomes }: Change, name: string, now: Box | undefined, written: Fields, moves: boolean): string | null {
    if (was === null) return now ? `made a box ${name}` : null;
    if (!now) return alters ? `removed ${name}` : null;
    if (!alters && !isPlain(was)) return null; // which cannot be told
    const stands = own(now);
    for (const field of fieldsOf(was)) {
        if (moves && PLACE.has(field) && field !== "frame") continue;
        const [from, to, is] = [was[field], becomes?.[field], stands[field]];
        const changed = alters ? components(field, from, to) : null;
        const known = [from, ...(alters ? [to] : []), ...(field in written ? [written[field]] : [])];
        const fine = changed ? changed.every((i) => known.some((value) => sameAt(value, is, i))) : known.some((value) => same(value, is));
        if (!fine) return DEEDS[field] ? `${DEEDS[field]} ${name}` : `changed the ${field} of ${name}`;
    }
    return null;
}
