/* The AVX-512 kernels: sixteen floats a vector. */
#include "core/kernels/batch.h"

#if defined __x86_64__ && !defined OBB_ONLY_SCALAR

#if defined __clang__
#pragma clang attribute push(                                                           \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt"))), \
    apply_to = function)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#pragma GCC push_options
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt,prefer-vector-width=512")
#define UNROLL _Pragma("GCC unroll 16")
#endif
#define INLINE static inline __attribute__((always_inline))

#include <immintrin.h>
#include <string.h>

typedef __m512 vf;
#define W             16
#define V_SPLAT(x)    _mm512_set1_ps(x)
#define V_ABS(a)      _mm512_abs_ps(a)
#define V_MAX(a, b)   _mm512_max_ps(a, b)
#define V_MIN(a, b)   _mm512_min_ps(a, b)
#define V_SQRT(a)     _mm512_sqrt_ps(a)
#define V_ABOVE(a, b) ((uint32_t)_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ))
#define V_STORE(p, a) _mm512_storeu_ps(p, a)
#define V_LOWER(p)    _mm512_cvtepi32_ps(_mm512_and_si512(_mm512_load_si512(p), low_half()))
#define V_UPPER(p)                                                                 \
    _mm512_cvtepi32_ps(_mm512_sub_epi32(_mm512_set1_epi32((int)OBB_CODE_MOST + 1), \
                                        _mm512_srli_epi32(_mm512_load_si512(p), 16)))
#define V_WORDS(p, lower, upper)                                                                  \
    _mm512_store_si512(                                                                           \
        p,                                                                                        \
        _mm512_or_si512(_mm512_cvttps_epi32(lower),                                               \
                        _mm512_slli_epi32(_mm512_sub_epi32(_mm512_set1_epi32((int)OBB_CODE_MOST), \
                                                           _mm512_cvttps_epi32(upper)),           \
                                          16)))

INLINE __m512i low_half(void) { return _mm512_set1_epi32(0xffff); }

/* Transposes sixteen rows, four columns at a time. A quarter of a register is filled from memory by
 * any port that computes; only the shuffles within quarters need the one port for shuffles. */
INLINE void load(const float *const rows[16], vf out[16])
{
    UNROLL
    for (int c = 0; c < 16; c += 4) {
        __m512 t[4];
        UNROLL
        for (int i = 0; i < 4; i++) {
            t[i] = _mm512_castps128_ps512(_mm_load_ps(rows[i] + c));
            t[i] = _mm512_insertf32x4(t[i], _mm_load_ps(rows[i + 4] + c), 1);
            t[i] = _mm512_insertf32x4(t[i], _mm_load_ps(rows[i + 8] + c), 2);
            t[i] = _mm512_insertf32x4(t[i], _mm_load_ps(rows[i + 12] + c), 3);
        }
        const __m512d low_a = _mm512_castps_pd(_mm512_unpacklo_ps(t[0], t[1]));
        const __m512d high_a = _mm512_castps_pd(_mm512_unpackhi_ps(t[0], t[1]));
        const __m512d low_b = _mm512_castps_pd(_mm512_unpacklo_ps(t[2], t[3]));
        const __m512d high_b = _mm512_castps_pd(_mm512_unpackhi_ps(t[2], t[3]));
        out[c] = _mm512_castpd_ps(_mm512_unpacklo_pd(low_a, low_b));
        out[c + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(low_a, low_b));
        out[c + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(high_a, high_b));
        out[c + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(high_a, high_b));
    }
}

typedef __m512d vd;
#define D_SPLAT(x)  _mm512_set1_pd(x)
#define D_ABS(a)    _mm512_abs_pd(a)
#define D_MIN(a, b) _mm512_min_pd(a, b)
#define D_MAX(a, b) _mm512_max_pd(a, b)

INLINE vf narrow(vd a, vd b)
{
    const __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(a));
    return _mm512_insertf32x8(low, _mm512_cvtpd_ps(b), 1);
}

INLINE vd widen(vf v, int half)
{
    return _mm512_cvtps_pd(half == 0 ? _mm512_castps512_ps256(v) : _mm512_extractf32x8_ps(v, 1));
}

/* Transposes sixteen registers: pairs of columns first, then fours, then quarters of registers
 * twice. */
