#!/usr/bin/env node
// Files that people have: boxes by name, commits, tables and glTF, and what is said of those that cannot be read.
import assert from "node:assert/strict";
import { test, until } from "./harness.mjs";
import { daemon, makeScene, runAll, show } from "./words.mjs";

const put = (page, name, text) => page.setInputFiles("#file", { name, mimeType: "application/octet-stream", buffer: Buffer.from(text) });
const count = (page, n) => until(`${n} boxes`, async () => new RegExp(`^${n} box`).test(await page.textContent("#list-sum")));
const near = (a, b) => a.length === b.length && a.every((value, i) => Math.abs(value - b[i]) < 1e-9);

test("boxes by name, as a commit puts them, and a whole commit", async () => {
    const scene = await makeScene({});
    const { page, close } = await show(scene);
    await put(page, "by-name.json", JSON.stringify({ a: { center: [1, 2, 3], half_extents: [1, 1, 1], entity: "e" }, put: { min: [5, 0, 0], max: [6, 2, 2] } }));
    await count(page, 2);
    assert.equal((await daemon.box(scene, "a")).entity, "e");
    assert.deepEqual((await daemon.box(scene, "put")).center, [5.5, 1, 1]);
    await put(page, "commit.json", JSON.stringify({ time: 5, put: { b: { center: [9, 0, 0], half_extents: [1, 2, 1] } } }));
    await count(page, 3);
    await page.keyboard.press("Control+z"); // a step as every other one
    await count(page, 2);
    await close();
});

test("tables: commas, semicolons, quotes, sizes, and cells that are empty", async () => {
    const scene = await makeScene({});
    const { page, close } = await show(scene);
    await put(page, "boxes.csv", '\ufeffname,x,y,z,hx,hy,hz,qx,qy,qz,qw,entity,category\r\n"a, ""b""",1,2,3,0.5,1,1.5,,,,,,\r\nturned,5,0,0,1,1,2,0,1,0,0,crew,6\r\n');
    await count(page, 2);
    const first = await daemon.box(scene, 'a, "b"');
    assert.deepEqual([first.center, first.half_extents, first.category, first.entity], [[1, 2, 3], [0.5, 1, 1.5], 1, undefined]);
    const { rotation, entity, category } = await daemon.box(scene, "turned");
    assert.deepEqual([rotation, entity, category], [[0, 1, 0, 0], "crew", 6]);
    await put(page, "sizes.csv", "Name;X;Y;Z;SX;SY;SZ\nsized;20;0;0;2;4;6\n");
    await count(page, 3);
    assert.deepEqual((await daemon.box(scene, "sized")).half_extents, [1, 2, 3]);
    await close();
});

test("glTF: nodes with meshes, placed as their parents say, as text and in binary", async () => {
    const gltf = {
        asset: { version: "2.0" },
        scene: 0,
        scenes: [{ nodes: [0] }],
        nodes: [
            { name: "root", translation: [10, 0, 0], children: [1, 2] },
            { name: "wall", mesh: 0, rotation: [0, Math.SQRT1_2, 0, Math.SQRT1_2] },
            { name: "wall", mesh: 0, scale: [2, 1, 1] },
            { name: "elsewhere", mesh: 0 },
        ],
        meshes: [{ primitives: [{ attributes: { POSITION: 0 } }] }],
        accessors: [{ min: [0, 0, 0], max: [4, 2, 1] }],
    };
    const scene = await makeScene({});
    const { page, close } = await show(scene);
    await put(page, "level.gltf", JSON.stringify(gltf));
    await count(page, 2); // a node of no scene is not shown by viewers either
    const turned = await daemon.box(scene, "wall"); // a quarter about y takes (2, 1, 0.5) to (0.5, 1, -2)
    assert.ok(near(turned.center, [10.5, 1, -2]) && near(turned.half_extents, [2, 1, 0.5]), JSON.stringify(turned));
    const wide = await daemon.box(scene, "wall-2");
    assert.ok(near(wide.center, [14, 1, 0.5]) && near(wide.half_extents, [4, 1, 0.5]), JSON.stringify(wide));
    const text = Buffer.from(JSON.stringify({ ...gltf, nodes: [{ mesh: 0 }], scenes: [{ nodes: [0] }] }));
    const head = Buffer.alloc(20);
    head.write("glTF");
    head.writeUInt32LE(2, 4);
    head.writeUInt32LE(20 + text.length, 8);
    head.writeUInt32LE(text.length, 12);
    head.write("JSON", 16);
    await put(page, "level.glb", Buffer.concat([head, text]));
    await count(page, 3);
    assert.deepEqual((await daemon.box(scene, "node-0")).center, [2, 1, 0.5]);
    await close();
});

test("what cannot be read is said in a sentence, and nothing is changed", async () => {
    const scene = await makeScene({ a: { center: [0, 0, 0], half_extents: [1, 1, 1] } });
    const { page, close } = await show(scene);
    const rig = await makeScene({});
    const seat = { center: [0, 1, 0], half_extents: [1, 1, 1], frame: "cart" };
    await daemon.commit(rig, { frames: { cart: { center: [1, 0, 0] } }, put: { seat } });
    const exported = await (await fetch(`${daemon.url}/v1/scenes/${rig}/export`)).text();
    const wrong = [
        [exported, /makes frames, which the page does not: import it by the API\./],
        ["hello", /neither JSON nor a table of boxes: the column “hello” is unknown\. Columns are name, x,/],
        ["x,y,z\n1,2,3", /no column name/],
        ["name,x\na,1,2", /Box 1 of the table has 3 cells; the heading has 2\./],
        ["name,x\na,b", /Box 1 of the table has “b” as x, which is no number\./],
        ['{"a":1}', /“a” is not a box; the file is neither/],
        ['{"put":{},"frames":{}}', /makes frames/],
        ['{"put":{"names":["a"]}}', /in columns/],
        ['{"asset":{"version":"2.0"},"nodes":[{"mesh":0}],"meshes":[{"primitives":[{"attributes":{}}]}]}', /Mesh 0 of the file does not say/],
        ['{"asset":{"version":"2.0"},"nodes":[{"children":[0]}],"scenes":[{"nodes":[0]}]}', /Node 0 of the file is not there, or there twice/],
        ['{"asset":{"version":"2.0"}}', /holds no boxes/],
        ['{"a":', /Line 1 of the file is not JSON/],
    ];
    for (const [text, says] of wrong) {
        await put(page, "file", text);
        await until(String(says), async () => says.test(await page.textContent("#message-text")));
    }
    assert.match(await page.textContent("#revision"), /revision 1$/);
    await close();
});

await runAll();
