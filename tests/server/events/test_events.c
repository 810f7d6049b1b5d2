/* Event streams of the whole service, in this process, over real sockets. */
#include "tests/server/service.h"
#include "tests/support/follower.h"

#include <time.h>

static void setup(void) { service_start(NULL); }

/* ---- A follower ------------------------------------------------------------------------------------------------------ */

static void follow(struct follower *f, const char *path, const char *last)
{
    follower_open(f, dial(), path, last);
}

static void expect(struct follower *f, const char *event, long id, const char *data)
{
    struct follower_message message;
    ck_assert_msg(follower_next(f, 3000, &message), "no %s came: %s", event, f->text);
    ck_assert_str_eq(message.event, event);
    ck_assert_msg(strstr(message.data, data) != NULL, "%s instead of %s", message.data, data);
    ck_assert_msg(message.id == id, "%s: id %ld, not %ld", event, message.id, id);
}

static void expect_nothing(struct follower *f)
{
    struct follower_message message;
    ck_assert_msg(!follower_next(f, 50, &message), "%s", message.event);
    ck_assert(!f->ended);
}

#define BOX(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"

static struct follower one, two;

START_TEST(collisions_begin_and_end_and_go_with_their_boxes)
{
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"time\":1,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) "}}"),
                     200);
    follow(&one, "/v1/scenes/s/events?topics=collisions", NULL);
    expect(&one, "state", 1, "{\"revision\":1,\"time\":1,\"pairs\":[[\"a\",\"b\"]]}");
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":2,\"put\":{\"c\":" BOX(9) "},\"pose\":{\"a\":{\"center\":[9,0,0]}}}"),
        200);
    expect(&one, "end", -1, "{\"revision\":2,\"time\":2,\"pairs\":[[\"a\",\"b\"]]}");
    expect(&one, "begin", 2, "{\"revision\":2,\"time\":2,\"pairs\":[[\"a\",\"c\"]]}");
    /* what moves without touching anything says nothing */
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit", "{\"time\":3,\"pose\":{\"b\":{\"center\":[50,0,0]}}}"),
        200);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/c", "%s", ""), 204);
    expect(&one, "end", 4, "\"pairs\":[[\"a\",\"c\"]],\"reason\":\"removed\"}");
    /* groups and masks decide as in all-pairs */
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/d",
                         "{\"center\":[9,0,0],\"half_extents\":[1,1,1],\"mask\":0}"),
                     201);
    expect_nothing(&one);
    ck_assert_int_eq(ask("PATCH", "/v1/scenes/s/boxes/d", "{\"mask\":1}"), 200);
    expect(&one, "begin", 6, "[[\"a\",\"d\"]]");
    follower_close(&one);
}
END_TEST

START_TEST(topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    follow(&two, "/v1/scenes/s/events?topics=boxes,commits", NULL);
    expect(&one, "state", 0, "\"pairs\":[]");
    expect_nothing(&two);
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":5,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) ",\"c\":" BOX(50) "}}"),
        200);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    for (struct follower *f = &one; f != NULL; f = f == &one ? &two : NULL) {
        expect(f, "boxes", -1, "\"put\":[\"a\",\"b\",\"c\"],\"posed\":[],\"removed\":[]}");
        expect(f, "commit", 1,
               "{\"revision\":1,\"time\":5,\"put\":3,\"posed\":0,\"transformed\":0,\"removed\":0}");
    }
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":6,\"remove\":[\"b\"],\"put\":{\"d\":" BOX(70) ",\"c\":" BOX(
                60) "},\"pose\":{\"c\":{\"center\":[61,0,0]},\"a\":{\"center\":[2,0,0]}},"
                    "\"transform\":{\"d\":{\"translate\":[1,0,0]}}}"),
        200);
    expect(&one, "end", -1, "\"reason\":\"removed\"");
    expect(&two, "boxes", -1, "\"put\":[\"c\",\"d\"],\"posed\":[\"a\"],\"removed\":[\"b\"]}");
    expect(&two, "commit", 2, "\"put\":2,\"posed\":2,\"transformed\":1,\"removed\":1}");
    /* settings are a commit without boxes; a commit that changes nothing is none */
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":9}}"), 200);
    expect(&two, "commit", 3, "\"put\":0,");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "{\"time\":7}"), 200);
    expect_nothing(&two);
    follower_close(&one);
    follower_close(&two);
}
END_TEST

