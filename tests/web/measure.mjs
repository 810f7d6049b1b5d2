#!/usr/bin/env node
// measure.mjs - what the page costs with 10,000 and 100,000 boxes, as CSV. OBBD names the daemon. Software rendering: the times of frames are
// those of SwiftShader on the CPU; what the page itself does is told apart from it.
import { launch, openPage, until } from "./harness.mjs";
import { browser, daemon, drawn, makeScene, revision, show } from "./words.mjs";

const BOXES = 10_000;
const LOADS = 5;
const MOVED = 1_000; // a commit
const COMMITS = 30;
const EVERY_MS = 100;

const put = {};
for (let i = 0; i < BOXES; i++) put[`box-${i}`] = { center: [(i % 100) * 2.5, 0.5, Math.floor(i / 100) * (i % 7 ? 2.5 : 2.48)], half_extents: [1, 0.5, 1.25] };
const names = Object.keys(put);
const least = (times) => Math.min(...times).toFixed(0);
const middle = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)].toFixed(0);
const say = (what, times) => console.log(`${what},${least(times)},${middle(times)}`);

/** What the page computes, in all its functions together, while `work` runs: milliseconds. */
async function busy(page, work) {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" }); // what other programs take does not count
    const script = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ScriptDuration").value * 1000;
    const begin = await script();
    await work();
    const spent = (await script()) - begin;
    await session.detach();
    return spent;
}

console.log(`what of ${BOXES} boxes,least ms,median ms`);
const scene = await makeScene(put);
const listed = (page) => until("all boxes", async () => new RegExp(`^${BOXES.toLocaleString("en")} boxes`).test(await page.textContent("#list-sum")));
const blind = await launch(["--disable-3d-apis"]);

/** Loads the page again and again: milliseconds from a new profile of the browser on, and from when the page was asked for on its own clock. */
async function load(by) {
    const [whole, own] = [[], []];
    for (let i = 0; i < LOADS; i++) {
        const begin = performance.now();
        const { page, close } = await openPage(by, daemon.url, { expected: by === blind ? [/WebGL/] : [] });
        await page.addInitScript(
            ([sum, blind]) => {
                let drawn = blind;
                const { prototype } = WebGL2RenderingContext;
                const real = prototype.drawElementsInstanced;
                prototype.drawElementsInstanced = function (...more) {
                    drawn = true;
                    return real.apply(this, more);
                };
                const look = () => {
                    const there = drawn && document.getElementById("list-sum")?.textContent.startsWith(sum);
                    requestAnimationFrame(there ? () => (globalThis.shownAt = performance.now()) : look); // the next frame comes after what this one shows
                };
                look();
            },
            [`${BOXES.toLocaleString("en")} boxes`, by === blind],
        );
        await page.goto(`${daemon.url}/#${scene}`);
        own.push(await until("all boxes are shown", () => page.evaluate(() => globalThis.shownAt)));
        whole.push(performance.now() - begin);
        await close();
    }
    return [whole, own];
}

for (const [by, how] of [
    [browser, "loaded and drawn (software rendering)"],
    [blind, "loaded and shown without WebGL"],
]) {
    const [whole, own] = await load(by);
    say(how, own);
    say("the same with a new profile of the browser before, and until it says so", whole);
}

const { page, close } = await show(scene);
await listed(page);
await drawn(page);
const frames = (act) =>
    page.evaluate(async (act) => {
        const next = () => new Promise((resolve) => requestAnimationFrame(resolve));
        const canvas = document.querySelector("#view canvas");
        const list = document.querySelector("#list");
        const times = [];
        for (let i = 0; i < 12; i++) {
            const begin = performance.now();
            if (act === "orbit") canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
            else list.scrollTop = (i + 1) * 9_000;
            await next();
            await next();
            times.push(performance.now() - begin);
        }
        return times;
    }, act);
say("frame while orbiting (software rendering)", await frames("orbit"));
say("frame while scrolling the list", await frames("scroll"));

const { x, y, width, height } = await page.locator("#view").boundingBox();
let spent = await busy(page, async () => {
    for (let i = 0; i < 20; i++) {
        await page.mouse.move(x + width / 2 + 7 * i, y + height / 2 + 3 * i);
        await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(resolve)));
    }
});
say("script for the box under the pointer", [spent / 20]);

