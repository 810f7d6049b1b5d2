/* Scenes that are changed at random, with a journal of them in a folder of its own; and what a
 * restore makes of it. For the programs of this folder: each includes it once. */
#ifndef TEST_SERVER_JOURNALED_H
#define TEST_SERVER_JOURNALED_H

#include "server/journal/grouped.h"
#include "server/journal/sqlite.h"
#include "server/scenes/restore.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { RIG_SCENES = 12, RIG_NAMES = 24, RIG_IDS = 400, RIG_HELD = 8 };

/* A scene of the rig. */
struct rig_scene {
    struct srv_journaled journaled; /* first */
    char name[24];
    int dimensions;
    double time;
    uint64_t epoch;
    size_t commits, in_journal;
    /* The remembered commits: ids "c<n>" for all n of these. */
    uint64_t remembered[RIG_IDS];
    obb_moment moments[RIG_IDS];
    size_t remembered_count;
    /* While it is locked: its durable records, which are published when it is unlocked. */
    struct srv_scene_lock lock;
    struct {
        uint64_t seq;
        size_t bytes;
    } held[RIG_HELD];
    size_t held_count;
    bool gone;
};

static struct rig {
    char folder[64];
    test_rng rng;
    struct srv_loop *loop;
    struct srv_pool *pool;
    struct srv_drain drain;
    struct srv_locks locks;
    struct obb_store *store;
    struct srv_backend *backend; /* the journal's */
    struct srv_journal *journal;
    struct srv_snapshots snapshots;
    struct rig_scene scenes[RIG_SCENES];
    size_t scene_count;
    uint64_t counter;
    size_t refused, changed, unchanged, expired, restarts;
} rig;

/* ---- Folders --------------------------------------------------------------------------------- */

static inline void rig_folder(void)
{
    (void)snprintf(rig.folder, sizeof rig.folder, "%s/obbd-journal-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(rig.folder));
}

static inline void rig_remove_folder(void)
{
    DIR *dir = opendir(rig.folder);
    ck_assert_ptr_nonnull(dir);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        char path[400];
        (void)snprintf(path, sizeof path, "%s/%s", rig.folder, entry->d_name);
        (void)unlink(path);
    }
    closedir(dir);
    ck_assert_int_eq(rmdir(rig.folder), 0);
}

/* Returns the number that a query of the database gives. No daemon or rig may have it open. */
static inline int64_t rig_ask(const char *query)
{
    char path[200];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    (void)snprintf(path, sizeof path, "%s/journal.db", rig.folder);
    ck_assert_int_eq(sqlite3_open(path, &db), SQLITE_OK);
    ck_assert_int_eq(sqlite3_prepare_v2(db, query, -1, &statement, NULL), SQLITE_OK);
    ck_assert_int_eq(sqlite3_step(statement), SQLITE_ROW);
    const int64_t number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    (void)sqlite3_close(db);
    return number;
}

/* ---- The journal ----------------------------------------------------------------------------- */

static inline void rig_remember(void *context, const struct srv_journaled *journaled,
                                struct wire_buf *out)
{
    const struct rig_scene *scene = (const struct rig_scene *)(const void *)journaled;
    (void)context;
    for (size_t i = 0; i < scene->remembered_count; i++) {
        char id[24];
        (void)snprintf(id, sizeof id, "c%llu", (unsigned long long)scene->remembered[i]);
        const wire_record record = {.kind = WIRE_RECORD_REMEMBERED,
                                    .commit_id = obb_str_of(id),
                                    .answer = obb_str_of("what it said"),
                                    .effects = {.moment = scene->moments[i]}};
        wire_record_write(&record, scene->dimensions, out);
    }
}

/* Opens the journal of the folder, which is empty or was restored into the rig before. */
static inline void rig_open(struct srv_backend *backend, uint64_t sync_ms)
{
    ck_assert(srv_loop_create(&rig.loop));
    ck_assert(srv_pool_create(rig.loop, 2, 100, NULL, &rig.pool));
    rig.drain = (struct srv_drain){0};
    rig.locks = (struct srv_locks){.pool = rig.pool, .drain = &rig.drain};
    ck_assert(srv_grouped_create(rig.loop, backend, sync_ms, &rig.journal));
    rig.snapshots = (struct srv_snapshots){.journal = rig.journal,
                                           .pool = rig.pool,
                                           .locks = &rig.locks,
                                           .drain = &rig.drain,
                                           .remember = rig_remember,
                                           .last_seq = backend->last_seq};
}

