/* c_driver.c - plays what a test says with the C client: one JSON object a line on standard input,
 * one a line as the answer.
 *
 * {"do": "open", "url", "token", "timeout", "retries"}   url "echo:" answers each request with its
 * body {"do": "request", "method", "path", "body", "type", "headers", "cbor", "hex"}
 * {"do": "stream", "path", "headers"}, then {"do": "drain"} reads all of them to their end
 * {"do": "lost", "put"}, {"do": "commit", "commit", "retries"}, {"do": "query", "query"},
 * {"do": "ids", "names", "keep"}, {"do": "events", "count", "topics", "silence"},
 * {"do": "delete"}: on the scene `yard`
 *
 * Each answer has `error` and what obbd_why says, or `value`. */
#include <jansson.h>
#include <locale.h>
#include <obbd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST ((size_t)16)

static obbd *client;
static obbd_tick *tick;
static const uint32_t *kept;
static json_t *lost_put;
static int lost_times; /* how often they are put, each time by a commit */
static obbd_stream *streams[MOST];
static size_t stream_count;

/* ---- A transport that answers with the request ----------------------------------------------- */

static struct echo {
    unsigned char *bytes;
    size_t size, at;
    char fields[200];
    char hex[4096];
} echo;

static int echo_send(void *context, const obbd_http *request, int timeout_ms, obbd_head *head,
                     void **out_exchange)
{
    struct echo *e = context;
    const char *type = "text/plain";
    (void)timeout_ms;
    free(e->bytes);
    e->bytes = malloc(request->size + 1);
    e->size = e->at = 0;
    for (size_t i = 0; i < request->part_count; i++) {
        memcpy(e->bytes + e->size, request->parts[i].bytes, request->parts[i].size);
        e->size += request->parts[i].size;
    }
    for (size_t i = 0; i < request->field_count; i++)
        if (strcmp(request->fields[i].name, "Content-Type") == 0)
            type = request->fields[i].value;
    e->hex[0] = 0;
    for (size_t i = 0; i < e->size && 2 * i + 2 < sizeof e->hex; i++)
        (void)snprintf(e->hex + 2 * i, 3, "%02x", e->bytes[i]);
    (void)snprintf(e->fields, sizeof e->fields, "Content-Type: %s\n", type);
    head->status = e->size == request->size ? 200 : 500;
    head->fields = e->fields;
    *out_exchange = e;
    return 0;
}

static long echo_read(void *context, void *exchange, void *bytes, size_t size, int timeout_ms)
{
    struct echo *e = context;
    const size_t left = e->size - e->at;
    (void)exchange;
    (void)timeout_ms;
    size = size < left ? size : left;
    size = size < 7 ? size : 7; /* in small pieces */
    memcpy(bytes, e->bytes + e->at, size);
    e->at += size;
    return (long)size;
}

