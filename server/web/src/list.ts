// The boxes by name, in their entities, with what each collides with. Only the rows in sight are elements.
import type { Box } from "./box";
import { boxCount, grouped } from "./counts";
import { byId, el } from "./dom";
import { Hold, Keyed, setSome, setText } from "./keyed";
import { counted } from "./snapshot";
import type { Store } from "./store";

type Row = { box: Box } | { entity: string; boxes: Box[]; open: boolean };

const keyOf = (row: Row) => ("box" in row ? `box ${row.box.name}` : `entity ${row.entity}`);

const boxesOf = (row: Row) => ("box" in row ? [row.box] : row.boxes);

const namesOf = (row: Row) => boxesOf(row).map(({ name }) => name);

const SPARE = 6; // rows beyond those in sight

export class List {
    private rows: Row[] = [];
    private placed: Row[] = []; // the rows that have places: those before, while one is pressed
    private lead = 0; // px that are blank above the first row
    private pointer: number | null = null; // where it is over the list: its `clientY`
    private readonly closed = new Set<string>();
    private active = 0; // the row that keys go to
    private anchor = ""; // the key of the row that a range begins at
    private found = 0;
    private height = 0; // of a row in its place
    private chosen = new Set<string>(); // the selection, while rows are rendered
    private followed: string[] = []; // the selection, as it was told last
    private readonly root = byId("list");
    private readonly inner = el("div", { class: "rows", role: "presentation" });
    private readonly elements = new Keyed<number>(
        this.inner,
        () => el("div", { role: "option" }, el("span", { "aria-hidden": "true" }), el("span", { class: "name" }), el("span", { class: "unseen" }), el("span", { class: "count" })),
        (element, i) => this.patch(element, i),
    );
    private readonly rowOf = new WeakMap<Element, Row>();
    private readonly hold = new Hold(this.root, () => this.render());
    private readonly search = byId<HTMLInputElement>("search");
    private readonly sum = byId("list-sum");
    onActivate: () => void = () => {};

    constructor(private readonly store: Store) {
        this.root.append(this.inner);
        store.on(["boxes"], () => (store.restocked ? this.update() : this.count()));
        store.on(["pairs"], () => this.count());
        store.on(["selection"], () => this.follow());
        store.on(["hover"], () => this.render());
        this.search.addEventListener("input", () => {
            const row = this.placed[this.pointed];
            const stays = row !== undefined && boxesOf(row).some((box) => this.finds(box));
            if (!stays) {
                this.placed = []; // what comes begins at the top
                this.put(0, false);
            }
            this.rows = []; // keys go to the first of those that come
            this.update();
            const at = store.selected && this.search.value === "" ? this.indexOf(`box ${store.selected.name}`) : -1;
            if (at < 0) return;
            this.active = at; // all rows are there again: so is the one that was chosen among few
            if (!stays) this.reveal(at);
            this.render();
        });
        this.search.addEventListener("keydown", (event) => {
            if (event.key !== "ArrowDown" && event.key !== "Enter") return;
            event.preventDefault();
            this.root.focus();
            this.go(this.active, "alone");
        });
        this.root.addEventListener("scroll", () => this.render());
        this.root.addEventListener("keydown", (event) => this.key(event));
        this.root.addEventListener("click", (event) => {
            const target = event.target as HTMLElement;
            const row = this.rowAt(target);
            const index = row ? this.indexOf(keyOf(row)) : -1;
            if (index < 0) return;
            if (target.closest(".twist")) this.fold(index);
            else this.choose(index, event.shiftKey ? "range" : event.ctrlKey || event.metaKey ? "more" : "alone");
        });
        this.root.addEventListener("dblclick", () => this.onActivate());
        this.root.addEventListener("pointerenter", ({ clientY }) => (this.pointer = clientY));
        this.root.addEventListener("pointermove", (event) => {
            this.pointer = event.clientY;
            const row = this.rowAt(event.target as HTMLElement);
            store.setHover(row && "box" in row ? row.box.name : null);
        });
        this.root.addEventListener("pointerleave", () => {
            this.pointer = null;
            this.put(this.top, false); // without what is blank
            this.render();
            store.setHover(null);
        });
        new ResizeObserver(() => this.render()).observe(this.root);
    }

    private get rowHeight(): number {
        return Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--row")) || 24;
    }

    /** How far the first row begins above what is in sight, in px. */
    private get top(): number {
        return this.root.scrollTop - this.lead;
    }

    /** Which row in its place is under the pointer; -1: none. */
    private get pointed(): number {
        if (this.pointer === null || this.height === 0) return -1;
        const below = this.pointer - this.root.getBoundingClientRect().top;
        const at = Math.floor((this.top + below) / this.height);
        return at < this.placed.length ? at : -1;
    }

    private rowAt(target: HTMLElement): Row | undefined {
        return this.rowOf.get(target.closest("[role=option]") ?? this.root);
    }

