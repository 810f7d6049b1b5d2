#include "tests/bench/service/rigs.h"

#include "tests/bench/service/scene.h"
#include "tests/proto/cbor_maker.h"
#include "tests/support/cbor.h"

#include <stdio.h>

enum { RIGS = 100, EACH = 15, BOXES = RIGS * EACH, STEPS = 4 };
#define SECONDS 0.5 /* of a load */
#define HALF    30.0

static const char cbor[] = "application/cbor";

/* Poses by number, as columns. */
struct poses {
    double centers[3 * BOXES], rotations[4 * BOXES];
};

static void put_key(struct cbor_maker *m, const char *key) { maker_text(m, key, strlen(key)); }

static obb_quat random_turn(test_rng *rng)
{
    double q[4], square = 0;
    for (int i = 0; i < 4; i++) {
        q[i] = test_uniform(rng, -1, 1);
        square += q[i] * q[i];
    }
    const double scale = 1 / sqrt(square);
    return (obb_quat){q[0] * scale, q[1] * scale, q[2] * scale, q[3] * scale};
}

static void set_pose(struct poses *poses, size_t i, obb_vec3 center, obb_quat q)
{
    memcpy(&poses->centers[3 * i], &center, sizeof center);
    memcpy(&poses->rotations[4 * i], &q, sizeof q);
}

static void random_poses(struct poses *out, size_t count, uint64_t seed, double half)
{
    test_rng rng = {.s = seed};
    for (size_t i = 0; i < count; i++) {
        const double x = test_uniform(&rng, -half, half), y = test_uniform(&rng, -half, half);
        set_pose(out, i, (obb_vec3){x, y, test_uniform(&rng, -half, half)}, random_turn(&rng));
    }
}

static obb_quat product(obb_quat a, obb_quat b)
{
    return (obb_quat){a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                      a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w,
                      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z};
}

/* The world poses of boxes in frames: center = frame + R(frame) local. */
static void world_poses(const struct poses *frames, const struct poses *locals, struct poses *out)
{
    for (size_t i = 0; i < BOXES; i++) {
        obb_quat f, l;
        obb_vec3 at, v;
        memcpy(&f, &frames->rotations[4 * (i / EACH)], sizeof f);
        memcpy(&at, &frames->centers[3 * (i / EACH)], sizeof at);
        memcpy(&l, &locals->rotations[4 * i], sizeof l);
        memcpy(&v, &locals->centers[3 * i], sizeof v);
        const obb_quat turned =
            product(product(f, (obb_quat){v.x, v.y, v.z, 0}), (obb_quat){-f.x, -f.y, -f.z, f.w});
        set_pose(out, i, (obb_vec3){at.x + turned.x, at.y + turned.y, at.z + turned.z},
                 product(f, l));
    }
}

static void put_names(struct cbor_maker *m, const char *key, const char *kind, size_t count,
                      size_t each)
{
    char name[32];
    put_key(m, key);
    maker_head(m, 4, count);
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%s-%zu", kind, i / each + 1);
        put_key(m, name);
    }
}

static void put_poses(struct cbor_maker *m, const struct poses *poses, size_t count)
{
    put_key(m, "centers");
    maker_typed(m, MAKER_F64, poses->centers, 3 * count);
    put_key(m, "rotations");
    maker_typed(m, MAKER_F64, poses->rotations, 4 * count);
}

static load_request finish(const char *scene, struct cbor_maker *m)
{
    const load_request request = meter_request(scene, "commit", cbor, m->bytes, m->length);
    free(m->bytes);
    return request;
}

/* A commit that puts all boxes, in their frames if so. */
static load_request fill(const char *scene, bool framed, const struct poses *frames,
                         const struct poses *boxes)
{
    struct cbor_maker m = {0};
    const double half[] = {0.5, 0.5, 0.5};
    maker_head(&m, 5, framed ? 2 : 1);
    if (framed) {
        put_key(&m, "frames");
        maker_head(&m, 5, 3);
        put_names(&m, "names", "player", RIGS, 1);
        put_poses(&m, frames, RIGS);
    }
    put_key(&m, "put");
    maker_head(&m, 5, framed ? 5 : 4);
    put_names(&m, "names", "box", BOXES, 1);
    if (framed)
        put_names(&m, "frames", "player", BOXES, EACH);
    put_key(&m, "half_extents");
    maker_typed(&m, MAKER_F64, half, 3);
    put_poses(&m, boxes, BOXES);
    return finish(scene, &m);
}

