/* Reads the input as a batch of pairs of boxes. Every kernel gives the same bits as the scalar
 * kernel. Where a kernel is sure, the double test gives the same verdict. The double test is right
 * if, by exact arithmetic, the pair is farther from contact than 1e-12 of its extent. */
#include "core/geometry/sat.h"
#include "core/index/packed.h"
#include "core/kernels/batch.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/exact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 24, ROOM = OBB_NODE };

/* Three bytes: sixteen bits times a power of two. */
static double number(struct fuzz_input *s, int least_power, int powers)
{
    const int mantissa = fuzz_next(s) * 256 + fuzz_next(s) - 32768;
    return ldexp((double)mantissa, least_power + fuzz_next(s) % powers);
}

static obb_quat turn(struct fuzz_input *s)
{
    obb_quat q, out;
    q.x = fuzz_next(s) - 128;
    q.y = fuzz_next(s) - 128;
    q.z = fuzz_next(s) - 128;
    q.w = fuzz_next(s) - 128;
    return obb_quat_normalise(q, &out) == OBB_OK ? out : (obb_quat){0, 0, 0, 1};
}

static obb_vec3 vector(struct fuzz_input *s, int least_power, int powers)
{
    const double x = number(s, least_power, powers), y = number(s, least_power, powers);
    return (obb_vec3){x, y, number(s, least_power, powers)};
}

static bool box(struct fuzz_input *s, obb_box *out)
{
    const obb_vec3 center = vector(s, -30, 44), half = vector(s, -30, 44);
    return obb_box_from_pose(center, (obb_vec3){fabs(half.x), fabs(half.y), fabs(half.z)}, turn(s),
                             0, 3, out) == OBB_OK;
}

/* The other box: any, one turned a little, or one that all but touches. */
static bool partner(struct fuzz_input *s, const obb_box *a, obb_box *out)
{
    const int how = fuzz_next(s);
    if (how % 4 == 0)
        return box(s, out);
    *out = *a;
    out->center = obb_add(a->center, vector(s, -30, 30));
    obb_quat q = a->rotation;
    q.x += ldexp(1, -(how >> 2));
    if (how % 4 == 2 && obb_quat_normalise(q, &q) == OBB_OK)
        out->rotation = q;
    if (how % 4 == 3) {
        out->rotation = turn(s);
        const obb_solid x = obb_solid_from_box(a, 3), y = obb_solid_from_box(out, 3);
        const obb_separation gap = obb_sat_separation(&x, &y);
        out->center = obb_sub(out->center, obb_scale(gap.normal, gap.gap));
    }
    return obb_bad_coordinate(out->center) < 0;
}

static void look_at_pair(const obb_box *a, const obb_box *b, bool left, bool sure)
{
    const obb_solid x = obb_solid_from_box(a, 3), y = obb_solid_from_box(b, 3);
    const bool touch = obb_sat_overlap(&x, &y);
    fuzz_check(touch == obb_sat_overlap(&y, &x), "the exchanged pair has another verdict");
    fuzz_check(left || !touch, "a kernel calls apart what touches");
    fuzz_check(!sure || touch, "a kernel is sure of what does not touch");
    const exact_box ea = exact_of(a), eb = exact_of(b);
    const exact_gaps gaps = exact_gaps_of(&ea, &eb, 3);
    if (gaps.extent > 1e-140 && fabs(gaps.largest) > 1e-12 * gaps.extent)
        fuzz_check(touch == (gaps.largest <= 0), "the double test is wrong");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct fuzz_input s = {.bytes = bytes, .left = length};
    obb_box boxes[2][MOST];
    struct obb_packed packed[2][MOST];
    uint32_t index[MOST], out[2][2][MOST + ROOM];
    uint32_t count = 0;
    while (count < MOST && s.left > 0) {
        if (!box(&s, &boxes[0][count]) || !partner(&s, &boxes[0][count], &boxes[1][count]))
            continue;
        for (int side = 0; side < 2; side++)
            packed[side][count] = obb_packed_from_box(&boxes[side][count], 3);
        index[count] = count;
        count++;
    }
    const struct obb_limits limits = obb_limits_of(0);
    const size_t left = obb_kernels_scalar.test_pairs(packed[0], packed[1], index, index, count,
                                                      &limits, out[0][0], out[0][1]);
    for (int k = OBB_KERNEL_SCALAR + 1; k < OBB_KERNEL_COUNT; k++) {
        const struct obb_kernels *kernels = obb_kernels_choose((obb_kernel)k);
        if (kernels == NULL)
            continue;
        fuzz_check(kernels->test_pairs(packed[0], packed[1], index, index, count, &limits,
                                       out[1][0], out[1][1]) == left &&
                       memcmp(out[0][0], out[1][0], left * sizeof index[0]) == 0 &&
                       memcmp(out[0][1], out[1][1], left * sizeof index[0]) == 0,
                   obb_kernel_name((obb_kernel)k));
    }
    size_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool here = at < left && out[0][0][at] == i;
        look_at_pair(&boxes[0][i], &boxes[1][i], here,
                     here && (out[0][1][at] & OBB_PACKED_SURE) != 0);
        at += here;
    }
    fuzz_check(at == left, "pairs that were not asked for");
    return 0;
}
