// The boxes by name, in their entities, with what each collides with. Only the rows in sight are elements.
import type { Box } from "./box";
import { byId, el } from "./dom";
import type { Store } from "./store";

type Row = { box: Box } | { entity: string; boxes: Box[]; contacts: number; open: boolean };

const SPARE = 6; // rows beyond those in sight

export class List {
    private rows: Row[] = [];
    private readonly closed = new Set<string>();
    private active = 0; // the row that keys go to
    private readonly root = byId("list");
    private readonly inner = el("div", { class: "rows", role: "presentation" });
    private readonly search = byId<HTMLInputElement>("search");
    private readonly sum = byId("list-sum");
    onActivate: () => void = () => {};

    constructor(private readonly store: Store) {
        this.root.append(this.inner);
        store.on(["boxes", "pairs", "selection", "hover"], () => this.update());
        this.search.addEventListener("input", () => {
            this.root.scrollTop = 0;
            this.active = 0;
            this.update();
        });
        this.search.addEventListener("keydown", (event) => {
            if (event.key !== "ArrowDown" && event.key !== "Enter") return;
            event.preventDefault();
            this.root.focus();
            this.choose(this.active, false);
        });
        this.root.addEventListener("scroll", () => this.render());
        this.root.addEventListener("keydown", (event) => this.key(event));
        this.root.addEventListener("click", (event) => {
            const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
            if (row) this.act(Number(row.dataset.row), event.shiftKey || event.ctrlKey || event.metaKey);
        });
        this.root.addEventListener("dblclick", () => this.onActivate());
        this.root.addEventListener("pointermove", (event) => {
            const row = (event.target as HTMLElement).closest<HTMLElement>("[data-row]");
            const found = row && this.rows[Number(row.dataset.row)];
            store.setHover(found && "box" in found ? found.box.name : null);
        });
        this.root.addEventListener("pointerleave", () => store.setHover(null));
        new ResizeObserver(() => this.render()).observe(this.root);
    }

    private get rowHeight(): number {
        return Number.parseFloat(getComputedStyle(this.root).getPropertyValue("--row")) || 24;
    }

    private contacts(box: Box): number {
        return this.store.shown.touched.get(box.name)?.size ?? 0;
    }

    private update(): void {
        const { store } = this;
        const word = this.search.value.trim().toLowerCase();
        const groups = new Map<string, Box[]>();
        const rows: Row[] = [];
        const all = [...store.shown.boxes.values()].sort((a, b) => a.id - b.id);
        let found = 0;
        for (const box of all) {
            if (word && !box.name.toLowerCase().includes(word) && !box.entity?.toLowerCase().includes(word)) continue;
            found++;
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
            const contacts = boxes.reduce((sum, box) => sum + this.contacts(box), 0);
            rows.push({ entity, boxes, contacts, open });
            if (open) rows.push(...boxes.map((box) => ({ box })));
        }
        this.rows = rows;
        const { pairs } = store.shown;
        const deep = [...pairs.values()].filter(({ relation }) => relation !== "touching").length;
        this.sum.textContent = `${word ? `${found} of ` : ""}${all.length} ${all.length === 1 ? "box" : "boxes"}, ${deep} overlap, ${pairs.size - deep} touch`;
        const selected = rows.findIndex((row) => "box" in row && row.box.name === store.selection.at(-1));
        if (selected >= 0 && selected !== this.active) {
            this.active = selected;
            if (!this.root.matches(":hover")) this.reveal(selected);
        }
        this.active = Math.min(this.active, Math.max(0, rows.length - 1));
        this.inner.style.height = `${rows.length * this.rowHeight}px`;
        this.render();
    }

    private reveal(index: number): void {
        const top = index * this.rowHeight;
        const { scrollTop, clientHeight } = this.root;
        if (top < scrollTop) this.root.scrollTop = top;
        else if (top + this.rowHeight > scrollTop + clientHeight) this.root.scrollTop = top + this.rowHeight - clientHeight;
    }

    private render(): void {
        const height = this.rowHeight;
        const first = Math.max(0, Math.floor(this.root.scrollTop / height) - SPARE);
        const last = Math.min(this.rows.length, Math.ceil((this.root.scrollTop + this.root.clientHeight) / height) + SPARE);
        const made: HTMLElement[] = [];
        for (let i = first; i < last; i++) {
            const element = this.element(this.rows[i], i);
            element.style.top = `${i * height}px`;
            made.push(element);
        }
        this.inner.replaceChildren(...made);
        if (this.active >= first && this.active < last) this.root.setAttribute("aria-activedescendant", `row-${this.active}`);
        else this.root.removeAttribute("aria-activedescendant");
    }

    private element(row: Row, i: number): HTMLElement {
        const { store } = this;
        const common = {
            id: `row-${i}`,
            role: "option",
            "data-row": String(i),
            "aria-setsize": String(this.rows.length),
            "aria-posinset": String(i + 1),
        };
        if ("box" in row) {
            const { box } = row;
            const contacts = this.contacts(box);
            const degree = store.shown.contact(box.name);
            const selected = store.selection.includes(box.name);
            const classes = ["item", selected && "selected", store.hover === box.name && "hover", box.entity !== undefined && "inner"];
            return el(
                "div",
                { ...common, class: classes.filter(Boolean).join(" "), "aria-selected": String(selected) },
                el("span", { class: `dot contact-${degree}`, "aria-hidden": "true" }),
                el("span", { class: "name" }, box.name),
                contacts > 0 && el("span", { class: "count", title: "contacts" }, String(contacts)),
            );
        }
        return el(
            "div",
            { ...common, class: "item entity", "aria-selected": "false", "data-open": String(row.open) },
            el("span", { class: "twist", "aria-hidden": "true" }, row.open ? "▾" : "▸"),
            el("span", { class: "name" }, row.entity),
            el("span", { class: "count" }, row.contacts > 0 ? `${row.boxes.length} · ${row.contacts}` : String(row.boxes.length)),
        );
    }

    private act(index: number, more: boolean): void {
        const row = this.rows[index];
        this.active = index;
        if (row && "entity" in row) {
            if (this.closed.has(row.entity)) this.closed.delete(row.entity);
            else this.closed.add(row.entity);
            this.update();
        } else this.choose(index, more);
    }

    private choose(index: number, more: boolean): void {
        const row = this.rows[index];
        if (!row) return;
        this.active = index;
        this.reveal(index);
        if ("box" in row) this.store.pick(row.box.name, more);
        else this.render();
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
            if (event.ctrlKey || event.metaKey) return;
            this.choose(Math.max(0, Math.min(this.rows.length - 1, moves[event.key])), event.shiftKey);
        } else if (event.key === "Enter" || event.key === " ") {
            if (row && "box" in row && event.key === "Enter") this.onActivate();
            else this.act(this.active, event.shiftKey);
        } else if ((event.key === "ArrowLeft" || event.key === "ArrowRight") && row && "entity" in row) {
            if (row.open === (event.key === "ArrowLeft")) this.act(this.active, false);
        } else return;
        event.preventDefault();
        event.stopPropagation();
    }
}
