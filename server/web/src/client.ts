// Talks to the daemon: JSON in, JSON out, problems as exceptions. A token is asked for when one is needed, and kept here alone.

export interface ProblemBody {
    type: string;
    title: string;
    status: number;
    detail?: string;
    pointer?: string;
}

export class Problem extends Error {
    readonly status: number;
    readonly type: string;

    constructor(body: ProblemBody) {
        super(`${body.detail ?? body.title}${body.pointer ? ` (${body.pointer})` : ""}`);
        this.status = body.status;
        this.type = body.type;
    }
}

/** A request and what came back, to show. */
export interface Exchange {
    curl: string;
    answer: string;
}

export class Client {
    private token = "";
    private asking: Promise<void> | null = null;

    /** @param askToken resolves to a token; `refused` says that the one before was no good. */
    constructor(private readonly askToken: (refused: boolean) => Promise<string>) {}

    get hasToken(): boolean {
        return this.token !== "";
    }

    /** The answer whatever its status is, but never a 401: then a token is asked for and the request sent again. */
    async fetch(path: string, init: RequestInit = {}): Promise<Response> {
        for (;;) {
            const sent = this.token;
            const headers = new Headers(init.headers);
            if (sent) headers.set("Authorization", `Bearer ${sent}`);
            const response = await fetch(path, { ...init, headers, cache: "no-store", credentials: "omit" });
            if (response.status !== 401) return response;
            await response.body?.cancel();
            if (this.token !== sent) continue; // another request has got one meanwhile
            this.asking ??= this.askToken(sent !== "").then((token) => {
                this.token = token;
                this.asking = null;
            });
            await this.asking;
        }
    }

    async call<T>(method: string, path: string, body?: unknown, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<T> {
        const init: RequestInit = { method, signal, headers };
        if (body !== undefined) {
            init.body = JSON.stringify(body);
            init.headers = { ...headers, "Content-Type": "application/json" };
        }
        const response = await this.fetch(path, init);
        const text = await response.text();
        if (!response.ok) throw problemOf(response, text);
        return (text ? JSON.parse(text) : undefined) as T;
    }

    /** The command that sends the same request from a shell. */
    curl(path: string, body: unknown): string {
        const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
        const token = this.token ? ` -H "Authorization: Bearer $TOKEN"` : "";
        return `curl -s${token} --json '${quoted}' '${location.origin}${path}'`;
    }
}

export function problemOf(response: Response, text: string): Problem {
    try {
        return new Problem(JSON.parse(text) as ProblemBody);
    } catch {
        return new Problem({ type: "", title: `${response.status} ${response.statusText}`, status: response.status });
    }
}

export function scenePath(scene: string, rest = ""): string {
    return `/v1/scenes/${encodeURIComponent(scene)}${rest}`;
}
