#!/usr/bin/env node
// Whoever runs `make` before node is there has no page, and the next `make` after node came has one.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "./harness.mjs";
import { runAll } from "./words.mjs";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "../..");
const HEADER = "build/server/routes/page_data.h";
const OF_NODE = new Set(["node", "nodejs", "npm", "npx"]);

/** A copy of what makes the page, in a folder of its own, without packages and without what was built. */
function copyTree(folder) {
    const own = (path) => !/\/(node_modules|build)$/.test(path);
    for (const name of ["Makefile", ...makefiles(), "server/web", "proto/clients/js/src"]) cpSync(join(ROOT, name), join(folder, name), { recursive: true, filter: own });
}

/** The other files that the Makefile includes. */
const makefiles = () => readFileSync(join(ROOT, "Makefile"), "utf8").match(/\b[\w/]+\.mk\b/g);

/** A folder of links to all programs of this machine but those of node. */
function linkPrograms(folder) {
    mkdirSync(folder);
    const taken = new Set(OF_NODE);
    for (const from of process.env.PATH.split(delimiter).filter(existsSync))
        for (const name of readdirSync(from).filter((one) => !taken.has(one))) {
            symlinkSync(join(from, name), join(folder, name));
            taken.add(name);
        }
}

/** Installs node there, with an npm whose `ci` fetches nothing and takes the packages of this tree. */
function installNode(folder) {
    symlinkSync(process.execPath, join(folder, "node"));
    const npm = join(folder, "npm");
    writeFileSync(npm, `#!/bin/sh\n[ "$1" = ci ] || exit 1\nmkdir -p node_modules && ln -sf '${ROOT}'/server/web/node_modules/* node_modules/\n`);
    chmodSync(npm, 0o755);
}

test("a page that was made without node is made again once node is there, and then not a third time", async () => {
    const folder = mkdtempSync(join(tmpdir(), "obbd-made-"));
    const [tree, programs] = [join(folder, "tree"), join(folder, "bin")];
    const make = () => execFileSync("make", [HEADER], { cwd: tree, encoding: "utf8", stdio: "pipe", env: { ...process.env, PATH: programs, MAKEFLAGS: "" } });
    const header = () => readFileSync(join(tree, HEADER), "utf8");
    try {
        copyTree(tree);
        linkPrograms(programs);
        assert.match(make(), /page: not built \(no node here\)/);
        assert.doesNotMatch(header(), /PAGE_BYTES/);
        assert.match(make(), /up to date/); // without node there is nothing that could be done
        installNode(programs);
        make();
        assert.match(header(), /PAGE_BYTES/);
        assert.match(make(), /up to date/);
    } finally {
        rmSync(folder, { recursive: true });
    }
});

await runAll();
