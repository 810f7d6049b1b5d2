/* Events end to end: clients commit at once and at random, followers with all kinds of filters and
 * rates come, go and come back, and what each of them puts together from its messages is at every
 * revision the set of pairs that it asked for, the boxes and their poses, by brute force over a
 * model of its own. */
#include "core/obb.h"
#include "tests/support/daemon.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
    WRITERS = 4,
    ROUNDS = 300, /* requests of a writer */
    FOLLOWERS = 9,
    BOXES = 32,
    EDITS = 16,                       /* of one commit at most */
    REVISIONS = WRITERS * ROUNDS + 2, /* of a scene at most */
    KEPT = 200,                       /* commits in the history of a scene */
    LATE = 300,                       /* commits: more than that */
    AHEAD = 32
};

/* Writers go ahead of those who follow every commit, but not far: the daemon drops who falls
 * behind. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t further;
    size_t made, allowed; /* commits */
    size_t done;          /* writers */
} pace = {.lock = PTHREAD_MUTEX_INITIALIZER, .further = PTHREAD_COND_INITIALIZER};

/* ---- Sets of pairs --------------------------------------------------------------------------- */

struct pairs {
    uint64_t rows[BOXES]; /* bit b of row a, a < b */
};

/* false: it was so already. */
static bool pairs_put(struct pairs *pairs, size_t a, size_t b, bool on)
{
    uint64_t *row = &pairs->rows[a < b ? a : b];
    const uint64_t bit = UINT64_C(1) << (a < b ? b : a);
    const bool was = (*row & bit) != 0;
    *row = on ? *row | bit : *row & ~bit;
    return was != on;
}

static size_t pairs_count(const struct pairs *pairs)
{
    size_t count = 0;
    for (size_t a = 0; a < BOXES; a++)
        for (size_t b = a + 1; b < BOXES; b++)
            count += pairs->rows[a] >> b & 1;
    return count;
}

/* ---- What writers send ----------------------------------------------------------------------- */

/* One change of one box; a commit is a list of them in the order in which they are applied. */
struct edit {
    enum { REMOVE, PUT, POSE, SHIFT, MARK } kind;
    size_t box;
    obb_vec3 center; /* PUT, POSE; by how much: SHIFT */
    obb_vec3 half_extents;
    obb_quat rotation;
    bool turned; /* POSE: has a rotation */
    uint32_t category, mask;
    int32_t group;
    size_t entity; /* PUT: of entities[] */
};

static const char *const entities[] = {"", "e0", "e1"};

struct commit {
    long revision;
    struct edit edits[EDITS];
    size_t count;
};

struct writer {
    const struct test_daemon *daemon;
    char scene[64];
    size_t number;
    test_rng rng;
    struct commit commits[ROUNDS];
    size_t count, serial;
    char fault[512]; /* what went wrong, in the thread that cannot fail the test itself */
};

/* Places are multiples of 1/8, so that what touches does so exactly, and shifts are exact. */
static double random_place(test_rng *rng, double size)
{
    return (double)(int)test_uniform(rng, -8 * size, 8 * size) / 8;
}

static obb_vec3 random_center(test_rng *rng, double size)
{
    const double x = random_place(rng, size), y = random_place(rng, size);
    return (obb_vec3){x, y, random_place(rng, size / 4)};
}

static obb_quat random_turn(test_rng *rng)
{
    static const obb_quat turns[] = {
        {0, 0, 0, 1},         {0, 0, 0, 1},         {0.6, 0, 0, 0.8},     {0, 0.28, 0, 0.96},
        {0.5, 0.5, 0.5, 0.5}, {0.1, 0.7, 0.1, 0.7}, {0.5, -0.1, 0.7, 0.5}};
    return turns[test_below(rng, sizeof turns / sizeof turns[0])];
}

static void random_marks(test_rng *rng, struct edit *edit)
{
    static const uint32_t masks[] = {UINT32_MAX, UINT32_MAX, UINT32_MAX, 1, 2, 0};
    static const int32_t groups[] = {0, 0, 0, 0, 1, -1};
    edit->category = 1 + (uint32_t)test_below(rng, 3);
    edit->mask = masks[test_below(rng, 6)];
    edit->group = groups[test_below(rng, 6)];
}

/* A box that none of the commit's edits of that kind has; how many boxes there are is more than a
 * commit has edits. */
static size_t another_box(test_rng *rng, const struct commit *commit, int kind)
{
    for (;;) {
        const size_t box = test_below(rng, BOXES);
        bool taken = false;
        for (size_t i = 0; i < commit->count; i++)
            taken = taken || ((int)commit->edits[i].kind == kind && commit->edits[i].box == box);
        if (!taken)
            return box;
    }
}

static struct edit *add(struct commit *commit, int kind, size_t box)
{
    struct edit *edit = &commit->edits[commit->count++];
    *edit = (struct edit){.kind = kind, .box = box};
    return edit;
}

