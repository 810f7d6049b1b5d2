#!/usr/bin/env node
// The rows of proto/clients/behaviour.json, played by the JavaScript client against the server that misbehaves.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { run, test } from "../support/sums.mjs";
import { obbd, plain } from "./js.mjs";

const BEHAVIOUR = fileURLToPath(new URL("../../proto/clients/behaviour.json", import.meta.url));
const SERVER = fileURLToPath(new URL("bad_server.py", import.meta.url));
const { rows } = JSON.parse(readFileSync(BEHAVIOUR, "utf8"));

const KINDS = {
    pairs: obbd.pairs,
    "all-pairs": obbd.allPairs,
    overlap: obbd.overlap,
    point: obbd.point,
    ray: obbd.ray,
    sweep: obbd.sweep,
};
const ITEMS = { pairs: "pairs", overlap: "shapes", point: "points", ray: "rays", sweep: "sweeps" };

/** A query of the file, made by the function of its kind. */
function query({ kind, ...fields }) {
    const items = ITEMS[kind];
    if (!items) return KINDS[kind](fields);
    const { [items]: list, ...options } = fields;
    return KINDS[kind](list, options);
}

/** {"u32": [..]} and {"f32": [..]} stand for typed arrays, "kept" for the ids that a step kept. */
function typed(value, kept) {
    if (value === "kept") return kept;
    if (Array.isArray(value) || typeof value !== "object" || value === null) return value;
    if (value.u32) return Uint32Array.from(value.u32);
    if (value.f32) return Float32Array.from(value.f32);
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, typed(member, kept)]));
}

/** Is everything that is wanted there? Arrays must be equal in length. */
function holds(found, wanted, where) {
    if (typeof wanted !== "object" || wanted === null) {
        assert.deepEqual(found ?? null, wanted, where);
    } else if (Array.isArray(wanted)) {
        assert.equal(found?.length, wanted.length, `${where}: ${JSON.stringify(found)}`);
        wanted.forEach((one, i) => holds(found[i], one, `${where}/${i}`));
    } else {
        assert.ok(typeof found === "object" && found !== null, `${where}: ${JSON.stringify(found)}`);
        for (const [key, one] of Object.entries(wanted)) holds(found[key], one, `${where}/${key}`);
    }
}

async function taken(scene, { events: count, topics, silence }) {
    const seen = [];
    const stop = new AbortController();
    for await (const event of scene.events({ topics, silence, signal: stop.signal })) {
        seen.push(event);
        if (seen.length === count) break;
    }
    return seen;
}

async function act(client, scene, step) {
    const call = step.retries === undefined ? {} : { retries: step.retries };
    if (step.commit) {
        const { queries, ...changes } = step.commit;
        return scene.commit({ ...typed(changes, step.kept), ...(queries && { queries: queries.map(query) }) }, call);
    }
    if (step.query) return scene.query(query(step.query), call);
    if (step.read) return scene.info(step.read);
    if (step.ids) return scene.ids(step.ids);
    if (step.delete) return scene.delete();
    if (step.request) return (await client.request(...step.request)).value;
    if (step.events) return taken(scene, step);
    return new Promise((resolve) => setTimeout(resolve, step.wait));
}

async function sees(wanted, doing, where) {
    let error;
    let value;
    try {
        value = await doing;
    } catch (thrown) {
        error = thrown;
    }
    if (wanted?.error === undefined) {
        if (error) throw error;
        if (wanted?.value) holds(plain(value), wanted.value, where);
        if (wanted?.events) holds(value, wanted.events, where);
        return;
    }
    assert.ok(error, `${where}: no error but ${JSON.stringify(value)}`);
    if (wanted.error !== "any") assert.equal(error.name, wanted.error, `${where}: ${error.stack}`);
    if (wanted.text) assert.equal(error.message, wanted.text);
    for (const field of ["type", "status", "pointer", "committed"]) if (wanted[field]) holds(error[field], wanted[field], where);
}

function judge(row, requests, connections) {
    const heads = requests.map(({ method, path, headers }) => `${method} ${path} ${headers["content-type"] ?? ""}`).join("\n");
    assert.equal(requests.length, row.requests.length, `requests that arrived:\n${heads}`);
    const id = (i) => requests[i].body.id;
    row.requests.forEach(({ gap_ms = 0, without = [], same_id_as, other_id_than, ...wanted }, i) => {
        const request = requests[i];
        holds(request, wanted, `request ${i}`);
        assert.ok(request.whole, `request ${i} came in pieces: head and body leave in one write`);
        for (const field of without) assert.ok(!(field in request.body), `request ${i} has ${field}`);
        if (same_id_as !== undefined) assert.ok(id(i) && id(i) === id(same_id_as), `request ${i} has the id ${id(i)}`);
        if (other_id_than !== undefined) assert.ok(id(i) && id(i) !== id(other_id_than), `request ${i} has the id ${id(i)}`);
        if (gap_ms > 0)
            assert.ok(request.at - requests[i - 1].at >= gap_ms, `request ${i} came after ${request.at - requests[i - 1].at} ms`);
    });
    if (row.waits_ms) {
        const waits = requests.flatMap(({ at }, i) => (i % 2 === 1 ? [at - requests[i - 1].at] : []));
        const [least, most] = [Math.min(...waits), Math.max(...waits)];
        assert.ok(least >= row.waits_ms.from - 1, waits.join()); // a millisecond: both times are rounded
        assert.ok(least < row.waits_ms.below && most > least + 3, waits.join());
    }
    if (row.left_within_ms) {
        const { closed } = connections[0];
        const left = closed - requests.findLast(({ connection }) => connection === 0).at;
        assert.ok(closed !== null && left < row.left_within_ms, `the client left after ${left} ms`);
    }
}

const server = spawn("python3", [SERVER, BEHAVIOUR], { stdio: ["pipe", "pipe", "inherit"] });
const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
const next = async () => JSON.parse((await lines.next()).value);
const addresses = await next();

async function play(row) {
    const client = obbd.connect(addresses[row.name], row.options);
    const scene = client.scene("yard");
    if (row.on_lost) {
        scene.onLost = async () => {
            for (let i = 0; i < (row.on_lost.times ?? 1); i++) await scene.put(row.on_lost.put);
        };
    }
    let kept;
    try {
        for (const [i, step] of row.do.entries()) {
            if (step.keep) kept = scene.ids(step.ids);
            await sees(step.sees, act(client, scene, { ...step, kept }), `step ${i}`);
        }
    } finally {
        await client.close();
    }
}

// All rows at once: some of them wait.
for (const row of rows) {
    const playing = play(row);
    playing.catch(() => {});
    test(row.name, async () => {
        await playing;
        server.stdin.write(`${row.name}\n`);
        const { requests, connections } = await next();
        judge(row, requests, connections);
    });
}

const good = await run();
server.stdin.end();
process.exit(good ? 0 : 1);
