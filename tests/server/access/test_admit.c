/* Admission: by itself, and through the service with its tokens and rates. */
#include "server/access/admit.h"
#include "server/routes/table.h"
#include "tests/server/files.h"
#include "tests/support/fault.h"

#include <sys/un.h>

/* ---- By itself ------------------------------------------------------------------------------- */

static void handler(struct srv_request *request) { (void)request; }
static void free_handler(struct srv_request *request) { (void)request; }

static struct srv_metrics metrics;

static srv_admit_options options(const char *path, uint64_t client_rate)
{
    static srv_handler *const without_limit[] = {free_handler, NULL};
    metrics.rate_exceeded_total = 0;
    return (srv_admit_options){.token_file = path,
                               .client_rate = client_rate,
                               .scene_part = 2,
                               .without_limit = without_limit,
                               .metrics = &metrics};
}

/* The status that a request gets, 0: it is admitted. It has a token, so its address is never asked
 * for. */
static int admit(struct srv_admit *admission, srv_handler *to, srv_scope scope, const char *scene,
                 const char *authorization)
{
    const srv_route route = {.method = SRV_GET, .pattern = "", .handler = to, .scope = scope};
    struct srv_request request = {.route = &route};
    request.target.part_count = scene != NULL ? 3 : 1;
    if (scene != NULL)
        request.target.parts[2] = obb_str_of(scene);
    wire_problem problem = {0};
    const bool good = srv_admit_request(admission, &request, authorization, &problem);
    ck_assert(good || problem.status != 0);
    obb_arena_fini(&request.arena); /* holds the problem's detail */
    return good ? 0 : problem.status;
}

START_TEST(options_decide_what_is_checked)
{
    static const char writer[] = "Bearer writer";
    char error[256] = "";
    struct srv_admit *a;
    srv_admit_options o = options(NULL, 0);
    ck_assert(srv_admit_create(&o, &a, error, sizeof error));
    ck_assert_ptr_null(srv_admit_tokens(a));
    ck_assert_int_eq(admit(a, handler, SRV_ADMIN, "other", NULL), 0);
    srv_admit_destroy(a);

    write_file(tokens, token_file);
    o = options(tokens, 3);
    ck_assert(srv_admit_create(&o, &a, error, sizeof error));
    ck_assert_uint_eq(srv_auth_count(srv_admit_tokens(a)), 5);
    ck_assert_int_eq(admit(a, handler, SRV_WRITE, "match-1", writer), 0);
    ck_assert_int_eq(admit(a, handler, SRV_ADMIN, "match-1", writer), 403);
    ck_assert_int_eq(admit(a, handler, SRV_READ, "other", writer), 403);
    ck_assert_int_eq(admit(a, handler, SRV_READ, "match-1", writer), 429); /* refused ones count */
    ck_assert_int_eq(admit(a, handler, SRV_READ, NULL, "Bearer reader"), 0);
    ck_assert_int_eq(admit(a, free_handler, SRV_OPEN, NULL, NULL), 0);
    ck_assert_uint_eq(metrics.rate_exceeded_total, 1);
    srv_admit_destroy(a);
    srv_admit_destroy(NULL);
}
END_TEST

START_TEST(a_broken_file_keeps_the_tokens)
{
    char error[256] = "";
    struct srv_admit *a;
    const srv_admit_options o = options(tokens, 0);
    write_file(tokens, "{");
    ck_assert(!srv_admit_create(&o, &a, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "--token-file"));
    write_file(tokens, token_file);
    ck_assert(srv_admit_create(&o, &a, error, sizeof error));
    write_file(tokens, "{");
    ck_assert(!srv_admit_reload(a, error, sizeof error));
    ck_assert_int_eq(admit(a, handler, SRV_READ, NULL, "Bearer reader"), 0);
    write_file(tokens, "{\"tokens\":[]}");
    ck_assert(srv_admit_reload(a, error, sizeof error));
    ck_assert_int_eq(admit(a, handler, SRV_READ, NULL, "Bearer reader"), 401);
    srv_admit_destroy(a);
}
END_TEST

