// What the tests of the page stand on: a daemon, a browser, and sums in the form that tests/run.sh counts.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chromium } from "playwright-core";

const FACTOR = Number(process.env.TIMEOUT_FACTOR ?? 1);
export const TIMEOUT_MS = 15_000 * FACTOR;
const FLAGS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
];

export function launch(more = []) {
    return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...FLAGS, ...more] });
}

/** A daemon on loopback; it ends with stop(), or with the tests. */
export async function startDaemon(port = 0, options = ["--demo"]) {
    const program = process.env.OBBD;
    assert.ok(program, "OBBD must name the daemon to test");
    const child = spawn(program, [...options, "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stderr.on("data", (bytes) => (said += bytes));
    const end = new Promise((resolve) => child.once("exit", (status, signal) => resolve(status ?? signal)));
    const url = await new Promise((resolve, reject) => {
        child.once("error", reject);
        child.stdout.on("data", (bytes) => {
            const [, found] = /listening on (http:\S+)/.exec(bytes) ?? [];
            if (found) resolve(found);
        });
        void end.then((status) => reject(new Error(`the daemon ended with ${status}: ${said}`)));
    });
    const call = async (method, path, body) => {
        const response = await fetch(`${url}${path}`, {
            method,
            headers: body === undefined ? {} : { "Content-Type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
        const text = await response.text();
        return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
    };
    return {
        url,
        port: Number(new URL(url).port),
        call,
        async box(scene, name) {
            const { status, body } = await call("GET", `/v1/scenes/${scene}/boxes/${encodeURIComponent(name)}`);
            return status === 200 ? body : null;
        },
        async commit(scene, changes) {
            const { status, body } = await call("POST", `/v1/scenes/${scene}/commit`, changes);
            assert.equal(status, 200, JSON.stringify(body));
            return body;
        },
        async stop() {
            child.kill("SIGTERM");
            return end;
        },
    };
}

/** Waits until what `look` gives is true, or says what it gave last. */
export async function until(what, look) {
    const end = Date.now() + TIMEOUT_MS;
    let last;
    for (;;) {
        last = await look();
        if (last) return last;
        if (Date.now() > end) throw new Error(`${what}: not so after ${TIMEOUT_MS} ms, last seen ${JSON.stringify(last)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}

/** Opens the page and writes down what it must not do: errors on the console, and requests to other hosts. */
export async function openPage(browser, url, { expected = [], ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT_MS);
    const faults = [];
    let requests = 0;
    page.on("pageerror", (error) => faults.push(`exception: ${error.message}`));
    page.on("console", (message) => {
        const text = message.text();
        const known = message.type() === "info" || message.type() === "debug" || expected.some((pattern) => pattern.test(text));
        if (!known) faults.push(`${message.type()}: ${text}`);
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

const tests = [];

/** A test; tests run in the order in which they stand. */
export function test(name, work) {
    tests.push({ name, work });
}

/** Runs all and prints the sums. */
export async function run() {
    let failures = 0;
    const picked = tests.filter(({ name }) => name.includes(process.env.ONLY ?? ""));
    for (const { name, work } of picked) {
        const begin = Date.now();
        try {
            await work();
            console.log(`${name}: ok, ${Date.now() - begin} ms`);
        } catch (error) {
            failures++;
            console.log(`${name}: FAILED, ${error.stack}`);
        }
    }
    const share = Math.floor((100 * (picked.length - failures)) / Math.max(1, picked.length));
    console.log(`${share}%: Checks: ${picked.length}, Failures: ${failures}, Errors: 0`);
    return failures === 0 && picked.length > 0;
}
