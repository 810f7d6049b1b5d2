// Pages of boxes, read and decoded: in the worker of reader.ts, and where there is none in the page. What another thread hands over costs
// little in columns, whose buffers change hands.
import type { Box } from "./box";
import { parse } from "./json";

/** What is asked for: the address of the first page, and what goes with every request. */
export interface Wanted {
    url: string;
    headers: Record<string, string>;
}

/** One page of boxes in columns. */
export interface BoxPage {
    revision: number;
    time: number;
    at?: { revision: number; time: number };
    names: string[];
    ids: Float64Array;
    centers: Float64Array; // 2 or 3 numbers a box
    halves: Float64Array;
    turns: Float64Array; // 4 numbers of a rotation, or 1 of an angle
    bits: Float64Array; // category, mask and group
    rest: [number, Partial<Box>][]; // of the boxes that have more: which one, and what
}

/** An answer of 400 or more, whose body may be a problem document. */
export class Refusal extends Error {
    constructor(
        readonly status: number,
        readonly body: string,
    ) {
        super(`status ${status}`);
    }
}

interface Answer {
    boxes: (Box & { changed: number })[];
    revision: number;
    time: number;
    at?: { revision: number; time: number };
    cursor?: string;
}

/** Reads one page after the other. Throws Refusal, and what fetch throws where the daemon does not answer. */
export async function* readPages({ url, headers }: Wanted, signal: AbortSignal): AsyncGenerator<BoxPage> {
    let cursor: string | undefined;
    do {
        const after = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
        const response = await fetch(url + after, { headers: { ...headers, Accept: "application/json" }, signal, cache: "no-store", credentials: "omit" });
        const text = await response.text();
        if (!response.ok) throw new Refusal(response.status, text);
        const answer = (text.includes('"data"') ? parse(text) : JSON.parse(text)) as Answer; // nothing else may be so large
        cursor = answer.cursor;
        yield columnsOf(answer);
    } while (cursor !== undefined);
}

function columnsOf({ boxes, revision, time, at }: Answer): BoxPage {
    const wide = boxes[0]?.center.length ?? 3;
    const turn = wide === 2 ? 1 : 4;
    const room = (width: number) => new Float64Array(width * boxes.length);
    const page: BoxPage = { revision, time, names: [], ids: room(1), centers: room(wide), halves: room(wide), turns: room(turn), bits: room(3), rest: [] };
    if (at) page.at = at;
    boxes.forEach((box, i) => {
        const { name, id, center, half_extents, rotation, angle, category, mask, group, changed: _, ...more } = box;
        page.names.push(name);
        page.ids[i] = id;
        page.centers.set(center, wide * i);
        page.halves.set(half_extents, wide * i);
        page.turns.set(rotation ?? [angle ?? 0], turn * i);
        page.bits.set([category, mask, group], 3 * i);
        if (Object.keys(more).length > 0) page.rest.push([i, more]);
    });
    return page;
}

/** What changes hands. */
export function buffersOf({ ids, centers, halves, turns, bits }: BoxPage): ArrayBuffer[] {
    return [ids, centers, halves, turns, bits].map(({ buffer }) => buffer as ArrayBuffer);
}

/** The boxes of a page, as they were at its revision. */
export function boxesOf({ revision, names, ids, centers, halves, turns, bits, rest }: BoxPage): Box[] {
    const flat = centers.length === 2 * names.length;
    const boxes = names.map((name, i): Box => {
        const [a, b, c] = [3 * i, 3 * i + 1, 3 * i + 2];
        if (flat) {
            const [x, y] = [2 * i, 2 * i + 1];
            return { name, id: ids[i], center: [centers[x], centers[y]], half_extents: [halves[x], halves[y]], angle: turns[i], category: bits[a], mask: bits[b], group: bits[c], seen: revision };
        }
        const t = 4 * i;
        return {
            name,
            id: ids[i],
            center: [centers[a], centers[b], centers[c]],
            half_extents: [halves[a], halves[b], halves[c]],
            rotation: [turns[t], turns[t + 1], turns[t + 2], turns[t + 3]],
            category: bits[a],
            mask: bits[b],
            group: bits[c],
            seen: revision,
        };
    });
    for (const [i, more] of rest) Object.assign(boxes[i], more);
    return boxes;
}
