// Sends requests by the rules that all clients of obbd share: what may be sent again, how long to wait, in which media type.
import { decode, encodeToSend, needsCbor } from "./cbor.js";
import { curl, plain } from "./curl.js";
import { Disconnected, Problem, type ProblemBody, Unknown } from "./problem.js";
import { later, linked, Stop, sleep, within } from "./stop.js";
import { type Answer, type Received, Refused, type Transport } from "./transport.js";

const CBOR = "application/cbor";
const JSON_TYPE = "application/json";
const ONE_ONLY = ["application/x-ndjson", "text/event-stream"]; // are not answered in another type than the request accepts
const text = new TextEncoder();
const utf8 = new TextDecoder();
const WAIT_MS = { first: 50, most: 2000 }; // before another attempt, where the daemon names no time

export interface Call {
    /** Milliseconds for the call with all its attempts; Infinity for no limit. */
    timeout?: number;
    /** How often the call may be sent again. */
    retries?: number;
    signal?: AbortSignal;
}

export interface Request extends Call {
    method: string;
    path: string;
    /** Bytes and strings are sent as they are, anything else as JSON or CBOR. */
    body?: unknown;
    headers?: Record<string, string> | undefined;
    /** The answer holds ids or columns, which CBOR brings as typed arrays. */
    typed?: boolean;
    /** Does the request change something? If the connection breaks then, nobody can tell whether it was applied. */
    changes: boolean;
    /** May it be sent again all the same, because the daemon knows it again? */
    again?: boolean;
    /** In place of choosing by the values. */
    media?: "json" | "cbor";
}

export interface Reply<T = unknown> {
    status: number;
    headers: Headers;
    /** Undefined without a body; text and NDJSON as a string. */
    value: T;
}

/** Gives a token; `refused` says that a request was refused with the one before, or for want of one. With an empty one requests are
 * sent without. */
export type Token = string | AskToken;
type AskToken = (refused: boolean) => string | Promise<string>;

export interface Settings {
    token?: Token | undefined;
    timeout: number;
    retries: number;
}

/** The parts of a body; whenever they end, so does what was linked to them. */
async function* ending(body: AsyncIterable<Uint8Array>, unlink: () => void): AsyncGenerator<Uint8Array> {
    try {
        yield* body;
    } finally {
        unlink();
    }
}

/** Is this run with OBBD_DEBUG=1? */
const DEBUG = (globalThis as { process?: { env?: Record<string, string> } }).process?.env?.OBBD_DEBUG === "1";

export class Sender {
    /** Aborted when the client is closed: then what goes on ends. */
    readonly closed = new Stop();
    private token: string | undefined;
    private asking: Promise<string> | undefined;

    constructor(
        readonly transport: Transport,
        readonly settings: Settings,
    ) {
        if (typeof settings.token === "string") this.token = settings.token;
    }

    /** Sends the request, again where that is allowed, and reads the whole answer. Throws Problem, Disconnected or Unknown. */
    send<T>(request: Request): Promise<Reply<T>> {
        const stop = new Stop();
        return this.attempts(request, stop, replyOf<T>, linked(request.signal, stop));
    }

    /** The same for an answer that goes on: only its head is awaited in time. The caller reads the body, until its end, or until the
     * signal ends it or the client is closed. */
    async open(request: Request): Promise<Received> {
        const stop = new Stop();
        const links = [request.signal, this.closed].map((ending) => linked(ending, stop));
        const unlink = () => {
            for (const one of links) one();
        };
        try {
            const { status, headers, body } = await this.attempts(request, stop, (answer) => answer);
            return { status, headers, body: ending(body, unlink) };
        } catch (error) {
            unlink();
            throw error;
        }
    }

