/* The log of a scene: what it says of each kind of change, that it makes the same states in another
 * scene, and that it goes on. */
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static struct test_daemon daemon;
static struct http_client *client;
static struct http_answer answer;

static void start_with(const char *const *arguments)
{
    daemon_start(&daemon, arguments);
    client = http_open(daemon.url);
}

static void start(void) { start_with(NULL); }

static void stop(void)
{
    http_answer_fini(&answer);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

static const char *ask(const char *method, const char *path, const char *body, long status)
{
    http_send(client, method, path, NULL, body, &answer);
    ck_assert_msg(answer.status == status, "%s %s %s: %ld %s", method, path,
                  body != NULL ? body : "", answer.status, answer.body);
    return answer.body;
}

static void commit(const char *scene, const char *body)
{
    (void)ask("POST", test_text("/v1/scenes/%s/commit", scene), body, 200);
}

/* Returns a line as JSON, with its text as `raw`. */
static json_t *line_of(const char *at, const char *end)
{
    json_t *line = json_loadb(at, (size_t)(end - at), JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(line != NULL, "%.*s", (int)(end - at), at);
    json_object_set_new(line, "raw", json_stringn(at, (size_t)(end - at)));
    return line;
}

static const char *raw_of(const json_t *line)
{
    return json_string_value(json_object_get(line, "raw"));
}

/* Returns the lines of a log. */
static json_t *log_of(const char *path)
{
    const char *at = ask("GET", path, NULL, 200);
    json_t *lines = json_array();
    for (const char *end; (end = strchr(at, '\n')) != NULL; at = end + 1)
        json_array_append_new(lines, line_of(at, end));
    ck_assert_int_eq(*at, '\0'); /* no half line */
    return lines;
}

static const char *hash_of(const json_t *line)
{
    const char *hash = json_string_value(json_object_get(line, "hash"));
    ck_assert_msg(hash != NULL && strspn(hash, "0123456789abcdef") == 16 && hash[16] == '\0', "%s",
                  hash);
    return hash;
}

static long revision_of(const json_t *line)
{
    return (long)json_integer_value(json_object_get(line, "revision"));
}

/* Returns how many lines of frames and boxes follow the header. */
static size_t state_lines(const json_t *log)
{
    const json_t *head = json_array_get(log, 0);
    return (size_t)(json_integer_value(json_object_get(head, "boxes")) +
                    json_integer_value(json_object_get(head, "frames")));
}

static size_t boxes_in(const json_t *log)
{
    return (size_t)json_integer_value(json_object_get(json_array_get(log, 0), "boxes"));
}

/* Posts the commit of a line: the line without `revision` and `hash`, which come last. */
static void post(const char *scene, const json_t *line)
{
    char *body = strdup(raw_of(line)), *end = NULL;
    for (char *at = body; (at = strstr(at, ",\"revision\":")) != NULL; at++)
        end = at;
    ck_assert_ptr_nonnull(end);
    (void)memcpy(end, "}", 2);
    commit(scene, body);
    free(body);
}

/* Writes the lines of a log into a file of its own, whose name the caller frees after unlink. */
static char *file_of(const json_t *log)
{
    char *path = strdup(test_text("%s/obbd-log-XXXXXX", test_folder()));
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    FILE *file = fdopen(descriptor, "w");
    for (size_t i = 0; i < json_array_size(log); i++)
        (void)fprintf(file, "%s\n", raw_of(json_array_get(log, i)));
    ck_assert_int_eq(fclose(file), 0);
    return path;
}

static void forget_file(char *path)
{
    (void)unlink(path);
    free(path);
}

/* The program itself says that the log is equal. */
static void verify(const json_t *log)
{
    char *path = file_of(log), out[512], err[512];
    const int status =
        daemon_run((const char *const[]){"--verify", path, NULL}, out, sizeof out, err, sizeof err);
    ck_assert_msg(status == 0 && strcmp(err, "") == 0, "%s%s", out, err);
    const size_t commits = json_array_size(log) - 1 - state_lines(log);
    const long last = revision_of(json_array_get(log, commits > 0 ? json_array_size(log) - 1 : 0));
    ck_assert_str_eq(
        out, test_text("obbd: %s: equal; %zu commits up to revision %ld of the scene \"s\"\n", path,
                       commits, last));
    forget_file(path);
}

/* Makes the scene of a log again, by what the API takes: the first state is imported, each commit
 * posted. Compares the log of the result, state by state. */
static void replay(const json_t *log, const char *name)
{
    char scene[64];
    (void)snprintf(scene, sizeof scene, "%s", name);
    verify(log);
    static const char *const ndjson[] = {"Content-Type: application/x-ndjson", NULL};
    const size_t state = state_lines(log);
    char *lines = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&lines, &size);
    for (size_t i = 0; i <= state; i++)
        (void)fprintf(text, "%s\n", raw_of(json_array_get(log, i)));
    (void)fclose(text);
    http_send(client, "POST", test_text("/v1/scenes/%s/import", scene), ndjson, lines, &answer);
    ck_assert_msg(answer.status == 200 || answer.status == 201, "%s", answer.body);
    free(lines);
    json_t *imported = json_loads(answer.body, 0, NULL);
    const long first = (long)json_integer_value(json_object_get(imported, "revision"));
    json_decref(imported);
    for (size_t i = state + 1; i < json_array_size(log); i++) {
        const json_t *line = json_array_get(log, i), *settings = json_object_get(line, "settings");
        if (settings != NULL) {
            char *body = json_dumps(settings, JSON_COMPACT);
            (void)ask("PUT", test_text("/v1/scenes/%s", scene), body, 200);
            free(body);
        } else {
            post(scene, line);
        }
    }
    json_t *copy = log_of(test_text("/v1/scenes/%s/log?from=%ld", scene, first));
    ck_assert_uint_eq(state_lines(copy), state);
    for (size_t i = 0; i < json_array_size(log); i++) {
        const json_t *a = json_array_get(log, i), *b = json_array_get(copy, i);
        if (i >= 1 && i <= state)
            continue;
        ck_assert_msg(b != NULL && strcmp(hash_of(a), hash_of(b)) == 0, "line %zu: %s is not %s", i,
                      json_dumps(b, JSON_COMPACT), json_dumps(a, JSON_COMPACT));
        ck_assert_int_eq(revision_of(a) - revision_of(json_array_get(log, 0)),
                         revision_of(b) - first);
    }
    ck_assert_uint_eq(json_array_size(copy), json_array_size(log));
    json_decref(copy);
}

/* ---- What a line says ------------------------------------------------------------------------ */

#define BOX(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"
#define FULL(x)                                                                                \
    "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1],\"category\":1," \
    "\"mask\":4294967295,\"group\":0}"

START_TEST(each_kind_of_change_is_the_commit_with_the_same_effect)
{
    static const struct {
        const char *method, *path, *body;
        long status;
        const char *line; /* what its line must be, beside hash; NULL: it has none */
    } rows[] = {
        {"POST", "/v1/scenes/s/commit", "{\"time\":5,\"put\":{\"b\":" BOX(1) ",\"a\":" BOX(2) "}}",
         200, "{\"time\":5,\"put\":{\"b\":" FULL(1) ",\"a\":" FULL(2) "},\"revision\":1}"},
        {"POST", "/v1/scenes/s/commit",
         "{\"time\":6,\"if_revision\":1,\"pose\":{\"a\":{\"center\":[-0.0,0,1e-300]}},\"queries\":["
         "{\"kind\":\"all-pairs\"}]}",
         200, "{\"time\":6,\"pose\":{\"a\":{\"center\":[-0.0,0,1e-300]}},\"revision\":2}"},
        {"POST", "/v1/scenes/s/commit",
         "{\"time\":7,\"pose\":{\"a\":{\"center\":[4,0,0],\"teleport\":true},\"b\":{\"center\":[1,"
         "0,0]}}}",
         200,
         "{\"time\":7,\"pose\":{\"a\":{\"center\":[4,0,0],\"teleport\":true}},\"revision\":3}"},
        {"POST", "/v1/scenes/s/commit",
         "{\"time\":8,\"pose\":{\"names\":[\"b\"],\"centers\":[9,0,0],\"rotations\":[0,0,2,0]}}",
         200,
         "{\"time\":8,\"pose\":{\"b\":{\"center\":[9,0,0],\"rotation\":[0,0,1,0]}},\"revision\":"
         "4}"},
        {"POST", "/v1/scenes/s/commit",
         "{\"time\":9,\"put\":{\"a\":" BOX(6) "},\"pose\":{\"a\":{\"center\":[7,0,0],\"teleport\":"
                                              "true}},\"transform\":{\"a\":{\"scale\":[2,1,1]}}}",
         200,
         "{\"time\":9,\"put\":{\"a\":{\"center\":[14,0,0],\"half_extents\":[2,1,1],\"rotation\":[0,"
         "0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0}},"
         "\"pose\":{\"a\":{\"center\":[14,0,0],\"teleport\":true}},\"revision\":5}"},
        {"POST", "/v1/scenes/s/commit",
         "{\"time\":10,\"remove\":[\"a\",\"nobody\"],\"put\":{\"a\":" BOX(1) "}}", 200,
         "{\"time\":10,\"remove\":[\"a\"],\"put\":{\"a\":" FULL(1) "},\"revision\":6}"},
        {"POST", "/v1/scenes/s/commit", "{\"time\":10}", 200, NULL},
        {"POST", "/v1/scenes/s/commit", "{\"time\":9}", 409, NULL},
        {"POST", "/v1/scenes/s/commit", "{\"time\":11}", 200, NULL}, /* joined with the next one: */
        {"POST", "/v1/scenes/s/commit", "{\"time\":11.5}", 200, "{\"time\":11.5,\"revision\":6}"},
        {"PUT", "/v1/scenes/s/boxes/c", "{\"min\":[0,0,0],\"max\":[2,4,6],\"data\":{\"k\":1.50}}",
         201,
         "{\"time\":11.5,\"put\":{\"c\":{\"center\":[1,2,3],\"half_extents\":[1,2,3],\"rotation\":["
         "0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,"
         "\"data\":{\"k\":1.5}}},\"revision\":7}"},
        {"PATCH", "/v1/scenes/s/boxes/c", "{\"entity\":\"e\"}", 200,
         "{\"time\":11.5,\"put\":{\"c\":{\"center\":[1,2,3],\"half_extents\":[1,2,3],\"rotation\":["
         "0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,"
         "\"entity\":\"e\",\"data\":{\"k\":1.5}}},\"revision\":8}"},
        {"PATCH", "/v1/scenes/s/boxes/c", "{\"center\":[1,2,4]}", 200,
         "{\"time\":11.5,\"pose\":{\"c\":{\"center\":[1,2,4]}},\"revision\":9}"},
        {"POST", "/v1/scenes/s/boxes/c/transform", "{\"translate\":[1,0,0]}", 200,
         "{\"time\":11.5,\"pose\":{\"c\":{\"center\":[2,2,4]}},\"revision\":10}"},
        {"POST", "/v1/scenes/s/boxes/c/transform", "{\"translate\":[0,0,0]}", 200, NULL},
        {"DELETE", "/v1/scenes/s/boxes/c", NULL, 204,
         "{\"time\":11.5,\"remove\":[\"c\"],\"revision\":11}"},
        {"PUT", "/v1/scenes/s/boxes/d", BOX(3), 201,
         "{\"time\":11.5,\"put\":{\"d\":" FULL(3) "},\"revision\":12}"},
        {"POST", "/v1/scenes/s/boxes/a/merge", "{\"with\":[\"d\"]}", 200,
         "{\"time\":11.5,\"put\":{\"a\":{\"center\":[2,0,0],\"half_extents\":[2,1,1],\"rotation\":["
         "0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0}},"
         "\"revision\":13}"},
        {"PUT", "/v1/scenes/s", "{\"history\":{\"span\":700}}", 200,
         "{\"time\":11.5,\"settings\":{\"dimensions\":3,\"history\":{\"span\":700,\"commits\":64},"
         "\"record\":0},"
         "\"revision\":14}"},
        {"PUT", "/v1/scenes/s", "{\"history\":{\"span\":700}}", 200, NULL},
    };
    json_t *expected = json_array();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        (void)ask(rows[i].method, rows[i].path, rows[i].body, rows[i].status);
        if (rows[i].line != NULL)
            json_array_append_new(expected, json_loads(rows[i].line, 0, NULL));
    }
    json_t *log = log_of("/v1/scenes/s/log");
    const json_t *head = json_array_get(log, 0);
    ck_assert_int_eq(revision_of(head), 0);
    ck_assert_uint_eq(boxes_in(log), 0);
    ck_assert_uint_eq(json_array_size(log), 1 + json_array_size(expected));
    for (size_t i = 1; i < json_array_size(log); i++) {
        json_t *line = json_deep_copy(json_array_get(log, i));
        (void)hash_of(line);
        json_object_del(line, "hash");
        json_object_del(line, "raw");
        json_t *want = json_array_get(expected, i - 1);
        /* whole numbers are equal as numbers */
        char *a = json_dumps(line, JSON_COMPACT | JSON_SORT_KEYS),
             *b = json_dumps(want, JSON_COMPACT | JSON_SORT_KEYS);
        ck_assert_str_eq(a, b);
        free(a);
        free(b);
        json_decref(line);
    }
    /* the order of puts is that of the ids, and of removed boxes comes before */
    const char *text = ask("GET", "/v1/scenes/s/log", NULL, 200);
    ck_assert(strstr(text, "{\"b\":{") != NULL &&
              strstr(text, "{\"b\":{") < strstr(text, "\"a\":{"));
    (void)ask("POST", "/v1/scenes/copy/commit", "{\"put\":{\"x\":" BOX(1) "}}",
              200); /* ids and revisions are others */
    (void)ask("DELETE", "/v1/scenes/copy/boxes/x", NULL, 204);
    replay(log, "twin");
    json_decref(expected);
    json_decref(log);
}
END_TEST

