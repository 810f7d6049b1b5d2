/* The OpenAPI document that describes the service. */
#ifndef WIRE_OPENAPI_H
#define WIRE_OPENAPI_H

#include "core/obb.h"

/* Returns the document as JSON. Constant, built in. */
obb_str wire_openapi(void);

#endif
