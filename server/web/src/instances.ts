// All boxes as instances of one cube: one draw call, or two where they are very many. Also what is found by their geometry: the first on a ray, those under a
// rectangle of the picture, and how far they reach.
import {
    BackSide,
    BoxGeometry,
    BufferAttribute,
    BufferGeometry,
    type Camera,
    type Color,
    DynamicDrawUsage,
    FrontSide,
    Group,
    InstancedBufferAttribute,
    InstancedMesh,
    Matrix4,
    Points,
    type Ray,
    ShaderMaterial,
    Vector2,
    Vector3,
} from "three";
import { type Box, matrixOf, type Pose } from "./box";
import { largest } from "./detail";
import { Grid } from "./grid";
import type { Palette } from "./palette";

const VERTEX = `
attribute float look; // 1: found, 2: stands back, 4: not shown
uniform vec3 up;
varying vec2 vUv; varying vec3 vColor; varying vec3 vNormal; varying float vLook; varying float vHeight;
void main() {
    vec4 place = instanceMatrix * vec4(position, 1.0);
    vUv = uv; vColor = instanceColor; vNormal = normalize(mat3(instanceMatrix) * normal); vLook = look; vHeight = dot(place.xyz, up);
    gl_Position = look > 3.5 ? vec4(2.0, 2.0, 2.0, 1.0) : projectionMatrix * (viewMatrix * place);
}`;
// edges fade out where a face has too few pixels for them
const FRAGMENT = `
uniform vec3 up; uniform vec3 edge; uniform vec3 hit; uniform vec3 back; uniform float even; uniform float stripe; uniform vec2 heights;
varying vec2 vUv; varying vec3 vColor; varying vec3 vNormal; varying float vLook; varying float vHeight;
void main() {
    float found = step(0.5, mod(vLook + 0.1, 2.0)) * step(mod(gl_FragCoord.x + gl_FragCoord.y, 2.0 * stripe), stripe);
    vec3 color = mix(vColor, hit, found);
    // from above, where no light tells what lies on what, the lower the darker
    color *= heights.y > 0.0 ? mix(0.6, 1.0, clamp((vHeight - heights.x) / heights.y, 0.0, 1.0)) : 1.0;
    vec2 slope = max(fwidth(vUv), vec2(1e-6));
    vec2 pixels = min(vUv, 1.0 - vUv) / slope;
    float rim = (1.0 - smoothstep(0.5, 1.5, min(pixels.x, pixels.y))) * smoothstep(2.0, 24.0, 1.0 / max(slope.x, slope.y));
    vec3 n = normalize(vNormal);
    float light = 0.80 + 0.20 * dot(n, up) + 0.10 * n.x - 0.02 * (n.z + n.y - dot(n, up));
    vec3 shown = mix(color * mix(light, 1.0, even), edge, 0.6 * rim);
    gl_FragColor = vec4(mix(shown, back, 0.65 * step(1.5, vLook)), 1.0);
}`;

// a box as a point of about its size, in its colour and the light on a face
const POINT_VERTEX = `
attribute float size; attribute vec3 tint; attribute float look;
uniform vec3 up; uniform float pixels; uniform vec3 hit; uniform vec3 back; uniform vec2 heights;
varying vec3 vShown;
void main() {
    float shade = heights.y > 0.0 ? mix(0.6, 1.0, clamp((dot(position, up) - heights.x) / heights.y, 0.0, 1.0)) : 1.0;
    vec3 color = mod(look + 0.1, 2.0) > 0.5 ? hit : tint;
    vShown = mix(0.9 * color * shade, back, 0.65 * step(1.5, look));
    gl_Position = look > 3.5 ? vec4(2.0, 2.0, 2.0, 1.0) : projectionMatrix * (viewMatrix * vec4(position, 1.0));
    gl_PointSize = max(1.0, size * projectionMatrix[1][1] * pixels / gl_Position.w);
}`;
const POINT_FRAGMENT = `
varying vec3 vShown;
void main() { gl_FragColor = vec4(vShown, 1.0); }`;

const CUBES = 20_000; // are drawn at most

