/* A channel ends with its scene or with the service, and its subscribers are told. */
#include "tests/server/events/following.h"

static struct follower one, two;

static void setup(void) { service_start(NULL); }

/* Writes the id of a message about the revision, in the epoch of the answer heard last. */
static void id_of(int revision, char *out, size_t size)
{
    const char *epoch = strstr(heard, "Obbd-Epoch: ");
    ck_assert_ptr_nonnull(epoch);
    (void)snprintf(out, size, "%d.%.16s", revision, epoch + 12);
}

START_TEST(a_deleted_scene_says_so_and_one_made_again_is_another)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    char then[64], now[64];
    id_of(2, then, sizeof then);
    follow(&one, "/v1/scenes/s/events", NULL);
    expect(&one, "state", 1, "[]");
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b", BOX(1)), 201);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/c", BOX(0)), 201);
    id_of(2, now, sizeof now);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    expect(&one, "boxes", -1, "\"b\"");
    expect(&one, "commit", 2, "");
    expect(&one, "gone", -1, "\"revision\":2");
    struct follower_message message;
    ck_assert(!follower_next(&one, FOLLOWER_PATIENT, &message));
    ck_assert(one.ended);
    follower_close(&one);
    static const char *const paths[] = {"/v1/scenes/s/events?topics=collisions",
                                        "/v1/scenes/s/events?topics=boxes",
                                        "/v1/scenes/s/events?topics=commits"};
    for (size_t i = 0; i < 3; i++) {
        follow(&two, paths[i], then);
        expect(&two, "state", 2, "[[\"a\",\"c\"]]");
        follower_close(&two);
        follow(&two, paths[i], "3"); /* a revision that this one never had */
        expect(&two, "state", 2, "[[\"a\",\"c\"]]");
        follower_close(&two);
        follow(&two, paths[i], i % 2 == 0 ? now : "2"); /* a bare revision is of this epoch */
        expect_nothing(&two);
        follower_close(&two);
    }
}
END_TEST

START_TEST(the_end_of_the_service_is_the_last_message)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", "%s", BOX(0)), 201);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/t/boxes/a", "%s", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    follow(&two, "/v1/scenes/t/events?topics=collisions,commits", NULL);
    expect(&two, "state", 1, "[]");
    expect(&one, "state", 1, "\"pairs\":[]");
    ck_assert_int_eq(ask("PUT", "/v1/scenes/t/boxes/b", "%s", BOX(9)), 201);
    expect(&two, "commit", 2, "\"put\":1");
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    expect(&one, "shutdown", -1, "{\"revision\":1,");
    expect(&two, "shutdown", -1, "{\"revision\":2,");
    struct follower_message message;
    struct follower *const both[] = {&one, &two};
    for (int i = 0; i < 2; i++) { /* and the streams end as they should */
        ck_assert_msg(!follower_next(both[i], FOLLOWER_PATIENT, &message), "%s", message.event);
        ck_assert(both[i]->ended);
        follower_close(both[i]);
    }
}
END_TEST

/* ---- Coming back ----------------------------------------------------------------------------- */

static const char *const every_set[] = {"/v1/scenes/s/events?topics=collisions",
                                        "/v1/scenes/s/events?topics=boxes",
                                        "/v1/scenes/s/events?topics=commits",
                                        "/v1/scenes/s/events?topics=collisions,boxes",
                                        "/v1/scenes/s/events?topics=collisions,commits",
                                        "/v1/scenes/s/events?topics=boxes,commits",
                                        "/v1/scenes/s/events"};
enum { EVERY_SET = sizeof every_set / sizeof every_set[0] };

/* Reads messages up to the last one about the revision, as text. */
static void read_up_to(struct follower *f, long revision, char *out, size_t size)
{
    struct follower_message message = {.id = -1};
    size_t length = 0;
    while (message.id < revision) {
        ck_assert_msg(follower_next(f, FOLLOWER_PATIENT, &message), "%ld: %s", revision, out);
        length += (size_t)snprintf(out + length, size - length, "%ld %s %s\n", message.id,
                                   message.event, message.data);
        ck_assert_uint_lt(length, size);
    }
}

