#include "core/geometry/angle.h"
#include "tests/support/oracle_box.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const obb_quat identity = {.w = 1.0};

static bool same_bits(const void *a, const void *b, size_t size) { return memcmp(a, b, size) == 0; }

static long double wide(double v) { return (long double)v; }

enum { TRANSLATE = 1, ROTATE = 2, SCALE = 4, LOCAL = 8, MATRIX = 16 };

/* a * b, affine. */
static void multiply(const long double a[16], const long double b[16], long double out[16])
{
    long double m[16];
    for (int j = 0; j < 4; j++)
        for (int k = 0; k < 4; k++) {
            m[4 * j + k] = 0;
            for (int l = 0; l < 4; l++)
                m[4 * j + k] += a[4 * l + k] * b[4 * j + l];
        }
    memcpy(out, m, sizeof m);
}

static void linear_map(long double r[3][3], long double out[16])
{
    memset(out, 0, 16 * sizeof *out);
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++)
            out[4 * j + k] = r[k][j];
    out[15] = 1;
}

/* The map that a transform stands for, from the contract's words. */
static void map_of(const obb_box *box, const obb_transform *t, int d, long double out[16])
{
    long double m[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, r[3][3], step[16];
    if (t->has_matrix) {
        for (int i = 0; i < 16; i++)
            out[i] = wide(t->matrix[i]);
        return;
    }
    if (t->has_scale) {
        long double s[16] = {wide(t->scale.x),
                             0,
                             0,
                             0,
                             0,
                             wide(t->scale.y),
                             0,
                             0,
                             0,
                             0,
                             d == 3 ? wide(t->scale.z) : 1,
                             0,
                             0,
                             0,
                             0,
                             1};
        multiply(s, m, m);
    }
    if (t->has_rotate) {
        if (d == 3)
            oracle_rotation(t->rotate, r);
        else
            oracle_axis_angle((obb_vec3){0, 0, 1}, t->angle, r);
        linear_map(r, step);
        multiply(step, m, m);
    }
    if (t->has_translate)
        for (int k = 0; k < d; k++)
            m[12 + k] += wide(obb_component(t->translate, k));
    if (t->local) { /* out of the scene into the box's frame, the map, and back */
        if (d == 3)
            oracle_rotation(box->rotation, r);
        else
            oracle_axis_angle((obb_vec3){0, 0, 1}, box->angle, r);
        long double frame[16], inverse[16], rt[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                rt[i][j] = r[j][i];
        linear_map(r, frame);
        linear_map(rt, inverse);
        for (int k = 0; k < 3; k++) {
            frame[12 + k] = wide(obb_component(box->center, k));
            for (int l = 0; l < 3; l++)
                inverse[12 + k] -= rt[k][l] * wide(obb_component(box->center, l));
        }
        multiply(m, inverse, m);
        multiply(frame, m, m);
    }
    memcpy(out, m, sizeof m);
}

START_TEST(a_transform_moves_every_corner)
{
    test_rng rng = {.s = 20261219};
    const size_t cases = test_effort(12000);
    size_t seen[32] = {0}, mirrors = 0, done = 0, turned = 0;
    long double worst = 0;
    for (size_t i = 0; i < cases; i++) {
        const int d = 2 + (int)(i % 2);
        obb_box box = random_box(&rng, d);
        obb_transform t = {.angle = 0};
        unsigned what = (unsigned)test_below(&rng, 20);
        if (what >= 16)
            what = d == 3 ? MATRIX : SCALE;
        t.has_translate = (what & TRANSLATE) != 0;
        t.has_rotate = (what & ROTATE) != 0;
        t.has_scale = (what & SCALE) != 0;
        t.local = (what & LOCAL) != 0;
        t.has_matrix = (what & MATRIX) != 0;
        t.translate = random_vector(&rng, -50, 50);
        t.rotate = random_rotation(&rng);
        const double length = random_magnitude(&rng, 1e-3, 1e3); /* need not be a unit */
        t.rotate = (obb_quat){t.rotate.x * length, t.rotate.y * length, t.rotate.z * length,
                              t.rotate.w * length};
        t.angle = test_uniform(&rng, -360, 360);
        t.scale = (obb_vec3){random_magnitude(&rng, 0.1, 10), random_magnitude(&rng, 0.1, 10),
                             random_magnitude(&rng, 0.1, 10)};
        if (!t.local && what != MATRIX) {
            /* a scale that does not shear: uniform, or along the axes of a box that lies along the
             * scene's */
            const unsigned kind = (unsigned)test_below(&rng, 3);
            if (kind == 0)
                t.scale.y = t.scale.z = t.scale.x;
            else if (kind == 1 && d == 3)
                box.rotation = (obb_quat[]){{.w = 1},
                                            {.x = sqrt(0.5), .w = sqrt(0.5)},
                                            {-0.5, 0.5, 0.5, 0.5}}[test_below(&rng, 3)];
            else if (kind == 1)
                box.angle = 90.0 * (double)test_below(&rng, 5) - 180.0;
            else if (d == 3) { /* about one axis, and the same along the others */
                box.rotation = (obb_quat){.z = sin(1.0 + (double)i), .w = cos(1.0 + (double)i)};
                ck_assert_int_eq(obb_quat_normalise(box.rotation, &box.rotation), OBB_OK);
                t.scale.y = t.scale.x;
            } else
                t.scale.y = t.scale.x;
        }
        if (test_below(&rng, 2) == 0)
            t.scale.x = -t.scale.x;
        if (test_below(&rng, 2) == 0)
            t.scale.y = -t.scale.y;
        if (test_below(&rng, 2) == 0)
            t.scale.z = -t.scale.z;
        mirrors += (t.has_scale || t.has_matrix) && t.scale.x * t.scale.y * t.scale.z < 0;
        if (t.has_matrix) { /* scale along the box's axes, then a rigid motion */
            long double own[3][3], a[16], b[16];
            oracle_rotation(box.rotation, own);
            for (int j = 0; j < 3; j++)
                for (int k = 0; k < 3; k++) {
                    a[4 * j + k] = 0;
                    for (int l = 0; l < 3; l++)
                        a[4 * j + k] += own[k][l] * wide(obb_component(t.scale, l)) * own[j][l];
                }
            for (int k = 0; k < 4; k++) {
                a[12 + k] = k == 3;
                a[4 * k + 3] = k == 3;
            }
            random_rigid(&rng, (obb_vec3){1, 1, 1}, b);
            multiply(b, a, b);
            oracle_narrowed(b, t.matrix, a);
        }
        obb_box got;
        const obb_status st = obb_box_transform(&box, &t, d, &got);
        ck_assert_msg(st == OBB_OK, "case %zu, kind %u: %d", i, what, st);
        long double m[16];
        map_of(&box, &t, d, m);
        oracle_point want[8], have[8];
        const size_t count = oracle_corners(&box, d, want);
        long double reach = 0;
        for (size_t k = 0; k < count; k++) {
            for (int l = 0; l < 3; l++)
                reach = fmaxl(reach, fabsl(want[k].at[l]));
            want[k] = oracle_apply(m, want[k]);
            for (int l = 0; l < 3; l++)
                reach = fmaxl(reach, fabsl(want[k].at[l]));
        }
        oracle_corners(&got, d, have);
        const long double error = oracle_set_distance(want, have, count) / reach;
        ck_assert_msg(error <= 2e-14L, "case %zu, kind %u in %d: %Lg", i, what, d, error);
        worst = fmaxl(worst, error);
        seen[what]++;
        done++;
        turned += !same_bits(&got.rotation, &box.rotation, sizeof got.rotation);
        /* what is not changed keeps its bits */
        if ((what & (SCALE | MATRIX)) == 0)
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
        if ((what & (ROTATE | SCALE | MATRIX)) == 0)
            ck_assert(same_bits(&got.rotation, &box.rotation, sizeof box.rotation) &&
                      got.angle == box.angle);
        if ((what & (TRANSLATE | LOCAL)) == LOCAL)
            ck_assert(same_bits(&got.center, &box.center, sizeof box.center));
    }
    for (unsigned what = 0; what <= MATRIX; what++)
        ck_assert_uint_gt(seen[what], cases / 100);
    ck_assert_uint_gt(mirrors, cases / 8);
    ck_assert_uint_gt(turned, cases / 8);
    printf("transform: %zu transforms of 17 kinds (%zu mirrors), corners within %.3Lg\n", done,
           mirrors, worst);
}
END_TEST

START_TEST(transforms_keep_what_they_do_not_change)
{
    test_rng rng = {.s = 20261220};
    for (int i = 0; i < 500; i++) {
        const int d = 2 + i % 2;
        const obb_box box = random_box(&rng, d);
        obb_box got;
        /* an identity in any form, and a matrix that only moves */
        obb_transform t = {.has_rotate = true, .has_scale = true, .has_translate = true};
        t.rotate = identity;
        t.scale = (obb_vec3){1, 1, 1};
        t.local = i % 4 >= 2;
        ck_assert_int_eq(obb_box_transform(&box, &t, d, &got), OBB_OK);
        ck_assert_double_eq(got.angle, box.angle);
        ck_assert(same_bits(&got.rotation, &box.rotation, sizeof box.rotation));
        ck_assert(got.center.x == box.center.x && got.half_extents.y == box.half_extents.y);
        if (d == 3) {
            const obb_transform moved = {
                .has_matrix = true, .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1}};
            ck_assert_int_eq(obb_box_transform(&box, &moved, 3, &got), OBB_OK);
            ck_assert(same_bits(&got.rotation, &box.rotation, sizeof box.rotation));
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
            ck_assert(got.center.x == box.center.x + 5);
            /* a rigid matrix keeps the extents */
            long double wide_matrix[16], back[16];
            obb_transform rigid = {.has_matrix = true};
            random_rigid(&rng, (obb_vec3){1, 1, 1}, wide_matrix);
            oracle_narrowed(wide_matrix, rigid.matrix, back);
            ck_assert_int_eq(obb_box_transform(&box, &rigid, 3, &got), OBB_OK);
            ck_assert(same_bits(&got.half_extents, &box.half_extents, sizeof box.half_extents));
        }
        /* mirrored twice is what it was */
        const obb_transform mirror = {.has_scale = true, .scale = {-1, 1, 1}};
        ck_assert_int_eq(obb_box_transform(&box, &mirror, d, &got), OBB_OK);
        ck_assert_int_eq(obb_box_transform(&got, &mirror, d, &got), OBB_OK);
        ck_assert(same_bits(&got, &box, sizeof box));
    }
    /* four quarter turns about a far corner, exactly */
    obb_box box = {{3, 4, 5}, {1, 2, 3}, {.w = 1}, 0}, got = box;
    obb_transform t = {.has_rotate = true, .rotate = {.z = sqrt(0.5), .w = sqrt(0.5)}};
    const double x[4] = {-4, -3, 4, 3}, y[4] = {3, -4, -3, 4};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(obb_box_transform(&got, &t, 3, &got), OBB_OK);
        ck_assert(got.center.x == x[i] && got.center.y == y[i] && got.center.z == 5);
        const obb_solid solid = obb_solid_from_box(&got, 3);
        ck_assert(fabs(solid.axis[0].x) == (i % 2 == 1) && solid.axis[2].z == 1);
    }
    box = (obb_box){{3, 4, 0}, {1, 2, 0}, {.w = 1}, 350};
    t = (obb_transform){.has_rotate = true, .angle = 20, .local = true};
    ck_assert_int_eq(obb_box_transform(&box, &t, 2, &got), OBB_OK);
    ck_assert_double_eq(got.angle, 10);
}
END_TEST

