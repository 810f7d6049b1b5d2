#include "server/scenes/epoch.h"

#include "server/journal/journal.h"
#include "server/scenes/lock.h"
#include "server/scenes/services.h"

#include <string.h>
#include <sys/random.h>

enum { DIGITS = 16 }; /* of an epoch in a header */

bool srv_epoch_draw(uint64_t *out)
{
    uint64_t epoch = 0;
    while (epoch == 0)
        if (getrandom(&epoch, sizeof epoch, 0) != (ssize_t)sizeof epoch)
            return false;
    *out = epoch;
    return true;
}

void srv_epoch_find(struct srv_request *request)
{
    request->epoch = 0;
    if (request->target.part_count <= SRV_SCENE_PART)
        return;
    const struct srv_services *services = request->services;
    const struct obb_scene *scene =
        obb_store_find(services->store, request->target.parts[SRV_SCENE_PART]);
    obb_scene_info info;
    bool hidden = true;
    if (scene != NULL)
        srv_scene_info(services->locks, scene, &info, &hidden);
    srv_asleep asleep;
    if (!hidden)
        request->epoch = obb_scene_epoch(scene);
    else if (services->journal != NULL &&
             srv_journal_asleep(services->journal, request->target.parts[SRV_SCENE_PART], &asleep))
        request->epoch = asleep.epoch;
}

/* Reads 16 hex digits. */
static bool read_epoch(const char *text, uint64_t *out)
{
    uint64_t epoch = 0;
    if (strlen(text) != DIGITS)
        return false;
    for (; *text != '\0'; text++) {
        static const char digits[] = "0123456789abcdef0123456789ABCDEF";
        const char *digit = strchr(digits, *text);
        if (digit == NULL)
            return false;
        epoch = epoch << 4 | (uint64_t)((digit - digits) % 16);
    }
    *out = epoch;
    return true;
}

wire_problem srv_problem_of_epoch(struct srv_request *request, uint64_t found)
{
    return wire_problem_of_epoch(found, request->if_epoch, &request->arena);
}

bool srv_epoch_check(struct srv_request *request, srv_makes makes, wire_problem *problem)
{
    const char *sent = request->if_epoch_sent;
    if (sent == NULL || request->target.part_count <= SRV_SCENE_PART)
        return true;
    srv_epoch_find(request);
    if (!read_epoch(sent, &request->if_epoch)) {
        *problem = wire_problem_http(
            400,
            wire_detail(&request->arena, "found the Obbd-If-Epoch %s; an epoch is 16 hex digits",
                        wire_show(obb_str_of(sent)).text));
        return false;
    }
    request->has_if_epoch = true;
    if (makes == SRV_MAKES_NONE_YET || (request->epoch == request->if_epoch && request->epoch != 0))
        return true;
    const obb_str name = request->target.parts[SRV_SCENE_PART];
    if (request->epoch != 0 || makes == SRV_MAKES_SCENE)
        *problem = srv_problem_of_epoch(request, request->epoch);
    else if (makes == SRV_MAKES_SCENE_BY_BODY)
        return true;
    else
        *problem = wire_problem_of_name(obb_name_valid(name) ? OBB_NO_SCENE : OBB_BAD_NAME, name,
                                        &request->arena);
    return false;
}
