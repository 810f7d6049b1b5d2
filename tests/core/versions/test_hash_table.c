/* The hash table against a list of what is in, alone and beside readers. */
#include "core/versions/hash_table.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <pthread.h>

struct item {
    struct obb_link link;
    uint32_t hash;
    bool in;
};

static bool findable(const struct obb_hash_table *table, const struct item *item)
{
    const struct obb_link *link = obb_hash_table_find(table, item->hash);
    while (link != NULL && link != &item->link)
        link = obb_hash_table_find_next(table, link);
    return link != NULL;
}

START_TEST(links_are_found_exactly_while_they_are_in)
{
    enum { ITEMS = 3000 };
    struct obb_hash_table table;
    obb_hash_table_init(&table);
    struct item *items = calloc(ITEMS, sizeof *items);
    ck_assert_ptr_nonnull(items);
    test_rng rng = {.s = 20261120};
    for (size_t i = 0; i < ITEMS; i++) /* one in eight hashes like another one */
        items[i].hash = i % 8 == 7 ? items[i - 1].hash : (uint32_t)test_random(&rng);
    size_t in = 0, inserted = 0, removed = 0, walked = 0;
    for (size_t step = 0; step < test_effort(40000); step++) {
        /* Waves: mostly in, then mostly out. */
        struct item *item = &items[test_below(&rng, ITEMS)];
        const bool insert = test_below(&rng, 100) < (step / 10000 % 2 == 0 ? 70u : 30u);
        if (insert && !item->in) {
            ck_assert_int_eq(obb_hash_table_reserve(&table, in + 1), OBB_OK);
            obb_hash_table_insert(&table, &item->link, item->hash);
            ck_assert_ptr_eq(obb_hash_table_find(&table, item->hash),
                             &item->link); /* the latest first */
            item->in = true;
            in++;
            inserted++;
        } else if (!insert && item->in) {
            obb_hash_table_remove(&table, &item->link);
            item->in = false;
            in--;
            removed++;
        }
        const struct item *any = &items[test_below(&rng, ITEMS)];
        ck_assert(findable(&table, any) == any->in);
        if (step % 1000 == 0)
            ck_assert(obb_hash_table_validate(&table));
    }
    for (const struct obb_link *link = obb_hash_table_walk(&table, NULL); link != NULL;
         link = obb_hash_table_walk(&table, link), walked++)
        ck_assert(((const struct item *)link)->in);
    ck_assert_uint_eq(walked, in);
    ck_assert_uint_eq(table.count, in);
    ck_assert_uint_gt(inserted, 5000);
    ck_assert_uint_gt(removed, 5000);
    obb_hash_table_fini(&table);
    free(items);
}
END_TEST

START_TEST(lookups_stay_short_however_fast_the_table_grew)
{
    enum { ITEMS = 100000 };
    struct obb_hash_table table;
    obb_hash_table_init(&table);
    struct item *items = calloc(ITEMS, sizeof *items);
    ck_assert_ptr_nonnull(items);
    ck_assert_int_eq(obb_hash_table_reserve(&table, ITEMS),
                     OBB_OK); /* at once, as an import does */
    test_rng rng = {.s = 20261120};
    for (size_t i = 0; i < ITEMS; i++) {
        items[i].hash = (uint32_t)test_random(&rng);
        obb_hash_table_insert(&table, &items[i].link, items[i].hash);
    }
    ck_assert(obb_hash_table_validate(&table));
    ck_assert_uint_le(obb_hash_table_bytes(&table), (size_t)ITEMS * 16);
    size_t buckets_entered = 0;
    for (const struct obb_link *link = table.first; link != &table.end;
         link = atomic_load(&link->next))
        buckets_entered += (link->key & 1) == 0;
    ck_assert_uint_ge(buckets_entered * 4, ITEMS); /* so four links a bucket at most on average */
    obb_hash_table_fini(&table);
    free(items);
}
END_TEST

