// Pictures in 256 colours: a third of the bytes of a screenshot.
import { crc32, deflateSync } from "node:zlib";

/** The colours of a picture and how often each occurs, as [red, green, blue, count]. */
function histogram(rgba) {
    const counts = new Map();
    for (let i = 0; i < rgba.length; i += 4) {
        const key = (rgba[i] << 16) | (rgba[i + 1] << 8) | rgba[i + 2];
        counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].map(([key, count]) => [key >> 16, (key >> 8) & 255, key & 255, count]);
}

/** Median cut (Heckbert 1982): the group with the widest side times its weight is halved until there are 256. */
function palette(colours) {
    const measured = (group) => {
        const spans = [0, 1, 2].map((axis) => Math.max(...group.map((c) => c[axis])) - Math.min(...group.map((c) => c[axis])));
        const axis = spans.indexOf(Math.max(...spans));
        return { group, axis, cost: spans[axis] * Math.sqrt(group.reduce((sum, c) => sum + c[3], 0)) };
    };
    const groups = [measured(colours)];
    while (groups.length < 256) {
        groups.sort((a, b) => b.cost - a.cost);
        if (groups[0].cost === 0) break;
        const { group, axis } = groups.shift();
        group.sort((a, b) => a[axis] - b[axis]);
        const half = group.reduce((sum, c) => sum + c[3], 0) / 2;
        let [at, sum] = [0, 0];
        while (at < group.length - 1 && sum < half) sum += group[at++][3];
        groups.push(measured(group.slice(0, at)), measured(group.slice(at)));
    }
    return groups.map(({ group }) => {
        const weight = group.reduce((sum, c) => sum + c[3], 0);
        return [0, 1, 2].map((axis) => Math.round(group.reduce((sum, c) => sum + c[axis] * c[3], 0) / weight));
    });
}

function chunk(type, data) {
    const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
}

/** A PNG with a palette, of pixels as RGBA. */
export function png8(rgba, width, height) {
    const colours = palette(histogram(rgba));
    const nearest = new Map();
    const rows = Buffer.alloc((width + 1) * height);
    for (let i = 0; i < width * height; i++) {
        const [r, g, b] = rgba.subarray(4 * i, 4 * i + 3);
        const key = (r << 16) | (g << 8) | b;
        let index = nearest.get(key);
        if (index === undefined) {
            let least = Infinity;
            colours.forEach(([x, y, z], n) => {
                const far = (r - x) ** 2 + (g - y) ** 2 + (b - z) ** 2;
                if (far < least) [least, index] = [far, n];
            });
            nearest.set(key, index);
        }
        rows[Math.floor(i / width) * (width + 1) + 1 + (i % width)] = index;
    }
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 3, 0, 0, 0], 8);
    const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
    return Buffer.concat([signature, chunk("IHDR", head), chunk("PLTE", Buffer.from(colours.flat())), chunk("IDAT", deflateSync(rows, { level: 9 })), chunk("IEND", Buffer.alloc(0))]);
}
