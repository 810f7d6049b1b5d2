/* The scalar kernels: plain C, with vectors of four floats that compilers know on every machine.
 * They become vector instructions if the baseline has them, and single floats if not. */
#include "core/kernels/batch.h"

#include <math.h>
#include <string.h>

#if defined __SSE2__
#include <emmintrin.h>
#endif

#if defined __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
#define W                        4
#define V_SPLAT(x)               splat_v(x)
#define V_ABS(a)                 ((vf)((vi)(a)&0x7fffffff))
#define V_MAX(a, b)              max_v(a, b)
#define V_MIN(a, b)              min_v(a, b)
#define V_SQRT(a)                sqrt_v(a)
#define V_ABOVE(a, b)            above_v(a, b)
#define V_STORE(p, a)            store_v(p, a)
#define V_LOWER(p)               lower_v(p)
#define V_UPPER(p)               upper_v(p)
#define V_WORDS(p, lower, upper) words_v(p, lower, upper)

INLINE vf splat_v(float x) { return (vf){x, x, x, x}; }

INLINE void store_v(float *p, vf a) { memcpy(p, &a, sizeof a); }

/* A lane of a comparison is all ones or all zeros, so no wrong lane is ever chosen. */
#if defined __SSE2__
INLINE vf max_v(vf a, vf b) { return (vf)_mm_max_ps((__m128)a, (__m128)b); }
INLINE vf min_v(vf a, vf b) { return (vf)_mm_min_ps((__m128)a, (__m128)b); }
INLINE vf sqrt_v(vf a) { return (vf)_mm_sqrt_ps((__m128)a); }
INLINE uint32_t above_v(vf a, vf b)
{
    return (uint32_t)_mm_movemask_ps(_mm_cmpgt_ps((__m128)a, (__m128)b));
}
#else
INLINE vf chosen(vi lanes, vf a, vf b) { return (vf)(((vi)a & lanes) | ((vi)b & ~lanes)); }
INLINE vf max_v(vf a, vf b) { return chosen(a > b, a, b); }
INLINE vf min_v(vf a, vf b) { return chosen(a < b, a, b); }
/* Rounds twice, and correctly all the same. */
INLINE float sqrt_1(float a) { return (float)sqrt((double)a); }
INLINE vf sqrt_v(vf a) { return (vf){sqrt_1(a[0]), sqrt_1(a[1]), sqrt_1(a[2]), sqrt_1(a[3])}; }
INLINE uint32_t above_v(vf a, vf b)
{
    const vi bits = (a > b) & (vi){1, 2, 4, 8};
    return (uint32_t)(bits[0] | bits[1] | bits[2] | bits[3]);
}
#endif

INLINE vf lower_v(const uint32_t *p)
{
    vf out = {0};
    UNROLL
    for (int k = 0; k < W; k++)
        out[k] = (float)(p[k] & 0xffffu);
    return out;
}

INLINE vf upper_v(const uint32_t *p)
{
    vf out = {0};
    UNROLL
    for (int k = 0; k < W; k++)
        out[k] = (float)(OBB_CODE_MOST + 1 - (p[k] >> 16));
    return out;
}

INLINE void words_v(uint32_t *p, vf lower, vf upper)
{
    UNROLL
    for (int k = 0; k < W; k++)
        p[k] = obb_code_word((uint32_t)lower[k], (uint32_t)upper[k]);
}

