#include "proto/wire.h"
#include "tests/support/fault.h"
#include "tests/support/sentence.h"
#include "tests/support/test.h"

#include <string.h>

static struct obb_arena arena;

static void start(void) { obb_arena_init(&arena); }

static void stop(void) { obb_arena_fini(&arena); }

/* "key=value&..." into parameters; values are taken as they stand. */
static size_t split(const char *text, wire_param *params)
{
    size_t count = 0;
    while (*text != '\0') {
        const size_t length = strcspn(text, "&"), key = strcspn(text, "=&");
        params[count].key = (obb_str){text, key};
        params[count].value = (obb_str){text + key + (key < length), length - key - (key < length)};
        count++;
        text += length + (text[length] == '&');
    }
    return count;
}

START_TEST(parameters_of_boxes_are_read)
{
    wire_param params[16];
    wire_box_params got;
    wire_problem problem;
    ck_assert(wire_read_box_params(params, split("", params), &arena, &got, &problem));
    ck_assert(got.include == 0 && !got.has_at);
    ck_assert(wire_read_box_params(
        params,
        split("include=axes,corners,planes,edges,aabb,matrix,volume&at_time=-1.5e3", params),
        &arena, &got, &problem));
    ck_assert(got.include == 127 && got.has_at && got.at.kind == OBB_AT_TIME &&
              got.at.time == -1500);
    ck_assert(
        wire_read_box_params(params, split("at_revision=12", params), &arena, &got, &problem));
    ck_assert(got.at.kind == OBB_AT_REVISION && got.at.revision == 12);
    static const char *const wrong[] = {"include=",
                                        "include=axis",
                                        "include=axes,",
                                        "include=,axes",
                                        "include=axes,,aabb",
                                        "include=axes&include=axes",
                                        "at_time=",
                                        "at_time=now",
                                        "at_time=1 ",
                                        "at_time=0x1",
                                        "at_time=1e309",
                                        "at_time=1e17",
                                        "at_time=NaN",
                                        "at_revision=-1",
                                        "at_revision=1.5",
                                        "at_revision=1e3",
                                        "at_revision=",
                                        "at_revision=9007199254740994",
                                        "at_time=1&at_revision=1",
                                        "includes=axes",
                                        "limit=1",
                                        "=",
                                        "include",
                                        "at_time=1&at_time=1"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(
            !wire_read_box_params(params, split(wrong[i], params), &arena, &got, &problem), "%s",
            wrong[i]);
        ck_assert_int_eq(problem.status, 400);
        ck_assert_ptr_null(problem.pointer);
        check_sentence(problem.detail);
        ck_assert_msg(strncmp(problem.detail, "found ", 6) == 0, "%s", problem.detail);
    }
}
END_TEST

START_TEST(parameters_of_lists_are_read)
{
    wire_param params[16];
    wire_list_params got;
    wire_problem problem;
    ck_assert(wire_read_box_list_params(params, split("", params), &arena, &got, &problem));
    ck_assert(got.limit == 1000 && got.after_id == 0 && got.prefix.length == 0 && !got.has_at);
    ck_assert(wire_read_box_list_params(
        params, split("limit=10000&cursor=17&prefix=odd-&entity=e&at_time=5", params), &arena, &got,
        &problem));
    ck_assert(got.limit == 10000 && got.after_id == 17 && got.has_at);
    ck_assert(obb_str_equal(got.prefix, obb_str_of("odd-")) &&
              obb_str_equal(got.entity, obb_str_of("e")));
    ck_assert(wire_read_scene_list_params(params, split("limit=1&cursor=a b", params), &arena, &got,
                                          &problem));
    ck_assert(got.limit == 1 && obb_str_equal(got.after_name, obb_str_of("a b")));
    ck_assert(wire_read_no_params(params, 0, &arena, &problem));
    static const char *const wrong[] = {"limit=0",
                                        "limit=10001",
                                        "limit=-1",
                                        "limit=1.0",
                                        "limit=",
                                        "limit=1e2",
                                        "limit",
                                        "cursor=",
                                        "limit=1&limit=1",
                                        "limt=1",
                                        "limit=00000000000000000000000000000000001x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const size_t count = split(wrong[i], params);
        ck_assert_msg(!wire_read_box_list_params(params, count, &arena, &got, &problem), "%s",
                      wrong[i]);
        ck_assert_int_eq(problem.status, 400);
        ck_assert(!wire_read_scene_list_params(params, count, &arena, &got, &problem));
        ck_assert_int_eq(problem.status, 400);
        ck_assert(!wire_read_no_params(params, count, &arena, &problem));
        ck_assert_int_eq(problem.status, 400);
    }
    static const char *const wrong_boxes[] = {"cursor=!", "cursor=0",  "cursor=a",
                                              "entity=",  "entity=..", "at_time=1&at_revision=1"};
    for (size_t i = 0; i < sizeof wrong_boxes / sizeof *wrong_boxes; i++) {
        ck_assert_msg(!wire_read_box_list_params(params, split(wrong_boxes[i], params), &arena,
                                                 &got, &problem),
                      "%s", wrong_boxes[i]);
        ck_assert_int_eq(problem.status, 400);
    }
    ck_assert(
        !wire_read_scene_list_params(params, split("prefix=a", params), &arena, &got, &problem));
    ck_assert(!wire_read_box_list_params(params, split("limt=1", params), &arena, &got, &problem));
    ck_assert_str_eq(problem.detail, "found the parameter \"limt\"; the nearest known one is "
                                     "\"limit\"");
    /* what is said of a parameter that is not UTF-8 can still be written as JSON */
    ck_assert(!wire_read_no_params(params, split("\xff=1", params), &arena, &problem));
    ck_assert_str_eq(problem.detail, "found the parameter \"?\"; none is known here");
}
END_TEST

