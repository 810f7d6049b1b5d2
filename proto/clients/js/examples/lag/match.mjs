// A match with lag, without a clock or a network of its own: where the target runs, what a shooter with a slow connection sees of it,
// and the commits of the server, each with the shots that have arrived. Numbers are metres and milliseconds.
import { ray } from "@obbd/client";

export const SHOOTER = [0, 1.5, -8];
export const HALF = [0.2, 1, 0.2];
const FROM = -9;
const LENGTH = 18; // of the track; at its end the target jumps back
const SPEED = 8; // metres a second

export const DEFAULTS = { latency: 80, jitter: 20, rate: 20, interpolation: 100, history: 500 };

/** Three ways to ask about the same shot. */
export const JUDGES = [
    { tag: "now", says: "where the target is when the shot arrives", at: () => undefined },
    { tag: "whole tick", says: "at the last tick before the moment that the shooter saw", at: (time) => ({ time, interpolate: false, clamp: true }) },
    { tag: "exact time", says: "at the moment that the shooter saw", at: (time) => ({ time, clamp: true }) },
];

const lapAt = (time) => Math.floor((time / 1000) * (SPEED / LENGTH));
export const xAt = (time) => FROM + (((time / 1000) * SPEED) % LENGTH);

/** A number from 0 to 1 that is the same for the same two numbers. */
function chance(seed, number) {
    let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(number + 1, 0xc2b2ae35);
    h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
    h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
    return ((h ^ (h >>> 15)) >>> 0) / 2 ** 32;
}

/** The ray from the shooter through the middle of the target at x. */
export function aimedAt(x) {
    return { origin: SHOOTER, direction: [x - SHOOTER[0], HALF[1] - SHOOTER[1], -SHOOTER[2]], max_distance: 100 };
}

/** The query of one judge about one shot. `explain` says by how much a shot missed. */
export function asked(judge, shot) {
    const at = judge.at(shot.seen);
    return ray([shot.ray], { tag: judge.tag, explain: ["target"], filter: { prefix: "target" }, ...(at && { at }) });
}

/** What an answer says of a shot: the miss in metres, 0 for a hit. */
export function missOf({ results: [{ explain }] }) {
    return explain[0].verdict === "hit" ? 0 : explain[0].gap;
}

export class Match {
    #settings;
    #seed;
    #ticks = 0;
    #shots = 0;
    #flying = [];

    constructor(settings, seed = 1) {
        this.#settings = settings;
        this.#seed = seed;
    }

    get period() {
        return 1000 / this.#settings.rate;
    }

    /** The time of the next tick. */
    get time() {
        return this.#ticks * this.period;
    }

    #lateness(number) {
        return this.#settings.latency + this.#settings.jitter * chance(this.#seed, number);
    }

    /** The moment that the shooter's screen shows: behind by the way of the poses and by the interpolation, and never newer than the
     * newest pose that has arrived. */
    seenAt(now) {
        let newest = Math.floor((now - this.#settings.latency) / this.period);
        while (newest > 0 && newest * this.period + this.#lateness(2 * newest) > now) newest--;
        return Math.max(0, Math.min(now - this.#settings.latency - this.#settings.interpolation, newest * this.period));
    }

    /** Where that screen shows the target: between two ticks on its way, but not on a jump. */
    seenX(now) {
        const seen = this.seenAt(now);
        const before = Math.floor(seen / this.period) * this.period;
        const after = before + this.period;
        const share = (seen - before) / this.period;
        return lapAt(before) === lapAt(after) ? xAt(before) + (xAt(after) - xAt(before)) * share : xAt(before);
    }

    /** The shooter fires at what the screen shows, or along another ray. */
    fire(now, along = aimedAt(this.seenX(now))) {
        const shot = { fired: now, seen: this.seenAt(now), ray: along, arrives: now + this.#lateness(2 * this.#shots++ + 1) };
        this.#flying.push(shot);
        return shot;
    }

    /** The commit of the next tick, and the shots that it judges, each by all judges in turn. */
    tick() {
        const time = this.time;
        const shots = this.#flying.filter((shot) => shot.arrives <= time);
        this.#flying = this.#flying.filter((shot) => shot.arrives > time);
        const center = [xAt(time), HALF[1], 0];
        const teleport = lapAt(time) !== lapAt(time - this.period);
        const changes =
            this.#ticks++ === 0
                ? { restart: true, put: { target: { center, half_extents: HALF } } }
                : { pose: { target: { center, teleport } } };
        return { commit: { time, ...changes, queries: shots.flatMap((shot) => JUDGES.map((judge) => asked(judge, shot))) }, shots };
    }
}

/** Sends a tick. Returns its shots, each with the miss of each judge. */
export async function play(scene, { commit, shots }) {
    const { results } = await scene.commit(commit, { retries: 2 });
    return shots.map((shot, i) => ({ ...shot, x: xAt(commit.time), misses: JUDGES.map((_, k) => missOf(results[JUDGES.length * i + k])) }));
}

/** A bot fires once a tick, at any moment of it, until `count` shots are judged. Returns how many hit, for each judge. */
export async function tally(scene, settings, count, told = () => {}) {
    const match = new Match(settings, 7);
    const hits = JUDGES.map(() => 0);
    let fired = 0;
    for (let judged = 0; judged < count; ) {
        const begins = match.time;
        if (begins > 2000 && fired < count) match.fire(begins - match.period * chance(11, fired++));
        for (const shot of await play(scene, match.tick())) {
            judged++;
            shot.misses.forEach((miss, k) => (hits[k] += miss === 0 ? 1 : 0));
            told(hits, judged, shot);
        }
    }
    return hits;
}