    /** @param over called when no more attempt is made */
    private async attempts<T>(
        request: Request,
        stop: Stop,
        read: (answer: Answer) => T | Promise<T>,
        over?: () => void,
    ): Promise<T> {
        const { timeout = this.settings.timeout, retries = this.settings.retries } = request;
        const end = Date.now() + timeout;
        const timer = later(() => stop.abort(new Disconnected(`no answer within ${timeout} ms`)), timeout);
        const seen = { cut: false, cancelled: 0, refusedToken: false };
        /** What the caller sees when no more attempt is made. */
        const given = (error: Disconnected | Problem) =>
            seen.cut && request.changes ? new Unknown(`${error.message}; the change was made or not`, { cause: error }) : error;
        try {
            const ask = this.settings.token;
            if (this.token === undefined && typeof ask === "function")
                this.token = await within((async () => ask(false))(), stop);
            const sent = this.written(request);
            for (let attempt = 0; ; attempt++) {
                let wait = Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** attempt) * (0.5 + Math.random() / 2);
                let failure: Disconnected | Problem;
                try {
                    const answer = await this.transport.send({ ...sent, signal: stop });
                    const expected = expectedOf(sent);
                    if (!refuses(answer.status) && answers(answer, expected)) return await read(answer);
                    failure = new Problem(await problemOf(answer, expected), answer.headers);
                } catch (error) {
                    if (!(error instanceof Disconnected)) throw error;
                    failure = error;
                }
                if (failure instanceof Problem) {
                    if (failure.status === 401 && typeof ask === "function" && !seen.refusedToken) {
                        seen.refusedToken = true;
                        const { Authorization } = sent.headers;
                        const another = this.anotherToken(ask, Authorization);
                        await within(another, stop).catch((error) => {
                            throw error instanceof Disconnected ? given(error) : error;
                        });
                        Object.assign(sent.headers, this.authorization());
                        continue;
                    }
                    if (failure.status !== 429 && failure.status !== 503) throw failure;
                    // Took longer than --request-timeout, or the service ends: worth one more attempt.
                    if (failure.type === "/problems/cancelled" && seen.cancelled++ > 0) throw given(failure);
                    wait += 1000 * (Number(failure.headers.get("Retry-After")) || 0); // others may say a date
                } else if (!(failure instanceof Refused)) {
                    seen.cut = true;
                    if (request.changes && !request.again) throw given(failure);
                }
                if (attempt >= retries || Date.now() + wait >= end) throw given(failure);
                await sleep(wait, stop);
            }
        } finally {
            clearTimeout(timer);
            over?.();
        }
    }

    /** Asks for a token in place of the one that was refused; once, however many requests were refused with it. */
    private async anotherToken(ask: AskToken, refused: string | undefined): Promise<void> {
        if (this.authorization().Authorization !== refused) return; // another request has got one meanwhile
        this.asking ??= (async () => ask(true))().finally(() => {
            this.asking = undefined;
        });
        this.token = await this.asking;
    }

    /** The command that sends the same request from a shell. */
    curl(method: string, path: string, body?: unknown): string {
        return curl(this.transport, { method, path, headers: this.authorization() }, body);
    }

    private authorization(): Record<string, string> {
        return this.token ? { Authorization: `Bearer ${this.token}` } : {};
    }

    private written(request: Request) {
        const { method, path, body } = request;
        const headers: Record<string, string> = this.authorization();
        let parts: Uint8Array[] | null = null;
        const cbor = request.media ? request.media === "cbor" : request.typed || needsCbor(body);
        if (cbor) headers.Accept = CBOR;
        if (body instanceof Uint8Array) parts = [body];
        else if (typeof body === "string") parts = [text.encode(body)];
        else if (body !== undefined) {
            headers["Content-Type"] = cbor ? CBOR : JSON_TYPE;
            parts = cbor ? encodeToSend(body) : [text.encode(JSON.stringify(body, request.media && plain))];
        }
        Object.assign(headers, request.headers);
        if (DEBUG) console.error(curl(this.transport, { method, path, headers }, body));
        return { method, path, headers, body: parts };
    }
}

/** Is this no answer to the request? A redirect is none: the daemon sends none, and the address is the program's to change. */
function refuses(status: number): boolean {
    return status < 200 || (status >= 300 && status !== 304);
}

function typeOf(answer: Answer): string {
    const type = answer.header("Content-Type") ?? "";
    const end = type.indexOf(";");
    return (end < 0 ? type : type.slice(0, end)).trim().toLowerCase();
}

/** The types in which the daemon answers a request under /v1/; undefined for other paths, which have types of their own. */
function expectedOf({ path, headers }: { path: string; headers: Record<string, string> }): string[] | undefined {
    if (!path.startsWith("/v1/")) return undefined;
    const { Accept = "" } = headers;
    return ONE_ONLY.includes(Accept) ? [Accept] : [JSON_TYPE, CBOR, ...ONE_ONLY];
}

/** Is this an answer of the daemon? Between here and there may be somebody who says 200 and means a page to log in. */
function answers(answer: Answer, expected: string[] | undefined): boolean {
    const empty = answer.status === 204 || answer.status === 304 || answer.header("Content-Length") === "0";
    return !expected || empty || expected.includes(typeOf(answer));
}

/** The value of a body. Throws Error if the body is not of the type that it is said to have. */
function read(answer: Answer, bytes: Uint8Array<ArrayBuffer>): unknown {
    const type = typeOf(answer);
    if (type === CBOR) return decode(bytes);
    if (bytes.length === 0) return undefined;
    const said = utf8.decode(bytes);
    return type === JSON_TYPE || type === "application/problem+json" ? JSON.parse(said) : said;
}

async function replyOf<T>(answer: Answer): Promise<Reply<T>> {
    const bytes = await answer.whole();
    let value: T;
    try {
        value = read(answer, bytes) as T;
    } catch (error) {
        throw new Disconnected(`the answer cannot be read: ${(error as Error).message}`, { cause: error });
    }
    return {
        status: answer.status,
        get headers() {
            return answer.headers;
        },
        value,
    };
}

async function problemOf(answer: Answer, expected: string[] | undefined): Promise<ProblemBody> {
    const { status } = answer;
    const bytes = await answer.whole();
    const told = (detail: string) => ({ type: "", title: `status ${status}`, status, detail });
    if (!refuses(status)) {
        const found = typeOf(answer) || "no type";
        return told(`found ${found}, as another server or a proxy would send it; an answer is ${expected?.join(" or ")}`);
    }
    let value: unknown;
    try {
        value = read(answer, bytes);
    } catch {
        // told by its status
    }
    if (typeof value === "object" && value !== null && "detail" in value) return { type: "", status, ...value } as ProblemBody;
    const found = status === 0 ? "a redirect" : `the status ${status}`;
    return told(`found ${found} without a problem, as another server or a proxy would send it`);
}
