#!/usr/bin/env node
// Several boxes: how they are selected, and changed together.
import assert from "node:assert/strict";
import { intercept, test, until } from "./harness.mjs";
import { arrived, blur, CUBE, daemon, drag, drawn, field, frontOf, makeScene, revision, runAll, select, selected, show, SQUARE } from "./words.mjs";

const near = (a, b, tolerance) => a.every((value, i) => Math.abs(value - b[i]) <= tolerance);

/** Four cubes around the origin, whose middle is the origin and which reach 5 by 4 by 1. */
const FOUR = { a: CUBE(-4, -3), b: CUBE(4, -3), c: CUBE(4, 3), d: { ...CUBE(-4, 3), entity: "team" } };

test("boxes are selected by clicks, in the list, by a rectangle, and all at once", async () => {
    const scene = await makeScene(FOUR);
    const { page, close } = await show(scene);
    await page.keyboard.press("3");
    const { at } = await frontOf(page, [0, 0], [5, 4]);
    const click = async (x, y, modifiers) => {
        for (const key of modifiers) await page.keyboard.down(key);
        await page.mouse.click(at(x, y).x, at(x, y).y);
        for (const key of modifiers) await page.keyboard.up(key);
    };
    const are = (...names) => until(`selected ${names}`, async () => (await selected(page)).join() === names.join());
    await click(-4, -3, []);
    await are("a");
    await click(4, 3, ["Control"]);
    await are("a", "c");
    await click(4, -3, ["Shift"]);
    await are("a", "b", "c");
    await click(4, 3, ["Control"]); // leaves again
    await are("a", "b");
    await click(0, 0, []); // beside all boxes
    await are();
    // the rectangle holds the centres of two
    await drag(page, at(2, 4), at(5.5, -4), { keys: ["Shift"] });
    await are("b", "c");
    await page.keyboard.press("b");
    assert.equal(await page.locator("[data-command=area]").getAttribute("aria-pressed"), "true");
    await drag(page, at(-5.2, -4.2), at(5.2, -2));
    await are("a", "b");
    assert.equal(await page.locator("[data-command=area]").getAttribute("aria-pressed"), "false");
    await page.keyboard.press("Control+a");
    await are("a", "b", "c", "d");
    await page.keyboard.press("Escape");
    await are();
    const row = (name) => page.locator(".item", { has: page.getByText(name, { exact: true }) }).first();
    await row("a").click();
    await row("c").click({ modifiers: ["Shift"] });
    await are("a", "b", "c");
    await row("b").click({ modifiers: ["Control"] });
    await are("a", "c");
    await row("team").click(); // an entity stands for its boxes
    await are("d");
    await row("team").locator(".twist").click();
    await until("a folded entity", async () => (await page.locator(".item").count()) === 4);
    // by keys: up and down, Shift for a range, Ctrl to go further and Ctrl Space to take one more
    await page.focus("#list");
    await page.keyboard.press("Home");
    await page.keyboard.press("Shift+ArrowDown");
    await are("a", "b");
    await page.keyboard.press("Home");
    await page.keyboard.press("Control+ArrowDown");
    await page.keyboard.press("Control+ArrowDown");
    await page.keyboard.press("Control+Space");
    await are("a", "c");
    await page.fill("#search", "b");
    await blur(page);
    await page.keyboard.press("Control+a"); // what the search leaves
    await are("b");
    await close();
});

test("keys go on from the row that they went to last while rows come and go above it", async () => {
    const put = { a: CUBE(0), b: CUBE(4) };
    for (const part of ["head", "body", "foot"]) put[part] = { ...CUBE(8), entity: "ann" };
    const scene = await makeScene(put);
    const { page, close } = await show(scene);
    const is = (name) => until(name, async () => (await selected(page)).join() === name);
    await page.locator(".item", { hasText: "head" }).click();
    await is("head");
    await page.mouse.move(2, 2);
    await daemon.commit(scene, { put: { shot: CUBE(12), spark: CUBE(16), dust: CUBE(20) } });
    await until("more rows", async () => (await page.locator(".item").count()) === 9);
    await page.locator("#list").press("ArrowDown");
    await is("body");
    await daemon.commit(scene, { remove: ["shot", "spark", "dust", "a"] });
    await until("less rows", async () => (await page.locator(".item").count()) === 5);
    await page.locator("#list").press("ArrowDown");
    await is("foot");
    await page.fill("#search", "o"); // the first of what is found
    await page.press("#search", "ArrowDown");
    await until("the entity", async () => (await selected(page)).join() === "body,foot");
    await close();
});

