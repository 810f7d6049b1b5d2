#include "server/base/trash.h"

#include "core/obb.h"

#include <assert.h>

static struct srv_trash *trash_of(struct srv_job *job)
{
    return (struct srv_trash *)(void *)((char *)job - offsetof(struct srv_trash, job));
}

/* Charges the budget with a block whose owner is about to give it back. */
static void charge(void *context, size_t bytes)
{
    const struct srv_trash *t = context;
    obb_budget_charge(t->budget, bytes);
}

/* The system has so many bytes again. */
static void gone(struct srv_trash *t, size_t bytes)
{
    obb_trash_emptied(bytes);
    obb_budget_give(t->budget, bytes);
}

static size_t empty_step(struct srv_job *job)
{
    obb_trash_empty(trash_of(job)->blocks);
    return 0;
}

static void emptied(struct srv_job *job)
{
    struct srv_trash *t = trash_of(job);
    gone(t, t->bytes);
    t->busy = false;
    srv_drain_release(t->drain);
}

/* Blocks that were in stock for too long become trash. */
static void age(void *context)
{
    struct srv_trash *t = context;
    obb_stock_age();
    if (obb_stock_bytes() > 0)
        return;
    t->ages = false;
    srv_timer_stop(t->timer);
}

static void before_sleep(void *context)
{
    struct srv_trash *t = context;
    if (!t->ages && t->timer != NULL && obb_stock_bytes() > 0) {
        t->ages = true;
        srv_timer_start(t->timer, t->age_ms, t->age_ms);
    }
    if (t->busy || (t->blocks = obb_trash_take(&t->bytes)) == NULL)
        return;
    t->job = (struct srv_job){.advance = empty_step, .done = emptied, .background = true};
    if (srv_pool_submit(t->pool, &t->job) == SRV_SUBMITTED) {
        t->busy = true;
        t->jobs++;
        srv_drain_hold(t->drain);
        return;
    }
    obb_trash_empty(t->blocks);
    gone(t, t->bytes);
}

static bool is_scarce(const void *context)
{
    const struct obb_budget *budget = context;
    return obb_budget_used(budget) > budget->limit / 2;
}

void srv_trash_start(struct srv_trash *trash)
{
    if (srv_timer_create(trash->loop, age, trash, &trash->timer)) /* else nothing is kept */
        obb_stock_set_limit(trash->stock, is_scarce, trash->budget);
    obb_trash_collect(charge, trash);
    srv_loop_set_rest(trash->loop, before_sleep, trash);
}

void srv_trash_stop(struct srv_trash *trash)
{
    size_t bytes;
    assert(!trash->busy);
    srv_loop_set_rest(trash->loop, NULL, NULL);
    obb_trash_collect(NULL, NULL);
    obb_stock_set_limit(0, NULL, NULL);
    srv_timer_destroy(trash->timer);
    obb_trash_empty(obb_trash_take(&bytes));
    gone(trash, bytes);
}
