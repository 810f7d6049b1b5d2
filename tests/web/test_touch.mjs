#!/usr/bin/env node
// A phone: fingers turn, shift and zoom the view, select boxes, and drag handles. Buttons are clicked: where a machine is slow a tap
// becomes a long press, of which the browser makes no click.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { arrived, ask, CUBE, daemon, drawn, found, frontOf, makeScene, pixels, revision, runAll, selected, show } from "./words.mjs";

const PHONE = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 };

/** Fingers that go from places to places together, as the browser gets them from a touch screen. */
async function touch(page, from, to, steps = 8) {
    const session = await page.context().newCDPSession(page);
    const send = (type, points) => session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(({ x, y }, id) => ({ x, y, id })) });
    await send("touchStart", from);
    for (let i = 1; i <= steps; i++) await send("touchMove", from.map(({ x, y }, n) => ({ x: x + ((to[n].x - x) * i) / steps, y: y + ((to[n].y - y) * i) / steps })));
    await send("touchEnd", []);
    await session.detach();
    await drawn(page);
}

/** Three cubes of which two overlap: the middle is (0, 0), they reach 3 by 1 by 1. */
const THREE = { left: CUBE(-2), right: CUBE(2), over: { center: [2.5, 0, 0], half_extents: [0.5, 0.5, 0.5] } };

test("one finger turns the view, two zoom and shift it, a tap selects and a tap beside selects nothing", async () => {
    const scene = await makeScene(THREE);
    const { page, close } = await show(scene, PHONE);
    const { x, y, width, height } = await page.locator("#view").boundingBox();
    const middle = { x: x + width / 2, y: y + height / 2 };
    const look = async () => (await page.locator("#view canvas").screenshot()).toString("base64");
    await drawn(page);
    const before = await look();
    await touch(page, [{ x: middle.x - 60, y: y + height - 50 }], [{ x: middle.x + 60, y: y + height - 60 }]);
    const turned = await look();
    assert.notEqual(turned, before);
    assert.deepEqual(await selected(page), []); // a drag is no tap
    await page.click("[data-command=front]");
    await drawn(page);
    const reds = async () => (await pixels(page)).red;
    const small = await reds();
    const apart = (by) => [
        { x: middle.x - by, y: middle.y + 40 },
        { x: middle.x + by, y: middle.y + 40 },
    ];
    await touch(page, apart(60), apart(30));
    const zoomed = await reds();
    assert.ok(zoomed < 0.5 * small && zoomed > 0.1 * small, `${small} ${zoomed}`); // a quarter of the area
    await page.click("[data-command=front]");
    await drawn(page);
    const { at } = await frontOf(page, [0, 0], [3, 1]);
    await page.touchscreen.tap(at(-2, 0).x, at(-2, 0).y);
    await until("the left one", async () => (await page.textContent("#box-form h2")) === "left");
    assert.equal(await page.textContent("#tab-box"), "Selected");
    await page.touchscreen.tap(at(2, 0.8).x, at(2, 0.8).y);
    await until("the right one", async () => (await page.textContent("#box-form h2")) === "right");
    await page.touchscreen.tap(at(0, 0).x, y + height - 60);
    await until("none", async () => page.locator("#start").isVisible());
    await close();
});

test("buttons are as large as a finger needs them", async () => {
    const scene = await makeScene(THREE);
    const { page, close } = await show(scene, PHONE);
    const buttons = await page.locator(":is(.tools, .play, .tabs) button:visible").all();
    assert.ok(buttons.length >= 15, String(buttons.length));
    for (const button of buttons) {
        const { x, width, height } = await button.boundingBox();
        assert.ok(width >= 32 && height >= 40 && x >= 0 && x + width <= 390, `${await button.getAttribute("title")}: ${width} x ${height} at ${x}`);
    }
    await close();
});

test("fingers drag handles, draw a rectangle around boxes, and cast a ray", async () => {
    const scene = await makeScene(THREE);
    const { page, close } = await show(scene, PHONE);
    await page.click("[data-command=front]");
    await drawn(page);
    const { at, unit } = await frontOf(page, [0, 0], [3, 1]);
    const { height } = await page.locator("#view").boundingBox();
    await page.touchscreen.tap(at(-2, 0).x, at(-2, 0).y);
    await until("the left one", async () => (await page.textContent("#box-form h2")) === "left");
    const grip = (0.25 * 0.45 * height) / unit;
    await touch(page, [at(-2, grip)], [at(-2, grip + 1)]);
    const after = await arrived(page, scene);
    const [x, y, z] = (await daemon.box(scene, "left")).center;
    assert.ok(x === -2 && z === 0 && Math.abs(y - 1) < 0.3, `${x} ${y} ${z}`);
    await page.click("[data-command=undo]");
    await revision(page, after + 1);
    assert.deepEqual((await daemon.box(scene, "left")).center, [-2, 0, 0]);
    await page.click("[data-command=area]");
    await touch(page, [at(1, 1.6)], [at(2.9, -1.6)]);
    await until("two boxes", async () => (await page.textContent("#several-form h2")) === "2 boxes");
    await page.click("[data-command=area]");
    await page.touchscreen.tap(at(-2, 0).x, at(-2, 0).y); // one more
    await until("three boxes", async () => (await page.textContent("#several-form h2")) === "3 boxes");
    await page.click("#tab-ask");
    await page.touchscreen.tap(at(0, 0).x, at(0, 0).y);
    await page.touchscreen.tap(at(0, 0).x - 0.49 * 390, at(0, 0).y);
    await until("the ray's hit", async () => (await found(page)).join() === "left");
    await ask(page, 2, { Point: [2.5, 0, 0] });
    assert.deepEqual(await found(page), ["right", "over"]);
    await close();
});

await runAll();
