/* Subscribers that ask for the same: filters, poses and rates, by themselves and through the
 * service. */
#include "server/events/audience.h"
#include "tests/server/events/following.h"
#include "tests/support/fault.h"

/* ---- By themselves --------------------------------------------------------------------------- */

START_TEST(an_audience_keeps_what_was_asked_for)
{
    char prefix[] = "crate-", entity[] = "ann";
    struct obb_budget budget;
    obb_budget_init(&budget, SIZE_MAX);
    wire_event_params params = {.topics = WIRE_TOPIC_BOXES,
                                .prefix = obb_str_of(prefix),
                                .entity = obb_str_of(entity),
                                .rate = 4};
    struct srv_audience *a = srv_audience_create(&budget, &params);
    ck_assert_ptr_nonnull(a);
    const wire_event_params same = {
        .topics = WIRE_TOPIC_BOXES, .prefix = {"crate-", 6}, .entity = {"ann", 3}, .rate = 4};
    memset(prefix, 'x', sizeof prefix - 1);
    memset(entity, 'x', sizeof entity - 1);
    ck_assert(wire_event_params_equal(&a->params, &same));
    ck_assert(a->elder == a && !srv_audience_waits(a));
    srv_audience_sent(a, 100);
    ck_assert_double_eq(a->not_before, 100.25);
    srv_audience_sent(a, 99);
    ck_assert_double_eq(a->not_before, 100.25);
    srv_audience_destroy(a);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
    fault_arm(1);
    ck_assert_ptr_null(srv_audience_create(&budget, &params));
    fault_arm(0);
    params.rate = 0;
    a = srv_audience_create(&budget, &params);
    srv_audience_sent(a, 100);
    ck_assert_double_eq(a->not_before, 0);
    srv_audience_destroy(a);
}
END_TEST

START_TEST(those_who_have_taken_all_messages_move_to_the_elder)
{
    enum { MANY = 6 };
    const wire_event_params params = {.topics = WIRE_TOPICS, .rate = 10};
    struct srv_audience *elder = srv_audience_create(NULL, &params);
    struct srv_audience *younger = srv_audience_create(NULL, &params);
    struct srv_message *message = srv_message_create(NULL);
    static struct srv_subscriber all[MANY];
    memset(all, 0, sizeof all);
    for (size_t i = 0; i < MANY; i++) {
        all[i].waiting = i % 2 == 1 ? message : NULL;
        srv_audience_add(i == 0 ? elder : younger, &all[i]);
    }
    younger->not_before = 7;
    srv_audience_merge(elder, younger);
    ck_assert_double_eq(elder->not_before, 7);
    for (size_t i = 0; i < MANY; i++)
        ck_assert_ptr_eq(all[i].audience, i % 2 == 1 ? younger : elder);
    size_t in_elder = 0, in_younger = 0;
    for (struct srv_subscriber *s = elder->subscribers; s != NULL; s = s->next)
        in_elder += s->audience == elder && (s->next == NULL || s->next->previous == s);
    for (struct srv_subscriber *s = younger->subscribers; s != NULL; s = s->next)
        in_younger += s->audience == younger && (s->next == NULL || s->next->previous == s);
    ck_assert_uint_eq(in_elder, MANY / 2);
    ck_assert_uint_eq(in_younger, MANY / 2);
    for (size_t i = 0; i < MANY; i++)
        srv_audience_remove(all[i].audience, &all[i]);
    srv_audience_destroy(elder);
    srv_audience_destroy(younger);
    srv_message_unref(message);
}
END_TEST

START_TEST(a_sum_that_nobody_follows_is_dropped_before_others_join)
{
    const wire_event_params params = {.topics = WIRE_TOPICS, .rate = 10};
    struct srv_audience *audience = srv_audience_create(NULL, &params);
    struct srv_subscriber one = {.waiting = NULL};
    wire_pair_change begun = {.a_id = 1, .b_id = 2, .begun = 1};
    const struct srv_batch batch = {.commits = 1, .pairs = &begun, .pair_count = 1};
    ck_assert(srv_audience_takes(audience));
    srv_audience_add(audience, &one);
    ck_assert(srv_batch_join(&audience->sum, &batch, NULL));
    ck_assert(srv_audience_waits(audience) && !srv_audience_takes(audience));
    ck_assert_uint_eq(audience->sum.pair_count, 1);
    srv_audience_remove(audience, &one);
    ck_assert(srv_audience_takes(audience));
    ck_assert_uint_eq(audience->sum.pair_count, 0);
    srv_audience_add(audience, &one);
    ck_assert(srv_audience_takes(audience));
    srv_audience_remove(audience, &one);
    srv_audience_destroy(audience);
}
END_TEST

