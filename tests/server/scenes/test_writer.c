/* The one door: ops by themselves, without HTTP; and large commits that requests send at the same
 * time. */
#include "server/scenes/writer.h"
#include "tests/server/scenes/large.h"

/* ---- Ops ------------------------------------------------------------------------------------- */

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_drain drain;
static struct srv_locks locks;
static struct srv_writer writer;
static struct obb_arena arena;
static char told[1024]; /* by both listeners, in order */

__attribute__((format(printf, 1, 2))) static void tell(const char *format, ...)
{
    const size_t length = strlen(told);
    va_list values;
    va_start(values, format);
    (void)vsnprintf(told + length, sizeof told - length, format, values);
    va_end(values);
}

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    const obb_str name = obb_scene_name(scene);
    tell("%s:%d:%.*s@%llu%s ", (const char *)context, (int)op->kind, (int)name.length, name.bytes,
         (unsigned long long)committed->moment.revision, committed->changed ? "" : " unchanged");
}

static void on_remove(void *context, const srv_op *op, struct obb_scene *scene)
{
    ck_assert(op->kind == SRV_OP_REMOVE || op->kind == SRV_OP_COPY);
    ck_assert_ptr_eq(obb_store_find(writer.store, op->scene), scene); /* it is still there */
    tell("%s:removed ", (const char *)context);
}

static void setup_ops(void)
{
    static char first[] = "1", second[] = "2";
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 2, 1, NULL, &pool));
    drain = (struct srv_drain){0};
    locks = (struct srv_locks){.pool = pool, .drain = &drain};
    writer = (struct srv_writer){.locks = &locks, .pool = pool, .drain = &drain};
    ck_assert_int_eq(obb_store_create(2, 7500, NULL, &writer.store), OBB_OK);
    srv_writer_listen(&writer, (srv_write_listener){on_commit, on_remove, NULL, first});
    srv_writer_listen(&writer, (srv_write_listener){on_commit, on_remove, NULL, second});
    obb_arena_init(&arena);
    told[0] = '\0';
}

/* Writes that are not done. At 0 and with an empty drain the loop stops. */
static size_t under_way;
static bool running; /* the loop is */

static void stop_if_over(void *context)
{
    (void)context;
    if (running && under_way == 0 && srv_drain_empty(&drain))
        srv_loop_stop(loop);
}

/* Runs the loop until all writes are done and all removed scenes are destroyed. */
static void run_loop(void)
{
    running = under_way > 0 || !srv_drain_empty(&drain);
    drain.on_empty = stop_if_over;
    if (running)
        srv_loop_run(loop);
    running = false;
}

static void teardown_ops(void)
{
    run_loop();
    ck_assert_uint_eq(locks.open_views, 0);
    ck_assert_uint_eq(locks.promised_boxes, 0);
    obb_arena_fini(&arena);
    obb_store_destroy(writer.store);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
}

static void on_write_done(struct srv_write *write)
{
    (void)write;
    under_way--;
    stop_if_over(NULL);
}

/* Prepares a write of `op`, which the caller may still change. */
static void aim(struct srv_write *write, srv_op op)
{
    op.settings = (obb_settings){.dimensions = 3, .history_span = 1e3, .history_commits = 8};
    *write = (struct srv_write){.op = op, .arena = &arena, .done = on_write_done};
}

static void begin_write(struct srv_write *write)
{
    under_way++;
    srv_write(&writer, write);
}

/* Does a write that needs no pool. */
static struct srv_write write_now(srv_op op)
{
    struct srv_write write;
    const size_t before = under_way;
    aim(&write, op);
    begin_write(&write);
    ck_assert_uint_eq(under_way, before);
    return write;
}

/* `count` unit boxes in a row, all at `height`. The texts and the puts stay in static memory until
 * the next call with that `set`. */
