#include "proto/wire.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 60 };

static test_rng rng;

/* A random edit with what came out of it. Only the numbers and the names of its entries count. */
struct sample {
    obb_edit edit;
    obb_put puts[MOST];
    obb_pose poses[MOST];
    obb_transform_edit transforms[MOST];
    obb_pose frames[MOST];
    obb_committed committed;
    uint64_t ids[MOST];
    bool missed_poses[MOST], missed_transforms[MOST];
};

static size_t mark_some(bool *missed, size_t count)
{
    size_t marked = 0;
    for (size_t i = 0; i < count; i++)
        marked += missed[i] = test_below(&rng, 3) == 0;
    return marked;
}

/* Returns the i-th name: the same names for all groups, and for ids. */
static obb_target target_of(size_t i, bool by_id)
{
    static char names[MOST][8];
    (void)snprintf(names[i], sizeof names[i], "box%zu", i);
    return (obb_target){.name = obb_str_of(by_id ? "" : names[i]), .id = i, .has_id = by_id};
}

static void make_sample(struct sample *s)
{
    *s = (struct sample){.edit = {.put_count = test_below(&rng, MOST),
                                  .puts = s->puts,
                                  .pose_count = test_below(&rng, MOST),
                                  .poses = s->poses,
                                  .transform_count = test_below(&rng, MOST),
                                  .transforms = s->transforms,
                                  .frame_count = test_below(&rng, MOST),
                                  .frames = s->frames}};
    for (size_t i = 0; i < MOST; i++) {
        s->puts[i].target = s->frames[i].target = target_of(i, false);
        s->poses[i].target = target_of(i, i % 3 == 0);
        s->transforms[i].target = target_of(i, i % 5 == 0);
    }
    uint64_t id = 1 + test_below(&rng, 1000);
    for (size_t i = 0; i < s->edit.put_count; i++) {
        const unsigned kind = (unsigned)test_below(&rng, 8); /* of ids: mostly in runs */
        s->ids[i] = kind == 0 ? 0 : kind == 1 ? (id += test_below(&rng, 1u << 30)) : id++;
    }
    s->committed =
        (obb_committed){.moment = {test_below(&rng, 1u << 31), test_uniform(&rng, -1e6, 1e6)},
                        .changed = true,
                        .removed = test_below(&rng, 100),
                        .expired = test_below(&rng, 100),
                        .removed_frames = test_below(&rng, 100),
                        .put = test_below(&rng, 100),
                        .posed = test_below(&rng, 100),
                        .transformed = test_below(&rng, 100),
                        .new_ids = s->ids};
    if (test_below(&rng, 2) == 0) {
        s->committed.missed_poses = s->missed_poses;
        s->committed.missed += mark_some(s->missed_poses, s->edit.pose_count);
    }
    if (test_below(&rng, 2) == 0) {
        s->committed.missed_transforms = s->missed_transforms;
        s->committed.missed += mark_some(s->missed_transforms, s->edit.transform_count);
    }
}

static size_t same_flags(const bool *read, const bool *written, size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(read != NULL && read[i], written[i]);
    return count;
}

