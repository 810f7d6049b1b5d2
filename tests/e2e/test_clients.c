/* Eight clients at once, reading and committing, by name and in columns. Each writes down what it
 * sent and what it was answered; afterwards the commits, put in order of their revisions, make the
 * state after each, and every answer must be that of its revision. Some boxes stand in rigs: frames
 * that commits make, move, turn round and remove. Some expire by the clock of the scene, which
 * commits set, and now and then begin anew. Each client copies the scene and reads the copy. */
#include "tests/support/daemon.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { CLIENTS = 8, ROUNDS = 150, BOXES = 16, LINE = 24, EDITS = 3, RAYS = 6, RIGS = 3 };
#define GONE    (-1000)
#define FOREVER (-1.0)

/* What a put states of a box beside its place; a default is stated by nothing. */
enum trait { ENTITY, CATEGORY, MASK, GROUP, SPIN, TRAITS };

struct traits {
    long of[TRAITS]; /* ENTITY: 0 is none; SPIN: 1, or -1: half a turn */
};

static const struct {
    const char *name, *column;
    long standard, others[3]; /* that a put may state */
} traits[TRAITS] = {
    [ENTITY] = {"entity", "entities", 0, {0, 1, 2}},
    [CATEGORY] = {"category", "category", 1, {1, 2, 3}},
    [MASK] = {"mask", "mask", 4294967295, {1, 2, 4294967295}},
    [GROUP] = {"group", "group", 0, {0, 5, -5}},
    [SPIN] = {"rotation", "rotations", 1, {1, -1, -1}},
};

/* Cubes of edge 2 at whole places of a line: two of them touch or overlap when they are at most 2
 * apart. */
struct commit {
    long revision;
    int boxes[EDITS], places[EDITS]; /* GONE: removed */
    int in[EDITS];                   /* the rig in which the box is put at its place; GONE: none */
    int posed, posed_to; /* a box that is moved after the puts, if it is there; GONE: none */
    int rig, rig_to;     /* a rig that is made or moved; GONE: none */
    int rig_turn;        /* 1, or -1: half a turn; 0: not stated */
    int removed_rig;     /* GONE: none */
    double ttls[EDITS];  /* of the boxes that are put; FOREVER: none */
    struct traits traits[EDITS];
    bool restart; /* the clock begins anew */
    double time;  /* as answered, as are these: */
    long removed, removed_frames, frames, posed_count, expired;
};

struct state {
    int places[BOXES];            /* in the scene; GONE: not there */
    int in[BOXES], locals[BOXES]; /* the rig, and the place in the rig; GONE: in none */
    struct traits traits[BOXES];  /* zeros: not there */
    int spins[BOXES];             /* in the scene; 0: not there */
    int rigs[RIGS], turns[RIGS];  /* GONE: not there */
    double ttls[BOXES];           /* FOREVER: none */
    double since[BOXES];          /* of boxes with a ttl: the time of the last change */
    double time;
    long restarted; /* the newest revision at which the clock began anew; 0: none */
};

/* A ray that was judged at a time of its own, by the state after that revision. */
struct shot {
    long revision;
    int point; /* it comes down between this place and the next */
    bool hit;
};

struct reading {
    long revision;
    enum { LIST, PAIRS, POINT, SHOTS, CHANGED, FRAMES, COPY } kind;
    int point;
    int removed, moved; /* CHANGED: a point asked with these boxes removed, and put at the point */
    struct state state; /* LIST: of the boxes; FRAMES: of the rigs; COPY: of both, and the time */
    long first;         /* COPY: of a state between this revision and that of the reading */
    long count;         /* PAIRS, POINT, CHANGED */
    struct shot shots[RAYS];
};

struct actor {
    const struct test_daemon *daemon;
    uint64_t seed;
    struct commit commits[ROUNDS];
    struct reading readings[ROUNDS];
    size_t commit_count, reading_count, columnar_count;
    size_t framed_rows, one_for_all; /* of columns: rows in a rig, traits that all rows share */
    size_t late, gone; /* commits refused for their time; copies of a state that is not kept */
    long seen;         /* the newest revision that an answer named */
    double time;       /* the scene's, as the last answer had it */
    const char *fault; /* what went wrong, in the thread that cannot fail the test itself */
    char text[512];
};

/* Sends a request. NULL: a fault, which the actor has then, or the refusal with this status (0:
 * none is expected), whose detail has the word. */
static json_t *exchange_or(struct actor *actor, struct http_client *client, const char *method,
                           const char *path, const char *body, long refusal, const char *word)
{
    struct http_answer answer = {0};
    http_send(client, method, path, NULL, body, &answer);
    const bool refused =
        refusal != 0 && answer.status == refusal && strstr(answer.body, word) != NULL;
    json_t *value = answer.status / 100 == 2 ? json_loads(answer.body, 0, NULL) : NULL;
    if (value == NULL && !refused) {
        (void)snprintf(actor->text, sizeof actor->text, "%s %s: %ld %.300s", method, path,
                       answer.status, answer.body);
        actor->fault = actor->text;
    }
    http_answer_fini(&answer);
    return value;
}