static struct srv_backend *(*rig_wrap)(
    struct srv_backend *inner); /* around new journals, or NULL */

static inline void rig_open_new(uint64_t seed, uint64_t sync_ms)
{
    char error[256];
    static const struct srv_backend_visitor nobody;
    rig = (struct rig){.rng = {seed}};
    rig_folder();
    struct srv_backend *backend = NULL;
    ck_assert_msg(srv_sqlite_open(rig.folder, &backend, error, sizeof error), "%s", error);
    ck_assert_msg(srv_sqlite_load(backend, &nobody, error, sizeof error), "%s", error);
    ck_assert_int_eq(obb_store_create(100, 10000000, NULL, &rig.store), OBB_OK);
    rig_open(rig_wrap != NULL ? rig_wrap(backend) : backend, sync_ms);
}

/* Waits until all that was appended is durable and no snapshot is under way. */
static inline void rig_wait(void)
{
    for (;;) {
        size_t left = !srv_drain_empty(&rig.drain);
        for (size_t i = 0; i < rig.scene_count; i++)
            left += rig.scenes[i].in_journal;
        if (left == 0)
            return;
        srv_loop_step(rig.loop, 100);
    }
}

/* Ends the journal. The scenes stay. */
static inline void rig_close(void)
{
    srv_snapshots_stop(&rig.snapshots);
    rig_wait();
    srv_journal_destroy(rig.journal);
    srv_pool_destroy(rig.pool);
    srv_loop_destroy(rig.loop);
}

static inline void rig_end(void)
{
    obb_store_destroy(rig.store);
    rig_remove_folder();
}

/* ---- Commits --------------------------------------------------------------------------------- */

struct rig_entry {
    struct srv_entry entry; /* first */
    struct rig_scene *scene;
    struct wire_buf bytes;
    srv_journal_status status;
};

static inline void rig_write(const struct srv_entry *entry, struct wire_buf *out)
{
    const struct rig_entry *e = (const struct rig_entry *)entry;
    wire_buf_append(out, e->bytes.bytes, e->bytes.length);
}

/* Called for each record of a scene that is settled, or NULL. */
static void (*rig_on_settled)(struct rig_scene *scene, uint64_t revision);

static inline void rig_settled(struct srv_entry *entry, srv_journal_status status)
{
    struct rig_entry *e = (struct rig_entry *)entry;
    e->status = status;
    ck_assert_int_eq(status, SRV_JOURNAL_OK);
    if (!e->scene->gone && srv_scene_locked(&rig.locks, e->scene->journaled.scene)) {
        ck_assert_uint_lt(e->scene->held_count, RIG_HELD);
        e->scene->held[e->scene->held_count].seq = entry->seq;
        e->scene->held[e->scene->held_count++].bytes = e->bytes.length;
        e->scene->journaled.unpublished++;
        return;
    }
    srv_snapshot_written(&rig.snapshots, e->scene->gone ? NULL : &e->scene->journaled, entry->seq,
                         e->bytes.length);
    if (entry->kind == SRV_ENTRY_GONE)
        srv_snapshots_remove(&rig.snapshots, &e->scene->journaled);
    if (rig_on_settled != NULL)
        rig_on_settled(e->scene, entry->number);
}

static inline void rig_released(struct srv_entry *entry)
{
    struct rig_entry *e = (struct rig_entry *)entry;
    e->scene->in_journal--;
    wire_buf_fini(&e->bytes);
    free(e);
}

/* Appends the record behind the newest one of its scene. */
static inline void rig_append(struct rig_scene *scene, wire_record *record, srv_entry_kind kind)
{
    record->id = (wire_record_id){.writer = 1, .counter = ++rig.counter};
    record->base = scene->journaled.newest;
    scene->journaled.newest = record->id;
    struct rig_entry *e = calloc(1, sizeof *e);
    ck_assert_ptr_nonnull(e);
    e->scene = scene;
    e->entry = (struct srv_entry){.kind = kind,
                                  .scene = scene->journaled.number,
                                  .number = record->effects.moment.revision,
                                  .write = rig_write,
                                  .settled = rig_settled,
                                  .released = rig_released};
    wire_record_write(record, scene->dimensions, &e->bytes);
    ck_assert(!e->bytes.failed);
    scene->in_journal++;
    srv_journal_append(rig.journal, &e->entry);
}

