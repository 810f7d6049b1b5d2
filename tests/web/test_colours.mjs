#!/usr/bin/env node
// What colours mean, that they can be told apart with deuteranopia, and that what is found or selected shows in more than a colour.
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { test, until } from "./harness.mjs";
import { blind, showBlind } from "./live.mjs";
import { ask, blur, CUBE, daemon, drawn, found, frontOf, makeScene, pixels, revision, runAll, select, selected, show, SQUARE } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };
const KINDS = Array.from({ length: 8 }, (_, i) => `kind-${i}`);

// ---- Deuteranopia, after Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision Deficiency", 2009

const DEUTERANOPIA = [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
];
const linear = (hex) => [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16) / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
const seenBy = (matrix, rgb) => matrix.map((row) => Math.min(1, Math.max(0, row.reduce((sum, factor, i) => sum + factor * rgb[i], 0))));

function lab([r, g, b]) {
    const f = (t) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27 * t + 16) / 116);
    const [x, y, z] = [(0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, 0.2126 * r + 0.7152 * g + 0.0722 * b, (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089];
    return [116 * f(y) - 16, 500 * (f(x) - f(y)), 200 * (f(y) - f(z))];
}
const apart = (a, b) => Math.hypot(...lab(seenBy(DEUTERANOPIA, linear(a))).map((value, i) => value - lab(seenBy(DEUTERANOPIA, linear(b)))[i]));

/** Colours of the style sheet, as the page has them. */
const coloursOf = (page, names) =>
    page.evaluate((names) => {
        const style = getComputedStyle(document.documentElement);
        return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    }, names);

test("colours that differ in meaning differ for eyes with deuteranopia: by 15 of CIE 1976 at least, in light and dark", async () => {
    let compared = 0;
    for (const colorScheme of ["light", "dark"]) {
        const scene = await makeScene({ a: CUBE(0) });
        const { page, close } = await showBlind(scene, [], { colorScheme });
        for (const group of [["box", "box-touching", "box-colliding"], [...KINDS], ["least", "most"], ["hit", "box"], ["hit", "box-touching"], ["hit", "box-colliding"]]) {
            const colours = await coloursOf(page, group);
            for (const [i, a] of group.entries())
                for (const b of group.slice(i + 1)) {
                    const difference = apart(colours[a], colours[b]);
                    assert.ok(difference >= 15, `${colorScheme}: ${a} ${colours[a]} and ${b} ${colours[b]} are ${difference.toFixed(1)} apart`);
                    compared++;
                }
        }
        // from the least to the most it gets lighter or darker all the way, so that an order can be seen
        const { least, most } = await coloursOf(page, ["least", "most"]);
        assert.ok(Math.abs(lab(linear(least))[0] - lab(linear(most))[0]) > 40);
        await close();
    }
    assert.equal(compared, 2 * (3 + 28 + 1 + 3));
});

const choose = async (page, mode) => {
    await page.selectOption("#colours", mode);
    await drawn(page);
};

test("category, entity, depth and what changed lately are seen in the colours", async () => {
    const put = {
        one: { ...SQUARE(0), category: 1 },
        four: { ...SQUARE(4), category: 4 },
        six: { ...SQUARE(8), category: 6 },
        ann: { ...SQUARE(0, 4), entity: "ann", category: 64 },
        bob: { ...SQUARE(4, 4), entity: "bob", category: 64 },
        cut: { ...SQUARE(6.5, 0), category: 32 }, // half a unit deep in both of its neighbours
        dip: { ...SQUARE(1.9, 0), category: 32 },
    };
    const scene = await makeScene(put, { dimensions: 2 });
    const { page, close } = await show(scene, SMALL);
    const names = [...KINDS, "least", "most", "box"];
    await choose(page, "category");
    let seen = await pixels(page, "#view canvas", names);
    for (const [kind, boxes] of [[0, 1], [2, 1], [1, 1], [6, 2], [5, 2], [3, 0], [4, 0], [7, 0]])
        assert.equal(seen[`kind-${kind}`].count > 300, boxes > 0, `kind-${kind}: ${seen[`kind-${kind}`].count}`);
    await choose(page, "entity");
    seen = await pixels(page, "#view canvas", names);
    assert.equal(KINDS.filter((kind) => seen[kind].count > 300).length, 2); // ann and bob
    assert.ok(seen.box.count > 5 * 300); // those of none
    await choose(page, "depth");
    await until("the deepest", async () => {
        seen = await pixels(page, "#view canvas", names);
        return seen.most.count > 300;
    });
    assert.ok(seen.least.count > 2 * 300 && seen.least.count < seen.all / 2); // ann and bob
    assert.match(await page.textContent("#legend"), /0\.5 deep/);
    await choose(page, "changed");
    seen = await pixels(page, "#view canvas", names);
    assert.ok(seen.least.count > 1000);
    const before = seen.least.count;
    let going = true; // as long as it takes to be looked at
    const posing = (async () => {
        for (let i = 1; going; i++) {
            await daemon.commit(scene, { pose: { ann: { center: [0, 4 + (i % 2) / 2] } } });
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    })();
    try {
        await until("it stands out", async () => (await pixels(page, "#view canvas", names)).least.count < before - 300);
    } finally {
        going = false;
        await posing;
    }
    await until("it fades", async () => (await pixels(page, "#view canvas", names)).least.count > before - 300);
    await choose(page, "contact");
    seen = await pixels(page, "#view canvas", names);
    assert.ok(seen.box.count > 2 * 300);
    await page.keyboard.press("Escape");
    await blur(page);
    await page.keyboard.press("c");
    assert.equal(await page.inputValue("#colours"), "category");
    await close();
});

test("depths of the past are those of the state shown, or said to be unknown", async () => {
    const put = { a: SQUARE(0), b: SQUARE(1.5) };
    for (let i = 0; i < 1100; i++) put[`far-${i}`] = SQUARE(100 + 3 * i);
    const settings = { dimensions: 2, history: { span: 10_000, commits: 1 } };
    const scene = await makeScene(put, settings);
    const { page, close } = await show(scene, SMALL);
    const legend = (words) =>
        until(String(words), async () => words.test(await page.textContent("#legend")));
    await page.selectOption("#colours", "depth");
    await blur(page);
    await legend(/0\.5 deep/);
    await daemon.commit(scene, { pose: { b: { center: [1, 0] } } }); // 2
    await daemon.commit(scene, { pose: { b: { center: [0.5, 0] } } }); // 3
    await revision(page, 3);
    await legend(/1\.5 deep/);
    for (const deep of [/01 deep/, /0\.5 deep/]) {
        await page.keyboard.press("[");
        await legend(deep);
    }
    await page.click("#now");
    await legend(/1\.5 deep/);
    const pose = {};
    for (let i = 0; i < 1100; i++) pose[`far-${i}`] = { center: [100 + 3 * i, 1] };
    await daemon.commit(scene, { pose }); // 4
    await daemon.commit(scene, { pose: { b: { center: [0.6, 0] } } }); // 5
    await revision(page, 5);
    // more has changed since than can be asked about
    for (let i = 0; i < 3; i++) await page.keyboard.press("[");
    await legend(/depths are not known/);
    await page.click("#now");
    await legend(/1\.4 deep/);
    await close();
});

test("where there are more pairs than the page reads, the legend says how many it has read", async () => {
    const put = {};
    for (let i = 0; i < 201; i++) put[`box-${i}`] = SQUARE(i / 1000); // each overlaps each
    const scene = await makeScene(put, { dimensions: 2 });
    const { page, close } = await show(scene, SMALL);
    const legend = (words) =>
        until(String(words), async () => words.test(await page.textContent("#legend")));
    await page.selectOption("#colours", "depth");
    await legend(/only 20,000 of 20,100 pairs are coloured/);
    await daemon.commit(scene, { remove: ["box-0"] }); // 19,900
    await legend(/deep(?!.*pairs)/);
    await close();
});

test("what is found is striped, so that its own colour is seen too; what is selected and what it meets stands forth from the rest", async () => {
    const scene = await makeScene({ a: SQUARE(0), b: SQUARE(1.5), c: SQUARE(8), d: SQUARE(12) }, { dimensions: 2 });
    const { page, close } = await show(scene, SMALL);
    const before = await pixels(page);
    assert.equal(before.hit.count, 0);
    await ask(page, 2, { Point: [12.5, 0.5] });
    await until("d", async () => (await found(page)).join() === "d");
    const { hit, box } = await pixels(page);
    assert.ok(hit.count > before.box.count / 8 && hit.count < before.box.count / 3, `${hit.count} of ${before.box.count}`);
    assert.ok(box.count > before.box.count / 2 && box.count < before.box.count * 0.9, `${box.count} of ${before.box.count}`);
    await page.click("#tab-box");
    await select(page, "c");
    let seen = await pixels(page);
    assert.equal(seen["box-colliding"].count, 0); // a and b stand back
    assert.ok(seen.box.count > 0 && seen.box.count < before.box.count * 0.7);
    await select(page, "a");
    seen = await pixels(page);
    assert.equal(seen.box.count, 0);
    assert.ok(seen["box-colliding"].count > before["box-colliding"].count / 2); // a, and b which it meets
    await page.keyboard.press("Escape");
    await page.keyboard.press("Escape");
    await until("all as before", async () => isDeepStrictEqual(await pixels(page), before)); // an answer about a may be on its way
    await close();
});

test("only what touches or overlaps something is shown, and clicked, and that follows what moves", async () => {
    const scene = await makeScene({ a: SQUARE(0), b: SQUARE(1.5), c: SQUARE(8), d: SQUARE(12) }, { dimensions: 2 });
    const { page, close } = await show(scene, SMALL);
    const all = await pixels(page);
    assert.ok(all.box.count > 300 && all["box-colliding"].count > 300);
    await page.click("[data-command=only]");
    let seen = await pixels(page);
    assert.equal(seen.box.count, 0);
    assert.deepEqual(seen["box-colliding"], all["box-colliding"]);
    const { at, inView } = await frontOf(page, [6, 0], [7, 1]);
    await page.mouse.click(at(8, 0.3).x, at(8, 0.3).y, { delay: 100 });
    assert.deepEqual(await selected(page), []);
    await page.mouse.click(at(-0.5, 0.3).x, at(-0.5, 0.3).y, { delay: 100 });
    await until("a", async () => (await selected(page)).join() === "a");
    await page.keyboard.press("Escape");
    await daemon.commit(scene, { pose: { c: { center: [11, 0] }, b: { center: [4, 0] } } });
    await revision(page, 2);
    await until("c and d in place of a and b", async () => {
        seen = await pixels(page);
        return seen["box-colliding"].count > 300 && seen["box-colliding"].left > inView(9, 0).x;
    });
    assert.equal(seen.box.count, 0);
    await daemon.commit(scene, { pose: { a: { center: [2, 0] } } }); // touches b
    await revision(page, 3);
    await until("a and b, which touch", async () => (await pixels(page))["box-touching"].count > 300);
    await page.keyboard.press("o"); // what only touches goes, too
    seen = await pixels(page);
    assert.equal(seen["box-touching"].count, 0);
    assert.ok(seen["box-colliding"].count > 300);
    assert.equal(await page.textContent("[data-command=only]"), "Overlaps");
    await daemon.commit(scene, { pose: { a: { center: [2.5, 0] } } }); // overlaps b
    await revision(page, 4);
    await until("a and b, which overlap", async () => (await pixels(page))["box-colliding"].left < seen["box-colliding"].left - 20);
    await page.keyboard.press("o");
    await daemon.commit(scene, { pose: { a: { center: [0, 0] } } });
    await revision(page, 5);
    await until("all of them", async () => (await pixels(page)).box.count > 300);
    await close();
});

test("seen from above, a box and what it stands on differ in light", async () => {
    const scene = await makeScene({ floor: { center: [0, -1, 0], half_extents: [10, 1, 10] }, wall: { center: [0, 2, 0], half_extents: [3, 2, 3] } });
    const { page, close } = await show(scene, SMALL);
    await page.keyboard.press("2");
    await page.mouse.move(2, 2);
    await drawn(page);
    const { x, y, width, height } = await page.locator("#view").boundingBox();
    const lightAt = async (across) => {
        const clip = { x: x + width / 2 + across * height, y: y + height / 2 - 60, width: 2, height: 2 };
        const png = (await page.screenshot({ clip })).toString("base64");
        const rgb = await page.evaluate(async (png) => {
            const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (char) => char.charCodeAt(0))]));
            const canvas = new OffscreenCanvas(2, 2).getContext("2d");
            canvas.drawImage(image, 0, 0);
            return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
        }, png);
        return linear(`#${rgb.map((value) => value.toString(16).padStart(2, "0")).join("")}`).reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    };
    const [wall, floor] = [await lightAt(0.05), await lightAt(0.35)];
    assert.ok((wall + 0.05) / (floor + 0.05) > 1.5, `${wall} on ${floor}`);
    await close();
});

