/* The files that SIGHUP reads again. */
#include "tests/server/secure.h"

#include <errno.h>

#define READER_HASH "3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30"
#define ADMIN_HASH  "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918"
#define WRITER_HASH "b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5"
#define PEN_HASH    "e21a6b0cb193057e06ac16b813443b3e6abae0db22762c6956a78ea049453058"
#define ENTRY(name, hash, scopes, scenes, more)                                                    \
    "{\"name\":\"" name "\",\"sha256\":\"" hash "\",\"scopes\":[" scopes "],\"scenes\":[\"" scenes \
    "\"]" more "}"
#define WRITER_ENTRY(scopes, scenes) ENTRY("w", WRITER_HASH, scopes, scenes, "")
#define ADMIN_ENTRY                  ENTRY("a", ADMIN_HASH, "\"read\",\"write\",\"admin\"", "*", "")

/* Asks for the scenes until the answer is this one, or the limit of the test ends it. */
static void await_answer(int wanted)
{
    while (ask_with(READER, "GET", "/v1/scenes", "%s", "") != wanted)
        test_rest(10);
}

START_TEST(a_hangup_reads_the_tokens_again_and_keeps_the_old_when_they_are_broken)
{
    write_file(tokens, "{\"tokens\":[");
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    test_rest(50);
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    write_file(tokens, "{\"tokens\":[" ADMIN_ENTRY "," ADMIN_ENTRY "]}"); /* one hash twice */
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    test_rest(50);
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    write_file(tokens, "{\"tokens\":[]}");
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    await_answer(401);
    write_file(tokens, token_file);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    await_answer(200);
}
END_TEST

/* What no file of tokens is, in its place. */
static void put_fifo(void) { ck_assert_int_eq(mkfifo(tokens, 0600), 0); }
static void put_folder(void) { ck_assert_int_eq(mkdir(tokens, 0700), 0); }
static void put_device(void) { ck_assert_int_eq(symlink("/dev/zero", tokens), 0); }
static void put_too_much(void)
{
    write_file(tokens, token_file);
    ck_assert_int_eq(truncate(tokens, (off_t)8 << 30), 0);
}

START_TEST(a_hangup_does_not_wait_for_what_is_no_file)
{
    static void (*const puts[])(void) = {put_fifo, put_folder, put_device, put_too_much};
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        ck_assert_int_eq(remove(tokens), 0);
        puts[i]();
        ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
        test_rest(50);
        ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 200);
    }
}
END_TEST

/* Opens a stream and waits for its first bytes. small: its kernel takes little, and the rest waits
 * for stream_ends. */
static int open_stream(const char *token, const char *path, bool small)
{
    char text[512];
    const int s = socket(AF_INET, SOCK_STREAM, 0), size = 4096;
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)service_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (small)
        ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    ck_assert_int_eq(connect(s, (const struct sockaddr *)&at, sizeof at), 0);
    const int length =
        snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s\r\n", path, token);
    ck_assert_int_eq(send(s, text, (size_t)length, MSG_NOSIGNAL), length);
    ck_assert_int_eq(recv(s, text, 12, MSG_WAITALL), 12);
    ck_assert_msg(memcmp(text, "HTTP/1.1 200", 12) == 0, "%.12s", text);
    return s;
}

