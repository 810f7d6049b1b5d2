/* Reads the input as an Authorization header and a file of tokens. The file is accepted if and only
 * if a plain reader of jansson's tree accepts it. A token opens what its entry allows, until it
 * expires. A pattern matches if and only if one of all ways to match it does. */
#include "server/access/auth.h"
#include "server/access/token_hash.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <string.h>
#include <strings.h>

static obb_str str_of(const json_t *text)
{
    return (obb_str){json_string_value(text), json_string_length(text)};
}

/* ---- A slow reader of the file --------------------------------------------------------------- */

static bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

static int days_of_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year));
}

/* "2027-01-01T00:00:00Z": seconds since 1970, counted day by day. */
static bool read_instant(obb_str text, int64_t *out)
{
    static const char form[] = "0000-00-00T00:00:00Z";
    int values[6] = {0}, value = 0;
    if (text.length != sizeof form - 1)
        return false;
    for (size_t i = 0; i < text.length; i++) {
        const bool digit = text.bytes[i] >= '0' && text.bytes[i] <= '9';
        if (form[i] == '0' ? !digit : text.bytes[i] != form[i])
            return false;
        if (digit)
            values[value] = values[value] * 10 + (text.bytes[i] - '0');
        else
            value++;
    }
    const int year = values[0], month = values[1], day = values[2];
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days_of_month(year, month) ||
        values[3] > 23 || values[4] > 59 || values[5] > 59)
        return false;
    int64_t days = day - 1;
    for (int y = 1970; y < year; y++)
        days += 365 + is_leap(y);
    for (int m = 1; m < month; m++)
        days += days_of_month(year, m);
    *out = ((days * 24 + values[3]) * 60 + values[4]) * 60 + values[5];
    return true;
}

static bool is_list(const json_t *list, bool (*good)(obb_str))
{
    size_t i;
    const json_t *item;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return false;
    json_array_foreach(list, i,
                       item) if (!json_is_string(item) || !good(str_of(item))) return false;
    return true;
}

static bool is_scope(obb_str text)
{
    return obb_str_equal(text, obb_str_of("read")) || obb_str_equal(text, obb_str_of("write")) ||
           obb_str_equal(text, obb_str_of("admin"));
}

static bool is_any(obb_str text) { return text.bytes != NULL; }

static bool is_hash(obb_str text)
{
    return text.length == 64 && strspn(text.bytes, "0123456789abcdef") == 64;
}

static bool is_token(const json_t *token)
{
    int64_t expiry;
    const json_t *expires = json_object_get(token, "expires");
    const json_t *name = json_object_get(token, "name"), *hash = json_object_get(token, "sha256");
    return json_object_size(token) == 4 + (size_t)(expires != NULL) && json_is_string(name) &&
           obb_name_valid(str_of(name)) && json_is_string(hash) && is_hash(str_of(hash)) &&
           is_list(json_object_get(token, "scopes"), is_scope) &&
           is_list(json_object_get(token, "scenes"), is_any) &&
           (expires == NULL || (json_is_string(expires) && read_instant(str_of(expires), &expiry)));
}

static const char *hash_of(const json_t *token)
{
    return json_string_value(json_object_get(token, "sha256"));
}

/* Has none of the first `count` tokens the hash of this one? */
static bool is_new(const json_t *tokens, size_t count, const json_t *token)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(hash_of(json_array_get(tokens, i)), hash_of(token)) == 0)
            return false;
    return true;
}

static bool is_file(const json_t *root)
{
    size_t i;
    const json_t *token, *tokens = json_object_get(root, "tokens");
    if (json_object_size(root) != 1 || !json_is_array(tokens))
        return false;
    json_array_foreach(tokens, i,
                       token) if (!is_token(token) || !is_new(tokens, i, token)) return false;
    return true;
}

/* ---- Who opens what -------------------------------------------------------------------------- */

/* By trying every length for each star. */
static bool matches(obb_str pattern, obb_str name)
{
    if (pattern.length == 0)
        return name.length == 0;
    const obb_str rest = {pattern.bytes + 1, pattern.length - 1};
    if (pattern.bytes[0] != '*')
        return name.length > 0 && name.bytes[0] == pattern.bytes[0] &&
               matches(rest, (obb_str){name.bytes + 1, name.length - 1});
    for (size_t i = 0; i <= name.length; i++)
        if (matches(rest, (obb_str){name.bytes + i, name.length - i}))
            return true;
    return false;
}