START_TEST(boxes_are_told_in_the_order_of_their_ids)
{
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"put\":{\"d\":" BOX(0) ",\"c\":" BOX(10) ",\"b\":" BOX(20) ",\"a\":" BOX(30) "}}"),
        200);
    follow(&one, "/v1/scenes/s/events?topics=boxes", "0");
    expect(&one, "state", 1, "");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"pose\":{\"a\":{\"center\":[31,0,0]},\"d\":{\"center\":[1,0,0]}},"
                         "\"transform\":{\"b\":{\"translate\":[1,0,0]}}}"),
                     200);
    expect(&one, "boxes", 2, "\"put\":[],\"posed\":[\"d\",\"b\",\"a\"],\"removed\":[]}");
    /* a name that is removed and put is that of the newest box */
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"remove\":[\"a\",\"c\",\"d\"],\"put\":{\"f\":" BOX(40) ",\"d\":" BOX(
                             50) ",\"b\":" BOX(60) "}}"),
                     200);
    expect(&one, "boxes", 3,
           "\"put\":[\"b\",\"f\",\"d\"],\"posed\":[],\"removed\":[\"d\",\"c\",\"a\"]}");
    follower_close(&one);
}
END_TEST

START_TEST(who_comes_back_goes_on_where_it_stopped)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events?topics=collisions,commits", NULL);
    expect(&one, "state", 1, "[]");
    follower_close(&one);
    for (int i = 0; i < 5; i++) /* while nobody listens */
        ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b",
                             "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}", i % 2 == 0 ? 1 : 9),
                         i == 0 ? 201 : 200);
    follow(&one, "/v1/scenes/s/events?topics=collisions,commits", "3");
    expect(&one, "begin", -1, "\"revision\":4,");
    expect(&one, "commit", 4, "");
    expect(&one, "end", -1, "\"revision\":5,");
    expect(&one, "commit", 5, "");
    expect(&one, "begin", -1, "\"revision\":6,");
    expect(&one, "commit", 6, "");
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/b", "%s", ""), 204);
    expect(&one, "end", -1, "\"revision\":7,");
    expect(&one, "commit", 7, "");
    follower_close(&one);
    follow(&one, "/v1/scenes/s/events?topics=collisions,commits", "7"); /* it missed nothing */
    expect_nothing(&one);
    follower_close(&one);
    /* not so: other topics than were kept, a revision that never was, no number */
    static const char *const others[][2] = {
        {"/v1/scenes/s/events?topics=collisions,boxes", "3"},
        {"/v1/scenes/s/events?topics=boxes", "3"},
        {"/v1/scenes/s/events?topics=commits", "6"},
        {"/v1/scenes/s/events?topics=boxes,commits", "0"},
        {"/v1/scenes/s/events?topics=boxes", "99"},
        {"/v1/scenes/s/events?topics=commits", "x"},
        {"/v1/scenes/s/events?topics=collisions,commits", "99"},
        {"/v1/scenes/s/events?topics=collisions,commits", "x"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        follow(&two, others[i][0], others[i][1]);
        expect(&two, "state", 7, "[]");
        follower_close(&two);
    }
}
END_TEST

/* The messages about one revision, of which the first is known. */
static void expect_revision(struct follower *f, const char *first, long id)
{
    struct follower_message message;
    ck_assert_msg(follower_next(f, 3000, &message), "no %s came: %s", first, f->text);
    ck_assert_str_eq(message.event, first);
    while (message.id < 0)
        ck_assert(follower_next(f, 3000, &message));
    ck_assert_int_eq(message.id, id);
}

