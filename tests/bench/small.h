/* Commits that move one box each, for a load. */
#ifndef BENCH_SMALL_H
#define BENCH_SMALL_H

#include "tests/bench/service/load.h"

enum { SMALL_BOXES = 64, SMALL_COMMITS = 2 * SMALL_BOXES };

/* Returns a load of commits that move the first boxes of a scene of scene_make to and fro. The
 * requests are the caller's, who frees them with small_free. */
load_group small_commits(const load_address *address, const char *scene,
                         load_request requests[static SMALL_COMMITS], size_t connections,
                         uint64_t gap_us);
void small_free(load_request requests[static SMALL_COMMITS]);

#endif
