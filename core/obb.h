/* The face of core: what other folders may use. Geometry, scenes, commits and queries; no I/O, no
 * clock, no threads. The includes stand in the order in which they are best read. */
#ifndef OBB_OBB_H
#define OBB_OBB_H

/* clang-format off */
#include "core/base/status.h"          /* what a call can answer */
#include "core/base/alloc.h"           /* memory from the heap, with products checked */
#include "core/base/stock.h"           /* large blocks that are kept for the next use */
#include "core/base/trash.h"           /* large blocks that another thread frees */
#include "core/base/budget.h"         /* a limit on the bytes that requests hold */
#include "core/base/cancel.h"         /* long work that another thread may cancel */
#include "core/base/arena.h"           /* memory that lives as long as one request */
#include "core/base/sort.h"            /* sorting that can be cancelled */
#include "core/base/str.h"             /* strings as a pointer and a length */
#include "core/base/utf8.h"            /* the check of UTF-8 */
#include "core/base/hex.h"             /* hexadecimal digits */
#include "core/base/word.h"            /* bytes as whole numbers */
#include "core/base/hash.h"            /* a keyed hash of bytes */

#include "core/geometry/vec.h"         /* vectors */
#include "core/geometry/rotation.h"    /* quaternions, and the forms that they are made from */
#include "core/geometry/box.h"         /* a box as stored, a box as a solid, bounds */
#include "core/geometry/box_forms.h"   /* the other forms that a box is sent in */
#include "core/geometry/transform.h"   /* a box moved, rotated, scaled */
#include "core/geometry/frame.h"       /* poses that boxes are given in */
#include "core/geometry/fit.h"         /* boxes around points and around other boxes */
#include "core/geometry/sat.h"         /* the decision: overlap, gap, axis, relation */
#include "core/geometry/closest.h"     /* distances and closest points */
#include "core/geometry/clip.h"        /* shared volume */
#include "core/geometry/ray.h"         /* a ray against a box */
#include "core/geometry/sweep.h"       /* a moving box against a box */
#include "core/geometry/shape.h"       /* query shapes other than boxes */

#include "core/kernels/cpu.h"          /* the choice of instruction set */
#include "core/index/rebuild.h"        /* a fresh broad phase, made in the background */

#include "core/scene/name.h"           /* valid names */
#include "core/scene/moment.h"         /* a point in the history of a scene */
#include "core/scene/settings.h"       /* the settings of a scene */
#include "core/scene/scene.h"          /* a scene: settings, clock, info */
#include "core/scene/edit.h"           /* what one commit is asked to do: plain data */
#include "core/scene/effects.h"        /* what one commit did, to the bit: plain data */
#include "core/scene/commit.h"         /* prepare, commit, discard; apply, publish, revert */
#include "core/scene/overlay.h"        /* boxes laid over a view, stored nowhere */
#include "core/scene/rehearsal.h"      /* the states that a commit would make */
#include "core/scene/footprint.h"      /* the bytes that an edit adds or frees */
#include "core/scene/copy.h"           /* a new scene made of one state of another */
#include "core/scene/view.h"           /* one state of a scene, held in place while it is read */
#include "core/scene/store.h"          /* all scenes by name */
#include "core/scene/digest.h"         /* hashes of states */

#include "core/query/filter.h"         /* the boxes that take part in a query */
#include "core/query/query.h"          /* queries and results: plain data */
#include "core/query/plan.h"           /* a query bound to a view, run in phases of chunks */
#include "core/query/cost.h"           /* the cost of a query, estimated before it is run */
#include "core/query/contacts.h"       /* the overlapping pairs, from commit to commit */
/* clang-format on */

#endif
