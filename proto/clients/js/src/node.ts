// The package under node: with unix sockets, environment variables, and `spawn`.
import { ADDRESS, Client, type ConnectOptions, settingsOf } from "./client.js";
import { NodeTransport } from "./node_transport.js";

export * from "./index.js";
export { spawn, type SpawnOptions } from "./spawn.js";

/** A client of the daemon at `http://…`, `https://…` or `unix:/path`; by default OBBD_URL, else http://localhost:7480. The token
 * is by default OBBD_TOKEN. An empty address or token counts as none. Nothing is sent yet. */
export function connect(url?: string, options: ConnectOptions = {}): Client {
    const address = url || process.env.OBBD_URL || ADDRESS;
    const token = options.token || process.env.OBBD_TOKEN || undefined;
    return new Client(new NodeTransport(address.replace(/\/$/, "")), { ...settingsOf(options), token });
}
