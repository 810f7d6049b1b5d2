// What probes draw into the scene: points, lines, arrows, spheres and boxes of lines.
import {
    BoxGeometry,
    BufferGeometry,
    type Color,
    ConeGeometry,
    CylinderGeometry,
    EdgesGeometry,
    Group,
    LineBasicMaterial,
    LineLoop,
    LineSegments,
    Mesh,
    MeshBasicMaterial,
    Quaternion,
    SphereGeometry,
    Vector3,
} from "three";
import { matrixOf, type Numbers, point, type Pose } from "./box";

export type Tint = "ask" | "hit" | "accent" | "miss" | "filtered" | "now";
export type Mark = { tint: Tint } & (
    | { kind: "point"; at: Numbers }
    | { kind: "line"; from: Numbers; to: Numbers }
    | { kind: "arrow"; from: Numbers; to: Numbers }
    | { kind: "sphere"; center: Numbers; radius: number }
    | { kind: "box"; box: Pose }
);

const UP = new Vector3(0, 1, 0);
export const BOX_EDGES = new EdgesGeometry(new BoxGeometry(2, 2, 2));
const CIRCLE = new BufferGeometry().setFromPoints(
    Array.from({ length: 64 }, (_, i) => {
        const angle = (i / 64) * 2 * Math.PI;
        return new Vector3(Math.cos(angle), Math.sin(angle), 0);
    }),
);
const HEAD = new ConeGeometry(0.3, 1, 16).translate(0, -0.5, 0); // its tip at the origin
const SHAFT = new CylinderGeometry(1, 1, 1, 8).translate(0, 0.5, 0); // from the origin to (0, 1, 0)
const DOT = new SphereGeometry(1, 16, 12);
const [HEAD_PX, SHAFT_PX, DOT_PX] = [14, 1.1, 4.5]; // length, radius, radius

/** On top of all boxes, or what is inside of one could not be seen. */
export const ON_TOP = { depthTest: false, depthWrite: false, transparent: true };

export class Marks {
    readonly group = new Group();
    /** What keeps its size on the screen: how it is scaled where a pixel has that size. */
    private readonly sized: { at: Vector3; scale: (pixel: number) => void }[] = [];

    show(marks: Mark[], colors: Record<Tint, Color>): void {
        for (const child of this.group.children) ((child as Mesh).material as MeshBasicMaterial).dispose();
        this.group.clear();
        this.sized.length = 0;
        for (const mark of marks) this.add(mark, colors[mark.tint]);
        for (const child of this.group.children) child.renderOrder = 3;
    }

    private add(mark: Mark, color: Color): void {
        const line = () => new LineBasicMaterial({ color, ...ON_TOP });
        const solid = (geometry: BufferGeometry, at: Vector3) => {
            const mesh = new Mesh(geometry, new MeshBasicMaterial({ color, ...ON_TOP }));
            mesh.position.copy(at);
            this.group.add(mesh);
            return mesh;
        };
        if (mark.kind === "point") {
            const at = point(mark.at);
            const dot = solid(DOT, at);
            this.sized.push({ at, scale: (pixel) => dot.scale.setScalar(DOT_PX * pixel) });
        } else if (mark.kind === "sphere") {
            for (const turn of [
                new Quaternion(),
                new Quaternion().setFromAxisAngle(new Vector3(1, 0, 0), Math.PI / 2),
                new Quaternion().setFromAxisAngle(UP, Math.PI / 2),
            ]) {
                const circle = new LineLoop(CIRCLE, line());
                circle.position.copy(point(mark.center));
                circle.quaternion.copy(turn);
                circle.scale.setScalar(Math.max(mark.radius, 1e-9));
                this.group.add(circle);
            }
        } else if (mark.kind === "box") {
            const box = new LineSegments(BOX_EDGES, line());
            box.matrixAutoUpdate = false;
            box.matrix.copy(matrixOf(mark.box));
            this.group.add(box);
        } else {
            const [from, to] = [point(mark.from), point(mark.to)];
            const length = from.distanceTo(to);
            if (length === 0) return;
            const shaft = solid(SHAFT, from);
            shaft.quaternion.setFromUnitVectors(UP, to.clone().sub(from).divideScalar(length));
            const middle = from.clone().lerp(to, 0.5);
            this.sized.push({ at: middle, scale: (pixel) => shaft.scale.set(SHAFT_PX * pixel, length, SHAFT_PX * pixel) });
            if (mark.kind === "line") return;
            const head = solid(HEAD, to);
            head.quaternion.copy(shaft.quaternion);
            this.sized.push({ at: to, scale: (pixel) => head.scale.setScalar(Math.min(HEAD_PX * pixel, 0.6 * length)) });
        }
    }

    /** `pixel` is the size of a pixel at a point of the scene. */
    resize(pixel: (at: Vector3) => number): void {
        for (const { at, scale } of this.sized) scale(pixel(at));
    }
}
