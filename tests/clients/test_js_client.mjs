#!/usr/bin/env node
// The JavaScript client against the real daemon: codec, ids, columns, events, tokens, spawn, and what is in the package.
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
    cpSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readdirSync,
    readFileSync,
    readlinkSync,
    realpathSync,
    rmSync,
    symlinkSync,
    writeFileSync,
} from "node:fs";
import { createConnection, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { startDaemon, TIMEOUT_MS, until } from "../support/daemon.mjs";
import { run, test } from "../support/sums.mjs";
import { installed, obbd, plain } from "./js.mjs";

const { allPairs, connect, decode, encode, nearest, pairs, ray } = obbd;
const CUBE = (x, more = {}) => ({ center: [x, 0, 0], half_extents: [1, 1, 1], ...more });
const folder = mkdtempSync(join(tmpdir(), "obbd-clients-"));
const socket = `unix:${join(folder, "socket")}`;
const daemon = await startDaemon(0, ["--listen", socket]);
const client = connect(daemon.url);
const bytes = (hex) => Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16));
const hex = (parts) => Buffer.concat(parts).toString("hex");

async function listed(iterable) {
    const out = [];
    for await (const one of iterable) out.push(one);
    return out;
}

let scenes = 0;
const fresh = () => client.scene(`scene-${++scenes}`);

// ---- CBOR -----------------------------------------------------------------------------------------

// Values of RFC 8949, appendix A, that this codec writes as they stand there.
const WRITTEN = [
    ["00", 0],
    ["0a", 10],
    ["17", 23],
    ["1818", 24],
    ["1864", 100],
    ["1903e8", 1000],
    ["1a000f4240", 1e6],
    ["1b000000e8d4a51000", 1e12],
    ["20", -1],
    ["29", -10],
    ["3863", -100],
    ["3903e7", -1000],
    ["fb3ff199999999999a", 1.1],
    ["fbc010666666666666", -4.1],
    ["fb7e37e43c8800759c", 1e300],
    ["f4", false],
    ["f5", true],
    ["f6", null],
    ["60", ""],
    ["6161", "a"],
    ["6449455446", "IETF"],
    ["62c3bc", "\u00fc"],
    ["64f0908591", "\ud800\udd51"],
    ["80", []],
    ["83010203", [1, 2, 3]],
    ["8301820203820405", [1, [2, 3], [4, 5]]],
    ["a0", {}],
    ["a26161016162820203", { a: 1, b: [2, 3] }],
    ["826161a161626163", ["a", { b: "c" }]],
    ["81".repeat(99) + "80", JSON.parse("[".repeat(100) + "]".repeat(100))],
    ["1bffffffffffffffff", 2n ** 64n - 1n],
    ["c249010000000000000000", 2n ** 64n],
    ["c349010000000000000000", -(2n ** 64n) - 1n],
    ["fb8000000000000000", -0],
    ["d8464801000000020000" + "00", Uint32Array.of(1, 2)],
    ["d855440000c03f", Float32Array.of(1.5)],
    ["d85648000000000000f83f", Float64Array.of(1.5)],
];
// And other forms that it reads.
const READ = [
    ["fa47c35000", 100000],
    ["c340", -1n],
    ["1b001fffffffffffff", 2 ** 53 - 1],
    ["3b001fffffffffffff", -(2 ** 53)],
    ["c240", 0n],
];

test("CBOR as in RFC 8949 and RFC 8746", () => {
    for (const [wanted, value] of WRITTEN) {
        assert.equal(hex(encode(value)), wanted);
        assert.deepEqual(plain(decode(bytes(wanted))), plain(value), wanted);
    }
    for (const [given, value] of READ) assert.deepEqual(Number(decode(bytes(given))), Number(value), given);
    assert.ok(Object.is(decode(bytes("fb8000000000000000")), -0));
});

test("broken CBOR is refused, and every truncated prefix", () => {
    const parts = encode({
        a: [1, 300, 1e300, "text", -5, null],
        columns: { boxes: Uint32Array.of(1, 2, 3), points: Float64Array.of(1, 2) },
    });
    const whole = new Uint8Array(Buffer.concat(parts));
    for (let n = 0; n < whole.length; n++) assert.throws(() => decode(whole.slice(0, n)), RangeError, `${n} bytes`);
    assert.deepEqual(decode(whole).columns.boxes, Uint32Array.of(1, 2, 3));
    // trailing, indefinite, an unknown tag, half a number in a typed array, a key that is no text, a simple value, too deep, no UTF-8
    for (const given of [
        "0000",
        "9fff",
        "5fff",
        "d85040",
        "d8464101",
        "a10000",
        "e0",
        "81".repeat(130) + "00",
        "61ff",
        "9bffffffffffffffff",
    ])
        assert.throws(() => decode(bytes(given)), Error, given);
});

test("random values come back, and a member __proto__ is a member like any other", () => {
    let state = 20261123;
    const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32;
    const make = (depth) => {
        const kind = Math.floor(random() * (depth > 3 ? 5 : 7));
        if (kind === 0) return Math.floor((random() - 0.5) * 2 ** Math.floor(random() * 54));
        if (kind === 1) return (random() - 0.5) * 10 ** Math.floor(random() * 300 - 150);
        if (kind === 2)
            return String.fromCodePoint(...Array.from({ length: random() * 40 }, () => 32 + Math.floor(random() * 0x2000)));
        if (kind === 3) return random() < 0.5;
        if (kind === 4) return null;
        if (kind === 5) return Array.from({ length: random() * 6 }, () => make(depth + 1));
        return Object.fromEntries(
            Array.from({ length: random() * 6 }, (_, i) => [`${i}${String.fromCodePoint(0x1f600 + i)}`, make(depth + 1)]),
        );
    };
    let nested = 0;
    for (let i = 0; i < 5000; i++) {
        const value = make(0);
        nested += typeof value === "object" && value !== null ? 1 : 0;
        assert.deepEqual(decode(new Uint8Array(Buffer.concat(encode(value)))), value);
    }
    assert.ok(nested > 500);
    const odd = decode(bytes("a1695f5f70726f746f5f5f01")); // {"__proto__": 1}
    assert.deepEqual([Object.keys(odd), Object.getPrototypeOf(odd)], [["__proto__"], Object.prototype]);
});

