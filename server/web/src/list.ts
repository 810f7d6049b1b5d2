// The boxes by name, in their entities, with what each collides with. Only the rows in sight are elements.
import type { Box } from "./box";
import { boxCount, grouped } from "./counts";
import { byId, el } from "./dom";
import { Hold, Keyed, setSome, setText } from "./keyed";
import { counted } from "./snapshot";
import type { Store } from "./store";

type Row = { box: Box } | { entity: string; boxes: Box[]; open: boolean };

const keyOf = (row: Row) => ("box" in row ? `box ${row.box.name}` : `entity ${row.entity}`);

const namesOf = (row: Row) => ("box" in row ? [row.box] : row.boxes).map(({ name }) => name);

const SPARE = 6; // rows beyond those in sight

export class List {
    private rows: Row[] = [];
    private readonly closed = new Set<string>();
    private active = 0; // the row that keys go to
    private anchor = ""; // the key of the row that a range begins at
    private found = 0;
    private height = 0; // of a row
    private chosen = new Set<string>(); // the selection, while rows are rendered
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
            this.root.scrollTop = 0;
            this.rows = []; // keys go to the first of those that come
            this.update();
            const at = store.selected && this.search.value === "" ? this.indexOf(`box ${store.selected.name}`) : -1;
            if (at < 0) return;
            this.active = at; // all rows are there again: so is the one that was chosen among few
            this.reveal(at);
            this.render();
        });
        this.search.addEventListener("keydown", (event) => {
            if (event.key !== "ArrowDown" && event.key !== "Enter") return;
            event.preventDefault();
            this.root.focus();
            this.choose(this.active, "alone");
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
        this.root.addEventListener("pointermove", (event) => {
            const row = this.rowAt(event.target as HTMLElement);
            store.setHover(row && "box" in row ? row.box.name : null);
        });
        this.root.addEventListener("pointerleave", () => store.setHover(null));
        new ResizeObserver(() => this.render()).observe(this.root);
    }

    private get rowHeight(): number {
        return Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--row")) || 24;
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

    private update(): void {
        const { store } = this;
        const word = this.search.value.trim().toLowerCase();
        const groups = new Map<string, Box[]>();
        const rows: Row[] = [];
        const active = this.rows[this.active];
        this.found = 0;
        for (const box of [...store.shown.boxes.values()].sort((a, b) => store.placeOf(a) - store.placeOf(b))) {
            if (word && !box.name.toLowerCase().includes(word) && !box.entity?.toLowerCase().includes(word)) continue;
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
        this.inner.style.height = `${rows.length * this.rowHeight}px`;
        this.count();
    }

    private count(): void {
        const { boxes } = this.store.shown;
        const some = this.search.value.trim() ? `${grouped(this.found)} of ` : "";
        setText(this.sum, `${some}${boxCount(boxes.size)}, ${counted(this.store.shown)}`);
        this.render();
    }

    /** A box that was selected elsewhere is brought into sight. */
    private follow(): void {
        const { selected } = this.store;
        const row = this.rows[this.active];
        if (selected && !(row && "box" in row && row.box.name === selected.name)) {
            const index = this.indexOf(`box ${selected.name}`);
            if (index >= 0 && !this.root.matches(":hover")) {
                this.active = index;
                this.reveal(index);
            }
        }
        this.render();
    }

    private reveal(index: number): void {
        const top = index * this.rowHeight;
        const { scrollTop, clientHeight } = this.root;
        if (top < scrollTop) this.root.scrollTop = top;
        else if (top + this.rowHeight > scrollTop + clientHeight) this.root.scrollTop = top + this.rowHeight - clientHeight;
    }

    private render(): void {
        if (this.hold.on) return;
        const height = this.rowHeight;
        const first = Math.max(0, Math.floor(this.root.scrollTop / height) - SPARE);
        const last = Math.min(this.rows.length, Math.ceil((this.root.scrollTop + this.root.clientHeight) / height) + SPARE);
        const shown = new Map<string, number>();
        for (let i = first; i < last; i++) shown.set(keyOf(this.rows[i]), i);
        this.height = height;
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
        const boxes = "box" in row ? [row.box] : row.boxes;
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
        setSome(element.style, { top: `${i * this.height}px` });
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
        this.reveal(index);
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
            } else this.choose(to, event.shiftKey ? "range" : "alone");
        } else if (event.key === "Enter") this.onActivate();
        else if (event.key === " ") this.choose(this.active, event.ctrlKey || event.metaKey ? "more" : "alone");
        else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && row && "entity" in row) {
            if (row.open === (event.key === "ArrowLeft")) this.fold(this.active);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