static const obb_edit *row_edit(int set, size_t count, double height)
{
    static obb_put puts[2][5000];
    static char names[5000][24];
    static obb_edit edits[2];
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%zu", i);
        obb_put *put = &puts[set][i];
        *put = (obb_put){.target = {.name = obb_str_of(names[i])}, .parts = OBB_PUT_ALL};
        ck_assert_int_eq(obb_box_from_pose((obb_vec3){3.0 * (double)i, height, 0},
                                           (obb_vec3){1, 1, 1}, (obb_quat){0, 0, 0, 1}, 0, 3,
                                           &put->box),
                         OBB_OK);
        put->attributes = (obb_attributes){.category = 1, .mask = 1};
    }
    edits[set] = (obb_edit){.dimensions = 3, .puts = puts[set], .put_count = count};
    return &edits[set];
}

static srv_op op_of(srv_op_kind kind, const char *scene, const obb_edit *edit)
{
    return (srv_op){.kind = kind, .scene = obb_str_of(scene), .edit = edit};
}

START_TEST(each_kind_is_applied_and_told_in_order)
{
    struct srv_write w = write_now(op_of(SRV_OP_CREATE, "a", NULL));
    ck_assert(w.status == OBB_OK && w.made_scene && w.refused_by == SRV_REFUSED_BY_NONE);
    ck_assert_ptr_eq(w.scene, obb_store_find(writer.store, obb_str_of("a")));
    ck_assert(w.epoch != 0 && w.epoch == obb_scene_epoch(w.scene));
    w = write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 3, 0)));
    ck_assert(w.status == OBB_OK && !w.made_scene && w.committed.put == 3);
    w = write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 3, 0)));
    ck_assert(w.status == OBB_OK && !w.committed.changed);
    w = write_now(op_of(SRV_OP_CONFIGURE, "a", NULL)); /* the same settings: nothing to tell */
    ck_assert(w.status == OBB_OK && !w.committed.changed);
    aim(&w, op_of(SRV_OP_CONFIGURE, "a", NULL));
    w.op.settings.history_span = 5;
    begin_write(&w);
    ck_assert(w.status == OBB_OK && w.committed.changed);
    w = write_now(op_of(SRV_OP_EDIT, "b", row_edit(0, 2, 0)));
    ck_assert(w.status == OBB_OK && w.made_scene);
    w = write_now(op_of(SRV_OP_REMOVE, "a", NULL));
    ck_assert(w.status == OBB_OK && w.scene == NULL);
    ck_assert_ptr_null(obb_store_find(writer.store, obb_str_of("a")));
    ck_assert_str_eq(told, "1:0:a@0 2:0:a@0 1:2:a@1 2:2:a@1 1:2:a@1 unchanged 2:2:a@1 unchanged "
                           "1:1:a@2 2:1:a@2 1:2:b@1 2:2:b@1 1:removed 2:removed ");
}
END_TEST

