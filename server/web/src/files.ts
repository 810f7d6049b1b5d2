// Boxes to and from files: a JSON list of boxes with their names, or the lines of an obbd export.
import { type Box, type PutBox, putOf } from "./box";
import { el } from "./dom";
import type { Puts } from "./edits";

/** @throws Error with a sentence about what is wrong. */
export function parseBoxes(text: string): Puts {
    const changes: Puts = new Map();
    for (const entry of entries(text)) {
        if (typeof entry !== "object" || entry === null) throw new Error("An entry of the list is not a box.");
        const { name, id: _, ...box } = entry as Record<string, unknown>;
        if (typeof name !== "string" || name === "") throw new Error("A box of the list has no name.");
        if (changes.has(name)) throw new Error(`The name “${name}” is in the list twice.`);
        changes.set(name, box as unknown as PutBox);
    }
    if (changes.size === 0) throw new Error("The file holds no boxes.");
    return changes;
}

function entries(text: string): unknown[] {
    let whole: unknown;
    try {
        whole = JSON.parse(text);
    } catch {
        // not one JSON text: lines
    }
    if (Array.isArray(whole)) return whole;
    if (whole !== undefined) throw new Error("The file is neither a list of boxes nor an export.");
    const lines = text.split("\n").filter((line) => line.trim() !== "");
    return lines.flatMap((line, i) => {
        try {
            const entry = JSON.parse(line) as Record<string, unknown>;
            return entry.format === "obbd-scene" ? [] : [entry];
        } catch {
            throw new Error(`Line ${i + 1} of the file is not JSON.`);
        }
    });
}

export function formatBoxes(boxes: Iterable<Box>): string {
    const lines = [...boxes].map((box) => JSON.stringify({ name: box.name, ...putOf(box) }));
    return `[\n${lines.join(",\n")}\n]\n`;
}

export function download(name: string, text: string): void {
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    const link = el("a", { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
