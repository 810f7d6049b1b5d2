/* Large commits, prepared beside the loop, against everything else that touches their scene. */
#include "tests/server/service.h"

#include <poll.h>
#include <time.h>

enum { LARGE = 5000 };

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* The text of a commit that puts LARGE boxes, all at one height: each state of the scene has one. Owned by the caller. */
static char *large_commit(int height, const char *more)
{
    char *text = malloc((size_t)LARGE * 80 + 1000);
    ck_assert_ptr_nonnull(text);
    char *at = text + snprintf(text, 100, "{\"put\":{");
    for (int i = 0; i < LARGE; i++)
        at += snprintf(at, 80, "%s\"b%d\":{\"center\":[%d,%d,0],\"half_extents\":[0,0,0]}",
                       i > 0 ? "," : "", i, i, height);
    (void)snprintf(at, 500, "}%s}", more);
    return text;
}

/* Sends a request on a connection of its own and does not wait. */
static int begin(const char *method, const char *path, const char *body)
{
    char head[512];
    const int s = dial();
    const int length = snprintf(head, sizeof head,
                                "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                                method, path, strlen(body));
    ck_assert_int_eq(send(s, head, (size_t)length, MSG_NOSIGNAL), length);
    for (size_t sent = 0; sent < strlen(body);) {
        const ssize_t n = send(s, body + sent, strlen(body) - sent, MSG_NOSIGNAL);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    return s;
}

/* Its status; the answer, cut to size, in *out. */
static int end(int s, char *out, size_t size)
{
    size_t length = 0;
    char bytes[65536];
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;) {
        const size_t room = size - 1 - length, kept = (size_t)n < room ? (size_t)n : room;
        memcpy(out + length, bytes, kept);
        length += kept;
    }
    out[length] = '\0';
    close(s);
    return strncmp(out, "HTTP/1.1 ", 9) == 0 ? (int)strtol(out + 9, NULL, 10) : 0;
}

static void setup(void) { service_start(NULL); }

START_TEST(requests_that_come_meanwhile_see_all_of_it_or_nothing)
{
    char out[4096];
    size_t before = 0, after = 0;
    char *commits[2] = {large_commit(1, ""), large_commit(2, "")};
    int s = begin("POST", "/v1/scenes/s/commit", commits[0]);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    const int rounds = (int)test_effort(10);
    for (int round = 0; round < rounds; round++) {
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
    ck_assert_uint_gt(before + after, (size_t)rounds);
    free(commits[0]);
    free(commits[1]);
}
END_TEST

START_TEST(commits_to_one_scene_follow_each_other)
{
    enum { CLIENTS = 12 };
    char out[1024];
    int sockets[CLIENTS];
    char *commit = large_commit(1, "");
    int s = begin("POST", "/v1/scenes/s/commit", commit);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    free(commit);
    for (int i = 0; i < CLIENTS; i++) {
        commit = large_commit(2 + i, "");
        if (i % 3 == 0)
            sockets[i] = begin("POST", "/v1/scenes/s/commit", commit);
        else if (i % 3 == 1) {
            char box[100];
            (void)snprintf(box, sizeof box, "{\"center\":[0,0,%d],\"half_extents\":[1,1,1]}", i);
            sockets[i] = begin("PUT", "/v1/scenes/s/boxes/b0", box);
        } else
            sockets[i] =
                begin("POST", "/v1/scenes/s/boxes/b1/transform", "{\"translate\":[0,0,1]}");
        free(commit);
    }
    bool seen[CLIENTS + 2] = {false};
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(end(sockets[i], out, sizeof out), 200);
        const char *at = strstr(out, "\"revision\":");
        if (at == NULL) /* in the answer of a box it comes last */
            continue;
        const long revision = strtol(at + 11, NULL, 10);
        ck_assert(revision >= 2 && revision <= CLIENTS + 1 && !seen[revision]);
        seen[revision] = true;
    }
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "\"revision\":13,"));
}
END_TEST

START_TEST(a_refused_commit_leaves_no_trace)
{
    char out[4096];
    char *commit = large_commit(1, ",\"pose\":{\"nobody\":{\"center\":[0,0,0]}}");
    int s = begin("POST", "/v1/scenes/new/commit", commit);
    const int listed = begin("GET", "/v1/scenes", "");
    (void)end(listed, out, sizeof out); /* a body on a GET: refused, whatever the scenes are */
    ck_assert_int_eq(end(s, out, sizeof out), 404);
    ck_assert_ptr_nonnull(strstr(out, "\"pointer\":\"/pose/nobody\""));
    ck_assert_int_eq(ask("GET", "/v1/scenes/new", "%s", ""), 404);
    ck_assert_int_eq(ask("GET", "/v1/scenes", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "{\"scenes\":[]}"));
    ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "\nobbd_boxes 0\n"));
    free(commit);
}
END_TEST

