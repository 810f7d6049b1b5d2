#include "core/versions/hash_table.h"

#include "core/base/alloc.h"

#define PER_BUCKET \
    2 /* links a bucket on average before the table grows; 8 bytes of buckets a link */

/* A new segment of so many buckets, 256 KiB, gets its pages before all its buckets are entered in
 * the list, which touches them in no order of memory. */
#define FILLED 16384

static uint32_t reversed(uint32_t x)
{
    x = (x >> 1 & 0x55555555u) | (x & 0x55555555u) << 1;
    x = (x >> 2 & 0x33333333u) | (x & 0x33333333u) << 2;
    x = (x >> 4 & 0x0f0f0f0fu) | (x & 0x0f0f0f0fu) << 4;
    return __builtin_bswap32(x);
}

static uint32_t key_of(uint32_t hash) { return reversed(hash) | 1; }

static struct obb_link *next_of(const struct obb_link *link)
{
    return atomic_load_explicit(&link->next, memory_order_acquire);
}

static void set_next(struct obb_link *link, struct obb_link *next)
{
    atomic_store_explicit(&link->next, next, memory_order_release);
}

static size_t segment_buckets(unsigned segment)
{
    return segment == 0 ? OBB_HASH_TABLE_FIRST : (size_t)OBB_HASH_TABLE_FIRST << (segment - 1);
}

/* Returns the memory of a bucket. Its `next` is NULL until the bucket has been entered in the
 * list. */
static struct obb_link *bucket_at(const struct obb_hash_table *table, uint32_t bucket)
{
    unsigned segment = 0;
    uint32_t from = 0;
    if (bucket >= OBB_HASH_TABLE_FIRST) {
        segment = 32 - (unsigned)__builtin_clz(bucket / OBB_HASH_TABLE_FIRST);
        from = (uint32_t)OBB_HASH_TABLE_FIRST << (segment - 1);
    }
    return atomic_load_explicit(&table->segments[segment], memory_order_acquire) + (bucket - from);
}

/* Returns the bucket that held the links of this bucket before the table grew. */
static uint32_t parent_of(uint32_t bucket)
{
    return bucket & ~((uint32_t)1 << (31 - (unsigned)__builtin_clz(bucket)));
}

/* Returns the last link with a key below `key`, from `from` on. */
static struct obb_link *last_before(struct obb_link *from, uint32_t key)
{
    struct obb_link *link = from;
    for (struct obb_link *next = next_of(link); next->key < key; next = next_of(link))
        link = next;
    return link;
}

static void link_after(struct obb_link *place, struct obb_link *link, uint32_t key)
{
    link->key = key;
    set_next(link, next_of(place));
    set_next(place, link);
}

/* Returns a bucket after entering it, and the ancestors it needs, in the list. */
static struct obb_link *entered(struct obb_hash_table *table, uint32_t bucket)
{
    struct obb_link *head = bucket_at(table, bucket);
    if (next_of(head) == NULL) {
        struct obb_link *parent =
            entered(table, parent_of(bucket)); /* ends at bucket 0, which is always entered */
        const uint32_t key = reversed(bucket);
        link_after(last_before(parent, key), head, key);
    }
    return head;
}

void obb_hash_table_init(struct obb_hash_table *table)
{
    *table = (struct obb_hash_table){.ready = 1, .end = {.key = UINT32_MAX}};
    atomic_init(&table->segments[0], table->first);
    atomic_init(&table->mask, OBB_HASH_TABLE_FIRST - 1);
    atomic_init(&table->first[0].next, &table->end);
}

void obb_hash_table_fini(struct obb_hash_table *table)
{
    for (unsigned i = 1; i < OBB_HASH_TABLE_SEGMENTS; i++)
        obb_free(atomic_load_explicit(&table->segments[i], memory_order_relaxed));
}

/* Enters all buckets in one walk along the list. Those from `fresh` on are not entered yet: a new
 * page is written before it is read, which costs one fault and not two. O(links + buckets). */
static void enter_all(struct obb_hash_table *table, uint32_t fresh)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    const int unused = __builtin_clz(mask);
    struct obb_link *head = table->first;
    for (uint32_t from = fresh; from <= mask; from *= 2) /* of the segments, the first buckets */
        if (from >= FILLED)
            obb_fill_pages(bucket_at(table, from), from * sizeof *head);
    for (uint32_t i = 1; i <= mask; i++) {
        const uint32_t key = i << unused; /* of the bucket that comes i-th in the list */
        const uint32_t bucket = reversed(key);
        struct obb_link *next = bucket_at(table, bucket);
        if (bucket >= fresh || next_of(next) == NULL)
            link_after(last_before(head, key), next, key);
        head = next;
    }
    table->ready = mask + 1;
}

