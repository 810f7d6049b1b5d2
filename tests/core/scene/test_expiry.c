#include "core/scene/expiry.h"
#include "core/scene/scene_data.h"
#include "tests/core/scene/edits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The heap -------------------------------------------------------------------------------- */

START_TEST(due_boxes_are_those_of_a_plain_list)
{
    enum { BOXES = 200, STEPS = 6000 };
    static struct obb_record *records[BOXES];
    static double due[BOXES]; /* below 0: not in the heap */
    test_rng rng = {.s = 20261122};
    struct obb_expiry expiry = {0};
    struct obb_record *listed[BOXES];
    size_t some = 0, dropped = 0, moved = 0;
    for (size_t i = 0; i < BOXES; i++) {
        records[i] = calloc(1, sizeof *records[i]);
        ck_assert_ptr_nonnull(records[i]);
        records[i]->id = i;
        records[i]->expiry = OBB_NO_PLACE;
        due[i] = -1;
    }
    for (size_t step = 0; step < STEPS; step++) {
        const size_t i = test_below(&rng, BOXES);
        if (due[i] >= 0 && test_below(&rng, 3) == 0) {
            obb_expiry_drop(&expiry, records[i]);
            due[i] = -1;
            dropped++;
        } else {
            moved += due[i] >= 0;
            due[i] = (double)test_below(&rng, 50);
            ck_assert_int_eq(obb_expiry_reserve(&expiry, 1), OBB_OK);
            obb_expiry_set(&expiry, records[i], due[i]);
        }
        if (step % 500 == 499) { /* the clock starts anew */
            for (size_t k = 0; k < expiry.count; k++)
                expiry.heap[k].due = due[expiry.heap[k].record->id] = (double)test_below(&rng, 50);
            obb_expiry_order(&expiry);
        }
        const double time = (double)test_below(&rng, 52) - 1.0;
        size_t expected = 0;
        for (size_t k = 0; k < BOXES; k++)
            expected += due[k] >= 0 && due[k] <= time;
        ck_assert_uint_eq(obb_expiry_due(&expiry, time, SIZE_MAX), expected);
        ck_assert_uint_eq(obb_expiry_due(&expiry, time, 3), expected < 3 ? expected : 3);
        obb_expiry_list(&expiry, time, listed);
        bool told[BOXES] = {false};
        for (size_t k = 0; k < expected; k++) {
            const uint64_t id = listed[k]->id;
            ck_assert(!told[id] && due[id] >= 0 && due[id] <= time);
            told[id] = true;
        }
        some += expected > 0 && expected < expiry.count;
    }
    obb_expiry_fini(&expiry);
    for (size_t i = 0; i < BOXES; i++)
        free(records[i]);
    ck_assert_uint_gt(some, STEPS / 2);
    ck_assert_uint_gt(dropped, STEPS / 10);
    ck_assert_uint_gt(moved, STEPS / 10);
}
END_TEST

/* ---- The contract ---------------------------------------------------------------------------- */

static obb_put lives(const char *name, double x, double ttl)
{
    obb_put put = put_at(name, x);
    put.attributes.has_ttl = true;
    put.attributes.ttl = ttl;
    return put;
}

struct asked {
    obb_edit edit;
    obb_status status;
    size_t expired, removed;
    const char *state; /* NULL: not looked at */
};

static void run(struct obb_scene *scene, const struct asked *asked, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct obb_arena arena;
        obb_arena_init(&arena);
        obb_committed done = {0};
        obb_fault fault;
        obb_edit edit = asked[i].edit;
        edit.dimensions = 3;
        edit.has_time = !isnan(edit.time);
        const obb_status st = commit(scene, &edit, 100, &arena, &done, &fault);
        ck_assert_msg(st == asked[i].status, "row %zu: %s", i, obb_status_name(st));
        ck_assert_msg(done.expired == asked[i].expired, "row %zu: %zu expired", i, done.expired);
        ck_assert_msg(done.removed == asked[i].removed, "row %zu: %zu removed", i, done.removed);
        if (asked[i].state != NULL)
            ck_assert_msg(strcmp(now_in(scene), asked[i].state) == 0, "row %zu: %s", i,
                          now_in(scene));
        obb_arena_fini(&arena);
    }
}