test("keys that were read before are not taken for others", () => {
    const ends = ["", "a", "z", "\u007f", "\u00e9", "\u2603", "\u{1f600}"];
    const keys = ends.flatMap((first) => ends.flatMap((last) => Array.from({ length: 40 }, (_, n) => first + "k".repeat(n) + last)));
    const objects = keys.map((key, i) => ({ [key]: i }));
    for (let turn = 0; turn < 2; turn++)
        for (const object of turn === 0 ? objects : [...objects].reverse())
            assert.deepEqual(decode(new Uint8Array(Buffer.concat(encode(object)))), object);
    assert.ok(new Set(keys).size > 1000);
    assert.throws(() => decode(bytes("a161e901")), TypeError); // 0xe9 alone is no text, though a key of one character has that code
});

test("values that are written one behind the other, or one within another, keep their bytes", async () => {
    const { encodeToSend } = await import(new URL("node_modules/@obbd/client/dist/cbor.js", installed));
    const values = Array.from({ length: 400 }, (_, i) => ({ text: String.fromCharCode(97 + (i % 26)).repeat(i * 3), list: [i, -i, i / 3] }));
    const written = values.map(encodeToSend); // more than one block of memory
    const blocks = new Set(written.flat().map(({ buffer }) => buffer)).size;
    assert.ok(blocks > 1 && blocks < 100, `${blocks} blocks`);
    const inner = [];
    const outer = {
        before: [1, 2],
        get other() {
            inner.push(encodeToSend(values[9]));
            return 3;
        },
        behind: "text",
    };
    written.push(encodeToSend(outer), ...inner);
    values.push({ before: [1, 2], other: 3, behind: "text" }, ...inner.map(() => values[9]));
    assert.ok(inner.length > 0);
    assert.deepEqual(written.map((parts) => decode(new Uint8Array(Buffer.concat(parts)))), values);
});

test("what a program encodes has memory of its own, which it may transfer", () => {
    const [first] = encode({ a: 1 });
    const [second] = encode({ b: 2 });
    structuredClone(first, { transfer: [first.buffer] });
    assert.equal(first.length, 0);
    assert.deepEqual(decode(second), { b: 2 });
    assert.deepEqual(decode(encode({ c: 3 })[0]), { c: 3 });
});

test("large typed arrays go out from where they lie, and come in as views where they are aligned", () => {
    const centers = new Float32Array(300);
    const part = encode({ centers }).find((one) => one.buffer === centers.buffer);
    assert.deepEqual([part.byteOffset, part.length], [0, 1200]);
    const body = new Uint8Array(Buffer.concat(encode(Uint32Array.of(7, 8, 9))));
    const shifted = new Uint8Array(body.length + 8);
    const views = [0, 1, 2, 3].map((shift) => {
        shifted.set(body, shift);
        const ids = decode(shifted.subarray(shift, shift + body.length));
        assert.deepEqual(ids, Uint32Array.of(7, 8, 9));
        return ids.buffer === shifted.buffer;
    });
    assert.equal(views.filter(Boolean).length, 1);
});

// ---- Scenes ---------------------------------------------------------------------------------------

test("ids: of boxes that were put, in columns too, and of boxes that were there before", async () => {
    const scene = fresh();
    assert.throws(() => scene.ids(["a"]), /the id of "a" is not known/);
    await scene.put({ a: CUBE(0), b: CUBE(1.5) });
    await scene.put({ names: ["c", "a"], centers: new Float32Array([9, 0, 0, 0, 0, 0]), half_extents: [1, 1, 1] });
    assert.deepEqual(scene.ids(["a", "b", "c"]), Uint32Array.of(1, 2, 3));
    const other = connect(daemon.url).scene(scene.name); // another program
    await other.put({ b: CUBE(1.5), d: CUBE(30) });
    assert.deepEqual(other.ids(["d", "b"]), Uint32Array.of(4, 2));
    await other.learn(["c"]);
    assert.deepEqual(other.ids(["c"]), Uint32Array.of(3));
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, CUBE(100 + 3 * i)]));
    await scene.put(many);
    const third = connect(daemon.url).scene(scene.name);
    await third.put(many); // read by listing
    assert.deepEqual(third.ids(["m0", "m99"]), scene.ids(["m0", "m99"]));
    const lists = connect(daemon.url).scene(scene.name);
    await listed(lists.boxes({ prefix: "d", at_revision: (await lists.info()).revision })); // of one state, which may be past
    assert.throws(() => lists.ids(["d"]), RangeError);
    await listed(lists.boxes({ prefix: "d" }));
    assert.deepEqual(lists.ids(["d"]), Uint32Array.of(4));
    await scene.commit({ remove: ["a"] });
    assert.throws(() => scene.ids(["a"]), RangeError);
});

test("ids of boxes that another program removed and put again are read by learn", async () => {
    for (const count of [2, 100]) { // few are read one by one, many by listing
        const scene = fresh();
        const names = Array.from({ length: count }, (_, i) => `box ${i}`);
        const boxes = Object.fromEntries(names.map((name, i) => [name, CUBE(3 * i)]));
        const other = connect(daemon.url).scene(scene.name);
        const puts = async (remove, put) => (await other.commit({ remove }), await other.commit({ put }));
        const ids = names.map((_, i) => i + 1);
        await scene.put(boxes);
        assert.deepEqual([...scene.ids(names)], ids);
        await puts(names, boxes);
        await scene.learn(names);
        assert.deepEqual([...scene.ids(names)], ids.map((id) => id + count));
        await other.commit({ remove: names.slice(1) });
        await scene.learn([...names, "nobody"]);
        assert.deepEqual([...scene.ids(names.slice(0, 1))], [1 + count]);
        assert.throws(() => scene.ids(names.slice(1)), /is not known/, "a box that is gone has no id");
    }
});

