/* What is kept of messages for those who come back: by itself, and through the service. */
#include "server/events/replay.h"
#include "tests/server/events/following.h"
#include "tests/support/fault.h"

/* ---- By itself ------------------------------------------------------------------------------- */

enum { BOXES = WIRE_TOPIC_BOXES, COMMITS = WIRE_TOPIC_COMMITS };

static struct srv_feed boxes_feed, commits_feed;

static struct srv_message *message(struct srv_feed *feed, const char *text, size_t padding)
{
    struct srv_message *m = srv_message_create(NULL);
    ck_assert_ptr_nonnull(m);
    wire_buf_append(&m->text, text, strlen(text));
    for (size_t i = 0; i < padding; i++)
        wire_buf_append(&m->text, ".", 1);
    srv_feed_append(feed, m);
    return m;
}

/* The messages of a commit: "<revision>" for BOXES, and for COMMITS where that is covered. padding:
 * further bytes. */
static void add(struct srv_replay *replay, uint64_t revision, bool commits, size_t padding)
{
    struct srv_messages messages = {0};
    char text[24];
    (void)snprintf(text, sizeof text, "<%llu>", (unsigned long long)revision);
    messages.covered[BOXES] = true;
    messages.covered[COMMITS] = commits;
    messages.of[BOXES] = message(&boxes_feed, text, padding);
    messages.bytes = messages.of[BOXES]->text.capacity;
    if (commits) {
        messages.of[COMMITS] = message(&commits_feed, "c", 0);
        messages.bytes += messages.of[COMMITS]->text.capacity;
    }
    srv_replay_add(replay, &messages);
    ck_assert(!messages.covered[BOXES] && messages.of[BOXES] == NULL);
}

static void fini(struct srv_replay *replay)
{
    srv_replay_fini(replay);
    srv_feed_fini(&boxes_feed);
    srv_feed_fini(&commits_feed);
}

/* What one gets who comes back with `last` at `present`; NULL: it must start anew. Valid until the
 * next call. */
static const char *resumed(const struct srv_replay *replay, unsigned topics, uint64_t last,
                           uint64_t present)
{
    static char text[1 << 16];
    size_t length = 0;
    struct srv_message *first;
    if (!srv_replay_resume(replay, topics, last, present, &first))
        return NULL;
    for (; first != NULL; first = first->next) {
        ck_assert_uint_lt(length + first->text.length, sizeof text);
        memcpy(text + length, first->text.bytes, first->text.length);
        length += first->text.length;
    }
    text[length] = '\0';
    return text;
}

START_TEST(what_was_missed_is_given_or_nothing)
{
    struct srv_replay replay;
    ck_assert(srv_replay_init(&replay, NULL));
    ck_assert_str_eq(resumed(&replay, BOXES, 5, 5), "");
    ck_assert_ptr_null(resumed(&replay, BOXES, 4, 5));
    for (uint64_t revision = 6; revision <= 9; revision++)
        add(&replay, revision, revision >= 8, 0);
    ck_assert_str_eq(resumed(&replay, BOXES, 5, 9), "<6><7><8><9>");
    ck_assert_str_eq(resumed(&replay, BOXES, 8, 9), "<9>");
    ck_assert_str_eq(resumed(&replay, BOXES, 9, 9), "");
    ck_assert_ptr_null(resumed(&replay, BOXES, 4, 9));
    ck_assert_ptr_null(resumed(&replay, BOXES, 10, 9));
    ck_assert_ptr_null(resumed(&replay, BOXES, UINT64_MAX, 9));
    ck_assert_str_eq(resumed(&replay, COMMITS, 7, 9), "cc");
    ck_assert_ptr_null(resumed(&replay, COMMITS, 6, 9)); /* 7 was not written for them */
    ck_assert_ptr_null(resumed(&replay, BOXES | COMMITS, 8, 9));
    srv_replay_clear(&replay);
    ck_assert_ptr_null(resumed(&replay, BOXES, 8, 9));
    fini(&replay);
}
END_TEST

START_TEST(the_oldest_are_forgotten_first)
{
    struct srv_replay replay;
    ck_assert(srv_replay_init(&replay, NULL));
    const uint64_t present = 3 * SRV_REPLAY_COMMITS + 7;
    for (uint64_t revision = 1; revision <= present; revision++)
        add(&replay, revision, false, 0);
    ck_assert_uint_eq(replay.count, SRV_REPLAY_COMMITS);
    ck_assert_ptr_nonnull(resumed(&replay, BOXES, present - SRV_REPLAY_COMMITS, present));
    ck_assert_ptr_null(resumed(&replay, BOXES, present - SRV_REPLAY_COMMITS - 1, present));
    for (uint64_t revision = present + 1; revision <= present + 100; revision++)
        add(&replay, revision, false, 40000);
    ck_assert_uint_le(replay.bytes, SRV_REPLAY_BYTES);
    ck_assert_uint_gt(replay.count, 10);
    ck_assert_uint_lt(replay.count, 30);
    ck_assert_ptr_nonnull(resumed(&replay, BOXES, present + 99, present + 100));
    fini(&replay);
}
END_TEST

START_TEST(without_memory_there_is_none)
{
    struct srv_replay replay;
    fault_arm(1);
    const bool made = srv_replay_init(&replay, NULL);
    fault_arm(0);
    ck_assert(!made);
}
END_TEST

/* ---- Through the service --------------------------------------------------------------------- */

static struct follower one, two;

static void setup(void) { service_start(NULL); }

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

int main(void)
{
    Suite *suite = suite_create("replay");
    TCase *alone = tcase_create("alone");
    tcase_set_timeout(alone, test_patience(60));
    tcase_add_test(alone, what_was_missed_is_given_or_nothing);
    tcase_add_test(alone, the_oldest_are_forgotten_first);
    tcase_add_test(alone, without_memory_there_is_none);
    suite_add_tcase(suite, alone);
    TCase *tc = tcase_create("replay");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, who_comes_back_goes_on_where_it_stopped);
    tcase_add_test(tc, who_comes_back_too_late_gets_a_state_whatever_it_follows);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
