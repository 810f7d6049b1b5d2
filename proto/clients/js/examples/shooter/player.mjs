#!/usr/bin/env node
// A player without a screen: sees the room late, by a delay and jitter of its own, and sends inputs as late.
// node player.mjs URL [NAME] is a bot that runs to and fro, and fires once a second at somebody whom it sees.
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";

export class Player {
    seen = { time: 0, players: {} }; // the newest state that has arrived
    told = []; // hits and misses

    constructor(url, name, { delay = 80, jitter = 20 } = {}) {
        this.url = url;
        this.name = name;
        this.#late = () => new Promise((resolve) => setTimeout(resolve, delay + jitter * Math.random()));
    }

    #late;
    #ending = new AbortController();
    #reader;

    /** Enters, and follows until leave(). */
    async enter() {
        const response = await fetch(`${this.url}/events?name=${this.name}`, { signal: this.#ending.signal });
        if (!response.ok) throw new Error(await response.text());
        this.#reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        this.#follow().catch(() => {}); // ended by leave(), or with the server
    }

    async #follow() {
        let text = "";
        for (;;) {
            const { done, value } = await this.#reader.read();
            if (done) return;
            text += value;
            const messages = text.split("\n\n");
            text = messages.pop();
            for (const message of messages) {
                const [, event, data] = /^event: (\w+)\ndata: (.*)$/.exec(message);
                void this.#late().then(() => this.#hear(event, JSON.parse(data)));
            }
        }
    }

    #hear(event, data) {
        if (event !== "state") this.told.push({ event, ...data });
        else if (data.time > this.seen.time) this.seen = data; // jitter may turn two of them round
    }

    async #send(input) {
        await this.#late();
        const response = await fetch(`${this.url}/input`, { method: "POST", body: JSON.stringify({ name: this.name, ...input }) });
        if (!response.ok) throw new Error(await response.text());
    }

    move(direction) {
        return this.#send({ move: direction });
    }

    /** Fires at the chest of a player, where this one sees it. */
    shootAt(name) {
        const [[x, z], [toX, toZ]] = [this.seen.players[this.name], this.seen.players[name]];
        return this.#send({ shoot: { seenAt: this.seen.time, direction: [toX - x, -0.7, toZ - z] } });
    }

    leave() {
        this.#ending.abort();
        this.#reader?.cancel().catch(() => {}); // node 18 may forget the signal once the answer has begun
    }
}

async function bot(url, name = `bot-${Math.random().toString(36).slice(2, 6)}`) {
    const player = new Player(url.replace(/\/$/, ""), name);
    await player.enter();
    const timers = [
        setInterval(() => attempt(player.move([Math.random() - 0.5, Math.random() - 0.5])), 700),
        setInterval(() => {
            const [other] = Object.keys(player.seen.players).filter((one) => one !== name);
            if (other !== undefined && name in player.seen.players) attempt(player.shootAt(other));
        }, 1000),
    ];
    let here = true; // an input that is on its way when the bot leaves is refused, which is no fault
    function attempt(sent) {
        sent.catch((error) => here && leave(`${name} left, for the room does not answer: ${error.cause?.message ?? error.message}`));
    }
    function leave(why) {
        if (why !== undefined) console.log(why);
        here = false;
        for (const timer of timers) clearInterval(timer);
        player.leave();
    }
    console.log(`${name} plays, until Ctrl-C`);
    process.once("SIGTERM", () => leave()).once("SIGINT", () => leave());
}
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) {
    if (process.argv[2] === undefined) console.log("node player.mjs URL [NAME]");
    else await bot(...process.argv.slice(2)).catch((error) => console.log(`${process.argv[2]}: ${error.cause?.message ?? error.message}`));
}
