#include "core/base/alloc.h"
#include "core/versions/rig.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { NAMES = 300 };

/* A list of rigs, and what it should hold: for each name the rigs, latest last. */
struct yard {
    struct obb_rigs rigs;
    struct obb_rig *of_name[NAMES][4];
    size_t count[NAMES], all;
};

static struct obb_record *record_of(int name)
{
    char text[16];
    const int length = snprintf(text, sizeof text, "%d", name * 7);
    struct obb_record *record = calloc(1, sizeof *record + 16);
    ck_assert_ptr_nonnull(record);
    record->length = (uint8_t)length;
    memcpy(record->name, text, (size_t)length);
    return record;
}

static void add(struct yard *yard, int name)
{
    if (yard->count[name] == 4)
        return;
    struct obb_rig *rig = obb_rig_create(&yard->rigs, record_of(name));
    ck_assert_ptr_nonnull(rig);
    obb_rigs_insert(&yard->rigs, rig);
    yard->of_name[name][yard->count[name]++] = rig;
    yard->all++;
}

static void drop(struct yard *yard, int name, size_t which)
{
    if (which >= yard->count[name])
        return;
    struct obb_rig *rig = yard->of_name[name][which];
    obb_rigs_remove(&yard->rigs, rig);
    free(rig->record);
    obb_rig_destroy(&yard->rigs, rig);
    yard->count[name]--;
    memmove(&yard->of_name[name][which], &yard->of_name[name][which + 1],
            (yard->count[name] - which) * sizeof rig);
    yard->all--;
}

static obb_str name_of(const struct obb_rig *rig) { return obb_record_name(rig->record); }

static int order(obb_str a, obb_str b)
{
    const size_t shorter = a.length < b.length ? a.length : b.length;
    const int bytes = memcmp(a.bytes, b.bytes, shorter);
    return bytes != 0 ? bytes : (int)a.length - (int)b.length;
}

/* Returns the latest rig of the smallest name that is not before the text, or is behind it. */
static struct obb_rig *slow_seek(const struct yard *yard, obb_str text, bool after)
{
    struct obb_rig *best = NULL;
    for (int i = 0; i < NAMES; i++) {
        if (yard->count[i] == 0)
            continue;
        struct obb_rig *latest = yard->of_name[i][yard->count[i] - 1];
        const int to = order(name_of(latest), text);
        if ((after ? to > 0 : to >= 0) &&
            (best == NULL || order(name_of(latest), name_of(best)) < 0))
            best = latest;
    }
    return best;
}

START_TEST(rigs_are_found_by_name_as_in_a_plain_list)
{
    static struct yard yard;
    struct obb_versions versions;
    obb_versions_init(&versions);
    test_rng rng = {.s = 20261122};
    size_t found = 0, none = 0, namesakes = 0;
    for (size_t step = 0; step < test_effort(6000); step++) {
        const int name = (int)test_below(&rng, NAMES);
        if (test_below(&rng, 2) == 0)
            add(&yard, name);
        else
            drop(&yard, name, test_below(&rng, 4));
        char text[16];
        /* NOLINTNEXTLINE(bugprone-implicit-widening-of-multiplication-result) */
        (void)snprintf(text, sizeof text, "%d", (int)test_below(&rng, NAMES * 8));
        const bool after = test_below(&rng, 2) == 0;
        const struct obb_rig *rig = obb_rigs_seek(&yard.rigs, obb_str_of(text), after);
        ck_assert_ptr_eq(rig, slow_seek(&yard, obb_str_of(text), after));
        found += rig != NULL;
        none += rig == NULL;
        if (rig != NULL && obb_rig_next(rig) != NULL)
            namesakes += obb_str_equal(name_of(rig), name_of(obb_rig_next(rig)));
        if (step % 64 == 0) {
            size_t count = 0;
            ck_assert(obb_rigs_validate(&yard.rigs, &versions, &count));
            ck_assert_uint_eq(count, yard.all);
        }
    }
    ck_assert_uint_gt(found, 1000);
    ck_assert_uint_gt(none, 10);
    ck_assert_uint_gt(namesakes, 100);
    printf("rigs: %zu found, %zu not, %zu with a namesake\n", found, none, namesakes);
    for (int i = 0; i < NAMES; i++)
        while (yard.count[i] > 0)
            drop(&yard, i, 0);
    ck_assert_uint_eq(yard.rigs.bytes, 0);
    obb_versions_fini(&versions);
}
END_TEST

