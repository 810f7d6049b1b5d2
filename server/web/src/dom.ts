// Elements, in as few words as possible.

type Child = Node | string | null | undefined | false;

export function el<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Record<string, string | boolean> = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (value === true) element.setAttribute(name, "");
        else if (value !== false) element.setAttribute(name, value);
    }
    for (const child of children) if (child) element.append(child);
    return element;
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
    const element = document.getElementById(id);
    if (!element) throw new Error(`the page has no #${id}`);
    return element as T;
}

export function button(label: string, act: () => void, attributes: Record<string, string | boolean> = {}): HTMLButtonElement {
    const made = el("button", { type: "button", ...attributes }, label);
    made.addEventListener("click", act);
    return made;
}

/** Is the user writing somewhere, so that keys are text? */
export function typing(target: EventTarget | null): boolean {
    return (
        target instanceof HTMLTextAreaElement ||
        target instanceof HTMLSelectElement ||
        (target instanceof HTMLInputElement && target.type !== "checkbox" && target.type !== "range")
    );
}

/** Escape leaves a field below that element as it was when the focus came to it, or when its value
 * was taken last. */
export function dropOnEscape(root: HTMLElement): void {
    let before = "";
    const keep = ({ target }: Event) => (before = (target as HTMLInputElement).value);
    root.addEventListener("focusin", keep);
    root.addEventListener("change", keep); // after whoever takes it
    root.addEventListener("keydown", ({ key, target }) => {
        if (key === "Escape" && typing(target)) (target as HTMLInputElement).value = before;
    });
}

/** A row of number fields with one label. `read` gives null while one of them is not a number. */
export class NumberRow {
    readonly root: HTMLElement;
    readonly inputs: HTMLInputElement[];

    /** `act` is called when one of them, by its place in the row, was changed. */
    constructor(label: string, parts: string[], act: (place: number) => void) {
        this.inputs = parts.map((part, place) => {
            const input = el("input", {
                type: "text",
                inputmode: "decimal",
                autocomplete: "off",
                "aria-label": part ? `${label} ${part}` : label,
            });
            input.addEventListener("change", () => act(place));
            return input;
        });
        this.root = el(
            "div",
            parts.length > 1 ? { class: "row", role: "group", "aria-label": label } : { class: "row" },
            el("span", { class: "label" }, label),
            ...this.inputs,
        );
    }

    write(values: number[]): void {
        this.inputs.forEach((input, i) => {
            if (document.activeElement === input) return; // somebody writes there
            input.value = values[i] === undefined ? "" : String(values[i]);
            input.removeAttribute("aria-invalid");
        });
    }

    read(): number[] | null {
        const values = this.inputs.map((input) => (input.value.trim() === "" ? Number.NaN : Number(input.value)));
        this.inputs.forEach((input, i) => {
            if (Number.isFinite(values[i])) input.removeAttribute("aria-invalid");
            else input.setAttribute("aria-invalid", "true");
        });
        return values.every(Number.isFinite) ? values : null;
    }

    /** What stands in the first field that `read` has refused. */
    get refused(): string | undefined {
        return this.inputs.find((input) => input.ariaInvalid === "true")?.value;
    }
}
