#!/usr/bin/env node
// What the page of coordinates says of three.js, by three.js itself and a daemon; without a browser.
import assert from "node:assert/strict";
import { run, test } from "../support/sums.mjs";
import { startDaemon } from "../support/daemon.mjs";
import { BoxGeometry, Matrix4, Object3D, PerspectiveCamera, Quaternion, Vector3 } from "../../server/web/node_modules/three/build/three.module.js";

const daemon = await startDaemon(0, []);

/** The box that the daemon makes of this one. */
async function made(box) {
    const url = `${daemon.url}/v1/scenes/three/boxes/box`;
    const body = JSON.stringify({ half_extents: [1, 2, 3], ...box });
    const put = await fetch(url, { method: "PUT", headers: { "Content-Type": "application/json" }, body });
    assert.ok(put.ok, await put.text());
    return (await fetch(`${url}?include=axes`)).json();
}

function near(found, wanted, what) {
    assert.equal(found.length, wanted.length, what);
    found.forEach((number, i) => assert.ok(Math.abs(number - wanted[i]) < 1e-12, `${what}: ${found}, wanted ${wanted}`));
}

/** Where three.js turns the axes of a box to. */
const turned = (quaternion) => [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => new Vector3(...axis).applyQuaternion(quaternion).toArray());

let state = 20261127;
const random = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) / 2 ** 32 - 0.5;
const vector = () => new Vector3(random(), random(), random());

test("cameras look along -z, and lookAt of other objects turns their +z to the target", () => {
    const camera = new PerspectiveCamera();
    near(camera.getWorldDirection(new Vector3()).toArray(), [0, 0, -1], "a camera that is not turned");
    for (const [object, ahead] of [[camera, -1], [new Object3D(), 1]]) {
        const target = vector();
        object.lookAt(target);
        const axis = new Vector3(0, 0, ahead).applyQuaternion(object.quaternion);
        near(axis.toArray(), target.normalize().toArray(), object.type);
    }
});

test("a quaternion goes as it is, and an angle about an axis is the same as axis_angle", async () => {
    for (let i = 0; i < 20; i++) {
        const axis = vector().normalize();
        const degrees = 720 * random();
        const quaternion = new Quaternion().setFromAxisAngle(axis, (degrees * Math.PI) / 180);
        const given = [{ rotation: quaternion.toArray() }, { axis_angle: { axis: axis.toArray(), degrees } }];
        for (const turn of given) {
            const { axes } = await made({ center: [0, 0, 0], ...turn });
            turned(quaternion).forEach((wanted, k) => near(axes[k], wanted, `axis ${k} of ${JSON.stringify(turn)}`));
        }
    }
});

test("elements of a matrix lie as they are sent, with the translation at 12", async () => {
    for (let i = 0; i < 20; i++) {
        const [at, scale] = [vector(), new Vector3(1 + random(), 1 + random(), 1 + random())];
        const quaternion = new Quaternion(random(), random(), random(), random()).normalize();
        const { elements } = new Matrix4().compose(at, quaternion, scale);
        const response = await made({ half_extents: undefined, matrix: elements });
        near(elements.slice(12, 15), at.toArray(), "the translation");
        near(response.center, at.toArray(), "the centre");
        near(response.half_extents, scale.toArray(), "the half extents");
        turned(quaternion).forEach((wanted, k) => near(response.axes[k], wanted, `axis ${k}`));
    }
});

test("half of the size of a geometry times the scale are the half extents", () => {
    const size = [2, 3, 5];
    const box = new Object3D();
    box.scale.set(2, 1, 4);
    box.updateMatrixWorld();
    const geometry = new BoxGeometry(...size).applyMatrix4(box.matrixWorld);
    geometry.computeBoundingBox();
    near(geometry.boundingBox.max.toArray(), size.map((one, k) => (one / 2) * box.scale.toArray()[k]), "the farthest corner");
});

const good = await run();
await daemon.stop();
process.exit(good ? 0 : 1);
