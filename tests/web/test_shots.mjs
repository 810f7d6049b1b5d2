#!/usr/bin/env node
// What others ask a scene: seen as it comes, drawn, asked again as it was asked, and explained.
import assert from "node:assert/strict";
import { Line3, Vector3 } from "../../server/web/node_modules/three/build/three.module.js";
import { intercept, openPage, startDaemon, test, TIMEOUT_MS, until } from "./harness.mjs";
import { blind, makeLive, showBlind, shown } from "./live.mjs";
import { blur, CUBE, daemon, drawn, exchange, field, frontOf, hold, makeScene, module, pixels, random, runAll, select, show, SQUARE } from "./words.mjs";

const open = (page) => page.click("#tab-shots");
const row = (page, name) => page.locator("#shots-list button", { has: page.getByText(name, { exact: true }) }).first();
const listed = (page) => page.locator("#shots-list .name").allTextContents();
const outcomes = (page) => page.locator("#shots-list .count:not(.more)").allTextContents();

async function why(page) {
    const names = await page.locator("#shots-why .found .name").allTextContents();
    const words = await page.locator("#shots-why .found .count:not(.more)").allTextContents();
    return Object.fromEntries(names.map((name, i) => [name, words[i]]));
}

const cast = async (scene, body, kind = "ray") => {
    const { status, body: answer } = await daemon.call("POST", `/v1/scenes/${scene}/query/${kind}`, body);
    assert.equal(status, 200, JSON.stringify(answer));
    return answer;
};

test("a scene that keeps no questions is told to by a button; then they come, and are narrowed by tag, box and outcome", async () => {
    const scene = await makeScene({ near: CUBE(5), far: CUBE(10), beside: CUBE(5, 9) });
    const { page, close } = await showBlind(scene);
    await open(page);
    await page.click("#shots-keep");
    await until("kept", async () => (await daemon.call("GET", `/v1/scenes/${scene}`)).body.record === 1000);
    await page.waitForSelector("#shots-on", { state: "visible" });
    await cast(scene, { rays: [{ from: [0, 0, 0], to: [20, 0, 0] }], tag: "ann" });
    await until("the first", async () => (await listed(page)).join() === "ann");
    assert.deepEqual(await outcomes(page), ["hit near"]);
    await cast(scene, { rays: [{ from: [0, 4, 0], to: [20, 4, 0] }], tag: "bob" });
    await cast(scene, { rays: [{ from: [0, 0, 0], to: [20, 0, 0] }], mode: "all" });
    await cast(scene, { points: [[5, 9, 0]], tag: "ann" }, "point");
    await cast(scene, {}, "all-pairs");
    await until("all of them, the newest first", async () => (await listed(page)).join() === "all-pairs,ann,ray,bob,ann");
    assert.deepEqual(await outcomes(page), ["missed", "hit beside", "hit near and 1 more", "missed", "hit near"]);
    const narrowed = async (selector, value, wanted) => {
        if (selector === "#shots-hit") await page.selectOption(selector, value);
        else {
            await page.fill(selector, value);
            await page.keyboard.press("Enter");
            await blur(page);
        }
        await until(`${selector} ${value}`, async () => (await listed(page)).join() === wanted);
    };
    await narrowed("#shots-tag", "ann", "ann,ann");
    await cast(scene, { points: [[90, 9, 0]], tag: "ann" }, "point");
    await cast(scene, { points: [[90, 9, 0]], tag: "cid" }, "point");
    await until("what comes is narrowed too", async () => (await listed(page)).join() === "ann,ann,ann");
    await narrowed("#shots-hit", "false", "ann");
    await narrowed("#shots-tag", "", "cid,ann,all-pairs,bob");
    await narrowed("#shots-hit", "true", "ann,ray,ann");
    await narrowed("#shots-box", "far", "ray");
    // whoever opens the page later sees them, too
    const later = await showBlind(scene);
    await open(later.page);
    await until("those before", async () => (await listed(later.page)).length === 7);
    await later.close();
    await close();
});