/** The least and the greatest coordinates. */
class Extent {
    readonly low = [Infinity, Infinity, Infinity];
    readonly high = [-Infinity, -Infinity, -Infinity];

    /** Grows to hold the image of the cube [-1,1]^3 under the matrix that stands at `m`. */
    add(array: ArrayLike<number>, m: number): void {
        for (let axis = 0; axis < 3; axis++) {
            const reach = reachOf(array, m, axis);
            this.low[axis] = Math.min(this.low[axis], array[m + 12 + axis] - reach);
            this.high[axis] = Math.max(this.high[axis], array[m + 12 + axis] + reach);
        }
    }

    /** Does that image reach its very end somewhere, so that without it there might be less? */
    ends(array: ArrayLike<number>, m: number): boolean {
        for (let axis = 0; axis < 3; axis++) {
            const reach = reachOf(array, m, axis);
            if (array[m + 12 + axis] - reach <= this.low[axis] || array[m + 12 + axis] + reach >= this.high[axis]) return true;
        }
        return false;
    }

    get bounds(): Bounds {
        const empty = this.low[0] > this.high[0];
        const [low, high] = empty ? [new Vector3(-5, -5, -5), new Vector3(5, 5, 5)] : [new Vector3().fromArray(this.low), new Vector3().fromArray(this.high)];
        return { middle: low.clone().add(high).divideScalar(2), reach: high.sub(low).divideScalar(2) };
    }
}

function reachOf(m: ArrayLike<number>, at: number, axis: number): number {
    return Math.abs(m[at + axis]) + Math.abs(m[at + 4 + axis]) + Math.abs(m[at + 8 + axis]);
}

export interface Bounds {
    middle: Vector3;
    reach: Vector3; // half sizes along the axes
}

const [FOUND, FAINT, HIDDEN] = [1, 2, 4];

