// What the page has seen of a scene, change by change, so that any of it can be shown again: minutes, within a bound of bytes.
// Poses stand in columns; each names the entry that holds the pose of its box before, so that time goes both ways.
import type { Box, Pose } from "./box";
import { stringify } from "./json";
import type { Relation, Snapshot } from "./snapshot";

const LIMIT = 96 * 2 ** 20; // bytes, about
const OF_ENTRY = 300;
const OF_POSE = 12; // beside its numbers
const OF_BOX = 800;
const OF_PAIR = 80;
const NONE = 2 ** 32 - 1; // no entry that is kept

export interface Moment {
    revision: number;
    time: number; // of the scene's clock
    heard: number; // ms of the page's clock
}

/** undefined: no pair; null: a pair of which more is not known */
export interface PairChange {
    a: string;
    b: string;
    before: Relation | null | undefined;
    after: Relation | null | undefined;
}

interface BoxChange {
    name: string;
    before: Box | undefined;
    after: Box | undefined;
}

interface Entry extends Moment {
    count: number; // of boxes posed; the columns may have room for more
    slots: Uint32Array;
    poses: Float64Array;
    prevs: Uint32Array; // the entries that hold the poses before
    spots: Uint32Array; // and where in them
    boxes: BoxChange[];
    pairs: PairChange[];
}

export class Ring {
    /** How often all was forgotten: revisions of another era mean something else. */
    era = 0;
    private entries: Entry[] = [];
    private first = 1; // number of the first of them; that of the state before it is one less
    private start: Moment | null = null;
    private bytes = 0;
    private width = 7; // numbers a pose
    private readonly slots = new Map<string, number>();
    private names: string[] = []; // by slot, as what follows
    private base: (Float64Array | undefined)[] = []; // poses before the first entry kept
    private heads: [entry: number, spot: number][] = []; // where their newest poses are
    private free: number[] = [];
    private readonly ahead = new Map<string, Box>(); // as boxes were that were read before the event of their pose came
    private readonly unsettled = new Map<string, PairChange>();

    constructor(private readonly limit = LIMIT) {}

    /** What is seen from now on has nothing to do with what was. */
    reset(): void {
        this.era++;
        this.first = this.newest + 2; // numbers are not given twice, nor is that of the state before the first entry
        this.entries = [];
        this.start = null;
        this.bytes = 0;
        this.names = [];
        this.base = [];
        this.heads = [];
        this.free = [];
        for (const map of [this.slots, this.ahead, this.unsettled]) map.clear();
    }

    // ---- What is kept --------------------------------------------------------------------------------

    /** The oldest and the newest state that can be shown, as numbers: after which entry. */
    get oldest(): number {
        return this.first - 1;
    }

    get newest(): number {
        return this.first - 1 + this.entries.length;
    }

    /** null: it is not kept any more, or not there yet. */
    moment(seq: number): Moment | null {
        return seq === this.oldest ? this.start : (this.entries[seq - this.first] ?? null);
    }

    /** The last state not after that revision; null: older than what is kept, or nothing is. */
    find(revision: number): number | null {
        return this.search((moment) => moment.revision <= revision);
    }

    /** The same by the page's clock, or the oldest. */
    heardAt(heard: number): number {
        return this.search((moment) => moment.heard <= heard) ?? this.oldest;
    }

    private search(early: (moment: Moment) => boolean): number | null {
        if (!this.start || !early(this.start)) return null;
        let [low, high] = [0, this.entries.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if (early(this.entries[middle])) low = middle + 1;
            else high = middle;
        }
        return this.first - 1 + low;
    }

    /** Pairs that began and ended with the entry. */
    turns(seq: number): PairChange[] {
        return this.entries[seq - this.first]?.pairs.filter(({ before, after }) => (before === undefined) !== (after === undefined)) ?? [];
    }

