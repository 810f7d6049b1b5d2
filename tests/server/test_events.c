/* Event streams of the whole service, in this process, over real sockets. */
#include "tests/server/service.h"

#include <poll.h>
#include <time.h>

static void setup(void) { service_start(NULL); }

/* ---- A follower ------------------------------------------------------------------------------------------------------ */

struct follower {
    int s;
    char bytes[1 << 16]; /* of the stream, without chunk heads, not yet taken as messages */
    size_t length;
    char raw[1 << 16]; /* not yet taken out of its chunks */
    size_t raw_length;
    bool head_seen, ended;
};

static void follow(struct follower *f, const char *path, const char *last)
{
    char request[512];
    *f = (struct follower){.s = dial()};
    const int length =
        snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s%s\r\n", path,
                 last != NULL ? "Last-Event-ID: " : "", last != NULL ? last : "",
                 last != NULL ? "\r\n" : "");
    ck_assert_int_eq(send(f->s, request, (size_t)length, MSG_NOSIGNAL), length);
}

static void unchunk(struct follower *f)
{
    if (!f->head_seen) {
        char *end = find_bytes(f->raw, f->raw_length, "\r\n\r\n", 4);
        if (end == NULL)
            return;
        ck_assert_msg(memcmp(f->raw, "HTTP/1.1 200", 12) == 0, "%.*s", (int)f->raw_length, f->raw);
        ck_assert_ptr_nonnull(find_bytes(f->raw, f->raw_length, "text/event-stream", 17));
        f->head_seen = true;
        f->raw_length -= (size_t)(end + 4 - f->raw);
        memmove(f->raw, end + 4, f->raw_length);
    }
    for (;;) {
        char *line = find_bytes(f->raw, f->raw_length, "\r\n", 2);
        if (line == NULL)
            return;
        const size_t size = strtoul(f->raw, NULL, 16), head = (size_t)(line + 2 - f->raw);
        if (f->raw_length < head + size + 2)
            return;
        ck_assert_uint_le(f->length + size, sizeof f->bytes);
        memcpy(f->bytes + f->length, f->raw + head, size);
        f->length += size;
        f->raw_length -= head + size + 2;
        memmove(f->raw, f->raw + head + size + 2, f->raw_length);
        if (size == 0) {
            f->ended = true;
            return;
        }
    }
}

struct message {
    char event[16], data[8192];
    long id; /* -1: none */
};

/* The next message, comments left out; false: the stream ended, or nothing came for `ms`. */
static bool next_message(struct follower *f, int ms, struct message *out)
{
    for (;;) {
        char *end;
        while ((end = find_bytes(f->bytes, f->length, "\n\n", 2)) != NULL) {
            *out = (struct message){.id = -1};
            *end = '\0';
            char *rest = NULL;
            for (char *line = strtok_r(f->bytes, "\n", &rest); line != NULL;
                 line = strtok_r(NULL, "\n", &rest)) {
                if (strncmp(line, "id: ", 4) == 0)
                    out->id = strtol(line + 4, NULL, 10);
                else if (strncmp(line, "event: ", 7) == 0)
                    (void)snprintf(out->event, sizeof out->event, "%s", line + 7);
                else if (strncmp(line, "data: ", 6) == 0)
                    (void)snprintf(out->data, sizeof out->data, "%s", line + 6);
                else
                    ck_assert_msg(line[0] == ':', "%s", line);
            }
            f->length -= (size_t)(end + 2 - f->bytes);
            memmove(f->bytes, end + 2, f->length);
            if (out->event[0] != '\0')
                return true;
        }
        if (f->ended)
            return false;
        struct pollfd ready = {.fd = f->s, .events = POLLIN};
        if (poll(&ready, 1, ms) <= 0)
            return false;
        const ssize_t n = recv(f->s, f->raw + f->raw_length, sizeof f->raw - f->raw_length, 0);
        if (n <= 0) {
            f->ended = true;
            return false;
        }
        f->raw_length += (size_t)n;
        unchunk(f);
    }
}

static void expect(struct follower *f, const char *event, long id, const char *data)
{
    static struct message message;
    ck_assert_msg(next_message(f, 3000, &message), "no %s came: %.*s", event, (int)f->raw_length,
                  f->raw);
    ck_assert_str_eq(message.event, event);
    ck_assert_msg(strstr(message.data, data) != NULL, "%s instead of %s", message.data, data);
    ck_assert_msg(message.id == id, "%s: id %ld, not %ld", event, message.id, id);
}

static void expect_nothing(struct follower *f)
{
    static struct message message;
    ck_assert_msg(!next_message(f, 50, &message), "%s", message.event);
    ck_assert(!f->ended);
}