START_TEST(transforms_that_make_no_box_are_refused)
{
    const obb_box oblique = {{1, 2, 3}, {1, 2, 3}, {.z = 0.6, .w = 0.8}, 0};
    const obb_box flat = {{1, 2, 3}, {1, 0, 3}, {.z = 0.6, .w = 0.8}, 0};
    const obb_box segment = {{1, 2, 3}, {1, 0, 0}, {.z = 0.6, .w = 0.8}, 0};
    const obb_box planar = {{1, 2, 0}, {1, 2, 0}, {.w = 1}, 30};
    const double nan = (double)NAN;
    const struct {
        const obb_box *box;
        int dimensions;
        obb_status status;
        obb_transform t;
    } table[] = {
        {&oblique, 3, OBB_SHEARED, {.has_scale = true, .scale = {2, 1, 1}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {2, 2, 5}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {1 + 1e-6, 1, 1}}},
        {&oblique, 3, OBB_SHEARED, {.has_scale = true, .scale = {1 + 3e-6, 1, 1}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {2, 1, 1}, .local = true}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {0, 0, 0}, .local = true}},
        {&oblique, 3, OBB_SINGULAR, {.has_scale = true, .scale = {0, 0, 0}}},
        {&oblique, 3, OBB_OK, {.has_scale = true, .scale = {2, 2, 0}}},
        {&oblique, 3, OBB_SHEARED, {.has_scale = true, .scale = {0, 1, 1}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_scale = true, .scale = {1, nan, 1}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_scale = true, .scale = {1e9, 1e9, 1e9}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_scale = true, .scale = {1e300, 1e300, 1e300}}},
        {&flat, 3, OBB_OK, {.has_scale = true, .scale = {2, 1, 1}}},
        {&segment, 3, OBB_OK, {.has_scale = true, .scale = {2, 1, 3}}},
        {&oblique, 3, OBB_BAD_ROTATION, {.has_rotate = true}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_rotate = true, .rotate = {.x = nan}}},
        {&oblique, 3, OBB_OK, {.has_rotate = true, .rotate = {.x = 5}, .angle = nan}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_translate = true, .translate = {HUGE_VAL, 0, 0}}},
        {&oblique, 3, OBB_BAD_NUMBER, {.has_translate = true, .translate = {0, 1e9, 0}}},
        {&oblique, 3, OBB_OK, {.has_translate = true, .translate = {0, 9e8, 0}}},
        {&oblique, 3, OBB_BAD_VALUE, {.has_matrix = true, .matrix = {1, 0, 0, 0, 0, 1}}},
        {&oblique,
         3,
         OBB_BAD_VALUE,
         {.has_matrix = true,
          .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
          .local = true}},
        {&oblique,
         3,
         OBB_BAD_VALUE,
         {.has_matrix = true,
          .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
          .has_scale = true}},
        {&oblique,
         3,
         OBB_SHEARED,
         {.has_matrix = true, .matrix = {1, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}},
        {&oblique,
         3,
         OBB_SINGULAR,
         {.has_matrix = true, .matrix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}},
        {&planar,
         2,
         OBB_BAD_VALUE,
         {.has_matrix = true, .matrix = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}}},
        {&planar, 2, OBB_SHEARED, {.has_scale = true, .scale = {2, 1, 0}}},
        {&planar, 2, OBB_OK, {.has_scale = true, .scale = {2, 1, 0}, .local = true}},
        {&planar, 2, OBB_OK, {.has_scale = true, .scale = {2, -2, 0}}},
        {&planar, 2, OBB_SINGULAR, {.has_scale = true, .scale = {0, 0, 0}}},
        {&planar, 2, OBB_OK, {.has_scale = true, .scale = {1, 1, nan}}},
        {&planar, 2, OBB_BAD_NUMBER, {.has_rotate = true, .angle = nan}},
        {&planar, 2, OBB_OK, {.has_rotate = true, .angle = 1e300}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        obb_box got = {.angle = 42};
        const obb_status st =
            obb_box_transform(table[i].box, &table[i].t, table[i].dimensions, &got);
        ck_assert_msg(st == table[i].status, "row %zu: %s", i, obb_status_name(st));
        ck_assert(st == OBB_OK || got.angle == 42);
        /* a box that came out can go in again */
        obb_box again;
        if (st == OBB_OK)
            ck_assert_int_eq(obb_box_from_pose(got.center, got.half_extents, got.rotation,
                                               got.angle, table[i].dimensions, &again),
                             OBB_OK);
    }
    /* the flat box is where its corners are sent, though its third axis leans */
    obb_box got;
    const obb_transform t = {.has_scale = true, .scale = {2, 1, 1}};
    ck_assert_int_eq(obb_box_transform(&flat, &t, 3, &got), OBB_OK);
    long double m[16];
    map_of(&flat, &t, 3, m);
    oracle_point want[8], have[8];
    oracle_corners(&flat, 3, want);
    for (int i = 0; i < 8; i++)
        want[i] = oracle_apply(m, want[i]);
    oracle_corners(&got, 3, have);
    ck_assert(oracle_set_distance(want, have, 8) < 1e-14L);
}
END_TEST

