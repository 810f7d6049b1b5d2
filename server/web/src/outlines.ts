// Boxes as lines of one colour on top of everything else, in one draw call however many they are.
import { type Color, InstancedBufferAttribute, InstancedBufferGeometry, LineSegments, type Matrix4, ShaderMaterial } from "three";
import { BOX_EDGES, ON_TOP } from "./marks";

const VERTEX = `
attribute mat4 place;
void main() { gl_Position = projectionMatrix * (viewMatrix * (place * vec4(position, 1.0))); }`;
const FRAGMENT = `
uniform vec3 color;
void main() { gl_FragColor = vec4(color, 1.0); }`;

export class Outlines {
    readonly lines: LineSegments<InstancedBufferGeometry, ShaderMaterial>;

    constructor() {
        const geometry = new InstancedBufferGeometry();
        geometry.setAttribute("position", BOX_EDGES.getAttribute("position").clone()); // its own, for it is disposed when it grows
        this.lines = new LineSegments(geometry, new ShaderMaterial({ vertexShader: VERTEX, fragmentShader: FRAGMENT, uniforms: { color: { value: null } }, ...ON_TOP }));
        this.lines.frustumCulled = false;
        this.lines.renderOrder = 2;
        this.show([]);
    }

    paint(color: Color): void {
        this.lines.material.uniforms.color.value = color;
    }

    /** Images of the cube [-1,1]^3. */
    show(matrices: Matrix4[]): void {
        const { geometry } = this.lines;
        this.lines.visible = matrices.length > 0;
        geometry.instanceCount = matrices.length;
        const known = geometry.getAttribute("place") as InstancedBufferAttribute | undefined;
        const place = known && known.count >= matrices.length ? known : new InstancedBufferAttribute(new Float32Array(16 * Math.max(16, 2 * matrices.length)), 16);
        if (place !== known) {
            geometry.dispose();
            geometry.setAttribute("place", place);
        }
        matrices.forEach((matrix, i) => matrix.toArray(place.array, 16 * i));
        place.needsUpdate = true;
    }
}