START_TEST(refusals_say_who_refused_and_change_nothing)
{
    const obb_edit *three = row_edit(0, 3, 0);
    const obb_target nobody = {.name = obb_str_of("nobody")};
    const obb_edit removal = {
        .dimensions = 3, .removes = &nobody, .remove_count = 1, .remove_must_exist = true};
    obb_edit flat = *three;
    flat.dimensions = 2;
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "a", three)).status, OBB_OK);
    told[0] = '\0';
    srv_op stale = op_of(SRV_OP_EDIT, "a", three), current = stale, unmade = stale;
    stale.if_match = "\"7\"";
    current.if_match = "\"1\"";
    current.check_only = true;
    unmade.scene = obb_str_of("none");
    unmade.if_match = "*";
    srv_op gone = unmade;
    gone.kind = SRV_OP_REMOVE;
    srv_op stale_removal = op_of(SRV_OP_REMOVE, "a", NULL);
    stale_removal.if_match = "\"0\"";
    const uint64_t epoch = obb_scene_epoch(obb_store_find(writer.store, obb_str_of("a")));
    const uint64_t other = epoch + 1;
    srv_op this_epoch = stale, other_epoch = stale, other_removal = stale_removal;
    this_epoch.if_epoch = &epoch;
    other_epoch.if_epoch = other_removal.if_epoch = &other;
    srv_op unmade_epoch = unmade, created_epoch = op_of(SRV_OP_CREATE, "none", NULL);
    srv_op absent_epoch = op_of(SRV_OP_EDIT, "none", &removal);
    unmade_epoch.if_epoch = created_epoch.if_epoch = absent_epoch.if_epoch = &epoch;
    const struct {
        srv_op op;
        srv_refused by;
        obb_status status;
    } cases[] = {
        {op_of(SRV_OP_CREATE, "a", NULL), SRV_REFUSED_BY_STORE, OBB_BAD_VALUE},
        {op_of(SRV_OP_CONFIGURE, "none", NULL), SRV_REFUSED_BY_STORE, OBB_NO_SCENE},
        {op_of(SRV_OP_REMOVE, "none", NULL), SRV_REFUSED_BY_STORE, OBB_NO_SCENE},
        {gone, SRV_REFUSED_BY_STORE, OBB_NO_SCENE},
        {op_of(SRV_OP_EDIT, "none", &removal), SRV_REFUSED_BY_STORE, OBB_NO_SCENE},
        {op_of(SRV_OP_EDIT, "a", &removal), SRV_REFUSED_BY_SCENE, OBB_NO_BOX},
        {op_of(SRV_OP_EDIT, "a", &flat), SRV_REFUSED_BY_SCENE, OBB_DIMENSIONS},
        {op_of(SRV_OP_EDIT, "none", &flat), SRV_REFUSED_BY_SCENE, OBB_DIMENSIONS},
        {stale, SRV_REFUSED_BY_CONDITION, OBB_REVISION},
        {stale_removal, SRV_REFUSED_BY_CONDITION, OBB_REVISION},
        {unmade, SRV_REFUSED_BY_CONDITION, OBB_REVISION},
        {other_epoch, SRV_REFUSED_BY_EPOCH, OBB_REVISION},
        {other_removal, SRV_REFUSED_BY_EPOCH, OBB_REVISION},
        {unmade_epoch, SRV_REFUSED_BY_EPOCH, OBB_REVISION},
        {created_epoch, SRV_REFUSED_BY_EPOCH, OBB_REVISION},
        {absent_epoch, SRV_REFUSED_BY_STORE, OBB_NO_SCENE},
        {this_epoch, SRV_REFUSED_BY_CONDITION, OBB_REVISION},
        {current, SRV_REFUSED_BY_NONE, OBB_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct srv_write w = write_now(cases[i].op);
        ck_assert_msg(w.refused_by == cases[i].by && w.status == cases[i].status, "%zu: %d %s", i,
                      (int)w.refused_by, obb_status_name(w.status));
        ck_assert_uint_eq(obb_store_scenes(writer.store), 1);
        ck_assert_uint_eq(obb_store_boxes(writer.store), 3);
    }
    ck_assert_str_eq(told, "");
    printf("%zu refusals\n", sizeof cases / sizeof cases[0]);
}
END_TEST

