/* The AVX2 kernels: eight floats a vector. */
#include "core/kernels/batch.h"

#if defined __x86_64__ && !defined OBB_ONLY_SCALAR

#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

#include <immintrin.h>
#include <string.h>

typedef __m256 vf;
#define W             8
#define V_SPLAT(x)    _mm256_set1_ps(x)
#define V_ABS(a)      _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a)
#define V_MAX(a, b)   _mm256_max_ps(a, b)
#define V_MIN(a, b)   _mm256_min_ps(a, b)
#define V_SQRT(a)     _mm256_sqrt_ps(a)
#define V_ABOVE(a, b) ((uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_GT_OQ)))
#define V_STORE(p, a) _mm256_storeu_ps(p, a)
#define V_LOWER(p)    _mm256_cvtepi32_ps(_mm256_and_si256(load_words(p), _mm256_set1_epi32(0xffff)))
#define V_UPPER(p)                                                                 \
    _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_set1_epi32((int)OBB_CODE_MOST + 1), \
                                        _mm256_srli_epi32(load_words(p), 16)))
#define V_WORDS(p, lower, upper)                                                                 \
    store_words(p, _mm256_or_si256(                                                              \
                       _mm256_cvttps_epi32(lower),                                               \
                       _mm256_slli_epi32(_mm256_sub_epi32(_mm256_set1_epi32((int)OBB_CODE_MOST), \
                                                          _mm256_cvttps_epi32(upper)),           \
                                         16)))

INLINE __m256i load_words(const void *words) { return _mm256_loadu_si256(words); }

INLINE void store_words(void *out, __m256i words) { _mm256_storeu_si256(out, words); }

/* Transposes eight rows: pairs of rows first, then fours, then halves of registers. */
INLINE void load_half(const float *const rows[8], size_t from, vf out[8])
{
    __m256 t[8], s[8];
    UNROLL
    for (int i = 0; i < 8; i++)
        t[i] = _mm256_loadu_ps(rows[i] + from);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm256_unpacklo_ps(t[i], t[i + 1]);
        s[i + 1] = _mm256_unpackhi_ps(t[i], t[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) {
        const __m256d a = _mm256_castps_pd(s[i]), b = _mm256_castps_pd(s[i + 1]);
        const __m256d c = _mm256_castps_pd(s[i + 2]), d = _mm256_castps_pd(s[i + 3]);
        t[i] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, c));
        t[i + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, c));
        t[i + 2] = _mm256_castpd_ps(_mm256_unpacklo_pd(b, d));
        t[i + 3] = _mm256_castpd_ps(_mm256_unpackhi_pd(b, d));
    }
    UNROLL
    for (int c = 0; c < 4; c++) {
        out[c] = _mm256_permute2f128_ps(t[c], t[c + 4], 0x20);
        out[c + 4] = _mm256_permute2f128_ps(t[c], t[c + 4], 0x31);
    }
}

INLINE void load(const float *const rows[8], vf out[16])
{
    load_half(rows, 0, out);
    load_half(rows, 8, out + 8);
}

typedef __m256d vd;
#define D_SPLAT(x)  _mm256_set1_pd(x)
#define D_ABS(a)    _mm256_andnot_pd(_mm256_set1_pd(-0.0), a)
#define D_MIN(a, b) _mm256_min_pd(a, b)
#define D_MAX(a, b) _mm256_max_pd(a, b)

INLINE vf narrow(vd a, vd b) { return _mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a)); }

INLINE vd widen(vf v, int half)
{
    return _mm256_cvtps_pd(half == 0 ? _mm256_castps256_ps128(v) : _mm256_extractf128_ps(v, 1));
}

INLINE void store(const vf columns[16], float *const rows[8])
{
    UNROLL
    for (size_t from = 0; from < 16; from += 8) {
        float spill[8][8];
        const float *lines[8];
        vf out[8];
        UNROLL
        for (size_t i = 0; i < 8; i++) {
            _mm256_storeu_ps(spill[i], columns[from + i]);
            lines[i] = spill[i];
        }
        load_half(lines, 0, out);
        UNROLL
        for (int i = 0; i < 8; i++)
            _mm256_storeu_ps(rows[i] + from, out[i]);
    }
}

/* Transposes two blocks of four doubles of four boxes, and gathers the last two doubles. */
INLINE void load_boxes(const struct obb_box *const boxes[4], vd out[10])
{
    UNROLL
    for (int from = 0; from < 8; from += 4) {
        __m256d t[4];
        UNROLL
        for (int i = 0; i < 4; i++)
            t[i] = _mm256_loadu_pd(&boxes[i]->center.x + from);
        const __m256d a = _mm256_unpacklo_pd(t[0], t[1]), b = _mm256_unpackhi_pd(t[0], t[1]);
        const __m256d c = _mm256_unpacklo_pd(t[2], t[3]), d = _mm256_unpackhi_pd(t[2], t[3]);
        out[from] = _mm256_permute2f128_pd(a, c, 0x20);
        out[from + 1] = _mm256_permute2f128_pd(b, d, 0x20);
        out[from + 2] = _mm256_permute2f128_pd(a, c, 0x31);
        out[from + 3] = _mm256_permute2f128_pd(b, d, 0x31);
    }
    out[8] = _mm256_setr_pd(boxes[0]->rotation.z, boxes[1]->rotation.z, boxes[2]->rotation.z,
                            boxes[3]->rotation.z);
    out[9] = _mm256_setr_pd(boxes[0]->rotation.w, boxes[1]->rotation.w, boxes[2]->rotation.w,
                            boxes[3]->rotation.w);
}

