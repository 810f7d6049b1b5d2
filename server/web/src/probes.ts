// Questions to the scene: put by clicks or numbers, asked again when the scene changes, drawn and listed.
import { Vector3 } from "three";
import { ask, Unasked } from "./asking";
import { ALL_BITS, type Box, numbers, point, short, tidy, turn, withAt } from "./box";
import { type Client, Problem } from "./client";
import { grouped } from "./counts";
import { byId, el, NumberRow } from "./dom";
import { ExchangePanel } from "./exchange";
import { setText } from "./keyed";
import { Latest } from "./latest";
import type { Mark } from "./marks";
import { vector } from "./relations";
import { type Row, Rows } from "./rows";
import type { Relation } from "./snapshot";
import type { Past, Store } from "./store";

const LISTED = 200; // of what is found
const PAIRS = 10_000; // asked for, of which the deepest are shown
const DRAWN = 60; // pairs
const LEAST = 1e-3; // half size of a shape that is sized by hand
const AT_FIRST: Record<string, string> = { hits: "closest", reach: "to" }; // in words of an address
const MET = 100; // boxes that a sweep leaves out

interface Hit {
    box: string;
    distance?: number;
    fraction?: number;
    point?: number[];
    normal?: number[];
    started_inside?: true;
    started_overlapping?: true;
}
interface Result {
    missing?: string[];
    hits?: Hit[];
    boxes?: (string | Hit)[];
    truncated?: true;
    count?: number;
}
interface Answer {
    results?: Result[];
    count?: number;
    pairs?: Pair[];
}
interface Pair {
    pair: [string, string];
    relation: Relation;
    mtv?: { normal: number[]; depth: number };
    points?: [number[], number[]];
}

/** A kind of question: its fields, how clicks fill them, the request, and what is drawn beside the hits. */
interface Probe {
    title: string;
    kind: string; // of query
    hint: string;
    fields: [label: string, what: "vector" | "number", value: number[]][];
    modes?: boolean;
    aims?: boolean; // by two clicks, from one box at another
    on?: boolean; // starts on a box, which is left out
    needsBox?: boolean;
    clicks: (values: number[][], at: number[], clicked: number) => number[][];
    body: (values: number[][], box: Box | null, on: boolean) => Record<string, unknown>;
    marks: (values: number[][], box: Box | null) => Mark[];
    grips?: (values: number[][]) => Grip[];
}

/** A point to drag: its place, whether it sizes, and what it makes of the fields. */
interface Grip {
    at: number[];
    sizes?: boolean;
    pull: (to: number[]) => number[][];
}

/** Grips at the middles of faces that size a shape about its centre. */
const sized = (center: number[], half: number[], pull: (axis: number, reach: number) => number[][]): Grip[] =>
    half.map((reach, axis) => ({
        at: center.map((value, i) => (i === axis ? value + reach : value)),
        sizes: true,
        pull: (to) => pull(axis, Math.max(LEAST, Math.abs(to[axis] - center[axis]))),
    }));