/* Where a scene says that the box a was between its states. */
static double place_at(const char *scene, double time)
{
    const char *body =
        ask("GET", test_text("/v1/scenes/%s/boxes/a?at_time=%g", scene, time), NULL, 200);
    json_t *box = json_loads(body, 0, NULL);
    const double x = json_number_value(json_array_get(json_object_get(box, "center"), 0));
    json_decref(box);
    return x;
}

/* A pose that leaves a box where it stands in its moved frame may still teleport it. */
START_TEST(a_box_in_a_moved_frame_is_teleported_by_its_own_pose)
{
#define AT(x)   "{\"center\":[" #x ",0,0]}"
#define JUMP(x) "{\"center\":[" #x ",0,0],\"teleport\":true}"
#define IN_F    "{\"frame\":\"f\",\"center\":[1,0,0],\"half_extents\":[1,1,1]}"
    static const struct {
        const char *body, *pose; /* in the line; NULL: none */
    } rows[] = {
        {"{\"time\":0,\"frames\":{\"f\":" AT(0) "},\"put\":{\"a\":" IN_F ",\"b\":" IN_F "}}", NULL},
        {"{\"time\":10,\"frames\":{\"f\":" AT(100) "},\"pose\":{\"a\":" JUMP(1) "}}",
         "{\"a\":{\"center\":[1,0,0],\"rotation\":[0,0,0,1],\"teleport\":true}}"},
        {"{\"time\":20,\"frames\":{\"f\":" AT(0) "},\"pose\":{\"a\":" AT(1) "}}", NULL},
        {"{\"time\":30,\"frames\":{\"f\":" JUMP(100) "}}", NULL},
        {"{\"time\":40,\"frames\":{\"f\":" JUMP(200) "},\"pose\":{\"a\":" JUMP(1) "}}", NULL},
        {"{\"time\":50,\"frames\":{\"f\":" AT(300) "}}", NULL},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    for (size_t i = 0; i < ROWS; i++)
        commit("s", rows[i].body);
    json_t *log = log_of("/v1/scenes/s/log");
    ck_assert_uint_eq(json_array_size(log), 1 + ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        const json_t *pose = json_object_get(json_array_get(log, i + 1), "pose");
        json_t *want = rows[i].pose != NULL ? json_loads(rows[i].pose, 0, NULL) : NULL;
        char *is = pose != NULL ? json_dumps(pose, JSON_COMPACT | JSON_SORT_KEYS) : strdup("-");
        char *must = want != NULL ? json_dumps(want, JSON_COMPACT | JSON_SORT_KEYS) : strdup("-");
        ck_assert_msg(strcmp(is, must) == 0, "line %zu: %s is not %s", i + 1, is, must);
        free(is);
        free(must);
        json_decref(want);
    }
    replay(log, "twin");
    static const struct {
        double time, x;
    } places[] = {{5, 1}, {15, 51}, {25, 1}, {35, 101}, {45, 251}};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        ck_assert_double_eq(place_at("s", places[i].time), places[i].x);
        ck_assert_double_eq(place_at("twin", places[i].time), places[i].x);
    }
    json_decref(log);
}
END_TEST