static json_t *exchange(struct actor *actor, struct http_client *client, const char *method,
                        const char *path, const char *body)
{
    return exchange_or(actor, client, method, path, body, 0, NULL);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static long integer(const json_t *object, const char *key)
{
    return (long)json_integer_value(json_object_get(object, key));
}

/* How the columns of a commit state a member. */
enum form { ABSENT, SHARED, EACH };

/* Boxes to be put: by name, or in columns. */
struct puts {
    bool columnar;
    json_t *names, *centers, *half_extents, *ttls, *frames; /* in columns; NULL: absent */
    enum form forms[TRAITS];
    struct traits shared; /* of all rows, where the form says so */
    json_t *columns[TRAITS];
    json_t *by_name;
};

static json_t *ttl_of(double ttl) { return ttl == FOREVER ? json_null() : json_real(ttl); }

static json_t *rig_of(int rig) { return rig == GONE ? json_null() : json_sprintf("r%d", rig); }

static json_t *entity_of(long entity)
{
    return entity == 0 ? json_null() : json_sprintf("e%ld", entity);
}

static long any_value(enum trait trait, test_rng *rng)
{
    return traits[trait].others[test_below(rng, 3)];
}

/* Begins puts, by name or in columns, which state some of the members. */
static struct puts begin_puts(test_rng *rng)
{
    struct puts puts = {.columnar = test_below(rng, 2) == 0, .by_name = json_object()};
    if (!puts.columnar)
        return puts;
    json_t *columns = puts.by_name;
    json_object_set_new(columns, "names", puts.names = json_array());
    json_object_set_new(columns, "centers", puts.centers = json_array());
    json_object_set_new(columns, "half_extents", puts.half_extents = json_array());
    if (test_below(rng, 3) != 0)
        json_object_set_new(columns, "ttl", puts.ttls = json_array());
    if (test_below(rng, 2) == 0)
        json_object_set_new(columns, "frames", puts.frames = json_array());
    for (enum trait t = 0; t < TRAITS; t++) {
        puts.forms[t] = (enum form)test_below(rng, 3);
        puts.shared.of[t] = any_value(t, rng);
        if (puts.forms[t] == SHARED && t == SPIN) /* rotations are one a row */
            puts.forms[t] = EACH;
        if (puts.forms[t] == EACH)
            json_object_set_new(columns, traits[t].column, puts.columns[t] = json_array());
        else if (puts.forms[t] == SHARED)
            json_object_set_new(columns, traits[t].column,
                                t == ENTITY ? entity_of(puts.shared.of[t])
                                            : json_integer(puts.shared.of[t]));
    }
    return puts;
}

/* Returns traits that a put of these may state. */
static struct traits any_traits(const struct puts *puts, test_rng *rng)
{
    struct traits any = {{0}};
    for (enum trait t = 0; t < TRAITS; t++) {
        const bool stated =
            puts->columnar ? puts->forms[t] == EACH : test_below(rng, 3) == 0; /* or shared */
        any.of[t] = stated ? any_value(t, rng) : traits[t].standard;
        if (puts->columnar && puts->forms[t] == SHARED)
            any.of[t] = puts->shared.of[t];
    }
    return any;
}

static void put_trait(json_t *box, enum trait t, long value)
{
    if (t == SPIN)
        json_object_set_new(box, traits[t].name,
                            json_pack("[i,i,i,i]", 0, 0, value == -1, value == 1));
    else
        json_object_set_new(box, traits[t].name,
                            t == ENTITY ? entity_of(value) : json_integer(value));
}

static void put_cube(struct puts *puts, const char *name, int rig, int x, int y, int half,
                     double ttl, const struct traits *stated)
{
    if (!puts->columnar) {
        json_t *box =
            json_pack("{s:[i,i,i],s:[i,i,i]}", "center", x, y, 0, "half_extents", half, half, half);
        if (rig != GONE)
            json_object_set_new(box, "frame", rig_of(rig));
        if (ttl != FOREVER || rig != GONE) /* null now and then */
            json_object_set_new(box, "ttl", ttl_of(ttl));
        for (enum trait t = 0; t < TRAITS; t++)
            if (stated->of[t] != traits[t].standard || rig != GONE)
                put_trait(box, t, stated->of[t]);
        json_object_set_new(puts->by_name, name, box);
        return;
    }
    const int center[3] = {x, y, 0};
    json_array_append_new(puts->names, json_string(name));
    json_array_append_new(puts->ttls, ttl_of(ttl));
    json_array_append_new(puts->frames, rig_of(rig));
    for (int k = 0; k < 3; k++) {
        json_array_append_new(puts->centers, json_integer(center[k]));
        json_array_append_new(puts->half_extents, json_integer(half));
    }
    for (int k = 0; k < 4; k++) /* 0, 0, 0, 1 or 0, 0, 1, 0 */
        json_array_append_new(puts->columns[SPIN],
                              json_integer(k == (stated->of[SPIN] == 1 ? 3 : 2)));
    json_array_append_new(puts->columns[ENTITY], entity_of(stated->of[ENTITY]));
    for (enum trait t = CATEGORY; t <= GROUP; t++)
        json_array_append_new(puts->columns[t], json_integer(stated->of[t]));
}

/* Decides on a rig to be moved, and one to be removed before, and writes them into the commit. */
static void move_rigs(struct commit *commit, test_rng *rng, json_t *body)
{
    static const int turns[] = {0, 1, -1};
    commit->rig = commit->removed_rig = GONE;
    if (test_below(rng, 8) == 0) {
        commit->removed_rig = (int)test_below(rng, RIGS);
        json_object_set_new(body, "remove_frames",
                            json_pack("[o]", json_sprintf("r%d", commit->removed_rig)));
    }
    if (test_below(rng, 4) == 0)
        return;
    commit->rig = (int)test_below(rng, RIGS);
    commit->rig_to = (int)test_below(rng, LINE);
    commit->rig_turn = turns[test_below(rng, 3)];
    const bool columnar = test_below(rng, 2) == 0;
    json_t *name = json_sprintf("r%d", commit->rig);
    json_t *rotation = json_pack("[i,i,i,i]", 0, 0, commit->rig_turn == -1, commit->rig_turn == 1);
    json_t *pose =
        columnar ? json_pack("{s:[O],s:[i,i,i]}", "names", name, "centers", commit->rig_to, 0, 0)
                 : json_pack("{s:[i,i,i]}", "center", commit->rig_to, 0, 0);
    if (commit->rig_turn != 0)
        json_object_set(pose, columnar ? "rotations" : "rotation", rotation);
    json_t *frames = columnar ? json_incref(pose) : json_object();
    if (!columnar)
        json_object_set(frames, json_string_value(name), pose);
    json_object_set_new(body, "frames", frames);
    json_decref(pose);
    json_decref(rotation);
    json_decref(name);
}

/* Now and then a commit states a time, which may be over when it comes, or begins the clock
 * anew. */
static void set_time(const struct actor *actor, struct commit *commit, test_rng *rng, json_t *body)
{
    commit->restart = test_below(rng, 40) == 0;
    if (commit->restart)
        json_object_set_new(body, "restart", json_true());
    if (commit->restart || test_below(rng, 2) == 0) {
        const double past = commit->restart ? 0 : floor(actor->time);
        json_object_set_new(body, "time", json_real(past + (double)test_below(rng, 24)));
    }
}

/* Sends a commit, and if its time is over, the same without a time. */
static json_t *send_commit(struct actor *actor, struct http_client *client, json_t *body)
{
    static const char path[] = "/v1/scenes/shared/commit";
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *answer = exchange_or(actor, client, "POST", path, text, 409, "restart");
    free(text);
    if (answer != NULL || actor->fault != NULL)
        return answer;
    actor->late++;
    json_object_del(body, "time");
    text = json_dumps(body, JSON_COMPACT);
    answer = exchange(actor, client, "POST", path, text);
    free(text);
    return answer;
}

/* A few boxes put or removed, perhaps one of them moved, perhaps a rig moved or removed, and always
 * one box that no other commit puts at the same place, so that every commit changes something. */
static void write_some(struct actor *actor, struct http_client *client, test_rng *rng, int serial)
{
    struct commit *commit = &actor->commits[actor->commit_count];
    struct puts puts = begin_puts(rng);
    size_t framed = 0;
    json_t *remove = json_array(), *body = json_object();
    move_rigs(commit, rng, body);
    for (int i = 0; i < EDITS; i++) {
        /* by name, a commit may remove a box and put it, or put it twice; columns name it once */
        const size_t wide = ((size_t)i * BOXES + test_below(rng, BOXES)) / EDITS;
        const size_t first = (size_t)i * BOXES / EDITS, end = (size_t)(i + 1) * BOXES / EDITS;
        commit->boxes[i] = (int)(puts.columnar ? first + test_below(rng, end - first) : wide);
        commit->places[i] = (int)test_below(rng, LINE + 4);
        /* in the rig that is there for certain */
        const bool in_rig = commit->rig != GONE && test_below(rng, 3) != 0;
        const bool mortal = test_below(rng, 3) == 0;
        commit->in[i] = in_rig && (!puts.columnar || puts.frames != NULL) ? commit->rig : GONE;
        commit->ttls[i] = mortal && (!puts.columnar || puts.ttls != NULL)
                              ? 1.0 + (double)test_below(rng, 80)
                              : FOREVER;
        commit->traits[i] = any_traits(&puts, rng);
        if (commit->places[i] >= LINE) {
            commit->places[i] = GONE;
            json_array_append_new(remove, json_sprintf("b%d", commit->boxes[i]));
        } else {
            put_cube(&puts, test_text("b%d", commit->boxes[i]), commit->in[i], commit->places[i], 0,
                     1, commit->ttls[i], &commit->traits[i]);
            framed += puts.columnar && commit->in[i] != GONE;
        }
    }
    const struct traits serial_traits = any_traits(&puts, rng);
    put_cube(&puts, "serial", GONE, serial, 1000, 0, FOREVER, &serial_traits);
    json_object_set_new(body, "remove", remove);
    json_object_set_new(body, "put", puts.by_name);
    commit->posed = GONE;
    if (test_below(rng, 2) == 0) {
        commit->posed = (int)test_below(rng, BOXES);
        commit->posed_to = (int)test_below(rng, LINE);
        json_object_set_new(body, "ignore_missing", json_true());
        json_object_set_new(body, "pose",
                            json_pack("{s:[o],s:[i,i,i]}", "names",
                                      json_sprintf("b%d", commit->posed), "centers",
                                      commit->posed_to, 0, 0));
    }
    set_time(actor, commit, rng, body);
    json_t *answer = send_commit(actor, client, body);
    const json_t *ids = json_object_get(answer, "ids");
    if (answer != NULL && puts.columnar && json_array_size(ids) != json_array_size(puts.names))
        actor->fault = "a put in columns did not answer the id of each row";
    json_decref(body);
    if (answer == NULL)
        return;
    commit->revision = integer(answer, "revision");
    commit->removed = integer(answer, "removed");
    commit->removed_frames = integer(answer, "removed_frames");
    commit->frames = integer(answer, "frames");
    commit->posed_count = integer(answer, "posed");
    commit->expired = integer(answer, "expired");
    commit->time = actor->time = number(answer, "time");
    actor->seen = commit->revision;
    actor->columnar_count += puts.columnar;
    actor->framed_rows += framed;
    for (enum trait t = 0; t < TRAITS; t++)
        actor->one_for_all += puts.forms[t] == SHARED && puts.shared.of[t] != traits[t].standard;
    actor->commit_count++;
    json_decref(answer);
}

/* Rays in columns, each at a time of its own, which the answer names. */
static json_t *shoot(struct actor *actor, struct http_client *client, test_rng *rng,
                     struct reading *reading)
{
    json_t *origins = json_array(), *targets = json_array(), *times = json_array();
    for (int i = 0; i < RAYS; i++) {
        reading->shots[i].point = (int)test_below(rng, LINE);
        for (int k = 0; k < 3; k++) {
            const double x = reading->shots[i].point + 0.5;
            json_array_append_new(origins, json_real(k == 0 ? x : k == 1 ? 50 : 0));
            json_array_append_new(targets, json_real(k == 0 ? x : k == 1 ? -50 : 0));
        }
        /* of the past, or so late that it is the newest state */
        json_array_append_new(times, json_real(test_below(rng, 4) == 0
                                                   ? actor->time + 1e6
                                                   : actor->time - test_uniform(rng, 0, 100)));
    }
    json_t *body =
        json_pack("{s:{s:o,s:o,s:o},s:b,s:{s:b,s:b}}", "rays", "origins", origins, "targets",
                  targets, "times", times, "columns", 1, "at", "clamp", 1, "interpolate", 0);
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *answer = exchange(actor, client, "POST", "/v1/scenes/shared/query/ray", text);
    const json_t *columns = json_object_get(answer, "columns");
    for (int i = 0; i < RAYS; i++) {
        const size_t row = (size_t)i;
        reading->shots[i].revision =
            json_integer_value(json_array_get(json_object_get(columns, "revisions"), row));
        reading->shots[i].hit =
            json_integer_value(json_array_get(json_object_get(columns, "boxes"), row)) != 0;
    }
    free(text);
    json_decref(body);
    return answer;
}

static int first_of(const json_t *object, const char *vector)
{
    return (int)json_number_value(json_array_get(json_object_get(object, vector), 0));
}

/* A state without boxes and rigs. */
static struct state empty_state(void)
{
    struct state state = {.turns = {0}, .spins = {0}};
    for (int b = 0; b < BOXES; b++) {
        state.places[b] = state.in[b] = state.locals[b] = GONE;
        state.ttls[b] = FOREVER;
    }
    for (int r = 0; r < RIGS; r++)
        state.rigs[r] = GONE;
    return state;
}

static void read_frames(const json_t *answer, struct state *state)
{
    const json_t *frame = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(answer, "frames"), i, frame)
    {
        const char *name = json_string_value(json_object_get(frame, "name"));
        const long r = strtol(name + 1, NULL, 10);
        const json_t *rotation = json_object_get(frame, "rotation");
        state->rigs[r] = first_of(frame, "center");
        state->turns[r] = json_number_value(json_array_get(rotation, 3)) == 1 ? 1 : -1;
    }
}

