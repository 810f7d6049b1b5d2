/* Every operation of the published document with every status that it lists, each seen at least
 * once, and with the scope that it needs. */
#include "tests/support/daemon.h"
#include "tests/support/schema.h"
#include "tests/support/sentence.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct row {
    const char *method, *path;
    const char *header; /* NULL: none; two are parted by a newline */
    const char *body;   /* NULL: none */
    long status;
};

#define S             "/v1/scenes/s"
#define FRAMELESS     "\"center\":[0,0,0],\"half_extents\":[1,1,1],\"frame\":\"none\""
#define FRAMED(frame) "{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"frame\":\"" frame "\"}"
#define MORTAL(ttl)   "{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"ttl\":" ttl "}"
#define COLUMNS(centers)                                         \
    "{\"put\":{\"names\":[\"d\",\"e\"],\"centers\":" centers "," \
    "\"half_extents\":[1,1,1],\"ttl\":90}}"
#define BOX     S "/boxes/a"
#define UNIT    "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"
#define TEXT    "Content-Type: text/plain"
#define SAME(n) "If-None-Match: \"" #n "\""
#define ONLY    "If-Match: \"99\""
#define EPOCH   "Obbd-If-Epoch: 0123456789abcdef"
#define LINES   "Content-Type: application/x-ndjson"
#define HEADER(time)                                             \
    "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3," \
    "\"history\":{\"span\":500,\"commits\":64},\"time\":" #time "}\n"
#define PAST  "\"at\":{\"revision\":99}}"
#define SHEAR "{\"matrix\":[1,0,0,0,0.5,1,0,0,0,0,1,0,0,0,0,1]}"

