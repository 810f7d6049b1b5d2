/* What subscribers are told of a commit, topic by topic. */
#include "server/events/channel_steps.h"
#include "tests/server/events/following.h"
#include "tests/support/fault.h"

/* ---- By themselves --------------------------------------------------------------------------- */

enum {
    PILE = 120, /* boxes in one place: 7,140 pairs */
    /* sets of the topics that commits tell of */
    SETS = (WIRE_TOPIC_COLLISIONS | WIRE_TOPIC_BOXES | WIRE_TOPIC_COMMITS) + 1
};

/* A scene before and after a commit that moves each second box away. */
static struct pile {
    struct obb_scene *scene;
    struct obb_view *before, *after;
    struct obb_arena arena;
    struct srv_step commit;
} pile;

static obb_committed pile_commit(const obb_edit *edit)
{
    struct obb_prepared *prepared;
    obb_fault fault;
    obb_committed committed;
    ck_assert_int_eq(obb_edit_prepare(pile.scene, edit, 0, PILE, &pile.arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &committed);
    return committed;
}

static void pile_init(void)
{
    static char names[PILE][16];
    static obb_put puts[PILE];
    static obb_pose poses[PILE];
    const obb_settings settings = {.dimensions = 3, .history_commits = 4, .history_span = 10};
    obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = PILE, .poses = poses};
    pile = (struct pile){0};
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &pile.scene), OBB_OK);
    for (int i = 0; i < PILE; i++) {
        (void)snprintf(names[i], sizeof names[i], "box-%d", i);
        puts[i] = (obb_put){.target = {.name = obb_str_of(names[i])}, .parts = OBB_PUT_ALL};
        puts[i].attributes.category = puts[i].attributes.mask = 1;
        ck_assert_int_eq(obb_box_from_pose((obb_vec3){0, 0, 0}, (obb_vec3){1, 1, 1},
                                           (obb_quat){0, 0, 0, 1}, 0, 3, &puts[i].box),
                         OBB_OK);
        poses[i / 2] = (obb_pose){
            .target = puts[i].target, .has_center = true, .center = {100 + 10 * i, 0, 0}};
    }
    (void)pile_commit(&edit);
    ck_assert_int_eq(obb_view_open(pile.scene, NULL, &pile.before, NULL, NULL), OBB_OK);
    edit.put_count = 0;
    edit.pose_count = PILE / 2;
    pile.commit.kind = SRV_STEP_COMMIT;
    (void)pile_commit(&edit);
    ck_assert_int_eq(obb_view_open(pile.scene, NULL, &pile.after, NULL, NULL), OBB_OK);
    pile.commit.after = pile.after;
}

static void pile_fini(void)
{
    obb_view_close(pile.before);
    obb_view_close(pile.after);
    obb_arena_fini(&pile.arena);
    obb_scene_destroy(pile.scene);
}

/* With an audience for each set of topics. */
static struct srv_channel_state state_of_pile(struct obb_budget *budget)
{
    struct srv_channel_state state = {.view = pile.before, .budget = budget};
    state.arena.budget = budget;
    for (unsigned topics = SETS; --topics > 0;) {
        struct srv_audience *a = srv_audience_create(NULL, &(wire_event_params){.topics = topics});
        ck_assert_ptr_nonnull(a);
        a->covered = true;
        a->next = state.audiences;
        state.audiences = a;
    }
    return state;
}

static struct srv_audience *audience_of(const struct srv_channel_state *state, unsigned topics)
{
    struct srv_audience *a = state->audiences;
    while (a->params.topics != topics)
        a = a->next;
    return a;
}

/* The state gives back all that it drew. */
static void state_fini(struct srv_channel_state *state)
{
    obb_contacts_destroy(state->contacts);
    for (struct srv_audience *a = state->audiences, *next; a != NULL; a = next) {
        next = a->next;
        srv_message_unref(a->now);
        a->now = NULL;
        srv_audience_destroy(a);
    }
    obb_arena_fini(&state->arena);
    ck_assert_uint_eq(obb_budget_used(state->budget), 0);
}

