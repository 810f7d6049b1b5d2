/* The whole service: pages of other origins, HTTPS and unix sockets, and how it ends. */
#include "server/probe.h"
#include "tests/server/secure.h"

#include <poll.h>
#include <sys/un.h>

/* ---- Pages of other origins ------------------------------------------------------------------ */

static void setup_origins(void)
{
    service_start((const char *[]){"--cors-origin", "https://editor.example", "--cors-origin", "*",
                                   "--cors-origin", "http://localhost:3000", NULL});
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX), 201);
}

static bool says(const char *line) { return strstr(heard, line) != NULL; }

START_TEST(pages_may_do_what_their_origin_may)
{
#define EDITOR "Origin: https://editor.example\r\n"
#define OTHER  "Origin: https://other.example\r\n"
#define COMMIT "/v1/scenes/s/commit"
    /* listed: everything, and the answer may be seen */
    ck_assert_int_eq(ask_with(EDITOR, "PUT", "/v1/scenes/s/boxes/b", BOX), 201);
    ck_assert(says("Access-Control-Allow-Origin: https://editor.example\r\n"));
    ck_assert(says("Vary: Origin\r\n"));
    ck_assert_int_eq(ask_with(EDITOR, "PUT", "/v1/scenes/s/boxes/b", "{"), 400);
    ck_assert(says("Access-Control-Allow-Origin: https://editor.example\r\n"));
    ck_assert_int_eq(ask_with("Origin: http://localhost:3000\r\n", "GET", "/healthz", "%s", ""),
                     200);
    ck_assert(says("Access-Control-Allow-Origin: http://localhost:3000\r\n"));
    ck_assert_int_eq(ask_with(EDITOR, "GET", "/nowhere", "%s", ""), 404);
    ck_assert(says("Access-Control-Allow-Origin: https://editor.example\r\n"));
    ck_assert_int_eq(ask_with(EDITOR, "POST", "/v1/scenes/s", "%s", ""), 405);
    ck_assert(says("Access-Control-Allow-Origin: https://editor.example\r\n"));
    /* any: reading alone */
    ck_assert_int_eq(ask_with(OTHER, "GET", "/v1/scenes/s", "%s", ""), 200);
    ck_assert(says("Access-Control-Allow-Origin: *\r\n"));
    ck_assert(says("Vary: Accept, Origin\r\n"));
    ck_assert(says("Access-Control-Expose-Headers: ETag, Obbd-Epoch, Allow, Retry-After, Location, "
                   "X-Request-Id\r\n"));
    ck_assert_int_eq(ask_with(OTHER, "POST", "/v1/scenes/s/query/all-pairs", "{}"), 200);
    ck_assert_int_eq(ask_with(OTHER, "PUT", "/v1/scenes/s/boxes/c", BOX), 403);
    ck_assert(!says("Access-Control-"));
    ck_assert_int_eq(ask_with("Origin: null\r\n", "DELETE", "/v1/scenes/s", "%s", ""), 403);
    ck_assert_int_eq(ask_with(OTHER, "POST", COMMIT, "{\"queries\":[{\"kind\":\"all-pairs\"}]}"),
                     200);
    ck_assert_int_eq(ask_with(OTHER, "POST", COMMIT, "{\"put\":{\"c\":" BOX "}}"), 403);
    ck_assert_int_eq(ask_with(OTHER, "POST", COMMIT, "{\"time\":1e6}"), 403);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/boxes/c", "%s", ""), 404);
    /* the service's own page */
    ck_assert_int_eq(ask_with("Origin: http://localhost\r\n", "PUT", "/v1/scenes/s/boxes/c", BOX),
                     201);
    ck_assert(!says("Access-Control-"));
    ck_assert_int_eq(ask_with("Origin: http://localhost\r\n", "POST", COMMIT, "{\"time\":1e6}"),
                     200);
    /* it came by a proxy that ends HTTPS */
    ck_assert_int_eq(ask_with("Origin: https://localhost\r\n", "PUT", "/v1/scenes/s/boxes/c", BOX),
                     200);
    ck_assert_int_eq(ask_with("Origin: ftp://localhost\r\n", "PUT", "/v1/scenes/s/boxes/c", BOX),
                     403);
    /* no page at all */
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 200);
    ck_assert(!says("Access-Control-"));
}
END_TEST

