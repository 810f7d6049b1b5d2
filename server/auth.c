#include "server/auth.h"

#include "server/file.h"
#include "server/sha256.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { SECRET = 32 }; /* random bytes of a token */

struct srv_auth {
    char *bytes; /* of the file, which the tokens point into */
    struct obb_arena arena;
    const wire_token *tokens;
    size_t count;
};

/* ---- Loading ------------------------------------------------------------------------------------------------------- */

/* A pointer holds keys as they were sent: what would end the line is a ? in it. */
static void keep_to_a_line(char *text)
{
    for (; *text != '\0'; text++)
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = '?';
}

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
        keep_to_a_line(error);
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

/* ---- Checking ------------------------------------------------------------------------------------------------------- */

/* All bytes are looked at, whatever they are. */
static bool equal(const unsigned char *a, const unsigned char *b)
{
    unsigned difference = 0;
    for (int i = 0; i < SRV_SHA256; i++)
        difference |= a[i] ^ b[i];
    return difference == 0;
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
    unsigned char hash[SRV_SHA256];
    srv_sha256(token, length, hash);
    const wire_token *found = NULL;
    for (size_t i = 0; i < auth->count; i++)
        if (equal(hash, auth->tokens[i].sha256))
            found = &auth->tokens[i];
    return found != NULL && (!found->expires || now < found->expiry) ? found : NULL;
}

bool srv_auth_match(obb_str pattern, obb_str name)
{
    /* on a mismatch the last * takes one byte more; those before it need not change */
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

/* ---- Making ---------------------------------------------------------------------------------------------------------- */

/* "a,b" as "a","b". */
static void write_list(FILE *out, const char *list)
{
    (void)fputs("[\"", out);
    for (; *list != '\0'; list++)
        if (*list == ',')
            (void)fputs("\",\"", out);
        else
            (void)fputc(*list, out);
    (void)fputs("\"]", out);
}

bool srv_auth_new(const char *name, const char *scopes, const char *scenes, FILE *out, char *error,
                  size_t error_size)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char secret[SECRET], hash[SRV_SHA256];
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) {
        (void)snprintf(error, error_size, "--new-token: no randomness: %s", strerror(errno));
        return false;
    }
    char token[sizeof "obbd_" + sizeof secret * 2] = "obbd_", hex[2 * SRV_SHA256 + 1] = "";
    for (size_t i = 0; i < SECRET; i++) {
        token[5 + 2 * i] = digits[secret[i] >> 4];
        token[6 + 2 * i] = digits[secret[i] & 15];
    }
    srv_sha256(token, sizeof token - 1, hash);
    for (size_t i = 0; i < SRV_SHA256; i++) {
        hex[2 * i] = digits[hash[i] >> 4];
        hex[2 * i + 1] = digits[hash[i] & 15];
    }

    /* what is written must be what is read */
    char *entry = NULL;
    size_t length = 0;
    FILE *text = open_memstream(&entry, &length);
    if (text == NULL) {
        (void)snprintf(error, error_size, "there is not enough memory");
        return false;
    }
    (void)fprintf(text, "{\"name\":\"%s\",\"sha256\":\"%s\",\"scopes\":", name, hex);
    write_list(text, scopes);
    (void)fputs(",\"scenes\":", text);
    write_list(text, scenes);
    (void)fputs("}", text);
    if (fclose(text) != 0) {
        (void)snprintf(error, error_size, "there is not enough memory");
        free(entry);
        return false;
    }
    struct wire_buf file = {0};
    struct obb_arena arena;
    obb_arena_init(&arena);
    wire_buf_append(&file, "{\"tokens\":[", 11);
    wire_buf_append(&file, entry, length);
    wire_buf_append(&file, "]}", 2);
    const wire_body body = {.bytes = file.bytes, .length = file.length, .media = WIRE_JSON};
    const wire_token *tokens;
    size_t count;
    wire_problem problem = {.title = "there is not enough memory"};
    const bool good =
        !file.failed && wire_read_tokens(&body, &arena, &tokens, &count, &problem) && count == 1;
    if (good)
        (void)fprintf(out, "token: %s\nentry: %s\n", token, entry);
    else
        (void)snprintf(error, error_size, "--new-token: %s%s%s",
                       problem.detail != NULL ? problem.detail : problem.title,
                       problem.pointer != NULL ? " at " : "",
                       problem.pointer != NULL ? problem.pointer : "");
    obb_arena_fini(&arena);
    wire_buf_fini(&file);
    free(entry);
    return good;
}