test("a put whose ids cannot be read behind it has its answer", async () => {
    const token = "writes";
    const file = join(folder, "writing-tokens.json");
    const sha256 = createHash("sha256").update(token).digest("hex");
    writeFileSync(file, JSON.stringify({ tokens: [{ name: "test", sha256, scopes: ["write"], scenes: ["*"] }] }));
    const guarded = await startDaemon(0, ["--token-file", file]);
    const writer = () => connect(guarded.url, { token }).scene("yard");
    assert.deepEqual((await writer().put({ a: CUBE(0) })).ids, { a: 1 });
    const again = writer();
    const { put, ids } = await again.put({ a: CUBE(5), b: CUBE(9) });
    assert.deepEqual([put, ids], [2, { b: 2 }]);
    assert.deepEqual(again.ids(["b"]), Uint32Array.of(2));
    assert.throws(() => again.ids(["a"]), RangeError);
    await assert.rejects(again.learn(["a"]), { status: 403 });
    await guarded.stop();
});

test("columns in and out, each ray at its own time", async () => {
    const scene = fresh();
    await scene.commit({ time: 0, put: { bob: CUBE(0) } });
    const ids = scene.ids(["bob"]);
    await scene.commit({ time: 100, pose: { ids, centers: Float32Array.of(10, 0, 0) } });
    const rays = {
        origins: Float64Array.of(0, 0, -5, 5, 0, -5, 10, 0, -5, 0, 0, -5),
        directions: Float64Array.of(0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1),
        times: [0, 50, 900, 100],
    };
    const { columns, revision } = await scene.query(ray(rays, { columns: true }));
    assert.deepEqual(columns.boxes, Uint32Array.of(1, 1, 1, 0));
    assert.deepEqual(columns.distances, Float64Array.of(4, 4, 4, 0));
    assert.deepEqual(Array.from(columns.clamped), [0, 0, 1, 0]);
    assert.equal(revision, 2);
    const { columns: single } = await scene.query(nearest({ points: Float32Array.of(12, 0, 0) }, { columns: true, float: 32 }));
    assert.deepEqual(
        [single.boxes, single.distances, single.points],
        [Uint32Array.of(1), Float32Array.of(1), Float32Array.of(11, 0, 0)],
    );
});

test("a commit's results, in order and by form; vectors are plain arrays in both media", async () => {
    const scene = fresh();
    const { results } = await scene.commit({
        put: { a: CUBE(0), b: CUBE(1.5), far: CUBE(9) },
        queries: [
            allPairs({ by: "id" }),
            allPairs(),
            pairs(
                [
                    ["a", "b"],
                    ["a", "far"],
                ],
                { want: ["mtv"] },
            ),
            pairs(Uint32Array.of(1, 2), { by: "id" }),
            ray([{ from: [-5, 0, 0], to: [5, 0, 0] }], { at: 1e9 }),
        ],
    });
    assert.deepEqual(results[0].pairs, Uint32Array.of(1, 2));
    assert.deepEqual(results[1].pairs, [["a", "b"]]);
    assert.deepEqual(results[2].results[0].mtv, { normal: [1, 0, 0], depth: 0.5 });
    assert.deepEqual(results[2].results[1], { overlap: false });
    assert.equal(results[3].results[0].overlap, true);
    assert.deepEqual([results[4].results[0].hits[0].point, results[4].at.clamped], [[-1, 0, 0], true]);
});

test("boxes, frames, settings, copies, recorded queries: the plain calls", async () => {
    const scene = fresh();
    assert.equal((await scene.set({ record: 10, history: { span: 1000 } })).record, 10);
    await scene.commit({
        frames: { rig: { center: [0, 5, 0] } },
        put: { head: CUBE(0, { frame: "rig" }), a: CUBE(5), b: CUBE(9, { entity: "ann" }) },
    });
    assert.deepEqual((await scene.box("head", { include: ["aabb"] })).aabb, { min: [-1, 4, -1], max: [1, 6, 1] });
    assert.deepEqual((await scene.patch("a", { data: { hp: 3 } })).data, { hp: 3 });
    assert.deepEqual((await scene.transform("a", { translate: [1, 0, 0] })).center, [6, 0, 0]);
    assert.deepEqual((await scene.merge("a", ["b"])).center, [7.5, 0, 0]);
    assert.deepEqual(
        (await listed(scene.boxes({ entity: "ann" }))).map(({ name }) => name),
        ["b"],
    );
    assert.deepEqual(await listed(scene.frames()), [{ name: "rig", center: [0, 5, 0], rotation: [0, 0, 0, 1] }]);
    await scene.query(ray([{ from: [0, 5, -9], to: [0, 5, 0] }], { tag: "shot" }));
    assert.deepEqual(
        (await listed(scene.recorded({ tag: "shot" }))).map(({ kind }) => kind),
        ["ray"],
    );
    const lists = ["boxes", "frames", "recorded"].map((name) => (which) => listed(scene[name](which)));
    const text = (which) => new Response(scene.export(which)).text();
    for (const read of [(which) => scene.info(which), (which) => scene.box("a", which), text, ...lists]) {
        await Promise.all([read({ fresh: true }), read({ revision: 1 })]);
        await assert.rejects(read({ revision: -1 }), ({ status }) => status === 400); // so the daemon gets what is asked
    }
    const copy = await scene.copy(`${scene.name} copy`);
    assert.deepEqual([copy.boxes, copy.revision], [3, 1]);
    assert.ok((await scene.commit({ pose: { a: { center: [0, 0, 0] } } })).posed, "the copy's epoch is not this scene's");
    assert.ok((await listed(client.scenes())).some(({ name }) => name === `${scene.name} copy`));
});

