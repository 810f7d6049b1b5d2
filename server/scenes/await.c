#include "server/scenes/await.h"

#include "server/journal/shared.h"
#include "server/scenes/conditions.h"
#include "server/scenes/epoch.h"
#include "server/scenes/scenes.h"

#include <stddef.h>
#include <string.h>

#define TURN_S 500e-6 /* for which requests are called anew at a stretch */

/* What a request waits for. */
enum awaited { NOTHING, REVISION, MARK, SCENE, TURN };

/* In the request's arena. */
struct srv_await {
    struct srv_request *request;
    wire_freshness what;
    bool is_fresh; /* a mark was read for it */
    enum awaited awaited;
    uint64_t deadline_ms;
    struct srv_await *earlier, *later; /* by the deadline */
    struct srv_awaited_scene *scene;   /* of REVISION */
    struct srv_await *previous, *next; /* of its scene, or of those that are ready */
    struct srv_mark_wait mark;         /* of MARK */
    struct srv_wake_wait wake;         /* of SCENE */
    bool has_woken;                    /* what it waits for next has its own time */
};

/* A scene of which some revision is awaited. */
struct srv_awaited_scene {
    struct srv_awaited_scene *next; /* in its bucket */
    struct srv_await *first, *last; /* by revision */
    size_t length;
    char name[];
};

static struct srv_awaits *awaits_of(const struct srv_request *request)
{
    return request->services->awaits;
}

static uint64_t now_ms(const struct srv_awaits *all) { return srv_loop_now_ms(all->loop); }

/* ---- Scenes ---------------------------------------------------------------------------------- */

/* The place in its bucket of a scene of this name, or the end of the bucket. */
static struct srv_awaited_scene **place_of(struct srv_awaits *all, obb_str name)
{
    const uint64_t hash = obb_hash(obb_hash_key_of_place(all), name.bytes, name.length);
    struct srv_awaited_scene **place = &all->scenes[hash % SRV_AWAIT_BUCKETS];
    while (*place != NULL &&
           !obb_str_equal((obb_str){.bytes = (*place)->name, .length = (*place)->length}, name))
        place = &(*place)->next;
    return place;
}

/* Returns the awaited scene of this name, which is made if there is none; NULL without memory. */
static struct srv_awaited_scene *scene_of(struct srv_awaits *all, obb_str name)
{
    struct srv_awaited_scene **place = place_of(all, name);
    if (*place != NULL)
        return *place;
    struct srv_awaited_scene *scene =
        obb_budget_calloc(all->budget, 1, sizeof *scene + name.length);
    if (scene == NULL)
        return NULL;
    memcpy(scene->name, name.bytes, name.length);
    scene->length = name.length;
    *place = scene;
    return scene;
}

static void drop_if_empty(struct srv_awaits *all, struct srv_awaited_scene *scene)
{
    if (scene->first != NULL)
        return;
    struct srv_awaited_scene **place =
        place_of(all, (obb_str){.bytes = scene->name, .length = scene->length});
    *place = scene->next;
    obb_budget_free(scene);
}

/* Those who wait for the same revision stay in the order in which they came. */
static void add_by_revision(struct srv_awaited_scene *scene, struct srv_await *a)
{
    struct srv_await *previous = scene->last;
    while (previous != NULL && previous->what.revision > a->what.revision)
        previous = previous->previous;
    a->scene = scene;
    a->previous = previous;
    a->next = previous != NULL ? previous->next : scene->first;
    *(previous != NULL ? &previous->next : &scene->first) = a;
    *(a->next != NULL ? &a->next->previous : &scene->last) = a;
}

/* ---- Waiting --------------------------------------------------------------------------------- */

static void set_timer(struct srv_awaits *all)
{
    if (all->first == NULL) {
        srv_timer_stop(all->timer);
        return;
    }
    const uint64_t now = now_ms(all), due = all->first->deadline_ms;
    srv_timer_start(all->timer, due > now ? due - now : 0, 0);
}

