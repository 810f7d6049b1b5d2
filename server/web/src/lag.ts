// What a shooter saw and what was there: the boxes of an entity as they were a delay ago, and as they are, one ray, and both verdicts.
import type { Vector3 } from "three";
import { OWN } from "./asking";
import { type Box, clock, numbers, type Numbers, point, type Pose, short, tidy } from "./box";
import { type Client, Problem } from "./client";
import { byId, NumberRow } from "./dom";
import { ExchangePanel } from "./exchange";
import { setText } from "./keyed";
import { Latest } from "./latest";
import type { Mark } from "./marks";
import { scenePath } from "./paths";
import { Rows } from "./rows";
import { explained, type Explanation } from "./shot";
import type { Store } from "./store";

const MOST = 16; // boxes that an answer explains
const AWAY = [12, 8, 5, 3]; // from the first box, where no place to shoot from was clicked
const AROUND = 16; // places at each of these distances
const ABOVE = 1 / 6; // of the distance
const PLACE_AGAIN_MS = 500; // at least between two searches for such a place while all moves

interface Verdict {
    at?: { revision: number; time: number; clamped: boolean };
    results: { hits: { box: string; distance: number; point: Numbers }[]; explain: Explanation[] }[];
}

interface Poses {
    revision: number;
    time: number;
    at?: { clamped: boolean };
    results: { pose?: [Pick<Box, "center" | "half_extents" | "rotation" | "angle">, unknown] }[];
}

type Question = Record<string, unknown>;

