#!/usr/bin/env node
// Boxes that are dragged by their handles: others see them on their way, and the page shows what they meet.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { arrived, CUBE, daemon, drawn, frontOf, makeScene, revision, runAll, select, show } from "./words.mjs";

const PAUSE_MS = 100; // as a hand takes
const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

/** Presses the handle that moves a box along x, and gives how to drag it so many units from there. */
async function grip(page, middle, reach, x) {
    const { at, unit } = await frontOf(page, middle, reach);
    const { height } = await page.locator("#view").boundingBox();
    const from = at(x + (0.8 * height) / 10 / unit, middle[1] + 0.02);
    await page.mouse.move(from.x + 1, from.y);
    await page.mouse.move(from.x, from.y);
    await drawn(page);
    await page.mouse.down();
    await pause();
    return (by) => page.mouse.move(from.x + by * unit, from.y, { steps: 4 });
}

test("a box is where it is dragged to for others too, numbers, colours and partners follow, and one step undoes it", async () => {
    const scene = await makeScene({ a: CUBE(-4), wall: CUBE(4) });
    const { page, close } = await show(scene);
    const sent = [];
    page.on("request", (request) => request.method() === "PATCH" && sent.push(request.postDataJSON()));
    await page.keyboard.press("3");
    await select(page, "a");
    const pull = await grip(page, [0, 0], [5, 1], -4);
    const x = async () => (await daemon.box(scene, "a")).center[0];
    const shown = () => page.locator('#box-form input[aria-label="Center x"]').inputValue();
    for (const by of [2, 4]) {
        await pull(by);
        await until(`about ${by} to the right`, async () => Math.abs((await x()) + 4 - by) < 0.3);
        await until("its number", async () => Math.abs(Number(await shown()) - (await x())) < 1e-6);
    }
    assert.equal(await page.locator('#relations [aria-label="What a collides with"] button').count(), 0);
    await pull(7); // into the wall, and not let go
    await until("what it meets", async () => (await page.locator('#relations [aria-label="What a collides with"] button').allTextContents()).some((text) => /wall/.test(text)));
    await until("the sum", async () => /1 .*overlap/.test(await page.textContent("#list-sum")));
    const commits = sent.length;
    assert.ok(commits >= 3, String(commits));
    await pause();
    await page.mouse.up();
    const after = await arrived(page, scene);
    assert.ok(sent.every((body) => Object.keys(body).join() === "center"), JSON.stringify(sent));
    assert.ok(Math.abs((await x()) - 3) < 0.3);
    await page.keyboard.press("Control+z");
    await revision(page, after + 1);
    assert.equal(await x(), -4);
    assert.ok(await page.getByRole("button", { name: "Undo" }).isDisabled());
    await page.keyboard.press("Control+y");
    await revision(page, after + 2);
    assert.ok(Math.abs((await x()) - 3) < 0.3);
    await close();
});

test("at most 30 commits a second, however fast the pointer moves, and the last place counts", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const { page, close } = await show(scene);
    await page.evaluate(() => {
        const send = window.fetch;
        window.sent = 0;
        window.fetch = (path, init) => {
            if (init?.method === "PATCH") window.sent++;
            return send(path, init);
        };
    });
    await page.keyboard.press("3");
    await select(page, "a");
    const pull = await grip(page, [0, 0], [1, 1], 0);
    const now = () => page.evaluate(() => performance.now());
    const begun = await now();
    for (let i = 1; i <= 15; i++) await pull((i % 5) / 10);
    await pull(0.5);
    await pause();
    await page.mouse.up();
    await arrived(page, scene);
    const sent = await page.evaluate(() => window.sent);
    // a timer is never early; one more is sent at once, and one when it is let go
    const most = 2 + ((await now()) - begun) / (1000 / 30);
    assert.ok(sent >= 3 && sent <= most, `${sent} of at most ${most}`);
    const shown = await page.locator('#box-form input[aria-label="Center x"]').inputValue();
    assert.ok(Math.abs((await daemon.box(scene, "a")).center[0] - Number(shown)) < 1e-6);
    await close();
});

test("a box that is dragged while another scene is opened goes no further, and that of the same name in the other one stays", async () => {
    const [scene, next] = [await makeScene({ a: CUBE(0) }), await makeScene({ a: CUBE(0), b: CUBE(9) })];
    const { page, close } = await show(scene);
    await page.keyboard.press("3");
    await select(page, "a");
    const pull = await grip(page, [0, 0], [1, 1], 0);
    await pull(0.5);
    await until("on its way", async () => (await daemon.box(scene, "a")).center[0] > 0.2);
    await page.evaluate((name) => (location.hash = name), next);
    await until("its boxes", async () => (await page.locator(".item .name").allTextContents()).join() === "a,b");
    await page.waitForSelector("#status[data-state=live]");
    await pull(0.8);
    await pause();
    await page.mouse.up();
    await until("the sentence", async () => (await page.textContent("#message-text")) === `${scene}, move a: Another scene was opened before it was done.`);
    assert.ok(await page.isHidden("#message-again"));
    await revision(page, 1);
    assert.deepEqual((await daemon.box(next, "a")).center, [0, 0, 0]);
    assert.ok((await daemon.box(scene, "a")).center[0] < 0.7);
    await close();
});

test("a box that is dragged and put back is where it was, and there is nothing to undo", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const { page, close } = await show(scene);
    await page.keyboard.press("3");
    await select(page, "a");
    const pull = await grip(page, [0, 0], [1, 1], 0);
    await pull(0.5);
    await until("on its way", async () => (await daemon.box(scene, "a")).center[0] > 0.2);
    await pull(0);
    await pause();
    await page.mouse.up();
    await arrived(page, scene);
    assert.deepEqual((await daemon.box(scene, "a")).center, [0, 0, 0]);
    assert.ok(await page.getByRole("button", { name: "Undo" }).isDisabled());
    await close();
});

await runAll();
