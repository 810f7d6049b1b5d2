/* Real traffic through the real daemon: every frame of every recorded sequence is one commit, and
 * the all-pairs answer after it must equal brute force over the boxes that were sent. Skipped, and
 * said so, where the recordings are not there. */
#include "core/obb.h"
#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FOLDER "../shared/data/real"
enum { MOST = 1024 }; /* objects in one frame at most */

struct object {
    char name[64];
    obb_solid solid;
    bool seen;
};

struct replay {
    struct http_client *client;
    struct http_answer answer;
    char scene[256];
    struct object objects[MOST]; /* those of the last frame, in the order they were first sent */
    size_t count;
    size_t frames, boxes, pairs;
};

static struct object *find(struct replay *replay, const char *name)
{
    for (size_t i = 0; i < replay->count; i++)
        if (strcmp(replay->objects[i].name, name) == 0)
            return &replay->objects[i];
    return NULL;
}

static double number(const json_t *object, size_t i)
{
    return json_number_value(json_array_get(object, i));
}

/* The object [class, id, center 3, half extents 3, quaternion w x y z] as the body of a put. */
static json_t *put_of(const json_t *object)
{
    return json_pack("{s:[f,f,f],s:[f,f,f],s:[f,f,f,f]}", "center", number(object, 2),
                     number(object, 3), number(object, 4), "half_extents", number(object, 5),
                     number(object, 6), number(object, 7), "rotation", number(object, 9),
                     number(object, 10), number(object, 11), number(object, 8));
}

static obb_solid solid_of(const json_t *object)
{
    obb_box box;
    const obb_vec3 center = {number(object, 2), number(object, 3), number(object, 4)};
    const obb_vec3 half = {number(object, 5), number(object, 6), number(object, 7)};
    const obb_quat turn = {number(object, 9), number(object, 10), number(object, 11),
                           number(object, 8)};
    ck_assert_int_eq(obb_box_from_pose(center, half, turn, 0, 3, &box), OBB_OK);
    return obb_solid_from_box(&box, 3);
}

/* Drops the objects that the frame did not name, keeping the order, and lists their names. */
static json_t *drop_unseen(struct replay *replay)
{
    json_t *gone = json_array();
    size_t kept = 0;
    for (size_t i = 0; i < replay->count; i++) {
        if (replay->objects[i].seen)
            replay->objects[kept++] = replay->objects[i];
        else
            json_array_append_new(gone, json_string(replay->objects[i].name));
    }
    replay->count = kept;
    return gone;
}

/* Sends the frame as one commit: what is gone is removed, what is there is put. */
static void commit(struct replay *replay, const json_t *frame)
{
    for (size_t i = 0; i < replay->count; i++)
        replay->objects[i].seen = false;

    json_t *put = json_object();
    const json_t *object = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(frame, "objs"), i, object)
    {
        const char *name = test_text("%s-%lld", json_string_value(json_array_get(object, 0)),
                                     (long long)json_integer_value(json_array_get(object, 1)));
        struct object *known = find(replay, name);
        if (known == NULL) {
            ck_assert_uint_lt(replay->count, MOST);
            known = &replay->objects[replay->count++];
            *known = (struct object){0};
            (void)snprintf(known->name, sizeof known->name, "%s", name);
        }
        ck_assert_msg(!known->seen, "%s twice in one frame", name);
        known->seen = true;
        known->solid = solid_of(object);
        json_object_set_new(put, name, put_of(object));
        replay->boxes++;
    }
    json_t *body = json_pack("{s:f,s:o,s:o}", "time", 100.0 * (double)replay->frames, "remove",
                             drop_unseen(replay), "put", put);
    char *text = json_dumps(body, JSON_COMPACT | JSON_REAL_PRECISION(17));
    http_send(replay->client, "POST", test_text("/v1/scenes/%s/commit", replay->scene), NULL, text,
              &replay->answer);
    ck_assert_msg(replay->answer.status == 200, "%s", replay->answer.body);
    free(text);
    json_decref(body);
}

/* The daemon's answer against every pair tested by hand: the same names in the same order. */
static void compare(struct replay *replay)
{
    http_send(replay->client, "POST", test_text("/v1/scenes/%s/query/all-pairs", replay->scene),
              NULL, NULL, &replay->answer);
    ck_assert_msg(replay->answer.status == 200, "%s", replay->answer.body);
    json_t *answer = json_loads(replay->answer.body, 0, NULL);
    const json_t *pairs = json_object_get(answer, "pairs");
    size_t next = 0;
    for (size_t a = 0; a < replay->count; a++)
        for (size_t b = a + 1; b < replay->count; b++) {
            if (!obb_sat_overlap(&replay->objects[a].solid, &replay->objects[b].solid))
                continue;
            const json_t *pair = json_array_get(pairs, next++);
            ck_assert_msg(pair != NULL, "scene %s frame %zu: the pair %s %s is missing",
                          replay->scene, replay->frames, replay->objects[a].name,
                          replay->objects[b].name);
            ck_assert_str_eq(json_string_value(json_array_get(pair, 0)), replay->objects[a].name);
            ck_assert_str_eq(json_string_value(json_array_get(pair, 1)), replay->objects[b].name);
        }
    ck_assert_uint_eq(json_array_size(pairs), next);
    ck_assert_int_eq(json_integer_value(json_object_get(answer, "count")), (json_int_t)next);
    replay->pairs += next;
    json_decref(answer);
}

