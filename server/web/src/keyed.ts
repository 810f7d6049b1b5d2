// Elements that stay while what they show changes, so that a press, the focus and a selection of text on them last.

/** Sets it only where it differs: even an equal text would be another node. */
export function setText(element: Element, text: string): void {
    if (element.textContent !== text) element.textContent = text;
}

/** Sets those properties that differ: also an equal one would be a change of the element, whose style is then worked out anew. */
export function setSome<T extends object>(element: T, values: Partial<T>): void {
    for (const key in values) if (element[key] !== values[key]) element[key] = values[key] as T[typeof key];
}

/** The children of an element, one for each key. */
export class Keyed<T> {
    private readonly known = new Map<string, HTMLElement>();

    /** `make` gives the element of a new key, `patch` brings an element to what its item says now. */
    constructor(
        private readonly parent: HTMLElement,
        private readonly make: (item: T) => HTMLElement,
        private readonly patch: (element: HTMLElement, item: T) => void,
    ) {}

    /** Shows these, in this order, and only these. Keys differ. */
    show(items: Map<string, T>): void {
        const { parent, known } = this;
        const focused = document.activeElement;
        for (const [key, element] of known) {
            if (items.has(key)) continue;
            known.delete(key); // first: where it has the focus, its removal is heard, and whoever hears of it may show anew
            element.remove();
        }
        let next = parent.firstElementChild;
        for (const [key, item] of items) {
            let element = known.get(key);
            if (!element) {
                element = this.make(item);
                known.set(key, element);
            }
            this.patch(element, item);
            if (element === next) next = element.nextElementSibling;
            else parent.insertBefore(element, next);
        }
        // an element that was brought to another place has lost it
        if (focused instanceof HTMLElement && focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
    }
}

const TAP_MS = 400; // after a finger has left the screen comes the click, if one comes

/** Whether something inside of an element is pressed. Until it is let go its owner shows nothing new: a press counts where it began. */
export class Hold {
    private pressed = false;
    private timer = 0;

    /** `after` is called when a press has ended, and its click, if any, has been heard. */
    constructor(
        root: HTMLElement,
        private readonly after: () => void,
    ) {
        root.addEventListener("pointerdown", (event) => {
            if (event.button !== 0) return;
            clearTimeout(this.timer);
            this.pressed = true;
        });
        root.addEventListener("click", () => this.end(0));
        addEventListener("pointerup", (event) => this.end(event.pointerType === "touch" ? TAP_MS : 0));
        addEventListener("pointercancel", () => this.end(0));
        addEventListener("blur", () => this.end(0));
    }

    get on(): boolean {
        return this.pressed;
    }

    private end(wait: number): void {
        if (!this.pressed) return;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => {
            this.pressed = false;
            this.after();
        }, wait);
    }
}
