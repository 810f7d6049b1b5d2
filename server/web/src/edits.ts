// Changes made here, each one commit, with undo and redo. What is sent is only what was changed, on condition that nobody else has
// changed the same; what somebody has is kept for the user to decide about.
import type { Box, Pose, PutBox } from "./box";
import { alteration, alteredFields, type Change, clash, type Fields, inFrame, isMove, isPlain, kept, own, reversed } from "./change";
import { type Client, EXACT, Problem } from "./client";
import type { Feed } from "./feed";
import { scenePath } from "./paths";
import type { Store } from "./store";

/** By name what a box becomes as a whole; null: it is removed. */
export type Puts = Map<string, PutBox | null>;

interface Edit {
    label: string;
    changes: Map<string, Change>;
}

export interface Conflict {
    label: string;
    message: string;
    again: () => Promise<void>;
}

/** A scene while it is open. What was begun in it belongs to it, also where another one is open before that is answered. */
export interface Visit {
    readonly scene: string;
}

/** Somebody else has changed the same. */
class Clash extends Error {}

/** It was done, and its scene is not open any more: what the page knows is about another one. */
class Left extends Error {}

/** It was not done while its scene was open. */
class Late extends Error {
    constructor() {
        super("Another scene was opened before it was done.");
    }
}

interface Answer {
    revision: number;
    ids?: Record<string, number>;
}

const CAREFUL = 3; // times to try on condition that no box was changed at all; after that what was read last has to do
const NAMED = 3; // boxes in a message

/** Fields of boxes, their places in their frames, become so where they are not. */
function alterations(boxes: Box[], fields: Map<string, Fields>): Map<string, Change> {
    const changes = new Map<string, Change>();
    for (const box of boxes) {
        const change = alteration(box, fields.get(box.name) ?? {});
        if (change) changes.set(box.name, change);
    }
    return changes;
}

export class Edits {
    conflict: Conflict | null = null;
    failure = "";
    onChange: () => void = () => {};
    private done: Edit[] = [];
    private undone: Edit[] = [];
    private readonly written = new Map<string, Fields>(); // by name, what was last written from here
    private readonly places = new Map<string, number>(); // of boxes removed from here, by name
    private visit: Visit = { scene: "" };
    private queue: Promise<unknown> = Promise.resolve();
    private waiting = 0;

    constructor(
        private readonly store: Store,
        private readonly client: Client,
        private readonly feed: Feed,
    ) {}

    get undoLabel(): string | null {
        return this.done.at(-1)?.label ?? null;
    }

    get redoLabel(): string | null {
        return this.undone.at(-1)?.label ?? null;
    }

    /** Acts when all that was begun is answered, if the same scene is open then. What acts on the selection waits so: it may be about to change. */
    whenSettled(act: () => void): void {
        const { visit } = this;
        void this.queue.then(() => visit === this.visit && act());
    }

    /** Is there one that is not answered yet? */
    get busy(): boolean {
        return this.waiting > 0;
    }

    /** The scene that is open. */
    get open(): Visit {
        return this.visit;
    }

    /** Another scene is opened, or the same one anew. */
    enter(scene: string): void {
        this.visit = { scene };
        this.done = [];
        this.undone = [];
        this.written.clear();
        this.places.clear();
        this.store.forgetPlaces();
        this.dismiss();
    }

    dismiss(): void {
        this.conflict = null;
        this.failure = "";
        this.onChange();
    }

    /** Boxes are made, replaced as a whole, or removed. */
    put(label: string, boxes: Puts): Promise<boolean> {
        return this.apply(label, () => {
            const changes = new Map<string, Change>();
            for (const [name, becomes] of boxes) {
                const box = this.store.live.boxes.get(name);
                if (box || becomes) changes.set(name, { alters: false, was: box ? kept(box) : null, becomes });
            }
            return changes;
        });
    }

    /** Of a box, fields become so. It is given as the user saw it when the change began. */
    alter(label: string, box: Box, fields: Fields): Promise<boolean> {
        return this.pose(label, [box], new Map([[box.name, fields]]));
    }

    /** Boxes elsewhere, all at once. They are given as the user saw them when the change began. */
    pose(label: string, boxes: Box[], poses: Map<string, Fields>): Promise<boolean> {
        const places = new Map(boxes.map((box) => [box.name, inFrame(box, poses.get(box.name) ?? {})]));
        return this.apply(label, () => alterations(boxes, places));
    }

    /** Poses of boxes that are dragged, in their frames as these stand now: where the pointer is. */
    private placesOf(boxes: Box[], poses: Map<string, Pose>): Map<string, Fields> {
        const { live } = this.store;
        return new Map(
            boxes.map((box) => {
                const now = live.boxes.get(box.name);
                return [box.name, inFrame(box, poses.get(box.name) ?? {}, now?.frame === box.frame ? now : box)];
            }),
        );
    }

