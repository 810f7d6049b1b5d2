// What the page knows, in one place. Others read it, change it through the methods here, and hear of changes by topic.
import type { Box } from "./box";
import { Ring } from "./ring";
import { type Pair, type Relation, Snapshot } from "./snapshot";

export type Connection = "connecting" | "live" | "lost" | "gone";
export type At = { revision: number } | { time: number };
export type Topic = "scene" | "boxes" | "pairs" | "selection" | "hover" | "status" | "tool" | "history";

const MOVING_MS = 1000; // at least between two poses of a box that moves
const MOVES = 3; // so many poses one after the other are not a motion yet

export interface SceneInfo {
    name: string;
    dimensions: number;
    revision: number;
    time: number;
    history: { span: number; commits: number };
    record: number; // queries that are kept
    oldest: { revision: number; time: number };
}

/** A state of the past, from the page's memory, or as the daemon has it. */
export interface Past {
    at: At;
    revision: number;
    time: number;
    snapshot: Snapshot;
    seq?: number; // of the memory: after which change
}

export class Store {
    scenes: string[] = [];
    info: SceneInfo | null = null;
    writable = true; // as far as the token goes
    loaded = ""; // the scene whose boxes are here
    settling = false; // they have just come, and which of their pairs only touch is on its way
    readonly live = new Snapshot();
    readonly ring = new Ring(); // of what was seen
    past: Past | null = null;
    revision = 0; // all changes up to it are known
    time = 0;
    connection: Connection = "connecting";
    detail = ""; // about the connection, a sentence
    selection: string[] = [];
    hover: string | null = null;
    tool = "select"; // or "area", or the kind of a probe
    readonly moved = new Set<string>(); // boxes shown that are other objects since listeners to "boxes" were called
    restocked = true; // more is other than that: which boxes are shown, or whose
    private readonly names = new Map<number, string>(); // of the live boxes, by id
    private readonly places = new Map<number, number>(); // of boxes put back, by id: the ids that they had at first
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
        this.ring.put(known, box);
        if (known && known.id === box.id && known.entity === box.entity) {
            if (!this.past) this.moved.add(box.name);
            return;
        }
        if (known) this.names.delete(known.id);
        this.names.set(box.id, box.name);
        this.restocked ||= !this.past;
    }

    dropBox(name: string): void {
        this.motion.delete(name);
        const known = this.live.boxes.get(name);
        if (!known) return;
        this.names.delete(known.id);
        this.live.dropBox(name);
        this.ring.remove(known);
        this.restocked ||= !this.past;
    }

    /** These are the live boxes, and no others; `missed`: the events that led to them will not come. */
    setBoxes(boxes: Box[], missed = false): void {
        const before = this.live.boxes;
        this.live.setBoxes(new Map(boxes.map((box) => [box.name, box])));
        if (missed) this.ring.bridge(before, this.live.boxes);
        else {
            for (const box of boxes) this.ring.put(before.get(box.name), box);
            for (const box of before.values()) if (!this.live.boxes.has(box.name)) this.ring.remove(box);
        }
        this.names.clear();
        for (const { id, name } of boxes) this.names.set(id, name);
        for (const name of this.motion.keys())
            if (!this.live.boxes.has(name)) this.motion.delete(name);
        this.restocked ||= !this.past;
    }

    /** These are the live pairs, and no others; their relations are still to be read. */
    setPairs(pairs: [string, string][]): void {
        const { live, ring } = this;
        const ended = new Set(live.pairs);
        for (const [a, b] of pairs) {
            const known = live.touched.get(a)?.get(b);
            if (known) ended.delete(known);
            if (known?.relation !== null) ring.relate({ a, b, before: known?.relation, after: null });
        }
        for (const { a, b, relation } of ended) ring.relate({ a, b, before: relation, after: undefined });
        live.setPairs(pairs.map(([a, b]) => [a, b, null]));
    }

    /** A live pair collides from now on. */
    join(a: string, b: string): Pair {
        const before = this.live.touched.get(a)?.get(b);
        this.ring.relate({ a, b, before: before ? before.relation : undefined, after: null });
        return this.live.addPair(a, b, null);
    }

    /** A live pair does not collide any more. */
    part(a: string, b: string): void {
        const before = this.live.touched.get(a)?.get(b);
        if (before) this.ring.relate({ a, b, before: before.relation, after: undefined });
        this.live.removePair(a, b);
    }

    /** What was read of a pair at that revision, which may have ended since. */
    relate(pair: Pair, relation: Relation | null, revision: number): void {
        const { live, past, ring } = this;
        const { a, b, relation: before } = pair;
        if (before === relation) return;
        if (!live.pairs.has(pair)) {
            const states = relation && ring.settleAt(revision, a, b, relation);
            const shown = past?.snapshot.touched.get(a)?.get(b);
            if (states && shown && past?.seq !== undefined && states[0] <= past.seq && past.seq < states[1]) past.snapshot.relate(shown, relation);
            return;
        }
        live.relate(pair, relation);
        if (before !== null) ring.relate({ a, b, before, after: relation });
        else {
            ring.settle(a, b, relation); // so it is as long as the pair is known
            const shown = past?.snapshot.touched.get(a)?.get(b);
            if (shown && shown.relation === null) past?.snapshot.relate(shown, relation);
        }
    }

    /** Shows a state of the past, or the present again. Unless only `moved` differ from what was shown, it is taken for another scene. */
    look(past: Past | null, moved?: Iterable<string>): void {
        this.past = past;
        if (moved) for (const name of moved) this.moved.add(name);
        else this.restocked = true;
        this.changed("boxes", "pairs", "status", "history");
    }

    /** Where the box stands among the others: by its id, or if it was put back, by the one that it had at first. */
    placeOf({ id }: Box): number {
        return this.places.get(id) ?? id;
    }

    /** A live box was put back: it stands where it stood. */
    keepPlace(name: string, place: number): void {
        const box = this.live.boxes.get(name);
        if (!box || box.id === place) return;
        this.places.set(box.id, place);
        this.restocked ||= !this.past;
    }

    forgetPlaces(): void {
        this.places.clear();
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

    /** An answer says the time of that revision. Of a clock that goes on alone no event tells. */
    heard(revision: number, time: number): void {
        if (revision !== this.revision || time <= this.time) return;
        this.time = time;
        this.changed("status");
    }

    /** This is what the scene keeps, which others may have set. */
    learn(info: SceneInfo): void {
        if (this.info?.name !== info.name) return;
        this.heard(info.revision, info.time);
        Object.assign(this.info, info);
        this.changed("scene", "history");
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
