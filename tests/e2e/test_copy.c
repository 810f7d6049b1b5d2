/* Copies of scenes. */
#include "tests/support/cbor.h"
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define UNIT "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"
#define COPY "/v1/scenes/s/copy"

static struct test_daemon daemon;
static struct http_client *client;

static void setup(void)
{
    daemon_start(&daemon, (const char *[]){"--scene-limit", "3", "--box-limit", "10", NULL});
    client = http_open(daemon.url);
    expect(client, "PUT", "/v1/scenes/s", "{\"history\":{\"span\":200,\"commits\":9},\"record\":3}",
           201, NULL);
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":1000,\"put\":{\"a\":" UNIT ",\"gone\":" UNIT
           ",\"b\":{\"center\":[4,0,0],\"half_extents\":[1,1,1],\"category\":6,\"entity\":\"e\","
           "\"data\":{\"hp\":1}}}}",
           200, NULL);
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":1010,\"pose\":{\"a\":{\"center\":[2,0,0]}},\"remove\":[\"gone\"]}", 200,
           "{\"revision\":2}");
}

static void teardown(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

/* The Obbd-Epoch of an answer. */
static const char *epoch_of(const char *method, const char *path, const char *body, long status)
{
    static char epochs[4][32];
    static unsigned turn;
    struct http_answer answer = {0};
    http_send(client, method, path, NULL, body, &answer);
    ck_assert_msg(answer.status == status, "%ld %s", answer.status, answer.body);
    char *epoch = epochs[turn++ % 4];
    const char *value = http_header(&answer, "Obbd-Epoch");
    (void)snprintf(epoch, sizeof epochs[0], "%s", value != NULL ? value : "");
    http_answer_fini(&answer);
    return epoch;
}

START_TEST(the_answer_says_where_the_copy_is)
{
    static const struct {
        const char *body, *location;
    } rows[] = {
        {"{\"to\":\"match-7\"}", "/v1/scenes/match-7"},
        {"{\"to\":\"a/b \\u00e9~\"}", "/v1/scenes/a%2Fb%20%C3%A9~"},
    };
    struct http_answer answer = {0};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        http_send(client, "POST", COPY, NULL, rows[i].body, &answer);
        ck_assert_int_eq(answer.status, 201);
        ck_assert_str_eq(http_header(&answer, "Location"), rows[i].location);
        expect(client, "GET", rows[i].location, NULL, 200, "{\"boxes\":2}");
    }
    http_send(client, "POST", COPY, NULL, rows[0].body, &answer);
    ck_assert(answer.status == 409 && http_header(&answer, "Location") == NULL);
    http_answer_fini(&answer);
}
END_TEST

START_TEST(a_copy_is_a_scene_of_its_own)
{
    expect(client, "POST", COPY, "{\"to\":\"t\"}", 201,
           "{\"name\":\"t\",\"dimensions\":3,\"history\":{\"span\":200,\"commits\":9},\"record\":3,"
           "\"boxes\":2,\"revision\":1,\"time\":1010,\"oldest\":{\"revision\":1,\"time\":1010},"
           "\"bounds\":{\"min\":[1,-1,-1],\"max\":[5,1,1]}}");
    expect(client, "GET", "/v1/scenes/t/boxes", NULL, 200,
           "{\"revision\":1,\"time\":1010,\"boxes\":[{\"name\":\"a\",\"id\":1,\"changed\":1,"
           "\"center\":[2,0,0],\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1,"
           "\"mask\":4294967295,\"group\":0},{\"name\":\"b\",\"id\":3,\"changed\":1,"
           "\"center\":[4,0,0],\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":6,"
           "\"mask\":4294967295,\"group\":0,\"entity\":\"e\",\"data\":{\"hp\":1}}]}");
    expect(client, "POST", "/v1/scenes/t/query/all-pairs", "{}", 200,
           "{\"revision\":1,\"count\":1,\"pairs\":[[\"a\",\"b\"]]}");
    const char *source = epoch_of("GET", "/v1/scenes/s", NULL, 200);
    const char *copy = epoch_of("GET", "/v1/scenes/t", NULL, 200);
    ck_assert_str_ne(source, copy);
    /* ids go on, and neither hears of what the other does */
    expect(client, "PUT", "/v1/scenes/t/boxes/n", UNIT, 201, "{\"id\":4,\"revision\":2}");
    expect(client, "DELETE", "/v1/scenes/s/boxes/b", NULL, 204, "");
    expect(client, "GET", "/v1/scenes/t/boxes/b", NULL, 200, "{\"id\":3}");
    expect(client, "GET", "/v1/scenes/s/boxes/n", NULL, 404, NULL);
    expect(client, "GET", "/v1/scenes/t/boxes/a?at_revision=0", NULL, 410, NULL);
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"boxes\":1,\"revision\":3}");
    expect(client, "POST", "/v1/scenes/t/commit", "{\"time\":1009}", 409, NULL);
    /* a copy of the copy; the answer has the epoch of what was made */
    const char *answered = epoch_of("POST", "/v1/scenes/t/copy", "{\"to\":\"u\"}", 201);
    ck_assert_str_eq(answered, epoch_of("GET", "/v1/scenes/u", NULL, 200));
}
END_TEST

