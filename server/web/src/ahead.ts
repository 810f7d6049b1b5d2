// What the head of the page has asked for (head.ts). Each answer is given once.
import type { Ahead } from "./head";

export const { ahead } = globalThis as unknown as { ahead: Ahead };

/** The answer to a GET of that path without a token, if it was asked for and nobody has it yet. The signal ends it. */
export function answerOf(path: string, { method, headers, signal }: RequestInit): Promise<Response> | undefined {
    const sent = ahead.answers.get(path);
    const given = new Headers(headers);
    if (!sent || method !== "GET" || given.has("Authorization") || given.has("Last-Event-ID")) return undefined;
    ahead.answers.delete(path);
    const end = () => sent.stop.abort(signal?.reason);
    if (signal?.aborted) end();
    signal?.addEventListener("abort", end, { once: true });
    return sent.response;
}

/** Nobody will ask for the rest. */
export function dropAhead(): void {
    for (const { stop } of ahead.answers.values()) stop.abort();
    ahead.answers.clear();
}
