#!/usr/bin/env node
// Answers that come late: what events have told meanwhile stays, and so does what was asked for after them.
import assert from "node:assert/strict";
import { intercept, openPage, test, until } from "./harness.mjs";
import { blind, showBlind } from "./live.mjs";
import { CUBE, daemon, drawn, field, hold, makeScene, revision, runAll, select } from "./words.mjs";

const shows = (page, number) => until(`revision ${number}`, async () => (await page.textContent("#revision")) === `revision ${number}`);
const settled = (page) => until("that nothing is on its way", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
const value = (page, label) => page.locator("#box-form").getByLabel(label, { exact: true }).inputValue();
const names = (page) => page.locator(".item .name").allTextContents();

test("a box that somebody moved before an edit of it was answered is shown where it is", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "PATCH", "**/boxes/a");
    await field(page, "Center y", 3); // 2
    await asked;
    await daemon.commit(scene, { pose: { a: { center: [5, 3, 0] } } }); // 3
    await shows(page, 3);
    assert.equal(await value(page, "Center x"), "5");
    goOn();
    await settled(page);
    assert.deepEqual([await value(page, "Center x"), await value(page, "Center y")], ["5", "3"]);
    await close();
});

test("a box that somebody removed before an edit of it was answered is gone", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "PATCH", "**/boxes/a");
    await field(page, "Category", 4); // 2
    await asked;
    await daemon.commit(scene, { remove: ["a"] }); // 3
    await shows(page, 3);
    await until("one box", async () => (await names(page)).join() === "b");
    goOn();
    await settled(page);
    assert.deepEqual(await names(page), ["b"]);
    await close();
});

test("of several boxes that are changed together each is shown as it is, whoever changed it last", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9), c: CUBE(18) });
    const { page, close } = await showBlind(scene);
    await select(page, "a", "b", "c");
    const { asked, goOn } = await hold(page, "POST", "**/commit");
    await field(page, "Move by y", 2, "#several-form"); // 2
    await asked;
    await daemon.commit(scene, { pose: { a: { center: [1, 7, 0] } }, remove: ["b"] }); // 3
    await shows(page, 3);
    goOn();
    await settled(page);
    assert.deepEqual(await names(page), ["a", "c"]);
    await select(page, "a");
    assert.equal(await value(page, "Center y"), "7");
    await select(page, "c");
    assert.equal(await value(page, "Center y"), "2");
    await close();
});

test("boxes that were deleted here and put again by somebody before that was answered are there", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "POST", "**/commit");
    await page.keyboard.press("Delete"); // 2
    await asked;
    await daemon.commit(scene, { put: { a: CUBE(5) } }); // 3
    await shows(page, 3);
    await until("it is read", async () => (await names(page)).join() === "b,a");
    goOn();
    await settled(page);
    assert.deepEqual(await names(page), ["b", "a"]);
    await close();
});

test("an edit that is answered when another scene is open stays in its own, and what waited behind it is not done", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const next = await makeScene({ a: CUBE(50), c: CUBE(60) });
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "PATCH", "**/boxes/a");
    await field(page, "Center y", 3);
    await asked;
    await field(page, "Category", 4);
    await page.click(".tools [data-command=add]");
    await page.evaluate((name) => (location.hash = name), next);
    await until("its boxes", async () => (await names(page)).join() === "a,c");
    await page.waitForSelector("#status[data-state=live]");
    goOn();
    await settled(page);
    assert.deepEqual(await names(page), ["a", "c"]);
    await select(page, "a");
    assert.deepEqual([await value(page, "Center x"), await value(page, "Center y"), await value(page, "Category")], ["50", "0", "1"]);
    assert.ok(await page.isDisabled("#undo"));
    assert.equal(await page.textContent("#message-text"), `${scene}, category of a: Another scene was opened before it was done.`);
    const { center, category } = await daemon.box(scene, "a");
    assert.deepEqual([center, category], [[0, 3, 0], 1]);
    for (const name of [scene, next]) assert.equal(await daemon.box(name, "box-1"), null);
    assert.equal((await daemon.call("GET", `/v1/scenes/${next}`)).body.revision, 1);
    await close();
});

test("boxes that were deleted in a scene before another one was opened are not missing there", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const next = await makeScene({ a: CUBE(50), c: CUBE(60) });
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "POST", "**/commit");
    await page.keyboard.press("Delete");
    await asked;
    await page.evaluate((name) => (location.hash = name), next);
    await until("its boxes", async () => (await names(page)).join() === "a,c");
    await page.waitForSelector("#status[data-state=live]");
    goOn();
    await settled(page);
    assert.deepEqual(await names(page), ["a", "c"]);
    assert.ok(await page.isDisabled("#undo"));
    assert.ok(await page.isHidden("#message"));
    await close();
});

test("a box that was put, and posed while it was read, is both", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "GET", "**/boxes/a");
    await daemon.commit(scene, { put: { a: { ...CUBE(1), category: 4 } } }); // 2
    await asked;
    await daemon.commit(scene, { pose: { a: { center: [5, 0, 0] } } }); // 3
    await shows(page, 3);
    assert.equal(await value(page, "Center x"), "5"); // which came with the event
    goOn();
    await revision(page, 3);
    assert.deepEqual([await value(page, "Center x"), await value(page, "Category")], ["5", "4"]);
    await close();
});