START_TEST(every_machine_gives_the_same_bits)
{
    test_rng rng = {.s = 20261222};
    uint64_t hash = 14695981039346656037u; /* FNV-1a over the words */
    for (int i = 0; i < 20000; i++) {
        obb_box box[2];
        for (int j = 0; j < 2; j++) {
            const obb_vec3 c = random_vector(&rng, -100, 100), h = random_vector(&rng, 0, 10),
                           v = random_vector(&rng, -1, 1);
            ck_assert_int_eq(obb_box_from_pose(c, h, (obb_quat){v.x, v.y, v.z, 0.5}, 0, 3, &box[j]),
                             OBB_OK);
        }
        obb_box out = obb_box_interpolate(&box[0], &box[1], test_uniform(&rng, 0, 1), 3);
        const obb_transform t = {.has_scale = true,
                                 .scale = {-3, 3, 3},
                                 .has_rotate = true,
                                 .rotate = box[1].rotation,
                                 .has_translate = true,
                                 .translate = box[1].center};
        ck_assert_int_eq(obb_box_transform(&out, &t, 3, &out), OBB_OK);
        const obb_solid solid = obb_solid_from_box(&out, 3);
        const obb_bounds bounds = obb_solid_bounds(&solid);
        const double v[] = {out.center.x,    out.center.y,   out.half_extents.z,
                            out.rotation.x,  out.rotation.w, solid.axis[0].x,
                            solid.axis[1].z, bounds.min.x,   bounds.max.z};
        for (size_t j = 0; j < sizeof v / sizeof v[0]; j++) {
            uint64_t bits;
            memcpy(&bits, &v[j], sizeof bits);
            hash = (hash ^ bits) * 1099511628211u;
        }
    }
    ck_assert_uint_eq(hash, 15232142221835576350u);
}
END_TEST