START_TEST(large_edits_are_prepared_behind_the_lock_and_others_wait_in_turn)
{
    struct srv_write large, second, refused, removal;
    aim(&large, op_of(SRV_OP_EDIT, "a", row_edit(0, 5000, 0)));
    aim(&second, op_of(SRV_OP_EDIT, "a", row_edit(1, 2, 9)));
    aim(&removal, op_of(SRV_OP_REMOVE, "a", NULL));
    /* a condition is judged when the scene is there */
    const uint64_t given = 17, other = 18;
    large.op.epoch = given;
    second.op.if_epoch = &given;
    aim(&refused, op_of(SRV_OP_EDIT, "a", row_edit(1, 2, 9)));
    refused.op.if_epoch = &other;
    begin_write(&large);
    begin_write(&refused);
    begin_write(&second);
    begin_write(&removal);
    const struct obb_scene *scene = obb_store_find(writer.store, obb_str_of("a"));
    ck_assert_uint_eq(under_way, 4);
    ck_assert(srv_scene_locked(&locks, scene));
    ck_assert_uint_eq(locks.promised_boxes, 5000);
    obb_scene_info info;
    bool hidden;
    srv_scene_info(&locks, scene, &info, &hidden);
    ck_assert(hidden && info.boxes == 0);
    /* another scene is not locked, but has only the room that was not promised, and the pool takes
     * no second job */
    ck_assert_int_eq(write_now(op_of(SRV_OP_CREATE, "b", NULL)).status, OBB_OK);
    obb_edit all = {.dimensions = 3, .replace_all = true};
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "b", &all)).refused_by, SRV_REFUSED_BY_QUEUE);
    ck_assert_int_eq(write_now(op_of(SRV_OP_REMOVE, "b", NULL)).status, OBB_OK);
    told[0] = '\0';
    run_loop();
    ck_assert(large.status == OBB_OK && large.made_scene && large.committed.put == 5000);
    ck_assert_int_eq(second.status, OBB_OK);
    ck_assert_int_eq(refused.refused_by, SRV_REFUSED_BY_EPOCH);
    ck_assert(large.epoch == given && refused.epoch == given && removal.epoch == given);
    ck_assert_int_eq(removal.status, OBB_OK);
    ck_assert_str_eq(told, "1:2:a@1 2:2:a@1 1:2:a@2 2:2:a@2 1:removed 2:removed ");
}
END_TEST

START_TEST(merges_in_space_are_prepared_on_the_pool)
{
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 30, 0))).status, OBB_OK);
    obb_target with[29];
    for (size_t i = 0; i < 29; i++)
        with[i] = row_edit(0, 30, 0)->puts[i + 1].target;
    const obb_merge merge = {.target = {.name = obb_str_of("b0")}, .with = with, .with_count = 29};
    const obb_edit edit = {.dimensions = 3, .merges = &merge, .merge_count = 1};
    struct srv_write w;
    aim(&w, op_of(SRV_OP_EDIT, "a", &edit));
    begin_write(&w);
    ck_assert_uint_eq(under_way, 1);
    ck_assert(srv_scene_locked(&locks, obb_store_find(writer.store, obb_str_of("a"))));
    run_loop();
    ck_assert(w.status == OBB_OK && w.committed.made_count == 1);
    /* in the plane a merge of few boxes is fast */
    srv_op flat = op_of(SRV_OP_CREATE, "flat", NULL);
    aim(&w, flat);
    w.op.settings.dimensions = 2;
    begin_write(&w);
    obb_edit plane = *row_edit(0, 30, 0);
    plane.dimensions = 2;
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "flat", &plane)).status, OBB_OK);
    obb_edit planar = edit;
    planar.dimensions = 2;
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "flat", &planar)).status, OBB_OK);
}
END_TEST

/* Writes the edit, and returns whether its preparing went to the pool. */
static bool goes_to_pool(const obb_edit *edit)
{
    struct srv_write w;
    aim(&w, op_of(SRV_OP_EDIT, "a", edit));
    begin_write(&w);
    const bool pooled = under_way == 1;
    run_loop();
    ck_assert_int_eq(w.status, OBB_OK);
    return pooled;
}

START_TEST(many_frames_are_prepared_on_the_pool_and_few_on_the_loop)
{
    enum { FRAMES = 300 };
    static char names[FRAMES][16];
    static obb_pose frames[FRAMES];
    static obb_str removed[FRAMES];
    for (int i = 0; i < FRAMES; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%d", i);
        removed[i] = obb_str_of(names[i]);
        frames[i] = (obb_pose){.target = {.name = removed[i]}, .rotation = {0, 0, 0, 1}};
    }
    obb_edit edit = {.dimensions = 3, .frames = frames, .frame_count = FRAMES};
    ck_assert(goes_to_pool(&edit));
    edit.frame_count = 3;
    ck_assert(!goes_to_pool(&edit));
    /* boxes in a frame are moved with it: 30 frames of 20 boxes */
    obb_edit row = *row_edit(0, 600, 0);
    static obb_put puts[600];
    for (int i = 0; i < 600; i++) {
        puts[i] = row.puts[i];
        puts[i].frame = removed[i % 30];
    }
    row.puts = puts;
    ck_assert(goes_to_pool(&row));
    edit.frame_count = 30;
    ck_assert(goes_to_pool(&edit));
    edit.frame_count = 10;
    ck_assert(!goes_to_pool(&edit));
    edit.frames += 30; /* these are empty */
    edit.frame_count = 30;
    ck_assert(!goes_to_pool(&edit));
    obb_edit removal = {.dimensions = 3, .remove_frames = removed, .remove_frame_count = FRAMES};
    ck_assert(goes_to_pool(&removal));
    ck_assert(goes_to_pool(&removal)); /* also if none is there: each is looked up */
    removal.remove_frame_count = 30;
    ck_assert(!goes_to_pool(&removal));
}
END_TEST

