// Goes through time: shows states of the page's memory, and those before it as the daemon has them; plays, steps, loops, follows.
import { Problem } from "./client";
import type { Feed } from "./feed";
import { Latest } from "./latest";
import type { Moment } from "./ring";
import type { At, Store } from "./store";

const SPARE = 64; // changes that what is shown is ahead of the end of a full memory

export class Playback {
    playing = false; // in the past; the present plays by itself
    looping = false;
    speed = 1;
    failure = "";
    onChange: () => void = () => {};
    private from = 0; // the state that was gone to last, by its number
    private end = 0; // the newest state when the past was entered
    private clock = 0; // what is shown, by the page's clock
    private last = 0; // time of the last frame
    private wanted: At | null = null; // of the daemon, while it is on its way
    private readonly travel = new Latest(
        () => this.fetch(),
        () => this.onChange(),
    );

    constructor(
        private readonly store: Store,
        private readonly feed: Feed,
    ) {
        store.on(["history"], () => this.keepUp());
    }

    /** Is a state of the daemon on its way? */
    get travelling(): boolean {
        return this.travel.running;
    }

    /** The states that are within reach, by revision and by time. In the past the newest is that which was when it was entered. */
    get range(): { low: { revision: number; time: number }; high: { revision: number; time: number } } {
        const { store } = this;
        const oldest = store.info?.oldest ?? { revision: store.revision, time: store.time };
        const kept = store.ring.moment(store.ring.oldest);
        const low = kept && kept.revision < oldest.revision ? kept : oldest;
        const high = (store.past && this.ending) ?? store;
        return { low, high: { revision: high.revision, time: high.time } };
    }

    /** The newest state when the past was entered, or the oldest that is kept if that is later. */
    private get ending(): Moment | null {
        const { ring } = this.store;
        return ring.moment(Math.max(this.end, ring.oldest));
    }

    /** How long ago what is shown was seen, in ms; null: it was before the page was there, or it is the present. */
    get ago(): number | null {
        const { past, ring } = this.store;
        const moment = past?.seq === undefined ? null : ring.moment(past.seq);
        return moment && performance.now() - moment.heard;
    }

    /** Shows that state and stays there; null: the present, which goes on. */
    go(at: At | null): void {
        this.playing = false;
        this.show(at);
        this.onChange();
    }

    private show(at: At | null): void {
        const { store } = this;
        const { ring } = store;
        this.failure = "";
        if (at && !store.past) this.end = ring.newest;
        const seq = at === null ? null : "revision" in at ? ring.find(at.revision) : this.ofTime(at.time);
        if (at === null || seq !== null) {
            this.wanted = null;
            this.feed.stay();
            if (seq === null) store.look(null);
            else this.seek((this.from = seq));
            return;
        }
        this.wanted = at;
        this.travel.ask(); // one state at a time; who asks may run ahead
    }

    /** The daemon gives what was between two states. Of times that it does not keep any more, the state before counts. */
    private ofTime(time: number): number | null {
        const { store } = this;
        if (time >= (store.info?.oldest.time ?? 0)) return null;
        const { ring } = store;
        for (let seq = ring.newest; seq >= ring.oldest; seq--) if ((ring.moment(seq)?.time ?? Infinity) <= time) return seq;
        return null;
    }

    /** Shows a state of the memory. */
    private seek(seq: number): void {
        const { store } = this;
        const { ring, past } = store;
        const moment = ring.moment(seq);
        if (!moment) return;
        const kept = past?.seq !== undefined && past.seq >= ring.oldest ? past.seq : null;
        const snapshot = past && kept !== null ? past.snapshot : store.live.copy();
        const { moved, restocked } = ring.move(snapshot, kept ?? ring.newest, seq);
        this.clock = moment.heard;
        const { revision, time } = moment;
        const whole = restocked || (past !== null && kept === null);
        store.look({ at: { revision }, revision, time, snapshot, seq }, whole ? undefined : moved);
    }

