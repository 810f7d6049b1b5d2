#!/usr/bin/env node
// The ends of a ray and the shapes of questions, dragged by hand: numbers and what is found follow while they are dragged.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { blind, makeLive } from "./live.mjs";
import { ask, CUBE, drawn, exchange, found, frontOf, makeScene, revision, runAll, select, show } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };

const values = (page, label) =>
    page.locator("#probe-form .row", { hasText: label }).locator("input").evaluateAll((inputs) => inputs.map(({ value }) => Number(value)));
const near = (a, b, by) => a.every((value, i) => Math.abs(value - b[i]) < by);

/** Presses at one point, moves in steps and says what was found at each, and lets go. */
async function pull(page, from, to, look) {
    await page.mouse.move(from.x, from.y);
    await page.waitForSelector("#view.grip");
    await page.mouse.down();
    await new Promise((resolve) => setTimeout(resolve, 100));
    const seen = [];
    for (let i = 1; i <= 5; i++) {
        await page.mouse.move(from.x + ((to.x - from.x) * i) / 5, from.y + ((to.y - from.y) * i) / 5);
        await drawn(page);
        seen.push(await look());
    }
    await page.mouse.up();
    return seen;
}

test("the ends of a ray are dragged, and its hits follow meanwhile", async () => {
    const scene = await makeScene({ a: CUBE(-4, -4), b: CUBE(4, 0), c: CUBE(4, 6), d: CUBE(-4, 6) });
    const { page, close } = await show(scene, SMALL);
    await page.keyboard.press("3");
    const { at, unit } = await frontOf(page, [0, 1], [5, 6]);
    await ask(page, 1, { From: [-4, 0, 0], To: [6, 0, 0] });
    await until("b", async () => (await found(page)).join() === "b");
    const seen = await pull(page, at(6, 0), at(6, 7), async () => (await values(page, "To"))[1]);
    assert.ok(seen.every((y, i) => Math.abs(y - (7 * (i + 1)) / 5) < 3 / unit), seen.join()); // numbers follow
    await until("c, over b", async () => (await found(page)).join() === "c");
    assert.ok(near(await values(page, "To"), [6, 7, 0], 3 / unit));
    await pull(page, at(-4, 0), at(6, 1), async () => {});
    await until("nothing", async () => (await page.textContent("#probe-out .sub")) === "Nothing found");
    const { shown, heard } = await exchange(page, "#probe-out");
    assert.deepEqual(shown, heard);
    // a point that is pressed and not moved is clicked: a new ray begins
    await page.mouse.click(at(6, 1).x, at(6, 1).y, { delay: 100 });
    await until("the first click", async () => /aimed at/.test(await page.textContent("#probe-out")));
    await close();
});

test("a sphere and a box are moved by their middle and sized by their sides", async () => {
    const scene = await makeScene({ a: CUBE(-6), b: CUBE(0), c: CUBE(6) });
    const { page, close } = await show(scene, SMALL);
    await page.keyboard.press("3");
    const { at, unit } = await frontOf(page, [0, 0], [7, 1]);
    const by = 3 / unit;
    await ask(page, 3, { Center: [0, 0, 0], Radius: [2] });
    await until("b", async () => (await found(page)).join() === "b");
    await pull(page, at(2, 0), at(5.5, 0), async () => {});
    await until("all", async () => (await found(page)).join() === "a,b,c");
    assert.ok(near(await values(page, "Radius"), [5.5], by));
    await pull(page, at(0, 0), at(4, 0), async () => {});
    await until("not a", async () => (await found(page)).join() === "b,c");
    assert.ok(near(await values(page, "Center"), [4, 0, 0], by) && near(await values(page, "Radius"), [5.5], by));
    await ask(page, 4, { Center: [0, 0, 0], "Half size": [2, 1.5, 1] });
    await until("b", async () => (await found(page)).join() === "b");
    await pull(page, at(2, 0), at(5.5, 0), async () => {});
    await until("all", async () => (await found(page)).join() === "a,b,c");
    assert.ok(near(await values(page, "Half size"), [5.5, 1.5, 1], by), (await values(page, "Half size")).join());
    await pull(page, at(0, 1.5), at(0, 0.5), async () => {});
    assert.ok(near(await values(page, "Half size"), [5.5, 0.5, 1], by));
    await pull(page, at(0, 0), at(0, 2.5), async () => {});
    await until("none", async () => (await page.textContent("#probe-out .sub")) === "Nothing found");
    await close();
});

test("a sweep leaves out what its box stands in before, unless it is told not to", async () => {
    const scene = await makeScene({ floor: { center: [0, -1, 0], half_extents: [20, 1, 20] }, crate: CUBE(0, 0.99), wall: CUBE(6, 1) });
    const { page, close } = await show(scene, SMALL);
    await revision(page, 1);
    await until("that they touch", async () => /1 overlap, 1 touch/.test(await page.textContent("#list-sum")));
    await select(page, "crate");
    await page.keyboard.press("Alt+5");
    await page.click("#probe-ask");
    await until("the wall", async () => (await found(page)).join() === "wall");
    assert.match(await page.textContent("#probe-out .found"), /at 80 %/);
    await page.click("#probe-met");
    await until("the floor", async () => (await found(page)).join() === "floor");
    await close();
});

test("an end is dragged while all moves, and hits what the daemon says", async () => {
    const live = await makeLive();
    const { page, close } = await show(live.scene, SMALL);
    await page.keyboard.press("2");
    const { x, y, width, height } = await page.locator("#view").boundingBox();
    const unit = height / 2 / (1.06 * Math.max(34.5, 30 / (width / height))); // the floor and the cubes beside it say how far it reaches
    const at = (px, pz) => ({ x: x + width / 2 + (px - 24) * unit, y: y + height / 2 + (pz - 26.5) * unit });
    await ask(page, 1, { From: [-4, 0.6, 12], To: [52, 0.6, 12] });
    await page.selectOption("#probe-mode", "all");
    await until("hits", async () => (await found(page)).length > 3);
    const seen = await pull(page, at(52, 12), at(40, 50), () => values(page, "To"));
    assert.ok(seen.every(([px], i) => i === 0 || px < seen[i - 1][0]), JSON.stringify(seen));
    assert.ok(near(await values(page, "To"), [40, 0.6, 50], 3 / unit));
    await until("nothing but what stands on its way now", async () => {
        const { shown, heard } = await exchange(page, "#probe-out");
        return heard.results[0].hits.length > 0 && shown.results[0].hits.length > 0;
    });
    await live.stop();
    await close();
});

await runAll(blind);