START_TEST(what_is_written_is_read)
{
    const size_t cases = test_effort(3000);
    size_t compared = 0, refused = 0;
    rng = (test_rng){31};
    for (size_t n = 0; n < cases; n++) {
        struct sample s;
        struct wire_buf bytes = {0};
        struct obb_arena arena;
        obb_committed read;
        make_sample(&s);
        wire_write_outcome(&bytes, &s.edit, &s.committed);
        ck_assert(!bytes.failed);
        obb_arena_init(&arena);
        const obb_str text = {bytes.bytes, bytes.length};
        ck_assert_int_eq(wire_read_outcome(text, &s.edit, NULL, &arena, &read), OBB_OK);
        ck_assert(read.moment.revision == s.committed.moment.revision &&
                  test_same_bits(read.moment.time, s.committed.moment.time));
        ck_assert(read.removed == s.committed.removed && read.expired == s.committed.expired &&
                  read.removed_frames == s.committed.removed_frames &&
                  read.put == s.committed.put && read.posed == s.committed.posed &&
                  read.transformed == s.committed.transformed && read.missed == s.committed.missed);
        for (size_t i = 0; i < s.edit.put_count; i++)
            ck_assert_uint_eq(read.new_ids[i], s.ids[i]);
        compared += s.edit.put_count;
        compared += same_flags(read.missed_poses, s.missed_poses, s.edit.pose_count);
        compared += same_flags(read.missed_transforms, s.missed_transforms, s.edit.transform_count);
        /* another commit, and bytes that are cut, are refused */
        obb_edit other = s.edit;
        size_t *const counts[] = {&other.put_count, &other.pose_count, &other.transform_count,
                                  &other.frame_count};
        (*counts[n % 4])++;
        ck_assert_int_eq(wire_read_outcome(text, &other, NULL, &arena, &read), OBB_BAD_VALUE);
        char *cut = obb_arena_alloc(&arena, bytes.length, 1);
        const size_t length = test_below(&rng, bytes.length);
        ck_assert_ptr_nonnull(cut);
        memcpy(cut, bytes.bytes, length);
        ck_assert_int_eq(wire_read_outcome((obb_str){cut, length}, &s.edit, NULL, &arena, &read),
                         OBB_BAD_VALUE);
        refused += 2;
        obb_arena_fini(&arena);
        wire_buf_fini(&bytes);
    }
    printf("%zu outcomes, %zu entries, %zu refused\n", cases, compared, refused);
    ck_assert_uint_gt(compared, cases * 40);
}
END_TEST

