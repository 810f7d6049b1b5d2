/* The web editor under /: one self-contained page, made from server/web/ and part of the
 * program. */
#include "server/routes/handlers.h"

#include "server/http/answer.h"

/* server/web/build.mjs makes this header. PAGE_BYTES is the compressed page. PAGE_POLICY allows the
 * page's own script and style by their hashes. The header is empty if node was missing. */
#include "server/routes/page_data.h"

#ifdef PAGE_BYTES
static const unsigned char page[] = {PAGE_BYTES};
static const obb_str body = {.bytes = (const char *)page, .length = sizeof page};
#else
#define PAGE_POLICY \
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
static const char page[] =
    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>obbd</title>\n"
    "<meta name=\"viewport\" content=\"width=device-width\">\n"
    "<h1>obbd is running; its web editor is not built in</h1>\n"
    "<p>It needs node 18 or newer and npm where obbd is built. In the source tree:\n"
    "<pre>apt-get install -y nodejs npm\nmake page\nmake</pre>\n"
    "<p>Then start obbd again. The API is there all the same: <a "
    "href=\"/openapi.json\">/openapi.json</a>, <a href=\"/v1/scenes\">/v1/scenes</a>.</html>\n";
static const obb_str body = {.bytes = page, .length = sizeof page - 1};
#endif

static const char *const headers[] = {
    "Content-Security-Policy", PAGE_POLICY, "Referrer-Policy", "no-referrer",
    "Cross-Origin-Opener-Policy", "same-origin", "Cache-Control", "no-cache",
#ifdef PAGE_BYTES
    /* clients that show a page of 200 kB can unpack it, so all get it compressed */
    "Content-Encoding", "gzip",
#endif
    NULL};

void srv_do_page(struct srv_request *request)
{
    srv_reply_constant_with(request, 200, "text/html; charset=utf-8", body, headers);
}
