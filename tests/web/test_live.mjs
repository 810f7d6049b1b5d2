#!/usr/bin/env node
// A scene that moves 20 times a second, as games move theirs: what is pressed, asked and changed in it.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { intercept, test, until } from "./harness.mjs";
import { blind, makeLive, showBlind, shown } from "./live.mjs";
import { arrived, ask, blur, CUBE, daemon, drawn, field, found, frontOf, makeScene, module, pixels, random, revision, runAll, select, selected, show, SQUARE } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };

/** Presses a row like a hand, for a tenth of a second at least, and until the page has shown two more states. Gives the name on the row. */
async function press(page, row) {
    const { x, y, width, height } = await row.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.down();
    const name = await page.textContent("button:active .name, .item:active .name");
    await Promise.all([shown(page, 2), new Promise((resolve) => setTimeout(resolve, 100))]);
    await page.mouse.up();
    return name;
}

test("rows are pressed while all moves, 20 and 60 times a second: of the list, of what is found, of what a box collides with", async () => {
    for (const hz of [20, 60]) {
        const live = await makeLive({}, { everyMs: 1000 / hz });
        const { page, close } = await showBlind(live.scene);
        const title = (selector, text) => until(text, async () => (await page.textContent(selector)) === text);
        for (let i = 0; i < 12; i++) await title("#box-form h2", await press(page, page.locator(".item").nth(1 + i)));
        await ask(page, 3, { Center: [24, 1, 12], Radius: [90] });
        await until("found boxes", async () => (await found(page)).length > 100);
        for (let i = 0; i < 8; i++) await title("#box-form h2", await press(page, page.locator("#probe-out .found button").nth(i)));
        await page.click("#tab-box");
        for (let i = 0; i < 8; i++) {
            await page.locator("#list").evaluate((list) => (list.scrollTop = 0));
            await title("#box-form h2", await press(page, page.locator(".item").first()));
            await page.waitForSelector('#relations [aria-label="What floor collides with"]');
            await title("#relations .sub", `floor and ${await press(page, page.locator("#relations .found button").nth(2 * i))}`);
        }
        await live.stop();
        await close();
    }
});

test("how fast the scene changes is said beside its revision, and no longer when it stands still; a screen reader is told neither", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    const pace = () => page.textContent("#pace");
    // a busy machine commits less often; a page that catches up hears of more at first
    await until("a rate", async () => {
        const [, rate] = /^(\d+)\/s$/.exec(await pace()) ?? [];
        return rate >= 1 && rate <= 25;
    });
    // the revision changes all the time, and a screen reader speaks what changes in a status
    await page.evaluate(() => {
        globalThis.spoken = globalThis.unspoken = 0;
        const count = (records) => {
            for (const { target } of records) (target.parentElement ?? target).closest("[role=status], [aria-live]") ? globalThis.spoken++ : globalThis.unspoken++;
        };
        new MutationObserver(count).observe(document.querySelector("header"), { subtree: true, childList: true, characterData: true });
    });
    const changes = () => page.evaluate(() => [globalThis.spoken, globalThis.unspoken]);
    await until("ten changes", async () => (await changes())[1] >= 10);
    assert.equal((await changes())[0], 0);
    await page.fill("#search", "moving-7");
    const row = page.locator(".item", { hasText: /^moving-7(?!\d)/ });
    await until("the row in words", async () => /^moving-7 overlapping, contacts: \d+$/.test(await row.evaluate((one) => [...one.children].map((part) => part.ariaHidden === "true" ? "" : part.textContent).filter(Boolean).join(" "))));
    await blur(page);
    await page.keyboard.press("[");
    await until("the past, which does not move", async () => (await page.textContent("#status-text")) === "past" && (await pace()) === "");
    await page.click("#now");
    await until("the rate again", async () => (await pace()) !== "");
    await live.stop();
    await until("none", async () => (await pace()) === "");
    await close();
});

