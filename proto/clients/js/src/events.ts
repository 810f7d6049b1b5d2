// Server-Sent Events: the messages of one connection, and a stream that goes on over many.
import { Disconnected, Lost, Problem, Unknown } from "./problem.js";
import { later, linked, sleep } from "./stop.js";
import type { Received } from "./transport.js";
import type { SceneEvent } from "./types.js";

const SILENCE_MS = 45_000; // three comments of the daemon
const WAIT_MS = { least: 250, most: 5000 };

export interface Message {
    event: string;
    /** Of the last message that had one. */
    id: string;
    /** As it was sent: JSON. */
    data: string;
}

async function* read(body: AsyncIterable<Uint8Array>, heard: () => void): AsyncGenerator<Message> {
    const utf8 = new TextDecoder();
    let rest = "";
    let id = "";
    let event = "";
    let data: string[] = [];
    for await (const bytes of body) {
        heard();
        const lines = (rest + utf8.decode(bytes, { stream: true })).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
            if (line === "") {
                if (data.length > 0) yield { event, id, data: data.join("\n") };
                event = "";
                data = [];
                continue;
            }
            const colon = line.indexOf(":"); // at 0 in a comment
            const field = colon < 0 ? line : line.slice(0, colon);
            const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
            if (field === "id") id = text;
            else if (field === "event") event = text;
            else if (field === "data") data.push(text);
        }
    }
}

export interface Follow {
    signal?: AbortSignal | undefined;
    /** Milliseconds without a byte after which the connection counts as broken; 45,000 by default, Infinity for never. */
    silence?: number | undefined;
}

/** The messages of one connection, until the daemon ends it. `open` makes the connection, which its signal ends. Throws what `open`
 * throws, Disconnected if the connection breaks or nothing is heard for `silence`, and the reason of the signal. For whoever follows
 * a stream by rules of his own; `Scene.events` goes on over breaks. */
export async function* messages(
    open: (signal: AbortSignal) => Promise<Received>,
    { signal, silence = SILENCE_MS }: Follow = {},
): AsyncGenerator<Message> {
    const stop = new AbortController();
    const unlink = linked(signal, stop);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
        clearTimeout(timer);
        timer = later(() => stop.abort(new Disconnected(`nothing was heard for ${silence} ms`)), silence);
    };
    try {
        const { body } = await open(stop.signal);
        heard();
        yield* read(body, heard);
    } finally {
        clearTimeout(timer);
        unlink();
        stop.abort();
    }
}

/** May the next attempt succeed? A scene that is not there behind a break will be put again, for a scene that is deleted says `gone`.
 * Lost and Unknown come from `onLost`, if the daemon went once more while the boxes were put again. */
function isPassing(error: unknown): boolean {
    if (error instanceof Disconnected || error instanceof Lost || error instanceof Unknown) return true;
    if (!(error instanceof Problem)) return false;
    return error.status === 503 || error.status === 429 || error.type === "/problems/no-scene";
}

/** Follows a stream over all its connections. `open` makes one that goes on behind the message `last`; `first` says that there was
 * none before. Ends with `gone` or the signal. After a break the daemon sends again whatever belongs to a revision that was not
 * told in full, so apply sets of pairs as sets. */
export async function* follow(
    open: (last: string, first: boolean, signal: AbortSignal) => Promise<Received>,
    { signal, silence }: Follow,
): AsyncGenerator<SceneEvent> {
    let last = "";
    let first = true;
    let wait = WAIT_MS.least;
    const connect = async (stop: AbortSignal) => {
        const received = await open(last, first, stop);
        first = false;
        return received;
    };
    while (!signal?.aborted) {
        try {
            for await (const { event, id, data } of messages(connect, { signal, silence })) {
                if (event === "overrun" || event === "shutdown") break;
                wait = WAIT_MS.least;
                yield { event, ...JSON.parse(data) } as SceneEvent;
                if (event === "gone") return;
                if (id) last = id; // only now, for the message may be the one that breaks
            }
        } catch (error) {
            if (signal?.aborted) return;
            if (first || !isPassing(error)) throw error;
        }
        await sleep(wait * (0.5 + Math.random() / 2), signal).catch(() => {});
        wait = Math.min(WAIT_MS.most, 2 * wait);
    }
}
