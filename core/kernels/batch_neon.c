/* The NEON kernels: four floats a vector. Every aarch64 CPU has NEON. */
#include "core/kernels/batch.h"

#if defined __aarch64__ && !defined OBB_ONLY_SCALAR

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

#include <arm_neon.h>
#include <string.h>

/* Of two zeros, maximum and minimum choose the second one, as the other sets do. */
typedef float32x4_t vf;
#define W                        4
#define V_SPLAT(x)               vdupq_n_f32(x)
#define V_ABS(a)                 vabsq_f32(a)
#define V_MAX(a, b)              max_v(a, b)
#define V_MIN(a, b)              min_v(a, b)
#define V_SQRT(a)                vsqrtq_f32(a)
#define V_ABOVE(a, b)            bits_of(vcgtq_f32(a, b))
#define V_STORE(p, a)            vst1q_f32(p, a)
#define V_LOWER(p)               vcvtq_f32_u32(vandq_u32(vld1q_u32(p), vdupq_n_u32(0xffff)))
#define V_UPPER(p)               vcvtq_f32_u32(upper_words(p))
#define V_WORDS(p, lower, upper) words_v(p, lower, upper)

INLINE vf max_v(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }

INLINE vf min_v(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }

/* Returns a mask: bit k is set if lane k is all ones. */
INLINE uint32_t bits_of(uint32x4_t lanes)
{
    const uint32x4_t bits = {1, 2, 4, 8};
    return vaddvq_u32(vandq_u32(lanes, bits));
}

INLINE uint32x4_t upper_words(const uint32_t *p)
{
    return vsubq_u32(vdupq_n_u32(OBB_CODE_MOST + 1), vshrq_n_u32(vld1q_u32(p), 16));
}

INLINE void words_v(uint32_t *p, vf lower, vf upper)
{
    const uint32x4_t rest = vsubq_u32(vdupq_n_u32(OBB_CODE_MOST), vcvtq_u32_f32(upper));
    vst1q_u32(p, vorrq_u32(vcvtq_u32_f32(lower), vshlq_n_u32(rest, 16)));
}

/* Transposes four rows to four columns. */
INLINE void transpose(const vf rows[4], vf columns[4])
{
    const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(rows[0], rows[1]));
    const float64x2_t b = vreinterpretq_f64_f32(vtrn2q_f32(rows[0], rows[1]));
    const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(rows[2], rows[3]));
    const float64x2_t d = vreinterpretq_f64_f32(vtrn2q_f32(rows[2], rows[3]));
    columns[0] = vreinterpretq_f32_f64(vtrn1q_f64(a, c));
    columns[1] = vreinterpretq_f32_f64(vtrn1q_f64(b, d));
    columns[2] = vreinterpretq_f32_f64(vtrn2q_f64(a, c));
    columns[3] = vreinterpretq_f32_f64(vtrn2q_f64(b, d));
}