    private indexOf(key: string): number {
        return this.rows.findIndex((row) => keyOf(row) === key);
    }

    private contacts(box: Box): number {
        return this.store.shown.touched.get(box.name)?.size ?? 0;
    }

    /** What is searched for; "": nothing. */
    private get word(): string {
        return this.search.value.trim().toLowerCase();
    }

    /** Does the search leave that box? */
    private finds({ name, entity }: Box, word = this.word): boolean {
        return [name, entity ?? ""].some((one) => one.toLowerCase().includes(word));
    }

    private update(): void {
        const { store } = this;
        const { word } = this;
        const groups = new Map<string, Box[]>();
        const rows: Row[] = [];
        const active = this.rows[this.active];
        this.found = 0;
        for (const box of [...store.shown.boxes.values()].sort((a, b) => store.placeOf(a) - store.placeOf(b))) {
            if (!this.finds(box, word)) continue;
            this.found++;
            if (box.entity === undefined) {
                rows.push({ box });
                continue;
            }
            const group = groups.get(box.entity);
            if (group) group.push(box);
            else groups.set(box.entity, [box]);
        }
        for (const [entity, boxes] of groups) {
            const open = word !== "" || !this.closed.has(entity);
            rows.push({ entity, boxes, open });
            if (open) for (const box of boxes) rows.push({ box });
        }
        this.rows = rows;
        const at = active ? this.indexOf(keyOf(active)) : 0;
        if (at >= 0) this.active = at;
        else this.active = Math.min(this.active, Math.max(0, rows.length - 1)); // its row is gone
        this.count();
    }

    private count(): void {
        const { boxes } = this.store.shown;
        const some = this.word ? `${grouped(this.found)} of ` : "";
        setText(this.sum, `${some}${boxCount(boxes.size)}, ${counted(this.store.shown)}`);
        this.render();
    }

    /**
     * A box that was selected elsewhere is brought into sight, but not one that is left of several
     * because others are gone.
     */
    private follow(): void {
        const { selected, shown, selection } = this.store;
        const before = this.followed;
        this.followed = selection;
        const row = this.rows[this.active];
        const active = row && "box" in row && row.box.name === selected?.name;
        const lost = before.some((name) => !shown.boxes.has(name));
        const left = selected && lost && before.includes(selected.name);
        if (selected && !active && !left) {
            const index = this.indexOf(`box ${selected.name}`);
            if (index >= 0 && !this.root.matches(":hover")) {
                this.active = index;
                this.reveal(index);
            }
        }
        this.render();
    }

    private reveal(index: number): void {
        this.settle();
        const top = this.lead + index * this.height;
        const { scrollTop, clientHeight } = this.root;
        if (top < scrollTop) this.root.scrollTop = top;
        else if (top + this.height > scrollTop + clientHeight)
            this.root.scrollTop = top + this.height - clientHeight;
    }

    /**
     * Gives all rows their places. Where rows have come or gone, the row under the pointer stays
     * where it is, or without one the first in sight, unless the list is at its top. If that row
     * is gone, one of its neighbours stays.
     */
    private settle(): void {
        const { root, rows, placed, rowHeight } = this;
        if (rows === placed && rowHeight === this.height) return;
        const height = this.height || rowHeight;
        const top = this.top / height; // in rows, as all that follows
        const { pointed } = this;
        const first = Math.max(0, Math.floor(top));
        const from = pointed < 0 ? first : pointed;
        const last = Math.ceil(top + root.clientHeight / height);
        const above = placed.slice(first, from + 1).reverse();
        const inSight = [...above, ...placed.slice(from + 1, last)];
        const ranks = new Map(inSight.map((row, rank) => [this.idOf(row), rank]));
        let best = Infinity;
        let stays = 0; // the number of that row now
        const atTop = pointed < 0 && root.scrollTop === 0;
        if (!atTop && rows !== placed)
            rows.forEach((row, i) => {
                const rank = ranks.get(this.idOf(row)) ?? Infinity;
                if (rank < best) [best, stays] = [rank, i];
            });
        const before = best < above.length ? from - best : first + best;
        const found = best < Infinity;
        this.placed = rows;
        this.height = rowHeight;
        this.put((found ? top + stays - before : top) * rowHeight, found && pointed >= 0);
    }

    /** What a row stands for. A box that was removed and put again is another one. */
    private idOf(row: Row): number | string {
        return "box" in row ? this.store.placeOf(row.box) : row.entity;
    }

    /** Puts the first row so far above what is in sight; with `room`, also where that is blank. */
    private put(top: number, room: boolean): void {
        const { root } = this;
        this.lead = room ? Math.max(0, -top) : 0;
        const scroll = Math.max(0, top);
        const least = room ? scroll + root.clientHeight : 0;
        const height = Math.max(this.lead + this.placed.length * this.height, least);
        setSome(this.inner.style, { height: `${height}px` });
        setSome(root, { scrollTop: scroll });
    }