/* 1, or -1: half a turn about z, as either of its quaternions. */
static int spin_of(const json_t *pose)
{
    const json_t *rotation = json_object_get(pose, "rotation");
    return fabs(json_number_value(json_array_get(rotation, 3))) == 1.0 ? 1 : -1;
}

static void read_traits(const json_t *box, struct traits *out)
{
    const json_t *local = json_object_get(box, "local");
    const char *entity = json_string_value(json_object_get(box, "entity"));
    for (enum trait t = CATEGORY; t <= GROUP; t++)
        out->of[t] = integer(box, traits[t].name);
    out->of[ENTITY] = entity != NULL ? strtol(entity + 1, NULL, 10) : 0;
    out->of[SPIN] = spin_of(local != NULL ? local : box);
}

static void read_list(const json_t *answer, struct state *state)
{
    const json_t *box = NULL;
    size_t i = 0;
    json_array_foreach(json_object_get(answer, "boxes"), i, box)
    {
        const char *name = json_string_value(json_object_get(box, "name"));
        if (name[0] != 'b')
            continue;
        const long b = strtol(name + 1, NULL, 10);
        const char *rig = json_string_value(json_object_get(box, "frame"));
        state->places[b] = first_of(box, "center");
        state->spins[b] = spin_of(box);
        read_traits(box, &state->traits[b]);
        if (json_object_get(box, "ttl") != NULL)
            state->ttls[b] = number(box, "ttl");
        if (rig != NULL) {
            state->in[b] = (int)strtol(rig + 1, NULL, 10);
            state->locals[b] = first_of(json_object_get(box, "local"), "center");
        }
    }
}

