/* The bounds of large scenes, measured on the pool, against commits to the same scene. */
#include "tests/server/scenes/large.h"

static void setup(void) { service_start(NULL); }

/* The box with the largest x moves on with each commit, so that the bounds must be measured
 * anew. */
START_TEST(bounds_that_take_long_are_those_of_their_revision)
{
    enum { READERS = 4 };
    char out[1024], body[100];
    char *commit = large_commit(1, "");
    int s = begin("POST", "/v1/scenes/s/commit", commit);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    free(commit);
    size_t before = 0, after = 0;
    const int rounds = (int)test_effort(25);
    for (int round = 1; round <= rounds || after == 0; round++) {
        int readers[READERS];
        (void)snprintf(body, sizeof body, "{\"pose\":{\"b%d\":{\"center\":[%d,1,0]}}}", LARGE - 1,
                       LARGE + round);
        for (int i = 0; i < READERS; i++) {
            readers[i] = begin("GET", "/v1/scenes/s", "");
            if (i == READERS / 2)
                s = begin("POST", "/v1/scenes/s/commit", body);
        }
        ck_assert_int_eq(end(s, out, sizeof out), 200);
        for (int i = 0; i < READERS; i++) {
            char bounds[80];
            ck_assert_int_eq(end(readers[i], out, sizeof out), 200);
            const char *at = strstr(out, "\"revision\":");
            ck_assert_ptr_nonnull(at);
            const int revision = (int)strtol(at + 11, NULL, 10);
            ck_assert(revision == round || revision == round + 1);
            (void)snprintf(bounds, sizeof bounds, "\"bounds\":{\"min\":[0,1,0],\"max\":[%d,1,0]}",
                           revision == 1 ? LARGE - 1 : LARGE + revision - 1);
            ck_assert_msg(strstr(out, bounds) != NULL, "not %s: %s", bounds, out);
            before += revision == round;
            after += revision > round;
        }
    }
    printf("%zu bounds of the state before, %zu of the one after\n", before, after);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("measure");
    TCase *tc = tcase_create("measure");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, bounds_that_take_long_are_those_of_their_revision);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
