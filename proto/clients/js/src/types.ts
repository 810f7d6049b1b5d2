// The contract's objects as types. proto/contract/openapi.yaml says what each field means; a test holds these types against it.
import type { ProblemBody } from "./problem.js";

type Without<K extends string> = { [P in K]?: undefined };

/** Numbers of a request. Typed arrays are sent as they lie in memory. */
export type Numbers = readonly number[] | Float32Array | Float64Array;
export type Ids = readonly number[] | Uint32Array;
export type NameOrId = string | number;
export type Topic = "collisions" | "boxes" | "commits" | "queries";

// ---- Scenes ---------------------------------------------------------------------------------------

export interface Moment {
    revision: number;
    time: number;
}

export interface Seen extends Moment {
    /** The time lay outside of the history, and the nearest end of it was used. */
    clamped: boolean;
}

export interface Settings {
    dimensions?: 2 | 3;
    history?: { span?: number; commits?: number };
    record?: number;
    /** Whether the scene outlives the process; chosen when it is made. */
    durable?: boolean;
}

export interface Bounds {
    min: number[];
    max: number[];
}

export interface SceneInfo extends Moment {
    name: string;
    dimensions: 2 | 3;
    history: { span: number; commits: number };
    record: number;
    durable?: true;
    boxes: number;
    oldest: Moment;
    bounds: Bounds | null;
}

export interface SceneEntry {
    name: string;
    boxes: number;
    revision: number;
}

export interface RecordedQuery extends Moment {
    id: number;
    kind: Kind;
    query: Record<string, unknown>;
    answer: Record<string, unknown>;
    at: Seen;
    tag: string | null;
    request: string;
    token: string | null;
}

// ---- Boxes ----------------------------------------------------------------------------------------

export interface AxisAngle {
    axis: Numbers;
    degrees: number;
}

/** How a box is turned, in at most one way; `angle` (degrees) in 2-D scenes only. */
export type Turn =
    | ({ rotation?: Numbers } & Without<"axes" | "axis_angle" | "angle">)
    | ({ axes: readonly Numbers[] } & Without<"rotation" | "axis_angle" | "angle">)
    | ({ axis_angle: AxisAngle } & Without<"rotation" | "axes" | "angle">)
    | ({ angle: number } & Without<"rotation" | "axes" | "axis_angle">);

export interface Attributes {
    frame?: string | null;
    category?: number;
    mask?: number;
    group?: number;
    entity?: string | null;
    data?: unknown;
    ttl?: number | null;
}

type Place = { center?: Numbers } & Turn;
type PoseForm = { center: Numbers; half_extents: Numbers } & Turn;
type MinMaxForm = { min: Numbers; max: Numbers; position?: Numbers } & Turn;
interface MatrixForm {
    matrix: Numbers;
    half_extents?: Numbers;
}
interface PointsForm {
    points: readonly Numbers[];
    fit?: "pca" | "tight" | "aabb";
}
interface CornersForm {
    corners: readonly Numbers[];
}
interface LocalForm {
    half_extents: Numbers;
    frame: string;
    local: { center: Numbers } & Turn;
}

/** A box to put, in exactly one form. */
export type BoxIn = (PoseForm | MinMaxForm | MatrixForm | PointsForm | CornersForm | LocalForm) & Attributes;

/** Fields of a box to change. */
export type BoxPatch = Attributes &
    (
        | ({ center?: Numbers; half_extents?: Numbers } & Turn)
        | { half_extents?: Numbers; frame: string; local: Place }
        | MinMaxForm
        | MatrixForm
        | PointsForm
        | CornersForm
    );

export interface LocalPose {
    center: number[];
    rotation?: number[];
    angle?: number;
}

export interface Pose {
    center: number[];
    half_extents: number[];
    /** In 3-D scenes; in 2-D `angle`. */
    rotation?: number[];
    angle?: number;
    frame?: string;
    local?: LocalPose;
}

export interface Box extends Pose {
    name: string;
    id: number;
    changed: number;
    category: number;
    mask: number;
    group: number;
    entity?: string;
    data?: unknown;
    ttl?: number;
    axes?: number[][];
    corners?: number[][];
    planes?: number[][];
    edges?: number[][][];
    aabb?: Bounds;
    matrix?: number[];
    volume?: number;
}

export interface BoxAnswer extends Box, Moment {
    at?: Seen;
}

