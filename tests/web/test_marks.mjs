#!/usr/bin/env node
// What questions draw into the scene: where it lies in the picture is compared with what the API answers.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { intercept, test, until } from "./harness.mjs";
import { ask, blur, CUBE, daemon, drag, exchange, found, frontOf, makeScene, pixels, revision, runAll, select, show } from "./words.mjs";

const PX = 7; // half of what a point, a line or the head of an arrow may stand out

/** Front view of a scene whose middle is (0, 0) and which reaches so far. */
async function front(put, reach, settings) {
    const scene = await makeScene(put, settings);
    const { page, close } = await show(scene);
    await page.keyboard.press("3");
    const { at, inView } = await frontOf(page, [0, 0], reach);
    /** Does the colour fill the rectangle between two points of the scene, and nothing beside it? */
    const fills = async (colour, a, b) => {
        const seen = (await pixels(page))[colour];
        const [p, q] = [inView(...a), inView(...b)];
        const wanted = [Math.min(p.x, q.x), Math.max(p.x, q.x), Math.min(p.y, q.y), Math.max(p.y, q.y)];
        const is = [seen.left, seen.right, seen.top, seen.bottom];
        assert.ok(
            seen.count > 5 && is.every((value, i) => Math.abs(value - wanted[i]) < PX),
            `${colour}: ${seen.count} pixels, left right top bottom ${is.map(Math.round)}, wanted ${wanted.map(Math.round)}`,
        );
    };
    const same = async (panel) => {
        const { shown, heard } = await exchange(page, panel);
        assert.deepEqual(shown, heard);
        return heard.results[0];
    };
    return { page, close, at, fills, same };
}

test("two boxes that overlap: the move that parts them is an arrow", async () => {
    const { page, close, fills, same } = await front({ a: CUBE(-3), b: CUBE(-1.5), far: CUBE(3) }, [4, 1]);
    await select(page, "a", "b");
    await until("the answer", async () => /a intersects b/.test(await page.textContent("#relations")));
    const { mtv, points } = await same("#relations");
    assert.deepEqual(mtv, { normal: [1, 0, 0], depth: 0.5 });
    const [x, y] = points[0]; // both have it, and it is drawn beside the arrow
    assert.ok(x <= -2 && x >= -2.5, String(x));
    await page.click("#tab-ask"); // without handles, which lie above
    await fills("ask", [x, y], [-1, 0]); // as far as the arrow from the middle of b; not in the green of the y handle
    await close();
});

test("what could not be asked of a box is said in place of what was told of another", async () => {
    const scene = await makeScene({ a: CUBE(-3), b: CUBE(-1.5), c: CUBE(3), d: CUBE(4.5) });
    const { page, close } = await show(scene, { expected: [/status of 503/] });
    const relations = () => page.textContent("#relations");
    await select(page, "a", "b");
    await until("the answer", async () => /a intersects b/.test(await relations()));
    await page.click("#tab-ask"); // without handles
    assert.ok((await pixels(page)).ask.count > 5);
    const problem = { type: "/problems/limit", title: "full", status: 503, detail: "no room" };
    const answer = { contentType: "application/problem+json", body: JSON.stringify(problem) };
    await intercept(page, "**/query/pairs", (route) => route.fulfill({ status: 503, ...answer }));
    await select(page, "c");
    await until("why there is none", async () => (await relations()) === "no room");
    await page.click("#tab-ask");
    assert.equal((await pixels(page)).ask.count, 0);
    await page.unroute("**/query/pairs");
    await select(page, "d");
    await until("what it meets", async () => /Collides with 1.*c0\.5 deep/.test(await relations()));
    await close();
});

test("two boxes apart: the shortest way between them is a line, and the axis that parts them an arrow", async () => {
    const { page, close, at, fills, same } = await front({ a: CUBE(-3, -2), b: CUBE(3, 2) }, [4, 3]);
    await select(page, "a", "b");
    await until("the answer", async () => /a is separate from b/.test(await page.textContent("#relations")));
    const { distance, points, axis } = await same("#relations");
    assert.ok(Math.abs(distance - Math.hypot(4, 2)) < 1e-12);
    assert.match(await page.textContent("#relations"), /why nota\.x parts them by 4/);
    assert.deepEqual([axis.name, axis.gap], ["a.x", 4]);
    await page.click("#tab-ask");
    await fills("ask", points[0], points[1]);
    const { accent } = await pixels(page);
    const { x } = await page.locator("#view").boundingBox();
    assert.ok(accent.left < at(-2, 0).x - x + PX && accent.right > at(2, 0).x - x - PX, JSON.stringify(accent)); // along the axis
    await close();
});

