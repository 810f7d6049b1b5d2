/* Details of problems: sentences that say what was found and what is allowed. */
#ifndef WIRE_DETAIL_H
#define WIRE_DETAIL_H

#include "core/obb.h"

enum { WIRE_SHOWN = 48 }; /* the most bytes of a found value that a detail shows */

/* A text of a client as a detail shows it: in quotes, terminated, valid UTF-8. */
struct wire_shown {
    char text[WIRE_SHOWN + 8];
};

/* Shows a text. A text of more than WIRE_SHOWN bytes ends with "…". Control characters and bytes
 * that are not UTF-8 become "?". */
struct wire_shown wire_show(obb_str text);

/* Cuts a text of `length` bytes to WIRE_SHOWN bytes, between two characters, and appends "…". The
 * text is terminated in any case. `text` has room for WIRE_SHOWN + 4 bytes. */
void wire_shorten(char *text, size_t length);

/* Shows a number with the shortest digits that read back to it. */
struct wire_shown wire_show_number(double number);

/* Returns a detail in the arena, formatted as by printf. If there is no memory, returns a constant
 * sentence that says so. Never NULL. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
const char *
wire_detail(struct obb_arena *arena, const char *format, ...);

/* Returns the known word with the fewest edits (insert, delete, replace or swap characters) to the
 * text. The case of ASCII letters does not count. Among equals it is the first. Only the first 64
 * bytes of the text count. `count` is at least 1. A text that is a known word takes a comparison of
 * each word, any other one 2 us. */
obb_str wire_nearest(obb_str text, const obb_str *known, int count);

/* Returns the words with ", " between them, in the arena. Never NULL, as wire_detail. */
const char *wire_list_words(struct obb_arena *arena, const obb_str *words, int count);

#endif
