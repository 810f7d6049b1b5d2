// Server-Sent Events over fetch, which unlike EventSource can send a token.
import { type Client, problemOf } from "./client";

export interface Message {
    event: string;
    id: string; // of the last message that had one
    data: unknown;
}

/** Yields the messages of one connection until it ends; throws when it cannot be made or breaks.
 * `opened` is called when the daemon has accepted. */
export async function* messages(
    client: Client,
    path: string,
    last: string,
    signal: AbortSignal,
    opened: () => void,
): AsyncGenerator<Message> {
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (last) headers["Last-Event-ID"] = last;
    const response = await client.fetch(path, { headers, signal });
    if (!response.ok || !response.body) throw problemOf(response, await response.text());
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    let id = last;
    let event = "";
    let data: string[] = [];
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) return;
            const lines = (rest + value).split("\n");
            rest = lines.pop() ?? "";
            for (const line of lines) {
                if (line === "") {
                    if (data.length > 0) yield { event, id, data: JSON.parse(data.join("\n")) };
                    event = "";
                    data = [];
                    continue;
                }
                const colon = line.indexOf(":"); // at 0 in a comment
                const field = colon < 0 ? line : line.slice(0, colon);
                const text = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
                if (field === "id") id = text;
                else if (field === "event") event = text;
                else if (field === "data") data.push(text);
            }
        }
    } finally {
        void reader.cancel().catch(() => {}); // whoever has read enough leaves the connection
    }
}
