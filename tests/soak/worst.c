#include "tests/soak/worst.h"

#include "tests/support/daemon.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const worst_names[WORST_KINDS] = {
    [WORST_OVERLAP] = "overlap", [WORST_ALL_PAIRS] = "all-pairs", [WORST_PAIRS] = "pairs",
    [WORST_FITS] = "fits",       [WORST_COMMITS] = "commits",     [WORST_MERGES] = "merges",
    [WORST_RAYS] = "rays",       [WORST_EVENTS] = "events",       [WORST_EXPORTS] = "exports",
    [WORST_BODIES] = "bodies",   [WORST_PAST] = "past",
};

enum { FIT_POINTS = 100000, MANY_NAMES = 59 };

static char *fit;               /* one inline box of FIT_POINTS points, and a comma */
static char *many_names;        /* MANY_NAMES names, and a comma */
static char *spaces, *brackets; /* 1,024 of each */

void worst_init(void)
{
    fit = malloc((size_t)FIT_POINTS * 24 + 64);
    many_names = malloc((size_t)MANY_NAMES * 16);
    spaces = malloc(1025);
    brackets = malloc(1025);
    ck_assert(fit != NULL && many_names != NULL && spaces != NULL && brackets != NULL);
    size_t length = (size_t)sprintf(fit, "{\"fit\":\"tight\",\"points\":[");
    for (int i = 0; i < FIT_POINTS;
         i++) { /* a spiral on a sphere: all points are corners of the hull */
        const double z = 1 - (2.0 * i + 1) / FIT_POINTS, r = sqrt(1 - z * z),
                     turn = i * 2.399963229728653;
        length += (size_t)sprintf(fit + length, "%s[%.0f,%.0f,%.0f]", i > 0 ? "," : "",
                                  9999 * r * cos(turn), 9999 * r * sin(turn), 9999 * z);
    }
    (void)sprintf(fit + length, "]},");
    length = 0;
    for (int i = 1; i <= MANY_NAMES; i++)
        length += (size_t)sprintf(many_names + length, "\"b%05d\",", i);
    memset(spaces, ' ', 1024);
    memset(brackets, '[', 1024);
    spaces[1024] = brackets[1024] = '\0';
}

size_t worst_bytes(const struct worst_request *request, size_t at, char *out, size_t room)
{
    size_t filled = 0;
    for (int i = 0; i < WORST_PARTS && filled < room; i++) {
        const struct worst_part *part = &request->parts[i];
        if (at >= part->length * part->times) {
            at -= part->length * part->times;
            continue;
        }
        for (size_t turn = at / part->length; turn < part->times && filled < room; turn++) {
            const size_t from = at % part->length, left = part->length - from;
            const size_t count = left < room - filled ? left : room - filled;
            memcpy(out + filled, part->text + from, count);
            size_t value = turn;
            for (size_t k = part->digits; k-- > 0; value /= 10)
                if (part->slot + k >= from && part->slot + k < from + count)
                    out[filled + part->slot + k - from] = (char)('0' + value % 10);
            filled += count;
            at = 0;
        }
    }
    return filled;
}

/* ---- Putting a request together -------------------------------------------------------------- */

static void add_bytes(struct worst_request *r, const char *text, size_t length, size_t times)
{
    for (int i = 1; i < WORST_PARTS; i++)
        if (r->parts[i].text == NULL) {
            r->parts[i] = (struct worst_part){.text = text, .length = length, .times = times};
            return;
        }
    ck_abort_msg("more parts than a request has");
}

/* The text lives as long as the program. A run of '#' in it stands for the digits of the number of
 * the turn. */
static void add(struct worst_request *r, const char *text, size_t times)
{
    add_bytes(r, text, strlen(text), times);
    const char *slot = strchr(text, '#');
    for (int i = 1; slot != NULL && i < WORST_PARTS; i++)
        if (r->parts[i].text == text) {
            r->parts[i].slot = (size_t)(slot - text);
            r->parts[i].digits = strspn(slot, "#");
        }
}

/* As many items as given, with the comma behind the last taken away. */
static void add_items(struct worst_request *r, const char *text, size_t times)
{
    add(r, text, times - 1);
    add_bytes(r, text, strlen(text) - 1, 1);
    struct worst_part *last = NULL, *before = NULL;
    for (int i = 1; i < WORST_PARTS && r->parts[i].text != NULL; i++) {
        before = last;
        last = &r->parts[i];
    }
    if (before != NULL &&
        before->digits > 0) /* the last item has number 0 too, which a list of names allows */
        *last = (struct worst_part){.text = text,
                                    .length = last->length,
                                    .times = 1,
                                    .slot = before->slot,
                                    .digits = before->digits};
}

