// A scene: its boxes, commits, queries and events, and what the client knows of it: the ids of names, and their epoch.
import { type Follow, follow } from "./events.js";
import { Disconnected, Lost, Problem, type ProblemBody, Unanswered } from "./problem.js";
import { answersIds } from "./queries.js";
import type { Call, Reply, Request, Sender } from "./sender.js";
import { linked } from "./stop.js";
import type {
    Answer,
    At,
    Box,
    BoxAnswer,
    BoxIn,
    BoxPatch,
    Changes,
    Commit,
    Committed,
    Frame,
    Ids,
    Include,
    Moment,
    Named,
    PutColumns,
    Query,
    RecordedQuery,
    SceneEvent,
    SceneInfo,
    Settings,
    Topic,
    Transform,
} from "./types.js";

const PAGE_OF_BOXES = 10_000;
const FEW = 64; // boxes that are asked one by one rather than by listing all
const LINES = "application/x-ndjson";
const CHANGES = ["remove", "remove_frames", "frames", "put", "pose", "transform"] as const;

export interface Topics {
    topics?: readonly Topic[];
    prefix?: string;
    entity?: string;
    category?: number;
    include?: readonly "pose"[];
    /**
     * Messages a second of each kind. A pair that came and went between two messages is in the `end` and in the `begin` after it. The two cancel out:
     * count for each pair how often it began and ended.
     */
    rate?: number;
}

/** Which state is read if several daemons share a log (`--journal`). */
export interface Reading {
    /** The newest state of all these daemons. */
    fresh?: boolean;
    /** A state of at least this revision. The daemon waits for it, so what was written at one daemon is read at another one. */
    revision?: number;
}

