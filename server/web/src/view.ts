// The boxes in three dimensions: one draw call for all of them, cameras, picking, and the handles that move a box.
// Draws only when something has changed.
import {
    BoxGeometry,
    Color,
    ColorManagement,
    DoubleSide,
    DynamicDrawUsage,
    GridHelper,
    Group,
    InstancedBufferAttribute,
    InstancedMesh,
    LineBasicMaterial,
    type LineSegments,
    LinearSRGBColorSpace,
    Matrix4,
    Object3D,
    OrthographicCamera,
    PerspectiveCamera,
    Plane,
    Ray,
    Scene,
    ShaderMaterial,
    Vector3,
    WebGLRenderer,
} from "three";
import { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
import { TransformControls } from "three/examples/jsm/controls/TransformControls.js";
import { angleOf, type Box, matrixOf, numbers, point, tidy } from "./box";
import { boxOutline, type Mark, Marks, type Tint } from "./marks";
import type { Store } from "./store";

export type Side = "perspective" | "top" | "front" | "side";
export type Handle = "translate" | "rotate" | "scale";
export type Pose = Pick<Box, "center" | "half_extents" | "rotation" | "angle">;

const FIELD_OF_VIEW = 45; // degrees
const CLICK_PX = 5; // a press that moves less is a click
const MARGIN = 1.1; // of the scene when all of it is framed

const VERTEX = `
varying vec2 vUv; varying vec3 vColor; varying vec3 vNormal;
void main() {
    vUv = uv; vColor = instanceColor; vNormal = normalize(mat3(instanceMatrix) * normal);
    gl_Position = projectionMatrix * viewMatrix * instanceMatrix * vec4(position, 1.0);
}`;
const FRAGMENT = `
uniform vec3 edge; uniform float even;
varying vec2 vUv; varying vec3 vColor; varying vec3 vNormal;
void main() {
    vec2 pixels = min(vUv, 1.0 - vUv) / max(fwidth(vUv), vec2(1e-6));
    float size = 1.0 / max(max(fwidth(vUv).x, fwidth(vUv).y), 1e-6);
    float rim = (1.0 - smoothstep(0.5, 1.5, min(pixels.x, pixels.y))) * smoothstep(2.0, 24.0, size);
    vec3 n = vNormal;
    float light = 0.78 + 0.16 * n.y + 0.08 * n.x + 0.04 * n.z;
    gl_FragColor = vec4(mix(vColor * mix(light, 1.0, even), edge, 0.6 * rim), 1.0);
}`;

ColorManagement.enabled = false; // colours are those of the style sheet, unchanged

type Palette = Record<"free" | "touching" | "colliding" | "edge" | "accent" | "hover" | "grid" | "gridMain" | "back" | Tint, Color>;

export class View {
    /** Of a click: the box and the point of the scene under the pointer. */
    onClick: (box: string | null, at: Vector3 | null, more: boolean) => void = () => {};
    /** Of a press that moves, while `dragging` says so. */
    onDrag: (at: Vector3, end: boolean) => void = () => {};
    dragPlane: () => Vector3 | null = () => null;
    onPose: (name: string, pose: Pose) => void = () => {};
    onSide: () => void = () => {};

    side: Side = "perspective";
    handle: Handle = "translate";
    private readonly renderer: WebGLRenderer;
    private readonly scene = new Scene();
    private readonly perspective = new PerspectiveCamera(FIELD_OF_VIEW, 1, 0.1, 1000);
    private readonly flat = new OrthographicCamera(-1, 1, 1, -1, -1000, 1000);
    private camera: PerspectiveCamera | OrthographicCamera = this.perspective;
    private readonly orbit: OrbitControls;
    private readonly handles: TransformControls;
    private readonly held = new Object3D(); // what the handles hold
    private readonly material: ShaderMaterial;
    private mesh: InstancedMesh;
    private drawn: Box[] = []; // in the order of the instances
    private readonly place = new Map<string, number>();
    private palette!: Palette;
    private readonly outlines = new Group();
    private hoverOutline: LineSegments;
    private readonly marks = new Marks();
    private shownMarks: Mark[] = [];
    private hits = new Set<string>();
    private ground = new Group();
    private extent = 10; // radius of what there is
    private middle = new Vector3();
    private reach = new Vector3(); // half sizes of what there is, along the axes
    private framed = ""; // the scene that the camera has been set for
    private scheduled = false;
    private pressed: { x: number; y: number; dragging: boolean } | null = null;
    private pointer: { x: number; y: number } | null = null;
    private preview: Pose | null = null;

    /** Throws where WebGL 2 is missing. */
    constructor(
        private readonly root: HTMLElement,
        private readonly tip: HTMLElement,
        private readonly store: Store,
    ) {
        this.renderer = new WebGLRenderer({ antialias: true, powerPreference: "high-performance" });
        this.renderer.outputColorSpace = LinearSRGBColorSpace;
        const canvas = this.renderer.domElement;
        canvas.tabIndex = 0;
        canvas.setAttribute("role", "application");
        canvas.setAttribute(
            "aria-label",
            "The scene. Arrow keys turn the view, plus and minus zoom, F frames all boxes. The list of boxes says the same in words.",
        );
        root.append(canvas);
        this.material = new ShaderMaterial({
            vertexShader: VERTEX,
            fragmentShader: FRAGMENT,
            uniforms: { edge: { value: new Color() }, even: { value: 0 } },
            side: DoubleSide,
        });
        this.mesh = this.makeMesh(256);
        this.orbit = new OrbitControls(this.camera, canvas);
        this.orbit.zoomToCursor = true;
        this.orbit.addEventListener("change", () => this.draw());
        this.handles = new TransformControls(this.camera, canvas);
        this.handles.setSize(0.8);
        this.handles.addEventListener("change", () => this.draw());
        this.handles.addEventListener("objectChange", () => this.move());
        this.handles.addEventListener("dragging-changed", (event) => this.hold(event.value as boolean));
        this.hoverOutline = boxOutline(new Color());
        this.scene.add(this.held, this.handles.getHelper(), this.ground, this.outlines, this.hoverOutline, this.marks.group);

        canvas.addEventListener("pointerdown", (event) => this.press(event));
        canvas.addEventListener("pointermove", (event) => this.trace(event));
        canvas.addEventListener("pointerup", (event) => this.release(event));
        canvas.addEventListener("pointercancel", () => (this.pressed = null));
        canvas.addEventListener("pointerleave", () => {
            this.pointer = null;
            store.setHover(null);
        });
        canvas.addEventListener("keydown", (event) => this.key(event));
        canvas.addEventListener("webglcontextrestored", () => this.draw());
        new ResizeObserver(() => this.resize()).observe(root);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());

        store.on(["boxes"], () => this.rebuild());
        store.on(["pairs"], () => this.colour());
        store.on(["selection", "hover", "status", "tool"], () => this.outline());
        this.paint();
        this.resize();
    }

    /** Colours as the style sheet has them now. */
    private paint(): void {
        const style = getComputedStyle(document.documentElement);
        const color = (name: string) => new Color(style.getPropertyValue(`--${name}`).trim());
        this.palette = {
            free: color("box"),
            touching: color("box-touching"),
            colliding: color("box-colliding"),
            edge: color("box-edge"),
            accent: color("accent"),
            hover: color("ink"),
            grid: color("grid"),
            gridMain: color("grid-main"),
            back: color("back"),
            ask: color("ask"),
            hit: color("hit"),
        };
        this.scene.background = this.palette.back;
        this.material.uniforms.edge.value = this.palette.edge;
        (this.hoverOutline.material as LineBasicMaterial).color = this.palette.hover;
        this.layGround();
        this.rebuild();
        this.show(this.shownMarks, this.hits);
    }

    private makeMesh(room: number): InstancedMesh {
        const mesh = new InstancedMesh(new BoxGeometry(2, 2, 2), this.material, room);
        mesh.instanceMatrix.setUsage(DynamicDrawUsage);
        mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(room * 3), 3);
        mesh.frustumCulled = false;
        mesh.count = 0;
        this.scene.add(mesh);
        return mesh;
    }

    // ---- Boxes ---------------------------------------------------------------------------------------

    private rebuild(): void {
        const { store } = this;
        this.drawn = [...store.shown.boxes.values()];
        const flat = store.dimensions === 2;
        // in the plane, small boxes lie on large ones
        if (flat) this.drawn.sort((a, b) => b.half_extents[0] * b.half_extents[1] - a.half_extents[0] * a.half_extents[1]);
        if (this.drawn.length > this.mesh.instanceMatrix.count) {
            this.mesh.removeFromParent();
            this.mesh.geometry.dispose();
            this.mesh.dispose();
            this.mesh = this.makeMesh(2 ** Math.ceil(Math.log2(this.drawn.length)));
        }
        this.material.uniforms.even.value = flat ? 1 : 0;
        this.place.clear();
        this.drawn.forEach((box, i) => {
            this.place.set(box.name, i);
            this.mesh.setMatrixAt(i, this.instance(box, i));
        });
        this.mesh.count = this.drawn.length;
        this.mesh.instanceMatrix.needsUpdate = true;
        this.measure();
        if (this.framed !== store.loaded) {
            this.framed = store.loaded;
            this.layGround();
            this.look(flat ? "front" : "perspective");
        }
        this.colour();
        this.outline();
    }

    private instance(pose: Pose, i: number): Matrix4 {
        const matrix = matrixOf(pose, this.extent * 1e-6);
        if (this.store.dimensions === 2) matrix.elements[14] += ((i + 1) / (this.drawn.length + 1)) * this.extent * 0.01;
        return matrix;
    }

    private measure(): void {
        const low = new Vector3(Infinity, Infinity, Infinity);
        const high = low.clone().negate();
        const corner = new Vector3();
        for (const box of this.drawn) {
            const [x, y, z] = [0, 1, 2].map((axis) => new Vector3().setFromMatrixColumn(matrixOf(box, 0), axis));
            corner.set(
                Math.abs(x.x) + Math.abs(y.x) + Math.abs(z.x),
                Math.abs(x.y) + Math.abs(y.y) + Math.abs(z.y),
                Math.abs(x.z) + Math.abs(y.z) + Math.abs(z.z),
            );
            const center = point(box.center);
            low.min(center.clone().sub(corner));
            high.max(center.add(corner));
        }
        if (this.drawn.length === 0) {
            low.setScalar(-5);
            high.setScalar(5);
        }
        this.middle.addVectors(low, high).divideScalar(2);
        this.reach.subVectors(high, low).divideScalar(2);
        this.extent = Math.max(this.reach.length(), 1e-3);
    }

    private colour(): void {
        const { shown } = this.store;
        const { free, touching, colliding } = this.palette;
        const colors = [free, touching, colliding];
        this.drawn.forEach((box, i) => this.mesh.setColorAt(i, this.hits.has(box.name) ? this.palette.hit : colors[shown.contact(box.name)]));
        if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
        this.draw();
    }

    private outline(): void {
        const { store } = this;
        this.outlines.clear();
        for (const name of store.selection) {
            const box = store.shown.boxes.get(name);
            if (!box) continue;
            const outline = boxOutline(this.palette.accent);
            outline.matrix.copy(matrixOf(this.preview && store.selection.length === 1 ? this.preview : box, this.extent * 1e-6));
            this.outlines.add(outline);
        }
        const hovered = store.hover === null ? undefined : store.shown.boxes.get(store.hover);
        this.hoverOutline.visible = hovered !== undefined;
        if (hovered) this.hoverOutline.matrix.copy(matrixOf(hovered, this.extent * 1e-6));
        this.label();
        this.attach();
        this.draw();
    }

    /** Marks of a probe, and the boxes that it found. */
    show(marks: Mark[], hits: Set<string>): void {
        this.shownMarks = marks;
        this.hits = hits;
        this.marks.show(marks, { ask: this.palette.ask, hit: this.palette.hit, accent: this.palette.accent });
        this.colour();
    }

    private label(): void {
        const { hover } = this.store;
        const shown = hover !== null && this.pointer !== null;
        this.tip.hidden = !shown;
        if (!shown || !this.pointer) return;
        const box = this.store.shown.boxes.get(hover);
        const others = this.store.shown.touched.get(hover)?.size ?? 0;
        this.tip.textContent = `${hover}${box?.entity ? ` · ${box.entity}` : ""}${others ? ` · ${others} ${others === 1 ? "contact" : "contacts"}` : ""}`;
        const { width } = this.root.getBoundingClientRect();
        const left = Math.min(this.pointer.x + 14, Math.max(0, width - this.tip.offsetWidth - 8));
        this.tip.style.transform = `translate(${left}px, ${this.pointer.y + 16}px)`;
    }

    // ---- Handles -------------------------------------------------------------------------------------

    setHandle(handle: Handle): void {
        this.handle = handle;
        this.attach();
        this.draw();
    }

    /** Steps of the scene's unit, degrees and factors, or null for none. */
    setSnap(step: number | null): void {
        this.handles.setTranslationSnap(step);
        this.handles.setRotationSnap(step === null ? null : (15 * Math.PI) / 180);
        this.handles.setScaleSnap(step === null ? null : 0.1);
    }

    private attach(): void {
        if (this.handles.dragging) return;
        const { store } = this;
        const box = store.selected;
        if (!box || !store.editable || store.tool !== "select") {
            this.handles.detach();
            return;
        }
        const flat = store.dimensions === 2;
        this.held.position.copy(point(box.center));
        const matrix = matrixOf(box, 1);
        this.held.quaternion.setFromRotationMatrix(new Matrix4().extractRotation(matrix));
        this.held.scale.setScalar(1);
        this.handles.setMode(this.handle);
        this.handles.setSpace(this.handle === "translate" ? "world" : "local");
        this.handles.showX = this.handles.showY = !flat || this.handle !== "rotate";
        this.handles.showZ = !flat || this.handle === "rotate";
        this.handles.attach(this.held);
    }

    private heldPose(): Pose | null {
        const box = this.store.selected;
        if (!box) return null;
        const flat = this.store.dimensions === 2;
        const moved = !this.held.position.equals(point(box.center));
        const pose: Pose = {
            center: moved ? numbers(this.held.position, flat ? 2 : 3).map(tidy) : box.center,
            half_extents: box.half_extents.map((half, i) => {
                const factor = Math.abs(this.held.scale.getComponent(i));
                return factor === 1 ? half : tidy(half * factor);
            }),
        };
        const turned = this.handle === "rotate";
        if (flat) pose.angle = turned ? angleOf(this.held.quaternion) : box.angle;
        else pose.rotation = turned ? this.held.quaternion.toArray() : box.rotation;
        return pose;
    }

    private move(): void {
        this.preview = this.heldPose();
        const name = this.store.selection[0];
        const i = this.place.get(name);
        if (!this.preview || i === undefined) return;
        this.mesh.setMatrixAt(i, this.instance(this.preview, i));
        this.mesh.instanceMatrix.needsUpdate = true;
        this.outline();
    }

    private hold(holding: boolean): void {
        this.orbit.enabled = !holding;
        if (holding) return;
        const pose = this.preview;
        const name = this.store.selection[0];
        this.preview = null;
        if (pose && name !== undefined) this.onPose(name, pose);
    }

    // ---- Pointer and keys ----------------------------------------------------------------------------

    private pixel(event: PointerEvent): { x: number; y: number } {
        const { left, top } = this.root.getBoundingClientRect();
        return { x: event.clientX - left, y: event.clientY - top };
    }

    private rayAt({ x, y }: { x: number; y: number }): Ray {
        const { clientWidth, clientHeight } = this.root;
        const [u, v] = [(x / clientWidth) * 2 - 1, 1 - (y / clientHeight) * 2];
        const near = new Vector3(u, v, -1).unproject(this.camera);
        const far = new Vector3(u, v, 1).unproject(this.camera);
        return new Ray(near, far.sub(near).normalize());
    }

    /** The first box on the ray, by slabs in each box's own frame. */
    private boxOn(ray: Ray): { name: string; at: Vector3 } | null {
        let best = Infinity;
        let name: string | null = null;
        const matrix = new Matrix4();
        const from = new Vector3();
        const to = new Vector3();
        this.drawn.forEach((box, i) => {
            this.mesh.getMatrixAt(i, matrix);
            matrix.invert();
            from.copy(ray.origin).applyMatrix4(matrix);
            // not a unit vector there: the parameter along it stays the distance in the scene
            to.copy(ray.origin).add(ray.direction).applyMatrix4(matrix).sub(from);
            let enter = -Infinity;
            let leave = Infinity;
            for (let axis = 0; axis < 3; axis++) {
                const o = from.getComponent(axis);
                const d = to.getComponent(axis);
                if (d === 0) {
                    if (Math.abs(o) > 1) return;
                    continue;
                }
                const [a, b] = [(-1 - o) / d, (1 - o) / d];
                enter = Math.max(enter, Math.min(a, b));
                leave = Math.min(leave, Math.max(a, b));
            }
            if (enter > leave || enter < 0 || enter >= best) return; // a box around the eye is not meant
            best = enter;
            name = box.name;
        });
        return name === null ? null : { name, at: ray.at(best, new Vector3()) };
    }

    /** Where the ray meets the ground, or, seen from the side, the plane through the middle that faces the eye. */
    private planeOn(ray: Ray, through: Vector3 | null): Vector3 | null {
        const normal = new Vector3(0, 1, 0);
        if (this.store.dimensions === 2 || this.side === "front") normal.set(0, 0, 1);
        else if (this.side === "side") normal.set(1, 0, 0);
        const at = through ?? (this.side === "front" || this.side === "side" ? this.middle : new Vector3());
        if (this.store.dimensions === 2) at.setZ(0);
        return ray.intersectPlane(new Plane().setFromNormalAndCoplanarPoint(normal, at), new Vector3());
    }

    private press(event: PointerEvent): void {
        if (event.button !== 0 || this.handles.axis !== null) return;
        const through = this.dragPlane();
        this.pressed = { ...this.pixel(event), dragging: through !== null };
        if (through) this.orbit.enabled = false;
    }

    private trace(event: PointerEvent): void {
        const pixel = this.pixel(event);
        if (this.pressed?.dragging) {
            const at = this.planeOn(this.rayAt(pixel), this.dragPlane());
            if (at) this.onDrag(at, false);
            return;
        }
        if (event.pointerType === "touch" || event.buttons !== 0) return;
        this.pointer = pixel;
        requestAnimationFrame(() => {
            if (!this.pointer || this.handles.axis !== null) {
                this.store.setHover(null);
                return;
            }
            this.store.setHover(this.boxOn(this.rayAt(this.pointer))?.name ?? null);
            this.label();
        });
    }

    private release(event: PointerEvent): void {
        const { pressed } = this;
        this.pressed = null;
        if (!pressed) return;
        const pixel = this.pixel(event);
        const ray = this.rayAt(pixel);
        if (pressed.dragging) {
            this.orbit.enabled = true;
            const at = this.planeOn(ray, this.dragPlane());
            if (at) this.onDrag(at, true);
            return;
        }
        if (Math.hypot(pixel.x - pressed.x, pixel.y - pressed.y) > CLICK_PX) return;
        const found = this.boxOn(ray);
        this.onClick(found?.name ?? null, found?.at ?? this.planeOn(ray, null), event.shiftKey);
    }

    private key(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const offset = this.camera.position.clone().sub(this.orbit.target);
        const step = Math.PI / 24;
        const pan = new Vector3();
        const across = new Vector3().setFromMatrixColumn(this.camera.matrix, 0);
        const up = new Vector3().setFromMatrixColumn(this.camera.matrix, 1);
        const reach = this.camera === this.flat ? (this.flat.top - this.flat.bottom) / this.flat.zoom / 20 : offset.length() / 20;
        const turns = this.side === "perspective" && !event.shiftKey;
        const spin = (about: Vector3, angle: number) => offset.applyAxisAngle(about, angle);
        const { y: vertical } = this.camera.up;
        if (event.key === "ArrowLeft") turns ? spin(this.camera.up, -step) : pan.addScaledVector(across, -reach);
        else if (event.key === "ArrowRight") turns ? spin(this.camera.up, step) : pan.addScaledVector(across, reach);
        else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
            const sign = event.key === "ArrowUp" ? 1 : -1;
            const polar = offset.angleTo(this.camera.up);
            if (!turns) pan.addScaledVector(up, sign * reach);
            else if (polar - sign * step > 0.02 && polar - sign * step < Math.PI - 0.02) spin(across, -sign * vertical * step);
        } else if (event.key === "+" || event.key === "=" || event.key === "-") {
            const factor = event.key === "-" ? 1.15 : 1 / 1.15;
            if (this.camera === this.flat) this.flat.zoom /= factor;
            else offset.multiplyScalar(factor);
        } else return;
        event.preventDefault();
        this.orbit.target.add(pan);
        this.camera.position.copy(this.orbit.target).add(offset);
        this.camera.updateProjectionMatrix();
        this.orbit.update();
        this.draw();
    }

    // ---- Cameras -------------------------------------------------------------------------------------

    look(side: Side): void {
        this.side = this.store.dimensions === 2 ? "front" : side;
        this.camera = this.side === "perspective" ? this.perspective : this.flat;
        this.orbit.object = this.camera;
        this.handles.camera = this.camera;
        this.orbit.enableRotate = this.side === "perspective";
        this.orbit.mouseButtons.LEFT = this.side === "perspective" ? 0 : 2; // turn, or pan
        this.orbit.touches.ONE = this.side === "perspective" ? 0 : 1;
        const from = {
            perspective: new Vector3(0.55, 0.62, 1),
            top: new Vector3(0, 1, 0),
            front: new Vector3(0, 0, 1),
            side: new Vector3(1, 0, 0),
        }[this.side].normalize();
        this.camera.up.set(0, this.side === "top" ? 0 : 1, this.side === "top" ? -1 : 0);
        this.frameFrom(from, this.middle, this.reach);
        this.onSide();
    }

    /** All boxes, or those selected. */
    frame(): void {
        const from = this.camera.position.clone().sub(this.orbit.target).normalize();
        const chosen = this.store.selection.map((name) => this.store.shown.boxes.get(name)).filter((box) => box !== undefined);
        if (chosen.length === 0) {
            this.frameFrom(from, this.middle, this.reach);
            return;
        }
        const center = new Vector3();
        for (const box of chosen) center.addScaledVector(point(box.center), 1 / chosen.length);
        const radius = Math.max(...chosen.map((box) => point(box.center).distanceTo(center) + point(box.half_extents).length()));
        this.frameFrom(from, center, new Vector3().setScalar(Math.max(radius, this.extent * 1e-3)));
    }

    /** Looks at `center` from that direction, so that all within `reach` of it along the axes is in sight. */
    private frameFrom(from: Vector3, center: Vector3, reach: Vector3): void {
        const aspect = this.root.clientWidth / Math.max(1, this.root.clientHeight);
        const slope = Math.tan((FIELD_OF_VIEW * Math.PI) / 360);
        this.camera.position.copy(center).add(from);
        this.camera.lookAt(center);
        const frame = new Matrix4().makeRotationFromQuaternion(this.camera.quaternion).invert();
        let half = 0; // of the picture's height at the centre
        let distance = 0;
        for (let corner = 0; corner < 8; corner++) {
            const at = new Vector3(corner & 1 ? 1 : -1, corner & 2 ? 1 : -1, corner & 4 ? 1 : -1).multiply(reach).applyMatrix4(frame);
            const high = MARGIN * Math.max(Math.abs(at.y), Math.abs(at.x) / aspect);
            half = Math.max(half, high);
            distance = Math.max(distance, at.z + high / slope);
        }
        half = Math.max(half, 1e-6);
        this.orbit.target.copy(center);
        this.camera.position.copy(center).addScaledVector(from, Math.max(distance, half));
        this.flat.zoom = 1;
        this.flat.top = half;
        this.flat.bottom = -half;
        this.fit();
        this.orbit.update();
        this.draw();
    }

    private fit(): void {
        const { clientWidth, clientHeight } = this.root;
        const aspect = clientWidth / Math.max(1, clientHeight);
        this.perspective.aspect = aspect;
        this.flat.left = this.flat.bottom * aspect;
        this.flat.right = this.flat.top * aspect;
        this.camera.updateProjectionMatrix();
    }

    private resize(): void {
        const { clientWidth, clientHeight } = this.root;
        if (clientWidth === 0 || clientHeight === 0) return;
        this.renderer.setPixelRatio(Math.min(devicePixelRatio, 2));
        this.renderer.setSize(clientWidth, clientHeight);
        this.fit();
        this.draw();
    }

    private layGround(): void {
        for (const child of this.ground.children) (child as LineSegments).geometry.dispose();
        this.ground.clear();
        const step = 10 ** Math.floor(Math.log10(Math.max(this.extent, 1e-6) / 4));
        const count = Math.min(200, 2 * Math.ceil((this.extent * 1.2) / step));
        const size = count * step;
        // a little below, so that the surface of a floor at 0 is seen and not the grid
        this.ground.position.y = this.store.dimensions === 2 ? 0 : -this.extent * 2e-3;
        this.ground.position.z = this.store.dimensions === 2 ? -this.extent * 0.01 : 0;
        const grid = new GridHelper(size, count, this.palette.gridMain, this.palette.grid);
        if (this.store.dimensions === 2) grid.rotation.x = Math.PI / 2;
        this.ground.add(grid);
        for (const [axis, color] of [
            [new Vector3(1, 0, 0), "--axis-x"],
            [new Vector3(0, 1, 0), "--axis-y"],
            [new Vector3(0, 0, 1), "--axis-z"],
        ] as const) {
            if (this.store.dimensions === 2 && axis.z === 1) continue;
            const paint = getComputedStyle(document.documentElement).getPropertyValue(color).trim();
            const line = new Marks();
            const to = axis.clone().multiplyScalar(axis.y === 1 ? size / 8 : size / 2).toArray();
            const tint = new Color(paint);
            line.show([{ kind: "line", tint: "ask", from: [0, 0, 0], to }], { ask: tint, hit: tint, accent: tint });
            for (const child of line.group.children) {
                const material = (child as LineSegments).material as LineBasicMaterial;
                material.depthTest = true;
                child.renderOrder = 0;
            }
            this.ground.add(...line.group.children);
        }
    }

    // ---- Drawing -------------------------------------------------------------------------------------

    draw(): void {
        if (this.scheduled) return;
        this.scheduled = true;
        requestAnimationFrame(() => {
            this.scheduled = false;
            const distance = this.camera.position.distanceTo(this.orbit.target);
            const reach = this.extent + this.middle.distanceTo(this.orbit.target);
            this.perspective.near = Math.max(distance / 200, 1e-7);
            this.perspective.far = distance + 4 * reach;
            this.flat.near = -4 * reach;
            this.flat.far = distance + 4 * reach;
            this.camera.updateProjectionMatrix();
            const tall = this.root.clientHeight;
            this.marks.resize((at) =>
                this.camera === this.flat
                    ? (this.flat.top - this.flat.bottom) / this.flat.zoom / tall
                    : (2 * Math.tan((FIELD_OF_VIEW * Math.PI) / 360) * this.camera.position.distanceTo(at)) / tall,
            );
            this.renderer.render(this.scene, this.camera);
        });
    }
}
