// How the selected box stands to those that it collides with, and how two selected boxes stand to each other.
import { ask, type Asked, OWN, Unasked } from "./asking";
import { numbers, point, short } from "./box";
import { type Client, Problem } from "./client";
import { grouped } from "./counts";
import { byId, el } from "./dom";
import { ExchangePanel } from "./exchange";
import { Keyed, setSome, setText } from "./keyed";
import { Latest } from "./latest";
import type { Mark } from "./marks";
import { type Row, Rows } from "./rows";
import type { Relation } from "./snapshot";
import type { Past, Store } from "./store";

const LISTED = 50; // partners of one box
const ALONE = "Collides with nothing. Select a second box with Ctrl to compare the two.";

interface PairResult {
    missing?: string[];
    overlap?: boolean;
    relation?: Relation;
    mtv?: { normal: number[]; depth: number };
    distance?: number;
    points?: [number[], number[]];
    axis?: { name: string; normal: number[]; gap: number };
    volume?: number;
    iou?: number;
}

interface Line {
    tag: "dt" | "dd";
    text: string;
}

export class Relations {
    onMarks: (marks: Mark[]) => void = () => {};
    private readonly root = byId("relations");
    private readonly exchange = new ExchangePanel();
    private readonly title = el("h2", { class: "sub" });
    private readonly facts = el("dl", { class: "facts" });
    private readonly lines = new Keyed<Line>(
        this.facts,
        ({ tag }) => el(tag),
        (element, { text }) => setText(element, text),
    );
    private readonly hint = el("p", { class: "hint" }); // in place of an answer
    private readonly list: Rows;
    private readonly rest = el("p", { class: "hint" });
    private readonly content: HTMLElement;
    private state: Past | null = null; // that was asked last
    private readonly question = new Latest(() => this.update());

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        this.list = new Rows((names) => store.select(names));
        this.content = el("section", {}, this.title, this.facts, this.list.root, this.rest, this.exchange.root);
        store.on(["selection"], () => this.question.ask());
        store.on(["boxes", "pairs", "history"], () => (store.past === null || store.past !== this.state) && this.question.ask()); // the past does not change
    }

    private async update(): Promise<void> {
        const { store } = this;
        this.state = store.past;
        const names = store.selection.filter((name) => store.shown.boxes.has(name));
        const { boxes, touched } = store.shown;
        const id = (name: string) => boxes.get(name)?.id ?? 0;
        const partners = names.length === 1 ? [...(touched.get(names[0])?.keys() ?? [])].sort((a, b) => id(a) - id(b)) : [];
        if (names.length === 0 || names.length > 2 || (names.length === 1 && partners.length === 0)) {
            this.say(names.length === 1 ? ALONE : "");
            return;
        }
        const compare = names.length === 2;
        const pairs = compare ? [names] : partners.slice(0, LISTED).map((other) => [names[0], other]);
        const body: Record<string, unknown> = {
            pairs,
            want: compare ? ["relation", "mtv", "distance", "axis", "volume"] : ["relation", "mtv"],
            ...OWN,
        };
        let asked: Asked<{ results: PairResult[] }>;
        try {
            asked = await ask(store, this.client, "pairs", body);
        } catch (error) {
            const known = error instanceof Unasked || error instanceof Problem;
            this.say(known ? error.message : "The daemon does not answer.");
            if (!(error instanceof Unasked)) this.state = null; // the next event asks again
            return;
        }
        const { path, body: sent, answer } = asked;
        if (names.join("\n") !== store.selection.join("\n")) return; // asked again already
        this.exchange.show({ path: path, body: sent, curl: this.client.curl(path, sent), answer: answer });
        setSome(this.facts, { hidden: !compare });
        setSome(this.list.root, { hidden: compare });
        if (compare) this.compared(names, answer.results[0]);
        else this.partners(names[0], partners, answer.results);
        this.show(this.content);
    }

    /** Shows a sentence, and nothing of an answer. */
    private say(words: string): void {
        this.onMarks([]);
        setText(this.hint, words);
        this.show(words ? this.hint : null);
    }

    private show(part: HTMLElement | null): void {
        if (this.root.firstElementChild === part) return;
        this.root.replaceChildren(...(part ? [part] : []));
    }

    private compared([a, b]: string[], result: PairResult): void {
        const { store } = this;
        const marks: Mark[] = [];
        const rows: [string, string][] = [["relation", `${a} ${verb(result.relation)} ${b}`]];
        const dimensions = store.dimensions;
        const moved = (from: number[], normal: number[], by: number) =>
            numbers(point(from).addScaledVector(point(normal), by), dimensions);
        const center = store.shown.boxes.get(b)?.center;
        if (result.mtv && center) {
            rows.push(["parted by", `${vector(result.mtv.normal)} × ${short(result.mtv.depth)}`]);
            marks.push({ kind: "arrow", tint: "ask", from: center, to: moved(center, result.mtv.normal, result.mtv.depth) });
        }
        if (result.distance !== undefined && result.points) {
            rows.push(["distance", short(result.distance)]);
            const [from, to] = result.points;
            marks.push({ kind: "line", tint: "ask", from, to }, { kind: "point", tint: "ask", at: from }, { kind: "point", tint: "ask", at: to });
        }
        if (result.axis) {
            const apart = result.axis.gap > 0;
            rows.push([apart ? "why not" : "tightest axis", `${result.axis.name} ${apart ? "parts them by" : "overlaps by"} ${short(Math.abs(result.axis.gap))}`]);
            rows.push(["axis", vector(result.axis.normal)]);
            if (apart && result.points) {
                const [from] = result.points;
                marks.push({ kind: "arrow", tint: "accent", from, to: moved(from, result.axis.normal, result.axis.gap) });
            }
        }
        if (result.volume) rows.push([dimensions === 2 ? "common area" : "common volume", `${short(result.volume)} (IoU ${short(result.iou ?? 0)})`]);
        this.onMarks(marks);
        setText(this.title, `${a} and ${b}`);
        const lines = new Map<string, Line>();
        for (const [name, value] of rows) {
            lines.set(`name ${name}`, { tag: "dt", text: name });
            lines.set(`value ${name}`, { tag: "dd", text: value });
        }
        this.lines.show(lines);
        setSome(this.rest, { hidden: true });
    }

    private partners(name: string, partners: string[], results: PairResult[]): void {
        const { store } = this;
        const marks: Mark[] = [];
        const rows: Row[] = [];
        results.forEach((result, i) => {
            const other = partners[i];
            const center = store.shown.boxes.get(other)?.center;
            const deep = result.relation !== "touching";
            if (deep && result.mtv && center) {
                const to = numbers(point(center).addScaledVector(point(result.mtv.normal), result.mtv.depth), store.dimensions);
                marks.push({ kind: "arrow", tint: "ask", from: center, to });
            }
            const held = result.relation === "contains" ? "holds it, " : result.relation === "inside" ? "inside it, " : "";
            const where = deep ? `${held}${short(result.mtv?.depth ?? 0)} deep` : "touching";
            rows.push({ name: other, where, contact: deep ? 2 : 1, title: "Compare the two", select: [name, other] });
        });
        this.onMarks(marks);
        const more = partners.length - results.length;
        setText(this.title, `Collides with ${grouped(partners.length)}`);
        this.list.show(`What ${name} collides with`, rows);
        setSome(this.rest, { hidden: more <= 0 });
        setText(this.rest, `and ${grouped(more)} more`);
    }
}

function verb(relation: Relation | undefined): string {
    return relation === "contains" ? "contains" : relation === "separate" ? "is separate from" : relation === "touching" ? "touches" : relation === "inside" ? "is inside" : "intersects";
}

export function vector(values: number[]): string {
    return `(${values.map(short).join(", ")})`;
}