test("a ray by two clicks: the arrow, its hits and their normals", async () => {
    const { page, close, at, same } = await front({ a: CUBE(-3), b: CUBE(3) }, [4, 1]);
    await page.keyboard.press("Alt+1");
    await page.mouse.click(at(0, 0.5).x, at(0, 0.5).y);
    await page.mouse.click(at(4.2, 0.5).x, at(4.2, 0.5).y);
    await until("the hit", async () => (await found(page)).join() === "b");
    const { hits } = await same("#probe-out");
    assert.deepEqual(hits[0].normal, [-1, 0, 0]);
    assert.ok(Math.abs(hits[0].point[0] - 2) < 1e-9 && Math.abs(hits[0].point[1] - 0.5) < 0.02, String(hits[0].point));
    const seen = await pixels(page);
    const { x } = await page.locator("#view").boundingBox();
    const [from, to, hit] = [0, 4.2, 2].map((px) => at(px, 0.5).x - x);
    assert.ok(Math.abs(seen.ask.left - from) < PX && Math.abs(seen.ask.right - to) < PX, JSON.stringify(seen.ask));
    assert.ok(seen.hit.left < hit && seen.hit.left > from, JSON.stringify(seen.hit)); // the normal points against the ray
    await close();
});

test("a sphere, a box and a point are drawn where they ask", async () => {
    const { page, close, fills, same } = await front({ a: CUBE(-3, -2), b: CUBE(3, 2) }, [4, 3]);
    await ask(page, 3, { Center: [-1, 0, 0], Radius: [1.3] });
    await until("nothing", async () => (await found(page)).length === 0);
    await same("#probe-out");
    await fills("ask", [-2.3, -1.3], [0.3, 1.3]);
    await ask(page, 4, { Center: [0, 0, 0], "Half size": [2.5, 1.5, 1] });
    await until("both", async () => (await found(page)).join() === "a,b");
    await same("#probe-out");
    await fills("ask", [-2.5, -1.5], [2.5, 1.5]);
    await ask(page, 2, { Point: [3, 2, 0] });
    await until("one", async () => (await found(page)).join() === "b");
    await fills("ask", [3, 2], [3, 2]);
    await close();
});

test("nearest boxes: lines from the point to them", async () => {
    const { page, close, fills, same } = await front({ a: CUBE(-3), b: CUBE(3) }, [4, 1]);
    await ask(page, 6, { Point: [-1, 0, 0], "How many": [2] });
    await until("both", async () => (await found(page)).join() === "a,b");
    const { boxes } = await same("#probe-out");
    assert.deepEqual(boxes.map(({ box, distance }) => [box, distance]), [["a", 1], ["b", 3]]);
    await fills("ask", [-2, 0], [2, 0]);
    await close();
});

test("nearest boxes to a point that is clicked on one: the others", async () => {
    const { page, close, at } = await front({ a: CUBE(-6), b: CUBE(0), c: CUBE(6) }, [7, 1]);
    await blur(page);
    await page.keyboard.press("Alt+6");
    const click = (x, y) => page.mouse.click(at(x, y).x, at(x, y).y);
    await click(0, 0);
    await until("the others", async () => (await page.inputValue("#probe-except")) === "b" && (await found(page)).join() === "a,c");
    await click(3, 0); // between b and c
    await until("all", async () => (await page.inputValue("#probe-except")) === "" && [...(await found(page))].sort().join() === "a,b,c");
    await close();
});

test("a sweep along a dragged path stops at its first contact", async () => {
    const { page, close, at, same } = await front({ mover: CUBE(-3, 0), wall: CUBE(3, 0) }, [4, 1]);
    await select(page, "mover");
    await page.keyboard.press("Alt+5");
    await drag(page, at(-3, 0), at(4, 0));
    await until("the contact", async () => (await found(page)).join() === "wall");
    // while the mouse moves, each step asks anew: the answer to the last one is meant
    await until("the answer for the whole path: faces are 4 apart", async () => {
        const { hits } = await same("#probe-out");
        const [motion] = await page.locator("#probe-form input").evaluateAll((inputs) => inputs.map((input) => Number(input.value)));
        return Math.abs(hits[0].fraction * motion - 4) < 1e-9;
    });
    const seen = await pixels(page);
    const { x } = await page.locator("#view").boundingBox();
    // the box stands at the wall, the path ends where it was let go
    assert.ok(Math.abs(seen.hit.left - (at(0, 0).x - x)) < PX, JSON.stringify(seen.hit));
    assert.ok(seen.ask.right > at(4, 0).x - x - PX, JSON.stringify(seen.ask));
    await close();
});