export type Include = "axes" | "corners" | "planes" | "edges" | "aabb" | "matrix" | "volume";

export interface Frame {
    name: string;
    center: number[];
    rotation?: number[];
    angle?: number;
}

export interface FrameAnswer extends Frame, Moment {
    at?: Seen;
}

// ---- Commits --------------------------------------------------------------------------------------

export type Move = Place & { teleport?: boolean };

/** Either a matrix of the world, or parts, applied in the order scale, rotate, translate. */
export type Transform =
    | ({ matrix: Numbers; space?: "world" } & Without<"translate" | "rotate" | "scale">)
    | ({
          translate?: Numbers;
          rotate?: Numbers | AxisAngle | number | { degrees: number };
          scale?: number | Numbers;
          space?: "world" | "local";
      } & Without<"matrix">);

/** Poses of n boxes: 3n numbers of centres and 4n of rotations; in 2-D 2n, and n angles. */
export type PoseColumns = { centers: Numbers; rotations?: Numbers; angles?: Numbers } & (
    | { ids: Ids; names?: undefined }
    | { names: readonly string[]; ids?: undefined }
);

export interface FrameColumns {
    names: readonly string[];
    centers?: Numbers;
    rotations?: Numbers;
    angles?: Numbers;
}

/** n boxes: each column has a value for each box, or one for all where a single value is allowed. */
export interface PutColumns {
    names: readonly string[];
    centers: Numbers;
    half_extents: Numbers;
    rotations?: Numbers;
    angles?: Numbers;
    entities?: string | null | readonly (string | null)[];
    category?: number | Ids;
    mask?: number | Ids;
    group?: number | readonly number[];
    frames?: string | null | readonly (string | null)[];
    ttl?: number | null | readonly (number | null)[];
}

export type Named<T> = { readonly [name: string]: T };

export interface Changes {
    remove?: readonly string[];
    remove_frames?: readonly string[];
    frames?: Named<Move> | FrameColumns;
    put?: Named<BoxIn> | PutColumns;
    pose?: Named<Move> | PoseColumns;
    transform?: Named<Transform>;
}

export interface Commit<Q extends readonly Query[] = readonly Query[]> extends Changes {
    /** Chosen by the client, at most 64 bytes: a commit that the scene remembers by its id is not applied again. */
    id?: string;
    time?: number;
    restart?: boolean;
    if_revision?: number;
    if_box?: Named<number>;
    ignore_missing?: boolean;
    dry_run?: boolean;
    queries?: Q;
}

export interface Committed<Q extends readonly Query[] = readonly Query[]> extends Moment {
    removed: number;
    put: number;
    posed: number;
    transformed: number;
    expired?: number;
    removed_frames?: number;
    frames?: number;
    ids?: Named<number> | number[] | Uint32Array;
    ids_omitted?: true;
    missing?: NameOrId[];
    dry_run?: true;
    /** The commit was applied before, and this is what it did then. */
    repeated?: true;
    results: { -readonly [I in keyof Q]: Answer<Q[I]> };
}

// ---- Queries --------------------------------------------------------------------------------------

export type Kind = "pairs" | "all-pairs" | "overlap" | "point" | "ray" | "sweep" | "nearest";
export type Mode = "closest" | "any" | "all" | "closest_per_entity";
export type WantOfPairs = "relation" | "mtv" | "distance" | "axis" | "volume" | "data" | "entity" | "pose";
export type WantOfBoxes = "data" | "entity" | "pose";

export interface Filter {
    category?: number;
    mask?: number;
    exclude?: readonly NameOrId[];
    exclude_entities?: readonly string[];
    prefix?: string;
}

type Judged = { interpolate?: boolean; clamp?: boolean };
export type At = Judged &
    (
        | ({ revision: number } & Without<"time" | "ago">)
        | ({ time: number } & Without<"revision" | "ago">)
        | ({ ago: number } & Without<"revision" | "time">)
    );

/** What every kind takes. */
export interface Options {
    /** A number is a time, judged with `clamp`: what a player saw then. `clamped` of the answer says if that was out of reach. */
    at?: At | number;
    tag?: string;
    /** The newest state of all daemons over one log. */
    fresh?: boolean;
    /** False: a scene that records queries leaves it out. */
    record?: boolean;
    with?: Changes;
    filter?: Filter;
    by?: "name" | "id";
    limit?: number;
}