test("what others set is heard of, and the button does not set it back", async () => {
    const scene = await makeScene({ near: CUBE(5) });
    const path = `/v1/scenes/${scene}`;
    const { page, close } = await showBlind(scene);
    await open(page);
    await page.waitForSelector("#shots-off", { state: "visible" });
    const answer = await hold(page, "GET", `**${path}`); // so that the page is behind
    assert.equal((await daemon.call("PUT", path, { record: 5000, history: { span: 20_000 } })).status, 200);
    await answer.asked; // without anything that was done in the page
    await page.click("#shots-keep");
    await page.waitForSelector("#shots-on", { state: "visible" });
    const { body } = await daemon.call("GET", path);
    assert.deepEqual([body.record, body.history.span], [5000, 20_000]);
    answer.goOn();
    await daemon.call("PUT", path, { record: 0 });
    await page.waitForSelector("#shots-off", { state: "visible" });
    await daemon.call("PUT", path, { record: 10 });
    await page.waitForSelector("#shots-on", { state: "visible" });
    await close();
});

test("many that come at once are shown once a frame", async () => {
    const scene = await makeScene({ near: CUBE(5) }, { record: 1000 });
    const { page, close } = await showBlind(scene);
    let streams = 0;
    page.on("request", (request) => /\/events\?/.test(request.url()) && streams++);
    await open(page);
    await until("the list", async () => (await page.textContent("#shots-sum")) === "Nothing asked yet");
    await drawn(page);
    await page.evaluate(() => {
        const sum = document.querySelector("#shots-sum");
        globalThis.most = 0;
        let since = 0;
        new MutationObserver((all) => (globalThis.most = Math.max(globalThis.most, (since += all.length)))).observe(sum, { childList: true, characterData: true, subtree: true });
        const frame = () => {
            since = 0;
            requestAnimationFrame(frame);
        };
        requestAnimationFrame(frame);
    });
    const query = { kind: "ray", rays: [{ from: [0, 0, 0], to: [20, 0, 0] }] };
    for (let i = 0; i < 5; i++) await daemon.commit(scene, { queries: Array.from({ length: 80 }, () => query) });
    await until("all of them", async () => (await page.textContent("#shots-sum")) === "400 asked");
    const most = await page.evaluate(() => globalThis.most);
    assert.ok(most <= 2, `${most} in a frame`); // a text that is removed and one that is added
    assert.equal(streams, 0, "the stream that the page has tells of them");
    await close();
});

/** What a browser does where another tab is chosen, or this one. */
const hide = (page, hidden) =>
    page.evaluate((hidden) => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);

test("eight pages of one browser list what is asked, and each can still ask and change once it is seen", async () => {
    const scene = await makeScene({ near: CUBE(5) }, { record: 100 });
    const { page, close } = await showBlind(scene);
    await open(page);
    const pages = [page];
    while (pages.length < 8) {
        await hide(pages.at(-1), true);
        const next = await page.context().newPage();
        next.setDefaultTimeout(TIMEOUT_MS);
        await next.goto(`${daemon.url}/#${scene}`);
        await next.waitForSelector("#status[data-state=live]");
        await open(next);
        pages.push(next);
    }
    const states = () => Promise.all(pages.map((one) => one.getAttribute("#status", "data-state")));
    await until("those seen before rest", async () => (await states()).join() === [...Array(6).fill("connecting"), "live", "live"].join());
    await cast(scene, { rays: [{ from: [0, 0, 0], to: [20, 0, 0] }], tag: "ann" });
    for (const [i, one] of pages.entries()) {
        await hide(pages.at(i - 1), true);
        await hide(one, false);
        await until("the question", async () => (await listed(one)).join() === "ann");
        await select(one, "near");
        await one.click("#tab-box");
        await field(one, "Center x", 6 + i);
        await until("the change", async () => (await daemon.box(scene, "near")).center[0] === 6 + i);
    }
    await close();
});

