#include "tests/proto/request/requests.h"

START_TEST(poses_in_columns_are_those_by_name)
{
    check_same(DUMP_COMMIT, 3,
               "{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4.5,5,6],\"rotations\":"
               "[0,0,0,1,0.6,0,0,0.8]}}",
               "{\"pose\":{\"a\":{\"center\":[1,2,3],\"rotation\":[0,0,0,1]},"
               "\"b\":{\"center\":[4.5,5,6],\"rotation\":[0.6,0,0,0.8]}}}");
    check_same(DUMP_COMMIT, 3, "{\"pose\":{\"centers\":[1,2,3],\"names\":[\"a\"]}}",
               "{\"pose\":{\"a\":{\"center\":[1,2,3]}}}");
    check_same(
        DUMP_COMMIT, 2,
        "{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4],\"angles\":[5,6]}}",
        "{\"pose\":{\"a\":{\"center\":[1,2],\"angle\":5},\"b\":{\"center\":[3,4],\"angle\":6}}}");
    check_same(DUMP_COMMIT, 3, "{\"pose\":{\"names\":[],\"centers\":[]}}", "{}");
    /* boxes that are called like columns */
    check_taken(DUMP_COMMIT, 3, "{\"pose\":{\"names\":{\"center\":[0,0,0]},\"ids\":{}}}");
    const wire_body by_ids =
        json("{\"pose\":{\"ids\":[7,9007199254740992],\"centers\":[1,2,3,4,5,6]}}");
    const wire_commit commit = commit_of(&by_ids, 3);
    ck_assert(commit.form.pose_ids && !commit.form.pose_names && commit.edit.pose_count == 2);
    ck_assert(commit.edit.poses[0].target.has_id && commit.edit.poses[0].target.id == 7);
    ck_assert(commit.edit.poses[1].target.id == (uint64_t)1 << 53);
    ck_assert(commit.edit.poses[1].center.z == 6 && !commit.edit.poses[1].has_rotation);
    const wire_body by_names = json("{\"pose\":{\"names\":[\"a\"],\"centers\":[1,2,3]}}");
    ck_assert(commit_of(&by_names, 3).form.pose_names);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pose_columns");
    TCase *tc = tcase_create("pose_columns");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, poses_in_columns_are_those_by_name);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