START_TEST(settings_that_let_many_boxes_expire_are_prepared_on_the_pool)
{
    enum { TIMED = 1000 };
    for (size_t count = 3; count <= TIMED; count += TIMED - 3) {
        obb_edit row = *row_edit(0, count, 0);
        static obb_put puts[TIMED];
        for (size_t i = 0; i < count; i++) {
            puts[i] = row.puts[i];
            puts[i].attributes.has_ttl = true;
            puts[i].attributes.ttl = 1e-3;
        }
        row.puts = puts;
        (void)goes_to_pool(&row);
        struct obb_scene *scene = obb_store_find(writer.store, obb_str_of("a"));
        const obb_edit none = {.dimensions = 3};
        while (obb_edit_expiring(scene, &none, srv_clock() * 1e3, SIZE_MAX) < count)
            ; /* until the clock has moved on */
        struct srv_write w;
        aim(&w, op_of(SRV_OP_CONFIGURE, "a", NULL));
        w.op.settings.history_span = (double)count;
        begin_write(&w);
        ck_assert_uint_eq(under_way, count == TIMED);
        run_loop();
        ck_assert(w.status == OBB_OK && w.committed.changed);
        obb_scene_info info;
        obb_scene_info_without_bounds(scene, &info);
        ck_assert(info.boxes == 0 && w.committed.expired == count);
        ck_assert_double_eq(info.settings.history_span, (double)count);
    }
}
END_TEST

/* Prepares a write that copies a scene. */
static void aim_copy_of(struct srv_write *write, const char *from, const char *to, bool replace)
{
    struct obb_scene *a = obb_store_find(writer.store, obb_str_of(from));
    srv_op op = op_of(SRV_OP_COPY, to, NULL);
    ck_assert_int_eq(srv_view_open(&locks, a, NULL, &op.from, NULL, NULL), OBB_OK);
    op.copy = obb_copy_of(op.from, op.scene, 0);
    op.replace = replace;
    aim(write, op);
}

static void aim_copy(struct srv_write *write, const char *to, bool replace)
{
    aim_copy_of(write, "a", to, replace);
}

START_TEST(copies_are_made_beside_the_work_and_take_their_place_at_the_end)
{
    struct srv_write copy;
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 50, 0))).status, OBB_OK);
    const uint64_t source = obb_scene_epoch(obb_store_find(writer.store, obb_str_of("a")));
    told[0] = '\0';
    aim_copy(&copy, "b", false);
    begin_write(&copy);
    ck_assert_uint_eq(under_way, 1);
    /* neither scene is locked, and the copy is not there yet */
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 60, 3))).status, OBB_OK);
    ck_assert_ptr_null(obb_store_find(writer.store, obb_str_of("b")));
    run_loop();
    ck_assert(copy.status == OBB_OK && copy.made_scene && copy.epoch != source);
    ck_assert_ptr_eq(copy.scene, obb_store_find(writer.store, obb_str_of("b")));
    obb_scene_info info;
    obb_scene_info_without_bounds(copy.scene, &info);
    ck_assert(info.boxes == 50 && info.now.revision == 1); /* as the source was */
    ck_assert_uint_eq(obb_store_boxes(writer.store), 110);
    ck_assert_str_eq(told, "1:2:a@2 2:2:a@2 1:4:b@1 2:4:b@1 ");
    /* in the place of the first one, with an epoch that is given */
    told[0] = '\0';
    aim_copy(&copy, "b", true);
    copy.op.epoch = 77;
    begin_write(&copy);
    run_loop();
    ck_assert(copy.status == OBB_OK && copy.epoch == 77);
    ck_assert_uint_eq(obb_store_boxes(writer.store), 120);
    ck_assert_str_eq(told, "1:removed 2:removed 1:4:b@1 2:4:b@1 ");
}
END_TEST

