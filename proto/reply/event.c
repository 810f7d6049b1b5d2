#include "proto/reply/event.h"

#include "proto/base/double.h"
#include "proto/reply/reply_body.h"

/* An open message. */
struct message {
    struct wire_out out;
    wire_out_scope object;
};

/* Writes the id of the message that comes next: "<revision>.<epoch>". */
static void put_id(struct wire_buf *buf, uint64_t epoch, uint64_t revision)
{
    enum { DIGITS = 16 };
    char id[WIRE_INTEGER_ROOM], digits[DIGITS];
    for (size_t i = DIGITS; i-- > 0; epoch >>= 4)
        digits[i] = "0123456789abcdef"[epoch & 15];
    wire_buf_append(buf, "id: ", 4);
    wire_buf_append(buf, id, wire_integer_write(revision, id));
    wire_buf_append(buf, ".", 1);
    wire_buf_append(buf, digits, DIGITS);
    wire_buf_append(buf, "\n", 1);
}

static struct message begin(struct wire_buf *buf, const char *event, obb_moment moment)
{
    wire_buf_append(buf, "event: ", 7);
    wire_buf_append(buf, event, strlen(event));
    wire_buf_append(buf, "\ndata: ", 7);
    struct message message = {.out = wire_out_json(buf)};
    message.object = wire_out_object(&message.out);
    wire_put_moment(&message.out, moment);
    return message;
}

static void end(struct message *message)
{
    wire_out_object_end(&message->out, message->object);
    wire_buf_append(message->out.buf, "\n\n", 2);
}

void wire_event_state(struct wire_buf *buf, uint64_t epoch, obb_moment moment,
                      const obb_box_pair *pairs, size_t count)
{
    put_id(buf, epoch, moment.revision);
    struct message message = begin(buf, "state", moment);
    wire_out_key(&message.out, "pairs");
    wire_out_array(&message.out, count);
    for (size_t i = 0; i < count; i++)
        wire_out_strings(&message.out, obb_view_name(pairs[i].a), obb_view_name(pairs[i].b));
    wire_out_array_end(&message.out);
    end(&message);
}

static unsigned times(const wire_pair_change *pair, wire_collisions kind)
{
    return kind == WIRE_COLLISIONS_BEGIN     ? pair->begun
           : kind == WIRE_COLLISIONS_END     ? pair->ended
           : kind == WIRE_COLLISIONS_REMOVED ? pair->removed
                                             : pair->expired;
}

size_t wire_pairs_of(const wire_pair_change *pairs, size_t count, wire_collisions kind)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += times(&pairs[i], kind);
    return sum;
}

void wire_event_collisions(struct wire_buf *buf, wire_collisions kind, uint64_t epoch,
                           obb_moment moment, bool last, const wire_pair_change *pairs,
                           size_t count)
{
    if (last)
        put_id(buf, epoch, moment.revision);
    struct message message = begin(buf, kind == WIRE_COLLISIONS_BEGIN ? "begin" : "end", moment);
    wire_out_key(&message.out, "pairs");
    wire_out_array(&message.out, wire_pairs_of(pairs, count, kind));
    for (size_t i = 0; i < count; i++)
        for (unsigned n = times(&pairs[i], kind); n > 0; n--)
            wire_out_strings(&message.out, pairs[i].a, pairs[i].b);
    wire_out_array_end(&message.out);
    if (kind == WIRE_COLLISIONS_REMOVED || kind == WIRE_COLLISIONS_EXPIRED) {
        wire_out_key(&message.out, "reason");
        wire_out_string(&message.out,
                        obb_str_of(kind == WIRE_COLLISIONS_REMOVED ? "removed" : "expired"));
    }
    end(&message);
}

/* The boxes of a message to which one of some things happened. */
struct some {
    const wire_box_change *boxes;
    size_t count; /* of all */
    unsigned what;
};

static size_t count_of(const struct some *some)
{
    size_t count = 0;
    for (size_t i = 0; i < some->count; i++)
        count += (some->boxes[i].what & some->what) != 0;
    return count;
}

/* Returns the next one from *i on, or NULL. */
static const wire_box_change *next_of(const struct some *some, size_t *i)
{
    while (*i < some->count)
        if ((some->boxes[(*i)++].what & some->what) != 0)
            return &some->boxes[*i - 1];
    return NULL;
}

static void put_names(struct wire_out *out, const char *key, const struct some *some)
{
    const wire_box_change *box;
    wire_out_key(out, key);
    wire_out_array(out, count_of(some));
    for (size_t i = 0; (box = next_of(some, &i)) != NULL;)
        wire_out_string(out, box->name);
    wire_out_array_end(out);
}

static void put_ids(struct wire_out *out, const struct some *some)
{
    const wire_box_change *box;
    wire_out_key(out, "ids");
    wire_out_array(out, count_of(some));
    for (size_t i = 0; (box = next_of(some, &i)) != NULL;)
        wire_out_integer(out, box->id);
    wire_out_array_end(out);
}