/* Begins the body with a text of its own. */
__attribute__((format(printf, 2, 3))) static void begin(struct worst_request *r, const char *format,
                                                        ...)
{
    va_list values;
    va_start(values, format);
    const int length = vsnprintf(r->own, sizeof r->own, format, values);
    va_end(values);
    ck_assert_int_lt(length, (int)sizeof r->own);
    add_bytes(r, r->own, (size_t)length, length > 0);
}

/* Writes the head; the body's parts are there. */
static void finish(struct worst_request *r, const char *line, const char *type, const char *accept)
{
    size_t body = 0;
    for (int i = 1; i < WORST_PARTS; i++)
        body += r->parts[i].length * r->parts[i].times;
    const int length = snprintf(r->head, sizeof r->head,
                                "%s HTTP/1.1\r\nHost: localhost\r\nConnection: "
                                "close\r\n%s%s%s%s%s%sContent-Length: %zu\r\n\r\n",
                                line, body > 0 ? "Content-Type: " : "", body > 0 ? type : "",
                                body > 0 ? "\r\n" : "", accept != NULL ? "Accept: " : "",
                                accept != NULL ? accept : "", accept != NULL ? "\r\n" : "", body);
    ck_assert_int_lt(length, (int)sizeof r->head);
    r->parts[0] = (struct worst_part){.text = r->head, .length = (size_t)length, .times = 1};
    r->length = (size_t)length + body;
}

static const char json[] = "application/json", cbor[] = "application/cbor",
                  ndjson[] = "application/x-ndjson";

static const char *query(const char *scene, const char *kind)
{
    return test_text("POST /v1/scenes/%s/query/%s", scene, kind);
}

static const char *json_or_cbor(test_rng *rng) { return test_below(rng, 3) == 0 ? cbor : json; }

/* Of so many items all, or a part: the largest requests are seldom done in time. */
static size_t part(size_t items, test_rng *rng)
{
    static const size_t shares[] = {1, 1, 8, 64, 1024};
    return items / shares[test_below(rng, 5)];
}

/* ---- Each kind ------------------------------------------------------------------------------- */

static void make_overlap(struct worst_request *r, test_rng *rng)
{
    enum { SHAPES = 2000 };
    static const char *const shapes[] = {"{\"sphere\":{\"center\":[0,0,0],\"radius\":5}},",
                                         "\"b0####\",",
                                         "{\"center\":[0,0,0],\"half_extents\":[1,1,1]},",
                                         "{\"capsule\":{\"a\":[0,0],\"b\":[0,1],\"radius\":5}},"};
    static const char *const wants[] = {"", "\"want\":[\"data\",\"pose\"],", "\"by\":\"id\",",
                                        "\"want\":[\"relation\",\"mtv\",\"distance\",\"volume\"],"};
    const size_t shape = test_below(rng, 4);
    const size_t want =
        test_below(rng, shape == 0 || shape == 3 ? 3 : 4); /* detail is of two boxes */
    begin(r, "{%s\"limit\":10000,\"shapes\":[", wants[want]);
    add_items(r, shapes[shape], part(SHAPES, rng));
    add(r, "]}", 1);
    finish(r, query(shape == 3 ? "plane" : "pile", "overlap"), json, json_or_cbor(rng));
}

static void make_all_pairs(struct worst_request *r, test_rng *rng)
{
    static const char *const bodies[] = {
        "{\"limit\":1000000}", "{\"limit\":1000000,\"by\":\"id\"}",
        "{\"limit\":1000000,\"want\":[\"relation\",\"mtv\",\"distance\",\"volume\"]}",
        "{\"limit\":1000000,\"want\":[\"data\",\"pose\"]}", "{\"count_only\":true}"};
    static const char *const scenes[] = {"pile", "pile", "plane", "heap"};
    const char *accept = test_below(rng, 3) == 0 ? ndjson : json_or_cbor(rng);
    begin(r, "%s", bodies[test_below(rng, 5)]);
    const char *scene = scenes[test_below(rng, 4)];
    r->slow = accept == ndjson;
    r->fleeting = r->slow && strcmp(scene, "heap") == 0; /* of which a box moves all the time */
    finish(r, query(scene, "all-pairs"), json, accept);
}

static void big_endian(char *out, size_t value)
{
    for (int i = 0; i < 4; i++)
        out[i] = (char)(value >> (24 - 8 * i));
}

/* {"by":"id","pairs":…} whose array begins with these bytes and a length of four bytes. */
static void begin_cbor_pairs(struct worst_request *r, const char *array, size_t length)
{
    const int begun = snprintf(r->own, sizeof r->own,
                               "\xa2\x62"
                               "by\x62id\x65pairs%s",
                               array);
    big_endian(r->own + begun, length);
    add_bytes(r, r->own, (size_t)begun + 4, 1);
}

