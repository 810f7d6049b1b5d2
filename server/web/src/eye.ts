// The cameras: in perspective, and along an axis without. Turned, shifted and zoomed by pointers and keys.
import { Box3, Matrix4, OrthographicCamera, PerspectiveCamera, type Quaternion, Ray, Vector3 } from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import type { Axes } from "./axes";
import type { Bounds } from "./instances";

export type Side = "perspective" | "top" | "front" | "side";

const FIELD_OF_VIEW = 45; // degrees
const SLOPE = Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
const MARGIN = 1.06; // of the scene when all of it is framed
const FRAMING_STEPS = 16;
const KEY_TURN = Math.PI / 24;
const KEY_ZOOM = 1.15;

const Y = new Vector3(0, 1, 0);

/** From where one looks, with y up and right-handed axes. */
const FROM: Record<Side, Vector3> = {
    perspective: new Vector3(0.5, 0.72, 1).normalize(),
    top: new Vector3(0, 1, 0),
    front: new Vector3(0, 0, 1),
    side: new Vector3(1, 0, 0),
};

/** What OrbitControls keeps to itself. */
interface Turning {
    _rotateLeft(angle: number): void;
    _panLeft(distance: number, matrix: Matrix4): void;
    readonly _quat: Quaternion; // takes what is up to y
    readonly _quatInverse: Quaternion;
}

