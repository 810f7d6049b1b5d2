#include "core/scene/scene_data.h"
#include "core/scene/view_inside.h"
#include "tests/core/scene/edits.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct obb_view *view_of(struct obb_scene *scene, const obb_at *at)
{
    struct obb_view *view = NULL;
    ck_assert_int_eq(obb_view_open(scene, at, &view, NULL, NULL), OBB_OK);
    return view;
}

static struct obb_scene *copy_of(struct obb_scene *scene, const obb_at *at)
{
    struct obb_view *view = view_of(scene, at);
    const obb_copy copy = obb_copy_of(view, obb_str_of("copy"), 0);
    struct obb_scene *out = NULL;
    ck_assert_int_eq(obb_scene_copy(&copy, NULL, NULL, &out), OBB_OK);
    obb_view_close(view);
    ck_assert(obb_scene_validate(out));
    return out;
}

/* Every box of the two views is the same, to the bit, and the broad phase of both shows it. */
static size_t same_boxes(const struct obb_view *a, const struct obb_view *b)
{
    size_t count = 0;
    uint64_t after = 0;
    ck_assert_uint_eq(obb_view_info_get(a)->boxes, obb_view_info_get(b)->boxes);
    for (const struct obb_version *x; (x = obb_view_next(a, after)) != NULL; count++) {
        const struct obb_version *y = obb_view_next(b, after);
        ck_assert_ptr_nonnull(y);
        const obb_box p = obb_view_pose(a, x), q = obb_view_pose(b, y);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
        ck_assert_int_eq(memcmp(&p.center, &q.center, sizeof p.center), 0);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
        ck_assert_int_eq(memcmp(&p.half_extents, &q.half_extents, sizeof p.half_extents), 0);
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
        ck_assert_int_eq(memcmp(&p.rotation, &q.rotation, sizeof p.rotation), 0);
        ck_assert(p.angle == q.angle);
        const obb_attributes m = obb_view_attributes(x), n = obb_view_attributes(y);
        ck_assert(m.category == n.category && m.mask == n.mask && m.group == n.group);
        ck_assert(obb_str_equal(m.entity, n.entity) && obb_str_equal(m.data, n.data));
        ck_assert(obb_str_equal(obb_view_name(x), obb_view_name(y)));
        ck_assert_ptr_eq(obb_view_find(b, obb_view_name(x)), y);
        ck_assert_uint_eq(obb_view_id(x), obb_view_id(y));
        ck_assert_uint_eq(obb_view_changed(y), 1);
        after = obb_view_id(x);
    }
    ck_assert_ptr_null(obb_view_next(b, after));
    return count;
}

START_TEST(a_copy_holds_one_state_and_no_history)
{
    struct obb_scene *scene = tick_scene(100, 8);
    tick(scene, 5, "+a:1 +b:2 +c:3");
    tick(scene, 6, "-b a:4");
    tick(scene, 10, "c:7");
    struct obb_scene *copy = copy_of(scene, NULL);
    ck_assert_str_eq(now_in(copy), "1@10 a:4 c:7");
    obb_scene_info info;
    obb_scene_info_get(copy, &info);
    ck_assert(info.now.revision == 1 && info.oldest.revision == 1 && info.oldest.time == 10);
    ck_assert(info.settings.history_span == 100 && info.settings.history_commits == 8);
    ck_assert(info.has_bounds && info.bounds.min.x == 3 && info.bounds.max.x == 8);
    struct obb_view *from = view_of(scene, NULL), *to = view_of(copy, NULL);
    ck_assert_uint_eq(same_boxes(from, to), 2);
    obb_view_close(from);
    obb_view_close(to);
    /* the two go their own ways; the next id goes on */
    tick(scene, 11, "-a");
    tick(copy, 12, "+d:9");
    ck_assert_str_eq(now_in(copy), "2@12 a:4 c:7 d:9");
    ck_assert_str_eq(seen(copy, at_revision(1)).text, "1@10 a:4 c:7");
    ck_assert_str_eq(seen(copy, at_revision(0)).text, "gone 1@10..2@12");
    to = view_of(copy, NULL);
    ck_assert_uint_eq(obb_view_id(obb_view_find(to, obb_str_of("d"))), 4);
    obb_view_close(to);
    obb_scene_destroy(scene);
    ck_assert_str_eq(now_in(copy), "2@12 a:4 c:7 d:9");
    ck_assert(obb_scene_validate(copy));
    obb_scene_destroy(copy);
}
END_TEST

