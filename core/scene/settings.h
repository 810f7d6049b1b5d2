/* The settings of a scene. */
#ifndef OBB_SETTINGS_H
#define OBB_SETTINGS_H

#include "core/scene/moment.h"

#include <stdbool.h>
#include <stdint.h>

enum { OBB_MAX_RECORD = 10000 }; /* queries that a scene keeps at most */

typedef struct obb_settings {
    int dimensions;           /* 2 or 3 */
    double history_span;      /* units of the scene's clock, >= 0 */
    uint32_t history_commits; /* >= 0 */
    uint32_t record; /* queries that are kept with their answers, <= OBB_MAX_RECORD; 0: none */
} obb_settings;

/* Returns true if the settings are in range. */
static inline bool obb_settings_valid(const obb_settings *settings)
{
    return (settings->dimensions == 2 || settings->dimensions == 3) &&
           settings->history_span >= 0.0 && settings->history_span <= OBB_MAX_WHOLE &&
           settings->record <= OBB_MAX_RECORD;
}

/* Returns true if all settings are equal. */
static inline bool obb_settings_same(const obb_settings *a, const obb_settings *b)
{
    return a->dimensions == b->dimensions && a->history_span == b->history_span &&
           a->history_commits == b->history_commits && a->record == b->record;
}

#endif
