#include "server/log/log_stream.h"

#include "server/scenes/paged_answer.h"
#include "server/scenes/recall.h"
#include "server/scenes/scenes.h"

#include <stddef.h>

enum {
    LINE = 4096,  /* bytes of a line at most, or of a part of a commit's line */
    STEPS = 64,   /* commits that are looked up at a time */
    CHEAP = 64,   /* so many boxes are written on the loop; one takes about 1 us */
    HASHED = 8192 /* boxes that are hashed in one chunk, in about 1 ms */
};

/* What is written next. */
enum phase { HASHING, HEAD, FRAMES, BOXES, COMMITS };

/* The effects of a commit in the order of its line. Boxes that were put and teleported come twice:
 * the pose says that they were. */
enum turn { REMOVED, REMOVED_FRAMES, MOVED_FRAMES, PUT, NEW, TELEPORTED, POSED, TURNS };
static const obb_effect_kind kinds[TURNS] = {[REMOVED] = OBB_EFFECT_REMOVED,
                                             [REMOVED_FRAMES] = OBB_EFFECT_FRAME_REMOVED,
                                             [MOVED_FRAMES] = OBB_EFFECT_FRAME,
                                             [PUT] = OBB_EFFECT_PUT,
                                             [NEW] = OBB_EFFECT_NEW,
                                             [TELEPORTED] = OBB_EFFECT_PUT,
                                             [POSED] = OBB_EFFECT_POSED};

/* In the request's arena. */
struct srv_log_stream {
    struct srv_paged_answer answer; /* first */
    struct srv_log_streams *streams;
    struct srv_log_stream *previous, *next;
    struct obb_scene *scene;
    struct srv_wait wait;  /* for a locked scene */
    struct obb_view *view; /* of the first state; then of the last one that is told of */
    /* States that only the journal still has come first, from a scene of their own. `present` is a
     * view of the first state behind them meanwhile. NULL: there are none, or all are told of. */
    struct srv_recall *recall;
    struct obb_view *present;
    obb_str name;
    bool follow;
    uint64_t last;    /* revision at which a stream ends that does not follow, */
    double last_time; /* and the time up to which it tells of that state */

    /* What a worker uses while it writes a piece. */
    enum phase phase;
    const struct obb_version *frame; /* the last one that was hashed, or written; NULL: none yet */
    bool frames_hashed;
    uint64_t after; /* boxes up to this id are hashed, or written */
    obb_digest digest;
    obb_settings settings; /* of the state that is told of, like these: */
    obb_moment moment;
    uint64_t next_id;
    double until; /* up to which the state before `steps` is told of next */
    obb_step steps[STEPS];
    size_t step_count, step;
    struct wire_log_line line;
    bool line_open;
    enum turn turn;
    obb_effect_place place;
};

static struct srv_log_stream *stream_of(struct srv_paged_answer *answer)
{
    return (struct srv_log_stream *)answer;
}

/* ---- Writing, on any thread ------------------------------------------------------------------ */

/* Returns the frame after the last one, and notes it; NULL at the end. */
static const struct obb_version *next_frame(struct srv_log_stream *s)
{
    const obb_str last = s->frame != NULL ? obb_view_name(s->frame) : (obb_str){0};
    s->frame = obb_view_next_frame(s->view, last, s->frame != NULL);
    return s->frame;
}

/* Hashes the next frames and boxes. Returns false if there are none. */
static bool hash_state(struct srv_log_stream *s)
{
    const struct obb_version *version = NULL;
    for (size_t i = 0; i < HASHED; i++) {
        version = s->frames_hashed ? NULL : next_frame(s);
        if (version == NULL) {
            s->frames_hashed = true;
            version = obb_view_next(s->view, s->after);
            if (version == NULL)
                break;
            s->after = obb_view_id(version);
        }
        obb_digest_add(&s->digest, version);
    }
    if (version != NULL)
        return true;
    s->after = 0;
    s->phase = HEAD;
    return false;
}

static size_t advance(struct srv_paged_answer *answer)
{
    return stream_of(answer)->phase == HASHING ? 1 : 0;
}

static void chunk(struct srv_paged_answer *answer, size_t number)
{
    (void)number;
    (void)hash_state(stream_of(answer));
}