static void echo_end(void *context, void *exchange)
{
    (void)context;
    (void)exchange;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const char *text(json_t *from, const char *name)
{
    return json_string_value(json_object_get(from, name));
}

static double number(json_t *from, const char *name)
{
    return json_number_value(json_object_get(from, name));
}

static void numbers(json_t *list, double *out, size_t most)
{
    for (size_t i = 0; i < most && i < json_array_size(list); i++)
        out[i] = json_number_value(json_array_get(list, i));
}

/* As text, so that its numbers stay as they are. */
static json_t *text_of(obbd_value value)
{
    char *json = obbd_json(value);
    json_t *read = json_loads(json, JSON_DECODE_ANY, NULL);
    free(json);
    return read;
}

static json_t *answer_of(const obbd_answer *a)
{
    json_t *value = text_of(a->value), *results = json_array();
    for (int i = 0; obbd_result(a, i).at != NULL; i++)
        json_array_append_new(results, text_of(obbd_result(a, i)));
    json_object_set_new(value, "results", results);
    return value;
}

static json_t *failure(void)
{
    const obbd_problem *why = obbd_why(client);
    json_t *out =
        json_pack("{s:s, s:i, s:s, s:s, s:s?}", "error", obbd_error_name(why->error), "status",
                  why->status, "type", why->type, "text", why->text, "pointer", why->pointer);
    const obbd_answer *committed = obbd_committed(tick);
    if (committed != NULL)
        json_object_set_new(out, "committed", answer_of(committed));
    return out;
}

static json_t *value_or_failure(json_t *value)
{
    return value != NULL ? json_pack("{s:o}", "value", value) : failure();
}

/* ---- Commits and queries --------------------------------------------------------------------- */

static void put(obbd_tick *t, json_t *boxes)
{
    const char *name;
    json_t *box;
    json_object_foreach(boxes, name, box)
    {
        obbd_box b = {.entity = text(box, "entity")};
        numbers(json_object_get(box, "center"), b.center, 3);
        numbers(json_object_get(box, "half_extents"), b.half, 3);
        obbd_tick_put(t, name, &b);
    }
}

static void put_again(void *context, obbd_tick *t)
{
    (void)context;
    for (int i = 1; i < lost_times; i++) {
        put(t, lost_put);
        if (obbd_commit(t) == NULL)
            return;
    }
    put(t, lost_put); /* which the client commits */
}

/* The columns of a pose: {"f32": [..]} is sent as floats, a plain list as doubles. */
static void pose_columns(json_t *pose)
{
    static uint32_t ids[MOST];
    static float floats[3 * MOST];
    static double doubles[3 * MOST];
    json_t *given = json_object_get(pose, "ids"), *centers = json_object_get(pose, "centers");
    json_t *as_floats = json_object_get(centers, "f32");
    const uint32_t *sent = json_is_string(given) ? kept : ids;
    json_t *list = json_is_object(given) ? json_object_get(given, "u32") : given;
    for (size_t i = 0; i < json_array_size(list); i++)
        ids[i] = (uint32_t)json_integer_value(json_array_get(list, i));
    numbers(as_floats != NULL ? as_floats : centers, doubles, 3 * MOST);
    for (size_t i = 0; i < 3 * MOST; i++)
        floats[i] = (float)doubles[i];
    const size_t n = json_array_size(as_floats != NULL ? as_floats : centers) / 3;
    if (as_floats != NULL)
        obbd_tick_pose(tick, n, sent, floats, NULL);
    else
        obbd_tick_pose64(tick, n, sent, doubles, NULL);
}

static void query(json_t *given)
{
    const char *kind = text(given, "kind"), *by = text(given, "by");
    obbd_ask ask = {.by_name = by == NULL, .fresh = json_is_true(json_object_get(given, "fresh"))};
    json_t *at = json_object_get(given, "at");
    if (json_is_number(at))
        ask.at = obbd_at(json_number_value(at), 0);
    else if (json_is_object(at))
        ask.at = obbd_ago(number(at, "ago"), OBBD_EXACT);
    if (strcmp(kind, "all-pairs") == 0) {
        obbd_tick_all_pairs(tick, &ask);
    } else if (strcmp(kind, "ray") == 0) {
        json_t *one = json_array_get(json_object_get(given, "rays"), 0);
        obbd_ray ray = {.max_distance = 0};
        numbers(json_object_get(one, "from"), ray.origin, 3);
        numbers(json_object_get(one, "to"), ray.direction, 3);
        obbd_tick_rays(tick, 1, &ray, &ask);
    } else {
        char *json = json_dumps(given, 0);
        obbd_tick_query(tick, json);
        free(json);
    }
}

static void fill(json_t *commit)
{
    static const char *const set[] = {"id", "if_revision", "frames"};
    const char *name;
    json_t *one, *pose = json_object_get(commit, "pose");
    size_t i;
    if (json_object_get(commit, "time") != NULL)
        obbd_tick_time(tick, number(commit, "time"));
    for (i = 0; i < sizeof set / sizeof *set; i++) {
        char *json = json_dumps(json_object_get(commit, set[i]), JSON_ENCODE_ANY);
        if (json != NULL)
            obbd_tick_set(tick, set[i], json);
        free(json);
    }
    put(tick, json_object_get(commit, "put"));
    json_array_foreach(json_object_get(commit, "remove"), i, one)
        obbd_tick_remove(tick, json_string_value(one));
    json_array_foreach(json_object_get(commit, "queries"), i, one) query(one);
    if (json_object_get(pose, "ids") != NULL)
        pose_columns(pose);
    else
        json_object_foreach(pose, name, one)
        {
            obbd_pose p = {.teleport = false};
            numbers(json_object_get(one, "center"), p.center, 3);
            obbd_tick_move(tick, name, &p);
        }
    json_object_foreach(json_object_get(commit, "transform"), name, one)
    {
        obbd_transform how = {.local = false};
        numbers(json_object_get(one, "translate"), how.translate, 3);
        obbd_tick_transform(tick, name, &how);
    }
}

static json_t *do_commit(json_t *step)
{
    fill(json_object_get(step, "commit"));
    if (json_object_get(step, "retries") != NULL)
        obbd_tick_retries(tick, (int)number(step, "retries"));
    const obbd_answer *a = obbd_commit(tick);
    return value_or_failure(a == NULL ? NULL : answer_of(a));
}

static json_t *do_query(json_t *step)
{
    query(json_object_get(step, "query"));
    const obbd_answer *a = obbd_query(tick);
    return value_or_failure(a == NULL ? NULL : text_of(obbd_result(a, 0)));
}

static json_t *do_ids(json_t *step)
{
    const char *names[MOST] = {NULL};
    json_t *list = json_object_get(step, "names"), *value = json_array();
    const size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++)
        names[i] = json_string_value(json_array_get(list, i));
    const uint32_t *ids = obbd_ids(tick, n, names);
    for (size_t i = 0; ids != NULL && i < n; i++)
        json_array_append_new(value, json_integer((json_int_t)ids[i]));
    if (ids == NULL || json_object_get(step, "keep") == NULL)
        obbd_ids_free(tick, ids);
    else
        kept = ids;
    if (ids != NULL)
        return value_or_failure(value);
    json_decref(value);
    return failure();
}

