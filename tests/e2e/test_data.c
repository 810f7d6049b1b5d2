/* Scenes on disk: a daemon that is killed and started again, a second one, files that are damaged,
 * copies. */
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[64], folder[80], copy[80], file[100];
static struct test_daemon daemon;
static struct http_client *client;
static struct http_answer answer;
static test_rng rng = {7};

static void setup(void)
{
    (void)snprintf(base, sizeof base, "%s/obbd-data-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(base));
    (void)snprintf(folder, sizeof folder, "%s/data", base);
    (void)snprintf(copy, sizeof copy, "%s/copy", base);
    (void)snprintf(file, sizeof file, "%s/backup.db", base);
}

static void empty(const char *path)
{
    DIR *dir = opendir(path);
    if (dir == NULL)
        return;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        (void)unlink(test_text("%s/%s", path, entry->d_name));
    closedir(dir);
    (void)rmdir(path);
}

static void teardown(void)
{
    http_answer_fini(&answer);
    empty(folder);
    empty(copy);
    (void)unlink(file);
    ck_assert_int_eq(rmdir(base), 0);
}

static long ask(const char *method, const char *path, const char *body)
{
    http_send(client, method, path, NULL, body, &answer);
    return answer.status;
}

/* Starts a daemon with the folder and waits until its scenes are there. Returns how often it said
 * that they are not. */
static size_t start_in(const char *data, const char *sync)
{
    daemon_start(&daemon,
                 (const char *[]){"--log-level", "error", "--data", data, "--sync", sync,
                                  "--request-timeout", "120000", NULL}); /* an import is long */
    client = http_open(daemon.url);
    size_t refused = 0;
    while (ask("GET", "/readyz", NULL) != 200) {
        ck_assert_int_eq(answer.status, 503);
        ck_assert_str_eq(http_header(&answer, "Retry-After"), "1");
        /* others meanwhile */
        ck_assert_int_eq(ask("GET", "/healthz", NULL), 200);
        ck_assert_int_eq(ask("GET", "/metrics", NULL), 200);
        const long status = ask("GET", "/v1/scenes", NULL);
        ck_assert(status == 503 || status == 200); /* the last one came by now */
        if (status == 503) {
            ck_assert_str_eq(http_header(&answer, "Retry-After"), "1");
            ck_assert_ptr_nonnull(strstr(answer.body, "the scenes are being restored"));
            refused++;
        }
    }
    return refused;
}

static void stop(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

static void kill_it(void)
{
    int status;
    ck_assert_int_eq(kill(daemon.pid, SIGKILL), 0);
    ck_assert_int_eq(waitpid(daemon.pid, &status, 0), daemon.pid);
    close(daemon.out);
}

#define BOX(x) "{\"center\":[" #x ",0,0],\"half_extents\":[1,1,1]}"

/* ---- Tests ----------------------------------------------------------------------------------- */

START_TEST(a_killed_daemon_goes_on_where_it_was)
{
    (void)start_in(folder, "commit");
    struct stat found;
    ck_assert_int_eq(stat(folder, &found), 0);
    ck_assert_uint_eq(found.st_mode & 0777, 0700);
    expect(client, "PUT", "/v1/scenes/s", "{\"history\":{\"span\":60000,\"commits\":64}}", 201,
           "{\"durable\":true}");
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":10,\"put\":{\"a\":" BOX(0) ",\"b\":" BOX(5) "},\"frames\":{\"f\":{\"center\":"
                                                                  "[1,1,1]}}}",
           200, "{\"revision\":1,\"ids\":{\"a\":1,\"b\":2}}");
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":20,\"id\":\"once\",\"pose\":{\"a\":{\"center\":[8,0,0]}},\"remove\":[\"b\"]}",
           200, "{\"revision\":2,\"removed\":1,\"repeated\":null}");
    expect(client, "POST", "/v1/scenes/s/commit", "{\"time\":35}", 200, "{\"revision\":2}");
    expect(client, "PUT", "/v1/scenes/lobby", "{\"durable\":false}", 201, NULL);
    expect(client, "POST", "/v1/scenes/s/copy", "{\"to\":\"twin\"}", 201, "{\"revision\":1}");
    expect(client, "PUT", "/v1/scenes/gone", "{}", 201, NULL);
    expect(client, "DELETE", "/v1/scenes/gone", NULL, 204, NULL);
    (void)ask("GET", "/v1/scenes/s", NULL);
    char epoch[32], tag[64], *scene = strdup(answer.body);
    (void)snprintf(epoch, sizeof epoch, "%s", http_header(&answer, "Obbd-Epoch"));
    (void)snprintf(tag, sizeof tag, "%s", http_header(&answer, "ETag"));
    (void)ask("GET", "/v1/scenes/s/log", NULL);
    char *log = strdup(answer.body);
    kill_it();
    http_close(client);
    (void)start_in(folder, "commit");
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", NULL), 200);
    ck_assert_str_eq(answer.body, scene);
    ck_assert_str_eq(http_header(&answer, "Obbd-Epoch"), epoch);
    ck_assert_str_eq(http_header(&answer, "ETag"), tag);
    ck_assert_int_eq(ask("GET", "/v1/scenes/s/log", NULL), 200);
    ck_assert_str_eq(answer.body, log);
    expect(client, "GET", "/v1/scenes", NULL, 200,
           "{\"scenes\":[{\"name\":\"s\",\"boxes\":1,\"revision\":2},"
           "{\"name\":\"twin\",\"boxes\":1,\"revision\":1}]}");
    expect(client, "GET", "/v1/scenes/s/boxes/a", NULL, 200, "{\"id\":1,\"changed\":2}");
    expect(client, "GET", "/v1/scenes/s/frames/f", NULL, 200, "{\"center\":[1,1,1]}");
    expect(
        client, "POST", "/v1/scenes/s/query/overlap",
        "{\"at\":{\"time\":15},\"shapes\":[{\"center\":[4,0,0],\"half_extents\":[0.1,0.1,0.1]}]}",
        200, "{\"at\":{\"revision\":1,\"time\":15},\"results\":[{\"boxes\":[\"a\",\"b\"]}]}");
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":20,\"id\":\"once\",\"pose\":{\"a\":{\"center\":[8,0,0]}},\"remove\":[\"b\"]}",
           200, "{\"revision\":2,\"removed\":1,\"repeated\":true}");
    expect_problem(client, "POST", "/v1/scenes/s/commit", "{\"time\":34}", 409, "/time");
    expect(client, "POST", "/v1/scenes/s/commit", "{\"time\":36,\"put\":{\"c\":" BOX(1) "}}", 200,
           "{\"revision\":3,\"ids\":{\"c\":3}}");
    free(scene);
    free(log);
    stop();
}
END_TEST

