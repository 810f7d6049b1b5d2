// The package where there is fetch and no node: browsers.
import { ADDRESS, Client, type ConnectOptions, settingsOf } from "./client.js";
import { FetchTransport } from "./transport.js";

export { Client, type ConnectOptions, type RequestOptions } from "./client.js";
export { decode, encode } from "./cbor.js";
export { type Follow, type Message, messages } from "./events.js";
export { Disconnected, Lost, Problem, type ProblemBody, Unanswered, Unknown } from "./problem.js";
export { allPairs, nearest, overlap, pairs, point, ray, sweep } from "./queries.js";
export { type Reading, Scene, type Topics } from "./scene.js";
export type { Call, Reply, Token } from "./sender.js";
export type { Received } from "./transport.js";
export type * from "./types.js";

/** A client of the daemon at the address; nothing is sent yet. */
export function connect(url: string = ADDRESS, options: ConnectOptions = {}): Client {
    return new Client(new FetchTransport(url.replace(/\/$/, "")), settingsOf(options));
}
