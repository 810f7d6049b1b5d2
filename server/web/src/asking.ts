// Questions about the state that is shown, also where only the page still knows it.
import { type Box, putOf } from "./box";
import type { Client } from "./client";
import { boxCount, grouped } from "./counts";
import { stringify } from "./json";
import { scenePath } from "./paths";
import type { Past, Store } from "./store";

/** Of questions that nobody put: what the page asks to know what it shows is not recorded. */
export const OWN = { record: false } as const;

const BROUGHT = 1000; // entries that a question may bring along
type Body = Record<string, unknown>;
type Answered = { at?: { revision: number; time: number; clamped: boolean } };

/** The state that is shown cannot be asked; the message says why not. */
export class Unasked extends Error {}

export interface Asked<T> {
    path: string;
    body: Body; // as it was sent
    answer: T;
}

/**
 * Asks as `kind` of query. A state of the past is asked for by its revision or time. If the daemon does not keep it, it is asked about a
 * later one and the question brings along what was different.
 * @throws Unasked where that is too much, Problem as Client.call.
 */
export async function ask<T>(store: Store, client: Client, kind: string, body: Body): Promise<Asked<T>> {
    const path = scenePath(store.info?.name ?? "", `/query/${kind}`);
    const send = async (sent: Body) => ({ path, body: sent, answer: await client.call<T & Answered>("POST", path, sent) });
    const { past, info } = store;
    if (!past || !info) return send(body);
    if (past.seq === undefined || past.revision >= info.oldest.revision) {
        const asked = await send({ ...body, at: { ...past.at, clamp: true } });
        const { at } = asked.answer;
        if (!at?.clamped) return asked;
        info.oldest = { revision: at.revision, time: at.time }; // what is nearest to what is gone
        if (past.seq === undefined) throw new Unasked("The daemon does not keep this state any more, and the page has not seen it as it was.");
    }
    return send({ ...body, at: { revision: store.revision, clamp: true }, with: difference(store, past) });
}

/** What makes the newest state the one that is shown. */
function difference(store: Store, past: Past): Body {
    const { live, ring } = store;
    const names = ring.changed(past.seq ?? ring.newest, ring.newest);
    if (names.size > BROUGHT)
        throw new Unasked(`The daemon does not keep this state any more. ${boxCount(names.size)} have changed since, and a question brings along ${grouped(BROUGHT)} at most.`);
    const remove: string[] = [];
    const put: Record<string, ReturnType<typeof putOf>> = {};
    const pose: Record<string, Partial<Box>> = {};
    for (const name of names) {
        const [then, now] = [past.snapshot.boxes.get(name), live.boxes.get(name)];
        if (!then) now && remove.push(name);
        else if (!now || now.frame !== undefined || !alike(now, then)) put[name] = { ...putOf(then), data: undefined }; // which no question is about
        else pose[name] = then.angle === undefined ? { center: then.center, rotation: then.rotation } : { center: then.center, angle: then.angle };
    }
    const parts = { remove, put, pose };
    return Object.fromEntries(Object.entries(parts).filter(([, part]) => Object.keys(part).length > 0));
}

function alike(a: Box, b: Box): boolean {
    return stringify({ ...putOf(a), center: 0, rotation: 0, angle: 0 }) === stringify({ ...putOf(b), center: 0, rotation: 0, angle: 0 });
}
