// Puts the parts together: what the buttons and keys do.
import { Address } from "./address";
import { ahead, dropAhead } from "./ahead";
import { axesOf, wordOf } from "./axes";
import { Beside, inner } from "./beside";
import { ALL_BITS, numbers, point, type PutBox } from "./box";
import { inFrame, kept } from "./change";
import { Client, sentence } from "./client";
import { MODES } from "./colouring";
import { boxCount } from "./counts";
import { byId, el, typing } from "./dom";
import { Drag } from "./drag";
import { Edits, type Puts } from "./edits";
import { Events } from "./events";
import type { Side } from "./eye";
import { Feed } from "./feed";
import { download, formatBoxes, parseBoxes } from "./files";
import type { Handle } from "./handles";
import { Inspector } from "./inspector";
import { setSome, setText } from "./keyed";
import { Lag } from "./lag";
import { List } from "./list";
import type { Mark } from "./marks";
import { Pace } from "./pace";
import { scenePath, sceneOfAddress } from "./paths";
import { Playback } from "./playback";
import { PROBE_KINDS, Probes } from "./probes";
import { Relations } from "./relations";
import { Settings } from "./settings";
import { Several } from "./several";
import { Shots } from "./shots";
import { Start } from "./start";
import { Store } from "./store";
import { tellStory } from "./story";
import { Timeline } from "./timeline";
import { type Least, View } from "./view";

const store = new Store();
const client = new Client(askToken);
const feed = new Feed(store, client);
const edits = new Edits(store, client, feed);
const list = new List(store);
const relations = new Relations(store, client);
const probes = new Probes(store, client);
const playback = new Playback(store, feed);
const lag = new Lag(store, client);
const shots = new Shots(store, client, playback);
const settings = new Settings(store, client);
const events = new Events(store, client, playback);
feed.onQuery = (query) => shots.hear(query);
new Timeline(store, playback);
new Inspector(store, edits);
new Several(store, edits);
const startPanel = new Start(store, client);

// ---- The view, or why there is none ----------------------------------------------------------------

document.body.classList.toggle("inner", inner); // before the view has a size
let view: View | null = null;
try {
    view = new View(byId("view"), byId("tip"), byId("compass"), store, client);
} catch {
    byId("no-webgl").hidden = false;
    document.body.classList.add("no-view");
}

const ROOM = 3; // around the box that the start offers: with a part of a body all of it is seen
const HANDLE_WORDS: Record<Handle, string> = { translate: "move", rotate: "turn", scale: "scale" };
const shownBy = new Map<string, { marks: Mark[]; hits: Set<string> }>();
function show(by: string, marks: Mark[], hits = new Set<string>()): void {
    const before = shownBy.get(by);
    if (before && before.marks.length + before.hits.size + marks.length + hits.size === 0) return; // as with most events
    shownBy.set(by, { marks, hits });
    const all = [...shownBy.values()];
    view?.show(all.flatMap((one) => one.marks), new Set(all.flatMap((one) => [...one.hits])));
}
relations.onMarks = (marks) => show("relations", marks);
probes.onShow = (marks, hits) => show("probes", marks, hits);
shots.onShow = (marks, hits) => show("shots", marks, hits);
lag.onShow = (marks, hits) => show("lag", marks, hits);
lag.up = () => view?.axes.up ?? "y";
lag.onThen = (poses) => view?.showElsewhere(poses);
lag.onAim = (target, from) => view?.reveal([target], [from]);
shots.onChoose = (points) => view?.reveal(points);
events.onChoose = (boxes) => view?.reveal(boxes.map(({ center }) => point(center)));

if (view) {
    const shown = view;
    shown.onClick = (name, at, pixel, more) => {
        if (store.tool === "select") store.pick(name, more);
        else if (store.tool === "area") store.pick(name, true);
        else if (store.tool === "sweep") name !== null && store.select([name]);
        else if (at && store.tool === "lag") lag.click(name, numbers(at, store.dimensions));
        else if (at) probes.click(name, at, pixel);
    };
    shown.onAim = (at) => probes.aim(at);
    shown.dragFrom = () => probes.dragFrom();
    shown.onDrag = (at) => probes.drag(at);
    shown.grips = () => probes.grips();
    shown.onGrip = (grip, at, pixel) => probes.pull(grip, at, pixel);
    shown.onArea = (names, more) => {
        store.select(more ? [...new Set([...store.selection, ...names])] : names);
        store.setTool("select");
    };
    let drag: Drag | null = null;
    shown.onPass = (boxes, poses) => {
        drag ??= new Drag(edits, boxes);
        drag.move(poses);
    };
    shown.onPoses = (boxes, poses) => {
        const what = poses.size === 1 ? [...poses.keys()][0] : boxCount(poses.size);
        const ended = drag ?? new Drag(edits, boxes);
        drag = null;
        void ended.end(`${HANDLE_WORDS[shown.handle]} ${what}`, poses).then(() => drag ?? shown.settle());
    };
    shown.onLook = markButtons;
}

