#!/usr/bin/env node
// Time as a tool: what the page has seen is shown again, played, stepped through and asked, also where the daemon has forgotten it.
import assert from "node:assert/strict";
import { intercept, openPage, startDaemon, test, until } from "./harness.mjs";
import { blind, makeLive, showBlind, shown } from "./live.mjs";
import { ask, blur, CUBE, daemon, drawn, exchange, found, makeScene, module, random, revision, runAll, select, show, SQUARE } from "./words.mjs";

const SMALL = { viewport: { width: 1000, height: 600 } };

const plain = ({ boxes, pairs }) => ({
    boxes: [...boxes.values()].map(({ seen, ...box }) => box).sort((a, b) => (a.name < b.name ? -1 : 1)),
    pairs: [...pairs].map(({ a, b, relation }) => `${[a, b].sort()} ${relation}`).sort(),
});

test("the memory gives every state that it keeps, from wherever one comes: against whole copies of 20,000 random states", async () => {
    const [{ Ring }, { Snapshot }] = [await module("ring"), await module("snapshot")];
    let [compared, dropped, gone] = [0, 0, 0];
    for (let seed = 1; seed <= 40; seed++) {
        const next = random(seed);
        const pick = (n) => Math.floor(next() * n);
        const flat = seed % 2 === 0;
        const limit = seed % 4 < 2 ? 40_000 : 2 ** 30;
        const ring = new Ring(limit);
        const live = new Snapshot();
        const copies = new Map();
        const pose = () => (flat ? { center: [pick(9), pick(9)], angle: pick(360) } : { center: [pick(9), pick(9), pick(9)], rotation: [0, 0, pick(2), 1] });
        const fresh = (name) => ({ name, id: pick(1e6), half_extents: flat ? [1, 1] : [1, 1, 1], category: pick(4), mask: 1, group: 0, ...pose() });
        for (let i = 0; i < 8; i++) live.boxes.set(`box-${i}`, fresh(`box-${i}`));
        ring.begin(0, 0, 0);
        copies.set(ring.newest, plain(live));
        for (let step = 1; step <= 500; step++) {
            ring.begin(step, step * 10, step * 100);
            const posed = [...live.boxes.values()].filter(() => pick(3) === 0).map((box) => [box, { ...box, ...pose() }]);
            ring.pose(posed);
            for (const [before, after] of posed) {
                ring.put(before, after);
                live.boxes.set(after.name, after);
            }
            const name = `box-${pick(12)}`;
            const known = live.boxes.get(name);
            if (pick(4) === 0 && known) {
                ring.remove(known);
                live.boxes.delete(name);
                gone++;
            } else if (pick(3) === 0) {
                const box = fresh(name);
                if (known) Object.assign(box, { id: known.id, category: known.category + 1 }); // a pose alone comes with its event
                ring.put(known, box);
                live.boxes.set(name, box);
            }
            const [a, b] = [`box-${pick(12)}`, `box-${pick(12)}`];
            const pair = live.touched.get(a)?.get(b);
            const after = [undefined, "touching", "intersecting"][pick(3)];
            if (a !== b && pair?.relation !== after) {
                ring.relate({ a, b, before: pair ? pair.relation : undefined, after });
                if (after) live.addPair(a, b, after);
                else live.removePair(a, b);
            }
            copies.set(ring.newest, plain(live));
        }
        if (limit < 2 ** 30) {
            assert.ok(ring.oldest > 100, `${ring.oldest} changes were dropped`);
            dropped += ring.oldest;
        }
        let [at, snapshot] = [ring.newest, live.copy()];
        for (let i = 0; i < 500; i++) {
            const to = ring.oldest + pick(ring.newest - ring.oldest + 1);
            const before = new Map(snapshot.boxes);
            const { moved, restocked } = ring.move(snapshot, at, to);
            assert.deepEqual(plain(snapshot), copies.get(to), `seed ${seed}, from ${at} to ${to}`);
            for (const name of new Set([...before.keys(), ...snapshot.boxes.keys()]))
                if (before.get(name) !== snapshot.boxes.get(name)) assert.ok(moved.has(name), `${name} is another object, and nobody is told`);
            if (!restocked) assert.deepEqual([...before.keys()].sort(), [...snapshot.boxes.keys()].sort());
            const { revision } = ring.moment(to);
            assert.equal(ring.find(revision), to);
            assert.equal(ring.heardAt(revision * 100 + 50), to);
            compared++;
            at = to;
        }
    }
    assert.ok(compared === 20_000 && dropped > 1000 && gone > 500, `${compared} ${dropped} ${gone}`);
});

