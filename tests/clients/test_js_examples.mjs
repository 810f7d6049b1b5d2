#!/usr/bin/env node
// The exchanges of the contract, through request() of the JavaScript client: in JSON and in CBOR, each file against a fresh daemon.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { startDaemon } from "../support/daemon.mjs";
import { run, test } from "../support/sums.mjs";
import { obbd, plain } from "./js.mjs";

const exchanges = readFileSync(new URL("../../build/tools/exchanges.ndjson", import.meta.url), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
const files = new Set(exchanges.map(({ file }) => file));
const JSON_TYPES = ["application/json", "application/problem+json"];

function parsed(text) {
    try {
        return { value: JSON.parse(text) };
    } catch {
        return {}; // the malformed one is sent as it stands
    }
}

async function ask(client, exchange, media, fill) {
    const { method, target, request_type, headers: sent } = exchange;
    const text = exchange.request === null ? undefined : fill(exchange.request);
    const { value } = text !== undefined && JSON_TYPES.includes(request_type) ? parsed(text) : {};
    const headers = Object.fromEntries(Object.entries(sent).map(([name, field]) => [name, fill(field)]));
    if (text !== undefined && value === undefined) headers["Content-Type"] = request_type;
    const chosen = target.startsWith("/v1/") && !sent.Accept && exchange.answer_type === "application/json" ? media : "json";
    if (media === "cbor" && chosen === "json" && value !== undefined) headers.Accept ??= "*/*"; // the body alone is CBOR
    const options = { headers, media: value === undefined ? chosen : media };
    try {
        return await client.request(method, target, value ?? text, options);
    } catch (error) {
        assert.ok(error instanceof obbd.Problem, String(error.stack));
        return { status: error.status, headers: error.headers, value: error.body };
    }
}

/** Is the answer one that goes on until its scene is deleted, by the last exchange of the file? */
function isStream({ status, target, answer_type }) {
    return status === 200 && (answer_type === "text/event-stream" || target.includes("follow=true"));
}

async function textOf(received) {
    const parts = [];
    for await (const part of received.body) parts.push(part);
    return Buffer.concat(parts).toString();
}

async function replay(media) {
    const counts = { exchanges: 0, cbor: 0, streams: 0 };
    for (const file of files) {
        const daemon = await startDaemon(0, []);
        const client = obbd.connect(daemon.url, { retries: 0 });
        let epoch = "";
        const fill = (text) => text.replaceAll("{epoch}", epoch);
        const streams = [];
        try {
            for (const exchange of exchanges.filter((one) => one.file === file)) {
                const where = `${exchange.file}:${exchange.line}: ${exchange.title}`;
                if (isStream(exchange)) {
                    const headers = Object.fromEntries(
                        Object.entries(exchange.headers).map(([name, field]) => [name, fill(field)]),
                    );
                    const received = await client.stream(exchange.target, { headers });
                    assert.equal(received.headers.get("Content-Type"), exchange.answer_type);
                    streams.push({ where, answer: exchange.answer, told: textOf(received) });
                    counts.exchanges++;
                    continue;
                }
                const { status, headers, value } = await ask(client, exchange, media, fill);
                epoch = headers.get("Obbd-Epoch") ?? epoch;
                assert.equal(status, exchange.status, `${where}: ${JSON.stringify(value)}`);
                for (const [name, wanted] of Object.entries(exchange.expected))
                    assert.equal(headers.get(name), fill(wanted), where);
                const wanted = exchange.answer === null ? undefined : fill(exchange.answer);
                const isJson = JSON_TYPES.includes(exchange.answer_type);
                if (wanted === undefined || !isJson) assert.equal(value?.trimEnd(), wanted, where);
                else assert.deepEqual(plain(value), JSON.parse(wanted), where);
                counts.exchanges++;
                counts.cbor += headers.get("Content-Type") === "application/cbor" ? 1 : 0;
            }
            for (const { where, answer, told } of streams) assert.equal((await told).trimEnd(), fill(answer), where);
            counts.streams += streams.length;
        } finally {
            await client.close();
            assert.equal(await daemon.stop(), 0);
        }
    }
    console.log(
        `${counts.exchanges} exchanges in ${files.size} files, ${counts.streams} of them streams, ${counts.cbor} answers in CBOR`,
    );
    assert.ok(counts.streams >= 5);
    assert.equal(counts.exchanges, exchanges.length);
    return counts;
}

test("every exchange in JSON", async () => {
    assert.equal((await replay("json")).cbor, 0);
});

test("every exchange in CBOR", async () => {
    assert.ok((await replay("cbor")).cbor > exchanges.length / 3);
});

process.exit((await run()) ? 0 : 1);
