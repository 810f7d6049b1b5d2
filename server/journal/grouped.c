#include "server/journal/grouped.h"

#include "server/journal/backend.h"
#include "server/journal/journal_body.h"

#include <pthread.h>
#include <time.h>

enum {
    GROUP_BYTES = 4 << 20,  /* a group ends at the entry that reaches this size */
    KEPT_BYTES = 1 << 20,   /* what the thread keeps of its buffer between two entries */
    RECOVER_NS = 100000000, /* between two tries to recover, also while excerpts are read */
    TIDY_NS = 1000000,      /* between two slices of upkeep while nothing waits */
    GIVE_UP_S = 2           /* at the end of the service: for so long what failed is tried again */
};

struct entries {
    struct srv_entry *first, *last;
};

struct excerpts {
    struct srv_excerpt *first, *last;
};

struct grouped {
    struct srv_journal journal; /* first */
    struct srv_backend *backend;
    struct srv_bell *bell;
    uint64_t sync_ms;

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    /* Under the lock. */
    struct entries queued; /* wait for the thread */
    struct entries done;   /* durable: wait for the loop */
    struct entries failed; /* wait for the loop, in the order of appending */
    size_t waiting;        /* entries queued or being written */
    uint64_t edge;         /* records below are forgotten */
    bool stop;             /* the thread ends once nothing is queued */
    bool hurry;            /* no entry waits for company any more */
    bool hurried;          /* one that is queued does not */
    double give_up;        /* with sync_ms: what fails is not tried again from then on; 0: it is */
    double since; /* with sync_ms: when the first that is queued was appended; 0: long ago */
    srv_journal_status trouble;  /* entries fail at this moment, and why */
    bool taken_back;             /* the loop has heard of all that failed */
    double next_try;             /* to recover, by the clock */
    struct excerpts asked, read; /* wait for the thread; for the loop */
    size_t readers;              /* of excerpts */

    /* The loop's: with sync_ms, the entries that are settled when the bell calls. */
    struct srv_entry *unsettled, **last_unsettled;
};

/* ---- Lists of entries ------------------------------------------------------------------------ */

static void push(struct entries *list, struct srv_entry *entry)
{
    entry->previous = list->last;
    entry->next = NULL;
    *(list->last != NULL ? &list->last->next : &list->first) = entry;
    list->last = entry;
}

/* Moves all of `from` behind those of `to`. */
static void move_all(struct entries *to, struct entries *from)
{
    if (from->first == NULL)
        return;
    from->first->previous = to->last;
    *(to->last != NULL ? &to->last->next : &to->first) = from->first;
    to->last = from->last;
    *from = (struct entries){NULL, NULL};
}

/* Moves all of `from` in front of those of `to`. */
static void move_before(struct entries *to, struct entries *from)
{
    move_all(from, to);
    *to = *from;
    *from = (struct entries){NULL, NULL};
}

static struct srv_entry *pop(struct entries *list)
{
    struct srv_entry *entry = list->first;
    if (entry == NULL)
        return NULL;
    list->first = entry->next;
    *(list->first != NULL ? &list->first->previous : &list->last) = NULL;
    return entry;
}

static void push_excerpt(struct excerpts *list, struct srv_excerpt *excerpt)
{
    excerpt->following = NULL;
    *(list->last != NULL ? &list->last->following : &list->first) = excerpt;
    list->last = excerpt;
}

static struct srv_excerpt *pop_excerpt(struct excerpts *list)
{
    struct srv_excerpt *excerpt = list->first;
    if (excerpt == NULL)
        return NULL;
    list->first = excerpt->following;
    if (list->first == NULL)
        list->last = NULL;
    return excerpt;
}

static size_t count_of(const struct entries *list)
{
    size_t count = 0;
    for (const struct srv_entry *e = list->first; e != NULL; e = e->next)
        count++;
    return count;
}

/* ---- The thread ------------------------------------------------------------------------------ */

static void add_to(_Atomic uint64_t *figure, uint64_t by)
{
    atomic_fetch_add_explicit(figure, by, memory_order_relaxed);
}

/* Returns whether it is a record, or comes with one. */
static bool has_record(const struct srv_entry *entry)
{
    return entry->kind == SRV_ENTRY_RECORD || entry->kind == SRV_ENTRY_GONE || entry->replaces != 0;
}

/* Writes entries of `queue` as one group until it is large enough. Those that were written, or
 * tried, are moved to *group. */