const PROBES: Record<string, Probe> = {
    ray: {
        title: "Ray",
        kind: "ray",
        hint: "Click where the ray starts, then what it is aimed at. Its ends can be dragged. It leaves out what it starts on, and goes on past what it is aimed at.",
        fields: [
            ["From", "vector", [-19, 1.2, 0]],
            ["To", "vector", [19, 1.2, 0]],
        ],
        modes: true,
        aims: true,
        on: true,
        clicks: ([from], at, clicked) => (clicked % 2 === 0 ? [at, at] : [from, at]),
        body: ([from, to], _, on) => ({ rays: [on ? { origin: from, direction: to.map((value, i) => value - from[i]) } : { from, to }] }),
        marks: ([from, to]) => [
            { kind: "point", tint: "ask", at: from },
            { kind: "arrow", tint: "ask", from, to },
        ],
        grips: ([from, to]) => [
            { at: from, pull: (at) => [at, to] },
            { at: to, pull: (at) => [from, at] },
        ],
    },
    point: {
        title: "Point",
        kind: "point",
        hint: "Click a point: which boxes hold it?",
        fields: [["Point", "vector", [0, 0, 0]]],
        clicks: (_, at) => [at],
        body: ([at]) => ({ points: [at] }),
        marks: ([at]) => [{ kind: "point", tint: "ask", at }],
        grips: ([at]) => [{ at, pull: (to) => [to] }],
    },
    sphere: {
        title: "Sphere",
        kind: "overlap",
        hint: "Click where the sphere is to be. Its points are dragged: the middle moves it, the other sizes it.",
        fields: [
            ["Center", "vector", [0, 1, 0]],
            ["Radius", "number", [2]],
        ],
        clicks: ([, radius], at) => [at, radius],
        body: ([center, [radius]]) => ({ shapes: [{ sphere: { center, radius } }] }),
        marks: ([center, [radius]]) => [{ kind: "sphere", tint: "ask", center, radius }],
        grips: ([center, [radius]]) => [{ at: center, pull: (to) => [to, [radius]] }, ...sized(center, [radius], (_, reach) => [center, [tidy(reach)]])],
    },
    box: {
        title: "Box",
        kind: "overlap",
        hint: "Click where the box is to be. Its points are dragged: the middle moves it, the others size it. Nothing is stored.",
        fields: [
            ["Center", "vector", [0, 1, 0]],
            ["Half size", "vector", [2, 1, 2]],
        ],
        clicks: ([, half], at) => [at, half],
        body: ([center, half_extents]) => ({ shapes: [{ center, half_extents }] }),
        marks: ([center, half_extents]) => [{ kind: "box", tint: "ask", box: { center, half_extents } }],
        grips: ([center, half]) => [{ at: center, pull: (to) => [to, half] }, ...sized(center, half, (axis, reach) => [center, withAt(half, axis, tidy(reach))])],
    },
    sweep: {
        title: "Sweep",
        kind: "sweep",
        hint: "Drag in the view to move the selected box along a path.",
        fields: [["Motion", "vector", [5, 0, 0]]],
        modes: true,
        needsBox: true,
        clicks: (values) => values,
        body: ([motion], box) => ({ sweeps: [{ box: box?.name, motion }] }),
        marks: ([motion], box) => {
            if (!box) return [];
            const to = box.center.map((value, i) => value + motion[i]);
            return [
                { kind: "arrow", tint: "ask", from: box.center, to },
                { kind: "box", tint: "ask", box: { ...box, center: to } },
            ];
        },
    },
    nearest: {
        title: "Nearest",
        kind: "nearest",
        hint: "Click a point: which boxes are nearest? It leaves out what is clicked.",
        on: true,
        fields: [
            ["Point", "vector", [0, 3, 0]],
            ["How many", "number", [3]],
        ],
        clicks: ([, k], at) => [at, k],
        body: ([at, [k]]) => ({ points: [at], k }),
        marks: ([at]) => [{ kind: "point", tint: "ask", at }],
        grips: ([at, k]) => [{ at, pull: (to) => [to, k] }],
    },
    pairs: {
        title: "All pairs",
        kind: "all-pairs",
        hint: "All colliding pairs among the boxes that the filter lets take part.",
        fields: [],
        clicks: (values) => values,
        body: () => ({ want: ["relation", "mtv", "distance"], limit: PAIRS }),
        marks: () => [],
    },
};

export const PROBE_KINDS = Object.entries(PROBES).map(([id, { title }]) => ({ id, title }));

