#!/usr/bin/env node
// The lag view: what a shooter saw a delay ago against what was there, and both verdicts.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test, until } from "./harness.mjs";
import { blind, makeLive, showBlind, shown } from "./live.mjs";
import { daemon, drawn, frontOf, makeScene, pixels, revision, runAll, select, show, SQUARE, unfold } from "./words.mjs";

const verdict = async (page, which, pattern) => {
    await until(`${which}: ${pattern}`, async () => pattern.test(await page.textContent(`#lag-${which}`)));
};
const set = async (page, selector, value) => {
    await page.fill(selector, String(value));
    await page.keyboard.press("Enter");
};
const ray = async (page, label, values) => {
    const inputs = page.locator("#lag-form .row", { hasText: label }).locator("input");
    for (const [i, value] of values.entries()) await inputs.nth(i).fill(String(value));
    await page.keyboard.press("Enter");
};

/** Bob ran from x = 0 to x = 3 in 300 ms, and stands there since. */
async function ran(at, settings) {
    const scene = await makeScene({}, settings);
    const body = (x) => ({ ...at(x), entity: "bob" });
    const wide = { ...at(40), entity: "wall" };
    await daemon.commit(scene, { time: 0, put: { "bob-body": body(0), wall: wide } });
    for (let i = 1; i <= 3; i++) await daemon.commit(scene, { time: 100 * i, pose: { "bob-body": { center: at(i).center } } });
    return scene;
}

test("both verdicts, how far the boxes have moved between them, and the requests, in space and in the plane", async () => {
    for (const flat of [false, true]) {
        const at = flat ? (x) => ({ center: [x, 0], half_extents: [0.5, 1] }) : (x) => ({ center: [x, 0, 0], half_extents: [0.5, 1, 0.5] });
        const place = (x, y, z) => (flat ? [x, y] : [x, y, z]);
        const scene = await ran(at, { dimensions: flat ? 2 : 3 });
        const { page, close } = await showBlind(scene);
        await revision(page, 4);
        await page.click("#tab-lag");
        await until("the entity", async () => (await page.inputValue("#lag-who")) === "bob");
        await ray(page, "From", place(1.5, 20, 0));
        // aimed at where he was 150 ms ago, which is between two commits: x = 1.5
        await set(page, "#lag-delay", 150);
        await verdict(page, "then", /^Then: hit bob-body at 19$/);
        await verdict(page, "now", /^Now: bob-body missed by 1$/); // from x = 1.5 to 3 - 0.5
        assert.equal(await page.textContent("#lag-moved .found"), "bob-body1.5"); // units of the scene
        for (const i of [0, 1]) await unfold(page.locator("#panel-lag details.exchange").nth(i));
        const requests = await page.locator("#panel-lag details.exchange").evaluateAll((all) => all.map((one) => [...one.querySelectorAll("pre")].map((pre) => pre.textContent)));
        for (const [i, [curl, answer]] of requests.entries()) {
            const heard = JSON.parse(execFileSync("sh", ["-c", curl], { encoding: "utf8" }));
            assert.deepEqual(JSON.parse(answer).results, heard.results);
            assert.equal(heard.results[0].hits.length, i === 0 ? 1 : 0);
            assert.equal(heard.at.time, i === 0 ? 150 : 300);
        }
        // without delay there is no difference
        await set(page, "#lag-delay", 0);
        await verdict(page, "now", /^Now: hit bob-body/);
        assert.equal(await page.textContent("#lag-moved .found"), "bob-body0");
        await set(page, "#lag-delay", 300);
        await page.selectOption("#lag-aim", "now");
        await verdict(page, "now", /^Now: hit bob-body/);
        await verdict(page, "then", /^Then: bob-body missed by \d/);
        assert.equal(await page.textContent("#lag-moved .found"), "bob-body3");
        // beyond the history the oldest state is shown, and that is said
        await set(page, "#lag-delay", 5000);
        await until("that it is clamped", async () => /^The daemon keeps less than 5000: /.test(await page.textContent("#lag-said")));
        await set(page, "#lag-who", "nobody");
        await until("that there is none", async () => (await page.textContent("#lag-said")) === "Name an entity, or a box.");
        assert.equal(await page.textContent("#lag-then"), "");
        await close();
    }
});

