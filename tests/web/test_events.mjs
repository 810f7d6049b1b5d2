#!/usr/bin/env node
// What happens in a scene: its numbers each second, and the pairs that begin and end.
import assert from "node:assert/strict";
import { openPage, rulesHeld, startDaemon, test, until } from "./harness.mjs";
import { blind, makeLive, showBlind, shown } from "./live.mjs";
import { CUBE, daemon, makeScene, revision, runAll, selected } from "./words.mjs";

const rows = (page) => page.locator("#events-list button").evaluateAll((all) => all.map((one) => [...one.querySelectorAll("span")].map((span) => span.textContent).filter(Boolean).join("|")));
const rate = async (page, label) => (await page.locator(".rate", { has: page.getByText(label, { exact: true }) }).locator(".value").textContent())?.replaceAll(",", "") ?? "";

test("pairs that begin and end are listed in order, narrowed by a box, and one that is clicked is shown as it was", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(10), c: CUBE(20) });
    const { page, close } = await showBlind(scene);
    await page.click("#tab-events");
    assert.equal(await page.textContent("#events-sum"), "No pair has begun or ended yet");
    const oracle = [];
    for (const [name, x, what] of [["a", 9, "a, b|began"], ["a", 0, "a, b|ended"], ["c", 11, "b, c|began"], ["a", 9.5, null], ["c", 30, null]]) {
        // 1,000 s on: the scene's clock has run since it was made
        await daemon.commit(scene, { pose: { [name]: { center: [x, 0, 0] } }, time: 1e6 + 100 * oracle.length });
        if (what) oracle.unshift(what);
    }
    await revision(page, 6);
    // a at 9.5 meets b, and c at 11; c at 30 parts from both
    await until("all of them", async () => (await rows(page)).length === 7);
    const told = await rows(page);
    assert.deepEqual(told.slice(-3).map((row) => row.split("|").slice(0, 2).join("|")), oracle);
    assert.deepEqual(told.slice(0, 2).map((row) => row.split("|").slice(0, 2).join("|")).sort(), ["a, c|ended", "b, c|ended"]);
    assert.ok(told.every((row) => /\|revision [2-6], time \d+$/.test(row)), told.join());
    assert.equal(await page.textContent("#events-sum"), "7 began or ended");
    await page.fill("#events-box", "C");
    await until("those of c", async () => (await rows(page)).length < 7);
    assert.ok((await rows(page)).every((row) => /(^|, )c(,|\|)/.test(row)));
    await page.fill("#events-box", "");
    await until("all again", async () => (await rows(page)).length === 7);
    await page.locator("#events-list button").last().click();
    await revision(page, 2);
    assert.deepEqual(await selected(page), ["a", "b"]);
    await page.click("#now");
    await revision(page, 6);
    await close();
});

test("after a restart of the daemon the list begins anew, and of a row that was pressed before it is said that its moment is not kept", async () => {
    let other = await startDaemon(0, []);
    const near = { pose: { a: { center: [9, 0, 0] } } };
    const away = { pose: { a: { center: [0, 0, 0] } } };
    await other.commit("match", { put: { a: CUBE(0), b: CUBE(10) } });
    const opened = await openPage(blind, other.url, { expected: [/WebGL/, /net::ERR_|status of (404|503)/] });
    const { page } = opened;
    await page.goto(`${other.url}/#match`);
    await page.waitForSelector("#status[data-state=live]");
    await page.click("#tab-events");
    for (const change of [near, away]) await other.commit("match", change);
    await until("both", async () => (await rows(page)).length === 2);
    await page.locator("#events-list button").last().hover();
    await page.mouse.down();
    assert.equal(await other.stop(), 0);
    other = await startDaemon(other.port, []);
    await other.commit("match", { put: { a: CUBE(0), b: CUBE(10) } });
    for (let i = 1; i <= 4; i++) await other.commit("match", { pose: { a: { center: [-i, 0, 0] } } });
    await revision(page, 5);
    await until("none", async () => (await page.textContent("#events-sum")) === "No pair has begun or ended yet");
    assert.equal((await rows(page)).length, 2); // they stay while one is pressed
    await page.mouse.up();
    await until("the sentence", async () => (await page.textContent("#events-refusal")) === "The page does not keep that moment any more.");
    assert.equal(await page.textContent("#status-text"), "live");
    assert.deepEqual(await selected(page), []);
    await until("no row", async () => (await rows(page)).length === 0);
    await page.mouse.move(2, 2);
    for (const change of [near, away]) await other.commit("match", change);
    await until("the new ones", async () => (await rows(page)).length === 2);
    await page.locator("#events-list button").last().click();
    await until("the state of then", async () => (await page.textContent("#revision")) === "revision 6");
    assert.equal(await page.textContent("#events-refusal"), "");
    await opened.close();
    assert.equal(await other.stop(), 0);
});

