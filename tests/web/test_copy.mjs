#!/usr/bin/env node
// What the page shows of a request: as curl, and as a program of each language, which must give the same answer.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, until } from "./harness.mjs";
import { ask, CUBE, makeScene, module, random, runAll, show, unfold } from "./words.mjs";

const CLIENTS = new URL("../../build/clients/", import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), "obbd-copy-"));
const sh = (command) => execFileSync("sh", ["-c", command], { encoding: "utf8", cwd: folder });
const written = (name, text) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
};

/** By the language: how a program is run, and what it prints as JSON. */
const RUN = {
    curl: (text) => JSON.parse(sh(text)),
    TypeScript: (text) => {
        const program = join(CLIENTS, "test/copied.mjs"); // beside node_modules; node takes this as JavaScript, too
        writeFileSync(program, text);
        return JSON.parse(sh(`node ${program}`));
    },
    Python: (text) => JSON.parse(sh(`PYTHONPATH=${CLIENTS}python /usr/bin/python3 - <<'END'\n${text.replace("print(", "import json; print(json.dumps(").replace(/\)$/, "))")}\nEND`)),
    "C#": (text) => {
        sh(`mcs -r:${CLIENTS}csharp/Obbd.dll -out:copied.exe ${written("copied.cs", text)}`);
        return sh(`MONO_PATH=${CLIENTS}csharp mono copied.exe`);
    },
    C: (text) => {
        sh(`cc -std=c99 -Wall -Werror ${written("copied.c", text)} -o copied $(PKG_CONFIG_PATH=${CLIENTS}c/lib/pkgconfig pkg-config --cflags --libs obbd) -Wl,-rpath,${CLIENTS}c/lib`);
        return JSON.parse(sh("./copied"));
    },
};

test("a request in each language gives the answer that is shown", async () => {
    const scene = await makeScene({ 'it\'s "a"': { ...CUBE(0), entity: "é" }, b: CUBE(4) });
    const { page, close } = await show(scene);
    await ask(page, 1, { From: [-5, 0.25, 0], To: [9, 0.25, 0] });
    const details = page.locator("#probe-out details.exchange");
    await details.locator("summary").click();
    await unfold(details);
    const [request, answer] = [details.getByLabel("Request", { exact: true }), details.getByLabel("Answer")];
    const shown = JSON.parse(await answer.textContent());
    const select = details.getByLabel("Language of the request");
    assert.deepEqual(await select.locator("option").allTextContents(), Object.keys(RUN));
    for (const [language, run] of Object.entries(RUN)) {
        await select.selectOption(language);
        const heard = run(await request.textContent());
        if (language === "C#") assert.match(heard, /revision/, language); // as ObbdMap writes itself
        else assert.deepEqual(heard, shown, language);
    }
    await select.selectOption("Python"); // which stays when something else is asked
    await ask(page, 2, { Point: [4, 0, 0] });
    assert.match(await request.textContent(), /^import obbd/);
    await close();
    rmSync(folder, { recursive: true });
});

test("an answer is written so that what fits on a line stands on one, and says the same", async () => {
    const { readable } = await module("exchange");
    let [vectors, broken] = [0, 0];
    for (let seed = 1; seed <= 300; seed++) {
        const next = random(seed);
        const value = (deep) => {
            const kind = Math.floor(next() * (deep > 0 ? 6 : 4));
            if (kind === 4) return Array.from({ length: next() * 9 }, () => value(deep - 1));
            if (kind === 5) return Object.fromEntries(Array.from({ length: next() * 9 }, (_, i) => [`[{"${i}`, value(deep - 1)]));
            return [null, next() < 0.5, 'a "name" [1, 2] {\n', [next(), next() * 1e9, -next()]][kind];
        };
        const one = Array.from({ length: 6 }, () => value(4));
        const text = readable(one);
        assert.deepEqual(JSON.parse(text), one);
        const lines = text.split("\n");
        vectors += lines.filter((line) => /^ *("[^"\\]*(\\"[^"\\]*)*": )?\[[-\d.e,]+\],?$/.test(line)).length;
        assert.doesNotMatch(text, /\[\n +-?[\d.e]+,\n/); // no vector in pieces
        if (lines.length > 1) broken++;
    }
    assert.ok(vectors > 300 && broken > 100, `${vectors} ${broken}`);
    const scene = await makeScene({ a: CUBE(0) });
    const { page, close } = await show(scene);
    await ask(page, 1, { From: [-5, 0.25, 0], To: [9, 0.25, 0] });
    const details = page.locator("#probe-out details.exchange");
    await unfold(details);
    assert.match(await details.getByLabel("Answer").textContent(), /"point": ?\[-1,0.25,0\]/);
    await close();
});

test("an answer is written only where it is seen, and no more of it than is seen", async () => {
    const { readable } = await module("exchange");
    const pairs = Array.from({ length: 10_000 }, (_, i) => ({ pair: ["a", `b-${i}`], depth: i }));
    const whole = readable({ pairs });
    const far = { get pair() { throw new Error("more is looked at than is seen"); } };
    const cut = readable({ pairs: [...pairs.slice(0, 5000), far] }, 20_000);
    assert.equal(cut, `${whole.slice(0, 20_000)}\n… and more, which is left out here`);
    const { page, close } = await show(await makeScene({ a: CUBE(0) }));
    await ask(page, 1, { From: [-5, 0.25, 0], To: [9, 0.25, 0] });
    const details = page.locator("#probe-out details.exchange");
    const answer = details.getByLabel("Answer");
    assert.equal(await answer.textContent(), "");
    await unfold(details);
    await ask(page, 1, { From: [-5, 0.5, 0], To: [9, 0.5, 0] });
    await until("the next one", async () => /0\.5/.test(await answer.textContent()));
    await details.locator("summary").click();
    await until("that it is closed", async () => (await answer.textContent()) === "");
    await close();
});

await runAll();
