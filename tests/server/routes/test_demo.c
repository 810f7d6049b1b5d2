/* The scene of --demo in motion: where its players and doors are, and the commits and shots by
 * which the daemon moves it. */
#include "server/routes/demo.h"
#include "server/routes/demo_motion.h"
#include "server/routes/demo_play.h"
#include "tests/support/test.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- Motion ---------------------------------------------------------------------------------- */

static double between(obb_vec3 a, obb_vec3 b)
{
    return sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y) + (a.z - b.z) * (a.z - b.z));
}

/* Returns the direction in which the frame looks: its +z axis in the scene. */
static obb_vec3 forwards(obb_quat q)
{
    return (obb_vec3){2 * (q.x * q.z + q.w * q.y), 2 * (q.y * q.z - q.w * q.x),
                      1 - 2 * (q.x * q.x + q.y * q.y)};
}

/* Speeds as the header of the tracks has them, by the distance of neighbouring places. */
START_TEST(players_run_forwards_and_never_jump)
{
    static const double speeds[SRV_DEMO_PLAYERS] = {5, 5.5, 2.6, 2.6, 3.4, 4.5, 4.25, 2.776};
    enum { STEPS = 60000 };
    const double step = 1e-3; /* seconds */
    obb_pose now[SRV_DEMO_FRAMES], next[SRV_DEMO_FRAMES];
    double turned = 0.0; /* of the gate, degrees at most */
    srv_demo_frames(0.0, now);
    for (int i = 1; i <= STEPS; i++) {
        srv_demo_frames(i * step, next);
        for (int p = 0; p < SRV_DEMO_PLAYERS; p++) {
            const double moved = between(now[p].center, next[p].center);
            const double length = speeds[p] * step;
            ck_assert_msg(fabs(moved - length) < 1e-5, "player %d moves %g at %d", p, moved, i);
            const obb_vec3 way = forwards(now[p].rotation);
            const double along = (next[p].center.x - now[p].center.x) * way.x +
                                 (next[p].center.z - now[p].center.z) * way.z;
            ck_assert_msg(along > 0.999 * length, "player %d looks aside at %d", p, i);
            ck_assert(fabs(way.y) < 1e-12);
        }
        const obb_quat leaf = next[SRV_DEMO_PLAYERS].rotation;
        turned = fmax(turned, 2 * atan2(fabs(leaf.y), leaf.w) * 180 / 3.14159265358979323846);
        memcpy(now, next, sizeof now);
    }
    ck_assert_double_eq_tol(turned, 90.0, 1e-6);
}
END_TEST

START_TEST(the_same_second_has_the_same_poses_and_the_legs_swing_apart)
{
    obb_pose a[SRV_DEMO_SWINGS], b[SRV_DEMO_SWINGS];
    double widest = 0.0;
    for (int i = 0; i < 200; i++) {
        srv_demo_limbs(i * 0.05, a);
        srv_demo_limbs(i * 0.05, b);
        for (int k = 0; k < SRV_DEMO_SWINGS; k++) {
            ck_assert_double_eq(a[k].center.z, b[k].center.z);
            ck_assert_double_eq(a[k].rotation.x, b[k].rotation.x);
        }
        ck_assert_double_eq_tol(a[2].center.z, -a[3].center.z, 1e-12); /* left and right leg */
        widest = fmax(widest, a[2].center.z - a[3].center.z);
    }
    ck_assert_double_eq_tol(widest, 2 * 0.4 * sin(30 * 3.14159265358979323846 / 180), 0.01);
}
END_TEST

/* ---- The scene ------------------------------------------------------------------------------- */

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_locks locks;
static struct srv_drain drain;
static struct srv_metrics metrics;
static struct obb_budget budget;
static struct obb_store *store;
static struct srv_events *events;
static struct srv_recorder recorder;
static struct srv_writer writer;
static const srv_log quiet = {.descriptor = -1, .level = SRV_ERROR};
static const obb_settings most = {.dimensions = 3, .history_span = 60000, .history_commits = 4096};