test("a box that was put, and removed before the page could read it, is gone, and the others are read", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { page, close } = await showBlind(scene);
    await select(page, "b");
    const statuses = [];
    await intercept(page, "**/boxes/a", async (route) => {
        await daemon.commit(scene, { remove: ["a"] }); // 3
        const response = await route.fetch();
        statuses.push(response.status());
        await route.fulfill({ response });
    });
    await daemon.commit(scene, { put: { a: { ...CUBE(1), category: 4 }, b: { ...CUBE(9), category: 4 } } }); // 2
    await revision(page, 3);
    await until("the category of b", async () => (await value(page, "Category")) === "4");
    assert.deepEqual(await names(page), ["b"]);
    assert.deepEqual(statuses, [404]);
    await close();
});

test("a page that changes a box that is not there fails these tests, and one that reads it does not", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const { page, faults, close } = await showBlind(scene);
    for (const method of ["GET", "DELETE"]) await page.evaluate(([address, method]) => fetch(address, { method }), [`/v1/scenes/${scene}/boxes/none`, method]);
    await until("a fault", async () => faults.length > 0);
    assert.equal(faults.length, 1);
    assert.match(faults.pop(), /^DELETE: status of 404 /);
    await close();
});

test("a state of the past that is answered late does not take the place of one that was asked for after it", async () => {
    const scene = await makeScene({ a: CUBE(0) }, { history: { span: 10_000, commits: 100 } });
    for (let i = 1; i <= 3; i++) await daemon.commit(scene, { pose: { a: { center: [i, 0, 0] } } }); // 4
    const { page, close } = await showBlind(scene);
    await revision(page, 4);
    for (let i = 4; i <= 5; i++) await daemon.commit(scene, { pose: { a: { center: [i, 0, 0] } } }); // 6
    await revision(page, 6);
    await select(page, "a");
    const { asked, goOn } = await hold(page, "GET", "**/boxes?*");
    const over = Promise.race(["requestfinished", "requestfailed"].map((event) => page.waitForEvent(event, (request) => request.url().includes("at_revision=3"))));
    const at = async (number, x) => {
        await shows(page, number);
        assert.equal(await value(page, "Center x"), x);
    };
    await page.keyboard.press("["); // of 5 and 4 the page knows
    await page.keyboard.press("[");
    await at(4, "3");
    await page.keyboard.press("["); // of 3 it does not
    await asked;
    await page.keyboard.press("]");
    await at(5, "4");
    goOn();
    await over;
    await drawn(page);
    await at(5, "4");
    for (let i = 0; i < 2; i++) await page.keyboard.press("[");
    await at(3, "2"); // it is asked for once more
    assert.doesNotMatch(await page.textContent("#past-text"), /does not answer/);
    await close();
});

test("a state of the past that is on its way when another scene is opened is forgotten", async () => {
    const scene = await makeScene({ a: CUBE(0) }, { history: { span: 10_000, commits: 100 } });
    const next = await makeScene({ b: CUBE(0), c: CUBE(9) });
    for (let i = 1; i <= 3; i++) await daemon.commit(scene, { pose: { a: { center: [i, 0, 0] } } }); // 4
    const { page, close } = await showBlind(scene);
    await revision(page, 4);
    const { asked, goOn } = await hold(page, "GET", "**/boxes?*");
    await page.keyboard.press("[");
    await asked;
    await page.evaluate((name) => (location.hash = name), next);
    await until("its boxes", async () => (await names(page)).join() === "b,c");
    goOn();
    await revision(page, 1);
    assert.match(await page.textContent("#past-text"), /^now, /);
    await close();
});

test("a revision of which not all is told yet is not there yet", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { headers } = await daemon.call("GET", `/v1/scenes/${scene}`);
    const [, epoch] = /\.(\w+)"/.exec(headers.get("etag"));
    let goOn;
    const rest = new Promise((resolve) => (goOn = resolve));
    let streams = 0;
    const { page, close } = await openPage(blind, daemon.url, { expected: [/WebGL/] });
    await page.route("**/events?*", async (route) => {
        if (++streams > 1) return rest.then(() => route.continue());
        const message = (event, body, id) => `${id ? `id: ${id}\n` : ""}event: ${event}\ndata: ${JSON.stringify(body)}\n\n`;
        const body = message("state", { revision: 1, time: 0, pairs: [] }, `1.${epoch}`) + message("boxes", { revision: 2, time: 5, put: [], posed: [], removed: ["b"] });
        return route.fulfill({ contentType: "text/event-stream", body });
    });
    await page.goto(`${daemon.url}/#${scene}`);
    await until("one box", async () => (await names(page)).join() === "a");
    assert.equal(await page.textContent("#revision"), "revision 1");
    await daemon.commit(scene, { time: 5, remove: ["b"] });
    goOn(); // and it is told anew
    await revision(page, 2);
    assert.deepEqual(await names(page), ["a"]);
    await close();
});

await runAll(blind);