export type BoxRef = NameOrId | BoxIn;
export type Shape =
    | BoxRef
    | { sphere: { center: Numbers; radius: number } }
    | { capsule: { a: Numbers; b: Numbers; radius: number } }
    | { frustum: Numbers };

export type Ray =
    | ({ origin: Numbers; direction: Numbers; max_distance?: number } & Without<"from" | "to">)
    | ({ from: Numbers; to: Numbers } & Without<"origin" | "direction" | "max_distance">);

/** n rays: 3n numbers of origins, and 3n of directions or targets. `times` judges each ray at its own time. */
export type RayColumns = { origins: Numbers; max_distances?: number | Numbers; times?: Numbers } & (
    | { directions: Numbers; targets?: undefined }
    | { targets: Numbers; directions?: undefined; max_distances?: undefined }
);

export interface Sweep {
    box: BoxRef;
    motion: Numbers;
}

interface InColumns {
    /** Answers in columns: see RayHits. */
    columns?: boolean;
    float?: 32 | 64;
}

export interface PairsOptions extends Options {
    want?: readonly WantOfPairs[];
    margin?: number;
}
export interface AllPairsOptions extends PairsOptions {
    count_only?: boolean;
}
export interface OverlapOptions extends PairsOptions {
    explain?: readonly NameOrId[];
}
export interface PointOptions extends Options {
    explain?: readonly NameOrId[];
    want?: readonly WantOfBoxes[];
}
export interface SweepOptions extends PointOptions, InColumns {
    mode?: Mode;
}
export interface RayOptions extends Omit<SweepOptions, "at"> {
    at?: At | Judged | number;
    inside?: "hit" | "exit" | "ignore";
}
export interface NearestOptions extends PointOptions, InColumns {
    k?: number;
    max_distance?: number;
}

/** How an answer is given: one result an item by name or by id, or in columns. */
export type Form = "name" | "id" | "columns";

/** A query, ready to be sent. Made by `ray`, `pairs` and the others. */
export interface Query<K extends Kind = Kind, F extends Form = Form, P extends boolean = boolean> {
    readonly kind: K;
    /** Only types: the form of the answer, and whether the query is about a state of the past, so that the answer has `at`. */
    readonly form?: F;
    readonly past?: P;
    readonly [field: string]: unknown;
}

// ---- Answers --------------------------------------------------------------------------------------

type Told<P extends boolean> = { tag?: string; with?: true } & (P extends true ? { at: Seen } : { at?: Seen });

interface Cut {
    truncated?: true;
    count?: number;
}

export type Explanation = { box: NameOrId } & (
    | { verdict: "hit" | "absent" | "cut" }
    | { verdict: "behind"; behind: NameOrId }
    | { verdict: "missed"; gap: number; axis?: SeparatingAxis }
    | { verdict: "filtered"; by: "mask" | "category" | "prefix" | "exclude" | "entity" | "self" }
);

type Axis = "x" | "y" | "z";

export interface SeparatingAxis {
    name: `a.${Axis}` | `b.${Axis}` | `a.${Axis}*b.${Axis}`;
    normal: number[];
    gap: number;
}

export interface Separation {
    relation?: "separate" | "touching" | "intersecting" | "contains" | "inside";
    mtv?: { normal: number[]; depth: number };
    distance?: number;
    points?: number[][];
    axis?: SeparatingAxis;
    volume?: number;
    iou?: number;
}

interface OfPair {
    data?: unknown[];
    entity?: (string | null)[];
    pose?: (Pose | null)[];
}

interface OfBox {
    data?: unknown;
    entity?: string;
    pose?: Pose;
}

type Bare<F extends Form> = F extends "id" ? number : F extends "name" ? string : NameOrId;

/** What is asked about is not there. */
type Missing<Else extends string> = { missing: NameOrId[] } & Without<Else>;

export type PairResult =
    | ({ overlap: boolean } & Separation & OfPair & Without<"missing">)
    | Missing<"overlap" | keyof Separation | keyof OfPair>;

export interface FoundPair extends Separation, OfPair {
    pair: [string, string] | [number, number];
}

export interface FoundBox extends Separation, OfBox {
    box: NameOrId;
}

type Listed = keyof Cut | "explain";

