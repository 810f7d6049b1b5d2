/* Sentences that people read: what every detail of a problem must be. */
#ifndef TEST_SUPPORT_SENTENCE_H
#define TEST_SUPPORT_SENTENCE_H

#include "tests/support/test.h"

#include <string.h>

/* Checks that the text is one sentence: some words, no full stop, no line break. Texts in quotes
 * are a client's and may hold anything. */
static inline void check_sentence(const char *text)
{
    ck_assert_ptr_nonnull(text);
    ck_assert_msg(strlen(text) < 512 && strchr(text, ' ') != NULL, "%s", text);
    bool quoted = false;
    for (const char *at = text; *at != '\0'; at++) {
        quoted = quoted != (*at == '"');
        ck_assert_msg(quoted || (unsigned char)*at >= ' ', "%s", text);
        ck_assert_msg(quoted || *at != '.' || (at[1] != ' ' && at[1] != '\0'), "%s", text);
    }
}

#endif