const axesSelect = byId<HTMLSelectElement>("axes");
axesSelect.addEventListener("change", () => view?.setAxes(axesOf(axesSelect.value)));

// ---- Token -----------------------------------------------------------------------------------------

const tokenDialog = byId<HTMLDialogElement>("token-dialog");
const tokenMissing = byId<HTMLButtonElement>("token-missing");
let giveToken: ((token: string) => void) | null = null; // whoever waits for one

/** Whoever closes the dialog can look at the page and open it again: what asks for a token waits until there is one. */
function askToken(refused: boolean): Promise<string> {
    byId("token-refused").hidden = !refused;
    openTokens();
    return new Promise((resolve) => (giveToken = resolve));
}

function openTokens(): void {
    byId<HTMLInputElement>("token").value = "";
    tokenDialog.showModal();
    byId("token").focus();
    showTokenButton();
}

/** The button is there while a token is waited for, and while there is one that does not do. */
function showTokenButton(): void {
    const lacking = client.hasToken && !(store.connection === "live" && store.writable);
    tokenMissing.hidden = tokenDialog.open || !(giveToken || lacking);
    setText(tokenMissing, giveToken ? "Give a token" : "Another token");
}

/** In place of the token that there is. */
function changeToken(token: string): void {
    client.setToken(token);
    if (sceneOfAddress()) void feed.open(sceneOfAddress()); // else the page tries again by itself
}

byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    (giveToken ?? changeToken)(byId<HTMLInputElement>("token").value.trim());
    giveToken = null;
    tokenDialog.close();
});
tokenDialog.addEventListener("close", () => {
    byId<HTMLInputElement>("token").value = "";
    showTokenButton();
});
byId("token-later").addEventListener("click", () => tokenDialog.close());
tokenMissing.addEventListener("click", () => {
    if (!giveToken) byId("token-refused").hidden = true;
    openTokens();
});

// ---- Scenes ----------------------------------------------------------------------------------------

const sceneSelect = byId<HTMLSelectElement>("scene");
const NEW_SCENE = ""; // no scene has an empty name

function open(name: string): void {
    edits.enter(name);
    playback.go(null);
    store.setTool("select");
    address.opened(name);
    document.title = `${name} - obbd`;
    void feed.open(name);
    showScenes();
}

function showScenes(): void {
    const name = sceneOfAddress();
    const names = store.scenes.includes(name) || name === "" ? store.scenes : [name, ...store.scenes];
    sceneSelect.replaceChildren(
        ...names.map((scene) => el("option", { value: scene }, scene)),
        el("option", { value: NEW_SCENE }, names.length ? "New scene…" : "No scene yet"),
    );
    sceneSelect.value = name;
}

async function start(): Promise<void> {
    const named = sceneOfAddress();
    if (named !== ahead.scene) dropAhead();
    if (named) open(named); // whichever others there are
    for (let wait = 250; ; wait = Math.min(2 * wait, 5000)) {
        try {
            await feed.listScenes();
            break;
        } catch (error) {
            if (!named) store.setConnection("lost", `${sentence(error)} Trying again.`);
            await new Promise((resolve) => setTimeout(resolve, wait));
        }
    }
    if (named) return;
    const [first] = store.scenes;
    if (first) open(first);
    else {
        store.setConnection("gone", "The daemon has no scene yet.");
        showScenes();
        newScene();
    }
}

function newScene(): void {
    byId("scene-failure").textContent = "";
    byId<HTMLDialogElement>("scene-dialog").showModal();
}

