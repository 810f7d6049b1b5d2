// Level of detail: of very many boxes those that are large in the picture are drawn as cubes, the others as a point each.
const LEAST_PX = 1.5; // half the size of a cube in the picture, at least
const BUCKETS = 64;
const A_DOUBLING = 4; // buckets
const BEYOND = 1.5; // a sphere beside the axis of a perspective looks larger than its radius says

export interface Many {
    count: number;
    matrices: ArrayLike<number>; // 16 numbers a box, which take the cube [-1,1]^3 onto it
    radii: ArrayLike<number>; // of the spheres around them, squared
    looks: ArrayLike<number>;
}

/**
 * Finds the boxes that are largest in the picture.
 * @param hidden looks from that on are not drawn
 * @param clip takes the scene to clip space, as Matrix4.elements
 * @param across, up how much larger a unit is there, at w = 1
 * @param pixels half the height of the picture
 * @param out receives their places, as many as it has room for: of those of the least size all or none
 * @param sizes room for a number a box
 * @returns how many there are. Cost: two passes over all boxes.
 */
export function largest(many: Many, hidden: number, clip: ArrayLike<number>, [across, up]: [number, number], pixels: number, out: Uint32Array, sizes: Uint8Array): number {
    const { count, matrices, radii, looks } = many;
    const sums = new Uint32Array(BUCKETS + 1);
    for (let i = 0; i < count; i++) {
        sizes[i] = 0;
        if (looks[i] >= hidden) continue;
        const m = 16 * i + 12;
        const [x, y, z] = [matrices[m], matrices[m + 1], matrices[m + 2]];
        const radius = Math.sqrt(radii[i]);
        const w = clip[3] * x + clip[7] * y + clip[11] * z + clip[15];
        const u = clip[0] * x + clip[4] * y + clip[8] * z + clip[12];
        const v = clip[1] * x + clip[5] * y + clip[9] * z + clip[13];
        const reach = Math.max(w, 0) + BEYOND * radius * Math.max(across, up);
        if (w < -radius || Math.abs(u) > reach || Math.abs(v) > reach) continue;
        const px = (radius * up * pixels) / Math.max(w, 1e-9);
        if (px < LEAST_PX) continue;
        const bucket = 1 + Math.min(BUCKETS - 1, Math.floor(A_DOUBLING * Math.log2(px / LEAST_PX)));
        sizes[i] = bucket;
        sums[bucket]++;
    }
    let least = BUCKETS + 1;
    for (let sum = 0; least > 1 && sum + sums[least - 1] <= out.length; ) sum += sums[--least];
    let found = 0;
    for (let i = 0; i < count; i++) if (sizes[i] >= least) out[found++] = i;
    return found;
}
