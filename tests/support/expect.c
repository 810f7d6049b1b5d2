#include "tests/support/expect.h"

#include "tests/support/sentence.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <string.h>

static bool holds_all(const json_t *real, const json_t *wanted)
{
    if (json_is_number(wanted))
        return json_is_number(real) && json_number_value(real) == json_number_value(wanted);
    if (json_is_object(wanted)) {
        const char *key = NULL;
        json_t *value = NULL;
        if (!json_is_object(real))
            return false;
        /* jansson's iteration takes a mutable object but does not change it */
        json_object_foreach((json_t *)(uintptr_t)wanted, key, value)
        {
            const json_t *member = json_object_get(real, key);
            if (json_is_null(value) ? member != NULL && !json_is_null(member)
                                    : member == NULL || !holds_all(member, value))
                return false;
        }
        return true;
    }
    if (json_is_array(wanted)) {
        if (!json_is_array(real) || json_array_size(real) != json_array_size(wanted))
            return false;
        for (size_t i = 0; i < json_array_size(wanted); i++)
            if (!holds_all(json_array_get(real, i), json_array_get(wanted, i)))
                return false;
        return true;
    }
    return json_equal(real, wanted) != 0;
}

void expect(struct http_client *client, const char *method, const char *path, const char *body,
            long status, const char *holds)
{
    struct http_answer answer = {0};
    http_send(client, method, path, NULL, body, &answer);
    ck_assert_msg(answer.status == status, "%s %s %.300s\nanswers %ld, not %ld: %s", method, path,
                  body != NULL ? body : "", answer.status, status, answer.body);
    if (holds != NULL && *holds == '\0') {
        ck_assert_msg(answer.length == 0, "%s %s has a body: %s", method, path, answer.body);
    } else if (holds != NULL) {
        json_t *real = json_loads(answer.body, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
        json_error_t error;
        json_t *wanted = json_loads(holds, JSON_DECODE_ANY, &error);
        ck_assert_msg(wanted != NULL, "the test's own JSON: %s in %s", error.text, holds);
        ck_assert_msg(real != NULL, "%s %s answers no JSON: %s", method, path, answer.body);
        ck_assert_msg(holds_all(real, wanted), "%s %s %.300s\nanswers\n%s\nwhich does not hold\n%s",
                      method, path, body != NULL ? body : "", answer.body, holds);
        json_decref(real);
        json_decref(wanted);
    }
    http_answer_fini(&answer);
}

void expect_problem(struct http_client *client, const char *method, const char *path,
                    const char *body, long status, const char *pointer)
{
    struct http_answer answer = {0};
    http_send(client, method, path, NULL, body, &answer);
    ck_assert_msg(answer.status == status, "%s %s %.300s\nanswers %ld, not %ld: %s", method, path,
                  body != NULL ? body : "", answer.status, status, answer.body);
    const char *type = http_header(&answer, "Content-Type");
    ck_assert_msg(type != NULL && strcmp(type, "application/problem+json") == 0,
                  "%s %s answers the type %s", method, path, type != NULL ? type : "(none)");
    json_t *problem = json_loads(answer.body, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_msg(problem != NULL, "%s %s answers no JSON: %s", method, path, answer.body);
    ck_assert_int_eq(json_integer_value(json_object_get(problem, "status")), status);
    ck_assert_ptr_nonnull(json_string_value(json_object_get(problem, "type")));
    const char *title = json_string_value(json_object_get(problem, "title"));
    ck_assert_msg(title != NULL && strlen(title) > 3, "no title: %s", answer.body);
    const char *detail = json_string_value(json_object_get(problem, "detail"));
    check_sentence(detail);
    if (status == 422 && strstr(answer.body, "/problems/missing-field") == NULL)
        ck_assert_msg(strncmp(detail, "found ", 6) == 0, "%s names no value: %s", path, detail);
    const char *real = json_string_value(json_object_get(problem, "pointer"));
    ck_assert_msg(pointer == NULL ? real == NULL : real != NULL && strcmp(real, pointer) == 0,
                  "%s %s %.300s\npoints at %s, not %s: %s", method, path, body != NULL ? body : "",
                  real != NULL ? real : "(nothing)", pointer != NULL ? pointer : "(nothing)",
                  answer.body);
    json_decref(problem);
    http_answer_fini(&answer);
}
