#!/usr/bin/env node
// The list of boxes while rows come and go: what is looked at, or pointed at, stays where it is.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { blind, showBlind } from "./live.mjs";
import { CUBE, daemon, drawn, makeScene, revision, runAll, select, selected } from "./words.mjs";

const rowOf = (page, name) =>
    page.locator(".item", { has: page.getByText(name, { exact: true }) }).first();
/** Rows by name, with where they are in the page: those that are in sight as a whole. */
const inSight = (page) =>
    page.evaluate(() => {
        const { top, bottom } = document.querySelector("#list").getBoundingClientRect();
        return [...document.querySelectorAll(".item")]
            .map((item) => {
                const name = item.querySelector(".name").textContent;
                return { name, ...item.getBoundingClientRect().toJSON() };
            })
            .filter((row) => row.top >= top && row.bottom <= bottom)
            .sort((a, b) => a.top - b.top);
    });

/** Where a row is in the page; Infinity: it is out of sight. */
const topOf = async (page, name) =>
    (await inSight(page)).find((row) => row.name === name)?.top ?? Infinity;

const named = (stem, count) => Array.from({ length: count }, (_, i) => `${stem}-${i}`);

/** A scene of free boxes, and so many of an entity, whose rows are below all free ones. */
function makeList(free, team) {
    const put = {};
    named("box", free).forEach((name, i) => (put[name] = CUBE(3 * i)));
    named("part", team).forEach((name, i) => (put[name] = { ...CUBE(3 * i, 9), entity: "team" }));
    return makeScene(put);
}

async function scroll(page, top) {
    await page.evaluate((top) => (document.querySelector("#list").scrollTop = top), top);
    await drawn(page);
}

/** Lets one commit after the other be shown; gives how far a row has moved at most. */
async function moved(page, scene, name, commits) {
    const from = await topOf(page, name);
    let most = 0;
    for (const one of commits) {
        const { revision: number } = await daemon.commit(scene, one);
        await revision(page, number);
        await drawn(page);
        most = Math.max(most, Math.abs((await topOf(page, name)) - from));
    }
    return most;
}

const cubes = (names) => Object.fromEntries(names.map((name, i) => [name, CUBE(3 * i, 20)]));
const shots = (from, to) => ({ put: cubes(named("shot", to).slice(from)) });

test("the row under the pointer stays where it is while boxes come and go", async () => {
    for (const { free, team, top, pointed } of [
        { free: 60, team: 60, top: 60 * 24, pointed: "part-9" }, // in the midst of a long list
        { free: 60, team: 20, top: 1e6, pointed: "part-12" }, // at its end
        { free: 6, team: 4, top: 0, pointed: "part-1" }, // of few rows
    ]) {
        const scene = await makeList(free, team);
        const { page, close } = await showBlind(scene);
        await scroll(page, top);
        await rowOf(page, pointed).hover();
        const first = await inSight(page);
        const commits = [
            shots(0, 3), // above
            shots(3, 40),
            { remove: ["box-0", "box-2"] },
            { remove: named("part", team).slice(-2) }, // below
            { remove: named("shot", 40) },
            { put: { more: { ...CUBE(0, 30), entity: "zoe" } } },
        ];
        assert.equal(await moved(page, scene, pointed, commits), 0, pointed);
        assert.equal(await page.locator(".item.hover .name").textContent(), pointed);
        // without the pointer nothing stays blank
        await page.mouse.move(700, 300);
        await drawn(page);
        const last = await inSight(page);
        const blank = last[0].top - (await page.locator("#list").boundingBox()).y;
        assert.ok(blank < 24, String(blank));
        const rows = free - 2 + team - 2 + 3; // two entities have rows as well
        assert.equal(last.length, Math.min(first.length, rows));
        await close();
    }
});

