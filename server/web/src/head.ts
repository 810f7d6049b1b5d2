// Runs in the head of the page: sends the first requests, so that they are answered while the browser reads the program and makes a picture.
// What comes of them is left in `ahead`, where the program finds it.
import { boxesPath, eventsPath, SCENES, scenePath, sceneOfAddress } from "./paths";
import type { Delivery, Order } from "./worker";

declare const WORKER: string; // the program of the worker, which build.mjs packs

/** What was asked for before the program of the page was there. A token is not known then: whoever needs one asks again. */
export interface Ahead {
    /** That of the address, or "". */
    scene: string;
    /** What was asked for; an answer is taken out by whoever reads it. */
    answers: Map<string, { response: Promise<Response>; stop: AbortController }>;
    worker: Worker | null;
    /** The list that the worker reads as its work 0; null: none. */
    list: string | null;
    /** What the worker has said so far. */
    said: Delivery[];
    /** Why the worker does not go. */
    broken: string | null;
}

const scene = sceneOfAddress();
const ahead: Ahead = { scene, answers: new Map(), worker: null, list: null, said: [], broken: null };
(globalThis as unknown as { ahead: Ahead }).ahead = ahead;

function get(path: string, accept: string): void {
    const stop = new AbortController();
    const response = fetch(path, { headers: { Accept: accept }, signal: stop.signal, cache: "no-store", credentials: "omit" });
    response.catch(() => {}); // told to whoever takes it
    ahead.answers.set(path, { response, stop });
}

try {
    ahead.worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
} catch (error) {
    ahead.broken = String(error); // then the page does it
}
if (ahead.worker) {
    ahead.worker.onmessage = ({ data }: MessageEvent<Delivery>) => ahead.said.push(data);
    ahead.worker.onerror = (event) => {
        event.preventDefault();
        ahead.broken = event.message;
    };
}
if (scene) {
    get(eventsPath(scene), "text/event-stream");
    ahead.list = boxesPath(scene);
    ahead.worker?.postMessage({ work: 0, wanted: { url: location.origin + ahead.list, headers: {} } } satisfies Order);
    get(scenePath(scene), "application/json");
}
get(SCENES, "application/json");
