/* Replays the exchanges of proto/contract/examples: what the documentation shows is what the daemon
 * answers, in JSON and, where both are spoken, in CBOR. Each file has a fresh daemon of its own. */
#include "proto/contract/tools/exchange.h"
#include "tests/support/cbor.h"
#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <glob.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* How often CBOR was sent and answered. */
static size_t cbor_sent, cbor_answered;

/* The Obbd-Epoch of the last answer that had one. */
static char epoch[32] = "";

/* Returns the text with {epoch} replaced, to be freed. */
static char *with_epoch(const char *text)
{
    static const char mark[] = "{epoch}";
    const size_t room = 2 * strlen(text) + sizeof epoch;
    char *out = malloc(room);
    ck_assert_ptr_nonnull(out);
    size_t length = 0;
    for (const char *next; (next = strstr(text, mark)) != NULL; text = next + sizeof mark - 1)
        length += (size_t)snprintf(out + length, room - length, "%.*s%s", (int)(next - text), text,
                                   epoch);
    ck_assert_uint_lt(length + strlen(text), room);
    (void)snprintf(out + length, room - length, "%s", text);
    return out;
}

/* Equal by value: 1 and 1.0 are, the order of members does not count. */
static bool same(json_t *one, json_t *other)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_number(one) && json_is_number(other))
        return json_number_value(one) == json_number_value(other);
    if (json_is_array(one) && json_is_array(other) &&
        json_array_size(one) == json_array_size(other)) {
        json_array_foreach(one, i,
                           member) if (!same(member, json_array_get(other, i))) return false;
        return true;
    }
    if (json_is_object(one) && json_is_object(other) &&
        json_object_size(one) == json_object_size(other)) {
        json_object_foreach(one, key,
                            member) if (!same(member, json_object_get(other, key))) return false;
        return true;
    }
    return json_equal(one, other) != 0;
}

static bool is_json(const char *type)
{
    return strcmp(type, "application/json") == 0 || strcmp(type, "application/problem+json") == 0;
}

static void compare_bodies(const struct exchange *exchange, const struct http_answer *answer,
                           bool in_cbor, const char *file)
{
    char *expected = with_epoch(exchange->answer != NULL ? exchange->answer : "");
    if (exchange->answer != NULL && is_json(exchange_answer_type(exchange))) {
        json_t *wanted = json_loads(expected, JSON_DECODE_ANY, NULL);
        json_t *got = in_cbor ? cbor_read(answer->body, answer->length)
                              : json_loadb(answer->body, answer->length, JSON_DECODE_ANY, NULL);
        ck_assert_msg(wanted != NULL && got != NULL && same(wanted, got),
                      "%s:%d: %s answers\n%s\ninstead of\n%s", file, exchange->line,
                      exchange->title, answer->body, expected);
        json_decref(wanted);
        json_decref(got);
        free(expected);
        return;
    }
    size_t length = answer->length;
    while (length > 0 && answer->body[length - 1] == '\n')
        length--;
    ck_assert_msg(length == strlen(expected) && memcmp(answer->body, expected, length) == 0,
                  "%s:%d: %s answers\n%s\ninstead of\n%s", file, exchange->line, exchange->title,
                  answer->body, expected);
    free(expected);
}

