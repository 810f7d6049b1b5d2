/* The face of proto: what other layers may use. Request bytes to core's plain data, core's results
 * to bytes, and problems.
 *
 * Every function here is a pure function of its arguments; any thread may call it. */
#ifndef WIRE_WIRE_H
#define WIRE_WIRE_H

#include "core/obb.h"

/* Why a request failed, and its HTTP status. */
#include "proto/problem/detail.h"
#include "proto/problem/problem.h"

/* The bytes of answers, which grow. */
#include "proto/base/buf.h"

/* The media types of requests and answers. */
#include "proto/codec/media.h"

/* Requests: the body, and the rules that all decoders keep. Then a decoder for each kind of
 * request. */
#include "proto/request/request.h"

/* Query strings. */
#include "proto/request/request_params.h"

/* The settings of a scene. */
#include "proto/request/request_scene.h"

/* PUT and PATCH of a box. */
#include "proto/request/request_box.h"

/* PUT of a frame. */
#include "proto/request/request_frame.h"

/* A box is moved, rotated or scaled. */
#include "proto/request/request_transform.h"

/* Several boxes become one. */
#include "proto/request/request_copy.h"
#include "proto/request/request_merge.h"

/* Queries of every kind. */
#include "proto/request/request_query.h"

/* Many changes at once, with queries. */
#include "proto/request/request_commit.h"

/* A scene as lines. */
#include "proto/request/request_import.h"

/* The log of a scene, line by line. */
#include "proto/request/request_log.h"

/* The file of tokens. */
#include "proto/request/request_tokens.h"

/* The problem of an edit that core refused. */
#include "proto/request/edit_problem.h"

/* Replies: each appends to a buffer. First why a request failed. */
#include "proto/reply/reply_problem.h"

/* Scenes: one, a list, the header of an export. */
#include "proto/reply/reply_scene.h"

/* Boxes: one, a list, a line of an export. */
#include "proto/reply/reply_box.h"

/* Frames: one, a list, a line of an export. */
#include "proto/reply/reply_frame.h"

/* The lines of a scene's log. */
#include "proto/reply/reply_log.h"

/* Answers to queries. */
#include "proto/reply/reply_query.h"

/* Queries that were recorded with their answers. */
#include "proto/reply/reply_recorded.h"

/* What a commit did, and the answers to its queries. */
#include "proto/reply/outcome.h"
#include "proto/reply/reply_commit.h"

/* Messages of an event stream. */
#include "proto/reply/event.h"

/* Records of the journal. */
#include "proto/record/record.h"
#include "proto/record/slice.h"

/* The published contract. */
#include "proto/contract/openapi.h"

#endif