test("a range takes the boxes of folded entities, at its ends and between them", async () => {
    const put = {};
    for (const who of ["ann", "bob", "cy"])
        for (const part of ["head", "body"]) put[`${who}-${part}`] = { ...CUBE(0), entity: who };
    const { page, close } = await show(await makeScene(put));
    const row = (name) =>
        page.locator(".item", { has: page.getByText(name, { exact: true }) }).first();
    const range = async (from, to, ...names) => {
        await row(from).click();
        await row(to).click({ modifiers: ["Shift"] });
        await row("bob").locator(".twist").click(); // so that its boxes have rows
        await until(`${names}`, async () => (await selected(page)).join() === names.join());
        await row("bob").locator(".twist").click();
    };
    await row("bob").locator(".twist").click();
    await until("folded", async () => (await page.locator(".item").count()) === 7);
    await range("ann-body", "cy-head", "ann-body", "bob-head", "bob-body", "cy-head");
    await range("bob", "cy-head", "bob-head", "bob-body", "cy-head");
    await range("cy-head", "bob", "bob-head", "bob-body", "cy-head");
    await close();
});

/** So many that not all rows of the list are in sight. */
async function showSixty() {
    const put = {};
    for (let i = 0; i < 60; i++) put[`box-${i}`] = CUBE(3 * (i % 10), 3 * Math.floor(i / 10));
    return show(await makeScene(put));
}

test("boxes under the pointer are outlined after more were selected than ever before", async () => {
    const { page, close } = await showSixty();
    await page.keyboard.press("3");
    const { at } = await frontOf(page, [13.5, 7.5], [14.5, 8.5]);
    await page.locator(".item").first().click();
    await page.keyboard.press("Escape");
    await page.keyboard.press("Control+a");
    await until("all of them", async () => (await page.textContent("#several-form h2")) === "60 boxes");
    await drawn(page);
    await page.keyboard.press("Escape");
    await page.mouse.move(at(0, 0).x, at(0, 0).y);
    await until("the name", async () => (await page.textContent("#tip")) === "box-0");
    await drawn(page); // or else an error of WebGL is on the console
    await close();
});

test("a box that is selected keeps its outline under the pointer", async () => {
    const { page, close } = await showSixty();
    await page.keyboard.press("3");
    const { at } = await frontOf(page, [13.5, 7.5], [14.5, 8.5]);
    await page.mouse.click(at(0, 0).x, at(0, 0).y);
    await until("selected", async () => (await selected(page)).join() === "box-0");
    const row = page.locator(".item.selected:not(.entity)");
    const outline = async () => {
        await drawn(page);
        const clip = { x: at(-1.2, 0).x, y: at(0, 1.2).y, width: at(1.2, 0).x - at(-1.2, 0).x, height: at(0, -1.2).y - at(0, 1.2).y };
        return (await page.screenshot({ clip })).toString("base64");
    };
    await page.mouse.move(2, 2);
    const alone = await outline();
    await row.hover();
    await until("hovered", async () => (await page.locator(".item.hover").count()) === 1);
    assert.equal(await outline(), alone);
    await close();
});

test("a row that was searched for stays in sight when all are there again", async () => {
    const { page, close } = await showSixty();
    await page.fill("#search", "box-57");
    await page.locator(".item").first().click(); // the pointer stays on the list
    await page.fill("#search", "");
    await until("the row of many", async () => (await selected(page)).join() === "box-57");
    const [row, list] = await Promise.all([".item.selected", "#list"].map((selector) => page.locator(selector).boundingBox()));
    assert.ok(row.y >= list.y - 1 && row.y + row.height <= list.y + list.height + 1, `${row.y} ${list.y} ${list.height}`);
    await close();
});