/** A query string of those that are given. */
export function asked(parameters: object): string {
    const given = Object.entries(parameters).filter(([, value]) => value !== undefined);
    return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

function isColumns(put: Changes["put"]): put is PutColumns {
    return Array.isArray((put as PutColumns | undefined)?.names);
}

function changing(commit: Commit): boolean {
    return !commit.dry_run && (commit.time !== undefined || CHANGES.some((group) => commit[group] !== undefined));
}

const session = Math.random().toString(36).slice(2) + Math.random().toString(36).slice(2);
let commits = 0;

/** An id that no other commit has. */
function freshId(): string {
    return `${session}-${++commits}`;
}

/** Did the daemon say that there is no such scene? */
function isNoScene(error: unknown): boolean {
    return error instanceof Problem && error.type === "/problems/no-scene";
}

/** Did the daemon say that there is no such box? */
function isNoBox(error: unknown): boolean {
    return error instanceof Problem && error.status === 404 && !(error instanceof Lost);
}

/** Returns what an array of ids and its subarrays share: the memory. A plain array stands for itself. */
function memoryOf(ids: object): object {
    return ArrayBuffer.isView(ids) ? ids.buffer : ids;
}

export class Scene {
    /** Puts the boxes again when the daemon has lost them, as after a restart: scenes are in memory. Runs before Lost is thrown.
     * If it fails, the call throws its error, and the next call runs it again. */
    onLost: ((scene: Scene) => unknown) | undefined;

    private readonly path: string;
    private readonly known = new Map<string, number>();
    /** The epoch of each array of ids that was given out: an old array must not name boxes of another epoch. */
    private readonly given = new WeakMap<object, string>();
    private epoch = "";

    constructor(
        readonly name: string,
        private readonly sender: Sender,
    ) {
        this.path = `/v1/scenes/${encodeURIComponent(name)}`;
    }

    /** The scene in the web editor; undefined if only a unix socket is known. */
    get page(): string | undefined {
        const { page } = this.sender.transport;
        return page && `${page}/#${encodeURIComponent(this.name)}`;
    }

    // ---- Commits and queries ----------------------------------------------------------------------

    /** Applies the changes and asks the queries, all or nothing. Throws Lost if the scene began anew, Unknown if nobody can tell
     * whether the commit was made, and Unanswered if it was made without an answer to its queries. A commit gets an `id`, by
     * which the scene knows it again, so it is sent again behind a cut. A commit with `time` and moves is a tick: it gets none and
     * is not sent again, unless `retries` says so, for the next one is better. */
    async commit<const Q extends readonly Query[]>(commit: Commit<Q>, call: Call = {}): Promise<Committed<Q>> {
        const tick = commit.time !== undefined && (commit.pose !== undefined || commit.frames !== undefined);
        const { retries = tick ? 0 : this.sender.settings.retries } = call;
        const changes = changing(commit);
        const body = changes && retries > 0 && commit.id === undefined ? { ...commit, id: freshId() } : commit;
        const { ids } = (commit.pose ?? {}) as { ids?: Ids };
        const request = {
            ...call,
            retries,
            method: "POST",
            path: `${this.path}/commit`,
            body,
            typed: commit.queries?.some(answersIds) ?? false,
            changes,
            again: body.id !== undefined,
        };
        const epoch = typeof ids === "object" ? this.given.get(memoryOf(ids)) : undefined;
        const committed = (await this.send<Committed<Q>>(request, epoch)).value;
        this.notePut(commit, committed);
        if (committed.ids_omitted) await this.learnPut(commit, committed);
        await this.askAgain(commit, committed, { ...call, retries });
        return committed;
    }

    private notePut({ put, remove, dry_run }: Commit, { ids }: Committed): void {
        if (dry_run) return;
        if (ids) this.given.set(memoryOf(ids), this.epoch);
        for (const name of remove ?? []) this.known.delete(name);
        if (isColumns(put)) put.names.forEach((name, i) => ids && this.known.set(name, (ids as Uint32Array)[i] as number));
        else for (const [name, id] of Object.entries(ids ?? {})) this.known.set(name, id);
    }

    /** Asks for the ids of the boxes that were put, as far as neither the answer tells them nor they are known already. If an id
     * cannot be read, it stays unknown: the commit was made. */
    private async learnPut({ put = {} }: Commit, { ids }: Committed): Promise<void> {
        if (isColumns(put) && ids) return; // it tells all
        const names = isColumns(put) ? put.names : Object.keys(put);
        await this.learn(names.filter((name) => !this.known.has(name))).catch(() => {});
    }

    /** Asks those queries again, of the same state, that the daemon could not answer behind the commit. Throws Unanswered whatever
     * fails here, for the commit was made. */
    private async askAgain(commit: Commit, committed: Committed, call: Call): Promise<void> {
        const results = committed.results as (object & { problem?: ProblemBody })[];
        const open = results.flatMap((result, i) => (result.problem ? [i] : []));
        if (open.length === 0) return;
        let cause: unknown;
        if (call.retries !== 0) {
            const queries = open.map((i) => atState(commit.queries?.[i] as Query, committed));
            const request = { ...call, method: "POST", path: `${this.path}/commit`, body: { queries } };
            try {
                const { value } = await this.send<Committed>({ ...request, typed: queries.some(answersIds), changes: false });
                for (const [k, result] of (value.results as object[]).entries()) results[open[k] as number] = result;
            } catch (error) {
                cause = error;
            }
        }
        const problems = results.flatMap(({ problem }) => problem ?? []);
        if (problems.length > 0) throw new Unanswered(committed, problems, cause);
    }

    /** Asks one query. */
    async query<Q extends Query>(query: Q, call: Call = {}): Promise<Answer<Q> & Moment> {
        const { kind, ...body } = query;
        const request = {
            ...call,
            method: "POST",
            path: `${this.path}/query/${kind}`,
            body,
            typed: answersIds(query),
            changes: false,
        };
        return (await this.send<Answer<Q> & Moment>(request)).value;
    }

    /** Puts boxes, by name or in columns. Their ids are known then, also of boxes that were there before: those that are not known
     * and that the answer does not tell are asked for. If that fails, these stay unknown, for the boxes were put. */
    async put(boxes: Named<BoxIn> | PutColumns, call?: Call): Promise<Committed<[]>> {
        const committed = await this.commit<[]>({ put: boxes }, call);
        if (!committed.ids_omitted) await this.learnPut({ put: boxes }, committed);
        return committed;
    }

    // ---- Ids --------------------------------------------------------------------------------------

    /** The ids of boxes that were put or listed through this object. */
    ids(names: readonly string[]): Uint32Array {
        const ids = Uint32Array.from(names, (name) => {
            const id = this.known.get(name);
            if (id === undefined)
                throw new RangeError(`the id of ${JSON.stringify(name)} is not known: put the box, or learn its id, first`);
            return id;
        });
        this.given.set(memoryOf(ids), this.epoch);
        return ids;
    }

    /** Reads the ids of boxes, also of those that are known. A box that is not in the scene has none then. */
    async learn(names: readonly string[]): Promise<void> {
        const wanted = new Set(names);
        const read = async (name: string) => {
            await this.box(name).catch((error: unknown) => {
                if (!isNoBox(error)) throw error;
                this.known.delete(name);
            });
        };
        if (wanted.size <= FEW) {
            await Promise.all(Array.from(wanted, read));
            return;
        }
        for await (const { name } of this.boxes()) if (wanted.delete(name) && wanted.size === 0) return;
        for (const name of wanted) this.known.delete(name);
    }

    // ---- Boxes ------------------------------------------------------------------------------------

    /** The boxes by id, page by page. */
    async *boxes(
        which: { prefix?: string; entity?: string; at_revision?: number; at_time?: number } & Reading = {},
    ): AsyncGenerator<Box> {
        let cursor: string | undefined;
        do {
            const page = await this.call<{ boxes: Box[]; cursor?: string }>(
                "GET",
                `/boxes${asked({ ...which, limit: PAGE_OF_BOXES, cursor })}`,
            );
            for (const box of page.boxes) {
                if (which.at_revision === undefined && which.at_time === undefined) this.known.set(box.name, box.id);
                yield box;
            }
            cursor = page.cursor;
        } while (cursor !== undefined);
    }

    async box(
        name: string,
        which: { include?: readonly Include[]; at_time?: number; at_revision?: number } & Reading = {},
    ): Promise<BoxAnswer> {
        const box = await this.call<BoxAnswer>("GET", `/boxes/${encodeURIComponent(name)}${asked(which)}`);
        if (!box.at) this.known.set(name, box.id);
        return box;
    }

    patch(name: string, fields: BoxPatch, call?: Call): Promise<BoxAnswer> {
        return this.call("PATCH", `/boxes/${encodeURIComponent(name)}`, fields, call);
    }

    transform(name: string, how: Transform, call?: Call): Promise<BoxAnswer> {
        return this.call("POST", `/boxes/${encodeURIComponent(name)}/transform`, how, call);
    }

    /** Grows a box until it holds the others. */
    merge(name: string, others: readonly string[], call?: Call): Promise<BoxAnswer> {
        return this.call("POST", `/boxes/${encodeURIComponent(name)}/merge`, { with: others }, call);
    }

    /** The frames by name, page by page. */
    async *frames(which: { prefix?: string } & Reading = {}): AsyncGenerator<Frame> {
        let cursor: string | undefined;
        do {
            const page = await this.call<{ frames: Frame[]; cursor?: string }>("GET", `/frames${asked({ ...which, cursor })}`);
            yield* page.frames;
            cursor = page.cursor;
        } while (cursor !== undefined);
    }

    // ---- The scene --------------------------------------------------------------------------------

    info({ fresh, revision, ...call }: Reading & Call = {}): Promise<SceneInfo> {
        return this.call("GET", asked({ fresh, revision }), undefined, call);
    }

    /** Makes the scene, or changes its settings. */
    set(settings: Settings, call?: Call): Promise<SceneInfo> {
        return this.call("PUT", "", settings, call);
    }

    /** Deletes the scene, unless it is gone already. */
    async delete(call: Call = {}): Promise<void> {
        const request = { ...call, method: "DELETE", path: this.path, changes: true };
        await this.send(request, this.epoch, true).catch((error: unknown) => {
            if (!isNoScene(error)) throw error;
        });
        this.forget();
        this.owed = false;
    }

    /** Makes the scene `to` of a state of this one. */
    async copy(to: string, which: { at?: At; replace?: boolean } = {}, call: Call = {}): Promise<SceneInfo> {
        // The answer has the epoch of the copy, so it must not be taken for this scene's.
        const request = { ...call, method: "POST", path: `${this.path}/copy`, body: { to, ...which }, changes: true };
        return (await this.sender.send<SceneInfo>(request)).value;
    }

    /** The scene as lines, for `import`. */
    export(which: Reading = {}): ReadableStream<Uint8Array> {
        const path = `${this.path}/export${asked(which)}`;
        const open = () => this.sender.open({ method: "GET", path, headers: { Accept: LINES }, changes: false });
        let body: AsyncIterator<Uint8Array> | undefined;
        return new ReadableStream({
            async pull(controller) {
                body ??= (await open()).body[Symbol.asyncIterator]();
                const { done, value } = await body.next();
                if (done) controller.close();
                else controller.enqueue(value);
            },
            async cancel() {
                await body?.return?.();
            },
        });
    }

    /** Replaces the scene by exported lines. */
    async import(lines: string | Uint8Array | ReadableStream<Uint8Array>, call: Call = {}): Promise<SceneInfo> {
        const body =
            lines instanceof ReadableStream ? await new Response(lines as ReadableStream<Uint8Array<ArrayBuffer>>).text() : lines;
        const headers = { "Content-Type": LINES };
        const request = { ...call, method: "POST", path: `${this.path}/import`, body, headers, changes: true };
        try {
            const { value } = await this.send<SceneInfo>(request);
            this.known.clear(); // boxes got new ids
            return value;
        } catch (error) {
            if (!(error instanceof Problem || error instanceof Disconnected)) this.known.clear(); // it may have been made
            throw error;
        }
    }

    /** The queries that the scene recorded (`record` of its settings), page by page. */
    async *recorded(which: { tag?: string; hit?: boolean; box?: string } & Reading = {}): AsyncGenerator<RecordedQuery> {
        let cursor: string | undefined;
        do {
            const page = await this.call<{ queries: RecordedQuery[]; cursor?: string }>(
                "GET",
                `/queries${asked({ ...which, cursor })}`,
            );
            yield* page.queries;
            cursor = page.cursor;
        } while (cursor !== undefined);
    }

    /** Follows the scene, over breaks and restarts of the daemon, until the scene is deleted, the signal ends it, or the client is
     * closed. */
    async *events({ signal, silence, ...which }: Topics & Follow = {}): AsyncGenerator<SceneEvent> {
        const stop = new AbortController();
        const unlink = [signal, this.sender.closed].map((ending) => linked(ending, stop));
        try {
            yield* this.followed(which, { signal: stop.signal, silence });
        } finally {
            for (const one of unlink) one();
        }
    }

    private followed(which: Topics, how: Follow): AsyncGenerator<SceneEvent> {
        const path = `${this.path}/events${asked(which)}`;
        return follow(async (last, first, signal) => {
            const headers: Record<string, string> = { Accept: "text/event-stream" };
            if (last) headers["Last-Event-ID"] = last;
            const request = { method: "GET", path, headers, signal, changes: false };
            const known = this.epoch;
            const open = async () => {
                const received = await this.sender.open(first ? request : { ...request, retries: 0 });
                const epoch = received.headers.get("Obbd-Epoch");
                if (this.owed || (this.epoch && epoch && epoch !== this.epoch)) await this.lost(this.epoch);
                return received;
            };
            try {
                return await open();
            } catch (error) {
                if (first || !isNoScene(error) || !this.onLost) throw error;
                await this.lost(known);
                return open();
            }
        }, how);
    }

    // ---- Rules ------------------------------------------------------------------------------------

    /** `onLost` as it runs. */
    private losing: Promise<void> | undefined;
    /** Was the scene lost, and has `onLost` not run to its end since? */
    private owed = false;

    private forget(): void {
        this.known.clear();
        this.epoch = "";
    }

    /** Forgets what was known in the epoch, and lets the boxes be put again; once, however many requests notice it. */
    private async lost(epoch: string): Promise<void> {
        if (epoch === this.epoch && (epoch !== "" || !this.losing)) {
            this.forget();
            this.owed = true;
            if (this.losing) return; // the call may be one of `onLost`, which cannot wait for itself
        }
        await this.putAgain();
    }

    /** Runs `onLost` if it is owed, and waits for it if it runs. */
    private async putAgain(): Promise<void> {
        if (this.owed && !this.losing) {
            this.forget();
            this.owed = false; // it is owed again if the scene is lost meanwhile
            const running = async () => this.onLost?.(this);
            this.losing = running().then(
                () => {
                    this.losing = undefined;
                },
                (error) => {
                    this.losing = undefined;
                    this.owed = true;
                    throw error;
                },
            );
        }
        await this.losing;
    }

    /** Every request names the epoch in which its ids and revisions were given. `deletes`: no scene need be there. */
    private async send<T>(request: Request, given?: string, deletes = false): Promise<Reply<T>> {
        if (this.owed && !this.losing && !deletes) {
            await this.putAgain();
            throw Lost.before(this.name);
        }
        const epoch = given ?? this.epoch;
        const headers = epoch ? { ...request.headers, "Obbd-If-Epoch": epoch } : request.headers;
        try {
            const reply = await this.sender.send<T>({ ...request, headers });
            if (this.epoch === "" && epoch === "") this.epoch = reply.headers.get("Obbd-Epoch") ?? "";
            return reply;
        } catch (error) {
            if (!(error instanceof Problem) || epoch === "") throw error;
            if (error.type !== "/problems/epoch" && (deletes || !isNoScene(error))) throw error;
            await this.lost(epoch);
            throw new Lost(error.body, error.headers);
        }
    }

    private async call<T>(method: string, rest: string, body?: unknown, call: Call = {}): Promise<T> {
        return (await this.send<T>({ ...call, method, path: this.path + rest, body, changes: method !== "GET" })).value;
    }
}

/** The query, about the state that the commit made. */
function atState(query: Query, { revision, time }: Moment): Query {
    const at = query.at as At | undefined;
    if (at === undefined) return { ...query, at: { revision } };
    return at.ago === undefined ? query : { ...query, at: { ...at, ago: undefined, time: time - at.ago } };
}