START_TEST(a_scene_that_is_being_made_is_not_there_yet)
{
    char out[4096];
    size_t hidden = 0;
    for (int round = 0; round < 10; round++) {
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
    ck_assert_uint_gt(hidden, 0);
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

/* Every body has been dealt with; one that never is fails by the limit of the test. */
static void wait_for_no_body(void)
{
    while (ask("GET", "/metrics", "%s", "") != 200 ||
           strstr(heard, "\nobbd_in_flight_bytes 0\n") == NULL)
        wait_ms(5);
}

START_TEST(clients_that_go_meanwhile_change_nothing_or_all)
{
    size_t made = 0, given_up = 0;
    for (int round = 0; round < 20; round++) {
        char *commit = large_commit(round, "");
        const int s = begin("POST", "/v1/scenes/s/commit", commit);
        wait_ms(round % 10);
        const struct linger reset = {.l_onoff = 1};
        setsockopt(s, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(s);
        free(commit);
        wait_ms(50); /* until what was sent is read, or lost */
        wait_for_no_body();
        const int answer = ask("GET", "/v1/scenes/s", "%s", "");
        if (answer == 200) {
            ck_assert_msg(strstr(heard, "\"boxes\":5000,\"revision\":1,") != NULL, "%s", heard);
            ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
            made++;
        } else {
            ck_assert_int_eq(answer, 404);
            given_up++;
        }
    }
    printf("%zu commits were made, %zu given up\n", made, given_up);
}
END_TEST

/* The box with the largest x moves on with each commit, so that the bounds must be measured anew. */
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
    for (int round = 1; round <= rounds; round++) {
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
    ck_assert_uint_gt(after, 0);
}
END_TEST

START_TEST(a_deleted_scene_is_read_to_its_end_and_the_service_may_stop_then)
{
    static char out[1 << 21];
    char *commit = large_commit(1, "");
    for (int i = 0; i < 2; i++) {
        const int s = begin("POST", i == 0 ? "/v1/scenes/s/commit" : "/v1/scenes/t/commit", commit);
        ck_assert_int_eq(end(s, out, sizeof out), 200);
    }
    free(commit);
    const int s = begin("GET", "/v1/scenes/s/export", "");
    ck_assert_int_eq(recv(s, out, 1, MSG_PEEK), 1); /* it has its view, the last one */
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 404);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    char last[16];
    (void)snprintf(last, sizeof last, "\"b%d\"", LARGE - 1);
    ck_assert_msg(strstr(out, last) != NULL, "%s is missing", last);
    ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    (void)snprintf(last, sizeof last, "_boxes %d\n", LARGE);
    ck_assert_msg(strstr(heard, last) != NULL, "not %s", last);
    /* and while this one is destroyed the service stops */
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/t", "%s", ""), 204);
}
END_TEST

/* Makes a scene of boxes in a row, `step` apart. */
static void make_row(const char *scene, int boxes, int step)
{
    char *text = malloc((size_t)boxes * 70 + 100);
    ck_assert_ptr_nonnull(text);
    char *at = text + snprintf(text, 100, "{\"put\":{");
    for (int i = 0; i < boxes; i++)
        at += snprintf(at, 70, "%s\"b%d\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}",
                       i > 0 ? "," : "", i, i * step);
    (void)snprintf(at, 3, "}}");
    ck_assert_int_eq(end(begin("POST", scene, text), heard, 4096), 200);
    free(text);
}

/* A scene so large that it takes a while to destroy, while the service should end; and one with a query that takes longer. */
static void setup_burial(void)
{
    service_start(NULL);
    make_row("/v1/scenes/s/commit", 200000, 3);
    make_row("/v1/scenes/few/commit", 1000, 0);
}

START_TEST(requests_that_come_while_it_ends_are_answered)
{
    static const char get[] = "GET /v1/scenes/few/boxes/b0 HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      query[] = "POST /v1/scenes/few/query/all-pairs HTTP/1.1\r\n"
                                "Host: localhost\r\nContent-Type: application/json\r\n"
                                "Content-Length: 33\r\n\r\n{\"want\":[\"volume\"],\"limit\":99999}";
    char answer[4096];
    const int s = dial();
    ck_assert_int_eq(send(s, get, sizeof get - 1, MSG_NOSIGNAL), sizeof get - 1);
    ck_assert_int_gt(recv(s, answer, sizeof answer, 0), 0);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    wait_ms(3);
    /* it may be over already, then there is no answer; half of one there never is */
    (void)send(s, query, sizeof query - 1, MSG_NOSIGNAL);
    const int status = end(s, answer, sizeof answer);
    printf("answered %d\n", status);
    ck_assert_msg(status == 0 || strstr(answer, "\r\nConnection: close\r\n") != NULL, "%s", answer);
    service_join();
}
END_TEST

static void setup_small(void) { service_start((const char *[]){"--box-limit", "7500", NULL}); }

START_TEST(two_large_commits_at_once_keep_the_limit_of_boxes)
{
    char out[2][4096];
    for (int round = 0; round < 10; round++) {
        char *commit = large_commit(round, "");
        const int a = begin("POST", "/v1/scenes/a/commit", commit);
        const int b = begin("POST", "/v1/scenes/b/commit", commit);
        const int first = end(a, out[0], sizeof out[0]), second = end(b, out[1], sizeof out[1]);
        ck_assert_msg((first == 200 && second == 413) || (first == 413 && second == 200), "%d %d",
                      first, second);
        ck_assert_int_eq(ask("DELETE", first == 200 ? "/v1/scenes/a" : "/v1/scenes/b", "%s", ""),
                         204);
        free(commit);
    }
}
END_TEST

/* ---- Changes that were made, and queries that cannot be answered ------------------------------------------------------- */

static void setup_narrow(void)
{
    service_start((const char *[]){"--memory-limit", "2MiB", "--queue-limit", "1", NULL});
    make_row("/v1/scenes/s/commit", 1500, 0); /* 1.1 million pairs */
}

/* Moves b0 to x and asks for so many pairs; the commit must stand, whatever becomes of the queries. */
static void move_and_ask(int x, int pairs, const char *detail)
{
    char sought[160];
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"pose\":{\"b0\":{\"center\":[%d,0,0]}},\"queries\":["
                         "{\"kind\":\"point\",\"points\":[[9,9,9]]},"
                         "{\"kind\":\"all-pairs\",\"want\":[\"mtv\"],\"limit\":%d}]}",
                         x, pairs),
                     200);
    (void)snprintf(sought, sizeof sought,
                   "\"status\":503,\"detail\":\"%s\"}},{\"problem\":", detail);
    ck_assert_msg(strstr(heard, "\"posed\":1,") != NULL && strstr(heard, sought) != NULL &&
                      strstr(heard, "retry_after") == NULL && strstr(heard, "Retry-After") == NULL,
                  "%s", heard);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/boxes/b0", "%s", ""), 200);
    (void)snprintf(sought, sizeof sought, "\"center\":[%d,0,0]", x);
    ck_assert_msg(strstr(heard, sought) != NULL, "%s", heard);
}