/* Takes a request out of all lists. */
static void leave(struct srv_awaits *all, struct srv_await *a)
{
    const bool was_first = all->first == a;
    if (a->awaited == REVISION || a->awaited == TURN) {
        struct srv_await **first = a->awaited == TURN ? &all->ready : &a->scene->first;
        struct srv_await **last = a->awaited == TURN ? &all->last_ready : &a->scene->last;
        *(a->previous != NULL ? &a->previous->next : first) = a->next;
        *(a->next != NULL ? &a->next->previous : last) = a->previous;
    }
    if (a->awaited == REVISION)
        drop_if_empty(all, a->scene);
    srv_mark_wait_leave(&a->mark);
    srv_wake_wait_leave(&a->wake);
    *(a->earlier != NULL ? &a->earlier->later : &all->first) = a->later;
    *(a->later != NULL ? &a->later->earlier : &all->last) = a->earlier;
    a->awaited = NOTHING;
    a->request->on_cancel = NULL;
    all->count--;
    if (was_first)
        set_timer(all);
}

static void on_cancel(struct srv_request *request)
{
    leave(awaits_of(request), request->await);
    srv_reply_cancelled(request);
}

/* Lets a request be called anew in the next turn of the loop. Until then it can be cancelled. */
static void make_ready(struct srv_awaits *all, struct srv_await *a)
{
    a->awaited = TURN;
    a->next = NULL;
    a->previous = all->last_ready;
    *(all->last_ready != NULL ? &all->last_ready->next : &all->ready) = a;
    all->last_ready = a;
    srv_bell_ring(all->bell);
}

static void on_bell(void *context)
{
    struct srv_awaits *all = context;
    const double end = srv_clock() + TURN_S;
    do {
        struct srv_await *a = all->ready;
        if (a == NULL)
            return;
        leave(all, a);
        srv_request_again(a->request);
    } while (srv_clock() < end);
    if (all->ready != NULL)
        srv_bell_ring(all->bell);
}

static void on_mark(struct srv_mark_wait *mark)
{
    struct srv_await *a =
        (struct srv_await *)(void *)((char *)mark - offsetof(struct srv_await, mark));
    a->is_fresh = true;
    make_ready(awaits_of(a->request), a);
}

static void refuse(struct srv_request *request, const char *detail)
{
    const wire_problem problem = wire_problem_http(503, detail); /* with Retry-After */
    srv_reply_problem(request, &problem);
}

/* Begins to wait, for as long as it has not waited yet; for a scene that wakes, with a time of its
 * own. Returns NULL after answering a request that cannot wait. */
static struct srv_await *enter(struct srv_request *request, const wire_freshness *what, bool wakes)
{
    struct srv_awaits *all = awaits_of(request);
    if (all->stopped) {
        refuse(request, "the service is ending");
        return NULL;
    }
    if (all->count == SRV_AWAIT_MOST) {
        refuse(request,
               wire_detail(&request->arena, "%d requests wait for states already; no more may",
                           (int)SRV_AWAIT_MOST));
        return NULL;
    }
    struct srv_await *a = request->await;
    if (a == NULL) {
        a = srv_work_room(request, sizeof *a);
        if (a == NULL)
            return NULL;
        a->request = request;
        a->has_woken = true;
        request->await = a;
    }
    if (a->has_woken)
        a->deadline_ms = now_ms(all) + SRV_AWAIT_MS;
    a->has_woken = wakes;
    if (wakes)
        a->deadline_ms = now_ms(all) + SRV_AWAIT_WAKE_MS;
    a->what = *what;
    struct srv_await *earlier = all->last;
    while (earlier != NULL && earlier->deadline_ms > a->deadline_ms)
        earlier = earlier->earlier;
    a->earlier = earlier;
    a->later = earlier != NULL ? earlier->later : all->first;
    *(earlier != NULL ? &earlier->later : &all->first) = a;
    *(a->later != NULL ? &a->later->earlier : &all->last) = a;
    all->count++;
    request->on_cancel = on_cancel;
    if (all->first == a)
        set_timer(all);
    return a;
}