/* Makes a scene with nothing in it. */
static inline struct rig_scene *rig_make(const obb_settings *settings)
{
    struct rig_scene *scene = &rig.scenes[rig.scene_count++];
    *scene = (struct rig_scene){.dimensions = settings->dimensions, .epoch = test_random(&rig.rng)};
    (void)snprintf(scene->name, sizeof scene->name, "scene-%zu", rig.scene_count);
    ck_assert_int_eq(obb_store_add(rig.store, obb_str_of(scene->name), settings, scene->epoch, 0.0,
                                   &scene->journaled.scene),
                     OBB_OK);
    scene->journaled.number = srv_journal_number(rig.journal);
    srv_snapshots_add(&rig.snapshots, &scene->journaled);
    wire_record record = {.kind = WIRE_RECORD_MADE,
                          .epoch = scene->epoch,
                          .name = obb_str_of(scene->name),
                          .effects = {.has_settings = true, .settings = *settings}};
    rig_append(scene, &record, SRV_ENTRY_RECORD);
    return scene;
}

/* Commits the edit and hands its record to the journal. id: remembered, unless 0. */
static inline bool rig_commit(struct rig_scene *scene, const obb_edit *edit, double now_ms,
                              uint64_t id)
{
    struct obb_arena arena;
    struct obb_prepared *prepared = NULL;
    obb_committed done;
    obb_fault fault;
    obb_arena_init(&arena);
    const obb_status st =
        obb_edit_prepare(scene->journaled.scene, edit, now_ms, SIZE_MAX, &arena, &prepared, &fault);
    rig.refused += st != OBB_OK;
    if (st == OBB_OK) {
        char text[24] = "";
        if (id != 0)
            (void)snprintf(text, sizeof text, "c%llu", (unsigned long long)id);
        wire_record record = {.kind = WIRE_RECORD_COMMIT,
                              .epoch = scene->epoch,
                              .commit_id = obb_str_of(text),
                              .answer = obb_str_of(id != 0 ? "what it said" : "")};
        ck_assert_int_eq(obb_prepared_effects(prepared, &arena, &record.effects), OBB_OK);
        if (edit->settings != NULL)
            scene->dimensions = edit->settings->dimensions;
        rig_append(scene, &record, SRV_ENTRY_RECORD);
        obb_edit_commit(prepared, &done);
        scene->time = done.moment.time;
        scene->commits++;
        rig.changed += done.changed;
        rig.unchanged += !done.changed;
        rig.expired += done.expired;
        rig.restarts += done.restarted;
        if (id != 0) {
            ck_assert_uint_lt(scene->remembered_count, RIG_IDS);
            scene->remembered[scene->remembered_count] = id;
            scene->moments[scene->remembered_count++] = record.effects.moment;
        }
    }
    obb_arena_fini(&arena);
    return st == OBB_OK;
}

/* Locks a scene, as a large edit does: from now on none of its records is published. */
static inline void rig_lock(struct rig_scene *scene)
{
    scene->lock = (struct srv_scene_lock){0};
    ck_assert(srv_lock_take(&rig.locks, &scene->lock, scene->journaled.scene, false, 0));
}

/* Publishes the i-th record that the scene has held, as its tail does. */
static inline void rig_publish(struct rig_scene *scene, size_t i)
{
    scene->journaled.unpublished--;
    srv_snapshot_written(&rig.snapshots, &scene->journaled, scene->held[i].seq,
                         scene->held[i].bytes);
}

/* Unlocks the scene, and publishes what it has held. */
static inline void rig_unlock(struct rig_scene *scene)
{
    srv_lock_release(&rig.locks, &scene->lock);
    for (size_t i = 0; i < scene->held_count; i++)
        rig_publish(scene, i);
    scene->held_count = 0;
}

