// Changes made here, each one commit, with undo and redo. A commit names the revision that the page has seen; when somebody else
// was faster, the change is kept for the user to decide about.
import { type Box, type Pose, type PutBox, putOf } from "./box";
import { type Client, Problem, scenePath } from "./client";
import type { Store } from "./store";

/** By name what a box becomes; null: it is removed. */
export type Changes = Map<string, PutBox | null>;

interface Edit {
    label: string;
    before: Changes;
    after: Changes;
}

export interface Conflict {
    label: string;
    message: string;
    again: () => Promise<void>;
}

interface CommitAnswer {
    revision: number;
    time: number;
    ids?: Record<string, number>;
}

export class Edits {
    conflict: Conflict | null = null;
    failure = "";
    onChange: () => void = () => {};
    private done: Edit[] = [];
    private undone: Edit[] = [];
    private queue: Promise<unknown> = Promise.resolve();
    private waiting = 0;

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {}

    get undoLabel(): string | null {
        return this.done.at(-1)?.label ?? null;
    }

    get redoLabel(): string | null {
        return this.undone.at(-1)?.label ?? null;
    }

    /** When all that was begun is answered. What acts on the selection waits for it: it may be about to change. */
    get settled(): Promise<unknown> {
        return this.queue;
    }

    /** Is there one that is not answered yet? */
    get busy(): boolean {
        return this.waiting > 0;
    }

    forget(): void {
        this.done = [];
        this.undone = [];
        this.dismiss();
    }

    dismiss(): void {
        this.conflict = null;
        this.failure = "";
        this.onChange();
    }

    apply(label: string, after: Changes): Promise<boolean> {
        return this.inTurn(label, async (force) => {
            const before: Changes = new Map();
            for (const name of after.keys()) {
                const box = this.store.live.boxes.get(name);
                before.set(name, box ? putOf(box) : null);
            }
            await this.commit(after, force);
            this.done.push({ label, before, after });
            this.undone = [];
        });
    }

    /** Boxes elsewhere, all at once. */
    pose(label: string, poses: Map<string, Pose>): Promise<boolean> {
        const changes: Changes = new Map();
        for (const [name, pose] of poses) {
            const box = this.store.live.boxes.get(name);
            if (box) changes.set(name, { ...putOf(box), ...pose });
        }
        return this.apply(label, changes);
    }

    undo(): Promise<boolean> {
        return this.inTurn("undo", async (force) => {
            const edit = this.done.at(-1);
            if (!edit) return;
            await this.commit(edit.before, force);
            this.undone.push(edit);
            this.done.pop();
        });
    }

    redo(): Promise<boolean> {
        return this.inTurn("redo", async (force) => {
            const edit = this.undone.at(-1);
            if (!edit) return;
            await this.commit(edit.after, force);
            this.done.push(edit);
            this.undone.pop();
        });
    }

    private inTurn(label: string, work: (force: boolean) => Promise<void>): Promise<boolean> {
        const attempt = async (force: boolean): Promise<boolean> => {
            this.conflict = null;
            this.failure = "";
            this.waiting++;
            this.onChange();
            try {
                await work(force);
                return true;
            } catch (error) {
                if (error instanceof Problem && error.status === 412)
                    this.conflict = {
                        label,
                        message: error.message,
                        again: async () => {
                            await attempt(true);
                        },
                    };
                else this.failure = error instanceof Problem ? error.message : "The daemon does not answer.";
                return false;
            } finally {
                this.waiting--;
                this.onChange();
            }
        };
        const turn = this.queue.then(() => attempt(false));
        this.queue = turn;
        return turn;
    }

    private async commit(changes: Changes, force: boolean): Promise<void> {
        const { store } = this;
        const put: Record<string, PutBox> = {};
        const remove: string[] = [];
        for (const [name, box] of changes) {
            if (box) put[name] = box;
            else remove.push(name);
        }
        const body: Record<string, unknown> = { put, remove };
        if (!force) body.if_revision = store.revision;
        const path = scenePath(store.info?.name ?? "", "/commit");
        const answer = await this.client.call<CommitAnswer>("POST", path, body);
        // shown at once; the events that follow say the same, and what collides
        const { boxes } = store.live;
        for (const name of remove) boxes.delete(name);
        for (const [name, box] of Object.entries(put)) {
            if (!isPose(box)) continue;
            const id = answer.ids?.[name] ?? boxes.get(name)?.id ?? 0;
            boxes.set(name, { ...box, name, id } as Box);
        }
        store.changed("boxes");
        if (!force) store.saw(answer.revision, answer.time);
    }
}

const NEEDED = ["center", "half_extents", "category", "mask", "group"];
const ALLOWED = new Set([...NEEDED, "rotation", "angle", "entity", "data"]);

/** Is it written as the daemon writes it? Files may hold the other forms, which the daemon turns into this one. */
function isPose(box: object): boolean {
    return NEEDED.every((key) => key in box) && Object.keys(box).every((key) => ALLOWED.has(key));
}