START_TEST(a_log_may_begin_with_any_kept_state)
{
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":1000,\"commits\":4}}", 201);
    for (int i = 0; i < 9; i++)
        commit("s", test_text("{\"time\":%d,\"remove\":[\"b%d\"],\"put\":{\"b%d\":{\"center\":[%d,"
                              "0.1,0],\"half_extents\":[1,1,1]}}}",
                              i, i - 3, i, i));
    expect(client, "GET", "/v1/scenes/s/log?from=4", NULL, 410,
           "{\"status\":410,\"detail\":\"found revision 4; kept are the revisions 5 to 9, of the "
           "times 4 to 8\","
           "\"oldest\":{\"revision\":5,\"time\":4},\"newest\":{\"revision\":9,\"time\":8}}");
    expect(client, "GET", "/v1/scenes/s/log?from=10", NULL, 410,
           "{\"newest\":{\"revision\":9,\"time\":8}}");
    json_t *oldest = log_of("/v1/scenes/s/log");
    ck_assert_int_eq(revision_of(json_array_get(oldest, 0)), 5);
    for (long from = 5; from <= 9; from++) {
        json_t *log = log_of(test_text("/v1/scenes/s/log?from=%ld", from));
        ck_assert_int_eq(revision_of(json_array_get(log, 0)), from);
        ck_assert_uint_eq(boxes_in(log), 3);
        ck_assert_uint_eq(json_array_size(log), 1 + 3 + (size_t)(9 - from));
        /* a hash depends on the state, not on where the log began */
        ck_assert_str_eq(hash_of(json_array_get(log, 0)),
                         hash_of(json_array_get(oldest, from == 5 ? 0 : (size_t)(3 + from - 5))));
        replay(log, test_text("from-%ld", from));
        json_decref(log);
    }
    json_decref(oldest);
}
END_TEST

START_TEST(parameters_are_checked)
{
    static const char *const wrong[][2] = {
        {"from=-1", "found \"-1\"; a revision is a whole number from 0 to 2^53"},
        {"from=", "found \"\"; a revision is a whole number from 0 to 2^53"},
        {"from=1.5", "found \"1.5\"; a revision is a whole number from 0 to 2^53"},
        {"follow=yes", "found \"yes\"; follow is true or false"},
        {"from=1&from=1", "found \"from\"; a parameter is sent once"},
        {"form=1", "found the parameter \"form\"; the nearest known one is \"from\""},
    };
    commit("s", "{\"put\":{\"a\":" BOX(1) "}}");
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        json_t *problem = json_loads(
            ask("GET", test_text("/v1/scenes/s/log?%s", wrong[i][0]), NULL, 400), 0, NULL);
        ck_assert_str_eq(json_string_value(json_object_get(problem, "detail")), wrong[i][1]);
        json_decref(problem);
    }
    expect_problem(client, "GET", "/v1/scenes/none/log", NULL, 404, NULL);
    expect_problem(client, "POST", "/v1/scenes/s/log", "{}", 405, NULL);
}
END_TEST

/* ---- Random scenes --------------------------------------------------------------------------- */

enum { NAMES = 6 };

static const char *any_name(test_rng *rng)
{
    const int number = (int)test_below(rng, NAMES);
    switch (test_below(rng, 4)) {
    case 0:
        return test_text("b%d", number);
    case 1:
        return test_text("b\\u00f6x %d", number);
    case 2:
        return test_text("\\\"%d\\\\", number);
    default:
        return test_text("\\ud83d\\ude00-%d", number);
    }
}

static bool timed; /* some boxes have a ttl */

static const char *any_box(test_rng *rng)
{
    static char text[2][512];
    static int turn;
    char *out = text[turn++ % 2];
    (void)snprintf(
        out, sizeof text[0],
        "{\"center\":[%.17g,%.17g,%.3g],\"half_extents\":[%.17g,1,0],\"rotation\":[%.17g,%.17g,%."
        "17g,%.17g],"
        "\"category\":%u,\"group\":%d%s%s%s}",
        test_uniform(rng, -9, 9), test_uniform(rng, -1e-9, 1e9), test_uniform(rng, -1, 1),
        test_uniform(rng, 0, 3), test_uniform(rng, -1, 1), test_uniform(rng, -1, 1),
        test_uniform(rng, -1, 1), test_uniform(rng, 0.1, 1), (unsigned)test_random(rng),
        (int)test_below(rng, 5) - 2, test_below(rng, 2) ? ",\"entity\":\"p\\u00e9\"" : "",
        test_below(rng, 2) ? ",\"data\":{\"n\":[1e3,-0.0,1.50,\"\\u00e9\"]}" : "",
        timed ? test_text(",\"ttl\":%.17g", test_uniform(rng, 0, 90)) : "");
    return out;
}

static void random_commit(test_rng *rng, double *time)
{
    char *body = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&body, &size);
    const bool first = *time <= 0;
    *time += test_below(rng, 3) == 0 && !first ? 0 : test_uniform(rng, 1, 20);
    (void)fprintf(text, "{\"time\":%.17g,\"ignore_missing\":true,\"remove\":[\"%s\"],", *time,
                  test_text("%zu-%s", test_below(rng, 4), any_name(rng)));
    if (first || test_below(rng, 3) == 0)
        (void)fprintf(text,
                      "%s\"frames\":{\"cart\":{\"center\":[%.17g,%.17g,0],\"axis_angle\":{\"axis\":"
                      "[0,%.17g,1],\"degrees\":%.17g},\"teleport\":%s}},",
                      test_below(rng, 8) == 0 ? "\"remove_frames\":[\"cart\"]," : "",
                      test_uniform(rng, -9, 9), test_uniform(rng, -9, 9), test_uniform(rng, -1, 1),
                      test_uniform(rng, -180, 180), test_below(rng, 3) == 0 ? "true" : "false");
    (void)fprintf(text, "\"put\":{");
    const size_t puts = test_below(rng, 4);
    for (size_t i = 0; i < puts; i++)
        (void)fprintf(text, "%s\"%zu-%s\":%s", i > 0 ? "," : "", i, any_name(rng), any_box(rng));
    for (int f = 0; f < 2 && test_below(rng, 2) == 0;
         f++) /* boxes in frames, which move in other commits */
        (void)fprintf(text,
                      "%s\"rider "
                      "%d\":{\"frame\":\"cart\",\"center\":[%.17g,1,0],\"half_extents\":[1,1,1],"
                      "\"group\":%d%s}",
                      puts > 0 || f > 0 ? "," : "", (int)test_below(rng, 3) * 2 + f,
                      test_uniform(rng, -2, 2), (int)test_below(rng, 2),
                      timed ? ",\"ttl\":40" : "");
    (void)fprintf(text, "},\"pose\":{\"rider 1\":{\"center\":[0,%.17g,0]},",
                  test_uniform(rng, -1, 1));
    for (size_t i = 0; i < 4; i++)
        (void)fprintf(text,
                      "%s\"%zu-%s\":{\"center\":[%.17g,0,%.17g],\"axis_angle\":{\"axis\":[1,%.17g,"
                      "0],\"degrees\":%.17g},\"teleport\":%s}",
                      i > 0 ? "," : "", i, any_name(rng), test_uniform(rng, -5, 5),
                      test_uniform(rng, -5, 5), test_uniform(rng, -1, 1),
                      test_uniform(rng, -360, 360), test_below(rng, 3) == 0 ? "true" : "false");
    (void)fprintf(text,
                  "},\"transform\":{\"1-%s\":{\"rotate\":{\"axis\":[0,1,%.17g],\"degrees\":7},"
                  "\"scale\":[1.1,1,0.9],\"space\":\"local\"}}}",
                  any_name(rng), test_uniform(rng, -1, 1));
    (void)fclose(text);
    commit("s", body);
    free(body);
}