    /** What was heard after that time of the page's clock. Cost: the entries since then. */
    tally(since: number): { commits: number; boxes: number; began: number; ended: number } {
        const sum = { commits: 0, boxes: 0, began: 0, ended: 0 };
        for (let seq = this.newest; seq >= this.first && this.entries[seq - this.first].heard > since; seq--) {
            const entry = this.entries[seq - this.first];
            sum.commits += entry.revision - (this.moment(seq - 1)?.revision ?? entry.revision - 1);
            sum.boxes += entry.count;
            for (const { before, after } of entry.pairs) {
                if (before === undefined && after !== undefined) sum.began++;
                if (before !== undefined && after === undefined) sum.ended++;
            }
        }
        return sum;
    }

    // ---- Recording -----------------------------------------------------------------------------------

    /** What follows belongs to that revision. The first one is the state that all begins with. */
    begin(revision: number, time: number, heard = performance.now()): void {
        if (!this.start) this.start = { revision, time, heard };
        const last = this.moment(this.newest);
        if (!last || revision <= last.revision) return;
        this.entries.push({ revision, time, heard, count: 0, slots: new Uint32Array(), poses: new Float64Array(), prevs: new Uint32Array(), spots: new Uint32Array(), boxes: [], pairs: [] });
        this.grow(OF_ENTRY);
    }

    /** The newest entry, once there is one. */
    private get open(): Entry | undefined {
        return this.entries.at(-1);
    }

    private grow(bytes: number): void {
        this.bytes += bytes;
        while (this.bytes > this.limit && this.entries.length > 1) this.drop();
    }

    private drop(): void {
        const entry = this.entries.shift();
        if (!entry) return;
        const { revision, time, heard, count, slots, poses } = entry;
        this.start = { revision, time, heard };
        this.bytes -= sizeOf(entry);
        slots.subarray(0, count).forEach((slot, i) => {
            if (this.heads[slot][0] > this.first || (this.heads[slot][0] === this.first && this.heads[slot][1] > i)) {
                this.base[slot] = poses.slice(i * this.width, (i + 1) * this.width);
                return;
            }
            this.slots.delete(this.names[slot]); // it has not moved since
            this.base[slot] = undefined;
            this.free.push(slot);
        });
        for (const change of entry.pairs) {
            const key = keyOf(change.a, change.b);
            if (this.unsettled.get(key) === change) this.unsettled.delete(key);
        }
        this.first++;
    }

    private slotOf(name: string, before: Pose): number {
        const known = this.slots.get(name);
        if (known !== undefined) return known;
        const slot = this.free.pop() ?? this.names.length;
        this.slots.set(name, slot);
        this.names[slot] = name;
        this.base[slot] = Float64Array.from(numbersOf(before));
        this.heads[slot] = [NONE, 0];
        return slot;
    }

    /** Poses of the newest entry: boxes as they were, and as they are. */
    pose(posed: [before: Box, after: Box][]): void {
        const entry = this.open;
        if (!entry || posed.length === 0) return;
        this.width = posed[0][1].angle === undefined ? 7 : 3;
        const size = sizeOf(entry);
        reserve(entry, entry.count + posed.length, this.width);
        for (const [before, after] of posed) {
            const slot = this.slotOf(after.name, this.ahead.get(after.name) ?? before);
            const i = entry.count++;
            this.ahead.delete(after.name);
            entry.slots[i] = slot;
            entry.poses.set(numbersOf(after), i * this.width);
            [entry.prevs[i], entry.spots[i]] = this.heads[slot];
            this.heads[slot] = [this.newest, i];
        }
        this.grow(sizeOf(entry) - size);
    }

    /** A box is there, in place of `before`, if that is not undefined. Poses alone come by `pose`. */
    put(before: Box | undefined, after: Box): void {
        if (!this.start) return;
        const entry = this.open;
        if (before && !differs(before, after)) {
            if (!this.slots.has(after.name) && !this.ahead.has(after.name) && moved(before, after)) this.ahead.set(after.name, before);
            return;
        }
        if (!entry) return;
        entry.boxes.push({ name: after.name, before, after });
        this.grow(OF_BOX);
        this.pose([[before ?? after, after]]);
    }