test("handles move, turn and scale several boxes about their middle, each as one step of undo", async () => {
    const scene = await makeScene({ ...FOUR, other: CUBE(0, 0, -2) });
    const { page, close } = await show(scene);
    const commits = [];
    page.on("request", (request) => request.url().endsWith("/commit") && commits.push(request.postDataJSON()));
    await page.keyboard.press("3");
    const { at, unit } = await frontOf(page, [0, 0], [5, 4]);
    const { height } = await page.locator("#view").boundingBox();
    await select(page, "a", "b", "c", "d");
    await page.click("[data-command=move]");
    const centers = async () => Promise.all(["a", "b", "c", "d", "other"].map(async (name) => (await daemon.box(scene, name)).center));
    const before = await centers();
    const size = height / 10 / unit; // of handles, in units of the scene
    await drag(page, at(0.8 * size, 0.02), at(0.8 * size + 2, 0.02));
    const after = await arrived(page, scene);
    const moved = await centers();
    const by = moved[0][0] - before[0][0];
    assert.ok(Math.abs(by - 2) < 0.2, String(by));
    for (let i = 0; i < 4; i++) assert.ok(near(moved[i], [before[i][0] + by, before[i][1], before[i][2]], 1e-9), String(moved[i]));
    assert.deepEqual(moved[4], before[4]);
    assert.equal(commits.length, after - 1); // those on the way too
    for (const { if_revision, pose, put } of commits) assert.deepEqual([if_revision, Object.values(pose).map(Object.keys), put], [undefined, Array(4).fill(["center"]), {}]);
    await page.keyboard.press("Control+z");
    await revision(page, after + 1);
    assert.deepEqual(await centers(), before);

    await page.keyboard.press("e");
    const ring = size * Math.SQRT1_2;
    await drag(page, at(ring, ring), at(-ring, ring)); // a quarter about the eye's axis, counter-clockwise
    const turns = await arrived(page, scene);
    const turned = await centers();
    const angle = Math.atan2(turned[0][1], turned[0][0]) - Math.atan2(-3, -4);
    const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
    assert.ok(Math.abs(sin) > 0.5, String(angle));
    for (let i = 0; i < 4; i++) {
        const [x, y, z] = before[i];
        assert.ok(near(turned[i], [cos * x - sin * y, sin * x + cos * y, z], 1e-6), `${turned[i]}`);
    }
    const { rotation } = await daemon.box(scene, "b");
    assert.ok(near(rotation.map(Math.abs), [0, 0, Math.abs(Math.sin(angle / 2)), Math.abs(Math.cos(angle / 2))], 1e-6), String(rotation));
    await page.keyboard.press("Control+z");
    await revision(page, turns + 1);

    await page.keyboard.press("r");
    await drag(page, at(0.8 * size, 0.02), at(1.2 * size, 0.02));
    const scales = await arrived(page, scene);
    const scaled = await centers();
    const factor = scaled[1][0] / before[1][0];
    assert.ok(factor > 1.1 && factor < 3, String(factor));
    for (let i = 0; i < 4; i++) assert.ok(near(scaled[i], before[i].map((value) => value * factor), 1e-6), String(scaled[i]));
    assert.ok(near((await daemon.box(scene, "c")).half_extents, [factor, factor, factor], 1e-6));
    await page.keyboard.press("Control+z");
    await revision(page, scales + 1);
    assert.deepEqual(await centers(), before);
    assert.equal(commits.length, scales); // no request but these
    await close();
});

test("an undo that comes before a drag is answered undoes it", async () => {
    const scene = await makeScene(FOUR);
    const { page, close } = await show(scene);
    await page.keyboard.press("3");
    const { at, unit } = await frontOf(page, [0, 0], [5, 4]);
    const { height } = await page.locator("#view").boundingBox();
    await select(page, "a", "b", "c", "d");
    let [began, goOn] = [null, null];
    const first = new Promise((resolve) => (began = resolve));
    const held = new Promise((resolve) => (goOn = resolve));
    await intercept(page, "**/commit", async (route) => {
        began();
        await held;
        await route.continue();
    });
    const grip = (0.8 * height) / 10 / unit;
    await drag(page, at(grip, 0.02), at(grip + 2, 0.02));
    await first;
    await page.keyboard.press("Control+z");
    goOn();
    await arrived(page, scene);
    assert.deepEqual((await daemon.box(scene, "a")).center, [-4, -3, 0]);
    const { body } = await daemon.call("GET", `/v1/scenes/${scene}`);
    assert.ok(body.revision >= 3, String(body.revision)); // it was somewhere else
    assert.ok(await page.getByRole("button", { name: "Undo" }).isDisabled());
    assert.ok(await page.getByRole("button", { name: "Redo" }).isEnabled());
    await close();
});

