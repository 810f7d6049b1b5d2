#include "server/routes/page.h"

#include "server/http/answer.h"

/* Made by server/web/build.mjs: PAGE_BYTES, the page compressed, and PAGE_POLICY, which allows its own script and style by their
 * hashes. Empty where node is missing. */
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
    "Content-Security-Policy", PAGE_POLICY, "X-Content-Type-Options", "nosniff", "Referrer-Policy",
    "no-referrer", "Cross-Origin-Opener-Policy", "same-origin", "Cache-Control", "no-cache",
#ifdef PAGE_BYTES
    /* whoever asks for a page of 200 kB can unpack it */
    "Content-Encoding", "gzip",
#endif
    NULL};

void srv_do_page(struct srv_request *request)
{
    srv_reply_constant_with(request, 200, "text/html; charset=utf-8", body, headers);
}