#define BOX(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"

static struct follower one, two;

START_TEST(collisions_begin_and_end_and_go_with_their_boxes)
{
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit",
                         "{\"time\":1,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) "}}"),
                     200);
    follow(&one, "/v1/scenes/s/events?topics=collisions", NULL);
    expect(&one, "state", 1, "{\"revision\":1,\"time\":1,\"pairs\":[[\"a\",\"b\"]]}");
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":2,\"put\":{\"c\":" BOX(9) "},\"pose\":{\"a\":{\"center\":[9,0,0]}}}"),
        200);
    expect(&one, "end", -1, "{\"revision\":2,\"time\":2,\"pairs\":[[\"a\",\"b\"]]}");
    expect(&one, "begin", 2, "{\"revision\":2,\"time\":2,\"pairs\":[[\"a\",\"c\"]]}");
    /* what moves without touching anything says nothing */
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit", "{\"time\":3,\"pose\":{\"b\":{\"center\":[50,0,0]}}}"),
        200);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/c", "%s", ""), 204);
    expect(&one, "end", 4, "\"pairs\":[[\"a\",\"c\"]],\"reason\":\"removed\"}");
    /* groups and masks decide as in all-pairs */
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/d",
                         "{\"center\":[9,0,0],\"half_extents\":[1,1,1],\"mask\":0}"),
                     201);
    expect_nothing(&one);
    ck_assert_int_eq(ask("PATCH", "/v1/scenes/s/boxes/d", "{\"mask\":1}"), 200);
    expect(&one, "begin", 6, "[[\"a\",\"d\"]]");
    close(one.s);
}
END_TEST

START_TEST(topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    follow(&two, "/v1/scenes/s/events?topics=boxes,commits", NULL);
    expect(&one, "state", 0, "\"pairs\":[]");
    expect_nothing(&two);
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":5,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(1) ",\"c\":" BOX(50) "}}"),
        200);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    for (struct follower *f = &one; f != NULL; f = f == &one ? &two : NULL) {
        expect(f, "boxes", -1, "\"put\":[\"a\",\"b\",\"c\"],\"posed\":[],\"removed\":[]}");
        expect(f, "commit", 1,
               "{\"revision\":1,\"time\":5,\"put\":3,\"posed\":0,\"transformed\":0,\"removed\":0}");
    }
    ck_assert_int_eq(
        ask("POST", "/v1/scenes/s/commit",
            "{\"time\":6,\"remove\":[\"b\"],\"put\":{\"d\":" BOX(70) ",\"c\":" BOX(
                60) "},\"pose\":{\"c\":{\"center\":[61,0,0]},\"a\":{\"center\":[2,0,0]}},"
                    "\"transform\":{\"d\":{\"translate\":[1,0,0]}}}"),
        200);
    expect(&one, "end", -1, "\"reason\":\"removed\"");
    expect(&two, "boxes", -1, "\"put\":[\"d\",\"c\"],\"posed\":[\"a\"],\"removed\":[\"b\"]}");
    expect(&two, "commit", 2, "\"put\":2,\"posed\":2,\"transformed\":1,\"removed\":1}");
    /* settings are a commit without boxes; a commit that changes nothing is none */
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":9}}"), 200);
    expect(&two, "commit", 3, "\"put\":0,");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "{\"time\":7}"), 200);
    expect_nothing(&two);
    close(one.s);
    close(two.s);
}
END_TEST

START_TEST(who_comes_back_goes_on_where_it_stopped)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events?topics=collisions,commits", NULL);
    expect(&one, "state", 1, "[]");
    close(one.s);
    for (int i = 0; i < 5; i++) /* while nobody listens */
        ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b",
                             "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}", i % 2 == 0 ? 1 : 9),
                         i == 0 ? 201 : 200);
    follow(&one, "/v1/scenes/s/events?topics=collisions,commits", "3");
    expect(&one, "begin", -1, "\"revision\":4,");
    expect(&one, "commit", 4, "");
    expect(&one, "end", -1, "\"revision\":5,");
    expect(&one, "commit", 5, "");
    expect(&one, "begin", -1, "\"revision\":6,");
    expect(&one, "commit", 6, "");
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s/boxes/b", "%s", ""), 204);
    expect(&one, "end", -1, "\"revision\":7,");
    expect(&one, "commit", 7, "");
    close(one.s);
    /* not so: other topics than were kept, a revision that never was, no number */
    static const char *const others[][2] = {{"/v1/scenes/s/events?topics=collisions,boxes", "3"},
                                            {"/v1/scenes/s/events?topics=collisions,commits", "99"},
                                            {"/v1/scenes/s/events?topics=collisions,commits", "x"}};
    for (size_t i = 0; i < 3; i++) {
        follow(&two, others[i][0], others[i][1]);
        expect(&two, "state", 7, "[]");
        close(two.s);
    }
}
END_TEST

