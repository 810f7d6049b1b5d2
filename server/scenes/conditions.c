#include "server/scenes/conditions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether the text begins with the tag of a revision from `first` to `last`. own: what
 * follows the revision in a tag with this epoch. */
static bool is_held(const char *text, uint64_t first, uint64_t last, const char *own)
{
    enum { DIGITS = 20 };
    if (*text++ != '"')
        return false;
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > DIGITS || (*text == '0' && digits > 1))
        return false;
    errno = 0;
    const uint64_t revision = strtoull(text, NULL, 10);
    if (errno != 0 || revision < first || revision > last)
        return false;
    return text[digits] == '"' || strncmp(text + digits, own, strlen(own)) == 0;
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
        const char *end = *at == '"' ? strchr(at + 1, '"') : NULL;
        at = end != NULL ? end + 1 : at + strcspn(at, ",");
    }
    return false;
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