START_TEST(a_log_of_random_commits_makes_the_same_states)
{
    test_rng rng = {.s = 20261123};
    double time = 0;
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":1000}}", 201);
    const size_t commits = test_effort(300);
    for (size_t i = 0; i < commits; i++)
        random_commit(&rng, &time);
    size_t removed = 0, put = 0, posed = 0, teleported = 0, framed = 0, frames = 0;
    json_t *log = log_of("/v1/scenes/s/log");
    for (size_t i = 1; i < json_array_size(log); i++) {
        const json_t *line = json_array_get(log, i), *pose;
        const char *name;
        removed += json_array_size(json_object_get(line, "remove"));
        put += json_object_size(json_object_get(line, "put"));
        frames += json_object_size(json_object_get(line, "frames"));
        json_object_foreach(json_object_get(line, "put"), name, pose) framed +=
            json_object_get(pose, "frame") != NULL;
        json_object_foreach(json_object_get(line, "pose"), name, pose)
        {
            posed++;
            teleported += json_object_get(pose, "teleport") != NULL;
        }
    }
    printf("log: %zu lines of %zu commits, %zu removed, %zu put (%zu in a frame), %zu posed, %zu "
           "teleports, %zu frames moved\n",
           json_array_size(log), commits, removed, put, framed, posed, teleported, frames);
    ck_assert(removed > commits / 20 && put > commits && posed > commits &&
              teleported > commits / 5 && framed > commits / 5 && frames > commits / 5);
    replay(log, "twin");
    json_decref(log);
    log = log_of(test_text("/v1/scenes/s/log?from=%zu", commits / 2));
    ck_assert_uint_gt(boxes_in(log), 10);
    replay(log, "half");
    json_decref(log);
}
END_TEST

/* Of as many levels as data can have. */
START_TEST(a_log_of_deep_data_makes_the_same_states)
{
    enum { LEVELS = 64 };
    char data[2 * LEVELS + 1] = "";
    for (int i = 0; i < 2 * LEVELS; i++)
        data[i] = i < LEVELS ? '[' : ']';
    (void)ask("PUT", "/v1/scenes/s", "{}", 201);
    (void)ask("PUT", "/v1/scenes/s/boxes/a",
              test_text("{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"data\":%s}", data), 201);
    (void)ask("PUT", "/v1/scenes/s/boxes/b", "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}", 201);
    (void)ask("PATCH", "/v1/scenes/s/boxes/b", test_text("{\"data\":%s}", data), 200);
    json_t *log = log_of("/v1/scenes/s/log?from=0");
    ck_assert_uint_eq(json_array_size(log), 4);
    replay(log, "twin");
    json_decref(log);
    log = log_of("/v1/scenes/s/log?from=2"); /* the state it begins with has the data */
    ck_assert_uint_eq(boxes_in(log), 2);
    replay(log, "half");
    json_decref(log);
}
END_TEST

/* A replay decides by the scene's clock which boxes expire: no line names them. */
START_TEST(a_log_of_boxes_that_expire_makes_the_same_states)
{
    test_rng rng = {.s = 20261124};
    double time = 0;
    timed = true;
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":1000}}", 201);
    const size_t commits = test_effort(200);
    size_t expired = 0, renewed = 0;
    for (size_t i = 0; i < commits; i++) {
        random_commit(&rng, &time);
        json_t *told = json_loads(answer.body, 0, NULL);
        expired += (size_t)json_integer_value(json_object_get(told, "expired"));
        json_decref(told);
        if (i % 20 == 7) { /* where it is, but a later time */
            time += 1;
            commit("s", test_text("{\"time\":%.17g,\"put\":{\"still\":{\"center\":[0,0,0],"
                                  "\"half_extents\":[1,1,1],\"ttl\":30}}}",
                                  time));
            time += 25;
            commit("s",
                   test_text("{\"time\":%.17g,\"pose\":{\"still\":{\"center\":[0,0,0]}}}", time));
            time += 25;
            commit("s", test_text("{\"time\":%.17g}", time));
            renewed += strstr(ask("GET", "/v1/scenes/s/boxes/still", NULL, 200), "still") != NULL;
        }
    }
    printf("log: %zu of %zu commits' boxes expired, %zu were renewed\n", expired, commits, renewed);
    ck_assert_uint_gt(expired, commits / 4);
    ck_assert_uint_gt(renewed, commits / 25);
    json_t *log = log_of("/v1/scenes/s/log");
    replay(log, "twin");
    json_decref(log);
    log = log_of(test_text("/v1/scenes/s/log?from=%zu", commits / 2));
    size_t since = 0;
    for (size_t i = 1; i <= state_lines(log); i++)
        since += json_is_number(json_object_get(json_array_get(log, i), "since"));
    ck_assert_uint_gt(since, 2);
    verify(log); /* the first state says from when its ttls count */
    json_decref(log);
    timed = false;
}
END_TEST

/* ---- Following ------------------------------------------------------------------------------- */

/* Reads the lines of a chunked answer as they come. */
struct tail {
    int fd;
    char *text; /* the body so far */
    size_t length, taken;
    char raw[65536];
    size_t raw_length;
    bool ended; /* with the last chunk */
};