/* The demo is made beside the scenes of the folder, and is not kept there. A scene of its name that
 * was kept stays as it is, and stands still. */
START_TEST(a_demo_is_in_memory_and_leaves_a_scene_of_its_name_alone)
{
    const char *const with_demo[] = {"--log-level", "error", "--data", folder, "--demo", NULL};
    for (int round = 0; round < 2; round++) {
        daemon_start(&daemon, with_demo);
        client = http_open(daemon.url);
        while (ask("GET", "/readyz", NULL) != 200) {
        }
        expect(client, "GET", "/v1/scenes/demo", NULL, 200,
               "{\"boxes\":191,\"record\":200,\"durable\":null}");
        stop();
    }
    (void)start_in(folder, "commit");
    expect(client, "GET", "/v1/scenes", NULL, 200, "{\"scenes\":[]}");
    expect(client, "POST", "/v1/scenes/demo/commit", "{\"time\":10,\"put\":{\"a\":" BOX(0) "}}",
           200, "{\"revision\":1}");
    stop();
    daemon_start(&daemon, with_demo);
    client = http_open(daemon.url);
    while (ask("GET", "/readyz", NULL) != 200) {
    }
    test_rest(200); /* four ticks of a scene that would move */
    expect(client, "GET", "/v1/scenes/demo", NULL, 200,
           "{\"boxes\":1,\"durable\":true,\"revision\":1,\"time\":10}");
    stop();
}
END_TEST

/* Commits one after the other, and how many were answered. */
static atomic_size_t answered;

static void *commit_until_it_dies(void *context)
{
    const int fd = daemon_dial(&daemon);
    for (size_t n = *(size_t *)context + 1;; n++) {
        char body[120], got[2048];
        (void)snprintf(body, sizeof body,
                       "{\"if_revision\":%zu,\"put\":{\"a\":{\"center\":[%zu,0,0],\"half_extents\":"
                       "[1,1,1]}}}",
                       n - 1, n);
        const char *request =
            test_text("POST /v1/scenes/s/commit HTTP/1.1\r\nHost: localhost\r\n"
                      "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
                      strlen(body), body);
        if (send(fd, request, strlen(request), MSG_NOSIGNAL) != (ssize_t)strlen(request))
            break;
        const ssize_t length = read(fd, got, sizeof got - 1);
        if (length <= 0)
            break;
        got[length] = '\0';
        ck_assert_msg(strncmp(got, "HTTP/1.1 200 ", 13) == 0, "%s", got);
        atomic_store(&answered, n);
    }
    close(fd);
    return NULL;
}

