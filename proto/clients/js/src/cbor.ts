// CBOR (RFC 8949) with typed arrays (RFC 8746), as far as the contract uses them: definite lengths, little-endian arrays of
// 8, 32 and 64 bits.

/** Numbers that are sent from where they lie. */
export type Typed = Uint8Array | Uint32Array | Float32Array | Float64Array;

const TAG = { u8: 64, u32: 70, f32: 85, f64: 86 };
const LITTLE = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const text = new TextEncoder();
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const DEPTH = 128; // levels: 64 of an answer, and 64 of data in it
const FIRST = 1024; // bytes of memory that a value begins with
const BLOCK = 1 << 16; // and of each block that follows

function tagOf(value: unknown): number {
    if (!ArrayBuffer.isView(value)) return 0; // most values, by one test in place of four
    if (value instanceof Float64Array) return TAG.f64;
    if (value instanceof Float32Array) return TAG.f32;
    if (value instanceof Uint32Array) return TAG.u32;
    return value instanceof Uint8Array ? TAG.u8 : 0;
}

/** Is there a value that JSON.stringify would not keep: a typed array, a bigint, -0, or a number that is not finite? */
export function needsCbor(value: unknown): boolean {
    if (typeof value === "number") return Object.is(value, -0) || !Number.isFinite(value);
    if (typeof value === "bigint") return true;
    if (typeof value !== "object" || value === null) return false;
    if (tagOf(value) !== 0) return true;
    if (Array.isArray(value)) return value.some(needsCbor);
    return Object.values(value).some(needsCbor);
}

/** Writes into blocks; large typed arrays stand between blocks, without a copy. */
class Writer {
    readonly parts: Uint8Array[] = [];
    private view: DataView;
    private begin = 0;
    private at = 0;

    constructor(private block: Uint8Array) {
        this.view = new DataView(block.buffer, block.byteOffset, block.byteLength);
    }

    private room(bytes: number): void {
        if (this.at + bytes <= this.block.length) return;
        this.flush();
        this.block = new Uint8Array(Math.max(BLOCK, bytes));
        this.view = new DataView(this.block.buffer);
        this.begin = this.at = 0;
    }

    /** What nothing was written into. */
    rest(): Uint8Array {
        return this.block.subarray(this.at);
    }

    flush(): void {
        if (this.at > this.begin) this.parts.push(this.block.subarray(this.begin, this.at));
        this.begin = this.at;
    }

    head(major: number, n: number): void {
        this.room(9);
        const { view } = this;
        if (n < 24) {
            view.setUint8(this.at++, (major << 5) | n);
        } else if (n < 0x100) {
            view.setUint8(this.at++, (major << 5) | 24);
            view.setUint8(this.at++, n);
        } else if (n < 0x10000) {
            view.setUint8(this.at, (major << 5) | 25);
            view.setUint16(this.at + 1, n);
            this.at += 3;
        } else if (n < 0x100000000) {
            view.setUint8(this.at, (major << 5) | 26);
            view.setUint32(this.at + 1, n);
            this.at += 5;
        } else {
            view.setUint8(this.at, (major << 5) | 27);
            view.setBigUint64(this.at + 1, BigInt(n));
            this.at += 9;
        }
    }

    number(n: number): void {
        if (Number.isSafeInteger(n) && !Object.is(n, -0)) {
            if (n >= 0) this.head(0, n);
            else this.head(1, -1 - n);
            return;
        }
        this.room(9);
        this.view.setUint8(this.at, 0xfb);
        this.view.setFloat64(this.at + 1, n);
        this.at += 9;
    }

