// A box as the API writes it, and how it stands in three dimensions: a box of a 2-D scene lies in the plane z = 0.
import { Euler, Matrix4, Quaternion, Vector3 } from "three";

export type Numbers = number[];

export interface Box {
    name: string;
    id: number;
    center: Numbers;
    half_extents: Numbers;
    rotation?: Numbers; // [x, y, z, w], in 3-D scenes
    angle?: number; // degrees, in 2-D scenes
    category: number;
    mask: number;
    group: number;
    entity?: string;
    data?: unknown;
    ttl?: number;
    frame?: string; // that it stands in, and where in it
    local?: Pick<Box, "center" | "rotation" | "angle">;
    seen?: number; // the revision that it was read at
}

/** Where a box is, and how large. */
export type Pose = Pick<Box, "center" | "half_extents" | "rotation" | "angle">;

/** What PUT takes. */
export type PutBox = Omit<Box, "name" | "id" | "local" | "seen">;

export const ALL_BITS = 2 ** 32 - 1;
const DEGREES = 180 / Math.PI;

/** As it can be put into any scene: outside of its frame. */
export function putOf(box: Box): PutBox {
    const { center, half_extents, rotation, angle, category, mask, group, entity, data, ttl } = box;
    const put: PutBox = { center, half_extents, category, mask, group };
    if (rotation) put.rotation = rotation;
    if (angle !== undefined) put.angle = angle;
    if (entity !== undefined) put.entity = entity;
    if (data !== undefined) put.data = data;
    if (ttl !== undefined) put.ttl = ttl;
    return put;
}

export function point(numbers: Numbers): Vector3 {
    return new Vector3(numbers[0], numbers[1], numbers[2] ?? 0);
}

/** The numbers that a scene of so many dimensions takes for a point. */
export function numbers(at: Vector3, dimensions: number): Numbers {
    return dimensions === 2 ? [at.x, at.y] : [at.x, at.y, at.z];
}

export function turn(box: Pick<Pose, "rotation" | "angle">): Quaternion {
    if (box.rotation) return new Quaternion(...(box.rotation as [number, number, number, number]));
    return new Quaternion().setFromAxisAngle(new Vector3(0, 0, 1), (box.angle ?? 0) / DEGREES);
}

/** Degrees about x, y and z, in this order of turning frames; a 2-D box has the one angle. */
export function degreesOf(box: Box): Numbers {
    if (box.angle !== undefined) return [box.angle];
    const euler = new Euler().setFromQuaternion(turn(box), "XYZ");
    return [euler.x, euler.y, euler.z].map((radians) => tidy(radians * DEGREES));
}

export function turned(degrees: Numbers): Pick<Pose, "rotation" | "angle"> {
    if (degrees.length === 1) return { angle: degrees[0] };
    const [x, y, z] = degrees.map((d) => d / DEGREES);
    return { rotation: new Quaternion().setFromEuler(new Euler(x, y, z, "XYZ")).toArray() };
}

/** Of a turn in the plane, -180 to 180. */
export function angleOf(quaternion: Quaternion): number {
    const sign = quaternion.w < 0 ? -1 : 1;
    return tidy(2 * Math.atan2(sign * quaternion.z, sign * quaternion.w) * DEGREES);
}

export function withAt(values: Numbers, place: number, value: number): Numbers {
    return values.map((other, i) => (i === place ? value : other));
}

/** Takes the cube [-1,1]^3 onto the box. Half extents of 0 become very small ones, so that the image keeps all its directions. */
export function matrixOf(pose: Pose): Matrix4 {
    const half = point(pose.half_extents);
    const least = Math.max(1e-6 * half.x, 1e-6 * half.y, 1e-6 * half.z, 1e-9);
    return new Matrix4().compose(point(pose.center), turn(pose), half.max(new Vector3(least, least, least)));
}

/** Without the dust of the last digits that turning back and forth leaves. */
export function tidy(value: number): number {
    return Math.abs(value) < 1e-14 ? 0 : Number(value.toPrecision(12));
}

/** A time of a scene's clock, which may count milliseconds since 1970: to the thousandth. */
export function clock(time: number): string {
    return String(Number(time.toFixed(3)));
}

/** A number as people read it. */
export function short(value: number): string {
    return Math.abs(value) < 1e-12 ? "0" : String(Number(value.toPrecision(5)));
}