test("the focus stays on a row while its list changes", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    await ask(page, 3, { Center: [24, 1, 12], Radius: [90] });
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

test("200 of 2,000 boxes that are put again and again: each is read by its name, all are listed once, and the last of it is shown", async () => {
    const names = Array.from({ length: 2000 }, (_, i) => `box-${i}`);
    const boxes = (count, tick, category) => Object.fromEntries(names.slice(0, count).map((name, i) => [name, { ...CUBE(3 * i, tick / 100), category }]));
    const scene = await makeScene(boxes(2000, 0, 1));
    const { page, close } = await showBlind(scene);
    await until("all boxes", async () => /^2,000 boxes/.test(await page.textContent("#list-sum")));
    const asked = { listings: 0, readings: 0 };
    page.on("request", (request) => {
        const path = new URL(request.url()).pathname;
        if (path.endsWith("/boxes")) asked.listings++;
        else if (path.includes("/boxes/")) asked.readings++;
    });
    for (let tick = 1; tick <= 40; tick++) {
        await daemon.commit(scene, { put: boxes(200, tick, tick === 40 ? 6 : 1) });
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await revision(page, 41);
    assert.equal(asked.listings, 0);
    assert.ok(asked.readings >= 200 && asked.readings < 200 * 40, `${asked.readings}`);
    for (const name of ["box-0", "box-77", "box-199"]) {
        await select(page, name);
        const { center, category } = await daemon.box(scene, name);
        const shown = await Promise.all(["Center y", "Category"].map((label) => page.locator("#box-form").getByLabel(label, { exact: true }).inputValue()));
        assert.deepEqual(shown.map(Number), [center[1], category]);
    }
    await daemon.commit(scene, { put: boxes(1000, 50, 3) }); // so many that a list is less
    await revision(page, 42);
    assert.equal(asked.listings, 1);
    await close();
});

test("a commit that puts many boxes: few are read at a time, each once, or all listed", async () => {
    const names = Array.from({ length: 6000 }, (_, i) => `box-${i}`);
    const boxes = (count, category) => {
        const some = names.slice(0, count);
        return Object.fromEntries(some.map((name, i) => [name, { ...CUBE(3 * i), category }]));
    };
    const scene = await makeScene(boxes(6000, 1));
    const { page, close } = await showBlind(scene, [/status of 503/]);
    await until("all boxes", async () => /^6,000 boxes/.test(await page.textContent("#list-sum")));
    const asked = { listings: 0, readings: 0, now: 0, most: 0 };
    page.on("request", (request) => {
        if (new URL(request.url()).pathname.endsWith("/boxes")) asked.listings++;
    });
    await intercept(page, `**/scenes/${scene}/boxes/*`, async (route) => {
        asked.most = Math.max(asked.most, ++asked.now);
        const refused = ++asked.readings === 100;
        const answer = refused ? { status: 503, body: "" } : { response: await route.fetch() };
        asked.now--;
        await route.fulfill(answer);
    });
    await daemon.commit(scene, { put: boxes(300, 6) });
    await revision(page, 2);
    assert.ok(asked.most > 1 && asked.most <= 32, `${asked.most} at a time`);
    assert.deepEqual([asked.readings, asked.listings], [301, 0]);
    const category = page.locator("#box-form").getByLabel("Category", { exact: true });
    for (const name of ["box-0", "box-99", "box-299"]) {
        await select(page, name);
        assert.equal(await category.inputValue(), "6");
    }
    await daemon.commit(scene, { put: boxes(600, 9) });
    await revision(page, 3);
    await select(page, "box-599");
    assert.equal(await category.inputValue(), "9");
    assert.deepEqual([asked.readings, asked.listings], [301, 1]);
    await close();
});

test("what is shown of a box that rests is written once, its name can be selected", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    await daemon.commit(live.scene, { put: { desk: CUBE(0, 50), cup: CUBE(1.5, 50) } });
    await select(page, "desk");
    const relations = () => page.textContent("#relations");
    await until("its partner", async () => /cup0\.5 deep/.test(await relations()));
    const name = await page.evaluateHandle(() => {
        globalThis.written = {};
        for (const selector of ["#relations", "#only", "#tab-box", "#box-form h2", ".tools"]) {
            const watch = (records) => {
                const what = records.map(({ type, attributeName }) => attributeName ?? type);
                globalThis.written[selector] = what;
            };
            const what = { subtree: true, childList: true, characterData: true, attributes: true };
            new MutationObserver(watch).observe(document.querySelector(selector), what);
        }
        const heading = document.querySelector("#box-form h2");
        getSelection().selectAllChildren(heading);
        return heading;
    });
    await shown(page, 20);
    assert.deepEqual(await page.evaluate(() => globalThis.written), {});
    assert.equal(await page.evaluate(() => getSelection().toString()), "desk");
    await name.dispose();
    // of two boxes of which one moves, the words stay that say the same
    await select(page, "desk", "moving-0");
    const value = await page.waitForSelector("#relations dd");
    assert.equal(await value.textContent(), "desk is separate from moving-0");
    await shown(page, 5);
    assert.ok(await value.evaluate((one) => one.isConnected));
    assert.equal(await page.locator("#relations[aria-live], #relations [aria-live]").count(), 0);
    await live.stop();
    await close();
});

test("what is refused in a field is said, data stays until another box is selected", async () => {
    const [a, b] = [{ ...CUBE(0), data: { hp: 100 } }, { ...CUBE(9), data: 7 }];
    const scene = await makeScene({ a, b, c: CUBE(20) });
    const { page, close } = await showBlind(scene);
    let revisions = 1;
    const goOn = async () => {
        await daemon.commit(scene, { pose: { c: { center: [20, ++revisions, 0] } } });
        await revision(page, revisions);
    };
    const input = (label) => page.locator("#box-form").getByLabel(label, { exact: true });
    const invalid = (label) => input(label).getAttribute("aria-invalid");
    const alert = () => page.locator("#box-form [role=alert]").textContent();
    await select(page, "a");
    const written = '{"hp": 100, "team": "red",}';
    await input("Data, as JSON").fill(written);
    await blur(page);
    await goOn();
    assert.equal(await input("Data, as JSON").inputValue(), written);
    assert.equal(await invalid("Data, as JSON"), "true");
    assert.match(await alert(), /^Data: this is not JSON\. .+/);
    await input("Data, as JSON").fill('{"hp":9}');
    await blur(page);
    await until("it is taken", async () => (await daemon.box(scene, "a")).data.hp === 9);
    revisions++;
    assert.deepEqual([await invalid("Data, as JSON"), await alert()], [null, ""]);
    await input("Data, as JSON").fill("{");
    await blur(page);
    await select(page, "b");
    assert.equal(await input("Data, as JSON").inputValue(), "7");
    assert.deepEqual([await invalid("Data, as JSON"), await alert()], [null, ""]);
    await input("Center x").fill("1,5");
    await page.keyboard.press("Enter");
    await goOn();
    await goOn();
    assert.equal(await input("Center x").inputValue(), "1,5");
    assert.equal(await invalid("Center x"), "true");
    assert.equal(await alert(), "Center: “1,5” is not a number.");
    await blur(page);
    assert.equal(await input("Center x").inputValue(), "9");
    assert.equal(await invalid("Center x"), null);
    await field(page, "Center x", 8);
    await until("it is taken", async () => (await daemon.box(scene, "b")).center[0] === 8);
    assert.equal(await alert(), "");
    await close();
});

test("Escape leaves a field as it was, and what was taken before stays", async () => {
    const scene = await makeScene({ a: { ...CUBE(0), data: { hp: 100 } }, b: CUBE(9) });
    const { page, close } = await showBlind(scene);
    const leave = async (form, label, value, before) => {
        const input = page.locator(form).getByLabel(label, { exact: true });
        await input.fill(value);
        await page.keyboard.press("Escape");
        assert.equal(await page.evaluate(() => document.activeElement.tagName), "BODY");
        assert.equal(await input.inputValue(), before, label);
    };
    await select(page, "a");
    await leave("#box-form", "Center x", "55", "0");
    await leave("#box-form", "Entity", "bob", "");
    await leave("#box-form", "Data, as JSON", '{"hp":1}', '{"hp":100}');
    await field(page, "Center x", 3);
    await revision(page, 2); // of the one change that was meant
    await page.keyboard.press("Escape");
    await select(page, "a", "b");
    await leave("#several-form", "Move by y", "4", "0");
    await field(page, "Move by y", 1, "#several-form");
    await revision(page, 3);
    const boxes = await Promise.all(["a", "b"].map((name) => daemon.box(scene, name)));
    assert.deepEqual(boxes.map(({ center }) => center), [[3, 1, 0], [9, 1, 0]]);
    assert.deepEqual([boxes[0].entity, boxes[0].data], [undefined, { hp: 100 }]);
    await close();
});

test("50 edits while all moves 20 and 60 times a second: none is refused, each changes what it says and nothing else, and undo takes that back", async () => {
    for (const hz of [20, 60]) {
        const live = await makeLive({}, { everyMs: 1000 / hz });
        const { page, close } = await showBlind(live.scene);
        let edits = 0;
        const holds = async (name, what) => {
            await until(`edit ${++edits}, of ${name}`, async () => what(await daemon.box(live.scene, name)));
            assert.ok(await page.isHidden("#message"), await page.textContent("#message-text"));
        };
        const undo = async () => {
            await blur(page);
            await page.keyboard.press("Control+z");
        };
        await select(page, "still-3");
        for (let i = 1; i <= 8; i++) {
            await field(page, "Center y", 1 + i / 10);
            await holds("still-3", ({ center }) => isDeepStrictEqual(center, [12, 1 + i / 10, 60]));
        }
        for (let i = 7; i >= 0; i--) {
            await undo();
            await holds("still-3", ({ center }) => isDeepStrictEqual(center, [12, i === 0 ? 1 : 1 + i / 10, 60]));
        }
        await select(page, "moving-77");
        for (let i = 1; i <= 8; i++) {
            await field(page, "Category", i + 1);
            await holds("moving-77", ({ category }) => category === i + 1);
            await field(page, "Half size y", 1 + i / 10);
            await holds("moving-77", ({ half_extents, category }) => isDeepStrictEqual(half_extents, [0.8, 1 + i / 10, 0.8]) && category === i + 1);
        }
        const before = (await daemon.box(live.scene, "moving-77")).center;
        await undo();
        await holds("moving-77", ({ half_extents }) => half_extents[1] === 1.7);
        await until("it still moves", async () => !isDeepStrictEqual((await daemon.box(live.scene, "moving-77")).center, before));
        for (let i = 0; i < 5; i++) {
            await field(page, "Center y", 20 + i); // the next pose moves it again
            edits++;
            await until("the answer", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
            assert.ok(await page.isHidden("#message"), await page.textContent("#message-text"));
        }
        await select(page, "still-4", "moving-5");
        for (let i = 1; i <= 6; i++) {
            await field(page, "Move by x", 1, "#several-form");
            await holds("still-4", ({ center }) => center[0] === 16 + i);
        }
        await field(page, "Scale by", 2, "#several-form");
        await holds("moving-5", ({ half_extents }) => isDeepStrictEqual(half_extents, [1.6, 1.6, 1.6]));
        for (let i = 5; i >= 0; i--) {
            await undo();
            await holds("still-4", ({ center, half_extents }) => half_extents[0] === 1 && Math.abs(center[0] - 17 - i) < 1e-9);
        }
        assert.ok(edits >= 50, String(edits));
        await live.stop();
        await close();
    }
});

test("boxes that are deleted and put back while all moves stand where they stood, again and again", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene, [/status of 404/]); // a box that is gone again when it is read
    const top = async () => (await page.locator(".item .name").allTextContents()).slice(0, 8).join();
    const click = (command) => page.locator(`header [data-command=${command}]`).click({ delay: 100 });
    await page.locator("#list").evaluate((list) => (list.scrollTop = 0));
    const before = await top();
    assert.match(before, /^floor,still-0,still-1,still-2,/);
    await page.locator(".item").nth(0).click({ delay: 100 });
    await page.locator(".item").nth(2).click({ delay: 100, modifiers: ["Control"] });
    const ids = new Set();
    for (let i = 0; i < 3; i++) {
        await click(i === 0 ? "delete" : "redo");
        await until("two less", async () => /^still-0,still-2,/.test(await top()));
        await click("undo");
        await until("they are back", async () => (await top()) === before);
        ids.add((await daemon.box(live.scene, "floor")).id);
    }
    assert.equal(ids.size, 3); // each is another one for the daemon
    await daemon.commit(live.scene, { remove: ["floor"] });
    await until("it is gone", async () => /^still-0,/.test(await top()));
    await daemon.commit(live.scene, { put: { floor: CUBE(0, -9) } });
    await until("all boxes", async () => /^213 boxes/.test(await page.textContent("#list-sum")));
    assert.match(await top(), /^still-0,/); // which somebody else has made anew
    await live.stop();
    await close();
});

