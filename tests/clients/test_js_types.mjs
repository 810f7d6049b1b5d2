#!/usr/bin/env node
// The types of the JavaScript client against those that openapi-typescript makes of the contract: a field that only one of the two
// has is named here.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { run, test } from "../support/sums.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const CONTRACT = at("../../build/clients/contract.ts");

function tool(name, ...args) {
    const { status, stdout, stderr } = spawnSync(at(`node_modules/.bin/${name}`), args, { encoding: "utf8" });
    return { status, said: stdout + stderr };
}

const made = tool("openapi-typescript", at("../../proto/contract/openapi.yaml"), "--default-non-nullable=false", "-o", CONTRACT);
const rows = readFileSync(at("types.ts"), "utf8").match(/^ {4}\w+: Agrees</gm).length;

test("every type agrees with its schema, and a program in TypeScript passes the compiler", () => {
    assert.equal(made.status, 0, made.said);
    const { status, said } = tool("tsc", "-p", at("."));
    assert.equal(status, 0, said);
    console.log(`${rows} schemas`);
    assert.ok(rows > 50);
});

test("a field that is added to the schemas is noticed", () => {
    const contract = readFileSync(CONTRACT, "utf8");
    const drifted = contract
        .replace(/^( {8}\w+: )\{$/gm, "$1{ drift?: true;")
        .replace(/^( {8}\w+: components.*);$/gm, "$1 & { drift?: true };");
    writeFileSync(CONTRACT, drifted);
    const { said } = tool("tsc", "-p", at("."));
    writeFileSync(CONTRACT, contract);
    const [, named, more] = /missing the following properties from type 'Differing': (.*), and (\d+) more/.exec(said) ?? [
        ,
        "",
        "0",
    ];
    const noticed = named.split(", ").length + Number(more);
    console.log(`${noticed} of ${rows} differ then`);
    assert.ok(noticed > rows * 0.8, said);
});

process.exit((await run()) ? 0 : 1);
