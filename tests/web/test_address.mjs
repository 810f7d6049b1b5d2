#!/usr/bin/env node
// The address of the page: what it shows is shown again by whoever opens it, and Back and Forward go through it.
import assert from "node:assert/strict";
import { openPage, test, until } from "./harness.mjs";
import { ask, browser, CUBE, daemon, drag, drawn, found, makeScene, pixels, revision, runAll, select, selected, show, SQUARE } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };
const words = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1] ?? "");
const says = (page, name, value) => until(`${name} is ${value}`, () => words(page).getAll(name).join() === value);

/** Another page at the same address. */
async function follow(page) {
    const opened = await openPage(browser, daemon.url, SMALL);
    await opened.page.goto(page.url());
    await opened.page.waitForSelector("#status[data-state=live]");
    return opened;
}

test("selection, camera and colours are in the address, and another page at it shows the same to the pixel", async () => {
    const scene = await makeScene({ "a b": SQUARE(0), "c,d": SQUARE(5), "e&f=?": SQUARE(1.5) }, { dimensions: 2 });
    const { page, close } = await show(scene, SMALL);
    assert.equal(new URL(page.url()).hash, `#${scene}`); // nothing is said of what is as at first
    await select(page, "c,d", "e&f=?");
    await says(page, "box", "c,d,e&f=?");
    const { x, y, width, height } = await page.locator("#view").boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    await page.mouse.wheel(0, -240);
    await drag(page, { x: x + 60, y: y + 60 }, { x: x + 100, y: y + 90 });
    await page.selectOption("#colours", "depth");
    await says(page, "colours", "depth");
    await until("the camera", () => words(page).get("eye")?.split(",").length === 7);
    const other = await follow(page);
    await until("the boxes", async () => (await selected(other.page)).join() === "c,d,e&f=?");
    assert.equal(await other.page.inputValue("#colours"), "depth");
    await until("the same address", () => other.page.url() === page.url());
    await until("the same picture", async () => {
        const names = ["least", "most", "accent"];
        const [one, two] = [await pixels(page, "#view canvas", names), await pixels(other.page, "#view canvas", names)];
        const near = (a, b) => Math.abs(a - b) <= 2; // the address has six digits
        return one.most.count > 100 && names.every((name) => near(one[name].left, two[name].left) && near(one[name].right, two[name].right) && near(one[name].top, two[name].top));
    });
    await other.close();
    await close();
});

test("views from a side and where one has gone in them", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(5, 1, 2) });
    const { page, close } = await show(scene, SMALL);
    await page.keyboard.press("2");
    await says(page, "side", "top");
    await page.focus("#view canvas");
    for (const key of ["+", "+", "ArrowLeft"]) await page.keyboard.press(key);
    await until("the camera", () => words(page).has("eye"));
    const other = await follow(page);
    await until("the same address", () => other.page.url() === page.url());
    assert.equal(await other.page.getAttribute("[data-command=top]", "aria-pressed"), "true");
    await other.close();
    await close();
});

test("Back and Forward go through selections and questions, and steps do not pile up while something is dragged or typed", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(5), c: CUBE(9) });
    const { page, close } = await show(scene, SMALL);
    const row = (name) => page.locator(".item", { has: page.getByText(name, { exact: true }) }).click();
    await row("a");
    await says(page, "box", "a");
    await row("b");
    await says(page, "box", "b");
    const long = await page.evaluate(() => history.length);
    await ask(page, 1, { From: [-5, 0.1, 0.2], To: [20, 0.1, 0.2] });
    await until("the hit", async () => (await found(page)).join() === "a");
    await says(page, "of", "-5,0.1,0.2;20,0.1,0.2");
    await page.selectOption("#probe-mode", "all");
    await until("all hits", async () => (await found(page)).join() === "a,b,c");
    await says(page, "hits", "all");
    assert.equal(await page.evaluate(() => history.length), long + 1);
    const other = await follow(page);
    await until("the same answer", async () => (await found(other.page)).join() === "a,b,c");
    assert.equal(await other.page.inputValue("#probe-mode"), "all");
    await other.close();
    await page.goBack();
    await until("no question", async () => (await page.getAttribute("body", "data-tool")) === "select");
    assert.deepEqual(await selected(page), ["b"]);
    await page.goBack();
    await until("a", async () => (await selected(page)).join() === "a");
    await page.goForward();
    await until("b", async () => (await selected(page)).join() === "b");
    await page.goForward();
    await until("the answer again", async () => (await found(page)).join() === "a,b,c");
    assert.deepEqual(await selected(page), ["b"]);
    await close();
});

test("a state of the past is in the address: another page shows it too, and Back leads out of it", async () => {
    const scene = await makeScene({ a: CUBE(0) }, { history: { commits: 100 } });
    for (let i = 1; i <= 5; i++) await daemon.commit(scene, { pose: { a: { center: [i, 0, 0] } } });
    const { page, close } = await show(scene, SMALL);
    await revision(page, 6);
    await page.focus("#past");
    await until("the history", async () => (await page.getAttribute("#past", "min")) === "1" || (await page.getAttribute("#past", "min")) === "0");
    await page.keyboard.press("Escape");
    for (let i = 0; i < 3; i++) {
        await page.keyboard.press("[");
        await revision(page, 5 - i);
    }
    await says(page, "revision", "3");
    const other = await follow(page);
    await revision(other.page, 3);
    await select(other.page, "a");
    assert.equal(await other.page.locator("#box-form").getByLabel("Center x", { exact: true }).inputValue(), "2");
    await other.close();
    await page.goBack();
    await revision(page, 6);
    assert.ok(!words(page).has("revision"));
    await page.goForward();
    await revision(page, 3);
    await page.click("#now");
    await revision(page, 6);
    await says(page, "revision", "");
    await drawn(page);
    await close();
});

test("addresses that say what is not there, or nonsense, show the scene", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    for (const said of ["box=nobody", "eye=1,2,x", "eye=0,0,0,0,0,0,0", "ask=nothing&of=1", "ask=ray&of=1,2;3", "side=below&colours=none", "revision=-7x", "&&==?#"]) {
        const opened = await openPage(browser, daemon.url, SMALL);
        await opened.page.goto(`${daemon.url}/#${scene}?${said}`);
        await opened.page.waitForSelector("#status[data-state=live]");
        await until("its box", async () => /^1 box,/.test(await opened.page.textContent("#list-sum")));
        await drawn(opened.page);
        await opened.close();
    }
});

await runAll();