static void make_pairs(struct worst_request *r, test_rng *rng)
{
    enum { NEAR = WORST_BODY_LIMIT - 1024, INLINE = 8 << 20 };
    const char *type = json;
    switch (test_below(rng, 5)) {
    case 0: /* a number of one byte an item */
        type = cbor;
        begin_cbor_pairs(r, "\x9a", NEAR);
        add_bytes(r, "\x01\x02", 2, NEAR / 2);
        break;
    case 1: /* RFC 8746: 32 bits an item */
        type = cbor;
        begin_cbor_pairs(r, "\xd8\x46\x5a", NEAR);
        add_bytes(r, "\1\0\0\0\2\0\0\0", 8, NEAR / 8);
        break;
    case 2:
        begin(r, "{\"by\":\"id\",\"pairs\":[");
        add_items(r, "1,2,", NEAR / 4);
        add(r, "]}", 1);
        break;
    case 3: {
        static const char boxes[] = "[{\"center\":[0,0,0],\"half_extents\":[1,1,1]},"
                                    "{\"min\":[0,0,0],\"max\":[1,1,1]}],";
        begin(r, "{\"pairs\":[");
        add_items(r, boxes, part(INLINE / (sizeof boxes - 1), rng));
        add(r, "]}", 1);
        break;
    }
    default: {
        static const char names[] = "[\"b0####\",\"b00001\"],";
        begin(r,
              "{\"want\":[\"relation\",\"mtv\",\"distance\",\"axis\",\"volume\",\"data\",\"pose\"],"
              "\"pairs\":[");
        add_items(r, names, part(INLINE / (sizeof names - 1), rng));
        add(r, "]}", 1);
        break;
    }
    }
    finish(r, query("pile", "pairs"), type, json_or_cbor(rng));
}

static void make_fits(struct worst_request *r, test_rng *rng)
{
    const char *const begins[] = {"{\"shapes\":[", "{\"boxes\":["};
    const size_t which = test_below(rng, 2);
    begin(r, "%s", begins[which]);
    add_items(r, fit, ((size_t)4 << 20) / strlen(fit));
    add(r, "]}", 1);
    finish(r, query("field", which == 0 ? "overlap" : "nearest"), json, NULL);
}

static void make_commits(struct worst_request *r, test_rng *rng)
{
    static const char empty[] = "{\"kind\":\"point\",\"points\":[]},";
    static const char past[] =
        "{\"kind\":\"point\",\"points\":[[0,0,0]],\"at\":{\"ago\":1#####E-2,\"clamp\":true}},";
    begin(r, "{\"queries\":[");
    if (test_below(rng, 2) == 0)
        add_items(r, empty, part(((size_t)8 << 20) / (sizeof empty - 1), rng));
    else
        add_items(r, past, part(100000, rng));
    add(r, "]}", 1);
    finish(r, "POST /v1/scenes/race/commit", json, json_or_cbor(rng));
}

static void make_merges(struct worst_request *r, test_rng *rng)
{
    static const size_t counts[] = {1500000, 10000, 1000};
    const size_t which = test_below(rng, 5);
    if (which < 2) {
        begin(r, "{\"with\":[");
        add_items(r, many_names, counts[which] / MANY_NAMES);
        add(r, "]}", 1);
    } else if (which == 2) {
        begin(r, "{\"with\":[");
        add_items(r, "\"b00###\",", counts[2]);
        add(r, "]}", 1);
    } else {
        if (which == 3)
            begin(r, "{\"history\":{\"span\":500,\"commits\":64}");
        else
            begin(r, "{\"history\":{\"span\":9007199254740992,\"commits\":4294967295}");
        add(r, spaces, 1023);
        add(r, "}", 1);
    }
    finish(r, which < 3 ? "POST /v1/scenes/pile/boxes/b09999/merge" : "PUT /v1/scenes/spare", json,
           NULL);
}

static void make_rays(struct worst_request *r, test_rng *rng)
{
    static const char *const wants[] = {"", "\"want\":[\"data\",\"pose\"],", "\"by\":\"id\","};
    const char *want = wants[test_below(rng, 3)], *kind = "ray";
    switch (test_below(rng, 4)) {
    case 0:
        kind = "nearest";
        begin(r, "{%s\"k\":10000,\"points\":[", want);
        add_items(r, "[0,0,0],", part(10000, rng));
        break;
    case 1:
        kind = "sweep";
        begin(r, "{%s\"mode\":\"all\",\"sweeps\":[", want);
        add_items(r,
                  "{\"box\":{\"center\":[-50,0,0],\"half_extents\":[1,1,1]},\"motion\":[100,0,0]},",
                  part(10000, rng));
        break;
    default:
        begin(r, "{%s\"mode\":\"%s\",\"rays\":[", want,
              test_below(rng, 3) == 0 ? "closest_per_entity" : "all");
        add_items(r, "{\"from\":[-50,0,0],\"to\":[50,0,0]},", part(100000, rng));
        break;
    }
    add(r, "]}", 1);
    finish(r, query("pile", kind), json, json_or_cbor(rng));
}