/* Copies the scene, whose settings are none that a new scene has, and looks for them in the copy:
 * in the answer, in what is read, and in what the copy does. */
START_TEST(a_copy_has_the_settings_of_its_source)
{
    static const char settings[] =
        "{\"dimensions\":2,\"history\":{\"span\":70,\"commits\":2},\"record\":3}";
    expect(client, "PUT", "/v1/scenes/plane", settings, 201, NULL);
    expect(client, "POST", "/v1/scenes/plane/commit",
           "{\"time\":5,\"put\":{\"a\":{\"center\":[3,4],\"half_extents\":[1,2],\"angle\":90}}}",
           200, NULL);
    expect(client, "POST", "/v1/scenes/plane/copy", "{\"to\":\"t\"}", 201, settings);
    expect(client, "GET", "/v1/scenes/t", NULL, 200, settings);
    expect(client, "GET", "/v1/scenes/t/boxes/a", NULL, 200,
           "{\"center\":[3,4],\"half_extents\":[1,2],\"angle\":90}");
    expect_problem(client, "PUT", "/v1/scenes/t/boxes/deep", UNIT, 422, "/center");
    expect_problem(client, "PUT", "/v1/scenes/t", "{\"dimensions\":3}", 409, "/dimensions");
    /* of the queries the last three are kept, of the history two commits and 70 ms */
    for (int i = 1; i <= 4; i++)
        expect(client, "POST", "/v1/scenes/t/query/all-pairs", test_text("{\"tag\":\"%d\"}", i),
               200, NULL);
    expect(client, "GET", "/v1/scenes/t/queries", NULL, 200,
           "{\"queries\":[{\"tag\":\"2\"},{\"tag\":\"3\"},{\"tag\":\"4\"}]}");
    for (int i = 1; i <= 3; i++)
        expect(client, "POST", "/v1/scenes/t/commit",
               test_text("{\"time\":%d,\"pose\":{\"a\":{\"center\":[%d,0]}}}", 5 + i, i), 200,
               NULL);
    expect(client, "GET", "/v1/scenes/t", NULL, 200,
           "{\"revision\":4,\"oldest\":{\"revision\":2,\"time\":6}}");
    expect(client, "POST", "/v1/scenes/t/commit",
           "{\"time\":78.5,\"pose\":{\"a\":{\"center\":[9,0]}}}", 200, NULL);
    expect(client, "GET", "/v1/scenes/t", NULL, 200,
           "{\"revision\":5,\"oldest\":{\"revision\":4,\"time\":8}}");
}
END_TEST