test("export and import, as a stream", async () => {
    const scene = fresh();
    await scene.put(Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`box ${i}`, CUBE(i, { data: "\u2603" })])));
    const other = fresh();
    const { boxes } = await other.import(scene.export());
    assert.equal(boxes, 2000);
    const lines = async (one) => (await new Response(one.export()).text()).split("\n").slice(1).join("\n");
    assert.equal(await lines(other), await lines(scene));
    await scene.learn(["box 1"]);
    await assert.rejects(scene.import("no lines"), { status: 400 });
    assert.deepEqual(scene.ids(["box 1"]), Uint32Array.of(2), "an import that is refused changes nothing");
    await scene.import(await new Response(other.export()).text());
    assert.throws(() => scene.ids(["box 1"]), RangeError);
    await scene.learn(["box 1"]);
    const put = JSON.stringify({ revision: 1, time: 0, removed: 0, put: 1, posed: 0, transformed: 0, ids: { a: 5 }, results: [] });
    const answer = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${put.length}\r\n\r\n${put}`;
    const cutting = createServer((socket) => socket.once("data", () => (socket.write(answer), socket.once("data", () => socket.destroy()))));
    await once(cutting.listen(0, "127.0.0.1"), "listening");
    const cut = connect(`http://127.0.0.1:${cutting.address().port}`, { retries: 0 }).scene("yard");
    await cut.put({ a: CUBE(0) });
    assert.deepEqual(cut.ids(["a"]), Uint32Array.of(5));
    await assert.rejects(cut.import("lines"), obbd.Unknown);
    assert.throws(() => cut.ids(["a"]), RangeError, "an import that may have been made");
    cutting.close();
});

test("a scene that was deleted and made again is noticed, and its boxes are put again", async () => {
    const scene = fresh();
    let lost = 0;
    const put = () => scene.put({ a: CUBE(0) });
    scene.onLost = async () => {
        lost++;
        await put();
    };
    await scene.put({ wall: CUBE(9), a: CUBE(0) });
    const ids = scene.ids(["a"]);
    const elsewhere = connect(daemon.url).scene(scene.name);
    await elsewhere.delete();
    await elsewhere.put({ c: CUBE(3), d: CUBE(6) });
    const pose = { ids, centers: [1, 0, 0] };
    const outcomes = await Promise.allSettled([scene.commit({ pose }), scene.commit({ pose }), scene.query(allPairs())]);
    for (const { reason } of outcomes) assert.ok(reason instanceof obbd.Lost, String(reason));
    assert.equal(lost, 1);
    assert.deepEqual((await scene.box("d")).center, [6, 0, 0], "the pose by an old id moved nothing");
    assert.deepEqual(scene.ids(["a"]), Uint32Array.of(3));
    const first = { ids: ids.subarray(0, 1), centers: [7, 0, 0] };
    await assert.rejects(scene.commit({ pose: first }), obbd.Lost, "a part of an array is refused as the array is");
    assert.deepEqual((await scene.box("d")).center, [6, 0, 0]);
    await scene.commit({ pose: { ids: scene.ids(["a"]).subarray(0), centers: [1, 0, 0] } });
    await elsewhere.delete();
    await assert.rejects(scene.query(allPairs()), obbd.Lost);
    assert.equal(lost, 2);
});

test("boxes that could not be put again are put by the next call, once, however many calls notice the loss", async () => {
    const scene = fresh();
    let lost = 0;
    scene.onLost = async () => {
        const first = ++lost === 1;
        await new Promise((resolve) => setTimeout(resolve, 200)); // until all calls have noticed it
        if (first) throw new RangeError("not yet");
        await scene.put({ a: CUBE(0) });
    };
    await scene.put({ a: CUBE(0) });
    await connect(daemon.url).scene(scene.name).delete();
    const outcomes = await Promise.allSettled([scene.query(allPairs()), scene.commit({ remove: ["a"] }), scene.info()]);
    for (const { reason } of outcomes) assert.ok(reason instanceof RangeError, String(reason));
    assert.equal(lost, 1);
    await assert.rejects(scene.query(allPairs()), { name: "Lost", message: /its boxes were put again/ });
    assert.equal((await scene.info()).boxes, 1);
    assert.equal(lost, 2);
});

test("numbers that JSON.stringify would change arrive as they are", async () => {
    const scene = fresh();
    await scene.put({ a: CUBE(-0, { data: { n: 2n ** 70n } }) });
    const { center, data } = await scene.box("a");
    assert.ok(Object.is(center[0], -0));
    assert.equal(data.n, 2 ** 70);
    await scene.patch("a", { data: { n: 2n ** 60n + 1n } });
    assert.equal((await scene.box("a")).data.n, 2 ** 60, "JSON rounds");
    const { value } = await client.request("GET", `/v1/scenes/${scene.name}/boxes/a`, undefined, { media: "cbor" });
    assert.equal(value.data.n, 2n ** 60n + 1n);
    await assert.rejects(scene.put({ a: CUBE(Number.NaN) }), { type: "/problems/bad-number", pointer: "/put/a/center/0" });
});

test("a commit whose answer was cut is sent again, and applied once", async () => {
    const answers = [];
    const proxy = createServer((near) => {
        const far = createConnection(daemon.port, "127.0.0.1");
        near.pipe(far);
        far.once("data", (answer) => {
            answers.push(answer);
            if (answers.length === 2) near.destroy();
        });
        far.on("data", (answer) => near.write(answer));
        near.on("error", () => far.destroy()).on("close", () => far.destroy());
    });
    await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    const cutting = () => connect(`http://127.0.0.1:${proxy.address().port}`).scene("cut");
    await cutting().put({ a: CUBE(0) });
    const { repeated, results } = await cutting().commit({
        transform: { a: { translate: [1, 0, 0] } },
        queries: [allPairs({ by: "id" })],
    });
    assert.deepEqual([repeated, results[0].count, answers.length], [true, 0, 3]);
    assert.deepEqual((await client.scene("cut").box("a")).center, [1, 0, 0]);
    proxy.close();
});

test("events: from the present set on, until the scene is deleted", async () => {
    const scene = fresh();
    await scene.put({ a: CUBE(0), b: CUBE(1.5) });
    const seen = [];
    for await (const event of scene.events({ topics: ["collisions", "boxes"], prefix: "a", include: ["pose"] })) {
        seen.push(event);
        if (event.event === "state") await scene.commit({ time: 5, pose: { a: { center: [20, 0, 0] } } });
        if (event.event === "boxes") await scene.delete();
    }
    assert.deepEqual(
        seen.map(({ event }) => event),
        ["state", "end", "boxes", "gone"],
    );
    assert.deepEqual(seen[1].pairs, [["a", "b"]]);
    assert.deepEqual(seen[2].columns, { ids: [1], centers: [20, 0, 0], rotations: [0, 0, 0, 1] });
});

