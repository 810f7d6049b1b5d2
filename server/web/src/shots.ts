// The questions that others ask the scene, as they come: listed, drawn, asked again, and why a box was hit or not.
import { Line3, type Vector3 } from "three";
import { ask, OWN, Unasked } from "./asking";
import { type Box, clock, point } from "./box";
import { type Client, Problem } from "./client";
import { grouped } from "./counts";
import { byId, el } from "./dom";
import { ExchangePanel } from "./exchange";
import { setText } from "./keyed";
import { Latest } from "./latest";
import { nearest } from "./near";
import type { Mark } from "./marks";
import { scenePath } from "./paths";
import type { Playback } from "./playback";
import { Rows } from "./rows";
import { explained, type Explanation, foundOf, hasHit, marksOf, names, placesOf, raysOf, type Shot } from "./shot";
import type { SceneInfo, Store } from "./store";

const KEPT = 500; // in the page
const LISTED = 100;
const DRAWN = 12; // beside the one that is chosen
const KEEP = 1000; // queries that the scene is asked to keep
const EXPLAINED = 8; // boxes
const RETRY_MS = 2000;
const FAR = 1000; // how far a ray without an end is drawn, at most

interface Explained {
    results?: { explain?: Explanation[] }[];
    at?: { clamped: boolean };
}

export class Shots {
    onShow: (marks: Mark[], hits: Set<string>) => void = () => {};
    /** A question was chosen, which was about these points. */
    onChoose: (points: Vector3[]) => void = () => {};
    private readonly off = byId("shots-off");
    private readonly on = byId("shots-on");
    private readonly tag = byId<HTMLInputElement>("shots-tag");
    private readonly box = byId<HTMLInputElement>("shots-box");
    private readonly hit = byId<HTMLSelectElement>("shots-hit");
    private readonly sum = byId("shots-sum");
    private readonly out = byId("shots-why");
    private readonly list: Rows;
    private readonly title = el("h2", { class: "sub" });
    private readonly words = el("p", { class: "hint" });
    private readonly why: Rows;
    private readonly exchange = new ExchangePanel();
    private shots = new Map<number, Shot>(); // the oldest first
    private newest = 0; // that is listed, by its number
    private listed: Shot[] = []; // those in the list, the newest first
    private chosen: Shot | null = null;
    private reading = new AbortController(); // of what is kept
    private heard: Shot[] | null = null; // while that is read: what has come since
    private missed = true; // may there be some that are kept and did not come?
    private frame = 0; // with which what has come is shown
    private offered = ""; // the scene of which it was said last whether it keeps questions
    private open = ""; // the scene that is followed,
    private era = 0; // and the era of what the page has seen of it: a daemon that was started anew counts questions from 1 on
    private filtered = false; // was what is chosen left out by its filter?
    private readonly question = new Latest(() => this.explain());

    constructor(
        private readonly store: Store,
        private readonly client: Client,
        private readonly playback: Playback,
    ) {
        const listed = (key: string) => this.listed.find(({ id }) => id === Number(key));
        this.list = new Rows(([key]) => this.choose(listed(key) ?? null));
        this.why = new Rows((picked) => store.select(picked));
        byId("shots-list").append(this.list.root);
        for (const end of ["pointerleave", "focusout"]) this.list.root.addEventListener(end, () => this.show());
        this.out.append(this.title, this.words, this.why.root, this.exchange.root);
        byId("shots-keep").addEventListener("click", () => void this.keep());
        for (const input of [this.tag, this.box, this.hit]) input.addEventListener("change", () => this.begin());
        store.on(["scene", "status"], () => this.check());
        store.on(["selection"], () => this.chosen && this.question.ask());
        new MutationObserver(() => this.check()).observe(document.body, { attributeFilter: ["data-panel"] });
        this.show();
    }

    private get shown(): boolean {
        return document.body.dataset.panel === "shots";
    }

    /** Follows while the panel is open, and no longer. */
    private check(): void {
        const { info, ring, connection } = this.store;
        const record = info?.record ?? 0;
        this.off.hidden = record > 0;
        this.on.hidden = record === 0;
        byId<HTMLButtonElement>("shots-keep").disabled = !this.store.editable;
        if (info && info.name !== this.offered) {
            this.offered = info.name;
            setText(byId("shots-failure"), "");
        }
        const open = this.shown && record > 0 ? (info?.name ?? "") : "";
        if (connection !== "live") this.missed = true; // the stream does not tell of questions again
        if (open && connection !== "live") return; // whose questions these would be is known then
        if (open !== this.open || ring.era !== this.era) {
            this.open = open;
            this.era = ring.era;
            this.choose(null);
            this.begin();
        } else if (open && this.missed) void this.read();
    }

