// A second page beside the first, of the same scene or another one. Who turns the view in one turns it in both.
import { axesOf, wordOf } from "./axes";
import { el } from "./dom";
import type { Side } from "./eye";
import type { Store } from "./store";
import type { View } from "./view";

interface Said {
    address?: string;
    eye?: { dimensions: number; side: Side; axes: string; place: number[] };
}

/** Is this the page beside another one? */
export const inner = window !== parent;

export class Beside {
    onChange: () => void = () => {};
    private frame: HTMLIFrameElement | null = null;
    private address = ""; // of the page in the frame, without its #
    private following = false;

    constructor(
        private readonly store: Store,
        private readonly view: View | null,
    ) {
        addEventListener("message", ({ origin, source, data }: MessageEvent<Said>) => {
            if (origin !== location.origin || source !== this.other) return;
            if (data.address !== undefined && this.frame) {
                this.address = data.address;
                this.onChange();
            }
            if (data.eye) this.follow(data.eye);
        });
    }

    private get other(): Window | null {
        return this.frame?.contentWindow ?? (inner ? parent : null);
    }

    private say(said: Said): void {
        this.other?.postMessage(said, location.origin);
    }

    /** What the page in the frame shows, as its address says it; "": there is none. */
    get words(): string {
        return this.address;
    }

    /** Shows a page of that scene beside this one, seen from where this one is seen. */
    open(scene: string): void {
        const { view } = this;
        const eye = view ? `?side=${view.side}&axes=${wordOf(view.axes)}&eye=${view.place}` : "";
        this.show(encodeURIComponent(scene) + eye);
    }

    /** Shows a page with that address beside this one; "": none. */
    show(address: string): void {
        if (inner || address === this.address) return;
        this.address = address;
        const open = address !== "";
        document.body.classList.toggle("beside", open);
        if (!open) {
            this.frame?.remove();
            this.frame = null;
        } else if (this.frame?.contentWindow) this.frame.contentWindow.location.hash = address;
        else {
            this.frame = el("iframe", { id: "beside", title: "The page beside", src: `${location.pathname}#${address}` });
            document.body.append(this.frame);
        }
        this.onChange();
    }

    /** Tells the page around this one what this one shows. */
    tell(address: string): void {
        if (inner) this.say({ address });
    }

    /** The eye has moved. */
    moved(): void {
        const { view, store } = this;
        const place = view?.movedTo;
        if (this.following || !view || !place) return;
        this.say({ eye: { dimensions: store.dimensions, side: view.side, axes: wordOf(view.axes), place } });
    }

    private follow({ dimensions, side, axes, place }: NonNullable<Said["eye"]>): void {
        const { view, store } = this;
        if (!view || dimensions !== store.dimensions) return;
        this.following = true;
        if (wordOf(view.axes) !== axes) view.setAxes(axesOf(axes));
        if (view.side !== side) view.look(side);
        view.goTo(place);
        this.following = false;
    }
}