test("events go on over a restart of the daemon", async () => {
    const first = await startDaemon(0, []);
    const scene = connect(first.url).scene("yard");
    await scene.put({ a: CUBE(0) });
    let second;
    const seen = [];
    scene.onLost = () => scene.put({ a: CUBE(0), b: CUBE(1.5) });
    for await (const event of scene.events({ topics: ["collisions"] })) {
        seen.push(event.pairs);
        if (second) break;
        await first.stop();
        second = await startDaemon(first.port, []);
    }
    await second.stop();
    assert.deepEqual(seen, [[], [["a", "b"]]]);
});

test("a signal ends a call and a stream", async () => {
    const scene = fresh();
    await scene.put({ a: CUBE(0) });
    const stop = new AbortController();
    for await (const { event } of scene.events({ topics: ["collisions"], signal: stop.signal })) {
        assert.equal(event, "state");
        stop.abort();
    }
    await assert.rejects(scene.query(allPairs(), { signal: stop.signal }), { name: "AbortError" });
});

test("a client that is closed ends its streams of events: one that waits for a message, one that waits for the daemon, and a new one", async () => {
    const scene = fresh();
    await scene.put({ a: CUBE(0) });
    const passing = await startDaemon(0, []);
    const [here, away] = [daemon.url, passing.url].map((url) => connect(url));
    await away.scene(scene.name).put({ a: CUBE(0) });
    const streams = [here, away].map((one) => one.scene(scene.name).events({ topics: ["collisions"] }));
    for (const stream of streams) assert.equal((await stream.next()).value.event, "state");
    const waiting = streams.map((stream) => stream.next());
    await passing.stop();
    await new Promise((resolve) => setTimeout(resolve, 100)); // until the second stream has noticed it
    const began = performance.now();
    await Promise.all([here.close(), away.close()]);
    const late = new Promise((resolve) => setTimeout(resolve, 3000, "the streams go on").unref());
    const done = { value: undefined, done: true };
    assert.deepEqual(await Promise.race([Promise.all(waiting), late]), [done, done]);
    assert.ok(performance.now() - began < 1000);
    assert.deepEqual(await here.scene(scene.name).events().next(), done);
});

test("a client that is closed ends what it reads of streams and exports, and begins none", async () => {
    const scene = fresh();
    await scene.put(Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`crate-${i}`, CUBE(i)]))); // more lines than sockets hold
    const client = connect(daemon.url);
    const path = `/v1/scenes/${encodeURIComponent(scene.name)}/log?follow=true`;
    const log = (await client.stream(path)).body[Symbol.asyncIterator]();
    const lines = client.scene(scene.name).export().getReader();
    assert.ok((await lines.read()).value.length > 0);
    const drained = async (next) => {
        let parts = 0;
        for (; !(await next()).done; parts++);
        return parts;
    };
    const following = drained(() => log.next()); // it has no end of its own
    const call = client.request("GET", "/v1/scenes");
    await new Promise((resolve) => setTimeout(resolve, 100));
    await client.close();
    const why = { name: "Disconnected", message: "the client was closed" };
    const late = new Promise((resolve) => setTimeout(resolve, 3000, "it goes on").unref());
    await assert.rejects(Promise.race([following, late]), why);
    await assert.rejects(Promise.race([drained(() => lines.read()), late]), why);
    await assert.rejects(client.stream(path), why);
    assert.equal((await call).status, 200); // calls end by themselves
});

// ---- Ways to the daemon ---------------------------------------------------------------------------

test("a unix socket, and the address of OBBD_URL", async () => {
    const overSocket = connect(socket);
    assert.ok(Array.isArray((await overSocket.request("GET", "/v1/scenes")).value.scenes));
    await overSocket.close();
    delete process.env.OBBD_URL;
    assert.equal(connect().scene("x").page, "http://localhost:7480/#x");
    const away = connect("unix:/nowhere").request("GET", "/healthz", undefined, { retries: 0 });
    await assert.rejects(away, { message: "no connection to /nowhere: connect ENOENT /nowhere" });
    process.env.OBBD_URL = "";
    for (const none of [undefined, ""]) assert.equal(connect(none).scene("x").page, "http://localhost:7480/#x");
    process.env.OBBD_URL = daemon.url;
    assert.equal(connect("").scene("x").page, `${daemon.url}/#x`);
    assert.equal((await connect().request("GET", "/healthz")).value.status, "alive");
    delete process.env.OBBD_URL;
});

/** The files of a certificate for this computer, and of its key. */
function certificate() {
    const [cert, key] = ["cert.pem", "key.pem"].map((name) => join(folder, name));
    const made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
    const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    execFileSync("openssl", [...made, ...names, "-keyout", key, "-out", cert], { stdio: "pipe" });
    return [cert, key];
}

test("https, with a certificate that is trusted and with one that is not", async () => {
    const [cert, key] = certificate();
    const secure = await startDaemon(0, ["--tls-cert", cert, "--tls-key", key]);
    const program = join(fileURLToPath(installed), "secure.mjs");
    writeFileSync(
        program,
        `import { allPairs, connect } from "@obbd/client";
        const obbd = connect(process.argv[2], { retries: 0 });
        const scene = obbd.scene("yard");
        const names = Array.from({ length: 100000 }, (_, i) => "car-" + i);
        try {
            const { put } = await scene.put({ names, centers: Float64Array.from({ length: 300000 }, (_, i) => 3 * i), half_extents: [1, 1, 1] });
            const { count } = await scene.query(allPairs({ by: "id", margin: 0.5 }));
            for await (const { event } of scene.events({ topics: ["collisions"] })) {
                console.log(put, count, event);
                break;
            }
        } catch (error) {
            console.log(error.name, error.message);
        }`,
    );
    const says = (url, env) => {
        const { stdout, stderr } = spawnSync("node", [program, url], { encoding: "utf8", env: { ...process.env, ...env } });
        return stdout + stderr;
    };
    for (const url of [secure.url, secure.url.replace("127.0.0.1", "localhost")])
        assert.equal(says(url, { NODE_EXTRA_CA_CERTS: cert }), "100000 0 state\n");
    assert.match(says(secure.url), /^Disconnected no connection to https:.*self-signed/);
    assert.equal(await secure.stop(), 0);
});

