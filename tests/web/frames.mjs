#!/usr/bin/env node
// No test: three looks at the demo that moves, side by side, as build/web/frames.png (OBBD=build/obbd node tests/web/frames.mjs).
import { mkdirSync } from "node:fs";
import { launch, openPage, startDaemon } from "./harness.mjs";

const FRAMES = 3;
const APART_MS = 1500;
const WIDTH = 400; // of a frame
const folder = new URL("../../build/web/", import.meta.url).pathname;
mkdirSync(folder, { recursive: true });

const daemon = await startDaemon(0, ["--demo"]);
const browser = await launch();
const { page, close } = await openPage(browser, `${daemon.url}/#demo`, { viewport: { width: 1240, height: 700 } });
await page.goto(`${daemon.url}/#demo`);
await page.waitForSelector("#status[data-state=live]");
const view = await page.locator("#view").boundingBox();
const pictures = [];
while (pictures.length < FRAMES) {
    await new Promise((resolve) => setTimeout(resolve, pictures.length === 0 ? 4 * APART_MS : APART_MS));
    pictures.push((await page.screenshot({ clip: view })).toString("base64"));
}
await close();
const height = Math.round((WIDTH * view.height) / view.width);
const sheet = await browser.newPage({ viewport: { width: FRAMES * (WIDTH + 4) - 4, height } });
const images = pictures.map((data) => `<img width="${WIDTH}" height="${height}" src="data:image/png;base64,${data}">`);
await sheet.setContent(`<body style="margin:0;background:#fff;display:flex;gap:4px">${images.join("")}</body>`);
await sheet.screenshot({ path: `${folder}frames.png` });
await browser.close();
await daemon.stop();