START_TEST(the_past_and_what_lies_between_two_commits_can_be_copied)
{
    struct obb_scene *scene = tick_scene(100, 8);
    tick(scene, 10, "+a:0 +b:5");
    tick(scene, 20, "a:8 -b +c:1");
    const obb_at past = at_revision(1), between = at_time(15);
    struct obb_scene *copy = copy_of(scene, &past);
    ck_assert_str_eq(now_in(copy), "1@10 a:0 b:5");
    tick(copy, 11, "+d:2");
    struct obb_view *view = view_of(copy, NULL); /* ids go on behind all of the source */
    ck_assert_uint_eq(obb_view_id(obb_view_find(view, obb_str_of("d"))), 4);
    obb_view_close(view);
    obb_scene_destroy(copy);
    copy = copy_of(scene, &between);
    ck_assert_str_eq(now_in(copy), "1@15 a:4 b:5");
    obb_scene_destroy(copy);
    obb_scene_destroy(scene);
}
END_TEST

static void commit_edit(struct obb_scene *scene, const obb_edit *edit)
{
    struct obb_arena arena;
    obb_committed committed;
    obb_fault fault;
    obb_arena_init(&arena);
    ck_assert_int_eq(commit(scene, edit, 1000, &arena, &committed, &fault), OBB_OK);
    obb_arena_fini(&arena);
}

static obb_box pose_in(struct obb_scene *scene, const obb_at *at, const char *name,
                       obb_str *out_frame, obb_box *out_local)
{
    struct obb_view *view = view_of(scene, at);
    const struct obb_version *box = obb_view_find(view, obb_str_of(name));
    ck_assert_ptr_nonnull(box);
    *out_frame = (obb_str){.length = 0};
    (void)obb_view_local(box, out_frame, out_local); /* names in the scene outlive the view */
    const obb_box pose = obb_view_pose(view, box);
    obb_view_close(view);
    return pose;
}

static obb_quat turn_about_z(double degrees)
{
    obb_quat q;
    ck_assert_int_eq(obb_quat_from_axis_angle((obb_vec3){0, 0, 1}, degrees, &q), OBB_OK);
    return q;
}

/* A frame "ann" at 0, then at (10, 0, 0) and turned by a quarter about z; its boxes are "limb", 2
 * before it, and "hat", 3 above it. */
static struct obb_scene *rig_scene(void)
{
    struct obb_scene *scene = tick_scene(100, 8);
    obb_pose frames[2] = {pose_at("ann", 0), pose_at("empty", 7)};
    obb_put puts[3] = {put_at("limb", 2), put_at("hat", 0), put_at("free", 30)};
    puts[0].frame = puts[1].frame = obb_str_of("ann");
    puts[1].box.center = (obb_vec3){0, 0, 3};
    const obb_edit make = {.dimensions = 3,
                           .has_time = true,
                           .time = 10,
                           .frames = frames,
                           .frame_count = 2,
                           .puts = puts,
                           .put_count = 3};
    commit_edit(scene, &make);
    obb_pose moved = pose_at("ann", 10);
    moved.has_rotation = true;
    moved.rotation = turn_about_z(90);
    const obb_edit move = {
        .dimensions = 3, .has_time = true, .time = 20, .frames = &moved, .frame_count = 1};
    commit_edit(scene, &move);
    return scene;
}