/* ---- Through the service --------------------------------------------------------------------- */

static struct follower one, two;

static void setup(void) { service_start(NULL); }

static void commit(const char *body)
{
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "%s", body), 200);
}

#define IN(x, more) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]" more "}"

START_TEST(a_filter_narrows_boxes_and_pairs_and_not_commits)
{
    commit("{\"put\":{\"a\":" IN(0, ",\"category\":2") ",\"b\":" BOX(1) ",\"c\":" BOX(
        2) ",\"far\":" IN(90, ",\"entity\":\"e\"") "}}");
    follow(&one, "/v1/scenes/s/events?category=2", NULL);
    expect(&one, "state", 1, "\"pairs\":[[\"a\",\"b\"],[\"a\",\"c\"]]}");
    follow(&two, "/v1/scenes/s/events?topics=collisions,boxes&prefix=f&entity=e", NULL);
    expect(&two, "state", 1, "\"pairs\":[]");
    commit("{\"pose\":{\"b\":{\"center\":[90,0,0]},\"c\":{\"center\":[1,0,0]}}}");
    expect(&one, "end", -1, "\"pairs\":[[\"a\",\"b\"]]}"); /* b and c do not match */
    expect(&one, "commit", 2, "\"posed\":2,");
    expect(&two, "begin", 2, "\"pairs\":[[\"b\",\"far\"]]}"); /* one of the two is enough */
    commit("{\"pose\":{\"c\":{\"center\":[1.5,0,0]}}}");
    expect(&one, "commit", 3, "\"posed\":1,"); /* and nothing empty beside it */
    /* it overlaps still, but no box of the pair matches any more */
    ck_assert_int_eq(ask("PATCH", "/v1/scenes/s/boxes/a", "{\"category\":4}"), 200);
    expect(&one, "end", -1, "\"pairs\":[[\"a\",\"c\"]]}");
    expect(&one, "commit", 4, "");
    ck_assert_int_eq(ask("PATCH", "/v1/scenes/s/boxes/c", "{\"category\":3}"), 200);
    expect(&one, "begin", -1, "\"pairs\":[[\"a\",\"c\"]]}");
    expect(&one, "boxes", -1, "\"put\":[\"c\"],\"posed\":[],\"removed\":[]}");
    expect(&one, "commit", 5, "");
    /* a removed box counts as it was */
    commit("{\"remove\":[\"a\",\"c\",\"far\"],\"put\":{\"c\":" BOX(0) "}}");
    expect(&one, "end", -1, "\"pairs\":[[\"a\",\"c\"]],\"reason\":\"removed\"}");
    expect(&one, "boxes", -1, "\"put\":[],\"posed\":[],\"removed\":[\"c\"]}");
    expect(&one, "commit", 6, "");
    expect(&two, "end", -1, "\"pairs\":[[\"b\",\"far\"]],\"reason\":\"removed\"}");
    expect(&two, "boxes", 6, "\"put\":[],\"posed\":[],\"removed\":[\"far\"]}");
    follower_close(&one);
    follower_close(&two);
    /* who comes back is told what its filter lets pass */
    follow(&two, "/v1/scenes/s/events?topics=collisions,boxes&prefix=f&entity=e", "1");
    expect(&two, "begin", 2, "\"pairs\":[[\"b\",\"far\"]]}");
    expect(&two, "end", -1, "\"reason\":\"removed\"}");
    expect(&two, "boxes", 6, "\"removed\":[\"far\"]}");
    follower_close(&two);
}
END_TEST