export class Instances {
    readonly group = new Group();
    private readonly material = new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: { edge: { value: null }, hit: { value: null }, back: { value: null }, even: { value: 0 }, stripe: { value: 3 }, heights: { value: new Vector2() }, up: { value: new Vector3(0, 1, 0) } } });
    private readonly points = new ShaderMaterial({ vertexShader: POINT_VERTEX, fragmentShader: POINT_FRAGMENT, uniforms: { ...this.material.uniforms, pixels: { value: 1 } } });
    private mesh = this.makeMesh(256);
    private near: InstancedMesh | null = null; // the largest of very many, as copies
    private far: Points | null = null; // all of them
    private stale = true; // the points say something else than the boxes
    private readonly chosen = new Uint32Array(CUBES);
    private sizes = new Uint8Array(256);
    private drawn: Box[] = []; // in the order of the instances
    private readonly place = new Map<string, number>();
    private radii = new Float64Array(256); // of the spheres around them, squared, and a little more
    private grid: Grid | null = null; // made when something is first looked for
    private flat = false;
    private known: Extent | null = null; // of all that is drawn, or somewhat more

    private makeMesh(room: number): InstancedMesh {
        const mesh = new InstancedMesh(new BoxGeometry(2, 2, 2), this.material, room);
        mesh.instanceMatrix.setUsage(DynamicDrawUsage);
        mesh.instanceColor = new InstancedBufferAttribute(new Float32Array(room * 3), 3);
        mesh.geometry.setAttribute("look", new InstancedBufferAttribute(new Float32Array(room), 1).setUsage(DynamicDrawUsage));
        mesh.frustumCulled = false;
        mesh.count = 0;
        this.group.add(mesh);
        return mesh;
    }

    /** Shows these boxes. A box that has changed is another object, so the others are left as they are. */
    sync(boxes: Map<string, Box>, flat: boolean): void {
        const next = [...boxes.values()];
        // in the plane, small boxes lie on large ones: what is drawn later covers what is there
        if (flat) next.sort((a, b) => area(b) - area(a));
        this.flat = flat;
        this.material.depthTest = !flat;
        this.material.uniforms.even.value = flat ? 1 : 0;
        if (next.length > this.mesh.instanceMatrix.count) {
            this.mesh.removeFromParent();
            this.mesh.geometry.dispose();
            this.mesh.dispose();
            this.mesh = this.makeMesh(2 ** Math.ceil(Math.log2(next.length)));
            this.radii = new Float64Array(this.mesh.instanceMatrix.count);
            this.grid = null;
            this.far?.removeFromParent();
            this.far?.geometry.dispose();
            this.far = null;
            this.drawn = [];
        }
        const { drawn } = this;
        const moved = next.length !== drawn.length || next.some((box, i) => box.name !== drawn[i].name);
        if (moved) {
            this.place.clear();
            next.forEach((box, i) => this.place.set(box.name, i));
        }
        next.forEach((box, i) => {
            if (box !== drawn[i]) this.set(i, box);
        });
        if (next.length === 0) this.grid = null; // what comes next may be anywhere else
        this.grid?.trim(next.length);
        this.mesh.instanceMatrix.addUpdateRange(0, 16 * next.length);
        this.mesh.instanceMatrix.needsUpdate = true;
        this.known = null;
        this.stale = true;
        this.drawn = next;
        this.mesh.count = next.length;
    }

    /** Shows a box as it is now; the others, and which there are, are as before. False where that cannot be: it is drawn in another order. */
    move(box: Box): boolean {
        const i = this.place.get(box.name);
        if (i === undefined || (this.flat && area(box) !== area(this.drawn[i]))) return false;
        this.drawn[i] = box;
        this.put(i, box);
        return true;
    }

    /** Draws very many boxes as points, except those that the camera sees large in a picture so many pixels high. Gives how many cubes are drawn. */
    refine(camera: Camera, height: number): number {
        const { drawn, mesh, chosen } = this;
        const many = !this.flat && drawn.length > CUBES;
        mesh.visible = !many;
        if (this.near) this.near.visible = many;
        if (this.far) this.far.visible = many;
        if (!many) return drawn.length;
        this.near ??= this.makeMesh(CUBES);
        this.far ??= this.makeFar();
        const { near, looks } = this;
        camera.updateMatrixWorld();
        const { elements } = camera.projectionMatrix;
        const clip = new Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse).elements;
        const { array: matrices } = mesh.instanceMatrix;
        const sights: [number, number] = [Math.abs(elements[0]), Math.abs(elements[5])];
        near.count = largest({ count: drawn.length, matrices, radii: this.radii, looks: looks.array }, HIDDEN, clip, sights, height / 2, chosen, this.sizes);
        for (const [from, to] of [
            [mesh.instanceMatrix, near.instanceMatrix],
            [mesh.instanceColor, near.instanceColor],
            [looks, near.geometry.getAttribute("look") as InstancedBufferAttribute],
        ]) {
            if (!from || !to) continue;
            const { array, itemSize } = from;
            for (let n = 0; n < near.count; n++) {
                const start = chosen[n] * itemSize;
                for (let k = 0; k < itemSize; k++) to.array[n * itemSize + k] = array[start + k];
            }
            to.addUpdateRange(0, near.count * itemSize);
            to.needsUpdate = true;
        }
        this.points.uniforms.pixels.value = height / 2;
        if (this.stale) this.fill(this.far.geometry);
        for (const attribute of [mesh.instanceMatrix, mesh.instanceColor, looks]) attribute?.clearUpdateRanges(); // nobody draws them now
        return near.count;
    }

    private makeFar(): Points {
        const room = this.mesh.instanceMatrix.count;
        const geometry = new BufferGeometry();
        for (const [name, width] of Object.entries({ position: 3, size: 1, tint: 3, look: 1 })) geometry.setAttribute(name, new BufferAttribute(new Float32Array(width * room), width).setUsage(DynamicDrawUsage));
        const far = new Points(geometry, this.points);
        far.frustumCulled = false;
        this.group.add(far);
        this.sizes = new Uint8Array(room);
        this.stale = true;
        return far;
    }

    /** A point for each box. One draw of many points costs much less than one of many instances. */
    private fill(geometry: BufferGeometry): void {
        const { mesh, drawn, looks } = this;
        const { array: matrices } = mesh.instanceMatrix;
        const { position, size, tint, look } = geometry.attributes as Record<string, BufferAttribute>;
        const half = (m: number) => Math.hypot(matrices[m], matrices[m + 1], matrices[m + 2]);
        for (let i = 0; i < drawn.length; i++) {
            const m = 16 * i;
            for (let k = 0; k < 3; k++) position.array[3 * i + k] = matrices[m + 12 + k];
            size.array[i] = (half(m) + half(m + 4) + half(m + 8)) / 1.5;
        }
        if (mesh.instanceColor) tint.array.set(mesh.instanceColor.array);
        look.array.set(looks.array);
        for (const attribute of [position, size, tint, look]) attribute.needsUpdate = true;
        geometry.setDrawRange(0, drawn.length);
        this.stale = false;
    }

    private set(i: number, pose: Pose): void {
        this.stale = true;
        this.mesh.setMatrixAt(i, matrixOf(pose));
        this.radii[i] = 1.0001 * pose.half_extents.reduce((sum, half) => sum + half * half, 1e-12);
        this.grid?.put(i, this.mesh.instanceMatrix.array, 16 * i + 12, this.radii[i]);
    }

    private put(i: number, pose: Pose): void {
        const { instanceMatrix } = this.mesh;
        const { array } = instanceMatrix;
        if (this.known?.ends(array, 16 * i)) this.known = null;
        this.set(i, pose);
        this.known?.add(array, 16 * i);
        instanceMatrix.addUpdateRange(16 * i, 16);
        instanceMatrix.needsUpdate = true;
    }

    /** Shows a box elsewhere than it is, until it changes. */
    preview(name: string, pose: Pose): void {
        const i = this.place.get(name);
        if (i !== undefined) this.put(i, pose);
    }

    paint(palette: Palette): void {
        const { edge, hit, back } = this.material.uniforms;
        edge.value = palette.edge;
        hit.value = palette.hit;
        back.value = palette.back;
    }

    /** Seen from above, what is lower is darker. */
    shadeHeights(shaded: boolean): void {
        const { middle, reach } = this.bounds;
        const up: Vector3 = this.material.uniforms.up.value;
        this.material.uniforms.heights.value.set(middle.dot(up) - reach.dot(up), shaded ? 2 * reach.dot(up) : 0);
    }

    /** Which axis is up, and whether the picture is mirrored, so that faces are seen from their backs. */
    orient(up: Vector3, mirrored: boolean): void {
        this.material.uniforms.up.value.copy(up);
        this.material.side = mirrored ? BackSide : FrontSide;
    }

    private get looks(): InstancedBufferAttribute {
        return this.mesh.geometry.getAttribute("look") as InstancedBufferAttribute;
    }

    /** Those found are striped, those that stand back are faint, and of those that are not among `only` nothing is seen. */
    look(found: Set<string>, forth: Set<string> | null, only: Iterable<string> | null): void {
        const { array } = this.looks;
        const rest = forth ? FAINT : 0;
        const set = (names: Iterable<string>, look: number) => {
            for (const name of names) {
                const i = this.place.get(name);
                if (i !== undefined) array[i] = look;
            }
        };
        this.stale = true;
        array.fill(only ? HIDDEN : rest, 0, this.drawn.length);
        set(only ?? [], rest);
        set(forth ?? [], 0);
        set(found, FOUND);
        this.looks.addUpdateRange(0, this.drawn.length);
        this.looks.needsUpdate = true;
    }

    /** Whether these are among those shown, where not all are. */
    hide(names: Iterable<string>, hidden: (name: string) => boolean): void {
        const { looks } = this;
        this.stale = true;
        for (const name of names) {
            const i = this.place.get(name);
            if (i === undefined || (looks.array[i] & FOUND) !== 0) continue;
            looks.array[i] = hidden(name) ? HIDDEN : looks.array[i] & FAINT;
            looks.addUpdateRange(i, 1);
            looks.needsUpdate = true;
        }
    }

    colour(of: (name: string) => Color): void {
        this.stale = true;
        this.drawn.forEach((box, i) => this.mesh.setColorAt(i, of(box.name)));
        this.mesh.instanceColor?.addUpdateRange(0, 3 * this.drawn.length);
        if (this.mesh.instanceColor) this.mesh.instanceColor.needsUpdate = true;
    }

    /** The same for some of them. */
    colourSome(names: Iterable<string>, of: (name: string) => Color): void {
        const { mesh } = this;
        this.stale = true;
        for (const name of names) {
            const i = this.place.get(name);
            if (i === undefined) continue;
            mesh.setColorAt(i, of(name));
            mesh.instanceColor?.addUpdateRange(3 * i, 3);
            if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
        }
    }

    get bounds(): Bounds {
        if (!this.known) {
            this.known = new Extent();
            for (let i = 0; i < this.drawn.length; i++) this.known.add(this.mesh.instanceMatrix.array, 16 * i);
        }
        return this.known.bounds;
    }

    /** The first box on the ray. A box around the eye is not meant. */
    on(ray: Ray): { name: string; at: Vector3 } | null {
        let best = Infinity;
        let found = -1;
        const looks = this.looks.array;
        this.grid ??= this.makeGrid();
        this.grid.along(ray, (i) => {
            if (looks[i] >= HIDDEN) return best;
            const enter = this.enter(ray, i);
            if (enter < 0) return best;
            if (this.flat) found = Math.max(found, i); // in the plane the last is on top
            else if (enter < best || (enter === best && i < found)) [best, found] = [enter, i];
            return best;
        });
        if (found < 0) return null;
        return { name: this.drawn[found].name, at: ray.at(this.enter(ray, found), new Vector3()) };
    }

    private makeGrid(): Grid {
        const grid = new Grid(this.mesh.instanceMatrix.count);
        for (let i = 0; i < this.drawn.length; i++) grid.put(i, this.mesh.instanceMatrix.array, 16 * i + 12, this.radii[i]);
        return grid;
    }

    /** Boxes that the ray was tried against when something was last looked for on one. */
    get tried(): number {
        return this.grid?.tried ?? 0;
    }

    /** Where along the ray it enters a box, by slabs in the box's own frame; negative: nowhere. */
    private enter({ origin: o, direction: d }: Ray, i: number): number {
        const { array } = this.mesh.instanceMatrix;
        let enter = -Infinity;
        let leave = Infinity;
        const m = 16 * i;
        const [x, y, z] = [o.x - array[m + 12], o.y - array[m + 13], o.z - array[m + 14]];
        // most boxes are nowhere near the ray: their spheres are passed by
        const way = x * d.x + y * d.y + z * d.z;
        if (x * x + y * y + z * z - way * way > this.radii[i]) return -1;
        for (let column = m; column < m + 12; column += 4) {
            const [a, b, c] = [array[column], array[column + 1], array[column + 2]];
            const half = a * a + b * b + c * c; // squared, and so are the two that follow scaled
            const from = a * x + b * y + c * z;
            const along = a * d.x + b * d.y + c * d.z;
            if (along === 0) {
                if (Math.abs(from) > half) return -1;
                continue;
            }
            const [s, t] = [(-half - from) / along, (half - from) / along];
            enter = Math.max(enter, Math.min(s, t));
            leave = Math.min(leave, Math.max(s, t));
        }
        return enter <= leave ? enter : -1;
    }

    /** Those whose centres the camera sees within the rectangle, in normalised device coordinates. */
    within(camera: Camera, left: number, right: number, bottom: number, top: number): string[] {
        const matrix = new Matrix4().multiplyMatrices(camera.projectionMatrix, camera.matrixWorldInverse);
        const { array } = this.mesh.instanceMatrix;
        const at = new Vector3();
        return this.drawn
            .filter((_, i) => {
                at.fromArray(array, 16 * i + 12).applyMatrix4(matrix);
                return left <= at.x && at.x <= right && bottom <= at.y && at.y <= top && Math.abs(at.z) <= 1;
            })
            .map(({ name }) => name);
    }
}

/** Of images of the cube [-1,1]^3; without any, those of a cube of 10. */
export function boundsOf(matrices: ArrayLike<number>[]): Bounds {
    const extent = new Extent();
    for (const matrix of matrices) extent.add(matrix, 0);
    return extent.bounds;
}

function area({ half_extents: [a, b] }: Box): number {
    return a * b;
}
