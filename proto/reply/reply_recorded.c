#include "proto/reply/reply_recorded.h"

#include "proto/base/double.h"
#include "proto/codec/walk.h"
#include "proto/reply/reply_body.h"
#include "proto/request/request_query.h"

#include <string.h>

/* ---- The text -------------------------------------------------------------------------------- */

static void put_text(struct wire_out *out, const char *key, bool is_there, obb_str text)
{
    wire_out_key(out, key);
    if (is_there)
        wire_out_string(out, text);
    else
        wire_out_null(out);
}

/* Writes the result of a commit as the answer that the query alone would get. */
static void put_answer(struct wire_out *out, const wire_recorded *r)
{
    wire_out_key(out, "answer");
    if (!r->of_commit) {
        wire_out_data(out, r->answer);
        return;
    }
    (void)wire_out_object(out);
    wire_put_now(out, r->view);
    wire_buf_append(out->buf, ",", 1);
    wire_buf_append(out->buf, r->answer.bytes + 1, r->answer.length - 1); /* with its brace */
    out->comma = true;
}

void wire_write_recorded(struct wire_buf *buf, const wire_recorded *r)
{
    struct wire_out out = wire_out_json(buf);
    wire_out_key(&out, "kind");
    wire_out_string(&out, wire_query_kind_name(r->query->kind));
    wire_out_key(&out, "query");
    wire_out_data(&out, r->sent);
    put_answer(&out, r);
    wire_put_at(&out, r->view);
    wire_put_now(&out, r->view);
    put_text(&out, "tag", r->query->has_tag, r->query->tag);
    put_text(&out, "request", true, r->request);
    put_text(&out, "token", r->token.length > 0, r->token);
}

bool wire_result_hits(const obb_query *query, const obb_result *result)
{
    if (query->kind == OBB_QUERY_ALL_PAIRS)
        return result->count > 0;
    for (size_t i = 0; i < result->answer_count; i++) {
        const obb_answer *answer = &result->answers[i];
        if (answer->missing_count == 0 &&
            (query->kind == OBB_QUERY_PAIRS ? answer->overlap : answer->hit_count > 0))
            return true;
    }
    return false;
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* Writes {"id": and the text}. */
static void write_object(struct wire_buf *buf, const wire_recorded_row *row)
{
    char id[WIRE_INTEGER_ROOM];
    const size_t length = wire_integer_write(row->id, id);
    wire_buf_append(buf, "{\"id\":", 6);
    wire_buf_append(buf, id, length);
    wire_buf_append(buf, ",", 1);
    wire_buf_append(buf, row->text.bytes, row->text.length);
    wire_buf_append(buf, "}", 1);
}

static void put_object(struct wire_out *out, const wire_recorded_row *row)
{
    struct wire_buf *buf = out->buf;
    if (!out->cbor) {
        if (out->comma)
            wire_buf_append(buf, ",", 1);
        write_object(buf, row);
        out->comma = true;
        return;
    }
    struct wire_buf object = {.budget = buf->budget};
    write_object(&object, row);
    buf->failed = buf->failed || object.failed;
    if (!buf->failed)
        wire_out_data(out, (obb_str){object.bytes, object.length});
    wire_buf_fini(&object);
}

void wire_write_recorded_list(struct wire_buf *buf, wire_media media, const wire_recorded_row *rows,
                              size_t count, bool more, obb_moment now, const atomic_bool *cancel)
{
    struct wire_out out = wire_out_of(buf, media);
    const wire_out_scope object = wire_out_object(&out);
    wire_put_moment(&out, now);
    wire_out_key(&out, "queries");
    wire_out_array(&out, count);
    for (size_t i = 0; i < count && !obb_cancelled(cancel); i++)
        put_object(&out, &rows[i]);
    wire_out_array_end(&out);
    if (more && count > 0) {
        char text[WIRE_INTEGER_ROOM];
        const size_t length = wire_integer_write(rows[count - 1].id, text);
        wire_out_key(&out, "cursor");
        wire_out_string(&out, (obb_str){text, length});
    }
    wire_out_object_end(&out, object);
}

void wire_event_query(struct wire_buf *buf, const wire_recorded_row *row)
{
    wire_buf_append(buf, "event: query\ndata: ", 19);
    write_object(buf, row);
    wire_buf_append(buf, "\n\n", 2);
}

/* ---- Finding a box --------------------------------------------------------------------------- */

struct search {
    struct wire_cursor c;
    obb_str name;
    uint64_t id;
    bool found;
};

/* Returns whether the values of a member are boxes, if they are strings or ids. */
static bool holds_boxes(obb_str key)
{
    static const char *const keys[] = {"box",     "boxes",   "pair",    "pairs", "shapes",
                                       "exclude", "missing", "explain", "behind"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (obb_str_equal(key, obb_str_of(keys[i])))
            return true;
    return false;
}

/* Reads a value. boxes: strings and numbers in it are boxes, unless they are members. */
static bool search_value(struct search *s, bool boxes)
{
    struct wire_cursor *c = &s->c;
    obb_str text;
    double number;
    switch (wire_peek(c)) {
    case WIRE_KIND_STRING:
        if (!wire_read_string(c, &text))
            return false;
        s->found = s->found || (boxes && obb_str_equal(text, s->name));
        return !s->found;
    case WIRE_KIND_NUMBER:
        if (!boxes || s->id == 0)
            return wire_skip(c);
        if (!wire_read_number(c, &number))
            return false;
        s->found = s->found || number == (double)s->id;
        return !s->found;
    case WIRE_KIND_ARRAY:
        if (!wire_enter_array(c))
            return false;
        while (wire_next_item(c))
            if (!search_value(s, boxes))
                return false;
        return !c->failed;
    case WIRE_KIND_OBJECT:
        if (!wire_enter_object(c))
            return false;
        while (wire_next_key(c, &text))
            if (!(obb_str_equal(text, obb_str_of("data")) ? wire_skip_member(c, text)
                                                          : search_value(s, holds_boxes(text))))
                return false;
        return !c->failed;
    case WIRE_KIND_NONE:
    case WIRE_KIND_NULL:
    case WIRE_KIND_BOOL:
    case WIRE_KIND_OTHER:
        break;
    }
    return wire_skip(c);
}

bool wire_recorded_names(obb_str text, obb_str name, uint64_t id, struct obb_arena *arena)
{
    struct search s = {.name = name, .id = id};
    struct wire_buf object = {.budget = arena->budget};
    wire_buf_append(&object, "{", 1);
    wire_buf_append(&object, text.bytes, text.length);
    wire_buf_append(&object, "}", 1);
    if (!object.failed) {
        wire_json_open(&s.c, object.bytes, object.length, arena);
        (void)search_value(&s, false);
    }
    wire_buf_fini(&object);
    return s.found;
}
