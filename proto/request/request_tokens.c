#include "proto/request/request_tokens.h"

#include "proto/base/keys.h"
#include "proto/request/list.h"
#include "proto/request/object.h"
#include "proto/request/request_body.h"
#include "proto/request/value.h"

/* Returns the days from 1970-01-01 to a day of the Gregorian calendar (Howard Hinnant,
 * "chrono-Compatible Low-Level Date Algorithms", days_from_civil). */
static int64_t days_of(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    const int64_t era = year / 400, of_era = year - era * 400; /* years here are positive */
    const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

/* Returns the value of two digits, or -1. */
static int two(const char *text)
{
    for (int i = 0; i < 2; i++)
        if (text[i] < '0' || text[i] > '9')
            return -1;
    return (text[0] - '0') * 10 + (text[1] - '0');
}

/* Reads "2027-01-01T00:00:00Z" (RFC 3339, UTC, whole seconds). */
static bool read_instant(struct wire_cursor *c, int64_t *out)
{
    static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
    static const int lengths[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const size_t place = wire_place(c);
    obb_str text;
    if (!wire_read_string(c, &text))
        return false;
    bool good = text.length == sizeof form - 1;
    for (size_t i = 0; i < sizeof form - 1 && good; i++)
        good = form[i] == 'd' ? text.bytes[i] >= '0' && text.bytes[i] <= '9'
                              : text.bytes[i] == form[i];
    if (good) {
        const int year = two(text.bytes) * 100 + two(text.bytes + 2);
        const int month = two(text.bytes + 5), day = two(text.bytes + 8);
        const int hour = two(text.bytes + 11), minute = two(text.bytes + 14);
        const int second = two(text.bytes + 17);
        const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        good = year >= 1970 && month >= 1 && month <= 12 && day >= 1 && day <= lengths[month - 1] &&
               (month != 2 || day < 29 || leap) && hour < 24 && minute < 60 && second < 60;
        *out = good ? ((days_of(year, month, day) * 24 + hour) * 60 + minute) * 60 + second : 0;
    }
    return good ||
           wire_fail_at(c, WIRE_OBB_BAD_VALUE, place, "a time is written as 2027-01-01T00:00:00Z");
}

/* Upper case is refused: a hash has one spelling, so two entries of one token are equal text. */
static int lower_digit(char c) { return c >= 'A' && c <= 'F' ? -1 : obb_hex_digit(c); }

/* A hash as it is written, and where. */
struct hash {
    obb_str text;
    size_t place;
};

static bool read_hash(struct wire_cursor *c, unsigned char out[static 32], struct hash *written)
{
    const size_t place = wire_place(c);
    obb_str text;
    if (!wire_read_string(c, &text))
        return false;
    *written = (struct hash){.text = text, .place = place};
    bool good = text.length == 64;
    for (size_t i = 0; i < 32 && good; i++) {
        const int high = lower_digit(text.bytes[2 * i]), low = lower_digit(text.bytes[2 * i + 1]);
        good = high >= 0 && low >= 0;
        out[i] = (unsigned char)(good ? high * 16 + low : 0);
    }
    return good || wire_fail_at(c, WIRE_OBB_BAD_VALUE, place,
                                "a hash is 64 hexadecimal digits in lower case");
}

static bool read_scopes(struct wire_cursor *c, unsigned *out)
{
    static const obb_str words[] = {WIRE_FIELD("read"), WIRE_FIELD("write"), WIRE_FIELD("admin")};
    const size_t place = wire_place(c);
    int word;
    *out = 0;
    if (!wire_enter_array(c))
        return false;
    while (wire_next_item(c)) {
        if (!wire_read_word(c, words, 3, &word))
            return false;
        *out |= 1u << word; /* WIRE_SCOPE_… in the same order */
    }
    if (!c->failed && *out == 0)
        return wire_fail_at(c, WIRE_OBB_BAD_COUNT, place, "a token without scopes can do nothing");
    return !c->failed;
}

static bool read_token(struct wire_cursor *c, wire_token *out, struct hash *hash)
{
    enum { NAME, SHA256, SCOPES, SCENES, EXPIRES, COUNT };
    static const obb_str fields[COUNT] = {[NAME] = WIRE_FIELD("name"),
                                          [SHA256] = WIRE_FIELD("sha256"),
                                          [SCOPES] = WIRE_FIELD("scopes"),
                                          [SCENES] = WIRE_FIELD("scenes"),
                                          [EXPIRES] = WIRE_FIELD("expires")};
    struct wire_object o;
    wire_token token = {.scopes = 0};
    if (!wire_object_enter(&o, c, fields, COUNT))
        return false;
    for (int field; (field = wire_object_next(&o)) >= 0;) {
        bool read = false;
        switch (field) {
        case NAME:
            read = wire_read_name(c, &token.name);
            break;
        case SHA256:
            read = read_hash(c, token.sha256, hash);
            break;
        case SCOPES:
            read = read_scopes(c, &token.scopes);
            break;
        case SCENES:
            read = wire_read_strings(c, &token.scenes, &token.scene_count);
            if (read && token.scene_count == 0)
                return wire_fail_at(c, WIRE_OBB_BAD_COUNT, o.where[SCENES],
                                    "a token without scenes can do nothing");
            break;
        default:
            read = token.expires = read_instant(c, &token.expiry);
            break;
        }
        if (!read)
            return false;
    }
    if (c->failed || !wire_object_need(&o, NAME) || !wire_object_need(&o, SHA256) ||
        !wire_object_need(&o, SCOPES) || !wire_object_need(&o, SCENES))
        return false;
    *out = token;
    return true;
}

/* Refuses two tokens with one hash: only one of them could count. */
static bool hashes_differ(struct wire_cursor *c, const struct wire_list *list)
{
    const struct hash *hashes = (const struct hash *)(const void *)list->items;
    size_t second = 0;
    switch (list->count < 2 ? WIRE_KEYS_DIFFER
                            : wire_keys_check(&hashes->text, list->count, sizeof *hashes, c->cancel,
                                              c->arena, &second)) {
    case WIRE_KEYS_DIFFER:
        return true;
    case WIRE_KEYS_REPEAT:
        return wire_fail_at(c, WIRE_OBB_BAD_VALUE, hashes[second].place,
                            "an earlier token has the same hash");
    case WIRE_KEYS_NO_MEMORY:
        return wire_fail_memory(c);
    case WIRE_KEYS_CANCELLED:
        break;
    }
    return wire_fail_cancelled(c);
}

static bool read_list(struct wire_cursor *c, const wire_token **out, size_t *out_count)
{
    if (!wire_enter_array(c))
        return false;
    struct wire_list list = wire_list_begin(c, sizeof(wire_token));
    struct wire_list hashes = wire_list_begin(c, sizeof(struct hash));
    while (wire_next_item(c)) {
        wire_token *token = wire_list_add(&list);
        struct hash *hash = token != NULL ? wire_list_add(&hashes) : NULL;
        if (hash == NULL || !read_token(c, token, hash))
            return false;
    }
    if (c->failed || !hashes_differ(c, &hashes))
        return false;
    *out = (const wire_token *)(const void *)list.items;
    *out_count = list.count;
    return true;
}

bool wire_read_tokens(const wire_body *body, struct obb_arena *arena, const wire_token **out,
                      size_t *out_count, wire_problem *problem)
{
    static const obb_str fields[] = {WIRE_FIELD("tokens")};
    struct wire_cursor c;
    struct wire_object o;
    const wire_token *tokens = NULL;
    size_t count = 0;
    wire_body_open(&c, body, arena);
    bool ok = wire_object_enter(&o, &c, fields, 1);
    while (ok && wire_object_next(&o) >= 0)
        ok = read_list(&c, &tokens, &count);
    if (!wire_body_close(&c, ok && !c.failed && wire_object_need(&o, 0), problem))
        return false;
    *out = tokens;
    *out_count = count;
    return true;
}
