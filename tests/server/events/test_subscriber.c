/* Many subscribers, and slow ones. */
#include "tests/server/events/following.h"

/* Whoever is stuck is not cut before it reads why it was dropped, however slow the machine is. */
static void setup(void) { service_start(NULL); }

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
        while (follower_next(&followers[i], FOLLOWER_PATIENT, &message))
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

static void setup_little(void)
{
    service_start((const char *[]){"--memory-limit", "6MiB", "--body-limit", "1MiB", NULL});
}

/* So many boxes with names of 120 bytes in one place. */
static void put_pile(const char *scene, int count)
{
    static char body[1 << 18];
    char path[64];
    size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
    for (int i = 0; i < count; i++)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "%s\"box-%0116d\":{\"center\":[0,0,0],\"half_extents\":[1,1,1]}",
                                   i > 0 ? "," : "", i);
    (void)snprintf(body + length, sizeof body - length, "}}");
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/commit", scene);
    ck_assert_int_eq(ask("POST", path, "%s", body), 200);
}

/* 60 states of 1.2 MB would be ten times the limit. */
START_TEST(many_who_do_not_read_share_their_state_and_one_without_room_is_refused)
{
    enum { SLOW = 60, PILE = 100, PAIRS = PILE * (PILE - 1) / 2 };
    static struct follower slow[SLOW], other;
    struct follower_message message;
    put_pile("s", PILE);
    put_pile("large", 4 * PILE);
    for (int i = 0; i < SLOW; i++)
        follower_open(&slow[i], dial_stuck(), "/v1/scenes/s/events?topics=collisions", NULL);
    follow(&other, "/v1/scenes/large/events?topics=commits", NULL);
    expect_nothing(&other);
    ck_assert_int_eq(ask("GET", "/v1/scenes/large/events", "%s", ""), 503);
    ck_assert_ptr_nonnull(strstr(heard, "Retry-After: "));
    ck_assert_int_eq(ask("PUT", "/v1/scenes/large/boxes/a", "%s", BOX(9)), 201);
    expect(&other, "commit", 2, "\"put\":1,");
    follower_close(&other);
    for (int i = 0; i < SLOW; i++) {
        ck_assert_msg(follower_next(&slow[i], FOLLOWER_PATIENT, &message), "%d: %.200s", i,
                      slow[i].text);
        ck_assert_str_eq(message.event, "state");
        ck_assert_uint_gt(strlen(message.data), (size_t)PAIRS * 240);
        follower_close(&slow[i]);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("subscriber");
    TCase *tc = tcase_create("subscriber");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_thousand_followers_lose_nothing_for_those_that_are_stuck);
    suite_add_tcase(suite, tc);
    TCase *little = tcase_create("little");
    tcase_add_checked_fixture(little, setup_little, service_stop);
    tcase_set_timeout(little, test_patience(60));
    tcase_add_test(little, many_who_do_not_read_share_their_state_and_one_without_room_is_refused);
    suite_add_tcase(suite, little);
    return test_main(suite);
}
