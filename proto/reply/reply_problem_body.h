/* Problems, for replies that hold them as parts. Internal to the room. */
#ifndef WIRE_REPLY_PROBLEM_BODY_H
#define WIRE_REPLY_PROBLEM_BODY_H

#include "proto/codec/out.h"
#include "proto/problem/problem.h"

/* Writes the problem as a value. */
void wire_put_problem(struct wire_out *out, const wire_problem *problem);

#endif
