// Which pages keep their streams: those in sight, and of those out of sight the one that was seen last. A browser opens six connections to a
// daemon at most, for all its pages, and a stream takes one for good.

export class Sight {
    private readonly others = new BroadcastChannel("obbd");
    private left = 0; // when this page went out of sight
    private rest = new AbortController();
    private wake: () => void = () => {};

    constructor() {
        this.others.onmessage = ({ data }: MessageEvent<number>) => {
            if (document.hidden && data > this.left) this.rest.abort();
        };
        document.addEventListener("visibilitychange", () => this.look());
        this.look();
    }

    private look(): void {
        if (document.hidden) this.others.postMessage((this.left = Date.now() + Math.random())); // two may go at once
        else if (this.resting) {
            this.rest = new AbortController();
            this.wake();
        }
    }

    /** Has another page gone out of sight since this one did? */
    get resting(): boolean {
        return this.signal.aborted;
    }

    /** Ends what rests with the page. */
    get signal(): AbortSignal {
        return this.rest.signal;
    }

    /** Until the page does not rest, or the signal ends it. */
    async back(signal: AbortSignal): Promise<void> {
        if (!this.resting) return;
        await new Promise<void>((resolve) => {
            this.wake = resolve;
            signal.addEventListener("abort", () => resolve(), { once: true });
        });
    }
}