/* Returns a random order of `count` numbers below it. */
static void shuffle(size_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const size_t j = test_below(&rng, i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

START_TEST(entries_in_another_order_are_found_by_their_names)
{
    const size_t cases = test_effort(1000);
    size_t moved = 0, compared = 0;
    rng = (test_rng){33};
    for (size_t n = 0; n < cases; n++) {
        struct sample s, again;
        struct wire_buf bytes = {0};
        struct obb_arena arena;
        obb_committed read;
        size_t puts[MOST], poses[MOST], transforms[MOST], frames[MOST];
        make_sample(&s);
        wire_write_outcome(&bytes, &s.edit, &s.committed);
        const obb_str text = {bytes.bytes, bytes.length};
        obb_arena_init(&arena);
        again = s;
        again.edit.puts = again.puts;
        again.edit.poses = again.poses;
        again.edit.transforms = again.transforms;
        again.edit.frames = again.frames;
        shuffle(puts, s.edit.put_count);
        shuffle(poses, s.edit.pose_count);
        shuffle(transforms, s.edit.transform_count);
        shuffle(frames, s.edit.frame_count);
        for (size_t i = 0; i < s.edit.put_count; i++)
            again.puts[i] = s.puts[puts[i]];
        for (size_t i = 0; i < s.edit.pose_count; i++)
            again.poses[i] = s.poses[poses[i]];
        for (size_t i = 0; i < s.edit.transform_count; i++)
            again.transforms[i] = s.transforms[transforms[i]];
        for (size_t i = 0; i < s.edit.frame_count; i++)
            again.frames[i] = s.frames[frames[i]];
        ck_assert_int_eq(wire_read_outcome(text, &again.edit, NULL, &arena, &read), OBB_OK);
        ck_assert_uint_eq(read.missed, s.committed.missed);
        for (size_t i = 0; i < s.edit.put_count; i++) {
            ck_assert_uint_eq(read.new_ids[i], s.ids[puts[i]]);
            moved += s.ids[i] != s.ids[puts[i]];
        }
        for (size_t i = 0; i < s.edit.pose_count; i++)
            ck_assert_int_eq(read.missed_poses != NULL && read.missed_poses[i],
                             s.missed_poses[poses[i]]);
        for (size_t i = 0; i < s.edit.transform_count; i++)
            ck_assert_int_eq(read.missed_transforms != NULL && read.missed_transforms[i],
                             s.missed_transforms[transforms[i]]);
        /* one other name, of any group, is another commit */
        obb_target *const others[] = {&again.puts[0].target, &again.poses[0].target,
                                      &again.transforms[0].target, &again.frames[0].target};
        const size_t counts[] = {s.edit.put_count, s.edit.pose_count, s.edit.transform_count,
                                 s.edit.frame_count};
        if (counts[n % 4] > 0) {
            *others[n % 4] = (obb_target){.name = obb_str_of("another")};
            ck_assert_int_eq(wire_read_outcome(text, &again.edit, NULL, &arena, &read),
                             OBB_BAD_VALUE);
            compared++;
        }
        obb_arena_fini(&arena);
        wire_buf_fini(&bytes);
    }
    printf("%zu ids in another place, %zu other names refused\n", moved, compared);
    ck_assert_uint_gt(moved, cases * 10);
    ck_assert_uint_gt(compared, cases / 2);
}
END_TEST

/* As a journal holds them that was written before outcomes had names: a commit that put five boxes,
 * three of them new, and skipped the second of two poses. */
START_TEST(an_outcome_without_names_is_read_in_its_order)
{
    static const double numbers[] = {7,
                                     20.5,
                                     1,
                                     0,
                                     0,
                                     5,
                                     1,
                                     0,
                                     5,
                                     2,
                                     0,
                                     2,
                                     1,
                                     0,
                                     /* runs of ids */ 0,
                                     2,
                                     11,
                                     4,
                                     1,
                                     13,
                                     /* skipped */ 1};
    static const uint64_t ids[] = {11, 12, 0, 0, 13};
    enum { COUNT = sizeof numbers / sizeof *numbers };
    struct wire_buf bytes = {0};
    struct wire_out out = wire_out_cbor(&bytes);
    struct obb_arena arena;
    struct sample s;
    obb_committed read;
    rng = (test_rng){34};
    make_sample(&s);
    s.edit.put_count = 5;
    s.edit.pose_count = 2;
    s.edit.transform_count = 0;
    wire_out_array(&out, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        wire_out_double(&out, numbers[i]);
    wire_out_array_end(&out);
    ck_assert(!bytes.failed);
    obb_arena_init(&arena);
    ck_assert_int_eq(
        wire_read_outcome((obb_str){bytes.bytes, bytes.length}, &s.edit, NULL, &arena, &read),
        OBB_OK);
    ck_assert_mem_eq(read.new_ids, ids, sizeof ids);
    ck_assert(!read.missed_poses[0] && read.missed_poses[1] && read.missed == 1);
    ck_assert(read.moment.revision == 7 && test_same_bits(read.moment.time, 20.5));
    obb_arena_fini(&arena);
    wire_buf_fini(&bytes);
}
END_TEST

/* Of so many boxes, the names take no room, and the order counts. */
START_TEST(a_large_outcome_is_small_and_read_in_its_order)
{
    enum { NAMED = 1 << 18, LARGE = NAMED + 1 };
    static obb_put puts[LARGE];
    static uint64_t ids[LARGE];
    static char names[LARGE][8];
    for (size_t i = 0; i < LARGE; i++) {
        (void)snprintf(names[i], sizeof names[i], "%zu", i);
        puts[i].target = (obb_target){.name = obb_str_of(names[i])};
        ids[i] = 100 + i;
    }
    for (size_t count = NAMED; count <= LARGE; count++) {
        const bool large = count == LARGE;
        const obb_edit edit = {.puts = puts, .put_count = count};
        const obb_committed committed = {.changed = true, .put = count, .new_ids = ids};
        struct wire_buf bytes = {0};
        struct obb_arena arena;
        obb_committed read;
        wire_write_outcome(&bytes, &edit, &committed);
        ck_assert(!bytes.failed);
        ck_assert_uint_lt(bytes.length, large ? 200 : 8 * NAMED + 200);
        ck_assert_uint_gt(bytes.length, large ? 50 : 8 * NAMED);
        const obb_str text = {bytes.bytes, bytes.length};
        obb_arena_init(&arena);
        ck_assert_int_eq(wire_read_outcome(text, &edit, NULL, &arena, &read), OBB_OK);
        ck_assert_mem_eq(read.new_ids, ids, count * sizeof *ids);
        const obb_put first = puts[0];
        puts[0] = puts[7];
        puts[7] = first;
        ck_assert_int_eq(wire_read_outcome(text, &edit, NULL, &arena, &read),
                         large ? OBB_BAD_VALUE : OBB_OK);
        ck_assert(large || (read.new_ids[0] == ids[7] && read.new_ids[7] == ids[0]));
        puts[7] = puts[0];
        puts[0] = first;
        puts[3].target.name = obb_str_of("another");
        ck_assert_int_eq(wire_read_outcome(text, &edit, NULL, &arena, &read), OBB_BAD_VALUE);
        puts[3].target.name = obb_str_of(names[3]);
        /* nothing may stand between the head and the numbers of a large one */
        bytes.bytes[1] = (char)(bytes.bytes[1] + 1);
        ck_assert_int_eq(wire_read_outcome(text, &edit, NULL, &arena, &read), OBB_BAD_VALUE);
        obb_arena_fini(&arena);
        wire_buf_fini(&bytes);
    }
}
END_TEST

START_TEST(reading_can_be_cancelled_at_each_poll)
{
    atomic_bool cancel = false;
    struct sample s;
    struct wire_buf bytes = {0};
    rng = (test_rng){35};
    do
        make_sample(&s);
    while (s.edit.put_count < 10 || s.committed.missed < 5);
    wire_write_outcome(&bytes, &s.edit, &s.committed);
    const obb_str text = {bytes.bytes, bytes.length};
    size_t cancelled = 0;
    for (obb_status status = OBB_CANCELLED; status != OBB_OK;) {
        struct obb_arena arena;
        obb_committed read;
        obb_arena_init(&arena);
        fault_cancel(cancelled + 1);
        status = wire_read_outcome(text, &s.edit, &cancel, &arena, &read);
        fault_cancel(0);
        ck_assert_int_eq(status, status == OBB_OK ? OBB_OK : OBB_CANCELLED);
        cancelled += status == OBB_CANCELLED;
        obb_arena_fini(&arena);
    }
    printf("reading was cancelled at %zu polls\n", cancelled);
    ck_assert_uint_ge(cancelled, 4); /* puts and skipped entries are hashed, then looked up */
    wire_buf_fini(&bytes);
}
END_TEST

START_TEST(flipped_bits_do_no_harm)
{
    size_t refused = 0;
    struct sample s;
    struct wire_buf bytes = {0};
    rng = (test_rng){32};
    do
        make_sample(&s);
    while (s.edit.put_count < 10 || s.committed.missed < 5);
    wire_write_outcome(&bytes, &s.edit, &s.committed);
    for (size_t bit = 0; bit < 8 * bytes.length; bit++) {
        struct obb_arena arena;
        obb_committed read;
        obb_arena_init(&arena);
        bytes.bytes[bit / 8] = (char)(bytes.bytes[bit / 8] ^ (1 << bit % 8));
        refused += wire_read_outcome((obb_str){bytes.bytes, bytes.length}, &s.edit, NULL, &arena,
                                     &read) != OBB_OK;
        bytes.bytes[bit / 8] = (char)(bytes.bytes[bit / 8] ^ (1 << bit % 8));
        obb_arena_fini(&arena);
    }
    printf("%zu of %zu flipped bits are no outcome\n", refused, 8 * bytes.length);
    ck_assert_uint_gt(refused, 4 * bytes.length);
    wire_buf_fini(&bytes);
}
END_TEST

START_TEST(an_empty_budget_is_told)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 0);
    struct wire_buf bytes = {.budget = &budget};
    wire_write_outcome(&bytes, &(obb_edit){0}, &(obb_committed){0});
    ck_assert(bytes.failed);
    wire_buf_fini(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("outcome");
    TCase *tc = tcase_create("outcome");
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, what_is_written_is_read);
    tcase_add_test(tc, entries_in_another_order_are_found_by_their_names);
    tcase_add_test(tc, an_outcome_without_names_is_read_in_its_order);
    tcase_add_test(tc, a_large_outcome_is_small_and_read_in_its_order);
    tcase_add_test(tc, reading_can_be_cancelled_at_each_poll);
    tcase_add_test(tc, flipped_bits_do_no_harm);
    tcase_add_test(tc, an_empty_budget_is_told);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
