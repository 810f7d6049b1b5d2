/* Imports: a scene as lines of NDJSON. */
#ifndef WIRE_REQUEST_IMPORT_H
#define WIRE_REQUEST_IMPORT_H

#include "proto/request/request.h"

/* Reads an import (application/x-ndjson): the header line, then one box a line, as
 * wire_write_export_head and wire_write_export_box write them. The edit replaces all boxes, with
 * the settings and, if it has one, the time of the header. The pointer of a problem begins with the
 * number of the line, from 0. */
bool wire_read_import(const wire_body *body, struct obb_arena *arena, obb_edit *out,
                      wire_problem *problem);

#endif
