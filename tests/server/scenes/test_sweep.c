/* What large commits leave behind: it is released on the pool, behind their answers. */
#include "tests/server/scenes/large.h"

static void setup(void) { service_start(NULL); }

/* Returns obbd_scene_bytes. */
static double scene_bytes(void)
{
    static char out[65536];
    ck_assert_int_eq(end(begin("GET", "/metrics", ""), out, sizeof out), 200);
    const char *at = strstr(out, "\nobbd_scene_bytes ");
    ck_assert_ptr_nonnull(at);
    return strtod(at + strlen("\nobbd_scene_bytes "), NULL);
}

static void commit_large(int height)
{
    char out[1024];
    char *commit = large_commit(height, "");
    ck_assert_int_eq(end(begin("POST", "/v1/scenes/s/commit", commit), out, sizeof out), 200);
    free(commit);
}

/* Makes a scene that keeps the newest state and the one before. */
static void make_scene(void)
{
    char out[1024];
    const char *settings = "{\"history\":{\"span\":60000,\"commits\":1}}";
    ck_assert_msg(end(begin("PUT", "/v1/scenes/s", settings), out, sizeof out) == 201, "%s", out);
}

/* The second commit leaves two versions of each box, and each later one three, of which the oldest
 * goes without a further commit. */
START_TEST(a_large_commit_is_swept_behind_its_answer)
{
    make_scene();
    commit_large(1);
    commit_large(2);
    const double two = scene_bytes();
    const int rounds = (int)test_effort(5);
    size_t looks = 0;
    for (int height = 3; height < 3 + rounds; height++) {
        commit_large(height);
        double bytes = scene_bytes();
        for (int tries = 0; bytes > two + LARGE * 72.0 && tries < 1000 * test_timeout(1); tries++) {
            test_rest(10);
            bytes = scene_bytes();
            looks++;
        }
        ck_assert_msg(bytes < two + LARGE * 72.0, "%.0f bytes, %.0f with two states", bytes, two);
    }
    printf("%d commits were swept after %zu further looks\n", rounds, looks);
}
END_TEST

/* Questions about the newest state and the one before, and the end of the scene, while it is swept.
 * Box b1 of state n is the point (1, n, 0). */
START_TEST(what_comes_meanwhile_waits)
{
    enum { AT_ONCE = 6, STATES = 4 };
    char out[1024], question[100];
    size_t answers = 0;
    const int rounds = (int)test_effort(10);
    for (int round = 0; round < rounds; round++) {
        int open[AT_ONCE];
        make_scene();
        for (int state = 1; state <= STATES; state++) {
            commit_large(state);
            for (int i = 0; i < AT_ONCE; i++) {
                (void)snprintf(question, sizeof question,
                               "{\"points\":[[1,%d,0]],\"at\":{\"revision\":%d}}", state - i % 2,
                               state - i % 2);
                open[i] = begin("POST", "/v1/scenes/s/query/point", question);
            }
            for (int i = 0; i < AT_ONCE; i++) {
                ck_assert_msg(end(open[i], out, sizeof out) == 200, "%s", out);
                const bool there = strstr(out, "\"b1\"") != NULL;
                ck_assert_msg(there == (state - i % 2 > 0), "%s", out);
                answers++;
            }
        }
        ck_assert_int_eq(end(begin("DELETE", "/v1/scenes/s", ""), out, sizeof out), 204);
    }
    printf("%zu answers, %d scenes ended\n", answers, rounds);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sweep");
    TCase *tc = tcase_create("sweep");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_large_commit_is_swept_behind_its_answer);
    tcase_add_test(tc, what_comes_meanwhile_waits);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
