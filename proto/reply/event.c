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

void wire_event_collisions(struct wire_buf *buf, wire_collisions kind, uint64_t epoch,
                           obb_moment moment, bool last, const obb_box_pair *pairs, size_t count)
{
    static const char *const events[] = {[WIRE_COLLISIONS_STATE] = "state",
                                         [WIRE_COLLISIONS_BEGIN] = "begin",
                                         [WIRE_COLLISIONS_END] = "end",
                                         [WIRE_COLLISIONS_REMOVED] = "end"};
    if (last)
        put_id(buf, epoch, moment.revision);
    struct message message = begin(buf, events[kind], moment);
    wire_out_key(&message.out, "pairs");
    wire_out_array(&message.out, count);
    for (size_t i = 0; i < count; i++)
        wire_out_strings(&message.out, obb_view_name(pairs[i].a), obb_view_name(pairs[i].b));
    wire_out_array_end(&message.out);
    if (kind == WIRE_COLLISIONS_REMOVED) {
        wire_out_key(&message.out, "reason");
        wire_out_string(&message.out, obb_str_of("removed"));
    }
    end(&message);
}

static void put_names(struct wire_out *out, const char *key, const struct obb_version *const *boxes,
                      size_t count)
{
    wire_out_key(out, key);
    wire_out_array(out, count);
    for (size_t i = 0; i < count; i++)
        wire_out_string(out, obb_view_name(boxes[i]));
    wire_out_array_end(out);
}

void wire_event_boxes(struct wire_buf *buf, uint64_t epoch, obb_moment moment, bool last,
                      const wire_changes *changes)
{
    if (last)
        put_id(buf, epoch, moment.revision);
    struct message message = begin(buf, "boxes", moment);
    put_names(&message.out, "put", changes->put, changes->put_count);
    put_names(&message.out, "posed", changes->posed, changes->posed_count);
    put_names(&message.out, "removed", changes->removed, changes->removed_count);
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
