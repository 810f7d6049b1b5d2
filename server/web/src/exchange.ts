// Shows a request as the curl command or the program that sends it, and the answer as it came.
import { button, el } from "./dom";
import { setText } from "./keyed";
import { type Asked, SNIPPETS } from "./snippets";

const SHOWN = 20_000; // characters of an answer
const LINE = 76; // characters of a line

/** A request and what came back. */
export interface Exchange extends Asked {
    answer: unknown;
}

let language = "curl"; // of all panels

export class ExchangePanel {
    readonly root: HTMLDetailsElement;
    private readonly request = el("pre", { class: "code", tabindex: "0", "aria-label": "Request" });
    private readonly languages = el("select", { "aria-label": "Language of the request" }, ...Object.keys(SNIPPETS).map((name) => el("option", { value: name }, name)));
    private shown: Exchange | null = null;
    private readonly answer = el("pre", { class: "code", tabindex: "0", "aria-label": "Answer" });

    constructor() {
        const copy = button("Copy", () => {
            const text = this.request.textContent ?? "";
            // without TLS, browsers give the clipboard to pages of loopback alone
            const copying = navigator.clipboard ? navigator.clipboard.writeText(text) : Promise.reject(new Error("no clipboard"));
            void copying.then(
                () => this.say(copy, "Copied"),
                () => this.say(copy, this.copySelected() ? "Copied" : "Selected: press Ctrl+C"),
            );
        });
        this.languages.addEventListener("change", () => {
            language = this.languages.value;
            this.write();
        });
        this.root = el(
            "details",
            { class: "exchange", hidden: true },
            el("summary", {}, "Request and answer"),
            el("div", { class: "bar" }, this.languages, copy),
            this.request,
            el("div", { class: "bar" }, el("span", { class: "label" }, "answer")),
            this.answer,
        );
        this.root.addEventListener("toggle", () => this.writeAnswer());
    }

    /** The way before there was a clipboard: the text is selected and copied as a user does. */
    private copySelected(): boolean {
        getSelection()?.selectAllChildren(this.request);
        return document.execCommand("copy");
    }

    private say(copy: HTMLButtonElement, text: string): void {
        copy.textContent = text;
        setTimeout(() => (copy.textContent = "Copy"), 1500);
    }

    show(exchange: Exchange | null): void {
        this.root.hidden = exchange === null;
        this.shown = exchange;
        this.write();
        this.writeAnswer();
    }

    private write(): void {
        this.languages.value = language;
        if (this.shown) setText(this.request, SNIPPETS[language](this.shown, location.origin));
    }

    /** Answers are long and many: they are made text only where somebody sees it. */
    private writeAnswer(): void {
        const seen = this.shown && this.root.open;
        setText(this.answer, seen ? readable(this.shown?.answer, SHOWN) : "");
    }
}

/**
 * A value as JSON: what fits on a line stands on one.
 * @param most the number of characters after which the rest is left out
 */
export function readable(value: unknown, most = Infinity): string {
    const made: string[] = [];
    let length = 0;
    for (const line of lines(value, "", "", "")) {
        made.push(line);
        length += line.length + 1;
        if (length <= most) continue;
        return `${made.join("\n").slice(0, most)}\n… and more, which is left out here`;
    }
    return made.join("\n");
}

/** The lines of a value, one after the other; `before` and `after` stand on its first and last. */
function* lines(value: unknown, indent: string, before: string, after: string): Generator<string> {
    if (typeof value !== "object" || value === null || fits(value, LINE - indent.length)) {
        yield `${indent}${before}${JSON.stringify(value)}${after}`;
        return;
    }
    const isList = Array.isArray(value);
    const [open, close] = isList ? "[]" : "{}";
    const entries = isList ? value.entries() : Object.entries(value);
    let left = isList ? value.length : Object.keys(value).length;
    yield `${indent}${before}${open}`;
    for (const [key, one] of entries) {
        const name = isList ? "" : `${JSON.stringify(key)}: `;
        yield* lines(one, `${indent} `, name, --left > 0 ? "," : "");
    }
    yield `${indent}${close}${after}`;
}

/** Has the value at most so many characters as JSON? No more of it is looked at than that takes. */
function fits(value: object, room: number): boolean {
    let left = room;
    const take = (part: unknown): boolean => {
        if (typeof part !== "object" || part === null) left -= JSON.stringify(part).length;
        else {
            left -= 2; // the brackets
            let entries = 0;
            for (const key in part) {
                if (entries++ > 0) left--; // the comma
                if (!Array.isArray(part)) left -= JSON.stringify(key).length + 1;
                if (!take(part[key as keyof typeof part])) return false;
            }
        }
        return left >= 0;
    };
    return take(value);
}