/* In order, on one daemon. The scene s holds a and b, at revision 1, until the end. */
static const struct row rows[] = {
    {"POST", S "/commit", NULL, "{\"time\":1000,\"put\":{\"a\":" UNIT ",\"b\":" UNIT "}}", 200},
    {"GET", S, NULL, NULL, 200},
    {"GET", S, SAME(1), NULL, 304},
    {"GET", S "?revision=1&fresh", NULL, NULL, 200},
    {"GET", S "?revision=99", NULL, NULL, 410},
    {"GET", S "?revision=x", NULL, NULL, 400},
    {"GET", "/v1/scenes/none", NULL, NULL, 404},
    {"GET", "/v1/scenes", NULL, NULL, 200},
    {"GET", "/v1/scenes?limit=none", NULL, NULL, 400},
    {"PUT", "/v1/scenes/t", NULL, "{}", 201},
    {"PUT", "/v1/scenes/t", NULL, "{}", 200},
    {"PUT", "/v1/scenes/t", NULL, "{", 400},
    {"PUT", S, NULL, "{\"dimensions\":2}", 409},
    {"PUT", "/v1/scenes/t", ONLY, "{}", 412},
    {"PUT", "/v1/scenes/t", EPOCH, "{}", 412},
    {"PUT", "/v1/scenes/u", EPOCH, "{}", 412},
    {"GET", "/v1/scenes/t", "Obbd-If-Epoch: x", NULL, 400},
    {"GET", "/v1/scenes/t", EPOCH, NULL, 412},
    {"PUT", "/v1/scenes/t", TEXT, "{}", 415},
    {"PUT", "/v1/scenes/t", NULL, "[]", 422},
    {"DELETE", "/v1/scenes/t", ONLY, NULL, 412},
    {"DELETE", "/v1/scenes/t?x=1", NULL, NULL, 400},
    {"DELETE", "/v1/scenes/t", "Obbd-If-Epoch: x", NULL, 400},
    {"DELETE", "/v1/scenes/t", NULL, NULL, 204},
    {"DELETE", "/v1/scenes/t", NULL, NULL, 404},

    {"GET", S "/export", NULL, NULL, 200},
    {"GET", S "/export", SAME(1), NULL, 304},
    {"GET", "/v1/scenes/none/export", NULL, NULL, 404},
    {"GET", S "/export", "Accept: application/json", NULL, 406},

    {"GET", S "/queries", NULL, NULL, 200},
    {"GET", S "/queries?hit=1", NULL, NULL, 400},
    {"GET", "/v1/scenes/none/queries", NULL, NULL, 404},
    {"GET", S "/queries", "Accept: text/html", NULL, 406},
    {"GET", S "/log", NULL, NULL, 200},
    {"GET", S "/log?from=1&follow=false", NULL, NULL, 200},
    {"GET", S "/log?follow=1", NULL, NULL, 400},
    {"GET", "/v1/scenes/none/log", NULL, NULL, 404},
    {"GET", S "/log", "Accept: application/json", NULL, 406},
    {"GET", S "/log?from=99", NULL, NULL, 410},
    {"GET", S "/export?revision=99", NULL, NULL, 410},
    {"GET", S "/export?fresh=maybe", NULL, NULL, 400},
    {"GET", S "/queries?revision=99", NULL, NULL, 410},
    {"GET", S "/queries?revision=-1", NULL, NULL, 400},
    {"GET", S "/frames?revision=99", NULL, NULL, 410},
    {"GET", S "/export", EPOCH, NULL, 412},
    {"GET", S "/log", EPOCH, NULL, 412},
    {"GET", S "/queries", EPOCH, NULL, 412},

    {"POST", "/v1/scenes/i/import", LINES, HEADER(5), 201},
    {"POST", "/v1/scenes/i/import", LINES, HEADER(5), 200},
    {"POST", "/v1/scenes/i/import", LINES, "{", 400},
    {"POST", "/v1/scenes/i/import", LINES, HEADER(4), 200},
    {"POST", "/v1/scenes/i/import", LINES, HEADER(5) "{\"name\":\"a\"," FRAMELESS "}\n", 404},
    {"POST", "/v1/scenes/i/import", ONLY "\n" LINES, HEADER(5), 412},
    {"POST", "/v1/scenes/i/import", NULL, HEADER(5), 415},
    {"POST", "/v1/scenes/i/import", LINES, "{}\n", 422},

    {"POST", S "/copy", NULL, "{\"to\":\"copy\"}", 201},
    {"POST", S "/copy", NULL, "{\"to\":", 400},
    {"POST", "/v1/scenes/none/copy", NULL, "{\"to\":\"copy\"}", 404},
    {"POST", S "/copy", NULL, "{\"to\":\"copy\"}", 409},
    {"POST", S "/copy", NULL, "{\"to\":\"more\"," PAST, 410},
    {"POST", S "/copy", ONLY, "{\"to\":\"more\"}", 412},
    {"POST", S "/copy", TEXT, "{\"to\":\"more\"}", 415},
    {"POST", S "/copy", NULL, "{}", 422},
    {"DELETE", "/v1/scenes/copy", NULL, NULL, 204},

    {"GET", "/v1/scenes/none/events", NULL, NULL, 404},
    {"GET", S "/events?topics=weather", NULL, NULL, 400},
    {"GET", S "/events", "Accept: application/json", NULL, 406},
    {"GET", S "/events", EPOCH, NULL, 412},

    {"GET", S "/boxes", NULL, NULL, 200},
    {"GET", S "/boxes", SAME(1), NULL, 304},
    {"GET", S "/boxes?cursor=none", NULL, NULL, 400},
    {"GET", "/v1/scenes/none/boxes", NULL, NULL, 404},
    {"GET", S "/boxes?at_revision=99", NULL, NULL, 410},
    {"GET", S "/boxes", EPOCH, NULL, 412},
    {"GET", BOX, NULL, NULL, 200},
    {"GET", BOX, SAME(1), NULL, 304},
    {"GET", BOX "?include=nothing", NULL, NULL, 400},
    {"GET", S "/boxes/none", NULL, NULL, 404},
    {"GET", BOX "?at_revision=99", NULL, NULL, 410},
    {"GET", BOX, EPOCH, NULL, 412},
    {"PUT", S "/boxes/c", NULL, UNIT, 201},
    {"PUT", S "/boxes/c", NULL, UNIT, 200},
    {"PUT", S "/boxes/c", NULL, "{", 400},
    {"PUT", S "/boxes/c", ONLY, UNIT, 412},
    {"PUT", S "/boxes/c", TEXT, UNIT, 415},
    {"PUT", S "/boxes/c", NULL, "{}", 422},
    {"PATCH", S "/boxes/c", NULL, "{\"center\":[9,9,9]}", 200},
    {"PATCH", S "/boxes/c", NULL, NULL, 200},
    {"PATCH", S "/boxes/c", NULL, "{", 400},
    {"PATCH", S "/boxes/none", NULL, "{}", 404},
    {"PATCH", S "/boxes/c", ONLY, "{}", 412},
    {"PATCH", S "/boxes/c", TEXT, "{}", 415},
    {"PATCH", S "/boxes/c", NULL, "{\"center\":[9,9]}", 422},
    {"POST", S "/boxes/c/transform", NULL, "{\"translate\":[1,0,0]}", 200},
    {"POST", S "/boxes/c/transform", NULL, "{", 400},
    {"POST", S "/boxes/none/transform", NULL, "{\"translate\":[1,0,0]}", 404},
    {"POST", S "/boxes/c/transform", ONLY, "{\"translate\":[1,0,0]}", 412},
    {"POST", S "/boxes/c/transform", TEXT, "{\"translate\":[1,0,0]}", 415},
    {"POST", S "/boxes/c/transform", NULL, SHEAR, 422},
    {"POST", S "/boxes/c/merge", NULL, "{\"with\":[\"a\"]}", 200},
    {"POST", S "/boxes/c/merge", NULL, "{", 400},
    {"POST", S "/boxes/c/merge", NULL, "{\"with\":[\"none\"]}", 404},
    {"POST", S "/boxes/c/merge", ONLY, "{\"with\":[\"a\"]}", 412},
    {"POST", S "/boxes/c/merge", TEXT, "{\"with\":[\"a\"]}", 415},
    {"POST", S "/boxes/c/merge", NULL, "{\"with\":[]}", 422},
    {"DELETE", S "/boxes/c", ONLY, NULL, 412},
    {"DELETE", S "/boxes/c?x=1", NULL, NULL, 400},
    {"DELETE", S "/boxes/%2E%2E", NULL, NULL, 422},
    {"DELETE", S "/boxes/c", NULL, NULL, 204},
    {"DELETE", S "/boxes/c", NULL, NULL, 404},

    {"PUT", S "/frames/f", NULL, "{}", 201},
    {"PUT", S "/frames/f", NULL, "{\"center\":[1,2,3]}", 200},
    {"PUT", S "/frames/f", NULL, "{", 400},
    {"PUT", S "/frames/f", ONLY, "{}", 412},
    {"PUT", S "/frames/f", TEXT, "{}", 415},
    {"PUT", S "/frames/f", NULL, "{\"half_extents\":[1,1,1]}", 422},
    {"PUT", S "/boxes/limb", NULL, FRAMED("none"), 404},
    {"PUT", S "/boxes/limb", NULL, FRAMED("f"), 201},
    {"POST", S "/boxes/limb/transform", NULL, "{\"translate\":[1,0,0]}", 409},
    {"POST", S "/boxes/limb/merge", NULL, "{\"with\":[\"a\"]}", 409},
    {"GET", S "/frames/f", NULL, NULL, 200},
    {"GET", S "/frames/f", "If-None-Match: *", NULL, 304},
    {"GET", S "/frames/f?include=axes", NULL, NULL, 400},
    {"GET", S "/frames/none", NULL, NULL, 404},
    {"GET", S "/frames/f?at_revision=99", NULL, NULL, 410},
    {"GET", S "/frames/f", EPOCH, NULL, 412},
    {"GET", S "/frames", NULL, NULL, 200},
    {"GET", S "/frames?prefix=f&limit=1", NULL, NULL, 200},
    {"GET", S "/frames", "If-None-Match: *", NULL, 304},
    {"GET", S "/frames?limit=0", NULL, NULL, 400},
    {"GET", "/v1/scenes/none/frames", NULL, NULL, 404},
    {"GET", S "/frames", EPOCH, NULL, 412},
    {"DELETE", S "/frames/f", ONLY, NULL, 412},
    {"DELETE", S "/frames/f?x=1", NULL, NULL, 400},
    {"GET", S "/frames/%2E%2E", NULL, NULL, 422},
    {"DELETE", S "/frames/f", NULL, NULL, 204},
    {"DELETE", S "/frames/f", NULL, NULL, 404},

    {"PUT", S "/boxes/d", NULL, MORTAL("50"), 201},
    {"PUT", S "/boxes/d", NULL, MORTAL("-1"), 422},
    {"PATCH", S "/boxes/d", NULL, "{\"ttl\":null}", 200},
    {"PATCH", S "/boxes/d", NULL, "{\"ttl\":1e300}", 422},
    {"DELETE", S "/boxes/d", NULL, NULL, 204},

    {"POST", S "/commit", NULL, "{\"dry_run\":true,\"put\":{\"d\":" UNIT "}}", 200},
    {"POST", S "/commit", NULL, "{\"dry_run\":1}", 422},
    {"POST", "/v1/scenes/none/commit", NULL, "{\"dry_run\":true,\"put\":{\"d\":" UNIT "}}", 200},
    {"GET", "/v1/scenes/none", NULL, NULL, 404},
    {"POST", S "/commit", NULL, COLUMNS("[0,0,0,9,9,9]"), 200},
    {"POST", S "/commit", NULL, COLUMNS("[0,0,0,9,9]"), 422},
    {"POST", S "/commit", NULL, "{\"if_box\":{\"d\":0}}", 412},
    {"POST", S "/commit", NULL, "{\"restart\":true}", 422},
    {"POST", S "/commit", NULL, "{\"restart\":true,\"time\":5,\"remove\":[\"d\",\"e\"]}", 200},
    {"POST", S "/query/ray", NULL,
     "{\"rays\":{\"origins\":[-9,0,0],\"targets\":[9,0,0],\"times\":[5]},\"columns\":true,\"tag\":"
     "\"t\"}",
     200},
    {"POST", S "/query/ray", NULL,
     "{\"rays\":{\"origins\":[-9,0,0],\"targets\":[9,0,0],\"times\":[4]}}", 410},
    {"POST", S "/query/point", NULL, "{\"points\":[0,0,0],\"explain\":[\"a\",\"none\"]}", 200},
    {"POST", S "/query/point", NULL, "{\"points\":[0,0,0],\"explain\":[\"\"]}", 422},
    {"POST", S "/query/all-pairs", NULL, "{\"explain\":[\"a\"]}", 422},
    {"POST", S "/query/all-pairs", NULL, "{\"with\":{\"remove\":[\"a\"]}}", 200},
    {"POST", S "/query/all-pairs", NULL, "{\"with\":{\"time\":5}}", 422},
    {"POST", S "/query/all-pairs", NULL, "{\"with\":{\"pose\":{\"none\":{}}}}", 404},

    {"POST", S "/commit", NULL, "{", 400},
    {"POST", "/v1/scenes/none/commit", NULL, "{}", 404},
    {"POST", S "/commit", NULL, "{\"time\":0}", 409},
    {"POST", S "/commit", NULL, "{\"queries\":[{\"kind\":\"all-pairs\"," PAST "]}", 410},
    {"POST", S "/commit", NULL, "{\"if_revision\":99}", 412},
    {"POST", S "/commit", TEXT, "{}", 415},
    {"POST", S "/commit", NULL, "{\"commit\":1}", 422},

    {"PUT", "/v1/scenes/plane", NULL, "{\"dimensions\":3}", 201},
    {"PUT", "/v1/scenes/plane", NULL, "{\"dimensions\":2}", 200},

    {"GET", "/", NULL, NULL, 200},
    {"GET", "/openapi.json", NULL, NULL, 200},
    {"GET", "/docs", NULL, NULL, 200},
    {"GET", "/healthz", NULL, NULL, 200},
    {"GET", "/readyz", NULL, NULL, 200},
    {"GET", "/metrics", NULL, NULL, 200},
};