test("a field that is being edited is left alone, and what somebody else did to it is said by name", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    await select(page, "still-5");
    const center = page.locator("#box-form").getByLabel("Center y", { exact: true });
    await center.focus();
    await daemon.commit(live.scene, { pose: { "still-5": { center: [20, 9, 60] } }, put: { "still-6": { ...CUBE(24, 1, 60), category: 4 } } });
    await shown(page, 2);
    assert.equal(await center.inputValue(), "1");
    await center.fill("3");
    await shown(page, 2);
    assert.equal(await center.inputValue(), "3");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#message");
    assert.equal(await page.textContent("#message-text"), "Not done: center of still-5. Somebody else has moved still-5 meanwhile.");
    assert.deepEqual((await daemon.box(live.scene, "still-5")).center, [20, 9, 60]);
    await page.click("#message-close");
    await blur(page);
    await until("what it is", async () => (await center.inputValue()) === "9");
    // what two people change of one box beside each other stays
    await select(page, "still-6");
    await page.locator("#box-form").getByLabel("Group", { exact: true }).focus();
    await daemon.call("PATCH", `/v1/scenes/${live.scene}/boxes/still-6`, { category: 8 });
    await field(page, "Group", 7);
    await until("both", async () => {
        const { category, group } = await daemon.box(live.scene, "still-6");
        return category === 8 && group === 7;
    });
    assert.ok(await page.isHidden("#message"));
    await live.stop();
    await close();
});