static json_t *vector(obb_vec3 v) { return json_pack("[f,f,f]", v.x, v.y, v.z); }

static json_t *quaternion(obb_quat q) { return json_pack("[f,f,f,f]", q.x, q.y, q.z, q.w); }

static json_t *make_removes(test_rng *rng, struct commit *commit)
{
    json_t *remove = json_array();
    for (size_t n = test_below(rng, 3); n > 0; n--) {
        const struct edit *edit = add(commit, REMOVE, another_box(rng, commit, REMOVE));
        json_array_append_new(remove, json_sprintf("b%zu", edit->box));
    }
    return remove;
}

static json_t *put_of(const struct edit *edit)
{
    json_t *put =
        json_pack("{s:o,s:o,s:o,s:I,s:I,s:i}", "center", vector(edit->center), "half_extents",
                  vector(edit->half_extents), "rotation", quaternion(edit->rotation), "category",
                  (json_int_t)edit->category, "mask", (json_int_t)edit->mask, "group", edit->group);
    if (edit->entity > 0)
        json_object_set_new(put, "entity", json_string(entities[edit->entity]));
    return put;
}

/* The first may take the name of a box that the same commit removes. */
static json_t *make_puts(test_rng *rng, struct commit *commit)
{
    json_t *put = json_object();
    bool renews = commit->count > 0 && test_below(rng, 2) == 0;
    for (size_t n = test_below(rng, 4); n > 0; n--, renews = false) {
        const size_t box = renews ? commit->edits[0].box : another_box(rng, commit, PUT);
        struct edit *edit = add(commit, PUT, box);
        edit->center = random_center(rng, 6);
        edit->half_extents = (obb_vec3){1, 0.5 + (double)test_below(rng, 3) / 2, 1};
        edit->rotation = random_turn(rng);
        random_marks(rng, edit);
        edit->entity = test_below(rng, 3);
        json_object_set_new(put, test_text("b%zu", box), put_of(edit));
    }
    return put;
}

/* By name, or in columns without rotations. */
static json_t *make_poses(test_rng *rng, struct commit *commit)
{
    const bool columns = test_below(rng, 3) == 0;
    json_t *pose = json_object(), *names = json_array(), *centers = json_array();
    for (size_t n = test_below(rng, 6); n > 0; n--) {
        struct edit *edit = add(commit, POSE, another_box(rng, commit, POSE));
        edit->center = random_center(rng, 6);
        edit->turned = !columns && test_below(rng, 2) == 0;
        edit->rotation = random_turn(rng);
        if (columns) {
            json_t *center = vector(edit->center);
            json_array_append_new(names, json_sprintf("b%zu", edit->box));
            json_array_extend(centers, center);
            json_decref(center);
            continue;
        }
        json_t *one = json_pack("{s:o}", "center", vector(edit->center));
        if (edit->turned)
            json_object_set_new(one, "rotation", quaternion(edit->rotation));
        if (test_below(rng, 4) == 0)
            json_object_set_new(one, "teleport", json_true());
        json_object_set_new(pose, test_text("b%zu", edit->box), one);
    }
    if (columns) {
        json_object_set(pose, "names", names);
        json_object_set(pose, "centers", centers);
    }
    json_decref(names);
    json_decref(centers);
    return pose;
}

static json_t *make_shifts(test_rng *rng, struct commit *commit)
{
    json_t *transform = json_object();
    for (size_t n = test_below(rng, 3); n > 0; n--) {
        struct edit *edit = add(commit, SHIFT, another_box(rng, commit, SHIFT));
        edit->center = random_center(rng, 2);
        json_object_set_new(transform, test_text("b%zu", edit->box),
                            json_pack("{s:o}", "translate", vector(edit->center)));
    }
    return transform;
}

/* Boxes are there or not, depending on others. A box that is far away changes with each commit, so
 * that each has its revision. */
static json_t *make_commit(struct writer *w, struct commit *commit)
{
    json_t *remove = make_removes(&w->rng, commit), *put = make_puts(&w->rng, commit);
    json_object_set_new(put, test_text("serial-%zu", w->number),
                        json_pack("{s:[i,i,i],s:[i,i,i]}", "center", (int)w->serial++, 1000,
                                  100 * (int)w->number, "half_extents", 0, 0, 0));
    json_t *pose = make_poses(&w->rng, commit), *transform = make_shifts(&w->rng, commit);
    return json_pack("{s:o,s:o,s:o,s:o,s:b}", "remove", remove, "put", put, "pose", pose,
                     "transform", transform, "ignore_missing", 1);
}

/* Groups and masks of one box, and something that is always new. */
static json_t *make_patch(struct writer *w, struct commit *commit)
{
    struct edit *edit = add(commit, MARK, test_below(&w->rng, BOXES));
    random_marks(&w->rng, edit);
    return json_pack("{s:I,s:I,s:i,s:[I,I]}", "category", (json_int_t)edit->category, "mask",
                     (json_int_t)edit->mask, "group", edit->group, "data", (json_int_t)w->number,
                     (json_int_t)w->serial++);
}

