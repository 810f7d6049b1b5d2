// node_tick.mjs SOCKET - what a tick of 1,000 poses and 64 rays takes with the JavaScript client, in CBOR and in JSON, in turns with the
// same bytes over a bare socket; and a first load of boxes as objects. Prints rows of CSV as clients.sh names them. Every answer is
// checked.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import * as net from "node:net";
import { pathToFileURL } from "node:url";

const installed = new URL("../../../build/clients/test/program.js", import.meta.url);
const { connect, ray } = await import(pathToFileURL(createRequire(installed).resolve("@obbd/client")));
const [POSES, RAYS, SIDE, TICKS] = [1000, 64, 10, 50];
const path = process.argv[2];
const obbd = connect(`unix:${path}`);

/** Does the bytes of an HTTP message hold its whole body? */
function isWhole(bytes) {
    const end = bytes.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const [, length] = /\r\nContent-Length: (\d+)/i.exec(bytes.toString("latin1", 0, end));
    return bytes.length === end + 4 + Number(length);
}

/** Writes bytes, if there are any, and resolves with the message that comes. */
function message(socket, bytes) {
    return new Promise((resolve, reject) => {
        const parts = [];
        const hear = (part) => {
            parts.push(part);
            const whole = parts.length === 1 ? part : Buffer.concat(parts);
            if (!isWhole(whole)) return;
            socket.off("data", hear).off("error", reject);
            resolve(whole);
        };
        socket.on("data", hear);
        socket.once("error", reject);
        if (bytes) socket.write(bytes);
    });
}

/** The bytes of the request that the work sends with a client. */
async function kept(work) {
    const place = `${path}.kept`;
    const server = net.createServer();
    await new Promise((resolve) => server.listen(place, resolve));
    const heard = new Promise((resolve) => server.once("connection", resolve));
    const client = connect(`unix:${place}`, { retries: 0 });
    const sent = work(client).catch(() => {});
    const socket = await heard;
    const request = await message(socket);
    socket.destroy();
    server.close();
    await sent;
    await client.close();
    return request;
}

const micros = (figures) => figures.sort((a, b) => a - b);
function row(job, must, client, bare) {
    const [mine, other] = [micros(client), micros(bare)];
    const figures = [mine[0], mine[mine.length >> 1], ...(other.length ? [other[0], mine[0] - other[0]] : [])];
    console.log([job, must, ...figures.map((figure) => figure.toFixed(0)), ...(other.length ? [] : ["", ""])].join());
}

/** Runs rounds of the works in turns, so that both meet the same machine. A work has `act`, which counts, and may have what does not:
 * `before` it, and a `check` of what it gave. */
async function measure(job, must, rounds, ticks, works) {
    const [us, cpu] = [works.map(() => []), works.map(() => [])];
    for (let turn = -2 * works.length; turn < rounds * works.length; turn++) {
        const which = (turn + 2 * works.length) % works.length;
        const { before, act, check } = works[which];
        for (let i = 0; i < ticks; i++) {
            before?.(i);
            const used = process.cpuUsage();
            const begun = performance.now();
            const given = await act(i);
            const took = performance.now() - begun;
            const { user, system } = process.cpuUsage(used);
            check?.(given, i);
            if (turn < 0) continue; // these warm
            us[which].push(1000 * took);
            cpu[which].push(user + system);
        }
    }
    row(job, must, us[0], us[1] ?? []);
    row(`${job}: CPU`, "", cpu[0], cpu[1] ?? []);
}

const cells = Array.from({ length: POSES }, (_, i) => [i % SIDE, Math.floor(i / SIDE) % SIDE, Math.floor(i / SIDE / SIDE)]);
const names = cells.map((_, i) => `box ${i}`);
const rays = Array.from({ length: RAYS }, (_, i) => ({ origin: [-10, 4 * (i % SIDE), 4 * Math.floor(i / SIDE)], direction: [1, 0, 0] }));
const scene = obbd.scene("node");
await scene.put(Object.fromEntries(cells.map((cell, i) => [names[i], { center: cell.map((c) => 4 * c), half_extents: [1, 1, 1] }])));
const ids = scene.ids(names);
const centers = new Float32Array(cells.flatMap((cell) => cell.map((c) => 4 * c)));
const rotations = new Float32Array(cells.flatMap(() => [0, 0, 0, 1]));
const shift = (i) => cells.forEach(([x], k) => (centers[3 * k] = 4 * x + (i % 2 === 0 ? 0.5 : 0)));

/** Boxes go to and fro, so that each tick changes all of them; each ray hits the box that it is aimed at. */
function check({ posed, results: [found] }, i) {
    assert.equal(posed, POSES);
    found.results.forEach(({ hits: [{ box, distance }] }, k) => {
        assert.equal(box, ids[k * SIDE]);
        assert.equal(distance, i % 2 === 0 ? 9.5 : 9);
    });
}

const inCbor = (client) => client.scene("node").commit({ pose: { ids, centers, rotations }, queries: [ray(rays, { by: "id" })] });
const inJson = async (client) => {
    const pose = { ids: Array.from(ids), centers: Array.from(centers), rotations: Array.from(rotations) };
    const body = { pose, queries: [{ kind: "ray", rays, by: "id" }] };
    return (await client.request("POST", "/v1/scenes/node/commit", body, { media: "json" })).value;
};
for (const [how, must, rounds, commit] of [
    ["CBOR", 500, 20, inCbor],
    ["JSON", 2000, 8, inJson],
]) {
    const socket = net.connect(path);
    const requests = [];
    for (const i of [0, 1]) {
        shift(i);
        requests.push(await kept(commit));
    }
    await measure(`Node: tick of 1000 poses and 64 rays in ${how}`, must, rounds, TICKS, [
        { before: shift, act: () => commit(obbd), check },
        {
            act: (i) => message(socket, requests[i % 2]),
            check: (answer) => assert.equal(answer.toString("latin1", 0, 12), "HTTP/1.1 200"),
        },
    ]);
    socket.destroy();
}
let loads = 0;
const load = async () => {
    const boxes = {};
    for (let k = 0; k < 100_000; k++) {
        const center = [3 * (k % 47), 5 * (Math.floor(k / 47) % 47), 5 * Math.floor(k / 2209)];
        boxes[`car-${k}`] = { center, half_extents: [1, 1, 1] };
    }
    const big = obbd.scene(`load ${loads++}`);
    assert.equal((await big.commit({ put: boxes })).put, 100_000);
    await big.delete();
};
await measure("Node: first load of 100000 boxes as objects in JSON", "", 3, 1, [{ act: load }]);
await obbd.close();
