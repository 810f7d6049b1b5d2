#include "server/scenes/restore.h"

#include "server/journal/sqlite.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WAITING_BYTES = 64 << 20, /* of records that were read and not applied: the reader waits then */
    SAMPLE_BYTES = 1 << 16,   /* between two samples of the log */
    CHUNK_WORTH = 500,        /* records that take as long as a piece of a snapshot */
    ERROR_SIZE = 512
};

/* What was read, on its way to the thread that applies it. */
struct item {
    struct item *next;
    struct srv_scene_loader *loader;
    struct srv_row row;
    size_t length; /* of its bytes */
};

/* A thread that applies the records of some scenes. */
struct applier {
    struct srv_restore *restore;
    pthread_t thread;
    struct item *first, *last; /* under the restore's lock */
    pthread_cond_t wake;
};

/* How many bytes of records came before a record. */
struct sample {
    uint64_t seq, total;
};

struct srv_restore {
    srv_restore_options options;
    pthread_t reader;
    struct applier *appliers; /* owned: options.threads of them */
    size_t made;              /* of the threads that apply */

    pthread_mutex_t lock;
    pthread_cond_t room;
    /* Under the lock. */
    size_t waiting;         /* bytes of records that wait */
    bool read, failed;      /* the reader has ended; somebody has failed, or was cancelled */
    size_t running;         /* threads that have not ended */
    char error[ERROR_SIZE]; /* the first one */
    uint64_t done, all;     /* how much work was done, and how much there is */
    double told;            /* when progress was told */
    size_t boxes;           /* in the scenes whose snapshots were applied */

    /* The reader's, and the owner's when the threads have ended. */
    struct srv_scene_loader **loaders; /* owned; by number */
    size_t loader_count, loader_room;
    struct sample *samples; /* owned */
    size_t sample_count, sample_room;
    uint64_t total;  /* bytes of the records so far, with their pieces */
    uint64_t pieces; /* bytes of the pieces of the record that comes next */

    /* The last thread's, and the owner's when the threads have ended. */
    size_t replaced; /* scenes that were left out */
};

/* ---- Failing --------------------------------------------------------------------------------- */

/* Under the lock. */
static void fail_locked(struct srv_restore *r, const char *error)
{
    if (!r->failed)
        (void)snprintf(r->error, sizeof r->error, "%s", error);
    r->failed = true;
    for (size_t i = 0; i < r->made; i++)
        (void)pthread_cond_signal(&r->appliers[i].wake);
    (void)pthread_cond_signal(&r->room);
}

static void fail(struct srv_restore *r, const char *error)
{
    (void)pthread_mutex_lock(&r->lock);
    fail_locked(r, error);
    (void)pthread_mutex_unlock(&r->lock);
}

static bool no_memory(struct srv_restore *r)
{
    fail(r, "there is not enough memory");
    return false;
}

/* Fails with what a loader says. */
static void fail_in(struct srv_restore *r, const struct srv_scene_loader *loader)
{
    char error[ERROR_SIZE];
    (void)snprintf(error, sizeof error, "%s: %s", r->options.path, loader->error);
    fail(r, error);
}

void srv_restore_cancel(struct srv_restore *r) { fail(r, "it was given up"); }

/* ---- Threads that apply ---------------------------------------------------------------------- */

static void free_item(struct item *item)
{
    wire_buf_fini(&item->row.bytes);
    obb_free(item);
}

/* Waits for something to apply. Returns NULL at the end. */
static struct item *take(struct applier *a)
{
    struct srv_restore *r = a->restore;
    (void)pthread_mutex_lock(&r->lock);
    while (a->first == NULL && !r->read && !r->failed)
        (void)pthread_cond_wait(&a->wake, &r->lock);
    struct item *item = r->failed ? NULL : a->first;
    if (item != NULL) {
        a->first = item->next;
        if (a->first == NULL)
            a->last = NULL;
    }
    (void)pthread_mutex_unlock(&r->lock);
    return item;
}

static void tell_progress(const struct srv_restore *r, uint64_t done, size_t scenes, size_t boxes)
{
    if (r->options.log == NULL)
        return;
    const double share = r->all == 0 ? 1.0 : (double)done / (double)r->all;
    SRV_LOG(r->options.log, SRV_INFO, "restoring", srv_integer("scenes", (int64_t)scenes),
            srv_integer("boxes", (int64_t)boxes),
            srv_integer("percent", (int64_t)(100.0 * (share < 1.0 ? share : 1.0))));
}

