// Reads lists of boxes, in a worker where the browser has one for the page.
import { ahead } from "./ahead";
import { type Client, Disconnected, Problem } from "./client";
import { type BoxPage, readPages, Refusal, type Wanted } from "./pages";
import type { Delivery, Order } from "./worker";

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
    private early: string | null;

    constructor(private readonly client: Client) {
        const { worker, said, list, broken } = ahead;
        this.early = list;
        if (!worker || broken !== null) return; // then the page does it
        this.worker = worker;
        const first = new Inbox();
        for (const delivery of said.splice(0)) first.push(delivery);
        this.inboxes.set(0, first);
        worker.onmessage = ({ data }: MessageEvent<Delivery>) => this.inboxes.get(data.work)?.push(data);
        worker.onerror = (event) => {
            event.preventDefault();
            this.worker = null;
            for (const [work, inbox] of this.inboxes) inbox.push({ work, failure: event.message });
        };
    }

    /** The pages of the list that was asked for first, if it is that one and nobody has it yet. They throw whatever goes wrong. */
    first(path: string, signal: AbortSignal): AsyncGenerator<BoxPage> | null {
        const { worker, early } = this;
        this.early = null;
        if (!worker || early === null) return null;
        if (early === path) return this.delivered(worker, 0, signal);
        this.end(worker, 0);
        return null;
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

    private handedOver(worker: Worker, wanted: Wanted, signal: AbortSignal): AsyncGenerator<BoxPage> {
        const work = ++this.works;
        this.inboxes.set(work, new Inbox());
        if (!signal.aborted) worker.postMessage({ work, wanted } satisfies Order);
        return this.delivered(worker, work, signal);
    }

    private async *delivered(worker: Worker, work: number, signal: AbortSignal): AsyncGenerator<BoxPage> {
        const inbox = this.inboxes.get(work) as Inbox;
        const stop = () => inbox.push({ work, failure: "stopped" });
        signal.addEventListener("abort", stop, { once: true });
        let ended = false;
        try {
            if (signal.aborted) throw signal.reason;
            for (;;) {
                const delivery = await inbox.next();
                if (signal.aborted) throw signal.reason;
                ended = !("page" in delivery);
                if ("page" in delivery) yield delivery.page;
                else if ("end" in delivery) return;
                else if ("status" in delivery) throw new Refusal(delivery.status, delivery.body);
                else throw new Disconnected(delivery.failure);
            }
        } finally {
            signal.removeEventListener("abort", stop);
            this.end(worker, work, ended);
        }
    }

    /** Nobody waits for that work any more. */
    private end(worker: Worker, work: number, ended = false): void {
        if (!ended) worker.postMessage({ work, stop: true } satisfies Order);
        this.inboxes.delete(work);
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
