// The numbers and attributes of the selected box, to read and to change.
import { type Box, degreesOf, turned, withAt } from "./box";
import type { Fields } from "./change";
import { byId, dropOnEscape, el, NumberRow } from "./dom";
import type { Edits } from "./edits";
import { parse, stringify } from "./json";
import { setText } from "./keyed";
import type { Store } from "./store";

export class Inspector {
    private readonly root = byId("box-form");
    private shape: { dimensions: number; center: NumberRow; half: NumberRow; angles: NumberRow } | null = null;
    private readonly bits: NumberRow[] = [];
    private readonly entity = el("input", { type: "text", autocomplete: "off", "aria-label": "Entity" });
    private readonly data = el("textarea", { rows: "2", spellcheck: "false", "aria-label": "Data, as JSON" });
    private readonly title = el("h2", {});
    private readonly refusal = el("p", { class: "bad", role: "alert" });
    private readonly refusals = new Map<string, string>(); // by field, of the box that is shown
    private shown = ""; // its name
    private base: Box | null = null; // the box as the field that has the focus shows it

    constructor(
        private readonly store: Store,
        private readonly edits: Edits,
    ) {
        for (const label of ["Category", "Mask", "Group"]) this.bits.push(new NumberRow(label, [""], () => void this.commit(label)));
        this.entity.addEventListener("change", () => void this.commit("Entity"));
        this.data.addEventListener("change", () => void this.commit("Data"));
        this.root.addEventListener("focusin", () => (this.base = store.selected));
        this.root.addEventListener("focusout", () => {
            this.base = null;
            this.update();
        });
        this.root.addEventListener("submit", (event) => event.preventDefault());
        dropOnEscape(this.root);
        store.on(["selection", "boxes", "status", "scene"], () => this.update());
        this.update();
    }

    private build(dimensions: number): void {
        const axes = ["x", "y", "z"].slice(0, dimensions);
        const center = new NumberRow("Center", axes, (place) => void this.commit("Center", place));
        const half = new NumberRow("Half size", axes, (place) => void this.commit("Half size", place));
        const angles = new NumberRow(dimensions === 2 ? "Angle °" : "Turn °", dimensions === 2 ? [""] : axes, (place) => void this.commit("Turn", place));
        this.shape = { dimensions, center, half, angles };
        const field = (label: string, input: HTMLElement) => el("div", { class: "row" }, el("span", { class: "label" }, label), input);
        this.root.replaceChildren(
            this.title,
            center.root,
            half.root,
            angles.root,
            ...this.bits.map((row) => row.root),
            field("Entity", this.entity),
            field("Data", this.data),
            this.refusal,
        );
    }

    /** Says why what was written into a field is not taken; "": it is taken. */
    private refuse(field: string, why: string): void {
        if (why) this.refusals.set(field, why);
        else this.refusals.delete(field);
        setText(this.refusal, [...this.refusals.values()].join(" "));
    }

    private update(): void {
        const { store } = this;
        const box = store.selected;
        this.root.hidden = box === null;
        if (this.shown !== (box?.name ?? "")) {
            this.shown = box?.name ?? "";
            for (const field of this.refusals.keys()) this.refuse(field, "");
            this.data.removeAttribute("aria-invalid");
        }
        if (!box) return;
        if (this.shape?.dimensions !== store.dimensions) this.build(store.dimensions);
        if (!this.shape) return;
        setText(this.title, box.name);
        this.shape.center.write(box.center);
        this.shape.half.write(box.half_extents);
        this.shape.angles.write(degreesOf(box));
        [box.category, box.mask, box.group].forEach((value, i) => this.bits[i].write([value]));
        if (document.activeElement !== this.entity) this.entity.value = box.entity ?? "";
        if (document.activeElement !== this.data && this.data.ariaInvalid !== "true")
            this.data.value = box.data === undefined ? "" : stringify(box.data);
        for (const input of this.root.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea"))
            input.readOnly = !store.editable;
    }

    /** Only what was changed is taken from the fields: the others may have been rounded for reading, or changed by others. */
    private async commit(field: string, place = 0): Promise<void> {
        const { store } = this;
        if (!store.selected || !this.shape || !store.editable) return;
        const box = this.base?.name === store.selected.name ? this.base : store.selected;
        const changed = this.read(field, place, box);
        if (!changed) return;
        await this.edits.alter(`${field.toLowerCase()} of ${box.name}`, box, changed);
        if (this.base?.name === box.name) this.base = store.selected;
    }

    private read(field: string, place: number, box: Box): Fields | null {
        const shape = this.shape;
        if (!shape) return null;
        const row = (numbers: NumberRow, make: (value: number) => Fields) => {
            const values = numbers.read();
            this.refuse(field, values ? "" : `${field}: “${numbers.refused}” is not a number.`);
            return values && make(values[place]);
        };
        switch (field) {
            case "Center":
                return row(shape.center, (value) => ({ center: withAt(box.center, place, value) }));
            case "Half size":
                return row(shape.half, (value) => ({ half_extents: withAt(box.half_extents, place, value) }));
            case "Turn":
                return row(shape.angles, (value) => turned(withAt(degreesOf(box), place, value)));
            case "Category":
                return row(this.bits[0], (category) => ({ category }));
            case "Mask":
                return row(this.bits[1], (mask) => ({ mask }));
            case "Group":
                return row(this.bits[2], (group) => ({ group }));
            case "Entity":
                return { entity: this.entity.value || undefined };
            default:
                return this.readData(box);
        }
    }

    private readData(box: Box): Fields | null {
        const text = this.data.value.trim();
        try {
            const data = text === "" ? undefined : parse(text);
            this.data.removeAttribute("aria-invalid");
            this.refuse("Data", "");
            return stringify(data) === stringify(box.data) ? null : { data };
        } catch (error) {
            this.data.setAttribute("aria-invalid", "true");
            this.refuse("Data", `Data: this is not JSON. ${(error as Error).message}.`);
            return null;
        }
    }
}
