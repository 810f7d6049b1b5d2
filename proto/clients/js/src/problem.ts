// What can go wrong, each as a class of its own.

/** A problem document (RFC 9457), as the daemon answers it. */
export interface ProblemBody {
    type: string;
    title: string;
    status: number;
    detail: string;
    /** A JSON pointer to the value at fault in the request's body. */
    pointer?: string;
    tag?: string;
    /** With 410, what is kept. */
    oldest?: { revision: number; time: number };
    newest?: { revision: number; time: number };
    allow?: string;
    retry_after?: number;
}

/** The daemon refused the request, or another server answered in its place. Nothing was changed. */
export class Problem extends Error {
    override name = "Problem";
    readonly type: string;
    readonly status: number;
    readonly pointer: string | undefined;

    constructor(
        readonly body: ProblemBody,
        readonly headers: Headers,
    ) {
        super(`${body.detail}${body.pointer ? ` (${body.pointer})` : ""}`);
        this.type = body.type;
        this.status = body.status;
        this.pointer = body.pointer;
    }
}

/** The scene's ids and revisions began anew: the scene was made again, or is gone. `onLost` has run. */
export class Lost extends Problem {
    override name = "Lost";

    /** The scene was lost before this call, and `onLost` has run now; nothing was sent. */
    static before(scene: string): Lost {
        const detail = `found the scene ${JSON.stringify(scene)} lost; its boxes were put again, so ask for their ids`;
        return new Lost({ type: "/problems/epoch", title: "Another epoch", status: 412, detail }, new Headers());
    }
}

/** The connection could not be made, or broke before the whole answer to a question came. Nothing was changed. */
export class Disconnected extends Error {
    override name = "Disconnected";
}

/** The connection broke after a change was sent, and attempts ended: the change was made or not, and nobody can tell. A commit
 * with an `id` may be sent again all the same. */
export class Unknown extends Error {
    override name = "Unknown";
}

/** The commit was made, but some of its queries could not be answered. They may be asked again, the commit may not. `cause` is the
 * error of the request that asked them again, if that failed. */
export class Unanswered<C = unknown> extends Error {
    override name = "Unanswered";

    constructor(
        readonly committed: C,
        readonly problems: ProblemBody[],
        cause?: unknown,
    ) {
        const why = cause instanceof Error ? cause.message : problems[0]?.detail;
        super(`the commit was made, its queries were not answered: ${why}`, { cause });
    }
}