START_TEST(a_copy_has_the_frames_too)
{
    expect(client, "POST", "/v1/scenes/rig/commit",
           "{\"time\":10,\"frames\":{\"ann\":{\"center\":[1,0,0]},\"empty\":{}},\"put\":{\"limb\":{"
           "\"frame\":\"ann\",\"center\":[2,0,0],\"half_extents\":[1,1,1]}}}",
           200, NULL);
    expect(client, "POST", "/v1/scenes/rig/copy", "{\"to\":\"again\"}", 201,
           "{\"name\":\"again\",\"boxes\":1,\"revision\":1,\"time\":10}");
    expect(
        client, "GET", "/v1/scenes/again/frames", NULL, 200,
        "{\"revision\":1,\"frames\":[{\"name\":\"ann\",\"center\":[1,0,0],\"rotation\":[0,0,0,1]},"
        "{\"name\":\"empty\",\"center\":[0,0,0],\"rotation\":[0,0,0,1]}]}");
    expect(
        client, "GET", "/v1/scenes/again/boxes/limb", NULL, 200,
        "{\"center\":[3,0,0],\"frame\":\"ann\",\"local\":{\"center\":[2,0,0],\"rotation\":[0,0,0,1]"
        "}}");
    expect(client, "PUT", "/v1/scenes/again/frames/ann", "{\"center\":[0,5,0]}", 200, NULL);
    expect(client, "GET", "/v1/scenes/again/boxes/limb", NULL, 200, "{\"center\":[2,5,0]}");
    expect(client, "GET", "/v1/scenes/rig/boxes/limb", NULL, 200, "{\"center\":[3,0,0]}");
    expect(client, "DELETE", "/v1/scenes/again/frames/ann", NULL, 204, "");
    expect(client, "GET", "/v1/scenes/again", NULL, 200, "{\"boxes\":0}");
}
END_TEST

START_TEST(a_past_state_can_be_copied)
{
    expect(client, "POST", COPY, "{\"to\":\"t\",\"at\":{\"revision\":1}}", 201,
           "{\"boxes\":3,\"revision\":1,\"time\":1000}");
    expect(client, "GET", "/v1/scenes/t/boxes/a", NULL, 200, "{\"center\":[0,0,0],\"changed\":1}");
    expect(client, "PUT", "/v1/scenes/t/boxes/n", UNIT, 201, "{\"id\":4}");
    expect(client, "POST", COPY, "{\"to\":\"t\",\"replace\":true,\"at\":{\"time\":1005}}", 201,
           "{\"boxes\":3,\"revision\":1,\"time\":1005}");
    expect(client, "GET", "/v1/scenes/t/boxes/a", NULL, 200, "{\"center\":[1,0,0]}");
    expect(client, "POST", COPY, "{\"to\":\"t\",\"replace\":true,\"at\":{\"ago\":10}}", 201,
           "{\"time\":1000}");
    expect(client, "POST", COPY,
           "{\"to\":\"t\",\"replace\":true,\"at\":{\"time\":5,\"clamp\":true}}", 201, NULL);
    expect(client, "POST", COPY, "{\"to\":\"u\",\"at\":{\"revision\":99}}", 410,
           "{\"pointer\":\"/at\",\"newest\":{\"revision\":2,\"time\":1010}}");
    expect(client, "GET", "/v1/scenes/u", NULL, 404, NULL);
}
END_TEST

START_TEST(a_scene_gives_its_place_only_to_a_copy_that_replaces_it)
{
    struct follower f;
    struct follower_message message;
    expect(client, "PUT", "/v1/scenes/t/boxes/old", UNIT, 201, NULL);
    const char *before = epoch_of("GET", "/v1/scenes/t", NULL, 200);
    expect(client, "POST", COPY, "{\"to\":\"t\"}", 409,
           "{\"type\":\"/problems/scene-exists\",\"pointer\":\"/to\",\"detail\":\"found the scene "
           "\\\"t\\\", whose place a copy takes only if \\\"replace\\\" is true\"}");
    expect(client, "POST", COPY, "{\"to\":\"t\",\"replace\":false}", 409, NULL);
    expect(client, "POST", COPY, "{\"to\":\"s\"}", 409, NULL);
    expect(client, "GET", "/v1/scenes/t/boxes/old", NULL, 200, NULL);
    follower_open(&f, daemon_dial(&daemon), "/v1/scenes/t/events?topics=collisions", NULL);
    ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
    ck_assert_str_eq(message.event, "state");
    expect(client, "POST", COPY, "{\"to\":\"t\",\"replace\":true}", 201, "{\"boxes\":2}");
    ck_assert(follower_next(&f, FOLLOWER_PATIENT, &message));
    ck_assert_str_eq(message.event, "gone");
    ck_assert(!follower_next(&f, FOLLOWER_PATIENT, &message) && f.ended);
    follower_close(&f);
    expect(client, "GET", "/v1/scenes/t/boxes/old", NULL, 404, NULL);
    ck_assert_str_ne(before, epoch_of("GET", "/v1/scenes/t", NULL, 200));
    /* a scene in its own place: no history is left */
    expect(client, "POST", COPY, "{\"to\":\"s\",\"replace\":true}", 201,
           "{\"name\":\"s\",\"boxes\":2,\"revision\":1,\"time\":1010}");
    expect(client, "GET", "/v1/scenes/s/boxes/a", NULL, 200, "{\"center\":[2,0,0],\"id\":1}");
    expect(client, "PUT", "/v1/scenes/s/boxes/n", UNIT, 201, "{\"id\":4}");
}
END_TEST