/** With `want`, boxes are objects. */
export type BoxesResult<F extends Form = Form> =
    | ({ boxes: Bare<F>[] | Uint32Array | FoundBox[]; explain?: Explanation[] } & Cut & Without<"missing">)
    | Missing<"boxes" | Listed>;

export interface Hit<F extends Form = Form> extends OfBox {
    box: Bare<F>;
    distance: number;
    fraction?: number;
    point: number[];
    normal: number[];
    started_inside?: true;
}

export interface RayResult<F extends Form = Form> extends Cut {
    at?: Seen;
    hits: Hit<F>[];
    explain?: Explanation[];
}

export interface SweepHit<F extends Form = Form> extends OfBox {
    box: Bare<F>;
    fraction: number;
    point: number[];
    normal: number[];
    started_overlapping?: true;
}

export type SweepResult<F extends Form = Form> =
    | ({ hits: SweepHit<F>[]; explain?: Explanation[] } & Cut & Without<"missing">)
    | Missing<"hits" | Listed>;

export interface Near<F extends Form = Form> extends OfBox {
    box: Bare<F>;
    distance: number;
    point: number[];
}

export type NearestResult<F extends Form = Form> =
    | ({ boxes: Near<F>[]; explain?: Explanation[] } & Cut & Without<"missing">)
    | Missing<"boxes" | Listed>;

type Floats = number[] | Float32Array | Float64Array;

/** The first hit of each ray: box 0 and zeros where nothing was hit. The last three where each ray has a time of its own. */
export interface RayHits {
    boxes: number[] | Uint32Array;
    distances: Floats;
    points: Floats;
    normals: Floats;
    times?: Floats;
    revisions?: number[] | Uint32Array;
    clamped?: number[] | Uint8Array;
}

export interface SweepHits {
    boxes: number[] | Uint32Array;
    fractions: Floats;
    points: Floats;
    normals: Floats;
}

export interface NearestHits {
    boxes: number[] | Uint32Array;
    distances: Floats;
    points: Floats;
}

type Given<F extends Form, P extends boolean, R, C> = Told<P> & (F extends "columns" ? { columns: C } : { results: R[] });

type AllPairs<F extends Form, P extends boolean> = Told<P> & {
    count: number;
    /** By id one flat array of 2n ids; with `want` objects; absent with `count_only`. */
    pairs: F extends "id" ? Uint32Array | number[] : F extends "name" ? [string, string][] : unknown[];
    truncated?: true;
};

interface AnswerOf<F extends Form, P extends boolean> {
    pairs: Told<P> & { results: PairResult[] };
    "all-pairs": AllPairs<F, P>;
    overlap: Told<P> & { results: BoxesResult<F>[] };
    point: Told<P> & { results: BoxesResult<F>[] };
    ray: Given<F, P, RayResult<F>, RayHits>;
    sweep: Given<F, P, SweepResult<F>, SweepHits>;
    nearest: Given<F, P, NearestResult<F>, NearestHits>;
}

/** The answer to a query of a commit; alone, it also has `revision` and `time`. */
export type Answer<Q extends Query> = Q extends Query<infer K, infer F, infer P> ? AnswerOf<F, P>[K] : never;

export interface Unanswered {
    problem: ProblemBody;
    tag?: string;
}

// ---- Events ---------------------------------------------------------------------------------------

export interface CollisionState extends Moment {
    pairs: [string, string][];
}

export interface CollisionChange extends CollisionState {
    reason?: "removed" | "expired";
}

export interface BoxesEvent extends Moment {
    put: string[];
    posed: string[];
    removed: string[];
    expired?: string[];
    frames?: string[];
    columns?: { ids: number[]; centers: number[]; rotations?: number[]; angles?: number[] };
    new?: { ids: number[]; names: string[]; half_extents: number[]; entities: (string | null)[] };
}

export interface CommitEvent extends Moment {
    put: number;
    posed: number;
    transformed: number;
    removed: number;
    expired?: number;
    restart?: true;
}

/** A message of the stream. `state` means: begin anew with this set. `gone` is the last one. */
export type SceneEvent =
    | ({ event: "state" } & CollisionState)
    | ({ event: "begin" } & CollisionChange)
    | ({ event: "end" } & CollisionChange)
    | ({ event: "boxes" } & BoxesEvent)
    | ({ event: "commit" } & CommitEvent)
    | ({ event: "query" } & RecordedQuery)
    | ({ event: "gone" } & Moment);
