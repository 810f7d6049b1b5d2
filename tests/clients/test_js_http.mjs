#!/usr/bin/env node
// The JavaScript client's HTTP/1.1 under node: answers in whatever pieces they come, and connections that are kept or left.
import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import { createServer } from "node:net";
import { run, test } from "../support/sums.mjs";
import { installed, obbd } from "./js.mjs";

const { AnswerReader, headOf } = await import(new URL("node_modules/@obbd/client/dist/http1.js", installed));

/** What a reader tells of an answer that comes in these pieces. */
function told(pieces, { headOnly = false, closed = false } = {}) {
    const seen = { body: "" };
    const reader = new AnswerReader(
        {
            head: (status, { all }) => Object.assign(seen, { status, headers: Object.fromEntries(new Headers(all)) }),
            part: (part) => (seen.body += Buffer.from(part).toString("latin1")),
            end: (kept) => Object.assign(seen, { kept }),
        },
        headOnly,
    );
    for (const piece of pieces) reader.feed(Buffer.from(piece, "latin1"));
    if (closed) reader.closed();
    return seen;
}

const CHUNKS = "4\r\nobbd\r\nA;why=\"x\"\r\n 0123\r\n456\r\n0\r\nTrailer: 1\r\n\r\n";
const ANSWERS = [
    ["HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b \r\n\r\nhello", { status: 200, body: "hello", kept: true, headers: { "content-length": "5", "x-a": "b" } }],
    [`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`, { status: 200, body: "obbd 0123\r\n456", kept: true }],
    ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 404\r\nContent-Length: 1\r\n\r\n?", { status: 404, body: "?", kept: true, headers: { "content-length": "1" } }],
    ["HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 0\r\nx-a: c\r\n\r\n", { status: 200, body: "", headers: { "content-length": "0", "x-a": "b, c" } }],
    ["HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n", { status: 204, body: "", kept: true }],
    ["HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", { status: 304, body: "", kept: true }],
    ["HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n", { status: 200, body: "", kept: true }, { headOnly: true }],
    ["HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 0\r\n\r\n", { status: 200, body: "", kept: false }],
    ["HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", { status: 200, body: "a", kept: false }],
    ["HTTP/1.1 200 OK\r\n\r\nuntil the end", { status: 200, body: "until the end", kept: false }, { closed: true }],
];

const WRONG = [
    "SSH-2.0-OpenSSH\r\n\r\n",
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 20 OK\r\n\r\n",
    "HTTP/1.1 101 Switching\r\n\r\n",
    "HTTP/1.1 200 OK\r\nno field\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX A: no token\r\n\r\n",
    "HTTP/1.1 200 OK\r\nX-A: a\0b\r\n\r\n",
    `HTTP/1.1 200 OK\r\nX: ${"a".repeat(1 << 17)}\r\nContent-Length: 0\r\n\r\n`,
    "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab",
    `HTTP/1.1 200 OK\r\nX: ${"a".repeat(1 << 17)}`,
    `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${"a".repeat(1 << 17)}`,
];

test("an answer is the same, however it is cut into pieces", () => {
    let cuts = 0;
    for (const [answer, wanted, how] of ANSWERS) {
        const whole = told([answer], how);
        for (const [name, value] of Object.entries(wanted)) assert.deepEqual(whole[name], value, `${name} of ${answer}`);
        assert.deepEqual(told([...answer], how), whole, answer);
        for (let at = 1; at < answer.length; at++, cuts++)
            assert.deepEqual(told([answer.slice(0, at), answer.slice(at)], how), whole, `${answer} cut at ${at}`);
    }
    assert.ok(cuts > 400, `${cuts} cuts`);
});

test("an answer that was cut is no answer, and what is no HTTP/1.1 is refused", () => {
    for (const [answer, , how] of ANSWERS.filter(([, , how]) => !how?.closed))
        for (let at = 0; at < answer.length; at++)
            assert.throws(() => told([answer.slice(0, at)], { ...how, closed: true }), /cut/, `${answer} cut at ${at}`);
    for (const answer of WRONG) {
        assert.throws(() => told([answer]), Error, answer);
        assert.throws(() => told([...answer]), Error, answer);
    }
});

