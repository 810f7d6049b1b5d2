// Requests as commands for a shell.
import type { Transport } from "./transport.js";

/** For JSON.stringify: typed arrays as arrays, bigints as the nearest numbers. */
export function plain(_key: string, value: unknown): unknown {
    if (ArrayBuffer.isView(value)) return Array.from(value as Uint8Array);
    return typeof value === "bigint" ? Number(value) : value;
}

function quoted(text: string): string {
    return `'${text.replaceAll("'", "'\\''")}'`;
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
    if (body !== undefined) words.push("--json", quoted(typeof body === "string" ? body : JSON.stringify(body, plain)));
    return [...words, quoted(base + path)].join(" ");
}