/* Of each kind of query: its items, none of them, and no more fields. */
static const struct {
    const char *kind, *items;
} kinds[] = {{"pairs", "\"pairs\":[]"},    {"all-pairs", "\"by\":\"id\""},
             {"overlap", "\"shapes\":[]"}, {"point", "\"points\":[]"},
             {"ray", "\"rays\":[]"},       {"sweep", "\"sweeps\":[]"},
             {"nearest", "\"points\":[]"}};

/* Every problem has a detail; what it names is in the request, or in the scene. */
static void check_body(const struct row *row, const char *body)
{
    json_t *problem = json_loads(body, JSON_REJECT_DUPLICATES, NULL);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    const char *name = row->status == 400   ? "at byte"
                       : row->status == 404 ? "there is no "
                       : row->status == 405 ? "this path takes "
                       : row->status == 409 ? "found "
                       : row->status == 410 ? "; kept are "
                       : row->status == 412 ? "the condition asks "
                       : row->status == 413 ? "-limit)"
                       : row->status == 415 ? "it is one of application/"
                                            : "";
    check_sentence(detail);
    ck_assert_msg(strstr(detail, name) != NULL || (row->status == 400 && row->body == NULL),
                  "%s %s: %s", row->method, row->path, detail);
    json_decref(problem);
}

