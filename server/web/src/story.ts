// The first look at a scene that keeps the questions it is asked: they are listed and drawn as they come, and colours say who is who.
import type { Store } from "./store";

/** Calls `tell` when the first scene is there, if it keeps questions and boxes of its belong to entities. */
export function tellStory(store: Store, tell: () => void): void {
    let told = false;
    store.on(["boxes"], () => {
        if (told || store.loaded === "") return;
        told = true; // whoever opens another scene has chosen by then what to look at
        if ((store.info?.record ?? 0) === 0) return;
        for (const { entity } of store.live.boxes.values())
            if (entity !== undefined) {
                tell();
                return;
            }
    });
}