static bool is_negative_zero(double v) { return v == 0.0 && signbit(v); }

/* A transform that says nothing, in one of many ways. */
static obb_transform nothing(test_rng *rng, int dimensions)
{
    obb_transform t = {.local = test_below(rng, 2) == 0};
    if (dimensions == 3 && test_below(rng, 5) == 0) {
        const double z = random_zero(rng);
        return (obb_transform){.has_matrix = true,
                               .matrix = {1, z, 0, z, 0, 1, z, 0, z, 0, 1, 0, z, 0, z, 1}};
    }
    t.has_translate = test_below(rng, 2) == 0;
    t.has_scale = test_below(rng, 2) == 0;
    t.has_rotate = test_below(rng, 2) == 0;
    t.translate = (obb_vec3){random_zero(rng), random_zero(rng), random_zero(rng)};
    t.scale = (obb_vec3){1, 1, 1};
    const double turns = (double)test_below(rng, 7) - 3.0;
    t.angle = 360.0 * turns * (test_below(rng, 2) == 0 ? 1.0 : 1e12);
    if (test_below(rng, 2) == 0)
        ck_assert_int_eq(
            obb_quat_from_axis_angle(random_vector(rng, -1, 1), 360.0 * turns, &t.rotate), OBB_OK);
    else
        t.rotate = (obb_quat){random_zero(rng), random_zero(rng), random_zero(rng), 3.0};
    return t;
}

