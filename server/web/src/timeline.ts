// The foot of the page: the states that can be shown on a slider, marks where pairs began and ended, and the buttons that play them.
import { clock } from "./box";
import { byId } from "./dom";
import { setText } from "./keyed";
import type { Playback } from "./playback";
import type { Store } from "./store";

const MARKS_MS = 200; // at least between two drawings of the marks while all moves
const MARK_PX = 3; // of the slider share a stroke,
const [MARK_LEAST_PX, MARK_MOST_PX] = [2, 6]; // which is the higher the more began or ended there
const NAMED = 2; // pairs in words
const AGE_MS = 1000; // at least between two readings of how long ago it was

export class Timeline {
    private readonly slider = byId<HTMLInputElement>("past");
    private readonly unit = byId<HTMLSelectElement>("past-unit");
    private readonly speed = byId<HTMLSelectElement>("speed");
    private readonly now = byId<HTMLButtonElement>("now");
    private readonly play = byId<HTMLButtonElement>("play");
    private readonly text = byId("past-text");
    private readonly turned = byId("past-turns");
    private readonly marks = byId<HTMLCanvasElement>("past-marks");
    private timer = 0;
    private aging = 0;

    constructor(
        private readonly store: Store,
        private readonly playback: Playback,
    ) {
        this.slider.addEventListener("focus", () => void playback.refresh());
        this.slider.addEventListener("pointerdown", () => void playback.refresh());
        this.slider.addEventListener("input", () => this.ask());
        this.unit.addEventListener("change", () => this.update());
        this.speed.addEventListener("change", () => (playback.speed = Number(this.speed.value)));
        this.now.addEventListener("click", () => playback.go(null));
        playback.onChange = () => this.update();
        store.on(["history", "scene", "status"], () => this.update());
        store.on(["history", "pairs", "selection"], () => this.markSoon());
        new ResizeObserver(() => this.mark()).observe(this.marks);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.mark());
    }

    private ask(): void {
        const value = Number(this.slider.value);
        if (value >= Number(this.slider.max)) this.playback.go(null);
        else this.playback.go(this.unit.value === "time" ? { time: value } : { revision: value });
    }

    private update(): void {
        const { store, slider, playback } = this;
        const { low, high } = playback.range;
        const hasTime = low.time < high.time;
        this.unit.disabled = !hasTime;
        if (!hasTime) this.unit.value = "revision";
        const byTime = this.unit.value === "time";
        const [least, most] = byTime ? [low.time, high.time] : [low.revision, high.revision];
        slider.min = String(least);
        slider.max = String(most);
        slider.step = byTime ? "any" : "1";
        slider.disabled = least >= most;
        const { past } = store;
        if (!playback.travelling) slider.value = String(past === null ? most : byTime ? past.time : past.revision);
        this.now.disabled = past === null;
        this.play.disabled = store.info === null;
        const halted = past !== null && !playback.playing;
        this.play.dataset.state = halted ? "halted" : "playing";
        this.play.title = halted ? "Play (P)" : "Halt (P)";
        this.play.ariaLabel = halted ? "Play" : "Halt";
        document.body.classList.toggle("in-past", past !== null);
        setText(this.text, this.said);
        this.age();
        setText(this.turned, past?.seq === undefined ? "" : this.words(past.seq));
        slider.setAttribute("aria-valuetext", this.text.textContent ?? "");
    }

    private get said(): string {
        const { past, time } = this.store;
        const present = `now, time ${clock(time)}`;
        const state = `revision ${past?.revision}, time ${clock(past?.time ?? 0)}`;
        return this.playback.failure || (past ? `${this.ago()}${state}` : present);
    }

    /** What is shown is longer ago the longer it is shown, also where nothing else happens. */
    private age(): void {
        if (this.playback.ago === null) return;
        this.aging ||= setTimeout(() => {
            this.aging = 0;
            setText(this.text, this.said);
            this.age();
        }, AGE_MS);
    }

    private ago(): string {
        const { ago } = this.playback;
        return ago === null ? "" : `${(ago / 1000).toFixed(1)} s ago, `;
    }

    /** Which pairs began and ended with that change. */
    private words(seq: number): string {
        const turns = this.playback.turns(seq);
        const named = (what: string, some: typeof turns) => {
            if (some.length === 0) return "";
            const names = some.slice(0, NAMED).map(({ a, b }) => `${a} – ${b}`);
            return `${what}: ${names.join(", ")}${some.length > NAMED ? ` and ${some.length - NAMED} more` : ""}`;
        };
        const began = turns.filter(({ before }) => before === undefined);
        const ended = turns.filter(({ before }) => before !== undefined);
        return [named("began", began), named("ended", ended)].filter(Boolean).join("; ");
    }

    private markSoon(): void {
        if (this.timer !== 0) return;
        this.timer = setTimeout(() => {
            this.timer = 0;
            this.mark();
        }, MARKS_MS);
    }

    /** Above the slider a stroke where pairs began, below where pairs ended, the higher the more: of the boxes selected, if there are any. */
    private mark(): void {
        const { marks, slider, store, playback } = this;
        const { clientWidth: width, clientHeight: height } = marks;
        const context = marks.getContext("2d");
        if (!context || width === 0) return;
        marks.width = width;
        marks.height = height;
        const style = getComputedStyle(document.documentElement);
        const [low, high] = [Number(slider.min), Number(slider.max)];
        const byTime = this.unit.value === "time";
        const thumb = 16; // whose middle stands for the value
        const sums = new Map<number, [began: number, ended: number]>(); // by place
        for (let seq = store.ring.oldest + 1; seq <= store.ring.newest; seq++) {
            const moment = store.ring.moment(seq);
            if (!moment || store.ring.turns(seq).length === 0) continue;
            for (const { before } of playback.turns(seq)) {
                const share = ((byTime ? moment.time : moment.revision) - low) / Math.max(high - low, 1e-9);
                if (share > 1) continue;
                const place = Math.floor((thumb / 2 + share * (width - thumb)) / MARK_PX);
                const known = sums.get(place) ?? [0, 0];
                known[before === undefined ? 0 : 1]++;
                sums.set(place, known);
            }
        }
        const most = Math.log2(1 + Math.max(1, ...[...sums.values()].flat()));
        let strokes = 0;
        for (const [place, both] of sums)
            both.forEach((count, ended) => {
                if (count === 0) return;
                strokes++;
                const up = MARK_LEAST_PX + ((MARK_MOST_PX - MARK_LEAST_PX) * Math.log2(1 + count)) / most;
                context.fillStyle = style.getPropertyValue(ended ? "--dim" : "--box-colliding");
                context.fillRect(MARK_PX * place, ended ? height - up : MARK_MOST_PX - up, MARK_PX - 1, up);
            });
        marks.dataset.marks = String(strokes);
    }
}
