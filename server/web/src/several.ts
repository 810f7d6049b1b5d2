// Several selected boxes: moved, turned and scaled together by numbers.
import { Vector3 } from "three";
import { turn, turned } from "./box";
import { boxCount } from "./counts";
import { byId, dropOnEscape, el, NumberRow } from "./dom";
import type { Edits } from "./edits";
import { setText } from "./keyed";
import type { Store } from "./store";
import { type Change, middleOf, transformed } from "./transform";

export class Several {
    private readonly root = byId("several-form");
    private readonly title = el("h2", {});
    private built = 0; // dimensions

    constructor(
        private readonly store: Store,
        private readonly edits: Edits,
    ) {
        this.root.addEventListener("submit", (event) => event.preventDefault());
        dropOnEscape(this.root);
        store.on(["selection", "boxes", "status", "scene"], () => this.update());
        this.update();
    }

    private build(dimensions: number): void {
        const axes = ["x", "y", "z"].slice(0, dimensions);
        const row = (label: string, parts: string[], rest: number, change: (values: number[]) => Change) => {
            const made: NumberRow = new NumberRow(label, parts, () => {
                const values = made.read();
                if (!values || values.every((value) => value === rest)) return;
                this.edits.whenSettled(() => this.apply(label.toLowerCase(), change(values))); // from where the last one leaves them
                made.inputs.forEach((input) => (input.value = String(rest)));
            });
            made.write(parts.map(() => rest));
            return made.root;
        };
        this.built = dimensions;
        this.root.replaceChildren(
            this.title,
            row("Move by", axes, 0, ([x, y, z]) => ({ move: new Vector3(x, y, z ?? 0) })),
            row("Turn by °", dimensions === 2 ? [""] : axes, 0, (degrees) => ({ turn: turn(turned(degrees)) })),
            row("Scale by", [""], 1, ([factor]) => ({ scale: new Vector3(factor, factor, factor) })),
            el("p", { class: "hint" }, "About the middle of them all, as one change. So do the handles."),
        );
    }

    private update(): void {
        const { store } = this;
        const count = store.selection.length;
        this.root.hidden = count < 2;
        if (count < 2) return;
        if (this.built !== store.dimensions) this.build(store.dimensions);
        setText(this.title, boxCount(count));
        for (const input of this.root.querySelectorAll("input")) input.readOnly = !store.editable;
    }

    private apply(label: string, change: Change): void {
        const { store } = this;
        if (!store.editable) return;
        const boxes = store.chosen;
        void this.edits.pose(`${label}, ${boxes.length} boxes`, boxes, transformed(boxes, middleOf(boxes), change));
    }
}
