// The service as a whole: scenes, and whatever else the contract has.
import { Disconnected } from "./problem.js";
import { asked, type Reading, Scene } from "./scene.js";
import { type Call, type Reply, Sender, type Settings, type Token } from "./sender.js";
import type { Received, Transport } from "./transport.js";
import type { SceneEntry } from "./types.js";

export interface ConnectOptions {
    token?: Token;
    /** Milliseconds for a call with all its attempts; 10,000 by default, Infinity for no limit. */
    timeout?: number;
    /** How often a call may be sent again; 3 by default. */
    retries?: number;
}

const QUERY = /^\/v1\/scenes\/[^/]+\/query\/[a-z-]+$/; // a box or a scene may be named "query", too

export const ADDRESS = "http://localhost:7480";

export function settingsOf({ token, timeout = 10_000, retries = 3 }: ConnectOptions): Settings {
    return { token, timeout, retries };
}

export interface RequestOptions extends Call {
    headers?: Record<string, string>;
    /** JSON by default, CBOR where the body holds typed arrays. */
    media?: "json" | "cbor";
    /** May it be sent again if the connection broke behind it? GET and queries always may. */
    again?: boolean;
}

export class Client {
    private readonly sender: Sender;
    private readonly opened = new Map<string, Scene>();

    constructor(
        transport: Transport,
        settings: Settings,
        private readonly end: () => Promise<void> = async () => {},
    ) {
        this.sender = new Sender(transport, settings);
    }

    /** The scene of this name, one object for each. It is made by the first commit that puts a box. */
    scene(name: string): Scene {
        const scene = this.opened.get(name) ?? new Scene(name, this.sender);
        this.opened.set(name, scene);
        return scene;
    }

    /** The scenes by name, page by page. */
    async *scenes(which: Pick<Reading, "fresh"> = {}): AsyncGenerator<SceneEntry> {
        let cursor: string | undefined;
        do {
            const path = `/v1/scenes${asked({ ...which, cursor })}`;
            const { value } = await this.request<{ scenes: SceneEntry[]; cursor?: string }>("GET", path);
            yield* value.scenes;
            cursor = value.cursor;
        } while (cursor !== undefined);
    }

    /** Any request of the contract. Bytes and strings are sent as they are and need a Content-Type; other bodies become JSON or
     * CBOR. A status other than 2xx and 304 is a Problem, and so is an answer under /v1/ of a type that the daemon does not send. */
    request<T = unknown>(method: string, path: string, body?: unknown, options: RequestOptions = {}): Promise<Reply<T>> {
        const asks = ["GET", "HEAD", "OPTIONS"].includes(method) || (method === "POST" && QUERY.test(path));
        return this.sender.send<T>({ ...options, method, path, body, changes: !asks });
    }

    /** An answer that goes on, as `GET /v1/scenes/{scene}/log?follow=true`: its body comes as the daemon writes it, until `signal` ends
     * it or the client is closed. A status other than 2xx and 304 is a Problem, as for `request`. */
    stream(path: string, options: Call & { headers?: Record<string, string> } = {}): Promise<Received> {
        return this.sender.open({ ...options, method: "GET", path, changes: false });
    }

    /** The command that sends the request from a shell; a token stands there as $TOKEN. */
    curl(method: string, path: string, body?: unknown): string {
        return this.sender.curl(method, path, body);
    }

    /** Lets go of the connections and ends the streams of events; a daemon that `spawn` started ends. Whoever reads on in a stream or
     * an export gets Disconnected. Calls that are under way end by themselves. */
    async close(): Promise<void> {
        this.sender.closed.abort(new Disconnected("the client was closed"));
        this.sender.transport.close();
        await this.end();
    }
}
