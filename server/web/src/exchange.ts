// Shows a request as the curl command that sends it, and the answer as it came.
import type { Exchange } from "./client";
import { button, el } from "./dom";
import { setText } from "./keyed";

const SHOWN = 20_000; // characters of an answer

export class ExchangePanel {
    readonly root: HTMLElement;
    private readonly request = el("pre", { class: "code", tabindex: "0", "aria-label": "Request as curl" });
    private readonly answer = el("pre", { class: "code", tabindex: "0", "aria-label": "Answer" });

    constructor() {
        const copy = button("Copy", () => {
            void navigator.clipboard.writeText(this.request.textContent ?? "").then(
                () => this.say(copy, "Copied"),
                () => this.say(copy, "Not allowed"),
            );
        });
        this.root = el(
            "details",
            { class: "exchange", hidden: true },
            el("summary", {}, "Request and answer"),
            el("div", { class: "bar" }, el("span", { class: "label" }, "curl"), copy),
            this.request,
            el("div", { class: "bar" }, el("span", { class: "label" }, "answer")),
            this.answer,
        );
    }

    private say(copy: HTMLButtonElement, text: string): void {
        copy.textContent = text;
        setTimeout(() => (copy.textContent = "Copy"), 1500);
    }

    show(exchange: Exchange | null): void {
        this.root.hidden = exchange === null;
        if (!exchange) return;
        const { answer } = exchange;
        setText(this.request, exchange.curl);
        setText(this.answer, answer.length > SHOWN ? `${answer.slice(0, SHOWN)}\n… ${answer.length - SHOWN} more characters` : answer);
    }
}
