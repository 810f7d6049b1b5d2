// What the page knows, in one place. Others read it, change it through the methods here, and hear of changes by topic.
import type { Box } from "./box";

export type Relation = "separate" | "touching" | "intersecting" | "contains" | "inside";
export type Connection = "connecting" | "live" | "lost" | "gone";
export type At = { revision: number } | { time: number };
export type Topic = "scene" | "boxes" | "pairs" | "selection" | "hover" | "status" | "tool" | "history";

const MOVING_MS = 1000; // at least between two poses of a box that moves
const MOVES = 3; // so many poses one after the other are not a motion yet

export interface Pair {
    a: string;
    b: string;
    relation: Relation | null; // null: not known yet
}

/** The boxes and colliding pairs of one state. */
export class Snapshot {
    boxes = new Map<string, Box>();
    readonly pairs = new Set<Pair>();
    deep = 0; // pairs that overlap, as far as is known: at most touch those of which that was read
    unknown = 0; // pairs of which it was not read
    readonly met = new Set<string>(); // boxes whose contacts may have changed since somebody last cleared this
    readonly touched = new Map<string, Map<string, Pair>>(); // by name, the others that it collides with

    addPair(a: string, b: string, relation: Relation | null): Pair {
        this.removePair(a, b);
        const pair = { a, b, relation };
        this.pairs.add(pair);
        this.tally(pair, 1);
        for (const [one, other] of [
            [a, b],
            [b, a],
        ]) {
            const others = this.touched.get(one);
            if (others) others.set(other, pair);
            else this.touched.set(one, new Map([[other, pair]]));
        }
        return pair;
    }

    removePair(a: string, b: string): void {
        const pair = this.touched.get(a)?.get(b);
        if (!pair) return;
        this.pairs.delete(pair);
        this.tally(pair, -1);
        this.touched.get(a)?.delete(b);
        this.touched.get(b)?.delete(a);
    }

    /** What was read of a pair, which may be none any more. */
    relate(pair: Pair, relation: Relation | null): void {
        if (!this.pairs.has(pair)) return;
        this.tally(pair, -1);
        pair.relation = relation;
        this.tally(pair, 1);
    }

    private tally({ a, b, relation }: Pair, by: number): void {
        if (relation !== "touching") this.deep += by;
        if (relation === null) this.unknown += by;
        this.met.add(a).add(b);
    }

    setPairs(pairs: Iterable<[string, string, Relation | null]>): void {
        for (const { a, b } of this.pairs) this.met.add(a).add(b);
        this.pairs.clear();
        this.touched.clear();
        this.deep = 0;
        this.unknown = 0;
        for (const [a, b, relation] of pairs) this.addPair(a, b, relation);
    }

    /** 0: free, 1: touching others at most, 2: reaching into another */
    contact(name: string): 0 | 1 | 2 {
        let worst: 0 | 1 | 2 = 0;
        for (const { relation } of this.touched.get(name)?.values() ?? []) {
            if (relation !== "touching") return 2;
            worst = 1;
        }
        return worst;
    }
}

/** How many pairs overlap, and how many only touch, in words. */
export function counted({ deep, pairs }: Snapshot): string {
    return `pairs: ${deep} overlap, ${pairs.size - deep} touch`;
}

export interface SceneInfo {
    name: string;
    dimensions: number;
    revision: number;
    time: number;
    oldest: { revision: number; time: number };
}

export class Store {
    scenes: string[] = [];
    info: SceneInfo | null = null;
    writable = true; // as far as the token goes
    loaded = ""; // the scene whose boxes are here
    readonly live = new Snapshot();
    past: { at: At; revision: number; time: number; snapshot: Snapshot } | null = null;
    revision = 0; // all changes up to it are known
    time = 0;
    connection: Connection = "connecting";
    detail = ""; // about the connection, a sentence
    selection: string[] = [];
    hover: string | null = null;
    tool = "select"; // or "area", or the kind of a probe
    readonly moved = new Set<string>(); // boxes that are other objects since listeners to "boxes" were called
    restocked = true; // more is other than that: which boxes there are, or whose
    private readonly names = new Map<number, string>(); // of the live boxes, by id
    private readonly motion = new Map<string, { times: number; last: number }>(); // of boxes that were posed, by name
    private readonly listeners = new Map<Topic, (() => void)[]>();
    private readonly pending = new Set<Topic>();
    private readonly coming = new Set<Topic>(); // with the next frame

    get shown(): Snapshot {
        return this.past?.snapshot ?? this.live;
    }

    get dimensions(): number {
        return this.info?.dimensions ?? 3;
    }

    get editable(): boolean {
        return this.info !== null && this.past === null && this.connection === "live" && this.writable;
    }

    /** The one selected box, or null when there are none or several. */
    get selected(): Box | null {
        return this.selection.length === 1 ? (this.shown.boxes.get(this.selection[0]) ?? null) : null;
    }

