// Packs a page into a C header: its bytes, compressed, and the Content-Security-Policy under which its own script and style run, and
// nothing else.
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { constants, gzipSync } from "node:zlib";

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

/** Writes OUT, which defines NAME_BYTES and NAME_POLICY. A page without a script may not connect to anything. */
export function embed(out, name, html, { style, scripts = [], limit }) {
    // a page with a script may make a worker of what it brings, which may do what the page may
    const policy = [
        "default-src 'none'",
        ...(scripts.length === 0 ? [] : [`script-src ${scripts.map(hash).join(" ")}`]),
        `style-src ${hash(style)}`,
        ...(scripts.length === 0 ? [] : ["connect-src 'self'"]),
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        // a page with a script shows itself beside itself, and nobody else does
        ...(scripts.length === 0 ? ["frame-ancestors 'none'"] : ["worker-src blob:", "frame-src 'self'", "frame-ancestors 'self'"]),
    ].join("; ");
    const bytes = gzipSync(html, { level: constants.Z_BEST_COMPRESSION });
    if (bytes.length > limit) throw new Error(`the page has ${bytes.length} bytes, ${limit} are allowed`);
    bytes[9] = 255; // the operating system that packed it: unknown, so that the bytes are the same everywhere
    const rows = [];
    for (let i = 0; i < bytes.length; i += 32) rows.push([...bytes.subarray(i, i + 32)].join(","));
    const header = `/* Made by server/web. */
#define ${name}_POLICY "${policy}"
#define ${name}_BYTES \\
    ${rows.join(", \\\n    ")}
`;
    if (!existsSync(out) || readFileSync(out, "utf8") !== header) writeFileSync(out, header);
    console.log(`${name.toLowerCase()}: ${bytes.length} bytes, compressed`);
}
