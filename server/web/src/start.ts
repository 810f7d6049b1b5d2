// What is said while nothing is selected: what there is, and what to do first.
import type { Client } from "./client";
import { grouped } from "./counts";
import { byId } from "./dom";
import { setText } from "./keyed";
import { scenePath } from "./paths";
import { counted } from "./snapshot";
import type { Store } from "./store";

export class Start {
    /** The box worth a look has been selected. */
    onSelect: () => void = () => {};
    private readonly root = byId("start");
    private readonly select = byId<HTMLButtonElement>("start-select");
    private example = ""; // a box worth a look
    private most = 0; // boxes that reach into it, when it was chosen
    private open = true; // there may be a better one, when more is known

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        this.select.addEventListener("click", () => {
            store.select([this.example]);
            this.onSelect();
        });
        store.on(["scene", "boxes", "pairs", "selection", "status"], () => this.update());
        this.update();
    }

    private update(): void {
        const { store } = this;
        this.open ||= store.restocked;
        this.root.hidden = store.selection.length > 0;
        if (this.root.hidden) return;
        const name = store.info?.name ?? "";
        const { boxes } = store.shown;
        for (const id of ["start-shell", "start-curl"]) byId(id).hidden = store.info === null;
        setText(byId("start-title"), name || "No scene");
        const where = store.dimensions === 2 ? "in the plane" : "in space";
        let sum = `${grouped(boxes.size)} oriented ${boxes.size === 1 ? "box" : "boxes"} ${where}, ${counted(store.shown)}.`;
        if (store.info === null) sum = store.connection === "gone" ? "Choose a scene above, or make a new one there." : "";
        else if (boxes.size === 0) sum = `An empty scene ${where}. Add a box, or import a file.`;
        setText(byId("start-sum"), sum);
        setText(byId("start-curl"), this.client.curl(scenePath(name, "/query/all-pairs"), {}));
        const late = this.most === 0 && this.store.shown.deep > this.store.shown.unknown; // pairs came after the boxes
        if (this.open || late || !boxes.has(this.example)) this.choose();
        this.select.hidden = this.example === "";
        setText(this.select, `Select ${this.example}`);
    }

    /** Looks for the box that most reach into, or else one that belongs to somebody; what merely rests on much is not worth a look. */
    private choose(): void {
        const { boxes, pairs, touched, unknown } = this.store.shown;
        this.open = unknown > pairs.size / 2; // when a scene is loaded
        this.example = "";
        this.most = 0;
        for (const { name, entity } of boxes.values()) {
            let deep = 0;
            for (const { relation } of touched.get(name)?.values() ?? []) if (relation !== "touching") deep++;
            const somebody = this.most === 0 && entity !== undefined && boxes.get(this.example)?.entity === undefined;
            if (this.example === "" || deep > this.most || somebody) [this.example, this.most] = [name, deep];
        }
    }
}
