#include "proto/base/keys.h"

#include "proto/base/wide.h"

#include <string.h>

/* Mixes two words at a time by a folded 128-bit product. The constants are digits of pi and of the
 * golden ratio. */
uint32_t wire_key_hash(obb_str key)
{
    const char *p = key.bytes;
    size_t left = key.length;
    uint64_t state = 0x243f6a8885a308d3u ^ left;
    while (left > 0) {
        const size_t take = left < 16 ? left : 16;
        const uint64_t first = obb_word_of(p, take);
        const uint64_t second = take > 8 ? obb_word_of(p + 8, take - 8) : 0;
        const wire_product mixed = wire_multiply(first ^ state, second ^ 0x13198a2e03707344u);
        state = mixed.high ^ mixed.low ^ 0xa4093822299f31d0u;
        p += take;
        left -= take;
    }
    const wire_product last = wire_multiply(state, 0x9e3779b97f4a7c15u);
    return (uint32_t)((last.high ^ last.low) >> 16);
}

static obb_str key_at(const obb_str *first, size_t stride, size_t index)
{
    obb_str key;
    memcpy(&key, (const char *)first + index * stride, sizeof key);
    return key;
}

/* Work that polls for cancelling now and then. */
struct effort {
    const atomic_bool *cancel;
    size_t done; /* since the last poll, in keys; a long key counts as many */
};

/* Counts the work of hashing or comparing `bytes` bytes. Returns false if it was cancelled. */
static bool goes_on(struct effort *effort, size_t bytes)
{
    enum { POLLED = 4096, BYTES = 16 };
    effort->done += 1 + bytes / BYTES;
    if (effort->done < POLLED)
        return true;
    effort->done = 0;
    return !obb_cancelled(effort->cancel);
}

/* Cost: up to 28 comparisons. */
static wire_key_status check_each_with_each(const obb_str *first, size_t count, size_t stride,
                                            struct effort *effort, size_t *second)
{
    for (size_t i = 1; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            const obb_str a = key_at(first, stride, i), b = key_at(first, stride, j);
            if (obb_str_equal(a, b)) {
                *second = i;
                return WIRE_KEYS_REPEAT;
            }
            if (a.length == b.length && !goes_on(effort, a.length))
                return WIRE_KEYS_CANCELLED;
        }
    return WIRE_KEYS_DIFFER;
}

struct numbered_key {
    obb_str key;
    size_t index;
};

static int compare_keys(const obb_str *a, const obb_str *b)
{
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    return a->length == 0 ? 0 : memcmp(a->bytes, b->bytes, a->length);
}