START_TEST(a_request_that_waited_has_what_its_token_has_now)
{
    static const char both[] = "{\"tokens\":[{\"name\":\"w\",\"sha256\":\""
                               "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\","
                               "\"scopes\":[\"read\"%s],\"scenes\":[\"*\"]}]}";
    char text[sizeof both + 20], error[256] = "";
    const srv_admit_options o = options(tokens, 0);
    struct srv_admit *a;
    wire_problem problem = {0};
    (void)snprintf(text, sizeof text, both, ",\"write\"");
    write_file(tokens, text);
    ck_assert_msg(srv_admit_create(&o, &a, error, sizeof error), "%s", error);
    const srv_route route = {
        .method = SRV_POST, .pattern = "", .handler = handler, .scope = SRV_READ_OR_WRITE};
    struct srv_request request = {.route = &route, .target.part_count = 1};
    ck_assert(srv_admit_request(a, &request, "Bearer test", &problem));
    ck_assert_uint_eq(request.scopes, WIRE_SCOPE_READ | WIRE_SCOPE_WRITE);
    const wire_token *first = request.token;
    ck_assert(srv_admit_again(a, &request, &problem));
    ck_assert_ptr_eq(request.token, first);
    ck_assert_uint_eq(request.scopes, WIRE_SCOPE_READ | WIRE_SCOPE_WRITE);
    (void)snprintf(text, sizeof text, both, "");
    write_file(tokens, text);
    ck_assert_msg(srv_admit_reload(a, error, sizeof error), "%s", error);
    ck_assert(srv_admit_again(a, &request, &problem));
    ck_assert_uint_eq(request.scopes, WIRE_SCOPE_READ);
    ck_assert_ptr_eq(request.token, srv_auth_find(srv_admit_tokens(a), "Bearer test", 0));
    write_file(tokens, "{\"tokens\":[]}");
    ck_assert_msg(srv_admit_reload(a, error, sizeof error), "%s", error);
    ck_assert(!srv_admit_again(a, &request, &problem));
    ck_assert_int_eq(problem.status, 401);
    obb_arena_fini(&request.arena);
    srv_admit_destroy(a);
}
END_TEST

START_TEST(a_refusal_names_the_scope_that_is_lacking)
{
    static const struct {
        const char *has, *names; /* NULL: admitted */
        srv_scope needs;
    } cases[] = {{"\"write\",\"admin\"", "the scope read,", SRV_READ},
                 {"\"read\",\"admin\"", "the scope write,", SRV_WRITE},
                 {"\"read\",\"write\"", "the scope admin,", SRV_ADMIN},
                 {"\"admin\"", "the scope read or write,", SRV_READ_OR_WRITE},
                 {"\"write\"", NULL, SRV_READ_OR_WRITE},
                 {"\"admin\"", NULL, SRV_ADMIN}};
    const srv_admit_options o = options(tokens, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256], error[256] = "";
        struct srv_admit *a;
        wire_problem problem = {0};
        (void)snprintf(text, sizeof text,
                       "{\"tokens\":[{\"name\":\"w\",\"sha256\":\""
                       "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\","
                       "\"scopes\":[%s],\"scenes\":[\"*\"]}]}",
                       cases[i].has);
        write_file(tokens, text);
        ck_assert_msg(srv_admit_create(&o, &a, error, sizeof error), "%s", error);
        const srv_route route = {
            .method = SRV_POST, .pattern = "", .handler = handler, .scope = cases[i].needs};
        struct srv_request request = {.route = &route, .target.part_count = 1};
        const bool good = srv_admit_request(a, &request, "Bearer test", &problem);
        ck_assert(good == (cases[i].names == NULL));
        ck_assert_int_eq(problem.status, good ? 0 : 403);
        ck_assert_msg(good || strstr(problem.detail, cases[i].names) != NULL, "%s", problem.detail);
        obb_arena_fini(&request.arena);
        srv_admit_destroy(a);
    }
}
END_TEST

START_TEST(every_failing_allocation_is_an_error)
{
    size_t refused = 0;
    const srv_admit_options o = options(tokens, 5);
    write_file(tokens, token_file);
    for (size_t n = 1;; n++) {
        char error[256] = "";
        struct srv_admit *a;
        fault_arm(n);
        const bool made = srv_admit_create(&o, &a, error, sizeof error);
        const bool reached = fault_seen() >= n;
        fault_arm(0);
        if (made)
            srv_admit_destroy(a);
        refused += !made;
        ck_assert(made || reached);
        if (!reached)
            break;
    }
    printf("%zu refused\n", refused);
    ck_assert_uint_gt(refused, 3);
}
END_TEST