static void setup(void)
{
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, 1, 16, NULL, &pool));
    metrics = (struct srv_metrics){.commits_total = 0};
    obb_budget_init(&budget, 1 << 24);
    ck_assert_int_eq(obb_store_create(10, 10000, NULL, &store), OBB_OK);
    drain = (struct srv_drain){.holds = 0};
    locks = (struct srv_locks){.pool = pool, .drain = &drain};
    const struct srv_channels channels = {
        .loop = loop, .budget = &budget, .locks = &locks, .metrics = &metrics};
    ck_assert(srv_events_create(loop, &channels, &events));
    recorder = (struct srv_recorder){
        .budget = &budget, .store = store, .locks = &locks, .events = events, .metrics = &metrics};
    writer = (struct srv_writer){.store = store,
                                 .locks = &locks,
                                 .memory = {.store = store, .locks = &locks},
                                 .pool = pool,
                                 .drain = &drain,
                                 .budget = &budget};
    srv_writer_listen(&writer, srv_events_listener(events));
    srv_writer_listen(&writer, srv_recorder_listener(&recorder));
}

static void teardown(void)
{
    srv_recorder_fini(&recorder);
    srv_events_destroy(events);
    srv_writer_fini(&writer);
    obb_store_destroy(store);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
}

static struct obb_scene *make(bool moves)
{
    const obb_settings settings = srv_demo_settings(most);
    ck_assert_int_eq(srv_demo_create(&writer, &settings, moves), OBB_OK);
    struct obb_scene *scene = obb_store_find(store, obb_str_of(SRV_DEMO_SCENE));
    ck_assert_ptr_nonnull(scene);
    return scene;
}

static void on_done(struct srv_write *write) { (void)write; }

static void change(const obb_edit *edit)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct srv_write write = {
        .op = {.kind = SRV_OP_EDIT, .scene = obb_str_of(SRV_DEMO_SCENE), .edit = edit},
        .arena = &arena,
        .at_once = true,
        .done = on_done};
    srv_write(&writer, &write);
    ck_assert_int_eq(write.status, OBB_OK);
    obb_arena_fini(&arena);
}

static obb_scene_info info_of(const struct obb_scene *scene)
{
    obb_scene_info info;
    srv_scene_info(&locks, scene, &info, NULL);
    return info;
}

enum { WORLD = 1, CRATE = 2, PLAYER = 4, DOOR = 8 }; /* categories */