static struct tail *tail_open(const char *path)
{
    struct tail *t = calloc(1, sizeof *t);
    t->text = malloc(64u << 20);
    t->fd = daemon_dial(&daemon);
    dial_send(t->fd, test_text("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path));
    char *body = NULL;
    while (body == NULL) {
        const ssize_t n = recv(t->fd, t->raw + t->raw_length, sizeof t->raw - 1 - t->raw_length, 0);
        ck_assert_int_gt(n, 0);
        t->raw_length += (size_t)n;
        t->raw[t->raw_length] = '\0';
        body = strstr(t->raw, "\r\n\r\n");
    }
    ck_assert_msg(strncmp(t->raw, "HTTP/1.1 200", 12) == 0, "%s", t->raw);
    ck_assert_ptr_nonnull(strstr(t->raw, "application/x-ndjson"));
    t->raw_length -= (size_t)(body + 4 - t->raw);
    memmove(t->raw, body + 4, t->raw_length);
    return t;
}

static void tail_close(struct tail *t)
{
    (void)close(t->fd);
    free(t->text);
    free(t);
}

/* Moves whole chunks to the text. */
static void unchunk(struct tail *t)
{
    for (;;) {
        t->raw[t->raw_length] = '\0';
        char *end;
        const char *line = strstr(t->raw, "\r\n");
        const size_t size = line == NULL ? 0 : strtoul(t->raw, &end, 16),
                     head = line == NULL ? 0 : (size_t)(line + 2 - t->raw);
        if (line == NULL || t->raw_length < head + size + 2)
            return;
        memcpy(t->text + t->length, t->raw + head, size);
        t->length += size;
        t->raw_length -= head + size + 2;
        memmove(t->raw, t->raw + head + size + 2, t->raw_length);
        t->ended = size == 0;
        if (t->ended)
            return;
    }
}

/* Returns the next line, or NULL if the answer has ended, or nothing came for `ms` milliseconds. */
static json_t *tail_next(struct tail *t, int ms)
{
    for (;;) {
        unchunk(t);
        char *at = t->text + t->taken, *end = memchr(at, '\n', t->length - t->taken);
        if (end != NULL) {
            t->taken = (size_t)(end + 1 - t->text);
            json_t *line = line_of(at, end);
            return line;
        }
        struct pollfd wait = {.fd = t->fd, .events = POLLIN};
        if (t->ended || poll(&wait, 1, ms) <= 0)
            return NULL;
        const ssize_t n = recv(t->fd, t->raw + t->raw_length, sizeof t->raw - 1 - t->raw_length, 0);
        if (n <= 0)
            return NULL;
        t->raw_length += (size_t)n;
    }
}

enum { SOON = 5000, NOTHING = 200 };

START_TEST(a_log_that_is_followed_goes_on_as_commits_come)
{
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":0,\"commits\":0}}",
              201); /* none but the newest is in reach */
    commit("s", "{\"time\":1,\"put\":{\"a\":" BOX(1) "}}");
    struct tail *t = tail_open("/v1/scenes/s/log?follow=true");
    json_t *log = json_array();
    json_array_append_new(log, tail_next(t, SOON));
    json_array_append_new(log, tail_next(t, SOON));
    ck_assert_int_eq(revision_of(json_array_get(log, 0)), 1);
    ck_assert_ptr_null(tail_next(t, NOTHING));
    ck_assert(!t->ended);
    for (int i = 2; i < 200; i++) {
        commit("s", test_text(
                        "{\"time\":%d,\"pose\":{\"a\":{\"center\":[%d,0,0]}},\"put\":{\"b%d\":" BOX(
                            1) "}}",
                        i, i, i));
        if (i % 3 != 0) /* now one by one, now several at a time */
            continue;
        while (revision_of(json_array_get(log, json_array_size(log) - 1)) < i) {
            json_t *line = tail_next(t, SOON);
            ck_assert_msg(line != NULL, "revision %d", i);
            json_array_append_new(log, line);
        }
    }
    commit("s", "{\"time\":500}");
    json_t *line = tail_next(t, SOON);
    while (revision_of(line) < 199 || json_number_value(json_object_get(line, "time")) < 500) {
        json_array_append_new(log, line);
        line = tail_next(t, SOON);
        ck_assert_ptr_nonnull(line);
    }
    ck_assert_ptr_null(json_object_get(line, "pose"));
    json_array_append_new(log, line);
    ck_assert_uint_eq(json_array_size(log), 2 + 198 + 1);
    (void)ask("DELETE", "/v1/scenes/s", NULL, 204);
    ck_assert_ptr_null(tail_next(t, SOON));
    ck_assert(t->ended);
    tail_close(t);
    (void)ask("PUT", "/v1/scenes/twin", "{\"history\":{\"span\":60000,\"commits\":1000}}", 201);
    /* the twin keeps its history, which the header sets to none: so only the last state is
     * compared */
    commit("twin", "{\"time\":1,\"put\":{\"a\":" BOX(1) "}}");
    for (size_t i = 2; i < json_array_size(log); i++)
        post("twin", json_array_get(log, i));
    (void)ask("PUT", "/v1/scenes/twin", "{\"history\":{\"span\":0,\"commits\":0}}", 200);
    json_t *twin = log_of("/v1/scenes/twin/log");
    ck_assert_str_eq(hash_of(json_array_get(twin, 0)),
                     hash_of(json_array_get(log, json_array_size(log) - 1)));
    json_decref(twin);
    json_decref(log);
}
END_TEST

START_TEST(the_end_of_the_daemon_ends_a_log)
{
    commit("s", "{\"time\":1,\"put\":{\"a\":" BOX(1) "}}");
    struct tail *t = tail_open("/v1/scenes/s/log?follow=true");
    for (int i = 0; i < 2; i++)
        json_decref(tail_next(t, SOON));
    json_decref(tail_next(t, SOON));
    ck_assert_ptr_null(tail_next(t, NOTHING));
    ck_assert_int_eq(kill(daemon.process, SIGTERM), 0);
    ck_assert_ptr_null(tail_next(t, SOON));
    ck_assert(t->ended);
    tail_close(t);
    int status;
    ck_assert_int_eq(waitpid(daemon.pid, &status, 0), daemon.pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    http_close(client);
}
END_TEST

/* ---- --verify and --replay ------------------------------------------------------------------- */

/* Runs the program with these arguments, which it must refuse with one line. */
static void refused(const char *const *arguments, const char *says)
{
    char out[512], err[512];
    ck_assert_int_eq(daemon_run(arguments, out, sizeof out, err, sizeof err), 1);
    ck_assert_str_eq(out, "");
    ck_assert_msg(strcmp(err, says) == 0, "%s%s", err, says);
}

START_TEST(options_of_logs_are_checked)
{
    refused((const char *const[]){"--verify", "/nobody/home", NULL},
            "obbd: /nobody/home: No such file or directory\n");
    refused((const char *const[]){"--replay", "/nobody/home", NULL},
            "obbd: --replay /nobody/home: No such file or directory\n");
    refused((const char *const[]){"--replay", "/", NULL}, "obbd: --replay /: Is a directory\n");
    refused((const char *const[]){"--replay-speed", "2", NULL},
            "obbd: --replay-speed is said of a --replay, and there is none\n");
    static const char *const speeds[] = {"0", "-1", "fast", "1e9", "nan", "0x10", ""};
    for (size_t i = 0; i < sizeof speeds / sizeof speeds[0]; i++)
        refused((const char *const[]){"--replay", "/", "--replay-speed", speeds[i], NULL},
                test_text("obbd: --replay-speed: \"%s\" is not a number from 0.001 to 1000\n",
                          speeds[i]));
    commit("s", "{\"put\":{\"a\":" BOX(1) "}}");
    json_t *export = log_of("/v1/scenes/s/export"), *log = log_of("/v1/scenes/s/log?from=1");
    char *path = file_of(export), *broken, out[512], err[512];
    refused(
        (const char *const[]){"--replay", path, NULL},
        test_text("obbd: --replay %s, line 1: \"hash\" is missing: this is an export, not a log\n",
                  path));
    refused(
        (const char *const[]){"--verify", path, NULL},
        test_text("obbd: %s, line 1: \"hash\" is missing: this is an export, not a log\n", path));
    forget_file(path);
    /* a log that differs is told on stdout */
    json_object_set_new(
        json_array_get(log, 1), "raw",
        json_string("{\"name\":\"a\",\"id\":1,\"center\":[2,0,0],\"half_extents\":[1,1,1]}"));
    broken = file_of(log);
    ck_assert_int_eq(daemon_run((const char *const[]){"--verify", broken, NULL}, out, sizeof out,
                                err, sizeof err),
                     1);
    ck_assert_str_eq(err, "");
    ck_assert_ptr_nonnull(strstr(out, ": revision 1 differs (line 2): its hash is "));
    ck_assert_ptr_eq(strchr(out, '\n'), out + strlen(out) - 1);
    forget_file(broken);
    json_decref(export);
    json_decref(log);
}
END_TEST

/* Starts another daemon that replays a file. */
static void start_replay(const char *path, const char *speed)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    start_with((const char *const[]){"--replay", path, "--replay-speed", speed, NULL});
}

START_TEST(a_replay_serves_what_was_recorded)
{
    test_rng rng = {.s = 7};
    double time = 0;
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":1000}}", 201);
    for (int i = 0; i < 150; i++)
        random_commit(&rng, &time);
    json_t *log = log_of("/v1/scenes/s/log?from=50");
    char *path = file_of(log);
    start_replay(path, "100");
    struct tail *t = tail_open("/v1/scenes/s/log?follow=true");
    size_t compared = 0;
    for (size_t i = 0; i < json_array_size(log);
         i++, compared++) { /* the same bytes: ids, revisions, poses, hashes */
        json_t *line = tail_next(t, SOON);
        ck_assert_msg(line != NULL, "line %zu", i);
        ck_assert_str_eq(raw_of(line), raw_of(json_array_get(log, i)));
        json_decref(line);
    }
    ck_assert_ptr_null(tail_next(t, NOTHING)); /* it is over; the scene stays and is anybody's */
    tail_close(t);
    const long last = revision_of(json_array_get(log, json_array_size(log) - 1));
    expect(client, "POST", "/v1/scenes/s/commit", "{\"put\":{\"later\":" BOX(1) "}}", 200,
           test_text("{\"revision\":%ld}", last + 1));
    ck_assert_uint_gt(compared, 100);
    forget_file(path);
    json_decref(log);
}
END_TEST

/* Replays the log of `path` in another daemon, with these options more, and follows it.
 *
 * begins  the time of the log's first state, in ms.
 * speed   that the options ask for. No line may come sooner than a replay at this speed shows it.
 *         How much later a line comes says nothing: the machine may be slow. */
static void follow_replay(const char *path, const char *const *options, const json_t *log,
                          double begins, double speed)
{
    /* A timer counts from the begin of the loop's turn, which may have been kept waiting since. */
    const double early = 0.1;
    const char *arguments[8] = {"--replay", path};
    for (size_t i = 0; options[i] != NULL; i++)
        arguments[2 + i] = options[i];
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    const double begun = test_now(); /* before the daemon runs */
    start_with(arguments);
    struct tail *t = tail_open(
        test_text("/v1/scenes/s/log?from=%ld&follow=true", revision_of(json_array_get(log, 0))));
    for (size_t i = 0; i < json_array_size(log); i++) {
        json_t *line = tail_next(t, (int)(test_timeout(30) * 1e3));
        const double after = test_now() - begun;
        ck_assert_msg(line != NULL, "speed %g: no line %zu", speed, i);
        ck_assert_str_eq(raw_of(line), raw_of(json_array_get(log, i)));
        const json_t *time = json_object_get(line, "time"); /* lines of boxes have none */
        if (time != NULL)
            ck_assert_double_ge(after, (json_number_value(time) - begins) / speed / 1e3 - early);
        json_decref(line);
    }
    tail_close(t);
}

