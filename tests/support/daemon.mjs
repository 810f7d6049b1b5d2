// The daemon as a child process, for tests that run under node.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";

const FACTOR = Number(process.env.TIMEOUT_FACTOR ?? 1);
export const TIMEOUT_MS = 15_000 * FACTOR;

/** A daemon on loopback; it ends with stop(), or with the tests. */
export async function startDaemon(port = 0, options = ["--demo=still"]) {
    const program = process.env.OBBD;
    assert.ok(program, "OBBD must name the daemon to test");
    const child = spawn(program, [...options, "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    child.stderr.on("data", (bytes) => (said += bytes));
    const end = new Promise((resolve) => child.once("exit", (status, signal) => resolve(status ?? signal)));
    const url = await new Promise((resolve, reject) => {
        child.once("error", reject);
        child.stdout.on("data", (bytes) => {
            const [, found] = /listening on (https?:\S+)/.exec(bytes) ?? [];
            if (found) resolve(found);
        });
        void end.then((status) => reject(new Error(`the daemon ended with ${status}: ${said}`)));
    });
    const call = async (method, path, body) => {
        const response = await fetch(`${url}${path}`, {
            method,
            headers: body === undefined ? {} : { "Content-Type": "application/json" },
            body: body === undefined ? undefined : JSON.stringify(body),
        });
        const text = await response.text();
        return { status: response.status, headers: response.headers, body: text === "" ? null : JSON.parse(text) };
    };
    return {
        url,
        port: Number(new URL(url).port),
        call,
        async box(scene, name) {
            const { status, body } = await call("GET", `/v1/scenes/${scene}/boxes/${encodeURIComponent(name)}`);
            return status === 200 ? body : null;
        },
        async commit(scene, changes) {
            const { status, body } = await call("POST", `/v1/scenes/${scene}/commit`, changes);
            assert.equal(status, 200, JSON.stringify(body));
            return body;
        },
        async stop() {
            child.kill("SIGTERM");
            return end;
        },
    };
}

/** Waits until what `look` gives is true, or says what it gave last. */
export async function until(what, look) {
    const end = Date.now() + TIMEOUT_MS;
    let last;
    for (;;) {
        last = await look();
        if (last) return last;
        if (Date.now() > end) throw new Error(`${what}: not so after ${TIMEOUT_MS} ms, last seen ${JSON.stringify(last)}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
}