/* Empties the copy, which counts what it held and takes nothing from the scene. */
static void empty_copy(struct actor *actor, struct http_client *client, const struct state *held)
{
    json_t *boxes = json_array(), *rigs = json_array();
    long count = 0;
    for (int b = 0; b < BOXES; b++) {
        json_array_append_new(boxes, json_sprintf("b%d", b));
        count += held->places[b] != GONE;
    }
    for (int r = 0; r < RIGS; r++)
        json_array_append_new(rigs, json_sprintf("r%d", r));
    json_t *body = json_pack("{s:o,s:o}", "remove", boxes, "remove_frames", rigs);
    char *text = json_dumps(body, JSON_COMPACT);
    json_t *answer = exchange(actor, client, "POST",
                              test_text("/v1/scenes/copy-%d/commit", (int)actor->seed), text);
    if (answer != NULL && integer(answer, "removed") + integer(answer, "expired") != count)
        actor->fault = "a copy counts other boxes than it listed";
    free(text);
    json_decref(body);
    json_decref(answer);
}

/* Copies a state that a revision names, or the newest one, over the copy before, and reads the
 * copy. Returns what the scene says of itself afterwards. */
static json_t *copy_scene(struct actor *actor, struct http_client *client, test_rng *rng,
                          struct reading *reading)
{
    const bool past = test_below(rng, 2) == 0;
    const long back = (long)test_below(rng, 100);
    reading->first = past && back < actor->seen ? actor->seen - back : actor->seen;
    json_t *answer = exchange_or(
        actor, client, "POST", "/v1/scenes/shared/copy",
        past ? test_text("{\"to\":\"copy-%d\",\"replace\":true,\"at\":{\"revision\":%ld}}",
                         (int)actor->seed, reading->first)
             : test_text("{\"to\":\"copy-%d\",\"replace\":true}", (int)actor->seed),
        past ? 410 : 0, "kept are");
    if (answer == NULL) {
        actor->gone += actor->fault == NULL;
        return NULL;
    }
    if (integer(answer, "revision") != 1)
        actor->fault = "a copy does not begin at revision 1";
    reading->state = empty_state();
    reading->state.time = number(answer, "time");
    json_decref(answer);
    answer = exchange(actor, client, "GET", test_text("/v1/scenes/copy-%d/boxes", (int)actor->seed),
                      NULL);
    read_list(answer, &reading->state);
    json_decref(answer);
    answer = exchange(actor, client, "GET",
                      test_text("/v1/scenes/copy-%d/frames", (int)actor->seed), NULL);
    read_frames(answer, &reading->state);
    json_decref(answer);
    empty_copy(actor, client, &reading->state);
    answer = exchange(actor, client, "GET", "/v1/scenes/shared", NULL);
    reading->revision = past ? reading->first : integer(answer, "revision");
    return answer;
}

