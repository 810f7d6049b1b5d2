// HTTP/1.1 as text: a request becomes a head, the bytes of an answer become its head and body. No sockets here.
import type { Sent } from "./transport.js";

const HEAD_MOST = 1 << 16; // bytes of the head of an answer
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TEXT = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^[\x21-\x7e]+$/;

/** The head of a request, up to the empty line. Throws TypeError if a part of it could not be told from another one. */
export function headOf({ method, path, headers, body }: Omit<Sent, "signal">, host: string): string {
    if (!TOKEN.test(method)) throw new TypeError(`found the method ${JSON.stringify(method)}; it is a word like GET`);
    if (!TARGET.test(path)) throw new TypeError(`found the path ${JSON.stringify(path)}; encodeURIComponent makes others of ASCII`);
    let head = `${method} ${path} HTTP/1.1\r\nHost: ${host}\r\n`;
    for (const [name, value] of Object.entries(headers)) {
        if (!TOKEN.test(name) || !TEXT.test(value)) throw new TypeError(`found the header ${JSON.stringify(`${name}: ${value}`)}`);
        head += `${name}: ${value}\r\n`;
    }
    if (body) head += `Content-Length: ${body.reduce((sum, part) => sum + part.length, 0)}\r\n`;
    else if (method === "POST" || method === "PUT" || method === "PATCH") head += "Content-Length: 0\r\n";
    return `${head}\r\n`;
}

/** The fields of an answer's head. A `Headers` is a copy that is made where a program wants one. */
export class Fields {
    /** By their names in small letters, in the order in which they came. */
    readonly all: [string, string][] = [];

    /** Throws Error for a line that is no field. */
    constructor(lines: string[]) {
        for (const line of lines) {
            const colon = line.indexOf(":");
            const name = line.slice(0, Math.max(0, colon));
            const value = line.slice(colon + 1).trim();
            if (!TOKEN.test(name) || /[\0\r\n]/.test(value)) throw new Error(`found the header ${JSON.stringify(line)}`);
            this.all.push([name.toLowerCase(), value]);
        }
    }

    /** The values of this name, one behind the other, as `Headers.get` gives them; null if there is none. */
    get(name: string): string | null {
        const wanted = name.toLowerCase();
        let value: string | null = null;
        for (const field of this.all) if (field[0] === wanted) value = value === null ? field[1] : `${value}, ${field[1]}`;
        return value;
    }
}

/** Takes what an AnswerReader reads. */
export interface Reading {
    head(status: number, fields: Fields): void;
    /** The next bytes of the body: a part of what was fed. */
    part(part: Uint8Array): void;
    /** The answer is whole. `kept`: may the connection be used again? */
    end(kept: boolean): void;
}

type State = "head" | "length" | "size" | "chunk" | "behind" | "trailer" | "close" | "done";

/** Reads one answer, in whatever pieces it comes. Throws Error for what is no HTTP/1.1; it must not be used any more then. */
export class AnswerReader {
    private state: State = "head";
    private line = ""; // of the head, and of the sizes and trailers between chunks, what has come
    private left = 0; // bytes of the body, or of the chunk
    private kept = true;

    /** @param headOnly the answer has no body, whatever its head says: it is one to HEAD */
    constructor(
        private readonly to: Reading,
        private readonly headOnly: boolean,
    ) {}

    feed(bytes: Buffer): void {
        for (let at = 0; at < bytes.length; ) {
            switch (this.state) {
                case "head":
                    at = this.readHead(bytes, at);
                    break;
                case "length":
                case "chunk":
                    at = this.readLeft(bytes, at);
                    break;
                case "close":
                    this.to.part(bytes.subarray(at));
                    return;
                case "done":
                    throw new Error("the answer goes on behind its end");
                default:
                    at = this.readLine(bytes, at);
            }
        }
    }

    /** The server sends no more. */
    closed(): void {
        if (this.state === "close") this.done();
        else if (this.state !== "done") throw new Error("the answer was cut");
    }

    private done(): void {
        this.state = "done";
        this.to.end(this.kept);
    }

    private readHead(bytes: Buffer, at: number): number {
        const first = this.line === "" ? bytes.indexOf("\r\n\r\n", at, "latin1") : -1;
        if (first >= 0 && first - at <= HEAD_MOST) {
            this.begin(bytes.toString("latin1", at, first));
            return first + 4;
        }
        const before = this.line.length;
        this.line += bytes.toString("latin1", at, Math.min(bytes.length, at + HEAD_MOST + 4));
        const end = this.line.indexOf("\r\n\r\n", Math.max(0, before - 3));
        if (end < 0) {
            if (this.line.length > HEAD_MOST) throw new Error("the head of the answer is too long");
            return bytes.length;
        }
        const head = this.line.slice(0, end);
        this.line = "";
        this.begin(head);
        return at + end + 4 - before;
    }

    private begin(head: string): void {
        const lines = head.split("\r\n");
        const [, minor, digits] = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: |$)/.exec(lines[0] as string) ?? [];
        if (digits === undefined) throw new Error("the answer is no HTTP/1.1");
        const status = Number(digits);
        if (status < 200) {
            if (status === 101) throw new Error("the answer changes the protocol");
            return; // the answer itself follows
        }
        const fields = new Fields(lines.slice(1));
        const connection = fields.get("Connection")?.toLowerCase().split(/\s*,\s*/) ?? [];
        this.kept = minor === "1" ? !connection.includes("close") : connection.includes("keep-alive");
        this.to.head(status, fields);
        this.beginBody(status, fields);
    }

    private beginBody(status: number, fields: Fields): void {
        const coding = fields.get("Transfer-Encoding");
        const length = fields.get("Content-Length");
        if (this.headOnly || status === 204 || status === 304) {
            this.done();
        } else if (coding !== null) {
            if (coding.toLowerCase() !== "chunked") throw new Error(`the transfer coding of the answer is ${coding}`);
            this.state = "size";
        } else if (length !== null) {
            if (!/^\d{1,15}$/.test(length)) throw new Error(`the length of the answer is ${length}`);
            this.left = Number(length);
            this.state = "length";
            if (this.left === 0) this.done();
        } else {
            this.kept = false;
            this.state = "close";
        }
    }

    private readLeft(bytes: Buffer, at: number): number {
        const end = Math.min(bytes.length, at + this.left);
        this.left -= end - at;
        this.to.part(bytes.subarray(at, end));
        if (this.left === 0) {
            if (this.state === "length") this.done();
            else this.state = "behind";
        }
        return end;
    }

    /** Reads the line of a chunk's size, the empty one behind a chunk, or one of the trailer. */
    private readLine(bytes: Buffer, at: number): number {
        const end = bytes.indexOf(10, at);
        this.line += bytes.toString("latin1", at, end < 0 ? bytes.length : end);
        if (this.line.length > HEAD_MOST) throw new Error("a line between the chunks of the answer is too long");
        if (end < 0) return bytes.length;
        const line = this.line.replace(/\r$/, "");
        this.line = "";
        if (this.state === "size") {
            const [, size] = /^([0-9a-f]{1,12})\s*(?:;.*)?$/i.exec(line) ?? [];
            if (size === undefined) throw new Error(`the size of a chunk of the answer is ${JSON.stringify(line)}`);
            this.left = Number.parseInt(size, 16);
            this.state = this.left === 0 ? "trailer" : "chunk";
        } else if (this.state === "behind") {
            if (line !== "") throw new Error("a chunk of the answer is longer than its size");
            this.state = "size";
        } else if (line === "") {
            this.done();
        }
        return end + 1;
    }
}
