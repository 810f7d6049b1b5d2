// A worker that reads pages of boxes and hands them over in columns, so that the page goes on while there are many. Each work has a number.
import { buffersOf, readPages, Refusal, type BoxPage, type Wanted } from "./pages";

export type Order = { work: number; wanted: Wanted } | { work: number; stop: true };
export type Delivery = { work: number } & ({ page: BoxPage } | { end: true } | { status: number; body: string } | { failure: string });

const tell = (delivery: Delivery, buffers: ArrayBuffer[] = []) => (self as unknown as Worker).postMessage(delivery, buffers);
const works = new Map<number, AbortController>();

self.onmessage = async ({ data }: MessageEvent<Order>) => {
    const { work } = data;
    if ("stop" in data) {
        works.get(work)?.abort();
        return;
    }
    const stop = new AbortController();
    works.set(work, stop);
    try {
        for await (const page of readPages(data.wanted, stop.signal)) tell({ work, page }, buffersOf(page));
        tell({ work, end: true });
    } catch (error) {
        if (error instanceof Refusal) tell({ work, status: error.status, body: error.body });
        else tell({ work, failure: String(error) });
    } finally {
        works.delete(work);
    }
};