/* ---- Through the service --------------------------------------------------------------------- */

/* Returns whether the path, without its parameters, is one of the pattern. */
static bool fits(const char *pattern, const char *path)
{
    while (*pattern != '\0' && *path != '\0' && *path != '?')
        if (*pattern == '{') {
            pattern = strchr(pattern, '}') + 1;
            path += strcspn(path, "/?");
        } else if (*pattern++ != *path++) {
            return false;
        }
    return *pattern == '\0' && (*path == '\0' || *path == '?');
}

/* Marks the first route of the table that a request fits, if there is one. */
static void mark_route(bool *tried, const char *method, const char *path)
{
    for (size_t i = 0; i < srv_route_count; i++)
        if (srv_route_table[i].method == srv_method_of(method) &&
            fits(srv_route_table[i].pattern, path)) {
            tried[i] = true;
            return;
        }
}

START_TEST(what_a_token_allows)
{
    static const struct {
        const char *method, *path, *body;
        /* statuses. The writer has match-* alone, and the pen has no scope but write. They ask in
         * this order */
        int nobody, reader, writer, admin, pen;
    } cases[] = {
        {"GET", "/", "", 200, 200, 200, 200, 200},
        {"GET", "/healthz", "", 200, 200, 200, 200, 200},
        {"GET", "/readyz", "", 200, 200, 200, 200, 200},
        {"GET", "/openapi.json", "", 200, 200, 200, 200, 200},
        {"GET", "/docs", "", 200, 200, 200, 200, 200},
        {"GET", "/metrics", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/match-1", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/other", "", 401, 200, 403, 200, 403},
        {"GET", "/v1/scenes/nowhere", "", 401, 404, 403, 404, 403},
        {"GET", "/v1/scenes/match-9", "", 401, 404, 404, 404, 403},
        {"GET", "/v1/scenes/match-1/boxes", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/match-1/boxes/a", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/match-1/export", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/match-1/log", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/match-1/queries", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/other/queries", "", 401, 200, 403, 200, 403},
        {"GET", "/v1/scenes/match-1/events?topics=none", "", 401, 400, 400, 400, 403},
        {"PUT", "/v1/scenes/match-2", "{}", 401, 403, 201, 200, 200},
        {"PUT", "/v1/scenes/match-1/boxes/b", BOX, 401, 403, 201, 200, 200},
        {"PUT", "/v1/scenes/other/boxes/b", BOX, 401, 403, 403, 201, 200},
        {"PATCH", "/v1/scenes/match-1/boxes/b", "{}", 401, 403, 200, 200, 200},
        {"POST", "/v1/scenes/match-1/boxes/b/transform", "{\"translate\":[1,0,0]}", 401, 403, 200,
         200, 200},
        {"POST", "/v1/scenes/match-1/boxes/b/merge", "{\"with\":[\"a\"]}", 401, 403, 200, 200, 200},
        {"PUT", "/v1/scenes/match-1/frames/f", "{}", 401, 403, 201, 200, 200},
        {"PUT", "/v1/scenes/other/frames/f", "{}", 401, 403, 403, 201, 200},
        {"GET", "/v1/scenes/match-1/frames", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/other/frames", "", 401, 200, 403, 200, 403},
        {"GET", "/v1/scenes/match-1/frames/f", "", 401, 200, 200, 200, 403},
        {"GET", "/v1/scenes/other/frames/f", "", 401, 200, 403, 200, 403},
        {"DELETE", "/v1/scenes/match-1/frames/f", "", 401, 403, 204, 404, 404},
        {"DELETE", "/v1/scenes/other/frames/f", "", 401, 403, 403, 204, 404},
        {"POST", "/v1/scenes/match-1/query/all-pairs", "{}", 401, 200, 200, 200, 403},
        {"POST", "/v1/scenes/match-1/commit", "{\"queries\":[{\"kind\":\"all-pairs\"}]}", 401, 200,
         200, 200, 403},
        {"POST", "/v1/scenes/match-1/query/point",
         "{\"points\":[[0,0,0]],\"with\":{\"put\":{\"c\":" BOX "},\"remove\":[\"a\"]}}", 401, 200,
         200, 200, 403},
        {"POST", "/v1/scenes/match-1/commit", "{\"put\":{\"c\":" BOX "}}", 401, 403, 200, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"dry_run\":true,\"put\":{\"c\":" BOX "}}", 401,
         403, 200, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"restart\":true,\"time\":7}", 401, 403, 200, 200,
         200},
        {"POST", "/v1/scenes/match-1/commit", "{\"remove\":[\"c\"]}", 401, 403, 200, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"pose\":{\"b\":{\"center\":[1,1,1]}}}", 401, 403,
         200, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"time\":1e9}", 401, 403, 200, 200, 200},
        {"POST", "/v1/scenes/match-1/import", "{", 401, 403, 415, 415, 415},
        {"POST", "/v1/scenes/match-1/copy", "{\"to\":\"match-3\"}", 401, 403, 201, 409, 403},
        {"DELETE", "/v1/scenes/match-1/boxes/b", "", 401, 403, 204, 404, 404},
        {"DELETE", "/v1/scenes/match-2", "", 401, 403, 403, 204, 403},
        {"GET", "/nowhere", "", 404, 404, 404, 404, 404},
        {"PUT", "/v1/scenes", "{}", 405, 405, 405, 405, 405},
    };
    bool tried[64] = {false};
    ck_assert_uint_le(srv_route_count, sizeof tried / sizeof *tried);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct {
            const char *who;
            int status;
        } senders[] = {
            {"", cases[i].nobody},     {"Authorization: Bearer late\r\n", cases[i].nobody},
            {READER, cases[i].reader}, {WRITER, cases[i].writer},
            {ADMIN, cases[i].admin},   {PEN, cases[i].pen}};
        for (size_t s = 0; s < sizeof senders / sizeof *senders; s++) {
            const int got =
                ask_with(senders[s].who, cases[i].method, cases[i].path, "%s", cases[i].body);
            ck_assert_msg(got == senders[s].status, "%s%s %s %s: %d, not %d\n%s", senders[s].who,
                          cases[i].method, cases[i].path, cases[i].body, got, senders[s].status,
                          heard);
            ck_assert((got == 401) == (strstr(heard, "WWW-Authenticate: Bearer\r\n") != NULL));
        }
        mark_route(tried, cases[i].method, cases[i].path);
    }
    for (size_t i = 0; i < srv_route_count; i++)
        ck_assert_msg(tried[i], "no case tries the route %zu, %s", i, srv_route_table[i].pattern);
    printf("%zu requests by 6 senders to %zu routes\n", sizeof cases / sizeof *cases,
           srv_route_count);
}
END_TEST

START_TEST(a_recorded_query_has_the_id_of_its_request_and_the_name_of_its_token)
{
    static const char point[] = "{\"points\":[[0,0,0]]}";
    static const char commit[] = "{\"queries\":[{\"kind\":\"all-pairs\"}]}";
    static const char *const ends[] = {"\"request\":\"look-1\",\"token\":\"r\"}",
                                       "\"request\":\"look-2\",\"token\":\"a\"}",
                                       "\"request\":\"tick-1\",\"token\":\"w\"}"};
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-1", "{\"record\":9}"), 200);
    ck_assert_int_eq(ask_with(READER "X-Request-Id: look-1\r\n", "POST",
                              "/v1/scenes/match-1/query/point", "%s", point),
                     200);
    ck_assert_int_eq(ask_with(ADMIN "X-Request-Id: look-2\r\n", "POST",
                              "/v1/scenes/match-1/query/point", "%s", point),
                     200);
    ck_assert_int_eq(ask_with(WRITER "X-Request-Id: tick-1\r\n", "POST",
                              "/v1/scenes/match-1/commit", "%s", commit),
                     200);
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes/match-1/queries", "%s", ""), 200);
    const char *at = heard;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        at = strstr(at, ends[i]);
        ck_assert_msg(at != NULL, "%s\n%s", ends[i], heard);
    }
}
END_TEST

