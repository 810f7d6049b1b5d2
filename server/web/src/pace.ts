// How fast a scene changes, in words beside its revision, so that one sees that it lives.
import { setText } from "./keyed";

const OVER_MS = 2000; // so much of the past is counted

export class Pace {
    private readonly seen: { at: number; revision: number }[] = [];
    private end = 0; // the timer that takes the words away

    constructor(private readonly root: HTMLElement) {}

    /** The scene is at that revision now; null: nobody knows. */
    take(revision: number | null): void {
        const { seen } = this;
        const at = performance.now();
        const last = seen.at(-1);
        if (revision === null || (last && revision < last.revision)) seen.length = 0; // another scene
        else if (revision === last?.revision) return;
        if (revision !== null) seen.push({ at, revision });
        while (seen.length > 2 && at - seen[0].at > OVER_MS) seen.shift();
        const [first] = seen;
        const lately = seen.length > 1 && at - first.at <= 2 * OVER_MS;
        const rate = lately ? (seen[seen.length - 1].revision - first.revision) / ((at - first.at) / 1000) : 0;
        setText(this.root, rate >= 1 && at - first.at > OVER_MS / 4 ? `${Math.round(rate)}/s` : "");
        clearTimeout(this.end);
        this.end = window.setTimeout(() => setText(this.root, ""), OVER_MS);
    }
}