static int by_bytes_and_index(const void *left, const void *right)
{
    const struct numbered_key *a = left, *b = right;
    const int order = compare_keys(&a->key, &b->key);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

static wire_key_status check_by_sorting(const obb_str *first, size_t count, size_t stride,
                                        struct effort *effort, struct obb_arena *arena,
                                        size_t *second)
{
    struct numbered_key *sorted = obb_arena_alloc(arena, count, sizeof *sorted);
    struct numbered_key *spare = obb_arena_alloc(arena, count, sizeof *spare);
    if (sorted == NULL || spare == NULL)
        return WIRE_KEYS_NO_MEMORY;
    for (size_t i = 0; i < count; i++) {
        if (!goes_on(effort, 0))
            return WIRE_KEYS_CANCELLED;
        sorted[i] = (struct numbered_key){key_at(first, stride, i), i};
    }
    if (!obb_sort_by(sorted, count, sizeof *sorted, by_bytes_and_index, spare, effort->cancel))
        return WIRE_KEYS_CANCELLED;
    size_t least = SIZE_MAX;
    for (size_t i = 1; i < count; i++) {
        if (!goes_on(effort, sorted[i].key.length))
            return WIRE_KEYS_CANCELLED;
        if (obb_str_equal(sorted[i - 1].key, sorted[i].key) && sorted[i].index < least)
            least = sorted[i].index;
    }
    if (least == SIZE_MAX)
        return WIRE_KEYS_DIFFER;
    *second = least;
    return WIRE_KEYS_REPEAT;
}

/* Finds whether each key comes after the one before, in one of the two orders in which keys are
 * mostly written: by bytes, as sorted names are, or by length and then by bytes, as numbered names
 * are. Looks no further than the order goes. Returns false if it was cancelled. */
static bool look_for_order(const obb_str *first, size_t count, size_t stride, struct effort *effort,
                           bool *out_ordered)
{
    bool by_bytes = true, by_length = true;
    obb_str last = key_at(first, stride, 0);
    for (size_t i = 1; i < count && (by_bytes || by_length); i++) {
        const obb_str key = key_at(first, stride, i);
        const size_t both = last.length < key.length ? last.length : key.length;
        if (!goes_on(effort, both))
            return false;
        const int order = both == 0 ? 0 : memcmp(last.bytes, key.bytes, both);
        const bool longer = last.length < key.length;
        by_bytes = by_bytes && (order < 0 || (order == 0 && longer));
        by_length = by_length && (longer || (last.length == key.length && order < 0));
        last = key;
    }
    *out_ordered = by_bytes || by_length;
    return true;
}

wire_key_status wire_keys_check(const obb_str *first, size_t count, size_t stride,
                                const atomic_bool *cancel, struct obb_arena *arena,
                                size_t *out_second)
{
    enum { FEW = 8, AHEAD = 8 };
    size_t ignored;
    size_t *const second = out_second != NULL ? out_second : &ignored;
    struct effort effort = {.cancel = cancel};
    if (count <= FEW)
        return check_each_with_each(first, count, stride, &effort, second);
    bool ordered;
    if (!look_for_order(first, count, stride, &effort, &ordered))
        return WIRE_KEYS_CANCELLED;
    if (ordered)
        return WIRE_KEYS_DIFFER;
    if (count >= UINT32_MAX / 4)
        return WIRE_KEYS_NO_MEMORY;

    /* The table holds indices plus 1 and is at most half full. There are two passes, so that the
     * second can prefetch slots. */
    size_t size = FEW;
    while (size < 2 * count)
        size *= 2;
    uint32_t *hashes = obb_arena_alloc(arena, count, sizeof *hashes);
    uint32_t *table = obb_arena_alloc(arena, size, sizeof *table);
    if (hashes == NULL || table == NULL)
        return WIRE_KEYS_NO_MEMORY;
    memset(table, 0, size * sizeof *table);
    for (size_t i = 0; i < count; i++) {
        const obb_str key = key_at(first, stride, i);
        if (!goes_on(&effort, key.length))
            return WIRE_KEYS_CANCELLED;
        hashes[i] = wire_key_hash(key);
    }

    const size_t mask = size - 1;
    size_t steps = 0;
    for (size_t i = 0; i < count; i++) {
        if (!goes_on(&effort, 0))
            return WIRE_KEYS_CANCELLED;
        if (i + AHEAD < count)
            __builtin_prefetch(&table[hashes[i + AHEAD] & mask], 1);
        size_t slot = hashes[i] & mask;
        for (; table[slot] != 0; slot = (slot + 1) & mask, steps++) {
            const size_t other = table[slot] - 1;
            if (hashes[other] == hashes[i]) {
                const obb_str key = key_at(first, stride, i);
                if (obb_str_equal(key_at(first, stride, other), key)) {
                    *second = i;
                    return WIRE_KEYS_REPEAT;
                }
                if (!goes_on(&effort, key.length))
                    return WIRE_KEYS_CANCELLED;
            }
        }
        table[slot] = (uint32_t)(i + 1);
        /* keys that were not made to collide need less than one extra step each */
        if (steps > 8 * count)
            return check_by_sorting(first, count, stride, &effort, arena, second);
    }
    return WIRE_KEYS_DIFFER;
}
