// HTTP/1.1 over node's sockets, which unlike fetch know unix sockets. node's own HTTP client takes longer for a tick than the
// daemon does.
import * as net from "node:net";
import * as tls from "node:tls";
import { headOf } from "./http1.js";
import { Connection } from "./node_connection.js";
import { type Answer, Refused, type Sent, type Transport } from "./transport.js";

// The daemon closes a connection that is idle for --request-timeout, 10 s. A request on a connection that is just being closed
// is the one that nobody can judge, so the client closes first.
const IDLE_MS = 5000;

export class NodeTransport implements Transport {
    readonly base: string;
    readonly socket?: string;
    private readonly host: string;
    private readonly prefix: string;
    private readonly secure: boolean;
    private readonly to: net.NetConnectOpts & { servername?: string };
    private readonly idle: Connection[] = []; // the one that was used last stands last
    private session: Buffer | undefined;

    /** @param url `http://host:port`, `https://host:port`, with or without a path, which then stands before each path; or `unix:/path` */
    constructor(
        url: string,
        readonly page: string | undefined = url.startsWith("unix:") ? undefined : url,
    ) {
        if (url.startsWith("unix:")) {
            this.base = "http://localhost";
            this.socket = url.slice("unix:".length);
            this.host = "localhost";
            this.prefix = "";
            this.secure = false;
            this.to = { path: this.socket };
        } else {
            const { protocol, host, hostname, port, pathname } = new URL(url);
            if (protocol !== "http:" && protocol !== "https:")
                throw new TypeError(`found the address ${url}; it is http://..., https://... or unix:/path`);
            this.base = url;
            this.host = host;
            this.prefix = pathname.replace(/\/$/, "");
            this.secure = protocol === "https:";
            const name = hostname.replace(/^\[(.*)\]$/, "$1");
            const named = this.secure && net.isIP(name) === 0 ? { servername: name } : {};
            // All addresses of a name are tried: localhost may be ::1 first, where the daemon does not listen.
            const how = { noDelay: true, autoSelectFamily: true };
            this.to = { host: name, port: Number(port) || (this.secure ? 443 : 80), ...how, ...named };
        }
    }

    async send(sent: Sent): Promise<Answer> {
        const { signal } = sent;
        if (signal.aborted) throw signal.reason;
        const head = headOf({ ...sent, path: this.prefix + sent.path }, this.host);
        const connection = this.taken() ?? this.made();
        const stop = () => connection.fail(signal.reason);
        signal.addEventListener("abort", stop, { once: true });
        try {
            return await connection.send(head, sent.body ?? [], sent.method === "HEAD", (kept) => {
                signal.removeEventListener("abort", stop);
                if (kept) this.give(connection);
                else connection.leave();
            });
        } catch (error) {
            if (signal.aborted || connection.made) throw error;
            const { cause, message } = error as Error;
            const why = (cause instanceof Error ? cause.message : message).trim(); // those of TLS end their line
            throw new Refused(`no connection to ${this.socket ?? this.base}: ${why}`, { cause: error });
        }
    }

    close(): void {
        for (const connection of this.idle.splice(0)) connection.leave();
    }

    private made(): Connection {
        const leave = (connection: Connection) => {
            const at = this.idle.indexOf(connection);
            if (at >= 0) this.idle.splice(at, 1);
        };
        if (!this.secure) return new Connection(net.connect(this.to), "connect", leave);
        const kept = this.session && { session: this.session };
        const socket = tls.connect({ ...this.to, ...kept, ALPNProtocols: ["http/1.1"] });
        socket.on("session", (session) => (this.session = session));
        return new Connection(socket, "secureConnect", leave);
    }

    /** The idle connection that was used last. */
    private taken(): Connection | undefined {
        for (let connection = this.idle.pop(); connection; connection = this.idle.pop()) {
            if (connection.usable(IDLE_MS)) return connection;
            connection.leave();
        }
        return undefined;
    }

    private give(connection: Connection): void {
        this.idle.push(connection);
        connection.rest(IDLE_MS);
    }
}
