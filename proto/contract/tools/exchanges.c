/* exchanges EXAMPLES.http... - writes each exchange of the files as a line of JSON, for the tests
 * of clients in languages other than C. */
#include "proto/contract/tools/exchange.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static json_t *string_or_null(const char *text)
{
    return text != NULL ? json_string(text) : json_null();
}

static json_t *headers_of(const struct exchange_header *headers, size_t count)
{
    json_t *object = json_object();
    for (size_t i = 0; i < count; i++)
        (void)json_object_set_new(object, headers[i].name, json_string(headers[i].value));
    return object;
}

static void write_line(const char *file, const struct exchange *exchange)
{
    json_t *line = json_pack(
        "{s:s, s:i, s:s, s:o, s:s, s:s, s:o, s:s, s:o, s:i, s:o, s:s, s:o}", "file", file, "line",
        exchange->line, "title", exchange->title, "words", string_or_null(exchange->words),
        "method", exchange->method, "target", exchange->target, "headers",
        headers_of(exchange->sent, exchange->sent_count), "request_type",
        exchange_request_type(exchange), "request", string_or_null(exchange->request), "status",
        exchange->status, "expected", headers_of(exchange->expected, exchange->expected_count),
        "answer_type", exchange_answer_type(exchange), "answer", string_or_null(exchange->answer));
    char *text = json_dumps(line, JSON_COMPACT);
    if (text == NULL || puts(text) < 0)
        exit(EXIT_FAILURE);
    free(text);
    json_decref(line);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        struct exchanges exchanges;
        if (!exchanges_read(argv[i], &exchanges))
            return EXIT_FAILURE;
        for (size_t j = 0; j < exchanges.count; j++)
            write_line(argv[i], &exchanges.list[j]);
        exchanges_fini(&exchanges);
    }
    return EXIT_SUCCESS;
}