/* The body in CBOR, where it is JSON and well-formed; NULL: it is sent as it stands. */
static char *request_in_cbor(const struct exchange *exchange, size_t *out_length)
{
    if (exchange->request == NULL || !is_json(exchange_request_type(exchange)))
        return NULL;
    json_t *value = json_loads(exchange->request, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
    char *bytes = value != NULL ? cbor_written(value, out_length) : NULL;
    json_decref(value);
    return bytes;
}

/* Is the answer one that is to be had in CBOR, and not asked for in another form? */
static bool answers_in_cbor(const struct exchange *exchange)
{
    return strncmp(exchange->target, "/v1/", 4) == 0 &&
           strcmp(exchange_answer_type(exchange), "application/json") == 0 &&
           exchange_header(exchange->sent, exchange->sent_count, "Accept") == NULL;
}

static void replay(struct http_client *client, const struct exchange *exchange, bool cbor,
                   const char *file)
{
    enum { MORE = 2 };
    char lines[EXCHANGE_HEADERS][256];
    const char *headers[EXCHANGE_HEADERS + MORE + 1] = {NULL};
    size_t count = 0, length = exchange->request != NULL ? strlen(exchange->request) : 0;
    char *body = cbor ? request_in_cbor(exchange, &length) : NULL;
    const bool answers_cbor = cbor && answers_in_cbor(exchange);
    for (; count < exchange->sent_count; count++) {
        char *value = with_epoch(exchange->sent[count].value);
        (void)snprintf(lines[count], sizeof lines[count], "%s: %s", exchange->sent[count].name,
                       value);
        free(value);
        headers[count] = lines[count];
    }
    if (body != NULL)
        headers[count++] = "Content-Type: application/cbor";
    if (answers_cbor)
        headers[count++] = "Accept: application/cbor";
    cbor_sent += body != NULL;
    cbor_answered += answers_cbor;
    struct http_answer answer = {0};
    http_send_bytes(client, exchange->method, exchange->target, headers,
                    body != NULL ? body : exchange->request, length, &answer);
    free(body);
    ck_assert_msg(answer.status == exchange->status, "%s:%d: %s answers %ld instead of %d\n%s",
                  file, exchange->line, exchange->title, answer.status, exchange->status,
                  answer.body);
    const char *has_epoch = http_header(&answer, "Obbd-Epoch");
    if (has_epoch != NULL)
        (void)snprintf(epoch, sizeof epoch, "%s", has_epoch);
    for (size_t i = 0; i < exchange->expected_count; i++) {
        const char *value = http_header(&answer, exchange->expected[i].name);
        char *wanted = with_epoch(exchange->expected[i].value);
        ck_assert_msg(value != NULL && strcmp(value, wanted) == 0,
                      "%s:%d: %s answers %s: %s instead of %s", file, exchange->line,
                      exchange->title, exchange->expected[i].name, value, wanted);
        free(wanted);
    }
    const char *type = http_header(&answer, "Content-Type");
    ck_assert(!answers_cbor || exchange->answer == NULL ||
              (type != NULL && strcmp(type, "application/cbor") == 0));
    compare_bodies(exchange, &answer, answers_cbor, file);
    http_answer_fini(&answer);
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* A stream that is open while the later exchanges of its file happen. */
struct stream {
    const struct exchange *exchange;
    int fd;
};

static bool is_stream(const struct exchange *exchange)
{
    return exchange->status == 200 &&
           (strcmp(exchange_answer_type(exchange), "text/event-stream") == 0 ||
            strstr(exchange->target, "follow=true") != NULL);
}

/* Opens the stream in HTTP/1.0, so that it comes as it is, and waits until it has begun. */
static void open_stream(const struct test_daemon *daemon, const struct exchange *exchange,
                        struct stream *out)
{
    char request[2048], first;
    int length = snprintf(request, sizeof request, "%s %s HTTP/1.0\r\nHost: localhost\r\n",
                          exchange->method, exchange->target);
    for (size_t i = 0; i < exchange->sent_count; i++) {
        char *value = with_epoch(exchange->sent[i].value);
        length += snprintf(request + length, sizeof request - (size_t)length, "%s: %s\r\n",
                           exchange->sent[i].name, value);
        free(value);
    }
    (void)snprintf(request + length, sizeof request - (size_t)length, "\r\n");
    *out = (struct stream){.exchange = exchange, .fd = daemon_dial(daemon)};
    ck_assert_int_ge(out->fd, 0);
    dial_send(out->fd, request);
    ck_assert_int_eq(recv(out->fd, &first, 1, MSG_PEEK), 1);
}

/* Compares all that has come with the expected answer. The scene is deleted, so the stream ends. */
static void close_stream(const struct stream *stream, const char *file)
{
    static char text[1 << 16];
    size_t length = 0;
    for (ssize_t n; (n = recv(stream->fd, text + length, sizeof text - 1 - length, 0)) > 0;)
        length += (size_t)n;
    text[length] = '\0';
    (void)close(stream->fd);
    const struct exchange *exchange = stream->exchange;
    char *body = strstr(text, "\r\n\r\n");
    ck_assert_msg(strstr(text, " 200 ") != NULL && body != NULL, "%s", text);
    for (size_t i = 0; i < exchange->expected_count; i++)
        ck_assert_msg(strstr(text, test_text("\r\n%s: %s\r\n", exchange->expected[i].name,
                                             exchange->expected[i].value)) != NULL,
                      "%s:%d: %s answers\n%s", file, exchange->line, exchange->title, text);
    struct http_answer answer = {.body = body + 4, .length = strlen(body + 4)};
    compare_bodies(exchange, &answer, false, file);
}

static void replay_all(bool cbor)
{
    enum { STREAMS = 8 };
    glob_t files;
    ck_assert_int_eq(glob("proto/contract/examples/*.http", 0, NULL, &files), 0);
    size_t looked_at = 0, followed = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct exchanges exchanges;
        ck_assert(exchanges_read(files.gl_pathv[i], &exchanges));
        struct test_daemon daemon;
        daemon_start(&daemon, NULL);
        struct http_client *client = http_open(daemon.url);
        struct stream streams[STREAMS];
        size_t open = 0;
        for (size_t j = 0; j < exchanges.count; j++, looked_at++) {
            const struct exchange *exchange = &exchanges.list[j];
            if (is_stream(exchange)) {
                ck_assert_uint_lt(open, STREAMS);
                open_stream(&daemon, exchange, &streams[open++]);
            } else {
                replay(client, exchange, cbor, files.gl_pathv[i]);
            }
        }
        for (size_t j = 0; j < open; j++, followed++)
            close_stream(&streams[j], files.gl_pathv[i]);
        http_close(client);
        ck_assert_int_eq(daemon_stop(&daemon), 0);
        exchanges_fini(&exchanges);
    }
    printf(
        "%zu exchanges in %zu files, %zu of them streams, %zu requests and %zu answers in CBOR\n",
        looked_at, (size_t)files.gl_pathc, followed, cbor_sent, cbor_answered);
    ck_assert_uint_gt(looked_at, 0);
    ck_assert_uint_ge(followed, 5);
    globfree(&files);
}

START_TEST(every_example_is_what_the_daemon_answers)
{
    replay_all(false);
}
END_TEST

START_TEST(every_example_means_the_same_in_cbor)
{
    replay_all(true);
    ck_assert_uint_gt(cbor_sent, 20);
    ck_assert_uint_gt(cbor_answered, 20);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("examples");
    TCase *tc = tcase_create("examples");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, every_example_is_what_the_daemon_answers);
    tcase_add_test(tc, every_example_means_the_same_in_cbor);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