START_TEST(parameters_of_event_streams_are_read)
{
    wire_param params[16];
    wire_event_params got, same;
    wire_problem problem;
    ck_assert(wire_read_event_params(params, split("", params), &arena, &got, &problem));
    ck_assert(got.topics == WIRE_TOPICS && !got.has_category && !got.pose && got.rate == 0);
    ck_assert(got.prefix.length == 0 && got.entity.length == 0 && !wire_event_params_filter(&got));
    static const char every[] =
        "topics=boxes,collisions&prefix=a&entity=e&category=4294967295&include=pose&rate=0.25";
    ck_assert(wire_read_event_params(params, split(every, params), &arena, &got, &problem));
    ck_assert(got.topics == (WIRE_TOPIC_BOXES | WIRE_TOPIC_COLLISIONS) && got.pose);
    ck_assert(obb_str_equal(got.prefix, obb_str_of("a")) &&
              obb_str_equal(got.entity, obb_str_of("e")) && got.has_category &&
              got.category == UINT32_MAX && got.rate == 0.25);
    /* those who ask for the same are told the same: any other value is another stream */
    static const char *const others[] = {
        "topics=boxes&prefix=a&entity=e&category=4294967295&include=pose&rate=0.25",
        "topics=boxes,collisions&prefix=b&entity=e&category=4294967295&include=pose&rate=0.25",
        "topics=boxes,collisions&prefix=a&entity=f&category=4294967295&include=pose&rate=0.25",
        "topics=boxes,collisions&prefix=a&entity=e&category=1&include=pose&rate=0.25",
        "topics=boxes,collisions&prefix=a&entity=e&include=pose&rate=0.25",
        "topics=boxes,collisions&prefix=a&entity=e&category=4294967295&rate=0.25",
        "topics=boxes,collisions&prefix=a&entity=e&category=4294967295&include=pose&rate=0.26",
        "topics=boxes,collisions&prefix=a&entity=e&category=4294967295&include=pose"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ck_assert(
            wire_read_event_params(params, split(others[i], params), &arena, &same, &problem));
        ck_assert_msg(!wire_event_params_equal(&got, &same), "%s", others[i]);
        ck_assert(wire_event_params_filter(&same));
    }
    ck_assert(wire_read_event_params(params,
                                     split("rate=2.5e-1&include=pose&category=4294967295&entity=e&"
                                           "prefix=a&topics=collisions,boxes",
                                           params),
                                     &arena, &same, &problem));
    ck_assert(wire_event_params_equal(&got, &same));
    ck_assert(wire_read_event_params(params, split("category=0&rate=1000&prefix=", params), &arena,
                                     &got, &problem));
    ck_assert(got.has_category && got.category == 0 && got.rate == 1000 &&
              wire_event_params_filter(&got));
    static const char *const wrong[][2] = {
        {"rate=0",
         "found \"0\"; a rate is a number of messages a second, above 0 and at most 1000"},
        {"rate=-1", "found \"-1\"; a rate is a number"},
        {"rate=1000.5", "found \"1000.5\"; a rate is a number"},
        {"rate=", "found \"\"; a rate is a number"},
        {"rate=NaN", "found \"NaN\"; a rate is a number"},
        {"rate=1e999", "found \"1e999\"; a rate is a number"},
        {"rate=10x", "found \"10x\"; a rate is a number"},
        {"category=-1", "found \"-1\"; a category is a whole number from 0 to 4294967295"},
        {"category=4294967296", "found \"4294967296\"; a category is a whole number"},
        {"category=1.5", "found \"1.5\"; a category is a whole number"},
        {"category=", "found \"\"; a category is a whole number"},
        {"include=axes", "found \"axes\"; one or more of pose are needed here"},
        {"include=", "found \"\"; one or more of pose are needed here"},
        {"entity=", "found \"\"; "},
        {"entity=..", "found \"..\"; "},
        {"topics=weather", "found \"weather\"; one or more of "},
        {"topics=", "found \"\"; one or more of "},
        {"prefx=a", "found the parameter \"prefx\"; the nearest known one is \"prefix\""},
        {"limit=1", "found the parameter \"limit\"; "},
        {"rate=1&rate=1", "found \"rate\"; a parameter is sent once"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(
            !wire_read_event_params(params, split(wrong[i][0], params), &arena, &got, &problem),
            "%s", wrong[i][0]);
        ck_assert_int_eq(problem.status, 400);
        check_sentence(problem.detail);
        ck_assert_msg(strncmp(problem.detail, wrong[i][1], strlen(wrong[i][1])) == 0, "%s",
                      problem.detail);
    }
}
END_TEST

static bool read_params(int reader, const wire_param *params, size_t count, struct obb_arena *a,
                        wire_problem *problem)
{
    wire_box_params box;
    wire_list_params list;
    wire_event_params events;
    wire_log_params log;
    switch (reader) {
    case 0:
        return wire_read_box_params(params, count, a, &box, problem);
    case 1:
        return wire_read_box_list_params(params, count, a, &list, problem);
    case 2:
        return wire_read_scene_list_params(params, count, a, &list, problem);
    case 3:
        return wire_read_event_params(params, count, a, &events, problem);
    case 4:
        return wire_read_log_params(params, count, a, &log, problem);
    default:
        return wire_read_no_params(params, count, a, problem);
    }
}

START_TEST(parameters_of_recorded_queries_are_read)
{
    wire_param params[16];
    wire_recorded_params got;
    wire_problem problem;
    ck_assert(wire_read_recorded_params(params, split("", params), &arena, &got, &problem));
    ck_assert(got.limit == 1000 && got.after_id == 0 && !got.has_tag && !got.has_hit &&
              got.box.length == 0);
    ck_assert(wire_read_recorded_params(params,
                                        split("tag=&hit=true&box=a b&limit=10000&cursor=7", params),
                                        &arena, &got, &problem));
    ck_assert(got.limit == 10000 && got.after_id == 7 && got.has_tag && got.tag.length == 0 &&
              got.has_hit && got.hit && obb_str_equal(got.box, obb_str_of("a b")));
    ck_assert(
        wire_read_recorded_params(params, split("hit=false", params), &arena, &got, &problem));
    ck_assert(got.has_hit && !got.hit);
    static const struct {
        const char *text, *detail;
    } wrong[] = {
        {"hit=", "found \"\"; hit is true or false"},
        {"hit=1", "found \"1\"; hit is true or false"},
        {"limit=0", "found \"0\"; a limit is a whole number from 1 to 10000"},
        {"limit=10001", "found \"10001\"; a limit is a whole number from 1 to 10000"},
        {"cursor=x", "found \"x\"; a cursor comes from the page before"},
        {"tag=a&tag=b", "found \"tag\"; a parameter is sent once"},
        {"boxes=a", "found the parameter \"boxes\"; the nearest known one is \"box\""},
        {"prefix=a", NULL},
        {"box=", NULL},
        {"box=..", NULL},
        {"tag=12345678901234567890123456789012345678901234567890123456789012345", NULL},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(!wire_read_recorded_params(params, split(wrong[i].text, params), &arena, &got,
                                                 &problem) &&
                          problem.status == 400,
                      "%s", wrong[i].text);
        if (wrong[i].detail != NULL)
            ck_assert_str_eq(problem.detail, wrong[i].detail);
    }
    char longest[80] = "tag=";
    memset(longest + 4, 'x', 64);
    ck_assert(wire_read_recorded_params(params, split(longest, params), &arena, &got, &problem));
    ck_assert_uint_eq(got.tag.length, 64);
}
END_TEST

START_TEST(parameters_say_how_new_the_state_must_be)
{
    static const struct {
        const char *text;
        wire_freshness freshness;
    } good[] = {{"", {false, false, 0}},
                {"revision=0", {true, false, 0}},
                {"revision=9007199254740992", {true, false, OBB_MAX_WHOLE}},
                {"fresh", {false, true, 0}},
                {"fresh=true", {false, true, 0}},
                {"fresh=false", {false, false, 0}},
                {"fresh=&revision=7", {true, true, 7}}};
    static const char *const wrong[] = {"revision",
                                        "revision=",
                                        "revision=x",
                                        "revision=-1",
                                        "revision=1.5",
                                        "revision=1e2",
                                        "revision=9007199254740994",
                                        "fresh=maybe",
                                        "fresh=1",
                                        "fresh=True",
                                        "fresh&fresh",
                                        "revision=1&revision=1",
                                        "freshness=true"};
    wire_param params[16];
    wire_problem problem;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        wire_box_params box, frame;
        wire_list_params boxes, frames;
        wire_log_params log;
        wire_recorded_params recorded;
        wire_freshness scene;
        const size_t n = split(good[i].text, params);
        ck_assert(wire_read_box_params(params, n, &arena, &box, &problem));
        ck_assert(wire_read_frame_params(params, n, &arena, &frame, &problem));
        ck_assert(wire_read_box_list_params(params, n, &arena, &boxes, &problem));
        ck_assert(wire_read_frame_list_params(params, n, &arena, &frames, &problem));
        ck_assert(wire_read_log_params(params, n, &arena, &log, &problem));
        ck_assert(wire_read_recorded_params(params, n, &arena, &recorded, &problem));
        ck_assert(wire_read_freshness_params(params, n, &arena, &scene, &problem));
        const wire_freshness got[] = {box.freshness,
                                      frame.freshness,
                                      boxes.freshness,
                                      frames.freshness,
                                      log.freshness,
                                      recorded.freshness,
                                      scene};
        for (size_t k = 0; k < sizeof got / sizeof *got; k++)
            ck_assert_msg(got[k].has_revision == good[i].freshness.has_revision &&
                              got[k].fresh == good[i].freshness.fresh &&
                              got[k].revision == good[i].freshness.revision,
                          "%s, %zu", good[i].text, k);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wire_freshness got;
        ck_assert_msg(
            !wire_read_freshness_params(params, split(wrong[i], params), &arena, &got, &problem),
            "%s", wrong[i]);
        ck_assert_int_eq(problem.status, 400);
        check_sentence(problem.detail);
    }
    wire_list_params scenes;
    ck_assert(
        wire_read_scene_list_params(params, split("fresh", params), &arena, &scenes, &problem) &&
        scenes.freshness.fresh);
    ck_assert(!wire_read_scene_list_params(params, split("revision=1", params), &arena, &scenes,
                                           &problem));
}
END_TEST

