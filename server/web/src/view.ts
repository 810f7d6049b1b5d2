// The picture: puts boxes, ground, outlines, marks and handles before the eye, and says what is clicked, dragged and hovered.
// Draws only when something has changed.
import { Box3, LinearSRGBColorSpace, Plane, type Ray, Scene, Vector3, WebGLRenderer } from "three";
import { Along } from "./along";
import type { Axes } from "./axes";
import { type Box, matrixOf, point, type Pose } from "./box";
import type { Client } from "./client";
import { Colouring } from "./colouring";
import { Compass } from "./compass";
import { el } from "./dom";
import { Eye, type Side } from "./eye";
import { Ground } from "./ground";
import { type Handle, Handles } from "./handles";
import { type Bounds, boundsOf, Instances } from "./instances";
import { type Mark, Marks } from "./marks";
import { Outlines } from "./outlines";
import { type Palette, readPalette } from "./palette";
import { type Pixel, Pointer } from "./pointer";
import type { Store } from "./store";
import { Trails } from "./trails";

/** As Snapshot.contact. */
export type Least = 0 | 1 | 2;

const LEAST_FRAMED = 1e-3; // of the scene's size
const LEAST_REVEALED = 0.05;
const GRIP_PX = { mouse: 9, finger: 22 }; // around a point that is dragged

/** Pixels of the picture a pixel of the page. */
const ratio = () => Math.min(devicePixelRatio, 2);

export class View {
    /** Of a click: the box and the point of the scene under the pointer, and how large a pixel is there. */
    onClick: (box: string | null, at: Vector3 | null, pixel: number, more: boolean) => void = () => {};
    /** Of the pointer over a point of the scene. */
    onAim: (at: Vector3) => void = () => {};
    /** Of a press that moves, while `dragFrom` gives a point of the plane in which it moves. */
    onDrag: (at: Vector3) => void = () => {};
    dragFrom: () => Vector3 | null = () => null;
    /** Of handles that are dragged: the boxes as they were, and where they are now. */
    onPass: (boxes: Box[], poses: Map<string, Pose>) => void = () => {};
    /** Points that can be dragged; those that size something move as the eye sees them, the others in their plane. */
    grips: () => { at: Vector3; sizes: boolean }[] = () => [];
    onGrip: (grip: number, at: Vector3, pixel: number) => void = () => {};
    /** Of handles that are let go: the boxes as they were, and where they are to be. */
    onPoses: (boxes: Box[], poses: Map<string, Pose>) => void = () => {};
    /** Of a rectangle drawn around boxes. */
    onArea: (boxes: string[], more: boolean) => void = () => {};
    onLook: () => void = () => {};
    /** The eye is elsewhere. */
    onMove: () => void = () => {};

    private readonly renderer: WebGLRenderer;
    private readonly scene = new Scene();
    private readonly eye: Eye;
    private readonly boxes = new Instances();
    private readonly ground = new Ground();
    private readonly selected = new Outlines();
    private readonly hovered = new Outlines();
    private readonly marks = new Marks();
    private readonly trails: Trails;
    private readonly along: Along;
    readonly colouring: Colouring;
    private readonly handles: Handles;
    private readonly compass: Compass;
    private readonly area = el("div", { id: "area", hidden: true });
    private palette: Palette = readPalette();
    private shownMarks: Mark[] = [];
    private hits = new Set<string>();
    private framed = ""; // the scene that the camera has been set for
    private scheduled = false;
    private prepared = false; // to draw
    private size = ""; // of the picture
    private pointer: Pixel | null = null;
    private looking = false; // for what is under the pointer
    private preview: Map<string, Pose> | null = null; // what handles do, until the daemon has it
    private chosenAxes: Axes = { up: "y", hand: "right" };
    only: Least = 0; // what is shown: all, only what touches or overlaps something, only what overlaps
    private elsewhere: Map<string, Pose> | null = null; // boxes that are shown where they were