START_TEST(poses_of_a_plane_are_angles)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "%s", "{\"dimensions\":2}"), 201);
    follow(&one, "/v1/scenes/s/events?topics=boxes&include=pose", NULL);
    expect_nothing(&one);
    commit("{\"put\":{\"a\":{\"center\":[1,2],\"half_extents\":[3,4],\"angle\":30,\"entity\":\"e\"}"
           "}}");
    expect(&one, "boxes", 1,
           "\"columns\":{\"ids\":[1],\"centers\":[1,2],\"angles\":[30]},\"new\":{\"ids\":[1],"
           "\"names\":[\"a\"],\"half_extents\":[3,4],\"entities\":[\"e\"]}}");
    commit("{\"pose\":{\"a\":{\"center\":[5,6]}}}");
    expect(&one, "boxes", 2,
           "\"columns\":{\"ids\":[1],\"centers\":[5,6],\"angles\":[30]},\"new\":{\"ids\":[],");
    follower_close(&one);
}
END_TEST

START_TEST(boxes_that_a_frame_moves_are_told_as_posed)
{
    commit("{\"time\":0,\"frames\":{\"ann\":{\"center\":[10,0,0]}},\"put\":{\"hand\":{\"frame\":"
           "\"ann\",\"center\":[1,0,0],\"half_extents\":[1,1,1]},\"head\":{\"frame\":\"ann\","
           "\"center\":[0,5,0],\"half_extents\":[1,1,1]},\"wall\":" BOX(21) "}}");
    follow(&one, "/v1/scenes/s/events?include=pose", NULL);
    expect(&one, "state", 1, "\"pairs\":[]");
    /* the prefix is that of the box; a frame is told if its own name begins with the prefix */
    follow(&two, "/v1/scenes/s/events?topics=boxes&prefix=he", NULL);
    expect_nothing(&two);
    commit("{\"time\":1,\"frames\":{\"ann\":{\"center\":[20,0,0]}}}");
    expect(&one, "begin", -1, "\"pairs\":[[\"hand\",\"wall\"]]}");
    expect(
        &one, "boxes", -1,
        "\"put\":[],\"posed\":[\"hand\",\"head\"],\"removed\":[],\"frames\":[\"ann\"],"
        "\"columns\":{\"ids\":[1,2],\"centers\":[21,0,0,20,5,0],\"rotations\":[0,0,0,1,0,0,0,1]},"
        "\"new\":{\"ids\":[],");
    expect(&one, "commit", 2, "\"put\":0,\"posed\":0,\"transformed\":0,\"removed\":0");
    expect(&two, "boxes", 2, "\"put\":[],\"posed\":[\"head\"],\"removed\":[]}");
    /* a box that is posed in its frame has its pose in the scene; a frame by itself is told, too */
    commit("{\"time\":2,\"frames\":{\"hedge\":{}},\"pose\":{\"hand\":{\"center\":[2,0,0]}}}");
    expect(&one, "boxes", -1,
           "\"posed\":[\"hand\"],\"removed\":[],\"frames\":[\"hedge\"],\"columns\":{\"ids\":[1],"
           "\"centers\":[22,0,0],");
    expect(&one, "commit", 3, "\"posed\":1,");
    expect(&two, "boxes", 3, "\"posed\":[],\"removed\":[],\"frames\":[\"hedge\"]}");
    /* boxes go with their frame */
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/frames/ann", "%s", ""), 204);
    expect(&one, "end", -1, "\"pairs\":[[\"hand\",\"wall\"]],\"reason\":\"removed\"}");
    expect(&one, "boxes", -1,
           "\"posed\":[],\"removed\":[\"hand\",\"head\"],\"frames\":[\"ann\"],\"columns\":{\"ids\":"
           "[],");
    expect(&one, "commit", 4, "\"removed\":2");
    expect(&two, "boxes", 4, "\"removed\":[\"head\"]}");
    follower_close(&one);
    follower_close(&two);
    /* who comes back is told the same */
    follow(&two, "/v1/scenes/s/events?topics=boxes&include=pose&rate=1", "1");
    expect(
        &two, "boxes", 4,
        "\"put\":[],\"posed\":[],\"removed\":[\"hand\",\"head\"],\"frames\":[\"ann\",\"hedge\"],");
    follower_close(&two);
    follow(&two, "/v1/scenes/s/events?topics=boxes", "1");
    expect(&two, "boxes", 2, "\"posed\":[\"hand\",\"head\"],\"removed\":[],\"frames\":[\"ann\"]}");
    expect(&two, "boxes", 3, "\"frames\":[\"hedge\"]}");
    expect(&two, "boxes", 4, "\"removed\":[\"hand\",\"head\"],\"frames\":[\"ann\"]}");
    follower_close(&two);
}
END_TEST

