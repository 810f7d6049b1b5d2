// HTTP over node's own client, which unlike fetch knows unix sockets and lets go of idle connections.
import * as http from "node:http";
import * as https from "node:https";
import { broken, type Received, Refused, type Sent, type Transport } from "./transport.js";

// The daemon closes a connection that is idle for --request-timeout, 10 s. A request on a connection that is just being closed
// is the one that nobody can judge, so the client closes first.
const IDLE_MS = 5000;

const UNSENT = new Set(["ECONNREFUSED", "ENOENT", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

export class NodeTransport implements Transport {
    readonly base: string;
    readonly socket?: string;
    private readonly agent: http.Agent;
    private readonly to: http.RequestOptions;

    /** @param url `http://host:port`, `https://host:port` or `unix:/path` */
    constructor(
        url: string,
        readonly page: string | undefined = url.startsWith("unix:") ? undefined : url,
    ) {
        const settings = { keepAlive: true, noDelay: true, scheduling: "lifo", timeout: IDLE_MS } as const;
        if (url.startsWith("unix:")) {
            this.base = "http://localhost";
            this.socket = url.slice("unix:".length);
            this.to = { socketPath: this.socket, host: "localhost" };
            this.agent = new http.Agent(settings);
        } else {
            this.base = url;
            const { protocol, hostname, port } = new URL(url);
            this.to = { protocol, host: hostname.replace(/^\[(.*)\]$/, "$1"), port };
            this.agent = protocol === "https:" ? new https.Agent(settings) : new http.Agent(settings);
        }
    }

    send({ method, path, headers, body, signal }: Sent): Promise<Received> {
        return new Promise((resolve, reject) => {
            const length = body ? { "Content-Length": body.reduce((sum, part) => sum + part.length, 0) } : {};
            const request = (this.to.protocol === "https:" ? https : http).request({
                ...this.to,
                method,
                path,
                headers: { ...headers, ...length },
                agent: this.agent,
                signal,
            });
            request.once("response", (answer) => {
                const fields = new Headers();
                for (let i = 0; i + 1 < answer.rawHeaders.length; i += 2)
                    fields.append(answer.rawHeaders[i] as string, answer.rawHeaders[i + 1] as string);
                resolve({ status: answer.statusCode ?? 0, headers: fields, body: chunks(answer, signal) });
            });
            request.once("error", (error: NodeJS.ErrnoException) => {
                if (signal.aborted) reject(signal.reason);
                else if (UNSENT.has(error.code ?? ""))
                    reject(new Refused(`no connection to ${this.socket ?? this.base}: ${error.message}`, { cause: error }));
                else reject(broken(error));
            });
            // Head and body leave in one write.
            request.cork();
            for (const part of body ?? []) request.write(part);
            request.end();
            request.uncork();
        });
    }

    close(): void {
        this.agent.destroy();
    }
}

async function* chunks(answer: http.IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
        for await (const chunk of answer) yield chunk as Uint8Array;
        if (!answer.complete) throw new Error("the answer was cut");
    } catch (error) {
        throw signal.aborted ? signal.reason : broken(error);
    }
}