START_TEST(a_replay_keeps_the_pace)
{
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000}}", 201);
    commit("s", "{\"time\":1000,\"put\":{\"a\":" BOX(1) "}}");
    commit("s", "{\"time\":1400,\"pose\":{\"a\":{\"center\":[2,0,0]}}}");
    commit("s", "{\"time\":1700,\"pose\":{\"a\":{\"center\":[3,0,0]}}}");
    commit("s", "{\"time\":2000,\"pose\":{\"a\":{\"center\":[4,0,0]}}}");
    json_t *log = log_of("/v1/scenes/s/log?from=2");
    char *path = file_of(log);
    /* 600 ms as recorded, of which at half the speed 1,200 are made, and at twice the speed 300 */
    follow_replay(path, (const char *const[]){NULL}, log, 1400, 1);
    follow_replay(path, (const char *const[]){"--replay-speed", "0.5", NULL}, log, 1400, 0.5);
    follow_replay(path, (const char *const[]){"--replay-speed", "2", NULL}, log, 1400, 2);
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"oldest\":{\"revision\":2,\"time\":1400}}");

    /* who is not done with waiting ends all the same; so does who was disturbed */
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    start_with((const char *const[]){"--replay", path, "--replay-speed", "0.001", NULL});
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":2,\"boxes\":1}");
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    start_with((const char *const[]){"--replay", path, NULL});
    commit("s", "{\"time\":1400,\"put\":{\"mine\":" BOX(1) "}}");
    expect(client, "GET", "/readyz", NULL, 200, NULL);
    forget_file(path);
    json_decref(log);
}
END_TEST

/* A replay that ignores its speed would show the second state after five minutes. */
START_TEST(a_replay_can_be_faster_than_the_record)
{
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000}}", 201);
    commit("s", "{\"time\":0,\"put\":{\"a\":" BOX(1) "}}");
    commit("s", "{\"time\":300000,\"pose\":{\"a\":{\"center\":[2,0,0]}}}");
    json_t *log = log_of("/v1/scenes/s/log?from=1");
    char *path = file_of(log);
    follow_replay(path, (const char *const[]){"--replay-speed", "1000", NULL}, log, 0, 1000);
    forget_file(path);
    json_decref(log);
}
END_TEST

/* ---- Every kind of edit, and a flipped digit ------------------------------------------------- */

/* Returns the place of a random digit of a commit line that counts: its flip makes another number,
 * and it is not one of a rotation, whose length does not count. */
static size_t digit_that_counts(test_rng *rng, const char *line)
{
    const size_t end = (size_t)(strstr(line, ",\"revision\":") - line);
    for (;;) {
        const size_t at = test_below(rng, end);
        if (strchr("0123456789", line[at]) == NULL)
            continue;
        size_t begin = at, open = at;
        while (strchr("+-.e0123456789", line[begin - 1]) != NULL)
            begin--;
        while (open > 0 && strchr("[]", line[open]) == NULL)
            open--;
        static const char rotation[] = "\"rotation\":";
        const size_t length = sizeof rotation - 1;
        if (open > length && strncmp(line + open - length, rotation, length) == 0)
            continue;
        char *other = strdup(line);
        other[at] = (char)('0' + (other[at] - '0' + 1) % 10);
        const bool counts = strtod(line + begin, NULL) != strtod(other + begin, NULL);
        free(other);
        if (counts)
            return at;
    }
}

/* Flips a digit of a line of the log. --verify must name its revision and its line. */
static void flip_in(test_rng *rng, json_t *log, size_t index)
{
    json_t *line = json_array_get(log, index);
    char *raw = strdup(raw_of(line)), *flipped = strdup(raw), out[600], err[512];
    const size_t at = digit_that_counts(rng, raw);
    flipped[at] = (char)('0' + (flipped[at] - '0' + 1) % 10);
    json_object_set_new(line, "raw", json_string(flipped));
    char *path = file_of(log);
    ck_assert_int_eq(
        daemon_run((const char *const[]){"--verify", path, NULL}, out, sizeof out, err, sizeof err),
        1);
    const char *named = test_text("obbd: %s: revision %ld differs (line %zu): ", path,
                                  revision_of(line), index + 1);
    ck_assert_msg(strncmp(out, named, strlen(named)) == 0, "%s: %s", flipped, out);
    json_object_set_new(line, "raw", json_string(raw));
    forget_file(path);
    free(flipped);
    free(raw);
}

START_TEST(every_kind_of_edit_is_verified_and_a_flipped_digit_of_each_is_named)
{
#define COMMIT "/v1/scenes/s/commit"
#define TURNED "\"rotation\":[0,0.6,0,0.8]"
    static const struct {
        const char *method, *path, *body;
        long status;
        const char *says; /* what its line must hold */
    } rows[] = {
        {"POST", COMMIT,
         "{\"time\":1000,\"put\":{\"a\":" BOX(
             1) ",\"b\":{\"center\":[2.5,0,1],\"half_extents\":"
                "[1,2,3]," TURNED ",\"group\":-4,\"entity\":\"e\",\"data\":{\"hp\":12}}}}",
         200, "\"put\":{\"a\":"},
        {"POST", COMMIT, "{\"time\":1010,\"pose\":{\"a\":{\"center\":[3,1,4]," TURNED "}}}", 200,
         "\"pose\":{\"a\":"},
        {"POST", COMMIT,
         "{\"time\":1020,\"pose\":{\"b\":{\"center\":[7,0.125,1],\"teleport\":true}}}", 200,
         "\"teleport\":true"},
        {"POST", COMMIT, "{\"pose\":{\"names\":[\"b\",\"a\"],\"centers\":[1,2,3,4,5,6]}}", 200,
         "\"b\":{\"center\":[1,2,3]"},
        {"POST", COMMIT,
         "{\"time\":1030,\"frames\":{\"cart\":{\"center\":[10,0,0]," TURNED
         "}},\"put\":{\"rider\":{"
         "\"frame\":\"cart\",\"center\":[0,1,0.5],\"half_extents\":[1,1,1]}}}",
         200, "\"frame\":\"cart\""},
        {"POST", COMMIT, "{\"time\":1040,\"frames\":{\"cart\":{\"center\":[12,3,0]}}}", 200,
         "\"frames\":{\"cart\":"},
        {"POST", COMMIT,
         "{\"time\":1050,\"frames\":{\"cart\":{\"center\":[90,0,0],\"teleport\":true}}}", 200,
         "\"frames\":{\"cart\":"},
        {"POST", COMMIT, "{\"time\":1060,\"pose\":{\"rider\":{\"center\":[0,2,0]}}}", 200,
         "\"pose\":{\"rider\":"},
        {"PATCH", "/v1/scenes/s/boxes/rider", "{\"frame\":null}", 200, "\"put\":{\"rider\":"},
        {"PATCH", "/v1/scenes/s/boxes/rider", "{\"frame\":\"cart\"}", 200, "\"frame\":\"cart\""},
        {"POST", COMMIT,
         "{\"time\":1070,\"transform\":{\"a\":{\"rotate\":{\"axis\":[0,0,1],\"degrees\":30},"
         "\"translate\":[0.1,0,0]}}}",
         200, "\"pose\":{\"a\":"},
        {"POST", "/v1/scenes/s/boxes/b/transform", "{\"scale\":[2,1,1],\"space\":\"local\"}", 200,
         "\"put\":{\"b\":"},
        /* the box b goes on as the box c: a remove and a put at the same place */
        {"POST", COMMIT,
         "{\"time\":1080,\"remove\":[\"b\"],\"put\":{\"c\":{\"center\":[2,2,3],\"half_extents\":[2,"
         "2,3]," TURNED ",\"group\":-4,\"entity\":\"e\",\"data\":{\"hp\":12}}}}",
         200, "\"remove\":[\"b\"]"},
        {"PUT", "/v1/scenes/s/boxes/d", "{\"center\":[5,5,5],\"half_extents\":[1,1,1],\"ttl\":25}",
         201, "\"ttl\":25"},
        {"PATCH", "/v1/scenes/s/boxes/c", "{\"category\":6}", 200, "\"category\":6"},
        {"POST", "/v1/scenes/s/boxes/a/merge", "{\"with\":[\"c\"]}", 200, "\"put\":{\"a\":"},
        {"POST", COMMIT, "{\"time\":1200}", 200, "{\"time\":1200,\"revision\":"}, /* d expires */
        {"DELETE", "/v1/scenes/s/boxes/c", NULL, 204, "\"remove\":[\"c\"]"},
        {"POST", COMMIT, "{\"time\":1210,\"remove_frames\":[\"cart\"]}", 200,
         "\"remove_frames\":[\"cart\"]"},
        {"PUT", "/v1/scenes/s", "{\"history\":{\"span\":700}}", 200, "\"settings\":"},
        {"POST", COMMIT, "{\"time\":5,\"restart\":true,\"put\":{\"z\":" BOX(2) "}}", 200,
         "\"restart\":true"},
        {"POST", COMMIT, "{\"time\":15,\"pose\":{\"z\":{\"center\":[8,0,0]}}}", 200,
         "\"pose\":{\"z\":"},
    };
    enum { ROWS = sizeof rows / sizeof rows[0] };
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":1000}}", 201);
    struct tail *t = tail_open("/v1/scenes/s/log?follow=true");
    json_t *log = json_array();
    json_array_append_new(log, tail_next(t, SOON));
    ck_assert_uint_eq(state_lines(log), 0);
    for (size_t i = 0; i < ROWS; i++) {
        (void)ask(rows[i].method, rows[i].path, rows[i].body, rows[i].status);
        json_t *line = tail_next(t, SOON);
        ck_assert_msg(line != NULL && strstr(raw_of(line), rows[i].says) != NULL, "row %zu: %s", i,
                      raw_of(line));
        json_array_append_new(log, line);
    }
    static const char *const ndjson[] = {"Content-Type: application/x-ndjson", NULL};
    http_send(
        client, "POST", "/v1/scenes/s/import", ndjson,
        "{\"format\":\"obbd-scene\",\"version\":2,\"dimensions\":3,\"history\":{\"span\":700,"
        "\"commits\":64},\"time\":20}\n{\"name\":\"z\",\"center\":[8,4,0.25],\"half_extents\":"
        "[1,1,1]}\n",
        &answer);
    ck_assert_msg(answer.status == 200, "%s", answer.body);
    json_array_append_new(log, tail_next(t, SOON));
    ck_assert_ptr_nonnull(strstr(raw_of(json_array_get(log, ROWS + 1)), "[8,4,0.25]"));
    tail_close(t);
    verify(log);
    test_rng rng = {.s = 20261127};
    enum { FLIPS = 3 };
    for (size_t i = 1; i < json_array_size(log); i++)
        for (int k = 0; k < FLIPS; k++)
            flip_in(&rng, log, i);
    verify(log); /* all digits are back */
    printf("verify: %d edits, %d digits of each flipped and named\n", ROWS + 1, FLIPS);
    json_decref(log);
