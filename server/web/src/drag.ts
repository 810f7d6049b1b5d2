// Boxes that are dragged: others see them on their way, and when they have arrived it is one step to undo.
import type { Box, Pose } from "./box";
import type { Edits, Visit } from "./edits";

const EVERY_MS = 1000 / 30; // at least between two commits

export class Drag {
    private wanted: Map<string, Pose> | null = null;
    private going: Promise<void> | null = null;
    private refused = false;
    private last: Box[]; // as they were sent last
    private readonly visit: Visit;

    /** @param began the boxes as they were before */
    constructor(
        private readonly edits: Edits,
        private readonly began: Box[],
    ) {
        this.last = began;
        this.visit = edits.open;
    }

    /** They are there now. Of places that come faster than they can be sent the newest counts. */
    move(poses: Map<string, Pose>): void {
        this.wanted = poses;
        this.going ??= this.go();
    }

    /** They have arrived. False: refused, as `edits` says. What is begun from now on, an undo for one, comes after it. */
    end(label: string, poses: Map<string, Pose>): Promise<boolean> {
        this.wanted = null;
        return this.edits.arrive(this.visit, label, this.began, () => this.last, poses);
    }

    private async go(): Promise<void> {
        while (this.wanted && !this.refused) {
            const poses = this.wanted;
            this.wanted = null;
            const begun = performance.now();
            const sent = await this.edits.pass(this.visit, this.last, poses);
            if (sent) this.last = sent;
            else this.refused = true; // the end says why
            await new Promise((resolve) => setTimeout(resolve, begun + EVERY_MS - performance.now()));
        }
        this.going = null;
    }
}