    /** Throws where WebGL 2 is missing. */
    constructor(
        private readonly root: HTMLElement,
        private readonly tip: HTMLElement,
        compass: Element,
        private readonly store: Store,
        client: Client,
    ) {
        const canvas = el("canvas");
        // at once as large as it will be: a picture of another size costs much at first
        canvas.width = Math.floor(root.clientWidth * ratio());
        canvas.height = Math.floor(root.clientHeight * ratio());
        this.renderer = new WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
        this.colouring = new Colouring(store, client, this.palette);
        this.colouring.onChange = (names) => (names ? this.recolour(names) : this.colour());
        this.renderer.outputColorSpace = LinearSRGBColorSpace;
        this.renderer.debug.checkShaderErrors = false; // to ask for them is to wait for the graphics card
        canvas.tabIndex = 0;
        canvas.setAttribute("role", "application");
        canvas.setAttribute(
            "aria-label",
            "The scene. Arrow keys turn the view, plus and minus zoom, F frames all boxes. The list of boxes says the same in words.",
        );
        root.append(canvas, this.area);
        this.compass = new Compass(compass);
        this.eye = new Eye(canvas);
        this.handles = new Handles(this.eye.camera, canvas);
        this.trails = new Trails(store);
        this.along = new Along(store);
        this.scene.add(this.trails.group, this.boxes.group, this.ground.mesh, this.marks.group, this.selected.lines, this.hovered.lines, ...this.handles.objects);

        this.eye.onMove = () => {
            this.draw();
            this.onMove();
        };
        this.handles.onChange = () => this.draw();
        this.handles.onHold = (holding) => (this.eye.enabled = !holding);
        this.handles.onPoses = (boxes, poses, done) => this.pose(boxes, poses, done);
        this.listen(new Pointer(canvas));
        canvas.addEventListener("webglcontextrestored", () => this.draw());
        new ResizeObserver(() => this.resize()).observe(root);
        matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint());