test("a page that is out of sight goes on unless another one was seen after it; then it goes on by the last event's id", async () => {
    const scene = await makeScene({ near: CUBE(5) });
    const first = await showBlind(scene);
    const streams = [];
    first.page.on("request", (request) => /\/events\?/.test(request.url()) && streams.push(request.headers()["last-event-id"]));
    const second = await first.page.context().newPage();
    await second.goto(`${daemon.url}/#${scene}`);
    await second.waitForSelector("#status[data-state=live]");
    const move = (x) => daemon.commit(scene, { pose: { near: { center: [x, 0, 0] } } });
    const at = async (page, number) => until(`revision ${number}`, async () => (await page.textContent("#revision-number")) === String(number));
    await hide(first.page, true);
    await move(6);
    await at(first.page, 2);
    await hide(second, true);
    await until("the first rests", async () => (await first.page.getAttribute("#status", "data-state")) === "connecting");
    await move(7);
    await move(8);
    await at(second, 4);
    await at(first.page, 2);
    assert.deepEqual(streams, []);
    await hide(first.page, false);
    await at(first.page, 4);
    assert.match(streams.join(), /^2\.\w+$/);
    await first.page.keyboard.press("[");
    await at(first.page, 3); // which it was told of, too
    await first.close();
});

test("a box narrows what names it by its name, by its id and in columns: those kept before, and those that come", async () => {
    const scene = await makeScene({ near: CUBE(5), far: CUBE(10), beside: CUBE(5, 9) }, { record: 100 }); // 1, 2 and 3
    const { page, close } = await showBlind(scene);
    const [ray, along] = [{ from: [0, 0, 0], to: [20, 0, 0] }, { origins: [0, 9, 0, 0, 0, 0], directions: [1, 0, 0, 1, 0, 0], max_distances: 30 }];
    const questions = [
        ["ray", { rays: [ray], tag: "by name" }],
        ["ray", { rays: [ray], by: "id", tag: "by id" }],
        ["ray", { rays: along, columns: true, tag: "in columns" }],
        ["pairs", { pairs: [1, 2], by: "id", tag: "a pair by id" }],
        ["pairs", { pairs: [2, 3], by: "id", tag: "another pair" }],
        ["ray", { rays: [{ from: [10, 9, 0], to: [10, -9, 0] }], by: "id", tag: "another box" }],
        ["point", { points: [[1, 1, 1]], tag: "near" }], // numbers that are no ids, and a name that is no box
    ];
    const all = async () => {
        for (const [kind, body] of questions) await cast(scene, body, kind);
    };
    const wanted = ["a pair by id", "in columns", "by id", "by name"];
    await all();
    await open(page);
    await until("all of them", async () => (await listed(page)).length === questions.length);
    await page.fill("#shots-box", "near");
    await page.keyboard.press("Enter");
    await until("those kept before", async () => (await listed(page)).join() === wanted.join());
    assert.deepEqual(await outcomes(page), ["missed", "hit beside and 1 more", "hit near", "hit near"]);
    await all();
    await cast(scene, questions[0][1]); // the last one
    const twice = ["by name", ...wanted, ...wanted];
    await until("those that come", async () => (await listed(page)).join() === twice.join());
    const { body } = await daemon.call("GET", `/v1/scenes/${scene}/queries?box=near`);
    assert.deepEqual(body.queries.map(({ tag }) => tag).reverse(), twice);
    await close();
});

test("rays in columns are drawn as long as they are: each of its own length, all of one, without an end, and to a target", async () => {
    const { raysOf } = await module("shot");
    const rays = { origins: [0, 0, 0, 0, 5, 0], directions: [1, 0, 0, 0, 2, 0] };
    const ends = (more) => raysOf({ query: { rays: { ...rays, ...more } } }, 3, 1000).map(([from, to]) => [...from, ...to].join());
    assert.deepEqual(ends({ max_distances: [3, 4] }), ["0,0,0,3,0,0", "0,5,0,0,9,0"]);
    assert.deepEqual(ends({ max_distances: 30 }), ["0,0,0,30,0,0", "0,5,0,0,35,0"]);
    assert.deepEqual(ends({ max_distances: 5000 }), ["0,0,0,1000,0,0", "0,5,0,0,1005,0"]);
    assert.deepEqual(ends({}), ["0,0,0,1000,0,0", "0,5,0,0,1005,0"]);
    assert.deepEqual(ends({ directions: undefined, targets: [7, 7, 7, 8, 8, 8] }), ["0,0,0,7,7,7", "0,5,0,8,8,8"]);
});