START_TEST(preflights_tell_what_a_page_may_send)
{
#define WOULD(method) "Access-Control-Request-Method: " method "\r\n"
    ck_assert_int_eq(ask_with(EDITOR WOULD("PUT"), "OPTIONS", "/v1/scenes/s/boxes/a", "%s", ""),
                     204);
    ck_assert(says("Access-Control-Allow-Origin: https://editor.example\r\n"));
    ck_assert(says("Access-Control-Allow-Methods: GET, HEAD, PUT, PATCH, DELETE, OPTIONS\r\n"));
    ck_assert(says("Access-Control-Allow-Headers: Authorization, Content-Type, If-Match, "
                   "If-None-Match, Last-Event-ID, Obbd-If-Epoch, X-Request-Id\r\n"));
    ck_assert(says("Access-Control-Max-Age: "));
    ck_assert_int_eq(ask_with(OTHER WOULD("POST"), "OPTIONS", "/v1/scenes/s/query/ray", "%s", ""),
                     204);
    ck_assert(says("Access-Control-Allow-Origin: *\r\n"));
    ck_assert_int_eq(ask_with(OTHER WOULD("PUT"), "OPTIONS", "/v1/scenes/s/boxes/a", "%s", ""),
                     403);
    ck_assert(!says("Access-Control-"));
    ck_assert_int_eq(ask_with(OTHER WOULD("BREW"), "OPTIONS", "/v1/scenes/s/boxes/a", "%s", ""),
                     204);
    ck_assert(!says("Access-Control-"));
    ck_assert_int_eq(ask("OPTIONS", "/v1/scenes/s/boxes/a", "%s", ""), 204);
    ck_assert(!says("Access-Control-") && says("Allow: GET, HEAD, PUT, PATCH, DELETE, OPTIONS"));
}
END_TEST

/* ---- HTTPS and unix sockets ------------------------------------------------------------------ */

START_TEST(large_bodies_and_streams_go_over_https_too)
{
    static struct heard_bytes out;
    static char body[1 << 20];
    size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
    for (int i = 0; i < 5000; i++)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "%s\"box-%d\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}",
                                   i > 0 ? "," : "", i, 3 * i);
    (void)snprintf(body + length, sizeof body - length,
                   "},\"queries\":[{\"kind\":\"all-pairs\",\"count_only\":true,\"margin\":1}]}");
    CURL *curl = secure_client(first_certificate);
    char url[96];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/v1/scenes/s/commit", service_port);
    struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: application/json");
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
    (void)fetch(curl, &out);
    long answer = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
    ck_assert_int_eq(answer, 200);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/v1/scenes/s/export", service_port);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPGET, 1L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, NULL);
    FILE *nothing = fopen("/dev/null", "w");
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, nothing);
    ck_assert_int_eq(curl_easy_perform(curl), CURLE_OK);
    curl_off_t size = 0;
    curl_easy_getinfo(curl, CURLINFO_SIZE_DOWNLOAD_T, &size);
    ck_assert_int_gt(size, 500000);
    fclose(nothing);
    curl_slist_free_all(fields);
    curl_easy_cleanup(curl);
}
END_TEST

/* The status of a commit by a page of this origin. */
static long commit_from(const char *origin)
{
    static struct heard_bytes out;
    char url[96], field[128];
    CURL *curl = secure_client(first_certificate);
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/v1/scenes/s/commit", service_port);
    (void)snprintf(field, sizeof field, "Origin: %s:%d", origin, service_port);
    struct curl_slist *fields = curl_slist_append(NULL, "Content-Type: application/json");
    fields = curl_slist_append(fields, field);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, fields);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "{\"put\":{\"a\":" BOX "}}");
    ck_assert_int_eq(fetch(curl, &out), CURLE_OK);
    long answer = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer);
    curl_slist_free_all(fields);
    curl_easy_cleanup(curl);
    return answer;
}

/* A page at http:// of the same name may be anybody's who is on the way to the browser. */
START_TEST(with_https_a_page_at_http_is_a_stranger)
{
    ck_assert_int_eq(commit_from("https://127.0.0.1"), 200);
    ck_assert_int_eq(commit_from("http://127.0.0.1"), 403);
}
END_TEST