/* Sends the next commit, which is in its place already. */
static void send_commit(struct writer *w, struct http_client *client, const char *method,
                        const char *path, json_t *body, struct http_answer *answer)
{
    struct commit *commit = &w->commits[w->count];
    char *text = json_dumps(body, JSON_COMPACT);
    http_send(client, method, path, NULL, text, answer);
    free(text);
    json_decref(body);
    if (commit->edits[0].kind == MARK && answer->status == 404)
        return; /* the box is not there now, and nothing was changed */
    json_t *said = answer->status == 200 ? json_loads(answer->body, 0, NULL) : NULL;
    commit->revision = (long)json_integer_value(json_object_get(said, "revision"));
    json_decref(said);
    if (commit->revision == 0)
        (void)snprintf(w->fault, sizeof w->fault, "%s: %ld %.300s", path, answer->status,
                       answer->body);
    w->count++;
}

static void write_some(struct writer *w, struct http_client *client, struct http_answer *answer)
{
    struct commit *commit = &w->commits[w->count];
    *commit = (struct commit){0};
    if (test_below(&w->rng, 6) == 0) {
        json_t *body = make_patch(w, commit);
        send_commit(w, client, "PATCH", test_text("%s/boxes/b%zu", w->scene, commit->edits[0].box),
                    body, answer);
    } else {
        send_commit(w, client, "POST", test_text("%s/commit", w->scene), make_commit(w, commit),
                    answer);
    }
}

/* One that every follower hears of: two boxes that overlap are made anew. */
static void write_last(struct writer *w, struct http_client *client, struct http_answer *answer)
{
    struct commit *commit = &w->commits[w->count];
    *commit = (struct commit){0};
    json_t *remove = json_array(), *put = json_object();
    for (size_t box = 0; box < 2; box++) {
        (void)add(commit, REMOVE, box);
        json_array_append_new(remove, json_sprintf("b%zu", box));
    }
    for (size_t box = 0; box < 2; box++) {
        struct edit *edit = add(commit, PUT, box);
        edit->half_extents = (obb_vec3){1, 1, 1};
        edit->rotation.w = 1;
        edit->category = edit->mask = UINT32_MAX;
        edit->entity = 1;
        json_object_set_new(put, test_text("b%zu", box), put_of(edit));
    }
    send_commit(w, client, "POST", test_text("%s/commit", w->scene),
                json_pack("{s:o,s:o}", "remove", remove, "put", put), answer);
}

static void *write_all(void *context)
{
    struct writer *w = context;
    struct http_client *client = http_open(w->daemon->url);
    struct http_answer answer = {0};
    pthread_mutex_lock(&pace.lock);
    for (size_t i = 0; i < ROUNDS && w->fault[0] == '\0'; i++) {
        while (pace.made >= pace.allowed)
            pthread_cond_wait(&pace.further, &pace.lock);
        pthread_mutex_unlock(&pace.lock);
        const size_t before = w->count;
        write_some(w, client, &answer);
        pthread_mutex_lock(&pace.lock);
        pace.made += w->count - before;
    }
    pace.done++;
    pthread_mutex_unlock(&pace.lock);
    http_answer_fini(&answer);
    http_close(client);
    return NULL;
}

/* ---- The model: the boxes after each commit, and their pairs by brute force ------------------ */

struct model {
    struct model_box {
        bool there;
        obb_vec3 center, half_extents;
        obb_quat rotation;
        uint32_t category, mask;
        int32_t group;
        size_t entity;
    } boxes[BOXES];
    struct pairs truth[REVISIONS];             /* by revision */
    struct model_box states[REVISIONS][BOXES]; /* likewise */
    long puts[REVISIONS];                      /* entries, of all commits up to that */
    long revisions;
};

static void apply_edit(struct model *model, const struct edit *edit)
{
    struct model_box *box = &model->boxes[edit->box];
    if (edit->kind == PUT)
        box->there = true;
    else if (!box->there)
        return;
    if (edit->kind == REMOVE)
        box->there = false;
    if (edit->kind == PUT || edit->kind == POSE)
        box->center = edit->center;
    if (edit->kind == SHIFT)
        box->center = obb_add(box->center, edit->center);
    if (edit->kind == PUT)
        box->half_extents = edit->half_extents;
    if (edit->kind == PUT || (edit->kind == POSE && edit->turned))
        box->rotation = edit->rotation;
    if (edit->kind == PUT || edit->kind == MARK) {
        box->category = edit->category;
        box->mask = edit->mask;
        box->group = edit->group;
    }
    if (edit->kind == PUT)
        box->entity = edit->entity;
}

static bool may_collide(const struct model_box *a, const struct model_box *b)
{
    if (a->group == b->group && a->group != 0)
        return a->group > 0;
    return (a->category & b->mask) != 0 && (b->category & a->mask) != 0;
}