byId("scene-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const name = byId<HTMLInputElement>("scene-name").value;
    const dimensions = Number(byId<HTMLSelectElement>("scene-dimensions").value);
    client.call("PUT", scenePath(name), { dimensions }).then(
        async () => {
            byId<HTMLDialogElement>("scene-dialog").close();
            await feed.listScenes();
            open(name);
        },
        (error: Error) => (byId("scene-failure").textContent = error.message),
    );
});
byId("scene-cancel").addEventListener("click", () => byId<HTMLDialogElement>("scene-dialog").close());
byId("scene-dialog").addEventListener("close", showScenes);
sceneSelect.addEventListener("focus", () => void feed.listScenes().catch(() => {}));
sceneSelect.addEventListener("change", () => (sceneSelect.value === NEW_SCENE ? newScene() : open(sceneSelect.value)));
store.on(["scene"], showScenes);

// ---- Commands --------------------------------------------------------------------------------------

function few(names: string[]): string {
    return names.length > 3 ? boxCount(names.length) : names.join(", ");
}

function add(): void {
    if (!store.editable) return;
    const flat = store.dimensions === 2;
    const size = 0.5;
    const at = view?.axes.up === "z" ? [0, 0, size] : [0, size, 0];
    const name = store.freeName("box");
    const box: PutBox = {
        center: flat ? [0, 0] : at,
        half_extents: flat ? [size, size] : [size, size, size],
        category: 1,
        mask: ALL_BITS,
        group: 0,
    };
    void edits.put(`add ${name}`, new Map([[name, box]])).then((done) => done && store.select([name]));
}

function duplicate(): void {
    if (!store.editable || store.selection.length === 0) return;
    const copies: Puts = new Map();
    const taken = new Set<string>();
    for (const name of store.selection) {
        const box = store.live.boxes.get(name);
        if (!box) continue;
        const copy = store.freeName(name, taken);
        taken.add(copy);
        const center = box.center.map((value, i) => (i === 0 ? value + 2 * box.half_extents[0] : value));
        copies.set(copy, { ...kept(box), ...inFrame(box, { center }) });
    }
    void edits.put(`duplicate ${few(store.selection)}`, copies).then((done) => done && store.select([...taken]));
}

function remove(): void {
    if (!store.editable || store.selection.length === 0) return;
    const names = [...store.selection];
    void edits.put(`delete ${few(names)}`, new Map(names.map((name) => [name, null])));
}

function exportBoxes(): void {
    download(`${store.info?.name ?? "scene"}.json`, formatBoxes(store.shown.boxes.values()));
}

const file = byId<HTMLInputElement>("file");
file.addEventListener("change", async () => {
    const chosen = file.files?.[0];
    file.value = "";
    if (!chosen || !store.editable) return;
    const visit = edits.open;
    try {
        const boxes = parseBoxes(await chosen.arrayBuffer());
        if (visit === edits.open) await edits.put(`import ${chosen.name}`, boxes);
    } catch (error) {
        edits.failure = (error as Error).message;
        showMessages();
    }
});

function setHandle(handle: Handle): void {
    store.setTool("select");
    view?.setHandle(handle);
    markButtons();
}

function look(side: Side): void {
    view?.look(side);
}

function panel(name: string): void {
    document.body.dataset.panel = name;
    for (const tab of document.querySelectorAll<HTMLElement>("[role=tab]")) {
        const chosen = tab.dataset.panel === name;
        tab.setAttribute("aria-selected", String(chosen));
        tab.tabIndex = chosen ? 0 : -1;
    }
}

function ask(kind: string): void {
    panel("ask");
    store.setTool(kind);
}

let snapping = false;
const snapStep = byId<HTMLInputElement>("snap-step");
function setSnap(on: boolean): void {
    snapping = on;
    const step = Number(snapStep.value);
    const good = Number.isFinite(step) && step > 0;
    if (good) snapStep.removeAttribute("aria-invalid");
    else snapStep.setAttribute("aria-invalid", "true");
    view?.setSnap(on && good ? step : null);
    markButtons();
}
snapStep.addEventListener("change", () => setSnap(true));

