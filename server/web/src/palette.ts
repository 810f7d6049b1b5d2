// The colours of the view, which are those of the style sheet as it applies now.
import { Color, ColorManagement } from "three";

ColorManagement.enabled = false; // unchanged to the last bit

const VARIABLES = {
    free: "box",
    touching: "box-touching",
    colliding: "box-colliding",
    edge: "box-edge",
    accent: "accent",
    ink: "ink",
    grid: "grid",
    gridMain: "grid-main",
    back: "back",
    ask: "ask",
    hit: "hit",
    miss: "dim",
    filtered: "warn",
    now: "ink",
    trail: "trail",
    kind0: "kind-0",
    kind1: "kind-1",
    kind2: "kind-2",
    kind3: "kind-3",
    kind4: "kind-4",
    kind5: "kind-5",
    kind6: "kind-6",
    kind7: "kind-7",
    least: "least",
    most: "most",
    axisX: "axis-x",
    axisY: "axis-y",
    axisZ: "axis-z",
} as const;

export type Palette = Record<keyof typeof VARIABLES, Color>;

export function readPalette(): Palette {
    const style = getComputedStyle(document.documentElement);
    const entries = Object.entries(VARIABLES).map(([name, variable]) => [name, new Color(style.getPropertyValue(`--${variable}`).trim())]);
    return Object.fromEntries(entries) as Palette;
}