static void setup_pen(void)
{
    name_files();
    write_file(tokens, token_file);
    service_start((const char *[]){"--token-file", tokens, NULL});
}

START_TEST(write_alone_is_enough_for_changes_and_for_no_query)
{
    static const char query[] = "\"queries\":[{\"kind\":\"all-pairs\"}]";
    static const struct {
        const char *method, *path, *format, *more;
        int status;
    } cases[] = {
        {"POST", "/v1/scenes/s/commit", "{\"put\":{\"a\":" BOX "}%s}", "", 200},
        {"POST", "/v1/scenes/s/commit", "{\"remove\":[\"a\"],%s}", query, 403},
        {"POST", "/v1/scenes/s/commit", "{%s}", query, 403},
        {"PUT", "/v1/scenes/s/boxes/b", BOX "%s", "", 201},
        {"PATCH", "/v1/scenes/s/boxes/a", "{\"category\":2}%s", "", 200}, /* it is still there */
        {"DELETE", "/v1/scenes/s/boxes/a", "%s", "", 204},
        {"GET", "/v1/scenes/s", "%s", "", 403},
        {"POST", "/v1/scenes/s/query/all-pairs", "{}%s", "", 403},
        {"POST", "/v1/scenes/s/copy", "{\"to\":\"t\"}%s", "", 403},
        {"PUT", "/v1/scenes/s/frames/f", "{}%s", "", 201},
        {"DELETE", "/v1/scenes/s/frames/f", "%s", "", 204},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[400];
        const char *hole = strstr(cases[i].format, "%s");
        (void)snprintf(body, sizeof body, "%.*s%s%s", (int)(hole - cases[i].format),
                       cases[i].format, cases[i].more, hole + 2);
        const int got = ask_with(PEN, cases[i].method, cases[i].path, "%s", body);
        ck_assert_msg(got == cases[i].status, "%s %s %s: %d\n%s", cases[i].method, cases[i].path,
                      body, got, heard);
        ck_assert((cases[i].more == query) ==
                  (strstr(heard, "queries need the scope read") != NULL));
    }
}
END_TEST