static struct pairs all_pairs(const struct model *model)
{
    struct pairs pairs = {0};
    obb_solid solids[BOXES];
    for (size_t a = 0; a < BOXES; a++) {
        const struct model_box *box = &model->boxes[a];
        obb_box canonical;
        if (!box->there)
            continue;
        ck_assert_int_eq(
            obb_box_from_pose(box->center, box->half_extents, box->rotation, 0, 3, &canonical),
            OBB_OK);
        solids[a] = obb_solid_from_box(&canonical, 3);
        for (size_t b = 0; b < a; b++)
            if (model->boxes[b].there && may_collide(box, &model->boxes[b]) &&
                obb_sat_overlap(&solids[a], &solids[b]))
                (void)pairs_put(&pairs, a, b, true);
    }
    return pairs;
}

static int by_revision(const void *a, const void *b)
{
    const struct commit *const *x = a, *const *y = b;
    return (*x)->revision < (*y)->revision ? -1 : (*x)->revision > (*y)->revision;
}

/* From what all writers wrote down: every commit raised the revision by one. */
static void model_replay(struct model *model, const struct writer *writers)
{
    static const struct commit *commits[REVISIONS];
    size_t count = 0;
    for (size_t w = 0; w <= WRITERS; w++)
        for (size_t i = 0; i < writers[w].count; i++)
            commits[count++] = &writers[w].commits[i];
    qsort(commits, count, sizeof commits[0], by_revision);
    memset(model, 0, sizeof *model);
    for (size_t i = 0; i < count; i++) {
        ck_assert_int_eq(commits[i]->revision, (long)i + 1);
        const struct edit *edits = commits[i]->edits;
        const bool serial = edits[0].kind != MARK && i + 1 < count; /* a box that is not here */
        model->puts[i + 1] = model->puts[i] + serial;
        for (size_t e = 0; e < commits[i]->count; e++) {
            apply_edit(model, &edits[e]);
            model->puts[i + 1] += edits[e].kind == PUT || edits[e].kind == MARK;
        }
        model->truth[i + 1] = all_pairs(model);
        memcpy(model->states[i + 1], model->boxes, sizeof model->boxes);
    }
    model->revisions = (long)count;
}

/* ---- Followers ------------------------------------------------------------------------------- */

/* What the followers ask for, beside collisions. */
static const struct asks {
    const char *text;
    bool boxes, commits, rate;
    const char *prefix, *entity;
    uint32_t category; /* 0: any */
} all_asks[FOLLOWERS] = {
    {.text = ",commits", .commits = true},
    {.text = ""},
    {.text = ",boxes,commits&include=pose", .boxes = true, .commits = true},
    {.text = "&prefix=b1", .prefix = "b1"},
    {.text = ",boxes,commits&include=pose&entity=e0",
     .boxes = true,
     .commits = true,
     .entity = "e0"},
    {.text = ",boxes&include=pose&rate=200", .boxes = true, .rate = true},
    {.text = ",boxes,commits&include=pose&rate=50&category=2",
     .boxes = true,
     .commits = true,
     .rate = true,
     .category = 2},
    {.text = ",commits&rate=999.5&entity=e0&prefix=b",
     .commits = true,
     .rate = true,
     .entity = "e0",
     .prefix = "b"},
    /* so seldom that several commits are joined where they take long, too */
    {.text = ",boxes,commits&include=pose&rate=5", .boxes = true, .commits = true, .rate = true},
};

static bool passes(const struct asks *asks, size_t i, const struct model_box *box)
{
    const char *name = test_text("b%zu", i), *prefix = asks->prefix != NULL ? asks->prefix : "";
    return box->there && strncmp(name, prefix, strlen(prefix)) == 0 &&
           (asks->entity == NULL || strcmp(entities[box->entity], asks->entity) == 0) &&
           (asks->category == 0 || (box->category & asks->category) != 0);
}

/* Boxes as a follower knows them, by name. */
struct boxes {
    struct known_box {
        bool there, sized; /* sized: no later put may have changed its half extents */
        json_int_t id;
        double pose[7], half_extents[3];
    } boxes[BOXES];
    json_int_t serials[WRITERS + 1]; /* ids of the boxes that are far away */
    bool lost;                       /* it could not read them */
};

/* What a follower knew after a revision, and, unless the next one is fresh, up to the next. */
struct sight {
    long revision, puts; /* puts: that its commits said; -1: none did */
    bool fresh;          /* it was told anew */
    struct pairs pairs;
    struct boxes *boxes; /* owned, or NULL */
};

struct watcher {
    struct follower stream;
    test_rng rng;
    const struct asks *asks;
    char scene[64], path[128];
    bool connected, every;     /* every: it follows commits one by one, so hears of each */
    bool returning;            /* it said where it stopped, and has had no answer yet */
    long last;                 /* revision of the last message with an id; -1: none yet */
    struct pairs known, draft; /* after that revision; with the messages since */
    int balance[BOXES][BOXES]; /* begins less ends since */
    struct boxes boxes, box_draft;
    long puts;
    bool fresh;
    size_t leaves_after, returns_at; /* messages; commits */
    struct sight sights[2 * REVISIONS];
    size_t count;
};

