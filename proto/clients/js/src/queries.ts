// Queries, each made by a function named after its kind.
import type {
    AllPairsOptions,
    BoxRef,
    Form,
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

/** The form that the options ask for. */
type FormOf<O> = O extends { columns: true } ? "columns" : O extends { by: "id" } ? "id" : "name";

/** A bare number as `at` is a time that may be out of reach: players are believed as far as the history goes. */
function made<K extends Kind, F extends Form>(kind: K, items: object, options: object = {}): Query<K, F> {
    const at = (options as { at?: unknown }).at;
    return { kind, ...items, ...options, ...(typeof at === "number" && { at: { time: at, clamp: true } }) };
}

/** Which of these pairs overlap? `pairs` holds pairs, or with `by: "id"` one flat array of ids. */
export function pairs<const O extends PairsOptions>(
    pairs: readonly (readonly [BoxRef, BoxRef])[] | readonly number[] | Uint32Array,
    options?: O,
) {
    return made<"pairs", FormOf<O>>("pairs", { pairs }, options);
}

/** Which boxes of the scene overlap each other? */
export function allPairs<const O extends AllPairsOptions>(options?: O) {
    return made<"all-pairs", FormOf<O>>("all-pairs", {}, options);
}

/** Which boxes do these shapes overlap? */
export function overlap<const O extends OverlapOptions>(shapes: readonly Shape[], options?: O) {
    return made<"overlap", FormOf<O>>("overlap", { shapes }, options);
}

/** Which boxes hold these points? */
export function point<const O extends PointOptions>(points: readonly Numbers[] | Numbers, options?: O) {
    return made<"point", FormOf<O>>("point", { points }, options);
}

/** What do these rays hit? Rays with `times` are judged with `clamp`, unless `at` says something else. */
export function ray<const O extends RayOptions>(rays: readonly Ray[] | RayColumns, options?: O) {
    const at = !Array.isArray(rays) && (rays as RayColumns).times && options?.at === undefined && { at: { clamp: true } };
    return made<"ray", FormOf<O>>("ray", { rays }, { ...options, ...at });
}

/** What do these boxes hit on their way? */
export function sweep<const O extends SweepOptions>(sweeps: readonly Sweep[], options?: O) {
    return made<"sweep", FormOf<O>>("sweep", { sweeps }, options);
}

/** Which boxes are nearest to these points, or to these boxes? */
export function nearest<const O extends NearestOptions>(
    to: { points: readonly Numbers[] | Numbers } | { boxes: readonly BoxRef[] },
    options?: O,
) {
    return made<"nearest", FormOf<O>>("nearest", to, options);
}

/** Does the answer hold ids? Then CBOR brings them as typed arrays. */
export function answersIds(query: Query): boolean {
    return query.by === "id" || query.columns === true;
}
