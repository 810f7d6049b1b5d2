// What happens in a scene: its numbers each second, and the pairs that began and ended, as the page hears of them.
import { type Box, clock, short } from "./box";
import { type Client, Problem } from "./client";
import { grouped } from "./counts";
import { byId, el } from "./dom";
import { setText } from "./keyed";
import { answered, parseMetrics, quantile, type Sample } from "./metrics";
import type { Playback } from "./playback";
import { type Row, Rows } from "./rows";
import type { Store } from "./store";

const EVERY_MS = 1000;
const SECONDS = 60; // drawn
const KEPT = 1000; // turns
const LISTED = 100;

interface Turn {
    seq: number;
    place: number; // among those of its change
    revision: number;
    time: number;
    a: string;
    b: string;
    began: boolean;
}

/** A number each second, and how it went. */
class Rate {
    readonly root: HTMLElement;
    private readonly value = el("span", { class: "value" });
    private readonly canvas = el("canvas", { "aria-hidden": "true" });
    private readonly past: (number | null)[] = [];

    constructor(
        label: string,
        title: string,
        private readonly words: (value: number) => string,
    ) {
        this.root = el("div", { class: "rate", title }, el("span", { class: "label" }, label), this.value, this.canvas);
        this.show(null);
    }

    show(value: number | null): void {
        this.past.push(value);
        if (this.past.length > SECONDS) this.past.shift();
        setText(this.value, value === null ? "–" : this.words(value));
        this.draw();
    }

    clear(): void {
        this.past.length = 0;
        this.show(null);
    }

    private draw(): void {
        const { canvas, past } = this;
        const { clientWidth: width, clientHeight: height } = canvas;
        const context = canvas.getContext("2d");
        if (!context || width === 0) return;
        canvas.width = width * devicePixelRatio;
        canvas.height = height * devicePixelRatio;
        context.scale(devicePixelRatio, devicePixelRatio);
        const most = Math.max(...past.map((value) => (value === null || value === Infinity ? 0 : value)), 1e-9);
        const step = width / SECONDS;
        context.fillStyle = getComputedStyle(canvas).color;
        past.forEach((value, i) => {
            if (!value) return;
            const high = Math.max(1, Math.min(1, value / most) * (height - 1));
            context.fillRect(width - (past.length - i) * step, height - high, Math.max(1, step - 0.5), high);
        });
    }
}

export class Events {
    /** These boxes were chosen, and are shown as they were. */
    onChoose: (boxes: Box[]) => void = () => {};
    private readonly box = byId<HTMLInputElement>("events-box");
    private readonly sum = byId("events-sum");
    private readonly failure = byId("events-failure");
    private readonly refusal = byId("events-refusal");
    private readonly list: Rows;
    private readonly rates = {
        commits: new Rate("commits", "Commits a second that the page heard of", grouped),
        boxes: new Rate("boxes", "Boxes put or posed a second", grouped),
        began: new Rate("pairs began", "Pairs that began a second", grouped),
        ended: new Rate("pairs ended", "Pairs that ended a second", grouped),
        answers: new Rate("answers", "Requests that the daemon answered a second, those of this page among them", short),
        half: new Rate("p50", "Half of the answers took at most so long", duration),
        most: new Rate("p99", "99 of 100 answers took at most so long", duration),
        lag: new Rate("loop lag", "How late the daemon's loop was at worst", duration),
    };
    private turns: Turn[] = []; // the oldest first
    private taken = 0; // up to this change all turns are here,
    private takenOf = 0; // and so many of the next one
    private newest = 0; // change that is listed
    private listed: Turn[] = []; // those in the list, the oldest first
    private scene = ""; // that they are of,
    private era = 0; // and the era of what the page has seen of it
    private sample: Sample | null = null;
    private told = 0; // up to this time of the page's clock the rates are shown
    private timer = 0;
    private stop = new AbortController();

    constructor(
        private readonly store: Store,
        private readonly client: Client,
        private readonly playback: Playback,
    ) {
        byId("rates").append(...Object.values(this.rates).map(({ root }) => root));
        this.list = new Rows(([seq, ...names]) => this.choose(Number(seq), names));
        byId("events-list").append(this.list.root);
        for (const end of ["pointerleave", "focusout"]) this.list.root.addEventListener(end, () => this.update());
        this.box.addEventListener("input", () => this.show());
        store.on(["scene", "history", "pairs"], () => this.update());
        new MutationObserver(() => this.check()).observe(document.body, { attributeFilter: ["data-panel"] });
    }

    private get shown(): boolean {
        return document.body.dataset.panel === "events";
    }

    /** Counts and lists while the panel is open, and no longer. */
    private check(): void {
        if (this.shown === (this.timer !== 0)) return;
        this.stop.abort();
        clearInterval(this.timer);
        this.timer = 0;
        if (!this.shown) return;
        this.stop = new AbortController();
        this.sample = null;
        for (const rate of Object.values(this.rates)) rate.clear();
        this.told = performance.now();
        this.timer = setInterval(() => this.count(), EVERY_MS);
        void this.measure();
        this.update();
    }

    // ---- Numbers -------------------------------------------------------------------------------------