static void read_some(struct actor *actor, struct http_client *client, test_rng *rng)
{
    struct reading *reading = &actor->readings[actor->reading_count];
    json_t *answer = NULL;
    reading->state = empty_state();
    switch (test_below(rng, 6)) {
    case 5:
        reading->kind = COPY;
        answer = copy_scene(actor, client, rng, reading);
        break;
    case 4:
        reading->kind = FRAMES;
        answer = exchange(actor, client, "GET", "/v1/scenes/shared/frames", NULL);
        if (answer != NULL)
            read_frames(answer, &reading->state);
        break;
    case 0:
        reading->kind = LIST;
        answer = exchange(actor, client, "GET", "/v1/scenes/shared/boxes", NULL);
        if (answer != NULL)
            read_list(answer, &reading->state);
        break;
    case 1:
        reading->kind = PAIRS;
        answer = exchange(actor, client, "POST", "/v1/scenes/shared/query/all-pairs", NULL);
        reading->count = answer != NULL ? integer(answer, "count") : 0;
        break;
    case 2:
        reading->kind = SHOTS;
        answer = shoot(actor, client, rng, reading);
        break;
    default:
        reading->kind = test_below(rng, 2) == 0 ? POINT : CHANGED;
        reading->point = (int)test_below(rng, LINE);
        reading->removed = (int)test_below(rng, BOXES);
        reading->moved = (int)test_below(rng, BOXES);
        answer = exchange(
            actor, client, "POST", "/v1/scenes/shared/query/point",
            reading->kind == POINT
                ? test_text(test_below(rng, 2) == 0 ? "{\"points\":[%d,0,0]}"
                                                    : "{\"points\":[[%d,0,0]]}",
                            reading->point)
                : test_text(
                      "{\"points\":[[%d,0,0]],\"with\":{\"remove\":[\"b%d\"],\"put\":{\"b%d\":"
                      "{\"center\":[%d,0,0],\"half_extents\":[1,1,1]}}}}",
                      reading->point, reading->removed, reading->moved, reading->point));
        reading->count = (long)json_array_size(
            json_object_get(json_array_get(json_object_get(answer, "results"), 0), "boxes"));
        break;
    }
    if (answer == NULL)
        return;
    if (reading->kind != COPY)
        reading->revision = integer(answer, "revision");
    actor->seen = integer(answer, "revision");
    actor->time = number(answer, "time");
    actor->reading_count++;
    json_decref(answer);
}

