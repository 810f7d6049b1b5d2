// Words for what a user does and sees, for tests that share a browser and a daemon.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { build } from "../../server/web/node_modules/esbuild/lib/main.js";
import { intercept, launch, openPage, run, startDaemon, until } from "./harness.mjs";

export const SHOTS = new URL("../../build/web/", import.meta.url).pathname;
mkdirSync(SHOTS, { recursive: true });

export const browser = await launch();
export const daemon = await startDaemon();
let scenes = 0;

/** Runs the tests of this process, and ends what they shared; `more` are browsers of its own. */
export async function runAll(...more) {
    let good = false;
    try {
        good = await run();
    } finally {
        for (const one of [browser, ...more]) await one.close();
        await daemon.stop();
    }
    process.exit(good ? 0 : 1); // whatever a test that failed has left open
}

/** A scene of its own with these boxes. */
export async function makeScene(put, settings = {}) {
    const name = `scene-${++scenes}`;
    const { status } = await daemon.call("PUT", `/v1/scenes/${name}`, settings);
    assert.equal(status, 201);
    if (Object.keys(put).length > 0) await daemon.commit(name, { put });
    return name;
}

export async function show(scene, options) {
    const opened = await openPage(browser, daemon.url, options);
    await opened.page.goto(`${daemon.url}/#${scene}`);
    await opened.page.waitForSelector("#status[data-state=live]");
    return opened;
}

/** Until the page is there, and no change of its own is still to be answered: the daemon tells of it first on the stream. */
export const revision = (page, number) =>
    until(`revision ${number}`, async () => (await page.textContent("#revision")) === `revision ${number}` && (await page.getAttribute("body", "aria-busy")) !== "true");

/** Until the page shows what the scene is now, after changes of which nobody knows how many they were. Gives the revision. */
export async function arrived(page, scene) {
    const now = async () => (await daemon.call("GET", `/v1/scenes/${scene}`)).body.revision;
    await until("all changes are answered", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
    return until("the revision of the scene", async () => {
        const at = await now();
        return (await page.textContent("#revision")) === `revision ${at}` && (await page.getAttribute("body", "aria-busy")) !== "true" && at === (await now()) && at;
    });
}

export const blur = (page) => page.evaluate(() => document.activeElement.blur());

/** Until what has been asked for is drawn: a frame draws, the next one shows it. */
export const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve)))));

export async function select(page, ...names) {
    await page.keyboard.press("Escape");
    for (const [i, name] of names.entries()) {
        await page.fill("#search", name);
        const row = page.locator(".item", { has: page.getByText(name, { exact: true }) }).first();
        await row.click({ modifiers: i > 0 ? ["Control"] : [] });
    }
    await page.fill("#search", "");
    await blur(page);
}

/** The names of the boxes selected, in the order of the list. */
export const selected = (page) => page.locator(".item.selected:not(.entity) .name").allTextContents();

export async function field(page, label, value, form = "#box-form") {
    await page.locator(form).getByLabel(label, { exact: true }).fill(String(value));
    await page.keyboard.press("Enter");
}

/** Pixels of the picture by colour, the names being those of the style sheet, each with `count` and the rectangle that they fill. */
export async function pixels(page, selector = "#view canvas", names = ["box", "box-touching", "box-colliding", "hit", "ask", "accent"]) {
    await page.mouse.move(2, 2);
    await drawn(page);
    const cover = (visibility) => page.evaluate((visibility) => document.querySelectorAll(".sides, .legend, #compass").forEach((one) => (one.style.visibility = visibility)), visibility);
    await cover("hidden"); // they lie on the picture
    const png = (await page.locator(selector).screenshot()).toString("base64");
    await cover("");
    const colours = await page.evaluate((names) => {
        const style = getComputedStyle(document.documentElement);
        return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    }, names);
    const context = await browser.newContext();
    const blank = await context.newPage();
    const seen = await blank.evaluate(
        async ({ png, colours }) => {
            const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const { data } = canvas.getImageData(0, 0, image.width, image.height);
            const seen = { all: data.length / 4, red: 0, width: image.width, height: image.height };
            const wanted = Object.entries(colours).map(([name, hex]) => [name, ...[1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16))]);
            for (const [name] of wanted) seen[name] = { count: 0, left: Infinity, right: -Infinity, top: Infinity, bottom: -Infinity };
            for (let i = 0; i < data.length; i += 4) {
                const [r, g, b] = data.subarray(i, i + 3);
                for (const [name, x, y, z] of wanted) {
                    if (Math.abs(r - x) + Math.abs(g - y) + Math.abs(b - z) > 3) continue;
                    const [px, py] = [(i / 4) % image.width, Math.floor(i / 4 / image.width)];
                    const one = seen[name];
                    one.count++;
                    one.left = Math.min(one.left, px);
                    one.right = Math.max(one.right, px);
                    one.top = Math.min(one.top, py);
                    one.bottom = Math.max(one.bottom, py);
                }
                if (r > 1.5 * g && r > 1.5 * b) seen.red++; // whatever the light on it
            }
            return seen;
        },
        { png, colours },
    );
    await context.close();
    return seen;
}

