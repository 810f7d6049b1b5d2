#include "core/obb.h"
#include "core/scene/scene_check.h"
#include "core/scene/scene_data.h"
#include "tests/support/model.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- The state after commit r, as documentation
 * ----------------------------------------------------------------
 *
 * Each table is a scene's commits and then what is seen of it: "revision@time name:x ...". */

typedef struct vector {
    obb_at at;
    const char *sees;
} vector;

static size_t vectors_checked;

static void check_vectors(struct obb_scene *scene, const vector *vectors, size_t count)
{
    for (size_t i = 0; i < count; i++, vectors_checked++) {
        const sight saw = seen(scene, vectors[i].at);
        ck_assert_msg(strcmp(saw.text, vectors[i].sees) == 0, "vector %zu: saw \"%s\", not \"%s\"",
                      i, saw.text, vectors[i].sees);
    }
    ck_assert(obb_scene_validate(scene));
}

#define CHECK(scene, ...)                                                \
    do {                                                                 \
        const vector vectors[] = {__VA_ARGS__};                          \
        check_vectors(scene, vectors, sizeof vectors / sizeof *vectors); \
    } while (0)

static struct obb_scene *lift(void)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 10, "+lift:0 +wall:7");
    tick(scene, 20, "lift:10");
    tick(scene, 40, "lift:20");
    return scene;
}

