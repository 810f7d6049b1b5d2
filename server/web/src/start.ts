// What is said while nothing is selected: what there is, and what to do first.
import { type Client, scenePath } from "./client";
import { byId } from "./dom";
import { counted, type Store } from "./store";

export class Start {
    private readonly root = byId("start");
    private readonly select = byId<HTMLButtonElement>("start-select");
    private example = ""; // a box worth a look

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        this.select.addEventListener("click", () => store.select([this.example]));
        store.on(["scene", "boxes", "pairs", "selection", "status"], () => this.update());
        this.update();
    }

    private update(): void {
        const { store } = this;
        this.root.hidden = store.selection.length > 0;
        if (this.root.hidden) return;
        const name = store.info?.name ?? "";
        const { boxes, pairs, touched } = store.shown;
        for (const id of ["start-shell", "start-curl"]) byId(id).hidden = store.info === null;
        byId("start-title").textContent = name || "No scene";
        const where = store.dimensions === 2 ? "in the plane" : "in space";
        if (store.info === null) byId("start-sum").textContent = store.connection === "gone" ? "Choose a scene above, or make a new one there." : "";
        else if (boxes.size === 0) byId("start-sum").textContent = `An empty scene ${where}. Add a box, or import a file.`;
        else byId("start-sum").textContent = `${boxes.size} oriented ${boxes.size === 1 ? "box" : "boxes"} ${where}, ${counted(pairs)}.`;
        byId("start-curl").textContent = this.client.curl(scenePath(name, "/query/all-pairs"), {});
        this.example = "";
        let most = 0;
        for (const box of boxes.values()) {
            let deep = 0; // what merely rests on much is not worth a look
            for (const { relation } of touched.get(box.name)?.values() ?? []) if (relation !== "touching") deep++;
            if (this.example === "" || deep > most) [this.example, most] = [box.name, deep];
        }
        this.select.hidden = this.example === "";
        this.select.textContent = `Select ${this.example}`;
    }
}