test("questions pass boxes by that the filter leaves out", async () => {
    const boxes = { a: { ...CUBE(-3), category: 2 }, b: { ...CUBE(0), category: 4, mask: 1 }, c: { ...CUBE(3), category: 4, mask: 2 } };
    const { page, close, same } = await front(boxes, [4, 1]);
    await ask(page, 1, { From: [-9, 0, 0], To: [9, 0, 0] });
    await page.selectOption("#probe-mode", "all");
    await until("all", async () => (await found(page)).join() === "a,b,c");
    await page.click("#panel-ask summary:text-is('Filter')");
    const set = async (id, value) => {
        await page.fill(id, value);
        await page.keyboard.press("Enter");
    };
    await set("#filter-mask", "4");
    await until("those of a category", async () => (await found(page)).join() === "b,c");
    await set("#filter-category", "0x2");
    await until("those whose masks allow it", async () => (await found(page)).join() === "c");
    await same("#probe-out");
    await set("#filter-mask", "");
    await set("#filter-category", "");
    await set("#filter-prefix", "a");
    await until("those of a prefix", async () => (await found(page)).join() === "a");
    await set("#filter-mask", "much");
    assert.equal(await page.getAttribute("#filter-mask", "aria-invalid"), "true");
    await close();
});

test("fields that hold no number or no set of categories are not asked by, but named", async () => {
    const scene = await makeScene({ a: CUBE(0), b: { ...CUBE(3), category: 2 } });
    const { page, close } = await show(scene);
    const asked = [];
    page.on("request", (request) => {
        if (request.url().endsWith("/query/overlap")) asked.push(request.postData());
    });
    const out = page.locator("#probe-out");
    const set = async (input, value) => {
        await input.fill(value);
        await page.keyboard.press("Enter");
    };
    const says = (text) => until(text, async () => (await out.textContent()) === text);
    await ask(page, 3, { Center: [0, 0, 0], Radius: [5] });
    await until("both", async () => (await found(page)).join() === "a,b");
    const radius = page.locator("#probe-form").getByLabel("Radius");
    const questions = asked.length;
    await set(radius, "1,5");
    await says("Radius: “1,5” is not a number.");
    await page.click("#probe-ask");
    await daemon.commit(scene, { put: { c: CUBE(30) } }); // which has it asked again
    await revision(page, 2);
    await says("Radius: “1,5” is not a number.");
    await set(radius, "1.5");
    await until("one", async () => (await found(page)).join() === "a");
    await set(radius, "5");
    await until("both", async () => (await found(page)).join() === "a,b");
    await page.click("#panel-ask summary:text-is('Filter')");
    for (const [id, label] of [["#filter-mask", "Mask"], ["#filter-category", "Category"]]) {
        const input = page.locator(id);
        for (const text of ["0x1g", "-1", "4294967296", "1.5"]) {
            await set(input, text);
            await says(`${label}: “${text}” is no set of categories, as 5 or 0x5 are.`);
            assert.equal(await input.getAttribute("aria-invalid"), "true");
        }
        await set(input, "");
        await until("both", async () => (await found(page)).join() === "a,b");
        assert.equal(await input.getAttribute("aria-invalid"), null);
    }
    await set(page.locator("#filter-mask"), "0x2");
    await until("one", async () => (await found(page)).join() === "b");
    const sent = asked.slice(questions).map((body) => JSON.parse(body));
    assert.deepEqual(sent.filter(({ filter }) => filter && filter.mask !== 2), []);
    await close();
});

/** Presses Copy, until its button has said that it did, which it says for a moment. */
async function copy(page) {
    const button = page.locator("#probe-out").getByRole("button", { name: "Copy" });
    const said = await button.evaluateHandle((element) => {
        const texts = [];
        new MutationObserver(() => texts.push(element.textContent)).observe(element, { childList: true });
        return texts;
    });
    await button.click();
    await until("that it is copied", () => said.evaluate((texts) => texts.includes("Copied")));
}

test("the request is copied as it is shown", async () => {
    const scene = await makeScene({ "it's": CUBE(0) });
    const { page, close } = await show(scene, { permissions: ["clipboard-read", "clipboard-write"] });
    await select(page, "it's");
    await ask(page, 5, { Motion: [1, 0, 0] });
    await page.locator("#probe-out summary").click();
    await copy(page);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(copied, await page.locator("#probe-out pre").first().textContent());
    const { results } = JSON.parse(execFileSync("sh", ["-c", copied], { encoding: "utf8" })); // a quote in a name is no end of the string
    assert.deepEqual(results, [{ hits: [] }]);
    await close();
});

test("the request is copied where the browser gives the page no clipboard", async () => {
    const { page, close } = await show("demo", { permissions: ["clipboard-read", "clipboard-write"] });
    await ask(page, 1);
    await page.evaluate(() => {
        globalThis.kept = navigator.clipboard;
        Object.defineProperty(navigator, "clipboard", { value: undefined });
    });
    await page.locator("#probe-out summary").click();
    await copy(page);
    assert.equal(await page.evaluate(() => globalThis.kept.readText()), await page.locator("#probe-out pre").first().textContent());
    await close();
});

await runAll();