START_TEST(the_first_commit_at_or_after_the_ttl_removes_the_box)
{
    struct obb_scene *scene = tick_scene(1e6, 64);
    const obb_put first[] = {lives("a", 1, 100), lives("b", 2, 50), put_at("c", 3)};
    const obb_pose renewed[] = {pose_at("b", 2)};
    const obb_put forever = {.target = named("a"), .parts = OBB_PUT_TTL};
    obb_put shorter = {.target = named("a"), .parts = OBB_PUT_TTL};
    shorter.attributes.has_ttl = true;
    shorter.attributes.ttl = 0.5;
    const obb_put colour = {
        .target = named("a"), .parts = OBB_PUT_CATEGORY, .attributes.category = 2};
    const obb_transform_edit still[] = {move_by("a", 0)}, moves[] = {move_by("a", 8)};
    const obb_target gone[] = {named("b")};
    const obb_put again[] = {lives("a", 9, 0)};
    const struct asked rows[] = {
        {{.time = 0, .puts = first, .put_count = 3}, OBB_OK, 0, 0, "1@0 a:1 b:2 c:3"},
        {{.time = 49.5}, OBB_OK, 0, 0, "1@49.5 a:1 b:2 c:3"},
        /* the same place, but a later time: a change */
        {{.time = 49.5, .poses = renewed, .pose_count = 1}, OBB_OK, 0, 0, "2@49.5 a:1 b:2 c:3"},
        {{.time = 49.5, .poses = renewed, .pose_count = 1}, OBB_OK, 0, 0, "2@49.5 a:1 b:2 c:3"},
        {{.time = 99}, OBB_OK, 0, 0, "2@99 a:1 b:2 c:3"},
        /* a commit that only states a time: exactly at the last change + ttl; b has its own */
        {{.time = 99.5}, OBB_OK, 1, 0, "3@99.5 a:1 c:3"},
        /* a change of an attribute renews, a transform that moves nothing does not */
        {{.time = 99.75, .puts = &colour, .put_count = 1}, OBB_OK, 0, 0, "4@99.75 a:1 c:3"},
        {{.time = 150, .transforms = still, .transform_count = 1}, OBB_OK, 0, 0, "4@150 a:1 c:3"},
        {{.time = 160, .transforms = moves, .transform_count = 1}, OBB_OK, 0, 0, "5@160 a:9 c:3"},
        {{.time = 259.5}, OBB_OK, 0, 0, "5@259.5 a:9 c:3"},
        /* removing what is gone already is no error, and not counted twice */
        {{.time = 259.75, .removes = gone, .remove_count = 1}, OBB_OK, 0, 0, "5@259.75 a:9 c:3"},
        /* null takes the ttl away, and a number gives one */
        {{.time = 259.75, .puts = &forever, .put_count = 1}, OBB_OK, 0, 0, "6@259.75 a:9 c:3"},
        {{.time = 9000}, OBB_OK, 0, 0, "6@9000 a:9 c:3"},
        {{.time = 9000, .puts = &shorter, .put_count = 1}, OBB_OK, 0, 0, "7@9000 a:9 c:3"},
        /* expiry comes before all else: the pose finds no box, and nothing changes */
        {{.time = 9001, .transforms = moves, .transform_count = 1},
         OBB_NO_BOX,
         0,
         0,
         "7@9000 a:9 c:3"},
        /* a put makes another box of the same name; ttl 0: gone with the next commit */
        {{.time = 9001, .puts = again, .put_count = 1}, OBB_OK, 1, 0, "8@9001 c:3 a:9"},
        {{.time = (double)NAN}, OBB_OK, 1, 0, "9@9001 c:3"},
    };
    run(scene, rows, COUNT(rows));
    ck_assert_str_eq(seen(scene, at_time(70)).text, "2@70 a:1 b:2 c:3"); /* the past keeps it */
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(restart_and_import_count_ttls_anew)
{
    struct obb_scene *scene = tick_scene(1000, 64);
    const obb_put first[] = {lives("a", 1, 100), lives("b", 2, 300)};
    const obb_pose renewed[] = {pose_at("a", 1)};
    const obb_put import[] = {lives("a", 5, 100)};
    const struct asked rows[] = {
        {{.time = 900, .puts = first, .put_count = 2}, OBB_OK, 0, 0, "1@900 a:1 b:2"},
        /* long after both: a restart removes nothing, also when its time is later */
        {{.time = 5000, .restart = true}, OBB_OK, 0, 0, "2@5000 a:1 b:2"},
        {{.time = 5099}, OBB_OK, 0, 0, "2@5099 a:1 b:2"},
        {{.time = 10, .restart = true}, OBB_OK, 0, 0, "3@10 a:1 b:2"},
        {{.time = 109.5}, OBB_OK, 0, 0, "3@109.5 a:1 b:2"},
        /* a pose renews, also at the time of the change before the restart */
        {{.time = 109.5, .poses = renewed, .pose_count = 1}, OBB_OK, 0, 0, "4@109.5 a:1 b:2"},
        {{.time = 209}, OBB_OK, 0, 0, "4@209 a:1 b:2"},
        {{.time = 209.5}, OBB_OK, 1, 0, "5@209.5 b:2"},
        {{.time = 310}, OBB_OK, 1, 0, "6@310"},
        {{.time = 310, .puts = first, .put_count = 1}, OBB_OK, 0, 0, "7@310 a:1"},
        /* an import removes all boxes; none expires, and an earlier time is not taken */
        {{.time = 50, .puts = import, .put_count = 1, .replace_all = true},
         OBB_OK,
         0,
         1,
         "8@310 a:5"},
        {{.time = 409.5}, OBB_OK, 0, 0, "8@409.5 a:5"},
        {{.time = 410}, OBB_OK, 1, 0, "9@410"},
    };
    run(scene, rows, COUNT(rows));
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_discarded_commit_leaves_the_expiry_as_it_was)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (int how = 0; how < 4; how++) {
        struct obb_scene *scene = tick_scene(1000, 64);
        const obb_put first[] = {lives("a", 1, 10), lives("b", 2, 20), lives("c", 3, 30)};
        const obb_put next[] = {
            lives("d", 4, 1), lives("b", 2, 500), {.target = named("c"), .parts = OBB_PUT_TTL}};
        const struct asked rows[] = {
            {{.time = 0, .puts = first, .put_count = 3}, OBB_OK, 0, 0, "1@0 a:1 b:2 c:3"}};
        run(scene, rows, 1);
        const obb_edit edit = {.dimensions = 3,
                               .has_time = true,
                               .time = 10,
                               .restart = how >= 2,
                               .puts = next,
                               .put_count = 3};
        struct obb_prepared *prepared = NULL;
        obb_fault fault;
        ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 100, &arena, &prepared, &fault), OBB_OK);
        if (how % 2 == 1)
            obb_edit_seal(prepared);
        obb_edit_discard(prepared);
        ck_assert(obb_scene_validate(scene));
        const struct asked later[] = {{{.time = 10}, OBB_OK, 1, 0, "2@10 b:2 c:3"},
                                      {{.time = 20}, OBB_OK, 1, 0, "3@20 c:3"},
                                      {{.time = 29.5}, OBB_OK, 0, 0, "3@29.5 c:3"},
                                      {{.time = 30}, OBB_OK, 1, 0, "4@30"}};
        run(scene, later, COUNT(later));
        obb_scene_destroy(scene);
    }
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(copies_and_histories_know_who_expired_and_from_when_ttls_count)
{
    struct obb_scene *scene = tick_scene(1000, 64), *copy = NULL;
    const obb_put first[] = {lives("a", 1, 10), lives("b", 2, 20), put_at("c", 3)};
    const obb_target removes[] = {named("c")};
    const struct asked rows[] = {
        {{.time = 5, .puts = first, .put_count = 3}, OBB_OK, 0, 0, "1@5 a:1 b:2 c:3"},
        {{.time = 7}, OBB_OK, 0, 0, "1@7 a:1 b:2 c:3"}};
    run(scene, rows, 2);
    struct obb_view *before = NULL, *after = NULL;
    ck_assert_int_eq(obb_view_open(scene, NULL, &before, NULL, NULL), OBB_OK);
    const obb_copy of = obb_copy_of(before, obb_str_of("copy"), 0);
    ck_assert_int_eq(obb_scene_copy(&of, NULL, NULL, &copy), OBB_OK);
    ck_assert_double_eq(obb_view_since(before, obb_view_find(before, obb_str_of("b"))), 5);
    const struct asked last[] = {
        {{.time = 15, .removes = removes, .remove_count = 1}, OBB_OK, 1, 1, "2@15 b:2"}};
    run(copy, last, 1);
    obb_view_keep_later(before);
    run(scene, last, 1);
    ck_assert_int_eq(obb_view_open(scene, NULL, &after, NULL, NULL), OBB_OK);
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_committed read;
    ck_assert_int_eq(obb_committed_read(before, after, &arena, &read), OBB_OK);
    ck_assert_uint_eq(read.expired, 1);
    ck_assert_uint_eq(read.removed, 1);
    ck_assert(obb_committed_expired(&read, 1));
    ck_assert(!obb_committed_expired(&read, 2) && !obb_committed_expired(&read, 3));
    obb_step step;
    obb_effects effects;
    ck_assert(obb_view_step(before, 2, &step));
    ck_assert_int_eq(obb_step_effects(&step, &arena, &effects), OBB_OK);
    ck_assert_uint_eq(effects.count, 2);
    ck_assert(effects.list[0].id == 1 && effects.list[0].expired);
    ck_assert(effects.list[1].id == 3 && !effects.list[1].expired);

    /* Effects in another order are refused: expired boxes come first, by id. */
    obb_effect turned[] = {effects.list[1], effects.list[0]};
    obb_effects wrong = effects;
    struct obb_prepared *prepared = NULL;
    struct obb_scene *twin = NULL;
    const obb_copy again = obb_copy_of(before, obb_str_of("twin"), 0);
    ck_assert_int_eq(obb_scene_copy(&again, NULL, NULL, &twin), OBB_OK);
    wrong.list = turned;
    ck_assert_int_eq(obb_effects_prepare(twin, &wrong, false, &arena, &prepared), OBB_BAD_VALUE);
    ck_assert_int_eq(obb_effects_prepare(twin, &effects, false, &arena, &prepared), OBB_OK);
    obb_committed done;
    obb_edit_commit(prepared, &done);
    ck_assert_uint_eq(done.expired, 1);
    ck_assert_uint_eq(done.removed, 1);
    ck_assert(obb_scene_validate(twin));
    ck_assert_str_eq(now_in(twin), "2@15 b:2");
    obb_arena_fini(&arena);
    obb_view_close(before);
    obb_view_close(after);
    obb_scene_destroy(twin);
    obb_scene_destroy(copy);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(an_edit_counts_the_boxes_that_it_lets_expire)
{
    struct obb_scene *scene = tick_scene(1000, 64);
    const obb_put first[] = {lives("a", 1, 10), lives("b", 2, 20), lives("c", 3, 30)};
    const struct asked rows[] = {
        {{.time = 5, .puts = first, .put_count = 3}, OBB_OK, 0, 0, "1@5 a:1 b:2 c:3"}};
    run(scene, rows, 1);
    obb_edit edit = {.dimensions = 3, .has_time = true, .time = 25};
    ck_assert_uint_eq(obb_edit_expiring(scene, &edit, 0, 100), 2);
    ck_assert_uint_eq(obb_edit_expiring(scene, &edit, 0, 1), 1);
    edit.restart = true;
    ck_assert_uint_eq(obb_edit_expiring(scene, &edit, 0, 100), 3);
    edit.replace_all = true;
    ck_assert_uint_eq(obb_edit_expiring(scene, &edit, 0, 100), 0);
    edit = (obb_edit){.dimensions = 3}; /* keeps the time that was stated last */
    ck_assert_uint_eq(obb_edit_expiring(scene, &edit, 1e9, 100), 0);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(ttls_out_of_range_are_refused)
{
    struct obb_scene *scene = tick_scene(1000, 64);
    static const double bad[] = {-1, -0.5, 9007199254740994.0, (double)NAN, (double)INFINITY};
    for (size_t i = 0; i < COUNT(bad); i++) {
        const obb_put put = lives("a", 1, bad[i]);
        const struct asked rows[] = {
            {{.time = 5, .puts = &put, .put_count = 1}, OBB_BAD_VALUE, 0, 0, "0@0"}};
        run(scene, rows, 1);
    }
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("expiry");
    TCase *tcase = tcase_create("expiry");
    tcase_add_test(tcase, due_boxes_are_those_of_a_plain_list);
    tcase_add_test(tcase, the_first_commit_at_or_after_the_ttl_removes_the_box);
    tcase_add_test(tcase, restart_and_import_count_ttls_anew);
    tcase_add_test(tcase, a_discarded_commit_leaves_the_expiry_as_it_was);
    tcase_add_test(tcase, copies_and_histories_know_who_expired_and_from_when_ttls_count);
    tcase_add_test(tcase, an_edit_counts_the_boxes_that_it_lets_expire);
    tcase_add_test(tcase, ttls_out_of_range_are_refused);
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