    /** The selected boxes that there are. */
    get chosen(): Box[] {
        return this.selection.map((name) => this.shown.boxes.get(name)).filter((box) => box !== undefined);
    }

    on(topics: Topic[], listener: () => void): void {
        for (const topic of topics) {
            const known = this.listeners.get(topic);
            if (known) known.push(listener);
            else this.listeners.set(topic, [listener]);
        }
    }

    /** Listeners are called once, when what is running now is done. */
    changed(...topics: Topic[]): void {
        if (this.pending.size === 0) queueMicrotask(() => this.tell());
        for (const topic of topics) this.pending.add(topic);
    }

    /** As `changed`, but called with the next frame, however often this is said until then: events may be many. */
    streamed(...topics: Topic[]): void {
        if (this.coming.size === 0)
            requestAnimationFrame(() => {
                this.changed(...this.coming);
                this.coming.clear();
            });
        for (const topic of topics) this.coming.add(topic);
    }

    /** Is there something that is known here and not told yet? */
    get behind(): boolean {
        return this.coming.size > 0;
    }

    private tell(): void {
        const called = new Set<() => void>();
        const topics = [...this.pending];
        this.pending.clear();
        if (topics.includes("boxes")) {
            const kept = this.selection.filter((name) => this.shown.boxes.has(name));
            if (kept.length !== this.selection.length) {
                this.selection = kept;
                topics.push("selection");
            }
            if (this.hover !== null && !this.shown.boxes.has(this.hover)) this.hover = null;
        }
        for (const topic of topics) for (const listener of this.listeners.get(topic) ?? []) called.add(listener);
        for (const listener of called) listener();
        if (!topics.includes("boxes")) return;
        this.moved.clear();
        this.restocked = false;
    }

    /** A live box is new, or other than it was. */
    putBox(box: Box): void {
        const { boxes } = this.live;
        const known = boxes.get(box.name);
        boxes.set(box.name, box);
        if (known && known.id === box.id && known.entity === box.entity) {
            this.moved.add(box.name);
            return;
        }
        if (known) this.names.delete(known.id);
        this.names.set(box.id, box.name);
        this.restocked = true;
    }

    dropBox(name: string): void {
        const known = this.live.boxes.get(name);
        if (!known) return;
        this.names.delete(known.id);
        this.live.boxes.delete(name);
        this.restocked = true;
    }

    /** These are the live boxes, and no others. */
    setBoxes(boxes: Box[]): void {
        this.live.boxes = new Map(boxes.map((box) => [box.name, box]));
        this.names.clear();
        for (const { id, name } of boxes) this.names.set(id, name);
        this.restocked = true;
    }

    boxOf(id: number): Box | undefined {
        return this.live.boxes.get(this.names.get(id) ?? "");
    }

    select(names: string[]): void {
        this.selection = names;
        this.changed("selection");
    }

    /** As a click on a box does, or beside all: with `more` it joins the selection or leaves it. */
    pick(name: string | null, more: boolean): void {
        if (name === null) {
            if (!more) this.select([]);
        } else if (!more) this.select([name]);
        else if (this.selection.includes(name)) this.select(this.selection.filter((other) => other !== name));
        else this.select([...this.selection, name]);
    }

    /** These boxes were posed, here or by somebody else. */
    posed(names: string[]): void {
        const now = performance.now();
        for (const name of names) {
            const known = this.motion.get(name);
            if (!known) this.motion.set(name, { times: 1, last: now });
            else {
                known.times = now - known.last < MOVING_MS ? known.times + 1 : 1;
                known.last = now;
            }
        }
    }

    /** Is the box one that is posed again and again, as games do? Then its place is expected to change. */
    moves(name: string): boolean {
        const known = this.motion.get(name);
        return known !== undefined && known.times > MOVES && performance.now() - known.last < MOVING_MS;
    }

    forgetMotion(): void {
        this.motion.clear();
    }

    setHover(name: string | null): void {
        if (this.hover === name) return;
        this.hover = name;
        this.changed("hover");
    }

    setTool(tool: string): void {
        this.tool = tool;
        this.changed("tool");
    }

    setConnection(connection: Connection, detail = ""): void {
        this.connection = connection;
        this.detail = detail;
        this.changed("status");
    }

    saw(revision: number, time: number): void {
        if (revision < this.revision) return;
        this.revision = revision;
        this.time = time;
        this.streamed("status", "history");
    }

    /** A name that no box has, like `stem`. */
    freeName(stem: string, taken?: Set<string>): string {
        const base = stem.replace(/-\d+$/, "");
        for (let i = 1; ; i++) {
            const name = `${base}-${i}`;
            if (!this.live.boxes.has(name) && !taken?.has(name)) return name;
        }
    }
}