START_TEST(scenes_outside_a_pattern_are_not_listed)
{
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-2", "{}"), 201);
    ck_assert_int_eq(ask_with(WRITER, "GET", "/v1/scenes", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "match-1"));
    ck_assert_ptr_nonnull(strstr(heard, "match-2"));
    ck_assert_ptr_null(strstr(heard, "other"));
    ck_assert_int_eq(ask_with(WRITER, "GET", "/v1/scenes?limit=1", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "\"cursor\":\"match-1\""));
    /* the next page would be `other` alone: so there is none */
    ck_assert_int_eq(ask_with(WRITER, "GET", "/v1/scenes?limit=1&cursor=match-1", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "match-2"));
    ck_assert_ptr_null(strstr(heard, "cursor"));
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "other"));
}
END_TEST

static void setup_rates(void)
{
    name_files();
    write_file(tokens, token_file);
    service_start((const char *[]){"--token-file", tokens, "--client-rate", "1", "--listen",
                                   listen_local, NULL});
}

/* A connection from that address, or, where it is NULL, through the unix socket. */
static int dial_from(const char *from)
{
    const int s = socket(from != NULL ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_ge(s, 0);
    if (from == NULL) {
        struct sockaddr_un at = {.sun_family = AF_UNIX};
        (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", local);
        ck_assert_int_eq(connect(s, (const struct sockaddr *)&at, sizeof at), 0);
        return s;
    }
    struct sockaddr_in here = {.sin_family = AF_INET};
    const struct sockaddr_in there = {.sin_family = AF_INET,
                                      .sin_port = htons((uint16_t)service_port),
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(inet_pton(AF_INET, from, &here.sin_addr), 1);
    ck_assert_int_eq(bind(s, (const struct sockaddr *)&here, sizeof here), 0);
    ck_assert_int_eq(connect(s, (const struct sockaddr *)&there, sizeof there), 0);
    return s;
}

/* Sends on one connection until the service refuses: the status of the first answer. */
static int send_until_refused(const char *from, const char *fields)
{
    char request[256];
    const int length = snprintf(request, sizeof request,
                                "GET /v1/scenes HTTP/1.1\r\nHost: localhost\r\n%s\r\n", fields);
    const int s = dial_from(from);
    int first = 0, status = 0;
    for (int i = 0; status != 429; i++) { /* now and then a second has passed */
        ck_assert_int_lt(i, 100);
        ck_assert_int_eq(send(s, request, (size_t)length, MSG_NOSIGNAL), length);
        const ssize_t got = recv(s, heard, sizeof heard - 1, 0);
        ck_assert_int_gt(got, 12); /* the connection stays */
        heard[got] = '\0';
        status = (int)strtol(heard + 9, NULL, 10);
        if (i == 0)
            first = status;
    }
    ck_assert_msg(strstr(heard, "\r\nRetry-After: 1\r\n") != NULL, "%s", heard);
    close(s);
    return first;
}

START_TEST(a_client_is_a_name_an_address_or_a_unix_socket)
{
    ck_assert_int_eq(send_until_refused("127.0.0.1", READER), 200);
    ck_assert_int_eq(send_until_refused("127.0.0.1", WRITER), 200);
    ck_assert_int_eq(send_until_refused("127.0.0.2", ADMIN), 200);
    /* who has no good token is the address alone, whatever it guesses */
    ck_assert_int_eq(send_until_refused("127.0.0.1", ""), 401);
    ck_assert_int_eq(send_until_refused("127.0.0.2", "Authorization: Bearer guess\r\n"), 401);
    ck_assert_int_eq(send_until_refused("127.0.0.3", ""), 401);
    ck_assert_int_eq(send_until_refused(NULL, ""), 401);
    for (int i = 0; i < 20; i++)
        ck_assert_int_eq(ask_with("", "GET", i % 2 ? "/healthz" : "/readyz", "%s", ""), 200);
}
END_TEST

/* Of several attempts one is over before a second has passed. */
START_TEST(a_name_is_one_client_from_everywhere)
{
    int refused = 0;
    for (int i = 0; i < 20 && refused < 2; i++) {
        (void)send_until_refused("127.0.0.1", READER);
        refused = (send_until_refused("127.0.0.2", READER) == 429) +
                  (send_until_refused(NULL, READER) == 429);
    }
    ck_assert_int_eq(refused, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("admit");
    TCase *alone = tcase_create("alone");
    tcase_add_checked_fixture(alone, name_files, remove_files);
    tcase_set_timeout(alone, test_timeout(60));
    tcase_add_test(alone, options_decide_what_is_checked);
    tcase_add_test(alone, a_broken_file_keeps_the_tokens);
    tcase_add_test(alone, a_request_that_waited_has_what_its_token_has_now);
    tcase_add_test(alone, a_refusal_names_the_scope_that_is_lacking);
    tcase_add_test(alone, every_failing_allocation_is_an_error);
    suite_add_tcase(suite, alone);
    TCase *tokens_case = tcase_create("tokens");
    tcase_add_checked_fixture(tokens_case, setup_tokens, stop_and_remove);
    tcase_set_timeout(tokens_case, test_timeout(60));
    tcase_add_test(tokens_case, what_a_token_allows);
    tcase_add_test(tokens_case,
                   a_recorded_query_has_the_id_of_its_request_and_the_name_of_its_token);
    tcase_add_test(tokens_case, scenes_outside_a_pattern_are_not_listed);
    suite_add_tcase(suite, tokens_case);
    TCase *pen = tcase_create("pen");
    tcase_add_checked_fixture(pen, setup_pen, stop_and_remove);
    tcase_set_timeout(pen, test_timeout(60));
    tcase_add_test(pen, write_alone_is_enough_for_changes_and_for_no_query);
    suite_add_tcase(suite, pen);
    TCase *rates = tcase_create("rates");
    tcase_add_checked_fixture(rates, setup_rates, stop_and_remove);
    tcase_set_timeout(rates, test_timeout(60));
    tcase_add_test(rates, a_client_is_a_name_an_address_or_a_unix_socket);
    tcase_add_test(rates, a_name_is_one_client_from_everywhere);
    suite_add_tcase(suite, rates);
    return test_main(suite);
}
