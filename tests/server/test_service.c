/* The whole service: who may do what, from where, over what, and how it ends. */
#include "server/probe.h"
#include "tests/server/certificates.h"
#include "tests/server/service.h"

#include <curl/curl.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

static char folder[64], tokens[128], certificate[128], key[128], trust[2][128];
static char local[100], listen_local[160];

static void name_files(void)
{
    (void)snprintf(folder, sizeof folder, "/tmp/obbd-service-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(tokens, sizeof tokens, "%s/tokens", folder);
    (void)snprintf(certificate, sizeof certificate, "%s/certificate", folder);
    (void)snprintf(key, sizeof key, "%s/key", folder);
    for (int i = 0; i < 2; i++)
        (void)snprintf(trust[i], sizeof trust[i], "%s/trust-%d", folder, i);
    (void)snprintf(local, sizeof local, "%s/socket", folder);
    (void)snprintf(listen_local, sizeof listen_local, "unix:%s", local);
}

static void remove_files(void)
{
    (void)unlink(tokens);
    (void)unlink(certificate);
    (void)unlink(key);
    for (int i = 0; i < 2; i++)
        (void)unlink(trust[i]);
    ck_assert_int_eq(rmdir(folder), 0); /* so the socket is gone, too */
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

__attribute__((format(printf, 4, 5))) static int ask_with(const char *fields, const char *method,
                                                          const char *path, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int answer = ask_v(fields, method, path, format, values);
    va_end(values);
    return answer;
}

static void wait_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- Tokens ---------------------------------------------------------------------------------------------------------- */

/* Hashes of "reader", "writer", "admin" and "late". */
static const char token_file[] =
    "{\"tokens\":["
    "{\"name\":\"r\",\"sha256\":"
    "\"3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30\","
    "\"scopes\":[\"read\"],\"scenes\":[\"*\"]},"
    "{\"name\":\"w\",\"sha256\":"
    "\"b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5\","
    "\"scopes\":[\"read\",\"write\"],\"scenes\":[\"match-*\"]},"
    "{\"name\":\"a\",\"sha256\":"
    "\"8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918\","
    "\"scopes\":[\"read\",\"write\",\"admin\"],\"scenes\":[\"*\"]},"
    "{\"name\":\"l\",\"sha256\":"
    "\"089001a35679a33ef3db0ca350db9b9a2f0136e0e327577b04b3b98127470961\","
    "\"scopes\":[\"read\"],\"scenes\":[\"*\"],\"expires\":\"2020-01-01T00:00:00Z\"}]}";

#define READER "Authorization: Bearer reader\r\n"
#define WRITER "Authorization: Bearer writer\r\n"
#define ADMIN  "Authorization: Bearer admin\r\n"
#define BOX    "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"

static void setup_tokens(void)
{
    name_files();
    write_file(tokens, token_file);
    service_start((const char *[]){"--token-file", tokens, NULL});
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-1/boxes/a", BOX), 201);
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/other/boxes/a", BOX), 201);
}

static void stop_and_remove(void)
{
    service_stop();
    remove_files();
}

START_TEST(what_a_token_allows)
{
    static const struct {
        const char *method, *path, *body;
        int nobody, reader, writer, admin; /* statuses; writer has match-* alone */
    } cases[] = {
        {"GET", "/healthz", "", 200, 200, 200, 200},
        {"GET", "/readyz", "", 200, 200, 200, 200},
        {"GET", "/openapi.json", "", 200, 200, 200, 200},
        {"GET", "/metrics", "", 401, 200, 200, 200},
        {"GET", "/v1/scenes", "", 401, 200, 200, 200},
        {"GET", "/v1/scenes/match-1", "", 401, 200, 200, 200},
        {"GET", "/v1/scenes/other", "", 401, 200, 403, 200},
        {"GET", "/v1/scenes/nowhere", "", 401, 404, 403, 404},
        {"GET", "/v1/scenes/match-9", "", 401, 404, 404, 404},
        {"GET", "/v1/scenes/match-1/boxes", "", 401, 200, 200, 200},
        {"GET", "/v1/scenes/match-1/export", "", 401, 200, 200, 200},
        {"GET", "/v1/scenes/match-1/events?topics=none", "", 401, 400, 400, 400},
        {"PUT", "/v1/scenes/match-2", "{}", 401, 403, 201, 200},
        {"PUT", "/v1/scenes/match-1/boxes/b", BOX, 401, 403, 201, 200},
        {"PUT", "/v1/scenes/other/boxes/b", BOX, 401, 403, 403, 201},
        {"PATCH", "/v1/scenes/match-1/boxes/b", "{}", 401, 403, 200, 200},
        {"POST", "/v1/scenes/match-1/boxes/b/transform", "{\"translate\":[1,0,0]}", 401, 403, 200,
         200},
        {"POST", "/v1/scenes/match-1/boxes/b/merge", "{\"with\":[\"a\"]}", 401, 403, 200, 200},
        {"POST", "/v1/scenes/match-1/query/all-pairs", "{}", 401, 200, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"queries\":[{\"kind\":\"all-pairs\"}]}", 401, 200,
         200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"put\":{\"c\":" BOX "}}", 401, 403, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"remove\":[\"c\"]}", 401, 403, 200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"pose\":{\"b\":{\"center\":[1,1,1]}}}", 401, 403,
         200, 200},
        {"POST", "/v1/scenes/match-1/commit", "{\"time\":1e9}", 401, 403, 200, 200},
        {"POST", "/v1/scenes/match-1/import", "{", 401, 403, 415, 415},
        {"DELETE", "/v1/scenes/match-1/boxes/b", "", 401, 403, 204, 404},
        {"DELETE", "/v1/scenes/match-2", "", 401, 403, 403, 204},
        {"GET", "/nowhere", "", 404, 404, 404, 404},
        {"PUT", "/v1/scenes", "{}", 405, 405, 405, 405},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct {
            const char *who;
            int status;
        } senders[] = {{"", cases[i].nobody},
                       {"Authorization: Bearer late\r\n", cases[i].nobody},
                       {READER, cases[i].reader},
                       {WRITER, cases[i].writer},
                       {ADMIN, cases[i].admin}};
        for (size_t s = 0; s < sizeof senders / sizeof *senders; s++) {
            const int got =
                ask_with(senders[s].who, cases[i].method, cases[i].path, "%s", cases[i].body);
            ck_assert_msg(got == senders[s].status, "%s%s %s %s: %d, not %d\n%s", senders[s].who,
                          cases[i].method, cases[i].path, cases[i].body, got, senders[s].status,
                          heard);
            ck_assert((got == 401) == (strstr(heard, "WWW-Authenticate: Bearer\r\n") != NULL));
        }
    }
    printf("%zu requests by 5 senders\n", sizeof cases / sizeof *cases);
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

START_TEST(a_hangup_reads_the_tokens_again_and_keeps_the_old_when_they_are_broken)
{
    write_file(tokens, "{\"tokens\":[");
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    wait_ms(50);
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    write_file(tokens, "{\"tokens\":[]}");
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    int answer = 200;
    for (int i = 0; i < 100 && answer == 200; i++) {
        wait_ms(10);
        answer = ask_with(READER, "GET", "/v1/scenes", "%s", "");
    }
    ck_assert_int_eq(answer, 401);
    write_file(tokens, token_file);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    for (int i = 0; i < 100 && answer == 401; i++) {
        wait_ms(10);
        answer = ask_with(READER, "GET", "/v1/scenes", "%s", "");
    }
    ck_assert_int_eq(answer, 200);
}
END_TEST

/* ---- Rates ---------------------------------------------------------------------------------------------------------------- */

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

/* ---- Pages of other origins ---------------------------------------------------------------------------------------------- */

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
    ck_assert(says("Access-Control-Expose-Headers: ETag"));
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
    ck_assert(says("Access-Control-Allow-Headers: Authorization, Content-Type"));
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

/* ---- HTTPS and unix sockets ---------------------------------------------------------------------------------------------- */

static void setup_secure(void)
{
    name_files();
    write_file(certificate, first_certificate);
    write_file(key, first_key);
    service_start((const char *[]){"--tls-cert", certificate, "--tls-key", key, "--listen",
                                   listen_local, NULL});
}

struct heard_bytes {
    char bytes[65536];
    size_t length;
};

static size_t take(char *bytes, size_t size, size_t count, void *to)
{
    struct heard_bytes *out = to;
    const size_t length = size * count;
    if (length > sizeof out->bytes - 1 - out->length)
        return 0;
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    out->bytes[out->length] = '\0';
    return length;
}

/* A client that trusts the given certificate, for localhost whoever it is issued to. */
static CURL *secure_client(const char *trusted)
{
    const char *file = trust[trusted == second_certificate];
    CURL *curl = curl_easy_init();
    ck_assert_ptr_nonnull(curl);
    char url[64];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/v1/scenes", service_port);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    write_file(file, trusted);
    curl_easy_setopt(curl, CURLOPT_CAINFO, file);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    return curl;
}

static CURLcode fetch(CURL *curl, struct heard_bytes *out)
{
    out->length = 0;
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    return curl_easy_perform(curl);
}

START_TEST(https_serves_and_takes_new_certificates_on_a_hangup)
{
    static struct heard_bytes out;
    CURL *kept = secure_client(first_certificate);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK);
    ck_assert_str_eq(out.bytes, "{\"scenes\":[]}");
    CURL *stranger = secure_client(second_certificate);
    ck_assert_int_ne(fetch(stranger, &out), CURLE_OK);

    /* a key that does not belong to the certificate: what is in use stays */
    write_file(key, second_key);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    wait_ms(100);
    ck_assert_int_ne(fetch(stranger, &out), CURLE_OK);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK);

    write_file(certificate, second_certificate);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    CURLcode answer = CURLE_GOT_NOTHING;
    for (int i = 0; i < 100 && answer != CURLE_OK; i++) {
        wait_ms(10);
        answer = fetch(stranger, &out);
    }
    ck_assert_int_eq(answer, CURLE_OK);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK); /* on the connection that it has */
    long connects = 1;
    curl_easy_getinfo(kept, CURLINFO_NUM_CONNECTS, &connects);
    ck_assert_int_eq(connects, 0);
    curl_easy_cleanup(kept);
    kept = secure_client(first_certificate);
    ck_assert_int_ne(fetch(kept, &out), CURLE_OK);
    curl_easy_cleanup(kept);
    curl_easy_cleanup(stranger);
}
END_TEST

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

