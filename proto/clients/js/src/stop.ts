// What ends a call before its answer: the caller's signal, or its time.

/** As much of an AbortSignal as sending a request needs. */
export interface Ending {
    readonly aborted: boolean;
    readonly reason?: unknown;
    addEventListener(type: "abort", act: () => void, options?: { once: true }): void;
    removeEventListener(type: "abort", act: () => void): void;
}

/** Ends a call. It is an AbortController and its signal in one, and takes a tenth of the time to make, to hear and to forget. */
export class Stop implements Ending {
    aborted = false;
    reason: unknown;
    private readonly acts = new Set<() => void>();

    /** Calls whoever listens, once. */
    abort(reason: unknown): void {
        if (this.aborted) return;
        this.aborted = true;
        this.reason = reason;
        for (const act of this.acts) act();
        this.acts.clear();
    }

    addEventListener(_type: "abort", act: () => void): void {
        this.acts.add(act);
    }

    removeEventListener(_type: "abort", act: () => void): void {
        this.acts.delete(act);
    }
}

/** Lets the signal stop the other, until the returned function is called. */
export function linked(signal: Ending | undefined, stop: { abort(reason: unknown): void }): () => void {
    if (signal === undefined) return () => {};
    const cancel = () => stop.abort(signal.reason);
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    return () => signal.removeEventListener("abort", cancel);
}

const LONGEST_MS = 2 ** 31 - 1; // a timer that is to take longer fires at once

/** Acts after so many milliseconds, or after 24 days, if that is sooner; never for Infinity. */
export function later(act: () => void, ms: number): ReturnType<typeof setTimeout> | undefined {
    return ms === Infinity ? undefined : setTimeout(act, Math.min(ms, LONGEST_MS));
}

export function sleep(ms: number, signal?: Ending): Promise<void> {
    return new Promise((resolve, reject) => {
        const stop = () => {
            clearTimeout(timer);
            reject(signal?.reason);
        };
        const timer = later(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
        }, ms);
        if (signal?.aborted) stop();
        else signal?.addEventListener("abort", stop, { once: true });
    });
}

/** Waits for the work, but no longer than until the signal. */
export function within<T>(work: Promise<T>, signal: Ending): Promise<T> {
    return new Promise((resolve, reject) => {
        const stop = () => reject(signal.reason);
        const over = () => signal.removeEventListener("abort", stop);
        work.then(resolve, reject).finally(over);
        if (signal.aborted) stop();
        else signal.addEventListener("abort", stop, { once: true });
    });
}