test("after a restart of the daemon the list begins anew", async () => {
    let other = await startDaemon(0, []);
    const begin = async () => {
        await other.call("PUT", "/v1/scenes/match", { record: 100 });
        await other.commit("match", { put: { near: CUBE(5) } });
    };
    const shoot = async (tag) => assert.equal((await other.call("POST", "/v1/scenes/match/query/ray", { rays: [{ from: [0, 0, 0], to: [20, 0, 0] }], tag })).status, 200);
    await begin();
    for (const tag of ["old 1", "old 2", "old 3"]) await shoot(tag);
    const opened = await openPage(blind, other.url, { expected: [/WebGL/, /net::ERR_|status of (404|503)/] });
    const { page } = opened;
    await page.goto(`${other.url}/#match`);
    await page.waitForSelector("#status[data-state=live]");
    await open(page);
    await until("those kept", async () => (await listed(page)).join() === "old 3,old 2,old 1");
    await row(page, "old 2").click();
    await until("the explanation", async () => (await why(page)).near === "hit");
    assert.equal(await other.stop(), 0);
    other = await startDaemon(other.port, []);
    await begin();
    await shoot("new 1");
    await until("those of the new one", async () => (await listed(page)).join() === "new 1");
    assert.ok(await page.isHidden("#shots-why"));
    await shoot("new 2");
    await until("what comes", async () => (await listed(page)).join() === "new 2,new 1");
    await opened.close();
    assert.equal(await other.stop(), 0);
});

test("a shot that is chosen says of each box near it why it was hit or not: the gap and the axis, the filter, what was before it", async () => {
    const scene = await makeScene({ near: CUBE(5), far: CUBE(10), beside: CUBE(5, 2.5), friend: { ...CUBE(15), category: 4 }, own: { ...CUBE(0), entity: "ann" } }, { record: 100 });
    const { page, close } = await showBlind(scene);
    await open(page);
    const { results } = await cast(scene, { rays: [{ from: [0, 0, 0], to: [20, 0, 0] }], tag: "ann", filter: { mask: 1, exclude_entities: ["ann"] }, explain: ["near", "far", "beside", "friend"] });
    await row(page, "ann").click();
    await until("the explanation", async () => Object.keys(await why(page)).length === 4); // and not of the shooter's own boxes
    const gap = results[0].explain[2].gap;
    assert.equal(gap, 1.5); // from y = 0 to 2.5 - 1
    assert.deepEqual(await why(page), { near: "hit", far: "behind near", beside: "missed by 1.5", friend: "filtered by its mask" });
    const { shown: said, heard } = await exchange(page, "#shots-why");
    assert.deepEqual(said.results, heard.results);
    assert.deepEqual(heard.results[0].hits, results[0].hits);
    await cast(scene, { shapes: [{ center: [5, 0, 5], half_extents: [1, 1, 1] }], tag: "spawn" }, "overlap");
    await row(page, "spawn").click();
    await select(page, "near");
    await until("why the box selected is not in it", async () => (await why(page)).near === "missed by 3, parted by a.z");
    await close();
});