static void *act(void *context)
{
    struct actor *actor = context;
    struct http_client *client = http_open(actor->daemon->url);
    test_rng rng = {.s = actor->seed};
    long last = 0;
    for (int round = 0; round < ROUNDS && actor->fault == NULL; round++) {
        if (test_below(&rng, 2) == 0)
            write_some(actor, client, &rng, (int)actor->seed * ROUNDS + round);
        else
            read_some(actor, client, &rng);
        if (actor->fault == NULL && actor->seen < last)
            actor->fault = "a revision went back";
        last = actor->seen;
    }
    http_close(client);
    return NULL;
}

static int by_revision(const void *a, const void *b)
{
    const struct commit *const *x = a, *const *y = b;
    return (*x)->revision < (*y)->revision ? -1 : (*x)->revision > (*y)->revision;
}

/* Groups of two boxes that are the same and not 0 decide; else category and mask of both. */
static bool may_meet(const struct traits *a, const struct traits *b)
{
    if (a->of[GROUP] == b->of[GROUP] && a->of[GROUP] != 0)
        return a->of[GROUP] > 0;
    return (a->of[CATEGORY] & b->of[MASK]) != 0 && (b->of[CATEGORY] & a->of[MASK]) != 0;
}

/* Counts the pairs of boxes that touch or overlap, without or with those that may not meet. */
static long pairs_of(const struct state *state, bool all)
{
    const int *places = state->places;
    long count = 0;
    for (int a = 0; a < BOXES; a++)
        for (int b = a + 1; b < BOXES; b++)
            count += places[a] != GONE && places[b] != GONE && abs(places[a] - places[b]) <= 2 &&
                     (all || may_meet(&state->traits[a], &state->traits[b]));
    return count;
}

static long boxes_at(const int *places, int point)
{
    long count = 0;
    for (int b = 0; b < BOXES; b++)
        count += places[b] != GONE && abs(places[b] - point) <= 1;
    return count;
}

static bool is_between(const int *places, int point)
{
    bool found = false;
    for (int b = 0; b < BOXES; b++)
        found = found || places[b] == point || (places[b] != GONE && places[b] == point + 1);
    return found;
}

/* As boxes_at, after the changes that hold for the reading alone. */
static long changed_at(const int *places, const struct reading *reading)
{
    int changed[BOXES];
    memcpy(changed, places, sizeof changed);
    changed[reading->removed] = GONE;
    changed[reading->moved] = reading->point;
    return boxes_at(changed, reading->point);
}

/* Places the boxes of a rig anew. */
static void place_boxes(struct state *state, int rig)
{
    for (int b = 0; b < BOXES; b++)
        if (state->places[b] != GONE && state->in[b] == rig)
            state->places[b] = state->rigs[rig] + state->turns[rig] * state->locals[b];
}

/* Removes a box that is there, and returns whether it was. */
static bool take_out(struct state *state, int box)
{
    const bool there = state->places[box] != GONE;
    state->places[box] = state->in[box] = state->locals[box] = GONE;
    state->ttls[box] = FOREVER;
    state->traits[box] = (struct traits){{0}};
    return there;
}

/* Removes the boxes whose time is over. Returns how many. */
static long expire(struct state *state)
{
    long expired = 0;
    for (int b = 0; b < BOXES; b++)
        if (state->ttls[b] != FOREVER && state->since[b] + state->ttls[b] <= state->time)
            expired += take_out(state, b);
    return expired;
}

/* The ttl of the box counts from now on. */
static void renew(struct state *state, int box) { state->since[box] = state->time; }

/* Puts the box at that place in the scene, or in the rig. */
static void stand(struct state *state, int box, int rig, int place)
{
    state->places[box] = place;
    state->in[box] = rig;
    state->locals[box] = rig == GONE ? GONE : place;
    renew(state, box);
    if (rig != GONE)
        place_boxes(state, rig);
}

/* Makes or moves the rig, and with it the boxes in it. */
static void move_rig(const struct commit *commit, struct state *state)
{
    const int rig = commit->rig, place = state->rigs[rig], turn = state->turns[rig];
    if (place == GONE)
        state->turns[rig] = 1;
    if (commit->rig_turn != 0)
        state->turns[rig] = commit->rig_turn;
    state->rigs[rig] = commit->rig_to;
    place_boxes(state, rig);
    for (int b = 0; b < BOXES; b++)
        if (state->in[b] == rig && (state->rigs[rig] != place || state->turns[rig] != turn))
            renew(state, b);
}

/* Sets the clock, on which boxes expire; one that begins anew gives each its whole ttl. */
static void set_clock(const struct commit *commit, struct state *state)
{
    ck_assert(commit->restart || commit->time >= state->time);
    state->time = commit->time;
    ck_assert_int_eq(commit->expired, commit->restart ? 0 : expire(state));
    for (int b = 0; b < BOXES && commit->restart; b++)
        renew(state, b);
    if (commit->restart)
        state->restarted = commit->revision;
}

