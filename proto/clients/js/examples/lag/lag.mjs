// The page: it plays the server and the shooter of a match, draws both, and shows each request that judges a shot.
import { connect, Problem } from "@obbd/client";
import { asked, aimedAt, DEFAULTS, HALF, JUDGES, Match, missOf, play, SHOOTER, tally, xAt } from "./match.mjs";

const SLIDERS = [
    ["latency", "Latency, one way", 0, 300, "ms"],
    ["jitter", "Jitter", 0, 100, "ms"],
    ["rate", "Tick rate", 10, 60, "Hz"],
    ["interpolation", "Interpolation delay", 0, 200, "ms"],
    ["history", "History", 100, 1000, "ms"],
];
const obbd = connect(new URLSearchParams(location.search).get("obbd") ?? location.origin);
const session = Math.random().toString(36).slice(2, 8); // each page has scenes of its own
const scene = obbd.scene(`lag-${session}`);
const traps = obbd.scene(`lag-${session}-traps`);
const bots = obbd.scene(`lag-${session}-bot`);
const settings = { ...DEFAULTS };
const byId = (id) => document.getElementById(id);

// ---- What is said ----------------------------------------------------------------------------------

/** Shows a query as the command that asks it, and what came back. */
function showRequest({ name }, { kind, ...body }, answer) {
    byId("curl").textContent = obbd.curl("POST", `/v1/scenes/${name}/query/${kind}`, body);
    byId("answer").textContent = JSON.stringify(answer);
}

const cards = JUDGES.map(({ tag, says }) => {
    const card = document.createElement("div");
    card.className = "verdict";
    card.dataset.judge = tag;
    card.innerHTML = `<strong>${tag}: <span class="result">no shot yet</span></strong><span class="says">${says}</span><div class="tally" hidden><meter min="0" max="1" value="0" aria-label="Hits of the bot, ${tag}"></meter><span></span></div>`;
    byId("verdicts").append(card);
    return card;
});

function showShot({ misses }) {
    misses.forEach((miss, k) => {
        cards[k].className = `verdict ${miss === 0 ? "hit" : "miss"}`;
        cards[k].querySelector(".result").textContent = miss === 0 ? "hit" : `missed by ${Math.round(miss * 100)} cm`;
    });
}

function showTally(hits, judged) {
    cards.forEach((card, k) => {
        const part = card.querySelector(".tally");
        part.hidden = false;
        part.querySelector("meter").value = hits[k] / judged;
        part.querySelector("span").textContent = `${hits[k]} of ${judged} shots of the bot hit`;
    });
}

// ---- What is drawn ---------------------------------------------------------------------------------

const [WIDTH, HEIGHT] = [560, 260]; // of a view, in units of its own
const SCALE = 28; // of these units a metre
const screen = (x, z) => [280 + x * SCALE, 44 - z * SCALE];
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);

function drawView(canvas, targets, shot) {
    const pen = canvas.getContext("2d");
    const width = Math.round(canvas.clientWidth * devicePixelRatio);
    if (canvas.width !== width) [canvas.width, canvas.height] = [width, Math.round((width * HEIGHT) / WIDTH)];
    const letters = (13 * WIDTH) / canvas.clientWidth; // as large on a phone as on a wide screen
    pen.setTransform(width / WIDTH, 0, 0, width / WIDTH, 0, 0);
    pen.clearRect(0, 0, WIDTH, HEIGHT);
    pen.font = `${letters}px system-ui, "Liberation Sans", sans-serif`;
    const write = (text, left, base) => pen.fillText(text, Math.max(4, Math.min(left, WIDTH - 4 - pen.measureText(text).width)), base);
    pen.strokeStyle = colour("--dim");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(...screen(-9, 0));
    pen.lineTo(...screen(9, 0)); // the path of the target
    pen.stroke();
    pen.fillStyle = colour("--accent");
    pen.fillRect(screen(SHOOTER[0], 0)[0] - 6, HEIGHT - 22, 12, 12);
    write("shooter", screen(SHOOTER[0], 0)[0] + 14, HEIGHT - 12);
    if (shot !== undefined) {
        const far = 1.2; // a little beyond the path
        pen.strokeStyle = colour("--accent");
        pen.beginPath();
        pen.moveTo(screen(SHOOTER[0], 0)[0], HEIGHT - 16);
        const end = screen(SHOOTER[0] + (shot.ray.direction[0] / shot.ray.direction[2]) * (far - SHOOTER[2]), far);
        pen.lineTo(...end);
        pen.stroke();
    }
    for (const { x, name, ghost, good } of targets) {
        const [left, top] = screen(x - HALF[0], HALF[2]);
        pen.strokeStyle = pen.fillStyle = colour(ghost ? (good ? "--good" : "--bad") : "--ink");
        pen.setLineDash(ghost ? [4, 3] : []);
        if (ghost) pen.strokeRect(left, top, 2 * HALF[0] * SCALE, 2 * HALF[2] * SCALE);
        else pen.fillRect(left, top, 2 * HALF[0] * SCALE, 2 * HALF[2] * SCALE);
        pen.setLineDash([]);
        if (name) write(name, left - 8, ghost ? top + 20 + 1.4 * letters * ghost : top - 8); // a line for each ghost: they may be close
    }
}

// ---- The match -------------------------------------------------------------------------------------