INLINE void store(const vf columns[16], float *const rows[16])
{
    __m512 t[16], s[16];
    UNROLL
    for (int i = 0; i < 16; i += 2) {
        s[i] = _mm512_unpacklo_ps(columns[i], columns[i + 1]);
        s[i + 1] = _mm512_unpackhi_ps(columns[i], columns[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 16; i += 4) {
        const __m512d a = _mm512_castps_pd(s[i]), b = _mm512_castps_pd(s[i + 1]);
        const __m512d c = _mm512_castps_pd(s[i + 2]), d = _mm512_castps_pd(s[i + 3]);
        t[i] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, c));
        t[i + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, c));
        t[i + 2] = _mm512_castpd_ps(_mm512_unpacklo_pd(b, d));
        t[i + 3] = _mm512_castpd_ps(_mm512_unpackhi_pd(b, d));
    }
    /* t[4 c + r] has rows r, 4 + r, 8 + r, 12 + r of columns 4 c to 4 c + 3 */
    UNROLL
    for (int r = 0; r < 4; r++) {
        const __m512 a = _mm512_shuffle_f32x4(t[r], t[r + 4], 0x88);
        const __m512 b = _mm512_shuffle_f32x4(t[r + 8], t[r + 12], 0x88);
        const __m512 d = _mm512_shuffle_f32x4(t[r], t[r + 4], 0xdd);
        const __m512 e = _mm512_shuffle_f32x4(t[r + 8], t[r + 12], 0xdd);
        _mm512_storeu_ps(rows[r], _mm512_shuffle_f32x4(a, b, 0x88));
        _mm512_storeu_ps(rows[r + 8], _mm512_shuffle_f32x4(a, b, 0xdd));
        _mm512_storeu_ps(rows[r + 4], _mm512_shuffle_f32x4(d, e, 0x88));
        _mm512_storeu_ps(rows[r + 12], _mm512_shuffle_f32x4(d, e, 0xdd));
    }
}

/* Transposes a block of eight doubles of eight boxes, and gathers the last two doubles. */
INLINE void load_boxes(const struct obb_box *const boxes[8], vd out[10])
{
    __m512d t[8], s[8];
    UNROLL
    for (int i = 0; i < 8; i++)
        t[i] = _mm512_loadu_pd(boxes[i]);
    UNROLL
    for (int i = 0; i < 8; i += 2) {
        s[i] = _mm512_unpacklo_pd(t[i], t[i + 1]);
        s[i + 1] = _mm512_unpackhi_pd(t[i], t[i + 1]);
    }
    UNROLL
    for (int c = 0; c < 2; c++) {
        const __m512d a = _mm512_shuffle_f64x2(s[c], s[c + 2], 0x88);
        const __m512d b = _mm512_shuffle_f64x2(s[c + 4], s[c + 6], 0x88);
        const __m512d d = _mm512_shuffle_f64x2(s[c], s[c + 2], 0xdd);
        const __m512d e = _mm512_shuffle_f64x2(s[c + 4], s[c + 6], 0xdd);
        out[c] = _mm512_shuffle_f64x2(a, b, 0x88);
        out[c + 4] = _mm512_shuffle_f64x2(a, b, 0xdd);
        out[c + 2] = _mm512_shuffle_f64x2(d, e, 0x88);
        out[c + 6] = _mm512_shuffle_f64x2(d, e, 0xdd);
    }
    out[8] = _mm512_setr_pd(boxes[0]->rotation.z, boxes[1]->rotation.z, boxes[2]->rotation.z,
                            boxes[3]->rotation.z, boxes[4]->rotation.z, boxes[5]->rotation.z,
                            boxes[6]->rotation.z, boxes[7]->rotation.z);
    out[9] = _mm512_setr_pd(boxes[0]->rotation.w, boxes[1]->rotation.w, boxes[2]->rotation.w,
                            boxes[3]->rotation.w, boxes[4]->rotation.w, boxes[5]->rotation.w,
                            boxes[6]->rotation.w, boxes[7]->rotation.w);
}

INLINE uint32_t test_children(const struct obb_node *node, const uint32_t axes[3])
{
    __m512i above = _mm512_setzero_si512();
    UNROLL
    for (int k = 0; k < 3; k++)
        above = _mm512_or_si512(above, _mm512_subs_epu16(_mm512_load_si512(node->axis[k]),
                                                         _mm512_set1_epi32((int)axes[k])));
    return _mm512_testn_epi32_mask(above, above);
}

INLINE void store_keys(int32_t *out, vf enter, uint32_t mask, int first)
{
    (void)first; /* 0 */
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i high =
        _mm512_and_si512(_mm512_castps_si512(enter), _mm512_set1_epi32(0x7ffffff0));
    _mm512_store_si512(
        out, _mm512_mask_or_epi32(_mm512_set1_epi32(INT32_MAX), (__mmask16)mask, high, lanes));
}