    /** Boxes go elsewhere, all at once, and go on from there: nothing is to be undone yet, and what is refused is not said.
     * They are given as they were sent last, or as the user saw them when it began. Gives them as they are sent now; null: refused. */
    pass(visit: Visit, boxes: Box[], poses: Map<string, Pose>): Promise<Box[] | null> {
        const turn = this.queue.then(async () => {
            this.busyWith(1);
            try {
                const places = this.placesOf(boxes, poses);
                await this.make(visit, alterations(boxes, places), false);
                return boxes.map((box) => {
                    const { half_extents, ...place } = places.get(box.name) ?? {};
                    return { ...box, ...poses.get(box.name), ...(box.local && { local: { ...box.local, ...place } }) };
                });
            } catch {
                return null;
            } finally {
                this.busyWith(-1);
            }
        });
        this.queue = turn;
        return turn;
    }

    /** Boxes that passed other places have arrived: one step to undo. `began`: as they were before; `sent`: as they were sent last, once
     * all that passed is answered. */
    arrive(visit: Visit, label: string, began: Box[], sent: () => Box[], poses: Map<string, Pose>): Promise<boolean> {
        return this.inTurn(
            label,
            async (force) => {
                const boxes = sent();
                const places = this.placesOf(boxes, poses);
                const passed = alterations(began, new Map(boxes.map((box) => [box.name, own(box)])));
                try {
                    await this.make(visit, alterations(boxes, places), force);
                } catch (error) {
                    if (!force && visit === this.visit && passed.size > 0) this.did(label, passed); // as far as they came
                    throw error;
                }
                const arrived = new Map(boxes.map((box) => [box.name, { ...own(box), ...places.get(box.name) }]));
                const changes = alterations(force ? boxes : began, arrived);
                if (changes.size > 0) this.did(label, changes);
            },
            visit,
        );
    }

    private apply(label: string, make: () => Map<string, Change>): Promise<boolean> {
        return this.inTurn(label, async (force, visit) => {
            const changes = await this.make(visit, make(), force);
            if (changes.size > 0) this.did(label, changes);
        });
    }

    private did(label: string, changes: Map<string, Change>): void {
        this.done.push({ label, changes });
        this.undone = [];
    }

    private busyWith(more: number): void {
        this.waiting += more;
        this.onChange();
    }

    undo(): Promise<boolean> {
        return this.inTurn(`undo ${this.undoLabel}`, async (force, visit) => {
            const edit = this.done.at(-1);
            if (!edit) return;
            this.putBack(await this.make(visit, new Map([...edit.changes].map(([name, change]) => [name, reversed(change)])), force));
            this.undone.push(edit);
            this.done.pop();
        });
    }

    redo(): Promise<boolean> {
        return this.inTurn(`redo ${this.redoLabel}`, async (force, visit) => {
            const edit = this.undone.at(-1);
            if (!edit) return;
            this.putBack(await this.make(visit, edit.changes, force));
            this.done.push(edit);
            this.undone.pop();
        });
    }

    /** Boxes that were made again have other ids, and stand where they stood. */
    private putBack(changes: Map<string, Change>): void {
        for (const [name, { alters, was, becomes }] of changes) {
            const place = this.places.get(name);
            if (place !== undefined && !alters && was === null && becomes !== null) this.store.keepPlace(name, place);
        }
        this.store.changed("boxes");
    }

    private inTurn(label: string, work: (force: boolean, visit: Visit) => Promise<void>, visit = this.visit): Promise<boolean> {
        const attempt = async (force: boolean): Promise<boolean> => {
            this.conflict = null;
            this.failure = "";
            this.busyWith(1);
            try {
                if (visit !== this.visit) throw new Late();
                await work(force, visit);
                return true;
            } catch (error) {
                if (error instanceof Left) return false;
                if (error instanceof Clash)
                    this.conflict = {
                        label,
                        message: error.message,
                        again: async () => {
                            await attempt(true);
                        },
                    };
                else {
                    const told = error instanceof Problem || error instanceof Late ? error.message : "The daemon does not answer.";
                    this.failure = visit === this.visit ? told : `${visit.scene}, ${label}: ${told}`;
                }
                return false;
            } finally {
                this.busyWith(-1);
            }
        };
        const turn = this.queue.then(() => attempt(false));
        this.queue = turn;
        return turn;
    }

    /**
     * Does it, and gives what was done. With `force` whatever others did is written over, where there still is a box to write to.
     * @throws Left if it was done, and whatever else if not
     */
    private async make(visit: Visit, changes: Map<string, Change>, force: boolean): Promise<Map<string, Change>> {
        for (let attempt = 0; ; attempt++) {
            if (visit !== this.visit) throw new Late();
            if (!force) this.check(changes);
            const meant = this.onWhatIs(changes);
            if (meant.size === 0) return meant;
            try {
                await this.send(visit, meant, !force, attempt < CAREFUL);
                return meant;
            } catch (error) {
                const behind = error instanceof Problem && (error.status === 412 || error.status === 404);
                if (!behind || attempt > CAREFUL || visit !== this.visit) throw error;
                await this.feed.reread([...changes.keys()]).catch((reason) => {
                    throw visit === this.visit ? reason : new Late();
                });
            }
        }
    }

