// The grid with its two axes, without an end: it fades out. Its steps follow the zoom. Drawn first, so that boxes cover it.
import { DoubleSide, Mesh, PlaneGeometry, ShaderMaterial, Vector2, Vector3 } from "three";
import type { Palette } from "./palette";

export type Plane = "xz" | "xy" | "zy";

const LEAST_PX = 9; // between two lines

const VERTEX = `
varying vec2 at;
uniform vec3 u; uniform vec3 v; uniform vec2 center; uniform float radius;
void main() {
    at = center + radius * position.xy;
    gl_Position = projectionMatrix * (viewMatrix * vec4(at.x * u + at.y * v, 1.0));
}`;
const FRAGMENT = `
varying vec2 at;
uniform vec2 center; uniform float radius; uniform float step; uniform float fine;
uniform vec3 minor; uniform vec3 major; uniform vec3 axisU; uniform vec3 axisV; uniform vec3 back;
float lines(vec2 p, float every, float wide) {
    vec2 q = p / every;
    vec2 slope = max(fwidth(q), vec2(1e-9));
    vec2 near = abs(fract(q - 0.5) - 0.5) / slope;
    vec2 line = (1.0 - smoothstep(wide - 0.5, wide + 0.5, near)) * clamp(1.0 - 2.0 * slope, 0.0, 1.0);
    return max(line.x, line.y);
}
void main() {
    vec3 color = mix(back, minor, fine * lines(at, step, 0.5));
    color = mix(color, major, lines(at, 10.0 * step, 0.5));
    vec2 off = abs(at) / max(fwidth(at), vec2(1e-9));
    color = mix(color, axisU, 1.0 - smoothstep(0.4, 1.2, off.y));
    color = mix(color, axisV, 1.0 - smoothstep(0.4, 1.2, off.x));
    float away = distance(at, center) / radius;
    gl_FragColor = vec4(mix(color, back, smoothstep(0.3, 0.95, away)), 1.0);
}`;

export class Ground {
    readonly mesh: Mesh<PlaneGeometry, ShaderMaterial>;
    private readonly u = new Vector3();
    private readonly v = new Vector3();

    constructor() {
        const names = ["u", "v", "center", "radius", "step", "fine", "minor", "major", "axisU", "axisV", "back"];
        const material = new ShaderMaterial({
            vertexShader: VERTEX,
            fragmentShader: FRAGMENT,
            uniforms: Object.fromEntries(names.map((name) => [name, { value: null }])),
            depthTest: false,
            depthWrite: false,
            side: DoubleSide,
        });
        material.uniforms.u.value = this.u;
        material.uniforms.v.value = this.v;
        this.mesh = new Mesh(new PlaneGeometry(2, 2), material);
        this.mesh.frustumCulled = false;
        this.mesh.renderOrder = -1;
    }

    /** The plane through the origin, along two of the axes: "xz", "xy" or "zy". */
    span(plane: Plane, palette: Palette): void {
        const { uniforms } = this.mesh.material;
        const colors = { x: palette.axisX, y: palette.axisY, z: palette.axisZ };
        const [u, v] = [...plane] as ("x" | "y" | "z")[];
        this.u.set(0, 0, 0)[u] = 1;
        this.v.set(0, 0, 0)[v] = 1;
        uniforms.axisU.value = colors[u];
        uniforms.axisV.value = colors[v];
        uniforms.minor.value = palette.grid;
        uniforms.major.value = palette.gridMain;
        uniforms.back.value = palette.back;
    }

    /** Around `center`, for a picture where a pixel has that size there. */
    lay(center: Vector3, radius: number, pixel: number): void {
        const { uniforms } = this.mesh.material;
        const decades = Math.log10(pixel * LEAST_PX);
        uniforms.center.value = new Vector2(center.dot(this.u), center.dot(this.v));
        uniforms.radius.value = radius;
        uniforms.step.value = 10 ** Math.ceil(decades);
        uniforms.fine.value = Math.ceil(decades) - decades; // the finest lines come in with the zoom
    }
}
