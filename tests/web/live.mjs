// A scene that moves many times a second, as games move theirs, and pages that follow it.
import { launch, openPage, until } from "./harness.mjs";
import { CUBE, daemon, makeScene } from "./words.mjs";

const BOXES = 200;

export const blind = await launch(["--disable-3d-apis"]); // WebGL in software takes more than all that is tried

export async function showBlind(scene, expected = [], options = {}) {
    const opened = await openPage(blind, daemon.url, { expected: [/WebGL/, /status of 412/, ...expected], ...options });
    await opened.page.goto(`${daemon.url}/#${scene}`);
    await opened.page.waitForSelector("#status[data-state=live]");
    return opened;
}

/** 200 boxes that go round in a floor, which all of them cut, as they do each other now and then; and 12 that stand still beside it. */
const place = (i, tick) => {
    const turn = tick / 10 + i;
    return [(i % 20) * 2.5 + Math.cos(turn), 0.6 + 0.2 * Math.sin(turn / 3), Math.floor(i / 20) * 2.5 + Math.sin(turn)];
};
const moving = Array.from({ length: BOXES }, (_, i) => `moving-${i}`);

/** Such a scene with more boxes; `place` says where a moving box is after so many ticks, each of which is a revision. */
export async function makeLive(more = {}, { everyMs = 50, settings = {} } = {}) {
    const put = { ...more, floor: { center: [24, -1, 12], half_extents: [30, 1, 20] } };
    for (let i = 0; i < 12; i++) put[`still-${i}`] = CUBE(4 * i, 1, 60);
    moving.forEach((name, i) => (put[name] = { center: place(i, 0), half_extents: [0.8, 0.8, 0.8] }));
    const scene = await makeScene(put, settings);
    let going = true;
    const loop = (async () => {
        for (let tick = 1; going; tick++) {
            const next = Date.now() + everyMs;
            await daemon.commit(scene, { pose: { names: moving, centers: moving.flatMap((_, i) => place(i, tick)) } });
            await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
        }
    })();
    return {
        scene,
        place,
        async stop() {
            going = false;
            await loop;
        },
    };
}

const at = async (page) => Number(/\d+/.exec(await page.textContent("#revision"))[0]);

/** Until the page has gone on by so many states. */
export const shown = (page, states) => at(page).then((from) => until(`${states} more states`, async () => (await at(page)) >= from + states));
