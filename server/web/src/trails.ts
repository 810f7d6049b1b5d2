// Where the selected boxes were: a line through their centres that fades, and outlines of them on the way.
import { BufferGeometry, type Color, Float32BufferAttribute, Group, LineBasicMaterial, LineSegments } from "three";
import { matrixOf, point } from "./box";
import { ON_TOP } from "./marks";
import { Outlines } from "./outlines";
import type { Store } from "./store";

const BOXES = 8; // of the selection
const BACK_MS = 3000; // of what was seen
const ON_MS = 1000; // after what is shown, where that is the past
const GHOSTS = 6; // of a box

export class Trails {
    readonly group = new Group();
    shown = true;
    private readonly lines = new LineSegments(new BufferGeometry(), new LineBasicMaterial({ vertexColors: true, ...ON_TOP }));
    private readonly ghosts = new Outlines();
    private color: Color | null = null;
    private drawn = false;

    constructor(private readonly store: Store) {
        this.lines.frustumCulled = false;
        this.lines.visible = false;
        this.lines.renderOrder = 2;
        this.group.add(this.lines, this.ghosts.lines);
    }

    paint(color: Color): void {
        this.color = color;
        this.ghosts.paint(color);
    }

    /** Brings them to what is selected and shown now, if they are wanted. */
    update(wanted: boolean): void {
        const { store } = this;
        const names = this.shown && wanted ? store.selection.slice(0, BOXES) : [];
        if (names.length === 0 && !this.drawn) return;
        const seq = store.past ? store.past.seq : store.ring.newest;
        const now = seq === undefined ? null : store.ring.moment(seq);
        const [places, colors]: number[][] = [[], []];
        const ghosts = [];
        for (const name of now ? names : []) {
            const box = store.shown.boxes.get(name);
            if (!box || !now) continue;
            const [since, until] = [now.heard - BACK_MS, now.heard + (store.past ? ON_MS : 0)];
            const path = store.ring.path(name, since, until);
            for (let i = 1; i < path.length; i++)
                for (const { heard, pose } of [path[i - 1], path[i]]) {
                    const fade = Math.min(1, (heard - since) / BACK_MS);
                    places.push(...point(pose.center).toArray());
                    colors.push(...(this.color?.toArray() ?? [0, 0, 0]), 0.15 + 0.85 * fade);
                }
            for (let n = 1; n <= GHOSTS; n++) {
                const heard = now.heard - (n / GHOSTS) * BACK_MS;
                const at = [...path].reverse().find((step) => step.heard <= heard);
                if (at) ghosts.push(matrixOf({ half_extents: box.half_extents, ...at.pose }));
            }
        }
        const { geometry } = this.lines;
        geometry.dispose();
        geometry.setAttribute("position", new Float32BufferAttribute(places, 3));
        geometry.setAttribute("color", new Float32BufferAttribute(colors, 4));
        this.lines.visible = places.length > 0;
        this.ghosts.show(ghosts);
        this.drawn = places.length > 0 || ghosts.length > 0;
    }
}
