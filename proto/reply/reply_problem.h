/* Replies that say why a request failed. */
#ifndef WIRE_REPLY_PROBLEM_H
#define WIRE_REPLY_PROBLEM_H

#include "proto/base/buf.h"
#include "proto/problem/problem.h"

/* Appends the problem to buf, always as JSON. If memory fails, buf->failed is set. */
void wire_write_problem(struct wire_buf *buf, const wire_problem *problem);

#endif
