#!/usr/bin/env node
// A scene that moves 20 times a second, as games move theirs: what is pressed, asked and changed in it.
import assert from "node:assert/strict";
import { launch, openPage, test, until } from "./harness.mjs";
import { ask, CUBE, daemon, found, makeScene, runAll } from "./words.mjs";

const EVERY_MS = 50;
const BOXES = 200;

const blind = await launch(["--disable-3d-apis"]); // WebGL in software takes more than all that is tried here

async function showBlind(scene) {
    const opened = await openPage(blind, daemon.url, { expected: [/WebGL/] });
    await opened.page.goto(`${daemon.url}/#${scene}`);
    await opened.page.waitForSelector("#status[data-state=live]");
    return opened;
}

/** 200 boxes that go round above a floor, which all of them touch or cut, in rows of 20; and 12 that stand still beside it. */
const place = (i, tick) => {
    const turn = tick / 10 + i;
    return [(i % 20) * 2.5 + Math.cos(turn), 0.9 + 0.2 * Math.sin(turn / 3), Math.floor(i / 20) * 2.5 + Math.sin(turn)];
};
const moving = Array.from({ length: BOXES }, (_, i) => `moving-${i}`);

async function makeLive() {
    const put = { floor: { center: [24, -1, 12], half_extents: [30, 1, 20] } };
    for (let i = 0; i < 12; i++) put[`still-${i}`] = CUBE(4 * i, 1, 60);
    moving.forEach((name, i) => (put[name] = { center: place(i, 0), half_extents: [0.8, 0.8, 0.8] }));
    const scene = await makeScene(put);
    let going = true;
    const loop = (async () => {
        for (let tick = 1; going; tick++) {
            const next = Date.now() + EVERY_MS;
            await daemon.commit(scene, { pose: { names: moving, centers: moving.flatMap((_, i) => place(i, tick)) } });
            await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
        }
    })();
    return {
        scene,
        async stop() {
            going = false;
            await loop;
        },
    };
}

const at = async (page) => Number(/\d+/.exec(await page.textContent("#revision"))[0]);

const shown = (page, states) =>
    at(page).then((from) => until(`${states} more states`, async () => (await at(page)) >= from + states));

/** Presses a row like a hand, which takes a tenth of a second: until the page has shown two more states. Gives the name on the row. */
async function press(page, row) {
    await row.hover();
    await page.mouse.down();
    const name = await page.textContent("button:active .name, .item:active .name");
    await shown(page, 2);
    await page.mouse.up();
    return name;
}

test("rows are pressed while all moves: of the list, of what is found, of what a box collides with", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    const title = (selector, text) => until(text, async () => (await page.textContent(selector)) === text);
    for (let i = 0; i < 12; i++) await title("#box-form h2", await press(page, page.locator(".item").nth(1 + i)));
    await ask(page, 3, { Center: [24, 1, 12], Radius: [9] });
    await until("found boxes", async () => (await found(page)).length > 12);
    for (let i = 0; i < 8; i++) await title("#box-form h2", await press(page, page.locator("#probe-out .found button").nth(i)));
    await page.click("#tab-box");
    for (let i = 0; i < 8; i++) {
        await page.locator("#list").evaluate((list) => (list.scrollTop = 0));
        await title("#box-form h2", await press(page, page.locator(".item").first()));
        await title("#relations .sub", `floor and ${await press(page, page.locator("#relations .found button").nth(2 * i))}`);
    }
    await live.stop();
    await close();
});

test("the focus stays on a row while its list changes", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    await ask(page, 3, { Center: [24, 1, 12], Radius: [50] });
    await until("found boxes", async () => (await found(page)).length > 100);
    const row = page.locator("#probe-out .found button").nth(3);
    await row.focus();
    const name = await row.locator(".name").textContent();
    await shown(page, 5);
    assert.equal(await page.evaluate(() => document.activeElement.querySelector(".name")?.textContent), name);
    await page.keyboard.press("Enter");
    await until(name, async () => (await page.textContent("#box-form h2")) === name);
    await live.stop();
    await close();
});

await runAll(blind);
