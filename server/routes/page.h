/* The web editor under /: one self-contained page, made from server/web/ and part of the program. */
#ifndef SRV_PAGE_H
#define SRV_PAGE_H

#include "server/http/request.h"

/* GET /. A program that was built where node is missing answers with a page that says how to build the editor. Query
 * parameters are the page's own. */
srv_handler srv_do_page;

#endif