test("without the pointer the first row in sight stays, or the list at its top", async () => {
    const scene = await makeList(60, 60);
    const { page, close } = await showBlind(scene);
    await page.mouse.move(700, 300);
    const less = [["box-5", "box-7"], named("shot", 40)].map((remove) => ({ remove }));
    const commits = [shots(0, 3), shots(3, 40), ...less];
    await scroll(page, 80 * 24);
    const [{ name }] = await inSight(page);
    assert.match(name, /^part-/);
    assert.equal(await moved(page, scene, name, commits), 0);
    await scroll(page, 0);
    const { revision: number } = await daemon.commit(scene, { remove: ["box-0"] });
    await revision(page, number);
    await drawn(page);
    const [first] = await inSight(page);
    assert.equal(first.name, "box-1");
    assert.equal(first.top, (await page.locator("#list").boundingBox()).y);
    await close();
});

test("a search leaves the row under the pointer, or shows what it finds from the top", async () => {
    const scene = await makeList(60, 60);
    const { page, close } = await showBlind(scene);
    await scroll(page, 40 * 24);
    await rowOf(page, "box-52").hover();
    const from = await topOf(page, "box-52");
    for (const word of ["b", "box", "52", "", "box-5", ""]) {
        await page.fill("#search", word);
        await drawn(page);
        assert.equal(await topOf(page, "box-52"), from, word);
    }
    for (const pointed of [true, false]) {
        await scroll(page, 40 * 24);
        if (!pointed) await page.mouse.move(700, 300);
        await page.fill("#search", "part-");
        await drawn(page);
        const [first] = await inSight(page);
        assert.equal(first.name, "team");
        assert.equal(first.top, (await page.locator("#list").boundingBox()).y);
        await page.fill("#search", "");
    }
    await close();
});

test("a row that is pressed stays while the list gets shorter, and a click does not scroll", async () => {
    const scene = await makeList(60, 6);
    const { page, close } = await showBlind(scene);
    await scroll(page, 1e6);
    await rowOf(page, "part-1").hover();
    const from = await topOf(page, "part-1");
    await page.mouse.down();
    const commits = [{ remove: named("box", 50) }, shots(0, 5)];
    assert.equal(await moved(page, scene, "part-1", commits), 0);
    await page.mouse.up();
    await until("that it is selected", async () => (await selected(page)).join() === "part-1");
    await drawn(page);
    assert.equal(await topOf(page, "part-1"), from);
    // half of a row is in sight, and the second click of two comes where the first came
    await daemon.commit(scene, { put: cubes(named("far", 60)) });
    await page.mouse.move(700, 300);
    await until("the boxes", async () => /^81 boxes/.test(await page.textContent("#list-sum")));
    await scroll(page, 0);
    const { x, y, height } = await page.locator("#list").boundingBox();
    await page.mouse.move(x + 20, y + height - 3);
    const [half] = await page.locator(".item.hover .name").allTextContents();
    await page.mouse.click(x + 20, y + height - 3);
    await until("that it is selected", async () => (await selected(page)).join() === half);
    await drawn(page);
    assert.equal(await page.evaluate(() => document.querySelector("#list").scrollTop), 0);
    await close();
});

test("the list stays where it is however long the sum above it gets", async () => {
    const scene = await makeList(2, 0);
    for (const width of [1440, 800, 380]) {
        const { page, close } = await showBlind(scene, [], { viewport: { width, height: 800 } });
        if (width < 800) await page.click("#tab-list");
        const tops = await page.evaluate(() => {
            const sum = document.querySelector("#list-sum");
            const list = document.querySelector("#list");
            const short = "9 boxes, pairs: 0 overlap, 0 touch";
            const long = "9,999 of 10,000 boxes, pairs: 9,999 overlap, 1,234 touch";
            return [short, long].map((words) => {
                sum.textContent = words;
                return list.getBoundingClientRect().top;
            });
        });
        assert.equal(tops[0], tops[1], String(width));
        await close();
    }
});

test("a box that is left of several as the others are gone does not scroll the list", async () => {
    const scene = await makeList(60, 6);
    const { page, close } = await showBlind(scene);
    await select(page, "box-1", "box-3");
    await page.mouse.move(700, 300);
    await scroll(page, 40 * 24);
    const [{ name }] = await inSight(page);
    assert.equal(await moved(page, scene, name, [{ remove: ["box-3"] }]), 0);
    await close();
});

await runAll(blind);
