/* Exchanges as rows of a table: a request, and the members that its answer must hold. */
#ifndef TEST_SUPPORT_EXPECT_H
#define TEST_SUPPORT_EXPECT_H

#include "tests/support/daemon.h"

/* Sends the request and checks the status and the body of the answer.
 *
 * holds  JSON that the answer must contain. Of an object, the answer holds every member named here,
 *        and none that is null here. Any other value must be equal; numbers compare by value. NULL:
 *        any body. "": no body. */
void expect(struct http_client *client, const char *method, const char *path, const char *body,
            long status, const char *holds);

/* Sends the request and expects a refusal: a problem document with this status, a title, a sentence
 * as detail, which names the value of a 422, and this pointer (NULL: none). */
void expect_problem(struct http_client *client, const char *method, const char *path,
                    const char *body, long status, const char *pointer);

#endif
