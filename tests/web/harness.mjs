// What the tests of the page stand on: a daemon, a browser, and sums.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";
import { TIMEOUT_MS, until } from "../support/daemon.mjs";

export { startDaemon, TIMEOUT_MS, until } from "../support/daemon.mjs";
export { run, test } from "../support/sums.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-gpu-compositing", // SwiftShader then draws the view alone, not all of the page around it as well
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
];

export function launch(more = []) {
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium-headless-shell", args: [...FLAGS, ...more] });
}

/** What the browser says on the console as it copies the view into the rest of the page. It would say the same of a page that reads pixels back. */
const COPIES = /GPU stall due to ReadPixels/;

/** What it says as the page reads a box that was removed a moment before. The page cannot know of that, and copes with it. */
const REMOVED = /status of 404 .*\/boxes\/[^/?]+$/;

/** Runs in the page before its own scripts: makes it a fault if the page reads pixels back. */
function watchPixels() {
    for (const context of [globalThis.WebGLRenderingContext, globalThis.WebGL2RenderingContext]) {
        if (context === undefined) continue;
        const { readPixels } = context.prototype;
        context.prototype.readPixels = function (...all) {
            console.error("the page reads pixels back");
            return readPixels.apply(this, all);
        };
    }
}

/** Opens the page and writes down what it must not do: errors on the console, and requests to other hosts. */
export async function openPage(browser, url, { expected = [], ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    await page.addInitScript(watchPixels);
    const faults = [];
    let requests = 0;
    page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
    page.on("console", (message) => {
        const text = `${message.text()} ${message.location().url}`;
        const known = message.type() === "info" || message.type() === "debug" || [COPIES, REMOVED, ...expected].some((pattern) => pattern.test(text));
        if (!known) faults.push(`${message.type()}: ${text}`);
    });
    context.on("response", (response) => {
        const method = response.request().method();
        const text = `status of ${response.status()} ${response.url()}`; // the console does not say the method
        if (method !== "GET" && REMOVED.test(text) && !expected.some((pattern) => pattern.test(text))) faults.push(`${method}: ${text}`);
    });
    context.on("request", (request) => {
        requests++;
        const { origin, protocol } = new URL(request.url());
        const own = origin === new URL(url).origin || protocol === "data:" || protocol === "blob:";
        if (!own) faults.push(`request to ${request.url()}`);
    });
    return {
        page,
        faults,
        async close() {
            await context.close();
            assert.ok(requests > 0, "the page has asked for nothing");
            assert.deepEqual(faults, []);
        },
    };
}

/**
 * As page.route, and in effect when it is answered: the browser tells a page that is open of it in a way of its own, and a key
 * pressed after page.route can come before that.
 */
export async function intercept(page, path, handler) {
    await page.route(path, handler);
    if (page.url() === "about:blank") return; // what is opened from now on knows
    const query = "?intercepted";
    await page.route((url) => url.search === query, (route) => route.fulfill({ status: 204 }));
    await until("requests are intercepted", () => page.evaluate(async (query) => (await fetch(`/healthz${query}`)).status === 204, query));
}

/**
 * Lets axe-core look at the page, or at a part of it (a context of axe), and fails if it finds something to complain about.
 * Returns how many rules held. Their elements are not described: that took longer than to look for them.
 */
export async function rulesHeld(page, state = "the page", part = undefined) {
    if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(AXE);
    const { violations, passes } = await page.evaluate((part) => globalThis.axe.run(part ?? document, { resultTypes: ["violations"] }), part);
    assert.deepEqual(violations.map(({ id, nodes }) => `${state}: ${id} ${nodes.map((node) => `${node.html} ${node.failureSummary}`)}`), []);
    return passes.length;
}
