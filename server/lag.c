#include "server/lag.h"

enum {
    LAG_MS = 100,    /* between two measurements */
    LAG_WINDOW = 100 /* measurements. The worst of the current window and the one before is told */
};

struct srv_lag {
    struct srv_metrics *metrics;
    struct srv_timer *timer;
    double due;           /* when the timer should call next, seconds of srv_clock */
    double worst, before; /* microseconds: of this window, and of the one before */
    size_t count;
};

void srv_lag_start(struct srv_lag *lag)
{
    lag->due = srv_clock() + LAG_MS * 1e-3;
    srv_timer_start(lag->timer, LAG_MS, 0);
}

static void on_timer(void *context)
{
    struct srv_lag *lag = context;
    const double late = (srv_clock() - lag->due) * 1e6;
    if (++lag->count % LAG_WINDOW == 0) {
        lag->before = lag->worst;
        lag->worst = 0;
    }
    if (late > lag->worst)
        lag->worst = late;
    lag->metrics->loop_lag_us = (uint64_t)(lag->worst > lag->before ? lag->worst : lag->before);
    srv_lag_start(lag);
}

bool srv_lag_create(struct srv_loop *loop, struct srv_metrics *metrics, struct srv_lag **out)
{
    struct srv_lag *lag = obb_calloc(1, sizeof *lag);
    if (lag == NULL)
        return false;
    lag->metrics = metrics;
    if (!srv_timer_create(loop, on_timer, lag, &lag->timer)) {
        obb_free(lag);
        return false;
    }
    *out = lag;
    return true;
}

void srv_lag_destroy(struct srv_lag *lag)
{
    if (lag == NULL)
        return;
    srv_timer_destroy(lag->timer);
    obb_free(lag);
}
