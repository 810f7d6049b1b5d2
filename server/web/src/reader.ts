// Reads lists of boxes, in a worker where the browser has one for the page.
import { type Client, Disconnected, Problem } from "./client";
import { type BoxPage, readPages, Refusal, type Wanted } from "./pages";
import type { Delivery, Order } from "./worker";

declare const WORKER: string; // the program of the worker, which build.mjs packs

/** What has come for one work, and who waits for more. */
class Inbox {
    private readonly come: Delivery[] = [];
    private wake: () => void = () => {};

    push(delivery: Delivery): void {
        this.come.push(delivery);
        this.wake();
    }

    async next(): Promise<Delivery> {
        while (this.come.length === 0) await new Promise<void>((resolve) => (this.wake = resolve));
        return this.come.shift() as Delivery;
    }
}

export class Reader {
    private worker: Worker | null = null;
    private works = 0;
    private readonly inboxes = new Map<number, Inbox>();

    constructor(private readonly client: Client) {
        try {
            this.worker = new Worker(URL.createObjectURL(new Blob([WORKER], { type: "text/javascript" })));
        } catch {
            return; // then the page does it
        }
        this.worker.onmessage = ({ data }: MessageEvent<Delivery>) => this.inboxes.get(data.work)?.push(data);
        this.worker.onerror = (event) => {
            event.preventDefault();
            this.worker = null;
            for (const [work, inbox] of this.inboxes) inbox.push({ work, failure: event.message });
        };
    }

    /** The pages of a list, one after the other. Throws as Client.call. */
    async *pages(path: string, signal: AbortSignal): AsyncGenerator<BoxPage> {
        const wanted = (): Wanted => ({ url: location.origin + path, headers: this.client.authorization });
        for (;;) {
            let given = false;
            try {
                for await (const page of this.worker ? this.handedOver(this.worker, wanted(), signal) : readPages(wanted(), signal)) {
                    given = true;
                    yield page;
                }
                return;
            } catch (error) {
                if (signal.aborted) throw signal.reason;
                if (!(error instanceof Refusal)) throw error instanceof Disconnected ? error : new Disconnected(String(error));
                const problem = problemOf(error);
                if (problem.status !== 401 || given) throw problem;
                await this.client.call("GET", "/v1/scenes?limit=1", undefined, signal); // which asks for another token
            }
        }
    }

    private async *handedOver(worker: Worker, wanted: Wanted, signal: AbortSignal): AsyncGenerator<BoxPage> {
        const work = ++this.works;
        const inbox = new Inbox();
        const send = (order: Order) => worker.postMessage(order);
        const stop = () => {
            send({ work, stop: true });
            inbox.push({ work, failure: "stopped" });
        };
        this.inboxes.set(work, inbox);
        signal.addEventListener("abort", stop, { once: true });
        try {
            if (signal.aborted) throw signal.reason;
            send({ work, wanted });
            for (;;) {
                const delivery = await inbox.next();
                if (signal.aborted) throw signal.reason;
                if ("page" in delivery) yield delivery.page;
                else if ("end" in delivery) return;
                else if ("status" in delivery) throw new Refusal(delivery.status, delivery.body);
                else throw new Disconnected(delivery.failure);
            }
        } finally {
            signal.removeEventListener("abort", stop);
            this.inboxes.delete(work);
        }
    }
}

function problemOf({ status, body }: Refusal): Problem {
    const unknown = { type: "", title: `status ${status}`, status, detail: `found the status ${status} without a problem` };
    try {
        return new Problem({ ...unknown, ...JSON.parse(body) }, new Headers());
    } catch {
        return new Problem(unknown, new Headers());
    }
}
