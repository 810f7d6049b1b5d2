// A list of boxes that something has found, a button each.
import { el } from "./dom";
import { Hold, Keyed, setSome, setText } from "./keyed";

export interface Row {
    name: string;
    where: string; // how far, how deep
    more?: string; // a line below
    contact?: 1 | 2; // the colour of a dot before the name
    mark?: "hit" | "miss" | "filtered"; // the same, of a question
    chosen?: boolean;
    title?: string;
    key?: string; // if what it selects is not of it alone
    select: string[];
}

export class Rows {
    readonly root = el("ul", { class: "found" });
    private readonly rows: Keyed<Row>;
    private readonly of = new WeakMap<Element, Row>();
    private readonly hold: Hold;
    private latest = new Map<string, Row>();
    private shown = new Map<string, Row>(); // the same in the order in which they stand

    constructor(act: (select: string[]) => void) {
        this.rows = new Keyed(
            this.root,
            () => el("li", {}, el("button", { type: "button" }, el("span", { class: "dot" }), el("span", { class: "name" }), el("span", { class: "count" }), el("span", { class: "count more" }))),
            (element, row) => this.patch(element, row),
        );
        this.hold = new Hold(this.root, () => this.rows.show(this.shown));
        this.root.addEventListener("click", (event) => {
            const row = this.of.get((event.target as Element).closest("li") ?? this.root);
            if (row) act(row.select);
        });
        for (const end of ["pointerleave", "focusout"])
            this.root.addEventListener(end, () => this.arrange());
    }

    show(label: string, rows: Row[]): void {
        setSome(this.root, { ariaLabel: label });
        this.latest = new Map(rows.map((row) => [row.key ?? row.select.join("\n"), row]));
        this.arrange();
    }

    /** Is the pointer over the list, or do keys go to it? Then nothing moves away. */
    get aimed(): boolean {
        return this.root.matches(":hover, :has(:focus-visible)");
    }

    /** While the list is aimed at, rows stay, and new ones take the places of those gone. */
    private arrange(): void {
        const { latest } = this;
        const stay = this.aimed ? [...this.shown.keys()] : [];
        const known = new Set(stay);
        const fresh = [...latest.keys()].filter((key) => !known.has(key));
        const placed = stay.map((key) => (latest.has(key) ? key : (fresh.shift() ?? key)));
        this.shown = new Map();
        for (const key of [...placed, ...fresh]) {
            const row = latest.get(key);
            if (row) this.shown.set(key, row);
        }
        if (!this.hold.on) this.rows.show(this.shown);
    }

    private patch(element: HTMLElement, row: Row): void {
        this.of.set(element, row);
        const button = element.firstElementChild as HTMLButtonElement;
        const [dot, name, where, more] = button.children as unknown as HTMLElement[];
        setSome(dot, {
            hidden: row.contact === undefined && row.mark === undefined,
            className: row.mark ? `dot mark-${row.mark}` : `dot contact-${row.contact ?? 0}`,
        });
        const ariaPressed = row.chosen === undefined ? null : String(row.chosen);
        setSome(button, { ariaPressed, title: row.title ?? "" });
        setText(name, row.name);
        setText(where, row.where);
        setSome(more, { hidden: !row.more });
        setText(more, row.more ?? "");
    }
}
