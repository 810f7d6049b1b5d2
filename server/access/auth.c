#include "server/access/auth.h"

#include "server/access/token_hash.h"
#include "server/base/file.h"
#include "server/base/log.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { SECRET = 32 }; /* random bytes of a token */

struct srv_auth {
    char *bytes; /* of the file; the tokens point into them */
    struct obb_arena arena;
    const wire_token *tokens;
    size_t count;
};

/* ---- Loading --------------------------------------------------------------------------------- */

bool srv_auth_create(char *bytes, size_t length, struct srv_auth **out, char *error,
                     size_t error_size)
{
    struct srv_auth *auth = obb_calloc(1, sizeof *auth);
    if (auth == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        obb_free(bytes);
        return false;
    }
    auth->bytes = bytes;
    const wire_body body = {.bytes = bytes, .length = length, .media = WIRE_JSON};
    wire_problem problem;
    if (length == 0)
        (void)snprintf(error, error_size, "is empty");
    else if (wire_read_tokens(&body, &auth->arena, &auth->tokens, &auth->count, &problem)) {
        *out = auth;
        return true;
    } else {
        const char *detail = problem.detail != NULL ? problem.detail : problem.title;
        (void)snprintf(error, error_size, "%s%s%s", detail,
                       problem.pointer != NULL && problem.pointer[0] != '\0' ? " at " : "",
                       problem.pointer != NULL ? problem.pointer : "");
        srv_log_one_line(error); /* the pointer holds keys as the file has them */
    }
    srv_auth_destroy(auth);
    return false;
}

bool srv_auth_load(const char *path, struct srv_auth **out, char *error, size_t error_size)
{
    size_t length;
    char reason[512];
    char *bytes = srv_file_read("--token-file", path, &length, error, error_size);
    if (bytes == NULL)
        return false;
    if (srv_auth_create(bytes, length, out, reason, sizeof reason))
        return true;
    (void)snprintf(error, error_size, "--token-file %.200s: %s", path, reason);
    return false;
}

void srv_auth_destroy(struct srv_auth *auth)
{
    if (auth == NULL)
        return;
    obb_arena_fini(&auth->arena);
    obb_free(auth->bytes);
    obb_free(auth);
}

size_t srv_auth_count(const struct srv_auth *auth) { return auth->count; }

/* ---- Checking -------------------------------------------------------------------------------- */

/* Compares two hashes. Takes the same time for all. */
static bool equal(const unsigned char *a, const unsigned char *b)
{
    unsigned difference = 0;
    for (int i = 0; i < SRV_TOKEN_HASH; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
}

const wire_token *srv_auth_find_hash(const struct srv_auth *auth, const unsigned char *sha256)
{
    const wire_token *found = NULL;
    for (size_t i = 0; i < auth->count; i++)
        if (equal(sha256, auth->tokens[i].sha256))
            found = &auth->tokens[i];
    return found;
}

const wire_token *srv_auth_find(const struct srv_auth *auth, const char *authorization, int64_t now)
{
    if (authorization == NULL || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    const char *token = authorization + 7;
    token += strspn(token, " ");
    size_t length = strlen(token);
    while (length > 0 && (token[length - 1] == ' ' || token[length - 1] == '\t'))
        length--;
    unsigned char hash[SRV_TOKEN_HASH];
    srv_token_hash(token, length, hash);
    const wire_token *found = srv_auth_find_hash(auth, hash);
    return found != NULL && (!found->expires || now < found->expiry) ? found : NULL;
}

bool srv_auth_match(obb_str pattern, obb_str name)
{
    /* on a mismatch the last * takes one byte more; the stars before it need not change */
    size_t p = 0, n = 0, star = SIZE_MAX, taken = 0;
    while (n < name.length) {
        if (p < pattern.length && pattern.bytes[p] == '*') {
            star = p++;
            taken = n;
        } else if (p < pattern.length && pattern.bytes[p] == name.bytes[n]) {
            p++;
            n++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            n = ++taken;
        } else {
            return false;
        }
    }
    while (p < pattern.length && pattern.bytes[p] == '*')
        p++;
    return p == pattern.length;
}

bool srv_auth_scene(const wire_token *token, obb_str scene)
{
    for (size_t i = 0; i < token->scene_count; i++)
        if (srv_auth_match(token->scenes[i], scene))
            return true;
    return false;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static bool is_scope(obb_str word)
{
    return obb_str_equal(word, obb_str_of("read")) || obb_str_equal(word, obb_str_of("write")) ||
           obb_str_equal(word, obb_str_of("admin"));
}

/* Returns whether each part of "a,b" is good. */
static bool each(const char *list, bool (*good)(obb_str part))
{
    for (;;) {
        const size_t length = strcspn(list, ",");
        if (!good((obb_str){.bytes = list, .length = length}))
            return false;
        if (list[length] == '\0')
            return true;
        list += length + 1;
    }
}

/* Writes a byte of a JSON string. Names have no control characters to escape. */
static void write_byte(FILE *out, char c)
{
    if (c == '"' || c == '\\')
        (void)fputc('\\', out);
    (void)fputc(c, out);
}

/* Writes "a,b" as ["a","b"]. */
static void write_list(FILE *out, const char *list)
{
    (void)fputs("[\"", out);
    for (; *list != '\0'; list++)
        if (*list == ',')
            (void)fputs("\",\"", out);
        else
            write_byte(out, *list);
    (void)fputs("\"]", out);
}

bool srv_auth_new(const char *name, const char *scopes, const char *scenes, FILE *out, char *error,
                  size_t error_size)
{
    if (!obb_name_valid(obb_str_of(name))) {
        (void)snprintf(error, error_size,
                       "--new-token: a name is 1 to 128 bytes of UTF-8 without control characters, "
                       "and neither . nor ..");
        return false;
    }
    if (!each(scopes, is_scope)) {
        (void)snprintf(error, error_size,
                       "--scopes: a list of read, write and admin is needed, like read,write");
        return false;
    }
    if (!each(scenes, obb_name_valid)) { /* a name may hold *, so each pattern is a valid name */
        (void)snprintf(error, error_size,
                       "--scenes: a list of names or patterns is needed, like match-*,lobby");
        return false;
    }
    static const char digits[] = "0123456789abcdef";
    unsigned char secret[SECRET], hash[SRV_TOKEN_HASH];
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        (void)snprintf(error, error_size, "--new-token: no randomness: %s", strerror(errno));
        return false;
    }
    char token[sizeof "obbd_" + sizeof secret * 2] = "obbd_", hex[2 * SRV_TOKEN_HASH + 1] = "";
    for (size_t i = 0; i < SECRET; i++) {
        token[5 + 2 * i] = digits[secret[i] >> 4];
        token[6 + 2 * i] = digits[secret[i] & 15];
    }
    srv_token_hash(token, sizeof token - 1, hash);
    for (size_t i = 0; i < SRV_TOKEN_HASH; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }

    (void)fprintf(out, "token: %s\nentry: {\"name\":\"", token);
    for (const char *c = name; *c != '\0'; c++)
        write_byte(out, *c);
    (void)fprintf(out, "\",\"sha256\":\"%s\",\"scopes\":", hex);
    write_list(out, scopes);
    (void)fputs(",\"scenes\":", out);
    write_list(out, scenes);
    (void)fputs("}\n", out);
    return true;
}