static void replay_file(struct replay *replay, const char *path)
{
    FILE *file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    char *line = NULL;
    size_t capacity = 0;
    replay->count = 0;
    while (getline(&line, &capacity, file) > 0) {
        json_t *frame = json_loads(line, 0, NULL);
        ck_assert_ptr_nonnull(frame);
        if (json_object_get(frame, "meta") == NULL) {
            commit(replay, frame);
            compare(replay);
            replay->frames++;
        }
        json_decref(frame);
    }
    free(line);
    (void)fclose(file);
}

/* Writes the log of the scene into the file, as it comes over a connection. */
static void save_log(const struct test_daemon *daemon, const char *scene, const char *path)
{
    static char bytes[65536];
    const int s = daemon_dial(daemon);
    dial_send(s, test_text("GET /v1/scenes/%s/log HTTP/1.0\r\nHost: localhost\r\n\r\n", scene));
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    size_t head = 0; /* of the blank line that ends the head, so many bytes were seen */
    for (ssize_t n; (n = recv(s, bytes, sizeof bytes, 0)) > 0;) {
        ssize_t i = 0;
        for (; head < 4 && i < n; i++)
            head = bytes[i] == "\r\n\r\n"[head] ? head + 1 : bytes[i] == '\r';
        (void)fwrite(bytes + i, 1, (size_t)(n - i), file);
    }
    (void)close(s);
    ck_assert_int_eq(fclose(file), 0);
}

/* Runs --verify on the file and returns what it says. */
static const char *verify(const char *path, int status)
{
    static char out[512], err[512];
    const int got =
        daemon_run((const char *const[]){"--verify", path, NULL}, out, sizeof out, err, sizeof err);
    ck_assert_msg(got == status, "%d: %s%s", got, out, err);
    return out;
}

/* The log of the sequence makes the same states; with one digit of the last frame flipped it does
 * not, and the revision is named. */
static void check_log(const struct test_daemon *daemon, const struct replay *replay, size_t frames)
{
    char path[64];
    (void)snprintf(path, sizeof path, "%s/obbd-replay-XXXXXX", test_folder());
    const int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    (void)close(descriptor);
    save_log(daemon, replay->scene, path);
    const char *said = verify(path, 0);
    ck_assert_msg(
        strstr(said, test_text(": equal; %zu commits up to revision %zu", frames, frames)) != NULL,
        "%s", said);

    FILE *file = fopen(path, "r+");
    (void)fseek(file, -4096, SEEK_END);
    char end[4097] = "";
    const size_t size = fread(end, 1, sizeof end - 1, file);
    const char *center = end, *last = NULL;
    while ((center = strstr(center, "\"center\":[")) != NULL)
        last = center++;
    ck_assert_ptr_nonnull(last);
    size_t at = (size_t)(last - end) + 10;
    at += end[at] == '-';
    (void)fseek(file, -(long)(size - at), SEEK_END);
    (void)fputc(end[at] == '1' ? '2' : '1', file);
    ck_assert_int_eq(fclose(file), 0);
    said = verify(path, 1);
    ck_assert_msg(strstr(said, test_text(": revision %zu differs (line ", frames)) != NULL, "%s",
                  said);
    (void)unlink(path);
}

START_TEST(every_recorded_frame_answers_like_brute_force)
{
    DIR *folder = opendir(FOLDER);
    if (folder == NULL) {
        printf("skipped: the recordings are not in " FOLDER "\n");
        return;
    }
    struct test_daemon daemon;
    /* the history keeps every frame, for the log */
    daemon_start(&daemon, (const char *const[]){"--history-max", "1e9", "--history", "1e9",
                                                "--history-commits", "4096", NULL});
    static struct replay replay;
    replay.client = http_open(daemon.url);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    size_t files = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        const char *end = strstr(entry->d_name, ".jsonl");
        if (end == NULL)
            continue;
        (void)snprintf(replay.scene, sizeof replay.scene, "%.*s", (int)(end - entry->d_name),
                       entry->d_name);
        const size_t before = replay.frames;
        replay_file(&replay, test_text(FOLDER "/%s", entry->d_name));
        check_log(&daemon, &replay, replay.frames - before);
        files++;
    }
    closedir(folder);
    clock_gettime(CLOCK_MONOTONIC, &to);
    printf("replayed %zu frames of %zu sequences, %zu boxes put, %zu pairs found, no difference "
           "from brute force; their logs are equal; %.2f s\n",
           replay.frames, files, replay.boxes, replay.pairs,
           (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9);
    ck_assert_uint_gt(replay.frames, 0);
    ck_assert_uint_gt(replay.pairs, 0); /* all misses would prove nothing */
    http_answer_fini(&replay.answer);
    http_close(replay.client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("replay");
    TCase *tc = tcase_create("replay");
    tcase_set_timeout(tc, test_timeout(120));
    tcase_add_test(tc, every_recorded_frame_answers_like_brute_force);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