START_TEST(parameters_need_memory_only_to_say_what_is_wrong)
{
    static const struct {
        const char *text;
        bool good;
    } cases[][2] = {{{"include=axes,aabb&at_time=1", true}, {"include=none", false}},
                    {{"limit=10&cursor=17&prefix=a&at_revision=3", true}, {"limit=x", false}},
                    {{"limit=10&cursor=a", true}, {"cursor=..", false}},
                    {{"topics=boxes,commits&rate=1", true}, {"topics=boxes,weather", false}},
                    {{"from=17&follow=true", true}, {"follow=yes", false}},
                    {{"", true}, {"limit=1", false}}};
    size_t failed = 0, readers = sizeof cases / sizeof cases[0];
    for (size_t r = 0; r < readers; r++)
        for (int c = 0; c < 2; c++)
            for (size_t n = 1;; n++) {
                wire_param params[16];
                wire_problem problem = {0};
                struct obb_arena a;
                obb_arena_init(&a);
                const size_t count = split(cases[r][c].text, params);
                fault_arm(n);
                const bool good = read_params((int)r, params, count, &a, &problem);
                const size_t seen = fault_seen();
                fault_arm(0);
                ck_assert_msg(good == cases[r][c].good, "%s", cases[r][c].text);
                ck_assert(!good || seen == 0);
                ck_assert(good || (problem.status == 400 && problem.detail != NULL));
                obb_arena_fini(&a);
                failed += seen >= n;
                if (seen < n)
                    break;
            }
    ck_assert_uint_eq(failed, readers);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_params");
    TCase *tc = tcase_create("request_params");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, parameters_of_boxes_are_read);
    tcase_add_test(tc, parameters_of_lists_are_read);
    tcase_add_test(tc, parameters_of_event_streams_are_read);
    tcase_add_test(tc, parameters_of_recorded_queries_are_read);
    tcase_add_test(tc, parameters_say_how_new_the_state_must_be);
    tcase_add_test(tc, parameters_need_memory_only_to_say_what_is_wrong);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