test("the same by fetch, as in a browser", async () => {
    const browser = await import(new URL("node_modules/@obbd/client/dist/index.js", installed));
    const scene = browser.connect(`${daemon.url}/`).scene("by fetch");
    await scene.put({ names: ["a", "b"], centers: new Float64Array(6), half_extents: [1, 1, 1] });
    assert.deepEqual((await scene.query(browser.allPairs({ by: "id" }))).pairs, Uint32Array.of(1, 2));
    assert.equal(scene.page, `${daemon.url}/#by%20fetch`);
    for await (const { event, pairs } of scene.events({ topics: ["collisions"] })) {
        assert.deepEqual([event, pairs], ["state", [["a", "b"]]]);
        break;
    }
    await assert.rejects(
        browser.connect("http://127.0.0.1:1").request("GET", "/healthz", undefined, { retries: 0 }),
        browser.Disconnected,
    );
    await assert.rejects(browser.connect("http://127.0.0.1:1").request("DELETE", "/v1/scenes/x"), browser.Unknown);
    await assert.rejects(connect("http://127.0.0.1:1").request("DELETE", "/v1/scenes/x"), obbd.Disconnected, "node tells a refusal");
    const stop = new AbortController();
    const sockets = [];
    const silent = createServer((socket) => stop.abort(new Error("enough"), sockets.push(socket))).listen(0, "127.0.0.1");
    await once(silent, "listening");
    const asked = (how) => browser.connect(`http://127.0.0.1:${silent.address().port}`).request("GET", "/", undefined, how);
    await assert.rejects(asked({ signal: stop.signal }), /^Error: enough$/);
    await assert.rejects(asked({ timeout: 100 }), /no answer within 100 ms/);
    await until("fetch leaves its connection", () => sockets[0].destroyed);
    for (const socket of sockets) socket.destroy(); // fetch may have made one more ahead
    silent.close();
});

test("a token is asked for when there is none, and again when it is refused", async () => {
    const token = "a fresh token";
    const file = join(folder, "tokens.json");
    const sha256 = createHash("sha256").update(token).digest("hex");
    writeFileSync(file, JSON.stringify({ tokens: [{ name: "test", sha256, scopes: ["read", "write"], scenes: ["*"] }] }));
    const guarded = await startDaemon(0, ["--token-file", file]);
    const asked = [];
    const knows = connect(guarded.url, { token: async (refused) => asked.push(refused) && (refused ? token : "an old one") });
    await knows.scene("yard").put({ a: CUBE(0) });
    assert.deepEqual(asked, [false, true]);
    const atOnce = connect(guarded.url, { token: (refused) => (refused ? token : "an old one") });
    assert.equal((await atOnce.request("GET", "/v1/scenes")).status, 200);
    await assert.rejects(connect(guarded.url, { token: "wrong" }).request("GET", "/v1/scenes"), { status: 401 });
    process.env.OBBD_TOKEN = token;
    assert.equal((await connect(guarded.url).request("GET", "/v1/scenes")).status, 200);
    await assert.rejects(connect(guarded.url, { token: "wrong" }).request("GET", "/v1/scenes"), { status: 401 });
    delete process.env.OBBD_TOKEN;
    await guarded.stop();
});

test("a call ends in its time, or by its signal, while a token is awaited", async () => {
    const file = join(folder, "no-tokens.json");
    writeFileSync(file, JSON.stringify({ tokens: [] }));
    const guarded = await startDaemon(0, ["--token-file", file]);
    const never = new Promise(() => {});
    for (const token of [() => never, async (refused) => (refused ? never : "an old one")]) {
        const waits = connect(guarded.url, { token, timeout: 300 });
        const late = { name: "Disconnected", message: "no answer within 300 ms" };
        await assert.rejects(waits.request("GET", "/v1/scenes"), late);
        const stop = new AbortController();
        setTimeout(() => stop.abort(new Error("enough")), 100);
        const stopped = waits.request("GET", "/v1/scenes", undefined, { signal: stop.signal });
        await assert.rejects(stopped, /^Error: enough$/);
        await waits.close();
    }
    await guarded.stop();
});

test("an answer is read though the daemon did not take the whole body", async () => {
    const listen = `unix:${join(folder, "refuses")}`;
    const small = await startDaemon(0, ["--listen", listen, "--body-limit", "64KiB"]);
    const body = new Uint8Array(1 << 24);
    const how = { headers: { "Content-Type": "application/json" } };
    for (const url of [listen, small.url]) {
        const large = connect(url);
        for (let i = 0; i < 30; i++)
            await assert.rejects(large.request("POST", "/v1/scenes/x/commit", body, how), {
                name: "Problem",
                status: 413,
            });
        assert.equal((await large.request("GET", "/healthz")).status, 200);
        await large.close();
    }
    await small.stop();
});

test("requests that are refused together ask for one token, and go on with it", async () => {
    const token = "the good one";
    const file = join(folder, "shared-tokens.json");
    const sha256 = createHash("sha256").update(token).digest("hex");
    writeFileSync(file, JSON.stringify({ tokens: [{ name: "test", sha256, scopes: ["read"], scenes: ["*"] }] }));
    const guarded = await startDaemon(0, ["--token-file", file]);
    const asked = [];
    const knows = connect(guarded.url, {
        token: async (refused) => {
            asked.push(refused);
            if (!refused) return ""; // none yet: requests are sent without
            await new Promise((resolve) => setTimeout(resolve, 200));
            return token;
        },
    });
    const list = () => knows.request("GET", "/v1/scenes");
    await list(); // so that the token is known to be empty, then good
    assert.deepEqual(asked, [false, true]);
    const together = connect(guarded.url, { token: async (refused) => asked.push(refused) && (refused ? token : "old") });
    asked.length = 0;
    const answers = await Promise.all(Array.from({ length: 8 }, () => together.request("GET", "/v1/scenes")));
    assert.deepEqual(answers.map(({ status }) => status), Array(8).fill(200));
    assert.equal(asked.filter((refused) => refused).length, 1);
    assert.equal(knows.curl("GET", "/v1/scenes"), `curl -s -H "Authorization: Bearer $TOKEN" '${guarded.url}/v1/scenes'`);
    await guarded.stop();
});