START_TEST(copies_that_cannot_be_are_refused)
{
    static const struct {
        const char *path, *body;
        long status;
        const char *pointer;
    } rows[] = {
        {COPY, "{}", 422, ""},
        {COPY, NULL, 422, ""},
        {COPY, "[]", 422, ""},
        {COPY, "{\"to\":7}", 422, "/to"},
        {COPY, "{\"to\":\"..\"}", 422, "/to"},
        {COPY, "{\"to\":\"\"}", 422, "/to"},
        {COPY, "{\"to\":\"t\",\"replace\":1}", 422, "/replace"},
        {COPY, "{\"to\":\"t\",\"at\":7}", 422, "/at"},
        {COPY, "{\"to\":\"t\",\"at\":{\"ago\":-1}}", 422, "/at/ago"},
        {COPY, "{\"to\":\"t\",\"from\":\"s\"}", 422, "/from"},
        {COPY, "{\"to\":\"t\",\"to\":\"u\"}", 400, NULL},
        {COPY, "{\"to\":", 400, NULL},
        {COPY "?to=t", "{\"to\":\"t\"}", 400, NULL},
        {"/v1/scenes/none/copy", "{\"to\":\"t\"}", 404, NULL},
        {"/v1/scenes/none/copy", "{\"to\":7}", 422, "/to"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_problem(client, "POST", rows[i].path, rows[i].body, rows[i].status, rows[i].pointer);
    struct http_answer answer = {0};
    http_send(client, "POST", COPY, (const char *[]){"If-Match: \"1\"", NULL}, "{\"to\":\"t\"}",
              &answer);
    ck_assert_int_eq(answer.status, 412);
    http_send(client, "POST", COPY, (const char *[]){"Obbd-If-Epoch: 0000000000000000", NULL},
              "{\"to\":\"t\"}", &answer);
    ck_assert_int_eq(answer.status, 412);
    http_send(client, "POST", COPY, (const char *[]){"Content-Type: text/plain", NULL},
              "{\"to\":\"t\"}", &answer);
    ck_assert_int_eq(answer.status, 415);
    expect(client, "GET", "/v1/scenes", NULL, 200,
           "{\"scenes\":[{\"name\":\"s\",\"boxes\":2,"
           "\"revision\":2}]}");
    http_send(client, "POST", COPY, (const char *[]){"If-Match: \"2\"", NULL}, "{\"to\":\"t\"}",
              &answer);
    ck_assert_int_eq(answer.status, 201);
    http_answer_fini(&answer);
    /* limits: of scenes, and of boxes in all scenes, of which a copy gives back what it replaces */
    expect(client, "POST", COPY, "{\"to\":\"u\"}", 201, NULL);
    expect(client, "POST", COPY, "{\"to\":\"v\"}", 413,
           "{\"detail\":\"there are at most 3 scenes (--scene-limit)\"}");
    expect(client, "POST", "/v1/scenes/u/commit",
           "{\"put\":{\"1\":" UNIT ",\"2\":" UNIT ",\"3\":" UNIT "}}", 200, NULL); /* 2, 2, 5 */
    expect(client, "POST", "/v1/scenes/u/copy", "{\"to\":\"t\",\"replace\":true}", 413,
           "{\"detail\":\"there are at most 10 boxes and frames in all scenes (--box-limit)\"}");
    expect(client, "GET", "/v1/scenes/t", NULL, 200, "{\"boxes\":2}");
    expect(client, "DELETE", "/v1/scenes/u/boxes/1", NULL, 204, "");
    expect(client, "DELETE", "/v1/scenes/u/boxes/2", NULL, 204, "");
    expect(client, "POST", "/v1/scenes/u/copy", "{\"to\":\"t\",\"replace\":true}", 201,
           "{\"boxes\":3}");
}
END_TEST

static double boxes_in_all(void)
{
    struct http_answer answer = {0};
    http_send(client, "GET", "/metrics", NULL, NULL, &answer);
    const char *line = strstr(answer.body, "\nobbd_boxes ");
    ck_assert_ptr_nonnull(line);
    const double boxes = strtod(line + 12, NULL);
    http_answer_fini(&answer);
    return boxes;
}

/* Frames take room as boxes do, also those of copies, and give it back. */
START_TEST(frames_of_copies_count)
{
    expect(client, "POST", "/v1/scenes/s/commit", "{\"frames\":{\"f\":{},\"g\":{}}}", 200, NULL);
    ck_assert_double_eq(boxes_in_all(), 4);
    expect(client, "POST", COPY, "{\"to\":\"t\"}", 201, NULL);
    ck_assert_double_eq(boxes_in_all(), 8);
    expect(client, "POST", COPY, "{\"to\":\"u\"}", 413,
           "{\"detail\":\"there are at most 10 boxes and frames in all scenes (--box-limit)\"}");
    for (int i = 0; i < 4; i++)
        expect(client, "POST", COPY, "{\"to\":\"t\",\"replace\":true}", 201, "{\"boxes\":2}");
    ck_assert_double_eq(boxes_in_all(), 8);
    expect(client, "POST", "/v1/scenes/t/commit",
           "{\"remove_frames\":[\"f\",\"g\"],\"remove\":[\"a\",\"b\"]}", 200,
           "{\"removed\":2,\"removed_frames\":2}");
    ck_assert_double_eq(boxes_in_all(), 4);
    expect(client, "DELETE", "/v1/scenes/t", NULL, 204, "");
    expect(client, "DELETE", "/v1/scenes/s", NULL, 204, "");
    ck_assert_double_eq(boxes_in_all(), 0);
}
END_TEST

START_TEST(a_copy_is_asked_for_and_answered_in_cbor)
{
    struct http_answer answer = {0};
    size_t length = 0;
    json_t *body = json_pack("{s:s,s:{s:i}}", "to", "t", "at", "revision", 1);
    char *bytes = cbor_written(body, &length);
    json_decref(body);
    http_send_bytes(
        client, "POST", COPY,
        (const char *[]){"Content-Type: application/cbor", "Accept: application/cbor", NULL}, bytes,
        length, &answer);
    free(bytes);
    ck_assert_int_eq(answer.status, 201);
    json_t *scene = cbor_read(answer.body, answer.length);
    ck_assert_int_eq(json_integer_value(json_object_get(scene, "boxes")), 3);
    ck_assert_int_eq(json_integer_value(json_object_get(scene, "revision")), 1);
    ck_assert(json_number_value(json_object_get(scene, "time")) == 1000);
    json_decref(scene);
    http_answer_fini(&answer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("copy");
    TCase *tc = tcase_create("copy");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, the_answer_says_where_the_copy_is);
    tcase_add_test(tc, a_copy_is_a_scene_of_its_own);
    tcase_add_test(tc, a_copy_has_the_settings_of_its_source);
    tcase_add_test(tc, a_copy_has_the_frames_too);
    tcase_add_test(tc, a_past_state_can_be_copied);
    tcase_add_test(tc, a_scene_gives_its_place_only_to_a_copy_that_replaces_it);
    tcase_add_test(tc, copies_that_cannot_be_are_refused);
    tcase_add_test(tc, frames_of_copies_count);
    tcase_add_test(tc, a_copy_is_asked_for_and_answered_in_cbor);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