static inline void rig_remove(struct rig_scene *scene)
{
    wire_record record = {.kind = WIRE_RECORD_GONE, .epoch = scene->epoch};
    struct obb_scene *dead = NULL;
    srv_snapshots_pause(&scene->journaled);
    scene->gone = true;
    rig_append(scene, &record, SRV_ENTRY_GONE);
    ck_assert_int_eq(obb_store_remove(rig.store, obb_str_of(scene->name), &dead), OBB_OK);
    obb_scene_destroy(dead);
    scene->journaled.scene = NULL;
}

/* ---- Random commits -------------------------------------------------------------------------- */

static inline bool rig_chance(unsigned percent) { return test_below(&rig.rng, 100) < percent; }

static inline double rig_number(void) { return (double)test_below(&rig.rng, 64) * 0.5 - 16; }

static inline obb_target rig_target(void)
{
    static char names[RIG_NAMES][8];
    const size_t i = test_below(&rig.rng, RIG_NAMES);
    (void)snprintf(names[i], sizeof names[i], "n%zu", i);
    return (obb_target){.name = obb_str_of(names[i])};
}

static inline obb_target rig_frame(void)
{
    static const char *const names[] = {"ann", "bob", "an"};
    return (obb_target){.name = obb_str_of(names[test_below(&rig.rng, 3)])};
}

static inline obb_pose rig_pose(obb_target target, int dimensions)
{
    obb_pose pose = {.target = target,
                     .center = {rig_number(), rig_number(), dimensions == 3 ? rig_number() : 0},
                     .rotation = {.w = 1},
                     .has_center = rig_chance(80),
                     .teleport = rig_chance(20)};
    if (dimensions == 2)
        pose.angle = rig_number();
    else
        (void)obb_quat_from_axis_angle((obb_vec3){1, rig_number(), 0.25}, rig_number(),
                                       &pose.rotation);
    pose.has_rotation = !pose.has_center || rig_chance(40);
    return pose;
}

static inline obb_put rig_put(int dimensions)
{
    const obb_pose pose = rig_pose(rig_target(), dimensions);
    obb_put put = {.target = pose.target, .parts = OBB_PUT_ALL};
    ck_assert_int_eq(obb_box_from_pose(pose.center, (obb_vec3){1, 2, dimensions == 3 ? 3 : 0},
                                       pose.rotation, pose.angle, dimensions, &put.box),
                     OBB_OK);
    put.attributes = (obb_attributes){.category = (uint32_t)test_below(&rig.rng, 4),
                                      .mask = (uint32_t)test_random(&rig.rng),
                                      .group = (int32_t)test_below(&rig.rng, 5) - 2,
                                      .entity = obb_str_of(rig_chance(30) ? "somebody" : ""),
                                      .data = obb_str_of(rig_chance(30) ? "{\"hp\":3}" : "")};
    if (rig_chance(20)) {
        put.attributes.has_ttl = true;
        put.attributes.ttl = (double)test_below(&rig.rng, 200);
    }
    return put;
}

/* One commit of whatever kind; false: it was refused. */
static inline bool rig_step(struct rig_scene *scene, uint64_t id)
{
    enum { MOST = 6 };
    obb_put puts[MOST];
    obb_pose poses[MOST], frames[2];
    obb_target removes[MOST];
    const obb_str gone_frame = rig_frame().name;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene->journaled.scene, &info);
    obb_settings settings = info.settings;
    obb_edit edit = {.dimensions = settings.dimensions,
                     .ignore_missing = true,
                     .puts = puts,
                     .poses = poses,
                     .frames = frames,
                     .removes = removes,
                     .remove_frames = &gone_frame,
                     .put_count = rig_chance(50) ? test_below(&rig.rng, MOST) : 0,
                     .pose_count = rig_chance(60) ? test_below(&rig.rng, MOST) : 0,
                     .frame_count = rig_chance(25) ? 1 + test_below(&rig.rng, 2) : 0,
                     .remove_count = rig_chance(20) ? 1 + test_below(&rig.rng, 2) : 0,
                     .remove_frame_count = rig_chance(3),
                     .replace_all = rig_chance(1),
                     .restart = rig_chance(1)};
    for (size_t i = 0; i < edit.put_count; i++)
        puts[i] = rig_put(settings.dimensions);
    for (size_t i = 0; i < edit.pose_count; i++)
        poses[i] = rig_pose(rig_target(), settings.dimensions);
    for (size_t i = 0; i < edit.frame_count; i++)
        frames[i] = rig_pose(rig_frame(), settings.dimensions);
    for (size_t i = 0; i < edit.remove_count; i++)
        removes[i] = rig_target();
    if (edit.put_count > 0 && edit.frame_count > 0) /* one that is there then */
        puts[0].frame = frames[0].target.name;
    scene->time += (double)test_below(&rig.rng, 40) * 0.25;
    if (edit.restart)
        scene->time = rig_number();
    edit.has_time = edit.restart || rig_chance(70);
    edit.time = scene->time;
    if (rig_chance(3)) {
        settings.history_commits = (uint32_t)test_below(&rig.rng, 100);
        settings.history_span = (double)test_below(&rig.rng, 2000);
        edit.settings = &settings;
    }
    return rig_commit(scene, &edit, scene->time + 3, id);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