export class Probes {
    onShow: (marks: Mark[], hits: Set<string>) => void = () => {};
    /** A question is put that may be another than before. */
    onAsk: () => void = () => {};
    private readonly kind = byId<HTMLSelectElement>("probe-kind");
    private readonly form = byId("probe-form");
    private readonly hint = byId("probe-hint");
    private readonly out = byId("probe-out");
    private readonly mode = byId<HTMLSelectElement>("probe-mode");
    private readonly reach = byId<HTMLSelectElement>("probe-reach");
    private readonly except = byId<HTMLInputElement>("probe-except");
    private readonly met = byId<HTMLInputElement>("probe-met");
    private readonly filter = ["filter-category", "filter-mask", "filter-prefix"].map((id) => byId<HTMLInputElement>(id));
    private readonly exchange = new ExchangePanel();
    private readonly sum = el("h2", { class: "sub" });
    private readonly list: Rows;
    private readonly rest = el("p", { class: "hint" });
    private readonly found: HTMLElement; // all that an answer shows
    private rows: NumberRow[] = [];
    private readonly values = new Map<string, number[][]>();
    private clicked = 0;
    private current = "";
    private built = "";
    private asked = false;
    private refused = ""; // why what is written into the fields cannot be asked
    private state: Past | null = null; // that was asked last
    private readonly question = new Latest(() => this.work()); // drags and commits may come faster than answers

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        this.list = new Rows((names) => store.select(names));
        this.found = el("div", {}, el("div", { role: "status" }, this.sum), this.list.root, this.rest, this.exchange.root);
        for (const { id, title } of PROBE_KINDS) this.kind.append(el("option", { value: id }, title));
        this.kind.addEventListener("change", () => store.setTool(this.kind.value));
        this.mode.addEventListener("change", () => this.ask());
        for (const input of [this.reach, this.except, this.met, ...this.filter]) input.addEventListener("change", () => this.asked && this.ask());
        byId("probe-ask").addEventListener("click", () => {
            this.read();
            this.ask();
        });
        store.on(["tool", "scene"], () => this.choose());
        store.on(["boxes", "history"], () => this.asked && this.stale && this.ask());
        store.on(["selection"], () => this.probe.needsBox && (this.asked ? this.ask() : this.draw([])));
        this.choose();
    }

    private get probe(): Probe {
        return PROBES[this.current] ?? PROBES.ray;
    }

    private get numbers(): number[][] {
        const { dimensions } = this.store;
        const known = this.values.get(this.current);
        if (known && known.every((value) => value.length !== (dimensions === 2 ? 3 : 2))) return known;
        return this.probe.fields.map(([, what, value]) => (what === "vector" ? value.slice(0, dimensions) : value));
    }

    /** The probe that the tool names; leaving the probes clears what they have drawn. */
    private choose(): void {
        const { store } = this;
        const tool = store.tool in PROBES ? store.tool : "";
        const built = `${tool || this.current || "ray"} ${store.dimensions} ${store.info?.name ?? ""}`;
        if (tool === "" || built !== this.built) this.clear();
        if (built === this.built) return;
        this.built = built;
        this.current = tool || this.current || "ray";
        this.kind.value = this.current;
        this.clicked = 0;
        this.hint.textContent = this.probe.hint;
        const axes = ["x", "y", "z"].slice(0, store.dimensions);
        this.rows = this.probe.fields.map(
            ([label, what]) =>
                new NumberRow(label, what === "vector" ? axes : [""], () => {
                    if (this.read() || this.asked) this.ask();
                }),
        );
        this.form.replaceChildren(...this.rows.map((row) => row.root));
        byId("probe-mode-row").hidden = !this.probe.modes;
        byId("probe-reach-row").hidden = !this.probe.aims;
        byId("probe-except-row").hidden = !this.probe.on;
        byId("probe-met-row").hidden = !this.probe.needsBox;
        this.reach.value = "to";
        this.except.value = "";
        this.write();
    }

    private clear(): void {
        this.asked = false;
        this.out.replaceChildren();
        this.exchange.show(null);
        this.onShow([], new Set());
    }

    private write(): void {
        this.refused = "";
        const values = this.numbers;
        this.rows.forEach((row, i) => row.write(values[i]));
    }

    private read(): boolean {
        const values = this.rows.map((row) => row.read());
        const good = values.every((value) => value !== null);
        const bad = values.indexOf(null);
        const told = () => `${this.probe.fields[bad][0]}: “${this.rows[bad].refused}”`;
        this.refused = good ? "" : `${told()} is not a number.`;
        if (good) this.values.set(this.current, values as number[][]);
        return good;
    }

    /** The question for an address, with what is other than at first; nothing if none is put. */
    get words(): Record<string, string> {
        if (!(this.store.tool in PROBES)) return {};
        const fields = { hits: this.mode, reach: this.reach, except: this.except, category: this.filter[0], mask: this.filter[1], prefix: this.filter[2] };
        const words = Object.entries(fields).map(([name, { value }]) => [name, value]);
        const values = this.numbers.map((value) => value.join(",")).join(";");
        return Object.fromEntries([["ask", this.current], ["of", values], ...words, ["met", this.met.checked ? "" : "in"], ["asked", this.asked ? "1" : ""]].filter(([name, value]) => value !== "" && value !== AT_FIRST[name]));
    }

    /** Puts a question of such words, or none. */
    restore(words: URLSearchParams): void {
        const { store } = this;
        const kind = words.get("ask") ?? "";
        if (!(kind in PROBES)) {
            if (store.tool in PROBES) store.setTool("select");
            return;
        }
        const values = (words.get("of") ?? "").split(";").map((value) => value.split(",").map(Number));
        const { fields } = PROBES[kind];
        const good = values.length === fields.length && values.every((value, i) => value.every(Number.isFinite) && value.length === (fields[i][1] === "vector" ? store.dimensions : 1));
        if (good) this.values.set(kind, values);
        store.setTool(kind);
        this.choose();
        const word = (name: string) => words.get(name) ?? AT_FIRST[name] ?? "";
        for (const [name, input] of Object.entries({ hits: this.mode, reach: this.reach, except: this.except, category: this.filter[0], mask: this.filter[1], prefix: this.filter[2] })) input.value = word(name);
        this.met.checked = word("met") === "";
        this.write();
        if (words.has("asked")) this.ask();
    }

    /** May the scene answer otherwise than before? The past does not change. */
    private get stale(): boolean {
        return this.store.past === null || this.store.past !== this.state;
    }

    /** Is the next click what the probe is aimed at? */
    private get aiming(): boolean {
        return this.probe.aims === true && this.clicked % 2 === 1;
    }

    /** A click of the tool in the view, on a box or beside all, where a pixel has that size. */
    click(name: string | null, at: Vector3, pixel: number): void {
        const { store, probe } = this;
        const box = name === null || (probe.on && !this.aiming) ? undefined : store.shown.boxes.get(name);
        const spot = numbers(spotOf(at, pixel, box), store.dimensions).map(tidy);
        this.values.set(this.current, probe.clicks(this.numbers, spot, this.clicked));
        if (probe.on && !this.aiming) this.except.value = name ?? "";
        if (this.aiming) this.reach.value = "on";
        this.clicked++;
        this.write();
        if (!this.aiming) this.ask();
        else {
            this.asked = false;
            this.say("Now click what it is aimed at.");
            this.draw([]);
        }
    }

    /** The pointer is over this point of the scene: what is being aimed follows it. */
    aim(at: Vector3): void {
        if (!this.aiming || this.store.tool !== this.current) return;
        const { store, probe } = this;
        this.onShow(probe.marks(probe.clicks(this.numbers, numbers(at, store.dimensions), this.clicked), store.selected), new Set());
    }

    /** Points that can be dragged now, and whether they size something. */
    grips(): { at: Vector3; sizes: boolean }[] {
        if (this.store.tool !== this.current || this.aiming || !this.asked) return [];
        return (this.probe.grips?.(this.numbers) ?? []).map(({ at, sizes }) => ({ at: point(at), sizes: sizes === true }));
    }

    /** A grip, by its place among them, was dragged to that point; what is found follows. */
    pull(grip: number, to: Vector3, pixel: number): void {
        const { store, probe } = this;
        const pulled = probe.grips?.(this.numbers)[grip];
        if (!pulled) return;
        const spot = numbers(spotOf(to, pixel, undefined), store.dimensions).map(tidy);
        this.values.set(this.current, pulled.pull(spot));
        this.write();
        this.ask();
    }

    /** The point that the path of a sweep starts from, while there is one to drag. */
    dragFrom(): Vector3 | null {
        const box = this.store.selected;
        return this.store.tool === "sweep" && box ? point(box.center) : null;
    }

    drag(to: Vector3): void {
        const from = this.dragFrom();
        if (!from) return;
        this.values.set("sweep", [numbers(to.clone().sub(from), this.store.dimensions).map(tidy)]);
        this.write();
        this.ask();
    }

    private readonly filterOf = (): Record<string, unknown> | null => {
        const [category, mask] = this.filter.slice(0, 2).map(bits);
        const prefix = this.filter[2].value.trim();
        const filter: Record<string, unknown> = {};
        if (category !== null) filter.category = category;
        if (mask !== null) filter.mask = mask;
        if (prefix !== "") filter.prefix = prefix;
        if (this.probe.on && this.except.value !== "") filter.exclude = [this.except.value];
        const met = this.probe.needsBox && this.met.checked ? this.metBefore : [];
        if (met.length > 0) filter.exclude = met;
        return Object.keys(filter).length > 0 ? filter : null;
    };

    /** What the box that is moved stands in or against before it moves. */
    private get metBefore(): string[] {
        const { selection, shown } = this.store;
        return [...(shown.touched.get(selection[0])?.keys() ?? [])].slice(0, MET);
    }

    private ask(): void {
        this.asked = true;
        this.onAsk();
        this.question.ask();
    }

    private async work(): Promise<void> {
        if (!this.asked) return;
        const { store, probe, current } = this;
        const box = store.selected;
        if (probe.needsBox && !box) {
            this.say("Select one box to move.");
            return;
        }
        const body = probe.body(this.numbers, box, this.reach.value === "on");
        if (probe.modes) body.mode = this.mode.value;
        if (!store.info) {
            this.say("There is no scene to ask.");
            return;
        }
        this.state = store.past;
        try {
            if (this.refused) throw new Unasked(this.refused);
            const filter = this.filterOf();
            if (filter) body.filter = filter;
            const { path, body: sent, answer } = await ask<Answer>(store, this.client, probe.kind, body);
            if (current !== this.current || !this.asked) return;
            this.exchange.show({ path: path, body: sent, curl: this.client.curl(path, sent), answer: answer });
            this.show(answer);
        } catch (error) {
            if (current !== this.current || !this.asked) return;
            this.say(error instanceof Problem || error instanceof Unasked ? error.message : "The daemon does not answer.");
        }
    }

    private say(text: string): void {
        this.out.replaceChildren(el("p", { class: "hint" }, text));
        this.onShow([], new Set());
    }

    private show(answer: Answer): void {
        const found: Row[] = [];
        const hits: Hit[] = [];
        let cut = answer.results?.[0]?.truncated ? (answer.results[0].count ?? 0) : 0;
        for (const entry of [...(answer.results?.[0]?.hits ?? []), ...(answer.results?.[0]?.boxes ?? [])]) {
            const hit = typeof entry === "string" ? { box: entry } : entry;
            hits.push(hit);
            found.push({ name: hit.box, where: where(hit), more: hit.normal && `normal ${vector(hit.normal)}`, select: [hit.box] });
        }
        const pairs = [...(answer.pairs ?? [])].sort((a, b) => depthOf(b) - depthOf(a));
        for (const { pair, relation, mtv } of pairs)
            found.push({
                name: pair.join(", "),
                where: relation === "touching" ? "touching" : `${short(mtv?.depth ?? 0)} deep`,
                contact: relation === "touching" ? 1 : 2,
                select: pair,
            });
        const listed = found.slice(0, LISTED);
        cut = Math.max(cut, answer.count ?? 0, found.length);
        const what = answer.pairs ? (cut === 1 ? "pair" : "pairs") : cut === 1 ? "box" : "boxes";
        setText(this.sum, cut === 0 ? "Nothing found" : `${grouped(cut)} ${what} found`);
        this.list.show("Found", listed);
        this.rest.hidden = cut <= listed.length;
        setText(this.rest, `and ${grouped(cut - listed.length)} more`);
        if (!this.found.isConnected) this.out.replaceChildren(this.found);
        this.draw(hits, pairs.slice(0, DRAWN));
    }

    private draw(hits: Hit[], pairs: Pair[] = []): void {
        const { store } = this;
        const values = this.numbers;
        const marks = this.probe.marks(values, store.selected);
        for (const { at, sizes } of this.probe.grips?.(values) ?? []) if (sizes) marks.push({ kind: "point", tint: "ask", at });
        // normals are drawn as long as a twentieth of the ray or motion
        const ends = this.current === "ray" ? point(values[1]).sub(point(values[0])) : point(values[0] ?? [0, 0, 0]);
        const length = ends.length() / 20;
        const far = hits.at(-1); // hits come from near to far
        if (this.probe.aims && far?.point && far.distance !== undefined && far.distance > ends.length())
            marks.push({ kind: "line", tint: "ask", from: values[1], to: far.point });
        for (const { point: at, normal, fraction } of hits) {
            if (at) marks.push({ kind: "point", tint: "hit", at });
            if (at && normal) {
                const to = numbers(point(at).addScaledVector(point(normal), length), store.dimensions);
                marks.push({ kind: "arrow", tint: "hit", from: at, to });
            }
            if (at && this.current === "nearest") marks.push({ kind: "line", tint: "ask", from: values[0], to: at });
            const box = store.selected;
            if (this.current === "sweep" && fraction !== undefined && box && this.mode.value === "closest") {
                const center = box.center.map((value, i) => value + values[0][i] * fraction);
                marks.push({ kind: "box", tint: "hit", box: { ...box, center } });
            }
        }
        // a pair where it meets, and how far and where to the second one must go
        for (const { mtv, points } of pairs) {
            if (!points) continue;
            const at = points[0].map((value, i) => (value + points[1][i]) / 2);
            marks.push({ kind: "point", tint: "hit", at });
            if (mtv && mtv.depth > 0) marks.push({ kind: "arrow", tint: "hit", from: at, to: at.map((value, i) => value + mtv.normal[i] * mtv.depth) });
        }
        this.onShow(marks, new Set(hits.map(({ box }) => box)));
    }
}

