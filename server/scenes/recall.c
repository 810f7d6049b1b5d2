#include "server/scenes/recall.h"

#include "server/base/log.h"
#include "server/scenes/async_destroy.h"
#include "server/scenes/scenes.h"
#include "server/scenes/tail.h"

#include <stddef.h>

enum {
    /* Bytes that a scene takes for each byte of its snapshot: 2.9 with 100,000 boxes that have only
     * a name and a pose. */
    WORTH = 3
};

static struct srv_services *services_of(const struct srv_recall *r) { return r->request->services; }

static bool is_cancelled(const struct srv_recall *r) { return atomic_load(&r->request->cancelled); }

static struct obb_scene *scene_of(const struct srv_recall *r)
{
    return r->loader.restored.journaled.scene;
}

/* Returns whether the scene that is made has come to a revision. */
static bool has_come_to(const struct srv_recall *r, uint64_t revision)
{
    obb_scene_info info;
    if (scene_of(r) == NULL)
        return false;
    obb_scene_info_without_bounds(scene_of(r), &info);
    return info.now.revision >= revision;
}

/* ---- On the pool ----------------------------------------------------------------------------- */

/* Applies rows up to the state of which the view is, or the last one. */
static size_t apply_rows(struct srv_job *job)
{
    struct srv_recall *r = (struct srv_recall *)job;
    const uint64_t next = r->view == NULL ? r->from : r->upto;
    while (r->row < r->excerpt.count && !r->failed && !has_come_to(r, next) && !is_cancelled(r))
        r->failed = !srv_scene_loader_row(&r->loader, &r->excerpt.rows[r->row++]);
    return 0;
}

/* Frees the scene, and the pieces of a snapshot that is not whole. */
static size_t discard(struct srv_job *job)
{
    struct srv_recall *r = (struct srv_recall *)job;
    srv_scene_loader_fini(&r->loader);
    r->loader = (struct srv_scene_loader){.number = 0};
    return 0;
}

/* ---- On the loop ----------------------------------------------------------------------------- */

static void on_discarded(struct srv_job *job)
{
    struct srv_recall *r = (struct srv_recall *)job;
    srv_recall_fini(r);
    r->then(r);
}

/* Frees what was made, and then ends. A snapshot of a million boxes has 100 MB of pieces, so that
 * is done on the pool. */
static void give_up(struct srv_recall *r)
{
    struct srv_services *services = services_of(r);
    srv_view_close(services->locks, r->view);
    r->view = NULL;
    r->job.advance = discard;
    r->job.done = on_discarded;
    r->job.cancelled = NULL;
    r->job.draws = false;
    r->job.background = true;
    if (srv_pool_submit(services->pool, &r->job) == SRV_SUBMITTED)
        return;
    (void)discard(&r->job);
    on_discarded(&r->job);
}

static void end(struct srv_recall *r)
{
    srv_journal_read_end(services_of(r)->journal, &r->excerpt);
    r->request->on_cancel = NULL;
    if (is_cancelled(r))
        r->problem = srv_problem_cancelled(r->request);
    if (is_cancelled(r) || r->view == NULL || !has_come_to(r, r->upto))
        give_up(r);
    else
        r->then(r);
}

static void fail(struct srv_recall *r, obb_status status)
{
    r->problem = status == OBB_NO_MEMORY
                     ? srv_problem_of_status(status)
                     : wire_problem_http(503, "the journal cannot be read at this moment");
    end(r);
}

/* Draws what the scene has come to take, and gives back what it takes less than expected. Without
 * room, ends and returns false. */
static bool draw_scene(struct srv_recall *r)
{
    struct obb_budget *budget = services_of(r)->budget;
    const size_t bytes = scene_of(r) != NULL ? obb_scene_bytes(scene_of(r)) : r->expected;
    if (bytes > budget->limit) {
        const char *detail = wire_detail(
            &r->request->arena,
            "found states that take at least %zu bytes beside the scene; --memory-limit is %zu",
            bytes, budget->limit);
        r->problem = wire_problem_http(413, detail);
        end(r);
        return false;
    }
    if (bytes > r->drawn && !obb_budget_take(budget, bytes - r->drawn)) {
        fail(r, OBB_NO_MEMORY);
        return false;
    }
    if (bytes < r->drawn)
        obb_budget_give(budget, r->drawn - bytes);
    r->drawn = bytes;
    return true;
}