test("all pairs: the deepest first, with where they meet and how deep; nothing is flooded", async () => {
    const scene = await makeScene({ floor: { center: [10, -1.5], half_extents: [20, 0.5] }, a: SQUARE(0), b: SQUARE(1.5), c: SQUARE(8), d: SQUARE(9.9) }, { dimensions: 2 });
    const { page, close } = await show(scene, SMALL);
    const before = await pixels(page);
    await ask(page, 7);
    await until("the pairs", async () => (await found(page)).length === 6);
    assert.deepEqual((await found(page)).slice(0, 2), ["a, b", "c, d"]);
    const words = await page.locator("#probe-out .found .count:not(.more)").allTextContents();
    assert.deepEqual(words, ["0.5 deep", "0.1 deep", "touching", "touching", "touching", "touching"]);
    const { body } = await daemon.call("POST", `/v1/scenes/${scene}/query/all-pairs`, { want: ["mtv"] });
    assert.equal(body.pairs.length, 6);
    const seen = await pixels(page);
    assert.ok(seen.hit.count > 50 && seen.hit.count < before.all / 100, String(seen.hit.count)); // points and arrows, and no boxes
    await page.locator("#probe-out .found button").first().click();
    await until("the two", async () => (await page.locator(".item.selected .name").allTextContents()).join() === "a,b");
    await close();
});