    private async keep(): Promise<void> {
        const { info } = this.store;
        if (!info) return;
        const path = scenePath(info.name);
        setText(byId("shots-failure"), "");
        try {
            let now = await this.client.call<SceneInfo>("GET", path);
            if (now.record === 0) now = await this.client.call<SceneInfo>("PUT", path, { record: KEEP }); // somebody else may have said how many
            this.store.learn(now);
        } catch (error) {
            setText(byId("shots-failure"), (error as Error).message);
        }
    }

    private get filter(): URLSearchParams {
        const [tag, box, hit] = [this.tag, this.box, this.hit].map((input) => input.value.trim());
        return new URLSearchParams(Object.entries({ tag, box, hit }).filter(([, value]) => value !== ""));
    }

    /** For what comes: the same filter as that of the daemon's list. */
    private passes(shot: Shot): boolean {
        const filter = this.filter;
        const [tag, box, hit] = ["tag", "box", "hit"].map((name) => filter.get(name));
        if ((tag !== null && shot.tag !== tag) || (hit !== null && hasHit(shot) !== (hit === "true"))) return false;
        return box === null || names(shot, box, this.store.live.boxes.get(box)?.id);
    }

    private begin(): void {
        this.shots.clear();
        this.listed = [];
        this.show();
        void this.read();
    }

    /** Somebody has asked the scene this. It comes whether the panel is open or not. */
    hear(query: string): void {
        if (!this.open) return;
        const shot = JSON.parse(query) as Shot;
        if (!this.passes(shot)) return;
        if (this.heard) this.heard.push(shot);
        else this.take([shot]);
    }

    /** Reads what is kept. What comes meanwhile is newer. */
    private async read(): Promise<void> {
        this.reading.abort();
        this.reading = new AbortController();
        const { signal } = this.reading;
        this.heard = [];
        this.missed = false;
        while (this.open) {
            const done = await this.readKept(signal).then(
                () => true,
                () => false, // what is said about the connection is said elsewhere
            );
            if (signal.aborted) return;
            if (done) break;
            await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
            if (signal.aborted) return;
        }
        this.take(this.heard);
        this.heard = null;
    }

    private async readKept(signal: AbortSignal): Promise<void> {
        let cursor = "";
        do {
            const filter = this.filter;
            if (cursor) filter.set("cursor", cursor);
            const page: { queries: Shot[]; cursor?: string } = await this.client.call("GET", scenePath(this.open, `/queries?${filter}`), undefined, signal);
            this.take(page.queries);
            cursor = page.cursor ?? "";
        } while (cursor);
    }

    private take(shots: Shot[]): void {
        for (const shot of shots) {
            this.shots.delete(shot.id); // the latest come last
            this.shots.set(shot.id, shot);
        }
        for (const id of this.shots.keys()) {
            if (this.shots.size <= KEPT) break;
            this.shots.delete(id);
        }
        this.frame ||= requestAnimationFrame(() => this.show()); // however many come until then
    }

    private readonly boxOf = (ref: string | number): Box | undefined => (typeof ref === "number" ? this.store.boxOf(ref) : this.store.shown.boxes.get(ref));
    private readonly nameOf = (ref: string | number): string => (typeof ref === "number" ? (this.store.boxOf(ref)?.name ?? `box ${ref}`) : ref);

    private show(): void {
        cancelAnimationFrame(this.frame);
        this.frame = 0;
        const all = [...this.shots.values()].reverse();
        const still = this.list.aimed;
        if (!still || this.listed.length === 0) this.newest = all[0]?.id ?? 0;
        const old = all.filter(({ id }) => id <= this.newest);
        const newer = all.length - old.length;
        const stay = still ? this.listed.filter(({ id }) => !this.shots.has(id)) : [];
        this.listed = [...old, ...stay].slice(0, LISTED);
        const count = grouped(all.length);
        const some = all.length < KEPT ? `${count} asked` : `The last ${count} asked`;
        const more = `${grouped(newer)}${newer === KEPT ? " or more" : ""} newer than those below`;
        const sum = newer > 0 ? `${some}, ${more}` : some;
        setText(this.sum, all.length === 0 ? "Nothing asked yet" : sum);
        this.list.show(
            "Questions, the newest first",
            this.listed.map((shot) => ({
                name: shot.tag ?? shot.kind,
                where: this.outcome(shot),
                more: [shot.tag === null ? "" : shot.kind, `time ${clock(shot.at.time)}`, shot.token ? `by ${shot.token}` : ""].filter(Boolean).join(" · "),
                mark: hasHit(shot) ? "hit" : "miss",
                chosen: shot.id === this.chosen?.id,
                select: [String(shot.id)],
            })),
        );
        this.draw(all);
    }

    private outcome(shot: Shot): string {
        const found = foundOf(shot);
        if (!hasHit(shot)) return "missed";
        if (found.length === 0) return "hit";
        const more = found.length > 1 ? ` and ${found.length - 1} more` : "";
        return `hit ${this.nameOf(found[0].box)}${more}`;
    }

