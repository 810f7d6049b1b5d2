/* The pages: the web editor under / and the reference of the API under /docs. Each is
 * self-contained, made from server/web/ and part of the program. */
#include "server/routes/page.h"

#include "server/http/answer.h"
#include "server/routes/handlers.h"

/* server/web makes these headers. PAGE_BYTES and DOCS_BYTES are the compressed pages. PAGE_POLICY
 * and DOCS_POLICY allow the own script and style of the page by their hashes. The headers define
 * nothing if node was missing. */
#include "server/routes/docs_data.h"
#include "server/routes/page_data.h"

#define NOT_BUILT(what)                                                               \
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>obbd</title>\n"  \
    "<meta name=\"viewport\" content=\"width=device-width\">\n"                       \
    "<h1>obbd is running; " what " is not built in</h1>\n"                            \
    "<p>It needs node 18 or newer and npm where obbd is built. In the source tree:\n" \
    "<pre>make page-deps && make page all</pre>\n"                                    \
    "<p>Then start obbd again. The API is there all the same: <a "                    \
    "href=\"/openapi.json\">/openapi.json</a>, <a href=\"/v1/scenes\">/v1/scenes</a>.</html>\n"
#define NO_POLICY "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/* Clients that show a page of such a size can unpack it, so all get it compressed. */
#define COMMON                                                                     \
    "Referrer-Policy", "no-referrer", "Cross-Origin-Opener-Policy", "same-origin", \
        "Cache-Control", "no-cache"
#define PACKED "Content-Encoding", "gzip"

#ifdef PAGE_BYTES
static const unsigned char editor[] = {PAGE_BYTES};
static const char *const editor_headers[] = {"Content-Security-Policy", PAGE_POLICY, COMMON, PACKED,
                                             NULL};
static const size_t editor_length = sizeof editor;
#else
static const char editor[] = NOT_BUILT("its web editor");
static const char *const editor_headers[] = {"Content-Security-Policy", NO_POLICY, COMMON, NULL};
static const size_t editor_length = sizeof editor - 1;
#endif

#ifdef DOCS_BYTES
static const unsigned char docs[] = {DOCS_BYTES};
static const char *const docs_headers[] = {"Content-Security-Policy", DOCS_POLICY, COMMON, PACKED,
                                           NULL};
static const size_t docs_length = sizeof docs;
#else
static const char docs[] = NOT_BUILT("the reference of its API");
static const char *const docs_headers[] = {"Content-Security-Policy", NO_POLICY, COMMON, NULL};
static const size_t docs_length = sizeof docs - 1;
#endif

bool srv_page_is_built(void)
{
#ifdef PAGE_BYTES
    return true;
#else
    return false;
#endif
}

static void reply_page(struct srv_request *request, const void *bytes, size_t length,
                       const char *const *headers)
{
    srv_reply_constant_with(request, 200, "text/html; charset=utf-8",
                            (obb_str){.bytes = bytes, .length = length}, headers);
}

void srv_do_page(struct srv_request *request)
{
    reply_page(request, editor, editor_length, editor_headers);
}

void srv_do_docs(struct srv_request *request)
{
    reply_page(request, docs, docs_length, docs_headers);
}
