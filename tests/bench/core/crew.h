/* Threads that run the chunks of a phase together, as the service's pool does. */
#ifndef BENCH_CORE_CREW_H
#define BENCH_CORE_CREW_H

#include "core/base/status.h"

#include <stddef.h>

/* Work in phases. advance returns the number of chunks of the next phase; 0: the work is done, or
 * failed with *out_status. chunk does one chunk. */
typedef struct crew_work {
    size_t (*advance)(void *work, obb_status *out_status);
    obb_status (*chunk)(void *work, size_t chunk);
    void *work;
} crew_work;

struct crew;
struct crew *
crew_create(unsigned workers); /* the caller is one of them; ends the program if it fails */
void crew_destroy(struct crew *crew);

/* Runs all phases. Returns the status of the first chunk or phase that failed, or OBB_OK. */
obb_status crew_run(struct crew *crew, const crew_work *work);

#endif
