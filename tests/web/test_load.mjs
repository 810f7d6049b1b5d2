#!/usr/bin/env node
// How a scene comes onto the page: what is asked for at once, what a worker decodes, and what is drawn before it is there.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { openPage, test, until } from "./harness.mjs";
import { blind } from "./live.mjs";
import { browser, daemon, drawn, hold, makeScene, runAll } from "./words.mjs";

const COUNT = 23_000; // more than two pages of a list
const QUIET = { expected: [/WebGL/] };
const SMALL = { viewport: { width: 1000, height: 600 } };

/** A scene of many boxes that are far from each other, each another one, some with all that a box may have. */
async function makeMany(flat) {
    const scene = await makeScene({}, { dimensions: flat ? 2 : 3 });
    const turned = (i) => (flat ? { angle: i % 180 } : { rotation: [0, Math.sin(i), 0, Math.cos(i)] });
    const put = {};
    for (let i = 0; i < COUNT; i++) {
        const [x, y] = [(i % 200) * 9, Math.floor(i / 200) * 9];
        const more = i % 50 === 0 ? { entity: `entity ${i}`, data: { i }, category: 2 ** (i % 32), mask: i, group: i % 7 } : {};
        put[`box "é" ${i}`] = { center: flat ? [x, y] : [x, y, i / 7], half_extents: flat ? [1, 2] : [1, 2, 1 / (i + 1)], ...turned(i), ...more };
    }
    await daemon.commit(scene, flat ? { put } : { frames: { car: { center: [-50, 0, 0] } }, put: { ...put, wheel: { center: [1, 0, 0], half_extents: [1, 1, 1], frame: "car" } } });
    return scene;
}

/** All boxes of a scene as an export of the page has them. */
async function listed(scene) {
    const boxes = {};
    for (let cursor = ""; cursor !== undefined; ) {
        const { body } = await daemon.call("GET", `/v1/scenes/${scene}/boxes?limit=10000${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
        for (const { name, id, changed, frame, local, ...box } of body.boxes) boxes[name] = box;
        cursor = body.cursor;
    }
    return boxes;
}

async function exported(page) {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click("header [data-command=export]")]);
    return Object.fromEntries(JSON.parse(readFileSync(await download.path(), "utf8")).map(({ name, ...box }) => [name, box]));
}

async function open(scene, prepare = async () => {}, { by = blind, ...options } = QUIET) {
    const opened = await openPage(by, daemon.url, options);
    await prepare(opened.page);
    await opened.page.goto(`${daemon.url}/#${scene}`);
    return opened;
}

const allOf = (page, count) => until("all boxes", async () => (await page.textContent("#list-sum")).startsWith(`${count.toLocaleString("en")} box`));

for (const flat of [false, true])
    test(`the boxes of a scene ${flat ? "in the plane" : "in space"} are decoded beside the page's thread, and are what they are`, async () => {
        const scene = await makeMany(flat);
        const { page, close } = await open(scene, (page) =>
            page.addInitScript(() => {
                const { parse } = JSON;
                globalThis.longest = 0;
                JSON.parse = (text, ...more) => {
                    globalThis.longest = Math.max(globalThis.longest, text.length);
                    return parse(text, ...more);
                };
            }),
        );
        await allOf(page, COUNT + (flat ? 0 : 1));
        const longest = await page.evaluate(() => globalThis.longest);
        assert.ok(longest > 0 && longest < 50_000, String(longest));
        assert.deepEqual(await exported(page), await listed(scene));
        await close();
    });

test("a browser that has no worker for the page, or one that fails, shows the same", async () => {
    const scene = await makeScene({ a: { center: [1, 2, 3], half_extents: [1, 1, 1], entity: "e" }, b: { center: [9, 2, 3], half_extents: [1, 2, 1] } });
    const none = (page) => page.addInitScript(() => delete globalThis.Worker);
    const broken = (page) =>
        page.addInitScript(() => {
            const Real = globalThis.Worker;
            globalThis.Worker = class extends Real {
                constructor() {
                    super("data:text/javascript,"); // which the page's own policy refuses
                }
            };
        });
    for (const [prepare, expected] of [
        [none, []],
        [broken, [/Content Security Policy/]],
    ]) {
        const { page, close } = await open(scene, prepare, { expected: [...QUIET.expected, ...expected] });
        await allOf(page, 2);
        assert.deepEqual(await exported(page), await listed(scene));
        await close();
    }
});

test("the scene of the address is shown before the list of all scenes is there", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] } });
    let held;
    const { page, close } = await open(scene, async (page) => (held = await hold(page, "GET", "**/v1/scenes")));
    await held.asked;
    await allOf(page, 1);
    await page.waitForSelector("#status[data-state=live]");
    assert.deepEqual(await page.locator("#scene option").allTextContents(), [scene, "New scene…"]);
    held.goOn();
    await until("all scenes", async () => (await page.locator("#scene option").allTextContents()).includes("demo"));
    assert.equal(await page.inputValue("#scene"), scene);
    await close();
});