test("what was followed looks as what is loaded anew, and poses come with the events", async () => {
    for (const flat of [false, true]) {
        const boxes = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`box-${i}`, flat ? SQUARE(3 * (i % 6), 3 * Math.floor(i / 6)) : CUBE(3 * (i % 6), 3 * Math.floor(i / 6))]));
        const scene = await makeScene(boxes, { dimensions: flat ? 2 : 3 });
        const { page, close } = await show(scene, SMALL);
        const bodies = [];
        page.on("request", (request) => request.url().endsWith("/query/pairs") && bodies.push(request.postData()));
        let lists = 0;
        page.on("request", (request) => request.url().includes("/boxes") && lists++);
        const place = (i, tick) => [3 * (i % 6) + Math.sin(i + tick), 3 * Math.floor(i / 6) + Math.cos(i * tick), ...(flat ? [] : [tick / 4])];
        for (let tick = 1; tick <= 12; tick++) {
            const some = Object.keys(boxes).filter((_, i) => (i + tick) % 3 > 0); // also those at the ends of the scene
            const pose = Object.fromEntries(some.map((name) => [name, { center: place(Number(name.slice(4)), tick), ...(flat ? { angle: 7 * tick } : { rotation: [0, 0, tick, 9] }) }]));
            await daemon.commit(scene, { pose });
            await revision(page, 1 + tick);
        }
        assert.ok(bodies.some((body) => body.includes("relation")) && !bodies.some((body) => body.includes("pose")), bodies.join("\n"));
        assert.equal(lists, 0);
        await daemon.commit(scene, { remove: ["box-7"], put: { new: { ...boxes["box-3"], category: 5 } } });
        await revision(page, 14);
        const look = async (page) => {
            await page.keyboard.press("f");
            await page.mouse.move(2, 2);
            await drawn(page);
            return [await page.textContent("#list-sum"), await page.locator(".item").allTextContents(), (await page.locator("#view canvas").screenshot()).toString("base64")];
        };
        const seen = await look(page);
        assert.match(seen[0], /^30 boxes, pairs: [1-9]/);
        const fresh = await show(scene, SMALL);
        await revision(fresh.page, 14);
        assert.deepEqual(await look(fresh.page), seen);
        await fresh.close();
        await close();
    }
});