        store.on(["boxes"], () => this.follow());
        store.on(["pairs"], () => this.recolour());
        store.on(["selection"], () => this.lookAt());
        store.on(["selection", "status", "tool"], () => this.outline());
        store.on(["hover"], () => this.hover());
        this.resize();
        this.paint();
        this.prepare();
    }

    /** Lets the graphics card read the programs that every picture needs, while boxes are still on their way. */
    private prepare(): void {
        const { renderer, scene, eye } = this;
        const tells = renderer.extensions.has("KHR_parallel_shader_compile"); // when it has done so
        const objects = [this.boxes.group, this.ground.mesh];
        void Promise.all(objects.map((object) => (tells ? renderer.compileAsync(object, eye.camera, scene) : renderer.compile(object, eye.camera, scene)))).then(() => {
            this.prepared = true;
            this.draw();
        });
    }

    get side(): Side {
        return this.eye.side;
    }

    get handle(): Handle {
        return this.handles.handle;
    }

    private get flat(): boolean {
        return this.store.dimensions === 2;
    }

    // ---- What is shown -------------------------------------------------------------------------------

    /** Colours as the style sheet has them now. */
    private paint(): void {
        const { palette } = this;
        Object.assign(palette, readPalette());
        this.scene.background = palette.back;
        this.boxes.paint(palette);
        this.selected.paint(palette.accent);
        this.hovered.paint(palette.ink);
        this.trails.paint(palette.trail);
        this.handles.paint(palette);
        this.span();
        this.sync();
        this.show(this.shownMarks, this.hits);
    }

    private span(): void {
        const upright = this.eye.axes.up;
        const ground = upright === "y" ? "xz" : "xy";
        this.ground.span(this.side === "front" ? (upright === "y" ? "xy" : "xz") : this.side === "side" ? "zy" : ground, this.palette);
    }

    private sync(): void {
        const { store } = this;
        this.boxes.sync(store.shown.boxes, this.flat);
        this.displace();
        if (this.framed !== store.loaded) {
            this.framed = store.loaded;
            this.look("perspective");
        }
        this.goAlong();
        this.colour();
        this.outline();
    }

    /** Shows what has changed. */
    private follow(): void {
        const { store } = this;
        if (store.restocked) {
            this.sync();
            return;
        }
        for (const name of store.moved) {
            const box = store.shown.boxes.get(name);
            if (box && this.boxes.move(box)) continue;
            this.sync();
            return;
        }
        this.displace();
        this.recolour();
        this.goAlong();
        this.outline();
    }

    private goAlong(): void {
        const way = this.along.step(this.preview !== null);
        if (way) this.eye.shift(way);
    }

    /** What is dragged stays with the handles, and what is shown elsewhere there. */
    private displace(): void {
        for (const poses of [this.elsewhere, this.preview]) for (const [name, pose] of poses ?? []) this.boxes.preview(name, pose);
    }

    /** Shows these boxes where they were; null: where they are. */
    showElsewhere(poses: Map<string, Pose> | null): void {
        for (const name of this.elsewhere?.keys() ?? []) {
            const box = this.store.shown.boxes.get(name);
            if (box && !poses?.has(name)) this.boxes.preview(name, box);
        }
        this.elsewhere = poses;
        this.displace();
        this.outline();
    }

    private colour(): void {
        this.boxes.colour(this.colouring.of);
        this.store.shown.met.clear();
        this.lookAt();
        this.draw();
    }

    /** Where contacts have changed, or what else colours say. */
    private recolour(names: Set<string> = this.store.shown.met): void {
        const { met } = this.store.shown;
        this.boxes.colourSome(names, this.colouring.of);
        const { selection } = this.store;
        if (selection.length > 0 && (this.only > 0 || selection.some((name) => met.has(name)))) this.lookAt();
        else if (this.only > 0) this.boxes.hide(met, (name) => this.store.shown.contact(name) < this.only);
        met.clear();
        this.draw();
    }

    setOnly(only: Least): void {
        this.only = only;
        this.lookAt();
        this.draw();
    }

    /** What is selected, what that meets, and what is found stand forth from the rest. */
    private lookAt(): void {
        const { selection, shown } = this.store;
        const forth = selection.length === 0 ? null : new Set(selection.flatMap((name) => [name, ...(shown.touched.get(name)?.keys() ?? [])]));
        const met = () => [...shown.touched.keys()].filter((name) => shown.contact(name) >= this.only);
        this.boxes.look(this.hits, forth, this.only > 0 ? met() : null);
    }

    /** As it is, or as the handles are about to leave it, or where it is shown. */
    private seen(box: Box): Box {
        return { ...box, ...this.elsewhere?.get(box.name), ...this.preview?.get(box.name) };
    }

    private outline(): void {
        const { store } = this;
        const chosen = store.chosen.map((box) => this.seen(box));
        this.selected.show(chosen.map(matrixOf));
        this.trails.update(this.elsewhere === null); // which says itself where boxes were
        this.handles.attach(store.editable && store.tool === "select" ? chosen : []);
        this.hover();
    }

    private hover(): void {
        const { hover, shown } = this.store;
        const box = hover === null ? undefined : shown.boxes.get(hover);
        this.hovered.show(box && !this.store.selection.includes(box.name) ? [matrixOf(this.seen(box))] : []); // those selected have an outline
        this.label();
        this.draw();
    }

    private label(): void {
        const { hover, shown } = this.store;
        const box = hover === null ? undefined : shown.boxes.get(hover);
        this.tip.hidden = !box || !this.pointer;
        if (!box || !this.pointer) return;
        const others = shown.touched.get(box.name)?.size ?? 0;
        const contacts = others > 0 && `${others} ${others === 1 ? "contact" : "contacts"}`;
        this.tip.textContent = [box.name, box.entity, contacts].filter(Boolean).join(" · ");
        const left = Math.min(this.pointer.x + 14, Math.max(0, this.root.clientWidth - this.tip.offsetWidth - 8));
        this.tip.style.transform = `translate(${left}px, ${this.pointer.y + 16}px)`;
    }

    /** Marks of a probe, and the boxes that it found. */
    show(marks: Mark[], hits: Set<string>): void {
        const others = hits.size !== this.hits.size || [...hits].some((name) => !this.hits.has(name));
        this.shownMarks = marks;
        this.hits = hits;
        this.marks.show(marks, this.palette);
        if (others) this.lookAt(); // which goes over all boxes
        this.draw();
    }

    get trail(): boolean {
        return this.trails.shown;
    }

    setTrail(on: boolean): void {
        this.trails.shown = on;
        this.outline();
    }

    // ---- Handles -------------------------------------------------------------------------------------

    setHandle(handle: Handle): void {
        this.handles.handle = handle;
        this.outline();
    }

    setSnap(step: number | null): void {
        this.handles.setSnap(step);
    }

    private pose(boxes: Box[], poses: Map<string, Pose>, done: boolean): void {
        this.preview = poses;
        for (const [name, pose] of poses) this.boxes.preview(name, pose);
        this.outline();
        if (done) this.onPoses(boxes, poses);
        else this.onPass(boxes, poses);
    }

    /** What the handles did has been done, or refused: boxes are shown where they are. */
    settle(): void {
        for (const name of this.preview?.keys() ?? []) {
            const box = this.store.shown.boxes.get(name);
            if (box) this.boxes.preview(name, box);
        }
        this.preview = null;
        this.outline();
    }

    // ---- Pointers ------------------------------------------------------------------------------------

    private listen(pointer: Pointer): void {
        const { store } = this;
        let held: { grip: number; at: Vector3; sizes: boolean } | null = null;
        pointer.way = (event) => {
            if (this.handles.busy) return null;
            if (this.dragFrom()) return "drag";
            held = this.gripAt(pointer.pixel(event), event.pointerType !== "mouse");
            if (held) return "grip";
            return store.tool === "area" || (store.tool === "select" && event.shiftKey) ? "area" : "click";
        };
        pointer.onHold = (holding) => {
            this.eye.enabled = !holding;
            if (!holding) this.area.hidden = true;
        };
        let pressed: { name: string | null; at: Vector3 | null } = { name: null, at: null };
        pointer.onPress = (pixel) => (pressed = this.under(pixel)); // what moves may be elsewhere when it is let go
        pointer.onClick = (more) => this.onClick(pressed.name, pressed.at, pressed.at ? this.eye.pixel(pressed.at) : 0, more);
        pointer.onDrag = (pixel) => {
            const at = this.planeOn(this.eye.rayAt(pixel), this.dragFrom());
            if (at) this.onDrag(at);
        };
        pointer.onGrip = (pixel) => {
            if (!held) return;
            const ray = this.eye.rayAt(pixel);
            const facing = new Plane().setFromNormalAndCoplanarPoint(this.eye.camera.getWorldDirection(new Vector3()), held.at);
            const at = held.sizes ? ray.intersectPlane(facing, new Vector3()) : this.planeOn(ray, held.at);
            if (at) this.onGrip(held.grip, at, this.eye.pixel(at));
        };
        pointer.onArea = (from, to, end, more) => this.around(from, to, end, more);
        pointer.onHover = (pixel) => {
            this.pointer = pixel;
            if (pixel === null) store.setHover(null);
            else this.lookUnder();
        };
    }

    private gripAt(pixel: Pixel, coarse: boolean): { grip: number; at: Vector3; sizes: boolean } | null {
        let [least, found]: [number, { grip: number; at: Vector3; sizes: boolean } | null] = [coarse ? GRIP_PX.finger : GRIP_PX.mouse, null];
        for (const [grip, { at, sizes }] of this.grips().entries()) {
            const { x, y } = this.eye.pixelOf(at);
            const far = Math.hypot(x - pixel.x, y - pixel.y);
            if (far < least) [least, found] = [far, { grip, at, sizes }];
        }
        return found;
    }

    private under(pixel: Pixel): { name: string | null; at: Vector3 | null } {
        const ray = this.eye.rayAt(pixel);
        const first = this.boxes.on(ray);
        this.root.dataset.tried = String(this.boxes.tried);
        return first ?? { name: null, at: this.planeOn(ray, null) };
    }

    /** Once a frame, however fast the pointer moves. */
    private lookUnder(): void {
        if (this.looking) return;
        this.looking = true;
        requestAnimationFrame(() => {
            this.looking = false;
            if (!this.pointer) return;
            const { name, at } = this.under(this.pointer);
            this.store.setHover(this.handles.busy ? null : name);
            if (at) this.onAim(at);
            this.root.classList.toggle("grip", this.gripAt(this.pointer, false) !== null);
            this.label();
        });
    }

    private around(from: Pixel, to: Pixel, end: boolean, more: boolean): void {
        const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
        const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
        this.area.hidden = end;
        Object.assign(this.area.style, { left: `${left}px`, top: `${top}px`, width: `${right - left}px`, height: `${bottom - top}px` });
        if (!end) return;
        const [u0, v0] = this.eye.device({ x: left, y: bottom });
        const [u1, v1] = this.eye.device({ x: right, y: top });
        this.onArea(this.boxes.within(this.eye.camera, u0, u1, v0, v1), more);
    }

    /** Where the ray meets the ground, or, seen from the side, the plane through the middle that faces the eye. */
    private planeOn(ray: Ray, through: Vector3 | null): Vector3 | null {
        const normal = this.eye.oriented(this.side === "front" ? new Vector3(0, 0, 1) : this.side === "side" ? new Vector3(1, 0, 0) : new Vector3(0, 1, 0));
        const upright = this.side === "front" || this.side === "side";
        const at = through ?? (upright && !this.flat ? this.boxes.bounds.middle : new Vector3());
        return ray.intersectPlane(new Plane().setFromNormalAndCoplanarPoint(normal, at), new Vector3());
    }

    // ---- The eye -------------------------------------------------------------------------------------

    /** Which axis is up, and the hand of the axes. A scene in the plane has y up. */
    get axes(): Axes {
        return this.chosenAxes;
    }

    setAxes(axes: Axes): void {
        this.chosenAxes = axes;
        this.look(this.side);
    }

    look(side: Side, bounds = this.boxes.bounds): void {
        this.along.end();
        this.eye.axes = this.flat ? { up: "y", hand: "right" } : this.chosenAxes;
        this.boxes.orient(this.eye.oriented(new Vector3(0, 1, 0)), this.eye.axes.hand === "left");
        this.eye.look(this.flat ? "front" : side, bounds);
        this.handles.camera = this.eye.camera;
        this.span();
        this.onLook();
    }

    /** As Eye.movedTo. */
    get movedTo(): number[] | null {
        return this.eye.movedTo;
    }

    /** As Eye.place. */
    get place(): number[] {
        return this.eye.place;
    }

    goTo(place: number[]): void {
        this.along.end();
        this.eye.goTo(place);
    }

    /** Looks at the middle of the scene from so near that half of these boxes may be out of sight. */
    lookAmong(boxes: Box[]): void {
        const { middle } = this.boxes.bounds;
        const away = boxes.map((box) => point(box.center).sub(middle).toArray().map(Math.abs));
        const half = [0, 1, 2].map((axis) => away.map((one) => one[axis]).sort((a, b) => a - b)[Math.floor(away.length / 2)]);
        this.look("perspective", { middle, reach: new Vector3(...half) });
    }

    /** All boxes, or those selected with so many times the room around; with these the eye goes along when they move. */
    frame(room = 1): void {
        const { chosen } = this.store;
        this.along.end();
        if (chosen.length === 0) {
            this.eye.frame(this.boxes.bounds);
            return;
        }
        const { middle, reach } = boundsOf(chosen.map((box) => matrixOf(box).elements));
        this.frameAbout({ middle, reach: reach.multiplyScalar(room) }, LEAST_FRAMED);
        this.along.begin();
    }

    /** Brings points into sight if one of them is not; then others with them. What is outside of the scene need not be seen. */
    reveal(points: Vector3[], others: Vector3[] = []): void {
        const { middle, reach } = this.boxes.bounds;
        const all = new Box3(middle.clone().sub(reach), middle.clone().add(reach));
        const inside = (at: Vector3) => all.clampPoint(at, new Vector3());
        if (points.map(inside).every((at) => this.eye.sees(at))) return;
        const seen = new Box3().setFromPoints([...points, ...others].map(inside));
        this.along.end();
        this.frameAbout({ middle: seen.getCenter(new Vector3()), reach: seen.getSize(new Vector3()).divideScalar(2) }, LEAST_REVEALED);
    }

    /** From wherever one looks. `least`: how much of the scene is seen at least. */
    private frameAbout({ middle, reach }: Bounds, least: number): void {
        this.eye.frame({ middle, reach: new Vector3().setScalar(Math.max(reach.length(), this.boxes.bounds.reach.length() * least)) });
    }

    private resize(): void {
        const { clientWidth, clientHeight } = this.root;
        const size = `${clientWidth} ${clientHeight} ${ratio()}`;
        if (clientWidth === 0 || clientHeight === 0 || size === this.size) return;
        this.size = size;
        this.renderer.setDrawingBufferSize(clientWidth, clientHeight, ratio());
        Object.assign(this.renderer.domElement.style, { width: `${clientWidth}px`, height: `${clientHeight}px` });
        this.eye.resize(clientWidth, clientHeight);
        this.draw();
    }

    private draw(): void {
        if (this.scheduled) return;
        this.scheduled = true;
        requestAnimationFrame(() => {
            this.scheduled = false;
            const { eye, store } = this;
            const { domElement: canvas } = this.renderer;
            const waits = !this.prepared || store.settling || (store.loaded === "" && store.connection === "connecting"); // for the first boxes
            canvas.style.opacity = waits ? "0" : "";
            if (waits) return;
            eye.clip(this.boxes.bounds);
            this.boxes.shadeHeights(this.side === "top");
            this.root.dataset.cubes = String(this.boxes.refine(eye.camera, canvas.height));
            this.marks.resize(eye.pixel);
            this.ground.lay(eye.target, eye.horizon, eye.pixel(eye.target));
            this.compass.show(eye.camera.quaternion, eye.axes.hand === "left");
            this.renderer.render(this.scene, eye.camera);
        });
    }
}