    bigint(n: bigint): void {
        const magnitude = n < 0n ? -1n - n : n;
        if (magnitude < 1n << 64n) {
            this.room(9);
            this.view.setUint8(this.at, ((n < 0n ? 1 : 0) << 5) | 27);
            this.view.setBigUint64(this.at + 1, magnitude);
            this.at += 9;
            return;
        }
        const hex = magnitude.toString(16);
        const bytes = hex.padStart(hex.length + (hex.length % 2), "0").match(/../g) ?? [];
        this.head(6, n < 0n ? 3 : 2);
        this.head(2, bytes.length);
        this.bytes(Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16)));
    }

    string(s: string): void {
        const { length } = s;
        if (length < 24) {
            this.room(1 + length);
            const { block, at } = this;
            let i = 0;
            for (; i < length; i++) {
                const code = s.charCodeAt(i);
                if (code > 127) break;
                block[at + 1 + i] = code;
            }
            if (i === length) {
                block[at] = 0x60 | length;
                this.at += 1 + length;
                return;
            }
        }
        const bytes = text.encode(s);
        this.head(3, bytes.length);
        this.bytes(bytes);
    }

    private bytes(bytes: Uint8Array): void {
        this.room(bytes.length);
        this.block.set(bytes, this.at);
        this.at += bytes.length;
    }

    typed(array: Typed): void {
        this.head(6, tagOf(array));
        this.head(2, array.byteLength);
        const bytes = LITTLE
            ? new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
            : swapped(array, array.BYTES_PER_ELEMENT);
        if (bytes.length <= 512) {
            this.bytes(bytes);
            return;
        }
        this.flush();
        this.parts.push(bytes);
    }

    value(value: unknown): void {
        switch (typeof value) {
            case "number":
                return this.number(value);
            case "string":
                return this.string(value);
            case "boolean":
                return this.head(7, value ? 21 : 20);
            case "bigint":
                return this.bigint(value);
            case "object":
                break;
            default:
                throw new TypeError(`a ${typeof value} has no form in CBOR`);
        }
        if (value === null) return this.head(7, 22);
        if (tagOf(value) !== 0) return this.typed(value as Typed);
        if (Array.isArray(value)) {
            this.head(4, value.length);
            for (let i = 0; i < value.length; i++) this.value(value[i] === undefined ? null : value[i]);
            return;
        }
        this.members(value as Record<string, unknown>);
    }

    private members(members: Record<string, unknown>): void {
        const keys = Object.keys(members);
        let count = 0;
        for (const key of keys) if (members[key] !== undefined) count++;
        this.head(5, count);
        for (const key of keys) {
            const member = members[key];
            if (member === undefined) continue;
            this.string(key);
            this.value(member);
        }
    }
}

function swapped(array: Typed, size: number): Uint8Array {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength).slice();
    for (let i = 0; i < bytes.length; i += size) bytes.subarray(i, i + size).reverse();
    return bytes;
}

/** The value as CBOR, in parts to be sent one after the other. A typed array of more than 512 bytes is a part of its own,
 * which lies where the array lies: do not change the array before the parts are sent. */
export function encode(value: unknown): Uint8Array[] {
    const writer = new Writer(new Uint8Array(FIRST));
    writer.value(value);
    writer.flush();
    return writer.parts;
}

/** Memory for values that are sent, of which each takes what it needs. */
let spare: Uint8Array = new Uint8Array(0);

/** The same in memory that values share: for parts that no program gets, which could transfer them. */
export function encodeToSend(value: unknown): Uint8Array[] {
    const writer = new Writer(spare);
    spare = spare.subarray(0, 0); // a getter of the value may encode another one
    writer.value(value);
    writer.flush();
    spare = writer.rest();
    return writer.parts;
}

const SHORT = 32; // bytes of a text up to which reading them one by one is faster than a decoder

/** Short keys of ASCII that were read lately, by their length, first and last byte: an answer repeats the same ones for each hit. */
const KEYS = new Array<string>(256).fill("");
const KEY_BYTES = new Uint8Array(KEYS.length * SHORT);

class Reader {
    private readonly view: DataView;
    private at = 0;

    constructor(private readonly bytes: Uint8Array) {
        this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }

    private take(n: number): number {
        const at = this.at;
        if (n > this.bytes.length - at) throw new RangeError(`the CBOR ends too early: ${n} bytes are missing behind byte ${at}`);
        this.at += n;
        return at;
    }

    end(): void {
        if (this.at < this.bytes.length) throw new RangeError(`the CBOR goes on behind its value, at byte ${this.at}`);
    }

    private big(info: number): bigint | number {
        if (info < 24) return info;
        if (info === 24) return this.view.getUint8(this.take(1));
        if (info === 25) return this.view.getUint16(this.take(2));
        if (info === 26) return this.view.getUint32(this.take(4));
        if (info !== 27) throw new RangeError(`a length of unknown form before byte ${this.at} of the CBOR`);
        const n = this.view.getBigUint64(this.take(8));
        return n <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(n) : n;
    }

    private length(info: number): number {
        const n = this.big(info);
        if (typeof n === "bigint" || n > this.bytes.length - this.at) this.take(Number.MAX_SAFE_INTEGER);
        return n as number;
    }

    private string(n: number): string {
        const at = this.take(n);
        if (n <= SHORT) {
            let s = "";
            let i = at;
            for (; i < at + n; i++) {
                const byte = this.bytes[i] as number;
                if (byte > 127) break;
                s += String.fromCharCode(byte);
            }
            if (i === at + n) return s;
        }
        return utf8.decode(this.bytes.subarray(at, at + n));
    }