test("a clock that goes on alone is not told: the view says which time it speaks of, and the page takes it up", async () => {
    const scene = await makeScene({}, { dimensions: 2 });
    await daemon.commit(scene, { time: 300, put: { bob: SQUARE(0) } });
    const { page, close } = await showBlind(scene);
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    const foot = () => page.textContent("#past-text");
    const says = (time) => until(`time ${time}`, async () => (await page.textContent("#lag-when")) === String(time));
    await page.click("#tab-lag");
    await says(300);
    await until("that it rests", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
    asked.length = 0;
    await daemon.commit(scene, { time: 900 });
    await page.waitForTimeout(1500); // nothing tells of it
    assert.deepEqual(asked, []);
    assert.equal(await foot(), "now, time 300");
    await says(300);
    await set(page, "#lag-delay", 150); // it is asked about
    await says(900);
    await until("the clock of the page", async () => (await foot()) === "now, time 900");
    await daemon.commit(scene, { time: 1200 });
    await page.focus("#past");
    await until("the clock of the page", async () => (await foot()) === "now, time 1200");
    await close();
});

test("while nobody has said where the shot comes from, a place is found from where it hits then and misses now", async () => {
    // walls at all sides but one, which bob ran along, and a roof
    const walls = (flat) => {
        const at = (center, half_extents) => (flat ? { center: center.slice(0, 2), half_extents: half_extents.slice(0, 2) } : { center, half_extents });
        return { front: at([0, -3, 0], [9, 0.5, 9]), left: at([-3, 0, 0], [0.5, 9, 9]), right: at([9, 0, 0], [0.5, 9, 9]), ...(flat ? {} : { above: at([0, 0, 5], [9, 9, 0.5]), below: at([0, 0, -2], [9, 9, 0.5]) }) };
    };
    for (const [flat, axes] of [
        [true, "y"],
        [false, "z"],
        [false, "y"],
    ]) {
        const scene = await ran((x) => (flat ? { center: [x, 0], half_extents: [0.5, 1] } : { center: [x, 0, 0], half_extents: [0.5, 1, 1] }), { dimensions: flat ? 2 : 3 });
        const turned = ([x, y, z]) => (axes === "z" || flat ? [x, y, z] : [x, z, y]); // the free side is level
        const put = Object.fromEntries(Object.entries(walls(flat)).map(([name, one]) => [name, flat ? one : { center: turned(one.center), half_extents: turned(one.half_extents) }]));
        await daemon.commit(scene, { put });
        const { page, close } = await show(`${scene}?axes=${axes}`);
        await page.click("#tab-lag");
        await set(page, "#lag-delay", 150);
        await verdict(page, "then", /^Then: hit bob-body at /);
        await verdict(page, "now", /^Now: (hit [a-z]+ instead; )?bob-body missed by /);
        const from = await page.locator("#lag-form .row", { hasText: "From" }).locator("input").evaluateAll((all) => all.map(({ value }) => Number(value)));
        const free = flat || axes === "z" ? 1 : 2;
        assert.ok(from[free] > 2, from.join()); // nowhere else is there a way
        // bob stands at x = 3, and later something comes between: another place is found. The page hears of what changes, not of time alone.
        const far = (time) => ({ time, pose: { wall: { center: flat ? [40, time] : [40, time, 0] } } });
        const center = from.map((value, i) => (value + [3, 0, 0][i]) / 2);
        await daemon.commit(scene, { time: 600, put: { shield: { center, half_extents: center.map(() => 0.3) } } });
        await daemon.commit(scene, far(900));
        const place = () => page.locator("#lag-form .row", { hasText: "From" }).locator("input").evaluateAll((all) => all.map(({ value }) => Number(value)).join());
        await until("another place", async () => (await place()) !== from.join());
        await verdict(page, "then", /^Then: hit bob-body at /);
        await daemon.commit(scene, { time: 1200, remove: ["shield"] });
        await daemon.commit(scene, far(1500));
        // who shoots from elsewhere is not asked again
        await ray(page, "From", flat ? [3, 20] : turned([3, 20, 0]));
        await verdict(page, "then", /^Then: hit bob-body at 19$/);
        await page.fill("#lag-who", "wall");
        await page.keyboard.press("Enter");
        await until("a place before the wall", async () => !/bob/.test(await page.textContent("#lag-then")));
        await close();
    }
});

test("in the lag view no trail is drawn of what is selected: where it was is what the view shows", async () => {
    const scene = await makeScene({}, { dimensions: 2 });
    await daemon.commit(scene, { time: 0, put: { bob: { center: [0, 0], half_extents: [0.5, 1] }, left: SQUARE(-12), right: SQUARE(24) } });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    await select(page, "bob");
    for (let i = 1; i <= 6; i++) {
        await daemon.commit(scene, { time: 20 * i, pose: { bob: { center: [2 * i, 0] } } });
        await revision(page, 1 + i);
    }
    /** Pixels beside bob, now and then, where nothing else is drawn than trails: the line from its first place to its last. */
    const between = async () => {
        await page.mouse.move(2, 2);
        await drawn(page);
        const { at } = await frontOf(page, [6, 0], [19, 1]);
        const [from, to] = [at(2, 0.3), at(7, -0.3)];
        return (await page.screenshot({ clip: { x: from.x, y: from.y, width: to.x - from.x, height: to.y - from.y } })).toString("base64");
    };
    const trail = await between();
    await page.keyboard.press("t");
    const none = await between();
    assert.notEqual(trail, none);
    await page.keyboard.press("t");
    assert.equal(await between(), trail);
    await page.click("#tab-lag");
    await set(page, "#lag-delay", 20);
    await ray(page, "From", [10, 20]); // from above, to where it was at 10
    await verdict(page, "then", /hit bob/);
    assert.equal(await between(), none);
    await page.click("#tab-box");
    assert.equal(await between(), trail);
    await close();
});

test("the boxes stand solid where they were and in outline where they are, and are back when the view is left", async () => {
    const at = (x) => ({ center: [4 * x, 0], half_extents: [0.5, 1] });
    const scene = await makeScene({}, { dimensions: 2 });
    await daemon.commit(scene, { time: 0, put: { bob: { ...at(0), entity: "bob" }, left: SQUARE(-12), right: SQUARE(24) } });
    await daemon.commit(scene, { time: 100, pose: { bob: { center: at(3).center } } });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    const { inView } = await frontOf(page, [6, 0], [19, 1]);
    const { at: onPage } = await frontOf(page, [6, 0], [19, 1]);
    const colourAt = async (x, y) => {
        const { x: left, y: top } = onPage(x, y);
        const png = (await page.screenshot({ clip: { x: left - 1, y: top - 1, width: 3, height: 3 } })).toString("base64");
        return page.evaluate(async (png) => {
            const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (char) => char.charCodeAt(0))]));
            const canvas = new OffscreenCanvas(3, 3).getContext("2d");
            canvas.drawImage(image, 0, 0);
            return [...canvas.getImageData(1, 1, 1, 1).data].slice(0, 3).join();
        }, png);
    };
    await page.mouse.move(2, 2);
    await drawn(page);
    const [box, ground] = [await colourAt(12.2, 0.6), await colourAt(0.2, 0.6)];
    assert.notEqual(box, ground);
    await page.click("#tab-lag");
    await ray(page, "From", [0, 20]);
    await verdict(page, "then", /hit bob/);
    await page.mouse.move(2, 2);
    await drawn(page);
    assert.equal(await colourAt(12.2, 0.6), ground); // an outline lets through what is behind it
    assert.notEqual(await colourAt(0.2, 0.6), ground);
    const { hit } = await pixels(page);
    assert.ok(hit.count > 20 && Math.abs(hit.left - inView(-0.5, 0).x) < 7, JSON.stringify(hit)); // it is the box of then that is hit
    await page.click("#tab-box");
    await page.mouse.move(2, 2);
    await drawn(page);
    assert.equal(await colourAt(12.2, 0.6), box);
    assert.equal(await colourAt(0.2, 0.6), ground);
    await close();
});