/* The loop does not run while the copy is made, so whoever waited for it would wait for good. */
START_TEST(a_scene_takes_commits_until_a_copy_replaces_it)
{
    struct srv_write copy;
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 50, 0))).status, OBB_OK);
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "b", row_edit(0, 3, 0))).status, OBB_OK);
    const struct obb_scene *replaced = obb_store_find(writer.store, obb_str_of("b"));
    aim_copy(&copy, "b", true);
    begin_write(&copy);
    ck_assert_uint_eq(under_way, 1);
    told[0] = '\0';
    for (size_t i = 2; i <= 4; i++) {
        const struct srv_write both[] = {
            write_now(op_of(SRV_OP_EDIT, "b", row_edit(0, 3 + i, (double)i))),
            write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 50 + i, (double)i)))};
        for (size_t k = 0; k < 2; k++) {
            ck_assert_int_eq(both[k].status, OBB_OK);
            ck_assert_uint_eq(both[k].committed.moment.revision, i);
        }
        ck_assert_ptr_eq(both[0].scene, replaced);
    }
    ck_assert_uint_eq(obb_store_boxes(writer.store), 54 + 7);
    ck_assert_str_eq(told, "1:2:b@2 2:2:b@2 1:2:a@2 2:2:a@2 1:2:b@3 2:2:b@3 1:2:a@3 2:2:a@3 "
                           "1:2:b@4 2:2:b@4 1:2:a@4 2:2:a@4 ");
    told[0] = '\0';
    run_loop();
    ck_assert_int_eq(copy.status, OBB_OK);
    ck_assert_uint_eq(obb_store_boxes(writer.store), 54 + 50); /* as the source was */
    ck_assert_str_eq(told, "1:removed 2:removed 1:4:b@1 2:4:b@1 ");
}
END_TEST

START_TEST(copies_that_come_to_nothing_leave_nothing)
{
    atomic_bool given_up = false;
    struct srv_write copy, large;
    ck_assert_int_eq(write_now(op_of(SRV_OP_EDIT, "a", row_edit(0, 50, 0))).status, OBB_OK);
    /* somebody else makes the scene meanwhile */
    aim_copy(&copy, "b", false);
    begin_write(&copy);
    ck_assert_int_eq(write_now(op_of(SRV_OP_CREATE, "b", NULL)).status, OBB_OK);
    told[0] = '\0';
    run_loop();
    ck_assert(copy.refused_by == SRV_REFUSED_BY_STORE && copy.status == OBB_BAD_VALUE);
    ck_assert_str_eq(told, "");
    aim_copy(&copy, "b", false); /* it is there already */
    begin_write(&copy);
    ck_assert(copy.refused_by == SRV_REFUSED_BY_STORE && copy.status == OBB_BAD_VALUE);
    /* its client goes: while it is made, and while it waits for its place */
    aim_copy(&copy, "b", true);
    copy.cancelled = &given_up;
    begin_write(&copy);
    atomic_store(&given_up, true);
    srv_write_cancel(&copy);
    run_loop();
    ck_assert(copy.refused_by == SRV_REFUSED_BY_SCENE && copy.status == OBB_CANCELLED);
    atomic_store(&given_up, false);
    aim(&large, op_of(SRV_OP_EDIT, "b", row_edit(0, 5000, 0)));
    begin_write(&large);
    aim_copy(&copy, "b", true);
    copy.cancelled = &given_up;
    begin_write(&copy);
    ck_assert_ptr_nonnull(copy.wait.lock);
    atomic_store(&given_up, true);
    srv_write_cancel(&copy);
    ck_assert(copy.refused_by == SRV_REFUSED_BY_SCENE && copy.status == OBB_CANCELLED);
    run_loop();
    ck_assert_int_eq(large.status, OBB_OK);
    /* no room for its boxes, or for a further scene */
    aim_copy(&copy, "c", false);
    begin_write(&copy);
    run_loop();
    ck_assert(copy.refused_by == SRV_REFUSED_BY_STORE && copy.status == OBB_LIMIT);
    aim_copy_of(&copy, "b", "a", true);
    begin_write(&copy);
    ck_assert(copy.refused_by == SRV_REFUSED_BY_SCENE && copy.status == OBB_LIMIT);
    ck_assert_uint_eq(obb_store_boxes(writer.store), 5050);
    ck_assert_uint_eq(obb_store_scenes(writer.store), 2);
}
END_TEST