static void send_row(struct http_client *client, const struct row *row)
{
    struct http_answer answer = {0};
    char text[256];
    const char *headers[3] = {row->header};
    (void)snprintf(text, sizeof text, "%s", row->header != NULL ? row->header : "");
    char *newline = strchr(text, '\n');
    if (newline != NULL) {
        *newline = '\0';
        headers[0] = text;
        headers[1] = newline + 1;
    }
    http_send(client, row->method, row->path, headers, row->body, &answer);
    ck_assert_msg(answer.status == row->status, "%s %s %s %s: %ld instead of %ld\n%s", row->method,
                  row->path, row->header != NULL ? row->header : "",
                  row->body != NULL ? row->body : "", answer.status, row->status, answer.body);
    if (row->status >= 400)
        check_body(row, answer.body);
    http_answer_fini(&answer);
}

static size_t send_queries(struct http_client *client)
{
    size_t sent = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        char here[64], nowhere[64], plane[64], good[64], past[64], first[64];
        (void)snprintf(here, sizeof here, S "/query/%s", kinds[i].kind);
        (void)snprintf(nowhere, sizeof nowhere, "/v1/scenes/none/query/%s", kinds[i].kind);
        (void)snprintf(plane, sizeof plane, "/v1/scenes/plane/query/%s", kinds[i].kind);
        (void)snprintf(first, sizeof first, "{%s,\"at\":{\"revision\":0}}", kinds[i].items);
        (void)snprintf(good, sizeof good, "{%s}", kinds[i].items);
        (void)snprintf(past, sizeof past, "{%s," PAST, kinds[i].items);
        const struct row queries[] = {
            {"POST", here, NULL, good, 200},    {"POST", here, NULL, "{", 400},
            {"POST", nowhere, NULL, good, 404}, {"POST", here, NULL, past, 410},
            {"POST", here, TEXT, good, 415},    {"POST", here, NULL, "{\"query\":1}", 422},
            {"POST", here, EPOCH, good, 412},   {"POST", plane, NULL, first, 409}};
        for (size_t j = 0; j < sizeof queries / sizeof queries[0]; j++, sent++)
            send_row(client, &queries[j]);
    }
    return sent;
}

