#!/usr/bin/env node
// Where the eye goes by itself: along with a box that it was set to, and to what is chosen in a panel and out of sight.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { blur, CUBE, daemon, drawn, makeScene, revision, runAll, select, show } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };
const EVERY_MS = 50;

/** What the eye looks at, as the address says it once that stands still; null: it was not moved. */
async function target(page) {
    const now = () => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("eye"));
    let last = await now();
    await until("the address stands still", async () => {
        await new Promise((resolve) => setTimeout(resolve, 400)); // it is written every 300 ms
        const before = last;
        last = await now();
        return last === before;
    });
    return last?.split(",").slice(3, 6).map(Number) ?? null;
}

const near = (a, b, within) => a.every((value, i) => Math.abs(value - b[i]) < within);

test("the eye goes along with a box that is framed and moves, turned and zoomed as one likes, until another one is selected", async () => {
    const scene = await makeScene({ runner: CUBE(0, 1), other: CUBE(0, 1, 9), floor: { center: [0, -1, 0], half_extents: [200, 1, 20] } });
    const { page, close } = await show(scene, SMALL);
    let at = 0;
    /** So many steps, and the page has seen them. */
    const run = async (steps, name = "runner") => {
        let last = 0;
        for (let i = 0; i < steps; i++) {
            last = (await daemon.commit(scene, { pose: { [name]: { center: [++at, 1, name === "runner" ? 0 : 9] } } })).revision;
            await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
        }
        await revision(page, last);
        await drawn(page);
    };
    await select(page, "runner");
    await run(6); // it is one that moves by now
    await page.keyboard.press("f");
    const begun = await target(page);
    const first = at;
    await run(30);
    const gone = await target(page);
    assert.ok(near(gone, [begun[0] + at - first, begun[1], begun[2]], 0.01), `${begun} and ${gone} after ${at - first}`);
    await page.focus("#view canvas");
    for (const key of ["ArrowLeft", "ArrowLeft", "-"]) await page.keyboard.press(key);
    const [turned, second] = [await target(page), at];
    await run(10);
    assert.ok(near(await target(page), [turned[0] + at - second, turned[1], turned[2]], 0.01));
    // back in time it is where the box was
    const present = await target(page);
    await blur(page);
    for (let i = 0; i < 5; i++) await page.keyboard.press("[");
    await until("the past", async () => (await page.textContent("#status-text")) === "past");
    assert.ok(near(await target(page), [present[0] - 5, present[1], present[2]], 0.01));
    await page.click("#now");
    assert.ok(near(await target(page), present, 0.01));
    await select(page, "other");
    const left = await target(page);
    await run(10);
    assert.deepEqual(await target(page), left);
    await close();
});

test("the eye stays where it is while a framed box is dragged or moved by a number, and where a box is put once", async () => {
    const scene = await makeScene({ crate: CUBE(0), wall: CUBE(9) });
    const { page, close } = await show(scene, SMALL);
    await page.keyboard.press("3");
    await select(page, "crate");
    await page.keyboard.press("f");
    const before = await target(page);
    const { x, y, width, height } = await page.locator("#view").boundingBox();
    const grip = { x: x + width / 2 + 0.08 * height, y: y + height / 2 - 2 };
    await page.mouse.move(grip.x + 1, grip.y);
    await page.mouse.move(grip.x, grip.y);
    await drawn(page);
    await page.mouse.down();
    for (let i = 1; i <= 20; i++) {
        await page.mouse.move(grip.x + 4 * i, grip.y);
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS)); // many commits, as of a box that moves
    }
    await page.mouse.up();
    await until("it was dragged", async () => (await daemon.box(scene, "crate")).center[0] > 0.1);
    await until("quiet", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
    assert.deepEqual(await target(page), before);
    await daemon.commit(scene, { pose: { crate: { center: [4, 0, 0] } } });
    await until("its number", async () => (await page.getByLabel("Center x").inputValue()) === "4");
    assert.deepEqual(await target(page), before);
    await close();
});

test("what is chosen among shots, events and targets comes into sight, and what is in sight leaves the eye where it is", async () => {
    const scene = await makeScene({ a: { ...CUBE(0), entity: "ann" }, far: { ...CUBE(80), entity: "bob" }, floor: { center: [40, -3, 0], half_extents: [60, 1, 60] } }, { record: 100, history: { commits: 100, span: 10_000 } });
    const { page, close } = await show(scene, SMALL);
    const close_up = async () => {
        await blur(page);
        await page.keyboard.press("Escape");
        await select(page, "a");
        await page.keyboard.press("f");
        await page.keyboard.press("Escape");
        const at = await target(page);
        assert.ok(near(at, [0, 0, 0], 2), String(at));
        return at;
    };
    const cast = (from, to, tag) => daemon.call("POST", `/v1/scenes/${scene}/query/ray`, { rays: [{ from, to }], tag });
    // shots
    await page.click("#tab-shots");
    await cast([-1.5, 0, 0], [1, 0, 0], "near");
    await cast([70, 0, 0], [100, 0, 0], "far");
    await cast([60, 9, 40], [2000, 9, 40], "missed");
    const row = (name) => page.locator("#shots-list button", { has: page.getByText(name, { exact: true }) }).first();
    await row("missed").waitFor();
    let at = await close_up();
    await row("near").click();
    assert.deepEqual(await target(page), at);
    await row("far").click();
    at = await target(page);
    assert.ok(near(at, [74.5, 0, 0], 6), String(at));
    await row("missed").click(); // its end is far out of the scene, whose end is seen instead
    at = await target(page);
    assert.ok(near(at, [80, 0, 40], 15), String(at));
    // events
    await page.click("#tab-events");
    const put = await daemon.commit(scene, { put: { thing: CUBE(81.5) } });
    await page.locator("#events-list button", { hasText: "began" }).waitFor();
    await revision(page, put.revision); // the page has read it, too: what is gone it would find no more
    await daemon.commit(scene, { remove: ["thing"] });
    await page.locator("#events-list button", { hasText: "ended" }).waitFor();
    await close_up();
    await page.locator("#events-list button", { hasText: "began" }).click();
    at = await target(page);
    assert.ok(near(at, [80.75, 0, 0], 6), String(at));
    await page.click("#now");
    // the target of a shot
    at = await close_up();
    await page.click("#tab-lag");
    await page.fill("#lag-who", "ann");
    await page.keyboard.press("Enter");
    await until("both verdicts", async () => /^Now: hit a/.test(await page.textContent("#lag-now")));
    assert.deepEqual(await target(page), at);
    await page.fill("#lag-who", "bob");
    await page.keyboard.press("Enter");
    await until("both verdicts", async () => /^Now: hit far/.test(await page.textContent("#lag-now")));
    at = await target(page);
    assert.ok(near(at, [80, 0, 0], 12), String(at));
    await close();
});

await runAll();