START_TEST(who_comes_back_too_late_gets_a_state_whatever_it_follows)
{
    enum { LATE = 300 }; /* commits: a channel remembers fewer */
    static const struct {
        const char *path, *first; /* of its messages about a pair that is removed */
    } sets[] = {
        {"/v1/scenes/s/events?topics=collisions", "end"},
        {"/v1/scenes/s/events?topics=boxes", "boxes"},
        {"/v1/scenes/s/events?topics=commits", "commit"},
        {"/v1/scenes/s/events?topics=collisions,boxes", "end"},
        {"/v1/scenes/s/events?topics=collisions,commits", "end"},
        {"/v1/scenes/s/events?topics=boxes,commits", "boxes"},
        {"/v1/scenes/s/events", "end"},
    };
    enum { SETS = sizeof sets / sizeof sets[0] };
    static struct follower followers[SETS];
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) ",\"c\":" BOX(90) "}}"),
                     200);
    for (size_t i = 0; i < SETS; i++) { /* what comes up from now on is kept for them */
        follow(&followers[i], sets[i].path, "0");
        expect(&followers[i], "state", 1, "\"pairs\":[[\"a\",\"b\"]]}");
        follower_close(&followers[i]);
    }
    for (int i = 1; i <= LATE; i++)
        ck_assert_int_eq(
            ask("POST", "/v1/scenes/s/commit", "{\"pose\":{\"c\":{\"center\":[90,%d,0]}}}", i),
            200);
    for (size_t i = 0; i < SETS; i++) {
        follow(&followers[i], sets[i].path, "1");
        expect(&followers[i], "state", 1 + LATE, "\"pairs\":[[\"a\",\"b\"]]}");
    }
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/b", "%s", ""), 204);
    char last[16];
    (void)snprintf(last, sizeof last, "%d", 1 + LATE);
    for (size_t i = 0; i < SETS; i++) {
        expect_revision(&followers[i], sets[i].first, 2 + LATE);
        follower_close(&followers[i]);
        follow(&followers[i], sets[i].path, last); /* this time it is not late */
        expect_revision(&followers[i], sets[i].first, 2 + LATE);
        follower_close(&followers[i]);
    }
}
END_TEST

START_TEST(a_deleted_scene_says_so_and_one_made_again_is_another)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    expect(&one, "state", 1, "[]");
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b", BOX(1)), 201);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/c", BOX(0)), 201);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    expect(&one, "boxes", -1, "\"b\"");
    expect(&one, "commit", 2, "");
    expect(&one, "gone", -1, "\"revision\":2");
    struct follower_message message;
    ck_assert(!follower_next(&one, 3000, &message));
    ck_assert(one.ended);
    follower_close(&one);
    static const char *const paths[] = {"/v1/scenes/s/events?topics=collisions",
                                        "/v1/scenes/s/events?topics=boxes",
                                        "/v1/scenes/s/events?topics=commits"};
    for (size_t i = 0; i < 3; i++) {
        follow(&two, paths[i], "2");
        expect(&two, "state", 2, "[[\"a\",\"c\"]]");
        follower_close(&two);
    }
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    ck_assert_int_eq(ask("GET", "/v1/scenes/none/events", "%s", ""), 404);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topics=weather", "%s", ""), 400);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topics=", "%s", ""), 400);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topic=boxes", "%s", ""), 400);
    ck_assert_int_eq(ask("HEAD", "/v1/scenes/s/events", "%s", ""), 200);
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/events", "{}"), 405);
}
END_TEST

/* ---- Many, and slow ones ---------------------------------------------------------------------------------------------------- */

enum { MANY = 1000, STUCK_EVERY = 50 };

static bool is_stuck(int i) { return i % STUCK_EVERY == 7; }

/* One whose kernel takes little for it, and who follows what is long. */
static int dial_stuck(void)
{
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    const int small = 4096;
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)service_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(s, (const struct sockaddr *)&at, sizeof at), 0);
    return s;
}

