/* Commits whose changes were made, and whose queries cannot be answered. */
#include "tests/server/scenes/large.h"

static void setup_narrow(void)
{
    service_start((const char *[]){"--memory-limit", "2MiB", "--queue-limit", "1", NULL});
    make_row("/v1/scenes/s/commit", 1500, 0); /* 1.1 million pairs */
}

/* Moves b0 to x and asks for so many pairs; the commit must stand, whatever becomes of the
 * queries. */
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
    Suite *suite = suite_create("do_commit");
    TCase *tc = tcase_create("narrow");
    tcase_add_checked_fixture(tc, setup_narrow, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, changes_stand_where_there_is_no_room_for_their_answer);
    tcase_add_test(tc, changes_stand_where_the_queue_is_full);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