static bool has_room(struct srv_log_stream *s)
{
    return srv_paged_answer_has_room(&s->answer, LINE);
}

static void write_frames(struct srv_log_stream *s, struct wire_buf *piece)
{
    while (s->phase == FRAMES && has_room(s)) {
        const struct obb_version *frame = next_frame(s);
        if (frame != NULL)
            wire_write_export_frame(piece, s->view, frame);
        else
            s->phase = BOXES;
    }
}

static void write_boxes(struct srv_log_stream *s, struct wire_buf *piece)
{
    while (s->phase == BOXES && has_room(s)) {
        const struct obb_version *box = obb_view_next(s->view, s->after);
        if (box != NULL) {
            wire_write_export_box(piece, s->view, box);
            s->after = obb_view_id(box);
        } else {
            s->phase = COMMITS;
        }
    }
}

static uint64_t hash_now(const struct srv_log_stream *s)
{
    return obb_digest_content(&s->digest, &s->settings, s->moment.time);
}

/* Tells up to when the present state holds, if that is later than was told. */
static void write_time(struct srv_log_stream *s, struct wire_buf *piece, double until)
{
    if (until == s->moment.time)
        return;
    s->moment.time = until;
    wire_write_log_time(piece, s->moment, hash_now(s));
}

static void write_effect(struct srv_log_stream *s, const obb_effect *effect)
{
    if (s->turn != TELEPORTED) {
        if (effect->before != NULL)
            obb_digest_remove(&s->digest, effect->before);
        if (effect->after != NULL)
            obb_digest_add(&s->digest, effect->after);
    }
    switch (s->turn) {
    case REMOVED:
        if (!effect->expired) /* whoever plays the log lets them expire */
            wire_log_line_remove(&s->line, effect);
        break;
    case REMOVED_FRAMES:
        wire_log_line_remove_frame(&s->line, effect);
        break;
    case MOVED_FRAMES:
        wire_log_line_frame(&s->line, effect);
        break;
    case PUT:
    case NEW:
        wire_log_line_put(&s->line, effect);
        break;
    case TELEPORTED:
        if (effect->teleported)
            wire_log_line_pose(&s->line, effect);
        break;
    case POSED:
        if (!obb_step_carried(&s->steps[s->step], effect))
            wire_log_line_pose(&s->line, effect);
        break;
    case TURNS:
        break;
    }
}

static void enter_turn(struct srv_log_stream *s, enum turn turn)
{
    s->turn = turn;
    if (turn < TURNS)
        s->place = (obb_effect_place){.kind = kinds[turn]};
}

/* Writes the line of the present step as far as there is room, of which there is some. Returns true
 * at its end, for which there is room, too: the last look at the effects wrote nothing. */
static bool write_line(struct srv_log_stream *s, struct wire_buf *piece)
{
    const obb_step *step = &s->steps[s->step];
    obb_effect effect;
    if (!s->line_open) {
        wire_log_line_begin(&s->line, piece, step);
        enter_turn(s, REMOVED);
        s->line_open = true;
    }
    while (s->turn < TURNS && has_room(s)) {
        if (obb_step_next(step, &s->place, &effect))
            write_effect(s, &effect);
        else
            enter_turn(s, s->turn + 1);
    }
    if (s->turn < TURNS)
        return false;
    s->line_open = false;
    s->settings = step->settings;
    s->moment = step->moment;
    wire_log_line_end(&s->line, step->moment.revision, hash_now(s));
    write_time(s, piece, step->until);
    s->step++;
    return true;
}

/* Returns false at the end of a log that is not followed; otherwise `next` looks for more. */
static bool write_piece(struct srv_paged_answer *answer)
{
    struct srv_log_stream *s = stream_of(answer);
    struct wire_buf *piece = &answer->piece;
    while (s->phase == HASHING)
        (void)hash_state(s);
    if (s->phase == HEAD) {
        wire_write_log_head(piece, s->name, &s->settings, s->view, &s->digest, s->next_id);
        s->phase = FRAMES;
    }
    if (s->phase == FRAMES)
        write_frames(s, piece);
    if (s->phase == BOXES)
        write_boxes(s, piece);
    if (s->phase == COMMITS && has_room(s)) {
        if (!s->line_open && s->step == 0)
            write_time(s, piece, s->until);
        while (s->step < s->step_count && has_room(s) && write_line(s, piece))
            ;
    }
    return piece->length > 0 || answer->starved;
}