    remove(before: Box): void {
        if (!this.open) return;
        this.open.boxes.push({ name: before.name, before, after: undefined });
        this.grow(OF_BOX);
        this.pose([[before, before]]); // where it was counts when it comes again
    }

    /** All boxes of the newest entry, before it and after it, where no events come that tell what led from one to the other. */
    bridge(before: Map<string, Box>, after: Map<string, Box>): void {
        const posed: [Box, Box][] = [];
        for (const box of after.values()) {
            const known = before.get(box.name);
            if (!known || differs(known, box)) this.put(known, box);
            else if (moved(known, box) || this.slots.has(box.name) || this.ahead.has(box.name)) posed.push([known, box]);
        }
        for (const box of before.values()) if (!after.has(box.name)) this.remove(box);
        this.pose(posed);
    }

    relate(change: PairChange): void {
        if (!this.open) return;
        this.open.pairs.push(change);
        if (change.after === null) this.unsettled.set(keyOf(change.a, change.b), change);
        else this.unsettled.delete(keyOf(change.a, change.b));
        this.grow(OF_PAIR);
    }

    /** What was read of a pair that had begun before. */
    settle(a: string, b: string, relation: Relation | null): void {
        const change = this.unsettled.get(keyOf(a, b));
        if (change) change.after = relation;
        this.unsettled.delete(keyOf(a, b));
    }

    /**
     * What was read of a pair as it was at that revision, and which ended before the answer was here. Gives the states in which it was so,
     * by their numbers, the last one excluded; null: that is not kept. Cost: the changes of pairs since then.
     */
    settleAt(revision: number, a: string, b: string, relation: Relation): [from: number, until: number] | null {
        const key = keyOf(a, b);
        let ended: PairChange | null = null;
        let until = 0;
        for (let seq = this.newest; seq >= this.first; seq--) {
            const entry = this.entries[seq - this.first];
            for (const change of [...entry.pairs].reverse()) {
                if (keyOf(change.a, change.b) !== key) continue;
                if (entry.revision > revision) {
                    ended = change;
                    until = seq;
                } else {
                    if (change.after !== null || ended?.before !== null) return null;
                    change.after = relation;
                    ended.before = relation;
                    return [seq, until];
                }
            }
        }
        return null;
    }

    // ---- Showing -------------------------------------------------------------------------------------

    private read(poses: Float64Array, spot: number): Pick<Pose, "center" | "rotation" | "angle"> {
        const values = [...poses.subarray(spot * this.width, (spot + 1) * this.width)];
        return this.width === 7 ? { center: values.slice(0, 3), rotation: values.slice(3) } : { center: values.slice(0, 2), angle: values[2] };
    }

    private before({ slots, prevs, spots }: Entry, i: number): Pick<Pose, "center" | "rotation" | "angle"> {
        if (prevs[i] === NONE || prevs[i] < this.first) return this.read(this.base[slots[i]] ?? new Float64Array(this.width), 0);
        return this.read(this.entries[prevs[i] - this.first].poses, spots[i]);
    }

    /**
     * Takes a snapshot of the state after entry `from` to that after entry `to`. Gives the boxes that are others now, and whether
     * there are others than before. Cost: the changes between, and an object for each box that changed.
     */
    move(snapshot: Snapshot, from: number, to: number): { moved: Set<string>; restocked: boolean } {
        const moved = new Set<string>();
        let restocked = false;
        const on = to > from;
        const between = this.entries.slice(Math.min(from, to) + 1 - this.first, Math.max(from, to) + 1 - this.first);
        const ordered = <T>(list: T[]) => (on ? list : [...list].reverse());
        for (const { boxes, pairs } of ordered(between)) {
            for (const { name, before, after } of ordered(boxes)) {
                const [was, is] = on ? [before, after] : [after, before];
                if (is) snapshot.boxes.set(name, is);
                else snapshot.dropBox(name);
                moved.add(name);
                restocked ||= !is || !was || is.id !== was.id || is.entity !== was.entity;
            }
            for (const { a, b, before, after } of ordered(pairs)) {
                const relation = on ? after : before;
                if (relation === undefined) snapshot.removePair(a, b);
                else snapshot.addPair(a, b, relation);
            }
        }
        const done = new Uint8Array(this.names.length);
        for (const entry of on ? [...between].reverse() : between) {
            const { count, slots, poses } = entry;
            for (let n = 0; n < count; n++) {
                const i = on ? count - 1 - n : n; // of two poses of a box the one that is nearer to the end
                if (done[slots[i]]) continue;
                done[slots[i]] = 1;
                const box = snapshot.boxes.get(this.names[slots[i]]);
                if (!box) continue;
                snapshot.boxes.set(box.name, { ...box, ...(on ? this.read(poses, i) : this.before(entry, i)) });
                moved.add(box.name);
            }
        }
        return { moved, restocked };
    }