START_TEST(what_was_answered_is_there_after_every_kill)
{
    size_t commits = 0, unanswered = 0;
    (void)signal(SIGPIPE, SIG_IGN);
    (void)start_in(folder, "commit");
    expect(client, "PUT", "/v1/scenes/s", "{}", 201, NULL);
    /* A busy machine commits little before each kill, and needs more turns. */
    for (size_t turns = 0; turns < test_effort(12) || commits <= 50; turns++) {
        pthread_t thread;
        atomic_store(&answered, commits);
        ck_assert_int_eq(pthread_create(&thread, NULL, commit_until_it_dies, &commits), 0);
        test_rest(5 + (long)test_below(&rng, 60));
        kill_it();
        ck_assert_int_eq(pthread_join(thread, NULL), 0);
        http_close(client);
        (void)start_in(folder, "commit");
        ck_assert_int_eq(ask("GET", "/v1/scenes/s", NULL), 200);
        json_t *scene = json_loads(answer.body, 0, NULL);
        const size_t there = (size_t)json_integer_value(json_object_get(scene, "revision"));
        json_decref(scene);
        ck_assert_uint_ge(there, atomic_load(&answered));
        ck_assert_uint_le(there, atomic_load(&answered) + 1); /* the one that was on its way */
        unanswered += there > atomic_load(&answered);
        if (there > 0)
            expect(client, "GET", "/v1/scenes/s/boxes/a", NULL, 200,
                   test_text("{\"center\":[%zu,0,0],\"id\":1,\"changed\":%zu}", there, there));
        commits = there;
    }
    stop();
    printf("%zu commits, %zu of them not answered\n", commits, unanswered);
}
END_TEST

START_TEST(commits_that_need_not_be_on_disk_are_there_when_it_ends)
{
    (void)start_in(folder, "60000");
    ck_assert_int_eq(ask("GET", "/metrics", NULL), 200);
    ck_assert_ptr_nonnull(strstr(answer.body, "\nobbd_journal_sync_after_seconds 60\n"));
    for (int i = 0; i < 20; i++)
        expect(client, "POST", "/v1/scenes/s/commit",
               test_text("{\"put\":{\"b%d\":" BOX(0) "}}", i), 200, NULL);
    stop(); /* within ten seconds */
    (void)start_in(folder, "commit");
    ck_assert_int_eq(ask("GET", "/metrics", NULL), 200);
    ck_assert_ptr_nonnull(strstr(answer.body, "\nobbd_journal_sync_after_seconds 0\n"));
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":20,\"boxes\":20}");
    stop();
}
END_TEST

START_TEST(until_its_scenes_are_there_it_answers_503)
{
    enum { BOXES = 60000 };
    char *import = malloc((size_t)BOXES * 90 + 200), *at = import;
    ck_assert_ptr_nonnull(import);
    at += sprintf(at,
                  "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"boxes\":%d,"
                  "\"history\":{\"span\":0,\"commits\":0}}\n",
                  BOXES);
    for (int i = 0; i < BOXES; i++)
        at += sprintf(at, "{\"name\":\"b%d\",\"center\":[%d,0,0],\"half_extents\":[1,1,1]}\n", i,
                      3 * i);
    (void)start_in(folder, "commit");
    http_send(client, "POST", "/v1/scenes/s/import",
              (const char *[]){"Content-Type: application/x-ndjson", NULL}, import, &answer);
    ck_assert_msg(answer.status < 300, "%s", answer.body);
    free(import);
    stop();
    size_t refused = 0;
    while (refused == 0) { /* it may be there before anybody asks; the limit of the test ends it */
        refused += start_in(folder, "commit");
        expect(client, "GET", "/v1/scenes/s", NULL, 200, test_text("{\"boxes\":%d}", BOXES));
        stop();
    }
    printf("%zu refusals\n", refused);
}
END_TEST