    private key(n: number): string {
        if (n === 0 || n > SHORT) return this.string(n);
        const { bytes, at } = this;
        const slot = (31 * n + 7 * (bytes[at] as number) + (bytes[at + n - 1] as number)) % KEYS.length;
        const begin = slot * SHORT;
        if ((KEYS[slot] as string).length === n) {
            let i = 0;
            while (i < n && KEY_BYTES[begin + i] === bytes[at + i]) i++;
            if (i === n) {
                this.at += n;
                return KEYS[slot] as string;
            }
        }
        const key = this.string(n);
        if (key.length === n) {
            KEYS[slot] = Object.keys({ [key]: 0 })[0] as string; // the engine's own string, by which it stores members sooner
            KEY_BYTES.set(bytes.subarray(at, at + n), begin);
        }
        return key;
    }

    /** Float64 outside of columns are vectors, rotations and matrices: plain arrays, as in JSON. */
    private tagged(tag: number, plain: boolean): unknown {
        const first = this.view.getUint8(this.take(1));
        const major = first >> 5;
        if (major !== 2) throw new RangeError(`the tag ${tag} before byte ${this.at} of the CBOR wants bytes`);
        const n = this.length(first & 31);
        const at = this.take(n);
        if (tag === 2 || tag === 3) {
            const hex = Array.from(this.bytes.subarray(at, at + n), (byte) => byte.toString(16).padStart(2, "0")).join("");
            const magnitude = BigInt(`0x0${hex}`);
            return tag === 2 ? magnitude : -1n - magnitude;
        }
        if (tag === TAG.u8) return this.bytes.slice(at, at + n);
        const kind = tag === TAG.u32 ? Uint32Array : tag === TAG.f32 ? Float32Array : tag === TAG.f64 ? Float64Array : undefined;
        if (!kind || n % kind.BYTES_PER_ELEMENT !== 0)
            throw new RangeError(`the tag ${tag} before byte ${at} of the CBOR is unknown`);
        if (plain && tag === TAG.f64) {
            const out = new Array<number>(n / 8);
            for (let i = 0; i < out.length; i++) out[i] = this.view.getFloat64(at + 8 * i, true);
            return out;
        }
        const from = this.bytes.byteOffset + at;
        const size = kind.BYTES_PER_ELEMENT;
        if (LITTLE && from % size === 0) return new kind(this.bytes.buffer as ArrayBuffer, from, n / size);
        const copy = this.bytes.slice(at, at + n);
        return new kind((LITTLE ? copy : swapped(copy, size)).buffer as ArrayBuffer);
    }

    value(depth: number, plain: boolean): unknown {
        if (depth > DEPTH) throw new RangeError(`the CBOR has more than ${DEPTH} levels`);
        const first = this.view.getUint8(this.take(1));
        const info = first & 31;
        switch (first >> 5) {
            case 0:
                return this.big(info);
            case 1: {
                const n = this.big(info);
                return typeof n === "bigint" ? -1n - n : n === Number.MAX_SAFE_INTEGER ? -1n - BigInt(n) : -1 - n;
            }
            case 2: {
                const n = this.length(info);
                const at = this.take(n);
                return this.bytes.slice(at, at + n);
            }
            case 3:
                return this.string(this.length(info));
            case 4: {
                const out = new Array<unknown>(this.length(info));
                for (let i = 0; i < out.length; i++) out[i] = this.value(depth + 1, plain);
                return out;
            }
            case 5: {
                const out: Record<string, unknown> = {};
                for (let n = this.length(info); n > 0; n--) {
                    const head = this.view.getUint8(this.take(1));
                    if (head >> 5 !== 3) throw new RangeError(`a key before byte ${this.at} of the CBOR is no text`);
                    const key = this.key(this.length(head & 31));
                    const member = this.value(depth + 1, plain && key !== "columns");
                    if (key === "__proto__") Object.defineProperty(out, key, { value: member, enumerable: true });
                    else out[key] = member;
                }
                return out;
            }
            case 6:
                return this.tagged(Number(this.big(info)), plain);
            default:
                if (info === 20 || info === 21) return info === 21;
                if (info === 22) return null;
                if (info === 26) return this.view.getFloat32(this.take(4));
                if (info === 27) return this.view.getFloat64(this.take(8));
                throw new RangeError(`a simple value before byte ${this.at} of the CBOR is unknown`);
        }
    }
}

/** The value of CBOR. Arrays of ids, and the arrays inside `columns`, are typed: views on the bytes where they are aligned,
 * else copies. Whole numbers beyond 2^53 are bigints. */
export function decode(bytes: Uint8Array): unknown {
    const reader = new Reader(bytes);
    const value = reader.value(0, true);
    reader.end();
    return value;
}