static bool is_shared(const struct srv_request *request)
{
    const struct srv_awaits *all = awaits_of(request);
    return all != NULL && all->journal != NULL;
}

/* Returns the name in the path, or of length 0. */
static obb_str name_in(const struct srv_request *request)
{
    return request->target.part_count > SRV_SCENE_PART ? request->target.parts[SRV_SCENE_PART]
                                                       : (obb_str){.bytes = "", .length = 0};
}

static void wait_for_mark(struct srv_request *request, const wire_freshness *what)
{
    struct srv_awaits *all = awaits_of(request);
    if (srv_journal_state(all->journal) != SRV_JOURNAL_OK) {
        refuse(request, "the log of all daemons cannot be reached at this moment, so nobody knows "
                        "the newest state; reads that are not fresh go on");
        return;
    }
    struct srv_await *a = enter(request, what, false);
    if (a == NULL)
        return;
    a->awaited = MARK;
    a->mark = (struct srv_mark_wait){.name = name_in(request), .read = on_mark};
    srv_shared_mark(all->journal, &a->mark);
}

static void wait_for_revision(struct srv_request *request, const wire_freshness *what)
{
    struct srv_awaits *all = awaits_of(request);
    struct srv_await *a = enter(request, what, false);
    if (a == NULL)
        return;
    struct srv_awaited_scene *scene = scene_of(all, name_in(request));
    if (scene == NULL) {
        leave(all, a);
        srv_reply_status(request, OBB_NO_MEMORY);
        return;
    }
    a->awaited = REVISION;
    add_by_revision(scene, a);
}

/* ---- Scenes that sleep ----------------------------------------------------------------------- */

static const char cannot_wake[] =
    "the scene is not in memory here, and cannot be made from the log at this moment";

static void on_woken(struct srv_wake_wait *wake, bool good)
{
    struct srv_await *a =
        (struct srv_await *)(void *)((char *)wake - offsetof(struct srv_await, wake));
    struct srv_awaits *all = awaits_of(a->request);
    if (good) {
        make_ready(all, a);
        return;
    }
    leave(all, a);
    refuse(a->request, cannot_wake);
}

bool srv_request_wakes_name(struct srv_request *request, obb_str name)
{
    struct srv_awaits *all = awaits_of(request);
    if (!is_shared(request) || !srv_journal_asleep(all->journal, name, NULL))
        return false;
    struct srv_await *a = enter(request, &(wire_freshness){.has_revision = false}, true);
    if (a == NULL)
        return true;
    a->awaited = SCENE;
    a->wake = (struct srv_wake_wait){.done = on_woken};
    if (!srv_journal_wake(all->journal, name, &a->wake)) {
        leave(all, a);
        refuse(request, cannot_wake);
    }
    return true;
}

bool srv_request_wakes(struct srv_request *request)
{
    const struct srv_target *target = &request->target;
    const obb_str name = name_in(request);
    if (!is_shared(request) || name.length == 0 ||
        !obb_str_equal(target->parts[0], obb_str_of("v1")) ||
        !obb_str_equal(target->parts[1], obb_str_of("scenes")))
        return false;
    if (srv_request_wakes_name(request, name))
        return true;
    const struct obb_scene *scene = obb_store_find(request->services->store, name);
    struct srv_companion *companion = scene != NULL ? srv_companion_of(scene) : NULL;
    if (companion != NULL)
        companion->used_ms = now_ms(awaits_of(request));
    return false;
}

/* ---- What is there --------------------------------------------------------------------------- */

static bool is_epoch(const struct srv_request *request, const struct obb_scene *scene)
{
    return !request->has_if_epoch || obb_scene_epoch(scene) == request->if_epoch;
}

