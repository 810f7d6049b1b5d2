/* The inside of answers, for server/http: their way to libmicrohttpd, and the constant ones. */
#ifndef SRV_ANSWER_BODY_H
#define SRV_ANSWER_BODY_H

#include "server/http/answer.h"
#include "server/http/exchange.h"

/* Bytes of a long answer that are sent in one go, so that other connections get their turn: 60 us.
 * Each block wakes a client that waits for it. With half as many bytes an answer of 880 KB took the
 * loop 1.0 ms beside busy processors, and takes 0.54 ms. */
enum { SRV_BLOCK = 131072 };

enum { SRV_CONSTANTS = 16 }; /* different constant answers */

/* Constant answers, each made once and then shared by all its requests. */
struct srv_constants {
    struct srv_constant {
        const char *bytes;
        int status;
        struct MHD_Response *response;
    } items[SRV_CONSTANTS];
    size_t count;
    struct MHD_Response *out_of_memory; /* one of the items */
};

/* Makes the answer for want of memory. `constants` is zeroed. Returns false without memory. */
bool srv_constants_init(struct srv_constants *constants);
void srv_constants_fini(struct srv_constants *constants);

/* Adds the header fields that depend on the request, and makes the response ready to be sent: when
 * the handler returns, or by waking the connection. Takes over the response. Without memory it
 * sends the answer for that. content_type may be NULL. */
void srv_answer_finish(struct srv_exchange *x, int status, struct MHD_Response *response,
                       const char *content_type);

/* Answers with a 503 that needs no memory. */
void srv_answer_out_of_memory(struct srv_exchange *x);

/* Hands the answer to libmicrohttpd, in one of its callbacks for this connection. Returns false if
 * libmicrohttpd refuses the answer. */
bool srv_answer_send(struct srv_exchange *x);

/* Frees an answer that was not sent. */
void srv_answer_drop(struct srv_exchange *x);

#endif