test("all pairs: rows stay under the pointer while depths change and pairs come and go", async () => {
    const names = Array.from({ length: 12 }, (_, i) => `box-${String(i).padStart(2, "0")}`);
    const put = { floor: { center: [0, -1], half_extents: [90, 1] } };
    const deep = (i, depth) => ({ center: [3 * i, 0.5 - depth], half_extents: [0.5, 0.5] });
    names.forEach((name, i) => (put[name] = deep(i, (12 - i) / 20)));
    const scene = await makeScene(put, { dimensions: 2 });
    const { page, close } = await showBlind(scene);
    await ask(page, 7);
    const words = (all) => all.map((name) => `floor, ${name}`).join();
    await until("the pairs", async () => (await found(page)).join() === words(names));
    const row = page.locator("#probe-out .found button").nth(4);
    await row.hover();
    const { y } = await row.boundingBox();
    const pose = (depthOf) => ({ pose: Object.fromEntries(names.map((name, i) => [name, { center: deep(i, depthOf(i)).center }])) });
    const shows = async (commit, all) => {
        await daemon.commit(scene, commit);
        await until(String(all), async () => (await found(page)).join() === words(all));
        const under = page.locator("#probe-out .found button:hover");
        assert.equal(await under.locator(".name").textContent(), "floor, box-04");
        assert.equal((await under.boundingBox()).y, y);
    };
    await daemon.commit(scene, pose((i) => (i + 1) / 20)); // the other way round
    await until("new depths", async () => /0\.6 deep/.test(await page.locator("#probe-out li").last().textContent()));
    await shows({ put: { extra: deep(20, 0.7) } }, [...names, "extra"]);
    await shows({ put: { more: deep(22, 0.8) }, remove: ["box-01"] }, ["box-00", "more", ...names.slice(2), "extra"]);
    await page.mouse.move(2, 2);
    const sorted = ["more", "extra", ...names.slice(2).reverse(), "box-00"];
    await until("the deepest first", async () => (await found(page)).join() === words(sorted));
    await close();
});

await runAll(blind);
