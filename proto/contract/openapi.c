#include "proto/contract/openapi.h"

/* tools/openapi.c makes this file of openapi.yaml and examples/. */
static const unsigned char document[] = {
#include "proto/contract/openapi_json.h"
};

obb_str wire_openapi(void)
{
    return (obb_str){.bytes = (const char *)document, .length = sizeof document};
}