/* Finds how each box is turned in the scene. */
static void turn_boxes(struct state *state)
{
    for (int b = 0; b < BOXES; b++) {
        const int rig = state->in[b], turn = rig == GONE ? 1 : state->turns[rig];
        state->spins[b] = turn * (int)state->traits[b].of[SPIN];
    }
}

/* Applies a commit in the order of the contract, and compares its counts. Returns how many boxes a
 * rig moved or took along. */
static long apply(const struct commit *commit, struct state *state)
{
    long removed = 0, removed_frames = 0, posed = 0, carried = 0;
    set_clock(commit, state);
    for (int e = 0; e < EDITS; e++)
        if (commit->places[e] == GONE)
            removed += take_out(state, commit->boxes[e]);
    if (commit->removed_rig != GONE && state->rigs[commit->removed_rig] != GONE) {
        for (int b = 0; b < BOXES; b++)
            if (state->in[b] == commit->removed_rig)
                carried += take_out(state, b);
        state->rigs[commit->removed_rig] = GONE;
        state->turns[commit->removed_rig] = 0;
        removed_frames = 1;
    }
    if (commit->rig != GONE)
        move_rig(commit, state);
    ck_assert_int_eq(commit->removed, removed + carried);
    for (int b = 0; b < BOXES; b++)
        carried += commit->rig != GONE && state->in[b] == commit->rig;
    for (int e = 0; e < EDITS; e++)
        if (commit->places[e] != GONE) {
            stand(state, commit->boxes[e], commit->in[e], commit->places[e]);
            state->ttls[commit->boxes[e]] = commit->ttls[e];
            state->traits[commit->boxes[e]] = commit->traits[e];
        }
    if (commit->posed != GONE && state->places[commit->posed] != GONE) {
        stand(state, commit->posed, state->in[commit->posed], commit->posed_to);
        posed = 1;
    }
    turn_boxes(state);
    ck_assert_int_eq(commit->removed_frames, removed_frames);
    ck_assert_int_eq(commit->frames, commit->rig != GONE);
    ck_assert_int_eq(commit->posed_count, posed);
    return carried;
}

static bool same_ttls(const struct state *a, const struct state *b)
{
    bool same = true;
    for (int i = 0; i < BOXES; i++)
        same = same && a->ttls[i] == b->ttls[i];
    return same;
}

/* Compares the listed boxes, and returns how many stand in rigs. */
static size_t same_boxes(const struct state *state, const struct state *listed)
{
    size_t framed = 0;
    ck_assert_mem_eq(state->places, listed->places, sizeof state->places);
    ck_assert_mem_eq(state->in, listed->in, sizeof state->in);
    ck_assert_mem_eq(state->locals, listed->locals, sizeof state->locals);
    ck_assert_mem_eq(state->traits, listed->traits, sizeof state->traits);
    ck_assert_mem_eq(state->spins, listed->spins, sizeof state->spins);
    ck_assert(same_ttls(state, listed));
    for (int b = 0; b < BOXES; b++)
        framed += state->in[b] != GONE;
    return framed;
}

/* Compares the listed rigs, and returns how many there are. */
static size_t same_rigs(const struct state *state, const struct state *listed)
{
    size_t rigs = 0;
    ck_assert_mem_eq(state->rigs, listed->rigs, sizeof state->rigs);
    ck_assert_mem_eq(state->turns, listed->turns, sizeof state->turns);
    for (int r = 0; r < RIGS; r++)
        rigs += state->rigs[r] != GONE;
    return rigs;
}

/* Is the copy one of the states that were the newest while it was made? */
static bool is_copy_of_some(const struct state *all, const struct reading *reading)
{
    const struct state *copy = &reading->state;
    for (long r = reading->first; r <= reading->revision; r++) {
        const struct state *s = &all[r];
        if (memcmp(s->places, copy->places, sizeof s->places) == 0 &&
            memcmp(s->in, copy->in, sizeof s->in) == 0 &&
            memcmp(s->locals, copy->locals, sizeof s->locals) == 0 && same_ttls(s, copy) &&
            memcmp(s->traits, copy->traits, sizeof s->traits) == 0 &&
            memcmp(s->spins, copy->spins, sizeof s->spins) == 0 &&
            memcmp(s->rigs, copy->rigs, sizeof s->rigs) == 0 &&
            memcmp(s->turns, copy->turns, sizeof s->turns) == 0 &&
            (s->time == copy->time || r == 0))
            return true;
    }
    return false;
}

/* What was compared, of all scenes. */
static struct {
    size_t commits, checked, full, shots, hits, past, columnar, changed, framed, copies, late, gone;
    size_t framed_rows, one_for_all;
    long carried, expired, restarts, apart;
} seen;

static struct actor actors[CLIENTS];
static struct commit *commits[CLIENTS * ROUNDS];
static struct state states[CLIENTS * ROUNDS + 2];