    private render(): void {
        if (this.hold.on) return;
        this.settle();
        const { height, top } = this;
        const first = Math.max(0, Math.floor(top / height) - SPARE);
        const end = Math.ceil((top + this.root.clientHeight) / height) + SPARE;
        const last = Math.min(this.rows.length, end);
        const shown = new Map<string, number>();
        for (let i = first; i < last; i++) shown.set(keyOf(this.rows[i]), i);
        this.chosen = new Set(this.store.selection);
        this.elements.show(shown);
        if (this.active >= first && this.active < last) this.root.setAttribute("aria-activedescendant", `row-${this.active}`);
        else this.root.removeAttribute("aria-activedescendant");
    }

    /** Brings an element to what row `i` says. */
    private patch(element: HTMLElement, i: number): void {
        const { store, chosen } = this;
        const row = this.rows[i];
        const [mark, name, spoken, count] = element.children as unknown as HTMLElement[];
        const boxes = boxesOf(row);
        const selected = boxes.every((box) => chosen.has(box.name));
        const contacts = boxes.reduce((sum, box) => sum + this.contacts(box), 0);
        const classes = ["item", i === this.active && "active", selected && "selected"];
        if ("box" in row) {
            classes.push(store.hover === row.box.name && "hover", row.box.entity !== undefined && "inner");
            const degree = store.shown.contact(row.box.name);
            setSome(mark, { className: `dot contact-${degree}` });
            setText(spoken, ["", "touching, contacts:", "overlapping, contacts:"][degree]); // what the colour says
            setText(name, row.box.name);
            setText(count, contacts > 0 ? grouped(contacts) : "");
            setSome(count, { title: "contacts" });
        } else {
            classes.push("entity");
            setSome(mark, { className: "twist" });
            setText(mark, row.open ? "▾" : "▸");
            setText(spoken, contacts > 0 ? "boxes and contacts:" : "boxes:");
            setText(name, row.entity);
            setText(count, contacts > 0 ? `${grouped(boxes.length)} · ${grouped(contacts)}` : grouped(boxes.length));
        }
        const className = classes.filter(Boolean).join(" ");
        setSome(element, { id: `row-${i}`, className, ariaSelected: String(selected), ariaSetSize: String(this.rows.length), ariaPosInSet: String(i + 1) });
        setSome(element.style, { top: `${this.lead + i * this.height}px` });
        this.rowOf.set(element, row);
    }

    private fold(index: number): void {
        const row = this.rows[index];
        if (!row || !("entity" in row)) return;
        this.active = index;
        if (this.closed.has(row.entity)) this.closed.delete(row.entity);
        else this.closed.add(row.entity);
        this.update();
    }

    /** The boxes that the search leaves. */
    all(): string[] {
        return this.rows.flatMap((row) => ("entity" in row && row.open ? [] : namesOf(row)));
    }

    /**
     * An entity stands for its boxes. "range": from the last row chosen to this one, where the
     * boxes of an open entity between the two have rows of their own; "more": it joins or leaves
     * the selection.
     */
    private choose(index: number, way: "alone" | "more" | "range"): void {
        const { store } = this;
        const row = this.rows[index];
        if (!row) return;
        this.active = index;
        const names = namesOf(row);
        const from = this.indexOf(this.anchor);
        if (way === "range" && from >= 0) {
            const between = this.rows.slice(Math.min(from, index), Math.max(from, index) + 1);
            const ends = [row, this.rows[from]];
            const chosen = between.filter((one) => "box" in one || !one.open || ends.includes(one));
            store.select([...new Set(chosen.flatMap(namesOf))]);
            return;
        }
        this.anchor = keyOf(row);
        const kept = store.selection.filter((name) => !names.includes(name));
        if (way === "alone") store.select(names);
        else store.select(kept.length + names.length === store.selection.length ? kept : [...kept, ...names]);
    }

    /** As `choose`, by keys: the row comes into sight. */
    private go(index: number, way: "alone" | "range"): void {
        this.reveal(index);
        this.choose(index, way);
    }

    private key(event: KeyboardEvent): void {
        const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight) - 1);
        const moves: Record<string, number> = {
            ArrowDown: this.active + 1,
            ArrowUp: this.active - 1,
            PageDown: this.active + page,
            PageUp: this.active - page,
            Home: 0,
            End: this.rows.length - 1,
        };
        const row = this.rows[this.active];
        if (event.key in moves) {
            const to = Math.max(0, Math.min(this.rows.length - 1, moves[event.key]));
            if (event.ctrlKey || event.metaKey) {
                this.active = to; // goes there, and selects nothing until Space
                this.reveal(to);
                this.render();
            } else this.go(to, event.shiftKey ? "range" : "alone");
        } else if (event.key === "Enter") this.onActivate();
        else if (event.key === " ") this.choose(this.active, event.ctrlKey || event.metaKey ? "more" : "alone");
        else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && row && "entity" in row) {
            if (row.open === (event.key === "ArrowLeft")) this.fold(this.active);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