START_TEST(a_transform_that_moves_nothing_changes_no_bit)
{
    const size_t cases = test_effort(20000);
    test_rng rng = {.s = 403};
    size_t zeros = 0, turns = 0;
    for (size_t i = 0; i < cases; i++) {
        const int dimensions = 2 + (int)(i % 2);
        obb_box box = random_box(&rng, dimensions);
        box.center = random_zeros_in(&rng, box.center);
        box.half_extents = random_zeros_in(&rng, box.half_extents);
        if (dimensions == 2) {
            box.center.z = box.half_extents.z = 0.0;
            box.angle = test_below(&rng, 4) == 0
                            ? 360.0 * (double)test_below(&rng, 5) - 720.0 + random_zero(&rng)
                            : test_uniform(&rng, -1e6, 1e6);
        } else if (test_below(&rng, 2) == 0) {
            double s, c;
            obb_sin_cos(test_uniform(&rng, -180, 180), &s, &c);
            ck_assert_int_eq(
                obb_quat_normalise((obb_quat){random_zero(&rng), s, random_zero(&rng), c},
                                   &box.rotation),
                OBB_OK);
        }
        const obb_transform t = nothing(&rng, dimensions);
        obb_box got;
        const obb_status st = obb_box_transform(&box, &t, dimensions, &got);
        ck_assert_msg(st == OBB_OK, "case %zu: %s", i, obb_status_name(st));
        ck_assert_msg(same_bits(&got, &box, sizeof box), "case %zu in %d-D", i, dimensions);
        zeros += oracle_negative_zeros(&box) > 0;
        turns += fabs(box.angle) > 360.0;
    }
    printf("transform: %zu transforms that move nothing, %zu of boxes with negative zeros, %zu of "
           "many turns\n",
           cases, zeros, turns);
    ck_assert_uint_gt(zeros, cases / 2);
    ck_assert_uint_gt(turns, cases / 4);
}
END_TEST

