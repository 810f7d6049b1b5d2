#!/usr/bin/env node
// Two pages side by side: another scene in each, one camera for both, and an address that has both.
import assert from "node:assert/strict";
import { openPage, test, until } from "./harness.mjs";
import { browser, CUBE, daemon, drawn, makeScene, pixels, revision, runAll, SHOTS, show } from "./words.mjs";

const words = (url) => new URLSearchParams(new URL(url).hash.split("?")[1] ?? "");

async function inner(page) {
    return until("the page beside", async () => {
        const frame = page.frames().find((one) => one !== page.mainFrame());
        return frame && (await frame.locator("#status[data-state=live]").count()) === 1 && frame;
    });
}

test("another scene is shown beside, who turns the view turns both, and both follow what happens", async () => {
    const [one, two] = [await makeScene({ a: CUBE(0), b: CUBE(5), c: CUBE(2.5, 4) }), await makeScene({ a: CUBE(0), b: CUBE(5), d: CUBE(2.5, 4, 1) })];
    const { page, close } = await show(one, { viewport: { width: 1440, height: 700 } });
    await page.click("[data-command=beside]");
    let other = await inner(page);
    assert.equal(await other.inputValue("#scene"), one); // the same at first
    assert.equal(await other.locator("[data-command=beside]").isVisible(), false);
    await other.selectOption("#scene", two);
    await until("the other scene", async () => (await other.locator(".item .name").allTextContents()).includes("d") || (await other.textContent("#start-title")) === two);
    await until("the address", () => words(page.url()).get("beside") === two);
    await page.locator("#view canvas").focus();
    for (const key of ["ArrowLeft", "ArrowUp", "+"]) await page.keyboard.press(key);
    const eye = () => words(page.url()).get("eye");
    await until("one camera", () => eye() && new URLSearchParams((words(page.url()).get("beside") ?? "").split("?")[1]).get("eye") === eye());
    const before = eye();
    await other.locator("#view canvas").focus();
    await page.keyboard.press("ArrowLeft");
    await until("the outer one follows", () => eye() !== before && new URLSearchParams((words(page.url()).get("beside") ?? "").split("?")[1]).get("eye") === eye());
    await daemon.commit(two, { remove: ["b"] });
    await until("it is gone beside", async () => (await other.textContent("#revision")) === "revision 2");
    await revision(page, 1);
    await drawn(page);
    await page.screenshot({ path: `${SHOTS}beside-1440-light.png` });

    const follower = await openPage(browser, daemon.url, { viewport: { width: 1440, height: 700 } });
    await follower.page.goto(page.url());
    other = await inner(follower.page);
    assert.deepEqual([await follower.page.inputValue("#scene"), await other.inputValue("#scene")], [one, two]);
    await until("the same address", () => follower.page.url() === page.url());
    await follower.close();

    await page.click("[data-command=beside]");
    assert.equal(await page.locator("iframe").count(), 0);
    await until("the address of one", () => !words(page.url()).has("beside"));
    await close();
});

test("the page beside is seen from where this one is seen from the beginning, and its buttons are not those of a phone", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(5), c: CUBE(2.5, 4) });
    const { page, close } = await show(scene, { viewport: { width: 1280, height: 760 } });
    await page.keyboard.press("2");
    await page.locator("#view canvas").focus();
    for (const key of ["ArrowLeft", "+"]) await page.keyboard.press(key);
    await until("the address", () => words(page.url()).get("eye"));
    await page.click("[data-command=beside]");
    const other = await inner(page);
    await other.waitForSelector("[data-command=top][aria-pressed=true]");
    await until("one camera", () => new URLSearchParams((words(page.url()).get("beside") ?? "").split("?")[1]).get("eye") === words(page.url()).get("eye"));
    const sizes = async (frame) => {
        const { width, height } = await frame.locator(".tools [data-command=add]").boundingBox();
        return [Math.round(width), Math.round(height)];
    };
    assert.deepEqual(await sizes(other), await sizes(page));
    await close();
});

test("a view that nobody has turned frames the scene anew where it gets another size", async () => {
    const scene = await makeScene({ a: CUBE(-6), b: CUBE(6) });
    const { page, close } = await show(scene, { viewport: { width: 1300, height: 600 } });
    await until("the boxes", async () => /^2 boxes/.test(await page.textContent("#list-sum")));
    await page.setViewportSize({ width: 900, height: 600 });
    await drawn(page);
    const again = await pixels(page);
    const { page: fresh, close: end } = await show(scene, { viewport: { width: 900, height: 600 } });
    await until("the boxes", async () => /^2 boxes/.test(await fresh.textContent("#list-sum")));
    await drawn(fresh);
    assert.deepEqual(again, await pixels(fresh));
    await end();
    await close();
});

test("a page that nobody shows beside itself hears nobody: messages from elsewhere change nothing", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9) });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    const seen = await pixels(page);
    await page.evaluate(() => postMessage({ address: "x", eye: { dimensions: 3, side: "top", axes: "z", place: [0, 0, 9, 0, 0, 0, 1] } }, location.origin));
    await drawn(page);
    assert.deepEqual(await pixels(page), seen);
    await close();
});

await runAll();
