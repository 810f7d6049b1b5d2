#!/usr/bin/env node
// The example "lag" of the JavaScript client, as it was packed: what the page says of a shot, against a calculation of our own.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { launch, rulesHeld, run, test, TIMEOUT_MS, until } from "./harness.mjs";

const PICTURES = new URL("../../build/web/", import.meta.url).pathname;
mkdirSync(PICTURES, { recursive: true });
const example = new URL("../../build/clients/test/node_modules/@obbd/client/examples/lag/", import.meta.url);
const { aimedAt, DEFAULTS, HALF, Match, SHOOTER, tally } = await import(new URL("match.mjs", example));

const server = spawn("node", [new URL("serve.mjs", example).pathname], {
    env: { ...process.env, OBBD: undefined, OBBD_BIN: process.env.OBBD },
    stdio: ["ignore", "pipe", "inherit"],
});
const ended = new Promise((resolve) => server.once("exit", resolve));
const address = await new Promise((resolve) => {
    let said = "";
    server.stdout.on("data", (bytes) => {
        said += bytes;
        const [, found] = /^open (\S+)\n/.exec(said) ?? [];
        if (found) resolve(found);
    });
});
const browser = await launch();

/** Runs the work on the page, which must talk to loopback alone and say nothing on the console but what is expected. */
async function onPage(work, { expected, ...options } = {}) {
    const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(4 * TIMEOUT_MS);
    const faults = [];
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => expected?.test(message.text()) || faults.push(message.text()));
    context.on("request", (request) => new URL(request.url()).hostname !== "127.0.0.1" && !request.url().startsWith("data:") && faults.push(request.url()));
    try {
        await page.goto(address);
        await work(page);
    } finally {
        await context.close();
    }
    assert.deepEqual(faults, []);
}

const result = (page, judge) => page.locator(`[data-judge="${judge}"] .result`).textContent();
const slide = (page, name, value) => page.locator(`input[name=${name}]`).fill(String(value));

/** Does the ray hit the target at x? By slabs. */
function hits({ origin, direction }, x) {
    let [enter, leave] = [0, Number.POSITIVE_INFINITY];
    [x, HALF[1], 0].forEach((middle, k) => {
        const ends = [middle - HALF[k] - origin[k], middle + HALF[k] - origin[k]].map((d) => d / direction[k]);
        if (direction[k] === 0) return;
        enter = Math.max(enter, Math.min(...ends));
        leave = Math.min(leave, Math.max(...ends));
    });
    return enter <= leave;
}

test("a shot at what the shooter sees hits at the exact time, and misses where the target is", async () => {
    await onPage(async (page) => {
        await until("the target runs", async () => {
            await page.click("#fire");
            return (await result(page, "exact time")) === "hit" && /^missed by \d+ cm$/.test(await result(page, "now"));
        });
        const shown = await until("the request", () => page.textContent("#curl")); // it comes after the verdicts
        assert.match(shown, /^curl -s --json '.*"explain":\["target"\].*' 'http:\/\/127\.0\.0\.1:\d+\/v1\/scenes\/lag-\w+\/query\/ray'$/);
        assert.deepEqual(JSON.parse(execFileSync("sh", ["-c", shown.replace(/,"at":\{[^}]*\}/, "")])).results.length, 1);
        await page.screenshot({ path: `${PICTURES}lag.png` });
    });
});

test("with a way that is longer than the history, the exact time is out of reach", async () => {
    await onPage(async (page) => {
        for (const [name, value] of Object.entries({ latency: 300, interpolation: 200, history: 100 })) await slide(page, name, value);
        await until("a shot is late", async () => {
            await page.click("#fire");
            return /^missed/.test(await result(page, "exact time")) && (await page.textContent("#answer")).includes('"clamped":true');
        });
    });
});

test("the bot's shots hit as often as a calculation of our own says", async () => {
    // the same match without a daemon: what each judge sees, and the ray against it
    const expected = [0, 0, 0];
    const match = { ticks: 0 };
    const between = (time, period) => {
        const x = (t) => -9 + (((t / 1000) * 8) % 18);
        const before = Math.floor(time / period) * period;
        const jumps = x(before + period) < x(before);
        return jumps ? x(before) : x(before) + (x(before + period) - x(before)) * ((time - before) / period);
    };
    const scene = {
        async commit({ time, queries }) {
            const period = 1000 / DEFAULTS.rate;
            match.ticks++;
            const results = queries.map(({ rays: [ray], at }, i) => {
                const x = at === undefined ? between(time, period) : between(at.interpolate === false ? Math.floor(at.time / period) * period : at.time, period);
                const hit = hits(ray, x);
                expected[i % 3] += hit ? 1 : 0;
                return { results: [{ explain: [hit ? { verdict: "hit" } : { verdict: "missed", gap: 1 }] }] };
            });
            return { results };
        },
    };
    await tally(scene, DEFAULTS, 1000);
    assert.equal(expected[0], 0);
    assert.ok(expected[1] > 300 && expected[1] < 900, `${expected[1]}`);
    assert.equal(expected[2], 1000);
    await onPage(async (page) => {
        await page.click("#bot");
        await page.waitForSelector("#bot[data-done]");
        const told = await page.locator(".tally span").allTextContents();
        assert.deepEqual(told, expected.map((n) => `${n} of 1000 shots of the bot hit`));
    });
    console.log(`${expected} of 1000, in ${match.ticks} ticks`);
});

test("the traps catch", async () => {
    const says = {
        jump: /^A ghost/,
        flag: /^With teleport .* missed by [1-9][\d.]* m\.$/,
        late: /^410: the history begins at 50,/,
        clamped: /^Judged at 50, /,
        tick: /one tick of 50 ms off .* missed by (\d+) cm\.$/,
    };
    await onPage(
        async (page) => {
            for (const [trap, pattern] of Object.entries(says)) {
                await page.click(`[data-trap=${trap}]`);
                await until(trap, async () => pattern.test(await page.textContent("#trap")));
            }
            // 40 cm a tick, less half of the target, across the line of fire
            const ray = aimedAt(-9 + 8);
            const [, centimetres] = says.tick.exec(await page.textContent("#trap"));
            const across = Math.cos(Math.atan2(ray.direction[0], ray.direction[2]));
            assert.ok(Math.abs(Number(centimetres) / 100 - (0.4 - HALF[0]) * across) < 0.06, centimetres);
            assert.equal(SHOOTER[0], 0);
        },
        { expected: /status of 410/ },
    );
});

test("axe finds nothing to complain about, light and dark, wide and narrow", async () => {
    let rules = 0;
    for (const [colorScheme, width] of [["light", 1280], ["dark", 390]])
        await onPage(
            async (page) => {
                rules += await rulesHeld(page);
                assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
            },
            { colorScheme, viewport: { width, height: 900 } },
        );
    console.log(`axe: ${rules} rules passed`);
    assert.ok(rules > 20);
});

test("a match without a network in between judges every shot as a hit", async () => {
    const match = new Match({ latency: 0, jitter: 0, rate: 20, interpolation: 0 });
    for (let k = 0; k < 50; k++) match.tick();
    assert.equal(match.seenAt(match.time - match.period), match.time - match.period);
    assert.ok(hits(aimedAt(match.seenX(1000)), -9 + 8));
});

const ok = await run();
await browser.close();
server.kill("SIGTERM");
await ended;
process.exit(ok ? 0 : 1);
