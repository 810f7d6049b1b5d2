// Keeps the store at the daemon's state: loads a scene, follows its events, and fetches what they name. Nothing is polled.
import { OWN } from "./asking";
import type { Box } from "./box";
import { type Client, EXACT, messages, Problem, sentence } from "./client";
import { Latest } from "./latest";
import { type BoxPage, boxesOf } from "./pages";
import { boxesPath, eventsPath, SCENES, scenePath } from "./paths";
import { Reader } from "./reader";
import { Sight } from "./sight";
import { type Pair, type Relation, Snapshot } from "./snapshot";
import type { At, SceneInfo, Store } from "./store";

const ONE_BY_ONE = 8; // so many boxes are always read one by one,
const LISTED_FOR_ONE = 8; // more of them if the scene has that many times as many, else by listing all
const MOST_ONE_BY_ONE = 500; // from then on all are listed, however many the scene has
const AT_A_TIME = 32; // that are read one by one
// at least between two readings of a box that is put, or goes with its frame, again and again:
const READ_AGAIN_MS = 1_000;
const AT_ONCE = 4; // so many times one after the other are not again and again yet
const BATCH = 20_000; // pairs a query
const GONE = 10_000; // removed boxes that are remembered while nothing is read
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 5_000;
const RETRY_MS = 1_000;
const SETTLE_MS = 300;

/** Why the daemon ended a stream that is to be opened again. */
const FAREWELLS = new Map([
    ["overrun", "Changes came faster than they could be sent. Catching up."],
    ["shutdown", "The daemon is shutting down. Waiting for it to come back."],
]);

interface BoxList {
    boxes: Box[];
    revision: number;
    time: number;
    at?: { revision: number; time: number };
}

interface Changes {
    revision: number;
    time: number;
    pairs?: [string, string][];
    put?: string[];
    posed?: string[];
    removed?: string[];
    columns?: { ids: number[]; centers: number[]; rotations?: number[]; angles?: number[] }; // of all that is put or posed
}

/** Of a commit, how many boxes it changed. */
interface Counts {
    put: number;
    posed: number;
    transformed: number;
    removed: number;
}

const isEmpty = ({ put, posed, transformed, removed }: Counts) => put + posed + transformed + removed === 0;

type PairAnswer = { relation?: Relation; pose?: [Partial<Box>, Partial<Box>]; missing?: string[] };

interface PairsAnswer {
    results: PairAnswer[];
    revision: number;
}

/** How often boxes were read in a row, and when last; by name. */
type Readings = Map<string, { times: number; last: number }>;

const sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
    });

/** The boxes of all pages. Of a list that is older than `least` null, and the rest of it is not read. */
async function joined(pages: AsyncGenerator<BoxPage>): Promise<BoxList>;
async function joined(pages: AsyncGenerator<BoxPage>, least: number): Promise<BoxList | null>;
async function joined(pages: AsyncGenerator<BoxPage>, least = 0): Promise<BoxList | null> {
    let list: BoxList | null = null;
    for await (const page of pages) {
        if (page.revision < least) return null;
        list ??= { boxes: [], revision: page.revision, time: page.time, at: page.at }; // later changes come as events, so the first page's counts
        for (const box of boxesOf(page)) list.boxes.push(box);
    }
    return list ?? { boxes: [], revision: 0, time: 0 };
}

/** Of an event's id: the last revision that was told to its end. */
const toldOf = (id: string) => Number(id.split(".")[0]);

/** Of an event's id. Revisions of one epoch are those of one scene in one process. */
const epochOf = (id: string | undefined) => id?.split(".")[1];

