// Paths of the daemon, and the scene that the address of the page names.
const PAGE = 10_000; // boxes a page of the list, the most that the API gives

export const SCENES = "/v1/scenes";

export function scenePath(scene: string, rest = ""): string {
    return `${SCENES}/${encodeURIComponent(scene)}${rest}`;
}

export function eventsPath(scene: string): string {
    return scenePath(scene, "/events?topics=collisions,boxes,commits&include=pose");
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
