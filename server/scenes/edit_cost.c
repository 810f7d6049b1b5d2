#include "server/scenes/edit_cost_body.h"

#include "server/scenes/loop_time.h"
#include "server/scenes/write_base_body.h"

/* A merge in space looks for the tight fit of a hull: 150 us for two boxes, and 60 us a box for
 * many. In the plane it takes 1.5 us a box. */
static double merge_cost(const obb_merge *merge, int dimensions)
{
    const double boxes = 1.0 + (double)merge->with_count;
    return dimensions == 3 ? 150e3 + 60e3 * boxes : 1500.0 * boxes;
}

/* Returns about how many boxes stand in the frames that the edit moves or removes. The function
 * looks up only the first frames of each group, and takes the others to be like them: a look takes
 * up to 20 us if there are many frames. */
static size_t likely_framed(const struct obb_scene *scene, const obb_edit *edit)
{
    enum { LOOKS = 25 };
    obb_edit first = {.frames = edit->frames,
                      .frame_count = edit->frame_count,
                      .remove_frames = edit->remove_frames,
                      .remove_frame_count = edit->remove_frame_count};
    const size_t all = first.frame_count + first.remove_frame_count;
    if (all == 0)
        return 0;
    if (first.frame_count > LOOKS)
        first.frame_count = LOOKS;
    if (first.remove_frame_count > LOOKS)
        first.remove_frame_count = LOOKS;
    const size_t looked = first.frame_count + first.remove_frame_count;
    return (obb_edit_framed(scene, &first) * all + looked - 1) / looked;
}

/* Returns the part of the frames in srv_edit_cost. If the frames alone are over the line, no frame
 * is looked up. So at most a hundred are, and only five if a look is slow. */
static double frames_cost(const struct obb_scene *scene, const obb_edit *edit)
{
    enum { CACHED = 10000 }; /* frames whose names the caches hold */
    const size_t frames = edit->frame_count + edit->remove_frame_count;
    if (frames == 0)
        return 0;
    obb_scene_info info;
    obb_scene_tail_info(scene, &info);
    const double found = (info.frames <= CACHED ? 1e3 : 20e3) * (double)frames;
    return found > SRV_LOOP_NS ? found : found + 200.0 * (double)obb_edit_framed(scene, edit);
}

double srv_edit_cost(const struct srv_write *w)
{
    const struct obb_scene *scene = w->scene;
    const obb_edit *edit = w->op.edit;
    enum { EXPIRING = 16384 }; /* more are too many for the loop, whatever their number */
    double merges = 0;
    for (size_t i = 0; i < edit->merge_count; i++)
        merges += merge_cost(&edit->merges[i], edit->dimensions);
    double moments = 0;
    for (size_t i = 0; i < edit->moment_count && moments <= SRV_LOOP_NS; i++)
        moments += 100.0 * (double)obb_needed_count(&edit->moments[i]);
    const double entries =
        merges + moments + frames_cost(scene, edit) +
        200.0 * (double)obb_edit_expiring(scene, edit, w->now_ms, EXPIRING) +
        100.0 * (double)(edit->if_box_count + edit->remove_count + edit->pose_count) +
        400.0 * (double)edit->transform_count + 1600.0 * (double)edit->put_count;
    /* A rehearsal copies the boxes that are touched, and does the edit again. All boxes may stand
     * in the frames that queries move. */
    enum { FRAMED_NS = 2000 };
    obb_scene_info info = {.boxes = 0};
    if (edit->with_frames > 0)
        obb_scene_info_without_bounds(scene, &info);
    const double framed = info.frames + edit->frame_count > 0
                              ? FRAMED_NS * (double)(info.boxes + edit->put_count)
                              : 0.0;
    const double rehearsed = w->op.dry_run || edit->with_entries > 0
                                 ? 20e3 + 3.0 * entries + 2000.0 * (double)edit->with_entries +
                                       (double)edit->with_frames * framed
                                 : 0.0;
    const double encoded = srv_write_number(w) == 0
                               ? 0.0
                               : 300.0 * (double)(edit->remove_count + edit->pose_count +
                                                  edit->transform_count + edit->put_count);
    return entries + rehearsed + encoded;
}

size_t srv_edit_likely_bytes(const struct obb_scene *scene, const obb_edit *edit)
{
    enum { ENTRY_BYTES = 512, COMMIT_BYTES = 4096 };
    return COMMIT_BYTES + ENTRY_BYTES * (edit->remove_count + edit->put_count + edit->pose_count +
                                         edit->transform_count + edit->merge_count +
                                         edit->frame_count + likely_framed(scene, edit));
}
