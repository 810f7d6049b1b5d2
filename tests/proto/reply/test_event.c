#include "tests/proto/reply/yard.h"

#define EPOCH UINT64_C(0x00c0ffee01234567)

START_TEST(events_are_messages_of_a_stream)
{
    const obb_box_pair pairs[] = {{a, b}};
    const wire_pair_change told[] = {
        {.a_id = 1, .b_id = 2, .a = obb_view_name(a), .b = obb_view_name(b), .ended = 1},
        {.a_id = 1,
         .b_id = 3,
         .a = {"a", 1},
         .b = {"c", 1},
         .begun = 2,
         .ended = 1,
         .removed = true}};
    const wire_box_change boxes[] = {{.id = 1, .name = obb_view_name(a), .what = WIRE_BOX_PUT},
                                     {.id = 2, .name = obb_view_name(b), .what = WIRE_BOX_PUT},
                                     {.id = 3, .name = {"c", 1}, .what = WIRE_BOX_POSED},
                                     {.id = 4, .name = {"d", 1}, .what = WIRE_BOX_REMOVED}};
    const obb_moment moment = {7, 1000.5};
    const obb_committed committed = {.moment = moment, .put = 2, .removed = 1};
    struct wire_buf stream = {0};
    wire_event_comment(&stream);
    wire_event_state(&stream, EPOCH, moment, pairs, 1);
    wire_event_commit(&stream, EPOCH, &committed, false);
    wire_event_boxes(&stream, EPOCH, moment, false, boxes, 4, 0, NULL, 0);
    wire_event_collisions(&stream, WIRE_COLLISIONS_BEGIN, EPOCH, moment, false, told, 2);
    wire_event_collisions(&stream, WIRE_COLLISIONS_END, EPOCH, moment, false, told, 2);
    wire_event_collisions(&stream, WIRE_COLLISIONS_REMOVED, EPOCH, moment, true, told, 2);
    ck_assert_uint_eq(wire_pairs_of(told, 2, WIRE_COLLISIONS_BEGIN), 2);
    ck_assert_uint_eq(wire_pairs_of(told, 2, WIRE_COLLISIONS_END), 2);
    ck_assert_uint_eq(wire_pairs_of(told, 2, WIRE_COLLISIONS_REMOVED), 1);
    const obb_committed restart = {.moment = moment, .restarted = true};
    wire_event_commit(&stream, EPOCH, &restart, true);
    wire_event_overrun(&stream, moment);
    wire_event_gone(&stream, moment);
    wire_event_shutdown(&stream, moment);
    static const char expected[] =
        ":\n\n"
        "id: 7.00c0ffee01234567\nevent: state\ndata: "
        "{\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]]}\n\n"
        "event: commit\ndata: {\"revision\":7,\"time\":1000.5,\"put\":2,\"posed\":0,"
        "\"transformed\":0,\"removed\":1}\n\n"
        "event: boxes\ndata: {\"revision\":7,\"time\":1000.5,\"put\":[\"a\"," B
        "],\"posed\":[\"c\"],"
        "\"removed\":[\"d\"]}\n\n"
        "event: begin\ndata: "
        "{\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\",\"c\"],[\"a\",\"c\"]]}\n\n"
        "event: end\ndata: {\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B
        "],[\"a\",\"c\"]]}\n\n"
        "id: 7.00c0ffee01234567\nevent: end\ndata: "
        "{\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\",\"c\"]],"
        "\"reason\":\"removed\"}\n\n"
        "id: 7.00c0ffee01234567\nevent: commit\ndata: {\"revision\":7,\"time\":1000.5,\"put\":0,"
        "\"posed\":0,\"transformed\":0,\"removed\":0,\"restart\":true}\n\n"
        "event: overrun\ndata: {\"revision\":7,\"time\":1000.5}\n\n"
        "event: gone\ndata: {\"revision\":7,\"time\":1000.5}\n\n"
        "event: shutdown\ndata: {\"revision\":7,\"time\":1000.5}\n\n";
    check_lines(&stream, "GET", "/v1/scenes/yard/events", "text/event-stream", expected);
}
END_TEST