test("a head holds nothing that begins another line", () => {
    const sent = { method: "POST", path: "/v1/scenes/a%20b", headers: { "X-A": "b\u00e9" }, body: [new Uint8Array(3)] };
    assert.equal(headOf(sent, "h:1"), "POST /v1/scenes/a%20b HTTP/1.1\r\nHost: h:1\r\nX-A: b\u00e9\r\nContent-Length: 3\r\n\r\n");
    assert.match(headOf({ ...sent, body: null }, "h"), /Content-Length: 0/);
    const wrong = [{ path: "/a b" }, { path: "/a\r\nX: y" }, { path: "" }, { path: "/\u00e9" }, { method: "GET /" }, { method: "" }];
    for (const fields of [...wrong, { headers: { "X-A": "a\r\nX-B: c" } }, { headers: { "X-A": "\u2603" } }, { headers: { "X A": "b" } }])
        assert.throws(() => headOf({ ...sent, ...fields }, "h"), TypeError, JSON.stringify(fields));
});

/** A server that says this to each request, and what it saw. */
async function serving(answer, work) {
    const seen = { connections: 0, requests: 0, ended: 0 };
    const server = createServer((socket) => {
        seen.connections++;
        socket.on("data", () => seen.requests++ >= 0 && answer(socket));
        socket.on("close", () => seen.ended++);
        socket.on("error", () => {});
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = obbd.connect(`http://127.0.0.1:${server.address().port}`, { retries: 0 });
    try {
        await work(client, seen);
    } finally {
        await client.close();
        server.close();
    }
}

async function until(holds) {
    while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("a connection is used again, but not if it was said to close, or if more came than was asked for", async () => {
    const says = (text) => (socket) => socket.write(text);
    const thrice = async (client) => {
        for (let i = 0; i < 3; i++) {
            assert.equal((await client.request("GET", "/")).value, "ok");
            await new Promise((resolve) => setTimeout(resolve, 20)); // more may come behind the answer
        }
    };
    for (const [answer, connections] of [
        ["HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok", 1],
        ["HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", 3],
        ["HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n", 3],
    ])
        await serving(says(answer), async (client, seen) => {
            await thrice(client);
            assert.deepEqual([seen.requests, seen.connections], [3, connections]);
        });
});

test("a time without end, or one that is longer than a timer can take, is waited for", async () => {
    const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok";
    const busy = "HTTP/1.1 503 Busy\r\nRetry-After: 3000000\r\nContent-Length: 0\r\n\r\n";
    for (const ms of [Infinity, 2 ** 31, 1e300]) {
        await serving(
            (socket) => setTimeout(() => socket.write(answer), 100),
            async (client) => {
                assert.equal((await client.request("GET", "/", undefined, { timeout: ms })).value, "ok");
                const open = (signal) => client.stream("/", { signal });
                for await (const _ of obbd.messages(open, { silence: ms }));
            },
        );
        if (ms < 3e9) continue;
        await serving(
            (socket) => socket.write(busy),
            async (client, seen) => {
                const stop = AbortSignal.timeout(300);
                await assert.rejects(client.request("GET", "/", undefined, { timeout: ms, retries: 3, signal: stop }), { name: "TimeoutError" });
                assert.equal(seen.requests, 1, "a wait of 35 days");
            },
        );
    }
});

test("the path of the address stands before each path", async () => {
    const paths = [];
    const server = createServer((socket) => {
        socket.on("data", (bytes) => {
            paths.push(bytes.toString("latin1").split(" ", 2)[1]);
            socket.write("HTTP/1.1 204 No Content\r\n\r\n");
        });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const url = `http://127.0.0.1:${server.address().port}`;
    for (const path of ["", "/", "/obbd", "/a/obbd%201/"]) {
        const client = obbd.connect(url + path);
        await client.request("GET", "/v1/scenes?limit=1");
        assert.equal(client.curl("GET", "/v1/x"), `curl -s '${url}${path.replace(/\/$/, "")}/v1/x'`);
        await client.close();
    }
    assert.deepEqual(paths, ["", "", "/obbd", "/a/obbd%201"].map((prefix) => `${prefix}/v1/scenes?limit=1`));
    server.close();
});

test("requests of all sizes leave whole on one connection, and their answers tell their headers", async () => {
    const sizes = [3, 70_000, 20_000, 40_000, 0, 65_000];
    const echoing = (socket) => {
        let heard = Buffer.alloc(0);
        socket.removeAllListeners("data").on("data", (bytes) => {
            heard = Buffer.concat([heard, bytes]);
            const end = heard.indexOf("\r\n\r\n") + 4;
            const [, length] = /Content-Length: (\d+)/.exec(heard.toString("latin1", 0, end));
            if (heard.length < end + Number(length)) return;
            const head = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Two: a\r\nx-two: b\r\nContent-Length: ${length}\r\n\r\n`;
            socket.write(Buffer.concat([Buffer.from(head), heard.subarray(end)]));
            heard = Buffer.alloc(0);
        });
    };
    let connections = 0;
    const server = createServer((socket) => echoing(socket, connections++));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = obbd.connect(`http://127.0.0.1:${server.address().port}`, { retries: 0 });
    for (const [i, size] of sizes.entries()) {
        const body = "abcdefg"[i].repeat(size);
        const { value, headers } = await client.request("POST", "/", body);
        assert.equal(value ?? "", body);
        assert.equal(headers.get("X-TWO"), "a, b");
        assert.ok(headers instanceof Headers);
    }
    assert.equal(connections, 1);
    await client.close();
    server.close();
});

test("a signal ends a call at once: before its answer, in the midst of it, and in a wait before another attempt", async () => {
    const busy = "HTTP/1.1 503 Busy\r\nRetry-After: 8\r\nContent-Length: 0\r\n\r\n";
    for (const said of ["", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", busy]) {
        const stop = new AbortController();
        const heard = (socket) => {
            socket.write(said);
            setTimeout(() => stop.abort(new Error("enough")), 50);
        };
        await serving(heard, async (client, seen) => {
            await assert.rejects(client.request("GET", "/", undefined, { signal: stop.signal, retries: 1 }), /^Error: enough$/);
            assert.equal(getEventListeners(stop.signal, "abort").length, 0);
            await assert.rejects(client.request("GET", "/", undefined, { signal: stop.signal }), /^Error: enough$/);
            assert.equal(seen.requests, 1); // none with a signal that had ended
        });
    }
});

test("a signal that ends a call in a wait leaves alone the call that has its connection meanwhile", async () => {
    const stop = new AbortController();
    let requests = 0;
    const answer = (socket) => {
        if (requests++ === 0) return socket.write("HTTP/1.1 503 Busy\r\nRetry-After: 8\r\nContent-Length: 0\r\n\r\n");
        stop.abort(new Error("enough"));
        setImmediate(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"));
    };
    await serving(answer, async (client, seen) => {
        const waits = assert.rejects(client.request("GET", "/", undefined, { signal: stop.signal, retries: 1 }), /^Error: enough$/);
        await until(() => requests === 1);
        await new Promise((resolve) => setTimeout(resolve, 200)); // the 503 arrives
        assert.equal((await client.request("GET", "/")).status, 200);
        await waits;
        assert.deepEqual([seen.requests, seen.connections], [2, 1]);
    });
});

test("nothing listens to the signal of a call that is over", async () => {
    const { signal } = new AbortController();
    for (const status of ["200 OK", "404 Not Found"])
        await serving(
            (socket) => {
                assert.equal(getEventListeners(signal, "abort").length, 1);
                socket.write(`HTTP/1.1 ${status}\r\nContent-Length: 0\r\n\r\n`);
            },
            async (client) => {
                const { code } = await client.request("GET", "/", undefined, { signal }).then(() => ({ code: 200 }), ({ status }) => ({ code: status }));
                assert.equal(code, Number.parseInt(status, 10));
                assert.equal(getEventListeners(signal, "abort").length, 0);
            },
        );
});

test("a body of megabytes that nobody reads waits on its connection, and comes whole", async () => {
    const body = Buffer.alloc(1 << 24, "0123456789abcdef");
    await serving(
        (socket) => socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n`), body])),
        async (client) => {
            const received = await client.stream("/");
            await new Promise((resolve) => setTimeout(resolve, 50));
            const parts = [];
            for await (const part of received.body) parts.push(part);
            assert.ok(Buffer.concat(parts).equals(body));
        },
    );
});

test("whoever leaves a body leaves its connection, and nothing listens to his signal any more", async () => {
    const { signal } = new AbortController();
    await serving(
        (socket) => socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"),
        async (client, seen) => {
            for await (const part of (await client.stream("/", { signal })).body) {
                assert.equal(Buffer.from(part).toString(), "ok");
                assert.equal(getEventListeners(signal, "abort").length, 1);
                break;
            }
            assert.equal(getEventListeners(signal, "abort").length, 0);
            await until(() => seen.ended === 1);
        },
    );
});

test("a signal ends a body that nothing comes of", async () => {
    const stop = new AbortController();
    await serving(
        (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"),
        async (client, seen) => {
            const { body } = await client.stream("/", { signal: stop.signal });
            const read = (async () => {
                for await (const part of body) stop.abort(new Error(`enough of ${Buffer.from(part)}`));
            })();
            await assert.rejects(read, /enough of ok/);
            await until(() => seen.ended === 1);
        },
    );
});

process.exit((await run()) ? 0 : 1);