/* ---- On the loop ----------------------------------------------------------------------------- */

static struct srv_locks *locks_of(const struct srv_log_stream *s)
{
    return s->answer.work.request->services->locks;
}

/* Returns the time up to which the state that was told of last holds by now. */
static double until_now(const struct srv_log_stream *s)
{
    obb_step step;
    return s->moment.revision > obb_view_info_get(s->view)->at.revision &&
                   obb_view_step(s->view, s->moment.revision, &step)
               ? step.until
               : obb_view_until(s->view);
}

/* Looks up the next commits, behind the state that was told of last. */
static void look_up(struct srv_log_stream *s)
{
    size_t changes = 0;
    const uint64_t last = s->present != NULL ? s->recall->upto : s->follow ? UINT64_MAX : s->last;
    s->step = s->step_count = 0;
    s->until = until_now(s);
    for (uint64_t revision = s->moment.revision + 1; s->step_count < STEPS && revision <= last;
         revision++) {
        obb_step *step = &s->steps[s->step_count];
        if (!obb_view_step(s->view, revision, step))
            break;
        changes += step->ended_count + (size_t)(step->next_id - step->first_id);
        s->step_count++;
    }
    if (!s->follow && s->moment.revision == s->last)
        s->until = s->last_time;
    if (!s->follow && s->step_count > 0 && s->moment.revision + s->step_count == s->last)
        s->steps[s->step_count - 1].until = s->last_time;
    if (s->moment.revision == 0 && s->step_count > 0)
        s->until = s->moment.time; /* there is no box, so how long it held makes no difference */
    s->answer.cheap = changes + s->step_count <= CHEAP;
}

/* All states are told of that are not in the history: goes on with it. */
static void come_to_present(struct srv_log_stream *s)
{
    srv_view_close(locks_of(s), s->view);
    s->view = s->present;
    s->present = NULL;
    srv_recall_fini(s->recall);
    srv_paged_answer_move(&s->answer, s->view);
}

static bool next(struct srv_paged_answer *answer)
{
    struct srv_log_stream *s = stream_of(answer);
    answer->light = s->phase != HASHING;
    if (s->phase != COMMITS || s->step < s->step_count)
        return true;
    if (s->present != NULL && s->moment.revision >= s->recall->upto)
        come_to_present(s);
    if (s->present == NULL && srv_lock_wait(locks_of(s), s->scene, &s->wait))
        return false;
    if (s->moment.revision > obb_view_info_get(s->view)->at.revision) {
        /* without memory for the view, the one that is open serves as well, and keeps more */
        if (srv_view_move(locks_of(s), s->moment.revision, &s->view) == OBB_OK)
            srv_paged_answer_move(answer, s->view);
    }
    look_up(s);
    return !s->follow || s->step_count > 0 || s->until != s->moment.time;
}

static void on_unlocked(struct srv_wait *wait)
{
    struct srv_log_stream *s =
        (struct srv_log_stream *)(void *)((char *)wait - offsetof(struct srv_log_stream, wait));
    srv_paged_answer_wake(&s->answer);
}

/* The stream tells of nothing any more. */
static void leave(struct srv_log_stream *s)
{
    if (s->wait.lock != NULL)
        srv_lock_unwait(&s->wait);
    *(s->previous != NULL ? &s->previous->next : &s->streams->first) = s->next;
    if (s->next != NULL)
        s->next->previous = s->previous;
    srv_view_close(locks_of(s), s->view);
    srv_view_close(locks_of(s), s->present);
    if (s->recall != NULL)
        srv_recall_fini(s->recall);
}

static void closed(struct srv_paged_answer *answer) { leave(stream_of(answer)); }

