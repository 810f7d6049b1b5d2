// Shows in a corner how the axes of the scene lie in the picture.
import { type Quaternion, Vector3 } from "three";

const LENGTH = 20;
const AXES = { x: new Vector3(1, 0, 0), y: new Vector3(0, 1, 0), z: new Vector3(0, 0, 1) };

export class Compass {
    constructor(private readonly root: Element) {}

    /** For a camera turned so, and a picture that may be mirrored. */
    show(camera: Quaternion, mirrored: boolean): void {
        const inverse = camera.clone().invert();
        for (const [name, axis] of Object.entries(AXES)) {
            const { x: right, y } = axis.clone().applyQuaternion(inverse).multiplyScalar(LENGTH);
            const x = mirrored ? -right : right;
            const line = this.root.querySelector(`line.${name}`);
            line?.setAttribute("x2", x.toFixed(1));
            line?.setAttribute("y2", (-y).toFixed(1));
            const text = this.root.querySelector<SVGElement>(`text.${name}`);
            text?.setAttribute("x", (x * 1.38).toFixed(1));
            text?.setAttribute("y", (-y * 1.38).toFixed(1));
            const seen = Math.hypot(x, y) > LENGTH / 6; // an axis towards the eye is only a dot
            text?.setAttribute("visibility", seen ? "visible" : "hidden");
        }
    }
}
