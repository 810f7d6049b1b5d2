#!/usr/bin/env node
// Very many boxes: those that are large in the picture are cubes, the others points, and all of them are seen and picked.
import assert from "node:assert/strict";
import { openPage, test, until } from "./harness.mjs";
import { arrived, browser, daemon, drawn, frontOf, makeScene, module, random, runAll, selected, show } from "./words.mjs";

test("the largest of many are found: none of those left out is much larger, none of those taken is hidden or beside the picture", async () => {
    const { largest } = await module("detail");
    let [taken, left, full] = [0, 0, 0];
    for (let seed = 1; seed <= 200; seed++) {
        const next = random(seed);
        const count = 50 + Math.floor(450 * next());
        const [matrices, radii, looks] = [new Float32Array(16 * count), new Float64Array(count), new Float32Array(count)];
        for (let i = 0; i < count; i++) {
            for (let k = 0; k < 3; k++) matrices[16 * i + 12 + k] = 100 * next() - 50;
            radii[i] = (4 * next() ** 4) ** 2;
            looks[i] = next() < 0.1 ? 4 : 0;
        }
        // an eye at z = 60 that looks along -z, with a picture as wide as it is high
        const slope = 0.5;
        const perspective = seed % 2 === 0;
        const clip = perspective ? [1 / slope, 0, 0, 0, 0, 1 / slope, 0, 0, 0, 0, -1, -1, 0, 0, 0, 60] : [0.02, 0, 0, 0, 0, 0.02, 0, 0, 0, 0, -0.01, 0, 0, 0, 0, 1];
        const scale = perspective ? 1 / slope : 0.02;
        const out = new Uint32Array(10 + Math.floor(200 * next()));
        const found = largest({ count, matrices, radii, looks }, 4, clip, [scale, scale], 300, out, new Uint8Array(count));
        assert.ok(found <= out.length);
        if (found > 0.8 * out.length) full++;
        const names = new Set(out.subarray(0, found));
        assert.equal(names.size, found);
        let [least, most] = [Infinity, 0];
        for (let i = 0; i < count; i++) {
            const [x, y, z] = matrices.subarray(16 * i + 12);
            const w = perspective ? 60 - z : 1;
            const radius = Math.sqrt(radii[i]);
            const px = (radius * scale * 300) / w;
            const inside = w > 0 && [x, y].every((at) => Math.abs(at * scale) <= w);
            const far = [x, y].some((at) => Math.abs(at * scale) > w + 2 * radius * scale);
            if (names.has(i)) {
                assert.ok(looks[i] < 4 && !far && px >= 1.49, `seed ${seed}, box ${i}`);
                least = Math.min(least, px);
                taken++;
            } else if (looks[i] < 4 && inside) {
                if (px >= 1.51) most = Math.max(most, px);
                left++;
            }
        }
        if (found > 0) assert.ok(most <= least * 1.2 + 1e-9, `seed ${seed}: ${most} is left out, ${least} is taken`);
    }
    assert.ok(taken > 2000 && left > 2000 && full > 10, `${taken} ${left} ${full}`);
});

test("24,000 boxes: from afar few are cubes and each is seen, from near by they are cubes, and clicks hit them", async () => {
    const side = 155;
    const names = Array.from({ length: side * side }, (_, i) => `box-${i}`);
    const scene = await makeScene({});
    await daemon.commit(scene, { put: { names, centers: names.flatMap((_, i) => [4 * (i % side), 4 * Math.floor(i / side), 0]), half_extents: [1, 1, 1] } });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    const cubes = async () => Number(await page.getAttribute("#view", "data-cubes"));
    await page.keyboard.press("3");
    const middle = 2 * (side - 1);
    const { at, unit } = await frontOf(page, [middle, middle], [middle + 1, middle + 1]);
    assert.ok(unit < 1.5, String(unit)); // a box has a pixel or two
    await until("points", async () => (await cubes()) === 0);
    // at the middle of each box the picture is another than between four of them
    const places = [];
    for (let i = 0; i < 200; i++) {
        const [column, row] = [(37 * i) % (side - 1), (59 * i) % (side - 1)];
        for (const by of [0, 2]) places.push(at(4 * column + by, 4 * row + by));
    }
    const png = (await page.screenshot()).toString("base64");
    const told = await page.evaluate(
        async ({ png, places }) => {
            const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (char) => char.charCodeAt(0))]));
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const { data, width } = canvas.getImageData(0, 0, image.width, image.height);
            const light = places.map(({ x, y }) => data.subarray(4 * (Math.floor(y) * width + Math.floor(x)), 4 * (Math.floor(y) * width + Math.floor(x)) + 3).reduce((sum, value) => sum + value, 0));
            return light.filter((value, i) => i % 2 === 0 && Math.abs(value - light[i + 1]) > 24).length;
        },
        { png, places },
    );
    assert.ok(told >= 180, `${told} of 200`); // grips and legends lie on some
    const click = async (column, row) => {
        await page.mouse.click(at(4 * column, 4 * row).x, at(4 * column, 4 * row).y, { delay: 50 });
        await until(`box ${column}, ${row}`, async () => (await selected(page)).join() === `box-${row * side + column}`);
    };
    await click(100, 31);
    await page.keyboard.press("f"); // near by
    await drawn(page);
    const some = await cubes();
    assert.ok(some > 0 && some < 1000, String(some));
    await page.keyboard.press("Escape");
    await page.keyboard.press("f");
    await drawn(page);
    assert.equal(await cubes(), 0);
    await close();
});