test("a ray hits what it is aimed at, ten of ten, while all moves 20 and 60 times a second, and leaves out what it starts on", async () => {
    const targets = { top: CUBE(24, 12, 12) };
    for (let i = 0; i < 10; i++) {
        const [x, y, z, w] = [Math.sin(i + 1), Math.sin(3 * i + 2), Math.cos(2 * i), 1.5];
        targets[`target-${i}`] = { center: [1 + 5 * i, 5.3, 40 - 3 * i], half_extents: [0.7, 0.9, 0.5], rotation: [x, y, z, w] };
    }
    for (const hz of [20, 60]) {
        const live = await makeLive(targets, { everyMs: 1000 / hz });
        const { page, close } = await show(live.scene, SMALL);
        await page.keyboard.press("3");
        const { at, inView } = await frontOf(page, [24, 5.5], [30, 7.5]); // the floor and the cube on top say how far it reaches
        const click = ({ x, y }) => page.mouse.click(x, y);
        await page.keyboard.press("Alt+1");
        await page.selectOption("#probe-mode", "all");
        for (let i = 0; i < 10; i++) {
            await click(at(-4, 9)); // in the open
            await until("the first click is taken", async () => /aimed at/.test(await page.textContent("#probe-out")));
            assert.deepEqual(await found(page), []);
            await click(at(1 + 5 * i + 0.2, 5.3 - 0.1));
            await until(`target-${i}`, async () => (await found(page)).includes(`target-${i}`));
        }
        assert.equal(await page.inputValue("#probe-except"), "");
        await page.selectOption("#probe-mode", "closest");
        await click(at(14, -1));
        await until("what it starts on", async () => (await page.inputValue("#probe-except")) === "floor");
        await page.mouse.move(at(40, 9).x, at(40, 9).y);
        await drawn(page); // the line follows with the next frame
        await until("the line to the pointer", async () => {
            const { ask } = await pixels(page);
            return Math.abs(ask.left - inView(14, -1).x) < 7 && Math.abs(ask.right - inView(40, 9).x) < 7;
        });
        await click(at(16, 5.3));
        await until("the target alone", async () => (await found(page)).join() === "target-3");
        const request = await page.locator("#probe-out pre").first().textContent();
        assert.match(request, /"direction":/);
        assert.ok(!/max_distance|"to":/.test(request), request);
        assert.match(request, /"filter":\{"exclude":\["floor"\]\}/);
        await page.selectOption("#probe-reach", "to");
        await until("a ray that ends there", async () => /"to":/.test(await page.locator("#probe-out pre").first().textContent()));
        await live.stop();
        await close();
    }
});

