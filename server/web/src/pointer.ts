// What pointers do in the view beside turning it: clicks, drags of a probe, a rectangle around boxes, and hovering.
export interface Pixel {
    x: number; // from the left of the view
    y: number; // from its top
}

type Press = Pixel & { id: number; way: "click" | "drag" | "grip" | "area"; moved: boolean };

const CLICK_PX = { mouse: 4, pen: 6, touch: 12 }; // a press that moves less is a click

export class Pointer {
    /** What a press is about to do; null: nothing, a handle has it. */
    way: (event: PointerEvent) => Press["way"] | null = () => null;
    /** A press that is not the view's begins or ends. */
    onHold: (holding: boolean) => void = () => {};
    /** A press begins that may become a click. */
    onPress: (at: Pixel) => void = () => {};
    onClick: (more: boolean) => void = () => {};
    onDrag: (at: Pixel) => void = () => {};
    /** The same of a grip, which is clicked if it is not moved. */
    onGrip: (at: Pixel) => void = () => {};
    onArea: (from: Pixel, to: Pixel, end: boolean, more: boolean) => void = () => {};
    /** Of a pointer that is not pressed. */
    onHover: (at: Pixel | null) => void = () => {};
    private pressed: Press | null = null;
    private readonly down = new Set<number>(); // pointers

    constructor(private readonly canvas: HTMLElement) {
        canvas.addEventListener("pointerdown", (event) => this.press(event));
        canvas.addEventListener("pointermove", (event) => this.move(event));
        canvas.addEventListener("pointerup", (event) => this.release(event, true));
        canvas.addEventListener("pointercancel", (event) => this.release(event, false));
        canvas.addEventListener("pointerleave", () => this.onHover(null));
    }

    pixel(event: PointerEvent): Pixel {
        const { left, top } = this.canvas.getBoundingClientRect();
        return { x: event.clientX - left, y: event.clientY - top };
    }

    private press(event: PointerEvent): void {
        if (event.isPrimary) this.down.clear();
        this.down.add(event.pointerId);
        if (this.down.size > 1) {
            this.letGo(); // two fingers shift and zoom
            return;
        }
        const way = event.button === 0 ? this.way(event) : null;
        if (way === null) return;
        this.pressed = { ...this.pixel(event), id: event.pointerId, way, moved: false };
        if (way !== "drag") this.onPress(this.pressed);
        if (way === "click") return;
        this.canvas.setPointerCapture(event.pointerId);
        this.onHold(true);
    }

    private move(event: PointerEvent): void {
        const { pressed } = this;
        const at = this.pixel(event);
        if (!pressed) {
            if (event.pointerType !== "touch" && event.buttons === 0) this.onHover(at);
            return;
        }
        if (event.pointerId !== pressed.id) return;
        const least = CLICK_PX[event.pointerType as keyof typeof CLICK_PX] ?? CLICK_PX.mouse;
        pressed.moved ||= Math.hypot(at.x - pressed.x, at.y - pressed.y) > least;
        if (pressed.way === "drag") this.onDrag(at);
        else if (pressed.way === "grip" && pressed.moved) this.onGrip(at);
        else if (pressed.way === "area" && pressed.moved) this.onArea(pressed, at, false, event.shiftKey);
    }

    private release(event: PointerEvent, meant: boolean): void {
        this.down.delete(event.pointerId);
        const { pressed } = this;
        if (pressed?.id !== event.pointerId) return;
        this.letGo();
        if (!meant) return;
        const at = this.pixel(event);
        if (pressed.way === "drag") this.onDrag(at);
        else if (!pressed.moved) this.onClick(event.shiftKey || event.ctrlKey || event.metaKey);
        else if (pressed.way === "grip") this.onGrip(at);
        else if (pressed.way === "area") this.onArea(pressed, at, true, event.shiftKey);
    }

    private letGo(): void {
        if (this.pressed && this.pressed.way !== "click") this.onHold(false);
        this.pressed = null;
    }
}
