/* Lists of what a view holds, a page an answer: boxes and frames. */
#ifndef SRV_LISTING_H
#define SRV_LISTING_H

#include "server/scenes/work.h"

struct srv_listing;

/* What the lists of one kind do. */
struct srv_listing_kind {
    /* Reads the query string. */
    bool (*read)(const wire_param *params, size_t count, struct obb_arena *arena,
                 wire_list_params *out, wire_problem *problem);
    /* Returns about how many nanoseconds `write` will take. */
    double (*cost)(const struct srv_listing *listing);
    /* Gathers the page and writes it into the reply of the request. Any thread. Returns false if
     * there was no memory, or if the request is cancelled, which it checks now and then. */
    bool (*write)(const struct srv_listing *listing);
};

/* A list on its way. In the request's arena. */
struct srv_listing {
    struct srv_work work; /* first */
    const struct srv_listing_kind *kind;
    wire_list_params params;
    struct obb_view *view;
    bool written;
};

/* Answers the request with a list of the scene in its path: on the loop if that takes less than
 * SRV_LOOP_NS, otherwise from the pool. 304 if the client has the list. */
void srv_listing_answer(struct srv_request *request, const struct srv_listing_kind *kind);

#endif
