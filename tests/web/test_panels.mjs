#!/usr/bin/env node
// The panels and dialogs on a scene that moves, those aside that test_page.mjs looks at: nothing for axe-core to complain about, nothing wider than the screen; pictures.
import assert from "node:assert/strict";
import { intercept, rulesHeld, test, until } from "./harness.mjs";
import { blind, makeLive, shown } from "./live.mjs";
import { blur, daemon, drawn, runAll, show, SHOTS } from "./words.mjs";

test("axe finds nothing to complain about in what moves, light and dark, wide and narrow; pictures are taken", async () => {
    const live = await makeLive({}, { settings: { record: 100, history: { span: 2000, commits: 1000 } } });
    let rules = 0;
    for (const [colorScheme, width, height] of [
        ["light", 1440, 900],
        ["dark", 1440, 900],
        ["light", 390, 844],
        ["dark", 390, 844],
    ]) {
        const small = width < 760;
        const { page, close } = await show(live.scene, { expected: [/status of 401/], colorScheme, viewport: { width, height }, isMobile: small, hasTouch: small, bypassCSP: true });
        const check = async (state) => {
            await drawn(page);
            await page.screenshot({ path: `${SHOTS}${state}-${width}-${colorScheme}.png` });
            rules += await rulesHeld(page, state);
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            assert.ok(wide <= width, `${state}: ${wide} pixels wide`);
        };
        await shown(page, 20);
        await page.click("#tab-lag");
        await page.fill("#lag-who", "moving-45");
        await page.keyboard.press("Enter");
        await until("both verdicts", async () => /^Now: /.test(await page.textContent("#lag-now")));
        await check("lag");
        await page.click("#tab-shots");
        for (let i = 0; i < 8; i++)
            await daemon.call("POST", `/v1/scenes/${live.scene}/query/ray`, { rays: [{ from: [-5, i < 4 ? 0.6 : 4, 3 * i], to: [60, i < 4 ? 0.6 : 4, 3 * i] }], tag: `player-${i}` });
        await until("they", async () => (await page.locator("#shots-list button").count()) >= 8);
        await check("shots");
        await page.locator("#shots-list button").nth(6).click();
        await until("why", async () => (await page.locator("#shots-why .found button").count()) > 3);
        await check("shot");
        await page.click("#now");
        await page.click("#tab-box");
        await page.keyboard.press("p");
        await blur(page);
        for (let i = 0; i < 10; i++) await page.keyboard.press("[");
        await until("the past", async () => (await page.textContent("#status-text")) === "past");
        await check("time");
        await page.click("[data-command=settings]");
        await page.waitForSelector("#settings", { state: "visible" });
        await check("settings");
        await page.keyboard.press("Escape");
        await page.click("#now");
        await page.click("#tab-events");
        await until("pairs and numbers", async () => (await page.locator("#events-list button").count()) > 3 && /^commits\d/.test(await page.textContent("#rates")));
        await check("events");
        await page.click("#tab-ask");
        await page.selectOption("#probe-kind", "pairs");
        await page.click("#probe-ask");
        await page.locator("#probe-out .found button").nth(5).waitFor();
        await check("pairs");
        await page.setInputFiles("#file", { name: "bad.json", mimeType: "application/json", buffer: Buffer.from("[{}]") });
        await page.waitForSelector("#message", { state: "visible" });
        await check("message");
        await page.click("#message-close");
        await page.selectOption("#scene", "");
        await page.waitForSelector("#scene-dialog", { state: "visible" });
        await check("new-scene");
        await page.keyboard.press("Escape");
        await intercept(page, "**/v1/**", (route) => route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ type: "", title: "t", status: 401, detail: "d" }) })); // the question is asked anew as all moves
        await page.waitForSelector("#token-dialog", { state: "visible" });
        await check("token");
        await close();
    }
    console.log(`axe: ${rules} rules held`);
    assert.ok(rules > 100);
    await live.stop();
});

await runAll(blind);