static struct http_client *reader; /* for those that must read the boxes anew */

static struct {
    size_t commits, messages, resumes, states, overruns, sets, pairs, begins, ends;
    size_t boxes, moved, read, unreadable, both, joined;
} seen;

static void come(struct watcher *w, const struct test_daemon *daemon)
{
    char last[32];
    (void)snprintf(last, sizeof last, "%ld", w->last);
    follower_open(&w->stream, daemon_dial(daemon), w->path, w->last >= 0 ? last : NULL);
    w->connected = true;
    w->returning = w->last >= 0;
    w->draft = w->known;
    w->box_draft = w->boxes;
    memset(w->balance, 0, sizeof w->balance);
    w->puts = -1;
    w->fresh = false;
    w->leaves_after = 1 + test_below(&w->rng, 120);
}

static void go(struct watcher *w)
{
    follower_close(&w->stream);
    w->connected = false;
    const size_t away = test_below(&w->rng, 4) == 0 ? LATE : 0;
    w->returns_at = (size_t)(w->last > 0 ? w->last : 0) + away + test_below(&w->rng, 12);
}

static size_t box_of(const json_t *name)
{
    const char *text = json_string_value(name);
    ck_assert_msg(text != NULL && text[0] == 'b', "%s", text);
    const size_t box = strtoul(text + 1, NULL, 10);
    ck_assert_uint_lt(box, BOXES);
    return box;
}

/* Each pair must be news, unless a rate joins several commits: then begins less ends are what
 * counts. */
static void apply_pairs(struct watcher *w, const json_t *message, bool on)
{
    const json_t *pair = NULL, *pairs = json_object_get(message, "pairs");
    ck_assert(json_is_array(pairs));
    size_t i = 0;
    json_array_foreach(pairs, i, pair)
    {
        const size_t a = box_of(json_array_get(pair, 0)), b = box_of(json_array_get(pair, 1));
        int *balance = &w->balance[a < b ? a : b][a < b ? b : a];
        *balance += on ? 1 : -1;
        ck_assert_msg(w->asks->rate || pairs_put(&w->draft, a, b, on), "%s, after %ld: %zu %zu",
                      w->path, w->last, a, b);
        seen.both += w->asks->rate && on && *balance == 0;
    }
}

static void settle_pairs(struct watcher *w)
{
    for (size_t a = 0; a < BOXES && w->asks->rate; a++)
        for (size_t b = a + 1; b < BOXES; b++) {
            const int was = (int)(w->draft.rows[a] >> b & 1), is = was + w->balance[a][b];
            ck_assert_msg(is == 0 || is == 1, "%s, after %ld: %zu %zu %d times", w->path, w->last,
                          a, b, is);
            (void)pairs_put(&w->draft, a, b, is == 1);
        }
    memset(w->balance, 0, sizeof w->balance);
}

static double number_at(const json_t *array, size_t i)
{
    return json_number_value(json_array_get(array, i));
}

static const json_t *member(const json_t *object, const char *first, const char *second)
{
    const json_t *found = json_object_get(json_object_get(object, first), second);
    ck_assert_msg(json_is_array(found), "%s %s", first, second);
    return found;
}

static bool is_serial(const json_t *name) { return json_string_value(name)[0] == 's'; }

static void learn_new(struct boxes *known, const json_t *message)
{
    const json_t *ids = member(message, "new", "ids"), *names = member(message, "new", "names");
    const json_t *sizes = member(message, "new", "half_extents");
    ck_assert_uint_eq(json_array_size(names), json_array_size(ids));
    ck_assert_uint_eq(json_array_size(sizes), 3 * json_array_size(ids));
    ck_assert_uint_eq(json_array_size(member(message, "new", "entities")), json_array_size(ids));
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *name = json_array_get(names, i);
        const json_int_t id = json_integer_value(json_array_get(ids, i));
        if (is_serial(name)) {
            known->serials[strtoul(json_string_value(name) + 7, NULL, 10)] = id;
            continue;
        }
        struct known_box *box = &known->boxes[box_of(name)];
        *box = (struct known_box){.there = true, .sized = true, .id = id};
        for (size_t k = 0; k < 3; k++)
            box->half_extents[k] = number_at(sizes, 3 * i + k);
    }
}