INLINE int32_t least_key_after(const int32_t keys[16], int32_t last)
{
    const __m512i all = _mm512_load_si512(keys);
    const __mmask16 after = _mm512_cmpgt_epi32_mask(all, _mm512_set1_epi32(last));
    const __m512i left = _mm512_mask_mov_epi32(_mm512_set1_epi32(INT32_MAX), after, all);
    const __m256i a =
        _mm256_min_epi32(_mm512_castsi512_si256(left), _mm512_extracti64x4_epi64(left, 1));
    __m128i b = _mm_min_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_min_epi32(b, _mm_shuffle_epi32(b, 0x4e));
    b = _mm_min_epi32(b, _mm_shuffle_epi32(b, 0xb1));
    return _mm_cvtsi128_si32(b);
}

INLINE uint32_t least_halves(const uint32_t words[16])
{
    const __m512i all = _mm512_load_si512(words);
    const __m256i a =
        _mm256_min_epu16(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
    __m128i b = _mm_min_epu16(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    b = _mm_min_epu16(b, _mm_shuffle_epi32(b, 0x4e));
    b = _mm_min_epu16(b, _mm_shuffle_epi32(b, 0xb1));
    return (uint32_t)_mm_cvtsi128_si32(b);
}

INLINE size_t put(uint32_t mask, uint32_t base, uint32_t *out)
{
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i all = _mm512_add_epi32(lanes, _mm512_set1_epi32((int)base));
    _mm512_storeu_si512(out, _mm512_maskz_compress_epi32((__mmask16)mask, all));
    return (size_t)_mm_popcnt_u32(mask);
}

INLINE void splat(uint32_t value, uint32_t *out)
{
    _mm512_storeu_si512(out, _mm512_set1_epi32((int)value));
}

INLINE size_t keep(uint32_t lanes, uint32_t sure, const uint32_t *ia, const uint32_t *ib,
                   uint32_t *out_a, uint32_t *out_b)
{
    const __mmask16 mask = (__mmask16)lanes;
    const __m512i a = _mm512_loadu_si512(ia);
    __m512i b = _mm512_loadu_si512(ib);
    b = _mm512_mask_or_epi32(b, (__mmask16)sure, b, _mm512_set1_epi32((int)OBB_PACKED_SURE));
    _mm512_storeu_si512(out_a, _mm512_maskz_compress_epi32(mask, a));
    _mm512_storeu_si512(out_b, _mm512_maskz_compress_epi32(mask, b));
    return (size_t)_mm_popcnt_u32(lanes);
}

#define OBB_GATHERS
INLINE uint32_t marked_lanes(const struct obb_marks *marks, const uint32_t *ids, uint32_t lanes)
{
    const __m512i all = _mm512_maskz_loadu_epi32((__mmask16)lanes, ids);
    const __m512i place = _mm512_sub_epi32(all, _mm512_set1_epi32((int)marks->first));
    const __mmask16 in =
        _mm512_mask_cmplt_epu32_mask((__mmask16)lanes, place, _mm512_set1_epi32((int)marks->span));
    /* Gathers words of 32 bits: a word of 64 is stored with its lower half first. */
    const __m512i words = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), in,
                                                      _mm512_srli_epi32(place, 5), marks->bits, 4);
    const __m512i bits =
        _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(place, _mm512_set1_epi32(31)));
    return _mm512_test_epi32_mask(words, bits);
}

INLINE void keys_of(const struct obb_cuts *cuts, const uint32_t *x, const uint32_t *y,
                    const uint32_t *z, size_t count, uint32_t *out)
{
    const __mmask16 lanes = (__mmask16)((1u << count) - 1);
    const __m512i none = _mm512_setzero_si512();
    const __m512i bin = _mm512_srl_epi32(_mm512_maskz_loadu_epi32(lanes, x),
                                         _mm_cvtsi32_si128((int)cuts->shift[0]));
    const __m512i slab =
        _mm512_and_si512(_mm512_mask_i32gather_epi32(none, lanes, bin, cuts->slab, 2), low_half());
    const __m512i place =
        _mm512_add_epi32(_mm512_sll_epi32(slab, _mm_cvtsi32_si128((int)cuts->bits)),
                         _mm512_srl_epi32(_mm512_maskz_loadu_epi32(lanes, y),
                                          _mm_cvtsi32_si128((int)cuts->shift[1])));
    const __m512i column = _mm512_and_si512(
        _mm512_mask_i32gather_epi32(none, lanes, place, cuts->column, 2), low_half());
    const __m512i up = _mm512_maskz_loadu_epi32(lanes, z);
    const __m512i along = _mm512_mask_xor_epi32(
        up, _mm512_test_epi32_mask(column, _mm512_set1_epi32(1)), up, low_half());
    const __m512i all = _mm512_add_epi32(column, _mm512_set1_epi32((int)cuts->first));
    _mm512_mask_storeu_epi32(out, lanes, _mm512_or_si512(_mm512_slli_epi32(all, 16), along));
}

#include "core/kernels/batch_body.inc"

const struct obb_kernels obb_kernels_avx512 = {.kind = OBB_KERNEL_AVX512,
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