START_TEST(what_is_not_tls_is_let_go_and_the_unix_socket_is_plain)
{
    const int s = dial();
    static const char plain[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ck_assert_int_eq(send(s, plain, sizeof plain - 1, MSG_NOSIGNAL), sizeof plain - 1);
    char bytes[256];
    ssize_t n;
    while ((n = recv(s, bytes, sizeof bytes, 0)) > 0)
        ck_assert_ptr_null(find_bytes(bytes, (size_t)n, "HTTP", 4));
    close(s);

    static struct heard_bytes out;
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, "http://any.name/healthz");
    curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, local);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    ck_assert_int_eq(fetch(curl, &out), CURLE_OK);
    ck_assert_str_eq(out.bytes, "{\"status\":\"alive\"}");
    curl_easy_cleanup(curl);

    char error[256], address[64];
    const char *item = listen_local;
    srv_config config = {.listen = {.items = &item, .count = 1}, .tls_cert = certificate};
    ck_assert_msg(srv_probe(&config, error, sizeof error), "%s", error);
    (void)snprintf(address, sizeof address, "127.0.0.1:%d", service_port);
    item = address;
    ck_assert_msg(srv_probe(&config, error, sizeof error), "%s", error);
    item = "127.0.0.1:1";
    ck_assert(!srv_probe(&config, error, sizeof error));
    ck_assert_ptr_nonnull(strstr(error, "refused"));
}
END_TEST

/* ---- The end --------------------------------------------------------------------------------- */

static void setup_plain(void) { service_start(NULL); }

static void setup_local(void)
{
    name_files();
    service_start((const char *[]){"--listen", listen_local, NULL});
}

static bool poll_readable(int s)
{
    fd_set set;
    FD_ZERO(&set);
    FD_SET(s, &set);
    struct timeval none = {0};
    return select(s + 1, &set, NULL, NULL, &none) > 0;
}

START_TEST(requests_in_flight_are_answered_while_it_drains)
{
    static const char head[] =
        "PUT /v1/scenes/s/boxes/a HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
        "application/json\r\nContent-Length: 41\r\n\r\n";
    static const char idle[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int s = dial(), kept = dial();
    ck_assert_int_eq(send(kept, idle, sizeof idle - 1, MSG_NOSIGNAL), sizeof idle - 1);
    char bytes[1024];
    ck_assert_int_gt(recv(kept, bytes, sizeof bytes, 0), 0);
    ck_assert_int_eq(send(s, head, sizeof head - 1, MSG_NOSIGNAL), sizeof head - 1);
    for (int i = 0; i < 2; i++) /* by these answers the head has been read */
        ck_assert_int_eq(ask("GET", "/healthz", "%s", ""), 200);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    /* soon nobody new is served, but who is connected is answered, and told to go */
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)service_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    for (int refused = 0; refused == 0;) {
        const int late = socket(AF_INET, SOCK_STREAM, 0);
        refused = connect(late, (const struct sockaddr *)&at, sizeof at);
        close(late);
        test_rest(1);
    }
    static const char ready[] = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ck_assert_int_eq(send(kept, ready, sizeof ready - 1, MSG_NOSIGNAL), sizeof ready - 1);
    ssize_t n = recv(kept, bytes, sizeof bytes - 1, 0);
    ck_assert_int_gt(n, 0);
    bytes[n] = '\0';
    ck_assert_msg(strncmp(bytes, "HTTP/1.1 503", 12) == 0 &&
                      strstr(bytes, "Connection: close") != NULL,
                  "%s", bytes);
    ck_assert(!poll_readable(s));
    ck_assert_int_eq(send(s, BOX, 41, MSG_NOSIGNAL), 41);
    n = recv(s, bytes, sizeof bytes - 1, 0);
    ck_assert_int_gt(n, 0);
    bytes[n] = '\0';
    ck_assert_msg(strncmp(bytes, "HTTP/1.1 201", 12) == 0 &&
                      strstr(bytes, "Connection: close") != NULL,
                  "%s", bytes);
    close(s);
    close(kept);
}
END_TEST