INLINE uint32_t test_children(const struct obb_node *node, const uint32_t axes[3])
{
    __m256i first = _mm256_setzero_si256(), second = first;
    UNROLL
    for (int k = 0; k < 3; k++) {
        const __m256i query = _mm256_set1_epi32((int)axes[k]);
        first = _mm256_or_si256(first, _mm256_subs_epu16(load_words(node->axis[k]), query));
        second = _mm256_or_si256(second, _mm256_subs_epu16(load_words(node->axis[k] + 8), query));
    }
    const __m256i zero = _mm256_setzero_si256();
    const __m256 a = _mm256_castsi256_ps(_mm256_cmpeq_epi32(first, zero));
    const __m256 b = _mm256_castsi256_ps(_mm256_cmpeq_epi32(second, zero));
    return (uint32_t)_mm256_movemask_ps(a) | (uint32_t)_mm256_movemask_ps(b) << 8;
}

INLINE void store_keys(int32_t *out, vf enter, uint32_t mask, int first)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i missed = _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)mask), bits),
                                              _mm256_setzero_si256());
    const __m256i high =
        _mm256_and_si256(_mm256_castps_si256(enter), _mm256_set1_epi32(0x7ffffff0));
    const __m256i key = _mm256_or_si256(high, _mm256_add_epi32(lanes, _mm256_set1_epi32(first)));
    store_words(out, _mm256_blendv_epi8(key, _mm256_set1_epi32(INT32_MAX), missed));
}

INLINE int32_t least_key_after(const int32_t keys[16], int32_t last)
{
    const __m256i none = _mm256_set1_epi32(INT32_MAX), bar = _mm256_set1_epi32(last);
    const __m256i one = load_words(keys), other = load_words(keys + 8);
    const __m256i a =
        _mm256_min_epi32(_mm256_blendv_epi8(none, one, _mm256_cmpgt_epi32(one, bar)),
                         _mm256_blendv_epi8(none, other, _mm256_cmpgt_epi32(other, bar)));
    __m128i b = _mm_min_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_min_epi32(b, _mm_shuffle_epi32(b, 0x4e));
    b = _mm_min_epi32(b, _mm_shuffle_epi32(b, 0xb1));
    return _mm_cvtsi128_si32(b);
}

INLINE uint32_t least_halves(const uint32_t words[16])
{
    const __m256i a = _mm256_min_epu16(load_words(words), load_words(words + 8));
    __m128i b = _mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_min_epu16(b, _mm_shuffle_epi32(b, 0x4e));
    b = _mm_min_epu16(b, _mm_shuffle_epi32(b, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(b);
}

/* The numbers of the bits that are set in each mask of 8 bits, lowest first, one a byte. */
#define LANE(mask, bit)                                                            \
    (((mask)&1u << (bit)) != 0                                                     \
         ? (uint64_t)(bit) << 8 * __builtin_popcount((mask) & ((1u << (bit)) - 1)) \
         : 0)
#define LANES1(m) \
    (LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) | LANE(m, 7))
#define LANES4(m)  LANES1(m), LANES1((m) + 1), LANES1((m) + 2), LANES1((m) + 3)
#define LANES16(m) LANES4(m), LANES4((m) + 4), LANES4((m) + 8), LANES4((m) + 12)
#define LANES64(m) LANES16(m), LANES16((m) + 16), LANES16((m) + 32), LANES16((m) + 48)
/* Mask 0 has no bits below any. NOLINTNEXTLINE(misc-redundant-expression) */
static const uint64_t lanes_of[256] = {LANES64(0u), LANES64(64u), LANES64(128u), LANES64(192u)};

/* Returns the numbers of the lanes that are in the mask (8 bits), from the front on. */
INLINE __m256i lanes_in(uint32_t mask)
{
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)&lanes_of[mask]));
}

INLINE size_t put(uint32_t mask, uint32_t base, uint32_t *out)
{
    const __m256i first = _mm256_set1_epi32((int)base), second = _mm256_set1_epi32((int)base + 8);
    const size_t count = (size_t)_mm_popcnt_u32(mask & 0xffu);
    store_words(out, _mm256_add_epi32(first, lanes_in(mask & 0xffu)));
    store_words(out + count, _mm256_add_epi32(second, lanes_in(mask >> 8)));
    return count + (size_t)_mm_popcnt_u32(mask >> 8);
}

INLINE void splat(uint32_t value, uint32_t *out)
{
    store_words(out, _mm256_set1_epi32((int)value));
    store_words(out + 8, _mm256_set1_epi32((int)value));
}

INLINE size_t keep(uint32_t lanes, uint32_t sure, const uint32_t *ia, const uint32_t *ib,
                   uint32_t *out_a, uint32_t *out_b)
{
    const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const __m256i set =
        _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)sure), bits), bits);
    const __m256i mark = _mm256_and_si256(set, _mm256_set1_epi32((int)OBB_PACKED_SURE));
    const __m256i a = load_words(ia);
    const __m256i b = _mm256_or_si256(load_words(ib), mark);
    const __m256i order = lanes_in(lanes);
    store_words(out_a, _mm256_permutevar8x32_epi32(a, order));
    store_words(out_b, _mm256_permutevar8x32_epi32(b, order));
    return (size_t)_mm_popcnt_u32(lanes);
}

#include "core/kernels/batch_body.inc"

const struct obb_kernels obb_kernels_avx2 = {.kind = OBB_KERNEL_AVX2,
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

#if defined __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
