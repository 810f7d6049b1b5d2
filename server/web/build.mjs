// build.mjs OUT - packs the web editor into one HTML file, and that into OUT.
import { readFileSync } from "node:fs";
import { build } from "esbuild";
import { embed } from "./embed.mjs";

const here = (name) => new URL(name, import.meta.url).pathname;

async function bundle(entry, define = {}) {
    const { outputFiles } = await build({
        entryPoints: [here(entry)],
        bundle: true,
        minify: true,
        write: false,
        format: "iife",
        target: "es2022",
        charset: "utf8",
        legalComments: "eof",
        define: { __THREE_DEVTOOLS__: "undefined", ...define },
    });
    return outputFiles[0].text.trim();
}

const worker = await bundle("src/worker.ts");
const script = async (entry, define) => (await bundle(entry, define)).replaceAll("</script", "<\\/script");
const head = await script("src/head.ts", { WORKER: JSON.stringify(worker) });
const main = await script("src/main.ts");
const style = await bundle("src/style.css");
const html = readFileSync(here("src/index.html"), "utf8")
    .replace("/*style*/", () => style)
    .replace("/*head*/", () => head)
    .replace("/*script*/", () => main);
embed(process.argv[2], "PAGE", html, { style, scripts: [head, main], limit: 240_000 });
