#include "proto/request/edit_problem.h"
#include "tests/support/test.h"

#include <string.h>

static obb_target named(const char *name) { return (obb_target){.name = obb_str_of(name)}; }

START_TEST(the_fault_of_a_commit_points_at_its_entry)
{
    const obb_target removes[] = {named("r0"), named("r1")};
    const obb_if_box conditions[] = {{.target = named("a")}, {.target = named("i/j")}};
    const obb_put puts[] = {{.target = named("p0")}, {.target = named("a/b~c")}};
    const obb_pose poses[] = {{.target = named("q0")}, {.target = named("q1")}};
    const obb_transform_edit changes[] = {
        {.target = named("t0"), .transform = {.has_scale = true}},
        {.target = named("t1"), .transform = {.has_matrix = true}},
        {.target = named("t2"), .transform = {.has_rotate = true}}};
    const double times[] = {7.0, 9.5};
    const obb_needed_moment moments[3] = {
        {.dimensions = 3}, {.dimensions = 3, .times = times, .count = 2}, {.dimensions = 3}};
    const obb_merge merge = {.target = named("m")};
    const obb_pose frame_poses[] = {{.target = named("f0")}};
    wire_commit commit = {.edit = {.has_time = true,
                                   .has_if_revision = true,
                                   .if_boxes = conditions,
                                   .if_box_count = 2,
                                   .removes = removes,
                                   .remove_count = 2,
                                   .frames = frame_poses,
                                   .frame_count = 1,
                                   .puts = puts,
                                   .put_count = 2,
                                   .poses = poses,
                                   .pose_count = 2,
                                   .transforms = changes,
                                   .transform_count = 3,
                                   .moments = moments,
                                   .moment_count = 3,
                                   .merges = &merge,
                                   .merge_count = 1}};
    const obb_query tagged[3] = {
        {.has_at = true}, {.has_tag = true}, {.has_tag = true, .tag = obb_str_of("two")}};
    wire_commit asking = commit;
    asking.queries = tagged;
    asking.query_count = 3;
    const obb_str names[] = {obb_str_of("a"), obb_str_of("b")}, *frames = names;
    const obb_put_columns one_frame = {.rest = {.frame = names[0]}, .names = names},
                          many_frames = {.names = names, .frames = frames};
    wire_commit by_names = commit, by_ids = commit, by_header = commit, framed = commit,
                framed_each = commit;
    framed.form.put_columns = framed_each.form.put_columns = true;
    framed.edit.puts = framed_each.edit.puts = NULL;
    framed.edit.put_columns = &one_frame;
    framed_each.edit.put_columns = &many_frames;
    by_names.form.put_columns = by_names.form.pose_names = true;
    by_ids.form.pose_ids = true;
    by_header.edit.has_if_revision = false;
    const struct {
        const wire_commit *commit;
        obb_status status;
        obb_fault fault;
        const char *pointer;
    } cases[] = {
        {&commit, OBB_TIME_BACKWARDS, {.group = OBB_GROUP_TIME}, "/time"},
        {&commit, OBB_REVISION, {.group = OBB_GROUP_IF_REVISION}, "/if_revision"},
        {&by_header, OBB_REVISION, {.group = OBB_GROUP_IF_REVISION}, NULL},
        {&commit, OBB_REVISION, {.group = OBB_GROUP_IF_BOX, .index = 1}, "/if_box/i~1j"},
        {&commit, OBB_NO_BOX, {.group = OBB_GROUP_REMOVE, .index = 1}, "/remove/1"},
        {&commit, OBB_LIMIT, {.group = OBB_GROUP_PUT, .index = 0}, "/put/p0"},
        {&commit, OBB_LIMIT, {.group = OBB_GROUP_PUT, .index = 1}, "/put/a~1b~0c"},
        {&by_names, OBB_LIMIT, {.group = OBB_GROUP_PUT, .index = 1}, "/put/names/1"},
        {&framed, OBB_NO_FRAME, {.group = OBB_GROUP_PUT, .index = 1}, "/put/frames"},
        {&framed_each, OBB_NO_FRAME, {.group = OBB_GROUP_PUT, .index = 1}, "/put/frames/1"},
        {&framed_each, OBB_LIMIT, {.group = OBB_GROUP_PUT, .index = 1}, "/put/names/1"},
        {&commit, OBB_NO_BOX, {.group = OBB_GROUP_POSE, .index = 1}, "/pose/q1"},
        {&by_names, OBB_NO_BOX, {.group = OBB_GROUP_POSE, .index = 1}, "/pose/names/1"},
        {&by_ids, OBB_NO_BOX, {.group = OBB_GROUP_POSE, .index = 0}, "/pose/ids/0"},
        {&commit, OBB_NO_BOX, {.group = OBB_GROUP_TRANSFORM}, "/transform/t0"},
        {&commit, OBB_SHEARED, {.group = OBB_GROUP_TRANSFORM}, "/transform/t0/scale"},
        {&commit, OBB_SHEARED, {.group = OBB_GROUP_TRANSFORM, .index = 1}, "/transform/t1/matrix"},
        {NULL, OBB_SHEARED, {.group = OBB_GROUP_TRANSFORM, .index = 1}, "/matrix"},
        {&commit,
         OBB_BAD_NUMBER,
         {.group = OBB_GROUP_TRANSFORM, .index = 2},
         "/transform/t2/rotate"},
        {NULL, OBB_BAD_NUMBER, {.group = OBB_GROUP_TRANSFORM, .index = 2}, "/rotate"},
        {NULL, OBB_BAD_NUMBER, {.group = OBB_GROUP_TRANSFORM}, "/scale"},
        {NULL, OBB_SHEARED, {.group = OBB_GROUP_TRANSFORM}, "/scale"},
        {NULL, OBB_NO_BOX, {.group = OBB_GROUP_TRANSFORM}, NULL},
        {NULL, OBB_NO_MEMORY, {.group = OBB_GROUP_TRANSFORM}, NULL},
        {NULL, OBB_SINGULAR, {.group = OBB_GROUP_TRANSFORM}, "/scale"},
        {NULL, OBB_BAD_NUMBER, {.group = OBB_GROUP_MERGE}, "/with"},
        {&commit, OBB_GONE, {.group = OBB_GROUP_MOMENT, .index = 2}, "/queries/2/at"},
        {&commit, OBB_DIMENSIONS, {.group = OBB_GROUP_MOMENT, .index = 2}, "/queries/2"},
        {&commit,
         OBB_GONE,
         {.group = OBB_GROUP_MOMENT, .index = 1, .member = 1},
         "/queries/1/rays/times/1"},
        {&commit, OBB_NO_MEMORY, {.group = OBB_GROUP_NONE}, NULL},
        {NULL, OBB_NO_BOX, {.group = OBB_GROUP_PUT}, NULL},
        {NULL, OBB_BAD_NUMBER, {.group = OBB_GROUP_PUT}, ""},
        {NULL, OBB_BAD_NUMBER, {.group = OBB_GROUP_POSE}, ""},
        {NULL, OBB_BAD_NUMBER, {.group = OBB_GROUP_FRAMES}, ""},
    };
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < 3; i++) {
        const obb_fault fault = {.group = OBB_GROUP_MOMENT, .index = i};
        const wire_problem problem =
            wire_problem_of_edit(OBB_GONE, &fault, &asking, &asking.edit, &arena);
        ck_assert(problem.has_tag == tagged[i].has_tag);
        ck_assert(obb_str_equal(problem.tag, tagged[i].tag));
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wire_problem problem = wire_problem_of_edit(
            cases[i].status, &cases[i].fault, cases[i].commit,
            cases[i].commit != NULL ? &cases[i].commit->edit : &commit.edit, &arena);
        ck_assert_int_eq(problem.status, wire_problem_of(cases[i].status).status);
        if (cases[i].pointer == NULL)
            ck_assert_ptr_null(problem.pointer);
        else
            ck_assert_str_eq(problem.pointer, cases[i].pointer);
    }
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_refusal_of_the_scene_says_what_was_found)
{
    const obb_target removes[] = {named("r0")};
    const obb_pose poses[] = {{.target = {.id = 7, .has_id = true}}};
    const obb_needed_moment moments[] = {
        {.dimensions = 2, .at = {.kind = OBB_AT_AGO, .time = 2.5}}};
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .time = 1.5,
                           .if_revision = 41,
                           .removes = removes,
                           .poses = poses,
                           .moments = moments};
    const obb_moment oldest = {.revision = 3, .time = 10}, newest = {.revision = 9, .time = 20.25};
    static const struct {
        obb_status status;
        obb_group group;
        const char *detail;
    } cases[] = {
        {OBB_NO_BOX, OBB_GROUP_REMOVE, "there is no box \"r0\""},
        {OBB_NO_BOX, OBB_GROUP_POSE, "there is no box of the id 7"},
        {OBB_REVISION, OBB_GROUP_IF_REVISION,
         "found the scene at revision 9; the condition asks for 41"},
        {OBB_TIME_BACKWARDS, OBB_GROUP_TIME,
         "found 1.5; the last commit is of 20.25, and a time is not before it unless "
         "\"restart\" is true"},
        {OBB_DIMENSIONS, OBB_GROUP_NONE,
         "found 3 dimensions; the scene has 4, which may change while it has no box and no frame"},
        {OBB_DIMENSIONS, OBB_GROUP_MOMENT,
         "found ago 2.5, which has 4 dimensions; the query has 2"},
        {OBB_GONE, OBB_GROUP_MOMENT,
         "found ago 2.5; kept are the revisions 3 to 9, of the times 10 to 20.25"},
    };
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const obb_fault fault = {
            .group = cases[i].group, .oldest = oldest, .newest = newest, .dimensions = 4};
        ck_assert_str_eq(wire_problem_of_edit(cases[i].status, &fault, NULL, &edit, &arena).detail,
                         cases[i].detail);
    }
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_matrix_says_what_is_wrong_with_it)
{
    const obb_transform_edit change = {.target = named("a"), .transform = {.has_matrix = true}};
    const obb_edit edit = {.transforms = &change, .transform_count = 1};
    const obb_fault fault = {.group = OBB_GROUP_TRANSFORM};
    struct obb_arena arena;
    obb_arena_init(&arena);
    wire_problem problem = wire_problem_of_edit(OBB_BAD_VALUE, &fault, NULL, &edit, &arena);
    ck_assert_str_eq(problem.pointer, "/matrix");
    ck_assert_ptr_nonnull(strstr(problem.detail, "bottom row"));
    problem = wire_problem_of_edit(OBB_SINGULAR, &fault, NULL, &edit, &arena);
    ck_assert_str_eq(problem.pointer, "/matrix");
    ck_assert_ptr_nonnull(strstr(problem.detail, "columns"));
    problem = wire_problem_of_edit(OBB_NO_BOX, &fault, NULL, &edit, &arena);
    ck_assert_ptr_null(problem.pointer);
    ck_assert_str_eq(problem.detail, "there is no box \"a\"");
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_state_that_is_gone_says_what_is_kept)
{
    const obb_fault fault = {.group = OBB_GROUP_MOMENT,
                             .oldest = {.revision = 3, .time = 1.5},
                             .newest = {.revision = 9, .time = 7.5}};
    const obb_needed_moment moment = {.at = {.kind = OBB_AT_REVISION}};
    const wire_commit commit = {.edit = {.moments = &moment, .moment_count = 1}};
    struct obb_arena arena;
    obb_arena_init(&arena);
    const wire_problem problem =
        wire_problem_of_edit(OBB_GONE, &fault, &commit, &commit.edit, &arena);
    ck_assert(problem.has_range && problem.oldest.revision == 3 && problem.newest.revision == 9);
    ck_assert(problem.oldest.time == 1.5 && problem.newest.time == 7.5);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(a_merge_points_at_the_member_that_is_not_there)
{
    const obb_target with[] = {named("b"), named("c")};
    const obb_merge merge = {.target = named("a"), .with = with, .with_count = 2};
    const obb_edit edit = {.merges = &merge, .merge_count = 1};
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_fault member = {.group = OBB_GROUP_MERGE, .member = 1};
    ck_assert_str_eq(wire_problem_of_edit(OBB_NO_BOX, &member, NULL, &edit, &arena).pointer,
                     "/with/1");
    const obb_fault target = {.group = OBB_GROUP_MERGE, .member = SIZE_MAX};
    ck_assert_ptr_null(wire_problem_of_edit(OBB_NO_BOX, &target, NULL, &edit, &arena).pointer);
    obb_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edit_problem");
    TCase *tc = tcase_create("edit_problem");
    tcase_add_test(tc, the_fault_of_a_commit_points_at_its_entry);
    tcase_add_test(tc, a_refusal_of_the_scene_says_what_was_found);
    tcase_add_test(tc, a_matrix_says_what_is_wrong_with_it);
    tcase_add_test(tc, a_state_that_is_gone_says_what_is_kept);
    tcase_add_test(tc, a_merge_points_at_the_member_that_is_not_there);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