test("a moment that the memory has dropped, or forgotten with all others, is none", async () => {
    const { Ring } = await module("ring");
    const ring = new Ring(5_000);
    for (let i = 0; i <= 50; i++) ring.begin(i, i, i); // numbers are revisions so far
    const { oldest, newest } = ring;
    assert.ok(oldest > 10 && newest === 50, `${oldest} to ${newest}`);
    for (let seq = 0; seq <= 51; seq++) assert.equal(ring.moment(seq)?.revision, seq < oldest || seq > newest ? undefined : seq);
    ring.reset();
    ring.begin(1, 1, 1);
    for (let seq = 0; seq <= newest; seq++) assert.equal(ring.moment(seq), null);
    assert.equal(ring.moment(ring.newest).revision, 1);
});

test("states that were seen are shown and asked while all moves 20 and 60 times a second, long after the daemon has forgotten them", async () => {
    for (const hz of [20, 60]) {
        const live = await makeLive({}, { everyMs: 1000 / hz, settings: { history: { span: 300, commits: 1000 } } });
        const { page, close } = await showBlind(live.scene); // an answer of 410 would be an error on its console
        const refused = [];
        let asked = 0;
        page.on("response", (response) => {
            asked += response.url().endsWith("/query/point");
            if (response.status() === 410) refused.push(response.url());
        });
        await shown(page, 60);
        let known = Infinity;
        for (let n = 0; n < 10; n++) {
            for (let i = 0; i < 5; i++) await page.keyboard.press("[");
            const at = await until("a state before", async () => {
                const revision = Number(/\d+/.exec(await page.textContent("#revision"))[0]);
                return (await page.textContent("#status-text")) === "past" && revision < known && revision;
            });
            known = at;
            await until("forgotten", async () => (await daemon.call("GET", `/v1/scenes/${live.scene}`)).body.oldest.revision > at);
            const name = `moving-${17 * n}`;
            await ask(page, 2, { Point: live.place(17 * n, at - 1) }); // its middle, by a rule of ours and not by what the page shows
            await until(`${name} at revision ${at}`, async () => (await found(page)).includes(name));
        }
        assert.ok(asked >= 10, String(asked));
        assert.deepEqual(refused, []);
        await live.stop();
        await close();
    }
});

test("nothing is kept of the names of boxes that are gone", async () => {
    const [{ Store }, { Snapshot }] = [await module("store"), await module("snapshot")];
    const snapshot = new Snapshot();
    for (let i = 0; i < 100; i++) snapshot.addPair("floor", `shot-${i}`, null);
    assert.equal(snapshot.touched.size, 101);
    for (let i = 0; i < 99; i++) snapshot.removePair("floor", `shot-${i}`);
    assert.deepEqual([...snapshot.touched.keys()], ["floor", "shot-99"]);
    snapshot.removePair("shot-99", "floor");
    assert.equal(snapshot.touched.size, 0);
    assert.equal(snapshot.met.size, 0); // none of them was a box
    const store = new Store();
    const one = { center: [0, 0], half_extents: [1, 1], angle: 0, category: 1, mask: 1, group: 0 };
    const box = (name, id) => ({ ...one, name, id });
    const names = Array.from({ length: 100 }, (_, i) => `shot-${i}`);
    names.forEach((name, i) => store.putBox(box(name, i)));
    for (let i = 0; i < 5; i++) store.posed([...names, "read later"]);
    assert.ok(store.moves("shot-7") && store.moves("read later"));
    for (const name of names.slice(10)) store.dropBox(name);
    store.dropBox("read later");
    assert.deepEqual([...store.motion.keys()], names.slice(0, 10));
    store.setBoxes([box("shot-7", 7)]);
    assert.deepEqual([...store.motion.keys()], ["shot-7"]);
    assert.ok(store.moves("shot-7"));
    // those that met are of what is there, whichever is told first: that they met, or which boxes there are
    store.setBoxes([box("floor", 1000)]);
    names.forEach((name, i) => {
        if (i % 2) store.putBox(box(name, i));
        store.join("floor", name);
        store.putBox(box(name, i));
        store.relate(store.live.touched.get(name).get("floor"), "touching", i);
        assert.ok(store.live.met.has(name));
        if (i % 3) store.part(name, "floor");
        store.dropBox(name);
        store.part(name, "floor");
        assert.deepEqual([...store.live.met], ["floor"]);
    });
    store.putBox(box("shot-7", 7));
    store.join("floor", "shot-7");
    store.relate(store.live.touched.get("shot-7").get("floor"), "touching", 7);
    store.setBoxes([box("floor", 1000)]);
    store.setPairs([]);
    assert.deepEqual([...store.live.met], ["floor"]);
});

test("the path of a box is where it was at each of its poses", async () => {
    const { Ring } = await module("ring");
    const ring = new Ring();
    ring.begin(0, 0, 0);
    let box = { name: "b", id: 1, half_extents: [1, 1], center: [0, 0], angle: 0, category: 1, mask: 1, group: 0 };
    for (let i = 1; i <= 10; i++) {
        const next = { ...box, center: [i, 0] };
        ring.begin(i, i, 100 * i);
        if (i % 2) ring.pose([[box, next]]);
        if (i % 2) box = next;
    }
    assert.deepEqual(ring.path("b", 300, 800).map(({ heard, pose }) => [heard, pose.center[0]]), [[300, 3], [500, 5], [700, 7]]);
    assert.deepEqual(ring.path("c", 0, 1000), []);
});