/** Where a ray enters the box, by slabs; Infinity: nowhere ahead. */
function entry({ origin: o, direction: d }, center, half) {
    let [enter, leave] = [-Infinity, Infinity];
    for (let axis = 0; axis < 3; axis++) {
        const [s, t] = [-1, 1].map((side) => (center[axis] + side * half[axis] - o[axis]) / d[axis]);
        enter = Math.max(enter, Math.min(s, t));
        leave = Math.min(leave, Math.max(s, t));
    }
    return enter >= 0 && enter <= leave ? enter : Infinity;
}

test("the first box on a ray is found by a grid, while boxes move, grow and go: as by a look at all of them", async () => {
    const { Grid } = await module("grid");
    let [hit, few, most] = [0, 0, 0];
    for (let seed = 1; seed <= 60; seed++) {
        const next = random(seed);
        const count = 200 + Math.floor(1800 * next());
        const grid = new Grid(2048);
        const spread = [100, 5, 1e4][seed % 3];
        const halves = seed % 2 ? () => 4 * next() ** 4 + 0.01 : () => 1 + next() / 100; // of all sizes, or of one
        const boxes = [];
        const place = (i) => {
            const center = [0, 1, 2].map(() => spread * (next() - 0.5));
            const half = [0, 1, 2].map(halves);
            if (i % 500 === 7) half[0] = half[2] = spread / 2; // a floor
            boxes[i] = { center, half };
            grid.put(i, [9, ...center], 1, 1.0001 * half.reduce((sum, value) => sum + value * value, 0));
        };
        for (let i = 0; i < count; i++) place(i);
        let left = count;
        for (let turn = 0; turn < 40; turn++) {
            for (let k = 0; k < 20; k++) place(Math.floor(left * next()));
            if (turn === 20) {
                left = Math.floor(0.8 * count);
                grid.trim(left);
                boxes.length = left;
            }
            const target = boxes[Math.floor(left * next())].center;
            const origin = [0, 1, 2].map((axis) => (turn % 4 === 0 ? target[axis] : spread * (2 * next() - 1)));
            const way = turn % 5 === 0 ? [0, -1, 0] : origin.map((value, axis) => target[axis] - value + 0.3 * (next() - 0.5));
            const length = Math.hypot(...way);
            const ray = { origin, direction: way.map((value) => value / length) };
            const seen = { origin: { toArray: () => ray.origin }, direction: { toArray: () => ray.direction } };
            let [best, found] = [Infinity, -1];
            grid.along(seen, (i) => {
                assert.ok(i < left);
                const at = entry(ray, boxes[i].center, boxes[i].half);
                if (at < best) [best, found] = [at, i];
                return best;
            });
            const slow = boxes.map(({ center, half }) => entry(ray, center, half));
            const first = Math.min(...slow);
            assert.equal(best, first, `seed ${seed}, turn ${turn}`);
            if (first < Infinity) {
                hit++;
                assert.equal(slow[found], first);
            }
            if (seed % 2 === 0 && grid.tried < left / 4) few++;
            most = Math.max(most, grid.tried / left);
        }
    }
    assert.ok(hit > 800 && hit < 2300, String(hit));
    assert.ok(few > 400 && most <= 1.5, `${few} ${most}`);
});