/* Counts an item that was applied, and tells how far it is once a second. */
static void count(struct srv_restore *r, const struct item *item, size_t boxes)
{
    const double now = srv_clock();
    (void)pthread_mutex_lock(&r->lock);
    r->done += item->row.seq != 0 && !item->row.is_piece ? 1 : CHUNK_WORTH;
    r->boxes += boxes;
    if (item->row.seq != 0 && r->waiting >= WAITING_BYTES)
        (void)pthread_cond_signal(&r->room);
    r->waiting -= item->row.seq != 0 ? item->length : 0;
    const bool tell = now - r->told >= 1.0;
    if (tell)
        r->told = now;
    const uint64_t done = r->done;
    const size_t scenes = r->loader_count, all_boxes = r->boxes;
    (void)pthread_mutex_unlock(&r->lock);
    if (tell)
        tell_progress(r, done, scenes, all_boxes);
}

static bool apply(struct srv_restore *r, struct item *item)
{
    struct srv_scene_loader *loader = item->loader;
    const bool good = srv_scene_loader_row(loader, &item->row);
    if (!good)
        fail_in(r, loader);
    return good;
}

/* Returns the boxes of a scene that a snapshot has just made. */
static size_t boxes_made(const struct item *item)
{
    const struct obb_scene *scene = item->loader->restored.journaled.scene;
    obb_scene_info info;
    if (item->row.seq != 0 || scene == NULL)
        return 0;
    obb_scene_info_without_bounds(scene, &info);
    return info.boxes + info.frames;
}

static void settle(struct srv_restore *r);

/* Ends a thread. The last one settles what all have made. */
static void leave(struct srv_restore *r)
{
    (void)pthread_mutex_lock(&r->lock);
    const bool last = --r->running == 0, good = !r->failed;
    (void)pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    if (good)
        settle(r);
    if (r->options.ended != NULL)
        r->options.ended(r->options.context);
}

static void *run_applier(void *context)
{
    struct applier *a = context;
    bool good = true;
    for (struct item *item = take(a); item != NULL && good; item = good ? take(a) : NULL) {
        good = apply(a->restore, item);
        count(a->restore, item, good ? boxes_made(item) : 0);
        free_item(item);
    }
    leave(a->restore);
    return NULL;
}

/* ---- The thread that reads ------------------------------------------------------------------- */