test("a request as a command says its method only where curl would choose another one", () => {
    const obbd = connect(daemon.url);
    const at = (path) => `'${daemon.url}${path}'`;
    assert.equal(obbd.curl("GET", "/v1/scenes"), `curl -s ${at("/v1/scenes")}`);
    assert.equal(obbd.curl("POST", "/v1/x", { a: "it's" }), `curl -s --json '{"a":"it'\\''s"}' ${at("/v1/x")}`);
    assert.equal(obbd.curl("PATCH", "/v1/x", { a: 1 }), `curl -s -X PATCH --json '{"a":1}' ${at("/v1/x")}`);
    assert.equal(obbd.curl("DELETE", "/v1/x"), `curl -s -X DELETE ${at("/v1/x")}`);
    assert.equal(obbd.curl("POST", "/v1/x", new TextEncoder().encode('{"a":"\u2603"}')), `curl -s --json '{"a":"\u2603"}' ${at("/v1/x")}`);
});

test("the messages of one connection, with the ids by which the next one goes on", async () => {
    const scene = fresh();
    await scene.put({ a: CUBE(0) });
    const path = `/v1/scenes/${encodeURIComponent(scene.name)}/events?topics=collisions,commits`;
    const client = connect(daemon.url);
    const signals = [];
    const taken = async (count, last) => {
        const seen = [];
        const headers = { Accept: "text/event-stream", ...(last && { "Last-Event-ID": last }) };
        const open = (signal) => (signals.push(signal), client.stream(path, { headers, signal }));
        for await (const message of obbd.messages(open)) {
            seen.push(message);
            if (seen.length === 1 && !last) await scene.commit({ put: { b: CUBE(9) } });
            if (seen.length === count) break;
        }
        return seen;
    };
    const [state, commit] = await taken(2);
    assert.deepEqual([state.event, commit.event, JSON.parse(commit.data).revision], ["state", "commit", 2]);
    assert.ok(commit.id);
    await scene.commit({ put: { c: CUBE(18) } });
    const [next] = await taken(1, commit.id);
    assert.deepEqual([next.event, JSON.parse(next.data).revision], ["commit", 3]);
    assert.ok(signals.every((signal) => signal.aborted)); // whoever breaks out leaves the connection
    const broken = async () => {
        for await (const _ of obbd.messages((signal) => client.stream(path, { signal }), { silence: 1 })); // it says state, then nothing
    };
    await assert.rejects(broken(), obbd.Disconnected);
});

test("OBBD_DEBUG=1 prints each request as a curl that works", () => {
    const program = join(fileURLToPath(installed), "debug.mjs");
    writeFileSync(
        program,
        `import { connect, encode, pairs } from "@obbd/client";
        const obbd = connect(process.argv[2]);
        const scene = obbd.scene("it's");
        const joined = (parts) => Uint8Array.from(parts.flatMap((part) => [...part]));
        await scene.put({ a: ${JSON.stringify(CUBE(0))} });
        await scene.query(pairs(Uint32Array.of(1, 1), { by: "id" }));
        const path = "/v1/scenes/it's/query/pairs";
        const query = { pairs: Uint32Array.of(1, 1), by: "id" };
        const text = new TextEncoder().encode('{"pairs":[[1,1]],"by":"id"}');
        await obbd.request("POST", path, text, { headers: { "Content-Type": "application/json" } });
        await obbd.request("POST", path, joined(encode(query)), { headers: { "content-type": "application/cbor" } });
        await obbd.request("POST", path, Uint8Array.of(0xff), { headers: { "Content-Type": "application/cbor" } }).catch(() => {});`,
    );
    const { stderr, status } = spawnSync("node", [program, daemon.url], {
        encoding: "utf8",
        env: { ...process.env, OBBD_DEBUG: "1" },
    });
    assert.equal(status, 0, stderr);
    const commands = stderr.trim().split("\n");
    assert.equal(commands.length, 5);
    for (const command of commands.slice(1, 4)) assert.deepEqual(JSON.parse(execFileSync("sh", ["-c", command])).results, [{ overlap: true }], command);
});

test("spawn finds the daemon by OBBD_BIN, then in its package, then on the PATH", () => {
    const home = mkdtempSync(join(folder, "home-"));
    const own = join(home, "node_modules/@obbd/client");
    cpSync(fileURLToPath(new URL("node_modules/@obbd/client", installed)), own, { recursive: true });
    writeFileSync(
        join(home, "find.mjs"),
        'import { spawn } from "@obbd/client"; await spawn(JSON.parse(process.argv[2])).catch((error) => console.log(error.message));',
    );
    const bins = ["named", "own", "path"].map((word) => {
        const bin = join(home, word);
        mkdirSync(bin);
        writeFileSync(join(bin, "obbd"), `#!/bin/sh\necho ${word} >&2; exit 1\n`, { mode: 0o755 });
        return bin;
    });
    const finds = (variable, options = {}) => {
        const { stdout, stderr } = spawnSync("node", [join(home, "find.mjs"), JSON.stringify(options)], {
            encoding: "utf8",
            env: { ...process.env, PATH: `${bins[2]}:${process.env.PATH}`, OBBD_BIN: variable },
        });
        assert.match(stdout, /the daemon .*obbd did not start/);
        return stderr.trim();
    };
    for (const unset of [undefined, ""]) assert.equal(finds(unset), "path");
    symlinkSync(bins[1], join(own, "bin"));
    for (const unset of [undefined, ""]) assert.equal(finds(unset), "own");
    for (const none of [undefined, ""]) assert.equal(finds(join(bins[0], "obbd"), { binary: none }), "named");
    assert.equal(finds("", { binary: "" }), "own");
    assert.equal(finds(join(bins[0], "obbd"), { binary: join(bins[2], "obbd") }), "path");
});

