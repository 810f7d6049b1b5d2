// Holds the types of the JavaScript client against those that openapi-typescript makes of the contract. Each line of `Agreed` is a
// schema: it must have the same fields as ours, and take every value of ours. tsc does the work; test_js_types.mjs runs it.
import type * as o from "@obbd/client";
import type { components } from "../../build/clients/contract.js";

type Schemas = components["schemas"];

/** Typed arrays are arrays of numbers to the contract. */
type Plain<T> = T extends ArrayBufferView
    ? number[]
    : T extends readonly (infer E)[]
      ? Plain<E>[]
      : T extends object
        ? { -readonly [K in keyof T]: Plain<T[K]> }
        : T;

type KeysOf<T> = T extends unknown ? keyof T : never;
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;

/** true, or the names of the fields that only one of the two has, or the word that the types differ. */
type Agrees<Ours, Theirs> =
    Same<KeysOf<Ours>, KeysOf<Theirs>> extends true
        ? Plain<Ours> extends Theirs
            ? true
            : "the types of the fields differ"
        : ["only ours", Exclude<KeysOf<Ours>, KeysOf<Theirs>>, "only theirs", Exclude<KeysOf<Theirs>, KeysOf<Ours>>];

/** A query as it is sent. A bare number as `at` becomes an object before. */
type Sent<K, Items, Options> = Omit<Options, "at"> & Items & { kind?: K; at?: o.At };
/** An entry of a commit's queries. */
type Entry =
    | Entered<"pairs", { pairs: [o.BoxRef, o.BoxRef][] | o.BoxRef[] }, o.PairsOptions>
    | Entered<"all-pairs", object, o.AllPairsOptions>
    | Entered<"overlap", { shapes: o.Shape[] }, o.OverlapOptions>
    | Entered<"point", { points: o.Numbers[] | o.Numbers }, o.PointOptions>
    | Entered<"ray", { rays: o.Ray[] | o.RayColumns }, o.RayOptions>
    | Entered<"sweep", { sweeps: o.Sweep[] }, o.SweepOptions>
    | Entered<"nearest", Nearest, o.NearestOptions>;
type Nearest = { points: o.Numbers[] | o.Numbers } | { boxes: o.BoxRef[] };
type Entered<K, Items, Options> = Items extends unknown ? Omit<Sent<K, Items, Options>, "kind"> & { kind: K } : never;
type Told = { tag?: string; with?: true; at?: o.Seen };
type Alone<K extends o.Kind, F extends o.Form> = o.Answer<o.Query<K, F, false>>;
/** The contract says in one object what answers have in two forms. */
type Both<K extends o.Kind> = {
    [P in KeysOf<Alone<K, "name"> | Alone<K, "columns">>]?: Part<Alone<K, "name">, P> | Part<Alone<K, "columns">, P>;
};
type Part<T, P extends PropertyKey> = P extends keyof T ? T[P] : never;
type EventData<E extends o.SceneEvent["event"]> = Omit<Extract<o.SceneEvent, { event: E }>, "event">;

