#!/usr/bin/env node
// Streams that end, and a daemon that is not there: what the page says, and how it goes on.
import assert from "node:assert/strict";
import { openPage, startDaemon, test, until } from "./harness.mjs";
import { browser, CUBE, daemon, drawn, makeScene, revision, runAll, SHOTS, show } from "./words.mjs";

/** All that #notice has said. */
const listen = (page) =>
    page.addInitScript(() => {
        globalThis.notices = [];
        addEventListener("DOMContentLoaded", () => {
            const notice = document.querySelector("#notice");
            globalThis.notices.push(notice.textContent); // what the first requests come to is said before
            new MutationObserver(() => globalThis.notices.push(notice.textContent)).observe(notice, { childList: true });
        });
    });
const said = (page, what) => until(`the notice ${what}`, async () => (await page.evaluate(() => globalThis.notices)).some((text) => what.test(text)));

test("a daemon that shuts down says so, and the page waits for the next one", async () => {
    let other = await startDaemon();
    const opened = await openPage(browser, other.url, { expected: [/net::ERR_|status of 503/] });
    const { page } = opened;
    await listen(page);
    await page.goto(`${other.url}/#demo`);
    await page.waitForSelector("#status[data-state=live]");
    assert.equal(await other.stop(), 0);
    await page.waitForSelector("#status[data-state=lost]");
    await said(page, /shutting down/);
    await said(page, /does not answer/);
    await drawn(page);
    await page.screenshot({ path: `${SHOTS}lost-1440-light.png` });
    other = await startDaemon(other.port);
    await page.waitForSelector("#status[data-state=live]");
    await page.waitForSelector("#notice", { state: "hidden" });
    await revision(page, 1);
    await other.commit("demo", { remove: ["door"] });
    await revision(page, 2);
    await opened.close();
    assert.equal(await other.stop(), 0);
});

test("a scene that is put a while after its daemon has come back is waited for, and one that is deleted is not", async () => {
    let other = await startDaemon(0, []);
    await other.commit("match", { put: { a: CUBE(0) } });
    const opened = await openPage(browser, other.url, { expected: [/net::ERR_|status of (404|503)/] });
    const { page } = opened;
    await listen(page);
    await page.goto(`${other.url}/#match`);
    await page.waitForSelector("#status[data-state=live]");
    assert.equal(await other.stop(), 0);
    other = await startDaemon(other.port, []);
    await said(page, /does not have this scene now\. Trying again\./);
    assert.equal(await page.getAttribute("#status", "data-state"), "lost");
    await other.commit("match", { put: { b: CUBE(0), c: CUBE(9) } });
    await page.waitForSelector("#status[data-state=live]");
    await page.waitForSelector("#notice", { state: "hidden" });
    await until("its boxes", async () => (await page.locator(".item .name").allTextContents()).join() === "b,c");
    await other.commit("match", { remove: ["b"] });
    await revision(page, 2);
    assert.equal((await other.call("DELETE", "/v1/scenes/match")).status, 204);
    await page.waitForSelector("#status[data-state=gone]");
    await opened.close();
    assert.equal(await other.stop(), 0);
});

test("a client that was too slow catches up", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const opened = await openPage(browser, daemon.url);
    const { page } = opened;
    await listen(page);
    let streams = 0;
    await page.route("**/events?*", (route) => {
        if (++streams > 1) return route.continue();
        const body = 'id: 1\nevent: state\ndata: {"revision":1,"time":0,"pairs":[]}\n\nid: 1\nevent: overrun\ndata: {"revision":1,"time":0}\n\n';
        return route.fulfill({ contentType: "text/event-stream", body });
    });
    await page.goto(`${daemon.url}/#${scene}`);
    await said(page, /Catching up/);
    await page.waitForSelector("#status[data-state=live]");
    assert.ok(streams > 1);
    await daemon.commit(scene, { put: { b: CUBE(1) } });
    await until("both boxes", async () => (await page.textContent("#list-sum")) === "2 boxes, pairs: 1 overlap, 0 touch");
    await opened.close();
});

test("a page that gets no answer, for others hold all connections of the browser, says so and goes on when one is free", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const { page, close } = await show(scene);
    const others = await page.context().newPage();
    await others.goto(`${daemon.url}/healthz`);
    const held = await others.evaluate(async (path) => {
        globalThis.stop = new AbortController();
        const streams = [];
        while (streams.length < 5) streams.push(await fetch(path, { signal: globalThis.stop.signal, credentials: "omit" })); // as the page does: others have connections of their own
        return streams.length;
    }, `/v1/scenes/${scene}/events`);
    assert.equal(held, 5); // and the page has the sixth
    await page.click("#tab-ask");
    await page.click("#probe-ask");
    await until("the notice", async () => /has not answered for some seconds.*six connections/.test(await page.textContent("#notice")));
    await others.evaluate(() => globalThis.stop.abort());
    await page.waitForSelector("#notice", { state: "hidden" });
    await page.waitForSelector("#probe-out .sub");
    await close();
});

test("a scene that is deleted is gone, and another one can be chosen", async () => {
    const [scene, next] = [await makeScene({ a: CUBE(0) }), await makeScene({ b: CUBE(0), c: CUBE(9) })];
    const { page, close } = await show(scene);
    assert.equal((await daemon.call("DELETE", `/v1/scenes/${scene}`)).status, 204);
    await page.waitForSelector("#status[data-state=gone]");
    assert.match(await page.textContent("#notice"), /was deleted/);
    assert.ok(await page.locator(".tools [data-command=add]").isDisabled());
    await page.selectOption("#scene", next);
    await page.waitForSelector("#status[data-state=live]");
    await until("its boxes", async () => /^2 boxes/.test(await page.textContent("#list-sum")));
    await close();
});

for (const address of ["#demo", ""])
    test(`a daemon that does not answer at first is waited for, ${address ? "with a scene in the address" : "without one"}`, async () => {
        const opened = await openPage(browser, daemon.url, { expected: [/net::ERR_/] });
        const { page } = opened;
        await listen(page);
        let refusing = true;
        await page.route("**/v1/**", (route) => (refusing ? route.abort("connectionrefused") : route.continue()));
        await page.goto(`${daemon.url}/${address}`);
        await said(page, /does not answer\. Trying again\./);
        refusing = false;
        await page.waitForSelector("#status[data-state=live]");
        await page.waitForSelector("#notice", { state: "hidden" });
        await until("all boxes", async () => /^189 boxes/.test(await page.textContent("#list-sum")));
        await opened.close();
    });

for (const address of ["#demo", ""])
    test(`what the daemon refuses is said in sentences, at the address “${address}”`, async () => {
        const opened = await openPage(browser, daemon.url, { expected: [/status of 403/] });
        const { page } = opened;
        const problem = { type: "/problems/forbidden", title: "not allowed", status: 403 };
        const body = JSON.stringify({ ...problem, detail: "the token is not for this scene" });
        const refusal = { status: 403, contentType: "application/problem+json", body };
        await page.route("**/v1/**", (route) => route.fulfill(refusal));
        await page.goto(`${daemon.url}/${address}`);
        await page.waitForSelector("#status[data-state=lost]");
        const notice = await page.textContent("#notice");
        assert.equal(notice, "The token is not for this scene. Trying again.");
        await opened.close();
    });

await runAll();