test("the boxes that are explained are those that the shot came nearest to, however large others are: against 2,000 points along it", async () => {
    const { nearest } = await module("near");
    const next = random(7);
    const [number, points] = [() => 20 * next() - 10, 2000];
    /** A vector turned back by a unit quaternion. */
    const back = ([x, y, z, w], v) => {
        const cross = ([a, b, c], [d, e, f]) => [b * f - c * e, c * d - a * f, a * e - b * d];
        const twice = cross([-x, -y, -z], v).map((value) => 2 * value);
        const more = cross([-x, -y, -z], twice);
        return v.map((value, i) => value + w * twice[i] + more[i]);
    };
    const away = ({ center, half_extents, rotation }, at) => Math.hypot(...back(rotation, at.map((value, i) => value - center[i])).map((value, i) => Math.max(0, Math.abs(value) - half_extents[i])));
    let others = 0;
    for (let round = 0; round < 30; round++) {
        const boxes = Array.from({ length: 60 }, (_, i) => {
            const rotation = [number(), number(), number(), number()];
            const length = Math.hypot(...rotation);
            return { name: `box-${i}`, center: [number(), number(), number()], half_extents: [i % 4 === 0 ? 8 : 0.3, 0.1 + next(), 0.1], rotation: rotation.map((value) => value / length) };
        });
        const [start, end] = [new Vector3(number(), number(), number()), new Vector3(number(), number(), number())];
        const line = new Line3(start, end);
        const gaps = new Map(boxes.map((box) => [box.name, Math.min(...Array.from({ length: points + 1 }, (_, i) => away(box, line.at(i / points, new Vector3()).toArray())))]));
        const least = [...gaps.values()].sort((a, b) => a - b).slice(0, 8);
        const given = nearest(boxes, [line], 8).map((name) => gaps.get(name));
        assert.ok(given.length === 8 && given.every((gap, i) => Math.abs(gap - least[i]) < 0.02), `${given} and ${least}`); // as far as two points are from each other
        const spheres = boxes.map((box) => [line.closestPointToPoint(new Vector3(...box.center), true, new Vector3()).distanceTo(new Vector3(...box.center)) - Math.hypot(...box.half_extents), box.name]);
        others += spheres.sort(([a], [b]) => a - b).slice(0, 8).filter(([, name]) => gaps.get(name) > least[7] + 0.02).length;
        await new Promise(setImmediate); // this takes seconds, and the daemon closes idle connections: that is to be noticed
    }
    assert.ok(others > 30, String(others)); // whose sphere alone is near
});

test("a shot into the past is asked again as it was asked, with the scene as it was then, also when the daemon has forgotten it", async () => {
    for (const flat of [false, true]) {
        const at = (x, y = 0) => (flat ? SQUARE(x, y) : CUBE(x, y));
        const scene = await makeScene({ runner: at(5) }, { dimensions: flat ? 2 : 3, record: 100, history: { span: 10_000, commits: 4 } });
        const { page, close } = await showBlind(scene);
        await open(page);
        for (let i = 1; i <= 3; i++) await daemon.commit(scene, { pose: { runner: { center: at(5, 3 * i).center } } });
        const ray = { from: at(0, 3).center, to: at(20, 3).center };
        await cast(scene, { rays: [ray], tag: "then", at: { revision: 2 } });
        await cast(scene, { rays: [ray], tag: "now" });
        await until("both", async () => (await listed(page)).join() === "now,then");
        assert.deepEqual(await outcomes(page), ["missed", "hit runner"]);
        const asked = async (revision) => {
            await row(page, "then").click();
            await until("the state of then", async () => (await page.textContent("#revision")) === `revision ${revision}` && (await page.textContent("#status-text")) === "past");
            await until("the explanation of then", async () => (await why(page)).runner === "hit");
            const { shown: said, heard } = await exchange(page, "#shots-why");
            assert.deepEqual(said.results, heard.results);
            return heard;
        };
        assert.equal((await asked(2)).at.revision, 2);
        await row(page, "now").click();
        await until("the present", async () => (await why(page)).runner === "missed by 5");
        for (let i = 0; i < 6; i++) await daemon.commit(scene, { pose: { runner: { center: at(5, 20 + i).center } } });
        await until("the newest", async () => (await page.textContent("#revision")) === "revision 10");
        assert.equal((await asked(2)).with, true);
        assert.equal(await page.textContent("#shots-why .hint"), "Asked of what the page has kept of then.");
        await page.click("#now"); // it is still chosen
        await page.locator(".item", { hasText: "runner" }).click();
        await until("that the page has it", async () => /but the page does\. Press the question again/.test(await page.textContent("#shots-why .hint")));
        assert.equal((await asked(2)).with, true);
        await close();
    }
});

