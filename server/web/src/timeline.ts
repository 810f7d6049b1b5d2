// A slider over the states that the daemon still has.
import { short } from "./box";
import { Problem } from "./client";
import { byId } from "./dom";
import type { Feed } from "./feed";
import { Latest } from "./latest";
import type { At, Store } from "./store";

export class Timeline {
    private readonly slider = byId<HTMLInputElement>("past");
    private readonly unit = byId<HTMLSelectElement>("past-unit");
    private readonly now = byId<HTMLButtonElement>("now");
    private readonly text = byId("past-text");
    private wanted: At | null = null;
    private readonly travel = new Latest(
        () => this.work(),
        () => this.update(),
    );
    private failure = "";

    constructor(
        private readonly store: Store,
        private readonly feed: Feed,
    ) {
        this.slider.addEventListener("focus", () => void this.refresh());
        this.slider.addEventListener("pointerdown", () => void this.refresh());
        this.slider.addEventListener("input", () => this.ask());
        this.unit.addEventListener("change", () => this.update());
        this.now.addEventListener("click", () => this.go(null));
        store.on(["history", "scene"], () => this.update());
    }

    private async refresh(): Promise<void> {
        try {
            await this.feed.readHistory();
        } catch {
            // the connection's state says so
        }
    }

    private ask(): void {
        const value = Number(this.slider.value);
        if (value >= Number(this.slider.max)) this.go(null);
        else this.go(this.unit.value === "time" ? { time: value } : { revision: value });
    }

    /** Steps back or on by a revision. */
    step(by: number): void {
        const { store } = this;
        const from = store.past?.revision ?? store.revision;
        const to = Math.max(store.info?.oldest.revision ?? 0, from + by);
        this.go(to >= store.revision ? null : { revision: to });
    }

    go(at: At | null): void {
        this.wanted = at;
        this.travel.ask(); // one state at a time; the slider may run ahead
    }

    private async work(): Promise<void> {
        this.failure = "";
        try {
            await this.feed.show(this.wanted);
        } catch (error) {
            this.failure = error instanceof Problem ? error.message : "The daemon does not answer.";
            if (error instanceof Problem && error.status === 410) await this.refresh();
        }
    }

    private update(): void {
        const { store, slider } = this;
        const oldest = store.info?.oldest;
        const hasTime = oldest !== undefined && oldest.time < store.time;
        this.unit.disabled = !hasTime;
        if (!hasTime) this.unit.value = "revision";
        const byTime = this.unit.value === "time";
        const [low, high] = byTime ? [oldest?.time ?? 0, store.time] : [oldest?.revision ?? 0, store.revision];
        slider.min = String(low);
        slider.max = String(high);
        slider.step = byTime ? "any" : "1";
        slider.disabled = low >= high;
        const { past } = store;
        if (!this.travel.running) slider.value = String(past === null ? high : byTime ? past.time : past.revision);
        this.now.disabled = past === null;
        document.body.classList.toggle("in-past", past !== null);
        this.text.textContent =
            this.failure ||
            (past ? `revision ${past.revision}, time ${short(past.time)}` : `now, time ${short(store.time)}`);
        slider.setAttribute("aria-valuetext", this.text.textContent);
    }
}
