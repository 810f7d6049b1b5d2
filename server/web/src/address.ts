// The address of the page says what it shows: the scene, the boxes selected, the camera, the state of the past, the question, the colours.
// Another scene, selection, question or the way into the past and out of it is a step of the browser's history; the rest goes with the step.
import { axesOf, wordOf } from "./axes";
import type { Beside } from "./beside";
import { MODES } from "./colouring";
import type { Side } from "./eye";
import { sceneOfAddress } from "./paths";
import type { Playback } from "./playback";
import type { Probes } from "./probes";
import type { Store } from "./store";
import type { View } from "./view";

const WRITE_MS = 300; // at least between two addresses: browsers refuse more than 200 in 10 s
const MOST = 100; // boxes that are named
const STEPS = new Set(["box", "ask"]); // words of which another value is another step
const PANELS = ["shots", "events"];
const SIDES: Side[] = ["perspective", "top", "front", "side"];

const wordsOfAddress = () => new URLSearchParams(location.hash.slice(1).split("?").slice(1).join("?"));

export class Address {
    readonly particular = wordsOfAddress().size > 0; // did the first address say more than a scene?
    private scene = "";
    private step = ""; // what the newest step of the history is
    private known = ""; // the address that was read or written last; any other is to be read first
    private restoring: URLSearchParams | null = null; // until its scene is there
    private settling = false; // what is written next belongs to the step that was gone to
    private timer = 0;

    constructor(
        private readonly store: Store,
        private readonly playback: Playback,
        private readonly probes: Probes,
        private readonly view: View | null,
        private readonly beside: Beside,
        private readonly open: (scene: string) => void,
        private readonly panel: (name: string) => void,
    ) {
        store.on(["boxes", "selection", "tool", "history"], () => (this.restoring ? this.restore() : this.note()));
        probes.onAsk = () => this.note();
        beside.onChange = () => this.note();
        if (view) {
            view.colouring.onMode = () => this.note();
            view.onMove = () => {
                beside.moved();
                this.note();
            };
        }
        new MutationObserver(() => this.note()).observe(document.body, { attributeFilter: ["data-panel"] });
        addEventListener("hashchange", () => this.read());
    }

    /** Another scene is opened. */
    opened(scene: string): void {
        if (sceneOfAddress() !== scene) {
            const address = `#${encodeURIComponent(scene)}`;
            if (this.scene) history.pushState(null, "", address);
            else history.replaceState(null, "", address);
        }
        this.known = location.hash;
        this.scene = scene;
        this.restoring = wordsOfAddress();
    }

    /** The browser has gone to another address. */
    private read(): void {
        this.known = location.hash;
        const scene = sceneOfAddress();
        if (!scene) return;
        this.restoring = wordsOfAddress();
        if (scene === this.scene) this.restore();
        else this.open(scene);
    }

    /** Shows what the address says, once the scene is there. */
    private restore(): void {
        const { store, view, restoring: words } = this;
        if (!words || store.loaded !== this.scene || !store.info) return;
        this.restoring = null;
        this.settling = true;
        const side = SIDES.find((one) => one === words.get("side")) ?? "perspective";
        const axes = axesOf(words.get("axes") ?? "y");
        if (view && wordOf(view.axes) !== wordOf(axes)) view.setAxes(axes);
        if (view && view.side !== side && store.dimensions === 3) view.look(side);
        view?.goTo((words.get("eye") ?? "").split(",").map(Number));
        const only = Number(words.get("only") ?? 0);
        if (view && (only === 0 || only === 1 || only === 2)) view.setOnly(only);
        const mode = words.get("colours");
        if (view && mode !== null && mode in MODES) view.colouring.set(mode as keyof typeof MODES);
        this.beside.show(words.get("beside") ?? "");
        const panel = PANELS.find((one) => one === words.get("panel"));
        if (panel) this.panel(panel);
        else if (!words.has("ask") && document.body.dataset.panel === "ask") this.panel("box");
        store.select(words.getAll("box").filter((name) => store.live.boxes.has(name)));
        this.probes.restore(words);
        const revision = Number(words.get("revision") ?? Number.NaN);
        if (revision < store.revision) this.playback.go({ revision });
        else if (store.past) this.playback.go(null);
        this.write(); // at once, or whatever comes within WRITE_MS would belong to this step; while it travels, on arrival
    }

    private note(): void {
        this.timer ||= setTimeout(() => {
            this.timer = 0;
            this.write();
        }, WRITE_MS);
    }

    private write(): void {
        const { store, view, playback, scene } = this;
        if (this.restoring || playback.travelling || !scene || store.loaded !== scene || location.hash !== this.known) return; // comes again
        const words = new URLSearchParams();
        for (const name of store.selection.slice(0, MOST)) words.append("box", name);
        for (const [name, value] of Object.entries(this.probes.words)) words.set(name, value);
        if (store.past) words.set("revision", String(store.past.revision));
        if (view && view.side !== "perspective" && store.dimensions === 3) words.set("side", view.side);
        if (view && wordOf(view.axes) !== "y") words.set("axes", wordOf(view.axes));
        if (view?.movedTo) words.set("eye", view.movedTo.join(","));
        if (view && view.colouring.mode !== "contact") words.set("colours", view.colouring.mode);
        if (view && view.only > 0) words.set("only", String(view.only));
        const panel = PANELS.find((one) => one === document.body.dataset.panel);
        if (panel) words.set("panel", panel);
        if (this.beside.words) words.set("beside", this.beside.words);
        const said = words.toString().replaceAll("%2C", ",").replaceAll("%3B", ";");
        const address = `#${encodeURIComponent(scene)}${said && "?"}${said}`;
        const step = JSON.stringify([scene, store.past !== null, [...words].filter(([name]) => STEPS.has(name))]);
        if (step !== this.step && !this.settling) history.pushState(null, "", address);
        else if (address !== location.hash) history.replaceState(null, "", address);
        this.known = location.hash;
        this.step = step;
        this.settling = false;
        this.beside.tell(location.hash.slice(1));
    }
}
