// The settings of the scene, to read and to change.
import type { Client } from "./client";
import { byId, NumberRow } from "./dom";
import { scenePath } from "./paths";
import type { SceneInfo, Store } from "./store";

export class Settings {
    private readonly dialog = byId<HTMLDialogElement>("settings");
    private readonly failure = byId("settings-failure");
    private readonly span = new NumberRow("Span", [""], () => {});
    private readonly commits = new NumberRow("Commits", [""], () => {});
    private readonly record = new NumberRow("Queries", [""], () => {});
    private scene = ""; // whose settings are shown

    constructor(
        private readonly store: Store,
        private readonly client: Client,
    ) {
        byId("settings-history").append(this.span.root, this.commits.root);
        byId("settings-record").append(this.record.root);
        byId("settings-form").addEventListener("submit", (event) => {
            event.preventDefault();
            void this.save();
        });
        byId("settings-cancel").addEventListener("click", () => this.dialog.close());
        store.on(["scene"], () => store.info?.name === this.scene || this.dialog.close());
    }

    private get path(): string {
        return scenePath(this.store.info?.name ?? "");
    }

    async open(): Promise<void> {
        const { info } = this.store;
        if (!info) return;
        this.failure.textContent = "";
        try {
            this.store.learn(await this.client.call<SceneInfo>("GET", this.path)); // others may have changed them
        } catch (error) {
            this.failure.textContent = (error as Error).message;
        }
        if (this.store.info?.name !== info.name) return; // another scene was opened meanwhile
        this.scene = info.name;
        this.write(info);
        byId("settings-title").textContent = `Settings of ${info.name}`;
        this.dialog.showModal();
    }

    private write({ history, record }: SceneInfo): void {
        this.span.write([history.span]);
        this.commits.write([history.commits]);
        this.record.write([record]);
    }

    /** What differs is sent, and nothing else. */
    private async save(): Promise<void> {
        const { info } = this.store;
        const [span, commits, record] = [this.span, this.commits, this.record].map((row) => row.read()?.[0]);
        if (!info || span === undefined || commits === undefined || record === undefined) return;
        const history = {
            ...(span === info.history.span ? {} : { span }),
            ...(commits === info.history.commits ? {} : { commits }),
        };
        const body = {
            ...(Object.keys(history).length > 0 ? { history } : {}),
            ...(record === info.record ? {} : { record }),
        };
        try {
            if (Object.keys(body).length > 0) this.store.learn(await this.client.call<SceneInfo>("PUT", this.path, body));
            this.dialog.close();
        } catch (error) {
            this.failure.textContent = (error as Error).message;
        }
    }
}