static void make_bodies(struct worst_request *r, test_rng *rng)
{
    static const char line[] =
        "{\"name\":\"i######\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}\n";
    static const char header[] = "{\"format\":\"obbd-scene\",\"version\":1}\n";
    static const char long_names[] =
        "[\"n########"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"b00001\"],";
    enum { IMPORT = 32 << 20, KEYS = 1000000 };
    const char *path = "POST /v1/scenes/spare/commit", *type = json;
    r->also[0] = 400;
    r->also[1] = 404;
    switch (test_below(rng, 7)) {
    case 0: /* the last line is at fault, so nothing is kept */
        path = "POST /v1/scenes/spare/import";
        type = ndjson;
        begin(r, "%s", header);
        add(r, line, IMPORT / (sizeof line - 1));
        add(r, "{\"name\":\"last\"}\n", 1);
        break;
    case 1: /* an empty scene, in 32 MiB */
        path = "POST /v1/scenes/spare/import";
        type = ndjson;
        begin(r, "%s", header);
        add(r, spaces, IMPORT / 1024);
        break;
    case 2:
        path = query("pile", "overlap");
        begin(r, "{\"shapes\":");
        add(r, brackets, IMPORT / 1024);
        break;
    case 3: /* all keys differ, and none is there */
        begin(r, "{\"ignore_missing\":true,\"pose\":{");
        add(r, "\"k#######\":{},", KEYS - 1);
        add(r, "\"last\":{}", 1);
        add(r, "}}", 1);
        break;
    case 4:
        begin(r, "{\"pose\":{");
        add_items(r, "\"same\":{},", KEYS);
        add(r, "}}", 1);
        break;
    case 5:
        begin(r, "{\"remove\":[");
        add_items(r, "\"k#######\",", KEYS);
        add(r, "]}", 1);
        break;
    default: /* all are missing, and each is named in the answer */
        path = query("pile", "pairs");
        begin(r, "{\"pairs\":[");
        add_items(r, long_names, IMPORT / (sizeof long_names - 1));
        add(r, "]}", 1);
        break;
    }
    finish(r, path, type, type == json ? json_or_cbor(rng) : NULL);
}

static void make_past(struct worst_request *r, double newest, test_rng *rng)
{
    static const char *const kinds[] = {"overlap", "ray", "nearest", "all-pairs", "sweep", "point"};
    static const char *const items[] = {
        "\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":3}}],",
        "\"mode\":\"all\",\"rays\":[{\"from\":[-90,0,0],\"to\":[90,0,0]}],",
        "\"k\":10,\"points\":[[0,0,0]],",
        "\"count_only\":true,",
        "\"sweeps\":[{\"box\":\"b00001\",\"motion\":[50,0,0]}],",
        "\"points\":[[0,0,0]],"};
    const size_t kind = test_below(rng, 6);
    r->also[0] = 410;
    begin(r, "{%s\"at\":{\"time\":%.3f}}", items[kind],
          newest - test_uniform(rng, 0, WORST_STEP * (WORST_STATES - 1)));
    finish(r, query("race", kinds[kind]), json, NULL);
}

void worst_make(worst_kind kind, double newest, test_rng *rng, struct worst_request *out)
{
    *out = (struct worst_request){.kind = kind};
    switch (kind) {
    case WORST_OVERLAP:
        make_overlap(out, rng);
        break;
    case WORST_ALL_PAIRS:
        make_all_pairs(out, rng);
        break;
    case WORST_PAIRS:
        make_pairs(out, rng);
        break;
    case WORST_FITS:
        make_fits(out, rng);
        break;
    case WORST_COMMITS:
        make_commits(out, rng);
        break;
    case WORST_MERGES:
        make_merges(out, rng);
        break;
    case WORST_RAYS:
        make_rays(out, rng);
        break;
    case WORST_EVENTS:
        finish(out, "GET /v1/scenes/heap/events?topics=collisions", json, NULL);
        break;
    case WORST_EXPORTS:
        out->slow = true;
        finish(out,
               test_below(rng, 2) == 0 ? "GET /v1/scenes/field/export"
                                       : "GET /v1/scenes/pile/export",
               json, NULL);
        break;
    case WORST_BODIES:
        make_bodies(out, rng);
        break;
    case WORST_PAST:
        make_past(out, newest, rng);
        break;
    case WORST_KINDS:
        break;
    }
}