static size_t compared_states, compared_boxes, compared_between, compared_commits;
static uint64_t compared_oldest;

/* Boxes and frames are compared without a ck_assert for each: Check writes to a file for each of
 * them, and there are millions. */
static inline bool rig_same_point(obb_vec3 p, obb_vec3 q)
{
    return test_same_bits(p.x, q.x) && test_same_bits(p.y, q.y) && test_same_bits(p.z, q.z);
}

static inline bool rig_same_pose(obb_box p, obb_box q)
{
    return rig_same_point(p.center, q.center) && rig_same_point(p.half_extents, q.half_extents) &&
           test_same_bits(p.rotation.w, q.rotation.w) &&
           test_same_bits(p.rotation.x, q.rotation.x) &&
           test_same_bits(p.rotation.y, q.rotation.y) &&
           test_same_bits(p.rotation.z, q.rotation.z) && test_same_bits(p.angle, q.angle);
}

static inline bool rig_same_box(const struct obb_view *a, const struct obb_version *x,
                                const struct obb_view *b, const struct obb_version *y)
{
    const obb_attributes s = obb_view_attributes(x), t = obb_view_attributes(y);
    compared_boxes++;
    return obb_view_id(x) == obb_view_id(y) &&
           rig_same_pose(obb_view_pose(a, x), obb_view_pose(b, y)) &&
           obb_view_changed(x) == obb_view_changed(y) &&
           /* nobody can ask how those before were changed */
           (obb_view_changed(x) <= compared_oldest || obb_view_put(x) == obb_view_put(y)) &&
           s.has_ttl == t.has_ttl && (!s.has_ttl || obb_view_since(a, x) == obb_view_since(b, y));
}

/* Both views show the same, box by box. */
static inline void rig_same_view(const struct obb_view *a, const struct obb_view *b)
{
    const obb_view_info *i = obb_view_info_get(a), *j = obb_view_info_get(b);
    ck_assert_uint_eq(i->at.revision, j->at.revision);
    ck_assert_double_eq(i->at.time, j->at.time);
    ck_assert_uint_eq(i->boxes, j->boxes);
    ck_assert_uint_eq(i->frames, j->frames);
    obb_digest x = {0}, y = {0};
    const struct obb_version *p = obb_view_next(a, 0), *q = obb_view_next(b, 0);
    for (; p != NULL && q != NULL;
         p = obb_view_next(a, obb_view_id(p)), q = obb_view_next(b, obb_view_id(q))) {
        obb_digest_add(&x, p);
        obb_digest_add(&y, q);
        if (!rig_same_box(a, p, b, q))
            ck_abort_msg("box %llu at revision %llu", (unsigned long long)obb_view_id(p),
                         (unsigned long long)i->at.revision);
    }
    ck_assert(p == NULL && q == NULL);
    p = obb_view_next_frame(a, obb_str_of(""), false);
    q = obb_view_next_frame(b, obb_str_of(""), false);
    for (; p != NULL && q != NULL; p = obb_view_next_frame(a, obb_view_name(p), true),
                                   q = obb_view_next_frame(b, obb_view_name(q), true)) {
        obb_digest_add(&x, p);
        obb_digest_add(&y, q);
        const obb_box r = obb_view_frame_pose(a, p), s = obb_view_frame_pose(b, q);
        ck_assert_mem_eq(&r.center, &s.center, sizeof r.center);
        ck_assert_uint_eq(obb_view_changed(p), obb_view_changed(q));
    }
    ck_assert(p == NULL && q == NULL);
    ck_assert_uint_eq(x.identity, y.identity);
    ck_assert_uint_eq(x.content, y.content);
    ck_assert_uint_eq(obb_view_next_id(a), obb_view_next_id(b));
    ck_assert_double_eq(obb_view_until(a), obb_view_until(b));
    ck_assert(obb_settings_same(obb_view_settings(a), obb_view_settings(b)));
}