START_TEST(by_revision_it_is_the_state_after_that_commit)
{
    struct obb_scene *scene = lift();
    CHECK(scene,                                   //
          {at_revision(0), "0@10"},                /* before the first commit: nothing */
          {at_revision(1), "1@10 lift:0 wall:7"},  //
          {at_revision(2), "2@20 lift:10 wall:7"}, //
          {at_revision(3), "3@40 lift:20 wall:7"}, //
          {at_revision(4), "gone 0@10..3@40"},     /* one that never was */
          {clamped(at_revision(4)), "3@40 clamped lift:20 wall:7"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(by_time_a_commit_holds_from_its_very_time_on)
{
    struct obb_scene *scene = lift();
    CHECK(scene,                               //
          {at_time(9.75), "gone 0@10..3@40"},  //
          {at_time(10), "1@10 lift:0 wall:7"}, //
          {at_time(12.5),
           "1@12.5 lift:2.5 wall:7"}, /* between two: poses run, at.revision is the earlier */
          {at_time(19.5), "1@19.5 lift:9.5 wall:7"}, //
          {at_time(20), "2@20 lift:10 wall:7"},      //
          {at_time(25), "2@25 lift:12.5 wall:7"},    /* each span at its own speed */
          {at_time(39), "2@39 lift:19.5 wall:7"},    //
          {at_time(40), "3@40 lift:20 wall:7"},      //
          {at_time(40.25), "gone 0@10..3@40"});      /* the future */
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(ago_counts_back_from_the_newest_time)
{
    struct obb_scene *scene = lift();
    CHECK(scene,                                               //
          {at_ago(0), "3@40 lift:20 wall:7"},                  //
          {at_ago(10), "2@30 lift:15 wall:7"},                 //
          {at_ago(20), "2@20 lift:10 wall:7"},                 //
          {at_ago(30), "1@10 lift:0 wall:7"},                  //
          {at_ago(30.5), "gone 0@10..3@40"},                   //
          {clamped(at_ago(99)), "1@10 clamped lift:0 wall:7"}, //
          {at_ago(-1), "gone 0@10..3@40"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(held_it_is_the_last_commit_not_after_the_time)
{
    struct obb_scene *scene = lift();
    CHECK(scene,                                         //
          {held(at_time(10)), "1@10 lift:0 wall:7"},     //
          {held(at_time(19.5)), "1@10 lift:0 wall:7"},   /* at.time is that commit's own */
          {held(at_time(20)), "2@20 lift:10 wall:7"},    //
          {held(at_ago(0.5)), "2@20 lift:10 wall:7"},    //
          {held(at_time(40)), "3@40 lift:20 wall:7"},    //
          {held(at_revision(2)), "2@20 lift:10 wall:7"}, //
          {held(at_time(41)), "gone 0@10..3@40"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(clamped_it_is_the_nearest_end)
{
    struct obb_scene *scene = lift();
    CHECK(
        scene,                                                   //
        {clamped(at_time(-1000)), "1@10 clamped lift:0 wall:7"}, /* as at the oldest time itself */
        {clamped(held(at_time(9))), "1@10 clamped lift:0 wall:7"}, //
        {clamped(at_time(1000)), "3@40 clamped lift:20 wall:7"},   //
        {clamped(at_time(25)), "2@25 lift:12.5 wall:7"},           /* inside nothing is clamped */
        {clamped(held(at_time(41))), "3@40 clamped lift:20 wall:7"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(teleports_hold_until_they_happen)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 0, "+ghost:0 +guard:0");
    tick(scene, 10, "ghost!100 guard:10");
    tick(scene, 20, "ghost:110");
    CHECK(scene,                                     //
          {at_time(5), "1@5 ghost:0 guard:5"},       //
          {at_time(9.5), "1@9.5 ghost:0 guard:9.5"}, //
          {at_time(10), "2@10 ghost:100 guard:10"},  //
          {at_time(15), "2@15 ghost:105 guard:10"}); /* and move on from there */
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(what_was_removed_is_found_and_what_is_new_is_not)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 0, "+crate:1 +door:2");
    tick(scene, 10, "-crate +barrel:3");
    CHECK(scene,                                  //
          {at_time(0), "1@0 crate:1 door:2"},     //
          {at_time(9.5), "1@9.5 crate:1 door:2"}, //
          {at_time(10), "2@10 door:2 barrel:3"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(remove_and_put_of_one_name_make_another_box)
{
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_committed first = tick(scene, 0, "+crate:0");
    ck_assert(first.changed);
    tick(scene, 10, "-crate +crate:10"); /* in one commit */
    tick(scene, 20, "-crate");
    tick(scene, 30, "+crate:30");
    tick(scene, 40, "+crate:40");         /* a put over a box keeps it, and is a motion */
    CHECK(scene,                          //
          {at_time(5), "1@5 crate:0"},    /* no way between two boxes */
          {at_time(10), "2@10 crate:10"}, //
          {at_time(19), "2@19 crate:10"}, //
          {at_time(25), "3@25"},          //
          {at_time(30), "4@30 crate:30"}, //
          {at_time(35), "4@35 crate:35"}, //
          {at_time(40), "5@40 crate:40"});
    uint64_t ids[5];
    for (uint64_t r = 1; r <= 5; r++) {
        const obb_at at = at_revision(r);
        struct obb_view *view = NULL;
        ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
        const struct obb_version *box = obb_view_find(view, obb_str_of("crate"));
        ids[r - 1] = box == NULL ? 0 : obb_view_id(box);
        obb_view_close(view);
    }
    const uint64_t expected[5] = {1, 2, 0, 3, 3};
    ck_assert_mem_eq(ids, expected, sizeof ids);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(of_several_commits_at_one_time_the_first_is_run_to_and_the_last_holds)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 0, "+lift:0");
    tick(scene, 10, "lift:10");
    tick(scene, 10, "lift:50");
    tick(scene, 10, "lift:70");
    tick(scene, 20, "lift:80");
    CHECK(scene,                               //
          {at_time(5), "1@5 lift:5"},          //
          {at_time(9.5), "1@9.5 lift:9.5"},    //
          {at_time(10), "4@10 lift:70"},       //
          {held(at_time(10)), "4@10 lift:70"}, //
          {at_time(15), "4@15 lift:75"},       //
          {at_revision(2), "2@10 lift:10"},    /* all of them by revision */
          {at_revision(3), "3@10 lift:50"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_commit_that_changes_nothing_prolongs_the_state)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 0, "+lift:0");
    const obb_committed same = tick(scene, 10, "lift:0");
    ck_assert(!same.changed);
    ck_assert_uint_eq(same.moment.revision, 1);
    ck_assert_double_eq(same.moment.time, 10);
    CHECK(scene, {at_time(5), "1@5 lift:0"}, {at_revision(1), "1@10 lift:0"});
    tick(scene, 20, "lift:10");
    CHECK(scene,                              //
          {at_time(5), "1@5 lift:0"},         //
          {at_time(10), "1@10 lift:0"},       //
          {at_time(15), "1@15 lift:5"},       /* the motion began at 10, where it still stood */
          {at_time(20), "2@20 lift:10"},      //
          {held(at_time(5)), "1@0 lift:0"},   //
          {held(at_time(15)), "1@10 lift:0"}, //
          {at_revision(1), "1@10 lift:0"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(changed_settings_are_a_commit_that_changes_no_box)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 0, "+lift:0");
    bool changed = false;
    obb_settings settings = {.dimensions = 3, .history_span = 500, .history_commits = 64};
    ck_assert_int_eq(tick_configure(scene, &settings, 5, &changed), OBB_OK);
    ck_assert(!changed);
    settings.history_span = 400;
    ck_assert_int_eq(tick_configure(scene, &settings, 5, &changed), OBB_OK);
    ck_assert(changed);
    tick(scene, 10, "lift:10");
    CHECK(scene,                          //
          {at_revision(2), "2@0 lift:0"}, /* it keeps the time last stated */
          {at_time(0), "2@0 lift:0"},     //
          {at_time(5), "2@5 lift:5"},     //
          {at_revision(3), "3@10 lift:10"});
    settings.dimensions = 2;
    ck_assert_int_eq(tick_configure(scene, &settings, 5, &changed), OBB_DIMENSIONS);
    tick(scene, 20, "-lift");
    ck_assert_int_eq(tick_configure(scene, &settings, 5, &changed), OBB_OK);
    CHECK(scene,                          //
          {at_revision(5), "5@20"},       //
          {at_time(15), "3@15 lift:10"}); /* the past keeps its dimensions */
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_state_is_kept_while_a_time_within_the_span_needs_it)
{
    struct obb_scene *scene = tick_scene(30, 64);
    tick(scene, 0, "+lift:0");
    tick(scene, 10, "lift:10");
    tick(scene, 20, "lift:20");
    tick(scene, 30, "lift:30");
    CHECK(scene, {at_time(0), "1@0 lift:0"}, {at_time(-0.5), "gone 1@0..4@30"});
    tick(scene, 35, "lift:35");
    /* Time 5 is within the span and needs the state of time 0, whose own time is reached for as
     * long. */
    CHECK(scene, {at_time(5), "1@5 lift:5"}, {at_time(0), "1@0 lift:0"});
    tick(scene, 40, "lift:40");
    /* Time 10 is the oldest within, and needs no state before its own. */
    CHECK(scene, {at_time(10), "2@10 lift:10"}, {at_time(9.5), "gone 2@10..6@40"},
          {at_revision(1), "gone 2@10..6@40"});
    tick(scene, 40, "lift:41");
    CHECK(scene, {at_time(10), "2@10 lift:10"}, {at_revision(7), "7@40 lift:41"});
    tick(scene, 1000, "lift:0"); /* a long pause: the way through it is kept, the rest is gone */
    CHECK(scene, {at_time(520), "7@520 lift:20.5"}, {at_revision(6), "gone 7@40..8@1000"});
    tick(scene, 1030, "lift:0");
    CHECK(scene, {at_time(1015), "8@1015 lift:0"}, {at_revision(7), "gone 8@1000..8@1030"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(no_more_states_are_kept_than_the_newest_and_as_many_as_commits_says)
{
    struct obb_scene *scene = tick_scene(1e6, 2);
    for (int i = 0; i <= 9; i++) {
        char line[32];
        (void)snprintf(line, sizeof line, "%slift:%d", i == 0 ? "+" : "", i);
        tick(scene, i, line);
    }
    CHECK(scene, {at_revision(8), "8@7 lift:7"}, {at_revision(7), "gone 8@7..10@9"},
          {at_time(7.5), "8@7.5 lift:7.5"}, {at_time(6.5), "gone 8@7..10@9"});
    bool changed = false;
    const obb_settings none = {.dimensions = 3, .history_span = 1e6, .history_commits = 0};
    ck_assert_int_eq(tick_configure(scene, &none, 0, &changed), OBB_OK);
    CHECK(scene, {at_revision(11), "11@9 lift:9"}, {at_revision(10), "gone 11@9..11@9"});
    const obb_settings no_span = {.dimensions = 3, .history_span = 0, .history_commits = 64};
    ck_assert_int_eq(tick_configure(scene, &no_span, 0, &changed), OBB_OK);
    tick(scene, 10, "lift:10");
    CHECK(scene, {at_time(10), "13@10 lift:10"}, {at_time(9.5), "gone 13@10..13@10"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(extents_run_straight_and_rotations_by_the_shortest_arc)
{
    struct obb_scene *scene = tick_scene(500, 64);
    tick(scene, 0, "+door:0");
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_quat half_turn_less; /* 120 degrees about z, written with the other sign */
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){0, 0, 1}, 120, &half_turn_less), OBB_OK);
    const obb_put put = {.target = {.name = obb_str_of("door")},
                         .parts = OBB_PUT_HALF_EXTENTS | OBB_PUT_ROTATION,
                         .box = {.half_extents = {3, 1, 5},
                                 .rotation = {-half_turn_less.x, -half_turn_less.y,
                                              -half_turn_less.z, -half_turn_less.w}}};
    const obb_edit edit = {
        .dimensions = 3, .has_time = true, .time = 8, .puts = &put, .put_count = 1};
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    obb_committed committed;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 0, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &committed);
    obb_arena_fini(&arena);

    struct obb_view *view = NULL;
    const obb_at at = at_time(2);
    ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
    const struct obb_version *door = obb_view_find(view, obb_str_of("door"));
    const obb_box pose = obb_view_pose(view, door);
    const obb_solid solid = obb_view_solid(view, door);
    ck_assert_double_eq(pose.half_extents.x, 1.5);
    ck_assert_double_eq(pose.half_extents.y, 1);
    ck_assert_double_eq(pose.half_extents.z, 2);
    ck_assert_double_eq_tol(solid.axis[0].x, sqrt(0.75), 4e-15); /* a quarter of 120 degrees */
    ck_assert_double_eq_tol(solid.axis[0].y, 0.5, 4e-15);
    obb_view_close(view);
    obb_scene_destroy(scene);
}
END_TEST

/* ---- The clock ------------------------------------------------------------------------------- */

START_TEST(the_first_commit_may_state_any_time_and_none_may_run_backwards)
{
    struct obb_scene *scene = tick_scene(500, 64);
    ck_assert_double_eq(tick(scene, -700, "+a:1").moment.time, -700);
    ck_assert_double_eq(tick(scene, -700, "a:2").moment.time, -700);
    ck_assert_double_eq(tick(scene, NO_TIME, "a:3").moment.time, -700); /* keeps what was stated */
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    ck_assert_int_eq(tick_prepare(scene, 0, -700.5, "-zzz zzz:1", &arena, &prepared, &fault),
                     OBB_TIME_BACKWARDS);
    ck_assert_int_eq(fault.group, OBB_GROUP_TIME); /* before all else that is wrong */
    obb_arena_fini(&arena);
    CHECK(scene, {at_time(-700), "3@-700 a:3"}, {at_revision(0), "0@-700"});
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(where_no_time_was_ever_stated_the_server_s_clock_is_read)
{
    struct obb_scene *scene = tick_scene(500, 64);
    ck_assert_double_eq(tick_at(scene, 100, NO_TIME, "+a:0").moment.time, 100);
    ck_assert_double_eq(tick_at(scene, 120, NO_TIME, "a:0").moment.time, 100); /* changed nothing */
    ck_assert_double_eq(tick_at(scene, 200, NO_TIME, "a:10").moment.time, 200);
    ck_assert_double_eq(tick_at(scene, 150, NO_TIME, "a:20").moment.time, 200); /* never back */
    CHECK(scene, {at_time(0), "0@0"}, {at_time(150), "1@150 a:5"}, {at_time(200), "3@200 a:20"});
    ck_assert_double_eq(tick_at(scene, 900, 250, "a:30").moment.time, 250);
    ck_assert_double_eq(tick_at(scene, 999, NO_TIME, "a:31").moment.time, 250); /* now one was */
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_first_commit_that_changes_nothing_still_sets_the_clock)
{
    struct obb_scene *scene = tick_scene(500, 64);
    const obb_committed nothing = tick(scene, 5000, "-nobody");
    ck_assert(!nothing.changed);
    ck_assert_uint_eq(nothing.removed, 0);
    CHECK(scene, {at_time(5000), "0@5000"}, {at_time(4999), "gone 0@5000..0@5000"});
    tick(scene, 5000, "+a:1");
    CHECK(scene, {at_time(5000), "1@5000 a:1"});
    obb_scene_destroy(scene);
}
END_TEST

/* Moves or makes the frame `f` to x, at once if `teleport`, and its box `in` to `local` in it. */
static void move_rig(struct obb_scene *scene, double time, double x, bool teleport, double local)
{
    const obb_target in = {.name = obb_str_of("in")};
    const obb_pose frame = {.target = {.name = obb_str_of("f")},
                            .has_center = true,
                            .center = {x, 0, 0},
                            .teleport = teleport};
    const obb_pose pose = {.target = in, .has_center = true, .center = {local, 0, 0}};
    obb_put put = {.target = in, .parts = OBB_PUT_ALL, .frame = frame.target.name};
    ck_assert_int_eq(
        obb_box_from_pose(pose.center, (obb_vec3){1, 1, 1}, (obb_quat){0, 0, 0, 1}, 0, 3, &put.box),
        OBB_OK);
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    const bool first = info.now.revision == 0;
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = time,
                           .frames = &frame,
                           .frame_count = 1,
                           .puts = &put,
                           .put_count = first,
                           .poses = &pose,
                           .pose_count = !first};
    struct obb_arena arena;
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    obb_arena_init(&arena);
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 100, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    obb_arena_fini(&arena);
}

/* The frame and the box `in` of a state: where the frame is, and where the box is in it. */
static void check_rig(struct obb_scene *scene, double time, double frame_x, double local_x)
{
    const obb_at at = at_time(time);
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, &at, &view, NULL, NULL), OBB_OK);
    const struct obb_version *frame = obb_view_find_frame(view, obb_str_of("f"));
    ck_assert_double_eq(obb_view_frame_pose(view, frame).center.x, frame_x);
    obb_str name;
    obb_box local;
    ck_assert(obb_view_local(obb_view_find(view, obb_str_of("in")), &name, &local));
    ck_assert(obb_str_equal(name, obb_str_of("f")));
    ck_assert_double_eq(local.center.x, local_x);
    obb_view_close(view);
}

START_TEST(a_box_in_a_frame_runs_in_the_scene_and_its_place_in_the_frame_is_the_earlier_one)
{
    struct obb_scene *scene = tick_scene(500, 64);
    move_rig(scene, 0, 100, false, 1);
    move_rig(scene, 10, 200, false, 1);
    move_rig(scene, 20, 200, false, 5);
    move_rig(scene, 30, 300, true, 5);
    move_rig(scene, 40, 340, false, 7);
    CHECK(scene,                              //
          {at_time(0), "1@0 in:101"},         //
          {at_time(2.5), "1@2.5 in:126"},     /* its frame moves */
          {at_time(10), "2@10 in:201"},       //
          {at_time(15), "2@15 in:203"},       /* it moves in the frame */
          {at_time(20), "3@20 in:205"},       //
          {at_time(29), "3@29 in:205"},       /* its frame jumps later */
          {at_time(30), "4@30 in:305"},       //
          {at_time(35), "4@35 in:326"},       /* both move: half of 42 */
          {held(at_time(35)), "4@30 in:305"}, //
          {at_ago(5), "4@35 in:326"},         //
          {clamped(at_time(99)), "5@40 clamped in:347"});
    check_rig(scene, 0, 100, 1);
    check_rig(scene, 2.5, 125, 1);
    check_rig(scene, 15, 200, 1);
    check_rig(scene, 29, 200, 5);
    check_rig(scene, 30, 300, 5);
    check_rig(scene, 35, 320, 5);
    check_rig(scene, 40, 340, 7);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("history");
    TCase *vectors = tcase_create("vectors");
    tcase_add_test(vectors, by_revision_it_is_the_state_after_that_commit);
    tcase_add_test(vectors, by_time_a_commit_holds_from_its_very_time_on);
    tcase_add_test(vectors, ago_counts_back_from_the_newest_time);
    tcase_add_test(vectors, held_it_is_the_last_commit_not_after_the_time);
    tcase_add_test(vectors, clamped_it_is_the_nearest_end);
    tcase_add_test(vectors, teleports_hold_until_they_happen);
    tcase_add_test(vectors, what_was_removed_is_found_and_what_is_new_is_not);
    tcase_add_test(vectors, remove_and_put_of_one_name_make_another_box);
    tcase_add_test(vectors, of_several_commits_at_one_time_the_first_is_run_to_and_the_last_holds);
    tcase_add_test(vectors, a_commit_that_changes_nothing_prolongs_the_state);
    tcase_add_test(vectors, changed_settings_are_a_commit_that_changes_no_box);
    tcase_add_test(vectors, a_state_is_kept_while_a_time_within_the_span_needs_it);
    tcase_add_test(vectors, no_more_states_are_kept_than_the_newest_and_as_many_as_commits_says);
    tcase_add_test(vectors, extents_run_straight_and_rotations_by_the_shortest_arc);
    tcase_add_test(vectors, the_first_commit_may_state_any_time_and_none_may_run_backwards);
    tcase_add_test(vectors, where_no_time_was_ever_stated_the_server_s_clock_is_read);
    tcase_add_test(vectors, a_first_commit_that_changes_nothing_still_sets_the_clock);
    tcase_add_test(
        vectors, a_box_in_a_frame_runs_in_the_scene_and_its_place_in_the_frame_is_the_earlier_one);
    suite_add_tcase(suite, vectors);
    return test_main(suite);
}
