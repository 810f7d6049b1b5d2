#!/usr/bin/env node
// The reference of the API under /docs: it says all that the OpenAPI document says, without a script.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { launch, openPage, rulesHeld, run, startDaemon, test } from "./harness.mjs";

const PICTURES = new URL("../../build/web/", import.meta.url).pathname;
mkdirSync(PICTURES, { recursive: true });
const daemon = await startDaemon(0, []);
const browser = await launch();
const contract = await (await fetch(`${daemon.url}/openapi.json`)).json();
const exchanges = readFileSync(new URL("../../build/tools/exchanges.ndjson", import.meta.url), "utf8").trim().split("\n").map(JSON.parse);
const html = await (await fetch(`${daemon.url}/docs`)).text();

const show = (options) => openPage(browser, `${daemon.url}/docs`, options).then(async (opened) => (await opened.page.goto(`${daemon.url}/docs`), opened));

test("it comes compressed, also to HEAD, and allows no script and nothing foreign", async () => {
    const [got, head] = await Promise.all(["GET", "HEAD"].map((method) => fetch(`${daemon.url}/docs`, { method })));
    for (const { status, headers } of [got, head]) {
        assert.equal(status, 200);
        assert.equal(headers.get("content-type"), "text/html; charset=utf-8");
        assert.equal(headers.get("content-encoding"), "gzip");
        const policy = headers.get("content-security-policy");
        for (const part of ["default-src 'none'", "style-src 'sha256-", "frame-ancestors 'none'"]) assert.ok(policy.includes(part), policy);
        assert.doesNotMatch(policy, /script-src|connect-src|unsafe/);
    }
    assert.equal(await head.text(), "");
    assert.doesNotMatch(html, /<script|\son\w+=|https?:\/\//);
    assert.ok(Math.abs(Number(got.headers.get("content-length")) - gzipSync(html, { level: 9 }).length) < 100);
});

test("each part has one heading, and the text of the document comes below it", async () => {
    const { page, close } = await show();
    const headings = await page.locator("main h2").allTextContents();
    assert.ok(headings.length > 8 && new Set(headings).size === headings.length, headings.join());
    const texts = await page.locator("main p, main strong").allTextContents();
    for (const heading of headings) assert.ok(!texts.includes(heading), heading);
    const [introduction, conventions] = contract.info.description.split("**Conventions**").map((part) => part.trim().slice(0, 20));
    assert.ok((await page.locator("main").textContent()).includes(introduction));
    assert.ok((await page.locator("#conventions").textContent()).includes(conventions.slice(2)));
    await close();
});

test("every operation, parameter, status, object, field and exchange of the document is on the page", async () => {
    const { page, close } = await show();
    const counts = { operations: 0, statuses: 0, fields: 0, exchanges: 0 };
    const followed = (at) => (at.$ref === undefined ? at : at.$ref.slice(2).split("/").reduce((value, key) => value[key], contract));
    for (const [path, item] of Object.entries(contract.paths))
        for (const [method, { operationId, summary, parameters = [], responses }] of Object.entries(item)) {
            if (operationId === undefined) continue;
            const part = page.locator(`#${operationId}`);
            assert.equal(await part.locator("h3").textContent(), `${method.toUpperCase()} ${path}`);
            assert.equal(await part.locator(".summary").textContent(), summary.replaceAll("`", ""));
            const names = [...(item.parameters ?? []), ...parameters].map((one) => followed(one).name);
            const statuses = await part.locator(".status").allTextContents();
            assert.deepEqual(await part.locator(".name").allTextContents(), names);
            assert.deepEqual(statuses, Object.keys(responses));
            counts.operations++;
            counts.statuses += statuses.length;
        }
    for (const [name, { properties = {}, description = "" }] of Object.entries(contract.components.schemas)) {
        const part = page.locator(`#schema-${name}`);
        const shown = await part.locator(".name").allTextContents();
        for (const field of Object.keys(properties)) assert.ok(shown.includes(field), `${name}.${field}`);
        const words = (text) => text.replace(/[`*]/g, "").replace(/\s+/g, " ").trim();
        assert.ok(words((await part.textContent()) ?? "").includes(words(description.split("\n\n")[0])), name);
        counts.fields += Object.keys(properties).length;
    }
    const text = await page.evaluate(() => document.body.textContent);
    for (const { title, request, answer, method, target } of exchanges) {
        if (!Object.keys(contract.paths).some((path) => new RegExp(`^${path.replace(/\{\w+\}/g, "[^/?]+")}(\\?|$)`).test(target) && contract.paths[path][method.toLowerCase()])) continue;
        if (!title.startsWith("Cookbook: ")) assert.ok(text.includes(title.replaceAll("`", "")), title);
        for (const body of [request, answer]) assert.ok(body === null || text.includes(body), title);
        counts.exchanges++;
    }
    console.log(JSON.stringify(counts));
    assert.ok(counts.operations > 25 && counts.statuses > 200 && counts.fields > 250 && counts.exchanges > 150);
    await close();
});

test("the concepts are on the page, with their pictures, which are dark in the dark", async () => {
    const { page, close } = await show();
    const names = await page.locator("#concepts h3").allTextContents();
    assert.deepEqual(names, ["Scene", "Entity", "Frame", "Revision", "Time", "History", "Filters"]);
    const pictures = await page.locator("#concepts img").evaluateAll((all) => all.map((one) => [one.complete && one.naturalWidth, one.alt !== ""]));
    assert.deepEqual(pictures, names.map(() => [560, true]));
    assert.doesNotMatch(await page.locator("#concepts").textContent(), /\]\(|\.http/);
    await close();
    for (const [colorScheme, dark] of [["light", false], ["dark", true]]) {
        const shown = await show({ colorScheme, viewport: { width: 1000, height: 800 }, bypassCSP: true });
        const backs = await shown.page.locator("#concepts img").evaluateAll((all) =>
            all.map((one) => {
                const pen = document.createElement("canvas").getContext("2d");
                pen.drawImage(one, 0, 0);
                return pen.getImageData(8, 8, 1, 1).data[0];
            }),
        );
        assert.deepEqual(backs.map((red) => red < 64), names.map(() => dark), backs.join());
        await shown.page.locator("#concepts").screenshot({ path: `${PICTURES}docs-concepts-${colorScheme}.png` });
        await shown.close();
    }
});

test("every link leads to a place on the page or to the service", async () => {
    const { page, close } = await show();
    const links = await page.evaluate(() => [...document.links].map((link) => link.getAttribute("href")));
    const inside = links.filter((link) => link.startsWith("#"));
    assert.deepEqual(await page.evaluate((all) => all.filter((link) => document.getElementById(link.slice(1)) === null), inside), []);
    for (const link of new Set(links.filter((one) => !one.startsWith("#")))) assert.equal((await fetch(`${daemon.url}${link}`)).status, 200, link);
    assert.ok(inside.length > 500, `${inside.length} links`);
    await page.getByRole("link", { name: "What do these rays hit?" }).click();
    assert.ok((await page.locator("#queryRay").boundingBox()).y < 100);
    await close();
});

test("axe finds nothing to complain about, light and wide, dark and narrow; pictures are taken", async () => {
    let rules = 0;
    const some = { include: [["nav"], ["#concepts"], ["#cookbook"], ["#tag-queries"], ["#schema-Ray"]] }; // the rest is made alike
    for (const [colorScheme, width, height, where] of [
        ["light", 1440, 900, undefined],
        ["dark", 390, 844, some],
    ]) {
        const { page, close } = await show({ colorScheme, viewport: { width, height }, bypassCSP: true });
        await page.screenshot({ path: `${PICTURES}docs-${width}-${colorScheme}.png` });
        await page.evaluate(() => document.querySelectorAll("#queryRay details").forEach((one) => (one.open = true)));
        rules += await rulesHeld(page, "the reference", where);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width);
        await close();
    }
    console.log(`axe: ${rules} rules passed`);
    assert.ok(rules > 40);
});

const ok = await run();
await browser.close();
assert.equal(await daemon.stop(), 0);
process.exit(ok ? 0 : 1);