START_TEST(cancelled_writes_change_nothing)
{
    struct srv_write large, waiting;
    atomic_bool cancelled[2] = {false, false};
    aim(&large, op_of(SRV_OP_EDIT, "a", row_edit(0, 5000, 0)));
    aim(&waiting, op_of(SRV_OP_EDIT, "a", row_edit(1, 2, 9)));
    large.cancelled = &cancelled[0];
    waiting.cancelled = &cancelled[1];
    begin_write(&large);
    begin_write(&waiting);
    atomic_store(&cancelled[1], true);
    srv_write_cancel(&waiting); /* it only waits, so it is over at once */
    ck_assert_uint_eq(under_way, 1);
    ck_assert_int_eq(waiting.status, OBB_CANCELLED);
    atomic_store(&cancelled[0], true);
    srv_write_cancel(&large);
    run_loop();
    ck_assert_int_eq(large.status, OBB_CANCELLED);
    ck_assert_uint_eq(obb_store_scenes(writer.store), 0);
    ck_assert_str_eq(told, "");
}
END_TEST

START_TEST(before_the_loop_runs_nothing_goes_to_the_pool)
{
    struct srv_write w;
    aim(&w, op_of(SRV_OP_EDIT, "a", row_edit(0, 5000, 0)));
    w.at_once = true;
    begin_write(&w);
    ck_assert_uint_eq(under_way, 0);
    ck_assert(w.status == OBB_OK && w.committed.put == 5000);
    ck_assert_uint_eq(srv_pool_jobs(pool), 0);
}
END_TEST

/* ---- Requests -------------------------------------------------------------------------------- */

static void setup(void) { service_start(NULL); }

START_TEST(commits_to_one_scene_follow_each_other)
{
    enum { CLIENTS = 12 };
    char out[1024];
    int sockets[CLIENTS];
    char *commit = large_commit(1, "");
    int s = begin("POST", "/v1/scenes/s/commit", commit);
    ck_assert_int_eq(end(s, out, sizeof out), 200);
    free(commit);
    for (int i = 0; i < CLIENTS; i++) {
        commit = large_commit(2 + i, "");
        if (i % 3 == 0)
            sockets[i] = begin("POST", "/v1/scenes/s/commit", commit);
        else if (i % 3 == 1) {
            char box[100];
            (void)snprintf(box, sizeof box, "{\"center\":[0,0,%d],\"half_extents\":[1,1,1]}", i);
            sockets[i] = begin("PUT", "/v1/scenes/s/boxes/b0", box);
        } else
            sockets[i] =
                begin("POST", "/v1/scenes/s/boxes/b1/transform", "{\"translate\":[0,0,1]}");
        free(commit);
    }
    bool seen[CLIENTS + 2] = {false};
    for (int i = 0; i < CLIENTS; i++) {
        ck_assert_int_eq(end(sockets[i], out, sizeof out), 200);
        const char *at = strstr(out, "\"revision\":");
        if (at == NULL) /* in the answer of a box it comes last */
            continue;
        const long revision = strtol(at + 11, NULL, 10);
        ck_assert(revision >= 2 && revision <= CLIENTS + 1 && !seen[revision]);
        seen[revision] = true;
    }
    ck_assert_int_eq(ask("GET", "/v1/scenes/s", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "\"revision\":13,"));
}
END_TEST

