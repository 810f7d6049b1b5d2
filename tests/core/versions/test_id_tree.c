/* The tree of records by id against an array of them. */
#include "core/versions/id_tree.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

static struct obb_record *record_of_id(uint64_t id)
{
    struct obb_record *record = calloc(1, sizeof *record);
    if (record != NULL)
        record->id = id;
    return record;
}

static void free_nodes(struct obb_id_tree *tree, struct obb_id_tree_node *retired)
{
    while (retired != NULL) {
        struct obb_id_tree_node *next = retired->retired;
        obb_id_tree_node_free(tree, retired);
        retired = next;
    }
}

START_TEST(records_are_found_and_walked_by_id)
{
    enum { RECORDS = 4000 };
    struct obb_id_tree tree = {.nodes = 0};
    struct obb_record *records[RECORDS] = {NULL};
    test_rng rng = {.s = 20261120};
    uint64_t id = 0;
    size_t in = 0, count = 0;
    ck_assert_ptr_null(obb_id_tree_find(&tree, 1));
    ck_assert_ptr_null(obb_id_tree_seek(&tree, 0));
    for (size_t i = 0; i < RECORDS; i++) {
        /* Mostly the next one, sometimes far away, and near the end beyond 2^40. */
        id += test_below(&rng, 50) == 0 ? 1 + test_below(&rng, 100000) : 1;
        if (i == RECORDS - 100)
            id += (uint64_t)1 << 40;
        records[i] = record_of_id(id);
        ck_assert_ptr_nonnull(records[i]);
        ck_assert_int_eq(obb_id_tree_insert(&tree, records[i]), OBB_OK);
        in++;
        if (test_below(&rng, 3) == 0) { /* drop any, often leaving nodes empty */
            const size_t k = test_below(&rng, i + 1);
            struct obb_id_tree_node *retired = NULL;
            if (records[k] != NULL) {
                obb_id_tree_remove(&tree, records[k], &retired);
                free_nodes(&tree, retired);
                ck_assert_ptr_null(obb_id_tree_find(&tree, records[k]->id));
                free(records[k]);
                records[k] = NULL;
                in--;
            }
        }
        if (i % 64 == 0)
            ck_assert(obb_id_tree_validate(&tree, &count) && count == in);
    }
    ck_assert_uint_gt(in, RECORDS / 2);
    uint64_t from = 0;
    for (size_t i = 0; i < RECORDS; i++) {
        if (records[i] == NULL)
            continue;
        ck_assert_ptr_eq(obb_id_tree_find(&tree, records[i]->id), records[i]);
        ck_assert_ptr_eq(obb_id_tree_seek(&tree, from), records[i]);
        ck_assert_ptr_eq(obb_id_tree_seek(&tree, records[i]->id), records[i]);
        from = records[i]->id + 1;
    }
    ck_assert_ptr_null(obb_id_tree_seek(&tree, from));
    ck_assert_ptr_null(obb_id_tree_seek(&tree, UINT64_MAX));
    ck_assert_ptr_null(obb_id_tree_find(&tree, UINT64_MAX));
    for (size_t i = 0; i < RECORDS; i++) {
        struct obb_id_tree_node *retired = NULL;
        if (records[i] == NULL)
            continue;
        obb_id_tree_remove(&tree, records[i], &retired);
        free_nodes(&tree, retired);
        free(records[i]);
    }
    ck_assert_uint_eq(tree.nodes, 0);
}
END_TEST

START_TEST(an_id_that_finds_no_memory_leaves_the_tree_as_it_was)
{
    struct obb_id_tree tree = {.nodes = 0};
    const uint64_t asked[] = {1, 2, 70, 300000, (uint64_t)1 << 52};
    enum { ASKED = sizeof asked / sizeof asked[0] };
    struct obb_record *records[ASKED];
    size_t refused = 0;
    for (size_t i = 0; i < ASKED; i++) {
        records[i] = record_of_id(asked[i]);
        ck_assert_ptr_nonnull(records[i]);
        obb_status st = OBB_NO_MEMORY;
        for (size_t n = 1; st != OBB_OK; n++) {
            fault_arm(n);
            st = obb_id_tree_insert(&tree, records[i]);
            fault_arm(0);
            size_t count = 0;
            ck_assert(obb_id_tree_validate(&tree, &count));
            ck_assert_uint_eq(count, i + (st == OBB_OK));
            refused += st == OBB_NO_MEMORY;
        }
    }
    ck_assert_uint_gt(refused, 15); /* nodes at seven and more levels */
    for (size_t i = 0; i < ASKED; i++) {
        ck_assert_ptr_eq(obb_id_tree_find(&tree, asked[i]), records[i]);
        free(records[i]);
    }
    obb_id_tree_fini(&tree);
    ck_assert_uint_eq(tree.nodes, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("id_tree");
    TCase *tc = tcase_create("id_tree");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, records_are_found_and_walked_by_id);
    tcase_add_test(tc, an_id_that_finds_no_memory_leaves_the_tree_as_it_was);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