/* Reads a stream to its end: closed, and without the last chunk. */
static void stream_ends(int s)
{
    static char bytes[65536];
    char last[5] = "";
    const struct timeval patience = {.tv_sec = (time_t)(10 * test_timeout(1))};
    ck_assert_int_eq(setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    ssize_t n;
    while ((n = recv(s, bytes, sizeof bytes, 0)) > 0)
        if (n >= 5)
            memcpy(last, bytes + n - 5, 5);
    ck_assert_msg(n == 0 || errno == ECONNRESET, "still open: %s", strerror(errno));
    ck_assert_int_ne(memcmp(last, "0\r\n\r\n", 5), 0);
    close(s);
}

static bool is_open(int s)
{
    char bytes[4096];
    ssize_t n;
    while ((n = recv(s, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        ;
    return n < 0 && errno == EAGAIN;
}

/* Scene match-1 becomes so large that its export does not fit into the kernel. No two boxes
 * meet. */
static void fill_scene(void)
{
    static char body[1 << 19];
    for (int part = 0; part < 20; part++) {
        size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
        for (int i = 0; i < 1500; i++)
            length +=
                (size_t)snprintf(body + length, sizeof body - length,
                                 "%s\"b%0120d\":{\"center\":[%d,0,0],\"half_extents\":[0,0,0]}",
                                 i > 0 ? "," : "", part * 1500 + i, part * 1500 + i);
        (void)snprintf(body + length, sizeof body - length, "}}");
        ck_assert_int_eq(ask_with(ADMIN, "POST", "/v1/scenes/match-1/commit", "%s", body), 200);
    }
}

/* What is open is asked for its token again: one that was removed, one for other scenes, one that
 * lost its scope. */
START_TEST(a_hangup_ends_the_streams_whose_tokens_allow_them_no_more)
{
    static const char *const files[] = {
        "{\"tokens\":[" ADMIN_ENTRY "]}",
        "{\"tokens\":[" ADMIN_ENTRY "," ENTRY("r", READER_HASH, "\"read\"", "other", "") "]}",
        "{\"tokens\":[" ADMIN_ENTRY "," ENTRY("r", READER_HASH, "\"write\"", "*", "") "]}",
    };
    fill_scene();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        const int kept = open_stream(ADMIN, "/v1/scenes/match-1/events", false);
        const int events = open_stream(READER, "/v1/scenes/match-1/events", false);
        const int export = open_stream(READER, "/v1/scenes/match-1/export", true);
        const int log = open_stream(READER, "/v1/scenes/match-1/log?follow=true", true);
        write_file(tokens, files[i]);
        ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
        stream_ends(events);
        stream_ends(export);
        stream_ends(log);
        ck_assert(is_open(kept));
        close(kept);
        write_file(tokens, token_file);
        ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
        await_answer(200);
    }
}
END_TEST

/* Sends the head of a request with a body of this length, and returns when it has been admitted. */
static int send_head(const char *token, const char *path, size_t body)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    char text[512];
    const int s = dial();
    const int length = snprintf(text, sizeof text,
                                "POST %s HTTP/1.1\r\nHost: localhost\r\n%s"
                                "Content-Type: application/json\r\nConnection: close\r\n"
                                "Expect: 100-continue\r\nContent-Length: %zu\r\n\r\n",
                                path, token, body);
    ck_assert_int_eq(send(s, text, (size_t)length, MSG_NOSIGNAL), length);
    ck_assert_int_eq(recv(s, text, sizeof go_on - 1, MSG_WAITALL), sizeof go_on - 1);
    ck_assert_msg(memcmp(text, go_on, sizeof go_on - 1) == 0, "%.25s", text);
    return s;
}

/* Sends the body, and returns the status of the answer, which is in `heard`. */
static int send_body(int s, const char *body)
{
    ck_assert_int_eq(send(s, body, strlen(body), MSG_NOSIGNAL), (ssize_t)strlen(body));
    size_t got = 0;
    for (ssize_t n; (n = recv(s, heard + got, sizeof heard - 1 - got, 0)) > 0;)
        got += (size_t)n;
    heard[got] = '\0';
    close(s);
    return (int)strtol(heard + 9, NULL, 10);
}

/* Replaces the file of tokens, and returns when the service has read it. The file is told from the
 * one before by whether it has the token "pen". */
static void replace_tokens(const char *text)
{
    const bool pen = strstr(text, PEN_HASH) != NULL;
    write_file(tokens, text);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    while ((ask_with(PEN, "GET", "/v1/scenes", "%s", "") == 403) != pen)
        test_rest(10);
}

START_TEST(a_token_that_changes_while_a_body_arrives_counts_as_it_is_then)
{
    static const char commit[] = "{\"put\":{\"late\":" BOX "}}";
    static const struct {
        const char *file;
        int status;
    } cases[] = {
        {"{\"tokens\":[" ADMIN_ENTRY "]}", 401},
        {"{\"tokens\":[" ADMIN_ENTRY "," WRITER_ENTRY("\"read\",\"write\"", "other") "]}", 403},
        {"{\"tokens\":[" ADMIN_ENTRY "," WRITER_ENTRY("\"read\"", "*") "]}", 403},
        {"{\"tokens\":[" ADMIN_ENTRY "," WRITER_ENTRY("\"read\",\"write\"", "*") "]}", 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int s = send_head(WRITER, "/v1/scenes/match-1/commit", strlen(commit));
        replace_tokens(cases[i].file);
        const int got = send_body(s, commit);
        ck_assert_msg(got == cases[i].status, "%zu: %d\n%s", i, got, heard);
        ck_assert((strstr(heard, "Obbd-Epoch") != NULL) ==
                  (i >= 2)); /* the token is for the scene */
        ck_assert_int_eq(ask_with(ADMIN, "GET", "/v1/scenes/match-1/boxes/late", "%s", ""),
                         got == 200 ? 200 : 404);
        replace_tokens(token_file);
    }
}
END_TEST

/* The token's name in a record is that of the tokens in use, as those at admission are freed. */
START_TEST(a_query_whose_body_came_after_a_hangup_is_recorded_by_the_new_name)
{
    static const char point[] = "{\"points\":[[0,0,0]]}";
    static const char file[] =
        "{\"tokens\":[" ADMIN_ENTRY "," ENTRY("renamed", READER_HASH, "\"read\"", "*", "") "]}";
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-1", "%s", "{\"record\":9}"), 200);
    const int s = send_head(READER, "/v1/scenes/match-1/query/point", strlen(point));
    replace_tokens(file);
    ck_assert_int_eq(send_body(s, point), 200);
    ck_assert_int_eq(ask_with(ADMIN, "GET", "/v1/scenes/match-1/queries", "%s", ""), 200);
    ck_assert_msg(strstr(heard, "\"token\":\"renamed\"}") != NULL, "%s", heard);
}
END_TEST

START_TEST(a_stream_ends_when_its_token_expires)
{
    char text[1024], at[32];
    const time_t soon = time(NULL) + (time_t)(2 * test_timeout(1)); /* the streams are open then */
    struct tm when;
    (void)strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&soon, &when));
    (void)snprintf(text, sizeof text,
                   "{\"tokens\":[" ADMIN_ENTRY
                   "," ENTRY("r", READER_HASH, "\"read\"", "*", ",\"expires\":\"%s\"") "]}",
                   at);
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-2", "%s", "{}"), 201);
    write_file(tokens, text);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    const int kept = open_stream(ADMIN, "/v1/scenes/match-1/events", false);
    const int events = open_stream(READER, "/v1/scenes/match-1/events", false);
    const int log = open_stream(READER, "/v1/scenes/match-2/log?follow=true", false);
    stream_ends(events);
    stream_ends(log);
    ck_assert_int_eq(ask_with(READER, "GET", "/v1/scenes", "%s", ""), 401);
    ck_assert(is_open(kept));
    close(kept);
}
END_TEST

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
    test_rest(100);
    ck_assert_int_ne(fetch(stranger, &out), CURLE_OK);
    ck_assert_int_eq(fetch(kept, &out), CURLE_OK);

    write_file(certificate, second_certificate);
    ck_assert_int_eq(kill(getpid(), SIGHUP), 0);
    while (fetch(stranger, &out) != CURLE_OK) /* the limit of the test ends it otherwise */
        test_rest(10);
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

