// The numbers and attributes of the selected box, to read and to change.
import { type Box, degreesOf, type PutBox, putOf, turned } from "./box";
import { byId, el, NumberRow } from "./dom";
import type { Edits } from "./edits";
import type { Store } from "./store";

export class Inspector {
    private readonly root = byId("box-form");
    private shape: { dimensions: number; center: NumberRow; half: NumberRow; angles: NumberRow } | null = null;
    private readonly bits: NumberRow[] = [];
    private readonly entity = el("input", { type: "text", autocomplete: "off", "aria-label": "Entity" });
    private readonly data = el("textarea", { rows: "2", spellcheck: "false", "aria-label": "Data, as JSON" });
    private readonly title = el("h2", {});

    constructor(
        private readonly store: Store,
        private readonly edits: Edits,
    ) {
        for (const label of ["Category", "Mask", "Group"]) this.bits.push(new NumberRow(label, [""], () => this.commit(label)));
        this.entity.addEventListener("change", () => this.commit("Entity"));
        this.data.addEventListener("change", () => this.commit("Data"));
        this.root.addEventListener("submit", (event) => event.preventDefault());
        store.on(["selection", "boxes", "status", "scene"], () => this.update());
        this.update();
    }

    private build(dimensions: number): void {
        const axes = ["x", "y", "z"].slice(0, dimensions);
        const center = new NumberRow("Center", axes, () => this.commit("Center"));
        const half = new NumberRow("Half size", axes, () => this.commit("Half size"));
        const angles = new NumberRow(dimensions === 2 ? "Angle °" : "Turn °", dimensions === 2 ? [""] : axes, () => this.commit("Turn"));
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
        );
    }

    private update(): void {
        const { store } = this;
        const box = store.selected;
        this.root.hidden = box === null;
        if (!box) return;
        if (this.shape?.dimensions !== store.dimensions) this.build(store.dimensions);
        if (!this.shape) return;
        this.title.textContent = box.name;
        this.shape.center.write(box.center);
        this.shape.half.write(box.half_extents);
        this.shape.angles.write(degreesOf(box));
        [box.category, box.mask, box.group].forEach((value, i) => this.bits[i].write([value]));
        if (document.activeElement !== this.entity) this.entity.value = box.entity ?? "";
        if (document.activeElement !== this.data) this.data.value = box.data === undefined ? "" : JSON.stringify(box.data);
        for (const input of this.root.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>("input, textarea"))
            input.readOnly = !store.editable;
    }

    /** Only what was changed is taken from the fields: the others may have been rounded for reading. */
    private commit(field: string): void {
        const box = this.store.selected;
        if (!box || !this.shape || !this.store.editable) return;
        const changed = this.read(field, box);
        if (changed) void this.edits.apply(`${field.toLowerCase()} of ${box.name}`, new Map([[box.name, { ...putOf(box), ...changed }]]));
    }

    private read(field: string, box: Box): Partial<PutBox> | null {
        const shape = this.shape;
        if (!shape) return null;
        const row = (numbers: NumberRow, make: (values: number[]) => Partial<PutBox>) => {
            const values = numbers.read();
            return values && make(values);
        };
        switch (field) {
            case "Center":
                return row(shape.center, (center) => ({ center }));
            case "Half size":
                return row(shape.half, (half_extents) => ({ half_extents }));
            case "Turn":
                return row(shape.angles, turned);
            case "Category":
                return row(this.bits[0], ([category]) => ({ category }));
            case "Mask":
                return row(this.bits[1], ([mask]) => ({ mask }));
            case "Group":
                return row(this.bits[2], ([group]) => ({ group }));
            case "Entity":
                return { entity: this.entity.value || undefined };
            default:
                return this.readData(box);
        }
    }

    private readData(box: Box): Partial<PutBox> | null {
        const text = this.data.value.trim();
        try {
            const data = text === "" ? undefined : (JSON.parse(text) as unknown);
            this.data.removeAttribute("aria-invalid");
            return JSON.stringify(data) === JSON.stringify(box.data) ? null : { data };
        } catch {
            this.data.setAttribute("aria-invalid", "true");
            return null;
        }
    }
}
