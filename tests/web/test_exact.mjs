#!/usr/bin/env node
// Whole numbers beyond 2^53 in `data`: whatever is done to their boxes, they stay as they were sent.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test, until } from "./harness.mjs";
import { blind, showBlind } from "./live.mjs";
import { blur, CUBE, daemon, field, makeScene, module, random, runAll, select } from "./words.mjs";

const DATA = '{"steam":76561198012345679,"text":"a \\"76561198012345679","many":[9007199254740993,-9223372036854775807,18446744073709551615],"less":[0.1234567890123456,1.5,-5]}';

/** The data of a box as it was sent. */
async function dataOf(scene, name) {
    const response = await fetch(`${daemon.url}/v1/scenes/${scene}/boxes/${name}`);
    return response.ok ? /"data":(\{.*?\})/.exec(await response.text())?.[1] : null;
}

async function putRaw(scene, name, data, x = 0) {
    const body = `{"center":[${x},0,0],"half_extents":[1,1,1],"data":${data}}`;
    const response = await fetch(`${daemon.url}/v1/scenes/${scene}/boxes/${name}`, { method: "PUT", headers: { "Content-Type": "application/json" }, body });
    assert.ok(response.ok, await response.text());
}

const has = (scene, name, data = DATA) => until(`the data of ${name}`, async () => (await dataOf(scene, name)) === data);
const value = (page, label) => page.locator("#box-form").getByLabel(label, { exact: true }).inputValue();
const names = (page) => page.locator(".item .name").allTextContents();

test("JSON is read and written with whole numbers of any size: against 2,000 random texts", async () => {
    const { parse, stringify } = await module("json");
    const next = random(11);
    const pick = (n) => Math.floor(next() * n);
    let bigs = 0;
    const digits = () => String(1 + pick(9)) + Array.from({ length: pick(30) }, () => pick(10)).join("");
    const made = (depth) => {
        const kind = pick(depth > 3 ? 3 : 5);
        if (kind === 0) return `${pick(2) ? "-" : ""}${digits()}`;
        if (kind === 1) return JSON.stringify(Number(`${pick(100)}.${digits()}`));
        if (kind === 2) return JSON.stringify(["\"", "\\", ":", ",", " "][pick(5)] + digits() + ["\"", "\\", "}"][pick(3)]);
        const parts = Array.from({ length: pick(4) }, () => made(depth + 1));
        return kind === 3 ? `[${parts}]` : `{${parts.map((part, i) => `"${digits()}${i}":${part}`)}}`.replace(/"(\d+)":/g, '"k$1":'); // keys that are numbers would change places
    };
    for (let i = 0; i < 2000; i++) {
        const text = made(0);
        const read = parse(text);
        assert.equal(stringify(read), text);
        bigs += typeof read === "bigint";
        if (typeof read === "number" && Number.isInteger(read)) assert.ok(Number.isSafeInteger(read) || /[.e]/.test(text), text);
    }
    assert.ok(bigs > 50, String(bigs));
    for (const text of ["", "012345678901234567890", "[12345678901234567890,]", '"12345678901234567890']) assert.throws(() => parse(text), SyntaxError);
});

test("they are shown, moved, deleted and put back, duplicated, scaled together and changed to the last digit", async () => {
    const scene = await makeScene({});
    await putRaw(scene, "a", DATA);
    const { page, close } = await showBlind(scene);
    await select(page, "a");
    assert.equal(await value(page, "Data, as JSON"), DATA);
    await field(page, "Center y", 2);
    await until("it is there", async () => (await daemon.box(scene, "a")).center[1] === 2);
    await blur(page);
    await page.keyboard.press("Control+d");
    await has(scene, "a-1");
    await select(page, "a", "a-1");
    await field(page, "Scale by", 2, "#several-form");
    await until("both are larger", async () => (await daemon.box(scene, "a-1")).half_extents[0] === 2);
    for (const name of ["a", "a-1"]) await has(scene, name);
    await blur(page);
    await page.keyboard.press("Delete");
    await until("they are gone", async () => (await dataOf(scene, "a")) === null);
    await page.keyboard.press("Control+z");
    for (const name of ["a", "a-1"]) await has(scene, name);
    await select(page, "a");
    await page.locator("#box-form").getByLabel("Data, as JSON", { exact: true }).fill('{"steam": 76561198012345681}');
    await blur(page);
    await has(scene, "a", '{"steam":76561198012345681}');
    await page.keyboard.press("Control+z");
    await has(scene, "a");
    await putRaw(scene, "late", DATA, 20); // read by itself, and not with all others
    await until("it is listed", async () => (await names(page)).includes("late"));
    await select(page, "late");
    assert.equal(await value(page, "Data, as JSON"), DATA);
    await page.keyboard.press("Delete");
    await until("it is gone", async () => (await dataOf(scene, "late")) === null);
    await page.keyboard.press("Control+z");
    await has(scene, "late");
    await close();
});

test("they are exported and imported to the last digit", async () => {
    const [scene, other] = [await makeScene({ plain: CUBE(9) }), await makeScene({})];
    await putRaw(scene, "a", DATA);
    const { page, close } = await showBlind(scene);
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(".tools [data-command=export]")]);
    const text = readFileSync(await download.path(), "utf8");
    assert.ok(text.includes(`"data":${DATA}`), text);
    await page.evaluate((name) => (location.hash = name), other);
    await until("the other scene", async () => (await names(page)).length === 0 && (await page.getAttribute("#status", "data-state")) === "live");
    await page.setInputFiles("#file", { name: "boxes.json", mimeType: "application/json", buffer: Buffer.from(text) });
    await has(other, "a");
    assert.equal(await dataOf(other, "plain"), undefined);
    await close();
});

await runAll(blind);