test("a list that is refused for its token is asked for once more", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] } });
    let lists = 0;
    const refuse = (page) =>
        page.route("**/boxes?*", (route) => {
            if (++lists > 1) return route.continue();
            return route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ type: "", title: "t", status: 401, detail: "d" }) });
        });
    const { page, close } = await open(scene, refuse, { expected: [...QUIET.expected, /status of 401/] });
    await allOf(page, 1);
    assert.equal(lists, 2);
    await close();
});

test("the scene of the address is asked for before the page's program is read", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] } });
    const asked = [];
    const { page, close } = await open(scene, async (page) => {
        page.on("request", (request) => asked.push(new URL(request.url()).pathname));
        await page.addInitScript(() => {
            globalThis.early = [];
            const note = (what) => document.body === null && globalThis.early.push(String(what));
            const { fetch, Worker } = globalThis;
            globalThis.fetch = (path, ...more) => (note(path), fetch(path, ...more));
            globalThis.Worker = class extends Worker {
                postMessage({ wanted }) {
                    if (wanted) note(new URL(wanted.url).pathname);
                    super.postMessage(...arguments);
                }
            };
        });
    });
    await allOf(page, 1);
    await until("all scenes", async () => (await page.locator("#scene option").allTextContents()).includes("demo"));
    const early = (await page.evaluate(() => globalThis.early)).map((path) => path.split("?")[0]);
    const paths = [`/v1/scenes/${scene}`, `/v1/scenes/${scene}/boxes`, `/v1/scenes/${scene}/events`, "/v1/scenes"].sort();
    assert.deepEqual(early.sort(), paths);
    for (const path of paths) assert.equal(asked.filter((one) => one === path).length, 1, path); // and not again
    await close();
});

test("a list that was read before the stream told of a later state is read again", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] } });
    let [goOn, lists] = [null, 0];
    const held = new Promise((resolve) => (goOn = resolve));
    const { page, close } = await open(scene, async (page) => {
        await page.route("**/events?*", async (route) => {
            await held;
            return route.continue();
        });
        page.on("response", (response) => response.url().includes("/boxes?") && lists++);
    });
    await until("the first list", () => lists === 1);
    await daemon.commit(scene, { put: { b: { center: [9, 0, 0], half_extents: [1, 1, 1] } }, remove: ["a"] });
    goOn();
    await allOf(page, 1);
    await until("the box put", async () => (await page.locator(".item .name").allTextContents()).join() === "b");
    assert.equal(lists, 2);
    await close();
});

for (const answered of [true, false])
    test(`the first picture ${answered ? "shows which pairs only touch" : "does not wait long for what pairs are"}`, async () => {
        const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] }, b: { center: [2, 0, 0], half_extents: [1, 1, 1] } });
        let held;
        const { page, close } = await open(
            scene,
            async (page) => {
                if (!answered) held = await hold(page, "POST", "**/query/pairs");
                await page.addInitScript((answered) => {
                    const { setTimeout } = globalThis;
                    if (answered) globalThis.setTimeout = (act, ms, ...more) => setTimeout(act, ms === 300 ? 2 ** 30 : ms, ...more); // a slow machine waits, too
                    const { prototype } = WebGL2RenderingContext;
                    const real = prototype.drawElementsInstanced;
                    prototype.drawElementsInstanced = function (...more) {
                        globalThis.first ??= document.querySelector("#list-sum").textContent;
                        return real.apply(this, more);
                    };
                }, answered);
            },
            { by: browser, ...SMALL },
        );
        const first = await until("a picture", () => page.evaluate(() => globalThis.first));
        assert.match(first, answered ? /0 overlap, 1 touch/ : /1 overlap, 0 touch/);
        held?.goOn();
        await until("what the pair is", async () => /0 overlap, 1 touch/.test(await page.textContent("#list-sum")));
        await close();
    });

test("before the boxes are there nothing is drawn, and the picture is given its size once", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] } });
    let held;
    const { page, close } = await open(
        scene,
        async (page) => {
            held = await hold(page, "GET", "**/boxes?*");
            await page.addInitScript(() => {
                globalThis.drawn = 0;
                globalThis.sized = 0;
                const { prototype } = WebGL2RenderingContext;
                for (const name of ["drawElements", "drawArrays", "drawElementsInstanced", "drawArraysInstanced"]) {
                    const real = prototype[name];
                    prototype[name] = function (...more) {
                        globalThis.drawn++;
                        return real.apply(this, more);
                    };
                }
                const width = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, "width");
                Object.defineProperty(HTMLCanvasElement.prototype, "width", {
                    ...width,
                    set(value) {
                        if (this.closest("#view")) globalThis.sized++;
                        width.set.call(this, value);
                    },
                });
            });
        },
        { by: browser, ...SMALL },
    );
    await held.asked;
    await drawn(page);
    const [draws, sizes] = await page.evaluate(() => [globalThis.drawn, globalThis.sized]);
    assert.equal(draws, 0);
    assert.equal(sizes, 1);
    held.goOn();
    await allOf(page, 1);
    await until("a picture", () => page.evaluate(() => globalThis.drawn > 0));
    await drawn(page);
    assert.equal(await page.locator("#view canvas").evaluate((canvas) => getComputedStyle(canvas).opacity), "1");
    await close();
});

await runAll(blind);