const commands: Record<string, () => void> = {
    add: () => edits.whenSettled(add),
    duplicate: () => edits.whenSettled(duplicate),
    delete: () => edits.whenSettled(remove),
    undo: () => void edits.undo(),
    redo: () => void edits.redo(),
    move: () => setHandle("translate"),
    rotate: () => setHandle("rotate"),
    scale: () => setHandle("scale"),
    area: () => store.setTool(store.tool === "area" ? "select" : "area"),
    all: () => store.select(list.all()),
    snap: () => setSnap(!snapping),
    frame: () => view?.frame(),
    perspective: () => look("perspective"),
    top: () => look("top"),
    front: () => look("front"),
    side: () => look("side"),
    import: () => file.click(),
    export: exportBoxes,
    back: () => playback.step(-1),
    on: () => playback.step(1),
    play: () => playback.toggle(),
    loop: () => {
        playback.looping = !playback.looping;
        markButtons();
    },
    colours: () => {
        const modes = Object.keys(MODES) as (keyof typeof MODES)[];
        if (view) view.colouring.set(modes[(modes.indexOf(view.colouring.mode) + 1) % modes.length]);
    },
    only: () => {
        view?.setOnly(((view.only + 1) % 3) as Least);
        markButtons();
    },
    trail: () => {
        view?.setTrail(!view.trail);
        markButtons();
    },
    beside: () => (beside.words ? beside.show("") : beside.open(sceneOfAddress())),
    settings: () => void settings.open(),
    help: () => byId<HTMLDialogElement>("help").showModal(),
};
for (const element of document.querySelectorAll<HTMLElement>("[data-command]"))
    element.addEventListener("click", () => commands[element.dataset.command ?? ""]?.());

for (const element of document.querySelectorAll<HTMLElement>("[data-ask]"))
    element.addEventListener("click", () => ask(element.dataset.ask ?? ""));

for (const tab of document.querySelectorAll<HTMLElement>("[role=tab]")) {
    tab.addEventListener("click", () => {
        panel(tab.dataset.panel ?? "box");
        store.setTool(tab.dataset.panel === "ask" ? byId<HTMLSelectElement>("probe-kind").value : tab.dataset.panel === "lag" ? "lag" : "select");
    });
    tab.addEventListener("keydown", (event) => {
        if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
        const tabs = [...document.querySelectorAll<HTMLElement>("[role=tab]")].filter((other) => other.offsetParent !== null);
        const next = tabs[(tabs.indexOf(tab) + (event.key === "ArrowRight" ? 1 : tabs.length - 1)) % tabs.length];
        next.focus();
        next.click();
    });
}
list.onActivate = () => view?.frame();
startPanel.onSelect = () => view?.frame(ROOM);

// ---- Keys ------------------------------------------------------------------------------------------

const keys: Record<string, () => void> = {
    a: commands.add,
    d: commands.duplicate,
    Delete: commands.delete,
    Backspace: commands.delete,
    w: commands.move,
    e: commands.rotate,
    r: commands.scale,
    f: commands.frame,
    "1": commands.perspective,
    "2": commands.top,
    "3": commands.front,
    "4": commands.side,
    "/": () => byId("search").focus(),
    "?": commands.help,
    "[": commands.back,
    "]": commands.on,
    "{": () => playback.stepToTurn(-1),
    "}": () => playback.stepToTurn(1),
    p: commands.play,
    t: commands.trail,
    o: commands.only,
    c: commands.colours,
    s: commands.snap,
    b: commands.area,
    Escape: () => {
        if (store.tool !== "select") store.setTool("select");
        else store.select([]);
    },
};
PROBE_KINDS.forEach(({ id }, i) => (keys[`alt ${i + 1}`] = () => ask(id)));

addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    const { key } = event;
    if (typing(event.target)) {
        if (key === "Escape") (event.target as HTMLElement).blur();
        return;
    }
    const command = event.ctrlKey || event.metaKey;
    let act: (() => void) | undefined;
    if (command && key.toLowerCase() === "z") act = event.shiftKey ? commands.redo : commands.undo;
    else if (command && key.toLowerCase() === "y") act = commands.redo;
    else if (command && key.toLowerCase() === "d") act = commands.duplicate;
    else if (command && key.toLowerCase() === "a") act = commands.all;
    else if (command) return;
    else if (event.altKey) act = keys[`alt ${event.code.replace("Digit", "")}`];
    else act = keys[key.length === 1 ? key.toLowerCase() : key];
    if (!act) return;
    event.preventDefault();
    act();
});

// ---- What is always visible ------------------------------------------------------------------------

