#include "server/http/deadline.h"

#include "server/http/stream_body.h"

static void cut(struct srv_connection *c)
{
    c->all->options->metrics->cut_total++;
    srv_connection_cut(c);
}

void srv_deadline_expired(struct srv_connection *connection)
{
    struct srv_connection *c = connection;
    switch (c->phase) {
    case SRV_PHASE_READ:
        if (c->exchange != NULL)
            cut(c);
        else
            srv_connection_cut(c); /* nobody waited on an idle connection: not counted */
        break;
    case SRV_PHASE_WORK:
        srv_exchange_cancel(c->exchange, true);
        break;
    case SRV_PHASE_WRITE:
        if (c->rounds > 0 && srv_connection_takes(c, true))
            c->rounds--;
        else
            cut(c);
        break;
    case SRV_PHASE_STREAM:
        if (!srv_stream_check(c->exchange))
            cut(c);
        break;
    }
}