static srv_journal_status write_group(struct grouped *j, struct entries *queue,
                                      struct entries *group, struct wire_buf *bytes)
{
    uint64_t total = 0, records = 0;
    while (queue->first != NULL && total < GROUP_BYTES) {
        struct srv_entry *entry = pop(queue);
        push(group, entry);
        wire_buf_restart(bytes, bytes->capacity < KEPT_BYTES ? bytes->capacity : KEPT_BYTES);
        if (entry->write != NULL)
            entry->write(entry, bytes);
        if (bytes->failed) {
            j->backend->undo(j->backend);
            return SRV_JOURNAL_FAILED;
        }
        const srv_journal_status status = j->backend->add(j->backend, entry, bytes);
        if (status != SRV_JOURNAL_OK)
            return status;
        total += bytes->length;
        records += has_record(entry);
        add_to(&j->journal.figures.snapshots, entry->kind == SRV_ENTRY_SNAPSHOT);
    }
    const double begun = srv_clock();
    const srv_journal_status status = j->backend->commit(j->backend);
    if (status != SRV_JOURNAL_OK)
        return status;
    add_to(&j->journal.figures.sync_us, (uint64_t)((srv_clock() - begun) * 1e6));
    add_to(&j->journal.figures.records, records);
    add_to(&j->journal.figures.bytes, total);
    add_to(&j->journal.figures.groups, 1);
    return SRV_JOURNAL_OK;
}

/* Waits for the loop, at most `ns`; 0: as long as it takes. Under the lock. */
static void wait_for(struct grouped *j, long ns)
{
    if (ns == 0) {
        (void)pthread_cond_wait(&j->wake, &j->lock);
        return;
    }
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns % 1000000000;
    until.tv_sec += ns / 1000000000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&j->wake, &j->lock, &until);
}

/* Reads a slice of the excerpt that has waited longest, if any does. Returns whether one did. Under
 * the lock, which is given up meanwhile. */
static bool read_slice(struct grouped *j)
{
    struct srv_excerpt *excerpt = pop_excerpt(&j->asked);
    if (excerpt == NULL)
        return false;
    (void)pthread_mutex_unlock(&j->lock);
    j->backend->read(j->backend, excerpt);
    (void)pthread_mutex_lock(&j->lock);
    push_excerpt(&j->read, excerpt);
    srv_bell_ring(j->bell);
    return true;
}

/* Lets entries gather, so that one sync serves them all, until the first has waited for sync_ms.
 * Under the lock. */
static void gather(struct grouped *j)
{
    const double end = j->since + (double)j->sync_ms * 1e-3;
    double left = end - srv_clock();
    while (!j->stop && !j->hurry && !j->hurried && left > 0) {
        if (!read_slice(j))
            wait_for(j, (long)(left * 1e9) + 1);
        left = end - srv_clock();
    }
}

/* With sync_ms, at the end of the service: what has failed is tried again, but not for ever. Under
 * the lock. */
static void limit_tries(struct grouped *j)
{
    if (j->sync_ms != 0 && j->hurry && j->trouble != SRV_JOURNAL_OK && j->give_up == 0)
        j->give_up = srv_clock() + GIVE_UP_S;
}

/* Returns whether nothing is tried any more. Under the lock. */
static bool gives_up(const struct grouped *j)
{
    return j->give_up != 0 && srv_clock() >= j->give_up;
}

/* Gives up what waits, although it was answered for. The journal never works again: what comes
 * later may rest on it. Under the lock. */
static void give_up(struct grouped *j)
{
    for (struct srv_entry *e = j->queued.first; e != NULL; e = e->next)
        e->status = j->trouble;
    if (j->queued.first != NULL)
        srv_bell_ring(j->bell);
    move_before(&j->failed, &j->queued);
    j->waiting = 0;
    if (j->asked.first == NULL && !j->stop)
        wait_for(j, 0);
}

/* The group failed: all that is not durable fails with it, unless it was settled already and must
 * be tried again. Under the lock. */
static void fail(struct grouped *j, srv_journal_status status, struct entries *group)
{
    add_to(&j->journal.figures.failures, 1);
    j->trouble = status;
    limit_tries(j);
    move_before(&j->queued, group);
    j->since = 0;
    j->taken_back = j->sync_ms != 0;
    if (j->sync_ms != 0)
        return;
    move_all(&j->failed, &j->queued);
    for (struct srv_entry *e = j->failed.first; e != NULL; e = e->next)
        e->status = status;
    j->waiting = 0;
    srv_bell_ring(j->bell);
}

/* Under the lock, which is given up while the back end works. */
static void recover(struct grouped *j)
{
    bool recovered = false;
    if (j->taken_back && srv_clock() >= j->next_try) {
        (void)pthread_mutex_unlock(&j->lock);
        recovered = j->backend->recover(j->backend);
        (void)pthread_mutex_lock(&j->lock);
        j->next_try = srv_clock() + RECOVER_NS * 1e-9;
    }
    if (recovered && j->taken_back) /* entries may have failed meanwhile */
        j->trouble = SRV_JOURNAL_OK;
    else if (!j->stop)
        wait_for(j, RECOVER_NS);
}

