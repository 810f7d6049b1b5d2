#include "proto/contract/tools/exchange.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Returns the bytes of the file and two zero bytes, so that the last line can be terminated in
 * place. Returns NULL if the file cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    char *text = NULL;
    long size = 0;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0)
        text = calloc((size_t)size + 2, 1);
    if (text != NULL && fread(text, 1, (size_t)size, file) != (size_t)size) {
        free(text);
        text = NULL;
    }
    (void)fclose(file);
    return text;
}

struct reader {
    const char *path;
    char *at; /* the next line */
    int line; /* its number */
    bool failed;
};

static void fail(struct reader *reader, const char *message)
{
    if (!reader->failed)
        (void)fprintf(stderr, "%s:%d: %s\n", reader->path, reader->line, message);
    reader->failed = true;
}

/* Returns the next line, terminated in place, or NULL at the end of the file. */
static char *next_line(struct reader *reader)
{
    if (*reader->at == '\0')
        return NULL;
    char *line = reader->at;
    char *end = line + strcspn(line, "\n");
    reader->at = *end == '\0' ? end : end + 1;
    *end = '\0';
    reader->line++;
    return line;
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool section_begins(const char *at) { return starts(at, "###") || starts(at, "HTTP/1.1 "); }

static size_t read_headers(struct reader *reader, struct exchange_header *out)
{
    size_t count = 0;
    while (*reader->at != '\0' && *reader->at != '\n' && !section_begins(reader->at)) {
        char *line = next_line(reader);
        char *colon = strstr(line, ": ");
        if (colon == NULL || count == EXCHANGE_HEADERS) {
            fail(reader, "not a header, or too many");
            return count;
        }
        *colon = '\0';
        out[count++] = (struct exchange_header){line, colon + 2};
    }
    return count;
}

/* Returns everything up to the next section, without blank lines around it, or NULL if there is
 * nothing. */
static const char *read_body(struct reader *reader)
{
    char *begin = NULL, *end = NULL;
    while (*reader->at != '\0' && !section_begins(reader->at)) {
        char *line = reader->at;
        const size_t length = strcspn(line, "\n");
        reader->at += length + (line[length] == '\n');
        reader->line++;
        if (length == 0)
            continue;
        begin = begin == NULL ? line : begin;
        end = line + length;
    }
    if (end == NULL)
        return NULL;
    *end = '\0';
    return begin;
}

/* Returns the lines with "# ", joined by blanks in place, or NULL if there are none. */
static const char *read_words(struct reader *reader)
{
    char *words = NULL, *end = NULL;
    while (starts(reader->at, "# ")) {
        char *line = next_line(reader) + 2;
        const size_t length = strlen(line);
        if (words == NULL)
            words = end = line;
        else
            *end++ = ' ';
        (void)memmove(end, line, length + 1);
        end += length;
    }
    return words;
}

static void read_exchange(struct reader *reader, struct exchange *out)
{
    char *line = next_line(reader);
    if (line == NULL || !starts(line, "### ")) {
        fail(reader, "an exchange begins with ### and a title");
        return;
    }
    out->title = line + 4;
    out->line = reader->line;
    out->words = read_words(reader);

    line = next_line(reader);
    char *blank = line != NULL ? strchr(line, ' ') : NULL;
    if (blank == NULL || blank[1] != '/' || strchr(blank + 1, ' ') != NULL) {
        fail(reader, "a request line is a method and a path");
        return;
    }
    *blank = '\0';
    out->method = line;
    out->target = blank + 1;
    out->sent_count = read_headers(reader, out->sent);
    out->request = read_body(reader);

    line = next_line(reader);
    if (line == NULL || !starts(line, "HTTP/1.1 ")) {
        fail(reader, "an answer begins with HTTP/1.1 and a status");
        return;
    }
    out->status = (int)strtol(line + 9, NULL, 10);
    if (out->status < 200 || out->status > 599)
        fail(reader, "not a status");
    out->expected_count = read_headers(reader, out->expected);
    out->answer = read_body(reader);
}

bool exchanges_read(const char *path, struct exchanges *out)
{
    *out = (struct exchanges){.text = read_file(path)};
    struct reader reader = {.path = path, .at = out->text};
    if (out->text == NULL) {
        fail(&reader, "cannot be read");
        return false;
    }
    size_t most = 0;
    for (const char *at = out->text; (at = strstr(at, "###")) != NULL; at += 3)
        most++;
    out->list = calloc(most + 1, sizeof *out->list);
    if (out->list == NULL)
        fail(&reader, "no memory");
    while (!reader.failed && *reader.at != '\0') {
        if (out->count == most)
            fail(&reader, "an exchange begins with ### and a title");
        else
            read_exchange(&reader, &out->list[out->count++]);
    }
    if (!reader.failed && out->count == 0)
        fail(&reader, "holds no exchange");
    if (reader.failed)
        exchanges_fini(out);
    return !reader.failed;
}

void exchanges_fini(struct exchanges *exchanges)
{
    free(exchanges->list);
    free(exchanges->text);
    *exchanges = (struct exchanges){0};
}

const char *exchange_header(const struct exchange_header *headers, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(headers[i].name, name) == 0)
            return headers[i].value;
    return NULL;
}

const char *exchange_request_type(const struct exchange *exchange)
{
    const char *type = exchange_header(exchange->sent, exchange->sent_count, "Content-Type");
    return type != NULL ? type : "application/json";
}

const char *exchange_answer_type(const struct exchange *exchange)
{
    const char *type =
        exchange_header(exchange->expected, exchange->expected_count, "Content-Type");
    return type != NULL             ? type
           : exchange->status < 400 ? "application/json"
                                    : "application/problem+json";
}