START_TEST(a_table_that_grows_for_many_links_at_once_enters_all_its_buckets)
{
    enum { FEW = 100, ITEMS = 20000 };
    test_rng rng = {.s = 20261123};
    for (size_t before = 0; before <= FEW; before += FEW) {
        struct obb_hash_table table;
        obb_hash_table_init(&table);
        struct item *items = calloc(ITEMS, sizeof *items);
        ck_assert_ptr_nonnull(items);
        for (size_t i = 0; i < ITEMS; i++) {
            items[i].hash = (uint32_t)test_random(&rng);
            if (i == before)
                ck_assert_int_eq(obb_hash_table_reserve(&table, ITEMS), OBB_OK);
            if (i < before)
                ck_assert_int_eq(obb_hash_table_reserve(&table, i + 1), OBB_OK);
            if (i == before) {
                ck_assert(obb_hash_table_validate(&table));
                ck_assert_uint_eq(table.ready, atomic_load(&table.mask) + 1);
                ck_assert_uint_ge((size_t)table.ready * 2, ITEMS);
            }
            obb_hash_table_insert(&table, &items[i].link, items[i].hash);
            ck_assert_uint_eq(obb_hash_table_hash(&items[i].link), items[i].hash & 0x7fffffff);
        }
        ck_assert(obb_hash_table_validate(&table));
        for (size_t i = 0; i < ITEMS; i++)
            ck_assert(findable(&table, &items[i]));
        obb_hash_table_fini(&table);
        free(items);
    }
}
END_TEST

START_TEST(a_table_that_cannot_grow_stays_as_it_was)
{
    struct obb_hash_table table;
    obb_hash_table_init(&table);
    fault_arm(1);
    const obb_status st = obb_hash_table_reserve(&table, 100000);
    fault_arm(0);
    ck_assert_int_eq(st, OBB_NO_MEMORY);
    struct item item = {.hash = 0xffffffffu};
    obb_hash_table_insert(&table, &item.link, item.hash);
    ck_assert(findable(&table, &item));
    ck_assert(obb_hash_table_validate(&table));
    ck_assert_int_eq(obb_hash_table_reserve(&table, 100000), OBB_OK);
    ck_assert(findable(&table, &item));
    obb_hash_table_remove(&table, &item.link);
    ck_assert_ptr_null(obb_hash_table_find(&table, item.hash));
    obb_hash_table_fini(&table);
}
END_TEST

/* Readers look for links that stay in, while the writer grows the table and moves others in and
 * out. */
enum { STAYING = 500, MOVING = 20000 };
struct race {
    struct obb_hash_table table;
    struct item staying[STAYING], *moving;
    atomic_bool stop;
    atomic_size_t looked, missed;
};

static void *read_table(void *context)
{
    struct race *race = context;
    size_t looked = 0, missed = 0;
    do {
        for (size_t i = 0; i < STAYING; i++, looked++)
            missed += !findable(&race->table, &race->staying[i]);
    } while (!atomic_load_explicit(&race->stop, memory_order_relaxed));
    atomic_fetch_add(&race->looked, looked);
    atomic_fetch_add(&race->missed, missed);
    return NULL;
}

START_TEST(readers_never_miss_what_stays_while_the_writer_works)
{
    struct race *race = calloc(1, sizeof *race);
    ck_assert_ptr_nonnull(race);
    race->moving = calloc(MOVING, sizeof *race->moving);
    ck_assert_ptr_nonnull(race->moving);
    obb_hash_table_init(&race->table);
    test_rng rng = {.s = 20261120};
    for (size_t i = 0; i < STAYING; i++) {
        race->staying[i].hash = (uint32_t)test_random(&rng);
        obb_hash_table_insert(&race->table, &race->staying[i].link, race->staying[i].hash);
    }
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, read_table, race), 0);
    for (size_t i = 0; i < MOVING; i++) {
        struct item *item = &race->moving[i];
        item->hash = (uint32_t)test_random(&rng);
        ck_assert_int_eq(obb_hash_table_reserve(&race->table, race->table.count + 1), OBB_OK);
        obb_hash_table_insert(&race->table, &item->link, item->hash);
        if (i % 3 == 0) /* no link is used again, as nothing is before its readers are gone */
            obb_hash_table_remove(&race->table, &race->moving[i / 2].link);
    }
    atomic_store(&race->stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    ck_assert_uint_eq(atomic_load(&race->missed), 0);
    ck_assert_uint_ge(atomic_load(&race->looked), (size_t)2 * STAYING);
    ck_assert(obb_hash_table_validate(&race->table));
    obb_hash_table_fini(&race->table);
    free(race->moving);
    free(race);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hash_table");
    TCase *tc = tcase_create("hash_table");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, links_are_found_exactly_while_they_are_in);
    tcase_add_test(tc, lookups_stay_short_however_fast_the_table_grew);
    tcase_add_test(tc, a_table_that_grows_for_many_links_at_once_enters_all_its_buckets);
    tcase_add_test(tc, a_table_that_cannot_grow_stays_as_it_was);
    tcase_add_test(tc, readers_never_miss_what_stays_while_the_writer_works);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