static void learn_poses(struct watcher *w, struct boxes *known, const json_t *message)
{
    const json_t *ids = member(message, "columns", "ids");
    const json_t *centers = member(message, "columns", "centers");
    const json_t *rotations = member(message, "columns", "rotations");
    const size_t count = json_array_size(ids);
    ck_assert_uint_eq(json_array_size(centers), 3 * count);
    ck_assert_uint_eq(json_array_size(rotations), 4 * count);
    ck_assert_uint_eq(count, json_array_size(json_object_get(message, "put")) +
                                 json_array_size(json_object_get(message, "posed")));
    for (size_t i = 0; i < count; i++) {
        const json_int_t id = json_integer_value(json_array_get(ids, i));
        struct known_box *box = NULL;
        bool serial = false;
        for (size_t k = 0; k < BOXES; k++)
            if (known->boxes[k].there && known->boxes[k].id == id)
                box = &known->boxes[k];
        for (size_t k = 0; k <= WRITERS; k++)
            serial = serial || known->serials[k] == id;
        ck_assert_msg((box != NULL) != serial, "%s, after %ld: id %lld is not known", w->path,
                      w->last, (long long)id);
        for (size_t k = 0; k < 7 && box != NULL; k++)
            box->pose[k] =
                k < 3 ? number_at(centers, 3 * i + k) : number_at(rotations, 4 * i + k - 3);
        seen.moved++;
    }
}

static void apply_boxes(struct watcher *w, const json_t *message)
{
    struct boxes *known = &w->box_draft;
    const json_t *name = NULL, *put = json_object_get(message, "put");
    const json_t *removed = json_object_get(message, "removed");
    ck_assert_uint_gt(json_array_size(put) + json_array_size(removed) +
                          json_array_size(json_object_get(message, "posed")),
                      0); /* no empty message */
    if (known->lost)
        return;
    size_t i = 0;
    json_array_foreach(removed, i, name) known->boxes[box_of(name)].there = false;
    json_array_foreach(put, i, name) if (!is_serial(name)) known->boxes[box_of(name)].sized = false;
    learn_new(known, message);
    learn_poses(w, known, message);
}

/* After a state, all boxes are read as they were then. */
static void read_boxes(struct watcher *w, long revision)
{
    struct http_answer answer = {0};
    memset(&w->box_draft, 0, sizeof w->box_draft);
    http_send(reader, "GET", test_text("%s/boxes?limit=1000&at_revision=%ld", w->scene, revision),
              NULL, NULL, &answer);
    w->box_draft.lost = answer.status == 410; /* it took too long to come here */
    seen.read++;
    seen.unreadable += w->box_draft.lost;
    json_t *list = json_loads(answer.body, 0, NULL);
    const json_t *box = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(list, "boxes"), i, box)
    {
        const json_t *name = json_object_get(box, "name");
        const json_int_t id = json_integer_value(json_object_get(box, "id"));
        if (is_serial(name)) {
            w->box_draft.serials[strtoul(json_string_value(name) + 7, NULL, 10)] = id;
            continue;
        }
        struct known_box *known = &w->box_draft.boxes[box_of(name)];
        *known = (struct known_box){.there = true, .sized = true, .id = id};
        for (size_t k = 0; k < 7; k++)
            known->pose[k] = k < 3 ? number_at(json_object_get(box, "center"), k)
                                   : number_at(json_object_get(box, "rotation"), k - 3);
        for (size_t k = 0; k < 3; k++)
            known->half_extents[k] = number_at(json_object_get(box, "half_extents"), k);
    }
    json_decref(list);
    http_answer_fini(&answer);
}

static void note_sight(struct watcher *w)
{
    ck_assert_uint_lt(w->count, sizeof w->sights / sizeof *w->sights);
    struct sight *sight = &w->sights[w->count++];
    *sight =
        (struct sight){.revision = w->last, .puts = w->puts, .fresh = w->fresh, .pairs = w->known};
    if (w->asks->boxes) {
        sight->boxes = malloc(sizeof *sight->boxes);
        ck_assert_ptr_nonnull(sight->boxes);
        *sight->boxes = w->boxes;
    }
}

static void hear(struct watcher *w, const struct follower_message *message)
{
    seen.messages++;
    const bool state = strcmp(message->event, "state") == 0;
    if (w->returning) {
        *(state ? &seen.states : &seen.resumes) += 1;
        ck_assert_msg(!state || w->last + KEPT < message->id,
                      "%s: a new state at %ld, though the history knows %ld", w->path, message->id,
                      w->last);
        w->returning = false;
    }
    if (state) {
        w->draft = (struct pairs){0};
        w->fresh = true;
    }
    json_t *data = json_loads(message->data, 0, NULL);
    ck_assert_msg(data != NULL, "%s", message->data);
    const bool begin = strcmp(message->event, "begin") == 0;
    const bool end = strcmp(message->event, "end") == 0;
    if (state || begin || end) {
        apply_pairs(w, data, state || begin);
    } else if (strcmp(message->event, "boxes") == 0) {
        ck_assert(w->asks->boxes);
        apply_boxes(w, data);
    } else {
        ck_assert_str_eq(message->event, "commit");
        w->puts = (long)json_integer_value(json_object_get(data, "put"));
    }
    json_decref(data);
    seen.begins += begin;
    seen.ends += end;
    if (message->id < 0)
        return;
    ck_assert_msg(message->id > w->last || (state && message->id == w->last), "%ld after %ld",
                  message->id, w->last);
    settle_pairs(w);
    if (state && w->asks->boxes)
        read_boxes(w, message->id);
    seen.joined += w->asks->rate && !state && message->id > w->last + 1;
    w->last = message->id;
    w->known = w->draft;
    w->boxes = w->box_draft;
    note_sight(w);
    w->fresh = false;
    w->puts = -1;
}