START_TEST(a_transform_that_moves_leaves_no_negative_zero_behind)
{
    obb_box box = {{-0.0, 3, -0.0}, {1, 2, 3}, identity, 0.0}, got;
    /* a quarter turn about z: x is -3, y is 0, z stays to the bit */
    obb_transform t = {.has_rotate = true, .rotate = {.z = sqrt(0.5), .w = sqrt(0.5)}};
    ck_assert_int_eq(obb_box_transform(&box, &t, 3, &got), OBB_OK);
    ck_assert(got.center.x == -3 && got.center.y == 0 && !signbit(got.center.y));
    ck_assert(is_negative_zero(got.center.z));
    /* there and back is not a negative zero either */
    t = (obb_transform){.has_translate = true, .translate = {0, -3, 0}};
    ck_assert_int_eq(obb_box_transform(&box, &t, 3, &got), OBB_OK);
    ck_assert(got.center.y == 0 && !signbit(got.center.y) && is_negative_zero(got.center.x));
    /* in the plane an angle of many turns comes back within one only where it is turned */
    box = (obb_box){{1, 2, 0}, {1, 2, 0}, identity, 730.0};
    t = (obb_transform){.has_rotate = true, .angle = 20.0, .local = true};
    ck_assert_int_eq(obb_box_transform(&box, &t, 2, &got), OBB_OK);
    ck_assert_double_eq(got.angle, 30.0);
    t.angle = -720.0;
    ck_assert_int_eq(obb_box_transform(&box, &t, 2, &got), OBB_OK);
    ck_assert_double_eq(got.angle, 730.0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("transform");
    TCase *tc = tcase_create("transform");
    tcase_set_timeout(tc, test_patience(300));
    tcase_add_test(tc, a_transform_moves_every_corner);
    tcase_add_test(tc, transforms_keep_what_they_do_not_change);
    tcase_add_test(tc, transforms_that_make_no_box_are_refused);
    tcase_add_test(tc, every_machine_gives_the_same_bits);
    tcase_add_test(tc, a_transform_that_moves_nothing_changes_no_bit);
    tcase_add_test(tc, a_transform_that_moves_leaves_no_negative_zero_behind);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