/* Runs the program, which ends with this status and one line that holds a text. */
static void run(const char *const *arguments, int status, const char *says)
{
    char out[1024], err[1024];
    ck_assert_msg(daemon_run(arguments, out, sizeof out, err, sizeof err) == status, "%s%s", out,
                  err);
    const char *line = status == 0 ? out : err;
    ck_assert_msg(strstr(line, says) != NULL, "%s", line);
    ck_assert_msg(strncmp(line, "obbd: ", 6) == 0 && strchr(line, '\n') == line + strlen(line) - 1,
                  "%s", line);
}

START_TEST(one_daemon_at_a_time)
{
    (void)start_in(folder, "commit");
    expect(client, "POST", "/v1/scenes/s/commit", "{\"put\":{\"a\":" BOX(0) "}}", 200, NULL);
    run((const char *[]){"--listen", "127.0.0.1:0", "--data", folder, NULL}, 1,
        "another obbd uses it");
    run((const char *[]){"--check-data", folder, NULL}, 1, "another obbd uses it");
    run((const char *[]){"--data", folder, "--backup", file, NULL}, 0, " is a copy of ");
    run((const char *[]){"--data", folder, "--backup", file, NULL}, 1, "File exists");
    expect(client, "POST", "/v1/scenes/s/commit", "{\"put\":{\"b\":" BOX(0) "}}", 200, NULL);
    stop();
    run((const char *[]){"--check-data", folder, NULL}, 0, " is whole: 1 scenes, 2 boxes, ");
    run((const char *[]){"--check-data", copy, NULL}, 1, "No such file or directory");
    ck_assert_int_eq(mkdir(copy, 0700), 0);
    run((const char *[]){"--check-data", copy, NULL}, 1, "No such file or directory");
    ck_assert_int_eq(rename(file, test_text("%s/journal.db", copy)), 0);
    run((const char *[]){"--check-data", copy, NULL}, 0, " is whole: 1 scenes, 1 boxes, ");
    (void)start_in(copy, "commit");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":1,\"boxes\":1}");
    stop();
    run((const char *[]){"--backup", file, NULL}, 1, "--backup is said of --data");
    run((const char *[]){"--sync", "7", NULL}, 1, "--sync is said of --data");
    run((const char *[]){"--data", folder, "--sync", "soon", NULL}, 1,
        "\"soon\" is neither the word commit nor milliseconds from 1 to 60000");
    run((const char *[]){"--listen", "127.0.0.1:0", "--data", "/nobody/home", NULL}, 1,
        "No such file or directory");
}
END_TEST

/* ---- Damage ---------------------------------------------------------------------------------- */

static char *read_all(const char *path, size_t *out_size)
{
    FILE *from = fopen(path, "r");
    ck_assert_ptr_nonnull(from);
    ck_assert_int_eq(fseek(from, 0, SEEK_END), 0);
    *out_size = (size_t)ftell(from);
    char *bytes = malloc(*out_size + 1);
    ck_assert_ptr_nonnull(bytes);
    rewind(from);
    ck_assert_uint_eq(fread(bytes, 1, *out_size, from), *out_size);
    (void)fclose(from);
    return bytes;
}

static void write_all(const char *path, const char *bytes, size_t size)
{
    FILE *to = fopen(path, "w");
    ck_assert_ptr_nonnull(to);
    ck_assert_uint_eq(fwrite(bytes, 1, size, to), size);
    (void)fclose(to);
}

/* Serves a damaged copy. Returns the revision of the scene whose box stands where its revision
 * says, or -1 if the daemon refuses the files with one line. */
static long serve_damaged(void)
{
    char out[600], errors[2000];
    /* --check-data sees the same as a start, and ends by itself */
    const int status = daemon_run((const char *[]){"--check-data", copy, NULL}, out, sizeof out,
                                  errors, sizeof errors);
    if (status == 1) {
        ck_assert_msg(strncmp(errors, "obbd: ", 6) == 0 &&
                          strchr(errors, '\n') == errors + strlen(errors) - 1,
                      "%s", errors);
        return -1;
    }
    ck_assert_int_eq(status, 0);
    (void)start_in(copy, "commit");
    long revision = 0;
    if (ask("GET", "/v1/scenes/s", NULL) == 200) {
        json_t *scene = json_loads(answer.body, 0, NULL);
        revision = (long)json_integer_value(json_object_get(scene, "revision"));
        json_decref(scene);
        if (revision > 0)
            expect(client, "GET", "/v1/scenes/s/boxes/a", NULL, 200,
                   test_text("{\"center\":[%ld,0,0],\"changed\":%ld}", revision, revision));
    }
    stop();
    return revision;
}