    private async fetch(): Promise<void> {
        const at = this.wanted;
        if (!at) return;
        try {
            await this.feed.show(at);
        } catch (error) {
            const forgotten = error instanceof Problem && error.status === 410;
            if (forgotten) await this.refresh();
            if (this.wanted !== at) return; // nor is it wanted any more
            const kept = forgotten && "time" in at && this.ofTime(at.time) !== null;
            if (kept) this.show(at); // as the page has it
            else if (error instanceof Problem) this.failure = error.message;
            else this.failure = "The daemon does not answer.";
        }
    }

    /** Reads how far the daemon's history reaches back. */
    async refresh(): Promise<void> {
        try {
            await this.feed.readInfo();
        } catch {
            // the connection's state says so
        }
    }

    /** Steps back or on by a revision, or over those that the page has missed. */
    step(by: 1 | -1): void {
        const { store } = this;
        const { past, ring } = store;
        const from = past?.revision ?? store.revision;
        const next = by > 0 && past?.seq !== undefined ? ring.moment(past.seq + 1) : null;
        const to = Math.max(this.range.low.revision, next?.revision ?? from + by);
        this.go(to >= store.revision ? null : { revision: to });
    }

    /** To the change before or after at which pairs began or ended, of the boxes selected if there are any. */
    stepToTurn(by: 1 | -1): void {
        const { ring, past } = this.store;
        for (let seq = (past?.seq ?? ring.newest + 1) + by; seq > ring.oldest && seq <= ring.newest; seq += by) {
            const moment = ring.moment(seq);
            if (!moment || this.turns(seq).length === 0) continue;
            this.go({ revision: moment.revision });
            return;
        }
    }

    /** Pairs of the boxes selected, or of all if none is, that began or ended with that change. */
    turns(seq: number): ReturnType<Store["ring"]["turns"]> {
        const { ring, selection } = this.store;
        const turns = ring.turns(seq);
        return selection.length === 0 ? turns : turns.filter(({ a, b }) => selection.includes(a) || selection.includes(b));
    }

    /** Halts the present, or goes on from what is shown. */
    toggle(): void {
        const { store } = this;
        if (!store.past) this.go({ revision: store.revision });
        else if (this.playing) this.playing = false;
        else if (store.past.seq !== undefined) this.play();
        else this.go(null); // of what was before the page nothing can be played
        this.onChange();
    }

    private play(): void {
        this.playing = true;
        this.last = performance.now();
        requestAnimationFrame((now) => this.tick(now));
    }

    private tick(now: number): void {
        const { store } = this;
        const { ring, past } = store;
        if (!this.playing) return;
        if (past?.seq === undefined) {
            this.playing = false;
            this.onChange();
            return;
        }
        this.clock += Math.max(0, now - this.last) * this.speed;
        this.last = now;
        if (this.looping) this.loop();
        const { clock } = this;
        const seq = ring.heardAt(clock);
        if (seq >= ring.newest) {
            this.go(null); // it has caught up
            return;
        }
        if (seq !== past.seq) this.seek(seq);
        if (seq > this.end) this.end = ring.newest;
        this.clock = clock;
        requestAnimationFrame((later) => this.tick(later));
    }

    /** What is beyond the end of the loop counts from its begin on, so that slow frames go round, too. */
    private loop(): void {
        const { ring } = this.store;
        const end = this.ending?.heard ?? 0;
        const begin = ring.moment(Math.max(this.from, ring.oldest))?.heard ?? 0;
        if (this.clock > end) this.clock = Math.min(end, begin + ((this.clock - begin) % Math.max(end - begin, 1)));
    }

    /** What is shown stays in the memory: where its end comes, it is shown somewhat later. */
    private keepUp(): void {
        const { past, ring } = this.store;
        if (past?.seq !== undefined && past.seq < ring.oldest) this.seek(Math.min(ring.newest, ring.oldest + SPARE));
    }
}