/* ---- Clients that close their sending half --------------------------------------------------- */

enum { HEAP = 900 }; /* boxes in one place: heavy to pair, and a long body to put */

static size_t write_heavy(int kind, char *out, size_t room)
{
    static const char *const heads[] = {
        "POST /v1/scenes/h/query/all-pairs HTTP/1.1\r\n", "GET /v1/scenes/h/export HTTP/1.1\r\n",
        "POST /v1/scenes/h/query/all-pairs HTTP/1.1\r\nAccept: application/x-ndjson\r\n",
        "POST /v1/scenes/h/commit HTTP/1.1\r\n"};
    static char body[HEAP * 80];
    size_t length = (size_t)snprintf(body, sizeof body, "%s", kind == 1 ? "" : "{\"limit\":1000}");
    if (kind == 3) {
        length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
        for (int i = 0; i < HEAP; i++)
            length += (size_t)snprintf(body + length, sizeof body - length, "%s\"b%d\":" BOX,
                                       i > 0 ? "," : "", i);
        length += (size_t)snprintf(body + length, sizeof body - length, "}}");
    }
    return (size_t)snprintf(out, room,
                            "%sHost: localhost\r\nConnection: close\r\n"
                            "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                            heads[kind], length, body);
}

static int dial_local(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    (void)snprintf(at.sun_path, sizeof at.sun_path, "%s", local);
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(s, (const struct sockaddr *)&at, sizeof at), 0);
    return s;
}

/* Speaks all, waits, closes the half, and hears all. */
static void ask_half(int s, const char *request, size_t length, long pause_ms)
{
    size_t got = 0;
    for (size_t sent = 0; sent < length;) {
        const ssize_t n = send(s, request + sent, length - sent, MSG_NOSIGNAL);
        ck_assert_int_gt(n, 0);
        sent += (size_t)n;
    }
    test_rest(pause_ms);
    ck_assert_int_eq(shutdown(s, SHUT_WR), 0);
    for (ssize_t n; (n = recv(s, heard + got, sizeof heard - 1 - got, 0)) > 0;)
        got += (size_t)n;
    heard[got] = '\0';
    close(s);
}

/* Does the same over TLS; pauses after the first bytes, too. */
static void ask_half_secure(const char *request, size_t length, size_t first, long first_ms,
                            long pause_ms)
{
    CURL *curl = secure_client(first_certificate);
    curl_socket_t s;
    size_t sent = 0, got = 0, n;
    curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
    ck_assert_int_eq(curl_easy_perform(curl), CURLE_OK);
    ck_assert_int_eq(curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &s), CURLE_OK);
    while (sent < length) {
        const size_t rest = (sent < first ? first : length) - sent;
        const CURLcode code = curl_easy_send(curl, request + sent, rest, &n);
        ck_assert(code == CURLE_OK || code == CURLE_AGAIN);
        sent += code == CURLE_OK ? n : 0;
        if (code == CURLE_OK && sent == first)
            test_rest(first_ms);
    }
    test_rest(pause_ms);
    ck_assert_int_eq(shutdown(s, SHUT_WR), 0);
    for (;;) {
        struct pollfd ready = {.fd = s, .events = POLLIN};
        const CURLcode code = curl_easy_recv(curl, heard + got, sizeof heard - 1 - got, &n);
        if (code == CURLE_AGAIN)
            ck_assert_int_eq(poll(&ready, 1, -1), 1);
        else if (code != CURLE_OK || n == 0)
            break;
        else
            got += n;
    }
    heard[got] = '\0';
    curl_easy_cleanup(curl);
}

/* Who goes right behind a heavy request leaves neither work nor memory behind. */
START_TEST(who_goes_at_once_leaves_nothing_behind)
{
    static char request[HEAP * 80 + 512];
    size_t length = write_heavy(3, request, sizeof request);
    ask_half(dial_local(), request, length, 0); /* the boxes */
    length = write_heavy(0, request, sizeof request);
    for (int i = 0; i < 200; i++) {
        const int s = i % 2 == 0 ? dial_local() : dial();
        ck_assert_int_eq(send(s, request, length, MSG_NOSIGNAL), (ssize_t)length);
        close(s);
    }
    do { /* the limit of the test ends it otherwise */
        test_rest(1);
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    } while (strstr(heard, "\nobbd_queue 0\n") == NULL ||
             strstr(heard, "\nobbd_in_flight_bytes 0\n") == NULL);
    ck_assert_ptr_null(strstr(heard, "\nobbd_cancelled_total 0\n"));
}
END_TEST

