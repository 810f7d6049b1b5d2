/* Locked scenes: everything else that touches a scene while a large commit to it is being
 * prepared. */
#include "tests/server/scenes/large.h"

static void setup(void) { service_start(NULL); }

START_TEST(requests_that_come_meanwhile_see_all_of_it_or_nothing)
{
    char out[4096];
    size_t before = 0, after = 0;
    char *commits[2] = {large_commit(1, ""), large_commit(2, "")};
    int s = begin("POST", "/v1/scenes/s/commit", commits[0]);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    const int rounds = (int)test_effort(10);
    int round = 0;
    /* until some commit took longer than one query */
    for (; round < rounds || before + after <= (size_t)round; round++) {
        s = begin("POST", "/v1/scenes/s/commit", commits[(round + 1) % 2]);
        for (bool done = false; !done;) {
            struct pollfd ready = {.fd = s, .events = POLLIN};
            done = poll(&ready, 1, 0) > 0;
            /* all boxes of a state are at one height: the first and the last say the same */
            ck_assert_int_eq(ask("POST", "/v1/scenes/s/query/nearest",
                                 "{\"points\":[[0,0,0],[%d,0,0]]}", LARGE - 1),
                             200);
            const char *first = strstr(heard, "\"distance\":"), *last = NULL;
            ck_assert_ptr_nonnull(first);
            last = strstr(first + 1, "\"distance\":");
            ck_assert_ptr_nonnull(last);
            ck_assert_int_eq(first[11], last[11]);
            const bool new = first[11] == (round % 2 == 0 ? '2' : '1');
            before += !new;
            after += new;
        }
        ck_assert_int_eq(end(s, out, sizeof out), 200);
        ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 200);
        char revision[32];
        (void)snprintf(revision, sizeof revision, "\"revision\":%d,", round + 2);
        ck_assert_msg(strstr(heard, revision) != NULL, "%s", heard);
    }
    printf("%zu queries saw the state before, %zu the one after\n", before, after);
    free(commits[0]);
    free(commits[1]);
}
END_TEST

START_TEST(a_scene_that_is_being_made_is_not_there_yet)
{
    char out[4096];
    size_t hidden = 0;
    for (int round = 0; round < 10 || hidden == 0; round++) {
        char *commit = large_commit(round, "");
        const int s = begin("POST", "/v1/scenes/s/commit", commit);
        free(commit);
        for (bool done = false; !done;) {
            struct pollfd ready = {.fd = s, .events = POLLIN};
            done = poll(&ready, 1, 0) > 0;
            ck_assert_int_eq(ask("GET", "/v1/scenes", "%s", ""), 200);
            hidden += strstr(heard, "{\"scenes\":[]}") != NULL;
            ck_assert(strstr(heard, "{\"scenes\":[]}") != NULL ||
                      strstr(heard, "\"boxes\":5000,\"revision\":1}") != NULL);
        }
        ck_assert_int_eq(end(s, out, sizeof out), 200);
        ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    }
}
END_TEST

START_TEST(deleting_waits_for_a_commit_and_what_waits_then_finds_nothing)
{
    char out[4096];
    for (int round = 0; round < 10; round++) {
        char *commit = large_commit(round, ",\"queries\":[{\"kind\":\"all-pairs\"}]");
        int s = begin("POST", "/v1/scenes/s/commit", commit);
        ck_assert_int_eq(end(s, out, sizeof out), 200);
        s = begin("POST", "/v1/scenes/s/commit", commit);
        const int gone = begin("DELETE", "/v1/scenes/s", "");
        const int box = begin("POST", "/v1/scenes/s/query/point", "{\"points\":[[0,0,0]]}");
        /* whichever came first: nothing hangs, nothing breaks */
        const int committed = end(s, out, sizeof out);
        ck_assert_msg(committed == 200, "%d %s", committed, out);
        const int deleted = end(gone, out, sizeof out);
        ck_assert_msg(deleted == 204 || deleted == 400, "%d %s", deleted, out);
        const int found = end(box, out, sizeof out);
        ck_assert_msg(found == 200 || found == 404, "%d %s", found, out);
        (void)ask("DELETE", "/v1/scenes/s", "%s", "");
        free(commit);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lock");
    TCase *tc = tcase_create("lock");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, requests_that_come_meanwhile_see_all_of_it_or_nothing);
    tcase_add_test(tc, a_scene_that_is_being_made_is_not_there_yet);
    tcase_add_test(tc, deleting_waits_for_a_commit_and_what_waits_then_finds_nothing);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