static json_t *do_events(json_t *step)
{
    static const char *const topics[] = {"collisions", "boxes", "commits", "queries"};
    static const char *const kinds[] = {"",       "state", "begin", "end", "boxes",
                                        "commit", "query", "gone",  ""};
    const obbd_follow_options options = {.silence_ms = (int)number(step, "silence")};
    unsigned mask = 0;
    json_t *one, *value = json_array();
    size_t i;
    json_array_foreach(json_object_get(step, "topics"), i,
                       one) for (unsigned k = 0; k < 4;
                                 k++) if (strcmp(json_string_value(one), topics[k]) == 0) mask |=
        1U << k;
    obbd_events *events = obbd_follow_with(client, "yard", mask, &options);
    obbd_event event = {.kind = OBBD_NOTHING};
    while (json_array_size(value) < (size_t)number(step, "count") &&
           obbd_event_next(events, &event, -1)) {
        json_t *seen = text_of(event.value);
        json_object_set_new(seen, "event", json_string(kinds[event.kind]));
        json_array_append_new(value, seen);
    }
    json_t *out = event.kind == OBBD_FAILED ? failure() : value_or_failure(json_incref(value));
    json_decref(value);
    obbd_unfollow(events);
    return out;
}

/* ---- Requests of any kind -------------------------------------------------------------------- */

static obbd_call call_of(json_t *step, const char **headers)
{
    json_t *one;
    size_t i;
    json_array_foreach(json_object_get(step, "headers"), i, one) headers[i] =
        json_string_value(one);
    return (obbd_call){.headers = headers,
                       .type = text(step, "type"),
                       .cbor = json_is_true(json_object_get(step, "cbor"))};
}

/* The last answer, as it came: also a problem. */
static json_t *last_answer(void)
{
    const obbd_reply *reply = obbd_last(client);
    return json_pack("{s:i, s:s, s:s%, s:s}", "status", reply->status, "fields", reply->fields,
                     "body", reply->body, reply->size, "hex", echo.hex);
}