export class Eye {
    onMove: () => void = () => {};
    side: Side = "perspective";
    axes: Axes = { up: "y", hand: "right" };
    private readonly perspective = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.1, 1000);
    private readonly flat = new OrthographicCamera(-1, 1, 1, -1, -1000, 1000);
    private readonly orbit: OrbitControls;
    private width = 1;
    private height = 1;
    private moved = false; // by a person, since `look`
    private framed: Bounds | null = null; // by `look`

    constructor(canvas: HTMLElement) {
        this.orbit = new OrbitControls(this.perspective, canvas);
        this.orbit.zoomToCursor = true;
        this.orbit.addEventListener("change", () => this.onMove());
        this.orbit.addEventListener("start", () => (this.moved = true));
        canvas.addEventListener("keydown", (event) => this.key(event));
        for (const camera of [this.perspective, this.flat]) this.mirror(camera);
        const orbit = this.orbit as unknown as Turning;
        const [turn, shift] = [orbit._rotateLeft.bind(orbit), orbit._panLeft.bind(orbit)];
        orbit._rotateLeft = (angle) => turn(this.mirrored * angle);
        orbit._panLeft = (distance, matrix) => shift(this.mirrored * distance, matrix);
    }

    /** -1 where left and right are exchanged, else 1. */
    private get mirrored(): 1 | -1 {
        return this.axes.hand === "left" ? -1 : 1;
    }

    /** Left-handed axes are shown as a mirror shows right-handed ones: only the projection knows. */
    private mirror(camera: PerspectiveCamera | OrthographicCamera): void {
        const plain = camera.updateProjectionMatrix.bind(camera);
        camera.updateProjectionMatrix = () => {
            plain();
            if (this.mirrored > 0) return;
            for (const i of [0, 4, 8, 12]) camera.projectionMatrix.elements[i] *= -1;
            camera.projectionMatrixInverse.copy(camera.projectionMatrix).invert();
        };
    }

    /** A direction that is meant with y up and right-handed axes, as the axes are. */
    oriented({ x, y, z }: Vector3): Vector3 {
        const near = this.mirrored * z;
        return this.axes.up === "y" ? new Vector3(x, y, near) : new Vector3(x, -near, y);
    }

    get camera(): PerspectiveCamera | OrthographicCamera {
        return this.side === "perspective" ? this.perspective : this.flat;
    }

    get target(): Vector3 {
        return this.orbit.target;
    }

    /** Whether pointers turn, shift and zoom the view now. */
    set enabled(enabled: boolean) {
        this.orbit.enabled = enabled;
    }

    look(side: Side, bounds: Bounds): void {
        this.side = side;
        const { camera, orbit } = this;
        const turns = side === "perspective";
        orbit.object = camera;
        orbit.enableRotate = turns;
        orbit.mouseButtons.LEFT = turns ? 0 : 2; // turn, or pan
        orbit.touches.ONE = turns ? 0 : 1;
        const up = this.oriented(Y);
        camera.up.copy(side === "top" ? this.oriented(new Vector3(0, 0, -1)) : up);
        const { _quat, _quatInverse } = orbit as unknown as Turning;
        _quatInverse.copy(_quat.setFromUnitVectors(up, Y)).invert();
        this.frameFrom(this.oriented(FROM[side]), bounds);
        this.moved = false;
        this.framed = bounds;
    }

    /** As `place` where the eye was moved; null: it is where `look` has put it. */
    get movedTo(): number[] | null {
        return this.moved ? this.place : null;
    }

    /** Where the eye is, what it looks at, and half the height of the picture. */
    get place(): number[] {
        const digits = Math.ceil(4 - Math.log10(this.camera.position.distanceTo(this.target)));
        const half = Number((this.flat.top / this.flat.zoom).toPrecision(5));
        return [...[...this.camera.position, ...this.target].map((value) => Number(value.toFixed(Math.max(0, Math.min(20, digits))))), half];
    }

    /** Goes to such a place, on the side where it was one. */
    goTo(place: number[]): void {
        if (place.length !== 7 || !place.every(Number.isFinite) || place[6] <= 0) return;
        this.camera.position.fromArray(place);
        this.orbit.target.fromArray(place, 3);
        this.flat.zoom = 1;
        this.flat.top = place[6];
        this.flat.bottom = -place[6];
        this.fit();
        this.orbit.update();
        this.moved = true;
        this.onMove();
    }

    /** Goes that way, and looks the same way as before. */
    shift(way: Vector3): void {
        this.camera.position.add(way);
        this.target.add(way);
        this.orbit.update();
        this.onMove();
    }

    /** Is the point in the picture? */
    sees(at: Vector3): boolean {
        const { x, y, z } = at.clone().project(this.camera);
        return Math.abs(x) <= 1 && Math.abs(y) <= 1 && z <= 1;
    }

    /** All within the bounds, from where the eye is now. */
    frame(bounds: Bounds): void {
        this.moved = true;
        this.frameFrom(this.camera.position.clone().sub(this.orbit.target).normalize(), bounds);
    }

    /** Looks so from that direction that all corners of the bounds are in sight, and the picture is as full as can be. */
    private frameFrom(from: Vector3, { middle, reach }: Bounds): void {
        const aspect = this.width / this.height;
        this.camera.position.copy(middle).add(from);
        this.camera.lookAt(middle);
        const frame = new Matrix4().makeRotationFromQuaternion(this.camera.quaternion).invert();
        const corners = Array.from({ length: 8 }, (_, corner) =>
            new Vector3(corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1).multiply(reach).applyMatrix4(frame),
        );
        const half = Math.max(MARGIN * Math.max(...corners.map((at) => Math.max(Math.abs(at.y), Math.abs(at.x) / aspect))), 1e-6);
        const shift = new Vector3(); // of the eye: what is near takes more of the picture than what is far
        let distance = half / SLOPE;
        for (let i = 0; i < FRAMING_STEPS && this.side === "perspective"; i++) {
            const need = (at: Vector3) => at.z + (MARGIN * Math.max(Math.abs(at.y - shift.y), Math.abs(at.x - shift.x) / aspect)) / SLOPE;
            distance = Math.max(...corners.map(need), half * 1e-3);
            const seen = corners.map((at) => at.clone().sub(shift).divideScalar(Math.max(distance - at.z, half * 1e-3)));
            const box = new Box3().setFromPoints(seen);
            const off = box.getCenter(new Vector3()).multiplyScalar(distance / 2);
            shift.add(off.setZ(0));
        }
        this.orbit.target.copy(middle).add(shift.applyQuaternion(this.camera.quaternion));
        this.camera.position.copy(this.orbit.target).addScaledVector(from, distance);
        this.flat.zoom = 1;
        this.flat.top = half;
        this.flat.bottom = -half;
        this.fit();
        this.orbit.update();
        this.onMove();
    }

    resize(width: number, height: number): void {
        this.width = width;
        this.height = height;
        if (this.framed && !this.moved) this.frameFrom(this.oriented(FROM[this.side]), this.framed);
        else this.fit();
    }

    private fit(): void {
        const aspect = this.width / this.height;
        this.perspective.aspect = aspect;
        this.flat.left = this.flat.bottom * aspect;
        this.flat.right = this.flat.top * aspect;
        this.camera.updateProjectionMatrix();
    }

    /** Near and far planes for what is there, before a picture is drawn. */
    clip({ middle, reach }: Bounds): void {
        const distance = this.camera.position.distanceTo(this.target);
        const all = 4 * (reach.length() + middle.distanceTo(this.target)) + distance;
        this.perspective.near = Math.max(distance / 200, 1e-7);
        this.perspective.far = all;
        this.flat.near = -all;
        this.flat.far = all;
        this.camera.updateProjectionMatrix();
    }

    /** How large a pixel is at a point of the scene, even along a line; below 0 behind the eye. */
    readonly pixel = (at: Vector3): number => {
        const { camera, flat } = this;
        const ahead = () => camera.getWorldDirection(new Vector3());
        const depth = () => at.clone().sub(camera.position).dot(ahead());
        const half = camera === flat ? flat.top / flat.zoom : SLOPE * depth();
        return (2 * half) / this.height;
    };

    /** How far from its target the picture reaches where the ground is seen. */
    get horizon(): number {
        if (this.camera === this.flat) return (4 * Math.hypot(this.flat.top, this.flat.right)) / this.flat.zoom;
        return 4 * this.camera.position.distanceTo(this.target);
    }

    /** Of a point of the picture, in pixels from its top left: normalised device coordinates. */
    device({ x, y }: { x: number; y: number }): [number, number] {
        return [(x / this.width) * 2 - 1, 1 - (y / this.height) * 2];
    }

    /** Where a point of the scene is in the picture, in pixels from its top left. */
    pixelOf(at: Vector3): { x: number; y: number } {
        const { x, y } = at.clone().project(this.camera);
        return { x: ((x + 1) / 2) * this.width, y: ((1 - y) / 2) * this.height };
    }

    rayAt(pixel: { x: number; y: number }): Ray {
        const [u, v] = this.device(pixel);
        const near = new Vector3(u, v, -1).unproject(this.camera);
        const far = new Vector3(u, v, 1).unproject(this.camera);
        return new Ray(near, far.sub(near).normalize());
    }

    private key(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const { camera, target } = this;
        const offset = camera.position.clone().sub(target);
        const [across, up] = [0, 1].map((column) => new Vector3().setFromMatrixColumn(camera.matrix, column));
        const turns = this.side === "perspective" && !event.shiftKey;
        const [right, y] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
        const zoom = { "+": 1 / KEY_ZOOM, "=": 1 / KEY_ZOOM, "-": KEY_ZOOM }[event.key] ?? 1;
        const x = this.mirrored * right;
        if (x === 0 && y === 0 && zoom === 1) return;
        event.preventDefault();
        this.moved = true;
        if (turns) {
            const polar = offset.angleTo(camera.up) - y * KEY_TURN;
            offset.applyAxisAngle(camera.up, x * KEY_TURN);
            if (polar > 0.02 && polar < Math.PI - 0.02) offset.applyAxisAngle(across, -y * KEY_TURN);
        } else {
            const step = (this.pixel(target) * this.height) / 20;
            target.addScaledVector(across, x * step).addScaledVector(up, y * step);
        }
        if (camera === this.flat) this.flat.zoom /= zoom;
        else offset.multiplyScalar(zoom);
        camera.position.copy(target).add(offset);
        camera.updateProjectionMatrix();
        this.orbit.update();
        this.onMove();
    }
}