export interface Agreed {
    Settings: Agrees<o.Settings, Schemas["Settings"]>;
    Scene: Agrees<o.SceneInfo, Schemas["Scene"]>;
    SceneList: Agrees<o.SceneEntry, Schemas["SceneList"]["scenes"][number]>;
    RecordedQuery: Agrees<Omit<o.RecordedQuery, "query" | "answer">, Omit<Schemas["RecordedQuery"], "query" | "answer">>;
    Turn: Agrees<o.Turn, Schemas["Turn"]>;
    Attributes: Agrees<o.Attributes, Schemas["Attributes"]>;
    PutBox: Agrees<o.BoxIn, Schemas["PutBox"]>;
    PatchBox: Agrees<o.BoxPatch, Schemas["PatchBox"]>;
    Pose: Agrees<o.Pose, Schemas["Pose"]>;
    Box: Agrees<o.Box, Schemas["Box"]>;
    BoxAnswer: Agrees<o.BoxAnswer, Schemas["BoxAnswer"]>;
    Frame: Agrees<o.Frame, Schemas["Frame"]>;
    FrameAnswer: Agrees<o.FrameAnswer, Schemas["FrameAnswer"]>;
    Transform: Agrees<o.Transform, Schemas["Transform"]>;
    Commit: Agrees<Omit<o.Commit, "queries">, Omit<Schemas["Commit"], "queries">>;
    With: Agrees<o.Changes, Schemas["With"]>;
    Move: Agrees<o.Move, Schemas["Move"]>;
    FrameColumns: Agrees<o.FrameColumns, Schemas["FrameColumns"]>;
    Columns: Agrees<o.PoseColumns, Schemas["Columns"]>;
    PutColumns: Agrees<o.PutColumns, Schemas["PutColumns"]>;
    CommitAnswer: Agrees<o.Committed<[]>, Schemas["CommitAnswer"]>;
    Filter: Agrees<o.Filter, Schemas["Filter"]>;
    At: Agrees<o.At, Schemas["At"]>;
    Ray: Agrees<o.Ray, Schemas["Ray"]>;
    RayColumns: Agrees<o.RayColumns, Schemas["RayColumns"]>;
    Sweep: Agrees<o.Sweep, Schemas["SweepFields"]["sweeps"][number]>;
    PairsQuery: Agrees<Sent<"pairs", { pairs: [o.BoxRef, o.BoxRef][] | o.BoxRef[] }, o.PairsOptions>, Schemas["PairsQuery"]>;
    AllPairsQuery: Agrees<Sent<"all-pairs", object, o.AllPairsOptions>, Schemas["AllPairsQuery"]>;
    OverlapQuery: Agrees<Sent<"overlap", { shapes: o.Shape[] }, o.OverlapOptions>, Schemas["OverlapQuery"]>;
    PointQuery: Agrees<Sent<"point", { points: o.Numbers[] | o.Numbers }, o.PointOptions>, Schemas["PointQuery"]>;
    RayQuery: Agrees<Sent<"ray", { rays: o.Ray[] | o.RayColumns }, o.RayOptions>, Schemas["RayQuery"]>;
    SweepQuery: Agrees<Sent<"sweep", { sweeps: o.Sweep[] }, o.SweepOptions>, Schemas["SweepQuery"]>;
    NearestQuery: Agrees<Sent<"nearest", Nearest, o.NearestOptions>, Schemas["NearestQuery"]>;
    Query: Agrees<Entry, Schemas["Query"]>;
    Explanation: Agrees<o.Explanation, Schemas["Explanation"]>;
    Separation: Agrees<o.Separation, Schemas["Separation"]>;
    PairResult: Agrees<o.PairResult, Schemas["PairResult"]>;
    FoundPair: Agrees<o.FoundPair, Schemas["FoundPair"]>;
    BoxesResult: Agrees<o.BoxesResult, Schemas["BoxesResult"]>;
    Hit: Agrees<o.Hit, Schemas["RayResult"]["hits"][number]>;
    RayResult: Agrees<o.RayResult, Schemas["RayResult"]>;
    SweepResult: Agrees<o.SweepResult, Schemas["SweepResult"]>;
    NearestResult: Agrees<o.NearestResult, Schemas["NearestResult"]>;
    RayResultColumns: Agrees<o.RayHits, Schemas["RayResultColumns"]>;
    SweepResultColumns: Agrees<o.SweepHits, Schemas["SweepResultColumns"]>;
    NearestResultColumns: Agrees<o.NearestHits, Schemas["NearestResultColumns"]>;
    PairsResults: Agrees<Omit<Alone<"pairs", "name">, "results">, Omit<Schemas["PairsResults"], "results">>;
    AllPairsResults: Agrees<
        Omit<Alone<"all-pairs", "name">, "pairs"> & { pairs?: [string, string][] },
        Schemas["AllPairsResults"]
    >;
    BoxesResults: Agrees<Alone<"overlap", "name">, Schemas["BoxesResults"]>;
    RayResults: Agrees<Both<"ray">, Schemas["RayResults"]>;
    SweepResults: Agrees<Both<"sweep">, Schemas["SweepResults"]>;
    NearestResults: Agrees<Both<"nearest">, Schemas["NearestResults"]>;
    Told: Agrees<Told, Omit<Schemas["RayResults"], "results" | "columns">>;
    CollisionState: Agrees<EventData<"state">, Schemas["CollisionState"]>;
    CollisionChange: Agrees<EventData<"begin">, Schemas["CollisionChange"]>;
    BoxesEvent: Agrees<EventData<"boxes">, Schemas["BoxesEvent"]>;
    CommitEvent: Agrees<EventData<"commit">, Schemas["CommitEvent"]>;
    Problem: Agrees<o.ProblemBody, Omit<Schemas["Problem"], "type"> & { type: string }>;
    kinds: Agrees<{ kind: o.Kind }, Pick<Schemas["RecordedQuery"], "kind">>;
}

/** The rows that are not true. If there are any, the error names them. */
type Differing = { [K in keyof Agreed as Agreed[K] extends true ? never : K]: Agreed[K] };
export const differing: Differing = {};