/* Lets the clients at a scene, and compares. */
static void one_scene(const struct test_daemon *daemon, struct http_client *client, size_t number)
{
    struct http_answer answer = {0};
    http_send(client, "PUT", "/v1/scenes/shared", NULL, "{}", &answer);
    ck_assert_int_eq(answer.status, 201);

    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        memset(&actors[i], 0, sizeof actors[i]);
        actors[i].daemon = daemon;
        actors[i].seed = number * CLIENTS + (uint64_t)i + 1;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, act, &actors[i]), 0);
    }
    size_t count = 0;
    for (int i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        ck_assert_msg(actors[i].fault == NULL, "client %d: %s", i, actors[i].fault);
        for (size_t c = 0; c < actors[i].commit_count; c++)
            commits[count++] = &actors[i].commits[c];
    }

    /* the state after each revision: every commit raised it by one */
    qsort(commits, count, sizeof(struct commit *), by_revision);
    states[0] = empty_state();
    seen.commits += count;
    for (size_t c = 0; c < count; c++) {
        ck_assert_int_eq(commits[c]->revision, (long)c + 1);
        states[c + 1] = states[c];
        seen.carried += apply(commits[c], &states[c + 1]);
        seen.expired += commits[c]->expired;
        seen.restarts += commits[c]->restart;
    }

    for (int i = 0; i < CLIENTS; i++) {
        seen.columnar += actors[i].columnar_count;
        seen.framed_rows += actors[i].framed_rows;
        seen.one_for_all += actors[i].one_for_all;
        seen.late += actors[i].late;
        seen.gone += actors[i].gone;
    }
    for (int i = 0; i < CLIENTS; i++)
        for (size_t r = 0; r < actors[i].reading_count; r++, seen.checked++) {
            const struct reading *reading = &actors[i].readings[r];
            ck_assert_int_le(reading->revision, (long)count);
            const struct state *state = &states[reading->revision];
            const int *places = state->places;
            if (reading->kind == LIST)
                seen.framed += same_boxes(state, &reading->state);
            else if (reading->kind == FRAMES)
                seen.framed += same_rigs(state, &reading->state);
            else if (reading->kind == PAIRS) {
                ck_assert_int_eq(reading->count, pairs_of(state, false));
                seen.apart += pairs_of(state, true) - reading->count;
            } else if (reading->kind == SHOTS)
                for (int k = 0; k < RAYS; k++, seen.shots++) {
                    const struct shot *shot = &reading->shots[k];
                    ck_assert_int_le(shot->revision, reading->revision);
                    ck_assert_int_ge(shot->revision, state->restarted);
                    ck_assert_int_eq(shot->hit,
                                     is_between(states[shot->revision].places, shot->point));
                    seen.hits += shot->hit;
                    seen.past += shot->revision < reading->revision;
                }
            else if (reading->kind == COPY)
                ck_assert_msg(is_copy_of_some(states, reading), "a copy of %ld to %ld is another",
                              reading->first, reading->revision);
            else if (reading->kind == POINT)
                ck_assert_int_eq(reading->count, boxes_at(places, reading->point));
            else
                ck_assert_int_eq(reading->count, changed_at(places, reading));
            seen.changed += reading->kind == CHANGED;
            seen.copies += reading->kind == COPY;
            seen.full += reading->kind == LIST || reading->kind == FRAMES ||
                         reading->kind == SHOTS || reading->kind == COPY || reading->count > 0;
        }
    http_send(client, "DELETE", "/v1/scenes/shared", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 204);
    http_answer_fini(&answer);
}

/* Returns whether everything was seen often enough: the clients decide by their turns how soon. */
static bool enough(void)
{
    const long commits_seen = (long)seen.commits;
    return seen.expired > commits_seen / 8 && seen.restarts > commits_seen / 200 && seen.late > 0 &&
           seen.copies > seen.checked / 12 && seen.gone > 0 && seen.carried > commits_seen / 2 &&
           seen.framed > seen.checked / 2 && seen.changed > seen.checked / 20 &&
           seen.full > seen.checked / 2 && /* empty answers would prove little */
           seen.columnar > seen.commits / 4 && seen.shots > 400 && seen.past > seen.shots / 8 &&
           seen.framed_rows > seen.columnar / 8 && seen.one_for_all > seen.columnar / 4 &&
           seen.apart > (long)seen.checked / 8 && seen.past < seen.shots &&
           seen.hits > seen.shots / 8 && seen.hits < seen.shots * 7 / 8;
}

START_TEST(every_answer_is_that_of_its_revision)
{
    struct test_daemon daemon;
    daemon_start(&daemon, NULL);
    struct http_client *client = http_open(daemon.url);
    for (size_t i = 0; !enough(); i++)
        one_scene(&daemon, client, i);
    printf("%d clients: %zu commits, %zu answers, all of them their revision's\n", CLIENTS,
           seen.commits, seen.checked);
    printf(
        "%zu commits with columns; %zu rays with times of their own, %zu of the past, %zu hits\n",
        seen.columnar, seen.shots, seen.past, seen.hits);
    printf("%zu rows of columns in rigs, %zu values for all rows; %ld pairs that may not meet\n",
           seen.framed_rows, seen.one_for_all, seen.apart);
    printf("%ld boxes moved or removed with their rigs; %zu rigs and boxes in them listed\n",
           seen.carried, seen.framed);
    printf(
        "%ld boxes expired; the clock began anew %ld times; %zu times were over; %zu copies, %zu "
        "of states no longer kept\n",
        seen.expired, seen.restarts, seen.late, seen.copies, seen.gone);
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("clients");
    TCase *tc = tcase_create("clients");
    tcase_set_timeout(tc, test_timeout(120));
    tcase_add_test(tc, every_answer_is_that_of_its_revision);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