function depthOf({ relation, mtv }: Pair): number {
    return relation === "touching" ? 0 : (mtv?.depth ?? 0);
}

const WITHIN = 1e-3; // of a half size, from its faces

/**
 * The point of a click, in as few digits as a pixel is worth, but where a box was clicked as many as it takes for the point to lie
 * inside of it: rounded, it may lie beside.
 */
function spotOf(at: Vector3, pixel: number, box: Box | undefined): Vector3 {
    const digits = Math.min(12, Math.max(0, Math.ceil(-Math.log10(pixel))));
    const rounded = (from: Vector3, more: number) => new Vector3(...from.toArray().map((value) => Number(value.toFixed(Math.min(100, digits + more)))));
    if (!box) return rounded(at, 0);
    const [center, half, facing] = [point(box.center), point(box.half_extents), turn(box)];
    const local = (from: Vector3) => from.clone().sub(center).applyQuaternion(facing.clone().invert());
    const room = half.clone().multiplyScalar(1 - WITHIN);
    const inside = local(at).clamp(room.clone().negate(), room).applyQuaternion(facing).add(center);
    const limit = half.clone().multiplyScalar(1 - WITHIN / 2);
    for (let more = 0; more < 8; more++) {
        const spot = rounded(inside, more);
        const { x, y, z } = local(spot);
        if (Math.abs(x) <= limit.x && Math.abs(y) <= limit.y && Math.abs(z) <= limit.z) return spot;
    }
    return inside;
}

/**
 * The set of categories in a field, decimal or 0x…; null: the field is empty.
 * @throws Unasked where it is no such set, and the field is marked
 */
function bits(input: HTMLInputElement): number | null {
    const text = input.value.trim();
    const value = Number(text);
    const good = Number.isInteger(value) && value >= 0 && value <= ALL_BITS;
    if (good) input.removeAttribute("aria-invalid");
    else {
        input.setAttribute("aria-invalid", "true");
        const label = input.labels?.[0].textContent;
        throw new Unasked(`${label}: “${text}” is no set of categories, as 5 or 0x5 are.`);
    }
    return text === "" ? null : value;
}

function where(hit: Hit): string {
    const parts: string[] = [];
    if (hit.started_inside) parts.push("starts inside");
    if (hit.started_overlapping) parts.push("starts overlapping");
    if (hit.distance !== undefined) parts.push(`at ${short(hit.distance)}`);
    else if (hit.fraction !== undefined) parts.push(`at ${short(hit.fraction * 100)} %`);
    return parts.join(" · ");
}
