#!/usr/bin/env node
// The first look at the demo that moves, without a click: players run, shots are listed and drawn, colours say who is who.
import assert from "node:assert/strict";
import { launch, openPage, rulesHeld, run, startDaemon, test, until } from "./harness.mjs";

const daemon = await startDaemon(0, ["--demo"]);
const browser = await launch();

async function look(options) {
    const opened = await openPage(browser, daemon.url, { bypassCSP: true, ...options });
    await opened.page.goto(`${daemon.url}/#demo`);
    await opened.page.waitForSelector("#status[data-state=live]");
    return opened;
}

test("shots come without a click, in colours of entities, and nothing is wrong for a screen reader", async () => {
    const { page, close } = await look({});
    await until("the shots", async () => (await page.getAttribute("body", "data-panel")) === "shots");
    assert.equal(await page.inputValue("#colours"), "entity");
    const asked = async () => Number.parseInt(await page.textContent("#shots-sum"), 10);
    const before = await until("a shot", asked);
    await until("two more", async () => (await asked()) >= before + 2);
    assert.match(await page.locator("#shots-list .name").first().textContent(), /^player-\d at player-\d$/);
    assert.ok((await rulesHeld(page)) > 10);
    await close();
});

test("the first look is at the middle from nearby, and all of the arena is framed when it is asked for", async () => {
    const { page, close } = await look({});
    await until("the shots", async () => (await page.getAttribute("body", "data-panel")) === "shots");
    await page.locator("#view canvas").focus();
    const away = async (key) => {
        const before = new URL(page.url()).hash;
        await page.keyboard.press(key);
        const eye = await until("the address", async () => new URL(page.url()).hash !== before && new URLSearchParams(page.url().split("?")[1]).get("eye"));
        const [x, y, z, tx, ty, tz] = eye.split(",").map(Number);
        return Math.hypot(x - tx, y - ty, z - tz);
    };
    const near = await away("ArrowLeft");
    const far = await away("f");
    assert.ok(near < 0.7 * far, `${near} of ${far}`);
    await close();
});

test("the box that the start offers is a player's, and stands large in the view once it is selected", async () => {
    const { page, close } = await look({});
    await page.click("#tab-box");
    await until("a player", async () => /^Select player-\d/.test(await page.textContent("#start-select")));
    const place = () => page.evaluate(() => new URLSearchParams(location.hash.split("?")[1]).get("eye"));
    await page.click("#start-select");
    const eye = await until("the camera has gone there", place);
    const [x, y, z, tx, ty, tz] = eye.split(",").map(Number);
    assert.ok(Math.hypot(x - tx, y - ty, z - tz) < 10, eye); // the arena is 40 wide
    await close();
});

test("on a phone held sideways the view has most of the height", async () => {
    const { page, close } = await look({ viewport: { width: 844, height: 390 }, isMobile: true, hasTouch: true });
    const { height } = await page.locator("#view").boundingBox();
    assert.ok(height > 240, String(height)); // it was 120
    for (const button of await page.locator(".tools button:visible").all()) {
        const { width, height } = await button.boundingBox();
        assert.ok(width >= 24 && height >= 24, `${width} x ${height}`);
    }
    await close();
});

test("who comes to a scene that keeps no questions begins at the start", async () => {
    await daemon.commit("plain", { put: { a: { center: [0, 0, 0], half_extents: [1, 1, 1], entity: "e" } } });
    const opened = await openPage(browser, daemon.url);
    await opened.page.goto(`${daemon.url}/#plain`);
    await opened.page.waitForSelector("#status[data-state=live]");
    await until("the box", async () => /^1 box/.test(await opened.page.textContent("#list-sum")));
    assert.deepEqual([await opened.page.getAttribute("body", "data-panel"), await opened.page.inputValue("#colours")], ["box", "contact"]);
    await opened.close();
});

const good = await run();
await browser.close();
await daemon.stop();
process.exit(good ? 0 : 1);
