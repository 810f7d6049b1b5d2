#!/usr/bin/env node
// The JavaScript client in a page, as it was packed and installed: what its other tests do under node, a browser does over fetch.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { launch, openPage, run, startDaemon, test } from "./harness.mjs";

const DIST = new URL("../../build/clients/test/node_modules/@obbd/client/dist/", import.meta.url);
const daemon = await startDaemon(0, []);
const browser = await launch();

/** Runs the work in a page of this origin, the daemon's by default, which finds the client under /client/. */
async function inPage(work, argument, origin = daemon.url) {
    const { page, close } = await openPage(browser, origin, { expected: [/status of 400/] });
    await page.route("**/client/*", (route) => {
        const name = new URL(route.request().url()).pathname.split("/").pop();
        void route.fulfill({ contentType: "text/javascript", body: readFileSync(new URL(name, DIST)) });
    });
    await page.goto(`${origin}/healthz`);
    const seen = await page.evaluate(work, argument);
    await close();
    return seen;
}

test("commits, queries in columns, ids and a stream of events", async () => {
    const seen = await inPage(async () => {
        const { allPairs, connect, ray } = await import("/client/index.js");
        const scene = connect(location.origin).scene("of a page");
        await scene.put({ names: ["a", "b"], centers: new Float32Array([0, 0, 0, 5, 0, 0]), half_extents: [1, 1, 1] });
        const ids = scene.ids(["a", "b"]);
        const { columns } = await scene.query(ray({ origins: [0, 0, -5], directions: [0, 0, 1] }, { columns: true }));
        const events = [];
        for await (const event of scene.events({ topics: ["collisions"] })) {
            events.push(`${event.event} ${event.pairs}`);
            if (event.event === "begin") break;
            await scene.commit({ pose: { ids, centers: new Float32Array([0, 0, 0, 1.5, 0, 0]) } });
        }
        const { pairs } = await scene.query(allPairs({ by: "id" }));
        return { kind: pairs.constructor.name, pairs: [...pairs], boxes: [...columns.boxes], distance: columns.distances[0], events };
    });
    assert.deepEqual(seen, { kind: "Uint32Array", pairs: [1, 2], boxes: [1], distance: 4, events: ["state ", "begin a,b"] });
});

test("a scene as a stream, and a problem as an exception", async () => {
    const seen = await inPage(async () => {
        const { connect, Problem } = await import("/client/index.js");
        const obbd = connect(location.origin);
        await obbd.scene("one").put({ crate: { center: [0, 0, 0], half_extents: [1, 2, 3] } });
        const { boxes } = await obbd.scene("two").import(obbd.scene("one").export());
        const fault = await obbd.request("GET", "/v1/scenes?limt=1", undefined, { retries: 0 }).catch((error) => error);
        return { boxes, isProblem: fault instanceof Problem, says: fault.message };
    });
    assert.deepEqual(seen, { boxes: 1, isProblem: true, says: 'found the parameter "limt"; the nearest known one is "limit"' });
});

test("a redirect is a refusal, and nobody follows it; so is a page to log in", async () => {
    const asked = [];
    const server = createServer(({ url }, response) => {
        if (url.startsWith("/v1/")) asked.push(url);
        if (url === "/v1/scenes") response.writeHead(302, { Location: "/v1/login" }).end();
        else response.writeHead(200, { "Content-Type": "text/html" }).end("<!doctype html><title>log in</title>");
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const seen = await inPage(
        async () => {
            const { connect, Problem } = await import("/client/index.js");
            const obbd = connect(location.origin);
            const faults = ["/v1/scenes", "/v1/login"].map((path) => obbd.request("GET", path).catch((error) => error));
            return (await Promise.all(faults)).map((fault) => [fault instanceof Problem, fault.status, fault.message]);
        },
        undefined,
        `http://127.0.0.1:${server.address().port}`,
    );
    server.close();
    const types = "application/json or application/cbor or application/x-ndjson or text/event-stream";
    assert.deepEqual(seen, [
        [true, 0, "found a redirect without a problem, as another server or a proxy would send it"],
        [true, 200, `found text/html, as another server or a proxy would send it; an answer is ${types}`],
    ]);
    assert.deepEqual(asked.sort(), ["/v1/login", "/v1/scenes"]);
});

const good = await run();
await browser.close();
await daemon.stop();
process.exit(good ? 0 : 1);