INLINE void load(const float *const rows[4], vf out[16])
{
    UNROLL
    for (int from = 0; from < 16; from += 4) {
        vf t[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            memcpy(&t[i], rows[i] + from, sizeof t[i]);
        const vf a = __builtin_shufflevector(t[0], t[1], 0, 4, 1, 5);
        const vf b = __builtin_shufflevector(t[0], t[1], 2, 6, 3, 7);
        const vf c = __builtin_shufflevector(t[2], t[3], 0, 4, 1, 5);
        const vf d = __builtin_shufflevector(t[2], t[3], 2, 6, 3, 7);
        out[from] = __builtin_shufflevector(a, c, 0, 1, 4, 5);
        out[from + 1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
        out[from + 2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);
        out[from + 3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
    }
}

typedef double vd __attribute__((vector_size(16)));
typedef int64_t vl __attribute__((vector_size(16)));
#define D_SPLAT(x)  ((vd){(x), (x)})
#define D_ABS(a)    ((vd)((vl)(a)&INT64_MAX))
#define D_MIN(a, b) chosen_d((a) < (b), a, b)
#define D_MAX(a, b) chosen_d((a) > (b), a, b)

INLINE vd chosen_d(vl lanes, vd a, vd b) { return (vd)(((vl)a & lanes) | ((vl)b & ~lanes)); }

/* Converts whole vectors: if lanes are cast to float and back one by one, GCC 12 assumes that
 * nothing was lost. */
typedef float vh __attribute__((vector_size(8)));
INLINE vf narrow(vd a, vd b)
{
    const vh first = __builtin_convertvector(a, vh), last = __builtin_convertvector(b, vh);
    return __builtin_shufflevector(first, last, 0, 1, 2, 3);
}

INLINE vd widen(vf v, int half)
{
    const vh first = __builtin_shufflevector(v, v, 0, 1),
             last = __builtin_shufflevector(v, v, 2, 3);
    return __builtin_convertvector(half == 0 ? first : last, vd);
}

INLINE void store(const vf columns[16], float *const rows[4])
{
    UNROLL
    for (int from = 0; from < 16; from += 4)
        UNROLL
    for (int i = 0; i < 4; i++) {
        const vf row = {columns[from][i], columns[from + 1][i], columns[from + 2][i],
                        columns[from + 3][i]};
        store_v(rows[i] + from, row);
    }
}

INLINE void load_boxes(const struct obb_box *const boxes[2], vd out[10])
{
    const double *a = &boxes[0]->center.x, *b = &boxes[1]->center.x;
    UNROLL
    for (int k = 0; k < 10; k++)
        out[k] = (vd){a[k], b[k]};
}

INLINE uint32_t test_children(const struct obb_node *node, const uint32_t axes[3])
{
    uint32_t mask = 0;
    for (uint32_t i = 0; i < OBB_NODE; i++) {
        uint32_t above = 0;
        UNROLL
        for (int k = 0; k < 3; k++) {
            const uint32_t kept = node->axis[k][i];
            above |= (uint32_t)((kept & 0xffffu) > (axes[k] & 0xffffu)) |
                     (uint32_t)(kept >> 16 > axes[k] >> 16);
        }
        mask |= (above ^ 1u) << i;
    }
    return mask;
}

INLINE void store_keys(int32_t *out, vf enter, uint32_t mask, int first)
{
    const vi lanes = (vi){0, 1, 2, 3} + first, bits = {1, 2, 4, 8};
    const vi met = (bits & (int32_t)mask) == bits;
    const vi keys = (((vi)enter & 0x7ffffff0) | lanes | ~met) & INT32_MAX;
    memcpy(out, &keys, sizeof keys);
}

INLINE int32_t least_key_after(const int32_t keys[16], int32_t last)
{
    int32_t least = INT32_MAX;
    for (int i = 0; i < OBB_NODE; i++)
        least = keys[i] > last && keys[i] < least ? keys[i] : least;
    return least;
}

INLINE uint32_t least_halves(const uint32_t words[16])
{
    uint32_t low = 0xffffu, high = 0xffffu;
    for (int i = 0; i < OBB_NODE; i++) {
        const uint32_t l = words[i] & 0xffffu, h = words[i] >> 16;
        low = l < low ? l : low;
        high = h < high ? h : high;
    }
    return low | high << 16;
}

INLINE size_t put(uint32_t mask, uint32_t base, uint32_t *out)
{
    size_t count = 0;
    for (; mask != 0; mask &= mask - 1)
        out[count++] = base + (uint32_t)__builtin_ctz(mask);
    return count;
}

INLINE void splat(uint32_t value, uint32_t *out)
{
    for (int i = 0; i < OBB_NODE; i++)
        out[i] = value;
}

INLINE size_t keep(uint32_t lanes, uint32_t sure, const uint32_t *ia, const uint32_t *ib,
                   uint32_t *out_a, uint32_t *out_b)
{
    size_t count = 0;
    UNROLL
    for (uint32_t k = 0; k < W; k++) {
        const uint32_t a = ia[k], b = ib[k] | (sure >> k & 1u) << 31;
        out_a[count] = a;
        out_b[count] = b;
        count += lanes >> k & 1u;
    }
    return count;
}

#include "core/kernels/batch_body.inc"

const struct obb_kernels obb_kernels_scalar = {.kind = OBB_KERNEL_SCALAR,
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
