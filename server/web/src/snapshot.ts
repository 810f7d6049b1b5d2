// What is known of one state of a scene: its boxes, and which of them collide.
import type { Box } from "./box";
import { grouped } from "./counts";

export type Relation = "separate" | "touching" | "intersecting" | "contains" | "inside";

export interface Pair {
    a: string;
    b: string;
    relation: Relation | null; // null: not known yet
}

/** The boxes and colliding pairs of one state. */
export class Snapshot {
    boxes = new Map<string, Box>();
    readonly pairs = new Set<Pair>();
    deep = 0; // pairs that overlap, as far as is known: at most touch those of which that was read
    unknown = 0; // pairs of which it was not read
    /** Of the boxes, those whose contacts may have changed since somebody last cleared this. */
    readonly met = new Set<string>();
    readonly touched = new Map<string, Map<string, Pair>>(); // by name, the others that it collides with

    addPair(a: string, b: string, relation: Relation | null): Pair {
        this.removePair(a, b);
        const pair = { a, b, relation };
        this.pairs.add(pair);
        this.tally(pair, 1);
        for (const [one, other] of [
            [a, b],
            [b, a],
        ]) {
            const others = this.touched.get(one);
            if (others) others.set(other, pair);
            else this.touched.set(one, new Map([[other, pair]]));
        }
        return pair;
    }

    removePair(a: string, b: string): void {
        const pair = this.touched.get(a)?.get(b);
        if (!pair) return;
        this.pairs.delete(pair);
        this.tally(pair, -1);
        for (const [one, other] of [
            [a, b],
            [b, a],
        ]) {
            const others = this.touched.get(one);
            others?.delete(other);
            if (others?.size === 0) this.touched.delete(one);
        }
    }

    /** What was read of a pair, which may be none any more. */
    relate(pair: Pair, relation: Relation | null): void {
        if (!this.pairs.has(pair)) return;
        this.tally(pair, -1);
        pair.relation = relation;
        this.tally(pair, 1);
    }

    private tally({ a, b, relation }: Pair, by: number): void {
        if (relation !== "touching") this.deep += by;
        if (relation === null) this.unknown += by;
        this.meet(a, b);
    }

    private meet(...names: string[]): void {
        for (const name of names) if (this.boxes.has(name)) this.met.add(name);
    }

    /** These are the boxes, and no others. */
    setBoxes(boxes: Map<string, Box>): void {
        this.boxes = boxes;
        for (const name of this.met) if (!boxes.has(name)) this.met.delete(name);
    }

    dropBox(name: string): void {
        this.boxes.delete(name);
        this.met.delete(name);
    }

    setPairs(pairs: Iterable<[string, string, Relation | null]>): void {
        for (const { a, b } of this.pairs) this.meet(a, b);
        this.pairs.clear();
        this.touched.clear();
        this.deep = 0;
        this.unknown = 0;
        for (const [a, b, relation] of pairs) this.addPair(a, b, relation);
    }

    /** One like it, that may be taken elsewhere in time. */
    copy(): Snapshot {
        const other = new Snapshot();
        other.setBoxes(new Map(this.boxes));
        for (const { a, b, relation } of this.pairs) other.addPair(a, b, relation);
        return other;
    }

    /** 0: free, 1: touching others at most, 2: reaching into another */
    contact(name: string): 0 | 1 | 2 {
        let worst: 0 | 1 | 2 = 0;
        for (const { relation } of this.touched.get(name)?.values() ?? []) {
            if (relation !== "touching") return 2;
            worst = 1;
        }
        return worst;
    }
}

/** How many pairs overlap, and how many only touch, in words. */
export function counted({ deep, pairs }: Snapshot): string {
    return `pairs: ${grouped(deep)} overlap, ${grouped(pairs.size - deep)} touch`;
}