static void check_patterns(const wire_token *token, obb_str name)
{
    enum { STARS = 4, LONG = 48 }; /* more would take the slow way too long */
    bool any = false;
    for (size_t i = 0; i < token->scene_count; i++) {
        const obb_str pattern = token->scenes[i];
        size_t stars = 0;
        for (size_t j = 0; j < pattern.length; j++)
            stars += pattern.bytes[j] == '*';
        const bool fast = srv_auth_match(pattern, name);
        fuzz_check(stars > STARS || name.length > LONG || fast == matches(pattern, name),
                   "a pattern matches what it does not, or not what it does");
        any = any || fast;
    }
    fuzz_check(any == srv_auth_scene(token, name), "one pattern is enough");
}

/* The text behind "Bearer", or length SIZE_MAX. */
static obb_str shown(const char *authorization)
{
    obb_str text = {authorization, SIZE_MAX};
    if (strncasecmp(authorization, "bearer ", 7) != 0)
        return text;
    text = obb_str_of(authorization + 7);
    for (; text.length > 0 && text.bytes[0] == ' '; text.length--)
        text.bytes++;
    while (text.length > 0 &&
           (text.bytes[text.length - 1] == ' ' || text.bytes[text.length - 1] == '\t'))
        text.length--;
    return text;
}

/* The entry with the hash of the text, or NULL. */
static const json_t *find_entry(const json_t *root, obb_str text)
{
    unsigned char digest[SRV_TOKEN_HASH];
    char hash[2 * SRV_TOKEN_HASH + 1];
    size_t i;
    const json_t *token, *found = NULL;
    if (text.length == SIZE_MAX)
        return NULL;
    srv_token_hash(text.bytes, text.length, digest);
    for (size_t b = 0; b < SRV_TOKEN_HASH; b++)
        (void)snprintf(hash + 2 * b, 3, "%02x", digest[b]);
    json_array_foreach(json_object_get(root, "tokens"), i,
                       token) if (strcmp(hash_of(token), hash) == 0) found = token;
    return found;
}

static void check_found(const struct srv_auth *auth, const char *authorization, const json_t *root)
{
    const json_t *entry = find_entry(root, shown(authorization));
    const wire_token *early = srv_auth_find(auth, authorization, INT64_MIN);
    fuzz_check((early != NULL) == (entry != NULL), "a token is found that is none, or not found");
    fuzz_check(srv_auth_find(auth, NULL, INT64_MIN) == NULL, "nobody is let in");
    if (early == NULL)
        return;
    fuzz_check(obb_str_equal(early->name, str_of(json_object_get(entry, "name"))) &&
                   early->scene_count == json_array_size(json_object_get(entry, "scenes")),
               "another token is found");
    int64_t expiry;
    const json_t *expires = json_object_get(entry, "expires");
    if (expires != NULL && read_instant(str_of(expires), &expiry))
        fuzz_check(srv_auth_find(auth, authorization, expiry - 1) == early &&
                       srv_auth_find(auth, authorization, expiry) == NULL,
                   "a token expires at another time");
    else
        fuzz_check(srv_auth_find(auth, authorization, INT64_MAX) == early,
                   "a token expires though it says nothing of it");
    check_patterns(early, obb_str_of(authorization));
    check_patterns(early, early->name);
}

/* The header's value, LF, the file. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const uint8_t *newline = length > 0 ? memchr(bytes, '\n', length) : NULL;
    if (newline == NULL)
        return 0;
    const size_t first = (size_t)(newline - bytes), size = length - first - 1;
    char *authorization = strndup((const char *)bytes, first), *file = obb_malloc(size + 1, 1);
    if (authorization == NULL || file == NULL) {
        free(authorization);
        obb_free(file);
        return 0;
    }
    memcpy(file, newline + 1, size);
    json_t *root = json_loadb(file, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
    struct srv_auth *auth;
    char error[512];
    const bool good = srv_auth_create(file, size, &auth, error, sizeof error); /* takes the file */
    fuzz_check(good == (root != NULL && is_file(root)), "a file is taken for what it is not");
    if (good) {
        fuzz_check(srv_auth_count(auth) == json_array_size(json_object_get(root, "tokens")),
                   "tokens are lost");
        check_found(auth, authorization, root);
        srv_auth_destroy(auth);
    } else {
        fuzz_check(error[0] != '\0' && strpbrk(error, "\r\n") == NULL, "a sentence in one line");
    }
    json_decref(root);
    free(authorization);
    return 0;
}