/** The addresses at which the daemon with this socket listens, as the kernel knows them. */
function listening(socket) {
    const obbd = realpathSync(process.env.OBBD);
    const look = (how, file) => {
        try {
            return how(file, "utf8");
        } catch {
            return ""; // it has ended, or was closed
        }
    };
    const isDaemon = (pid) => look(readlinkSync, `/proc/${pid}/exe`) === obbd && look(readFileSync, `/proc/${pid}/cmdline`).includes(socket);
    const daemons = readdirSync("/proc").filter(isDaemon);
    assert.equal(daemons.length, 1);
    const fds = `/proc/${daemons[0]}/fd`;
    const own = new Set(readdirSync(fds).map((fd) => look(readlinkSync, join(fds, fd))));
    const rows = (table) => readFileSync(`/proc/net/${table}`, "utf8").split("\n").slice(1, -1).map((line) => line.trim().split(/ +/));
    const isOwn = (inode) => own.has(`socket:[${inode}]`);
    const tcp = [...rows("tcp"), ...rows("tcp6")].filter((row) => row[3] === "0A" && isOwn(row[9]));
    const unix = rows("unix").filter((row) => row[3] === "00010000" && isOwn(row[6]));
    return [...tcp.map((row) => row[1]), ...unix.map((row) => row[7])];
}

test("a spawned daemon ends with its program, however that ends", async () => {
    const program = join(fileURLToPath(installed), "ends.mjs");
    writeFileSync(
        program,
        `import { spawn } from "@obbd/client";
        const obbd = await spawn({ args: ["--history", "2000"] });
        const scene = obbd.scene("yard");
        const { history } = await scene.set({});
        console.log(JSON.stringify({ page: scene.page, span: history.span }));
        if (process.argv[2] === "hang") setInterval(() => {}, 1000);
        if (process.argv[2] === "close") await obbd.close();`,
    );
    for (const way of ["close", "leave", "hang"]) {
        const child = spawn("node", [program, way], {
            env: { ...process.env, OBBD_BIN: process.env.OBBD, OBBD_TOKEN: "of another daemon", TMPDIR: folder },
            stdio: ["ignore", "pipe", "inherit"],
        });
        const ended = new Promise((resolve) => child.once("exit", resolve));
        const said = new Promise((resolve) => child.stdout.once("data", resolve));
        const { page, span } = JSON.parse(await Promise.race([said, ended.then((status) => `"it ended with ${status}"`)]));
        assert.equal(span, 2000);
        if (way === "hang") {
            try {
                const [own] = readdirSync(folder).filter((name) => /^obbd-/.test(name));
                const socket = join(folder, own, "socket");
                const both = [page.split("/#")[0], `unix:${socket}`];
                assert.match(both[0], /^http:\/\/127\.0\.0\.1:\d+$/);
                const port = Number(new URL(page).port).toString(16).toUpperCase().padStart(4, "0");
                assert.deepEqual(listening(socket), [`0100007F:${port}`, socket], "127.0.0.1 and the socket, and nowhere else");
                for (const url of both) {
                    const other = connect(url);
                    assert.deepEqual((await listed(other.scenes())).map(({ name }) => name), ["yard"], url);
                    await other.close();
                }
            } finally {
                child.kill("SIGKILL");
            }
        }
        await ended;
        const address = new URL(page).origin;
        await until(`${way}: the daemon is gone`, () =>
            fetch(`${address}/healthz`).then(
                () => false,
                () => true,
            ),
        );
        await until(`${way}: its folder is gone`, () => !readdirSync(folder).some((name) => /^obbd-/.test(name)));
    }
});

test("a spawned daemon may speak https on its port", async () => {
    const [cert, key] = certificate();
    const program = join(fileURLToPath(installed), "spawns_secure.mjs");
    writeFileSync(
        program,
        `import { spawn } from "@obbd/client";
        const obbd = await spawn({ args: ["--tls-cert", process.argv[2], "--tls-key", process.argv[3]] });
        console.log((await obbd.request("GET", "/healthz")).value.status, obbd.scene("yard").page);
        await obbd.close();`,
    );
    const env = { ...process.env, OBBD_BIN: process.env.OBBD };
    const { stdout, stderr } = spawnSync("node", [program, cert, key], { encoding: "utf8", env, timeout: TIMEOUT_MS });
    assert.match(stdout, /^alive https:\/\/127\.0\.0\.1:\d+\/#yard\n$/, stderr);
});

// ---- The package ----------------------------------------------------------------------------------

test("the package has the daemon's version, no dependencies, and no node in what browsers load", () => {
    const own = new URL("node_modules/@obbd/client/", installed);
    const { version, dependencies, engines, devDependencies } = JSON.parse(readFileSync(new URL("package.json", own)));
    assert.equal(engines.node, ">=18");
    assert.match(devDependencies["@types/node"], /^18\./, "the compiler knows nothing of node that node 18 lacks");
    assert.equal(execFileSync(process.env.OBBD, ["--version"], { encoding: "utf8" }).split(" ")[1], version);
    assert.equal(dependencies, undefined);
    for (const program of ["lag/serve.mjs", "shooter/server.mjs", "shooter/player.mjs"]) assert.ok(existsSync(new URL(`examples/${program}`, own)));
    const loaded = new Set();
    const load = (file) => {
        if (loaded.has(file)) return;
        loaded.add(file);
        for (const [, from] of readFileSync(new URL(`dist/${file}`, own), "utf8").matchAll(/(?:from|import) "(.*?)"/g)) {
            assert.match(from, /^\.\//, `${file} imports ${from}`);
            load(from.slice(2));
        }
    };
    load("index.js");
    assert.ok(loaded.size >= 8 && !loaded.has("node_transport.js"), [...loaded].join(" "));
});

const good = await run();
await client.close();
await daemon.stop();
rmSync(folder, { recursive: true });
process.exit(good ? 0 : 1);