/* Returns where a scene is, or would be, among the loaders. */
static size_t rank_of(const struct srv_restore *r, uint64_t number)
{
    size_t low = 0, high = r->loader_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->loaders[middle]->number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the loader of a scene, which is made when its first bytes come; NULL without memory. */
static struct srv_scene_loader *loader_of(struct srv_restore *r, uint64_t number)
{
    const size_t rank = rank_of(r, number);
    if (rank < r->loader_count && r->loaders[rank]->number == number)
        return r->loaders[rank];
    if (r->loader_count == r->loader_room) {
        const size_t room = r->loader_room == 0 ? 64 : 2 * r->loader_room;
        struct srv_scene_loader **loaders = (struct srv_scene_loader **)obb_realloc(
            (void *)r->loaders, room, sizeof(struct srv_scene_loader *));
        if (loaders == NULL)
            return NULL;
        r->loaders = loaders;
        r->loader_room = room;
    }
    struct srv_scene_loader *loader = obb_malloc(1, sizeof *loader);
    if (loader == NULL)
        return NULL;
    srv_scene_loader_init(loader, number, r->options.kernels);
    loader->limit = r->options.scene_memory;
    memmove((void *)(r->loaders + rank + 1), (void *)(r->loaders + rank),
            (r->loader_count - rank) * sizeof(struct srv_scene_loader *));
    r->loaders[rank] = loader;
    (void)pthread_mutex_lock(&r->lock);
    r->loader_count++; /* which is told as progress */
    (void)pthread_mutex_unlock(&r->lock);
    return loader;
}

/* Hands bytes to the thread that applies those of the scene. Takes the item over. */
static bool hand_over(struct srv_restore *r, struct item *item)
{
    struct applier *a = &r->appliers[item->loader->number % r->options.threads];
    const bool record = item->row.seq != 0;
    (void)pthread_mutex_lock(&r->lock);
    while (record && r->waiting >= WAITING_BYTES && !r->failed)
        (void)pthread_cond_wait(&r->room, &r->lock);
    const bool good = !r->failed;
    if (good) {
        r->waiting += record ? item->length : 0;
        if (a->first == NULL)
            (void)pthread_cond_signal(&a->wake);
        *(a->last != NULL ? &a->last->next : &a->first) = item;
        a->last = item;
    }
    (void)pthread_mutex_unlock(&r->lock);
    if (!good)
        free_item(item);
    return good;
}

/* Returns an item with a copy of the bytes, or NULL after failing. */
static struct item *item_of(struct srv_restore *r, uint64_t scene, obb_str bytes)
{
    struct item *item = obb_calloc(1, sizeof *item);
    if (item != NULL) {
        item->loader = loader_of(r, scene);
        item->length = bytes.length;
        wire_buf_append(&item->row.bytes, bytes.bytes, bytes.length);
        if (item->loader != NULL && !item->row.bytes.failed)
            return item;
        free_item(item);
    }
    (void)no_memory(r);
    return NULL;
}

static void on_counted(void *context, uint64_t records, uint64_t chunks)
{
    struct srv_restore *r = context;
    (void)pthread_mutex_lock(&r->lock);
    r->all = records + CHUNK_WORTH * chunks;
    (void)pthread_mutex_unlock(&r->lock);
}

static bool on_chunk(void *context, uint64_t scene, uint64_t number, uint64_t count, uint64_t from,
                     obb_str bytes)
{
    struct srv_restore *r = context;
    struct item *item = item_of(r, scene, bytes);
    if (item == NULL)
        return false;
    item->row.number = number;
    item->row.count = count;
    item->row.from = from;
    return hand_over(r, item);
}

/* Notes now and then how much of the log there is up to here. */
static bool sample(struct srv_restore *r, uint64_t seq)
{
    if (r->sample_count > 0 && r->total - r->samples[r->sample_count - 1].total < SAMPLE_BYTES)
        return true;
    if (r->sample_count == r->sample_room) {
        const size_t room = r->sample_room == 0 ? 64 : 2 * r->sample_room;
        struct sample *samples = obb_realloc(r->samples, room, sizeof *samples);
        if (samples == NULL)
            return no_memory(r);
        r->samples = samples;
        r->sample_room = room;
    }
    r->samples[r->sample_count++] = (struct sample){.seq = seq, .total = r->total};
    return true;
}

static bool on_piece(void *context, uint64_t scene, uint64_t seq, obb_str bytes)
{
    struct srv_restore *r = context;
    struct item *item = item_of(r, scene, bytes);
    if (item == NULL)
        return false;
    item->row.seq = seq;
    item->row.is_piece = true;
    r->pieces += bytes.length;
    return hand_over(r, item);
}

static bool on_record(void *context, uint64_t scene, uint64_t revision, uint64_t seq, obb_str bytes)
{
    struct srv_restore *r = context;
    (void)revision; /* the record says it, too */
    struct item *item = item_of(r, scene, bytes);
    if (item == NULL)
        return false;
    item->row.seq = seq;
    if (!sample(r, seq)) {
        free_item(item);
        return false;
    }
    r->total += bytes.length + r->pieces;
    r->pieces = 0;
    return hand_over(r, item);
}

static bool on_name(void *context, obb_str bytes, char *out, size_t size)
{
    wire_record head;
    obb_str one;
    (void)context;
    if (!wire_record_next(&bytes, &one) || wire_record_head(one, &head) != OBB_OK ||
        head.name.length == 0)
        return false;
    (void)snprintf(out, size, "%s", wire_show(head.name).text);
    return true;
}

static void *run_reader(void *context)
{
    struct srv_restore *r = context;
    char error[ERROR_SIZE];
    const struct srv_backend_visitor visitor = {.counted = on_counted,
                                                .chunk = on_chunk,
                                                .piece = on_piece,
                                                .record = on_record,
                                                .name = on_name,
                                                .context = r,
                                                .error = r->error};
    const bool good = srv_sqlite_load(r->options.backend, &visitor, error, sizeof error);
    (void)pthread_mutex_lock(&r->lock);
    r->read = true;
    if (!good)
        fail_locked(r, error);
    for (size_t i = 0; i < r->made; i++)
        (void)pthread_cond_signal(&r->appliers[i].wake);
    (void)pthread_mutex_unlock(&r->lock);
    leave(r);
    return NULL;
}

/* ---- What all threads have made: on the last one --------------------------------------------- */

static obb_str name_of(const struct srv_scene_loader *loader)
{
    return obb_scene_name(loader->restored.journaled.scene);
}

/* Orders loaders by the names of their scenes, then by their numbers. */
static int compare_loaders(const void *a, const void *b)
{
    const struct srv_scene_loader *x = *(struct srv_scene_loader *const *)a;
    const struct srv_scene_loader *y = *(struct srv_scene_loader *const *)b;
    const int order = obb_str_compare(name_of(x), name_of(y));
    return order != 0 ? order : x->number < y->number ? -1 : x->number > y->number;
}

/* Adds to the journal that a scene is gone. */
static bool add_gone(struct srv_restore *r, const struct srv_scene_loader *loader)
{
    struct srv_backend *backend = r->options.backend;
    const wire_record record = {.kind = WIRE_RECORD_GONE,
                                .epoch = loader->restored.epoch,
                                .base = loader->restored.journaled.newest};
    struct srv_entry entry = {.kind = SRV_ENTRY_GONE, .scene = loader->number};
    struct wire_buf bytes = {0};
    wire_record_write(&record, 3, &bytes);
    const bool good = !bytes.failed && backend->add(backend, &entry, &bytes) == SRV_JOURNAL_OK;
    if (good) {
        backend->last_seq = entry.seq;
        r->total += bytes.length;
    }
    wire_buf_fini(&bytes);
    return good;
}

/* Frees the loader of a scene that was replaced. */
static void drop_loader(struct srv_restore *r, struct srv_scene_loader *loader)
{
    const size_t rank = rank_of(r, loader->number);
    srv_scene_loader_fini(loader);
    obb_free(loader);
    r->loader_count--;
    memmove((void *)(r->loaders + rank), (void *)(r->loaders + rank + 1),
            (r->loader_count - rank) * sizeof(struct srv_scene_loader *));
    r->replaced++;
}

/* Drops scenes that copies have replaced. Returns false if the journal should say that they are
 * gone, and cannot be written. */
static bool drop_replaced(struct srv_restore *r, struct srv_scene_loader **by_name)
{
    const size_t count = r->loader_count;
    const bool writes = r->options.takes_over;
    bool good = true;
    for (size_t i = 0; i + 1 < count && good; i++)
        if (obb_str_equal(name_of(by_name[i]), name_of(by_name[i + 1]))) {
            good = !writes || add_gone(r, by_name[i]);
            drop_loader(r, by_name[i]);
        }
    if (good && writes && r->replaced > 0)
        good = r->options.backend->commit(r->options.backend) == SRV_JOURNAL_OK;
    return good;
}

/* Checks that each scene is there, and that it is the only one of its name. */
static void settle(struct srv_restore *r)
{
    for (size_t i = 0; i < r->loader_count; i++)
        if (!srv_scene_loader_end(r->loaders[i])) {
            fail_in(r, r->loaders[i]);
            return;
        }
    struct srv_scene_loader **by_name =
        (struct srv_scene_loader **)obb_calloc(r->loader_count, sizeof(struct srv_scene_loader *));
    if (by_name == NULL) {
        (void)no_memory(r);
        return;
    }
    for (size_t i = 0; i < r->loader_count; i++)
        by_name[i] = r->loaders[i];
    qsort((void *)by_name, r->loader_count, sizeof(struct srv_scene_loader *), compare_loaders);
    if (!drop_replaced(r, by_name)) {
        char error[ERROR_SIZE];
        (void)snprintf(error, sizeof error, "%s: it cannot be written", r->options.path);
        fail(r, error);
    }
    obb_free((void *)by_name);
}

/* ---- The beginning and the end --------------------------------------------------------------- */

/* Ends the threads that apply, and frees what they were to apply. */
static void join_appliers(struct srv_restore *r)
{
    for (size_t i = 0; i < r->made; i++) {
        struct applier *a = &r->appliers[i];
        (void)pthread_join(a->thread, NULL);
        for (struct item *item = a->first, *next; item != NULL; item = next) {
            next = item->next;
            free_item(item);
        }
        (void)pthread_cond_destroy(&a->wake);
    }
}

static void free_restore(struct srv_restore *r)
{
    for (size_t i = 0; i < r->loader_count; i++) {
        srv_scene_loader_fini(r->loaders[i]);
        obb_free(r->loaders[i]);
    }
    obb_free((void *)r->loaders);
    obb_free(r->samples);
    (void)pthread_cond_destroy(&r->room);
    (void)pthread_mutex_destroy(&r->lock);
    obb_free(r->appliers);
    obb_free(r);
}

static bool begin_threads(struct srv_restore *r)
{
    for (; r->made < r->options.threads; r->made++) {
        struct applier *a = &r->appliers[r->made];
        a->restore = r;
        if (pthread_cond_init(&a->wake, NULL) != 0)
            return false;
        if (pthread_create(&a->thread, NULL, run_applier, a) != 0) {
            (void)pthread_cond_destroy(&a->wake);
            return false;
        }
    }
    return pthread_create(&r->reader, NULL, run_reader, r) == 0;
}

bool srv_restore_begin(const srv_restore_options *options, struct srv_restore **out)
{
    struct srv_restore *r = obb_calloc(1, sizeof *r);
    if (r == NULL)
        return false;
    r->options = *options;
    r->running = options->threads + 1;
    r->told = srv_clock();
    r->appliers = obb_calloc(options->threads, sizeof *r->appliers);
    if (r->appliers == NULL || pthread_mutex_init(&r->lock, NULL) != 0) {
        obb_free(r->appliers);
        obb_free(r);
        return false;
    }
    if (pthread_cond_init(&r->room, NULL) != 0) {
        (void)pthread_mutex_destroy(&r->lock);
        obb_free(r->appliers);
        obb_free(r);
        return false;
    }
    if (begin_threads(r)) {
        *out = r;
        return true;
    }
    srv_restore_cancel(r);
    join_appliers(r);
    free_restore(r);
    return false;
}

/* Returns how many bytes of records come before a record; up to 64 KiB less. */
static uint64_t mark_of(const struct srv_restore *r, uint64_t seq)
{
    size_t low = 0, high = r->sample_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (r->samples[middle].seq <= seq)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->sample_count && (low == 0 || seq > r->options.backend->last_seq))
        return r->total; /* behind the last record */
    return low > 0 ? r->samples[low - 1].total : 0;
}