/* Reads what is there, and leaves when it is time: in the middle of a commit's messages as well as
 * between two. */
static void listen_to(struct watcher *w)
{
    struct follower_message message;
    while (w->connected && follower_next(&w->stream, 0, &message)) {
        if (strcmp(message.event, "overrun") == 0) {
            seen.overruns++;
            go(w);
        } else {
            hear(w, &message);
            if (--w->leaves_after == 0)
                go(w);
        }
    }
}

/* Those that are away come back when it is time, or for the end; then all are listened to until
 * what one of them waits for may have come. */
static void listen_to_all(struct watcher *watchers, const struct test_daemon *daemon, size_t made,
                          bool to_end)
{
    struct pollfd ready[FOLLOWERS];
    for (size_t i = 0; i < FOLLOWERS; i++) {
        struct watcher *w = &watchers[i];
        if (!w->connected && (to_end || made >= w->returns_at))
            come(w, daemon);
        if (to_end)
            w->leaves_after = SIZE_MAX;
        ready[i] = (struct pollfd){.fd = w->connected ? w->stream.fd : -1, .events = POLLIN};
    }
    (void)poll(ready, FOLLOWERS, 5); /* no longer, for those that are away */
    for (size_t i = 0; i < FOLLOWERS; i++)
        if (ready[i].revents != 0)
            listen_to(&watchers[i]);
}

/* false: the writers are done. */
static bool let_writers_on(const struct watcher *watchers, size_t *out_made)
{
    pthread_mutex_lock(&pace.lock);
    size_t heard = pace.made;
    for (size_t i = 0; i < FOLLOWERS; i++) {
        const struct watcher *w = &watchers[i];
        const size_t last = w->last > 0 ? (size_t)w->last : 0;
        if (w->connected && w->every && last < heard)
            heard = last;
    }
    pace.allowed = heard + AHEAD;
    *out_made = pace.made;
    const bool more = pace.done < WRITERS;
    pthread_cond_broadcast(&pace.further);
    pthread_mutex_unlock(&pace.lock);
    return more;
}

/* The pairs of a revision that the watcher asked for. */
static struct pairs pairs_for(const struct asks *asks, const struct model *model, long revision)
{
    struct pairs pairs = {0};
    for (size_t a = 0; a < BOXES; a++)
        for (size_t b = a + 1; b < BOXES; b++)
            if ((model->truth[revision].rows[a] >> b & 1) != 0 &&
                (passes(asks, a, &model->states[revision][a]) ||
                 passes(asks, b, &model->states[revision][b])))
                (void)pairs_put(&pairs, a, b, true);
    return pairs;
}

static void compare_boxes(const struct watcher *w, const struct sight *sight,
                          const struct model *model)
{
    const bool all = w->asks->prefix == NULL && w->asks->entity == NULL && w->asks->category == 0;
    for (size_t i = 0; i < BOXES && !sight->boxes->lost; i++) {
        const struct model_box *is = &model->states[sight->revision][i];
        const struct known_box *known = &sight->boxes->boxes[i];
        if (!passes(w->asks, i, is)) {
            ck_assert_msg(!all || !known->there, "%s: b%zu is not there at %ld", w->path, i,
                          sight->revision);
            continue; /* of a box that no longer matches, a follower may know what it was */
        }
        obb_box box;
        ck_assert_msg(known->there, "%s: b%zu is missing at %ld", w->path, i, sight->revision);
        ck_assert_int_eq(obb_box_from_pose(is->center, is->half_extents, is->rotation, 0, 3, &box),
                         OBB_OK);
        const double pose[7] = {box.center.x,   box.center.y,   box.center.z,  box.rotation.x,
                                box.rotation.y, box.rotation.z, box.rotation.w};
        const double size[3] = {box.half_extents.x, box.half_extents.y, box.half_extents.z};
        for (size_t k = 0; k < 7; k++)
            ck_assert_msg(known->pose[k] == pose[k], "%s: b%zu is elsewhere at %ld", w->path, i,
                          sight->revision);
        for (size_t k = 0; k < 3 && known->sized; k++)
            ck_assert_msg(known->half_extents[k] == size[k], "%s: b%zu has another size at %ld",
                          w->path, i, sight->revision);
        seen.boxes++;
    }
}