    /** @throws Left if another scene is open now. */
    private stay(visit: Visit): void {
        if (visit !== this.visit) throw new Left();
    }

    /** @throws Clash if somebody else has changed the same. */
    private check(changes: Map<string, Change>): void {
        const { store } = this;
        const deeds: string[] = [];
        for (const [name, change] of changes) {
            const deed = clash(change, name, store.live.boxes.get(name), this.written.get(name) ?? {}, store.moves(name));
            if (deed) deeds.push(deed);
        }
        if (deeds.length === 0) return;
        const more = deeds.length > NAMED ? `, and ${deeds.length - NAMED} more` : "";
        throw new Clash(`Somebody else has ${deeds.slice(0, NAMED).join(", ")}${more} meanwhile.`);
    }

    /** The same of the boxes that there are, from what they are now to what they are not yet: so it can be undone. */
    private onWhatIs(changes: Map<string, Change>): Map<string, Change> {
        const now = new Map<string, Change>();
        for (const [name, change] of changes) {
            const box = this.store.live.boxes.get(name);
            if (!change.alters) now.set(name, { ...change, was: box ? kept(box) : null });
            else if (box) {
                const altered = alteration(box, alteredFields(box, change));
                if (altered) now.set(name, altered);
            }
        }
        return now;
    }

    /**
     * One request. `checked`: what is made may not be there already; `careful`: nor may a box have been changed since it was seen,
     * except that what moves moves on.
     */
    private async send(visit: Visit, changes: Map<string, Change>, checked: boolean, careful: boolean): Promise<void> {
        const { store, written } = this;
        const { boxes } = store.live;
        const { scene } = visit;
        const [[first, only]] = changes;
        const single = changes.size === 1 && only.alters ? boxes.get(first) : undefined;
        if (single) {
            const fields = alteredFields(single, only);
            const patch = Object.fromEntries(Object.entries(fields).map(([key, value]) => [key, value ?? null]));
            const stable = checked && careful && !(isMove(only) && store.moves(first));
            const condition: Record<string, string> = stable ? { "If-Match": `"${single.seen}"` } : {};
            const path = scenePath(scene, `/boxes/${encodeURIComponent(first)}`);
            const { revision, time, ...box } = await this.client.call<Box & { revision: number; time: number }>("PATCH", path, patch, undefined, { ...EXACT, ...condition });
            this.stay(visit);
            written.set(first, { ...written.get(first), ...fields });
            this.feed.adopt({ ...box, seen: revision });
            store.changed("boxes");
            return;
        }
        const put: Record<string, PutBox> = {};
        const pose: Record<string, Fields> = {};
        const remove: string[] = [];
        const conditions: Record<string, number> = {};
        const after = new Map<string, Fields>();
        for (const [name, change] of changes) {
            const box = boxes.get(name);
            const moves = store.moves(name) && (isMove(change) || change.becomes === null);
            if (checked && !box) conditions[name] = 0;
            else if (checked && careful && box && !moves) conditions[name] = box.seen ?? 0;
            if (change.becomes === null && box) this.places.set(name, store.placeOf(box));
            if (change.becomes === null) remove.push(name);
            else if (!change.alters) put[name] = change.becomes as PutBox;
            else if (box) {
                const fields = alteredFields(box, change);
                after.set(name, fields);
                if (isMove(change) && !("frame" in fields)) pose[name] = fields;
                else put[name] = { ...kept(box), ...fields } as PutBox;
            }
        }
        const body = { if_box: conditions, remove, put, pose };
        const answer = await this.client.call<Answer>("POST", scenePath(scene, "/commit"), body);
        this.stay(visit);
        // shown at once; the events that follow say the same, and what collides
        const seen = answer.revision;
        for (const name of remove) {
            if ((boxes.get(name)?.seen ?? 0) <= seen) store.dropBox(name);
            written.delete(name);
        }
        for (const [name, fields] of after) {
            written.set(name, { ...written.get(name), ...fields });
            const box = boxes.get(name);
            if (box && !box.frame && !fields.frame) this.feed.adopt({ ...box, ...fields, seen });
        }
        const framed: string[] = [];
        for (const [name, box] of Object.entries(put)) {
            if (after.has(name)) continue;
            written.set(name, { ...box });
            if (box.frame !== undefined) framed.push(name);
            else if (isPlain(box)) this.feed.adopt({ ...box, name, id: answer.ids?.[name] ?? boxes.get(name)?.id ?? 0, seen });
        }
        if (framed.length > 0) await this.feed.reread(framed).finally(() => this.stay(visit)); // where they stand in the scene
        store.changed("boxes");
    }
}
