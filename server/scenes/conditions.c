#include "server/scenes/conditions.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool srv_tags_hold(const char *list, uint64_t revision, uint64_t epoch, bool weak)
{
    char tag[48], bare[24];
    const size_t length =
        (size_t)snprintf(tag, sizeof tag, "\"%" PRIu64 ".%016" PRIx64 "\"", revision, epoch);
    const size_t bare_length = (size_t)snprintf(bare, sizeof bare, "\"%" PRIu64 "\"", revision);
    for (const char *at = list; *at != '\0';) {
        at += strspn(at, " \t,");
        if (*at == '*')
            return true;
        const bool is_weak = strncmp(at, "W/", 2) == 0;
        if (is_weak)
            at += 2;
        if ((weak || !is_weak) &&
            (strncmp(at, tag, length) == 0 || strncmp(at, bare, bare_length) == 0))
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
        !srv_tags_hold(request->if_none_match, revision, request->epoch, true))
        return false;
    srv_reply_empty(request, 304);
    return true;
}
