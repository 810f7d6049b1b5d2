// The page of a player: draws each state as it comes, and sends what keys and clicks ask for.
const name = `player-${Math.random().toString(36).slice(2, 6)}`;
const canvas = document.getElementById("room");
const pen = canvas.getContext("2d");
const SCALE = 32; // pixels of the canvas a metre
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
pen.font = `14px system-ui, "Liberation Sans", sans-serif`;
const screen = (x, z) => [canvas.width / 2 + x * SCALE, canvas.height / 2 + z * SCALE];
let state = { time: 0, players: {} };

const events = new EventSource(`/events?name=${name}`);
events.addEventListener("state", ({ data }) => draw((state = JSON.parse(data))));
for (const kind of ["hit", "miss"])
    events.addEventListener(kind, ({ data }) => {
        const { shooter, target, wall, ago } = JSON.parse(data);
        const what = target ? `hit ${target}, as of ${Math.round(ago)} ms ago` : `missed${wall ? `, and hit ${wall}` : ""}`;
        document.getElementById("told").textContent = `${shooter} ${what}`;
    });
const send = (input) => fetch("/input", { method: "POST", body: JSON.stringify({ name, ...input }) });

function draw({ players }) {
    pen.clearRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = "#7b8894";
    for (const [x, z, w, d] of [[0, -3, 0.25, 2], [-12, 0, 0.25, 8], [12, 0, 0.25, 8], [0, -8, 12.25, 0.25], [0, 8, 12.25, 0.25]]) {
        const [left, top] = screen(x - w, z - d);
        pen.fillRect(left, top, 2 * w * SCALE, 2 * d * SCALE);
    }
    for (const [who, [x, z]] of Object.entries(players)) {
        const [left, top] = screen(x - 0.3, z - 0.3);
        pen.fillStyle = colour(who === name ? "--me" : "--them");
        pen.fillRect(left, top, 0.6 * SCALE, 0.6 * SCALE);
        pen.fillText(who, Math.min(left, canvas.width - pen.measureText(who).width), top - 4);
    }
}

const KEYS = { ArrowUp: [0, -1], KeyW: [0, -1], ArrowDown: [0, 1], KeyS: [0, 1], ArrowLeft: [-1, 0], KeyA: [-1, 0], ArrowRight: [1, 0], KeyD: [1, 0] };
const held = new Set();
for (const kind of ["keydown", "keyup"])
    addEventListener(kind, (event) => {
        if (!(event.code in KEYS) || event.repeat) return;
        event.preventDefault();
        if (kind === "keydown") held.add(event.code);
        else held.delete(event.code);
        void send({ move: [...held].map((code) => KEYS[code]).reduce(([x, z], [a, b]) => [x + a, z + b], [0, 0]) });
    });
canvas.addEventListener("click", ({ offsetX, offsetY }) => {
    const [x, z] = state.players[name];
    const [left, top] = screen(x, z);
    const [toX, toZ] = [offsetX, offsetY].map((c) => (c * canvas.width) / canvas.clientWidth);
    void send({ shoot: { seenAt: state.time, direction: [(toX - left) / SCALE, -0.7, (toZ - top) / SCALE] } });
});
