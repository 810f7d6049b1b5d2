// Handles at the selection that move, turn and scale it.
import { type Camera, Object3D, Quaternion, Vector3 } from "three";
import { TransformControls } from "three/examples/jsm/controls/TransformControls.js";
import { type Box, type Pose, turn } from "./box";
import type { Palette } from "./palette";
import { type Change, middleOf, transformed } from "./transform";

export type Handle = "translate" | "rotate" | "scale";

const SNAP_TURN = Math.PI / 12;
const SNAP_SCALE = 0.1;

export class Handles {
    onChange: () => void = () => {};
    /** While they are dragged, and in the end with `done`: the boxes as they were before, and where they are now. */
    onPoses: (boxes: Box[], poses: Map<string, Pose>, done: boolean) => void = () => {};
    onHold: (holding: boolean) => void = () => {};
    handle: Handle = "translate";
    private readonly controls: TransformControls;
    private readonly held = new Object3D();
    private boxes: Box[] = [];
    private readonly about = new Vector3();
    private readonly facing = new Quaternion(); // of what is held, before it is dragged
    private poses: Map<string, Pose> | null = null;

    constructor(camera: Camera, canvas: HTMLElement) {
        this.controls = new TransformControls(camera, canvas);
        this.controls.setSize(matchMedia("(pointer: coarse)").matches ? 1.1 : 0.8);
        this.controls.addEventListener("change", () => this.onChange());
        this.controls.addEventListener("objectChange", () => this.drag());
        this.controls.addEventListener("dragging-changed", (event) => this.hold(event.value as boolean));
    }

    paint({ axisX, axisY, axisZ, accent }: Palette): void {
        this.controls.setColors(axisX, axisY, axisZ, accent);
    }

    get objects(): Object3D[] {
        return [this.held, this.controls.getHelper()];
    }

    set camera(camera: Camera) {
        this.controls.camera = camera;
    }

    /** Is the pointer on one of them, or dragging it? */
    get busy(): boolean {
        return this.controls.axis !== null;
    }

    /** Steps of the scene's unit, degrees and factors, or null for none. */
    setSnap(step: number | null): void {
        this.controls.setTranslationSnap(step);
        this.controls.setRotationSnap(step === null ? null : SNAP_TURN);
        this.controls.setScaleSnap(step === null ? null : SNAP_SCALE);
    }

    attach(boxes: Box[]): void {
        if (this.controls.dragging) return;
        this.boxes = boxes;
        if (boxes.length === 0) {
            this.controls.detach();
            return;
        }
        this.about.copy(middleOf(boxes));
        if (boxes.length === 1) this.facing.copy(turn(boxes[0]));
        else this.facing.identity();
        this.held.position.copy(this.about);
        this.held.quaternion.copy(this.facing);
        this.held.scale.setScalar(1);
        const flat = boxes[0].angle !== undefined;
        const turns = this.handle === "rotate";
        this.controls.setMode(this.handle);
        this.controls.setSpace(this.handle === "translate" ? "world" : "local");
        this.controls.showX = this.controls.showY = !flat || !turns;
        this.controls.showZ = !flat || turns;
        this.controls.attach(this.held);
        this.held.updateMatrixWorld();
        this.controls.getHelper().updateMatrixWorld(); // they are under the pointer from now on, not only when drawn
    }

    private change(): Change {
        const { held } = this;
        if (this.handle === "translate") return { move: held.position.clone().sub(this.about) };
        if (this.handle === "rotate") return { turn: held.quaternion.clone().multiply(this.facing.clone().invert()) };
        if (this.boxes.length === 1) return { scale: held.scale.clone() };
        const most = held.scale.toArray().reduce((a, b) => (Math.abs(Math.log(Math.abs(b))) > Math.abs(Math.log(Math.abs(a))) ? b : a));
        return { scale: new Vector3().setScalar(Math.abs(most)) };
    }

    private drag(): void {
        this.poses = transformed(this.boxes, this.about, this.change());
        this.onPoses(this.boxes, this.poses, false);
    }

    private hold(holding: boolean): void {
        this.onHold(holding);
        const { poses } = this;
        if (holding || !poses) return;
        this.poses = null;
        this.onPoses(this.boxes, poses, true);
    }
}