/* Writes one group of what is queued. Under the lock, which is given up meanwhile. */
static void serve(struct grouped *j, struct wire_buf *bytes)
{
    struct entries queue = {NULL, NULL}, group = {NULL, NULL};
    move_all(&queue, &j->queued);
    j->hurried = false;
    (void)pthread_mutex_unlock(&j->lock);
    const srv_journal_status status = write_group(j, &queue, &group, bytes);
    (void)pthread_mutex_lock(&j->lock);
    if (queue.first != NULL)
        j->since = 0;
    move_before(&j->queued, &queue);
    if (status != SRV_JOURNAL_OK) {
        fail(j, status, &group);
        return;
    }
    j->waiting -= count_of(&group);
    move_all(&j->done, &group);
    srv_bell_ring(j->bell);
}

/* Does slices of upkeep until something waits or nothing is left. Under the lock, which is given up
 * meanwhile. */
static void tidy(struct grouped *j)
{
    const uint64_t edge = j->edge;
    j->backend->keeps = j->readers > 0;
    (void)pthread_mutex_unlock(&j->lock);
    const bool more = j->backend->tidy(j->backend, edge);
    (void)pthread_mutex_lock(&j->lock);
    /* The loop may have called, to say that it has taken all back, while the back end worked. */
    if (j->queued.first == NULL && j->asked.first == NULL && !j->stop &&
        j->trouble == SRV_JOURNAL_OK)
        wait_for(j, more || j->edge != edge ? TIDY_NS : 0);
}

static void *run(void *context)
{
    struct grouped *j = context;
    struct wire_buf bytes = {0};
    (void)pthread_mutex_lock(&j->lock);
    for (;;) {
        if (j->trouble != SRV_JOURNAL_OK) {
            if (j->stop)
                break;
            (void)read_slice(j);
            if (gives_up(j))
                give_up(j);
            else
                recover(j);
            continue;
        }
        if (j->queued.first != NULL) {
            if (j->sync_ms != 0)
                gather(j);
            serve(j, &bytes);
        } else if (j->stop) {
            break;
        }
        (void)read_slice(j);
        tidy(j);
    }
    (void)pthread_mutex_unlock(&j->lock);
    wire_buf_fini(&bytes);
    return NULL;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static void settle(struct srv_entry *entry, srv_journal_status status)
{
    if (!entry->answered) {
        entry->answered = true;
        entry->settled(entry, status);
    }
}

/* With sync_ms: settles what was appended since the bell called last. */
static void settle_at_once(struct grouped *j)
{
    struct srv_entry *e = j->unsettled;
    j->unsettled = NULL;
    j->last_unsettled = &j->unsettled;
    for (struct srv_entry *next; e != NULL; e = next) {
        next = e->next_unsettled;
        settle(e, SRV_JOURNAL_OK);
    }
}

static void on_bell(void *context)
{
    struct grouped *j = context;
    struct entries done = {NULL, NULL}, failed = {NULL, NULL};
    (void)pthread_mutex_lock(&j->lock);
    move_all(&done, &j->done);
    move_all(&failed, &j->failed);
    struct excerpts read = j->read;
    j->read = (struct excerpts){NULL, NULL};
    (void)pthread_mutex_unlock(&j->lock);
    for (struct srv_excerpt *e = pop_excerpt(&read); e != NULL; e = pop_excerpt(&read))
        e->read(e);
    settle_at_once(j);
    for (struct srv_entry *e = pop(&done); e != NULL; e = pop(&done)) {
        settle(e, SRV_JOURNAL_OK);
        e->released(e);
    }
    if (failed.first == NULL)
        return;
    for (struct srv_entry *e = failed.last, *previous; e != NULL; e = previous) {
        previous = e->previous;
        add_to(&j->journal.figures.lost, e->answered && has_record(e));
        settle(e, e->status);
        e->released(e);
    }
    (void)pthread_mutex_lock(&j->lock);
    j->taken_back = j->failed.first == NULL;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->lock);
}

static bool begin_thread(struct grouped *j)
{
    pthread_condattr_t monotonic;
    if (pthread_mutex_init(&j->lock, NULL) != 0)
        return false;
    if (pthread_condattr_init(&monotonic) == 0) {
        const bool made = pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
                          pthread_cond_init(&j->wake, &monotonic) == 0;
        (void)pthread_condattr_destroy(&monotonic);
        if (made && pthread_create(&j->thread, NULL, run, j) == 0)
            return true;
        if (made)
            (void)pthread_cond_destroy(&j->wake);
    }
    (void)pthread_mutex_destroy(&j->lock);
    return false;
}