static json_t *do_request(json_t *step)
{
    const char *headers[MOST] = {NULL}, *hex = text(step, "hex");
    obbd_call call = call_of(step, headers);
    const char *body = text(step, "body");
    char *raw = NULL;
    if (hex != NULL) {
        call.size = strlen(hex) / 2;
        body = raw = malloc(call.size + 1);
        for (size_t i = 0; i < call.size; i++) {
            const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
            raw[i] = (char)strtoul(digits, NULL, 16);
        }
    }
    const obbd_reply *reply =
        obbd_request(client, text(step, "method"), text(step, "path"), body, &call);
    json_t *out =
        reply != NULL || obbd_why(client)->error == OBBD_PROBLEM ? last_answer() : failure();
    if (reply == NULL) {
        json_t *why = failure();
        json_object_set_new(why, "hex", json_string(echo.hex));
        json_object_update_missing(out, why);
        json_decref(why);
    }
    if (reply != NULL && reply->value.at != NULL)
        json_object_set_new(out, "value", text_of(reply->value));
    free(raw);
    return out;
}

static json_t *do_stream(json_t *step)
{
    const char *headers[MOST] = {NULL};
    const obbd_call call = call_of(step, headers);
    obbd_stream *stream = obbd_stream_open(client, text(step, "path"), &call);
    if (stream == NULL)
        return failure();
    streams[stream_count++] = stream;
    return last_answer();
}

static json_t *do_drain(void)
{
    json_t *bodies = json_array();
    for (size_t i = 0; i < stream_count; i++) {
        char *body = NULL;
        size_t size = 0;
        long got;
        do {
            body = realloc(body, size + 4096);
            got = obbd_stream_read(streams[i], body + size, 4096, 20000);
            size += got > 0 ? (size_t)got : 0;
        } while (got > 0);
        json_array_append_new(bodies, got == 0 ? json_stringn(body, size) : json_null());
        free(body);
        obbd_stream_close(streams[i]);
    }
    stream_count = 0;
    return json_pack("{s:o}", "value", bodies);
}

static json_t *do_open(json_t *step)
{
    static const obbd_transport transport = {&echo, echo_send, echo_read, echo_end};
    const char *url = text(step, "url");
    json_t *retries = json_object_get(step, "retries");
    const bool echoes = url != NULL && strcmp(url, "echo:") == 0;
    const obbd_options options = {
        .token = text(step, "token"),
        .timeout_ms = (int)number(step, "timeout"),
        .retries = retries == NULL                    ? 0
                   : json_integer_value(retries) == 0 ? -1
                                                      : (int)json_integer_value(retries),
        .transport = echoes ? &transport : NULL,
    };
    obbd_close(client);
    client = obbd_open(echoes ? "http://echo" : url, &options);
    tick = obbd_tick_new(client, "yard");
    return json_pack("{s:s}", "value", "");
}

static json_t *act(json_t *step)
{
    const char *what = text(step, "do");
    if (strcmp(what, "open") == 0)
        return do_open(step);
    if (strcmp(what, "lost") == 0) {
        json_decref(lost_put);
        lost_put = json_incref(json_object_get(step, "put"));
        lost_times = (int)json_integer_value(json_object_get(step, "times"));
        obbd_on_lost(client, "yard", put_again, NULL);
        return json_pack("{s:s}", "value", "");
    }
    if (strcmp(what, "delete") == 0)
        return obbd_delete(tick) ? json_pack("{s:s}", "value", "") : failure();
    return strcmp(what, "commit") == 0    ? do_commit(step)
           : strcmp(what, "query") == 0   ? do_query(step)
           : strcmp(what, "ids") == 0     ? do_ids(step)
           : strcmp(what, "events") == 0  ? do_events(step)
           : strcmp(what, "request") == 0 ? do_request(step)
           : strcmp(what, "stream") == 0  ? do_stream(step)
                                          : do_drain();
}

int main(void)
{
    static char line[1 << 20];
    (void)setlocale(LC_ALL, "");
    while (fgets(line, sizeof line, stdin) != NULL) {
        json_t *step = json_loads(line, JSON_ALLOW_NUL, NULL),
               *out = step == NULL ? NULL : act(step);
        char *printed = json_dumps(out, 0);
        if (printed == NULL) {
            (void)fprintf(stderr, "c_driver: cannot play %s", line);
            return 1;
        }
        (void)printf("%s\n", printed);
        (void)fflush(stdout);
        free(printed);
        json_decref(out);
        json_decref(step);
    }
    obbd_close(client);
    json_decref(lost_put);
    free(echo.bytes);
    return 0;
}
