// Latency and lag of the daemon, of what `GET /metrics` counts: the text format of Prometheus.

export interface Sample {
    buckets: Map<number, number>; // requests answered within so many seconds, of all classes
    lag: number; // seconds that the loop was late, at worst
}

export function parseMetrics(text: string): Sample {
    const buckets = new Map<number, number>();
    let lag = 0;
    for (const line of text.split("\n")) {
        const bucket = /^obbd_request_seconds_bucket\{.*le="([^"]+)"\} (\d+)/.exec(line);
        if (bucket) {
            const bound = bucket[1] === "+Inf" ? Infinity : Number(bucket[1]);
            buckets.set(bound, (buckets.get(bound) ?? 0) + Number(bucket[2]));
        } else if (line.startsWith("obbd_loop_lag_seconds ")) lag = Number(line.split(" ")[1]);
    }
    return { buckets, lag };
}

/** How many requests were answered between two samples. */
export function answered(before: Sample, after: Sample): number {
    return (after.buckets.get(Infinity) ?? 0) - (before.buckets.get(Infinity) ?? 0);
}

/**
 * The time within which that share of the requests between two samples was answered: the bound of the bucket, so at most so long.
 * null: there were none.
 */
export function quantile(before: Sample, after: Sample, share: number): number | null {
    const all = answered(before, after);
    if (all <= 0) return null;
    for (const bound of [...after.buckets.keys()].sort((a, b) => a - b))
        if ((after.buckets.get(bound) ?? 0) - (before.buckets.get(bound) ?? 0) >= share * all) return bound;
    return Infinity;
}
