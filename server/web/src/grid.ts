// Where the boxes of a picture are, so that what a ray hits is found without a look at all of them: by the spheres around them, each in the
// cell of its centre. Spheres of about one size make a level, whose cells are as large as its largest sphere is wide, so that one reaches half
// a cell beyond its own at most.
import type { Ray } from "three";

const LEAST = -20; // of levels, which are powers of two
const MOST = 100;
const ACROSS = 9; // cells of a slab that a ray looks into, about
const NONE = -1;

/** Of one level: how many spheres there are, and where their centres have been at most. */
class Level {
    count = 0;
    readonly low = [Infinity, Infinity, Infinity];
    readonly high = [-Infinity, -Infinity, -Infinity];

    constructor(readonly half: number) {} // of a cell

    hold(center: ArrayLike<number>, from: number): void {
        for (let axis = 0; axis < 3; axis++) {
            const at = center[from + axis];
            if (at < this.low[axis]) this.low[axis] = at;
            if (at > this.high[axis]) this.high[axis] = at;
        }
    }
}

export class Grid {
    tried = 0; // spheres that the last ray was tried against
    private readonly heads: Int32Array; // the first sphere of each bucket, which holds the spheres of one cell or more
    private readonly next: Int32Array;
    private readonly before: Int32Array;
    private readonly bucket: Int32Array; // of each sphere, or NONE
    private readonly level: Uint8Array;
    private used = 0; // spheres from here on were never put
    private readonly levels: (Level | undefined)[] = [];

    /** @param room for so many spheres */
    constructor(room: number) {
        this.heads = new Int32Array(2 ** Math.ceil(Math.log2(2 * room + 2))).fill(NONE);
        this.next = new Int32Array(room);
        this.before = new Int32Array(room);
        this.bucket = new Int32Array(room).fill(NONE);
        this.level = new Uint8Array(room);
    }

    /** Puts sphere `i` there, wherever it was before. The centre stands at `from`; the radius is given squared. */
    put(i: number, center: ArrayLike<number>, from: number, radius: number): void {
        const number = Math.min(MOST, Math.max(0, Math.ceil(Math.log2(radius) / 2) - LEAST));
        this.levels[number] ??= new Level(2 ** (number + LEAST));
        const level = this.levels[number];
        const cell = 2 * level.half;
        level.hold(center, from);
        if (i >= this.used) this.used = i + 1;
        const bucket = this.bucketOf(number, Math.floor(center[from] / cell), Math.floor(center[from + 1] / cell), Math.floor(center[from + 2] / cell));
        if (this.bucket[i] === bucket && this.level[i] === number) return;
        this.drop(i);
        level.count++;
        this.level[i] = number;
        this.bucket[i] = bucket;
        this.before[i] = NONE;
        this.next[i] = this.heads[bucket];
        if (this.next[i] !== NONE) this.before[this.next[i]] = i;
        this.heads[bucket] = i;
    }

    private drop(i: number): void {
        const { next, before, bucket, heads } = this;
        if (bucket[i] === NONE) return;
        const level = this.levels[this.level[i]];
        if (level) level.count--;
        if (before[i] === NONE) heads[bucket[i]] = next[i];
        else next[before[i]] = next[i];
        if (next[i] !== NONE) before[next[i]] = before[i];
        bucket[i] = NONE;
    }

    /** Only the first `count` spheres are left. */
    trim(count: number): void {
        for (let i = count; i < this.used; i++) this.drop(i);
        this.used = Math.min(this.used, count);
    }