#undef TURNED
#undef COMMIT
}
END_TEST

/* Puts so many boxes in one commit, at that time, with which they differ. */
static void put_many(int time, int first, int count)
{
    char *body = malloc((size_t)count * 100 + 100);
    ck_assert_ptr_nonnull(body);
    int length = sprintf(body, "{\"time\":%d,\"put\":{", time);
    for (int i = 0; i < count; i++)
        length +=
            sprintf(body + length, "%s\"b%d\":{\"center\":[%d,%d,%d.5],\"half_extents\":[1,%d,1]}",
                    i > 0 ? "," : "", first + i, i % 100, i / 100, time, 1 + time % 2);
    (void)sprintf(body + length, "}}");
    commit("s", body);
    free(body);
}

/* Large enough for the pool: scenes are locked while such a commit is prepared, and lines are
 * written piece by piece. */
START_TEST(large_commits_are_told_in_pieces)
{
    enum { MANY = 5000 };
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":50}}", 201);
    struct tail *t = tail_open("/v1/scenes/s/log?follow=true");
    json_t *head = tail_next(t, SOON);
    ck_assert_int_eq(revision_of(head), 0);
    json_decref(head);
    for (int round = 1; round <= 3; round++) {
        put_many(round, 0, MANY);
        commit("s",
               test_text("{\"time\":%d.5,\"pose\":{\"b%d\":{\"center\":[0,0,0]}}}", round, round));
        json_t *line = tail_next(t, SOON);
        ck_assert_uint_eq(json_object_size(json_object_get(line, "put")), MANY);
        json_decref(line);
        line = tail_next(t, SOON);
        ck_assert_int_eq(revision_of(line), 2L * round);
        json_decref(line);
    }
    tail_close(t);
    json_t *log = log_of("/v1/scenes/s/log?from=1");
    ck_assert_uint_eq(boxes_in(log), MANY);
    replay(log, "twin");
    json_decref(log);
}
END_TEST

/* ---- With --data ----------------------------------------------------------------------------- */

static char folder[96];

static void start_in_folder(const char *option, const char *value)
{
    start_with((const char *[]){"--data", folder, option, value, NULL});
    do
        http_send(client, "GET", "/readyz", NULL, NULL, &answer);
    while (answer.status != 200);
}

static void start_kept_with(const char *option, const char *value)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-log-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    start_in_folder(option, value);
}

static void start_kept(void) { start_kept_with(NULL, NULL); }
static void start_lazy(void) { start_kept_with("--sync", "60000"); }
static void start_narrow(void) { start_kept_with("--memory-limit", "4MiB"); }

static void stop_kept(void)
{
    stop();
    static const char *const names[] = {"journal.db", "journal.db-wal", "journal.db-shm", "spare"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)unlink(test_text("%s/%s", folder, names[i]));
    ck_assert_int_eq(rmdir(folder), 0);
}

/* Compares the lines of commits behind the first state of a log with those that a stream told as
 * they came, to the last byte. Lines that only prolong a time are not compared: how many there are
 * depends on when they are told. Returns how many lines it compared. */
static size_t compare_lines(const json_t *log, const json_t *told, long commits)
{
    long last = revision_of(json_array_get(log, 0));
    size_t compared = 0;
    for (size_t i = 1 + state_lines(log); i < json_array_size(log); i++) {
        const json_t *line = json_array_get(log, i);
        if (revision_of(line) == last)
            continue;
        ck_assert_int_eq(revision_of(line), ++last);
        ck_assert_str_eq(raw_of(line), raw_of(json_array_get(told, (size_t)last)));
        compared++;
    }
    ck_assert_int_eq(last, commits);
    return compared;
}

/* Only the newest state is in the history. What a stream told of the commits as they came is what
 * the journal tells of them later. */
START_TEST(with_data_a_log_reaches_back_as_far_as_the_journal)
{
    test_rng rng = {.s = 20261129};
    double time = 0;
    const long commits = (long)test_effort(200);
    timed = true;
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":0,\"commits\":0}}", 201);
    (void)ask("PUT", "/v1/scenes/other", "{}", 201);
    struct tail *t = tail_open("/v1/scenes/s/log?follow=true");
    json_t *told = json_array();
    json_array_append_new(told, tail_next(t, SOON)); /* of revision 0 */
    for (long revision = 1, restarts = 0; revision <= commits;) {
        random_commit(&rng, &time);
        if (test_below(&rng, 3) == 0)
            commit("other", test_text("{\"put\":{\"b%ld\":" BOX(1) "}}", revision));
        if (revision == commits / 2 && restarts++ == 0) {
            time = 1;
            commit("s", "{\"restart\":true,\"time\":1,\"put\":{\"a\":" BOX(1) "}}");
        }
        json_t *scene = json_loads(ask("GET", "/v1/scenes/s", NULL, 200), 0, NULL);
        const long now = revision_of(scene);
        json_decref(scene);
        while (revision <= now) {
            json_t *line = tail_next(t, SOON);
            ck_assert_msg(line != NULL, "revision %ld", revision);
            if (revision_of(line) == revision) {
                json_array_append_new(told, line);
                revision++;
            } else {
                json_decref(line); /* it prolongs a time */
            }
        }
    }
    const long last = (long)json_array_size(told) - 1;
    size_t compared = 0;
    for (int starts = 0; starts < 2; starts++) {
        for (long from = starts; from < last; from += 1 + last / 9) {
            json_t *log = log_of(test_text("/v1/scenes/s/log?from=%ld", from));
            ck_assert_int_eq(revision_of(json_array_get(log, 0)), from);
            ck_assert_str_eq(hash_of(json_array_get(log, 0)),
                             hash_of(json_array_get(told, (size_t)from)));
            compared += compare_lines(log, told, last);
            verify(log);
            json_decref(log);
        }
        expect(client, "GET", test_text("/v1/scenes/s/log?from=%ld", last + 1), NULL, 410,
               test_text("{\"newest\":{\"revision\":%ld}}", last));
        if (starts > 0)
            break;
        stop();
        start_in_folder(NULL, NULL);
    }
    printf("%zu lines of the journal are those that were told\n", compared);
    ck_assert_uint_gt(compared, 5 * (size_t)commits);
    tail_close(t);
    /* it goes on with the history, and with what comes */
    t = tail_open(test_text("/v1/scenes/s/log?from=%ld&follow=true", last - 3));
    commit("s", test_text("{\"time\":%.17g,\"put\":{\"last\":" BOX(1) "}}", time + 1e4));
    json_t *line = tail_next(t, SOON);
    while (line != NULL && revision_of(line) <= last) {
        json_decref(line);
        line = tail_next(t, SOON);
    }
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(json_object_get(json_object_get(line, "put"), "last"));
    json_decref(line);
    tail_close(t);
    json_decref(told);
    timed = false;
}
END_TEST