/** Holds the next answer to a request of that method and path: `asked` is there once the daemon has answered, `goOn` hands it to the page. */
export async function hold(page, method, path) {
    let [tell, goOn] = [null, null];
    const asked = new Promise((resolve) => (tell = resolve));
    const held = new Promise((resolve) => (goOn = resolve));
    let answers = 0;
    await intercept(page, path, async (route) => {
        if (route.request().method() !== method || answers++ > 0) return route.continue();
        const response = await route.fetch();
        tell();
        await held;
        return route.fulfill({ response });
    });
    return { asked, goOn };
}

/** Opens a request and its answer, which is written only then. */
export async function unfold(details) {
    await details.evaluate((one) => (one.open = true));
    const answer = details.getByLabel("Answer");
    await until("the answer", async () => (await answer.textContent()) !== "");
}

/** What the panel shows as curl, run by a shell, and what it shows as the answer. */
export async function exchange(page, panel) {
    const details = page.locator(`${panel} details.exchange`);
    await details.waitFor();
    await unfold(details);
    const [curl, answer] = await details.locator("pre").allTextContents();
    return { curl, shown: JSON.parse(answer), heard: JSON.parse(execFileSync("sh", ["-c", curl], { encoding: "utf8" })) };
}

/** Is the request about these fields? While they are typed, questions about some of them are asked, too. */
function isAbout(request, fields) {
    const plain = request.replace(/\s/g, "");
    return Object.values(fields).every((values) => (values.length > 1 ? plain.includes(JSON.stringify(values)) : new RegExp(`:${values[0]}[,}]`).test(plain)));
}

export const found = (page) => page.locator("#probe-out .found .name").allTextContents();

export async function ask(page, digit, fields = {}) {
    await blur(page);
    await page.keyboard.press(`Alt+${digit}`);
    for (const [label, values] of Object.entries(fields)) {
        const inputs = page.locator("#probe-form .row", { hasText: label }).locator("input");
        for (const [i, value] of values.entries()) await inputs.nth(i).fill(String(value));
    }
    await page.click("#probe-ask");
    await page.waitForSelector("#probe-out .sub");
    await until("an answer to all of it", async () => isAbout(await page.locator("#probe-out pre").first().textContent(), fields));
}

/** Drags with the mouse from one point of the page to another, in steps. */
export async function drag(page, from, to, { keys = [], steps = 8 } = {}) {
    await page.mouse.move(from.x + 1, from.y);
    await page.mouse.move(from.x, from.y);
    await drawn(page);
    for (const key of keys) await page.keyboard.down(key);
    await page.mouse.down();
    for (let i = 1; i <= steps; i++) await page.mouse.move(from.x + ((to.x - from.x) * i) / steps, from.y + ((to.y - from.y) * i) / steps);
    await page.mouse.up();
    for (const key of keys) await page.keyboard.up(key);
}

/** Where points of the scene lie on the page, seen from the front after all of it, so large and with that middle, was framed. */
export async function frontOf(page, middle, reach) {
    await drawn(page); // a press hits what the last picture shows
    const { x, y, width, height } = await page.locator("#view").boundingBox();
    const half = 1.06 * Math.max(reach[1], reach[0] / (width / height)); // of the picture's height, in units of the scene
    const unit = height / 2 / half; // pixels
    const at = (px, py) => ({ x: x + width / 2 + (px - middle[0]) * unit, y: y + height / 2 - (py - middle[1]) * unit });
    return { at, unit, inView: (px, py) => ({ x: at(px, py).x - x, y: at(px, py).y - y }) };
}

export const CUBE = (x, y = 0, z = 0) => ({ center: [x, y, z], half_extents: [1, 1, 1] });
export const SQUARE = (x, y = 0) => ({ center: [x, y], half_extents: [1, 1] });

/** A module of the page by itself. */
export async function module(name) {
    const entry = new URL(`../../server/web/src/${name}.ts`, import.meta.url).pathname;
    const { outputFiles } = await build({ entryPoints: [entry], bundle: true, write: false, format: "esm" });
    return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);
}

/** The numbers of a linear congruential generator, from 0 to below 1. */
export function random(seed) {
    let state = seed;
    return () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
        return state / 2 ** 32;
    };
}
