/* What this program holds of the pages that page.c serves. */
#ifndef SRV_PAGE_H
#define SRV_PAGE_H

#include <stdbool.h>

/* Returns whether the web editor is in it: node was there when the program was built. */
bool srv_page_is_built(void);

#endif
