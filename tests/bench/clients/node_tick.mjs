// node_tick.mjs SOCKET - what a tick of 1,000 poses and 64 rays takes with the JavaScript client, in CBOR and in JSON, and a first load
// of boxes as objects. Prints rows of CSV: the job, the least and the median time, and the CPU of this program, in microseconds.
// Every answer is checked.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = new URL("../../../build/clients/test/program.js", import.meta.url);
const { connect, ray } = await import(pathToFileURL(createRequire(installed).resolve("@obbd/client")));
const [POSES, RAYS, SIDE] = [1000, 64, 10];
const obbd = connect(`unix:${process.argv[2]}`);

async function measure(job, rounds, work) {
    const took = [];
    for (let i = 0; i < rounds / 10; i++) await work(i); // warm
    const before = process.cpuUsage();
    for (let i = 0; i < rounds; i++) {
        const begun = performance.now();
        await work(i);
        took.push(1000 * (performance.now() - begun));
    }
    const { user, system } = process.cpuUsage(before);
    took.sort((a, b) => a - b);
    console.log(`${job},${took[0].toFixed(0)},${took[took.length >> 1].toFixed(0)},${((user + system) / rounds).toFixed(0)}`);
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

await measure("Node: tick of 1000 poses and 64 rays in CBOR", 1000, async (i) => {
    shift(i);
    check(await scene.commit({ pose: { ids, centers, rotations }, queries: [ray(rays, { by: "id" })] }), i);
});
await measure("Node: the same in JSON", 300, async (i) => {
    shift(i);
    const pose = { ids: Array.from(ids), centers: Array.from(centers), rotations: Array.from(rotations) };
    const body = { pose, queries: [{ kind: "ray", rays, by: "id" }] };
    check((await obbd.request("POST", "/v1/scenes/node/commit", body, { media: "json" })).value, i);
});
await measure("Node: first load of 100000 boxes as objects in JSON", 3, async (i) => {
    const boxes = {};
    for (let k = 0; k < 100_000; k++) boxes[`car-${k}`] = { center: [3 * (k % 47), 5 * (Math.floor(k / 47) % 47), 5 * Math.floor(k / 2209)], half_extents: [1, 1, 1] };
    const big = obbd.scene(`load ${i}`);
    assert.equal((await big.commit({ put: boxes })).put, 100_000);
    await big.delete();
});
await obbd.close();