static void open_view(struct srv_recall *r)
{
    const obb_at at = {.kind = OBB_AT_REVISION, .revision = r->from};
    obb_moment oldest;
    const obb_status status =
        srv_view_open(services_of(r)->locks, scene_of(r), &at, &r->view, &oldest, NULL);
    if (status == OBB_OK) {
        obb_view_keep_later(r->view);
        return;
    }
    r->view = NULL;
    r->problem = status == OBB_GONE
                     ? wire_problem_of_gone(&at, oldest, r->newest, &r->request->arena)
                     : srv_problem_of_status(status);
}

static void on_applied(struct srv_job *job);

/* Applies the rest of the slice, or reads the next one. */
static void go_on(struct srv_recall *r)
{
    if (r->row == r->excerpt.count) {
        if (r->excerpt.ended) { /* with --sync MS, the last records may not be written yet */
            fail(r, OBB_BAD_VALUE);
            return;
        }
        srv_journal_read(services_of(r)->journal, &r->excerpt);
        return;
    }
    r->job.advance = apply_rows;
    r->job.done = on_applied;
    r->job.cancelled = &r->request->cancelled;
    r->job.draws = true;
    const srv_submitted submitted = srv_pool_submit(services_of(r)->pool, &r->job);
    r->under_way = submitted == SRV_SUBMITTED;
    if (!r->under_way) {
        r->problem = srv_problem_of_pool(services_of(r), submitted);
        end(r);
    }
}

static void on_applied(struct srv_job *job)
{
    struct srv_recall *r = (struct srv_recall *)job;
    r->under_way = false;
    if (is_cancelled(r)) {
        end(r);
        return;
    }
    if (r->failed) {
        if (!r->loader.no_memory)
            SRV_LOG(services_of(r)->log, SRV_ERROR, "journal-damaged",
                    srv_text("error", r->loader.error));
        fail(r, r->loader.no_memory ? OBB_NO_MEMORY : OBB_BAD_VALUE);
        return;
    }
    if (!draw_scene(r))
        return;
    if (r->view == NULL && has_come_to(r, r->from)) {
        open_view(r);
        if (r->view == NULL) {
            end(r);
            return;
        }
    }
    if (r->view != NULL && has_come_to(r, r->upto))
        end(r);
    else
        go_on(r);
}

/* A slice was read. */
static void on_read(struct srv_excerpt *excerpt)
{
    struct srv_recall *r =
        (struct srv_recall *)(void *)((char *)excerpt - offsetof(struct srv_recall, excerpt));
    if (is_cancelled(r)) {
        end(r);
        return;
    }
    for (size_t i = 0; i < excerpt->count; i++)
        if (excerpt->rows[i].seq == 0)
            r->expected += WORTH * excerpt->rows[i].bytes.length;
    r->row = 0;
    if (excerpt->status != OBB_OK)
        fail(r, excerpt->status);
    else if (draw_scene(r))
        go_on(r);
}

static void on_cancel(struct srv_request *request)
{
    struct srv_recall *r = request->work;
    if (r->under_way)
        srv_pool_cancelled(&r->job); /* otherwise the journal calls soon */
}

bool srv_recall_can(const struct srv_services *services, const struct obb_scene *scene)
{
    return services->journal != NULL && srv_journal_has_excerpts(services->journal) &&
           srv_tail_of(scene) != NULL;
}

void srv_recall_begin(struct srv_recall *r, const struct obb_scene *scene)
{
    const struct srv_services *services = services_of(r);
    const uint64_t number = srv_tail_journaled(srv_tail_of(scene))->number;
    srv_scene_loader_init(&r->loader, number, obb_store_kernels(services->store));
    r->excerpt.scene = number;
    r->excerpt.budget = services->budget;
    r->excerpt.read = on_read;
    r->request->work = r;
    r->request->on_cancel = on_cancel;
    srv_journal_read(services->journal, &r->excerpt);
}

void srv_recall_fini(struct srv_recall *r)
{
    if (r->request == NULL)
        return;
    struct srv_services *services = services_of(r);
    srv_view_close(services->locks, r->view);
    r->view = NULL;
    srv_async_destroy(services->pool, services->locks->drain, scene_of(r));
    r->loader.restored.journaled.scene = NULL;
    srv_scene_loader_fini(&r->loader);
    r->loader = (struct srv_scene_loader){.number = 0};
    obb_budget_give(services->budget, r->drawn);
    r->drawn = 0;
}
