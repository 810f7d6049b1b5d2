// The client as it was packed and installed, and what its tests share.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

export const installed = new URL("../../build/clients/test/", import.meta.url);

/** The package, found as a program beside node_modules finds it. */
export const obbd = await import(pathToFileURL(createRequire(new URL("program.js", installed)).resolve("@obbd/client")));

/** Typed arrays as arrays and whole bigints as numbers, to compare what CBOR and JSON say. */
export function plain(value) {
    if (ArrayBuffer.isView(value)) return Array.from(value);
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value === "bigint") return Number(value);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member)]));
}
