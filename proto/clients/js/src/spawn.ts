// Starts the daemon as a part of this program.
import { spawn as start } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, type ConnectOptions, settingsOf } from "./client.js";
import { NodeTransport } from "./node_transport.js";

// The shell ends the daemon when its standard input closes, and that happens however this program ends.
const GUARD = '"$@" </dev/null & pid=$!; exec >&- 2>&-; read -r _; kill "$pid"; wait "$pid"; rmdir "$0"';

// Variables of the clients. The daemon refuses a variable that begins like its own and is none of them.
const OURS = ["OBBD_BIN", "OBBD_URL", "OBBD_TOKEN", "OBBD_DEBUG"];

export interface SpawnOptions extends ConnectOptions {
    /** The daemon; by default OBBD_BIN, then bin/obbd of this package, then obbd on the PATH. An empty name counts as none. */
    binary?: string;
    /** Further options of the daemon, as `["--history", "2000"]`. */
    args?: readonly string[];
}

function binaryOf({ binary }: SpawnOptions): string {
    const own = fileURLToPath(new URL("../bin/obbd", import.meta.url));
    return binary || process.env.OBBD_BIN || (existsSync(own) ? own : "obbd");
}

/** Starts the daemon on a unix socket, which the client uses, and on a free port of loopback, for the web editor. It ends with
 * `close()`, or with this program. */
export async function spawn(options: SpawnOptions = {}): Promise<Client> {
    const folder = mkdtempSync(join(tmpdir(), "obbd-"));
    const socket = `unix:${join(folder, "socket")}`;
    const binary = binaryOf(options);
    const listen = ["--listen", socket, "--listen", "127.0.0.1:0", "--log-level", "warn"];
    const child = start("/bin/sh", ["-c", GUARD, folder, binary, ...listen, ...(options.args ?? [])], {
        stdio: ["pipe", "pipe", "inherit"],
        env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !OURS.includes(name))),
        detached: true, // a Ctrl-C is for this program, which then ends the daemon
    });
    const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
    const end = async () => {
        child.ref();
        child.stdin.destroy();
        await ended;
    };
    let said = "";
    for await (const bytes of child.stdout) {
        said += bytes;
        const page = /listening on (https?:\S+)/.exec(said)?.[1];
        if (!page || !said.includes(socket)) continue;
        child.unref();
        for (const pipe of [child.stdin, child.stdout]) (pipe as unknown as { unref(): void }).unref();
        return new Client(new NodeTransport(socket, page), settingsOf(options), end);
    }
    await end();
    throw new Error(`the daemon ${binary} did not start: see its message on standard error`);
}
