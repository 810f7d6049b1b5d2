// Queries, each made by a function named after its kind.
import type {
    AllPairsOptions,
    At,
    BoxRef,
    Ids,
    Kind,
    NearestOptions,
    Numbers,
    OverlapOptions,
    PairsOptions,
    PointOptions,
    Query,
    Ray,
    RayColumns,
    RayOptions,
    Shape,
    Sweep,
    SweepOptions,
} from "./types.js";

type By = "name" | "id";

/** Options O of which three say what the answer looks like: B how boxes are named, C if it is in columns, A the state asked. */
type Asked<O, B, A, C = false> = Omit<O, "by" | "at" | "columns"> & { by?: B; at?: A } & ("columns" extends keyof O
        ? { columns?: C }
        : unknown);

type Form<B, C = false> = C extends true ? "columns" : B extends "id" ? "id" : "name";

/** Is it about the past, so that the answer says which state it saw? */
type Past<A> = A extends number | { revision: number } | { time: number } | { ago: number } ? true : false;

type When = At | number;

/** A bare number as `at` is a time that may be out of reach: players are believed as far as the history goes. */
function made<K extends Kind, B, A, C = false>(kind: K, items: object, options: object = {}): Query<K, Form<B, C>, Past<A>> {
    const at = (options as { at?: unknown }).at;
    return { kind, ...items, ...options, ...(typeof at === "number" && { at: { time: at, clamp: true } }) };
}

/** Which of these pairs overlap? `pairs` holds pairs, or with `by: "id"` one flat array of ids. */
export function pairs<B extends By = "name", A extends When | undefined = undefined>(
    pairs: readonly (readonly [BoxRef, BoxRef])[] | Ids,
    options?: Asked<PairsOptions, B, A>,
) {
    return made<"pairs", B, A>("pairs", { pairs }, options);
}

/** Which boxes of the scene overlap each other? */
export function allPairs<B extends By = "name", A extends When | undefined = undefined>(options?: Asked<AllPairsOptions, B, A>) {
    return made<"all-pairs", B, A>("all-pairs", {}, options);
}

/** Which boxes do these shapes overlap? */
export function overlap<B extends By = "name", A extends When | undefined = undefined>(
    shapes: readonly Shape[],
    options?: Asked<OverlapOptions, B, A>,
) {
    return made<"overlap", B, A>("overlap", { shapes }, options);
}

/** Which boxes hold these points? */
export function point<B extends By = "name", A extends When | undefined = undefined>(
    points: readonly Numbers[] | Numbers,
    options?: Asked<PointOptions, B, A>,
) {
    return made<"point", B, A>("point", { points }, options);
}

/** What do these rays hit? Rays with `times` are judged with `clamp`, unless `at` says something else. */
export function ray<B extends By = "name", A extends RayOptions["at"] = undefined, C extends boolean = false>(
    rays: readonly Ray[] | RayColumns,
    options?: Asked<RayOptions, B, A, C>,
) {
    const at = !Array.isArray(rays) && (rays as RayColumns).times && options?.at === undefined && { at: { clamp: true } };
    return made<"ray", B, A, C>("ray", { rays }, { ...options, ...at });
}

/** What do these boxes hit on their way? */
export function sweep<B extends By = "name", A extends When | undefined = undefined, C extends boolean = false>(
    sweeps: readonly Sweep[],
    options?: Asked<SweepOptions, B, A, C>,
) {
    return made<"sweep", B, A, C>("sweep", { sweeps }, options);
}

/** Which boxes are nearest to these points, or to these boxes? */
export function nearest<B extends By = "name", A extends When | undefined = undefined, C extends boolean = false>(
    to: { points: readonly Numbers[] | Numbers } | { boxes: readonly BoxRef[] },
    options?: Asked<NearestOptions, B, A, C>,
) {
    return made<"nearest", B, A, C>("nearest", to, options);
}

/** Does the answer hold ids? Then CBOR brings them as typed arrays. */
export function answersIds(query: Query): boolean {
    return query.by === "id" || query.columns === true;
}