test("a box that stands in a frame is changed in it, removed from it and put back into it", async () => {
    const scene = await makeScene({});
    const quarter = [0, Math.SQRT1_2, 0, Math.SQRT1_2];
    await daemon.commit(scene, { frames: { car: { center: [10, 0, 0], rotation: quarter } }, put: { wheel: { ...CUBE(2, 1, 0), frame: "car" } } });
    const { page, close } = await showBlind(scene);
    const stands = (center, local) =>
        until(`wheel at ${center}`, async () => {
            const box = await daemon.box(scene, "wheel");
            const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 1e-9);
            return box?.frame === "car" && near(box.center, center) && near(box.local.center, local) && near(box.rotation, quarter);
        });
    await stands([10, 1, -2], [2, 1, 0]);
    await select(page, "wheel");
    await field(page, "Center x", 13);
    await stands([13, 1, -2], [2, 1, 3]);
    await blur(page);
    await page.keyboard.press("Delete");
    await until("none", async () => !(await daemon.box(scene, "wheel")));
    await page.keyboard.press("Control+z");
    await stands([13, 1, -2], [2, 1, 3]);
    await page.keyboard.press("Control+z");
    await stands([10, 1, -2], [2, 1, 0]);
    await close();
});

test("boxes go with a frame that moves again and again: few are read, all is known", async () => {
    const scene = await makeScene({});
    const put = {};
    for (let i = 0; i < 15; i++) put[`wheel-${i}`] = { ...CUBE(0, 3 * i), frame: "car" };
    await daemon.commit(scene, { frames: { car: { center: [0, 0, 0] } }, put });
    const { page, close } = await showBlind(scene);
    await until("all boxes", async () => /^15 boxes/.test(await page.textContent("#list-sum")));
    let readings = 0;
    page.on("request", (request) => {
        if (!request.url().endsWith("/query/pairs")) return;
        if (JSON.parse(request.postData()).want.join() === "pose") readings++;
    });
    for (let i = 1; i <= 40; i++) {
        const frames = { car: { center: [i, 0, 0] } };
        // at last a box goes through its frame as well, of which the event does not tell
        const pose = i === 40 ? { "wheel-1": { center: [0, 3, 5] } } : {};
        await daemon.commit(scene, { frames, pose });
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await revision(page, 41);
    assert.ok(readings > 0 && readings < 20, `${readings} readings`);
    await select(page, "wheel-1");
    const x = page.locator("#box-form").getByLabel("Center x", { exact: true });
    assert.equal(await x.inputValue(), "40");
    await field(page, "Center x", 42);
    await until("in its frame", async () => {
        const { center, local } = await daemon.box(scene, "wheel-1");
        return center.join() === "42,3,5" && local.center.join() === "2,3,5";
    });
    await close();
});

test("what is undone of a box in a frame that goes on leaves it at its place in the frame", async () => {
    const scene = await makeScene({});
    await daemon.commit(scene, { frames: { car: { center: [0, 0, 0] } }, put: { seat: { ...CUBE(1), frame: "car" } } });
    const { page, close } = await showBlind(scene);
    const drive = async (from, to, ms) => {
        for (let x = from; x <= to; x++) {
            await daemon.commit(scene, { frames: { car: { center: [x, 0, 0] } } });
            await new Promise((resolve) => setTimeout(resolve, ms));
        }
        await arrived(page, scene);
    };
    const stands = (place) => until(`the seat at ${place}`, async () => Math.abs((await daemon.box(scene, "seat")).local.center[0] - place) < 1e-9);
    await select(page, "seat");
    await field(page, "Center x", 1.5);
    await stands(1.5);
    await blur(page);
    await drive(1, 10, 50); // it moves all the time
    await page.keyboard.press("Control+z");
    await stands(1);
    await drive(11, 20, 50);
    await page.keyboard.press("Control+y");
    await stands(1.5);
    await new Promise((resolve) => setTimeout(resolve, 1100)); // it stands again
    await drive(30, 30, 0);
    await page.keyboard.press("Control+z");
    await stands(1);
    assert.ok(await page.isHidden("#message"), "that the frame moved is nobody's change of the seat");
    await daemon.commit(scene, { pose: { seat: { center: [4, 0, 0] } } });
    await arrived(page, scene);
    await page.keyboard.press("Control+y");
    await page.waitForSelector("#message");
    assert.match(await page.textContent("#message-text"), /moved seat/);
    await page.click("#message-again");
    await stands(1.5);
    assert.equal((await daemon.box(scene, "seat")).center[0], 31.5);
    await daemon.commit(scene, { put: { seat: CUBE(60) } }); // which takes it out of the frame
    await arrived(page, scene);
    await page.keyboard.press("Control+z");
    await page.waitForSelector("#message");
    await page.click("#message-again");
    await until("it is back in its frame", async () => (await daemon.box(scene, "seat")).frame === "car");
    await stands(1);
    await close();
});

test("a copy of a box in a frame stands in it as well, also where that is turned", async () => {
    const scene = await makeScene({ beside: CUBE(40) });
    const rotation = [0, 0, Math.SQRT1_2, Math.SQRT1_2]; // by 90 degrees
    const frames = { car: { center: [10, 0, 0], rotation } };
    const wheel = { center: [2, 1, 0], half_extents: [1, 2, 3], frame: "car" };
    await daemon.commit(scene, { frames, put: { "wheel-1": wheel } });
    const { page, close } = await showBlind(scene);
    await select(page, "wheel-1", "beside");
    await page.keyboard.press("d");
    const copy = await until("the copy", () => daemon.box(scene, "wheel-2"));
    assert.equal(copy.frame, "car");
    const apart = (a, b) => Math.hypot(...a.map((value, i) => value - b[i]));
    assert.ok(apart(copy.center, [11, 2, 0]) < 1e-9, `the scene has it at ${copy.center}`);
    const { center } = copy.local;
    assert.ok(apart(center, [2, -1, 0]) < 1e-9, `the frame has it at ${center}`);
    assert.equal((await daemon.box(scene, "beside-1")).frame, undefined);
    await until("both are selected", async () => (await selected(page)).join() === "wheel-2,beside-1");
    await daemon.commit(scene, { frames: { car: { center: [30, 0, 0], rotation } } });
    await arrived(page, scene);
    await page.keyboard.press("Control+z");
    await until("no copy", async () => (await daemon.box(scene, "wheel-2")) === null);
    await page.keyboard.press("Control+y");
    const again = await until("the copy again", () => daemon.box(scene, "wheel-2"));
    assert.ok(apart(again.center, [31, 2, 0]) < 1e-9, `it went with the frame to ${again.center}`);
    await close();
});

test("a change of a box in a frame says its place in the frame, of the components that change there alone", async () => {
    const { alteration, alteredFields, clash, inFrame, reversed } = await module("change");
    const next = random(3);
    const number = () => 20 * next() - 10;
    const quaternion = () => {
        const q = [number(), number(), number(), number()];
        return q.map((value) => value / Math.hypot(...q));
    };
    const times = ([a, b, c, d], [x, y, z, w]) => [d * x + a * w + b * z - c * y, d * y - a * z + b * w + c * x, d * z + a * y - b * x + c * w, d * w - a * x - b * y - c * z];
    const turn = (q, [x, y, z]) => times(times(q, [x, y, z, 0]), [-q[0], -q[1], -q[2], q[3]]).slice(0, 3);
    const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 1e-9);
    /** A seat of that place in a car that stands there. */
    const seat = ({ at, turned }, center, rotation) => ({
        name: "seat", id: 1, half_extents: [1, 1, 1], category: 1, mask: 1, group: 0, frame: "car", local: { center, rotation },
        center: turn(turned, center).map((value, i) => value + at[i]), rotation: times(turned, rotation),
    });
    const frame = () => ({ at: [number(), number(), number()], turned: quaternion() });
    for (let round = 0; round < 200; round++) {
        const [here, there] = [frame(), frame()];
        const [place, rotation, other] = [[number(), number(), number()], quaternion(), quaternion()];
        const before = seat(here, place, rotation);
        const goal = seat(here, [number(), number(), number()], other);
        const change = alteration(before, inFrame(before, { center: goal.center, rotation: goal.rotation }));
        assert.ok(near(change.becomes.center, goal.local.center));
        const later = seat(there, change.becomes.center, change.becomes.rotation);
        assert.equal(clash(reversed(change), "seat", later, {}, false), null); // wherever the frame is now
        assert.deepEqual(alteredFields(later, reversed(change)), { center: place, rotation });
        assert.equal(clash(reversed(change), "seat", seat(there, place.map((value) => value + 30), rotation), {}, false), "moved seat");
        const along = alteration(before, inFrame(before, { center: before.center.map((value, i) => value + turn(here.turned, [2, 0, 0])[i]) }));
        const shifted = alteredFields(seat(there, [place[0], 70, 80], rotation), along); // whose y and z somebody else has changed
        assert.ok(near(shifted.center, [place[0] + 2, 70, 80]), String(shifted.center));
        await new Promise(setImmediate);
    }
});

await runAll(blind);