test("shots are drawn: what hit, what missed and what was filtered", async () => {
    const scene = await makeScene({ a: CUBE(0, -6), b: { ...CUBE(0, 6), category: 2 } }, { record: 100 });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    await page.keyboard.press("3");
    const { inView } = await frontOf(page, [0, 0], [1, 7]);
    await open(page);
    assert.equal((await pixels(page)).ask.count, 0);
    await cast(scene, { rays: [{ from: [-5, -6, 5], to: [-1, -6, 0] }], tag: "hits" });
    await until("it", async () => (await listed(page)).join() === "hits");
    const { ask } = await pixels(page);
    assert.ok(ask.count > 20 && Math.abs(ask.left - inView(-5, 0).x) < 7 && ask.right < inView(-0.5, 0).x, JSON.stringify(ask));
    await cast(scene, { rays: [{ from: [-5, 6, 0], to: [5, 6, 0] }], filter: { mask: 1 }, tag: "filtered" });
    await row(page, "filtered").click();
    await until("the filter", async () => (await why(page)).b === "filtered by its mask");
    await page.click("#tab-ask"); // drawn while the panel is open, and no longer
    await drawn(page);
    assert.equal((await pixels(page)).ask.count, 0);
    await close();
});

test("a shot is a line as wide as another, whether it ends nearby or goes past the eye without an end", async () => {
    const scene = await makeScene({ a: CUBE(6), b: CUBE(6, 0, 6) }, { record: 100 });
    const { page, close } = await show(scene, { viewport: { width: 1000, height: 600 } });
    await open(page);
    for (const [i, direction] of [[10, 0, 0], [1, 0, 1]].entries()) {
        const end = i === 0 ? { max_distance: 10 } : {}; // the other one goes on
        await cast(scene, { rays: [{ origin: [0, 0, 0], direction, ...end }] });
        await until("it", async () => (await listed(page)).length === i + 1);
        if (i === 1) await page.locator("#shots-list button").first().click(); // it is drawn alone
        const { count, left, right, top, bottom } = (await pixels(page)).ask;
        const width = count / Math.hypot(right - left, bottom - top);
        assert.ok(width > 1 && width < 4, `${width} pixels`);
    }
    await close();
});

test("rows stay under the pointer while more are asked than the page keeps", async () => {
    const scene = await makeScene({ near: CUBE(5) }, { record: 1000 });
    const { page, close } = await showBlind(scene);
    await open(page);
    const query = { kind: "ray", rays: [{ from: [0, 0, 0], to: [20, 0, 0] }] };
    const shoot = (tag, count) => daemon.commit(scene, { queries: Array.from({ length: count }, () => ({ ...query, tag })) });
    await shoot("first", 10);
    await until("the first", async () => (await listed(page)).length === 10);
    await page.locator("#shots-list button").nth(3).hover();
    for (let i = 0; i < 7; i++) await shoot("later", 80); // of which the page keeps 500
    await until("the later ones", async () => (await page.textContent("#shots-sum")) === "The last 500 asked, 500 or more newer than those below");
    assert.deepEqual(await listed(page), Array(10).fill("first"));
    await page.locator("#shots-list button").nth(3).click(); // one that is not kept
    await until("it is chosen", async () => /^first, /.test(await page.textContent("#shots-why h2")));
    await page.locator("#shots-list button").nth(3).hover();
    await page.mouse.move(2, 2);
    await until("they are listed", async () => (await page.textContent("#shots-sum")) === "The last 500 asked");
    assert.deepEqual(new Set(await listed(page)), new Set(["later"]));
    await close();
});

