// Boxes of a table: a line of headings, then a line a box, split by commas, semicolons or tabs.

const POINT = ["x", "y", "z"];
const NUMBERS = ["category", "mask", "group", "ttl"];
const KNOWN = ["name", ...POINT, "hx", "hy", "hz", "sx", "sy", "sz", "qx", "qy", "qz", "qw", "angle", "entity", ...NUMBERS];

/** The cells of all lines; in quotes a cell may hold anything, and "" stands for a quote. */
function cellsOf(text: string): string[][] {
    const split = [",", ";", "\t"].reduce((best, sign) => (text.split("\n", 1)[0].split(sign).length > text.split("\n", 1)[0].split(best).length ? sign : best));
    const rows: string[][] = [[""]];
    let quoted = false;
    for (let i = 0; i < text.length; i++) {
        const row = rows[rows.length - 1];
        const sign = text[i];
        if (quoted && sign === '"' && text[i + 1] === '"') row[row.length - 1] += text[++i];
        else if (sign === '"') quoted = !quoted;
        else if (quoted) row[row.length - 1] += sign;
        else if (sign === split) row.push("");
        else if (sign === "\n") rows.push([""]);
        else if (sign !== "\r") row[row.length - 1] += sign;
    }
    return rows.map((row) => row.map((cell) => cell.trim())).filter((row) => row.some((cell) => cell !== ""));
}

/** The boxes, each with its name. @throws Error with a sentence about what is wrong. */
export function boxesOfTable(text: string): Record<string, unknown>[] {
    const [heading = [], ...rows] = cellsOf(text);
    const names = heading.map((cell) => cell.toLowerCase());
    const unknown = names.find((name) => !KNOWN.includes(name));
    if (unknown !== undefined || !names.includes("name"))
        throw new Error(`The file is neither JSON nor a table of boxes: ${unknown === undefined ? "no column name" : `the column “${unknown}” is unknown`}. Columns are ${KNOWN.join(", ")}.`);
    return rows.map((row, i) => {
        if (row.length !== heading.length) throw new Error(`Box ${i + 1} of the table has ${row.length} cells; the heading has ${heading.length}.`);
        const cell = (name: string) => row[names.indexOf(name)] || undefined;
        const number = (name: string) => {
            const value = cell(name);
            if (value !== undefined && !Number.isFinite(Number(value))) throw new Error(`Box ${i + 1} of the table has “${value}” as ${name}, which is no number.`);
            return value === undefined ? undefined : Number(value);
        };
        const list = (columns: string[]) => {
            const values = columns.map(number).filter((value) => value !== undefined);
            return values.length > 0 ? values : undefined;
        };
        const box: Record<string, unknown> = {
            name: cell("name"),
            center: list(POINT),
            half_extents: list(["hx", "hy", "hz"]) ?? list(["sx", "sy", "sz"])?.map((size) => size / 2),
            rotation: list(["qx", "qy", "qz", "qw"]),
            angle: number("angle"),
            entity: cell("entity"),
        };
        for (const name of NUMBERS) box[name] = number(name);
        return Object.fromEntries(Object.entries(box).filter(([, value]) => value !== undefined));
    });
}
