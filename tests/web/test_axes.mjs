#!/usr/bin/env node
// Which axis is up and the hand of the axes: of the picture, while all numbers stay as they are.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { ask, CUBE, daemon, drawn, makeScene, pixels, revision, runAll, selected, show } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };

/** Where a point of the scene is in the picture. */
async function seenAt(page, at) {
    await ask(page, 2, { Point: at });
    await until("the answer", async () => (await page.locator("#panel-ask details.exchange pre").first().textContent()).includes(`[[${at.join(",")}]]`));
    await drawn(page);
    const { ask: dot } = await pixels(page, "#view canvas", ["ask"]);
    assert.ok(dot.count > 20 && dot.right - dot.left < 20, JSON.stringify(dot));
    return { x: (dot.left + dot.right) / 2, y: (dot.top + dot.bottom) / 2 };
}

const UNIT = { x: [2, 0, 0], y: [0, 2, 0], z: [0, 0, 2] };
const WAYS = { right: [1, 0], left: [-1, 0], up: [0, -1], down: [0, 1] };

test("from the top and the front the axes go where each convention has them", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [3, 3, 3] } });
    const { page, close } = await show(scene, SMALL);
    let looked = 0;
    for (const [axes, top, front] of [
        ["y", { x: "right", z: "down" }, { x: "right", y: "up" }],
        ["z", { x: "right", y: "up" }, { x: "right", z: "up" }],
        ["y-left", { x: "right", z: "up" }, { x: "right", y: "up" }],
        ["z-left", { x: "right", y: "down" }, { x: "right", z: "up" }],
    ]) {
        await page.selectOption("#axes", axes);
        for (const [key, ways] of [["2", top], ["3", front]]) {
            await page.locator("#view canvas").focus();
            await page.keyboard.press(key);
            const from = await seenAt(page, [0, 0, 0]);
            for (const [axis, way] of Object.entries(ways)) {
                const to = await seenAt(page, UNIT[axis]);
                const [across, down] = WAYS[way];
                assert.ok((to.x - from.x) * across + (to.y - from.y) * down > 40, `${axes}, ${key}: ${axis} goes ${to.x - from.x}, ${to.y - from.y}`);
                assert.ok(Math.abs((to.x - from.x) * down) + Math.abs((to.y - from.y) * across) < 3, `${axes}, ${key}: ${axis} is aslant`);
                looked++;
            }
        }
    }
    assert.equal(looked, 16);
    await close();
});

/** Pixels of two pictures that differ by more than a shade. */
async function differences(page, one, two) {
    return page.evaluate(
        async (pictures) => {
            const [a, b] = await Promise.all(
                pictures.map(async (png) => {
                    const image = await createImageBitmap(new Blob([Uint8Array.from(atob(png), (char) => char.charCodeAt(0))]));
                    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
                    canvas.drawImage(image, 0, 0);
                    return canvas.getImageData(0, 0, image.width, image.height).data;
                }),
            );
            let [other, drawn] = [0, 0];
            for (let i = 0; i < a.length; i += 4) {
                other += Math.abs(a[i] - b[i]) > 24 || Math.abs(a[i + 1] - b[i + 1]) > 24;
                drawn += Math.abs(a[i] - a[0]) > 24;
            }
            return { other, drawn };
        },
        [one, two].map((png) => png.toString("base64")),
    );
}

test("left-handed axes look as the mirror image does in right-handed ones, z up as the turned image with y up", async () => {
    const boxes = [
        ["a", [0, 1, 0], [1, 1, 3]],
        ["b", [4, 0.5, 2], [0.5, 0.5, 0.5]],
        ["c", [-3, 2, -4], [1, 2, 0.4]],
    ];
    const placed = (change) => Object.fromEntries(boxes.map(([name, center, half]) => [name, { center: change(center), half_extents: change(half).map(Math.abs) }]));
    const picture = async (change, axes) => {
        const { page, close } = await show(await makeScene(placed(change)), SMALL);
        await page.selectOption("#axes", axes);
        await page.mouse.move(2, 2);
        await page.evaluate(() => document.querySelectorAll(".sides, .legend, #compass").forEach((one) => (one.style.visibility = "hidden")));
        await drawn(page);
        const png = await page.locator("#view canvas").screenshot();
        await close();
        return png;
    };
    const plain = await picture(([x, y, z]) => [x, y, z], "y");
    const { page, close } = await show(await makeScene({}), { ...SMALL, bypassCSP: true });
    for (const [axes, change] of [
        ["y-left", ([x, y, z]) => [x, y, -z]],
        ["z", ([x, y, z]) => [x, -z, y]],
        ["z-left", ([x, y, z]) => [x, z, y]],
    ]) {
        const { other, drawn: some } = await differences(page, plain, await picture(change, axes));
        assert.ok(some > 3000 && other < some / 50, `${axes}: ${other} of ${some}`);
    }
    await close();
});

test("boxes are picked, turned by keys and added where they are seen; the address keeps the axes", async () => {
    const scene = await makeScene({ a: CUBE(-4), b: CUBE(4, 0, 3), c: CUBE(0, 5, -3) });
    const { page, close } = await show(scene, SMALL);
    const { x, y } = await page.locator("#view").boundingBox();
    for (const axes of ["y-left", "z", "z-left"]) {
        await page.selectOption("#axes", axes);
        await until("the address", () => page.url().includes(`axes=${axes}`));
        await page.locator("#view canvas").focus();
        await page.keyboard.press("1");
        for (const [name, center] of [["a", [-4, 0, 0]], ["b", [4, 0, 3]], ["c", [0, 5, -3]]]) {
            const at = await seenAt(page, center);
            await page.click("#tab-box");
            await page.mouse.click(x + at.x, y + at.y);
            await until(`${name} with ${axes}`, async () => (await selected(page)).join() === name);
            await page.keyboard.press("Escape");
        }
        // the right arrow takes the eye to the right: what is before its target goes left
        const before = await seenAt(page, axes === "y-left" ? [0, 0, -3] : axes === "z" ? [0, -3, 0] : [0, 8, 0]);
        await page.locator("#view canvas").focus();
        for (let i = 0; i < 2; i++) await page.keyboard.press("ArrowRight");
        const after = await seenAt(page, axes === "y-left" ? [0, 0, -3] : axes === "z" ? [0, -3, 0] : [0, 8, 0]);
        assert.ok(after.x < before.x - 5, `${axes}: ${before.x} to ${after.x}`);
    }
    await page.click("#tab-box");
    await page.keyboard.press("Escape");
    await page.click("[data-command=add] >> nth=0");
    await revision(page, 2);
    assert.deepEqual((await daemon.box(scene, "box-1")).center, [0, 0, 0.5]);
    const flat = await makeScene({ q: { center: [0, 0], half_extents: [1, 1] } }, { dimensions: 2 });
    await page.evaluate((name) => (location.hash = name), flat);
    await until("the flat scene", async () => (await page.inputValue("#scene")) === flat && (await page.isDisabled("#axes")));
    await close();
});

await runAll();
