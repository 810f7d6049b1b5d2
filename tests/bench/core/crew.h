/* Threads that run the chunks of a phase together, as the service's pool does. */
#ifndef BENCH_CORE_CREW_H
#define BENCH_CORE_CREW_H

#include "core/base/status.h"

#include <stddef.h>

/* Work in phases: advance says how many chunks the next one has (0: done, or *out_status says why not), chunk does one. */
typedef struct crew_work {
    size_t (*advance)(void *work, obb_status *out_status);
    obb_status (*chunk)(void *work, size_t chunk);
    void *work;
} crew_work;

struct crew;
struct crew *
crew_create(unsigned workers); /* the caller is one of them; ends the program when it cannot */
void crew_destroy(struct crew *crew);

/* All phases; what the first chunk or phase that failed answered. */
obb_status crew_run(struct crew *crew, const crew_work *work);

#endif