/* The journal holds records until they are on disk. */
static void await_nothing_in_flight(void)
{
    const double begun = test_seconds();
    while (strstr(ask("GET", "/metrics", NULL, 200), "\nobbd_in_flight_bytes 0\n") == NULL)
        ck_assert_msg(test_seconds() - begun < 10, "%s", answer.body);
}

static long journal_snapshots(void)
{
    const char *line = strstr(ask("GET", "/metrics", NULL, 200), "\nobbd_journal_snapshots_total ");
    ck_assert_ptr_nonnull(line);
    return strtol(line + strlen("\nobbd_journal_snapshots_total "), NULL, 10);
}

/* A snapshot begins with the oldest state that is kept then, so what came before is gone. */
START_TEST(a_log_reaches_back_to_the_oldest_state_of_a_snapshot)
{
    enum { MANY = 4000 };
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":3}}", 201);
    int round = 1;
    for (; journal_snapshots() == 0; round++) {
        ck_assert_int_lt(round, 100);
        put_many(round, 0, MANY);
    }
    for (int i = 0; i < 10; i++, round++)
        commit("s",
               test_text("{\"time\":%d,\"pose\":{\"b1\":{\"center\":[0,0,%d]}}}", round, round));
    http_send(client, "GET", "/v1/scenes/s/log?from=1", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 410);
    json_t *problem = json_loads(answer.body, 0, NULL);
    const long oldest = revision_of(json_object_get(problem, "oldest"));
    ck_assert_int_eq(revision_of(json_object_get(problem, "newest")), round - 1);
    ck_assert(1 < oldest && oldest < round - 10);
    json_decref(problem);
    for (long from = oldest - 1; from < round - 1; from += from < oldest + 3 ? 1 : 4) {
        if (from < oldest) {
            (void)ask("GET", test_text("/v1/scenes/s/log?from=%ld", from), NULL, 410);
            continue;
        }
        json_t *log = log_of(test_text("/v1/scenes/s/log?from=%ld", from));
        ck_assert_uint_eq(boxes_in(log), MANY);
        ck_assert_int_eq(revision_of(json_array_get(log, 0)), from);
        ck_assert_uint_eq(json_array_size(log), 1 + MANY + (size_t)(round - 1 - from));
        verify(log);
        json_decref(log);
    }
    /* whoever goes away meanwhile leaves nothing behind */
    for (int i = 0; i < 40; i++) {
        const int fd = daemon_dial(&daemon);
        dial_send(fd, test_text("GET /v1/scenes/s/log?from=%ld HTTP/1.1\r\nHost: localhost\r\n\r\n",
                                oldest));
        (void)poll(NULL, 0, i % 8);
        (void)close(fd);
    }
    await_nothing_in_flight();
}
END_TEST

/* Commits are answered up to a minute before they are on disk. */
START_TEST(a_log_has_also_what_waits_for_the_disk)
{
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":0,\"commits\":0}}", 201);
    for (int i = 0; i < 20; i++)
        commit("s", test_text("{\"time\":%d,\"put\":{\"b%d\":" BOX(1) "}}", i, i));
    for (int more = 0; more < 4; more++) {
        json_t *log = log_of(test_text("/v1/scenes/s/log?from=%d", 5 * more));
        ck_assert_uint_eq(json_array_size(log), 21 + (size_t)more);
        verify(log);
        json_decref(log);
        commit("s", test_text("{\"put\":{\"c%d\":" BOX(1) "}}", more));
    }
}
END_TEST

START_TEST(states_that_do_not_fit_are_not_recalled)
{
    enum { MANY = 1000, ROUNDS = 40 };
    (void)ask("PUT", "/v1/scenes/s", "{\"history\":{\"span\":0,\"commits\":0}}", 201);
    for (int round = 0; round < ROUNDS; round++)
        put_many(round, round * MANY, MANY);
    (void)ask("GET", "/v1/scenes/s/log?from=1", NULL, 413);
    ck_assert_ptr_nonnull(strstr(answer.body, "found states that take at least "));
    ck_assert_ptr_nonnull(strstr(answer.body, "; --memory-limit is 4194304\""));
    await_nothing_in_flight();
    json_t *log = log_of(test_text("/v1/scenes/s/log?from=%d", ROUNDS)); /* from the history */
    ck_assert_uint_eq(boxes_in(log), (size_t)MANY * ROUNDS);
    json_decref(log);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tc = tcase_create("log");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_checked_fixture(tc, start, stop);
    tcase_add_test(tc, each_kind_of_change_is_the_commit_with_the_same_effect);
    tcase_add_test(tc, a_box_in_a_moved_frame_is_teleported_by_its_own_pose);
    tcase_add_test(tc, a_log_may_begin_with_any_kept_state);
    tcase_add_test(tc, parameters_are_checked);
    tcase_add_test(tc, a_log_of_random_commits_makes_the_same_states);
    tcase_add_test(tc, a_log_of_deep_data_makes_the_same_states);
    tcase_add_test(tc, a_log_of_boxes_that_expire_makes_the_same_states);
    tcase_add_test(tc, a_log_that_is_followed_goes_on_as_commits_come);
    tcase_add_test(tc, options_of_logs_are_checked);
    tcase_add_test(tc, a_replay_serves_what_was_recorded);
    tcase_add_test(tc, a_replay_keeps_the_pace);
    tcase_add_test(tc, a_replay_can_be_faster_than_the_record);
    tcase_add_test(tc, every_kind_of_edit_is_verified_and_a_flipped_digit_of_each_is_named);
    tcase_add_test(tc, large_commits_are_told_in_pieces);
    suite_add_tcase(suite, tc);
    TCase *kept = tcase_create("kept");
    tcase_set_timeout(kept, test_patience(60));
    tcase_add_checked_fixture(kept, start_kept, stop_kept);
    tcase_add_test(kept, with_data_a_log_reaches_back_as_far_as_the_journal);
    tcase_add_test(kept, a_log_reaches_back_to_the_oldest_state_of_a_snapshot);
    suite_add_tcase(suite, kept);
    TCase *lazy = tcase_create("lazy");
    tcase_set_timeout(lazy, test_timeout(30));
    tcase_add_checked_fixture(lazy, start_lazy, stop_kept);
    tcase_add_test(lazy, a_log_has_also_what_waits_for_the_disk);
    suite_add_tcase(suite, lazy);
    TCase *narrow = tcase_create("narrow");
    tcase_set_timeout(narrow, test_patience(60));
    tcase_add_checked_fixture(narrow, start_narrow, stop_kept);
    tcase_add_test(narrow, states_that_do_not_fit_are_not_recalled);
    suite_add_tcase(suite, narrow);
    TCase *end = tcase_create("end");
    tcase_set_timeout(end, test_timeout(30));
    tcase_add_checked_fixture(end, start, NULL);
    tcase_add_test(end, the_end_of_the_daemon_ends_a_log);
    suite_add_tcase(suite, end);
    return test_main(suite);
}
