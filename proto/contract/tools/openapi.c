/* openapi DOCUMENT.yaml EXAMPLES.http... - writes the OpenAPI document as compact JSON.
 * The exchanges of the example files become the examples of the operations that they use. */
#include "proto/contract/tools/exchange.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static const char *document_path;

static _Noreturn void stop(size_t line, const char *message, const char *name)
{
    (void)fprintf(stderr, "%s:%zu: %s%s%s\n", document_path, line, message,
                  name[0] == '\0' ? "" : ": ", name);
    exit(EXIT_FAILURE);
}

/* ---- YAML to JSON ---------------------------------------------------------------------------- */

/* Converts a plain scalar by the core schema of YAML 1.2, as far as that agrees with JSON: numbers
 * must be numbers of JSON. */
static json_t *plain_scalar(const char *text)
{
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(text[0] == 't');
    if (strcmp(text, "null") == 0 || text[0] == '\0')
        return json_null();
    json_t *number = json_loads(text, JSON_DECODE_ANY, NULL);
    if (json_is_number(number))
        return number;
    json_decref(number);
    return json_string(text);
}

static json_t *convert(yaml_document_t *document, const yaml_node_t *node)
{
    const size_t line = node->start_mark.line + 1;
    switch (node->type) {
    case YAML_SCALAR_NODE: {
        const char *text = (const char *)node->data.scalar.value;
        json_t *value = node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE ? plain_scalar(text)
                                                                           : json_string(text);
        if (value == NULL)
            stop(line, "not UTF-8", "");
        return value;
    }
    case YAML_SEQUENCE_NODE: {
        json_t *array = json_array();
        for (const yaml_node_item_t *item = node->data.sequence.items.start;
             item < node->data.sequence.items.top; item++)
            (void)json_array_append_new(array,
                                        convert(document, yaml_document_get_node(document, *item)));
        return array;
    }
    case YAML_MAPPING_NODE: {
        json_t *object = json_object();
        for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start;
             pair < node->data.mapping.pairs.top; pair++) {
            const yaml_node_t *key = yaml_document_get_node(document, pair->key);
            if (key->type != YAML_SCALAR_NODE)
                stop(key->start_mark.line + 1, "a key must be a scalar", "");
            const char *name = (const char *)key->data.scalar.value;
            if (json_object_get(object, name) != NULL)
                stop(key->start_mark.line + 1, "a key stands twice", name);
            const yaml_node_t *value = yaml_document_get_node(document, pair->value);
            (void)json_object_set_new(object, name, convert(document, value));
        }
        return object;
    }
    case YAML_NO_NODE:
        break;
    }
    stop(line, "not a value", "");
}

static json_t *load_yaml(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        stop(0, "cannot be read", "");
    yaml_parser_t parser;
    yaml_document_t document;
    if (!yaml_parser_initialize(&parser))
        stop(0, "no memory", "");
    yaml_parser_set_input_file(&parser, file);
    if (!yaml_parser_load(&parser, &document))
        stop(parser.problem_mark.line + 1, parser.problem, "");
    const yaml_node_t *root = yaml_document_get_root_node(&document);
    if (root == NULL)
        stop(0, "is empty", "");
    json_t *value = convert(&document, root);
    yaml_document_delete(&document);
    yaml_parser_delete(&parser);
    (void)fclose(file);
    return value;
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* Follows a local reference. Returns the object itself if it is none. */
static json_t *resolve(json_t *root, json_t *object)
{
    const char *reference = json_string_value(json_object_get(object, "$ref"));
    if (reference == NULL)
        return object;
    json_t *at = root;
    char name[256];
    for (const char *part = strchr(reference, '/'); part != NULL && at != NULL;
         part = strchr(part, '/')) {
        part++;
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(part, "/"), part);
        at = json_object_get(at, name);
    }
    if (at == NULL)
        stop(0, "a reference leads nowhere", reference);
    return at;
}

/* Tells whether a target matches a path template. */
static bool matches(const char *template, const char *target)
{
    while (*template != '\0' && *target != '\0' && *target != '?') {
        if (*template == '{') {
            template += strcspn(template, "}") + 1;
            target += strcspn(target, "/?");
        } else if (*template ++ != *target++) {
            return false;
        }
    }
    return *template == '\0' && (*target == '\0' || *target == '?');
}

/* Writes the title in lower case, its words joined by hyphens. */
static void slug(const char *title, char out[static 128])
{
    size_t length = 0;
    for (const char *at = title; *at != '\0' && length < 100; at++) {
        const char c = (char)(*at >= 'A' && *at <= 'Z' ? *at + 32 : *at);
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            out[length++] = c;
        else if (length > 0 && out[length - 1] != '-')
            out[length++] = '-';
    }
    while (length > 0 && out[length - 1] == '-')
        length--;
    out[length] = '\0';
}