static struct grouped *self(struct srv_journal *journal) { return (struct grouped *)journal; }

static void destroy(struct srv_journal *journal)
{
    struct grouped *j = self(journal);
    (void)pthread_mutex_lock(&j->lock);
    j->stop = true;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->lock);
    (void)pthread_join(j->thread, NULL);
    srv_bell_destroy(j->bell);
    (void)pthread_cond_destroy(&j->wake);
    (void)pthread_mutex_destroy(&j->lock);
    j->backend->close(j->backend);
    obb_free(j);
}

static void append(struct srv_journal *journal, struct srv_entry *entry)
{
    struct grouped *j = self(journal);
    const double now = j->sync_ms != 0 ? srv_clock() : 0;
    (void)pthread_mutex_lock(&j->lock);
    if (j->trouble == SRV_JOURNAL_OK) {
        if (j->sync_ms != 0) {
            *j->last_unsettled = entry;
            j->last_unsettled = &entry->next_unsettled;
            srv_bell_ring(j->bell);
        }
        if (j->queued.first == NULL || entry->hurries)
            (void)pthread_cond_signal(&j->wake);
        if (j->queued.first == NULL)
            j->since = now;
        j->hurried = j->hurried || entry->hurries;
        push(&j->queued, entry);
        j->waiting++;
    } else {
        entry->status = j->trouble;
        j->taken_back = false;
        push(&j->failed, entry);
        srv_bell_ring(j->bell);
    }
    (void)pthread_mutex_unlock(&j->lock);
}

static void read_excerpt(struct srv_journal *journal, struct srv_excerpt *excerpt)
{
    struct grouped *j = self(journal);
    srv_excerpt_clear(excerpt);
    (void)pthread_mutex_lock(&j->lock);
    j->readers += !excerpt->begun;
    j->hurried = j->hurried || !excerpt->begun; /* it is to have what was appended before */
    excerpt->begun = true;
    push_excerpt(&j->asked, excerpt);
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->lock);
}

static void read_end(struct srv_journal *journal)
{
    struct grouped *j = self(journal);
    (void)pthread_mutex_lock(&j->lock);
    j->readers--;
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->lock);
}

static void hurry(struct srv_journal *journal)
{
    struct grouped *j = self(journal);
    (void)pthread_mutex_lock(&j->lock);
    j->hurry = true;
    limit_tries(j);
    (void)pthread_cond_signal(&j->wake);
    (void)pthread_mutex_unlock(&j->lock);
}

static void forget(struct srv_journal *journal, uint64_t seq)
{
    struct grouped *j = self(journal);
    (void)pthread_mutex_lock(&j->lock);
    if (seq > j->edge) {
        j->edge = seq;
        (void)pthread_cond_signal(&j->wake);
    }
    (void)pthread_mutex_unlock(&j->lock);
}

static srv_journal_status state(struct srv_journal *journal)
{
    struct grouped *j = self(journal);
    (void)pthread_mutex_lock(&j->lock);
    const srv_journal_status status = j->trouble;
    (void)pthread_mutex_unlock(&j->lock);
    return status;
}

static size_t waiting(struct srv_journal *journal)
{
    struct grouped *j = self(journal);
    (void)pthread_mutex_lock(&j->lock);
    const size_t waiting = j->waiting;
    (void)pthread_mutex_unlock(&j->lock);
    return waiting;
}

/* Nobody else writes to the log. */
static wire_record_id newest(struct srv_journal *journal, obb_str name)
{
    (void)journal;
    (void)name;
    return (wire_record_id){0};
}

bool srv_grouped_create(struct srv_loop *loop, struct srv_backend *backend, uint64_t sync_ms,
                        struct srv_journal **out)
{
    static const struct srv_journal_calls calls = {.append = append,
                                                   .forget = forget,
                                                   .hurry = hurry,
                                                   .state = state,
                                                   .waiting = waiting,
                                                   .newest = newest,
                                                   .read = read_excerpt,
                                                   .read_end = read_end,
                                                   .destroy = destroy};
    struct grouped *j = obb_calloc(1, sizeof *j);
    if (j == NULL)
        return false;
    j->journal.calls = &calls;
    j->journal.holds_pieces = j->journal.seals = true;
    j->journal.number = backend->last_number;
    j->backend = backend;
    j->sync_ms = sync_ms;
    j->last_unsettled = &j->unsettled;
    j->trouble = backend->trouble;
    j->taken_back = true;
    backend->figures = &j->journal.figures;
    if (srv_bell_create(loop, on_bell, j, &j->bell)) {
        if (begin_thread(j)) {
            *out = &j->journal;
            return true;
        }
        srv_bell_destroy(j->bell);
    }
    backend->figures = NULL;
    obb_free(j);
    return false;
}