    private bucketOf(level: number, a: number, b: number, c: number): number {
        let sum = Math.imul(level + 1, 0x27d4eb2f) ^ Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca6b) ^ Math.imul(c, 0xc2b2ae35);
        sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
        return (sum ^ (sum >>> 13)) & (this.heads.length - 1);
    }

    /**
     * Tries the spheres near the ray, whose direction has the length 1; those it enters are among them.
     * @param visit gives how far along the ray others are still wanted; what is farther may be left out
     * Cost: the cells along the ray, or, of a level where these are more, all spheres.
     */
    along({ origin, direction }: Ray, visit: (i: number) => number): void {
        const [o, d] = [origin.toArray(), direction.toArray()];
        const main = [0, 1, 2].reduce((best, axis) => (Math.abs(d[axis]) > Math.abs(d[best]) ? axis : best), 0);
        this.tried = 0;
        const near: [level: number, begin: number, end: number][] = [];
        const whole = new Set<number>();
        for (const [number, level] of this.levels.entries()) {
            if (!level || level.count === 0) continue;
            const part = clip(level, o, d);
            if (!part) continue;
            if ((ACROSS * ((part[1] - part[0]) * Math.abs(d[main]))) / (2 * level.half) + 3 * ACROSS < level.count) near.push([number, ...part]);
            else whole.add(number);
        }
        let far = Infinity;
        if (whole.size > 0)
            for (let i = 0; i < this.used; i++) {
                if (this.bucket[i] === NONE || !whole.has(this.level[i])) continue;
                this.tried++;
                far = visit(i);
            }
        for (const [number, begin, end] of near) far = this.walk(number, begin, Math.min(end, far), o, d, main, far, visit);
    }

    /** Goes through the cells of one level, slab by slab across the axis along which the ray goes fastest. */
    private walk(number: number, begin: number, end: number, o: number[], d: number[], main: number, far: number, visit: (i: number) => number): number {
        const { half } = this.levels[number] as Level;
        const reach = half * 1.001;
        const cell = 2 * half;
        const [u, v] = [(main + 1) % 3, (main + 2) % 3];
        const step = d[main] < 0 ? -1 : 1;
        const at = (axis: number, t: number) => o[axis] + t * d[axis];
        const first = Math.floor((at(main, begin) - step * reach) / cell);
        const slabs = Math.abs(Math.floor((at(main, end) + step * reach) / cell) - first);
        const place = [0, 0, 0];
        for (let n = 0; n <= slabs; n++) {
            place[main] = first + step * n;
            // while the ray is so near to the slab, it may enter spheres whose centres lie in it
            const [low, high] = [place[main] * cell - reach, (place[main] + 1) * cell + reach];
            const enter = Math.max(begin, ((step > 0 ? low : high) - o[main]) / d[main]);
            const leave = Math.min(end, ((step > 0 ? high : low) - o[main]) / d[main]);
            if (enter > far) return far;
            const [u0, u1] = cells(at(u, enter), at(u, leave), reach, cell);
            const [v0, v1] = cells(at(v, enter), at(v, leave), reach, cell);
            for (let a = 0; a <= u1 - u0; a++)
                for (let b = 0; b <= v1 - v0; b++) {
                    place[u] = u0 + a;
                    place[v] = v0 + b;
                    for (let i = this.heads[this.bucketOf(number, place[0], place[1], place[2])]; i !== NONE; i = this.next[i]) {
                        if (this.level[i] !== number) continue;
                        this.tried++;
                        far = visit(i);
                    }
                }
        }
        return far;
    }
}

/** The first and the last cell between two coordinates, and so much beyond. */
function cells(a: number, b: number, reach: number, cell: number): [number, number] {
    return [Math.floor((Math.min(a, b) - reach) / cell), Math.floor((Math.max(a, b) + reach) / cell)];
}

/** From where to where along the ray it may enter spheres of the level; null: nowhere. */
function clip({ low, high, half }: Level, o: number[], d: number[]): [number, number] | null {
    let [begin, end] = [0, Infinity];
    const reach = half * 1.001;
    for (let axis = 0; axis < 3; axis++) {
        const [from, to] = [low[axis] - reach - o[axis], high[axis] + reach - o[axis]];
        if (d[axis] === 0) {
            if (from > 0 || to < 0) return null;
            continue;
        }
        begin = Math.max(begin, Math.min(from / d[axis], to / d[axis]));
        end = Math.min(end, Math.max(from / d[axis], to / d[axis]));
    }
    return begin <= end ? [begin, end] : null;
}