    /** The boxes that are not the same after two entries, or may not be. */
    changed(from: number, to: number): Set<string> {
        const names = new Set<string>();
        for (const { count, slots, boxes } of this.entries.slice(from + 1 - this.first, to + 1 - this.first)) {
            for (const slot of slots.subarray(0, count)) names.add(this.names[slot]);
            for (const { name } of boxes) names.add(name);
        }
        return names;
    }

    /** Where a box was after each entry that moved it within that time of the page's clock, and when; the oldest first. */
    path(name: string, since: number, until: number): { heard: number; pose: Pick<Pose, "center" | "rotation" | "angle"> }[] {
        const slot = this.slots.get(name);
        if (slot === undefined) return [];
        const path: { heard: number; pose: Pick<Pose, "center" | "rotation" | "angle"> }[] = [];
        let [seq, spot] = this.heads[slot];
        while (seq !== NONE && seq >= this.first) {
            const entry = this.entries[seq - this.first];
            if (entry.heard < since) break;
            if (entry.heard <= until) path.push({ heard: entry.heard, pose: this.read(entry.poses, spot) });
            [seq, spot] = [entry.prevs[spot], entry.spots[spot]];
        }
        return path.reverse();
    }
}

function sizeOf({ slots, poses, boxes, pairs }: Entry): number {
    return OF_ENTRY + slots.length * OF_POSE + poses.byteLength + boxes.length * OF_BOX + pairs.length * OF_PAIR;
}

/** Makes room for so many poses: for exactly those that come with an event, with some to spare for those that come one by one. */
function reserve(entry: Entry, count: number, width: number): void {
    if (count <= entry.slots.length) return;
    const room = entry.count === 0 ? count : Math.max(count, 2 * entry.slots.length);
    const wider = <T extends Uint32Array | Float64Array>(column: T, longer: T): T => {
        longer.set(column);
        return longer;
    };
    entry.slots = wider(entry.slots, new Uint32Array(room));
    entry.poses = wider(entry.poses, new Float64Array(room * width));
    entry.prevs = wider(entry.prevs, new Uint32Array(room));
    entry.spots = wider(entry.spots, new Uint32Array(room));
}

function numbersOf({ center, rotation, angle }: Pose): number[] {
    return angle === undefined ? [...center, ...(rotation ?? [0, 0, 0, 1])] : [...center, angle];
}

function keyOf(a: string, b: string): string {
    return a < b ? `${a}\n${b}` : `${b}\n${a}`;
}

function same(a: number[], b: number[]): boolean {
    return a.every((value, i) => value === b[i]);
}

function moved(a: Box, b: Box): boolean {
    return !same(numbersOf(a), numbersOf(b));
}

/** In anything but its pose. */
function differs(a: Box, b: Box): boolean {
    if (a.half_extents !== b.half_extents && !same(a.half_extents, b.half_extents)) return true;
    if (a.id !== b.id || a.category !== b.category || a.mask !== b.mask || a.group !== b.group || a.entity !== b.entity || a.ttl !== b.ttl || a.frame !== b.frame) return true;
    return a.data !== b.data && stringify(a.data) !== stringify(b.data);
}