let late = 0;
spent = await busy(page, async () => {
    for (let i = 0; i < COMMITS; i++) {
        const begin = performance.now();
        const some = names.slice((i * MOVED) % BOXES, ((i * MOVED) % BOXES) + MOVED);
        await daemon.commit(scene, { pose: { names: some, centers: some.flatMap((name) => [put[name].center[0], 0.6 + 0.1 * i, put[name].center[2]]) } });
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, EVERY_MS - (performance.now() - begin))));
    }
    const begin = performance.now();
    await revision(page, 1 + COMMITS);
    await drawn(page);
    late = performance.now() - begin;
});
say(`script per commit of ${MOVED} poses at ${1000 / EVERY_MS} Hz`, [spent / COMMITS]);
say("behind after the last of them (software rendering)", [late]);
await close();

// The page alone: without WebGL the machine draws nothing, and of the browser only the script counts.
const MOVING = 200;
const HZ = 20;
const SECONDS = 4;
const SINGLE = 8;
console.log("of a scene that moves without WebGL,script ms");
for (const count of [10_000, 100_000]) {
    const named = Array.from({ length: count }, (_, i) => `box-${i}`);
    const center = (i, tick) => [(i % 400) * 2.5, 0.5 + 0.01 * tick, Math.floor(i / 400) * 2.5];
    const many = await makeScene({});
    await daemon.commit(many, { put: { names: named, centers: named.flatMap((_, i) => center(i, 0)), half_extents: [1, 0.5, 1.24] } });
    const opened = await openPage(blind, daemon.url, { expected: [/WebGL/] });
    await opened.page.goto(`${daemon.url}/#${many}`);
    await until("all boxes", async () => new RegExp(`^${count.toLocaleString("en")} boxes`).test(await opened.page.textContent("#list-sum")));
    await until("quiet", async () => (await opened.page.getAttribute("body", "aria-busy")) !== "true");
    const pose = (n, tick) => {
        const some = named.slice(count / 2, count / 2 + n);
        return daemon.commit(many, { pose: { names: some, centers: some.flatMap((_, i) => center(count / 2 + i, tick)) } });
    };
    let tick = 0;
    const ran = await busy(opened.page, async () => {
        for (const end = performance.now() + 1000 * SECONDS; performance.now() < end; ) {
            const next = performance.now() + 1000 / HZ;
            await pose(MOVING, ++tick);
            await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
        }
        await revision(opened.page, 1 + tick);
    });
    console.log(`a second with ${MOVING} of ${count} posed ${HZ} times (${tick} commits in ${SECONDS} s),${(ran / tick * HZ).toFixed(0)}`);
    const single = await busy(opened.page, async () => {
        for (let i = 0; i < SINGLE; i++) {
            await pose(1, ++tick);
            await revision(opened.page, 1 + tick);
        }
    });
    console.log(`one pose of ${count},${(single / SINGLE).toFixed(1)}`);
    // put, not posed: what else a box is has to be read, too
    let requests = 0;
    opened.page.on("request", () => requests++);
    let put = 0;
    const spentOnPuts = await busy(opened.page, async () => {
        for (const end = performance.now() + 1000 * SECONDS; performance.now() < end; put++) {
            const next = performance.now() + 1000 / HZ;
            const some = named.slice(count / 2, count / 2 + MOVING);
            const centers = some.flatMap((_, i) => center(count / 2 + i, tick + put));
            await daemon.commit(many, { put: { names: some, centers, half_extents: [1, 0.5, 1.24] } });
            await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
        }
        await revision(opened.page, 1 + tick + put);
    });
    tick += put;
    console.log(`a second with ${MOVING} of ${count} put ${HZ} times (${put} commits in ${SECONDS} s),${((spentOnPuts / put) * HZ).toFixed(0)}`);
    console.log(`its requests a commit meanwhile,${(requests / put).toFixed(1)}`);
    const step = (key) =>
        opened.page.evaluate(async (key) => {
            for (let i = 0; i < 20; i++) {
                dispatchEvent(new KeyboardEvent("keydown", { key }));
                await new Promise((resolve) => setTimeout(resolve)); // what follows from it is told in microtasks
            }
        }, key);
    const first = await busy(opened.page, () => step("[")); // the first one copies the present
    const back = await busy(opened.page, () => step("["));
    const on = await busy(opened.page, () => step("]"));
    console.log(`a step back in time of ${count} of which ${MOVING} moved,${(back / 20).toFixed(1)}`);
    console.log(`a step on in time,${(on / 20).toFixed(1)}`);
    console.log(`the first twenty steps back, each,${(first / 20).toFixed(1)}`);
    await opened.close();
}
await blind.close();
await browser.close();
await daemon.stop();
