/* The face of core: what other folders may use. Geometry, scenes, commits and queries; no I/O, no clock, no threads. */
#ifndef OBB_OBB_H
#define OBB_OBB_H

#include "core/base/alloc.h"
#include "core/base/arena.h"
#include "core/base/budget.h"
#include "core/base/hex.h"
#include "core/base/status.h"
#include "core/base/str.h"
#include "core/base/utf8.h"
#include "core/geometry/box.h"
#include "core/geometry/clip.h"
#include "core/geometry/closest.h"
#include "core/geometry/fit.h"
#include "core/geometry/ray.h"
#include "core/geometry/sat.h"
#include "core/geometry/shape.h"
#include "core/geometry/sweep.h"
#include "core/geometry/vec.h"
#include "core/index/rebuild.h"
#include "core/kernels/cpu.h"
#include "core/query/contacts.h"
#include "core/query/query.h"
#include "core/scene/edit.h"
#include "core/scene/scene.h"
#include "core/scene/store.h"

#endif