static void add_example(json_t *holder, const char *type, const char *title, const char *body,
                        const char *file, int line)
{
    json_t *media = json_object_get(json_object_get(holder, "content"), type);
    if (media == NULL) {
        (void)fprintf(stderr, "%s:%d: the document has no %s here\n", file, line, type);
        exit(EXIT_FAILURE);
    }
    json_error_t error;
    json_t *value = strstr(type, "json") != NULL && strcmp(type, "application/x-ndjson") != 0
                        ? json_loads(body, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error)
                        : json_string(body);
    if (value == NULL) {
        (void)fprintf(stderr, "%s:%d: the body of this exchange is not JSON: %s\n", file, line,
                      error.text);
        exit(EXIT_FAILURE);
    }
    json_t *examples = json_object_get(media, "examples");
    if (examples == NULL) {
        examples = json_object();
        (void)json_object_set_new(media, "examples", examples);
    }
    char name[128], key[160];
    slug(title, name);
    (void)snprintf(key, sizeof key, "%s", name);
    for (int i = 2; json_object_get(examples, key) != NULL; i++)
        (void)snprintf(key, sizeof key, "%s-%d", name, i);
    (void)json_object_set_new(examples, key,
                              json_pack("{s:s, s:o}", "summary", title, "value", value));
}

/* Returns the operation of an exchange in the document, or NULL if it has none. */
static json_t *operation_of(json_t *root, const struct exchange *exchange)
{
    char method[16] = "";
    for (size_t i = 0; exchange->method[i] != '\0' && i + 1 < sizeof method; i++)
        method[i] = (char)(exchange->method[i] | 0x20);
    const char *template;
    json_t *path;
    json_object_foreach(json_object_get(root, "paths"), template,
                        path) if (matches(template, exchange->target) &&
                                  json_object_get(path, method) !=
                                      NULL) return json_object_get(path, method);
    return NULL;
}

static void add_file(json_t *root, const char *file)
{
    struct exchanges exchanges;
    if (!exchanges_read(file, &exchanges))
        exit(EXIT_FAILURE);
    for (size_t i = 0; i < exchanges.count; i++) {
        const struct exchange *exchange = &exchanges.list[i];
        json_t *operation = operation_of(root, exchange);
        if (operation == NULL) /* some exchanges show how unknown paths and methods are refused */
            continue;
        if (exchange->request != NULL && exchange->status < 400)
            add_example(resolve(root, json_object_get(operation, "requestBody")),
                        exchange_request_type(exchange), exchange->title, exchange->request, file,
                        exchange->line);
        char status[16];
        (void)snprintf(status, sizeof status, "%d", exchange->status);
        json_t *responses = json_object_get(operation, "responses");
        json_t *response = json_object_get(responses, status);
        if (response == NULL)
            response = json_object_get(responses, "default");
        if (exchange->answer != NULL)
            add_example(resolve(root, response), exchange_answer_type(exchange), exchange->title,
                        exchange->answer, file, exchange->line);
    }
    exchanges_fini(&exchanges);
}

/* ---- JSON out -------------------------------------------------------------------------------- */

static void write_text(const char *text) { (void)fputs(text, stdout); }

static void write_number(const json_t *number)
{
    char text[64] = "";
    if (json_is_integer(number)) {
        (void)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(number));
    } else {
        const double value = json_real_value(number);
        for (int digits = 15; digits <= 17; digits++) {
            (void)snprintf(text, sizeof text, "%.*g", digits, value);
            if (strtod(text, NULL) == value)
                break;
        }
        if (value == 0.0 && signbit(value))
            (void)strcpy(text, "-0.0");
    }
    write_text(text);
}

static void write_value(json_t *value)
{
    const char *key;
    json_t *member;
    size_t i = 0;
    if (json_is_object(value)) {
        write_text("{");
        json_object_foreach(value, key, member)
        {
            write_text(i++ > 0 ? "," : "");
            json_t *name = json_string(key);
            write_value(name);
            json_decref(name);
            write_text(":");
            write_value(member);
        }
        write_text("}");
    } else if (json_is_array(value)) {
        write_text("[");
        json_array_foreach(value, i, member)
        {
            write_text(i > 0 ? "," : "");
            write_value(member);
        }
        write_text("]");
    } else if (json_is_number(value)) {
        write_number(value);
    } else {
        char *text = json_dumps(value, JSON_ENCODE_ANY);
        write_text(text);
        free(text);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        (void)fprintf(stderr, "usage: openapi DOCUMENT.yaml EXAMPLES.http...\n");
        return EXIT_FAILURE;
    }
    document_path = argv[1];
    json_t *root = load_yaml(argv[1]);
    for (int i = 2; i < argc; i++)
        add_file(root, argv[i]);
    write_value(root);
    json_decref(root);
    return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SUCCESS : EXIT_FAILURE;
}