/* Moves the scenes to *out. */
static bool hand_out(struct srv_restore *r, srv_restored *out)
{
    out->scenes = obb_calloc(r->loader_count, sizeof *out->scenes);
    if (out->scenes == NULL)
        return no_memory(r);
    for (size_t i = 0; i < r->loader_count; i++) {
        struct srv_scene_loader *loader = r->loaders[i];
        struct srv_journaled *journaled = &loader->restored.journaled;
        obb_scene_info info;
        obb_scene_info_without_bounds(journaled->scene, &info);
        journaled->mark = mark_of(r, journaled->first);
        out->boxes += info.boxes + info.frames;
        out->records += loader->records;
        out->scenes[i] = loader->restored;
    }
    out->count = r->loader_count;
    out->replaced = r->replaced;
    out->last_seq = r->options.backend->last_seq;
    out->total = r->total;
    out->loaders = r->loaders;
    r->loaders = NULL;
    r->loader_count = 0;
    return true;
}

bool srv_restore_end(struct srv_restore *r, srv_restored *out, char *error, size_t error_size)
{
    (void)pthread_join(r->reader, NULL);
    join_appliers(r);
    *out = (srv_restored){.scenes = NULL};
    const bool good = !r->failed && hand_out(r, out);
    if (!good) {
        (void)snprintf(error, error_size, "%s", r->error);
        obb_free(out->scenes);
        *out = (srv_restored){.scenes = NULL};
    }
    free_restore(r);
    return good;
}

/* ---- What was restored ----------------------------------------------------------------------- */

bool srv_restored_adopt(srv_restored *restored, struct obb_store *store, double now_ms, char *error,
                        size_t error_size)
{
    for (size_t i = 0; i < restored->count; i++) {
        struct srv_restored_scene *scene = &restored->scenes[i];
        struct obb_scene *made = scene->journaled.scene;
        obb_scene_resume(made, now_ms);
        const obb_status st = obb_store_adopt(store, made, scene->epoch);
        if (st != OBB_OK) {
            (void)snprintf(error, error_size, "scene %s: %s", wire_show(obb_scene_name(made)).text,
                           st == OBB_BAD_VALUE ? "--replay makes a scene of this name, too"
                                               : "there is not enough memory");
            return false;
        }
        restored->loaders[i]->restored.journaled.scene = NULL; /* the store's */
    }
    return true;
}

void srv_restored_fini(srv_restored *restored)
{
    for (size_t i = 0; i < restored->count; i++) {
        srv_scene_loader_fini(restored->loaders[i]);
        obb_free(restored->loaders[i]);
    }
    obb_free((void *)restored->loaders);
    obb_free(restored->scenes);
    *restored = (srv_restored){.scenes = NULL};
}