START_TEST(a_refused_commit_leaves_no_trace)
{
    char out[4096];
    char *commit = large_commit(1, ",\"pose\":{\"nobody\":{\"center\":[0,0,0]}}");
    int s = begin("POST", "/v1/scenes/new/commit", commit);
    const int listed = begin("GET", "/v1/scenes", "");
    (void)end(listed, out, sizeof out); /* a body on a GET: refused, whatever the scenes are */
    ck_assert_int_eq(end(s, out, sizeof out), 404);
    ck_assert_ptr_nonnull(strstr(out, "\"pointer\":\"/pose/nobody\""));
    ck_assert_int_eq(ask("GET", "/v1/scenes/new", "%s", ""), 404);
    ck_assert_int_eq(ask("GET", "/v1/scenes", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "{\"scenes\":[]}"));
    ck_assert_int_eq(ask("GET", "/metrics", "%s", ""), 200);
    ck_assert_ptr_nonnull(strstr(heard, "\nobbd_boxes 0\n"));
    free(commit);
}
END_TEST

static void setup_small(void) { service_start((const char *[]){"--box-limit", "7500", NULL}); }

START_TEST(two_large_commits_at_once_keep_the_limit_of_boxes)
{
    char out[2][4096];
    for (int round = 0; round < 10; round++) {
        char *commit = large_commit(round, "");
        const int a = begin("POST", "/v1/scenes/a/commit", commit);
        const int b = begin("POST", "/v1/scenes/b/commit", commit);
        const int first = end(a, out[0], sizeof out[0]), second = end(b, out[1], sizeof out[1]);
        ck_assert_msg((first == 200 && second == 413) || (first == 413 && second == 200), "%d %d",
                      first, second);
        ck_assert_int_eq(ask("DELETE", first == 200 ? "/v1/scenes/a" : "/v1/scenes/b", "%s", ""),
                         204);
        free(commit);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("writer");
    TCase *ops = tcase_create("ops");
    tcase_add_checked_fixture(ops, setup_ops, teardown_ops);
    tcase_set_timeout(ops, test_patience(60));
    tcase_add_test(ops, each_kind_is_applied_and_told_in_order);
    tcase_add_test(ops, refusals_say_who_refused_and_change_nothing);
    tcase_add_test(ops, large_edits_are_prepared_behind_the_lock_and_others_wait_in_turn);
    tcase_add_test(ops, merges_in_space_are_prepared_on_the_pool);
    tcase_add_test(ops, many_frames_are_prepared_on_the_pool_and_few_on_the_loop);
    tcase_add_test(ops, settings_that_let_many_boxes_expire_are_prepared_on_the_pool);
    tcase_add_test(ops, copies_are_made_beside_the_work_and_take_their_place_at_the_end);
    tcase_add_test(ops, a_scene_takes_commits_until_a_copy_replaces_it);
    tcase_add_test(ops, copies_that_come_to_nothing_leave_nothing);
    tcase_add_test(ops, cancelled_writes_change_nothing);
    tcase_add_test(ops, before_the_loop_runs_nothing_goes_to_the_pool);
    suite_add_tcase(suite, ops);
    TCase *tc = tcase_create("writer");
    tcase_add_checked_fixture(tc, setup, service_stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, commits_to_one_scene_follow_each_other);
    tcase_add_test(tc, a_refused_commit_leaves_no_trace);
    suite_add_tcase(suite, tc);
    TCase *small = tcase_create("limit");
    tcase_add_checked_fixture(small, setup_small, service_stop);
    tcase_set_timeout(small, test_patience(60));
    tcase_add_test(small, two_large_commits_at_once_keep_the_limit_of_boxes);
    suite_add_tcase(suite, small);
    return test_main(suite);
}
