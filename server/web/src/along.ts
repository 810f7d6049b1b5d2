// The eye goes along with the boxes that it was set to while they move on their own account.
import { Vector3 } from "three";
import { point } from "./box";
import type { Store } from "./store";

export class Along {
    private selection: string[] | null = null; // whom the eye goes along with, as long as they are selected
    private count = 0; // of them there were so many,
    private at = new Vector3(); // and their middle was here when the eye was where it belongs
    private past = false; // was the past shown then?

    constructor(private readonly store: Store) {}

    /** From now on with the boxes that are selected. */
    begin(): void {
        this.selection = this.store.selection;
        this.look();
    }

    end(): void {
        this.selection = null;
    }

    /** How far the eye has to go now; null: it stays. `held`: the boxes are where a hand has put them. */
    step(held: boolean): Vector3 | null {
        const { store, count, at } = this;
        if (this.selection !== store.selection) this.selection = null;
        if (!this.selection) return null;
        const same = store.chosen.length === count;
        const travels = this.past || store.past !== null;
        this.past = store.past !== null;
        if (!held && same && !travels && !this.selection.some((name) => store.moves(name))) return null; // they may begin to
        this.look();
        return held || !same ? null : this.at.clone().sub(at);
    }

    private look(): void {
        const { chosen } = this.store;
        this.count = chosen.length;
        this.at = new Vector3();
        for (const { center } of chosen) this.at.addScaledVector(point(center), 1 / chosen.length);
    }
}