test("rows stay under the pointer while more pairs begin and end than the page keeps", async () => {
    const put = { a: CUBE(0), b: CUBE(9), floor: { center: [0, -5, 0], half_extents: [90, 1, 90] } };
    const names = Array.from({ length: 100 }, (_, i) => `box-${i}`);
    names.forEach((name, i) => (put[name] = CUBE(3 * (i % 10) - 9, 9, 3 * Math.floor(i / 10))));
    const scene = await makeScene(put);
    const { page, close } = await showBlind(scene);
    await page.click("#tab-events");
    for (const x of [8, 0]) await daemon.commit(scene, { pose: { a: { center: [x, 0, 0] } } });
    await until("both", async () => (await rows(page)).length === 2);
    const first = await rows(page);
    await page.locator("#events-list button").last().hover();
    for (let i = 0; i < 11; i++) {
        const centers = names.flatMap((_, n) => [3 * (n % 10) - 9, i % 2 ? 9 : -4, 3 * Math.floor(n / 10)]);
        await daemon.commit(scene, { pose: { names, centers } }); // 100 begin or end
    }
    const sum = "The last 1,000 that began or ended";
    await until("more", async () => (await page.textContent("#events-sum")) === `${sum}, 1,000 or more newer than those below`);
    assert.deepEqual(await rows(page), first);
    await page.mouse.move(2, 2);
    await until("the newest", async () => (await page.textContent("#events-sum")) === sum);
    assert.ok((await rows(page)).every((row) => /floor/.test(row)));
    await page.fill("#events-box", "box-7");
    await until("those of some", async () => /^\d+ of the last 1,000 that began or ended$/.test(await page.textContent("#events-sum")));
    await close();
});

test("the numbers of a scene that moves: commits, boxes, pairs as the daemon tells them, and how fast it answers", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene, [], { bypassCSP: true });
    await page.click("#tab-events");
    const seen = { most: 0 };
    await until("commits", async () => Number(await rate(page, "commits")) > 0);
    // each of its commits poses 200 boxes; a commit and its boxes may fall on two sides of a second
    await until("its boxes", async () => {
        const [commits, boxes] = [Number(await rate(page, "commits")), Number(await rate(page, "boxes"))];
        seen.most = Math.max(seen.most, commits);
        return commits > 0 && Math.abs(boxes / 200 - commits) <= 1;
    });
    await until("answers", async () => Number(await rate(page, "answers")) > 0);
    for (const label of ["p50", "p99", "loop lag"]) await until(label, async () => /^\d[\d.]* (µs|ms|s)$|^longer$/.test(await rate(page, label)));
    await until("bars", () => page.locator(".rate canvas").first().evaluate((canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0)));
    await until("pairs", async () => (await rows(page)).length > 5);
    assert.ok((await rulesHeld(page)) > 10);
    let asked = 0;
    page.on("request", (request) => (asked += request.url().endsWith("/metrics")));
    await until("they are counted each second", () => asked > 1);
    await page.click("#tab-box");
    await shown(page, 2); // one that was under way
    asked = 0;
    await shown(page, 40);
    assert.equal(asked, 0);
    await live.stop();
    await close();
});

await runAll(blind);
