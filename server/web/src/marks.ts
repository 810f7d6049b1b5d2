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
    type Material,
    Mesh,
    MeshBasicMaterial,
    Quaternion,
    ShaderMaterial,
    SphereGeometry,
    Vector2,
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

// a shaft has one width on the screen, however near the eye it passes
const SHAFT_VERTEX = `
uniform vec2 radii;
void main() {
    float radius = mix(radii.x, radii.y, position.y);
    vec3 at = vec3(radius * position.x, position.y, radius * position.z);
    gl_Position = projectionMatrix * modelViewMatrix * vec4(at, 1.0);
}`;
const SHAFT_FRAGMENT = `
uniform vec3 color;
void main() { gl_FragColor = vec4(color, 1.0); }`;

/** On top of all boxes, or what is inside of one could not be seen. */
export const ON_TOP = { depthTest: false, depthWrite: false, transparent: true };

export class Marks {
    readonly group = new Group();
    /** What keeps its size on the screen is scaled by these. */
    private readonly sized: ((pixel: (at: Vector3) => number) => void)[] = [];

    show(marks: Mark[], colors: Record<Tint, Color>): void {
        for (const child of this.group.children) ((child as Mesh).material as Material).dispose();
        this.group.clear();
        this.sized.length = 0;
        for (const mark of marks) this.add(mark, colors[mark.tint]);
        for (const child of this.group.children) child.renderOrder = 3;
    }

    private add(mark: Mark, color: Color): void {
        const line = () => new LineBasicMaterial({ color, ...ON_TOP });
        const plain = () => new MeshBasicMaterial({ color, ...ON_TOP });
        const solid = (geometry: BufferGeometry, at: Vector3, material: Material = plain()) => {
            const mesh = new Mesh(geometry, material);
            mesh.position.copy(at);
            this.group.add(mesh);
            return mesh;
        };
        if (mark.kind === "point") {
            const at = point(mark.at);
            const dot = solid(DOT, at);
            this.sized.push((pixel) => dot.scale.setScalar(DOT_PX * pixel(at)));
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
            const radii = new Vector2();
            const uniforms = { color: { value: color }, radii: { value: radii } };
            const shaders = { vertexShader: SHAFT_VERTEX, fragmentShader: SHAFT_FRAGMENT };
            const material = new ShaderMaterial({ uniforms, ...shaders, ...ON_TOP });
            const shaft = solid(SHAFT, from, material);
            shaft.scale.y = length;
            shaft.frustumCulled = false; // its radii are not those of its geometry
            shaft.quaternion.setFromUnitVectors(UP, to.clone().sub(from).divideScalar(length));
            this.sized.push((pixel) => radii.set(pixel(from), pixel(to)).multiplyScalar(SHAFT_PX));
            if (mark.kind === "line") return;
            const head = solid(HEAD, to);
            head.quaternion.copy(shaft.quaternion);
            const most = 0.6 * length;
            this.sized.push((pixel) => head.scale.setScalar(Math.min(HEAD_PX * pixel(to), most)));
        }
    }

    /** `pixel` is the size of a pixel at a point of the scene, less than 0 behind the eye. */
    resize(pixel: (at: Vector3) => number): void {
        for (const scale of this.sized) scale(pixel);
    }
}