START_TEST(changes_stand_where_there_is_no_room_for_their_answer)
{
    move_and_ask(5, 100000, "answers in flight use up the memory set aside for them");
    /* without changes it may be sent again */
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"queries\":[{\"kind\":\"all-pairs\",\"want\":[\"mtv\"],\"limit\":%d}]}",
                         100000),
                     503);
    ck_assert_ptr_nonnull(strstr(heard, "Retry-After: 1"));
}
END_TEST

START_TEST(changes_stand_where_the_queue_is_full)
{
    const int s =
        begin("POST", "/v1/scenes/s/query/all-pairs", "{\"want\":[\"volume\"],\"limit\":1100000}");
    do
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    while (strstr(heard, "\nobbd_queue 1\n") == NULL);
    move_and_ask(7, 100000, "too many heavy requests are waiting");
    close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer");
    TCase *tc = tcase_create("writer");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, requests_that_come_meanwhile_see_all_of_it_or_nothing);
    tcase_add_test(tc, commits_to_one_scene_follow_each_other);
    tcase_add_test(tc, a_refused_commit_leaves_no_trace);
    tcase_add_test(tc, a_scene_that_is_being_made_is_not_there_yet);
    tcase_add_test(tc, deleting_waits_for_a_commit_and_what_waits_then_finds_nothing);
    tcase_add_test(tc, clients_that_go_meanwhile_change_nothing_or_all);
    tcase_add_test(tc, bounds_that_take_long_are_those_of_their_revision);
    tcase_add_test(tc, a_deleted_scene_is_read_to_its_end_and_the_service_may_stop_then);
    suite_add_tcase(suite, tc);
    TCase *small = tcase_create("limit");
    tcase_add_checked_fixture(small, setup_small, service_stop);
    tcase_set_timeout(small, test_patience(60));
    tcase_add_test(small, two_large_commits_at_once_keep_the_limit_of_boxes);
    suite_add_tcase(suite, small);
    TCase *narrow = tcase_create("narrow");
    tcase_add_checked_fixture(narrow, setup_narrow, service_stop);
    tcase_set_timeout(narrow, test_patience(60));
    tcase_add_test(narrow, changes_stand_where_there_is_no_room_for_their_answer);
    tcase_add_test(narrow, changes_stand_where_the_queue_is_full);
    suite_add_tcase(suite, narrow);
    TCase *burial = tcase_create("burial");
    tcase_add_checked_fixture(burial, setup_burial, NULL);
    tcase_set_timeout(burial, test_patience(60));
    tcase_add_test(burial, requests_that_come_while_it_ends_are_answered);
    suite_add_tcase(suite, burial);
    return test_main(suite);
}
