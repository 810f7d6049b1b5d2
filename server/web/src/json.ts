// JSON whose whole numbers are kept to the last digit: those beyond 2^53, which numbers of JavaScript round, are bigints.

const MAY_BE_BIG = /(?:^|[^\d.])\d{16,}(?![\d.eE])/; // also in a string
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const MARK = `bigint ${Math.random()} `; // before the digits of a bigint, as a string that no JSON holds by chance
const MARKED = new RegExp(`"${MARK}(-?\\d+)"`, "g");

const isBig = (token: string) => /^-?\d{16,}$/.test(token) && !Number.isSafeInteger(Number(token));

/** @throws SyntaxError as JSON.parse does. */
export function parse(text: string): unknown {
    const value: unknown = JSON.parse(text);
    if (!MAY_BE_BIG.test(text)) return value;
    const marked = text.replace(TOKENS, (token) => (isBig(token) ? `"${MARK}${token}"` : token));
    return JSON.parse(marked, (_, part) => (typeof part === "string" && part.startsWith(MARK) ? BigInt(part.slice(MARK.length)) : part));
}

/** As JSON.stringify. */
export function stringify(value: unknown): string {
    if (!hasBig(value)) return JSON.stringify(value);
    return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? MARK + part : part)).replace(MARKED, "$1");
}

export function hasBig(value: unknown): boolean {
    if (typeof value !== "object" || value === null) return typeof value === "bigint";
    return (Array.isArray(value) ? value : Object.values(value)).some(hasBig);
}