let match;
let began = 0;
let last; // the last shot that was judged
let ticking;
const now = () => Math.round(10 * (performance.now() - began)) / 10; // as requests can be read

async function tick() {
    while (match.time <= now()) {
        for (const shot of await play(scene, match.tick())) {
            last = shot;
            showShot(shot);
            const query = asked(JUDGES[2], shot);
            showRequest(scene, query, await scene.query(query));
        }
    }
}

async function begin() {
    await scene.set({ history: { span: settings.history, commits: 64 } });
    match = new Match(settings);
    began = performance.now();
    last = undefined;
}

/** One tick after the other: with other settings the match begins anew. */
let wanted = true;
async function run() {
    for (;;) {
        if (wanted) {
            wanted = false;
            await begin();
        }
        ticking = tick();
        await ticking.catch((error) => (byId("trap").textContent = error.message));
        await new Promise((resolve) => setTimeout(resolve, 8));
    }
}

function draw() {
    if (match !== undefined) {
        drawView(byId("seen"), [{ x: match.seenX(now()), name: "target" }], undefined);
        const ghosts = last === undefined ? [] : [last.x, xAt(Math.floor(last.seen / match.period) * match.period), xAt(last.seen)];
        const shown = ghosts.map((x, k) => ({ x, name: JUDGES[k].tag, ghost: k + 1, good: last.misses[k] === 0 }));
        drawView(byId("known"), [{ x: xAt(now()), name: "target" }, ...shown], last);
    }
    requestAnimationFrame(draw);
}

// ---- Traps -----------------------------------------------------------------------------------------

/** A scene of two commits, 50 ms apart, in which the target jumps from one end of the track to the other. */
async function jump(teleport) {
    const box = (x) => ({ center: [x, HALF[1], 0], half_extents: HALF });
    await traps.set({ history: { span: 500, commits: 64 } });
    await traps.commit({ time: 0, restart: true, put: { target: box(9) } });
    await traps.commit({ time: 50, pose: { target: { center: [-9, HALF[1], 0], teleport } } }, { retries: 2 });
}

/** Asks about a shot through the middle of the track, or says why that cannot be answered. */
async function trapped(at, ray = aimedAt(0)) {
    const query = asked({ tag: "trap", at: () => at }, { ray });
    const answer = await traps.query(query).catch((error) => {
        if (error instanceof Problem) return error.body;
        throw error;
    });
    showRequest(traps, query, answer);
    return answer;
}

const TRAPS = {
    async jump() {
        await jump(false);
        const miss = missOf(await trapped({ time: 25 }));
        return miss === 0 ? "A ghost: halfway through its jump the target is hit in the middle of the track, where it never was." : "No ghost.";
    },
    async flag() {
        await jump(true);
        const miss = missOf(await trapped({ time: 25 }));
        return miss > 0 ? `With teleport there is no way between the two places: missed by ${miss.toFixed(1)} m.` : "A ghost.";
    },
    async late() {
        await jump(true);
        await traps.set({ history: { span: 100, commits: 64 } });
        await traps.commit({ time: 400, pose: { target: { center: [-8, HALF[1], 0] } } }, { retries: 2 });
        const { status, oldest } = await trapped({ time: 25 });
        return `${status}: the history begins at ${oldest?.time}, the shot is older. Give the scene more history, or clamp.`;
    },
    async clamped() {
        await TRAPS.late();
        const { at } = await trapped({ time: 25, clamp: true });
        return `Judged at ${at.time}, the oldest time that is kept; “clamped” is ${at.clamped}, so the game decides how far it believes a player.`;
    },
    async tick() {
        await jump(true);
        const one = new Match(settings);
        while (one.time <= 1200) await play(traps, one.tick());
        const miss = missOf(await trapped({ time: 1000 - one.period }, aimedAt(xAt(1000))));
        return `A server that is one tick of ${Math.round(one.period)} ms off judges an aimed shot as missed by ${Math.round(miss * 100)} cm.`;
    },
};

// ---- Controls --------------------------------------------------------------------------------------

for (const [name, words, min, max, unit] of SLIDERS) {
    const label = document.createElement("label");
    label.innerHTML = `<span>${words}</span><input type="range" name="${name}" min="${min}" max="${max}" value="${settings[name]}"><output>${settings[name]} ${unit}</output>`;
    label.querySelector("input").addEventListener("input", ({ target }) => {
        settings[name] = Number(target.value);
        label.querySelector("output").textContent = `${target.value} ${unit}`;
        wanted = true;
    });
    byId("settings").append(label);
}
byId("fire").addEventListener("click", () => match.fire(now()));
byId("seen").addEventListener("click", ({ offsetX, target }) => {
    const x = ((offsetX * WIDTH) / target.clientWidth - WIDTH / 2) / SCALE;
    match.fire(now(), aimedAt(x));
});
byId("bot").addEventListener("click", async ({ target }) => {
    target.disabled = true;
    await bots.set({ history: { span: settings.history, commits: 64 } });
    let n = 0;
    await tally(bots, { ...settings }, 1000, (hits, judged) => (++n % 50 === 0 ? showTally([...hits], judged) : undefined));
    target.disabled = false;
    target.dataset.done = "true";
});
for (const button of document.querySelectorAll("[data-trap]"))
    button.addEventListener("click", async () => (byId("trap").textContent = await TRAPS[button.dataset.trap]()));

void run();
draw();
