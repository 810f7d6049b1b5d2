// One connection under node: an exchange at a time, and a rest between two.
import type { Socket } from "node:net";
import { AnswerReader, type Fields, type Reading } from "./http1.js";
import { type Answer, broken, bytesOf } from "./transport.js";

const COPIED = 1 << 16; // bytes of a body up to which it is copied into one block with its head
const AHEAD = 1 << 20; // bytes of a body that are read before somebody takes them

/** Hears of a write for which the other side has left, in place of the socket, which would close at
 * once. Whoever refuses a request may answer and leave before all of it has come: what was received
 * is still to be read, and its end ends the socket. */
function hearLeft(socket: Socket, left: (error: Error) => void): void {
    type Done = (error?: Error | null) => void;
    const { _write, _writev } = socket;
    const heard = (done: Done) => (error?: NodeJS.ErrnoException | null) => {
        if (error?.code === "EPIPE" || error?.code === "ECONNRESET") left(error);
        else done(error);
    };
    socket._write = (chunk, encoding, done) => _write.call(socket, chunk, encoding, heard(done));
    if (_writev) socket._writev = (chunks, done) => _writev.call(socket, chunks, heard(done));
}

/** An answer as it comes, and whoever waits for it. */
class Exchange implements Reading, Answer {
    status = 0;
    readonly reader: AnswerReader;
    private readonly parts: Uint8Array[] = []; // of the body, that nobody has taken
    private ahead = 0; // bytes of them
    private ended = false;
    private fields: Fields | undefined;
    private made: Headers | undefined;
    private failure: { reason: unknown } | undefined;
    private wake = () => {};

    constructor(
        headOnly: boolean,
        private readonly socket: Socket,
        private readonly resolve: (answer: Answer) => void,
        private readonly reject: (reason: unknown) => void,
        private readonly over: (kept: boolean) => void,
    ) {
        this.reader = new AnswerReader(this, headOnly);
    }

    head(status: number, fields: Fields): void {
        this.status = status;
        this.fields = fields;
        this.resolve(this);
    }

    part(part: Uint8Array): void {
        this.parts.push(new Uint8Array(part.buffer, part.byteOffset, part.length)); // no Buffer, whose slice is no copy
        this.ahead += part.length;
        if (this.ahead > AHEAD) this.socket.pause();
        this.wake();
    }

    end(kept: boolean): void {
        this.ended = true;
        this.over(kept);
        this.wake();
    }

    fail(reason: unknown): void {
        this.failure = { reason };
        this.over(false);
        this.reject(reason);
        this.wake();
    }

    get headers(): Headers {
        return (this.made ??= new Headers(this.fields?.all));
    }

    header(name: string): string | null {
        return this.fields?.get(name) ?? null;
    }

    get body(): AsyncIterable<Uint8Array> {
        return this.taken();
    }

    async whole(): Promise<Uint8Array<ArrayBuffer>> {
        if (this.ended && this.parts.length === 1) return this.parts.pop() as Uint8Array<ArrayBuffer>;
        return bytesOf(this.taken());
    }

    private async *taken(): AsyncGenerator<Uint8Array> {
        try {
            for (;;) {
                for (let part = this.parts.shift(); part; part = this.parts.shift()) {
                    this.ahead -= part.length;
                    yield part;
                }
                if (this.ended) return;
                if (this.failure) throw this.failure.reason;
                if (this.socket.isPaused()) this.socket.resume();
                await new Promise<void>((resolve) => (this.wake = resolve));
            }
        } finally {
            if (!this.ended) this.socket.destroy(); // whoever has read enough leaves the connection
        }
    }
}

export class Connection {
    /** Has the connection been made? Before that, nothing of a request can have arrived. */
    made = false;
    private exchange: Exchange | undefined;
    private left: Error | undefined; // why a write failed
    private block = Buffer.alloc(0); // of the write before, whose bytes have left: else the connection is not used again
    private rested = 0;
    private timer: NodeJS.Timeout | undefined;

    /** @param ready the event with which the socket says that it is connected
     *  @param lost called when the connection ends while it rests */
    constructor(
        private readonly socket: Socket,
        ready: "connect" | "secureConnect",
        private readonly lost: (connection: Connection) => void,
    ) {
        socket.once(ready, () => (this.made = true));
        hearLeft(socket, (error) => (this.left = error));
        socket.on("data", (bytes) => this.heard((reader) => reader.feed(bytes)));
        socket.on("end", () => this.heard((reader) => reader.closed()));
        socket.on("error", (error) => this.fail(broken(this.left ?? error)));
        socket.on("close", () => this.fail(broken(this.left ?? "the answer was cut")));
    }

    /** Sends a request. Resolves when the head of its answer is there, rejects if that will not come.
     *
     *  @param over called when the connection is done with the exchange; `kept` says that it may be used again */
    send(head: string, body: readonly Uint8Array[], headOnly: boolean, over: (kept: boolean) => void): Promise<Answer> {
        return new Promise((resolve, reject) => {
            const done = (kept: boolean) => {
                this.exchange = undefined;
                if (this.socket.isPaused()) this.socket.resume();
                const written = this.socket.writableLength === 0;
                over(kept && written && !this.left && !this.socket.destroyed);
            };
            this.exchange = new Exchange(headOnly, this.socket, resolve, reject, done);
            this.socket.ref();
            this.write(head, body);
        });
    }

    /** Head and body leave in one write. */
    private write(head: string, body: readonly Uint8Array[]): void {
        const length = body.reduce((sum, part) => sum + part.length, head.length);
        if (length <= COPIED) {
            if (this.block.length < length) this.block = Buffer.allocUnsafeSlow(Math.min(COPIED, 2 * length));
            let at = this.block.write(head, "latin1");
            for (const part of body) {
                this.block.set(part, at);
                at += part.length;
            }
            this.socket.write(this.block.subarray(0, at));
            return;
        }
        this.socket.cork();
        this.socket.write(head, "latin1");
        for (const part of body) this.socket.write(part);
        this.socket.uncork();
    }

    private heard(read: (reader: AnswerReader) => void): void {
        try {
            if (this.exchange) read(this.exchange.reader);
            else this.leave(); // nobody has asked
        } catch (error) {
            this.fail(broken(this.left ?? error));
        }
    }

    /** Ends the connection, and what is under way on it for this reason. */
    fail(reason: unknown): void {
        this.leave();
        if (this.exchange) this.exchange.fail(reason);
        else this.lost(this);
    }

    leave(): void {
        clearTimeout(this.timer);
        this.socket.destroy();
    }

    /** Rests, and leaves after so many milliseconds. The program may end meanwhile. */
    rest(longest: number): void {
        this.rested = performance.now();
        this.socket.unref();
        this.timer ??= setTimeout(() => this.exchange ?? this.leave(), longest).unref();
        this.timer.refresh();
    }

    /** May an exchange begin? Not if the daemon may be about to close the connection, for it has rested for so long. */
    usable(longest: number): boolean {
        return !this.socket.destroyed && performance.now() - this.rested < longest;
    }
}