START_TEST(frames_are_copied_with_their_boxes)
{
    struct obb_scene *scene = rig_scene();
    const obb_at past = at_revision(1), now = {.kind = OBB_AT_NOW};
    for (int i = 0; i < 2; i++) {
        const obb_at *at = i == 0 ? &now : &past;
        struct obb_scene *copy = copy_of(scene, at);
        struct obb_view *from = view_of(scene, at), *to = view_of(copy, NULL);
        ck_assert_uint_eq(same_boxes(from, to), 3);
        ck_assert_uint_eq(obb_view_info_get(to)->frames, 2);
        const struct obb_version *ann = obb_view_find_frame(to, obb_str_of("ann"));
        ck_assert_ptr_nonnull(ann);
        ck_assert_ptr_nonnull(obb_view_find_frame(to, obb_str_of("empty")));
        ck_assert_double_eq(obb_view_frame_pose(to, ann).center.x, i == 0 ? 10 : 0);
        obb_view_close(from);
        obb_view_close(to);
        obb_str frame;
        obb_box local;
        (void)pose_in(copy, NULL, "limb", &frame, &local);
        ck_assert(obb_str_equal(frame, obb_str_of("ann")) && local.center.x == 2);
        (void)pose_in(copy, NULL, "free", &frame, &local);
        ck_assert_uint_eq(frame.length, 0);
        /* the frame of the copy moves its boxes, and only them */
        obb_pose moved = pose_at("ann", 5);
        moved.has_rotation = true;
        moved.rotation = (obb_quat){0, 0, 0, 1};
        const obb_edit move = {.dimensions = 3, .frames = &moved, .frame_count = 1};
        commit_edit(copy, &move);
        ck_assert_double_eq(pose_in(copy, NULL, "limb", &frame, &local).center.x, 7);
        const obb_box hat = pose_in(copy, NULL, "hat", &frame, &local);
        ck_assert(hat.center.x == 5 && hat.center.z == 3);
        ck_assert_double_eq(pose_in(scene, NULL, "hat", &frame, &local).center.x, 10);
        /* and takes them along when it goes */
        const obb_str gone = obb_str_of("ann");
        const obb_edit remove = {.dimensions = 3, .remove_frames = &gone, .remove_frame_count = 1};
        commit_edit(copy, &remove);
        ck_assert_str_eq(now_in(copy), i == 0 ? "3@20 free:30" : "3@10 free:30");
        obb_scene_destroy(copy);
    }
    obb_scene_destroy(scene);
}
END_TEST

/* Half way the limb is on the straight line from (2, 0, 0) to (10, 2, 0), while its frame is at
 * (5, 0, 0), turned by 45 degrees: it stays where it is, and its pose in the frame is another. */
START_TEST(a_box_that_is_copied_between_two_commits_stands_where_it_is_then)
{
    struct obb_scene *scene = rig_scene();
    const obb_at between = at_time(15);
    struct obb_scene *copy = copy_of(scene, &between);
    const double half = sqrt(0.5), tol = 1e-14;
    obb_str frame;
    obb_box local;
    const obb_box was = pose_in(scene, &between, "limb", &frame, &local);
    ck_assert_double_eq(local.center.x, 2);
    const obb_box is = pose_in(copy, NULL, "limb", &frame, &local);
    ck_assert(obb_str_equal(frame, obb_str_of("ann")));
    ck_assert_double_eq_tol(was.center.x, 6, tol);
    ck_assert_double_eq_tol(is.center.x, 6, tol);
    ck_assert_double_eq_tol(is.center.y, 1, tol);
    ck_assert_double_eq_tol(is.rotation.z, was.rotation.z, tol);
    ck_assert_double_eq_tol(is.rotation.w, was.rotation.w, tol);
    ck_assert_double_eq_tol(local.center.x, 2 * half, tol); /* (1, 1, 0) turned back */
    ck_assert_double_eq_tol(local.center.y, 0, tol);
    ck_assert_double_eq_tol(local.rotation.w, 1, tol);
    obb_scene_destroy(copy);
    obb_scene_destroy(scene);
}
END_TEST