function markButtons(): void {
    const pressed = new Map<string, boolean>([
        ["move", store.tool === "select" && view?.handle === "translate"],
        ["rotate", store.tool === "select" && view?.handle === "rotate"],
        ["scale", store.tool === "select" && view?.handle === "scale"],
        ["area", store.tool === "area"],
        ["snap", snapping],
        ["loop", playback.looping],
        ["trail", view?.trail === true],
        ["only", (view?.only ?? 0) > 0],
        ["perspective", view?.side === "perspective"],
        ["top", view?.side === "top"],
        ["front", view?.side === "front"],
        ["side", view?.side === "side"],
    ]);
    const flat = store.dimensions === 2;
    const off = new Map<string, boolean>([
        ["add", !store.editable],
        ["import", !store.editable],
        ["duplicate", !store.editable || store.selection.length === 0],
        ["delete", !store.editable || store.selection.length === 0],
        ["undo", !store.editable || edits.undoLabel === null],
        ["redo", !store.editable || edits.redoLabel === null],
        ["perspective", flat],
        ["top", flat],
        ["side", flat],
        ["play", store.info === null],
        ["settings", store.info === null],
        ["trail", view === null],
    ]);
    for (const element of document.querySelectorAll<HTMLButtonElement>("button[data-command]")) {
        const command = element.dataset.command ?? "";
        const state = pressed.get(command);
        if (pressed.has(command)) setSome(element, { ariaPressed: String(state === true) });
        setSome(element, { disabled: off.get(command) ?? false });
    }
    const only = view?.only ?? 0;
    setText(byId("only"), only === 2 ? "Overlaps" : "Contacts");
    const next = ["Only what touches or overlaps something", "Only what overlaps something"][only];
    setSome(byId("only"), { title: `${next ?? "All boxes"} (O)` });
    axesSelect.disabled = flat;
    axesSelect.value = view ? wordOf(view.axes) : "y";
    const after = (label: string | null) => (label ? `: ${label}` : "");
    setSome(byId("undo"), { title: `Undo${after(edits.undoLabel)} (Ctrl+Z)` });
    setSome(byId("redo"), { title: `Redo${after(edits.redoLabel)} (Ctrl+Y)` });
}

/** Is a change not answered, or a box not shown, of which the revision on the page already tells? */
function showBusy(): void {
    setSome(document.body, { ariaBusy: String(edits.busy || feed.busy || store.behind) });
}

function showMessages(): void {
    const { conflict } = edits;
    const box = byId("message");
    box.hidden = !conflict && !edits.failure;
    const undone = conflict && `Not done: ${conflict.label}. ${conflict.message}`;
    setText(byId("message-text"), undone ?? edits.failure);
    byId("message-again").hidden = !conflict;
    setText(byId("message-close"), conflict ? "Leave it" : "Close");
    showBusy();
    markButtons();
}
edits.onChange = showMessages;
byId("message-again").addEventListener("click", () => void edits.conflict?.again());
byId("message-close").addEventListener("click", () => edits.dismiss());

const pace = new Pace(byId("pace"));
const WORDS = { connecting: "connecting", live: "live", lost: "no connection", gone: "no scene" };
const UNANSWERED =
    "The daemon has not answered for some seconds. A browser opens six connections to it at most, and each page of it keeps one: if many are open, close some of them.";
function showStatus(): void {
    const status = byId("status");
    status.dataset.state = store.connection;
    setText(byId("status-text"), store.past ? "past" : WORDS[store.connection] + (store.connection === "live" && !store.writable ? ", read only" : ""));
    setText(byId("revision-number"), String(store.past?.revision ?? store.revision));
    pace.take(store.connection === "live" && !store.past ? store.revision : null);
    const notice = byId("notice");
    const detail = store.detail || (client.waiting ? UNANSWERED : "");
    notice.hidden = detail === "";
    setText(notice, detail);
    showTokenButton();
    showBusy();
    markButtons();
}
store.on(["status", "history"], showStatus);
client.onWait = showStatus;
store.on(["boxes", "pairs"], showBusy);
store.on(["selection", "tool", "scene"], markButtons);
store.on(["tool"], () => {
    document.body.dataset.tool = store.tool;
    if (store.tool === "lag" && store.past) playback.go(null);
    if (store.tool !== "lag" && document.body.dataset.panel === "lag") panel("box");
    if (PROBE_KINDS.some(({ id }) => id === store.tool) && document.body.dataset.panel !== "ask") panel("ask");
});
store.on(["selection"], () => {
    setText(byId("tab-box"), store.selection.length > 0 ? "Selected" : "Start");
    if (store.selection.length > 0 && store.tool === "select" && !["list", "shots", "events"].includes(document.body.dataset.panel ?? "")) panel("box");
});

const beside = new Beside(store, view);
const address = new Address(store, playback, probes, view, beside, open, panel);
panel("box");
tellStory(store, () => {
    if (address.particular) return;
    panel("shots");
    view?.colouring.set("entity");
    view?.lookAmong([...store.live.boxes.values()].filter(({ entity }) => entity !== undefined));
});
showStatus();
void start();