/* Follows a scene, and changes it five times. Returns whether that took less than a second, so that
 * all of it lies in the interval after the first message. */
static bool change_within_a_second(void)
{
    commit("{\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(9) ",\"c\":" BOX(9) "}}");
    const double begun = test_now();
    follow(&one, "/v1/scenes/s/events?rate=1&include=pose", NULL);
    expect(&one, "state", 1, "[[\"b\",\"c\"]]");
    commit("{\"put\":{\"d\":" BOX(50) "},\"pose\":{\"a\":{\"center\":[9,0,0]}}}"); /* a comes */
    commit("{\"pose\":{\"a\":{\"center\":[0,0,0]}}}");                             /* and goes */
    commit("{\"pose\":{\"c\":{\"center\":[0,0,0]}}}");
    commit(
        "{\"remove\":[\"b\"],\"pose\":{\"c\":{\"center\":[1,0,0]},\"d\":{\"center\":[60,0,0]}}}");
    commit("{\"put\":{\"b\":" BOX(70) "},\"transform\":{\"d\":{\"translate\":[1,0,0]}}}");
    return test_now() - begun < 1;
}

/* The first message comes at once; what comes up in the interval after it is one message of each
 * kind. */
START_TEST(a_rate_joins_what_an_interval_changed)
{
    while (!change_within_a_second()) { /* the machine is slow: once more */
        follower_close(&one);
        ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    }
    expect(&one, "end", -1, "\"revision\":6,");
    struct follower_message heard_next;
    ck_assert(follower_next(&one, FOLLOWER_PATIENT, &heard_next));
    ck_assert_str_eq(heard_next.event, "begin");
    ck_assert_ptr_nonnull(
        strstr(heard_next.data, "\"pairs\":[[\"a\",\"b\"],[\"a\",\"c\"],[\"a\",\"c\"]]"));
    ck_assert(follower_next(&one, FOLLOWER_PATIENT, &heard_next));
    ck_assert_str_eq(heard_next.event, "boxes");
    static const char expected[] =
        "\"put\":[\"d\",\"b\"],\"posed\":[\"a\",\"c\"],\"removed\":[\"b\"],"
        "\"columns\":{\"ids\":[1,3,4,5],\"centers\":[0,0,0,1,0,0,61,0,0,70,0,0],"
        "\"rotations\":[0,0,0,1,0,0,0,1,0,0,0,1,0,0,0,1]},"
        "\"new\":{\"ids\":[4,5],\"names\":[\"d\",\"b\"],\"half_extents\":[1,1,1,1,1,1],"
        "\"entities\":[null,null]}}";
    ck_assert_msg(strstr(heard_next.data, expected) != NULL, "%s", heard_next.data);
    expect(&one, "commit", 6, "\"put\":2,\"posed\":5,\"transformed\":1,\"removed\":1}");
    follower_close(&one);
    /* what was missed is one message of each kind, too */
    follow(&two, "/v1/scenes/s/events?rate=1&topics=collisions,commits", "1");
    expect(&two, "end", -1, "\"revision\":6,");
    expect(&two, "begin", -1, "\"revision\":6,");
    expect(&two, "commit", 6, "\"put\":2,\"posed\":5,");
    follower_close(&two);
}
END_TEST

/* However many follow, and whenever they come: none is sent more than its rate, and none misses an
 * entry. */