/* A daemon with room for one scene, two boxes and bodies of a kilobyte. */
static size_t send_too_much(void)
{
    static const struct row large[] = {
        {"PUT", S, NULL, "{}", 201},
        {"PUT", "/v1/scenes/t", NULL, "{}", 413},
        {"PUT", BOX, NULL, UNIT, 201},
        {"PUT", S "/boxes/b", NULL, UNIT, 201},
        {"PUT", S "/boxes/c", NULL, UNIT, 413},
        {"PUT", S "/frames/f", NULL, "{}", 413},
        {"POST", S "/commit", NULL, "{\"put\":{\"c\":" UNIT "}}", 413},
        {"POST", "/v1/scenes/t/import", LINES, HEADER(0), 413},
        {"POST", S "/copy", NULL, "{\"to\":\"t\"}", 413},
    };
    struct test_daemon daemon;
    daemon_start(&daemon, (const char *const[]){"--scene-limit", "1", "--box-limit", "2", NULL});
    struct http_client *client = http_open(daemon.url);
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++)
        send_row(client, &large[i]);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    return sizeof large / sizeof large[0];
}

/* A daemon that admits a request a second: of every operation that counts, one over it. */
static size_t send_too_often(void)
{
    static const char *const operations[][2] = {
        {"GET", "/"},
        {"GET", "/openapi.json"},
        {"GET", "/docs"},
        {"GET", "/metrics"},
        {"GET", "/v1/scenes"},
        {"PUT", S},
        {"GET", S},
        {"DELETE", S},
        {"GET", S "/export"},
        {"GET", S "/log"},
        {"GET", S "/queries"},
        {"POST", S "/import"},
        {"POST", S "/copy"},
        {"GET", S "/boxes"},
        {"PUT", BOX},
        {"GET", BOX},
        {"PATCH", BOX},
        {"DELETE", BOX},
        {"POST", BOX "/transform"},
        {"POST", BOX "/merge"},
        {"GET", S "/frames"},
        {"PUT", S "/frames/f"},
        {"GET", S "/frames/f"},
        {"DELETE", S "/frames/f"},
        {"GET", S "/events"},
        {"POST", S "/commit"},
        {"POST", S "/query/pairs"},
        {"POST", S "/query/all-pairs"},
        {"POST", S "/query/overlap"},
        {"POST", S "/query/point"},
        {"POST", S "/query/ray"},
        {"POST", S "/query/sweep"},
        {"POST", S "/query/nearest"},
    };
    const size_t count = sizeof operations / sizeof operations[0];
    struct test_daemon daemon;
    daemon_start(&daemon, (const char *const[]){"--client-rate", "1", NULL});
    struct http_client *client = http_open(daemon.url);
    struct http_answer answer = {0};
    size_t sent = 0;
    for (size_t i = 0; i < count; i++) {
        int tries = 0;
        do { /* now and then a second has passed */
            http_send(client, operations[i][0], operations[i][1], NULL, NULL, &answer);
            sent++;
        } while (answer.status != 429 && ++tries < 100);
        ck_assert_msg(answer.status == 429, "%s %s: %ld", operations[i][0], operations[i][1],
                      answer.status);
        const char *wait = http_header(&answer, "Retry-After");
        ck_assert(wait != NULL && strcmp(wait, "1") == 0);
    }
    http_answer_fini(&answer);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    return sent;
}

