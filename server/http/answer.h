/* Answers to requests. A handler gives exactly one: one of the functions below or srv_reply_stream
 * (stream.h). On the loop's thread, while the handler runs or later. */
#ifndef SRV_ANSWER_H
#define SRV_ANSWER_H

#include "server/http/request.h"

/* A client must take an answer at this pace: bytes a second. */
#define SRV_LEAST_PACE 16384

/* Sends request->reply as the body. If the reply failed because --memory-limit left no room for it,
 * sends a 503 instead. */
void srv_reply(struct srv_request *request, int status, const char *content_type);

/* Returns the 503 for answers that --memory-limit leaves no room for. */
wire_problem srv_problem_no_room(void);

/* Sends no body, for 204 and 304. */
void srv_reply_empty(struct srv_request *request, int status);

/* Sends the problem document, with the fields that its status asks for (Allow, Retry-After,
 * WWW-Authenticate). Discards request->reply. */
void srv_reply_problem(struct srv_request *request, const wire_problem *problem);

/* Sends `bytes` without a copy. `bytes` and `content_type` must live as long as the process. */
void srv_reply_constant(struct srv_request *request, int status, const char *content_type,
                        obb_str bytes);

/* Sends `bytes` likewise, with further header fields: names and values in turn, then NULL. The
 * fields must live as long as the process, and must be the same for each answer with the same
 * bytes. */
void srv_reply_constant_with(struct srv_request *request, int status, const char *content_type,
                             obb_str bytes, const char *const *headers);

#endif
