#!/usr/bin/env node
// Serves the page, and starts the daemon that it talks to: node serve.mjs [PORT]
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { spawn } from "@obbd/client";

const TYPES = { ".html": "text/html; charset=utf-8", ".css": "text/css", ".mjs": "text/javascript", ".js": "text/javascript" };
const PAGE = new URL("./", import.meta.url);
const CLIENT = new URL("../../dist/", import.meta.url);

const server = createServer(async ({ url }, response) => {
    const [, folder, name] = /^\/(client\/)?([\w-]*(?:\.\w+)?)(?:\?.*)?$/.exec(url) ?? [];
    try {
        const bytes = await readFile(new URL(name || "index.html", folder ? CLIENT : PAGE));
        response.writeHead(200, { "Content-Type": TYPES[extname(name || "index.html")] ?? "text/plain" }).end(bytes);
    } catch {
        response.writeHead(404).end();
    }
});
await new Promise((resolve) => server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
const obbd = await spawn({ args: ["--cors-origin", origin] });
console.log(`open ${origin}/?obbd=${encodeURIComponent(new URL(obbd.scene("lag").page).origin)}`);
process.once("SIGTERM", end).once("SIGINT", end);

async function end() {
    server.close();
    server.closeAllConnections();
    await obbd.close();
}