test("while a scene moves 20 times a second, aimed at where a box was, the shot hits then", async () => {
    const live = await makeLive();
    const { page, close } = await showBlind(live.scene);
    await select(page, "moving-7");
    await page.click("#tab-lag");
    assert.equal(await page.inputValue("#lag-who"), "moving-7");
    await set(page, "#lag-delay", 200);
    for (let i = 0; i < 8; i++) {
        await verdict(page, "then", /^Then: hit moving-7 at|^Then: hit moving-\d+ instead; moving-7 behind/);
        const before = await page.textContent("#lag-moved .found");
        await until("that it goes on", async () => (await page.textContent("#lag-moved .found")) !== before);
    }
    await live.stop();
    await close();
});

test("another scene is shot at from a place of its own, not from where one shot in that before", async () => {
    const body = (center) => ({ bob: { center, half_extents: center.map(() => 1) } });
    const first = await makeScene(body([0, 0, 0]));
    const flat = await makeScene(body([500, 0]), { dimensions: 2 });
    const third = await makeScene(body([900, 0, 0]));
    const { page, close } = await showBlind(first);
    await page.click("#tab-lag");
    await ray(page, "From", [0, 30, 0]);
    await page.selectOption("#lag-aim", "now");
    await verdict(page, "now", /^Now: hit bob at 29$/);
    for (const [scene, x] of [[flat, 500], [third, 900]]) {
        await page.selectOption("#scene", scene);
        await page.waitForSelector("#status[data-state=live]");
        await page.click("#tab-lag");
        const from = page.locator("#lag-form input").first();
        await until("near bob", async () => Math.abs(Number(await from.inputValue()) - x) < 20);
        await verdict(page, "now", /^Now: hit bob at 1?\d(\.\d+)?$/); // from 12 away at most
    }
    await close();
});

await runAll(blind);
