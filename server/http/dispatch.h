/* The steps of a request, as libmicrohttpd calls them: request line, headers, body, handler, end.
 * Each step is passed to the noun that does it. */
#ifndef SRV_DISPATCH_H
#define SRV_DISPATCH_H

#include "server/http/exchange.h"

#include <microhttpd.h>

/* MHD_OPTION_URI_LOG_CALLBACK. context: struct srv_exchanges. A request line is complete. Returns
 * the exchange, which becomes the state of the request; NULL: there was no memory. */
void *srv_dispatch_line(void *context, const char *target, struct MHD_Connection *mhd);

/* MHD_AccessHandlerCallback. The headers are complete, bytes of the body have arrived, or the
 * request is complete. */
enum MHD_Result srv_dispatch_access(void *context, struct MHD_Connection *mhd, const char *url,
                                    const char *method, const char *version, const char *upload,
                                    size_t *upload_size, void **state);

/* MHD_OPTION_NOTIFY_COMPLETED. The answer is sent, or the connection is gone. */
void srv_dispatch_completed(void *context, struct MHD_Connection *mhd, void **state,
                            enum MHD_RequestTerminationCode code);

#endif