START_TEST(boxes_take_seats_and_get_them_back)
{
    struct obb_rigs rigs = {0};
    struct obb_versions versions;
    obb_versions_init(&versions);
    struct obb_record *frame = record_of(1), *boxes[9];
    struct obb_rig *rig = obb_rig_create(&rigs, frame);
    const obb_box local = {.center = {1, 2, 3}, .rotation = {0, 0, 0, 1}};
    ck_assert_int_eq(obb_rig_reserve(&rigs, rig, 9), OBB_OK);
    for (int i = 0; i < 9; i++) {
        boxes[i] = record_of(i);
        struct obb_version *version = obb_versions_take(&versions, boxes[i]);
        struct obb_mount *mount = obb_mount_create(&rigs, rig, &local);
        obb_versions_extend(&versions, version)->mount = mount;
        atomic_store(&boxes[i]->newest, version->self);
        obb_rig_enter(rig, boxes[i], mount);
    }
    obb_rigs_insert(&rigs, rig);
    ck_assert_uint_eq(obb_rigs_boxes(&rigs, obb_str_of("7")), 9);
    ck_assert_uint_eq(obb_rigs_boxes(&rigs, obb_str_of("8")), 0);
    size_t count = 0;
    const int leave[] = {3, 8, 0, 7, 6, 1, 2, 5, 4};
    for (int i = 0; i < 9; i++) {
        struct obb_mount *mount =
            obb_version_mount(obb_versions_slot(&versions, boxes[leave[i]]->newest));
        struct obb_record *seats[9];
        memcpy((void *)seats, (void *)rig->boxes, sizeof seats);
        obb_rig_leave(rig, mount, &versions);
        obb_rig_return(rig, boxes[leave[i]], mount, &versions);
        ck_assert(obb_rigs_validate(&rigs, &versions, &count));
        ck_assert_uint_eq(rig->count, (uint32_t)(9 - i));
        ck_assert_int_eq(
            memcmp((void *)seats, (void *)rig->boxes, (size_t)rig->count * sizeof seats[0]), 0);
        obb_rig_leave(rig, mount, &versions);
        ck_assert(obb_rigs_validate(&rigs, &versions, &count));
        ck_assert_int_eq((int)rig->count, 8 - i);
        for (uint32_t k = 0; k < rig->count; k++)
            ck_assert_ptr_ne(rig->boxes[k], boxes[leave[i]]);
        obb_mount_ref(mount);
        obb_mount_unref(&rigs, mount);
        ck_assert(obb_mount_has_pose(mount, &local));
        obb_mount_unref(&rigs, mount);
    }
    for (int i = 0; i < 9; i++)
        free(boxes[i]);
    obb_rigs_remove(&rigs, rig);
    obb_rig_destroy(&rigs, rig);
    free(frame);
    ck_assert_uint_eq(rigs.bytes, 0);
    obb_versions_fini(&versions);
}
END_TEST

START_TEST(without_memory_nothing_changes)
{
    struct obb_rigs rigs = {0};
    struct obb_record *frame = record_of(1);
    fault_arm(1);
    ck_assert_ptr_null(obb_rig_create(&rigs, frame));
    fault_arm(0);
    ck_assert_uint_eq(rigs.bytes, 0);
    struct obb_rig *rig = obb_rig_create(&rigs, frame);
    const size_t before = rigs.bytes;
    fault_arm(1);
    ck_assert_int_eq(obb_rig_reserve(&rigs, rig, 5), OBB_NO_MEMORY);
    fault_arm(1);
    ck_assert_ptr_null(obb_mount_create(&rigs, rig, &(obb_box){.angle = 0}));
    fault_arm(0);
    ck_assert_uint_eq(rigs.bytes, before);
    ck_assert_uint_eq(rig->capacity, 0);
    obb_rig_destroy(&rigs, rig);
    free(frame);
}
END_TEST

/* ---- Readers --------------------------------------------------------------------------------- */

struct walk {
    struct obb_rigs rigs;
    atomic_bool stop;
    atomic_size_t walks, disorder, lost;
};

/* The even names stay; the writer adds and removes odd ones, whose memory stays for this test. */
static void *walk_on(void *context)
{
    struct walk *walk = context;
    while (!atomic_load(&walk->stop)) {
        size_t even = 0;
        const struct obb_rig *before = NULL;
        for (const struct obb_rig *rig = obb_rigs_seek(&walk->rigs, (obb_str){0}, false);
             rig != NULL; rig = obb_rig_next(rig)) {
            if (before != NULL && order(name_of(before), name_of(rig)) > 0)
                atomic_fetch_add(&walk->disorder, 1);
            even += rig->record->id == 2;
            before = rig;
        }
        if (even != NAMES / 2)
            atomic_fetch_add(&walk->lost, 1);
        atomic_fetch_add(&walk->walks, 1);
    }
    return NULL;
}

START_TEST(readers_walk_beside_the_writer)
{
    static struct walk walk;
    struct obb_rig *odd[NAMES] = {NULL}, *even[NAMES];
    for (int i = 0; i < NAMES; i += 2) {
        even[i] = obb_rig_create(&walk.rigs, record_of(i));
        even[i]->record->id = 2;
        obb_rigs_insert(&walk.rigs, even[i]);
        odd[i + 1] = obb_rig_create(&walk.rigs, record_of(i + 1));
    }
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        ck_assert_int_eq(pthread_create(&readers[i], NULL, walk_on, &walk), 0);
    enum { OUT, IN, GONE } state[NAMES] = {OUT};
    test_rng rng = {.s = 20261122};
    for (size_t step = 0; step < test_effort(20000) || atomic_load(&walk.walks) < 50; step++) {
        const size_t i = test_below(&rng, NAMES / 2) * 2 + 1;
        if (state[i] == IN && step % 8 == 0) {
            obb_rigs_remove(&walk.rigs, odd[i]); /* for good: a reader may still stand on it */
            state[i] = GONE;
        } else if (state[i] == OUT) {
            obb_rigs_insert(&walk.rigs, odd[i]);
            state[i] = IN;
        }
    }
    atomic_store(&walk.stop, true);
    for (int i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    ck_assert_uint_eq(atomic_load(&walk.disorder), 0);
    ck_assert_uint_eq(atomic_load(&walk.lost), 0);
    for (int i = 0; i < NAMES; i++) {
        struct obb_rig *rig = i % 2 == 0 ? even[i] : odd[i];
        free(rig->record);
        obb_rig_destroy(&walk.rigs, rig);
    }
    printf("rigs: %zu walks beside the writer\n", atomic_load(&walk.walks));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("rig");
    TCase *tc = tcase_create("rig");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, rigs_are_found_by_name_as_in_a_plain_list);
    tcase_add_test(tc, boxes_take_seats_and_get_them_back);
    tcase_add_test(tc, without_memory_nothing_changes);
    tcase_add_test(tc, readers_walk_beside_the_writer);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
