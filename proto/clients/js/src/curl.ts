// Requests as commands for a shell.
import { decode } from "./cbor.js";
import type { Transport } from "./transport.js";

const utf8 = new TextDecoder();

/** For JSON.stringify: typed arrays as arrays, bigints as the nearest numbers. */
export function plain(_key: string, value: unknown): unknown {
    if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
    return typeof value === "bigint" ? Number(value) : value;
}

function quoted(text: string): string {
    return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Do the headers say that the body is CBOR? */
function isCbor(headers: Record<string, string>): boolean {
    return Object.entries(headers).some(([name, value]) => name.toLowerCase() === "content-type" && value === "application/cbor");
}

/** The text that curl sends for a body: bytes of CBOR as JSON, other bytes as the text that they are. */
function textOf(body: unknown, cbor: boolean): string {
    if (typeof body === "string") return body;
    if (!(body instanceof Uint8Array)) return JSON.stringify(body, plain);
    try {
        return cbor ? JSON.stringify(decode(body), plain) : utf8.decode(body);
    } catch {
        return utf8.decode(body); // the daemon says what is wrong with it
    }
}

/** The command that sends the same request; a body in CBOR becomes JSON, and a token $TOKEN. */
export function curl(
    { base, socket }: Transport,
    { method, path, headers }: { method: string; path: string; headers: Record<string, string> },
    body: unknown,
): string {
    const words = ["curl -s"];
    if (method !== (body === undefined ? "GET" : "POST")) words.push("-X", method); // curl chooses these by itself
    if (socket) words.push("--unix-socket", quoted(socket));
    for (const [name, value] of Object.entries(headers)) {
        if (name === "Authorization") words.push('-H "Authorization: Bearer $TOKEN"');
        else if (value !== "application/cbor" && value !== "application/json") words.push("-H", quoted(`${name}: ${value}`));
    }
    if (body !== undefined) words.push("--json", quoted(textOf(body, isCbor(headers))));
    return [...words, quoted(base + path)].join(" ");
}