/* Boxes come, move, touch, part and go; every commit is something to every topic. */
static void commit_any(int revision)
{
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"remove\":[\"c%d\"],\"put\":{\"c%d\":" BOX(50) ",\"d\":" BOX(
                             51) "},\"pose\":{\"a\":{\"center\":[%d,0,0]}},"
                                 "\"transform\":{\"b\":{\"translate\":[%d,0,0]}}}",
                         revision - 2, revision, revision % 3 * 2, revision % 2 == 0 ? 3 : -3),
                     200);
}

START_TEST(who_comes_back_is_told_what_others_were_told_meanwhile)
{
    enum { COMMITS = 40, BACK = 30 };
    static char told[EVERY_SET][COMMITS + 1][4096], again[COMMITS * 4096];
    static struct follower stays[EVERY_SET];
    ck_assert_int_eq(
        ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":%d}}", BACK), 201);
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit", "{\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) "}}"), 200);
    for (size_t i = 0; i < EVERY_SET; i++) {
        follow(&stays[i], every_set[i], NULL);
        if (strstr(every_set[i], "boxes") == every_set[i] + 27 ||
            strstr(every_set[i], "=commits") != NULL)
            expect_nothing(&stays[i]);
        else
            expect(&stays[i], "state", 1, "[[\"a\",\"b\"]]");
    }
    for (int revision = 2; revision <= COMMITS; revision++) {
        commit_any(revision);
        for (size_t i = 0; i < EVERY_SET; i++)
            read_up_to(&stays[i], revision, told[i][revision], sizeof told[i][revision]);
    }
    for (size_t i = 0; i < EVERY_SET; i++)
        follower_close(&stays[i]);
    /* nobody follows any more; each asks for what it missed since */
    for (int last = 0; last <= COMMITS; last++) {
        char id[16];
        (void)snprintf(id, sizeof id, "%d", last);
        for (size_t i = 0; i < EVERY_SET; i++) {
            const char *at = again;
            follow(&one, every_set[i], id);
            if (last < COMMITS - BACK) {
                expect(&one, "state", COMMITS, "\"pairs\":[");
            } else if (last == COMMITS) {
                if (i == 0)
                    expect_nothing(&one);
            } else {
                read_up_to(&one, COMMITS, again, sizeof again);
                for (int revision = last + 1; revision <= COMMITS; revision++) {
                    const size_t length = strlen(told[i][revision]);
                    ck_assert_msg(strncmp(at, told[i][revision], length) == 0,
                                  "%s, back from %d: %s and not %s", every_set[i], last, at,
                                  told[i][revision]);
                    at += length;
                }
                ck_assert_str_eq(at, "");
            }
            follower_close(&one);
        }
    }
}
END_TEST

START_TEST(who_comes_back_goes_on_with_what_comes)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b",
                             "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}", i % 2 == 0 ? 1 : 9),
                         i == 0 ? 201 : 200);
    follow(&one, "/v1/scenes/s/events?topics=collisions", "2"); /* it saw the first of the three */
    expect(&one, "end", 3, "\"pairs\":[[\"a\",\"b\"]]}");
    expect(&one, "begin", 4, "\"pairs\":[[\"a\",\"b\"]]}");
    follow(&two, "/v1/scenes/s/events?topics=collisions", "4");
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/b", "%s", ""), 204);
    expect(&one, "end", 5, "\"reason\":\"removed\"}");
    expect(&two, "end", 5, "\"reason\":\"removed\"}");
    follower_close(&one);
    follower_close(&two);
    /* a revision that never was, or no number, is a beginning, whatever the topics are */
    static const char *const others[] = {"99", "x", "-1", "5x", "18446744073709551617", ""};
    for (size_t k = 0; k < sizeof others / sizeof others[0]; k++)
        for (size_t i = 0; i < EVERY_SET; i++) {
            follow(&one, every_set[i], others[k]);
            expect(&one, "state", 5, "\"pairs\":[]");
            follower_close(&one);
        }
}
END_TEST