test("while a scene moves and is shot at 20 times a second, rows are pressed like a hand does", async () => {
    const live = await makeLive({}, { settings: { record: 200 } });
    const { page, close } = await showBlind(live.scene);
    await open(page);
    let going = true;
    const shooting = (async () => {
        for (let i = 0; going; i++) {
            await cast(live.scene, { rays: [{ from: [-5, 0.6, 5], to: [60, 0.6, 5 + (i % 5)] }], at: { ago: 100, clamp: true }, tag: `shot-${i}` });
            await new Promise((resolve) => setTimeout(resolve, 50));
        }
    })();
    await until("many", async () => (await listed(page)).length > 30);
    for (let i = 0; i < 6; i++) {
        const pressed = page.locator("#shots-list button").nth(2 * i);
        await until("it is aimed at", async () => {
            const { x, y, width, height } = await pressed.evaluate((element) => {
                element.scrollIntoView({ block: "center" });
                return element.getBoundingClientRect().toJSON();
            });
            await page.mouse.move(x + width / 2, y + height / 2); // from now on the rows stand still
            await drawn(page);
            return (await page.locator("#shots-list button:hover").count()) === 1; // what is above them may have grown on the way
        });
        await until("newer ones wait", async () => /newer than those below/.test(await page.textContent("#shots-sum")));
        await page.mouse.down();
        const name = await page.textContent("#shots-list button:active .name");
        await new Promise((resolve) => setTimeout(resolve, 100));
        await page.mouse.up();
        await until(`${name} is chosen`, async () => (await page.textContent("#shots-why h2")).startsWith(`${name}, `));
        const [title, panel] = await Promise.all(["#shots-why h2", "#panel-shots"].map((selector) => page.locator(selector).boundingBox()));
        assert.ok(title.y >= panel.y && title.y + title.height <= panel.y + panel.height, `the title is at ${title.y}`);
        await until("its explanation", async () => Object.keys(await why(page)).length > 3);
        await page.mouse.move(2, 2);
        await page.evaluate(() => document.querySelector("#now").click()); // a page that is behind may be in the present already
        await until("they are listed", async () => !/newer/.test(await page.textContent("#shots-sum")));
    }
    assert.ok((await listed(page)).every((name) => /^shot-\d+$/.test(name)), "what the page itself asks is not among them");
    const { body } = await daemon.call("GET", `/v1/scenes/${live.scene}/queries?limit=1000`);
    assert.ok(body.queries.length > 30 && body.queries.every(({ tag }) => /^shot-\d+$/.test(tag)), "nor does it take their room");
    await shown(page, 2);
    going = false;
    await shooting;
    await live.stop();
    await close();
});

test("why a scene keeps no questions is not said of another scene, nor after it does", async () => {
    const [scene, other] = [await makeScene({ a: CUBE(0) }), await makeScene({ a: CUBE(0) })];
    const { page, close } = await showBlind(scene, [/status of 403/]);
    const problem = { type: "/problems/forbidden", title: "not allowed", status: 403 };
    const body = JSON.stringify({ ...problem, detail: "not today" });
    let refusing = true;
    await intercept(page, `**/v1/scenes/${scene}`, (route) => {
        if (!refusing || route.request().method() !== "PUT") return route.continue();
        return route.fulfill({ status: 403, contentType: "application/problem+json", body });
    });
    const failure = (text) => until(text, async () => (await page.textContent("#shots-failure")) === text);
    const open = async (name) => {
        await page.selectOption("#scene", name);
        await page.waitForSelector("#status[data-state=live]");
    };
    await page.click("#tab-shots");
    await page.click("#shots-keep");
    await failure("not today");
    await open(other);
    await page.waitForSelector("#shots-off");
    assert.equal(await page.textContent("#shots-failure"), "");
    await open(scene);
    await page.click("#shots-keep");
    await failure("not today");
    refusing = false;
    await page.click("#shots-keep");
    await page.waitForSelector("#shots-on", { state: "visible" });
    assert.equal(await page.textContent("#shots-failure"), "");
    await close();
});

await runAll(blind);
