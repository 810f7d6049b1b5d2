/* The folder of --data: the journal in it, which is restored while the service already listens, and
 * then kept. On the loop's thread, except where it says otherwise. */
#ifndef SRV_DATA_H
#define SRV_DATA_H

#include "server/scenes/restore.h"
#include "server/scenes/services.h"

struct srv_data;

typedef struct srv_data_options {
    const char *folder;
    uint64_t sync_ms; /* see srv_grouped_create */
    size_t threads;   /* that restore scenes, beside the one that reads */
    const struct obb_kernels *kernels;
    struct srv_scene_memory *memory; /* scenes that take more than its limit forget old states */
    struct srv_loop *loop;
    struct obb_store *store;
    struct srv_pool *pool;
    struct srv_locks *locks;
    struct srv_drain *drain;
    struct obb_budget *budget; /* snapshots draw from it */
    const struct srv_log *log;
    /* All scenes are in the store, and the journal takes entries. Returns false without memory. */
    bool (*ready)(void *context, const srv_restored *restored);
    void (*failed)(void *context); /* it cannot go on: srv_data_error says why */
    void *context;
} srv_data_options;

/* Opens the journal. Returns false if the folder cannot be used, another process uses it, or it
 * holds no journal that this obbd can read; error then holds one line. */
bool srv_data_open(const srv_data_options *options, struct srv_data **out, char *error,
                   size_t error_size);

/* Begins to restore. `ready` or `failed` is called later, unless srv_data_stop comes before.
 * Returns false without memory. */
bool srv_data_begin(struct srv_data *data);

/* The service ends: gives the restore up, or the snapshots under way. The drain is held as long as
 * that takes. */
void srv_data_stop(struct srv_data *data);

/* No entry may be unsettled. Accepts NULL. */
void srv_data_destroy(struct srv_data *data);

/* Returns NULL until it is ready. */
struct srv_journal *srv_data_journal(const struct srv_data *data);
struct srv_snapshots *srv_data_snapshots(struct srv_data *data);

/* Returns one line after `failed` was called. */
const char *srv_data_error(const struct srv_data *data);

/* Reads all of the journal in a folder, which no other process may use, and compares every sum and
 * hash. Writes one line: what there is, or what is wrong; then returns false. */
bool srv_data_check(const char *folder, size_t threads, char *line, size_t line_size);

#endif