/* Many boxes with all attributes, half of them turned, seen between two commits too. */
START_TEST(a_large_copy_is_the_same_to_the_bit)
{
    enum { BOXES = 3000 };
    static obb_put puts[BOXES];
    static obb_pose poses[BOXES];
    static char names[BOXES][16], entities[BOXES][16];
    test_rng rng = {.s = 20261122};
    struct obb_scene *scene = tick_scene(1e6, 8);
    for (int i = 0; i < BOXES; i++) {
        (void)snprintf(names[i], sizeof names[i], "box-%d", i);
        (void)snprintf(entities[i], sizeof entities[i], "e%d", i % 100);
        puts[i] = put_at(names[i], test_uniform(&rng, -1e3, 1e3));
        puts[i].attributes = (obb_attributes){.category = (uint32_t)i,
                                              .mask = ~(uint32_t)i,
                                              .group = i % 5 - 2,
                                              .entity = obb_str_of(i % 3 == 0 ? "" : entities[i]),
                                              .data = obb_str_of(i % 7 == 0 ? "[1,2]" : "")};
        const obb_quat q = {test_uniform(&rng, -1, 1), test_uniform(&rng, -1, 1),
                            test_uniform(&rng, -1, 1), test_uniform(&rng, 0.1, 1)};
        poses[i] = pose_at(names[i], test_uniform(&rng, -1e3, 1e3));
        poses[i].has_rotation = true;
        ck_assert_int_eq(obb_quat_normalise(q, &poses[i].rotation), OBB_OK);
    }
    struct obb_arena arena;
    obb_arena_init(&arena);
    obb_committed done;
    obb_fault fault;
    obb_edit edit = {
        .dimensions = 3, .has_time = true, .time = 1, .puts = puts, .put_count = BOXES};
    ck_assert_int_eq(commit(scene, &edit, BOXES, &arena, &done, &fault), OBB_OK);
    edit = (obb_edit){
        .dimensions = 3, .has_time = true, .time = 4, .poses = poses, .pose_count = BOXES / 2};
    ck_assert_int_eq(commit(scene, &edit, BOXES, &arena, &done, &fault), OBB_OK);
    const obb_at moments[] = {at_revision(2), at_revision(1)};
    for (size_t i = 0; i < COUNT(moments); i++) {
        struct obb_view *from = view_of(scene, &moments[i]), *to;
        struct obb_scene *copy = copy_of(scene, &moments[i]);
        to = view_of(copy, NULL);
        ck_assert_uint_eq(same_boxes(from, to), BOXES);
        const obb_query pairs = {.kind = OBB_QUERY_ALL_PAIRS,
                                 .dimensions = 3,
                                 .limit = SIZE_MAX,
                                 .max_distance = HUGE_VAL,
                                 .filter = {.category = UINT32_MAX, .mask = UINT32_MAX}};
        struct obb_plan *plans[2];
        ck_assert_int_eq(obb_plan_create(from, &pairs, NULL, NULL, &plans[0]), OBB_OK);
        ck_assert_int_eq(obb_plan_create(to, &pairs, NULL, NULL, &plans[1]), OBB_OK);
        for (int k = 0; k < 2; k++)
            ck_assert_int_eq(obb_plan_run(plans[k]), OBB_OK);
        const obb_result *a = obb_plan_result(plans[0]), *b = obb_plan_result(plans[1]);
        ck_assert_uint_gt(a->pair_count, BOXES / 10);
        ck_assert_uint_eq(a->pair_count, b->pair_count);
        for (size_t k = 0; k < a->pair_count; k++)
            ck_assert(obb_view_id(a->pairs[k].a) == obb_view_id(b->pairs[k].a) &&
                      obb_view_id(a->pairs[k].b) == obb_view_id(b->pairs[k].b));
        obb_plan_destroy(plans[0]);
        obb_plan_destroy(plans[1]);
        obb_view_close(from);
        obb_view_close(to);
        obb_scene_destroy(copy);
    }
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_clock_that_is_the_servers_goes_on)
{
    struct obb_scene *scene = tick_scene(100, 8);
    (void)tick_at(scene, 40, NO_TIME, "+a:1");
    struct obb_view *view = view_of(scene, NULL);
    const obb_copy copying = obb_copy_of(view, obb_str_of("copy"), 1000);
    struct obb_scene *copy = NULL;
    ck_assert_int_eq(obb_scene_copy(&copying, NULL, NULL, &copy), OBB_OK);
    obb_view_close(view);
    ck_assert_str_eq(now_in(copy), "1@40 a:1");
    (void)tick_at(copy, 1025, NO_TIME, "a:2"); /* 25 ms after the copy was made */
    ck_assert_str_eq(now_in(copy), "2@65 a:2");
    obb_scene_destroy(copy);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(a_copy_that_is_given_up_or_finds_no_memory_leaves_nothing)
{
    struct obb_scene *scene = tick_scene(100, 8);
    tick(scene, 5, "+a:1 +b:2 +c:3");
    struct obb_view *view = view_of(scene, NULL);
    const obb_copy copy = obb_copy_of(view, obb_str_of("copy"), 0);
    struct obb_scene *out = NULL;
    const atomic_bool given_up = true;
    ck_assert_int_eq(obb_scene_copy(&copy, &given_up, NULL, &out), OBB_CANCELLED);
    obb_status st = OBB_NO_MEMORY;
    size_t refused = 0;
    for (size_t n = 1; st != OBB_OK; n++) {
        fault_arm(n);
        st = obb_scene_copy(&copy, NULL, NULL, &out);
        fault_arm(0);
        refused += st == OBB_NO_MEMORY;
        ck_assert((out == NULL) == (st != OBB_OK));
    }
    ck_assert_uint_gt(refused, 10);
    struct obb_budget budget;
    obb_budget_init(&budget, 100); /* bytes: less than the work takes */
    struct obb_scene *none = NULL;
    ck_assert_int_eq(obb_scene_copy(&copy, NULL, &budget, &none), OBB_NO_MEMORY);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    const obb_copy unnamed = obb_copy_of(view, obb_str_of(".."), 0);
    ck_assert_int_eq(obb_scene_copy(&unnamed, NULL, NULL, &none), OBB_BAD_NAME);
    ck_assert_ptr_null(none);
    obb_view_close(view);
    ck_assert_str_eq(now_in(out), "1@5 a:1 b:2 c:3");
    obb_scene_destroy(out);
    obb_scene_destroy(scene);
    printf("%zu allocations refused\n", refused);
}
END_TEST

START_TEST(an_empty_scene_has_a_copy_too)
{
    struct obb_scene *scene = tick_scene(100, 8);
    struct obb_scene *copy = copy_of(scene, NULL);
    ck_assert_str_eq(now_in(copy), "1@0");
    tick(copy, 3, "+a:1");
    ck_assert_str_eq(now_in(copy), "2@3 a:1");
    obb_scene_destroy(copy);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tc = tcase_create("copy");
    tcase_add_test(tc, a_copy_holds_one_state_and_no_history);
    tcase_add_test(tc, frames_are_copied_with_their_boxes);
    tcase_add_test(tc, a_box_that_is_copied_between_two_commits_stands_where_it_is_then);
    tcase_add_test(tc, the_past_and_what_lies_between_two_commits_can_be_copied);
    tcase_add_test(tc, a_large_copy_is_the_same_to_the_bit);
    tcase_add_test(tc, a_clock_that_is_the_servers_goes_on);
    tcase_add_test(tc, a_copy_that_is_given_up_or_finds_no_memory_leaves_nothing);
    tcase_add_test(tc, an_empty_scene_has_a_copy_too);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