/* Everything that comes until the other side closes, terminated. */
static size_t read_all(int fd, char *out, size_t room)
{
    size_t length = 0;
    for (ssize_t got; (got = read(fd, out + length, room - 1 - length)) > 0;)
        length += (size_t)got;
    out[length] = '\0';
    return length;
}

/* A stream with every event but overrun and shutdown: HTTP/1.0, so that it comes as it is, up to
 * the end of its scene. */
static size_t follow(struct schema *schema, struct http_client *client,
                     const struct test_daemon *daemon)
{
    static const struct row happenings[] = {
        {"PUT", S "/boxes/c", NULL, UNIT, 201},
        {"PATCH", S "/boxes/c", NULL, "{\"center\":[9,9,9]}", 200},
        {"PUT", S "/boxes/c", NULL, UNIT, 200},
        {"DELETE", S "/boxes/c", NULL, NULL, 204},
        {"PUT", S "/boxes/c", NULL, MORTAL("0"), 201},
        {"PUT", S "/frames/f", NULL, "{}", 201},
        {"POST", S "/commit", NULL, "{\"time\":1,\"restart\":true}", 200},
        {"PUT", S, NULL, "{\"record\":9}", 200},
        {"POST", S "/query/point", NULL, "{\"points\":[0,0,0],\"tag\":\"asked\"}", 200},
        {"GET", S "/queries?tag=asked", NULL, NULL, 200},
        {"DELETE", S, NULL, NULL, 204},
    };
    static const char *const events[] = {"state",  "begin", "end", "boxes",
                                         "commit", "query", "gone"};
    static const char *const words[] = {"\"reason\":\"removed\"", "\"reason\":\"expired\"",
                                        "\"restart\":true", "\"frames\":[\"f\"]",
                                        "\"tag\":\"asked\""};
    const int fd = daemon_dial(daemon);
    ck_assert_int_ge(fd, 0);
    dial_send(fd, "GET " S "/events HTTP/1.0\r\nHost: localhost\r\n\r\n");
    char answer[65536];
    ck_assert_int_eq(recv(fd, answer, 1, MSG_PEEK), 1); /* it has begun */
    for (size_t i = 0; i < sizeof happenings / sizeof happenings[0]; i++)
        send_row(client, &happenings[i]);
    (void)read_all(fd, answer, sizeof answer);
    (void)close(fd);
    const char *body = strstr(answer, "\r\n\r\n");
    ck_assert_msg(strstr(answer, " 200 ") != NULL && body != NULL, "%s", answer);
    body += 4;
    const char *fault =
        schema_check(schema, &(struct schema_exchange){.method = "GET",
                                                       .target = S "/events",
                                                       .status = 200,
                                                       .answer_type = "text/event-stream",
                                                       .answer = body,
                                                       .answer_length = strlen(body)});
    ck_assert_msg(fault == NULL, "%s\n%s", fault, body);
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        char line[32];
        (void)snprintf(line, sizeof line, "event: %s\n", events[i]);
        ck_assert_msg(strstr(body, line) != NULL, "no %s in\n%s", events[i], body);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        ck_assert_msg(strstr(body, words[i]) != NULL, "no %s in\n%s", words[i], body);
    return 1 + sizeof happenings / sizeof happenings[0];
}

