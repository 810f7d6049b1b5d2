// Boxes of a glTF file: each node with a mesh becomes the box around the mesh, turned, scaled and placed as the node is.
import { Box3, Matrix4, Quaternion, Vector3 } from "three";

interface Node {
    name?: string;
    mesh?: number;
    children?: number[];
    matrix?: number[];
    translation?: number[];
    rotation?: number[];
    scale?: number[];
}

export interface Gltf {
    asset: { version: string };
    scene?: number;
    scenes?: { nodes?: number[] }[];
    nodes?: Node[];
    meshes?: { primitives: { attributes: { POSITION?: number } }[] }[];
    accessors?: { min?: number[]; max?: number[] }[];
}

const MAGIC = 0x46546c67; // "glTF", as a binary file begins
const JSON_AT = 20; // where the JSON of a binary file lies, behind its length

export function isGltf(value: unknown): value is Gltf {
    const asset = (value as { asset?: { version?: unknown } } | null)?.asset;
    return typeof asset?.version === "string";
}

/** The text of a file: of a binary glTF file the JSON in it. */
export function textOf(bytes: ArrayBuffer): string {
    const view = new DataView(bytes);
    const binary = bytes.byteLength >= JSON_AT && view.getUint32(0, true) === MAGIC;
    return new TextDecoder().decode(binary ? new Uint8Array(bytes, JSON_AT, Math.min(view.getUint32(12, true), bytes.byteLength - JSON_AT)) : bytes);
}

/** What the positions of a mesh span, which accessors have to say. */
function spanOf({ meshes = [], accessors = [] }: Gltf, mesh: number): Box3 {
    const span = new Box3();
    for (const { attributes } of meshes[mesh]?.primitives ?? []) {
        const { min, max } = accessors[attributes.POSITION ?? -1] ?? {};
        if (!min || !max) throw new Error(`Mesh ${mesh} of the file does not say what its positions span.`);
        span.expandByPoint(new Vector3().fromArray(min)).expandByPoint(new Vector3().fromArray(max));
    }
    return span;
}

function placeOf({ matrix, translation = [0, 0, 0], rotation = [0, 0, 0, 1], scale = [1, 1, 1] }: Node): Matrix4 {
    if (matrix) return new Matrix4().fromArray(matrix);
    return new Matrix4().compose(new Vector3().fromArray(translation), new Quaternion().fromArray(rotation), new Vector3().fromArray(scale));
}

/** The boxes, each with its name. @throws Error with a sentence about what is wrong. */
export function boxesOfGltf(file: Gltf): Record<string, unknown>[] {
    const nodes = file.nodes ?? [];
    const inner = new Set(nodes.flatMap(({ children = [] }) => children));
    const roots = file.scenes?.[file.scene ?? 0]?.nodes ?? nodes.map((_, i) => i).filter((i) => !inner.has(i));
    const boxes = new Map<string, Record<string, unknown>>();
    const seen = new Set<number>();
    const visit = (i: number, parent: Matrix4) => {
        const node = nodes[i];
        if (!node || seen.has(i)) throw new Error(`Node ${i} of the file is not there, or there twice.`);
        seen.add(i);
        const place = parent.clone().multiply(placeOf(node));
        for (const child of node.children ?? []) visit(child, place);
        if (node.mesh === undefined) return;
        const span = spanOf(file, node.mesh);
        const middle = span.getCenter(new Vector3());
        const stem = node.name || `node-${i}`;
        let name = stem;
        for (let n = 2; boxes.has(name); n++) name = `${stem}-${n}`;
        boxes.set(name, {
            name,
            matrix: place.multiply(new Matrix4().setPosition(middle)).toArray(),
            half_extents: span.getSize(new Vector3()).multiplyScalar(0.5).toArray(),
        });
    };
    for (const root of roots) visit(root, new Matrix4());
    return [...boxes.values()];
}