    private count(): void {
        const now = performance.now();
        const seconds = Math.max(now - this.told, 1) / 1000;
        const heard = this.store.ring.tally(this.told);
        this.told = now;
        for (const name of ["commits", "boxes", "began", "ended"] as const) this.rates[name].show(Math.round(heard[name] / seconds));
        void this.measure();
    }

    private async measure(): Promise<void> {
        const { signal } = this.stop;
        const { answers, half, most, lag } = this.rates;
        try {
            const { body } = await this.client.stream("/metrics", { Accept: "text/plain" }, signal);
            const decoder = new TextDecoder();
            let text = "";
            for await (const part of body) text += decoder.decode(part, { stream: true });
            const after = parseMetrics(text);
            const before = this.sample;
            this.sample = after;
            setText(this.failure, "");
            if (!before) return;
            answers.show(Math.max(0, answered(before, after)));
            half.show(quantile(before, after, 0.5));
            most.show(quantile(before, after, 0.99));
            lag.show(after.lag);
        } catch (error) {
            if (signal.aborted) return;
            this.sample = null;
            setText(this.failure, error instanceof Problem ? error.message : "");
            for (const rate of [answers, half, most, lag]) rate.show(null);
        }
    }

    // ---- Pairs ---------------------------------------------------------------------------------------

    private update(): void {
        const { ring, info } = this.store;
        if (!this.shown) return;
        const scene = info?.name ?? "";
        if (this.scene !== scene || this.era !== ring.era) {
            this.scene = scene;
            this.era = ring.era;
            this.turns = [];
            this.listed = [];
            setText(this.refusal, "");
        }
        if (this.taken < ring.oldest) [this.taken, this.takenOf] = [ring.oldest, 0];
        for (let seq = this.taken + 1; seq <= ring.newest; seq++) {
            const moment = ring.moment(seq);
            const turns = ring.turns(seq);
            const from = seq === this.taken + 1 ? this.takenOf : 0;
            if (moment) turns.slice(from).forEach(({ a, b, before }, i) => this.turns.push({ seq, place: from + i, revision: moment.revision, time: moment.time, a, b, began: before === undefined }));
            if (seq === ring.newest) [this.taken, this.takenOf] = [seq - 1, turns.length]; // there may come more of it
        }
        if (this.turns.length > KEPT) this.turns.splice(0, this.turns.length - KEPT);
        this.show();
    }

    private show(): void {
        const word = this.box.value.trim().toLowerCase();
        const fits = ({ a, b }: Turn) =>
            word === "" || a.toLowerCase().includes(word) || b.toLowerCase().includes(word);
        const fit = this.turns.filter(fits);
        const still = this.list.aimed;
        const last = fit.at(-1)?.seq ?? 0;
        if (!still || this.newest > last) this.newest = last;
        const old = fit.filter(({ seq }) => seq <= this.newest);
        const newer = fit.length - old.length;
        const [first] = this.turns;
        const forgotten = ({ seq, place }: Turn) =>
            first && (seq < first.seq || (seq === first.seq && place < first.place));
        const stay = still ? this.listed.filter((turn) => forgotten(turn) && fits(turn)) : [];
        this.listed = [...stay, ...old].slice(-LISTED);
        const kept = `${grouped(KEPT)} that began or ended`; // there were others before
        const count = grouped(fit.length);
        const all = word ? `${count} of the last ${kept}` : `The last ${kept}`;
        const some = this.turns.length < KEPT ? `${count} began or ended` : all;
        const more = `${grouped(newer)}${newer === KEPT ? " or more" : ""} newer than those below`;
        const sum = newer > 0 ? `${some}, ${more}` : some;
        const none = fit.length + this.listed.length === 0;
        setText(this.sum, none ? "No pair has begun or ended yet" : sum);
        this.list.show(
            "Pairs that began and ended, the newest first",
            [...this.listed]
                .reverse()
                .map(
                    ({ seq, place, revision, time, a, b, began }): Row => ({
                        name: `${a}, ${b}`,
                        where: began ? "began" : "ended",
                        more: `revision ${revision}, time ${clock(time)}`,
                        mark: began ? "hit" : "miss",
                        key: `${seq} ${place}`,
                        title: "Show the two at that moment",
                        select: [String(seq), a, b],
                    }),
                ),
        );
    }

    /** The two boxes as they were with that change, if that is still known. */
    private choose(seq: number, names: string[]): void {
        const { store, playback } = this;
        const moment = store.ring.moment(seq);
        setText(this.refusal, moment ? "" : "The page does not keep that moment any more.");
        if (!moment) return;
        store.select(names.filter((name) => store.live.boxes.has(name) || store.shown.boxes.has(name)));
        playback.go(moment.revision < store.revision ? { revision: moment.revision } : null);
        requestAnimationFrame(() => this.onChoose(store.chosen)); // as they are shown by then
    }
}

/** Of seconds, in three digits. */
function duration(seconds: number): string {
    if (seconds === Infinity) return "longer";
    const three = (value: number) => String(Number(value.toPrecision(3)));
    return seconds < 0.001 ? `${three(seconds * 1e6)} µs` : seconds < 1 ? `${three(seconds * 1e3)} ms` : `${three(seconds)} s`;
}