/* More commits than one step of the pool works off, with a scene that is removed meanwhile. */
START_TEST(a_long_way_back_is_gone_in_several_steps)
{
    enum { COMMITS = 300 };
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":4096}}"),
                     201);
    for (int i = 1; i <= COMMITS; i++)
        ck_assert_int_eq(
            ask("PUT", "/v1/scenes/s/boxes/a", "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}", i),
            i == 1 ? 201 : 200);
    static struct follower many[20];
    for (size_t k = 0; k < 20; k++)
        follow(&many[k], "/v1/scenes/s/events?topics=boxes,commits", "0");
    for (size_t k = 0; k < 20; k++)
        for (int i = 1; i <= COMMITS; i++) {
            expect(&many[k], "boxes", -1, "\"put\":[\"a\"]");
            expect(&many[k], "commit", i, "\"put\":1,");
        }
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    for (size_t k = 0; k < 20; k++) {
        expect(&many[k], "gone", -1, "\"revision\":300");
        follower_close(&many[k]);
    }
}
END_TEST

/* Sends a commit of many boxes, which is prepared on the pool behind the lock of the scene, and
 * does not wait for its answer. */
static int begin_large_commit(int round)
{
    enum { MANY = 6000 };
    static char body[1 << 20], head[256];
    size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
    for (int i = 0; i < MANY; i++)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "%s\"box-%d\":{\"center\":[%d,%d,9],\"half_extents\":[0,0,0]}",
                                   i > 0 ? "," : "", i, 3 * i, round);
    length += (size_t)snprintf(body + length, sizeof body - length, "}}");
    const int head_length =
        snprintf(head, sizeof head,
                 "POST /v1/scenes/s/commit HTTP/1.1\r\nHost: localhost\r\n"
                 "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                 length);
    const int s = dial();
    ck_assert_int_eq(send(s, head, (size_t)head_length, MSG_NOSIGNAL), head_length);
    for (size_t sent = 0; sent < length;) {
        const ssize_t n = send(s, body + sent, length - sent, MSG_NOSIGNAL);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    return s;
}

/* The views of what a client missed are opened some at a time, and not while the scene is locked:
 * so it waits with them, or goes on with the next ones, or is gone meanwhile. */
START_TEST(a_long_way_back_goes_on_while_large_commits_are_prepared)
{
    enum { COMMITS = 300, ROUNDS = 8, BACK = 6 };
    static struct follower back[BACK];
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":4096}}"),
                     201);
    for (int i = 1; i <= COMMITS; i++)
        ck_assert_int_eq(
            ask("PUT", "/v1/scenes/s/boxes/a", "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}", i),
            i == 1 ? 201 : 200);
    for (int round = 1; round <= ROUNDS; round++) {
        const int s = begin_large_commit(round);
        for (size_t k = 0; k < BACK; k++)
            follow(&back[k],
                   k % 2 == 0 ? "/v1/scenes/s/events?topics=commits"
                              : "/v1/scenes/s/events?topics=collisions,commits&rate=1000",
                   "0");
        follower_close(&back[0]); /* before it was told anything, perhaps */
        for (size_t k = 1; k < BACK; k++) {
            struct follower_message message = {.id = -1};
            long last = 0;
            while (last < COMMITS + round) {
                ck_assert_msg(follower_next(&back[k], FOLLOWER_PATIENT, &message), "%ld", last);
                ck_assert_msg(k % 2 == 1 || message.id == last + 1, "%ld after %ld", message.id,
                              last);
                last = message.id > last ? message.id : last;
            }
            follower_close(&back[k]);
        }
        char answer[64];
        ck_assert_int_gt(recv(s, answer, sizeof answer, 0), 12);
        ck_assert_int_eq(strncmp(answer, "HTTP/1.1 200", 12), 0);
        close(s);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("channel");
    TCase *tc = tcase_create("channel");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_deleted_scene_says_so_and_one_made_again_is_another);
    tcase_add_test(tc, who_comes_back_is_told_what_others_were_told_meanwhile);
    tcase_add_test(tc, who_comes_back_goes_on_with_what_comes);
    tcase_add_test(tc, a_long_way_back_is_gone_in_several_steps);
    tcase_add_test(tc, a_long_way_back_goes_on_while_large_commits_are_prepared);
    suite_add_tcase(suite, tc);
    TCase *end = tcase_create("end");
    tcase_add_checked_fixture(end, setup, service_join);
    tcase_set_timeout(end, test_patience(60));
    tcase_add_test(end, the_end_of_the_service_is_the_last_message);
    suite_add_tcase(suite, end);
    return test_main(suite);
}