/* A request that has begun when the daemon is told to stop is answered, and told that the daemon is
 * not ready. */
static void ask_while_draining(struct schema *schema)
{
    struct test_daemon daemon;
    daemon_start(&daemon, NULL);
    const int fd = daemon_dial(&daemon);
    ck_assert_int_ge(fd, 0);
    dial_send(fd, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n");
    struct http_client *client = http_open(daemon.url); /* by now the daemon has read that line */
    http_close(client);
    ck_assert_int_eq(kill(daemon.pid, SIGTERM), 0);
    for (int other; (other = daemon_dial(&daemon)) >= 0;) /* until it takes no more connections */
        (void)close(other);
    dial_send(fd, "\r\n");
    char answer[4096];
    (void)read_all(fd, answer, sizeof answer);
    (void)close(fd);
    const char *body = strstr(answer, "\r\n\r\n");
    ck_assert_msg(strncmp(answer, "HTTP/1.1 503 ", 13) == 0 && body != NULL, "%s", answer);
    const char *fault =
        schema_check(schema, &(struct schema_exchange){.method = "GET",
                                                       .target = "/readyz",
                                                       .status = 503,
                                                       .answer_type = "application/problem+json",
                                                       .answer = body + 4,
                                                       .answer_length = strlen(body + 4)});
    ck_assert_msg(fault == NULL, "%s", fault);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)daemon.pid, &info, WEXITED | WNOWAIT), 0);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

START_TEST(every_status_of_every_operation_is_seen)
{
    char seen[64];
    (void)snprintf(seen, sizeof seen, "%s/obbd-seen-XXXXXX", test_folder());
    const int file = mkstemp(seen);
    ck_assert_int_ge(file, 0);
    (void)close(file);
    ck_assert_int_eq(setenv("OPERATIONS_SEEN", seen, 1), 0);

    struct test_daemon daemon;
    daemon_start(&daemon, NULL);
    struct http_client *client = http_open(daemon.url);
    struct http_answer answer = {0};
    http_send(client, "GET", "/openapi.json", NULL, NULL, &answer);
    struct schema *schema = schema_load(answer.body, answer.length);
    ck_assert_ptr_nonnull(schema);
    http_answer_fini(&answer);

    size_t sent = sizeof rows / sizeof rows[0];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        send_row(client, &rows[i]);
    sent += send_queries(client);
    sent += follow(schema, client, &daemon);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    sent += send_too_much();
    sent += send_too_often();
    ask_while_draining(schema);

    size_t all;
    const size_t unseen = schema_unseen(schema, seen, &all);
    printf("%zu exchanges, %zu statuses of operations, %zu never seen\n", sent + 1, all, unseen);
    ck_assert_int_eq(remove(seen), 0);
    ck_assert_uint_gt(all, 100);
    ck_assert_uint_eq(unseen, 0);
    schema_free(schema);
}
END_TEST

/* ---- Scopes ---------------------------------------------------------------------------------- */

/* The tokens "reader", "pen" and "admin", with one scope each. */
static const char one_scope_each[] =
    "{\"tokens\":["
    "{\"name\":\"read\",\"sha256\":"
    "\"3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30\","
    "\"scopes\":[\"read\"],\"scenes\":[\"*\"]},"
    "{\"name\":\"write\",\"sha256\":"
    "\"e21a6b0cb193057e06ac16b813443b3e6abae0db22762c6956a78ea049453058\","
    "\"scopes\":[\"write\"],\"scenes\":[\"*\"]},"
    "{\"name\":\"admin\",\"sha256\":"
    "\"8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918\","
    "\"scopes\":[\"admin\"],\"scenes\":[\"*\"]}]}";

