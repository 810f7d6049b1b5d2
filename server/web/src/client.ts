// The page's client of the daemon: that of proto/clients/js, with a token that is asked for when one is needed, and kept here alone.
import { Client as Obbd, Problem, type Received } from "../../../proto/clients/js/src/index";
import { FetchTransport } from "../../../proto/clients/js/src/transport";
import { answerOf } from "./ahead";
import { hasBig } from "./json";

export { Disconnected, messages, Problem } from "../../../proto/clients/js/src/index";

/** The longest time of a timer: a person may take theirs to find a token, and the daemon itself ends what takes too long. */
const TIMEOUT_MS = 2 ** 31 - 1;

const PATIENCE_MS = 4000; // after which a request without an answer is worth a word

/** Asks for an answer in which `data` of boxes is to the last digit: from JSON whole numbers beyond 2^53 would be rounded. */
export const EXACT = { Accept: "application/cbor" } as const;

/** Why a request failed, as a sentence. */
export function sentence(error: unknown): string {
    if (!(error instanceof Problem)) return "The daemon does not answer.";
    const { message } = error;
    return `${message.slice(0, 1).toUpperCase()}${message.slice(1)}.`;
}

export class Client {
    /** `waiting` has changed. */
    onWait: () => void = () => {};
    private obbd: Obbd;
    private token = "";
    private late = 0; // requests that have waited for so long

    /** @param askToken resolves to a token; `refused` says that the one before was no good. */
    constructor(private readonly askToken: (refused: boolean) => Promise<string>) {
        this.obbd = this.make();
    }

    private make(): Obbd {
        const { origin } = location;
        const send = (url: string, init: RequestInit) => this.watch(answerOf(url.slice(origin.length), init) ?? fetch(url, init));
        return new Obbd(new FetchTransport(origin, send), {
            timeout: TIMEOUT_MS,
            retries: 0, // what does not work is said at once, and tried again by whoever wants it
            token: async (refused) => {
                if (refused) this.token = await this.askToken(this.token !== "");
                return this.token;
            },
        });
    }

    /** Is there a request that has had no answer for seconds? */
    get waiting(): boolean {
        return this.late > 0;
    }

    private watch(response: Promise<Response>): Promise<Response> {
        let late = 0;
        const timer = setTimeout(() => this.wait((late = 1)), PATIENCE_MS);
        return response.finally(() => {
            clearTimeout(timer);
            if (late > 0) this.wait(-late);
        });
    }

    private wait(more: number): void {
        this.late += more;
        this.onWait();
    }

    get hasToken(): boolean {
        return this.token !== "";
    }

    /** Sends that token from now on. */
    setToken(token: string): void {
        this.token = token;
        this.obbd = this.make(); // the one before keeps its own
    }

    /** The headers that say who asks, for whoever sends requests by other ways. */
    get authorization(): Record<string, string> {
        return this.token === "" ? {} : { Authorization: `Bearer ${this.token}` };
    }

    /** What a request is answered with. It is sent in JSON, with bigints in CBOR. */
    call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers?: Record<string, string>): Promise<T> {
        const media = hasBig(body) ? "cbor" : "json";
        return this.untilAllowed(async () => {
            const { value } = await this.obbd.request<T>(method, path, body, { media, signal, headers });
            return value;
        });
    }

    /** An answer that goes on until the signal ends it. */
    stream(path: string, headers: Record<string, string>, signal: AbortSignal): Promise<Received> {
        return this.untilAllowed(() => this.obbd.stream(path, { headers, signal }));
    }

    /** The command that sends the same request from a shell. */
    curl(path: string, body: unknown): string {
        return this.obbd.curl("POST", path, body);
    }

    /** Sends a request until its token is good: the client asks for another one once a request. */
    private async untilAllowed<T>(send: () => Promise<T>): Promise<T> {
        for (;;) {
            try {
                return await send();
            } catch (error) {
                if (!(error instanceof Problem && error.status === 401)) throw error;
            }
        }
    }
}