test("several boxes are moved, turned and scaled by numbers, copied and deleted, in space and in the plane", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(4), c: CUBE(90) });
    const { page, close } = await show(scene);
    const form = "#several-form";
    await select(page, "a", "b");
    await page.waitForSelector(form, { state: "visible" });
    await field(page, "Move by y", 3, form);
    await revision(page, 2);
    assert.deepEqual((await daemon.box(scene, "a")).center, [0, 3, 0]);
    assert.deepEqual((await daemon.box(scene, "b")).center, [4, 3, 0]);
    await field(page, "Turn by ° y", 90, form);
    await revision(page, 3);
    assert.ok(near((await daemon.box(scene, "a")).center, [2, 3, 2], 1e-9)); // about (2, 3, 0)
    assert.ok(near((await daemon.box(scene, "b")).center, [2, 3, -2], 1e-9));
    await field(page, "Scale by", 0.5, form);
    await revision(page, 4);
    assert.ok(near((await daemon.box(scene, "a")).center, [2, 3, 1], 1e-9));
    assert.ok(near((await daemon.box(scene, "a")).half_extents, [0.5, 0.5, 0.5], 1e-9));
    await blur(page);
    await page.keyboard.press("d");
    await revision(page, 5);
    assert.deepEqual(await selected(page), ["a-1", "b-1"]);
    await page.keyboard.press("Delete");
    await revision(page, 6);
    for (let i = 7; i < 12; i++) {
        await page.keyboard.press("Control+z");
        await revision(page, i);
    }
    assert.deepEqual((await daemon.box(scene, "b")).center, [4, 0, 0]);
    assert.deepEqual((await daemon.box(scene, "b")).rotation, [0, 0, 0, 1]);
    assert.deepEqual((await daemon.box(scene, "c")).center, [90, 0, 0]);
    await close();

    const flat = await makeScene({ a: SQUARE(0), b: SQUARE(4) }, { dimensions: 2 });
    const plane = await show(flat);
    await select(plane.page, "a", "b");
    await field(plane.page, "Turn by °", 90, form);
    await revision(plane.page, 2);
    const a = await daemon.box(flat, "a");
    assert.ok(near(a.center, [2, -2], 1e-9) && Math.abs(a.angle - 90) < 1e-9, JSON.stringify(a));
    await plane.close();
});

test("a change of several boxes of which somebody else moved one is offered again, and the boxes stay where they are", async () => {
    const scene = await makeScene(FOUR);
    const { page, close } = await show(scene, { expected: [/status of 412/] });
    await page.keyboard.press("3");
    const { at, unit } = await frontOf(page, [0, 0], [5, 4]);
    const { height } = await page.locator("#view").boundingBox();
    await select(page, "a", "b", "c", "d");
    let others = 0;
    await intercept(page, "**/commit", async (route) => {
        if (others++ === 0) await daemon.commit(scene, { pose: { b: { center: [5, -3, 0] } } });
        await route.continue();
    });
    const grip = (0.8 * height) / 10 / unit;
    await drag(page, at(grip, 0.02), at(grip + 2, 0.02));
    await page.waitForSelector("#message");
    assert.match(await page.textContent("#message-text"), /Not done: move 4 boxes\. Somebody else has moved b meanwhile\./);
    assert.deepEqual((await daemon.box(scene, "a")).center, [-4, -3, 0]);
    await page.mouse.click(at(-4, -3).x, at(-4, -3).y); // it is shown where it is
    await until("the box", async () => (await selected(page)).join() === "a");
    await page.getByRole("button", { name: "Leave it" }).click();
    await page.waitForSelector("#message", { state: "hidden" });
    assert.ok(await page.getByRole("button", { name: "Undo" }).isDisabled());
    await close();
});

await runAll();
