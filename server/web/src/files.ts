// Boxes to and from files: a JSON list of boxes with their names, boxes by name as a commit puts them, the lines of an obbd export,
// a table, or a glTF file.
import { type Box, type PutBox, putOf } from "./box";
import { boxesOfTable } from "./csv";
import { el } from "./dom";
import type { Puts } from "./edits";
import { boxesOfGltf, isGltf, textOf } from "./gltf";
import { parse, stringify } from "./json";

const MAKES_FRAMES = "The file makes frames, which the page does not";

/** @throws Error with a sentence about what is wrong. */
export function parseBoxes(bytes: ArrayBuffer): Puts {
    const changes: Puts = new Map();
    for (const entry of entries(textOf(bytes))) {
        if (typeof entry !== "object" || entry === null) throw new Error("An entry of the list is not a box.");
        const { name, id: _, ...box } = entry as Record<string, unknown>;
        const isFrame = name === undefined && typeof box.frame === "string"; // a line of an export
        if (isFrame) throw new Error(`${MAKES_FRAMES}: import it by the API.`);
        if (typeof name !== "string" || name === "") throw new Error("A box of the list has no name.");
        if (changes.has(name)) throw new Error(`The name “${name}” is in the list twice.`);
        changes.set(name, box as unknown as PutBox);
    }
    if (changes.size === 0) throw new Error("The file holds no boxes.");
    return changes;
}

function entries(text: string): unknown[] {
    if (!/^\s*[[{]/.test(text)) return boxesOfTable(text.replace(/^\ufeff/, ""));
    let whole: unknown;
    try {
        whole = parse(text);
    } catch {
        // not one JSON text: lines
    }
    if (Array.isArray(whole)) return whole;
    if (isGltf(whole)) return boxesOfGltf(whole);
    if (typeof whole === "object" && whole !== null && !isLine(whole)) return boxesByName(whole as Record<string, unknown>);
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.flatMap((line, i) => {
        try {
            const entry = parse(line) as Record<string, unknown>;
            return entry.format === "obbd-scene" ? [] : [entry];
        } catch {
            throw new Error(`Line ${i + 1} of the file is not JSON.`);
        }
    });
}

/** Is it the one line of an export, which has no other? */
function isLine(whole: object): boolean {
    return "format" in whole || typeof (whole as { name?: unknown }).name === "string";
}

/** Boxes as a commit has them in `put`, or the commit itself. */
function boxesByName(whole: Record<string, unknown>): unknown[] {
    const inside = Object.values(Object(whole.put) as object); // of a box called “put” these are points
    const isCommit = "put" in whole && (Array.isArray((whole.put as { names?: unknown }).names) || inside.every((box) => typeof box === "object" && !Array.isArray(box)));
    if (isCommit && "frames" in whole) throw new Error(`${MAKES_FRAMES}: send it as a commit.`);
    const put = Object(isCommit ? whole.put : whole) as Record<string, unknown>;
    if (Array.isArray(put.names)) throw new Error("The file holds boxes in columns, which the page does not read: send it as a commit.");
    return Object.entries(put).map(([name, box]) => {
        if (typeof box !== "object" || box === null) throw new Error(`“${name}” is not a box; the file is neither a list of boxes, nor boxes by name, nor an export, a table or glTF.`);
        return { ...box, name };
    });
}

/** A list by id, as the daemon lists them. */
export function formatBoxes(boxes: Iterable<Box>): string {
    const lines = [...boxes].sort((a, b) => a.id - b.id).map((box) => stringify({ name: box.name, ...putOf(box) }));
    return `[\n${lines.join(",\n")}\n]\n`;
}

export function download(name: string, text: string): void {
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const link = el("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
