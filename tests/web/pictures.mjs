#!/usr/bin/env node
// No test: the pictures of the page that its README and that of the project show, as build/web/pictures/*.png
// (OBBD=build/obbd node tests/web/pictures.mjs [NAME...]), in 256 colours. They are kept in server/web/pictures.
import { mkdirSync, writeFileSync } from "node:fs";
import { openPage, startDaemon, until } from "./harness.mjs";
import { blind, makeLive } from "./live.mjs";
import { png8 } from "./png8.mjs";
import { browser, daemon } from "./words.mjs";

const folder = new URL("../../build/web/pictures/", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });

const WIDE = { viewport: { width: 1280, height: 760 } };
const PHONE = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 };
const wanted = process.argv.slice(2); // all, if none is named
const moving = await startDaemon(0, ["--demo"]);
const still = await startDaemon(0, ["--demo=still"]);

async function inFewColours(png) {
    const blank = await browser.newPage();
    const { data, width, height } = await blank.evaluate(async (png) => {
        const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
        const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
        canvas.drawImage(image, 0, 0);
        const { data } = canvas.getImageData(0, 0, image.width, image.height);
        let bytes = "";
        for (let i = 0; i < data.length; i += 32768) bytes += String.fromCharCode(...data.subarray(i, i + 32768));
        return { data: btoa(bytes), width: image.width, height: image.height };
    }, png.toString("base64"));
    await blank.close();
    return png8(Buffer.from(data, "base64"), width, height);
}

/** A picture of the page after `act`, which may give what must hold before and behind it. */
async function picture(name, daemon, options, act, scene = "demo") {
    if (wanted.length > 0 && !wanted.includes(name)) return;
    const { page, close } = await openPage(browser, daemon.url, options);
    await page.goto(`${daemon.url}/#${scene}`);
    await page.waitForSelector("#status[data-state=live]");
    await until("the boxes", async () => /^\d+ box/.test(await page.textContent("#list-sum")));
    const holds = (await act(page)) ?? (async () => true);
    await page.mouse.move(2, 2);
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve)))));
    let png;
    do {
        await until("what is to be seen", holds);
        png = await page.screenshot();
    } while (!(await holds()));
    const bytes = await inFewColours(png);
    await close();
    writeFileSync(`${folder}${name}.png`, bytes);
    console.log(`${name}: ${bytes.length} bytes`);
}

const shots = (page, count) => until(`${count} shots`, async () => Number.parseInt(await page.textContent("#shots-sum"), 10) >= count);
const ask = async (page, digit, rows = {}) => {
    await page.keyboard.press(`Alt+${digit}`);
    for (const [label, values] of Object.entries(rows)) for (const [i, value] of values.entries()) await page.locator("#probe-form .row", { hasText: label }).locator("input").nth(i).fill(String(value));
    await page.click("#probe-ask");
    await page.waitForSelector("#probe-out .sub");
};

/** Selects the boxes of an entity, and looks at them from near by. */
async function near(page, entity) {
    await page.fill("#search", entity);
    await page.locator(".item.entity").first().click();
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("f");
    await page.locator("#view canvas").focus();
    for (let i = 0; i < 8; i++) await page.keyboard.press("-");
    await page.fill("#search", "");
    await page.evaluate(() => document.activeElement.blur());
}

await picture("first", moving, WIDE, (page) => shots(page, 6).then(() => undefined));
await picture("shots", moving, WIDE, async (page) => {
    await shots(page, 6);
    await page.locator("#shots-list li:has(.mark-miss) button").first().click();
    await page.waitForSelector("#shots-why .found button");
});
await picture("lag", moving, WIDE, async (page) => {
    await near(page, "player-3");
    await page.click("#tab-lag");
    await page.fill("#lag-who", "player-3");
    await page.fill("#lag-delay", "250");
    await page.keyboard.press("Enter");
    const verdict = (which) => page.getAttribute(`#lag-${which}`, "data-verdict");
    return async () => (await verdict("then")) === "hit" && (await verdict("now")) === "missed";
});
await picture("time", moving, WIDE, async (page) => {
    await shots(page, 3);
    await page.click("#tab-box");
    await near(page, "player-3");
    for (let i = 0; i < 12; i++) await page.keyboard.press("[");
    await until("the past", async () => /ago/.test(await page.textContent("#past-text")));
});
const live = await makeLive({}, { settings: { record: 200 } });
await picture(
    "events",
    daemon,
    { ...WIDE, colorScheme: "dark" },
    async (page) => {
        await page.click("#tab-events");
        await until("pairs", async () => (await page.locator("#events-list button").count()) > 6);
        await new Promise((resolve) => setTimeout(resolve, 20_000)); // for bars
    },
    live.scene,
);
await live.stop();
await picture("pairs", still, WIDE, async (page) => {
    await ask(page, 7);
    await page.click("[data-command=only]");
});
await picture("page", still, WIDE, (page) => ask(page, 1, { From: [-19, 1.2, 0], To: [19, 1.2, 0] }).then(() => page.selectOption("#probe-mode", "all")).then(() => undefined));
await picture("phone", still, { ...PHONE, colorScheme: "dark" }, async (page) => {
    await page.click("#tab-list");
    await page.fill("#search", "door");
    await page.locator(".item:not(.entity)").first().click();
    await page.click("#tab-box");
    await page.keyboard.press("f");
});
await picture("dark", still, { ...WIDE, colorScheme: "dark" }, async (page) => {
    await page.click("#start-select");
});
await picture("deuteranopia", still, WIDE, async (page) => {
    await ask(page, 3, { Center: [0, 1, 0], Radius: [6] });
    const session = await page.context().newCDPSession(page);
    await session.send("Emulation.setEmulatedVisionDeficiency", { type: "deuteranopia" });
});
await picture("beside", still, WIDE, async (page) => {
    await page.click("[data-command=beside]");
    const other = await until("the page beside", () => page.frames().find((one) => one !== page.mainFrame()));
    await other.waitForSelector("#status[data-state=live]");
    await other.selectOption("#colours", "depth");
    await page.keyboard.press("2");
    await page.locator("#view canvas").focus();
    await page.keyboard.press("+");
    await other.waitForSelector("[data-command=top][aria-pressed=true]");
});
await browser.close();
await blind.close();
await daemon.stop();
await moving.stop();
await still.stop();