export class Lag {
    onShow: (marks: Mark[], hits: Set<string>) => void = () => {};
    /** Where boxes were, which are shown there; and null: where they are. */
    onThen: (poses: Map<string, Pose> | null) => void = () => {};
    /** A target was named, and a shot at it judged: where it was then, and where the shot came from. */
    onAim: (target: Vector3, from: Vector3) => void = () => {};
    private readonly who = byId<HTMLInputElement>("lag-who");
    private readonly known = byId("lag-known");
    private readonly delay = byId<HTMLInputElement>("lag-delay");
    private readonly slider = byId<HTMLInputElement>("lag-slider");
    private readonly aim = byId<HTMLSelectElement>("lag-aim");
    private readonly said = byId("lag-said");
    private readonly when = byId("lag-when");
    private readonly verdicts = [byId("lag-then"), byId("lag-now")];
    private readonly moved: Rows;
    private readonly exchanges = [new ExchangePanel(), new ExchangePanel()];
    private rows: NumberRow[] = [];
    private built = ""; // the scene and its dimensions
    private except = ""; // the box that the ray starts on
    private clicked = 0;
    private placed = false; // somebody has said where the shot comes from
    private placing = false; // a place is to be found
    private named = false; // a target, of which nothing was shown yet
    private placedAt = -1; // at which revision one was looked for last
    private timer = 0;
    /** The axis that is up. */
    up: () => "y" | "z" = () => "y";
    private then = new Map<string, Pose>();
    private now = new Map<string, Pose>();
    private shown = false;
    private readonly question = new Latest(() => this.work());

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        this.moved = new Rows((names) => store.select(names));
        byId("lag-moved").append(this.moved.root);
        this.exchanges.forEach(({ root }, i) => this.verdicts[i].after(root));
        this.who.addEventListener("change", () => this.start());
        this.delay.addEventListener("change", () => this.set(Number(this.delay.value)));
        this.slider.addEventListener("input", () => this.set(Number(this.slider.value)));
        this.aim.addEventListener("change", () => this.question.ask());
        store.on(["tool", "scene"], () => this.check());
        store.on(["boxes", "history"], () => this.shown && this.question.ask());
    }

    /** Shown while its tool is chosen. */
    private check(): void {
        const { store } = this;
        const shown = store.tool === "lag" && store.info !== null;
        const scene = `${store.dimensions} ${store.info?.name}`;
        if (shown && this.built !== scene) this.build(scene);
        if (shown === this.shown && this.names.length > 0) return;
        this.shown = shown;
        if (!shown) {
            this.onThen(null);
            this.onShow([], new Set());
            return;
        }
        const entities = [...new Set([...store.shown.boxes.values()].map(({ entity }) => entity))].filter((entity) => entity !== undefined);
        this.known.replaceChildren(...entities.slice(0, 200).map((value) => Object.assign(document.createElement("option"), { value })));
        const chosen = store.selected;
        if (chosen) this.who.value = chosen.entity ?? chosen.name;
        else if (this.names.length === 0) this.who.value = entities[0] ?? store.shown.boxes.keys().next().value ?? "";
        this.start();
    }

    /** Nothing is known of a scene that was not here before. */
    private build(scene: string): void {
        this.built = scene;
        this.placed = false;
        this.clicked = 0;
        this.except = "";
        if (this.aim.value === "to") this.aim.value = "then";
        const axes = ["x", "y", "z"].slice(0, this.store.dimensions);
        this.rows = ["From", "To"].map(
            (label) =>
                new NumberRow(label, axes, () => {
                    if (label === "To") this.aim.value = "to";
                    this.placed = true;
                    this.question.ask();
                }),
        );
        byId("lag-form").replaceChildren(...this.rows.map(({ root }) => root));
    }

    /** The boxes of the entity that is named, or the box. */
    private get names(): string[] {
        const { boxes } = this.store.live;
        const who = this.who.value.trim();
        const names = [...boxes.values()].filter(({ entity }) => entity === who && who !== "").map(({ name }) => name);
        return names.length === 0 && boxes.has(who) ? [who] : names;
    }

    private start(): void {
        const [first] = this.names;
        const box = this.store.live.boxes.get(first);
        this.onThen(null);
        this.then = new Map();
        this.named = true;
        this.placing = !this.placed;
        if (box && this.placing) {
            this.rows[0].write(this.placesAround(box.center)[0]);
            this.rows[1].write(box.center);
        }
        this.question.ask();
    }

    /** Places to shoot from, which may be free or not. */
    private placesAround(center: Numbers): Numbers[] {
        const flat = center.length === 2;
        const up = flat ? 2 : this.up() === "y" ? 1 : 2;
        const [across, on] = flat || up === 2 ? [0, 1] : [0, 2];
        return AWAY.flatMap((far) =>
            Array.from({ length: AROUND }, (_, i) => {
                const angle = Math.PI * (0.5 + (2 * i) / AROUND);
                const place = [...center];
                place[across] += far * Math.cos(angle);
                place[on] += far * Math.sin(angle);
                if (!flat) place[up] += far * ABOVE;
                return place.map((value) => tidy(Number(value.toFixed(2))));
            }),
        );
    }

    private placeSoon(): void {
        this.timer ||= setTimeout(() => {
            this.timer = 0;
            this.placing = !this.placed;
            if (this.placing) this.question.ask();
        }, PLACE_AGAIN_MS);
    }

    /** Finds a place from where the shot hits what was there, if possible one that misses what is there now: that is what delay does. */
    private async place(path: string, states: unknown[]): Promise<void> {
        const { names } = this;
        this.placing = false;
        const target = this.then.get(names[0])?.center;
        const known = this.rows[0].read();
        if (!target || !known || this.aim.value !== "then") return;
        const places = [known, ...this.placesAround(target)];
        const rays = places.map((origin) => ({ origin, direction: target.map((value, i) => value - origin[i]) }));
        const answers = await Promise.all(states.map((at) => this.client.call<Verdict>("POST", path, { rays, at, ...OWN })));
        if (this.placed) return;
        const mine = answers.map(({ results }) => results.map(({ hits: [hit] }) => hit !== undefined && names.includes(hit.box)));
        const worth = (i: number) => (mine[0][i] ? (mine[1][i] ? 1 : 2) : 0);
        const best = places.reduce((best, _, i) => (worth(i) > worth(best) ? i : best), 0);
        this.rows[0].write(places[best]);
    }

    private set(delay: number): void {
        const good = Number.isFinite(delay) && delay >= 0;
        if (good) this.delay.removeAttribute("aria-invalid");
        else this.delay.setAttribute("aria-invalid", "true");
        if (!good) return;
        this.delay.value = this.slider.value = String(delay);
        this.placing = !this.placed;
        this.question.ask();
    }

    /** A click in the view: where to shoot from, then what at. */
    click(name: string | null, at: Numbers): void {
        const aimed = this.clicked % 2 === 1;
        this.clicked++;
        this.placed = true;
        this.rows[aimed ? 1 : 0].write(at.map(tidy));
        if (aimed) this.aim.value = "to";
        else this.except = name !== null && !this.names.includes(name) ? name : "";
        this.question.ask();
    }

    private async work(): Promise<void> {
        const { store, names } = this;
        if (!this.shown || !store.info) return;
        const max = store.info.history.span;
        this.slider.max = String(max);
        if (names.length === 0) {
            this.fail("Name an entity, or a box.");
            return;
        }
        const delay = Number(this.delay.value);
        const path = (kind: string) => scenePath(store.info?.name ?? "", `/query/${kind}`);
        try {
            const asked = { pairs: names.map((name) => [name, name]), want: ["pose"], ...OWN };
            const posesOf = ({ results }: Poses) => new Map(names.flatMap((name, i) => (results[i].pose ? [[name, results[i].pose[0]]] : [])));
            const present = await this.client.call<Poses>("POST", path("pairs"), asked);
            store.heard(present.revision, present.time);
            // all that follows speaks of the same two states, however the scene goes on meanwhile
            const [then, now] = [{ time: present.time - delay, clamp: true }, { revision: present.revision, clamp: true }];
            this.now = posesOf(present);
            this.then = posesOf(await this.client.call<Poses>("POST", path("pairs"), { ...asked, at: then }));
            if (this.placing && !this.placed) {
                this.placedAt = present.revision;
                await this.place(path("ray"), [then, now]);
            }
            const ray = this.ray();
            if (!ray) return;
            const filter = this.except ? { filter: { exclude: [this.except] } } : {};
            const body: Question = { rays: [ray], explain: names.slice(0, MOST), ...filter };
            const bodies: Question[] = [
                { ...body, at: then },
                { ...body, at: now },
            ];
            const answers = await Promise.all(bodies.map((one) => this.client.call<Verdict>("POST", path("ray"), { ...one, ...OWN })));
            if (!this.shown) return;
            const [hit] = answers[0].results[0].hits;
            if (!(hit && names.includes(hit.box)) && present.revision !== this.placedAt) this.placeSoon(); // something has come between
            bodies.forEach((one, i) => this.exchanges[i].show({ path: path("ray"), body: one, curl: this.client.curl(path("ray"), one), answer: answers[i] }));
            this.show(answers, delay, ray);
            setText(this.when, clock(present.time));
        } catch (error) {
            this.fail(error instanceof Problem ? error.message : "The daemon does not answer.");
        }
    }

    /** From where one shoots through what is aimed at, and on. */
    private ray(): { origin: Numbers; direction: Numbers } | null {
        const [name] = this.names;
        const origin = this.rows[0].read();
        const [then, now] = [this.then.get(name), this.now.get(name)];
        const target = this.aim.value === "then" ? then?.center : this.aim.value === "now" ? now?.center : this.rows[1].read();
        if (!origin || !target) return null;
        if (this.aim.value !== "to") this.rows[1].write(target.map((value) => Number(value.toPrecision(4)))); // what fits into a field
        const direction = target.map((value, i) => value - origin[i]);
        return direction.some((value) => value !== 0) ? { origin, direction } : null;
    }

    private fail(words: string): void {
        setText(this.said, words);
        for (const one of this.verdicts) setText(one, "");
        for (const one of this.exchanges) one.show(null);
        this.moved.show("How far each box has moved since", []);
        this.onThen(null);
        this.onShow([], new Set());
    }

    private show(answers: Verdict[], delay: number, ray: { origin: Numbers; direction: Numbers }): void {
        const { store, names } = this;
        const clamped = answers[0].at?.clamped;
        setText(this.said, clamped ? `The daemon keeps less than ${short(delay)}: its oldest state is shown. A longer history keeps more.` : "");
        const words = ["Then", "Now"];
        answers.forEach(({ results: [{ hits, explain }] }, i) => {
            const [hit] = hits;
            const mine = hit && names.includes(hit.box);
            const nearest = [...explain].sort((a, b) => (a.gap ?? Infinity) - (b.gap ?? Infinity))[0];
            const why = mine ? `hit ${hit.box} at ${short(hit.distance)}` : `${hit ? `hit ${hit.box} instead; ` : ""}${nearest ? `${nearest.box} ${explained(nearest, String)}` : "missed"}`;
            setText(this.verdicts[i], `${words[i]}: ${why}`);
            this.verdicts[i].dataset.verdict = mine ? "hit" : "missed";
        });
        const way = (a: Numbers, b: Numbers) => point(a).distanceTo(point(b));
        this.moved.show(
            "How far each box has moved since",
            [...this.then].map(([name, { center }]) => ({
                name,
                where: short(way(center, this.now.get(name)?.center ?? center)),
                select: [name],
            })),
        );
        this.onThen(this.then);
        const hits = answers.map(({ results }) => results[0].hits[0]);
        const far = Math.max(1.2 * Math.hypot(...ray.direction), ...hits.map((hit) => hit?.distance ?? 0));
        const end = numbers(point(ray.origin).addScaledVector(point(ray.direction).normalize(), far), store.dimensions);
        const marks: Mark[] = [{ kind: "arrow", tint: "ask", from: ray.origin, to: end }];
        for (const [i, hit] of hits.entries()) if (hit) marks.push({ kind: "point", tint: i === 0 ? "hit" : "miss", at: hit.point });
        for (const name of this.then.keys()) {
            const box = this.now.get(name);
            if (box) marks.push({ kind: "box", tint: "now", box });
        }
        const [first] = hits;
        this.onShow(marks, new Set(first && names.includes(first.box) ? [first.box] : []));
        const target = this.then.get(names[0]);
        if (this.named && target) this.onAim(point(target.center), point(ray.origin));
        this.named = false;
    }
}
