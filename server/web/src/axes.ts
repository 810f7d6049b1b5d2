// How the axes of a scene lie in the picture; its numbers are the same.
export interface Axes {
    up: "y" | "z";
    hand: "right" | "left";
}

/** In a word: y, z, y-left or z-left. */
export const wordOf = ({ up, hand }: Axes) => (hand === "left" ? `${up}-left` : up);

export const axesOf = (word: string): Axes => ({ up: word.startsWith("z") ? "z" : "y", hand: word.endsWith("-left") ? "left" : "right" });
