/* Commits. The loop is the only writer of scenes; a large edit is prepared on the pool all the same, and meanwhile its scene is
 * closed, as it is where the bounds of a large scene must be measured: whoever wants to touch it, other than by reading views that are open, waits until the commit is made. */
#ifndef SRV_WRITER_H
#define SRV_WRITER_H

#include "server/scenes/work.h"

/* Something that goes on when a scene is open again. */
struct srv_wait {
    void (*again)(struct srv_wait *wait);
    struct srv_gate *gate; /* NULL: it does not wait */
    struct srv_wait *previous, *next;
};

/* A scene that is closed: a commit is prepared, or its bounds are measured. */
struct srv_gate {
    struct obb_scene *scene;
    obb_scene_info info; /* as it is until the commit, but for the bounds */
    bool hidden;         /* it is being made by this very commit */
    size_t promised;     /* boxes that the commit may add */
    struct srv_wait *first, *last;
    struct obb_view **closing; /* views to close then; owned, with room for all that are open */
    size_t closing_count;
    struct srv_gate *next;
};

/* A commit on its way, in the request's arena; zeroed but for what is said. */
struct srv_change {
    struct srv_work work; /* request is set */
    obb_str scene_name;
    const obb_edit *edit;
    const wire_commit *commit; /* what the edit was decoded from, or NULL */
    const wire_problem *flaw;  /* of what follows the edit in its commit, or NULL */
    void (*applied)(
        struct srv_change *change); /* it is made: the scene and what was done are below */

    struct obb_scene *scene;
    obb_committed committed;
    bool made_scene;

    /* writer.c's */
    struct srv_gate gate;
    struct obb_prepared *prepared;
    obb_fault fault;
    obb_status status;
    double now_ms, seconds; /* seconds: that preparing took */
};

/* Applies the edit as one commit, making the scene when it does not exist and the edit puts a box or replaces all. Then
 * calls `applied` on the loop, now or later; or answers the request, and nothing was changed. With a `flaw` it only looks whether
 * the scene would allow the edit, and answers what comes first. */
void srv_change_start(struct srv_change *change);

bool srv_scene_closed(const struct srv_services *services, const struct obb_scene *scene);

/* Is the scene closed? Then `again` is called when it is open; it must look its scene up anew, and may find it closed again. */
bool srv_wait_for(struct srv_services *services, const struct obb_scene *scene,
                  struct srv_wait *wait);

/* The same for a request, whose handler is called anew; also true when it was answered for want of memory. */
bool srv_request_waits(struct srv_request *request, const struct obb_scene *scene);

/* O(1), also while the scene is closed. *out_hidden (may be NULL): it is not there yet for others. */
void srv_scene_info(const struct srv_services *services, const struct obb_scene *scene,
                    obb_scene_info *out, bool *out_hidden);

/* Where the bounds of the scene, which is open, are not known and measuring them takes long: has it done on the pool, the scene
 * closed meanwhile, and then calls srv_reply_scene with these arguments. false: nothing of that. */
bool srv_reply_measures(struct srv_request *request, int status, struct obb_scene *scene);

/* Removes the scene of that name, which is open. OBB_NO_SCENE. */
obb_status srv_scene_remove(struct srv_services *services, obb_str name);

/* obb_view_open and obb_view_close, which nobody else in server/ calls. The scene must be open for the first; the second may
 * put it off until it is. */
obb_status srv_view_open(struct srv_services *services, struct obb_scene *scene, const obb_at *at,
                         struct obb_view **out, obb_moment *out_oldest, obb_moment *out_newest);
void srv_view_close(struct srv_services *services, struct obb_view *view); /* NULL is fine */

#endif