/** Is the page at that revision of the past, and what does it show of that box? */
const pastAt = (page, number) => until(`revision ${number} of the past`, async () => (await page.textContent("#status-text")) === "past" && (await page.textContent("#revision")) === `revision ${number}`);
const centerX = (page) => page.locator("#box-form").getByLabel("Center x", { exact: true }).inputValue();

test("what the page has seen is shown as it was, long after the daemon has forgotten it, and asked as it was", async () => {
    for (const flat of [false, true]) {
        const at = (x) => (flat ? SQUARE(x) : CUBE(x));
        const scene = await makeScene({ a: at(0), b: at(9), c: at(20), d: at(30) }, { dimensions: flat ? 2 : 3, history: { span: 10_000, commits: 3 } });
        const { page, close } = await showBlind(scene);
        await revision(page, 1);
        const pose = (name, x) => ({ pose: { [name]: { center: at(x).center } } });
        await daemon.commit(scene, pose("a", 8)); // 2: a meets b
        await revision(page, 2);
        await daemon.commit(scene, pose("a", 4)); // 3: and leaves
        await revision(page, 3);
        await daemon.commit(scene, { put: { c: { ...at(20), category: 4 } } }); // 4: another category
        await revision(page, 4);
        await daemon.commit(scene, { remove: ["d"], put: { e: at(40) } }); // 5: one goes, one comes
        await revision(page, 5);
        for (let i = 0; i < 6; i++) await daemon.commit(scene, pose("b", 10 + i)); // 6 to 11
        await revision(page, 11);
        await until("quiet", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
        const { body } = await daemon.call("GET", `/v1/scenes/${scene}`);
        assert.equal(body.oldest.revision, 8);
        await select(page, "a");
        const seen = new Map([
            [10, ["4", "4 boxes, pairs: 0 overlap, 0 touch"]],
            [4, ["4", "4 boxes, pairs: 0 overlap, 0 touch"]],
            [3, ["4", "4 boxes, pairs: 0 overlap, 0 touch"]],
            [2, ["8", "4 boxes, pairs: 1 overlap, 0 touch"]],
            [1, ["0", "4 boxes, pairs: 0 overlap, 0 touch"]],
        ]);
        let from = 11;
        for (const [to, [x, sum]] of seen) {
            for (; from > to; from--) await page.keyboard.press("[");
            await pastAt(page, to);
            await until(`a at ${x}`, async () => (await centerX(page)) === x);
            assert.equal(await page.textContent("#list-sum"), sum, `revision ${to}`);
            await until("the boxes of then", async () => (await page.locator(".item .name", { hasText: /^d$/ }).count()) === (to < 5 ? 1 : 0));
        }
        // asked as it was: at revision 2, of which the daemon knows nothing any more
        await page.keyboard.press("]");
        await pastAt(page, 2);
        await until("what a collides with", async () => (await page.locator("#relations .found .name").allTextContents()).join() === "b");
        await ask(page, 3, { Center: at(20).center, Radius: [100] });
        await until("all boxes of then", async () => (await found(page)).join() === "a,b,c,d");
        const { curl, shown: said, heard } = await exchange(page, "#probe-out");
        assert.deepEqual(said.results, heard.results);
        assert.match(curl, /"with":/);
        await ask(page, 7);
        await until("the pair of then", async () => (await found(page)).join() === "a, b");
        await page.click("#panel-ask summary:text-is('Filter')");
        await ask(page, 3, { Center: at(20).center, Radius: [100] });
        await page.fill("#filter-mask", "4");
        await page.keyboard.press("Enter");
        await until("nothing of that category then", async () => (await page.textContent("#probe-out .sub")) === "Nothing found");
        await blur(page);
        for (let i = 0; i < 2; i++) await page.keyboard.press("]");
        await pastAt(page, 4);
        await until("c of that category", async () => (await found(page)).join() === "c");
        // what the daemon keeps is asked by its revision
        for (let i = 0; i < 5; i++) await page.keyboard.press("]");
        await pastAt(page, 9);
        await until("asked at revision 9", async () => /"at":\{"revision":9/.test(await page.locator("#probe-out pre").first().textContent()));
        await page.getByRole("button", { name: "Now" }).click();
        await revision(page, 11);
        await close();
    }
});

test("where the page was too slow and the daemon has forgotten what it missed, what it saw before stays, and one step leads over the rest", async () => {
    for (const flat of [false, true]) {
        const at = (x) => (flat ? SQUARE(x) : CUBE(x));
        const scene = await makeScene({ a: at(0), b: at(1.5), c: at(20), d: at(30) }, { dimensions: flat ? 2 : 3, history: { span: 10_000, commits: 1 } });
        const { headers } = await daemon.call("GET", `/v1/scenes/${scene}`);
        const [, epoch] = /\.(\w+)"/.exec(headers.get("etag"));
        let back;
        const away = new Promise((resolve) => (back = resolve));
        let streams = 0;
        const opened = await openPage(blind, daemon.url, { expected: [/WebGL/] });
        const { page } = opened;
        await page.route("**/events?*", async (route) => {
            if (++streams > 1) return away.then(() => route.continue());
            const body = `id: 1.${epoch}\nevent: state\ndata: {"revision":1,"time":0,"pairs":[["a","b"]]}\n\nid: 1.${epoch}\nevent: overrun\ndata: {"revision":1,"time":0}\n\n`;
            return route.fulfill({ contentType: "text/event-stream", body });
        });
        await page.goto(`${daemon.url}/#${scene}`);
        await until("the second stream", async () => streams === 2 && (await page.textContent("#list-sum")) === "4 boxes, pairs: 1 overlap, 0 touch");
        await select(page, "a");
        await page.click("#play");
        await pastAt(page, 1);
        const pose = (name, x) => ({ pose: { [name]: { center: at(x).center } } });
        await daemon.commit(scene, pose("a", 18)); // 2: a leaves b, and touches c
        await daemon.commit(scene, { put: { c: { ...at(20), category: 4 } } }); // 3
        await daemon.commit(scene, { remove: ["d"], put: { e: at(40), f: at(41) } }); // 4
        await daemon.commit(scene, pose("b", 2)); // 5
        // how those of revision 5 meet: others ask for more of the pairs of the selected box
        const asked = (request) => request.url().endsWith("/query/pairs") && request.postDataJSON().want.join() === "relation";
        const read = page.waitForResponse((response) => asked(response.request()));
        back();
        await read;
        await page.waitForSelector("#status[data-state=live]");
        await daemon.commit(scene, pose("a", 15)); // 6: which comes as an event
        const states = [
            [1, "0", "4 boxes, pairs: 1 overlap, 0 touch", ["a", "b", "c", "d"]],
            [5, "18", "5 boxes, pairs: 1 overlap, 1 touch", ["a", "b", "c", "e", "f"]],
        ];
        const check = async ([revision, x, sum, names]) => {
            await pastAt(page, revision);
            await until(`${sum} at ${x}`, async () => (await page.textContent("#list-sum")) === sum && (await centerX(page)) === x);
            assert.deepEqual((await page.locator(".item:not(.entity) .name").allTextContents()).sort(), names);
        };
        await check(states[0]); // the state that was looked at
        await page.keyboard.press("]");
        await until("the step", async () => {
            if ((await page.textContent("#status-text")) === "past") return true;
            // the event of revision 6 came after the key, which led into the present: from there it is a step back
            if ((await page.textContent("#revision")) === "revision 6") await page.keyboard.press("[");
            return false;
        });
        await check(states[1]);
        await page.keyboard.press("]");
        await revision(page, 6);
        await until("a at 15", async () => (await centerX(page)) === "15");
        assert.equal(await page.textContent("#list-sum"), "5 boxes, pairs: 1 overlap, 0 touch");
        for (const state of [...states].reverse()) {
            await page.keyboard.press("[");
            await check(state);
        }
        // and asked as it was
        await ask(page, 3, { Center: at(20).center, Radius: [100] });
        await until("all boxes of then", async () => (await found(page)).join() === "a,b,c,d");
        await opened.close();
    }
});

test("how a pair met is known of the states that had it, also where the answer comes after its end", async () => {
    for (const looking of [false, true]) {
        const scene = await makeScene({ a: CUBE(0), b: CUBE(5) });
        const { page, close } = await showBlind(scene);
        await revision(page, 1);
        let [asked, answer] = [null, null];
        const question = new Promise((resolve) => (asked = resolve));
        const held = new Promise((resolve) => (answer = resolve));
        await intercept(page, "**/query/pairs", async (route) => {
            const response = await route.fetch();
            asked();
            await held;
            await route.fulfill({ response });
        });
        await daemon.commit(scene, { pose: { a: { center: [3, 0, 0] } } }); // 2: touches b
        await question;
        await daemon.commit(scene, { pose: { a: { center: [0, 0, 0] } } }); // 3: and leaves
        await until("revision 3", async () => (await page.textContent("#revision")) === "revision 3");
        const sum = async () => page.textContent("#list-sum");
        if (looking) {
            await page.keyboard.press("[");
            await pastAt(page, 2);
            assert.equal(await sum(), "2 boxes, pairs: 1 overlap, 0 touch"); // for all that is known
        }
        answer();
        await until("all is read", async () => (await page.getAttribute("body", "aria-busy")) !== "true");
        if (!looking) await page.keyboard.press("[");
        await pastAt(page, 2);
        await until("a touch", async () => (await sum()) === "2 boxes, pairs: 0 overlap, 1 touch");
        await page.keyboard.press("[");
        await pastAt(page, 1);
        await until("no pair", async () => (await sum()) === "2 boxes, pairs: 0 overlap, 0 touch");
        await page.keyboard.press("]");
        await pastAt(page, 2);
        await until("the touch again", async () => (await sum()) === "2 boxes, pairs: 0 overlap, 1 touch");
        await close();
    }
});

test("what is too much to bring along is said in words", async () => {
    const names = Array.from({ length: 1200 }, (_, i) => `box-${i}`);
    const centers = (y) => names.flatMap((_, i) => [3 * i, y, 0]);
    const scene = await makeScene({}, { history: { span: 10_000, commits: 1 } });
    await daemon.commit(scene, { put: { names, centers: centers(0), half_extents: [1, 1, 1] } });
    const { page, close } = await showBlind(scene);
    await revision(page, 1);
    for (let i = 1; i <= 4; i++) await daemon.commit(scene, { pose: { names, centers: centers(i) } });
    await revision(page, 5);
    for (let i = 0; i < 3; i++) await page.keyboard.press("[");
    await pastAt(page, 2);
    await page.keyboard.press("Alt+7");
    await page.click("#probe-ask");
    const words = "The daemon does not keep this state any more. 1,200 boxes have changed since, and a question brings along 1,000 at most.";
    await until("why not", async () => (await page.textContent("#probe-out")) === words);
    // and so it is of what was before the page was there
    const late = await showBlind(scene);
    await revision(late.page, 5);
    await late.page.focus("#past");
    await until("what the daemon keeps", async () => (await late.page.getAttribute("#past", "min")) === "4");
    await blur(late.page);
    await late.page.keyboard.press("[");
    await pastAt(late.page, 4);
    for (let i = 5; i <= 6; i++) await daemon.commit(scene, { pose: { names, centers: centers(i) } });
    await late.page.keyboard.press("Alt+2");
    await late.page.click("#probe-ask");
    await until("that nobody has it", async () => /does not keep this state any more, and the page has not seen it/.test(await late.page.textContent("#probe-out")));
    await late.close();
    await close();
});

test("times are shown to the thousandth, also of a clock that counts milliseconds since 1970", async () => {
    const { clock } = await module("box");
    const shown = [0, 16, 123_456.789, 1_760_100_000_016, 1_760_100_000_016.125, -2.5, 0.1 + 0.2, 1e-9, 1e21].map(clock);
    assert.deepEqual(shown, ["0", "16", "123456.789", "1760100000016", "1760100000016.125", "-2.5", "0.3", "0", "1e+21"]);
    const scene = await makeScene({}, { record: 10 });
    const ray = { kind: "ray", rays: [{ from: [-9, 0, 0], to: [9, 0, 0] }] };
    const commit = (time, x) => daemon.commit(scene, { time, put: { a: CUBE(x), b: CUBE(0) }, queries: [ray] });
    await commit(1_760_100_000_016, 5);
    const { page, close } = await showBlind(scene);
    await page.click("#tab-events");
    await commit(1_760_100_000_033.5, 1);
    await until("the newest time", async () => (await page.textContent("#past-text")) === "now, time 1760100000033.5");
    await until("the pair", async () => /time 1760100000033\.5/.test(await page.textContent("#events-list")));
    await page.click("#tab-shots");
    await until("the question", async () => /time 1760100000033\.5/.test(await page.textContent("#shots-list")));
    await page.keyboard.press("[");
    await until("the time before", async () => /revision \d+, time 1760100000016$/.test(await page.textContent("#past-text")));
    await close();
});

test("the slider is as wide in the past as in the present, whatever is said of it", async () => {
    const long = (name) => `${name}-${"x".repeat(60)}`;
    const scene = await makeScene({ [long("a")]: CUBE(0), [long("b")]: CUBE(9) });
    await daemon.commit(scene, { time: 1_760_100_000_016 });
    for (const size of [{ width: 1440, height: 900 }, { width: 1024, height: 700 }, { width: 390, height: 800 }, { width: 844, height: 390 }]) {
        const { page, close } = await showBlind(scene, [], { viewport: size });
        const track = async () => {
            await drawn(page);
            const { x, width } = await page.locator(".track").boundingBox();
            return [x, width, (await page.locator("footer").boundingBox()).height];
        };
        const present = await track();
        const least = size.width === 390 ? 350 : 60; // on a phone it has a line of its own
        assert.ok(present[1] > least, `${present[1]} pixels`);
        const before = await daemon.commit(scene, { pose: { [long("a")]: { center: [9, 0, 0] } } });
        const after = await daemon.commit(scene, { pose: { [long("a")]: { center: [0, 0, 0] } } });
        await until("both", async () => (await page.textContent("#revision-number")) === String(after.revision));
        assert.deepEqual(await track(), present);
        for (const [back, words] of [[1, /^began: /], [2, /^$/]]) {
            await page.keyboard.press("[");
            await until("the past", async () => (await page.textContent("#revision-number")) === String(after.revision - back));
            assert.match(await page.textContent("#past-turns"), words);
            assert.match(await page.textContent("#past-text"), /revision/);
            assert.deepEqual(await track(), present, `at ${size.width} pixels, ${back} back`);
        }
        assert.equal(before.revision, after.revision - 1);
        await close();
    }
});

test("a time that the daemon has just forgotten is shown as the page has it", async () => {
    const settings = { history: { span: 10_000, commits: 3 } };
    const scene = await makeScene({ a: CUBE(0) }, settings);
    const { page, close } = await showBlind(scene, [/status of 410/]);
    for (let i = 1; i <= 10; i++) await daemon.commit(scene, { time: 1e5 + 100 * i, pose: { a: { center: [i, 0, 0] } } });
    await revision(page, 11);
    await select(page, "a");
    await page.selectOption("#past-unit", "time");
    await page.locator("#past").evaluate((slider) => {
        slider.value = "100450"; // the page has not asked how far back the daemon goes by now
        slider.dispatchEvent(new Event("input"));
    });
    await pastAt(page, 5);
    assert.equal(await centerX(page), "4");
    assert.match(await page.textContent("#past-text"), /^\d+\.\d s ago, revision 5, time 100400$/);
    await close();
});

test("on a phone nothing moves when the past is shown, or the scene begins to move", async () => {
    const scene = "a-scene-with-a-long-name";
    assert.equal((await daemon.call("PUT", `/v1/scenes/${scene}`, {})).status, 201);
    await daemon.commit(scene, { put: { a: CUBE(0) } });
    const { page, close } = await showBlind(scene, [], { viewport: { width: 380, height: 780 } });
    const top = async () => {
        await drawn(page);
        return (await page.locator(".stage").boundingBox()).y;
    };
    const still = await top();
    for (let i = 1; (await page.textContent("#pace")) === ""; i++) {
        const { revision: number } = await daemon.commit(scene, { pose: { a: { center: [i / 10, 0, 0] } } });
        await revision(page, number);
    }
    assert.equal(await top(), still);
    await page.keyboard.press("[");
    await until("the past", async () => (await page.textContent("#status-text")) === "past");
    assert.equal(await top(), still);
    await close();
});

for (const hz of [20, 60])
    test(`a scene that moves ${hz} times a second is halted, stepped, played and followed; what is shown is always answered`, async () => {
        const live = await makeLive({}, { everyMs: 1000 / hz });
        const { page, close } = await showBlind(live.scene);
        let streams = 0; // since the first one; a page that was too slow opens another, and has missed states between them
        page.on("request", (request) => /\/events\?/.test(request.url()) && streams++);
        await select(page, "moving-7");
        /** Presses a button like a hand: for a tenth of a second. */
        const press = async (selector) => {
            await page.locator(selector).hover();
            await page.mouse.down();
            await new Promise((resolve) => setTimeout(resolve, 100));
            await page.mouse.up();
        };
        const at = async () => Number(/\d+/.exec(await page.textContent("#revision"))[0]);
        const past = async () => (await page.textContent("#status-text")) === "past";
        await until("halted after states of which none is missed", async () => {
            const before = streams;
            await shown(page, 2 * hz);
            await press("#play");
            await until("halted", past);
            if (streams > before) await press("#now");
            return past();
        });
        const halted = await at();
        const center = await centerX(page);
        const place = (number) => live.place(7, number - 1)[0]; // the first revision put the boxes
        assert.equal(Number(center), place(halted));
        await page.keyboard.press("Alt+3");
        let answers = 0;
        for (let i = 1; i <= 20; i++) {
            await page.click("[data-command=back]");
            await until("a step", async () => (await at()) === halted - i);
            assert.equal(Number(await centerX(page)), place(halted - i));
            if (i % 5 > 0) continue;
            await page.click("#tab-ask");
            await ask(page, 3, { Center: live.place(7, halted - i - 1), Radius: [0.01] });
            await until("an answer about then", async () => (await found(page)).includes("moving-7"));
            answers++;
            await page.click("#tab-box");
        }
        assert.ok(answers >= 4);
        // the thumb stays while the scene goes on
        const slider = () => page.locator("#past").evaluate(({ min, max, value }) => (Number(value) - Number(min)) / (Number(max) - Number(min)));
        const thumb = await slider();
        await new Promise((resolve) => setTimeout(resolve, 500));
        assert.equal(await slider(), thumb);
        // played at its pace, or faster until it has caught up
        await press("#play");
        await until("it plays", async () => (await at()) > halted - 17);
        assert.ok(await past());
        await press("#now"); // it may be far behind by now
        await until("the present", async () => !(await past()));
        await press("#play");
        await until("halted", past);
        await page.selectOption("#speed", "4");
        await press("#play");
        await until("caught up", async () => !(await past()));
        await shown(page, 3);
        // in a loop it comes by the same states again
        await page.selectOption("#speed", "1");
        await press("#play");
        await until("halted", past);
        await page.selectOption("#speed", "4");
        for (let i = 0; i < hz / 2; i++) await page.keyboard.press("[");
        await press("[data-command=loop]");
        assert.equal(await page.getAttribute("[data-command=loop]", "aria-pressed"), "true");
        await press("#play");
        let [last, rounds] = [await at(), 0];
        await until("two rounds", async () => {
            const now = await at();
            if (now < last) rounds++;
            last = now;
            return rounds >= 2;
        });
        assert.ok(await past());
        await press("#now");
        await shown(page, 3);
        await live.stop();
        await close();
    });

test("a state of the past, of the page's memory or of the daemon's, is left when the daemon comes back as another process", async () => {
    let other = await startDaemon(0, []);
    const begin = async (x) => {
        await other.call("PUT", "/v1/scenes/match", { history: { span: 10_000, commits: 100 } });
        await other.commit("match", { put: { a: CUBE(x) } });
        for (let i = 1; i <= 3; i++) await other.commit("match", { pose: { a: { center: [x + i, 0, 0] } } });
    };
    await begin(0);
    const opened = await openPage(blind, other.url, { expected: [/WebGL/, /net::ERR_|status of (404|503)/] });
    const { page } = opened;
    await page.goto(`${other.url}/#match`);
    await revision(page, 4);
    for (const [from, seen] of [[0, false], [100, true]]) {
        if (seen) await other.commit("match", { pose: { a: { center: [from, 0, 0] } } });
        const newest = seen ? 5 : 4;
        await revision(page, newest);
        await page.keyboard.press("[");
        await until("the past", async () => (await page.textContent("#revision")) === `revision ${newest - 1}` && (await page.textContent("#status-text")) === "past");
        assert.equal(/s ago/.test(await page.textContent("#past-text")), seen); // the page knows since when
        assert.equal(await other.stop(), 0);
        other = await startDaemon(other.port, []);
        await begin(from + 100);
        await until("the present", async () => (await page.textContent("#status-text")) === "live" && (await page.textContent("#revision")) === "revision 4");
        await select(page, "a");
        assert.equal(await page.locator('#box-form input[aria-label="Center x"]').inputValue(), String(from + 103));
        await page.keyboard.press("Escape");
    }
    await opened.close();
    assert.equal(await other.stop(), 0);
});

test("marks stand where pairs began and ended, those of the selection when there is one, and keys go from one to the next", async () => {
    const scene = await makeScene({ a: CUBE(0), b: CUBE(9), c: CUBE(20), d: CUBE(29) });
    const { page, close } = await show(scene, SMALL);
    await revision(page, 1);
    const moves = [["a", 1], ["a", 8], ["a", 2], ["c", 28], ["c", 27.5], ["c", 20], ["a", 3]];
    for (const [i, [name, x]] of moves.entries()) {
        await daemon.commit(scene, { pose: { [name]: { center: [x, 0, 0] } } });
        await revision(page, 2 + i);
    }
    await until("four marks", async () => (await page.getAttribute("#past-marks", "data-marks")) === "4");
    const turns = [];
    for (let i = 0; i < 5; i++) {
        await page.keyboard.press("{");
        turns.push([await page.textContent("#revision"), await page.textContent("#past-turns")]);
    }
    assert.deepEqual(turns.slice(0, 4), [
        ["revision 7", "ended: c – d"],
        ["revision 5", "began: c – d"],
        ["revision 4", "ended: a – b"],
        ["revision 3", "began: a – b"],
    ]);
    assert.deepEqual(turns[4], turns[3]);
    await page.keyboard.press("}");
    await pastAt(page, 4);
    await select(page, "c");
    await until("two marks", async () => (await page.getAttribute("#past-marks", "data-marks")) === "2");
    await page.keyboard.press("}");
    await pastAt(page, 5);
    await close();
});

test("trails and ghosts of the selected boxes are drawn where they were", async () => {
    const scene = await makeScene({ a: CUBE(-8), floor: { center: [0, -5, 0], half_extents: [12, 1, 1] } });
    const { page, close } = await show(scene, SMALL);
    await page.keyboard.press("3");
    /** Resolves to the revision at the end. */
    const walk = async () => {
        let last = 0;
        for (let i = 1; i <= 16; i++) {
            last = (await daemon.commit(scene, { pose: { a: { center: [-8 + i, 0, 0] } } })).revision;
            await new Promise((resolve) => setTimeout(resolve, 70)); // ghosts stand half a second apart
        }
        await revision(page, last);
        return last;
    };
    const trail = async () => {
        await page.mouse.move(2, 2);
        await drawn(page);
        const png = (await page.locator("#view canvas").screenshot()).toString("base64");
        return page.evaluate(async (png) => {
            const hex = getComputedStyle(document.documentElement).getPropertyValue("--trail").trim();
            const [x, y, z] = [1, 3, 5].map((i) => Number.parseInt(hex.slice(i, i + 2), 16));
            const bytes = Uint8Array.from(atob(png), (char) => char.charCodeAt(0));
            const image = await createImageBitmap(new Blob([bytes]));
            const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
            canvas.drawImage(image, 0, 0);
            const { data } = canvas.getImageData(0, 0, image.width, image.height);
            const seen = { count: 0, left: Infinity, right: -Infinity };
            for (let i = 0; i < data.length; i += 4) {
                if (Math.abs(data[i] - x) + Math.abs(data[i + 1] - y) + Math.abs(data[i + 2] - z) > 6) continue;
                seen.count++;
                seen.left = Math.min(seen.left, (i / 4) % image.width);
                seen.right = Math.max(seen.right, (i / 4) % image.width);
            }
            return seen;
        }, png);
    };
    await walk();
    assert.equal((await trail()).count, 0); // nothing is selected
    await select(page, "a");
    let seen = { count: 0, left: 0, right: 0 };
    for (let turn = 0; turn < 10 && !(seen.count > 50 && seen.right - seen.left > 100); turn++) {
        if (turn > 0) await page.keyboard.press("]"); // a busy machine took longer than trails go back
        const last = await walk();
        await page.keyboard.press("["); // so that it does not grow old
        await pastAt(page, last - 1);
        seen = await trail();
    }
    assert.ok(seen.count > 50 && seen.right - seen.left > 100, JSON.stringify(seen));
    await page.keyboard.press("t");
    assert.equal((await trail()).count, 0);
    await close();
});

test("the scene's settings are read and changed in a panel, and a refusal is said", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const { page, close } = await showBlind(scene, [/status of 422/]);
    const settings = async () => (await daemon.call("GET", `/v1/scenes/${scene}`)).body;
    const before = await settings();
    await page.click("[data-command=settings]");
    const form = page.locator("#settings-form");
    await until("what it is", async () => (await form.getByLabel("Span").inputValue()) === String(before.history.span));
    await form.getByLabel("Span").fill("30000");
    await form.getByLabel("Queries").fill("50");
    await form.getByRole("button", { name: "Save" }).click();
    await page.waitForSelector("#settings", { state: "hidden" });
    const { history, record } = await settings();
    assert.deepEqual([history, record], [{ span: 30_000, commits: before.history.commits }, 50]);
    await page.click("[data-command=settings]");
    await page.waitForSelector("#settings", { state: "visible" });
    assert.equal(await form.getByLabel("Span").inputValue(), "30000");
    await form.getByLabel("Queries").fill("20000");
    await form.getByRole("button", { name: "Save" }).click();
    await until("the refusal", async () => /record/.test(await page.textContent("#settings-failure")));
    await form.getByRole("button", { name: "Cancel" }).click();
    assert.equal((await settings()).record, 50);
    await close();
});

test("settings are those of the scene that is open, also where Back leads elsewhere", async () => {
    const settings = (span) => ({ history: { span, commits: 64 } });
    const first = await makeScene({}, settings(2000));
    const second = await makeScene({}, settings(700));
    const { page, close } = await showBlind(first);
    await page.selectOption("#scene", second);
    await page.waitForSelector("#status[data-state=live]");
    await page.click("[data-command=settings]");
    await page.waitForSelector("#settings[open]");
    await page.goBack();
    await until("the first scene", async () => (await page.textContent("#start-title")) === first);
    await page.waitForSelector("#settings", { state: "hidden" });
    await page.click("[data-command=settings]");
    await page.waitForSelector("#settings[open]");
    assert.equal(await page.textContent("#settings-title"), `Settings of ${first}`);
    assert.equal(await page.locator("#settings").getByLabel("Span").inputValue(), "2000");
    await page.locator("#settings").getByLabel("Commits").fill("65");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#settings", { state: "hidden" });
    const kept = async (scene) => (await daemon.call("GET", `/v1/scenes/${scene}`)).body.history;
    assert.deepEqual(await kept(first), { span: 2000, commits: 65 });
    assert.deepEqual(await kept(second), { span: 700, commits: 64 });
    await close();
});

test("how long ago it was goes on while a state is shown and nothing happens", async () => {
    const scene = await makeScene({ a: CUBE(0) });
    const { page, close } = await showBlind(scene);
    await daemon.commit(scene, { pose: { a: { center: [1, 0, 0] } } });
    await revision(page, 2);
    const ago = async () => Number(/^(\d+\.\d) s ago/.exec(await page.textContent("#past-text"))?.[1]);
    await page.keyboard.press("p");
    await until("the past", async () => (await ago()) >= 0);
    const before = await ago();
    await until("some seconds", async () => (await ago()) >= before + 2);
    await page.click("#now");
    await until("now", async () => /^now/.test(await page.textContent("#past-text")));
    await new Promise((resolve) => setTimeout(resolve, 1500)); // so it stays
    assert.match(await page.textContent("#past-text"), /^now/);
    await close();
});

await runAll(blind);