START_TEST(a_deleted_scene_says_so_and_one_made_again_is_another)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    follow(&one, "/v1/scenes/s/events", NULL);
    expect(&one, "state", 1, "[]");
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b", BOX(1)), 201);
    ck_assert_int_eq(ask("DELETE", "/v1/scenes/s", "%s", ""), 204);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/c", BOX(0)), 201);
    expect(&one, "begin", -1, "[[\"a\",\"b\"]]");
    expect(&one, "boxes", -1, "\"b\"");
    expect(&one, "commit", 2, "");
    expect(&one, "gone", -1, "\"revision\":2");
    struct message message;
    ck_assert(!next_message(&one, 3000, &message));
    ck_assert(one.ended);
    close(one.s);
    follow(&two, "/v1/scenes/s/events?topics=collisions", "2");
    expect(&two, "state", 2, "[[\"a\",\"c\"]]");
    close(two.s);
}
END_TEST

START_TEST(wrong_requests_are_refused)
{
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    ck_assert_int_eq(ask("GET", "/v1/scenes/none/events", "%s", ""), 404);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topics=weather", "%s", ""), 400);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topics=", "%s", ""), 400);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/events?topic=boxes", "%s", ""), 400);
    ck_assert_int_eq(ask("HEAD", "/v1/scenes/s/events", "%s", ""), 200);
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/events", "{}"), 405);
}
END_TEST

/* ---- The set that a follower can put together --------------------------------------------------------------------------- */

enum { BOXES = 40 };

static int index_of(const char **text)
{
    ck_assert_int_eq(strncmp(*text, "\"b", 2), 0);
    const int i = (int)strtol(*text + 2, NULL, 10);
    ck_assert(i >= 0 && i < BOXES);
    *text = strchr(*text + 1, '"') + 1;
    return i;
}

/* Applies the pairs of a message: each must be news. */
static void apply(bool pairs[BOXES][BOXES], const char *data, bool on)
{
    const char *at = strstr(data, "\"pairs\":[") + 9;
    while (*at == '[' || *at == ',') {
        at += *at == ',';
        at++;
        const int a = index_of(&at);
        at++;
        const int b = index_of(&at);
        at++;
        ck_assert_msg(pairs[a][b] != on, "%s", data);
        pairs[a][b] = pairs[b][a] = on;
    }
}

START_TEST(a_follower_knows_all_pairs_at_every_revision)
{
    static bool pairs[BOXES][BOXES], asked[BOXES][BOXES];
    test_rng rng = {.s = 20261205};
    const size_t commits = test_effort(150);
    size_t events = 0, compared = 0;
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s", "{}"), 201);
    follow(&one, "/v1/scenes/s/events?topics=collisions,commits", NULL);
    expect(&one, "state", 0, "[]");
    for (size_t i = 0; i < commits; i++) {
        static char body[1 << 14];
        size_t length = (size_t)snprintf(body, sizeof body, "{\"remove\":[\"b%zu\"],\"put\":{",
                                         test_below(&rng, BOXES));
        for (int b = 0, some = 0; b < BOXES; b++)
            if (test_below(&rng, 5) == 0)
                length += (size_t)snprintf(
                    body + length, sizeof body - length,
                    "%s\"b%d\":{\"center\":[%g,%g,0],\"half_extents\":[1,1,1]}", some++ ? "," : "",
                    b, test_uniform(&rng, 0, 8), test_uniform(&rng, 0, 8));
        (void)snprintf(body + length, sizeof body - length, "}}");
        ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "%s", body), 200);
        static struct message message;
        do {
            ck_assert(next_message(&one, 3000, &message));
            if (strcmp(message.event, "begin") == 0)
                apply(pairs, message.data, true);
            else if (strcmp(message.event, "end") == 0)
                apply(pairs, message.data, false);
            events++;
        } while (strcmp(message.event, "commit") != 0);
        ck_assert_int_eq(ask("POST", "/v1/scenes/s/query/all-pairs", "%s", ""), 200);
        memset(asked, 0, sizeof asked);
        apply(asked, strstr(heard, "\r\n\r\n"), true);
        ck_assert_mem_eq(pairs, asked, sizeof pairs);
        compared++;
    }
    printf("%zu messages, %zu sets compared\n", events, compared);
    ck_assert_uint_gt(events, commits * 2);
    close(one.s);
}
END_TEST

