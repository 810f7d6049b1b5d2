#include "proto/contract/openapi.h"

/* Made from openapi.yaml and examples/ by tools/openapi.c. */
static const unsigned char document[] = {
#include "proto/contract/openapi_json.h"
};

obb_str wire_openapi(void)
{
    return (obb_str){.bytes = (const char *)document, .length = sizeof document};
}
