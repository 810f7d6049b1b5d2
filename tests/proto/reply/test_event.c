#include "tests/proto/reply/yard.h"

#define EPOCH UINT64_C(0x00c0ffee01234567)

START_TEST(events_are_messages_of_a_stream)
{
    const obb_box_pair pairs[] = {{a, b}};
    const struct obb_version *const boxes[] = {a, b};
    const obb_moment moment = {7, 1000.5};
    const wire_changes changes = {
        .put = boxes, .put_count = 2, .removed = boxes, .removed_count = 1};
    const obb_committed committed = {.moment = moment, .put = 2, .removed = 1};
    struct wire_buf stream = {0};
    wire_event_comment(&stream);
    wire_event_collisions(&stream, WIRE_COLLISIONS_STATE, EPOCH, moment, true, pairs, 1);
    wire_event_commit(&stream, EPOCH, &committed, false);
    wire_event_boxes(&stream, EPOCH, moment, false, &changes);
    wire_event_collisions(&stream, WIRE_COLLISIONS_BEGIN, EPOCH, moment, false, pairs, 0);
    wire_event_collisions(&stream, WIRE_COLLISIONS_END, EPOCH, moment, false, pairs, 1);
    wire_event_collisions(&stream, WIRE_COLLISIONS_REMOVED, EPOCH, moment, true, pairs, 1);
    wire_event_overrun(&stream, moment);
    wire_event_gone(&stream, moment);
    wire_event_shutdown(&stream, moment);
    static const char expected[] =
        ":\n\n"
        "id: 7.00c0ffee01234567\nevent: state\ndata: "
        "{\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]]}\n\n"
        "event: commit\ndata: {\"revision\":7,\"time\":1000.5,\"put\":2,\"posed\":0,"
        "\"transformed\":0,\"removed\":1}\n\n"
        "event: boxes\ndata: {\"revision\":7,\"time\":1000.5,\"put\":[\"a\"," B "],\"posed\":[],"
        "\"removed\":[\"a\"]}\n\n"
        "event: begin\ndata: {\"revision\":7,\"time\":1000.5,\"pairs\":[]}\n\n"
        "event: end\ndata: {\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]]}\n\n"
        "id: 7.00c0ffee01234567\nevent: end\ndata: "
        "{\"revision\":7,\"time\":1000.5,\"pairs\":[[\"a\"," B "]],"
        "\"reason\":\"removed\"}\n\n"
        "event: overrun\ndata: {\"revision\":7,\"time\":1000.5}\n\n"
        "event: gone\ndata: {\"revision\":7,\"time\":1000.5}\n\n"
        "event: shutdown\ndata: {\"revision\":7,\"time\":1000.5}\n\n";
    check_lines(&stream, "GET", "/v1/scenes/yard/events", "text/event-stream", expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("event");
    TCase *tc = tcase_create("event");
    tcase_add_checked_fixture(tc, make, discard);
    tcase_add_test(tc, events_are_messages_of_a_stream);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