/* Writes the first `dimensions` coordinates among the numbers of an open array. */
static void put_coordinates(struct wire_out *out, obb_vec3 v, int dimensions)
{
    wire_out_double(out, v.x);
    wire_out_double(out, v.y);
    if (dimensions == 3)
        wire_out_double(out, v.z);
}

static void put_rotation(struct wire_out *out, obb_quat q)
{
    wire_out_double(out, q.x);
    wire_out_double(out, q.y);
    wire_out_double(out, q.z);
    wire_out_double(out, q.w);
}

static void put_columns(struct wire_out *out, const struct some *some, int dimensions)
{
    const wire_box_change *box;
    const size_t count = count_of(some);
    const bool planar = dimensions == 2;
    wire_out_key(out, "columns");
    const wire_out_scope columns = wire_out_object(out);
    put_ids(out, some);
    wire_out_key(out, "centers");
    wire_out_array(out, count * (size_t)dimensions);
    for (size_t i = 0; (box = next_of(some, &i)) != NULL;)
        put_coordinates(out, box->box.center, dimensions);
    wire_out_array_end(out);
    wire_out_key(out, planar ? "angles" : "rotations");
    wire_out_array(out, planar ? count : 4 * count);
    for (size_t i = 0; (box = next_of(some, &i)) != NULL;)
        if (planar)
            wire_out_double(out, box->box.angle);
        else
            put_rotation(out, box->box.rotation);
    wire_out_array_end(out);
    wire_out_object_end(out, columns);
}

static void put_new(struct wire_out *out, const struct some *some, int dimensions)
{
    const wire_box_change *box;
    const size_t count = count_of(some);
    wire_out_key(out, "new");
    const wire_out_scope new = wire_out_object(out);
    put_ids(out, some);
    put_names(out, "names", some);
    wire_out_key(out, "half_extents");
    wire_out_array(out, count * (size_t)dimensions);
    for (size_t i = 0; (box = next_of(some, &i)) != NULL;)
        put_coordinates(out, box->box.half_extents, dimensions);
    wire_out_array_end(out);
    wire_out_key(out, "entities");
    wire_out_array(out, count);
    for (size_t i = 0; (box = next_of(some, &i)) != NULL;)
        if (box->entity.length > 0)
            wire_out_string(out, box->entity);
        else
            wire_out_null(out);
    wire_out_array_end(out);
    wire_out_object_end(out, new);
}

void wire_event_boxes(struct wire_buf *buf, uint64_t epoch, obb_moment moment, bool last,
                      const wire_box_change *boxes, size_t count, int dimensions,
                      const obb_str *frames, size_t frame_count)
{
    struct some some = {.boxes = boxes, .count = count, .what = WIRE_BOX_PUT};
    if (last)
        put_id(buf, epoch, moment.revision);
    struct message message = begin(buf, "boxes", moment);
    put_names(&message.out, "put", &some);
    some.what = WIRE_BOX_POSED;
    put_names(&message.out, "posed", &some);
    some.what = WIRE_BOX_REMOVED;
    put_names(&message.out, "removed", &some);
    some.what = WIRE_BOX_EXPIRED;
    if (count_of(&some) > 0)
        put_names(&message.out, "expired", &some);
    if (frame_count > 0) {
        wire_out_key(&message.out, "frames");
        wire_out_array(&message.out, frame_count);
        for (size_t n = 0; n < frame_count; n++)
            wire_out_string(&message.out, frames[n]);
        wire_out_array_end(&message.out);
    }
    if (dimensions > 0) {
        some.what = WIRE_BOX_PUT | WIRE_BOX_POSED;
        put_columns(&message.out, &some, dimensions);
        some.what = WIRE_BOX_NEW;
        put_new(&message.out, &some, dimensions);
    }
    end(&message);
}

void wire_event_commit(struct wire_buf *buf, uint64_t epoch, const obb_committed *committed,
                       bool last)
{
    if (last)
        put_id(buf, epoch, committed->moment.revision);
    struct message message = begin(buf, "commit", committed->moment);
    wire_put_count(&message.out, "put", committed->put);
    wire_put_count(&message.out, "posed", committed->posed);
    wire_put_count(&message.out, "transformed", committed->transformed);
    wire_put_count(&message.out, "removed", committed->removed);
    if (committed->expired > 0)
        wire_put_count(&message.out, "expired", committed->expired);
    if (committed->restarted) {
        wire_out_key(&message.out, "restart");
        wire_out_bool(&message.out, true);
    }
    end(&message);
}

void wire_event_overrun(struct wire_buf *buf, obb_moment moment)
{
    struct message message = begin(buf, "overrun", moment);
    end(&message);
}

void wire_event_gone(struct wire_buf *buf, obb_moment moment)
{
    struct message message = begin(buf, "gone", moment);
    end(&message);
}

void wire_event_shutdown(struct wire_buf *buf, obb_moment moment)
{
    struct message message = begin(buf, "shutdown", moment);
    end(&message);
}

void wire_event_comment(struct wire_buf *buf) { wire_buf_append(buf, ":\n\n", 3); }
