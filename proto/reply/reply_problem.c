#include "proto/reply/reply_problem.h"

#include "proto/reply/reply_body.h"
#include "proto/reply/reply_problem_body.h"

#include <stdio.h>

static void put_text(struct wire_out *out, const char *key, const char *text)
{
    if (text == NULL)
        return;
    wire_out_key(out, key);
    wire_out_string(out, obb_str_of(text));
}

void wire_put_problem(struct wire_out *out, const wire_problem *problem)
{
    char type[64];
    const wire_out_scope object = wire_out_object(out);
    (void)snprintf(type, sizeof type, "/problems/%s", problem->type);
    put_text(out, "type", type);
    put_text(out, "title", problem->title);
    wire_out_key(out, "status");
    wire_out_integer(out, (uint64_t)problem->status);
    put_text(out, "detail", problem->detail);
    put_text(out, "pointer", problem->pointer);
    if (problem->has_tag) {
        wire_out_key(out, "tag");
        wire_out_string(out, problem->tag);
    }
    if (problem->has_range) {
        wire_put_named_moment(out, "oldest", problem->oldest);
        wire_put_named_moment(out, "newest", problem->newest);
    }
    put_text(out, "allow", problem->allow);
    if (problem->retry_after > 0) {
        wire_out_key(out, "retry_after");
        wire_out_integer(out, (uint64_t)problem->retry_after);
    }
    wire_out_object_end(out, object);
}

void wire_write_problem(struct wire_buf *buf, const wire_problem *problem)
{
    struct wire_out out = wire_out_json(buf);
    wire_put_problem(&out, problem);
}
