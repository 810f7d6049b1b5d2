/* The face of core: what other folders may use. Geometry, scenes, commits and queries; no I/O, no clock, no threads. */
#ifndef OBB_OBB_H
#define OBB_OBB_H

#include "core/alloc.h"
#include "core/arena.h"
#include "core/box.h"
#include "core/clip.h"
#include "core/closest.h"
#include "core/contacts.h"
#include "core/cpu.h"
#include "core/edit.h"
#include "core/fit.h"
#include "core/query.h"
#include "core/ray.h"
#include "core/rebuild.h"
#include "core/sat.h"
#include "core/scene.h"
#include "core/shape.h"
#include "core/status.h"
#include "core/store.h"
#include "core/str.h"
#include "core/sweep.h"
#include "core/vec.h"

#endif