test("10,000 boxes of which one moves: its numbers go to the graphics card, and no more than a few elements change", async () => {
    const side = 100;
    const names = Array.from({ length: side * side }, (_, i) => `box-${i}`);
    const scene = await makeScene({});
    await daemon.commit(scene, { put: { names, centers: names.flatMap((_, i) => [4 * (i % side), 4 * Math.floor(i / side), 0]), half_extents: [1, 1, 1] } });
    const opened = await openPage(browser, daemon.url, { viewport: { width: 800, height: 500 } });
    const { page, close } = opened;
    await page.addInitScript(() => {
        globalThis.sent = [];
        const { prototype } = WebGL2RenderingContext;
        for (const name of ["bufferData", "bufferSubData"]) {
            const real = prototype[name];
            prototype[name] = function (...more) {
                const data = more[name === "bufferData" ? 1 : 2];
                const count = name === "bufferSubData" && more[4] ? more[4] * data.BYTES_PER_ELEMENT : data?.byteLength;
                globalThis.sent.push(count ?? 0);
                return real.apply(this, more);
            };
        }
    });
    await page.goto(`${daemon.url}/#${scene}`);
    await until("all boxes", async () => /^10,000 boxes/.test(await page.textContent("#list-sum")));
    await arrived(page, scene);
    await drawn(page);
    await daemon.commit(scene, { pose: { "box-5050": { center: [200, 200, 0.05] } } }); // the first one sends all once more
    await arrived(page, scene);
    await drawn(page);
    const whole = (await page.evaluate(() => globalThis.sent)).reduce((sum, bytes) => sum + bytes, 0);
    assert.ok(whole > 64 * names.length, String(whole)); // the matrices of all: what is counted is what is sent
    await page.evaluate(() => {
        globalThis.sent.length = 0;
        globalThis.changes = 0;
        new MutationObserver((records) => (globalThis.changes += records.length)).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    });
    const commits = 20;
    for (let tick = 1; tick <= commits; tick++) {
        if (tick === commits / 2) await page.locator(".item").nth(3).click(); // once: which boxes stand back is told
        await daemon.commit(scene, { pose: { "box-5050": { center: [200, 200, tick / 10] } } });
        await arrived(page, scene);
        await drawn(page);
    }
    const [bytes, changes] = await page.evaluate(() => [globalThis.sent.reduce((sum, one) => sum + one, 0), globalThis.changes]);
    assert.ok(bytes > 0 && bytes < 10_000 * commits, `${bytes} bytes`); // who stands back of all would be 40,000 each time, all matrices 640,000
    assert.ok(changes > 0 && changes < 200 * commits, `${changes} changes`);
    await close();
});

test("24,000 boxes of which 200 move: they are clicked where they are, and few are tried for it", async () => {
    const side = 155;
    const names = Array.from({ length: side * side }, (_, i) => `box-${i}`);
    const scene = await makeScene({});
    const placeOf = (i) => [4 * (i % side), 4 * Math.floor(i / side), 0];
    await daemon.commit(scene, { put: { names, centers: names.flatMap((_, i) => placeOf(i)), half_extents: [1, 1, 1] } });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    await page.keyboard.press("3");
    const middle = 2 * (side - 1);
    const { at } = await frontOf(page, [middle, middle], [middle + 1, middle + 1]);
    const moving = names.slice(12_000, 12_200);
    let going = true;
    const loop = (async () => {
        for (let tick = 1; going; tick++) {
            const next = Date.now() + 50;
            const centers = moving.flatMap((_, i) => [...placeOf(12_000 + i).slice(0, 2), 6 + 5 * Math.sin(tick / 3 + i)]); // to and fro
            await daemon.commit(scene, { pose: { names: moving, centers } });
            await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
        }
    })();
    for (let k = 0; k < 12; k++) {
        const i = 12_003 + 16 * k;
        const [x, y] = placeOf(i);
        await page.keyboard.press("Escape"); // handles would lie before others
        await drawn(page);
        await page.mouse.click(at(x, y).x, at(x, y).y, { delay: 100 });
        await until(`box-${i}`, async () => (await selected(page)).join() === `box-${i}`);
        const tried = Number(await page.getAttribute("#view", "data-tried"));
        assert.ok(tried > 0 && tried < 500, String(tried));
    }
    going = false;
    await loop;
    await page.keyboard.press("Escape");
    const [last] = moving;
    await daemon.commit(scene, { pose: { [last]: { center: [4 * 40, 4 * 90, 30] } } }); // before another one
    await arrived(page, scene);
    for (const [x, y, name] of [
        [4 * 40, 4 * 90, last],
        [...placeOf(12_000).slice(0, 2), ""],
    ]) {
        await page.mouse.click(at(x, y).x, at(x, y).y, { delay: 100 });
        await until(`"${name}" at ${x}, ${y}`, async () => (await selected(page)).join() === name);
    }
    await close();
});

await runAll();