/* Writes the scene's newest state that everybody may see. Returns false if there is none. */
static bool find_info(const struct srv_request *request, struct obb_scene **out_scene,
                      obb_scene_info *out)
{
    const struct srv_services *services = request->services;
    bool hidden = true;
    *out_scene = obb_store_find(services->store, name_in(request));
    if (*out_scene != NULL)
        srv_scene_info(services->locks, *out_scene, out, &hidden);
    return !hidden;
}

static bool awaits_mark(const struct srv_request *request, const wire_freshness *what)
{
    const struct srv_await *a = request->await;
    return what->fresh && (a == NULL || !a->is_fresh);
}

bool srv_request_awaits(struct srv_request *request, const wire_freshness *what)
{
    struct obb_scene *scene;
    obb_scene_info info;
    if (!is_shared(request))
        return false;
    if (awaits_mark(request, what)) {
        wait_for_mark(request, what);
        return true;
    }
    if (!what->has_revision || !obb_name_valid(name_in(request)) ||
        (find_info(request, &scene, &info) && is_epoch(request, scene) &&
         info.now.revision >= what->revision))
        return false;
    wait_for_revision(request, what);
    return true;
}

bool srv_change_awaits(struct srv_request *request, const wire_freshness *what)
{
    struct obb_scene *scene;
    obb_scene_info info;
    if (is_shared(request) && what->has_revision && !awaits_mark(request, what) &&
        find_info(request, &scene, &info)) {
        if (info.now.revision < what->revision && srv_request_waits(request, scene))
            return true;
        obb_scene_tail_info(scene, &info);
        if (info.now.revision >= what->revision || !is_epoch(request, scene))
            return false;
    }
    return srv_request_awaits(request, what);
}

bool srv_request_may_await(const struct srv_request *request)
{
    static const char *const keys[] = {"revision", "at_revision", "from", "fresh"};
    if (!is_shared(request) || request->route->method != SRV_GET)
        return false;
    for (size_t i = 0; i < request->target.param_count; i++)
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (obb_str_equal(request->target.params[i].key, obb_str_of(keys[k])))
                return true;
    return false;
}

/* Lets a read need that revision, too. */
static void need(wire_freshness *all, uint64_t revision)
{
    if (all->has_revision && revision <= all->revision)
        return;
    all->has_revision = true;
    all->revision = revision;
}

/* Returns whether If-Match allows the read. Otherwise answers it. */
static bool matches(struct srv_request *request, struct obb_scene *scene, obb_str box)
{
    if (request->if_match == NULL)
        return true;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    const obb_str asked = obb_str_of(request->if_match);
    const uint64_t last = info.now.revision;
    const uint64_t changed =
        box.length > 0 ? obb_scene_changed(scene, &(obb_target){.name = box}) : 0;
    if (srv_tags_hold(request->if_match, changed > 0 ? changed : last, last, request->epoch, false))
        return true;
    const wire_problem problem =
        changed > 0 ? wire_problem_of_box_match(box, changed, last, asked, &request->arena)
                    : wire_problem_of_revision(&last, asked, &request->arena);
    srv_reply_problem(request, &problem);
    return false;
}

struct obb_scene *srv_path_scene_at(struct srv_request *request, const wire_freshness *what,
                                    const obb_at *at)
{
    return srv_path_box_scene_at(request, what, at, (obb_str){NULL, 0});
}

