/* The folder of --data: what was restored is taken over by the service. */
#include "server/data.h"
#include "server/scenes/scene_memory.h"
#include "tests/server/scenes/journaled.h"
#include "tests/server/still_pool.h"

static struct srv_loop *loop;
static struct srv_pool *pool;
static struct srv_drain drain;
static struct srv_locks locks;
static struct obb_store *store;
static size_t ready_scenes, failures;

static bool on_ready(void *context, const srv_restored *restored)
{
    (void)context;
    ready_scenes = restored->count;
    return true;
}

static void on_failed(void *context)
{
    (void)context;
    failures++;
}

/* Leaves a folder with the journal of two scenes with histories. Returns the bytes of the
 * scenes. */
static size_t make_folder(void)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 1e9, .history_commits = 1000};
    rig_open_new(1, 0);
    for (int i = 0; i < 2; i++) {
        struct rig_scene *scene = rig_make(&settings);
        for (int k = 0; k < 200; k++) {
            const obb_put put = {
                .target = {.name = obb_str_of("a")},
                .parts = OBB_PUT_ALL,
                .box = {.center = {k, 0, 0}, .half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
                .attributes = {.category = 1, .mask = 1}};
            const obb_edit edit = {.dimensions = 3, .puts = &put, .put_count = 1};
            ck_assert(rig_commit(scene, &edit, k + 1, 0));
        }
    }
    rig_close();
    return obb_store_bytes(rig.store);
}

/* Both workers stand still, so the states can only go when they go on. */
START_TEST(scenes_without_room_give_up_states_on_the_pool_before_the_service_is_ready)
{
    static const srv_log quiet = {.descriptor = -1, .level = SRV_ERROR};
    char error[512];
    struct srv_data *data = NULL;
    const size_t bytes = make_folder();
    ck_assert(srv_loop_create(&loop));
    ck_assert(srv_pool_create(loop, STILL_WORKERS, 8, NULL, &pool));
    locks = (struct srv_locks){.pool = pool, .drain = &drain};
    ck_assert_int_eq(obb_store_create(10, 1000, NULL, &store), OBB_OK);
    struct srv_scene_memory memory = {
        .store = store, .locks = &locks, .limit = bytes / 4 * 3}; /* enough for each of both */
    const srv_data_options options = {.folder = rig.folder,
                                      .threads = 1,
                                      .memory = &memory,
                                      .loop = loop,
                                      .store = store,
                                      .pool = pool,
                                      .locks = &locks,
                                      .drain = &drain,
                                      .log = &quiet,
                                      .ready = on_ready,
                                      .failed = on_failed};
    ck_assert_msg(srv_data_open(&options, &data, error, sizeof error), "%s", error);
    still_begin(pool);
    ck_assert(srv_data_begin(data));
    while (obb_store_scenes(store) == 0 && failures == 0)
        srv_loop_step(loop, 10);
    for (int i = 0; i < 10; i++)
        srv_loop_step(loop, 1);
    ck_assert_uint_eq(failures, 0);
    ck_assert_uint_eq(ready_scenes, 0);
    ck_assert_uint_gt(obb_store_bytes(store), memory.limit);
    still_end();
    while (ready_scenes == 0 || still_ended < STILL_WORKERS)
        srv_loop_step(loop, 10);
    ck_assert_uint_eq(ready_scenes, 2);
    ck_assert_uint_le(obb_store_bytes(store), memory.limit);
    ck_assert_uint_ge(obb_store_bytes(store), memory.limit / 10 * 9);
    srv_data_stop(data);
    while (!srv_drain_empty(&drain))
        srv_loop_step(loop, 10);
    srv_data_destroy(data);
    obb_store_destroy(store);
    srv_pool_destroy(pool);
    srv_loop_destroy(loop);
    rig_end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("data");
    TCase *tc = tcase_create("data");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, scenes_without_room_give_up_states_on_the_pool_before_the_service_is_ready);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
