// build.mjs OUT - packs the page into one HTML file, compresses it, and writes OUT, a C header with PAGE_BYTES, and PAGE_POLICY:
// the Content-Security-Policy under which the page's own script and style run, and nothing else.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants, gzipSync } from "node:zlib";
import { build } from "esbuild";

const LIMIT = 200_000; // bytes, compressed
const here = (name) => new URL(name, import.meta.url).pathname;

async function bundle(entry) {
    const { outputFiles } = await build({
        entryPoints: [here(entry)],
        bundle: true,
        minify: true,
        write: false,
        format: "iife",
        target: "es2022",
        charset: "utf8",
        legalComments: "eof",
        define: { __THREE_DEVTOOLS__: "undefined" },
    });
    return outputFiles[0].text.trim();
}

const script = (await bundle("src/main.ts")).replaceAll("</script", "<\\/script");
const style = await bundle("src/style.css");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
    "default-src 'none'",
    `script-src ${hash(script)}`,
    `style-src ${hash(style)}`,
    "connect-src 'self'",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
].join("; ");

const html = readFileSync(here("src/index.html"), "utf8")
    .replace("/*style*/", () => style)
    .replace("/*script*/", () => script);
const bytes = gzipSync(html, { level: constants.Z_BEST_COMPRESSION });
if (bytes.length > LIMIT) throw new Error(`the page has ${bytes.length} bytes, ${LIMIT} are allowed`);
bytes[9] = 255; // the operating system that packed it: unknown, so that the bytes are the same everywhere

const rows = [];
for (let i = 0; i < bytes.length; i += 32) rows.push([...bytes.subarray(i, i + 32)].join(","));
const header = `/* Made by server/web/build.mjs. */
#define PAGE_POLICY "${policy}"
#define PAGE_BYTES \\
    ${rows.join(", \\\n    ")}
`;
const out = process.argv[2];
if (!existsSync(out) || readFileSync(out, "utf8") !== header) writeFileSync(out, header);
console.log(`page: ${bytes.length} bytes, compressed`);