/* Answers with the log from the state of s->view on. */
static void tell(struct srv_log_stream *s)
{
    const obb_view_info *info = obb_view_info_get(s->view);
    s->settings = *obb_view_settings(s->view);
    s->moment = info->at;
    s->until = s->moment.time;
    s->next_id = obb_view_next_id(s->view);
    s->answer.view = s->view;
    s->answer.next = next;
    s->answer.advance = advance;
    s->answer.chunk = chunk;
    s->answer.write = write_piece;
    s->answer.closed = closed;
    s->answer.cheap = info->boxes + info->frames <= CHEAP;
    srv_paged_answer_start(&s->answer, s->answer.work.request, WIRE_NDJSON);
}

static void recalled(struct srv_recall *recall)
{
    struct srv_log_stream *s = recall->context;
    if (recall->view == NULL) {
        leave(s);
        srv_reply_problem(recall->request, &recall->problem);
        return;
    }
    s->present = s->view;
    s->view = recall->view;
    recall->view = NULL;
    tell(s);
}

void srv_log_stream_start(struct srv_log_streams *streams, struct srv_request *request,
                          struct obb_scene *scene, const wire_log_params *params)
{
    struct srv_log_stream *s = srv_work_room(request, sizeof *s);
    if (s == NULL)
        return;
    obb_scene_info info;
    obb_scene_info_without_bounds(scene, &info);
    obb_at at = {.kind = OBB_AT_REVISION,
                 .revision = params->has_from ? params->from : info.oldest.revision};
    if (at.revision < info.oldest.revision && srv_recall_can(request->services, scene)) {
        s->recall = srv_work_room(request, sizeof *s->recall);
        if (s->recall == NULL)
            return;
        at.revision = info.oldest.revision;
    }
    s->view = srv_open_view(request, scene, &at);
    if (s->view == NULL)
        return;
    obb_view_keep_later(s->view);
    s->streams = streams;
    s->scene = scene;
    s->name = request->target.parts[SRV_SCENE_PART];
    s->follow = params->follow && !streams->stopped;
    s->last = info.now.revision;
    s->last_time = info.now.time;
    s->wait.again = on_unlocked;
    s->next = streams->first;
    if (s->next != NULL)
        s->next->previous = s;
    streams->first = s;
    s->answer.work.request = request;
    if (s->recall == NULL) {
        tell(s);
        return;
    }
    *s->recall = (struct srv_recall){.request = request,
                                     .from = params->from,
                                     .upto = at.revision,
                                     .newest = info.now,
                                     .then = recalled,
                                     .context = s};
    srv_recall_begin(s->recall, scene);
}

/* ---- What streams that follow hear of -------------------------------------------------------- */

static void on_commit(void *context, const srv_op *op, struct obb_scene *scene,
                      const obb_committed *committed)
{
    (void)op;
    (void)committed;
    const struct srv_log_streams *streams = context;
    for (struct srv_log_stream *s = streams->first, *following; s != NULL; s = following) {
        following = s->next;
        if (s->scene == scene && s->wait.lock == NULL)
            srv_paged_answer_wake(&s->answer);
    }
}

/* Lets a stream end with what there is. */
static void finish(struct srv_log_stream *s)
{
    if (!s->follow)
        return;
    s->follow = false;
    s->last = UINT64_MAX;
    if (s->wait.lock == NULL)
        srv_paged_answer_wake(&s->answer);
}

static void on_remove(void *context, const srv_op *op, struct obb_scene *scene)
{
    (void)op;
    const struct srv_log_streams *streams = context;
    for (struct srv_log_stream *s = streams->first, *following; s != NULL; s = following) {
        following = s->next;
        if (s->scene == scene)
            finish(s);
    }
}

static bool holds(void *context, const struct obb_scene *scene)
{
    const struct srv_log_streams *streams = context;
    const struct srv_log_stream *s = streams->first;
    while (s != NULL && s->scene != scene)
        s = s->next;
    return s != NULL;
}

srv_write_listener srv_log_listener(struct srv_log_streams *streams)
{
    return (srv_write_listener){
        .on_commit = on_commit, .on_remove = on_remove, .holds = holds, .context = streams};
}

void srv_log_streams_stop(struct srv_log_streams *streams)
{
    streams->stopped = true;
    for (struct srv_log_stream *s = streams->first, *following; s != NULL; s = following) {
        following = s->next;
        finish(s);
    }
}
