// What probes draw into the scene: points, lines, arrows, spheres and boxes of lines.
import {
    BoxGeometry,
    BufferGeometry,
    type Color,
    ConeGeometry,
    EdgesGeometry,
    Group,
    LineBasicMaterial,
    LineLoop,
    LineSegments,
    Matrix4,
    Mesh,
    MeshBasicMaterial,
    Points,
    PointsMaterial,
    Quaternion,
    Vector3,
} from "three";
import { type Box, matrixOf, point } from "./box";

export type Tint = "ask" | "hit" | "accent";
export type Mark = { tint: Tint } & (
    | { kind: "point"; at: number[] }
    | { kind: "line"; from: number[]; to: number[] }
    | { kind: "arrow"; from: number[]; to: number[] }
    | { kind: "sphere"; center: number[]; radius: number }
    | { kind: "box"; box: Pick<Box, "center" | "half_extents" | "rotation" | "angle"> }
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
const DOT = new BufferGeometry().setFromPoints([new Vector3()]);

/** On top of all boxes, or what is inside of one could not be seen. */
const ON_TOP = { depthTest: false, depthWrite: false, transparent: true };

export class Marks {
    readonly group = new Group();
    private readonly heads: { mesh: Mesh; tip: Vector3; length: number }[] = [];

    show(marks: Mark[], colors: Record<Tint, Color>): void {
        for (const child of this.group.children) {
            const { geometry, material } = child as Mesh;
            if (![BOX_EDGES, CIRCLE, HEAD, DOT].includes(geometry)) geometry.dispose();
            (material as LineBasicMaterial).dispose();
        }
        this.group.clear();
        this.heads.length = 0;
        for (const mark of marks) this.add(mark, colors[mark.tint]);
        for (const child of this.group.children) child.renderOrder = 3;
    }

    private add(mark: Mark, color: Color): void {
        const line = () => new LineBasicMaterial({ color, ...ON_TOP });
        if (mark.kind === "point") {
            const dot = new Points(DOT, new PointsMaterial({ color, size: 9, sizeAttenuation: false, ...ON_TOP }));
            dot.position.copy(point(mark.at));
            this.group.add(dot);
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
            box.matrix.copy(matrixOf(mark.box, 1e-6));
            this.group.add(box);
        } else {
            const from = point(mark.from);
            const to = point(mark.to);
            this.group.add(new LineSegments(new BufferGeometry().setFromPoints([from, to]), line()));
            const length = from.distanceTo(to);
            if (mark.kind === "arrow" && length > 0) {
                const head = new Mesh(HEAD, new MeshBasicMaterial({ color, ...ON_TOP }));
                head.position.copy(to);
                head.quaternion.setFromUnitVectors(UP, to.clone().sub(from).divideScalar(length));
                this.heads.push({ mesh: head, tip: to, length });
                this.group.add(head);
            }
        }
    }

    /** Heads keep their size on the screen. `pixel` is the size of a pixel at a point of the scene. */
    resize(pixel: (at: Vector3) => number): void {
        for (const { mesh, tip, length } of this.heads) mesh.scale.setScalar(Math.min(14 * pixel(tip), 0.6 * length));
    }
}

export function boxOutline(color: Color): LineSegments {
    const outline = new LineSegments(BOX_EDGES, new LineBasicMaterial({ color, ...ON_TOP }));
    outline.matrixAutoUpdate = false;
    outline.matrix = new Matrix4();
    outline.renderOrder = 2;
    return outline;
}
