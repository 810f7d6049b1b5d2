/* Exchanges as one-line tables: what is sent, and what the answer must hold. */
#ifndef TEST_SUPPORT_EXPECT_H
#define TEST_SUPPORT_EXPECT_H

#include "tests/support/daemon.h"

/* Sends the request and checks the status and the body. `holds` is JSON that the answer must contain: of an object every
 * member that is named (null: must be absent), of anything else all; numbers by value. NULL: any body; "": none at all. */
void expect(struct http_client *client, const char *method, const char *path, const char *body,
            long status, const char *holds);

/* A refusal: a problem document with this status, a title and a detail or title sentence, and this pointer (NULL: none). */
void expect_problem(struct http_client *client, const char *method, const char *path,
                    const char *body, long status, const char *pointer);

/* How many exchanges this process has checked so far. */
size_t expect_count(void);

#endif