/* 1,500 boxes with long names, none of which touches another: 190 KB to who follows boxes. */
static void put_many(int height)
{
    static char body[1 << 19];
    size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
    for (int i = 0; i < 1500; i++)
        length +=
            (size_t)snprintf(body + length, sizeof body - length,
                             "%s\"box-%0116d\":{\"center\":[%d,%d,9],\"half_extents\":[0,0,0]}",
                             i > 0 ? "," : "", i, i, height);
    (void)snprintf(body + length, sizeof body - length, "}}");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "%s", body), 200);
}

static size_t overruns(void)
{
    static const char name[] = "\nobbd_event_overruns_total ";
    ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    const char *line = strstr(heard, name);
    ck_assert_ptr_nonnull(line);
    return strtoul(line + sizeof name - 1, NULL, 10);
}

START_TEST(a_thousand_followers_lose_nothing_for_those_that_are_stuck)
{
    static struct follower followers[MANY];
    size_t stuck = 0, told = 0;
    long revision = 1;
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    for (int i = 0; i < MANY; i++) {
        stuck += is_stuck(i);
        follower_open(&followers[i], is_stuck(i) ? dial_stuck() : dial(),
                      is_stuck(i) ? "/v1/scenes/s/events?topics=boxes"
                                  : "/v1/scenes/s/events?topics=collisions,commits",
                      NULL);
    }
    for (int i = 0; i < MANY; i++)
        if (!is_stuck(i))
            expect(&followers[i], "state", 1, "\"pairs\":[]");
    for (; overruns() < stuck; revision++) {
        ck_assert_int_lt(revision, 200);
        put_many((int)revision);
        for (int i = 0; i < MANY; i++) {
            if (is_stuck(i))
                continue;
            expect(&followers[i], "commit", revision + 1, "\"put\":1500,");
            told++;
        }
    }
    /* what the stuck ones read now ends with that */
    for (int i = 0; i < MANY; i++) {
        char event[16] = "";
        struct follower_message message;
        if (!is_stuck(i))
            continue;
        while (follower_next(&followers[i], 3000, &message))
            (void)snprintf(event, sizeof event, "%s", message.event);
        ck_assert_str_eq(event, "overrun");
        ck_assert(followers[i].ended);
        follower_close(&followers[i]);
    }
    for (int i = 0; i < MANY; i += 2) /* half of the others leave as the next commit is made */
        follower_close(&followers[i]);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b", BOX(1)), 201);
    for (int i = 1; i < MANY; i += 2) {
        if (is_stuck(i))
            continue;
        expect(&followers[i], "begin", -1, "[[\"a\",\"b\"]]");
        expect(&followers[i], "commit", revision + 1, "\"put\":1,");
        told++;
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    ck_assert_uint_eq(overruns(), stuck);
    printf(
        "1000 followers: %zu stuck ones dropped in %ld commits, the others told %zu times, half of "
        "them after %.1f ms\n",
        stuck, revision - 1, told,
        (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6);
    ck_assert_uint_gt(stuck, 0);
    for (int i = 1; i < MANY; i += 2)
        if (!is_stuck(i))
            follower_close(&followers[i]);
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
        ck_assert_msg(!follower_next(both[i], 3000, &message), "%s", message.event);
        ck_assert(both[i]->ended);
        follower_close(both[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *end = tcase_create("end");
    tcase_add_checked_fixture(end, setup, service_join);
    tcase_set_timeout(end, test_patience(60));
    tcase_add_test(end, the_end_of_the_service_is_the_last_message);
    suite_add_tcase(suite, end);
    TCase *tc = tcase_create("events");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, collisions_begin_and_end_and_go_with_their_boxes);
    tcase_add_test(tc, topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id);
    tcase_add_test(tc, boxes_are_told_in_the_order_of_their_ids);
    tcase_add_test(tc, who_comes_back_goes_on_where_it_stopped);
    tcase_add_test(tc, who_comes_back_too_late_gets_a_state_whatever_it_follows);
    tcase_add_test(tc, a_deleted_scene_says_so_and_one_made_again_is_another);
    tcase_add_test(tc, wrong_requests_are_refused);
    tcase_add_test(tc, a_thousand_followers_lose_nothing_for_those_that_are_stuck);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
