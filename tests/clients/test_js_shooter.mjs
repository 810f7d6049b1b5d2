#!/usr/bin/env node
// The example "shooter" of the JavaScript client, as it was packed: two players without a screen, one shot each.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { until } from "../support/daemon.mjs";
import { run, test } from "../support/sums.mjs";
import { installed } from "./js.mjs";

const example = new URL("node_modules/@obbd/client/examples/shooter/", installed);
const { Player } = await import(new URL("player.mjs", example));
const { Room } = await import(new URL("room.mjs", example));
const server = spawn("node", [new URL("server.mjs", example).pathname], {
    env: { ...process.env, OBBD: undefined, OBBD_BIN: process.env.OBBD },
    stdio: ["ignore", "pipe", "inherit"],
});
const ended = new Promise((resolve) => server.once("exit", resolve));
let said = "";
server.stdout.on("data", (bytes) => (said += bytes));
await until("the server listens", () => said.endsWith("\n"));
const [, url, page] = /^open (\S+)\/ and (\S+)#room\n$/.exec(said);
const ann = new Player(url, "ann", { delay: 100, jitter: 30 });
const bob = new Player(url, "bob", { delay: 60, jitter: 0 });
const at = (player, name) => player.seen.players[name];
const boxNow = async (name) => (await fetch(`${page}v1/scenes/room/boxes/${name}`)).json();

test("two players enter, one commit a tick poses them, and walls stop them", async () => {
    await ann.enter();
    await until("ann sees herself", () => at(ann, "ann"));
    await bob.enter();
    await until("they see each other", () => at(ann, "bob") && at(bob, "ann"));
    assert.deepEqual([at(ann, "ann"), at(ann, "bob")], [[-8, 0], [8, 0]]);
    await bob.move([1, 0]); // to the wall, whose inner face is at 11.75; his body is 0.3 wide
    await until("bob is stopped", () => Math.abs(at(bob, "bob")[0] - 11.45) < 1e-3);
    const { revision } = await (await fetch(`${page}v1/scenes/room`)).json();
    assert.ok(revision <= bob.seen.time / (1000 / 30) + 20, "at most one revision a tick");
    await bob.move([0, 0]);
    assert.ok(at(bob, "bob")[0] <= 11.45 + 1e-9);
});

test("ann hits bob, who runs, where she saw him and where he is no more", async () => {
    await bob.move([-1, 0.5]); // away from the wall, across her view
    const [x] = at(ann, "bob");
    await until("ann sees him run", () => at(ann, "bob")[0] < x - 1);
    const [sawX, sawZ] = at(ann, "bob");
    const shot = ann.shootAt("bob");
    await until("ann is told", () => ann.told.length > 0);
    await shot;
    const { event, shooter, target, box, ago, clamped } = ann.told[0];
    assert.deepEqual({ event, shooter, target, box, clamped }, { event: "hit", shooter: "ann", target: "bob", box: "bob.body", clamped: false });
    assert.ok(ago >= 100, `${ago} ms`);
    const { center } = await boxNow("bob.body");
    console.log(`hit as of ${Math.round(ago)} ms ago; since she saw him he ran ${Math.hypot(center[0] - sawX, center[2] - sawZ).toFixed(2)} m`);
    assert.ok(Math.hypot(center[0] - sawX, center[2] - sawZ) > 0.5, "he is where a judge of the present would have missed");
});

test("bob hits the wall behind which ann stands", async () => {
    await bob.move([-0.2, -1]); // until the wall in the middle is between them
    await until("bob stands far up", () => at(bob, "bob")[1] < -3);
    await bob.move([0, 0]);
    await ann.move([0, -1]);
    await until("ann stands far up", () => at(bob, "ann")[1] < -2);
    await ann.move([0, 0]);
    const before = bob.told.length;
    const shot = bob.shootAt("ann");
    await until("bob is told", () => bob.told.length > before);
    await shot;
    assert.deepEqual(bob.told[before], { event: "miss", shooter: "bob", wall: "wall-middle" });
});

test("what is no input is refused, and who leaves is gone", async () => {
    const post = (body) => fetch(`${url}/input`, { method: "POST", body });
    for (const [body, status] of [["{", 400], ['{"name":"nobody","move":[1,0]}', 422], ['{"name":"ann","move":[1]}', 422], ['{"name":"ann","shoot":{"seenAt":0,"direction":[0,0,0]}}', 422]])
        assert.equal((await post(body)).status, status, body);
    await assert.rejects(new Player(url, "ann").enter(), /taken/);
    bob.leave();
    await until("ann sees him no more", () => at(ann, "bob") === undefined);
    assert.equal((await boxNow("bob.body")).status, 404);
    for (const [path, type] of [["/", "text/html; charset=utf-8"], ["/page.mjs", "text/javascript"]])
        assert.equal((await fetch(url + path)).headers.get("content-type"), type);
});

test("who leaves while a tick is under way takes no shot from the others", async () => {
    const told = [];
    const answers = {
        ways: { results: [{ hits: [] }, { hits: [{ fraction: 0.5 }] }] },
        hit: (entity) => ({ at: { clamped: false }, results: [{ hits: [{ box: `${entity}.body`, entity }] }] }),
    };
    const scene = {
        async commit() {
            room.leave("bob");
            return { results: [answers.ways, answers.hit("ann"), answers.hit("bob")] };
        },
    };
    const room = new Room(scene, (event, data) => told.push([event, data.shooter ?? Object.keys(data.players)]));
    room.enter("ann");
    room.enter("bob");
    room.shoot("bob", 0, [1, 0, 0]);
    room.shoot("ann", 0, [1, 0, 0]);
    await room.tick();
    assert.deepEqual(told, [["hit", "bob"], ["hit", "ann"], ["state", ["ann"]]]);
    assert.deepEqual([room.players.get("ann").score, room.players.get("ann").free], [1, 1]);
});

test("a bot enters, runs, fires at whom it sees, and leaves on Ctrl-C", async () => {
    const child = spawn("node", [new URL("player.mjs", example).pathname, `${url}/`, "tin"], { stdio: ["ignore", "pipe", "inherit"] });
    const left = new Promise((resolve) => child.once("exit", resolve));
    let told = "";
    child.stdout.on("data", (bytes) => (told += bytes));
    await until("ann sees the bot", () => at(ann, "tin"));
    const [x, z] = at(ann, "tin");
    await until("it runs", () => Math.hypot(at(ann, "tin")[0] - x, at(ann, "tin")[1] - z) > 0.3);
    await until("it fires", () => ann.told.some(({ shooter }) => shooter === "tin"));
    child.kill("SIGINT");
    assert.equal(await left, 0);
    assert.equal(told, "tin plays, until Ctrl-C\n");
    await until("it is gone", () => at(ann, "tin") === undefined);
});

test("a bot that leaves while an input of its own is on the way says nothing of it", async () => {
    const child = spawn("node", [new URL("player.mjs", example).pathname, `${url}/`, "zinc"], { stdio: ["ignore", "pipe", "inherit"] });
    const left = new Promise((resolve) => child.once("exit", resolve));
    let told = "";
    child.stdout.on("data", (bytes) => (told += bytes));
    await until("it plays", () => told !== "");
    await new Promise((resolve) => setTimeout(resolve, 740)); // its first move begins after 700 ms, and is sent 80 ms later
    child.kill("SIGINT");
    assert.equal(await left, 0);
    assert.equal(told, "zinc plays, until Ctrl-C\n");
});

const ok = await run();
ann.leave();
server.kill("SIGTERM");
assert.equal(await ended, 0);
process.exit(ok ? 0 : 1);