static load_request frames_tick(const char *scene, const struct poses *frames)
{
    struct cbor_maker m = {0};
    maker_head(&m, 5, 1);
    put_key(&m, "frames");
    maker_head(&m, 5, 3);
    put_names(&m, "names", "player", RIGS, 1);
    put_poses(&m, frames, RIGS);
    return finish(scene, &m);
}

static load_request poses_tick(const char *scene, const struct poses *boxes)
{
    struct cbor_maker m = {0};
    double ids[BOXES];
    for (size_t i = 0; i < BOXES; i++)
        ids[i] = (double)(i + 1); /* in the order of the put */
    maker_head(&m, 5, 1);
    put_key(&m, "pose");
    maker_head(&m, 5, 3);
    put_key(&m, "ids");
    maker_typed(&m, MAKER_U32, ids, BOXES);
    put_poses(&m, boxes, BOXES);
    return finish(scene, &m);
}

/* Sends one tick, and compares a count of its answer. */
static void send_tick(bench_meter *meter, const load_request *request, const char *count,
                      json_int_t wanted)
{
    size_t length = 0;
    char *body = load_exchange(&meter->obbd->tcp, request, &length);
    json_t *answer = body != NULL ? cbor_read(body, length) : NULL;
    meter->checked++;
    meter->failures += json_integer_value(json_object_get(answer, count)) != wanted;
    json_decref(answer);
    free(body);
}

struct rigs_figures rigs_measure(bench_meter *meter, int rounds)
{
    static const char framed[] = "framed", posed[] = "posed";
    static struct poses locals, frames, world;
    load_request by_frame[STEPS], by_box[STEPS];
    double cpu[2][METER_ROUNDS], p50[2] = {0, 0};
    random_poses(&locals, BOXES, 1, 1);
    for (int n = STEPS - 1; n >= 0; n--) { /* the scenes begin with step 0 */
        random_poses(&frames, RIGS, 10 + (uint64_t)n, HALF);
        world_poses(&frames, &locals, &world);
        by_frame[n] = frames_tick(framed, &frames);
        by_box[n] = poses_tick(posed, &world);
    }
    load_request fills[] = {fill(framed, true, &frames, &locals),
                            fill(posed, false, &frames, &world)};
    for (int k = 0; k < 2; k++)
        send_tick(meter, &fills[k], "put", BOXES);
    for (int n = STEPS - 1; n >= 0; n--) { /* both scenes are the same after each step */
        send_tick(meter, &by_frame[n], "frames", RIGS);
        send_tick(meter, &by_box[n], "posed", BOXES);
        const long long pairs = meter_pairs(meter, framed);
        meter->failures += pairs == 0 || pairs != meter_pairs(meter, posed);
    }
    for (int i = 0; i < rounds; i++) {
        cpu[0][i] = meter_load(meter, by_frame, STEPS, SECONDS, &p50[0]);
        cpu[1][i] = meter_load(meter, by_box, STEPS, SECONDS, &p50[1]);
    }
    const double a = meter_median(cpu[0], rounds), b = meter_median(cpu[1], rounds);
    const double bytes = (double)by_frame[0].length / (double)by_box[0].length;
    (void)printf("tick of %d frames with %d boxes each: %.1f us of CPU, %.3f ms, %zu bytes; as %d "
                 "poses %.1f us, %.3f ms, %zu bytes; ratios %.2f, %.3f\n",
                 RIGS, EACH, a, p50[0], by_frame[0].length, BOXES, b, p50[1], by_box[0].length,
                 a / b, bytes);
    for (int n = 0; n < STEPS; n++) {
        load_request_free(&by_frame[n]);
        load_request_free(&by_box[n]);
    }
    for (int k = 0; k < 2; k++)
        load_request_free(&fills[k]);
    return (struct rigs_figures){.cpu = a / b, .bytes = bytes};
}