    /** A question kept before, with the scene as it was then where that is still known. */
    private choose(shot: Shot | null): void {
        if (this.chosen && !shot && this.store.past) this.playback.go(null);
        this.chosen = shot;
        this.filtered = false;
        this.out.hidden = shot === null;
        if (shot) {
            setText(this.title, `${shot.tag ?? shot.kind}, request ${shot.request}`);
            this.title.scrollIntoView({ block: "nearest" }); // the rows below may have been scrolled to
            if (shot.at.revision === this.store.revision) this.playback.go(null);
            else if (shot.at.revision >= this.playback.range.low.revision) this.playback.go({ revision: shot.at.revision });
            this.why.show("Why", []);
            this.question.ask();
            this.onChoose(placesOf(marksOf(shot, "ask", this.store.dimensions, FAR, this.boxOf)));
        }
        this.show();
    }

    /** The boxes selected, those hit, and those that came nearest to it. */
    private get asked(): string[] {
        const { store, chosen } = this;
        if (!chosen) return [];
        const rays = raysOf(chosen, store.dimensions, FAR).map(([from, to]) => new Line3(point(from), point(to)));
        const { exclude_entities: own = [] } = (chosen.query.filter ?? {}) as { exclude_entities?: string[] }; // most often who shot
        const others = [...store.shown.boxes.values()].filter(({ entity }) => entity === undefined || !own.includes(entity));
        const near = rays.length > 0 ? nearest(others, rays, EXPLAINED) : [];
        const hit = foundOf(chosen).map(({ box }) => this.nameOf(box));
        return [...new Set([...store.selection, ...hit, ...near])].slice(0, EXPLAINED);
    }

    private async explain(): Promise<void> {
        const { store, chosen } = this;
        if (!chosen || !store.info) return;
        const { at, columns, float, by, explain, tag, ...query } = chosen.query;
        const timed = !Array.isArray(query.rays) && query.rays !== undefined && "times" in query.rays;
        const body = { ...query, ...OWN, ...(["pairs", "all-pairs"].includes(chosen.kind) || by === "id" ? { by } : { explain: this.asked }) };
        const byTime = at !== undefined && !("revision" in at);
        const then = byTime ? { ...at, time: chosen.at.time, ago: undefined } : { revision: chosen.at.revision };
        const path = scenePath(store.info.name, `/query/${chosen.kind}`);
        let sent: Record<string, unknown> = { ...body, at: timed ? at : { ...then, clamp: true } };
        try {
            let answer = await this.client.call<Explained>("POST", path, sent);
            let said = "As it was asked, of the state that it was asked of.";
            if (answer.at?.clamped && !chosen.at.clamped) {
                if (store.past?.revision !== chosen.at.revision)
                    throw new Unasked(
                        store.ring.find(chosen.at.revision) === null
                            ? "Neither the daemon nor the page has the scene as it was then. " +
                              "A longer history keeps more."
                            : "The daemon does not keep the scene as it was then any more, " +
                              "but the page does. Press the question again to go back to it.",
                    );
                ({ body: sent, answer } = await ask<Explained>(store, this.client, chosen.kind, body));
                said = byTime ? "Asked of the commit before it: the daemon does not keep what was between two any more." : "Asked of what the page has kept of then.";
            }
            if (chosen !== this.chosen) return;
            setText(this.words, said);
            this.exchange.show({ path: path, body: sent, curl: this.client.curl(path, sent), answer: answer });
            const explanations = answer.results?.flatMap((result) => result.explain ?? []) ?? [];
            this.filtered = explanations.some(({ verdict }) => verdict === "filtered");
            this.why.show(
                "Why",
                explanations.map((one, i) => ({
                    name: this.nameOf(one.box),
                    where: explained(one, this.nameOf),
                    mark: one.verdict === "hit" ? "hit" : one.verdict === "filtered" ? "filtered" : "miss",
                    key: `${i} ${one.box}`,
                    select: [this.nameOf(one.box)],
                })),
            );
            this.show();
        } catch (error) {
            if (chosen !== this.chosen) return;
            setText(this.words, error instanceof Problem || error instanceof Unasked ? error.message : "The daemon does not answer.");
            this.why.show("Why", []);
            this.exchange.show(null);
        }
    }

    /** The last ones, grey where nothing was hit; the chosen one with what it found. */
    private draw(newest: Shot[]): void {
        if (!this.open) {
            this.onShow([], new Set());
            return;
        }
        const { chosen, store } = this;
        const draw = (shot: Shot, missed: "miss" | "filtered") => marksOf(shot, hasHit(shot) ? "ask" : missed, store.dimensions, FAR, this.boxOf);
        const marks = chosen ? draw(chosen, this.filtered ? "filtered" : "miss") : newest.slice(0, DRAWN).flatMap((shot) => draw(shot, "miss"));
        const hits = (chosen ? [chosen] : newest.slice(0, 1)).flatMap(foundOf);
        this.onShow(marks, new Set(hits.map(({ box }) => this.nameOf(box))));
    }
}
