#!/usr/bin/env node
// The types of the JavaScript client against those that openapi-typescript makes of the contract: a field that only one of the two
// has is named here. And whether what a generator makes is of use by itself.
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

test("every type agrees with its schema, and programs in TypeScript pass the compiler, with the client and without", () => {
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

const contract = JSON.parse(readFileSync(at("../../build/tools/openapi.json"), "utf8"));
const followed = (schema) => (schema.$ref === undefined ? schema : followed(contract.components.schemas[schema.$ref.split("/").at(-1)]));
const joined = (a, b) => ({ required: [...a.required, ...b.required], fields: [...a.fields, ...b.fields] });

/** The objects that a schema allows: the fields that each requires, and all that it has. */
function objects(schema) {
    const { type, properties = {}, required = [], allOf = [], oneOf, anyOf } = followed(schema);
    const either = (oneOf ?? anyOf)?.flatMap(objects) ?? [];
    if (type !== "object" && Object.keys(properties).length === 0 && allOf.length === 0) return either;
    const all = [[{ required, fields: [...required, ...Object.keys(properties)] }], ...allOf.map(objects), either];
    return all.filter((one) => one.length > 0).reduce((some, more) => some.flatMap((a) => more.map((b) => joined(a, b))));
}

test("objects of a union have a discriminator, or a field that each of the others lacks; but for one, which has none of theirs", () => {
    const seen = { discriminator: 0, fields: 0 };
    const look = (schema, path) => {
        if (schema === null || typeof schema !== "object") return;
        for (const [name, below] of Object.entries(schema)) look(below, `${path}/${name}`);
        const either = schema.oneOf ?? schema.anyOf ?? [];
        const members = either.filter(({ $ref }) => $ref !== undefined).map(objects);
        const kinds = members.filter((one) => one.length > 0);
        if (kinds.length < 2 || path.startsWith("/CommitAnswer/")) return; // answers come in the order of their queries
        if (schema.discriminator !== undefined) return void seen.discriminator++;
        const lacked = (field, own) => kinds.every((one) => one === own || one.every(({ fields }) => !fields.includes(field)));
        const untold = kinds.filter((own) => !own.every(({ required }) => required.some((field) => lacked(field, own))));
        assert.ok(untold.length <= 1, path);
        seen.fields++;
    };
    look(contract.components.schemas, "");
    console.log(JSON.stringify(seen));
    assert.ok(seen.discriminator === 1 && seen.fields > 10);
});

process.exit((await run()) ? 0 : 1);