struct obb_scene *srv_path_box_scene_at(struct srv_request *request, const wire_freshness *what,
                                        const obb_at *at, obb_str box)
{
    wire_freshness all = what != NULL ? *what : (wire_freshness){.has_revision = false};
    const bool is_said = all.has_revision;
    if (at != NULL && at->kind == OBB_AT_REVISION && !at->clamp)
        need(&all, at->revision);
    if (request->if_match != NULL && srv_tags_least(request->if_match) > 0)
        need(&all, srv_tags_least(request->if_match));
    if (srv_request_awaits(request, &all))
        return NULL;
    struct obb_scene *scene = srv_path_scene(request);
    if (scene == NULL)
        return NULL;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    if (!is_said || what->revision <= info.now.revision)
        return matches(request, scene, box) ? scene : NULL;
    const obb_at asked = {.kind = OBB_AT_REVISION, .revision = what->revision};
    const wire_problem problem =
        wire_problem_of_gone(&asked, info.oldest, info.now, &request->arena);
    srv_reply_problem(request, &problem);
    return NULL;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* Answers a request that has waited for too long. */
static void reply_late(struct srv_request *request, const wire_freshness *what, enum awaited was)
{
    struct obb_scene *scene;
    obb_scene_info info;
    const bool is_there = find_info(request, &scene, &info);
    struct obb_arena *arena = &request->arena;
    if (was == REVISION && is_there && !is_epoch(request, scene)) {
        request->epoch = obb_scene_epoch(scene);
        const wire_problem problem = srv_problem_of_epoch(request, request->epoch);
        srv_reply_problem(request, &problem);
    } else if (was == SCENE) {
        refuse(request, cannot_wake);
    } else if (was != REVISION) {
        refuse(request, "the newest state of all daemons could not be found out within 5 s; reads "
                        "that are not fresh go on");
    } else if (is_there) {
        refuse(request,
               wire_detail(arena,
                           "found revision %llu after 5 s; revision %llu has not come to this "
                           "daemon",
                           (unsigned long long)info.now.revision,
                           (unsigned long long)what->revision));
    } else {
        refuse(request, wire_detail(arena,
                                    "found no scene after 5 s; revision %llu of it has not come to "
                                    "this daemon",
                                    (unsigned long long)what->revision));
    }
}

static void on_timer(void *context)
{
    struct srv_awaits *all = context;
    const double end = srv_clock() + TURN_S;
    while (all->first != NULL && all->first->deadline_ms <= now_ms(all) && srv_clock() < end) {
        struct srv_await *a = all->first;
        const enum awaited was = a->awaited;
        leave(all, a);
        if (was == TURN)
            srv_request_again(a->request);
        else
            reply_late(a->request, &a->what, was);
    }
    set_timer(all);
}

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    struct srv_awaits *all = context;
    (void)op;
    (void)committed;
    if (all->count == 0)
        return;
    struct srv_awaited_scene *awaited = *place_of(all, obb_scene_name(scene));
    if (awaited == NULL)
        return;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    struct srv_await *a = awaited->first;
    while (a != NULL && a->what.revision <= info.now.revision) {
        struct srv_await *next = a->next;
        if (is_epoch(a->request, scene)) {
            *(a->previous != NULL ? &a->previous->next : &awaited->first) = next;
            *(next != NULL ? &next->previous : &awaited->last) = a->previous;
            make_ready(all, a);
        }
        a = next;
    }
    drop_if_empty(all, awaited);
}

bool srv_awaits_name(struct srv_awaits *awaits, obb_str name)
{
    return awaits->count > 0 && *place_of(awaits, name) != NULL;
}

static bool holds(void *context, const struct obb_scene *scene)
{
    return srv_awaits_name(context, obb_scene_name(scene));
}

srv_write_listener srv_awaits_listener(struct srv_awaits *awaits)
{
    return (srv_write_listener){.on_commit = on_commit, .holds = holds, .context = awaits};
}

bool srv_awaits_init(struct srv_awaits *awaits)
{
    return srv_bell_create(awaits->loop, on_bell, awaits, &awaits->bell) &&
           srv_timer_create(awaits->loop, on_timer, awaits, &awaits->timer);
}

void srv_awaits_stop(struct srv_awaits *awaits)
{
    awaits->stopped = true;
    while (awaits->first != NULL) {
        struct srv_await *a = awaits->first;
        leave(awaits, a);
        refuse(a->request, "the service is ending");
    }
}

void srv_awaits_fini(struct srv_awaits *awaits)
{
    srv_bell_destroy(awaits->bell);
    srv_timer_destroy(awaits->timer);
}