export class Feed {
    /** Somebody has asked the scene this, a RecordedQuery in JSON. */
    onQuery: (query: string) => void = () => {};
    private follow = new AbortController();
    private look = new AbortController();
    private readonly wantPut = new Set<string>();
    private readonly wantPose = new Set<string>();
    private wantRelation = new Set<Pair>();
    private reading = new Set<string>(); // boxes that were put and are read now
    private readonly gone = new Map<string, number>(); // boxes that were removed: at which revision; an answer that is late tells of them still
    private readonly placed = new Map<string, number>(); // boxes that were put: the revision of the pose that came with the event
    private readonly putReadings: Readings = new Map();
    private readonly poseReadings: Readings = new Map();
    private fetching = false;
    private readonly settings = new Latest(() => this.readInfo().catch(() => {})); // after a commit that changed no box
    private readonly reader: Reader;
    private readonly sight = new Sight();

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        this.reader = new Reader(client);
    }

    /** Is there something that events have named and that is not read yet? */
    get busy(): boolean {
        return this.fetching;
    }

    async listScenes(): Promise<void> {
        const names: string[] = [];
        let cursor = "";
        do {
            const page = await this.client.call<{ scenes: { name: string }[]; cursor?: string }>(
                "GET",
                `${SCENES}${cursor ? `?cursor=${encodeURIComponent(cursor)}` : ""}`,
            );
            names.push(...page.scenes.map((scene) => scene.name));
            cursor = page.cursor ?? "";
        } while (cursor);
        this.store.scenes = names;
        this.store.changed("scene");
    }

    /** Follows that scene until another is opened. */
    async open(scene: string): Promise<void> {
        this.follow.abort();
        this.look.abort();
        this.follow = new AbortController();
        const { signal } = this.follow;
        const { store } = this;
        store.past = null;
        store.selection = [];
        if (store.info?.name !== scene) this.forget(); // until this one is there, no other is shown or asked
        store.forgetMotion();
        for (const known of [this.wantPut, this.wantPose, this.wantRelation, this.gone]) known.clear();
        for (const known of [this.placed, this.putReadings, this.poseReadings]) known.clear();
        let last = ""; // id of the last message
        let fresh = true; // the state is to be loaded
        let wasThere = false; // the scene, since it was opened
        let wait = FIRST_WAIT_MS;
        let early = this.reader.first(boxesPath(scene), signal); // as long as the daemon is the one that was asked
        store.setConnection("connecting");
        while (!signal.aborted) {
            await this.sight.back(signal);
            const rest = this.sight.signal;
            let opened = false;
            let farewell = "The connection ended.";
            try {
                if (fresh) last = "";
                const known = fresh ? this.loadInfo(scene, signal) : null;
                known?.catch(() => {}); // what it throws is thrown where it is awaited
                const connect = async (stop: AbortSignal) => {
                    const headers: Record<string, string> = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
                    const received = await this.client.stream(eventsPath(scene), headers, stop);
                    wait = FIRST_WAIT_MS;
                    opened = true;
                    if (!fresh) store.setConnection("live");
                    return received;
                };
                for await (const message of messages(connect, { signal: AbortSignal.any([signal, rest]) })) {
                    await known;
                    if (message.event === "query") {
                        this.onQuery(message.data);
                        continue;
                    }
                    const changes = JSON.parse(message.data) as Changes;
                    if (message.event === "gone") {
                        store.setConnection("gone", "The scene was deleted. Choose another one above.");
                        this.follow.abort();
                        void this.listScenes().catch(() => {}); // without it
                        return;
                    }
                    const reason = FAREWELLS.get(message.event);
                    if (reason) {
                        farewell = reason;
                        fresh ||= message.event === "shutdown"; // what comes up next is another process
                        break;
                    }
                    if (message.event === "state") {
                        const missed = !fresh && epochOf(message.id) === epochOf(last);
                        if (!missed) {
                            store.ring.reset();
                            this.gone.clear();
                            this.stay();
                        }
                        await this.loadBoxes(scene, signal, missed, early && { pages: early, least: changes.revision });
                        early = null;
                        store.ring.begin(store.revision, store.time);
                        if (!missed && store.past) store.look(null); // it was a state of what is forgotten
                        if (fresh) this.settle();
                        else this.settings.ask();
                        fresh = false;
                        wasThere = true;
                        store.setConnection("live");
                    }
                    last = message.id || last;
                    this.take(message.event, changes, toldOf(message.id) === changes.revision);
                }
                // what was missed is asked for by the last id
                if (!signal.aborted) store.setConnection("lost", farewell);
            } catch (error) {
                if (signal.aborted) return;
                if (rest.aborted) {
                    store.setConnection("connecting"); // and what was missed is asked for then
                    continue;
                }
                const missing = error instanceof Problem && error.status === 404;
                if (missing && !wasThere) {
                    store.setConnection("gone", "There is no such scene.");
                    return;
                }
                // A stream that broke is gone on with. Out of reach, the daemon may come back as another process, whose revisions
                // are not those we know, and which answers before somebody has put the scene again.
                if (!opened) fresh = true;
                const absent = "The daemon does not have this scene now.";
                const reason = missing ? absent : sentence(error);
                store.setConnection("lost", `${reason} Trying again.`);
            } finally {
                void early?.return(undefined);
                early = null;
            }
            await sleep(wait, signal);
            wait = Math.min(wait * 2, LONGEST_WAIT_MS);
        }
    }

    /** The first picture waits a little until it is known which pairs only touch, or all would be seen as overlapping at first. */
    private settle(): void {
        this.store.settling = true;
        setTimeout(() => this.settled(), SETTLE_MS);
    }

    private settled(): void {
        if (!this.store.settling) return;
        this.store.settling = false;
        this.store.changed("pairs");
    }

    private forget(): void {
        const { store } = this;
        store.info = null;
        store.loaded = "";
        store.ring.reset();
        store.setBoxes([]);
        store.live.setPairs([]);
        store.revision = 0;
        store.time = 0;
        store.changed("scene", "boxes", "pairs", "selection", "history");
    }

    private async loadInfo(scene: string, signal: AbortSignal): Promise<void> {
        const info = await this.client.call<SceneInfo>("GET", scenePath(scene), undefined, signal);
        this.store.writable = await this.mayWrite(scene, signal);
        this.store.info = info;
        this.store.changed("scene", "status");
    }

    /** Whether the token allows changes: a commit that would make one is tried and keeps nothing. */
    private async mayWrite(scene: string, signal: AbortSignal): Promise<boolean> {
        if (!this.client.hasToken) return true;
        try {
            await this.client.call("POST", scenePath(scene, "/commit"), { dry_run: true, remove: ["-"] }, signal);
            return true;
        } catch (error) {
            if (error instanceof Problem && error.status === 403) return false;
            throw error;
        }
    }

    private list(scene: string, at: string, signal: AbortSignal): Promise<BoxList> {
        return joined(this.reader.pages(boxesPath(scene, at), signal));
    }

    /** Reads all boxes; `missed`: no events will tell how they came to be so. `early` is a list that may be older than `least`. */
    private async loadBoxes(scene: string, signal: AbortSignal, missed: boolean, early: { pages: AsyncGenerator<BoxPage>; least: number } | null): Promise<void> {
        const known = early && (await joined(early.pages, early.least).catch(() => null));
        signal.throwIfAborted();
        const list = known ?? (await this.list(scene, "", signal));
        const { store } = this;
        if (missed) store.ring.begin(list.revision, list.time);
        store.setBoxes(list.boxes, missed);
        store.loaded = scene;
        store.revision = list.revision;
        store.time = list.time;
        store.changed("boxes", "status", "history");
    }

    /** Reads all boxes while events go on, of which some may tell of later states. */
    private async reloadBoxes(scene: string, signal: AbortSignal): Promise<void> {
        const { boxes, revision, time } = await this.list(scene, "", signal);
        const { store } = this;
        const listed = boxes.map((box) => this.newest(box)).filter((box) => box !== null);
        const names = new Set(boxes.map(({ name }) => name));
        for (const box of store.live.boxes.values()) if ((box.seen ?? 0) > revision && !names.has(box.name)) listed.push(box);
        store.setBoxes(listed);
        store.saw(revision, time);
        store.streamed("boxes");
    }

    /** What is known of a box that was read, with what events have told since then; null: it is gone. */
    private newest(box: Box): Box | null {
        const { name, id, seen = 0 } = box;
        const known = this.store.live.boxes.get(name);
        if ((this.gone.get(name) ?? 0) > seen) return null;
        if (known && (known.seen ?? 0) > seen) return known;
        if (known?.id === id && (this.placed.get(name) ?? 0) > seen) return { ...box, center: known.center, rotation: known.rotation, angle: known.angle };
        this.placed.delete(name);
        return box;
    }

    /** `whole`: it is the last message about its revision, whose state is known now. */
    private take(event: string, changes: Changes, whole: boolean): void {
        const { store } = this;
        const { live } = store;
        const pairs = changes.pairs ?? [];
        store.ring.begin(changes.revision, changes.time);
        if (event === "state") {
            store.setPairs(pairs);
            for (const pair of live.pairs) this.wantRelation.add(pair);
        } else if (event === "begin") {
            for (const [a, b] of pairs) this.wantRelation.add(store.join(a, b));
        } else if (event === "end") {
            for (const [a, b] of pairs) store.part(a, b);
        } else if (event === "boxes") {
            for (const name of changes.removed ?? []) {
                store.dropBox(name);
                this.gone.delete(name); // the latest come last
                this.gone.set(name, changes.revision);
                for (const wanted of [this.wantPut, this.wantPose]) wanted.delete(name);
                for (const known of [this.placed, this.putReadings, this.poseReadings]) known.delete(name);
            }
            for (const name of changes.put ?? []) this.wantPut.add(name);
            const placed = this.place(changes);
            for (const name of changes.posed ?? []) if (!placed.has(name)) this.wantPose.add(name);
            store.posed(changes.posed ?? []);
            for (const name of [...(changes.put ?? []), ...(changes.posed ?? [])])
                for (const pair of live.touched.get(name)?.values() ?? []) this.wantRelation.add(pair);
        }
        if (event === "commit" && isEmpty(changes as unknown as Counts)) this.settings.ask();
        if (event === "state") store.changed("pairs"); // in one picture with the boxes
        else store.streamed(event === "boxes" ? "boxes" : "pairs");
        if (whole) store.saw(changes.revision, changes.time);
        void this.fetchWanted();
    }

    /** Takes the poses that came with the event, of boxes that are known; gives the names of those of which no more is to be read. */
    private place({ revision, columns }: Changes): Set<string> {
        const { store } = this;
        const placed = new Set<string>();
        const posed: [Box, Box][] = []; // as they were, and are
        columns?.ids.forEach((id, i) => {
            const box = store.boxOf(id);
            if (!box) return;
            const n = store.dimensions;
            const center = columns.centers.slice(n * i, n * i + n);
            const turned = n === 2 ? { angle: columns.angles?.[i] ?? box.angle } : { rotation: columns.rotations?.slice(4 * i, 4 * i + 4) ?? box.rotation };
            posed.push([box, { ...box, center, ...turned, seen: revision }]);
        });
        store.ring.pose(posed);
        for (const [{ name, frame, seen }, box] of posed) {
            const put = this.unread(name); // what else it is will be read
            if (put) this.placed.set(name, revision);
            else if (frame === undefined) placed.add(name); // of the others it is read where they stand in their frame
            if ((seen ?? 0) <= revision) store.putBox(put ? { ...box, seen } : box);
        }
        return placed;
    }

    /** Was the box put, and is it not read yet since then? */
    private unread(name: string): boolean {
        return this.wantPut.has(name) || this.reading.has(name);
    }

    /**
     * Takes from the wanted boxes those that are to be read now. A box that is wanted again and
     * again and was read a moment ago waits, unless it is one of `urgent`.
     */
    private takeWanted(wanted: Set<string>, readings: Readings, urgent: string[] = []): Set<string> {
        const now = performance.now();
        const taken = new Set<string>();
        const hurry = new Set(urgent);
        for (const name of wanted) {
            const { times, last } = readings.get(name) ?? { times: 0, last: now };
            const again = times >= AT_ONCE && now - last < READ_AGAIN_MS;
            if (again && !hurry.has(name)) continue;
            wanted.delete(name);
            readings.set(name, { times: now - last < 2 * READ_AGAIN_MS ? times + 1 : 1, last: now });
            taken.add(name);
        }
        return taken;
    }

    /** One round at a time: what comes up meanwhile goes into the next, however fast the scene changes. */
    private async fetchWanted(): Promise<void> {
        if (this.fetching) return;
        this.fetching = true;
        const { signal } = this.follow;
        while (!signal.aborted && this.wantPut.size + this.wantPose.size + this.wantRelation.size > 0) {
            const put = this.takeWanted(this.wantPut, this.putReadings);
            // an edit of a selected box is sent in its frame, where it may have moved as well
            const urgent = this.store.selection;
            const posed = this.takeWanted(this.wantPose, this.poseReadings, urgent);
            const pairs = this.wantRelation;
            if (put.size + posed.size + pairs.size === 0) {
                await sleep(READ_AGAIN_MS / 10, signal);
                continue;
            }
            this.wantRelation = new Set();
            this.reading = put;
            try {
                await this.fetchRound(put, posed, pairs, signal);
                if (this.store.connection === "live" && this.store.detail !== "") this.store.setConnection("live");
            } catch (error) {
                if (signal.aborted) break;
                for (const name of put) this.wantPut.add(name);
                for (const name of posed) this.wantPose.add(name);
                for (const pair of pairs) this.wantRelation.add(pair);
                if (error instanceof Problem && this.store.connection === "live") this.store.setConnection("live", error.message);
                await sleep(RETRY_MS, signal);
            }
        }
        this.fetching = false;
        this.settled();
        for (const name of this.gone.keys()) {
            if (this.gone.size <= GONE) break;
            this.gone.delete(name);
        }
        this.store.streamed("status");
        if (signal !== this.follow.signal) void this.fetchWanted();
    }

    /** Takes from the sets the boxes that were read: where a request fails, the others are left. */
    private async fetchRound(put: Set<string>, posed: Set<string>, pairs: Set<Pair>, signal: AbortSignal): Promise<void> {
        const scene = this.store.info?.name ?? "";
        if (this.many(put.size)) await this.reloadBoxes(scene, signal);
        else {
            for (const name of put) posed.delete(name);
            await this.readBoxes(scene, put, signal);
            await this.readPoses(scene, [...posed], signal);
        }
        put.clear();
        posed.clear();
        // what ended meanwhile is not asked about
        await this.readRelations(scene, [...pairs].filter((pair) => this.store.live.pairs.has(pair)), signal);
    }

    /** Are these so many that all boxes of the scene are read with less? */
    private many(boxes: number): boolean {
        const scene = Math.min(this.store.live.boxes.size, LISTED_FOR_ONE * MOST_ONE_BY_ONE);
        return boxes > ONE_BY_ONE && boxes * LISTED_FOR_ONE > scene;
    }

    /** Reads boxes one by one, and takes from `names` those that were read. */
    private async readBoxes(scene: string, names: Set<string>, signal: AbortSignal): Promise<void> {
        const all = [...names];
        for (let i = 0; i < all.length; i += AT_A_TIME) {
            const some = all.slice(i, i + AT_A_TIME);
            const readings = some.map((name) => this.readBox(scene, name, signal));
            const answers = await Promise.allSettled(readings);
            signal.throwIfAborted(); // or they would come into another scene
            answers.forEach((answer, n) => {
                if (answer.status === "rejected") return;
                names.delete(some[n]);
                if (answer.value && this.adopt(answer.value)) this.store.streamed("boxes");
            });
            for (const answer of answers) if (answer.status === "rejected") throw answer.reason;
        }
    }

    /** As it is now; null: there is none. */
    private async readBox(scene: string, name: string, signal: AbortSignal): Promise<Box | null> {
        try {
            const path = scenePath(scene, `/boxes/${encodeURIComponent(name)}`);
            const { revision, time, ...box } = await this.client.call<Box & Omit<BoxList, "boxes">>("GET", path, undefined, signal, EXACT);
            return { ...box, seen: revision };
        } catch (error) {
            if (!(error instanceof Problem && error.status === 404)) throw error;
            return null;
        }
    }

    /** Takes a box as it was read, or as a change of this page left it, unless events have told of a later state. False: they have. */
    adopt(box: Box): boolean {
        const newest = this.newest(box);
        if (!newest || newest === this.store.live.boxes.get(box.name)) return false;
        this.store.putBox(newest);
        return true;
    }

    /** Reads boxes as they are now, of which the store may be behind. */
    async reread(names: string[]): Promise<void> {
        const { store } = this;
        const { signal } = this.follow;
        const scene = store.info?.name ?? "";
        if (this.many(names.length)) await this.reloadBoxes(scene, signal);
        else
            for (const name of names) {
                const box = await this.readBox(scene, name, signal);
                if (box) this.adopt(box);
                else store.dropBox(name);
            }
        store.changed("boxes");
    }

    /** Two poses a pair. Of a pair whose one box is gone the other is read in the next round. */
    private async readPoses(scene: string, names: string[], signal: AbortSignal): Promise<void> {
        const { boxes } = this.store.live;
        for (let i = 0; i < names.length; i += 2 * BATCH) {
            const pairs: [string, string][] = [];
            for (let n = i; n < Math.min(i + 2 * BATCH, names.length); n += 2) pairs.push([names[n], names[n + 1] ?? names[n]]);
            const path = scenePath(scene, "/query/pairs");
            const { results, revision } = await this.client.call<PairsAnswer>("POST", path, { pairs, want: ["pose"], ...OWN }, signal);
            results.forEach(({ pose, missing }, n) => {
                pairs[n].forEach((name, side) => {
                    const box = boxes.get(name);
                    if (pose && box && (box.seen ?? 0) <= revision) this.store.putBox({ ...box, ...pose[side], seen: this.unread(name) ? box.seen : revision });
                    else if (missing && !missing.includes(name)) this.wantPose.add(name);
                });
            });
            this.store.streamed("boxes");
        }
    }

    private async readRelations(scene: string, pairs: Pair[], signal: AbortSignal): Promise<void> {
        for (let i = 0; i < pairs.length; i += BATCH) {
            const some = pairs.slice(i, i + BATCH);
            const body = { pairs: some.map(({ a, b }) => [a, b]), want: ["relation"], ...OWN };
            const path = scenePath(scene, "/query/pairs");
            const { results, revision } = await this.client.call<PairsAnswer>("POST", path, body, signal);
            some.forEach((pair, n) => this.store.relate(pair, results[n].relation ?? null, revision));
            this.store.streamed("pairs");
        }
    }

    /** A state of the past that is on its way is not wanted any more. */
    stay(): void {
        this.look.abort();
    }

    /** Shows a state of the past, unless another is wanted before it is there. */
    async show(at: At): Promise<void> {
        this.look.abort();
        this.look = new AbortController();
        const { signal } = this.look;
        try {
            await this.read(at, signal);
        } catch (error) {
            if (!signal.aborted) throw error;
        }
    }

    private async read(at: At, signal: AbortSignal): Promise<void> {
        const { store } = this;
        const scene = store.info?.name ?? "";
        const query = "revision" in at ? `&at_revision=${at.revision}` : `&at_time=${at.time}`;
        const [list, contacts] = await Promise.all([
            this.list(scene, query, signal),
            this.client.call<{ pairs: { pair: [string, string]; relation: Relation }[] }>(
                "POST",
                scenePath(scene, "/query/all-pairs"),
                { at, want: ["relation"], ...OWN },
                signal,
            ),
        ]);
        if (signal.aborted) return;
        const snapshot = new Snapshot();
        for (const box of list.boxes) snapshot.boxes.set(box.name, box);
        snapshot.setPairs(contacts.pairs.map(({ pair: [a, b], relation }) => [a, b, relation]));
        const seen = list.at ?? list;
        store.look({ at, revision: seen.revision, time: seen.time, snapshot });
    }

    /** Reads how far the history reaches back, and what else the scene keeps. */
    async readInfo(): Promise<void> {
        if (this.store.info) this.store.learn(await this.client.call<SceneInfo>("GET", scenePath(this.store.info.name)));
    }
}