INLINE void load(const float *const rows[4], vf out[16])
{
    UNROLL
    for (int from = 0; from < 16; from += 4) {
        vf t[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            t[i] = vld1q_f32(rows[i] + from);
        transpose(t, out + from);
    }
}

INLINE void store(const vf columns[16], float *const rows[4])
{
    UNROLL
    for (int from = 0; from < 16; from += 4) {
        vf t[4];
        transpose(columns + from, t);
        UNROLL
        for (int i = 0; i < 4; i++)
            vst1q_f32(rows[i] + from, t[i]);
    }
}

typedef float64x2_t vd;
#define D_SPLAT(x)  vdupq_n_f64(x)
#define D_ABS(a)    vabsq_f64(a)
#define D_MIN(a, b) min_d(a, b)
#define D_MAX(a, b) max_d(a, b)

INLINE vd max_d(vd a, vd b) { return vbslq_f64(vcgtq_f64(a, b), a, b); }

INLINE vd min_d(vd a, vd b) { return vbslq_f64(vcltq_f64(a, b), a, b); }

INLINE vf narrow(vd a, vd b) { return vcvt_high_f32_f64(vcvt_f32_f64(a), b); }

INLINE vd widen(vf v, int half)
{
    return half == 0 ? vcvt_f64_f32(vget_low_f32(v)) : vcvt_high_f64_f32(v);
}

INLINE void load_boxes(const struct obb_box *const boxes[2], vd out[10])
{
    const double *a = &boxes[0]->center.x, *b = &boxes[1]->center.x;
    UNROLL
    for (int k = 0; k < 10; k += 2) {
        const vd of_a = vld1q_f64(a + k), of_b = vld1q_f64(b + k);
        out[k] = vzip1q_f64(of_a, of_b);
        out[k + 1] = vzip2q_f64(of_a, of_b);
    }
}

INLINE uint32_t test_children(const struct obb_node *node, const uint32_t axes[3])
{
    uint32x4_t all = vdupq_n_u32(0);
    UNROLL
    for (int from = 0; from < OBB_NODE; from += 4) {
        uint16x8_t above = vdupq_n_u16(0);
        UNROLL
        for (int k = 0; k < 3; k++) {
            const uint16x8_t kept = vreinterpretq_u16_u32(vld1q_u32(node->axis[k] + from));
            const uint16x8_t query = vreinterpretq_u16_u32(vdupq_n_u32(axes[k]));
            above = vorrq_u16(above, vcgtq_u16(kept, query));
        }
        const uint32x4_t bits = {1u << from, 2u << from, 4u << from, 8u << from};
        all = vorrq_u32(all, vandq_u32(vceqzq_u32(vreinterpretq_u32_u16(above)), bits));
    }
    return vaddvq_u32(all);
}

INLINE void store_keys(int32_t *out, vf enter, uint32_t mask, int first)
{
    const uint32x4_t bits = {1, 2, 4, 8}, lanes = {0, 1, 2, 3};
    const uint32x4_t high = vandq_u32(vreinterpretq_u32_f32(enter), vdupq_n_u32(0x7ffffff0));
    const uint32x4_t key = vorrq_u32(high, vaddq_u32(lanes, vdupq_n_u32((uint32_t)first)));
    const uint32x4_t met = vtstq_u32(vdupq_n_u32(mask), bits);
    vst1q_s32(out, vreinterpretq_s32_u32(vbslq_u32(met, key, vdupq_n_u32(INT32_MAX))));
}

INLINE int32_t least_key_after(const int32_t keys[16], int32_t last)
{
    const int32x4_t none = vdupq_n_s32(INT32_MAX), bar = vdupq_n_s32(last);
    int32x4_t least = none;
    UNROLL
    for (int from = 0; from < OBB_NODE; from += 4) {
        const int32x4_t some = vld1q_s32(keys + from);
        least = vminq_s32(least, vbslq_s32(vcgtq_s32(some, bar), some, none));
    }
    return vminvq_s32(least);
}

INLINE uint32_t least_halves(const uint32_t words[16])
{
    uint16x8_t least = vreinterpretq_u16_u32(vld1q_u32(words));
    UNROLL
    for (int from = 4; from < OBB_NODE; from += 4)
        least = vminq_u16(least, vreinterpretq_u16_u32(vld1q_u32(words + from)));
    least = vminq_u16(least, vextq_u16(least, least, 4));
    least = vminq_u16(least, vextq_u16(least, least, 2));
    return vgetq_lane_u32(vreinterpretq_u32_u16(least), 0);
}

/* For each mask of four lanes, the bytes of the lanes in it, one after the other. */
#define LANE(k) 4 * (k), 4 * (k) + 1, 4 * (k) + 2, 4 * (k) + 3
static const uint8_t order[16][16] = {{0},
                                      {LANE(0)},
                                      {LANE(1)},
                                      {LANE(0), LANE(1)},
                                      {LANE(2)},
                                      {LANE(0), LANE(2)},
                                      {LANE(1), LANE(2)},
                                      {LANE(0), LANE(1), LANE(2)},
                                      {LANE(3)},
                                      {LANE(0), LANE(3)},
                                      {LANE(1), LANE(3)},
                                      {LANE(0), LANE(1), LANE(3)},
                                      {LANE(2), LANE(3)},
                                      {LANE(0), LANE(2), LANE(3)},
                                      {LANE(1), LANE(2), LANE(3)},
                                      {LANE(0), LANE(1), LANE(2), LANE(3)}};

INLINE void compress(uint32_t mask, uint32x4_t values, uint32_t *out)
{
    const uint8x16_t bytes = vqtbl1q_u8(vreinterpretq_u8_u32(values), vld1q_u8(order[mask]));
    vst1q_u32(out, vreinterpretq_u32_u8(bytes));
}

INLINE size_t put(uint32_t mask, uint32_t base, uint32_t *out)
{
    const uint32x4_t lanes = {0, 1, 2, 3};
    size_t count = 0;
    UNROLL
    for (uint32_t from = 0; from < OBB_NODE; from += 4) {
        const uint32_t four = mask >> from & 15u;
        compress(four, vaddq_u32(lanes, vdupq_n_u32(base + from)), out + count);
        count += (size_t)__builtin_popcount(four);
    }
    return count;
}

INLINE void splat(uint32_t value, uint32_t *out)
{
    UNROLL
    for (int i = 0; i < OBB_NODE; i += 4)
        vst1q_u32(out + i, vdupq_n_u32(value));
}

INLINE size_t keep(uint32_t lanes, uint32_t sure, const uint32_t *ia, const uint32_t *ib,
                   uint32_t *out_a, uint32_t *out_b)
{
    const uint32x4_t bits = {1, 2, 4, 8};
    const uint32x4_t mark =
        vandq_u32(vtstq_u32(vdupq_n_u32(sure), bits), vdupq_n_u32(OBB_PACKED_SURE));
    const uint32x4_t a = vld1q_u32(ia), b = vorrq_u32(vld1q_u32(ib), mark);
    compress(lanes, a, out_a);
    compress(lanes, b, out_b);
    return (size_t)__builtin_popcount(lanes);
}

#include "core/kernels/batch_body.inc"

const struct obb_kernels obb_kernels_neon = {.kind = OBB_KERNEL_NEON,
                                             .test_pairs = test_pairs,
                                             .test_one_to_many = test_one_to_many,
                                             .test_node = test_node,
                                             .walk = walk,
                                             .summarise = summarise,
                                             .keys = keys,
                                             .pack = pack,
                                             .encode = encode,
                                             .merge_nodes = merge_nodes,
                                             .join = join,
                                             .ray = ray,
                                             .nearest = nearest,
                                             .marked = marked};

#endif
