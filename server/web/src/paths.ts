// Paths of the daemon, and the scene that the address of the page names.
const PAGE = 10_000; // boxes a page of the list, the most that the API gives

export const SCENES = "/v1/scenes";

export function scenePath(scene: string, rest = ""): string {
    return `${SCENES}/${encodeURIComponent(scene)}${rest}`;
}

/** Of all that the page hears of a scene: a browser opens six connections to a daemon at most, and a stream takes one for good. */
export function eventsPath(scene: string): string {
    return scenePath(scene, "/events?topics=collisions,boxes,commits,queries&include=pose");
}

export function boxesPath(scene: string, at = ""): string {
    return scenePath(scene, `/boxes?limit=${PAGE}${at}`);
}

/** The name of the scene in the address, or "". */
export function sceneOfAddress(): string {
    try {
        return decodeURIComponent(location.hash.slice(1).split("?")[0]);
    } catch {
        return "";
    }
}