obb_status obb_hash_table_reserve(struct obb_hash_table *table, size_t count)
{
    uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    const uint32_t before = mask;
    for (unsigned segment = 1; segment < OBB_HASH_TABLE_SEGMENTS; segment++) {
        if (count / PER_BUCKET <= mask)
            break;
        if (segment_buckets(segment) <= mask)
            continue; /* this segment is there */
        struct obb_link *buckets = obb_calloc(segment_buckets(segment), sizeof *buckets);
        if (buckets == NULL)
            return OBB_NO_MEMORY;
        atomic_store_explicit(&table->segments[segment], buckets, memory_order_release);
        mask = mask * 2 + 1;
        atomic_store_explicit(&table->mask, mask, memory_order_release);
    }
    if (mask != before && count / 2 >= table->count)
        enter_all(table, before + 1);
    return OBB_OK;
}

void obb_hash_table_insert(struct obb_hash_table *table, struct obb_link *link, uint32_t hash)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    const uint32_t key = key_of(hash);
    link_after(last_before(entered(table, hash & mask), key), link, key);
    table->count++;
    /* Two buckets are entered with each link, so all buckets of a table are entered before it
     * doubles again. Lookups stay short even in buckets that no link was inserted in. */
    for (int i = 0; i < 2 && table->ready <= mask; i++)
        (void)entered(table, table->ready++);
}

uint32_t obb_hash_table_hash(const struct obb_link *link)
{
    return reversed(link->key & ~(uint32_t)1);
}

void obb_hash_table_remove(struct obb_hash_table *table, struct obb_link *link)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    const uint32_t bucket = obb_hash_table_hash(link) & mask; /* none has the top bit */
    struct obb_link *before = last_before(entered(table, bucket), link->key);
    while (next_of(before) != link)
        before = next_of(before);
    set_next(before, next_of(link)); /* link->next stays, so readers on the link can go on */
    table->count--;
}

static struct obb_link *if_key(const struct obb_hash_table *table, struct obb_link *link,
                               uint32_t key)
{
    return link != &table->end && link->key == key ? link : NULL;
}

struct obb_link *obb_hash_table_find(const struct obb_hash_table *table, uint32_t hash)
{
    uint32_t bucket = hash & atomic_load_explicit(&table->mask, memory_order_acquire);
    struct obb_link *head = bucket_at(table, bucket);
    while (next_of(head) == NULL) {
        bucket = parent_of(bucket);
        head = bucket_at(table, bucket);
    }
    const uint32_t key = key_of(hash);
    struct obb_link *link = next_of(head);
    while (link->key < key) /* loads each link once: the writer may insert others before it */
        link = next_of(link);
    return if_key(table, link, key);
}

struct obb_link *obb_hash_table_find_next(const struct obb_hash_table *table,
                                          const struct obb_link *link)
{
    return if_key(table, next_of(link), link->key);
}

void obb_hash_table_prefetch_bucket(const struct obb_hash_table *table, uint32_t hash)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    __builtin_prefetch(bucket_at(table, hash & mask));
}

void obb_hash_table_prefetch_link(const struct obb_hash_table *table, uint32_t hash)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    __builtin_prefetch(next_of(bucket_at(table, hash & mask)));
}

void obb_hash_table_prefetch_second(const struct obb_hash_table *table, uint32_t hash)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    const struct obb_link *first = next_of(bucket_at(table, hash & mask));
    if (first != NULL) /* else the bucket is not entered yet */
        __builtin_prefetch(next_of(first));
}

struct obb_link *obb_hash_table_walk(const struct obb_hash_table *table,
                                     const struct obb_link *after)
{
    struct obb_link *link = next_of(after == NULL ? table->first : after);
    while (link != &table->end && (link->key & 1) == 0)
        link = next_of(link);
    return link == &table->end ? NULL : link;
}

size_t obb_hash_table_bytes(const struct obb_hash_table *table)
{
    const size_t buckets = (size_t)atomic_load_explicit(&table->mask, memory_order_relaxed) + 1;
    return (buckets - OBB_HASH_TABLE_FIRST) * sizeof(struct obb_link);
}

bool obb_hash_table_validate(const struct obb_hash_table *table)
{
    const uint32_t mask = atomic_load_explicit(&table->mask, memory_order_relaxed);
    size_t links = 0, buckets = 0;
    const struct obb_link *link = table->first;
    while (link != &table->end) {
        const bool is_bucket = (link->key & 1) == 0;
        links += !is_bucket;
        buckets += is_bucket;
        if (is_bucket &&
            (reversed(link->key) > mask || bucket_at(table, reversed(link->key)) != link))
            return false;
        const struct obb_link *next = next_of(link);
        if (next == NULL || next->key < link->key || (is_bucket && next->key == link->key))
            return false;
        link = next;
    }
    size_t entered_buckets = 0;
    for (uint32_t i = 0; i <= mask; i++) {
        const bool is_entered = next_of(bucket_at(table, i)) != NULL;
        entered_buckets += is_entered;
        if (i < table->ready && !is_entered)
            return false;
    }
    return links == table->count && buckets == entered_buckets;
}
