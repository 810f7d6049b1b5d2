// A room of the shooter: an authoritative game in which obbd keeps the hitboxes. Each tick is one commit: it poses the players, judges
// the shots that have arrived, each at what its player saw, and asks how far each player may go in the next tick.
import { ray, sweep } from "@obbd/client";

export const RATE = 30; // ticks a second
const SPEED = 5; // metres a second
const WALL = 2; // the category of what stands in the way
const BELIEVED = 400; // ms: nobody shoots further into the past
const WALLS = {
    "wall-middle": { center: [0, 1, -3], half_extents: [0.25, 1, 2], category: WALL },
    "wall-west": { center: [-12, 1, 0], half_extents: [0.25, 1, 8], category: WALL },
    "wall-east": { center: [12, 1, 0], half_extents: [0.25, 1, 8], category: WALL },
    "wall-north": { center: [0, 1, -8], half_extents: [12, 1, 0.25], category: WALL },
    "wall-south": { center: [0, 1, 8], half_extents: [12, 1, 0.25], category: WALL },
};
const EYE = 1.7;
const limbs = (name) => ({
    [`${name}.head`]: { frame: name, entity: name, center: [0, EYE, 0], half_extents: [0.15, 0.15, 0.15] },
    [`${name}.body`]: { frame: name, entity: name, center: [0, 0.8, 0], half_extents: [0.3, 0.7, 0.3] },
});

export class Room {
    players = new Map(); // name: { at: [x, z], wish: [x, z], free, score }
    time = 0;
    #scene;
    #shots = [];
    #arrived = [];
    #gone = [];

    /** tell(event, data) gets `state` once a tick, and `hit` and `miss`. */
    constructor(scene, tell) {
        this.#scene = scene;
        this.tell = tell;
    }

    async open() {
        await this.#scene.set({ history: { span: 1000, commits: 64 } });
        await this.#scene.commit({ time: 0, restart: true, put: WALLS });
    }

    enter(name, at = [0, 4]) {
        this.players.set(name, { at, wish: [0, 0], free: 1, score: 0 });
        this.#arrived.push(name);
    }

    leave(name) {
        if (this.players.delete(name)) this.#gone.push(name);
    }

    /** Where a player wants to go; longer ways than 1 count as 1. */
    move(name, [x, z]) {
        const length = Math.max(1, Math.hypot(x, z));
        this.players.get(name).wish = [x / length, z / length];
    }

    /** A shot of a player, who saw the room as it was at a time; it is judged in the next tick. */
    shoot(name, seenAt, direction) {
        this.#shots.push({ name, seenAt: Math.min(this.time, Math.max(this.time - BELIEVED, seenAt)), direction });
    }

    async tick() {
        const step = SPEED / RATE;
        this.time += 1000 / RATE;
        for (const player of this.players.values())
            player.at = player.at.map((c, k) => c + player.wish[k] * step * player.free);
        const names = [...this.players.keys()];
        const players = [...this.players.values()]; // whoever leaves while the commit is under way stays in here
        const shots = this.#shots.filter(({ name }) => this.players.has(name)).map((shot) => ({ ...shot, player: this.players.get(shot.name) }));
        const centers = players.flatMap(({ at: [x, z] }) => [x, 0, z]);
        const [arrived, gone] = [[...this.#arrived], [...this.#gone]];
        const put = Object.assign({}, ...arrived.filter((name) => this.players.has(name)).map(limbs));
        this.#shots = [];
        const { results } = await this.#scene.commit(
            {
                time: this.time,
                remove_frames: gone,
                frames: { names, centers },
                put,
                queries: [
                    sweep(
                        players.map(({ wish: [x, z] }, i) => ({ box: `${names[i]}.body`, motion: [x * step, 0, z * step] })),
                        { filter: { mask: WALL } },
                    ),
                    ...shots.map(({ name, seenAt, direction, player }) => {
                        const [x, z] = player.at;
                        const one = { origin: [x, EYE, z], direction, max_distance: 50 };
                        return ray([one], { at: seenAt, filter: { exclude_entities: [name] }, want: ["entity"] });
                    }),
                ],
            },
            { timeout: 1000 },
        );
        this.#arrived.splice(0, arrived.length); // only now: a tick that failed leaves them to the next one
        this.#gone.splice(0, gone.length);
        const [ways, ...judged] = results;
        players.forEach((player, i) => (player.free = ways.results[i].hits?.[0]?.fraction ?? 1));
        judged.forEach((answer, i) => this.#score(shots[i], answer));
        const here = names.flatMap((name, i) => (this.players.get(name) === players[i] ? [[name, players[i].at]] : []));
        this.tell("state", { time: this.time, players: Object.fromEntries(here) });
    }

    #score({ name, seenAt, player }, { results: [{ hits }], at }) {
        const [hit] = hits;
        if (hit?.entity === undefined) return this.tell("miss", { shooter: name, wall: hit?.box ?? null });
        player.score++;
        this.tell("hit", { shooter: name, target: hit.entity, box: hit.box, ago: this.time - seenAt, clamped: at.clamped });
    }
}