/* Over TCP, a unix socket and TLS. */
START_TEST(who_closes_its_half_gets_heavy_answers_too)
{
    static const char *const ends[] = {"}", "\r\n0\r\n\r\n", "\r\n0\r\n\r\n", "}"};
    static char request[HEAP * 80 + 512];
    const bool secure = _i == 2;
    size_t length = write_heavy(3, request, sizeof request), answers = 0;
    ask_half(dial_local(), request, length, 0); /* the boxes */
    ck_assert_msg(strncmp(heard, "HTTP/1.1 200", 12) == 0, "%.300s", heard);
    for (int kind = 0; kind < 4; kind++)
        for (long pause_ms = 0; pause_ms <= 2; pause_ms++, answers++) {
            length = write_heavy(kind, request, sizeof request);
            if (secure)
                ask_half_secure(request, length, length, 0, pause_ms);
            else
                ask_half(_i == 0 ? dial() : dial_local(), request, length, pause_ms);
            const size_t got = strlen(heard), end = strlen(ends[kind]);
            ck_assert_msg(strncmp(heard, "HTTP/1.1 200", 12) == 0 && got > end &&
                              strcmp(heard + got - end, ends[kind]) == 0,
                          "%d after %ld ms: %.200s", kind, pause_ms, heard);
        }
    printf("%zu heavy answers\n", answers);
}
END_TEST

/* While the connection is watched, as its body takes long, the rest comes in one go with the end of
 * the half: GnuTLS holds bytes of it that the socket has not. */
START_TEST(who_closes_its_half_late_in_a_body_is_answered)
{
    enum { WATCHED_MS = 400 };
    static char request[HEAP * 80 + 512];
    const size_t length = write_heavy(3, request, sizeof request);
    size_t answers = 0;
    for (size_t rest = length - 300; answers < 8; rest -= 1000, answers++) {
        ask_half_secure(request, length, length - rest, WATCHED_MS, 0);
        ck_assert_msg(strncmp(heard, "HTTP/1.1 200", 12) == 0, "the last %zu bytes: %.200s", rest,
                      heard);
    }
    printf("%zu bodies that ended late\n", answers);
}
END_TEST

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Suite *suite = suite_create("service");
    static const struct {
        const char *name;
        void (*setup)(void), (*teardown)(void);
    } cases[] = {{"origins", setup_origins, service_stop},
                 {"secure", setup_secure, stop_and_remove},
                 {"end", setup_plain, service_join},
                 {"halves", setup_local, stop_and_remove}};
    TCase *tc[4];
    for (size_t i = 0; i < 4; i++) {
        tc[i] = tcase_create(cases[i].name);
        tcase_add_checked_fixture(tc[i], cases[i].setup, cases[i].teardown);
        tcase_set_timeout(tc[i], test_timeout(60));
        suite_add_tcase(suite, tc[i]);
    }
    tcase_add_test(tc[0], pages_may_do_what_their_origin_may);
    tcase_add_test(tc[0], preflights_tell_what_a_page_may_send);
    tcase_add_test(tc[1], large_bodies_and_streams_go_over_https_too);
    tcase_add_test(tc[1], with_https_a_page_at_http_is_a_stranger);
    tcase_add_test(tc[1], what_is_not_tls_is_let_go_and_the_unix_socket_is_plain);
    tcase_add_test(tc[2], requests_in_flight_are_answered_while_it_drains);
    tcase_add_test(tc[3], who_goes_at_once_leaves_nothing_behind);
    tcase_add_loop_test(tc[3], who_closes_its_half_gets_heavy_answers_too, 0, 2);
    tcase_add_loop_test(tc[1], who_closes_its_half_gets_heavy_answers_too, 2, 3);
    tcase_add_test(tc[1], who_closes_its_half_late_in_a_body_is_answered);
    return test_main(suite);
}
