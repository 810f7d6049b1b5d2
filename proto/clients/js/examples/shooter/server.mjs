#!/usr/bin/env node
// The server of the shooter: node server.mjs [PORT]. GET / is the page of a player; GET /events?name= lets a player in and tells what
// happens, as Server-Sent Events; POST /input takes {"name","move":[x,z],"shoot":{"seenAt","direction"}}.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { spawn } from "@obbd/client";
import { RATE, Room } from "./room.mjs";

const FILES = { "/": ["index.html", "text/html; charset=utf-8"], "/page.mjs": ["page.mjs", "text/javascript"] };
const DOORS = [[-8, 0], [8, 0], [-8, 5], [8, 5]];
const obbd = await spawn();
const followers = new Map();
const room = new Room(obbd.scene("room"), (event, data) => {
    const message = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const follower of followers.values()) follower.write(message);
});

function follow(name, request, response) {
    if (!/^[\w-]{1,32}$/.test(name) || room.players.has(name)) return response.writeHead(409).end("that name is taken, or none");
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    followers.set(name, response);
    room.enter(name, DOORS[room.players.size % DOORS.length]);
    request.once("close", () => {
        followers.delete(name);
        room.leave(name);
    });
}

const isVector = (value, size) => Array.isArray(value) && value.length === size && value.every(Number.isFinite);

async function input(request, response) {
    let text = "";
    for await (const part of request) if ((text += part).length > 1000) return response.writeHead(413).end();
    const { name, move, shoot } = JSON.parse(text);
    const wrong = !room.players.has(name) || (move && !isVector(move, 2)) || (shoot && !(isVector(shoot.direction, 3) && Number.isFinite(shoot.seenAt)));
    if (wrong || shoot?.direction.every((c) => c === 0)) return response.writeHead(422).end("no such player, or no such input");
    if (move) room.move(name, move);
    if (shoot) room.shoot(name, shoot.seenAt, shoot.direction);
    response.writeHead(204).end();
}

const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://room");
    try {
        if (pathname === "/events") follow(searchParams.get("name") ?? "", request, response);
        else if (pathname === "/input" && request.method === "POST") await input(request, response);
        else if (FILES[pathname]) response.writeHead(200, { "Content-Type": FILES[pathname][1] }).end(await readFile(new URL(FILES[pathname][0], import.meta.url)));
        else response.writeHead(404).end();
    } catch (error) {
        response.writeHead(400).end(error.message);
    }
});

await room.open();
let running = true;
async function run() {
    for (let next = performance.now(); running; next += 1000 / RATE) {
        await room.tick().catch((error) => console.error(error.message)); // the next tick is better than this one again
        await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    }
}
const ran = run();
server.listen(Number(process.argv[2] ?? 0), "127.0.0.1", () => console.log(`open http://127.0.0.1:${server.address().port}/ and ${obbd.scene("room").page}`));

async function end() {
    running = false;
    await ran;
    server.close();
    server.closeAllConnections();
    await obbd.close();
}
process.once("SIGTERM", end).once("SIGINT", end);