/* Returns whether a client that speaks no version but the one at `index` is served. */
static bool speaks(size_t index)
{
    static const long versions[] = {
        CURL_SSLVERSION_TLSv1_0 | CURL_SSLVERSION_MAX_TLSv1_0,
        CURL_SSLVERSION_TLSv1_1 | CURL_SSLVERSION_MAX_TLSv1_1,
        CURL_SSLVERSION_TLSv1_2 | CURL_SSLVERSION_MAX_TLSv1_2,
        CURL_SSLVERSION_TLSv1_3 | CURL_SSLVERSION_MAX_TLSv1_3,
    };
    static struct heard_bytes out;
    CURL *curl = secure_client(first_certificate);
    curl_easy_setopt(curl, CURLOPT_SSLVERSION, versions[index]);
    const CURLcode answer = fetch(curl, &out);
    curl_easy_cleanup(curl);
    return answer == CURLE_OK;
}

START_TEST(https_is_of_1_2_and_newer)
{
    ck_assert(!speaks(0));
    ck_assert(!speaks(1));
    ck_assert(speaks(2));
    ck_assert(speaks(3));
}
END_TEST

int main(void)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    Suite *suite = suite_create("credentials");
    TCase *tokens_case = tcase_create("tokens");
    tcase_add_checked_fixture(tokens_case, setup_tokens, stop_and_remove);
    tcase_set_timeout(tokens_case, test_timeout(60));
    tcase_add_test(tokens_case,
                   a_hangup_reads_the_tokens_again_and_keeps_the_old_when_they_are_broken);
    tcase_add_test(tokens_case, a_hangup_does_not_wait_for_what_is_no_file);
    tcase_add_test(tokens_case, a_hangup_ends_the_streams_whose_tokens_allow_them_no_more);
    tcase_add_test(tokens_case, a_stream_ends_when_its_token_expires);
    tcase_add_test(tokens_case, a_token_that_changes_while_a_body_arrives_counts_as_it_is_then);
    tcase_add_test(tokens_case, a_query_whose_body_came_after_a_hangup_is_recorded_by_the_new_name);
    suite_add_tcase(suite, tokens_case);
    TCase *secure = tcase_create("secure");
    tcase_add_checked_fixture(secure, setup_secure, stop_and_remove);
    tcase_set_timeout(secure, test_timeout(60));
    tcase_add_test(secure, https_serves_and_takes_new_certificates_on_a_hangup);
    tcase_add_test(secure, https_is_of_1_2_and_newer);
    suite_add_tcase(suite, secure);
    return test_main(suite);
}