static inline void rig_same_at(struct obb_scene *a, struct obb_scene *b, obb_at at)
{
    struct obb_view *x = NULL, *y = NULL;
    const obb_status s = obb_view_open(a, &at, &x, NULL, NULL);
    const obb_status t = obb_view_open(b, &at, &y, NULL, NULL);
    ck_assert_int_eq(s, t);
    if (s == OBB_OK)
        rig_same_view(x, y);
    obb_view_close(x);
    obb_view_close(y);
}

/* The history tells the same of the commit that made a state. */
static inline void rig_same_commit(struct obb_scene *a, struct obb_scene *b, uint64_t revision)
{
    struct obb_scene *const scenes[] = {a, b};
    obb_committed said[2];
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (size_t i = 0; i < 2; i++) {
        struct obb_view *before = NULL, *after = NULL;
        const obb_at was = {.kind = OBB_AT_REVISION, .revision = revision - 1},
                     is = {.kind = OBB_AT_REVISION, .revision = revision};
        ck_assert_int_eq(obb_view_open(scenes[i], &was, &before, NULL, NULL), OBB_OK);
        ck_assert_int_eq(obb_view_open(scenes[i], &is, &after, NULL, NULL), OBB_OK);
        ck_assert_int_eq(obb_committed_read(before, after, &arena, &said[i]), OBB_OK);
        obb_view_close(before);
        obb_view_close(after);
    }
    ck_assert_double_eq(said[0].moment.time, said[1].moment.time);
    ck_assert_int_eq(said[0].restarted, said[1].restarted);
    ck_assert_uint_eq(said[0].removed, said[1].removed);
    ck_assert_uint_eq(said[0].expired, said[1].expired);
    ck_assert_uint_eq(said[0].put, said[1].put);
    ck_assert_uint_eq(said[0].posed, said[1].posed);
    ck_assert_uint_eq(said[0].transformed, said[1].transformed);
    ck_assert_uint_eq(said[0].made_count, said[1].made_count);
    ck_assert_uint_eq(said[0].ended_count, said[1].ended_count);
    ck_assert_uint_eq(said[0].frame_count, said[1].frame_count);
    obb_arena_fini(&arena);
    compared_commits++;
}

/* The scenes are the same at all revisions and times of their history. */
static inline void rig_same_scene(struct obb_scene *a, struct obb_scene *b)
{
    obb_scene_info i, j;
    obb_scene_info_without_bounds(a, &i);
    obb_scene_info_without_bounds(b, &j);
    ck_assert(obb_str_equal(obb_scene_name(a), obb_scene_name(b)));
    ck_assert_uint_eq(i.oldest.revision, j.oldest.revision);
    ck_assert_double_eq(i.oldest.time, j.oldest.time);
    ck_assert_uint_eq(i.now.revision, j.now.revision);
    ck_assert_double_eq(i.now.time, j.now.time);
    ck_assert_uint_eq(i.boxes, j.boxes);
    ck_assert(obb_settings_same(&i.settings, &j.settings));
    ck_assert(obb_scene_hash(a) == obb_scene_hash(b));
    compared_oldest = i.oldest.revision;
    for (uint64_t r = i.oldest.revision + 1; r <= i.now.revision; r++)
        rig_same_commit(a, b, r);
    for (uint64_t r = i.oldest.revision; r <= i.now.revision; r++, compared_states++)
        rig_same_at(a, b, (obb_at){.kind = OBB_AT_REVISION, .revision = r});
    for (int k = 0; k <= 50; k++, compared_between++)
        rig_same_at(a, b,
                    (obb_at){.kind = OBB_AT_TIME,
                             .time = i.oldest.time + (i.now.time - i.oldest.time) * k / 50});
    rig_same_at(a, b, (obb_at){.kind = OBB_AT_REVISION, .revision = i.oldest.revision - 1});
}

#endif
