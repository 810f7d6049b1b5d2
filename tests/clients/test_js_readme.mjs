#!/usr/bin/env node
// The programs of the README of the JavaScript client, as somebody runs them who installed the package.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { TIMEOUT_MS } from "../support/daemon.mjs";
import { run, test } from "../support/sums.mjs";
import { installed } from "./js.mjs";

const text = readFileSync(new URL("node_modules/@obbd/client/README.md", installed), "utf8");
const programs = [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, program]) => program);
const lines = (program) => program.trim().split("\n").length;

function output(program) {
    const file = fileURLToPath(new URL("program.mjs", installed));
    writeFileSync(file, program);
    const env = { ...process.env, OBBD_BIN: process.env.OBBD };
    const { status, stdout, stderr } = spawnSync("node", [file], { encoding: "utf8", env, timeout: TIMEOUT_MS });
    assert.equal(status, 0, stdout + stderr);
    assert.equal(stderr, "");
    return stdout;
}

test("the first program has less than ten lines and does what its comment says", () => {
    assert.ok(lines(programs[0]) < 10);
    const [, says] = /; \/\/ (crate is hit.*)/.exec(programs[0]);
    assert.match(output(programs[0]), new RegExp(`^${says}\nwatch it at http://127.0.0.1:\\d+/#first\n$`));
});

test("the game loop has 30 lines and judges the shot at the time that was seen", () => {
    assert.ok(lines(programs[1]) <= 30);
    const says = /It prints `(.*?)`, then `(.*?)`/.exec(text).slice(1);
    assert.equal(output(programs[1]), `${says.join("\n")}\n`);
});

test("collisions are told as they happen", () => {
    assert.equal(output(programs[2]), 'state []\nbegin [["crate","cart"]]\nend [["crate","cart"]]\n');
    assert.equal(programs.length, 3);
});

process.exit((await run()) ? 0 : 1);
