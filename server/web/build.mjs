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
const script = (await bundle("src/main.ts", { WORKER: JSON.stringify(worker) })).replaceAll("</script", "<\\/script");
const style = await bundle("src/style.css");
const html = readFileSync(here("src/index.html"), "utf8")
    .replace("/*style*/", () => style)
    .replace("/*script*/", () => script);
embed(process.argv[2], "PAGE", html, { style, script, limit: 240_000 });