static void compare(const struct watcher *w, const struct model *model)
{
    for (size_t i = 0; i < w->count; i++) {
        const struct sight *sight = &w->sights[i], *next = sight + 1;
        const bool goes_on = i + 1 < w->count && !next->fresh && !w->asks->rate;
        const long until = goes_on ? next->revision : sight->revision + 1;
        ck_assert(!w->every || until == sight->revision + 1); /* it hears of each */
        for (long r = sight->revision; r < until; r++) {
            const struct pairs truth = pairs_for(w->asks, model, r);
            ck_assert_msg(memcmp(&sight->pairs, &truth, sizeof truth) == 0,
                          "%s: another set after %ld", w->path, r);
            seen.sets++;
            seen.pairs += pairs_count(&truth);
        }
        if (sight->puts >= 0 && !sight->fresh && i > 0)
            ck_assert_int_eq(sight->puts,
                             model->puts[sight->revision] - model->puts[w->sights[i - 1].revision]);
        if (sight->boxes != NULL)
            compare_boxes(w, sight, model);
        free(sight->boxes);
    }
}

static struct writer writers[WRITERS + 1]; /* one more for the last commit */
static struct watcher watchers[FOLLOWERS];
static struct model model;

static void one_scene(const struct test_daemon *daemon, struct http_client *client, size_t number)
{
    const char *scene = test_text("/v1/scenes/s%zu", number);
    struct http_answer answer = {0};
    http_send(client, "PUT", scene, NULL,
              test_text("{\"history\":{\"span\":60000,\"commits\":%d}}", KEPT), &answer);
    ck_assert_int_eq(answer.status, 201);
    pace.made = pace.allowed = pace.done = 0;
    for (size_t i = 0; i < FOLLOWERS; i++) {
        const struct asks *asks = &all_asks[i];
        memset(&watchers[i], 0, sizeof watchers[i]);
        watchers[i].rng.s = 1000 * number + 100 + i;
        watchers[i].asks = asks;
        watchers[i].every = asks->commits && !asks->rate;
        watchers[i].last = -1;
        (void)snprintf(watchers[i].scene, sizeof watchers[i].scene, "%s", scene);
        (void)snprintf(watchers[i].path, sizeof watchers[i].path, "%s/events?topics=collisions%s",
                       scene, asks->text);
    }
    pthread_t threads[WRITERS];
    for (size_t i = 0; i <= WRITERS; i++) {
        writers[i] =
            (struct writer){.daemon = daemon, .number = i, .rng = {.s = 1000 * number + i}};
        (void)snprintf(writers[i].scene, sizeof writers[i].scene, "%s", scene);
        if (i < WRITERS)
            ck_assert_int_eq(pthread_create(&threads[i], NULL, write_all, &writers[i]), 0);
    }
    for (size_t made = 0; let_writers_on(watchers, &made);)
        listen_to_all(watchers, daemon, made, false);
    for (size_t i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    write_last(&writers[WRITERS], client, &answer);
    for (size_t i = 0; i <= WRITERS; i++)
        ck_assert_msg(writers[i].fault[0] == '\0', "writer %zu: %s", i, writers[i].fault);

    model_replay(&model, writers);
    for (size_t i = 0; i < FOLLOWERS; i++)
        while (watchers[i].last < model.revisions)
            listen_to_all(watchers, daemon, 0, true);
    for (size_t i = 0; i < FOLLOWERS; i++) {
        follower_close(&watchers[i].stream);
        compare(&watchers[i], &model);
    }
    seen.commits += (size_t)model.revisions;
    http_answer_fini(&answer);
}

/* Returns whether everything was seen often enough: the clients decide by their turns how soon. */
static bool enough(void)
{
    return seen.begins > seen.commits && seen.ends > seen.commits && seen.resumes > 0 &&
           seen.states > 0 && seen.sets > seen.commits &&
           seen.pairs > seen.sets && /* empty sets would prove little */
           seen.both > 10 && seen.joined > seen.commits / 20 && seen.boxes > seen.commits &&
           seen.moved > seen.commits && seen.read > seen.unreadable;
}

START_TEST(a_follower_knows_all_pairs_at_every_revision)
{
    struct test_daemon daemon;
    daemon_start(&daemon, NULL);
    struct http_client *client = http_open(daemon.url);
    reader = http_open(daemon.url);
    for (size_t i = 0; i < test_effort(1) || !enough(); i++)
        one_scene(&daemon, client, i);
    http_close(client);
    http_close(reader);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
    printf(
        "%zu commits of %d clients; %d followers: %zu messages (%zu begin, %zu end), %zu "
        "resumes, %zu came too late and got a new state, %zu overruns; %zu sets compared, %zu "
        "pairs in them, %zu came and went within a message; %zu messages of several commits; %zu "
        "boxes compared, %zu poses told, %zu times all read, %zu of them too late\n",
        seen.commits, WRITERS, FOLLOWERS, seen.messages, seen.begins, seen.ends, seen.resumes,
        seen.states, seen.overruns, seen.sets, seen.pairs, seen.both, seen.joined, seen.boxes,
        seen.moved, seen.read, seen.unreadable);
    ck_assert_uint_ge(seen.commits, test_effort(1000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("followers");
    TCase *tc = tcase_create("followers");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_follower_knows_all_pairs_at_every_revision);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
