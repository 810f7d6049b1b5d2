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
    readonly root: HTMLElement;
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
        if (!exchange) return;
        const answer = readable(exchange.answer);
        this.write();
        setText(this.answer, answer.length > SHOWN ? `${answer.slice(0, SHOWN)}\n… ${answer.length - SHOWN} more characters` : answer);
    }

    private write(): void {
        this.languages.value = language;
        if (this.shown) setText(this.request, SNIPPETS[language](this.shown, location.origin));
    }
}

/** A value as JSON: what fits on a line stands on one. */
export function readable(value: unknown, indent = ""): string {
    const line = JSON.stringify(value);
    if (typeof value !== "object" || value === null || indent.length + line.length <= LINE) return line;
    const deeper = `${indent} `;
    const parts = Array.isArray(value)
        ? value.map((one) => deeper + readable(one, deeper))
        : Object.entries(value).map(([key, one]) => `${deeper}${JSON.stringify(key)}: ${readable(one, deeper)}`);
    const [open, close] = Array.isArray(value) ? "[]" : "{}";
    return `${open}\n${parts.join(",\n")}\n${indent}${close}`;
}