/* Counts the pairs of players that overlap. Fails if a player or a door meets anything else. */
static void count_pairs(struct obb_scene *scene, double seconds, size_t *out_players)
{
    const obb_query all = {.kind = OBB_QUERY_ALL_PAIRS, .dimensions = 3, .limit = 1000};
    const obb_at at = {.kind = OBB_AT_NOW};
    struct obb_view *view;
    struct obb_plan *plan;
    ck_assert_int_eq(srv_view_open(&locks, scene, &at, &view, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_plan_create(view, &all, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    for (size_t i = 0; i < result->pair_count; i++) {
        const struct obb_version *a = result->pairs[i].a, *b = result->pairs[i].b;
        const uint32_t one = obb_view_attributes(a).category;
        const uint32_t other = obb_view_attributes(b).category;
        const uint32_t moving = PLAYER | DOOR;
        if (one == PLAYER && other == PLAYER) {
            (*out_players)++;
        } else if (((one | other) & moving) != 0) {
            const obb_str name = obb_view_name(a), other_name = obb_view_name(b);
            ck_abort_msg("%.*s meets %.*s after %g s", (int)name.length, name.bytes,
                         (int)other_name.length, other_name.bytes, seconds);
        }
    }
    obb_plan_destroy(plan);
    srv_view_close(&locks, view);
}

/* Lets pairs of the yard count, too. */
static void ungroup_yard(struct obb_scene *scene)
{
    enum { MOST = 256 };
    static obb_put puts[MOST];
    const obb_at at = {.kind = OBB_AT_NOW};
    struct obb_view *view;
    size_t count = 0;
    ck_assert_int_eq(srv_view_open(&locks, scene, &at, &view, NULL, NULL), OBB_OK);
    const struct obb_version *box;
    for (uint64_t id = 0; (box = obb_view_next(view, id)) != NULL; id = obb_view_id(box))
        if (obb_view_attributes(box).category != PLAYER) {
            ck_assert_uint_lt(count, MOST);
            puts[count++] = (obb_put){.target = {.id = obb_view_id(box), .has_id = true},
                                      .parts = OBB_PUT_GROUP};
        }
    srv_view_close(&locks, view);
    change(&(obb_edit){.dimensions = 3, .puts = puts, .put_count = count});
}

/* Two minutes, 20 states a second, judged by the all-pairs of the core. */
START_TEST(players_meet_each_other_and_nothing_else_and_doors_nothing)
{
    struct obb_scene *scene = make(true);
    ck_assert_uint_eq(info_of(scene).boxes, 191);
    ungroup_yard(scene);
    obb_pose frames[SRV_DEMO_FRAMES], limbs[SRV_DEMO_SWINGS];
    size_t players = 0;
    for (int i = 0; i < 2400; i++) {
        const double seconds = i * 0.05;
        srv_demo_frames(seconds, frames);
        srv_demo_limbs(seconds, limbs);
        change(&(obb_edit){.dimensions = 3,
                           .frames = frames,
                           .frame_count = SRV_DEMO_FRAMES,
                           .poses = limbs,
                           .pose_count = SRV_DEMO_SWINGS});
        count_pairs(scene, seconds, &players);
    }
    printf("%zu pairs of players in 2400 states\n", players);
    ck_assert_uint_gt(players, 10); /* there is something to see */
}
END_TEST

START_TEST(a_scene_that_moves_keeps_thirty_seconds_or_what_it_may)
{
    const obb_settings settings = srv_demo_settings(most);
    ck_assert_double_eq(settings.history_span, 30000);
    ck_assert_uint_ge(settings.history_commits, 600); /* 20 a second */
    ck_assert_uint_eq(settings.record, 200);
    const obb_settings less = srv_demo_settings(
        (obb_settings){.dimensions = 3, .history_span = 100, .history_commits = 7});
    ck_assert_double_eq(less.history_span, 100);
    ck_assert_uint_eq(less.history_commits, 7);
}
END_TEST

START_TEST(the_still_scene_is_the_one_of_before)
{
    struct obb_scene *scene = make(false);
    const obb_scene_info info = info_of(scene);
    ck_assert_uint_eq(info.boxes, 189);
    ck_assert_uint_eq(info.frames, 0);
    ck_assert_uint_eq(info.now.revision, 1);
    ck_assert_double_eq(info.now.time, 0);
}
END_TEST

/* ---- Playing --------------------------------------------------------------------------------- */

static struct srv_demo_play *play_of(void)
{
    const struct srv_demo_play_options options = {.loop = loop,
                                                  .writer = &writer,
                                                  .recorder = &recorder,
                                                  .drain = &drain,
                                                  .metrics = &metrics,
                                                  .log = &quiet};
    struct srv_demo_play *play;
    ck_assert(srv_demo_play_create(&options, &play));
    return play;
}

static obb_vec3 center_of(struct obb_scene *scene, const char *name)
{
    const obb_at at = {.kind = OBB_AT_NOW};
    struct obb_view *view;
    ck_assert_int_eq(srv_view_open(&locks, scene, &at, &view, NULL, NULL), OBB_OK);
    const struct obb_version *box = obb_view_find(view, obb_str_of(name));
    ck_assert_ptr_nonnull(box);
    const obb_vec3 center = obb_view_pose(view, box).center;
    srv_view_close(&locks, view);
    return center;
}

START_TEST(each_commit_is_the_motion_at_its_time_and_a_shot_is_recorded)
{
    struct obb_scene *scene = make(true);
    struct srv_demo_play *play = play_of();
    srv_demo_play_start(play);
    for (uint64_t seen = 1; srv_recorder_count(&recorder, scene) == 0;) {
        srv_loop_step(loop, 100);
        const obb_scene_info info = info_of(scene);
        if (info.now.revision == seen)
            continue;
        seen = info.now.revision;
        ck_assert_double_eq(fmod(info.now.time, 50), 0);
        obb_pose frames[SRV_DEMO_FRAMES];
        srv_demo_frames(info.now.time / 1e3, frames);
        const obb_vec3 torso = center_of(scene, "player-1-torso");
        ck_assert_double_eq_tol(torso.x, frames[0].center.x, 1e-9);
        ck_assert_double_eq_tol(torso.y, 1.15, 1e-9);
        ck_assert_double_eq_tol(torso.z, frames[0].center.z, 1e-9);
    }
    const obb_scene_info info = info_of(scene);
    ck_assert_double_ge(info.now.time, 1000); /* a shot a second */
    ck_assert_uint_eq(metrics.commits_total, info.now.revision - 1);

    struct srv_record *record;
    const wire_recorded_params params = {.limit = 1};
    ck_assert_uint_eq(srv_recorder_find(&recorder, scene, &params, &record, 1), 1);
    ck_assert(record->has_tag);
    ck_assert_uint_eq(record->tag.length, strlen("player-1 at player-2"));
    ck_assert_int_eq(memcmp(record->tag.bytes, "player-1 at player-", 19), 0);
    char text[4096];
    (void)snprintf(text, sizeof text, "%.*s", (int)record->text.length, record->text.bytes);
    static const char *const parts[] = {"\"kind\":\"ray\"",
                                        "\"exclude_entities\":[\"player-1\"]",
                                        "\"answer\":{\"revision\":",
                                        "\"request\":\"demo-1\"",
                                        "\"token\":null",
                                        "\"clamped\":false"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        ck_assert_msg(strstr(text, parts[i]) != NULL, "no %s in %s", parts[i], text);
    srv_record_unref(record);

    srv_demo_play_stop(play);
    const uint64_t last = info_of(scene).now.revision;
    for (int i = 0; i < 3; i++)
        srv_loop_step(loop, 60);
    ck_assert_uint_eq(info_of(scene).now.revision, last);
    ck_assert(srv_drain_empty(&drain));
    srv_demo_play_destroy(play);
}
END_TEST

START_TEST(a_clock_that_was_set_ahead_is_gone_on_from)
{
    struct obb_scene *scene = make(true);
    struct srv_demo_play *play = play_of();
    srv_demo_play_start(play);
    change(&(obb_edit){.dimensions = 3, .has_time = true, .time = 1e6 + 7});
    const uint64_t before = info_of(scene).now.revision;
    while (info_of(scene).now.revision < before + 3)
        srv_loop_step(loop, 100);
    const double time = info_of(scene).now.time;
    ck_assert_double_gt(time, 1e6 + 7);
    ck_assert_double_eq(fmod(time - 7, 50), 0);
    srv_demo_play_destroy(play);
}
END_TEST

START_TEST(a_scene_that_is_removed_stays_removed_and_another_of_its_name_is_left_alone)
{
    make(true);
    struct srv_demo_play *play = play_of();
    srv_demo_play_start(play);
    srv_loop_step(loop, 100);
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct srv_write write = {.op = {.kind = SRV_OP_REMOVE, .scene = obb_str_of(SRV_DEMO_SCENE)},
                              .arena = &arena,
                              .at_once = true,
                              .done = on_done};
    srv_write(&writer, &write);
    ck_assert_int_eq(write.status, OBB_OK);
    obb_arena_fini(&arena);
    struct obb_scene *other = make(false);
    for (int i = 0; i < 4; i++)
        srv_loop_step(loop, 60);
    ck_assert_uint_eq(info_of(other).now.revision, 1);
    srv_demo_play_destroy(play);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("demo");
    TCase *motion = tcase_create("motion");
    tcase_add_test(motion, players_run_forwards_and_never_jump);
    tcase_add_test(motion, the_same_second_has_the_same_poses_and_the_legs_swing_apart);
    suite_add_tcase(suite, motion);
    TCase *scene = tcase_create("scene");
    tcase_add_checked_fixture(scene, setup, teardown);
    tcase_add_test(scene, players_meet_each_other_and_nothing_else_and_doors_nothing);
    tcase_add_test(scene, a_scene_that_moves_keeps_thirty_seconds_or_what_it_may);
    tcase_add_test(scene, the_still_scene_is_the_one_of_before);
    tcase_add_test(scene, each_commit_is_the_motion_at_its_time_and_a_shot_is_recorded);
    tcase_add_test(scene, a_clock_that_was_set_ahead_is_gone_on_from);
    tcase_add_test(scene,
                   a_scene_that_is_removed_stays_removed_and_another_of_its_name_is_left_alone);
    suite_add_tcase(suite, scene);
    return test_main(suite);
}
