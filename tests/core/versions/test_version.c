/* The pool of versions: its slots, one page at a time and many pages in one block. */
#include "core/versions/version.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { RESERVED = 5000, BEFORE = 700, ALL = 9000 };

static struct obb_record *record_at(size_t i)
{
    static max_align_t records[ALL]; /* nobody reads them */
    return (struct obb_record *)(void *)&records[i];
}

/* Takes slots up to slot `end`, and writes all of each. */
static void take(struct obb_versions *pool, size_t end)
{
    while (pool->count < end) {
        const uint32_t i = pool->count;
        struct obb_version *version = obb_versions_take(pool, record_at(i));
        ck_assert_ptr_nonnull(version);
        ck_assert_uint_eq(version->self, i);
        ck_assert_uint_eq((uintptr_t)version % OBB_LINE, 0);
        version->box = (obb_box){.center = {(double)i, 0, 0}};
        version->id = i + 1;
        obb_version_set_older(version, i);
        obb_version_publish(version, i, 0);
    }
}

/* Checks that each slot below `end` holds what take() wrote there. */
static void check(const struct obb_versions *pool, size_t end)
{
    for (uint32_t i = 0; i < end; i++) {
        const struct obb_version *version = obb_version_at(pool, i);
        ck_assert_uint_eq(version->self, i);
        ck_assert(version->box.center.x == (double)i);
        ck_assert_uint_eq(version->id, i + 1);
        ck_assert_uint_eq(version->born, i);
        ck_assert_ptr_eq(obb_version_record(version), record_at(i));
        ck_assert_ptr_eq(obb_version_links(version), obb_version_links_at(pool, i));
        ck_assert_uint_eq(obb_version_links(version)->older, i);
    }
}

START_TEST(slots_stay_where_they_are_while_pages_come_alone_and_in_blocks)
{
    struct obb_versions pool;
    obb_versions_init(&pool);
    take(&pool, BEFORE);
    const struct obb_version *first = obb_version_at(&pool, 0);
    ck_assert(obb_versions_reserve(&pool, RESERVED));
    const size_t pages = pool.page_count;
    ck_assert_uint_ge(pages * OBB_VERSION_PAGE, BEFORE + RESERVED);
    ck_assert_uint_lt(pages * OBB_VERSION_PAGE, BEFORE + RESERVED + OBB_VERSION_PAGE);
    take(&pool, BEFORE + 100);
    ck_assert(obb_versions_reserve(&pool, RESERVED - 100)); /* there is room */
    ck_assert_uint_eq(pool.page_count, pages);
    /* a second block before the first one is used up */
    ck_assert(obb_versions_reserve(&pool, RESERVED + 2000));
    ck_assert_uint_gt(pool.page_count, pages);
    take(&pool, ALL);
    check(&pool, ALL);
    ck_assert_ptr_eq(obb_version_at(&pool, 0), first);
    obb_versions_fini(&pool);
}
END_TEST

START_TEST(free_slots_are_room)
{
    struct obb_versions pool;
    obb_versions_init(&pool);
    take(&pool, RESERVED);
    for (uint32_t i = 0; i < RESERVED; i++)
        obb_versions_give(&pool, obb_versions_slot(&pool, i));
    const size_t pages = pool.page_count;
    ck_assert(obb_versions_reserve(&pool, RESERVED));
    ck_assert_uint_eq(pool.page_count, pages);
    ck_assert(obb_versions_reserve(&pool, ALL));
    ck_assert_uint_gt(pool.page_count, pages);
    obb_versions_fini(&pool);
}
END_TEST

/* Takes all slots and sees each once. */
static void take_each_once(struct obb_versions *pool)
{
    static bool seen[ALL + OBB_VERSION_PAGE];
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < ALL; i++) {
        struct obb_version *version = obb_versions_take(pool, record_at(i));
        ck_assert_ptr_nonnull(version);
        ck_assert_ptr_eq(version, obb_versions_slot(pool, version->self));
        ck_assert_ptr_eq(obb_version_record(version), record_at(i));
        ck_assert(!seen[version->self]);
        seen[version->self] = true;
        obb_version_publish(version, i + 1, i + 2);
    }
}

/* The memory of pages comes and goes; where their slots are and how many there are does not
 * change. */
START_TEST(pages_without_versions_give_their_memory_back)
{
    struct obb_versions pool;
    obb_versions_init(&pool);
    ck_assert(obb_versions_reserve(&pool, ALL));
    take_each_once(&pool);
    const size_t pages = pool.page_count, held = obb_versions_unused(&pool);
    const struct obb_version *middle = obb_version_at(&pool, ALL / 2);
    for (uint32_t i = 0; i < ALL; i++) {
        obb_versions_give(&pool, obb_versions_slot(&pool, i));
        obb_versions_shrink(&pool, 2);
        ck_assert_uint_le(pool.all.count,
                          pool.begun - pool.all.count - pool.bare.count + OBB_VERSION_PAGE / 64);
    }
    ck_assert_uint_gt(pool.bare.count, pages / 2);
    ck_assert_uint_lt(obb_versions_unused(&pool), held + pages * sizeof(struct obb_version_page));
    ck_assert_uint_eq(obb_versions_count_free(&pool), ALL);
    /* whoever still looks at a slot finds a dead version */
    for (uint32_t i = 0; i < ALL; i++)
        ck_assert(
            !obb_version_alive(obb_version_at(&pool, i), 2 * (uint64_t)ALL, 2 * (uint64_t)ALL));
    ck_assert_ptr_eq(obb_version_at(&pool, ALL / 2), middle);
    take_each_once(&pool);
    ck_assert_uint_eq(pool.page_count, pages);
    ck_assert_uint_eq(pool.free_count, 0);
    ck_assert_uint_eq(obb_versions_count_free(&pool), 0);
    obb_versions_fini(&pool);
}
END_TEST

START_TEST(without_memory_for_a_block_the_pool_stays_as_it_is)
{
    struct obb_versions pool;
    obb_versions_init(&pool);
    take(&pool, BEFORE);
    size_t refused = 0;
    bool reserved = false;
    for (size_t n = 1; !reserved; n++) {
        const size_t pages = pool.page_count;
        fault_arm(n);
        reserved = obb_versions_reserve(&pool, RESERVED);
        fault_arm(0);
        refused += !reserved;
        ck_assert(reserved || pool.page_count == pages);
        check(&pool, BEFORE);
    }
    ck_assert_uint_ge(refused, 5); /* the three tables, the note of the block, and the block */
    take(&pool, ALL);
    check(&pool, ALL);
    obb_versions_fini(&pool);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("version");
    TCase *tc = tcase_create("version");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, slots_stay_where_they_are_while_pages_come_alone_and_in_blocks);
    tcase_add_test(tc, free_slots_are_room);
    tcase_add_test(tc, pages_without_versions_give_their_memory_back);
    tcase_add_test(tc, without_memory_for_a_block_the_pool_stays_as_it_is);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
