// What the colours of the boxes say: how they meet, their category, their entity, how deep they reach into others, or what changed lately.
import { Color } from "three";
import { ask, OWN, Unasked } from "./asking";
import { type Client, Problem } from "./client";
import { grouped } from "./counts";
import { byId, el } from "./dom";
import { Latest } from "./latest";
import type { Palette } from "./palette";
import type { Past, Store } from "./store";

export const MODES = { contact: "contact", category: "category", entity: "entity", depth: "depth", changed: "changed lately" } as const;
type Mode = keyof typeof MODES;

const KINDS = 8; // colours for what is one of many
const LATELY_MS = 2000;
const STEP_MS = 100; // between two looks at what was changed lately
const DEPTHS_MS = 250; // between two readings of depths
const MOST = 20_000; // pairs of which depths are read
const SHADES = 5; // in the legend

interface Depths {
    truncated?: true;
    count?: number; // of all pairs, where some are left out
    pairs: { pair: [string, string]; mtv?: { depth: number } }[];
}

export class Colouring {
    mode: Mode = "contact";
    /** Colours are others: of these boxes, or of all. */
    onChange: (names: Set<string> | null) => void = () => {};
    onMode: () => void = () => {};
    private readonly select = byId<HTMLSelectElement>("colours");
    private readonly legend = byId("legend");
    private readonly depths = new Map<string, number>();
    private deepest = 0;
    private unknown = ""; // why depths are not known
    private part = ""; // of how many pairs they are known, if not of all
    private state: Past | null = null; // of which they were asked last
    private readonly changes = new Map<string, number>(); // of boxes changed lately: when
    private readonly mixed = new Color();
    private timer = 0;
    private readonly question = new Latest(() => this.readDepths());

    constructor(
        private readonly store: Store,
        private readonly client: Client,
        private readonly palette: Palette,
    ) {
        for (const [mode, title] of Object.entries(MODES)) this.select.append(el("option", { value: mode }, title));
        this.select.addEventListener("change", () => this.set(this.select.value as Mode));
        store.on(["boxes", "pairs"], () => this.follow());
        this.explain();
    }

    set(mode: Mode): void {
        this.mode = mode;
        this.select.value = mode;
        this.changes.clear();
        if (mode === "depth") this.question.ask();
        this.explain();
        this.onChange(null);
        this.onMode();
    }

    /** Of a box that is shown. */
    readonly of = (name: string): Color => {
        const { palette, store } = this;
        const box = store.shown.boxes.get(name);
        if (this.mode === "category") return this.kind(box ? 31 - Math.clz32(box.category & -box.category) : 0);
        if (this.mode === "entity") return box?.entity === undefined ? palette.free : this.kind(hash(box.entity));
        if (this.mode === "depth" && this.unknown) return palette.free;
        if (this.mode === "depth") return this.shade(this.depths.get(name) ?? 0, this.deepest);
        if (this.mode === "changed") return this.shade(this.freshness(name), 1);
        return [palette.free, palette.touching, palette.colliding][store.shown.contact(name)];
    };

    private kind(i: number): Color {
        return this.palette[`kind${((i % KINDS) + KINDS) % KINDS}` as keyof Palette];
    }

    /** From the colour of what is free to that of what is most, by an even step. */
    private shade(value: number, most: number): Color {
        const share = most > 0 ? Math.min(1, value / most) : 0;
        return this.mixed.copy(this.palette.least).lerp(this.palette.most, share);
    }

    private freshness(name: string): number {
        const at = this.changes.get(name);
        return at === undefined ? 0 : Math.max(0, 1 - (performance.now() - at) / LATELY_MS);
    }

    private follow(): void {
        const { past } = this.store;
        const asked = past !== null && past === this.state; // the past does not change
        if (this.mode === "depth" && !asked) this.question.ask();
        if (this.mode !== "changed") return;
        const now = performance.now();
        for (const name of this.store.moved) this.changes.set(name, now);
        if (this.timer === 0 && this.changes.size > 0) this.timer = setTimeout(() => this.fade(), STEP_MS);
    }

    private fade(): void {
        this.timer = 0;
        const names = new Set(this.changes.keys());
        for (const name of names) if (this.freshness(name) === 0) this.changes.delete(name);
        this.onChange(names);
        if (this.changes.size > 0) this.timer = setTimeout(() => this.fade(), STEP_MS);
    }

    private async readDepths(): Promise<void> {
        const { store } = this;
        if (!store.info || this.mode !== "depth") return;
        this.state = store.past;
        let pairs: Depths["pairs"] = [];
        this.part = "";
        try {
            const body = { want: ["mtv"], limit: MOST, ...OWN };
            const { answer } = await ask<Depths>(store, this.client, "all-pairs", body);
            pairs = answer.pairs;
            this.unknown = "";
            const { truncated, count = 0 } = answer;
            if (truncated) this.part = `${grouped(pairs.length)} of ${grouped(count)}`;
        } catch (error) {
            const known = error instanceof Unasked || error instanceof Problem;
            this.unknown = known ? error.message : "The daemon does not answer.";
            if (!(error instanceof Unasked)) this.state = null; // the next event asks again
        }
        this.depths.clear();
        this.deepest = 0;
        for (const { pair, mtv } of pairs)
            for (const name of pair) {
                const depth = Math.max(this.depths.get(name) ?? 0, mtv?.depth ?? 0);
                this.depths.set(name, depth);
                this.deepest = Math.max(this.deepest, depth);
            }
        this.explain();
        this.onChange(null);
        await new Promise((resolve) => setTimeout(resolve, DEPTHS_MS));
    }

    /** Says so where only a part of the pairs gives boxes their colour. */
    private partly(): HTMLElement[] {
        const title = "Boxes may be deeper in others than this: the page reads no more pairs.";
        return this.part ? [el("li", { title }, `only ${this.part} pairs are coloured`)] : [];
    }

    private explain(): void {
        const entry = (style: string, text: string) => el("li", text ? {} : { class: "bare" }, el("span", { class: `dot ${style}` }), text);
        const shades = (from: string, to: string) => [from, ...Array.from({ length: SHADES - 2 }, () => ""), to].map((text, i) => entry(`shade-${i}`, text));
        const { mode } = this;
        const entries =
            mode === "contact"
                ? [entry("contact-0", "free"), entry("contact-1", "touching"), entry("contact-2", "overlapping")]
                : mode === "depth"
                  ? this.unknown
                      ? [el("li", { title: this.unknown }, "depths are not known")]
                      : [
                            ...shades("0", `${Number(this.deepest.toPrecision(2))} deep`),
                            ...this.partly(),
                        ]
                  : mode === "changed"
                    ? shades("before", "just now")
                    : [...(mode === "entity" ? [entry("contact-0", "none")] : []), ...Array.from({ length: KINDS }, (_, i) => entry(`kind-${i}`, mode === "category" ? String(i) : ""))];
        const found = entry("found-box", "found");
        found.className = "only-found";
        this.legend.replaceChildren(...entries, found);
    }
}

/** FNV-1a of a name. */
function hash(name: string): number {
    let sum = 0x811c9dc5;
    for (let i = 0; i < name.length; i++) sum = Math.imul(sum ^ name.charCodeAt(i), 0x01000193);
    return (sum >>> 8) % KINDS;
}