START_TEST(damaged_files_are_refused_or_are_a_beginning)
{
    enum { COMMITS = 60 };
    (void)start_in(folder, "commit");
    for (int i = 1; i <= COMMITS; i++)
        expect(client, "POST", "/v1/scenes/s/commit",
               test_text("{\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}", i),
               200, NULL);
    kill_it(); /* the write-ahead log stays */
    http_close(client);
    size_t sizes[2], refused = 0, whole = 0, part = 0;
    char *bytes[2] = {read_all(test_text("%s/journal.db", folder), &sizes[0]),
                      read_all(test_text("%s/journal.db-wal", folder), &sizes[1])};
    ck_assert_uint_gt(sizes[1], 10000);
    for (size_t turn = 0; turn < test_effort(60); turn++) {
        const size_t which = turn % 4 == 0 ? 0 : 1, at = test_below(&rng, sizes[which]);
        const bool cut = turn % 2 == 0;
        empty(copy);
        ck_assert_int_eq(mkdir(copy, 0700), 0);
        const int flip = cut ? 0 : 1 << (int)test_below(&rng, 8);
        bytes[which][at] = (char)(bytes[which][at] ^ flip);
        write_all(test_text("%s/journal.db", copy), bytes[0], cut && which == 0 ? at : sizes[0]);
        write_all(test_text("%s/journal.db-wal", copy), bytes[1],
                  cut && which == 1 ? at : sizes[1]);
        bytes[which][at] = (char)(bytes[which][at] ^ flip);
        const long revision = serve_damaged();
        ck_assert_int_le(revision, COMMITS);
        refused += revision < 0;
        whole += revision == COMMITS;
        part += revision >= 0 && revision < COMMITS;
    }
    printf("%zu damaged: %zu refused, %zu whole, %zu a beginning\n", refused + whole + part,
           refused, whole, part);
    ck_assert_uint_gt(part, 10);
    free(bytes[0]);
    free(bytes[1]);
}
END_TEST

START_TEST(a_damaged_snapshot_or_record_ends_the_start_with_one_line)
{
    (void)start_in(folder, "commit");
    for (int i = 1; i <= 200; i++)
        expect(client, "POST", "/v1/scenes/s/commit",
               test_text("{\"put\":{\"a\":{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}", i),
               200, NULL);
    stop(); /* all is in the database file by now */
    size_t size, refused = 0, named = 0;
    char *bytes = read_all(test_text("%s/journal.db", folder), &size);
    for (size_t turn = 0; turn < 12 || refused <= 5 || named == 0; turn++) {
        char out[600], err[2000];
        const size_t at = size / 3 + test_below(&rng, size / 2);
        bytes[at] = (char)(bytes[at] ^ 4);
        write_all(test_text("%s/journal.db", folder), bytes, size);
        bytes[at] = (char)(bytes[at] ^ 4);
        if (daemon_run((const char *[]){"--check-data", folder, NULL}, out, sizeof out, err,
                       sizeof err) == 0)
            continue;
        /* the daemon itself: it listens, finds the damage, and ends */
        ck_assert_int_eq(
            daemon_run((const char *[]){"--listen", "127.0.0.1:0", "--data", folder, NULL}, out,
                       sizeof out, err, sizeof err),
            1);
        ck_assert_msg(strncmp(err, "obbd: --data ", 13) == 0 &&
                          strchr(err, '\n') == err + strlen(err) - 1,
                      "%s", err);
        refused++;
        named += strstr(err, " is damaged: record ") != NULL &&
                 strstr(err, " of the scene \"s\" is not what was written") != NULL;
    }
    free(bytes);
    printf("%zu refused, %zu of them with record and scene\n", refused, named);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data");
    TCase *tc = tcase_create("data");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_patience(120));
    tcase_add_test(tc, a_killed_daemon_goes_on_where_it_was);
    tcase_add_test(tc, a_demo_is_in_memory_and_leaves_a_scene_of_its_name_alone);
    tcase_add_test(tc, what_was_answered_is_there_after_every_kill);
    tcase_add_test(tc, commits_that_need_not_be_on_disk_are_there_when_it_ends);
    tcase_add_test(tc, until_its_scenes_are_there_it_answers_503);
    tcase_add_test(tc, one_daemon_at_a_time);
    tcase_add_test(tc, damaged_files_are_refused_or_are_a_beginning);
    tcase_add_test(tc, a_damaged_snapshot_or_record_ends_the_start_with_one_line);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