/* ---- Many, and slow ones ---------------------------------------------------------------------------------------------------- */

START_TEST(a_thousand_followers_hear_of_a_commit)
{
    enum { MANY = 1000 };
    static int sockets[MANY];
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/a", BOX(0)), 201);
    static const char request[] = "GET /v1/scenes/s/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (int i = 0; i < MANY; i++) {
        sockets[i] = dial();
        ck_assert_int_eq(send(sockets[i], request, sizeof request - 1, MSG_NOSIGNAL),
                         sizeof request - 1);
    }
    static char bytes[4096];
    for (int i = 0; i < MANY; i++) { /* all have their state */
        ck_assert_int_gt(recv(sockets[i], bytes, sizeof bytes, 0), 0);
        while (find_bytes(bytes, sizeof bytes, "event: state", 12) == NULL)
            ck_assert_int_gt(recv(sockets[i], bytes, sizeof bytes, 0), 0);
    }
    for (int i = 0; i < MANY; i += 2) /* half of them leave as it happens */
        close(sockets[i]);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    ck_assert_int_eq(ask("PUT", "/v1/scenes/s/boxes/b", BOX(1)), 201);
    for (int i = 1; i < MANY; i += 2) {
        size_t length = 0;
        while (find_bytes(bytes, length, "id: 2\n", 6) == NULL) {
            const ssize_t n = recv(sockets[i], bytes + length, sizeof bytes - length, 0);
            ck_assert_int_gt(n, 0);
            length += (size_t)n;
        }
        ck_assert_ptr_nonnull(find_bytes(bytes, length, "event: begin", 12));
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("500 of 1000 followers told after %.1f ms\n",
           (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) * 1e-6);
    for (int i = 1; i < MANY; i += 2)
        close(sockets[i]);
}
END_TEST

static void put_many(int height)
{
    static char body[1 << 18];
    size_t length = (size_t)snprintf(body, sizeof body, "{\"put\":{");
    for (int i = 0; i < 2000; i++)
        length += (size_t)snprintf(body + length, sizeof body - length,
                                   "%s\"box-%d\":{\"center\":[%d,%d,0],\"half_extents\":[0,0,0]}",
                                   i > 0 ? "," : "", i, i, height);
    (void)snprintf(body + length, sizeof body - length, "}}");
    ck_assert_int_eq(ask("POST", "/v1/scenes/s/commit", "%s", body), 200);
}

START_TEST(who_does_not_read_is_told_and_dropped)
{
    put_many(0);
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    const int small = 4096;
    setsockopt(s, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    const struct sockaddr_in at = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)service_port),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ck_assert_int_eq(connect(s, (const struct sockaddr *)&at, sizeof at), 0);
    static const char request[] =
        "GET /v1/scenes/s/events?topics=boxes HTTP/1.1\r\nHost: localhost\r\n\r\n";
    ck_assert_int_eq(send(s, request, sizeof request - 1, MSG_NOSIGNAL), sizeof request - 1);
    bool dropped = false;
    for (int i = 0; i < 400 && !dropped; i++) { /* each says 20 KB to who follows */
        put_many(i + 1);
        ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
        dropped = strstr(heard, "\nobbd_event_overruns_total 1\n") != NULL;
    }
    ck_assert(dropped);
    /* what it reads now ends with that */
    static char tail[64], bytes[65536];
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;) {
        const size_t size = (size_t)n < sizeof tail ? (size_t)n : sizeof tail;
        memmove(tail, tail + size, sizeof tail - size);
        memcpy(tail + sizeof tail - size, bytes + (size_t)n - size, size);
        if (find_bytes(tail, sizeof tail, "\r\n0\r\n\r\n", 7) != NULL)
            break;
    }
    ck_assert_msg(find_bytes(tail, sizeof tail, "\"revision\":", 11) != NULL, "%.64s", tail);
    close(s);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("events");
    TCase *tc = tcase_create("events");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, collisions_begin_and_end_and_go_with_their_boxes);
    tcase_add_test(tc, topics_are_told_apart_and_the_last_message_of_a_commit_has_the_id);
    tcase_add_test(tc, who_comes_back_goes_on_where_it_stopped);
    tcase_add_test(tc, a_deleted_scene_says_so_and_one_made_again_is_another);
    tcase_add_test(tc, wrong_requests_are_refused);
    tcase_add_test(tc, a_follower_knows_all_pairs_at_every_revision);
    tcase_add_test(tc, a_thousand_followers_hear_of_a_commit);
    tcase_add_test(tc, who_does_not_read_is_told_and_dropped);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
