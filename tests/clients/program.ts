// A match as a program in TypeScript writes it: it must pass the compiler without an annotation of an answer.
import { allPairs, connect, overlap, type Ray, ray } from "@obbd/client";

interface Shot {
    player: string;
    ray: Ray;
    seenAt: number;
}

export async function play(
    move: (centers: Float32Array) => void,
    takeShots: () => Shot[],
    hurt: (shot: Shot, box: string, late: boolean) => void,
) {
    const match = connect().scene("match");
    await match.put({ "ann.head": { center: [0, 1.7, 0], half_extents: [0.15, 0.15, 0.15], entity: "ann" } });
    const ids = match.ids(["ann.head"]);
    const centers = new Float32Array(3);
    const rotations = new Float32Array(4);
    move(centers);
    const shots = takeShots();
    const {
        results: [sight, ...judged],
    } = await match.commit(
        {
            time: 33,
            pose: { ids, centers, rotations },
            queries: [
                ray([{ from: [0, 0, 0], to: [1, 0, 0] }], { mode: "any" }),
                ...shots.map((s) =>
                    ray([s.ray], { at: { time: s.seenAt, clamp: true }, filter: { exclude_entities: [s.player] } }),
                ),
            ],
        },
        { timeout: 33, retries: 0 },
    );
    judged.forEach((j, i) => {
        const hit = j.results[0].hits[0];
        if (hit) hurt(shots[i], hit.box, j.at.clamped);
    });
    const touching: Uint32Array | number[] = (await match.query(allPairs({ by: "id" }))).pairs;
    const distances: ArrayLike<number> = (await match.query(ray({ origins: centers, directions: centers }, { columns: true })))
        .columns.distances;
    const [found] = (await match.query(overlap(["ann.head"]))).results;
    for await (const e of match.events({ topics: ["collisions"] })) {
        if (e.event === "end")
            return { sight: sight.results.length, touching, distances, found: found.boxes?.length, why: e.reason };
    }
    // @ts-expect-error a half extent that is missing
    await match.put({ bob: { center: [0, 0, 0] } });
    // @ts-expect-error half a ray
    ray([{ origin: [0, 0, 0] }]);
    // @ts-expect-error two times in one `at`
    ray([], { at: { time: 1, revision: 2 } });
    // @ts-expect-error a matrix and a part
    await match.commit({ transform: { bob: { matrix: [], scale: 2 } } });
    // @ts-expect-error an option that is misspelt
    allPairs({ by: "id", margins: 1 });
    // @ts-expect-error an option of the filter that is misspelt
    ray([], { at: 5, filter: { mask: 1, prefixx: "a" } });
    // @ts-expect-error columns of a kind that has none
    allPairs({ columns: true });
    return undefined;
}
