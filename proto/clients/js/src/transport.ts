// One HTTP request and its answer, without any judgement. Browsers have fetch; node_transport.ts has one over sockets.
import { Disconnected } from "./problem.js";
import { type Ending, linked } from "./stop.js";

export interface Sent {
    method: string;
    /** Path and query string. */
    path: string;
    headers: Record<string, string>;
    /** To be sent one after the other. */
    body: Uint8Array[] | null;
    signal: Ending;
}

export interface Received {
    /** 0 for a redirect in a browser, which does not tell more of it. */
    status: number;
    headers: Headers;
    body: AsyncIterable<Uint8Array>;
}

/** An answer for whoever judges it. */
export interface Answer extends Received {
    /** One of `headers`, or null. */
    header(name: string): string | null;
    /** The whole body, in place of `body`. */
    whole(): Promise<Uint8Array<ArrayBuffer>>;
}

/** Nothing of the request can have arrived. */
export class Refused extends Disconnected {}

export interface Transport {
    /** The address of the daemon, and the unix socket that stands for it, if any. */
    readonly base: string;
    readonly socket?: string;
    /** The address of the web editor; undefined if only a unix socket is known. */
    readonly page: string | undefined;
    /** Resolves when the head of the answer is there. Throws Refused, Disconnected, or the reason of the signal. */
    send(sent: Sent): Promise<Answer>;
    /** Ends idle connections. */
    close(): void;
}

/** Joins the parts of a body. */
export function joined(parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
        out.set(part, at);
        at += part.length;
    }
    return out;
}

/** The bytes of a body. */
export async function bytesOf(body: AsyncIterable<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    return parts.length === 1 ? (parts[0] as Uint8Array<ArrayBuffer>) : joined(parts);
}

export class FetchTransport implements Transport {
    readonly page: string;

    /** @param fetched sends a request, as fetch does. */
    constructor(
        readonly base: string,
        private readonly fetched: (url: string, init: RequestInit) => Promise<Response> = (url, init) => fetch(url, init),
    ) {
        this.page = base;
    }

    async send({ method, path, headers, body, signal }: Sent): Promise<Answer> {
        const stop = new AbortController();
        linked(signal, stop);
        const init: RequestInit = { method, headers, signal: stop.signal, cache: "no-store", credentials: "omit", redirect: "manual" };
        if (body) init.body = joined(body);
        let response: Response;
        try {
            response = await this.fetched(this.base + path, init);
        } catch (error) {
            throw signal.aborted ? signal.reason : broken(error); // fetch does not tell a refusal from a cut
        }
        const parts = chunks(response.body, signal);
        return {
            status: response.status,
            headers: response.headers,
            body: parts,
            header: (name) => response.headers.get(name),
            whole: () => bytesOf(parts),
        };
    }

    close(): void {}
}

export function broken(error: unknown): Disconnected {
    return new Disconnected(`the connection broke: ${error instanceof Error ? error.message : error}`, { cause: error });
}

async function* chunks(body: ReadableStream<Uint8Array> | null, signal: Ending): AsyncGenerator<Uint8Array> {
    if (!body) return;
    const reader = body.getReader();
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            yield value;
        }
    } catch (error) {
        throw signal.aborted ? signal.reason : broken(error);
    } finally {
        void reader.cancel().catch(() => {}); // whoever has read enough leaves the connection
    }
}