/* ---- The end ---------------------------------------------------------------------------------------------------------------- */

static void setup_plain(void) { service_start(NULL); }

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
    wait_ms(50);
    ck_assert_int_eq(kill(getpid(), SIGTERM), 0);
    wait_ms(50);
    /* nobody new, but who is connected is answered, and told to go */
    const int late = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)service_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_ne(connect(late, (const struct sockaddr *)&at, sizeof at), 0);
    close(late);
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

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Suite *suite = suite_create("service");
    static const struct {
        const char *name;
        void (*setup)(void), (*teardown)(void);
    } cases[] = {{"tokens", setup_tokens, stop_and_remove},
                 {"rates", setup_rates, stop_and_remove},
                 {"origins", setup_origins, service_stop},
                 {"secure", setup_secure, stop_and_remove},
                 {"end", setup_plain, service_join}};
    TCase *tc[5];
    for (size_t i = 0; i < 5; i++) {
        tc[i] = tcase_create(cases[i].name);
        tcase_add_checked_fixture(tc[i], cases[i].setup, cases[i].teardown);
        tcase_set_timeout(tc[i], test_timeout(60));
        suite_add_tcase(suite, tc[i]);
    }
    tcase_add_test(tc[0], what_a_token_allows);
    tcase_add_test(tc[0], scenes_outside_a_pattern_are_not_listed);
    tcase_add_test(tc[0], a_hangup_reads_the_tokens_again_and_keeps_the_old_when_they_are_broken);
    tcase_add_test(tc[1], a_client_is_a_name_an_address_or_a_unix_socket);
    tcase_add_test(tc[1], a_name_is_one_client_from_everywhere);
    tcase_add_test(tc[2], pages_may_do_what_their_origin_may);
    tcase_add_test(tc[2], preflights_tell_what_a_page_may_send);
    tcase_add_test(tc[3], https_serves_and_takes_new_certificates_on_a_hangup);
    tcase_add_test(tc[3], large_bodies_and_streams_go_over_https_too);
    tcase_add_test(tc[3], what_is_not_tls_is_let_go_and_the_unix_socket_is_plain);
    tcase_add_test(tc[4], requests_in_flight_are_answered_while_it_drains);
    return test_main(suite);
}
