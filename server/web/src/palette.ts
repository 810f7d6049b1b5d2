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