START_TEST(frames_are_named_behind_the_boxes)
{
    const obb_moment moment = {7, 1000.5};
    const obb_str frames[] = {{"ann", 3}, {"bob", 3}};
    struct wire_buf stream = {0};
    wire_event_boxes(&stream, EPOCH, moment, true, NULL, 0, 0, frames, 2);
    check_lines(&stream, "GET", "/v1/scenes/yard/events", "text/event-stream",
                "id: 7.00c0ffee01234567\nevent: boxes\ndata: {\"revision\":7,\"time\":1000.5,"
                "\"put\":[],\"posed\":[],\"removed\":[],\"frames\":[\"ann\",\"bob\"]}\n\n");
}
END_TEST

START_TEST(poses_come_in_columns)
{
    const wire_box_change boxes[] = {
        {.id = 3,
         .name = {"a", 1},
         .what = WIRE_BOX_PUT | WIRE_BOX_NEW,
         .box = {.center = {1, -0.0, 2.5},
                 .half_extents = {1, 2, 3},
                 .rotation = {0, 0, 0, 1},
                 .angle = 90},
         .entity = {"e", 1}},
        {.id = 7, .name = {"b", 1}, .what = WIRE_BOX_REMOVED},
        {.id = 8,
         .name = {"c", 1},
         .what = WIRE_BOX_POSED,
         .box = {.center = {4, 5, 6}, .rotation = {0.6, 0, 0, 0.8}, .angle = -45.5}},
        {.id = 9,
         .name = {"d", 1},
         .what = WIRE_BOX_POSED | WIRE_BOX_NEW,
         .box = {.half_extents = {7, 8, 9}, .rotation = {0, 0, 0, 1}}}};
    const obb_moment moment = {7, 1000.5};
    struct wire_buf stream = {0};
    wire_event_boxes(&stream, EPOCH, moment, true, boxes, 4, 3, NULL, 0);
    wire_event_boxes(&stream, EPOCH, moment, true, boxes, 4, 2, NULL, 0);
    wire_event_boxes(&stream, EPOCH, moment, true, boxes + 1, 1, 3, NULL, 0);
    static const char expected[] =
        "id: 7.00c0ffee01234567\nevent: boxes\ndata: {\"revision\":7,\"time\":1000.5,"
        "\"put\":[\"a\"],\"posed\":[\"c\",\"d\"],\"removed\":[\"b\"],"
        "\"columns\":{\"ids\":[3,8,9],\"centers\":[1,-0.0,2.5,4,5,6,0,0,0],"
        "\"rotations\":[0,0,0,1,0.6,0,0,0.8,0,0,0,1]},"
        "\"new\":{\"ids\":[3,9],\"names\":[\"a\",\"d\"],\"half_extents\":[1,2,3,7,8,9],"
        "\"entities\":[\"e\",null]}}\n\n"
        "id: 7.00c0ffee01234567\nevent: boxes\ndata: {\"revision\":7,\"time\":1000.5,"
        "\"put\":[\"a\"],\"posed\":[\"c\",\"d\"],\"removed\":[\"b\"],"
        "\"columns\":{\"ids\":[3,8,9],\"centers\":[1,-0.0,4,5,0,0],\"angles\":[90,-45.5,0]},"
        "\"new\":{\"ids\":[3,9],\"names\":[\"a\",\"d\"],\"half_extents\":[1,2,7,8],"
        "\"entities\":[\"e\",null]}}\n\n"
        "id: 7.00c0ffee01234567\nevent: boxes\ndata: {\"revision\":7,\"time\":1000.5,"
        "\"put\":[],\"posed\":[],\"removed\":[\"b\"],"
        "\"columns\":{\"ids\":[],\"centers\":[],\"rotations\":[]},"
        "\"new\":{\"ids\":[],\"names\":[],\"half_extents\":[],\"entities\":[]}}\n\n";
    check_lines(&stream, "GET", "/v1/scenes/yard/events", "text/event-stream", expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event");
    TCase *tc = tcase_create("event");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_add_test(tc, events_are_messages_of_a_stream);
    tcase_add_test(tc, frames_are_named_behind_the_boxes);
    tcase_add_test(tc, poses_come_in_columns);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
