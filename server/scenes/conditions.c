#include "server/scenes/conditions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads the revision that a tag begins with. *out_rest: what follows it. Returns false if the text
 * begins with another tag. */
static bool read_revision(const char *text, uint64_t *out, const char **out_rest)
{
    enum { DIGITS = 20 };
    if (*text++ != '"')
        return false;
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > DIGITS || (*text == '0' && digits > 1))
        return false;
    errno = 0;
    *out = strtoull(text, NULL, 10);
    *out_rest = text + digits;
    return errno == 0;
}

/* Returns whether the text begins with the tag of a revision from `first` to `last`. own: what
 * follows the revision in a tag with this epoch. */
static bool is_held(const char *text, uint64_t first, uint64_t last, const char *own)
{
    uint64_t revision;
    const char *rest;
    if (!read_revision(text, &revision, &rest) || revision < first || revision > last)
        return false;
    return *rest == '"' || strncmp(rest, own, strlen(own)) == 0;
}

/* Returns what follows the tag that the text begins with. */
static const char *behind_tag(const char *at)
{
    const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
    return end != NULL ? end + 1 : at + strcspn(at, ",");
}

bool srv_tags_hold(const char *list, uint64_t first, uint64_t last, uint64_t epoch, bool weak)
{
    char own[24];
    (void)snprintf(own, sizeof own, ".%016" PRIx64 "\"", epoch);
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        if (*at == '*')
            return true;
        const bool is_weak = strncmp(at, "W/", 2) == 0;
        if (is_weak)
            at += 2;
        if ((weak || !is_weak) && is_held(at, first, last, own))
            return true;
        at = behind_tag(at);
    }
    return false;
}

bool srv_tags_any(const char *list) { return list[strspn(list, " \t,")] == '*'; }

/* Returns whether a tag that begins with a revision ends behind it, or behind an epoch. */
static bool is_whole(const char *rest)
{
    enum { DIGITS = 16 };
    if (*rest == '.' && strspn(rest + 1, "0123456789abcdef") == DIGITS)
        rest += 1 + DIGITS;
    return *rest == '"';
}

uint64_t srv_tags_least(const char *list)
{
    uint64_t least = 0;
    for (const char *at = list;; at = behind_tag(at)) {
        uint64_t revision;
        const char *rest;
        at += strspn(at, " \t,");
        if (*at == '\0')
            return least;
        if (!read_revision(at, &revision, &rest) || !is_whole(rest) || revision == 0)
            return 0;
        if (least == 0 || revision < least)
            least = revision;
    }
}

bool srv_not_modified(struct srv_request *request, uint64_t revision)
{
    request->has_etag = true;
    request->etag = revision;
    if (request->if_none_match == NULL ||
        !srv_tags_hold(request->if_none_match, revision, revision, request->epoch, true))
        return false;
    srv_reply_empty(request, 304);
    return true;
}
