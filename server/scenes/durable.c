#include "server/scenes/durable.h"

#include "server/scenes/remembered.h"

bool srv_durable_resume(struct srv_writer *writer, const srv_restored_scene *scene)
{
    struct srv_companion *companion =
        srv_companion_make(&writer->companions, scene->journaled.scene);
    if (companion == NULL || !srv_tail_create(&writer->tails, companion, &scene->journaled))
        return false;
    srv_snapshots_add(writer->tails.snapshots, srv_tail_journaled(companion->tail));
    return srv_remembered_resume(&companion->remembered, writer->budget, scene->commits,
                                 scene->commit_count);
}

void srv_durable_remember(void *context, const struct srv_journaled *scene, struct wire_buf *out)
{
    (void)context;
    const struct srv_companion *companion = srv_companion_of(scene->scene);
    if (companion == NULL)
        return;
    const srv_remembered_commit *commit = srv_remembered_at(companion->remembered, 0);
    for (size_t i = 1; commit != NULL; i++) {
        const wire_record record = {.kind = WIRE_RECORD_REMEMBERED,
                                    .epoch = obb_scene_epoch(scene->scene),
                                    .commit_id = commit->id,
                                    .answer = commit->outcome,
                                    .effects = {.moment = commit->moment}};
        wire_record_write(&record, 3, out);
        commit = srv_remembered_at(companion->remembered, i);
    }
}