START_TEST(no_follower_is_sent_more_than_its_rate)
{
    enum { MANY = 24, COMMITS = 240 };
    static struct follower many[MANY];
    long from[MANY], put[MANY] = {0}, revision[MANY] = {0};
    size_t messages[MANY] = {0}, fewer = 0;
    double begun[MANY];
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":1000}}"),
                     201);
    for (int i = 0; i < COMMITS; i++) {
        if (i % 10 == 0) { /* one by one, at any place of the others' intervals */
            const int k = i / 10;
            char last[16];
            (void)snprintf(last, sizeof last, "%d", i / 2);
            from[k] = i < 20 ? i : i / 2;
            begun[k] = test_now();
            follow(&many[k], "/v1/scenes/s/events?topics=commits&rate=20",
                   i < 20 ? NULL : last); /* the first two go on from where they come */
            if (i < 20)
                expect_nothing(&many[k]);
        }
        ck_assert_int_eq(
            ask("PUT", "/v1/scenes/s/boxes/a", "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}", i),
            i == 0 ? 201 : 200);
    }
    for (int k = 0; k < MANY; k++) {
        while (revision[k] < COMMITS) {
            struct follower_message message;
            ck_assert_msg(follower_next(&many[k], FOLLOWER_PATIENT, &message), "%d: %ld", k,
                          revision[k]);
            ck_assert_str_eq(message.event, "commit");
            ck_assert_int_gt(message.id, revision[k]);
            revision[k] = message.id;
            messages[k]++;
            put[k] += strtol(strstr(message.data, "\"put\":") + 6, NULL, 10);
        }
        ck_assert_int_eq(put[k], COMMITS - from[k]);
        ck_assert_double_le((double)messages[k], 2 + (test_now() - begun[k]) * 20);
        fewer += (long)messages[k] < put[k];
        follower_close(&many[k]);
    }
    ck_assert_uint_gt(fewer, MANY / 2);
}
END_TEST

START_TEST(a_deleted_scene_ends_with_what_was_not_told_yet)
{
    commit("{\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(9) "}}");
    follow(&one, "/v1/scenes/s/events?topics=collisions&rate=0.001", NULL);
    expect(&one, "state", 1, "[]");
    commit("{\"pose\":{\"a\":{\"center\":[9,0,0]}}}");
    commit("{\"pose\":{\"a\":{\"center\":[19,0,0]}}}");
    expect_nothing(&one);
    follow(&two, "/v1/scenes/s/events?topics=collisions&rate=0.001", NULL); /* between the two */
    expect(&two, "state", 3, "[]");
    commit("{\"pose\":{\"b\":{\"center\":[19,0,0]}}}");
    expect_nothing(&two);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    expect(&one, "end", -1, "\"pairs\":[[\"a\",\"b\"]]}");
    expect(&one, "begin", 4, "\"pairs\":[[\"a\",\"b\"],[\"a\",\"b\"]]}");
    expect(&one, "gone", -1, "\"revision\":4");
    expect(&two, "begin", 4, "\"pairs\":[[\"a\",\"b\"]]}");
    expect(&two, "gone", -1, "\"revision\":4");
    follower_close(&one);
    follower_close(&two);
}
END_TEST

START_TEST(what_is_not_understood_is_refused)
{
    static const char *const wrong[] = {"rate=0",        "rate=1001", "rate=x",   "category=-1",
                                        "category=1.5",  "include=x", "entity=",  "prefx=a",
                                        "rate=1&rate=2", "topics=",   "category="};
    commit("{\"put\":{\"a\":" BOX(0) "}}");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char path[64];
        (void)snprintf(path, sizeof path, "/v1/scenes/s/events?%s", wrong[i]);
        ck_assert_msg(ask("GET", path, "%s", "") == 400, "%s: %s", wrong[i], heard);
        ck_assert_ptr_nonnull(strstr(heard, "\"detail\":\"found "));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("audience");
    TCase *alone = tcase_create("alone");
    tcase_add_test(alone, an_audience_keeps_what_was_asked_for);
    tcase_add_test(alone, those_who_have_taken_all_messages_move_to_the_elder);
    tcase_add_test(alone, a_sum_that_nobody_follows_is_dropped_before_others_join);
    suite_add_tcase(suite, alone);
    TCase *tc = tcase_create("service");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_filter_narrows_boxes_and_pairs_and_not_commits);
    tcase_add_test(tc, poses_of_a_plane_are_angles);
    tcase_add_test(tc, boxes_that_a_frame_moves_are_told_as_posed);
    tcase_add_test(tc, a_rate_joins_what_an_interval_changed);
    tcase_add_test(tc, no_follower_is_sent_more_than_its_rate);
    tcase_add_test(tc, a_deleted_scene_ends_with_what_was_not_told_yet);
    tcase_add_test(tc, what_is_not_understood_is_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