static obb_status join(struct srv_channel_state *state, struct srv_subscriber *s)
{
    struct srv_step step = {.kind = SRV_STEP_JOIN, .subscriber = s};
    *s = (struct srv_subscriber){.params.topics = WIRE_TOPIC_COLLISIONS};
    s->audience = audience_of(state, WIRE_TOPIC_COLLISIONS);
    srv_step_run(state, &step);
    return s->status;
}

START_TEST(a_state_is_written_once_for_all_who_join)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 4u << 20);
    pile_init();
    struct srv_channel_state state = state_of_pile(&budget);
    struct srv_subscriber first, other;
    ck_assert_int_eq(join(&state, &first), OBB_OK);
    ck_assert_uint_gt(first.first->text.length, (size_t)PILE * (PILE - 1) / 2 * 10);
    const size_t used = obb_budget_used(&budget);
    ck_assert_uint_gt(used, first.first->text.length);
    for (int i = 0; i < 1000; i++) {
        ck_assert_int_eq(join(&state, &other), OBB_OK);
        ck_assert_ptr_eq(other.first, first.first);
    }
    ck_assert_uint_eq(obb_budget_used(&budget), used);
    state_fini(&state);
    pile_fini();
}
END_TEST

/* From nothing to enough: nothing is drawn beyond the limit, and nothing is kept. */
START_TEST(without_room_a_join_is_refused_and_only_some_sets_are_lost)
{
    size_t refused = 0, lost = 0, partly = 0;
    bool all = false;
    pile_init();
    for (size_t limit = 64; !all; limit += limit / 8) {
        struct obb_budget budget;
        obb_budget_init(&budget, SIZE_MAX);
        struct srv_channel_state state = state_of_pile(&budget);
        struct srv_subscriber s;
        budget.limit = limit;
        const bool joined = join(&state, &s) == OBB_OK;
        ck_assert(joined || (s.status == OBB_NO_MEMORY && s.first == NULL));
        refused += !joined;
        budget.limit = SIZE_MAX; /* with the set there, and the rest as it is */
        ck_assert_int_eq(join(&state, &s), OBB_OK);
        srv_audience_move_on(s.audience);
        obb_arena_fini(&state.arena);
        budget.limit = obb_budget_used(&budget) + limit;
        srv_step_run(&state, &pile.commit);
        ck_assert_int_eq(state.status, OBB_OK);
        ck_assert_uint_le(obb_budget_used(&budget), budget.limit);
        size_t missing = 0;
        for (struct srv_audience *a = state.audiences; a != NULL; a = a->next) {
            ck_assert(a->lost == (a->now == NULL));
            missing += a->lost;
            if (state.contacts == NULL)
                ck_assert(a->lost || (a->params.topics & WIRE_TOPIC_COLLISIONS) == 0);
        }
        lost += missing > 0;
        partly += missing > 0 && missing < SETS - 1;
        all = joined && missing == 0;
        state_fini(&state);
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_gt(lost, 0);
    ck_assert_uint_gt(partly, 0);
    pile_fini();
}
END_TEST

START_TEST(the_nth_allocation_may_fail_in_any_step)
{
    size_t failures = 0;
    bool reached = true;
    pile_init();
    for (size_t n = 1; reached; n++) {
        struct obb_budget budget;
        obb_budget_init(&budget, SIZE_MAX);
        struct srv_channel_state state = state_of_pile(&budget);
        struct srv_subscriber s;
        fault_arm(n);
        const obb_status joined = join(&state, &s);
        srv_step_run(&state, &pile.commit);
        reached = fault_seen() >= n;
        fault_arm(0);
        bool lost = false;
        for (const struct srv_audience *a = state.audiences; a != NULL; a = a->next)
            lost = lost || a->lost;
        ck_assert(joined == OBB_OK || joined == OBB_NO_MEMORY);
        ck_assert_int_eq(state.status, OBB_OK);
        ck_assert(reached || (joined == OBB_OK && !lost));
        failures += joined != OBB_OK || lost;
        state_fini(&state);
    }
    ck_assert_uint_gt(failures, 20);
    pile_fini();
}
END_TEST

/* Returns a join of a client that knows the state before the commit, while the channel is at the
 * one after it. */
static struct srv_step returning(struct srv_channel_state *state, struct srv_subscriber *s,
                                 unsigned topics)
{
    *s = (struct srv_subscriber){.params.topics = topics, .returns = true, .last = 1};
    s->audience = audience_of(state, topics);
    state->view = pile.after;
    return (struct srv_step){.kind = SRV_STEP_JOIN,
                             .subscriber = s,
                             .missed = {.views = {pile.before, pile.after}, .count = 2}};
}

static bool says(const struct srv_message *message, const char *text)
{
    return find_bytes(message->text.bytes, message->text.length, text, strlen(text)) != NULL;
}

static void missed_fini(struct srv_missed *missed)
{
    obb_contacts_destroy(missed->contacts);
    srv_message_unref(missed->text);
}

START_TEST(who_comes_back_is_given_the_messages_that_those_who_stayed_were_sent)
{
    pile_init();
    struct obb_budget budget;
    obb_budget_init(&budget, SIZE_MAX);
    struct srv_channel_state live = state_of_pile(NULL), late = state_of_pile(&budget);
    struct srv_subscriber s, other;
    ck_assert_int_eq(join(&live, &s), OBB_OK); /* makes the set of contacts */
    srv_step_run(&live, &pile.commit);
    for (unsigned topics = 1; topics < SETS; topics++) {
        struct srv_step step = returning(&late, &s, topics);
        srv_step_run(&late, &step);
        ck_assert_int_eq(s.status, OBB_OK);
        const struct srv_message *sent = audience_of(&live, topics)->now;
        ck_assert_uint_gt(sent->text.length, 20);
        ck_assert_uint_eq(s.first->text.length, sent->text.length);
        ck_assert_mem_eq(s.first->text.bytes, sent->text.bytes, sent->text.length);
        missed_fini(&step.missed);
        if ((topics & WIRE_TOPIC_COLLISIONS) != 0) /* which the next commit advances */
            ck_assert_uint_eq(obb_contacts_count(late.contacts), obb_contacts_count(live.contacts));

        step = returning(&late, &other, topics); /* written once */
        step.missed.count = 0;
        srv_step_run(&late, &step);
        ck_assert_ptr_eq(other.first, s.first);
        step = returning(&late, &other, topics); /* with nothing missed, nothing is sent */
        step.missed.count = 0;
        other.last = 2;
        srv_step_run(&late, &step);
        ck_assert_int_eq(other.status, OBB_OK);
        ck_assert_ptr_null(other.first);
        step =
            returning(&late, &other, topics); /* beyond the history: a state, whatever the topics */
        step.missed.count = 0;
        other.last = 0;
        srv_step_run(&late, &step);
        ck_assert_ptr_eq(other.first, s.audience->present);
        ck_assert(says(other.first, "event: state"));
    }
    live.view = pile.before;
    state_fini(&live);
    state_fini(&late);
    pile_fini();
}
END_TEST

START_TEST(what_was_missed_takes_room_or_is_refused)
{
    size_t refused = 0;
    pile_init();
    for (unsigned topics = 1; topics < SETS; topics++) {
        for (size_t n = 1;; n++) {
            struct obb_budget budget;
            obb_budget_init(&budget, SIZE_MAX);
            struct srv_channel_state state = state_of_pile(&budget);
            struct srv_subscriber s;
            struct srv_step step = returning(&state, &s, topics);
            fault_arm(n);
            srv_step_run(&state, &step);
            const bool reached = fault_seen() >= n;
            fault_arm(0);
            ck_assert(s.status == (reached ? OBB_NO_MEMORY : OBB_OK));
            ck_assert((s.first == NULL) == reached);
            missed_fini(&step.missed);
            state_fini(&state);
            if (!reached)
                break;
            refused++;
        }
    }
    ck_assert_uint_gt(refused, 20);
    pile_fini();
}
END_TEST

/* With a rate, commits are joined until it is the audience's turn; without room it is lost. */
START_TEST(sums_wait_for_their_turn_or_are_lost)
{
    size_t lost = 0;
    pile_init();
    const wire_event_params params = {
        .topics = WIRE_TOPICS, .prefix = {"box-1", 5}, .pose = true, .rate = 1};
    for (size_t n = 1;; n++) {
        struct obb_budget budget;
        obb_budget_init(&budget, SIZE_MAX);
        struct srv_channel_state state = {.view = pile.before, .budget = &budget};
        state.arena.budget = &budget;
        struct srv_audience *a = state.audiences = srv_audience_create(&budget, &params);
        a->covered = true;
        struct srv_subscriber s = {.params = params, .audience = a};
        struct srv_step joins = {.kind = SRV_STEP_JOIN, .subscriber = &s};
        srv_step_run(&state, &joins);
        ck_assert_int_eq(s.status, OBB_OK);
        fault_arm(n);
        srv_step_run(&state, &pile.commit); /* it is not its turn */
        const bool told = !a->lost;
        ck_assert(a->now == NULL && (told || fault_seen() >= n));
        ck_assert_uint_eq(a->sum.commits, told);
        if (told) {
            struct srv_step sums = {.kind = SRV_STEP_SUMS};
            srv_step_run(&state, &sums);
            ck_assert(a->now == NULL && !a->lost && a->sum.commits == 1);
            a->due = true;
            srv_step_run(&state, &sums);
            ck_assert(a->lost == (fault_seen() >= n) && a->lost == (a->now == NULL));
            ck_assert_uint_eq(a->sum.commits, a->lost);
        }
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        ck_assert(a->lost == reached);
        lost += reached;
        if (!reached) {
            ck_assert(says(a->now, "event: end") && says(a->now, "\"posed\":[\"box-1"));
            ck_assert(!says(a->now, "[\"box-2\",\"box-3\"]"));
        }
        obb_contacts_destroy(state.contacts);
        srv_message_unref(a->now);
        a->now = NULL;
        srv_audience_destroy(a);
        obb_arena_fini(&state.arena);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        if (!reached)
            break;
    }
    ck_assert_uint_gt(lost, 8);
    pile_fini();
}
END_TEST

/* ---- Through the service --------------------------------------------------------------------- */

static struct follower one, two;

static void setup(void) { service_start(NULL); }

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
    expect(&one, "boxes", 1, "\"put\":[\"d\",\"c\",\"b\",\"a\"],\"posed\":[],\"removed\":[]}");
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

int main(void)
{
    Suite *suite = suite_create("channel_steps");
    TCase *tc = tcase_create("steps");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, collisions_begin_and_end_and_go_with_their_boxes);
    tcase_add_test(tc, topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id);
    tcase_add_test(tc, boxes_are_told_in_the_order_of_their_ids);
    suite_add_tcase(suite, tc);
    TCase *alone = tcase_create("alone");
    tcase_set_timeout(alone, test_patience(60));
    tcase_add_test(alone, a_state_is_written_once_for_all_who_join);
    tcase_add_test(alone, without_room_a_join_is_refused_and_only_some_sets_are_lost);
    tcase_add_test(alone, the_nth_allocation_may_fail_in_any_step);
    tcase_add_test(alone, who_comes_back_is_given_the_messages_that_those_who_stayed_were_sent);
    tcase_add_test(alone, what_was_missed_takes_room_or_is_refused);
    tcase_add_test(alone, sums_wait_for_their_turn_or_are_lost);
    suite_add_tcase(suite, alone);
    return test_main(suite);
}