/* Asks without a token and with each one. Returns the words by which the document lists who is
 * admitted. */
static const char *admitted(struct http_client *client, const char *method, const char *path)
{
    static const struct {
        const char *header;
        unsigned bit;
    } senders[] = {{"Accept: */*", 8},
                   {"Authorization: Bearer reader", 1},
                   {"Authorization: Bearer pen", 2},
                   {"Authorization: Bearer admin", 4}};
    static const char *const words[16] = {[1] = "`read`",
                                          [2] = "`write`",
                                          [3] = "`read` or `write`",
                                          [4] = "`admin`",
                                          [15] = "no token"};
    unsigned who = 0;
    struct http_answer answer = {0};
    for (size_t i = 0; i < sizeof senders / sizeof senders[0]; i++) {
        const char *const headers[] = {senders[i].header, NULL};
        http_send(client, method, path, headers, NULL, &answer);
        if (answer.status != 401 && answer.status != 403)
            who |= senders[i].bit;
    }
    http_answer_fini(&answer);
    ck_assert_msg(words[who] != NULL, "%s %s: %u", method, path, who);
    return words[who];
}

/* Writes the path of an operation, with names in it, and parameters that end a stream at once. */
static void name_path(const char *pattern, char *out, size_t room)
{
    size_t length = 0;
    for (const char *at = pattern; *at != '\0' && length + 16 < room; at++)
        if (*at == '{') {
            out[length++] = 's';
            at = strchr(at, '}');
        } else {
            out[length++] = *at;
        }
    out[length] = '\0';
    if (strstr(pattern, "/events") != NULL)
        (void)snprintf(out + length, room - length, "?topics=no");
}

START_TEST(every_operation_needs_the_scope_that_the_document_says)
{
    char file[] = "/tmp/obbd-tokens-XXXXXX";
    const int fd = mkstemp(file);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, one_scope_each, sizeof one_scope_each - 1),
                     sizeof one_scope_each - 1);
    (void)close(fd);
    struct test_daemon daemon;
    daemon_start(&daemon, (const char *const[]){"--token-file", file, NULL});
    struct http_client *client = http_open(daemon.url);
    struct http_answer answer = {0};
    http_send(client, "GET", "/openapi.json", NULL, NULL, &answer);
    json_t *document = json_loads(answer.body, 0, NULL), *item, *operation;
    http_answer_fini(&answer);
    const char *description = NULL, *pattern, *key;
    ck_assert_int_eq(json_unpack(document, "{s:{s:{s:{s:s}}}}", "components", "securitySchemes",
                                 "token", "description", &description),
                     0);
    size_t count = 0;
    json_object_foreach(json_object_get(document, "paths"), pattern, item)
    {
        json_object_foreach(item, key, operation)
        {
            const char *id = json_string_value(json_object_get(operation, "operationId"));
            if (id == NULL)
                continue; /* the parameters of the path */
            char path[128], method[8] = "", begin[64], word[64], line[1024];
            for (size_t i = 0; key[i] != '\0' && i + 1 < sizeof method; i++)
                method[i] = (char)(key[i] - 'a' + 'A');
            name_path(pattern, path, sizeof path);
            (void)snprintf(begin, sizeof begin, "\n- %s: ", admitted(client, method, path));
            (void)snprintf(word, sizeof word, "`%s`", id);
            const char *list = strstr(description, begin);
            ck_assert_msg(list != NULL, "%s: no%s", id, begin);
            const char *end = strstr(list + 1, "\n- ");
            if (end == NULL)
                end = strstr(list, "\n\n");
            ck_assert_ptr_nonnull(end);
            (void)snprintf(line, sizeof line, "%.*s", (int)(end - list), list);
            ck_assert_msg(strstr(line, word) != NULL, "%s is not in%s", word, line);
            count++;
        }
    }
    printf("%zu operations\n", count);
    ck_assert_uint_gt(count, 30);
    json_decref(document);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    ck_assert_int_eq(remove(file), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("statuses");
    TCase *tc = tcase_create("statuses");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, every_status_of_every_operation_is_seen);
    tcase_add_test(tc, every_operation_needs_the_scope_that_the_document_says);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
