#include "proto/contract/tools/exchange.h"
#include "proto/wire.h"
#include "tests/support/schema.h"
#include "tests/support/test.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>

static struct schema *schema;

static void load(void)
{
    const obb_str text = wire_openapi();
    schema = schema_load(text.bytes, text.length);
    ck_assert_msg(schema != NULL, "the document does not load");
}

static void unload(void) { schema_free(schema); }

START_TEST(references_resolve_and_examples_fit_their_schemas)
{
    const struct schema_counts counts = schema_lint(schema);
    printf(
        "check-openapi: %zu operations, %zu statuses, %zu references, %zu schemas, %zu examples, "
        "%zu faults\n",
        counts.operations, counts.statuses, counts.references, counts.schemas, counts.examples,
        counts.faults);
    ck_assert_uint_eq(counts.faults, 0);
    ck_assert_uint_gt(counts.operations, 25);
    ck_assert_uint_gt(counts.statuses, 100);
    ck_assert_uint_gt(counts.references, 300);
    ck_assert_uint_gt(counts.schemas, 300);
    ck_assert_uint_gt(counts.examples, 0);
}
END_TEST

/* Rules of which a schema says more than the types of fields. */
START_TEST(schemas_allow_what_the_service_takes)
{
    static const struct {
        const char *name, *value;
        bool fits;
    } cases[] = {
        {"Commit", "{\"restart\":true,\"time\":5}", true},
        {"Commit", "{\"restart\":true}", false},
        {"Commit", "{\"restart\":false}", true},
        {"Commit", "{\"time\":5}", true},
        {"PairsQuery", "{\"by\":\"id\",\"pairs\":[1,2]}", true},
        {"PairsQuery", "{\"by\":\"id\",\"pairs\":[\"a\",2]}", true},
        {"PairsQuery", "{\"by\":\"id\",\"pairs\":[[\"a\",9007199254740992]]}", true},
        {"PairsQuery", "{\"by\":\"id\",\"pairs\":[[\"a\",9007199254740994]]}", false},
        {"AllPairsQuery", "{\"limit\":9007199254740992}", true},
        {"AllPairsQuery", "{\"limit\":9007199254740994}", false},
        {"NearestQuery", "{\"points\":[],\"k\":9007199254740992}", true},
        {"NearestQuery", "{\"points\":[],\"k\":9007199254740994}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *value = json_loads(cases[i].value, 0, NULL);
        const char *fault = schema_check_value(schema, cases[i].name, value, false);
        ck_assert_msg((fault == NULL) == cases[i].fits, "%s: %s", cases[i].value,
                      fault != NULL ? fault : "fits");
        json_decref(value);
    }
}
END_TEST

/* Each exchange of proto/contract/examples fits the document as a whole: operation, parameters,
 * bodies, status. */
START_TEST(exchanges_of_the_examples_fit_the_document)
{
    glob_t files;
    ck_assert_int_eq(glob("proto/contract/examples/*.http", 0, NULL, &files), 0);
    size_t looked_at = 0;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        struct exchanges exchanges;
        ck_assert(exchanges_read(files.gl_pathv[i], &exchanges));
        for (size_t j = 0; j < exchanges.count; j++, looked_at++) {
            const struct exchange *one = &exchanges.list[j];
            /* lines of a stream end each with a newline, the last one too; files leave it out */
            char answer[65536];
            const bool lines = strcmp(exchange_answer_type(one), "application/x-ndjson") == 0;
            (void)snprintf(answer, sizeof answer, "%s%s", one->answer != NULL ? one->answer : "",
                           lines ? "\n" : "");
            const char *fault = schema_check(
                schema, &(struct schema_exchange){
                            .method = one->method,
                            .target = one->target,
                            .request_type = exchange_request_type(one),
                            .request = one->request,
                            .request_length = one->request != NULL ? strlen(one->request) : 0,
                            .status = one->status,
                            .answer_type = exchange_answer_type(one),
                            .answer = answer,
                            .answer_length = strlen(answer)});
            ck_assert_msg(fault == NULL, "%s:%d: %s", files.gl_pathv[i], one->line, fault);
        }
        exchanges_fini(&exchanges);
    }
    printf("%zu exchanges in %zu files\n", looked_at, (size_t)files.gl_pathc);
    ck_assert_uint_gt(looked_at, 0);
    globfree(&files);
}
END_TEST

/* ---- The validator itself: a document of its own, values that fit and values that do not ----- */

static const char small[] =
    "{\"openapi\":\"3.1.0\",\"paths\":{\"/things/{name}\":{"
    "\"parameters\":[{\"name\":\"name\",\"in\":\"path\",\"schema\":{\"type\":\"string\"}}],"
    "\"get\":{\"operationId\":\"get\",\"parameters\":[{\"name\":\"limit\",\"in\":\"query\","
    "\"schema\":{\"type\":\"integer\",\"minimum\":1}}],\"responses\":{"
    "\"200\":{\"content\":{\"application/json\":{\"schema\":{\"$ref\":\"#/components/schemas/T\"}},"
    "\"application/x-ndjson\":{\"schema\":{\"type\":\"string\"},\"x-line\":{\"type\":\"integer\"}},"
    "\"text/event-stream\":{\"schema\":{\"type\":\"string\"},\"x-events\":{\"tick\":{\"type\":"
    "\"integer\"}}},\"application/cbor\":{\"schema\":{\"$ref\":\"#/components/schemas/T\"}}}},"
    "\"304\":{\"description\":\"same\"},"
    "\"default\":{\"content\":{\"application/problem+json\":{\"schema\":{\"$ref\":"
    "\"#/components/schemas/Problem\"}}}}}},"
    "\"put\":{\"operationId\":\"put\",\"requestBody\":{\"content\":{\"application/json\":{"
    "\"schema\":{\"$ref\":\"#/components/schemas/T\"}}}},\"responses\":{\"204\":{}}}}},"
    "\"components\":{\"schemas\":{"
    "\"Problem\":{\"type\":\"object\",\"required\":[\"status\"],\"properties\":{\"status\":{}}},"
    "\"Named\":{\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\","
    "\"minLength\":1,\"maxLength\":3,\"pattern\":\"^[a-z]+$\"}}},"
    "\"T\":{\"type\":\"object\",\"allOf\":[{\"$ref\":\"#/components/schemas/Named\"}],"
    "\"properties\":{\"n\":{\"type\":[\"integer\",\"null\"],\"minimum\":0,\"maximum\":9},"
    "\"rate\":{\"type\":\"number\",\"exclusiveMinimum\":0},"
    "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"minItems\":1,\"maxItems\":2},"
    "\"mode\":{\"enum\":[\"a\",1]},\"one\":{\"const\":1},\"any\":{},"
    "\"map\":{\"type\":\"object\",\"propertyNames\":{\"maxLength\":2},"
    "\"additionalProperties\":{\"type\":\"boolean\"},\"minProperties\":1},"
    "\"closed\":{\"$ref\":\"#/components/schemas/Named\",\"unevaluatedProperties\":false},"
    "\"either\":{\"oneOf\":[{\"required\":[\"x\"],\"properties\":{\"x\":{}}},{\"required\":[\"y\"],"
    "\"properties\":{\"y\":{}}}]},\"some\":{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"array\"}]}"
    ","
    "\"kinds\":{\"discriminator\":{\"propertyName\":\"kind\",\"mapping\":{"
    "\"a\":\"#/components/schemas/A\",\"b\":\"#/components/schemas/B\"}},\"oneOf\":[{\"$ref\":"
    "\"#/components/schemas/A\"},{\"$ref\":\"#/components/schemas/B\"}]},"
    "\"pair\":{\"dependentRequired\":{\"x\":[\"y\"]}},\"no\":{\"not\":{\"type\":\"string\"}}}},"
    "\"A\":{\"properties\":{\"kind\":{\"const\":\"a\"},\"n\":{\"type\":\"integer\"}}},"
    "\"B\":{\"properties\":{\"kind\":{\"const\":\"b\"},\"n\":{\"type\":\"string\"}}}}}}";

START_TEST(the_validator_tells_what_fits_from_what_does_not)
{
    static const struct {
        const char *value;
        bool fits;
    } cases[] = {
        {"{\"name\":\"abc\"}", true},
        {"{\"name\":\"abcd\"}", false},
        {"{\"name\":\"\"}", false},
        {"{\"name\":\"AB\"}", false},
        {"{\"name\":1}", false},
        {"{}", false},
        {"[]", false},
        {"{\"name\":\"a\",\"n\":9}", true},
        {"{\"name\":\"a\",\"n\":9.0}", true},
        {"{\"name\":\"a\",\"n\":null}", true},
        {"{\"name\":\"a\",\"n\":9.5}", false},
        {"{\"name\":\"a\",\"n\":10}", false},
        {"{\"name\":\"a\",\"n\":-1}", false},
        {"{\"name\":\"a\",\"rate\":1e-9}", true},
        {"{\"name\":\"a\",\"rate\":0}", false},
        {"{\"name\":\"a\",\"rate\":-1}", false},
        {"{\"name\":\"a\",\"list\":[1,2.5]}", true},
        {"{\"name\":\"a\",\"list\":[]}", false},
        {"{\"name\":\"a\",\"list\":[1,2,3]}", false},
        {"{\"name\":\"a\",\"list\":[1,\"2\"]}", false},
        {"{\"name\":\"a\",\"mode\":\"a\"}", true},
        {"{\"name\":\"a\",\"mode\":1.0}", true},
        {"{\"name\":\"a\",\"mode\":\"b\"}", false},
        {"{\"name\":\"a\",\"one\":1}", true},
        {"{\"name\":\"a\",\"one\":2}", false},
        {"{\"name\":\"a\",\"any\":{\"deep\":[1]}}", true},
        {"{\"name\":\"a\",\"map\":{\"k\":true}}", true},
        {"{\"name\":\"a\",\"map\":{\"k\":1}}", false},
        {"{\"name\":\"a\",\"map\":{\"key\":true}}", false},
        {"{\"name\":\"a\",\"map\":{}}", false},
        {"{\"name\":\"a\",\"closed\":{\"name\":\"b\"}}", true},
        {"{\"name\":\"a\",\"closed\":{\"name\":\"b\",\"more\":1}}", false},
        {"{\"name\":\"a\",\"either\":{\"x\":1}}", true},
        {"{\"name\":\"a\",\"either\":{\"x\":1,\"y\":1}}", false},
        {"{\"name\":\"a\",\"either\":{}}", false},
        {"{\"name\":\"a\",\"some\":[]}", true},
        {"{\"name\":\"a\",\"some\":1}", false},
        {"{\"name\":\"a\",\"pair\":{\"x\":1,\"y\":1}}", true},
        {"{\"name\":\"a\",\"pair\":{\"x\":1}}", false},
        {"{\"name\":\"a\",\"kinds\":{\"kind\":\"a\",\"n\":1}}", true},
        {"{\"name\":\"a\",\"kinds\":{\"kind\":\"b\",\"n\":\"1\"}}", true},
        {"{\"name\":\"a\",\"kinds\":{\"kind\":\"b\",\"n\":1}}", false},
        {"{\"name\":\"a\",\"kinds\":{\"kind\":\"c\",\"n\":1}}", false},
        {"{\"name\":\"a\",\"kinds\":{\"n\":1}}", false}, /* just one fits, but it is not named */
        {"{\"name\":\"a\",\"no\":1}", true},
        {"{\"name\":\"a\",\"no\":\"s\"}", false},
    };
    struct schema *own = schema_load(small, strlen(small));
    ck_assert_ptr_nonnull(own);
    size_t fitting = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json_t *value = json_loads(cases[i].value, 0, NULL);
        const char *fault = schema_check_value(own, "T", value, false);
        ck_assert_msg((fault == NULL) == cases[i].fits, "%s: %s", cases[i].value,
                      fault != NULL ? fault : "fits");
        fitting += cases[i].fits;
        json_decref(value);
    }
    ck_assert_uint_gt(fitting, 10);

    /* a member that no schema names is a fault only in answers */
    json_t *value = json_loads("{\"name\":\"a\",\"extra\":1,\"any\":{\"x\":1}}", 0, NULL);
    ck_assert_ptr_null(schema_check_value(own, "T", value, false));
    ck_assert_ptr_nonnull(schema_check_value(own, "T", value, true));
    (void)json_object_del(value, "extra");
    ck_assert_ptr_null(schema_check_value(own, "T", value, true));
    json_decref(value);
    schema_free(own);
}
END_TEST

START_TEST(the_validator_finds_the_operation_and_holds_exchanges_against_it)
{
#define REQUEST(text) \
    .request_type = "application/json", .request = text, .request_length = sizeof(text) - 1
#define ANSWER(type, text) .answer_type = type, .answer = text, .answer_length = sizeof(text) - 1
    static const struct {
        struct schema_exchange exchange;
        bool fits;
    } cases[] = {
        {{"GET", "/things/a", .status = 200, ANSWER("application/json", "{\"name\":\"a\"}")}, true},
        {{"GET", "/things/a?limit=2", .status = 200,
          ANSWER("application/json; charset=utf-8", "{\"name\":\"a\"}")},
         true},
        {{"GET", "/things/a?limit=0", .status = 200,
          ANSWER("application/json", "{\"name\":\"a\"}")},
         false},
        {{"GET", "/things/a?limit=x", .status = 200,
          ANSWER("application/json", "{\"name\":\"a\"}")},
         false},
        {{"GET", "/things/a?most=2", .status = 200, ANSWER("application/json", "{\"name\":\"a\"}")},
         false},
        {{"GET", "/things/a?most=2", .status = 400,
          ANSWER("application/problem+json", "{\"status\":400}")},
         true},
        {{"GET", "/things/a", .status = 400, ANSWER("application/json", "{\"status\":400}")},
         false},
        {{"GET", "/things/a", .status = 400, ANSWER("application/problem+json", "{}")}, false},
        {{"GET", "/things/a", .status = 201, ANSWER("application/json", "{\"name\":\"a\"}")},
         false},
        {{"GET", "/things/a", .status = 200,
          ANSWER("application/json", "{\"name\":\"a\",\"x\":1}")},
         false},
        {{"GET", "/things/a", .status = 200, ANSWER("application/json", "{\"name\":")}, false},
        {{"GET", "/things/a", .status = 200, ANSWER("text/plain", "{\"name\":\"a\"}")}, false},
        {{"GET", "/things/a", .status = 200, ANSWER(NULL, "{\"name\":\"a\"}")}, false},
        {{"GET", "/things/a", .status = 200, ANSWER("application/x-ndjson", "1\n2\n")}, true},
        {{"GET", "/things/a", .status = 200, ANSWER("application/x-ndjson", "1\nx\n")}, false},
        {{"GET", "/things/a", .status = 200, ANSWER("application/x-ndjson", "1\n2")}, false},
        {{"GET", "/things/a", .status = 200,
          ANSWER("text/event-stream", ":\n\nid: 1\nevent: tick\ndata: 1\n\n")},
         true},
        {{"GET", "/things/a", .status = 200,
          ANSWER("text/event-stream", "event: tick\ndata: \"1\"\n\n")},
         false},
        {{"GET", "/things/a", .status = 200,
          ANSWER("text/event-stream", "event: tock\ndata: 1\n\n")},
         false},
        {{"GET", "/things/a", .status = 200,
          ANSWER("application/cbor", "\xa1\x64name\x61"
                                     "a")},
         true},
        {{"GET", "/things/a", .status = 200, ANSWER("application/cbor", "\xa1\x64name\x01")},
         false},
        {{"GET", "/things/a", .status = 200,
          ANSWER("application/cbor", "\xa1\x64name\x61"
                                     "a\x01")},
         false},
        {{"GET", "/things/a", .status = 304}, true},
        {{"GET", "/things/a", .status = 304, ANSWER("application/json", "{}")}, false},
        {{"HEAD", "/things/a", .status = 200}, true},
        {{"HEAD", "/things/a", .status = 200, ANSWER("application/json", "{\"name\":\"a\"}")},
         false},
        {{"OPTIONS", "/things/a", .status = 204}, true},
        {{"PUT", "/things/a", .status = 204, REQUEST("{\"name\":\"a\"}")}, true},
        {{"PUT", "/things/a", .status = 204, REQUEST("{\"name\":\"TOO\"}")}, false},
        {{"PUT", "/things/a", .status = 405,
          ANSWER("application/problem+json", "{\"status\":405}")},
         false},
        {{"POST", "/things/a", .status = 405,
          ANSWER("application/problem+json", "{\"status\":405}")},
         true},
        {{"POST", "/things/a", .status = 200, ANSWER("application/json", "{}")}, false},
        {{"GET", "/other", .status = 404, ANSWER("application/problem+json", "{\"status\":404}")},
         true},
        {{"GET", "/other", .status = 404, ANSWER("application/problem+json", "gone")}, false},
        {{"GET", "/things/a/b", .status = 200, ANSWER("application/json", "{\"name\":\"a\"}")},
         false},
    };
    char seen[64];
    (void)snprintf(seen, sizeof seen, "%s/obbd-seen-XXXXXX", test_folder());
    const int file = mkstemp(seen);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(setenv("OPERATIONS_SEEN", seen, 1), 0);
    struct schema *own = schema_load(small, strlen(small));
    ck_assert_ptr_nonnull(own);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *fault = schema_check(own, &cases[i].exchange);
        ck_assert_msg((fault == NULL) == cases[i].fits, "case %zu, %s %s: %s", i,
                      cases[i].exchange.method, cases[i].exchange.target,
                      fault != NULL ? fault : "fits");
    }
    /* get 200 and 304 and put 204 were seen: nothing is left */
    size_t all;
    ck_assert_uint_eq(schema_unseen(own, seen, &all), 0);
    ck_assert_uint_eq(all, 3);
    ck_assert_uint_eq(schema_unseen(own, "/nowhere", &all), 3);
    ck_assert_int_eq(remove(seen), 0);
    schema_free(own);
}
END_TEST

START_TEST(faulty_documents_are_refused)
{
#define DISCRIMINATOR(mapping, more)                                                     \
    "{\"components\":{\"schemas\":{\"U\":{\"discriminator\":{\"propertyName\":\"kind\"," \
    "\"mapping\""                                                                        \
    ":{" mapping "}},\"oneOf\":[{\"$ref\":\"#/components/schemas/B\"}" more              \
    "]},\"B\":{\"properties\":{\"kind\":{\"const\":\"b\"}}}}}}"
    static const char *const faulty[] = {
        "{",
        "{\"a\":1,\"a\":2}",
        "{\"x\":{\"$ref\":\"#/nowhere\"}}",
        "{\"components\":{\"schemas\":{\"A\":{\"tpye\":\"string\"}}}}",
        "{\"components\":{\"schemas\":{\"A\":{\"items\":{\"allOf\":[{\"if\":{}}]}}}}}",
        "{\"paths\":{\"/\":{\"get\":{\"parameters\":[{\"schema\":{\"typo\":1}}]}}}}",
        /* a discriminator that leads to another schema, by another word, or past one of the
         * oneOf */
        DISCRIMINATOR("\"b\":\"#/components/schemas/U\"", ""),
        DISCRIMINATOR("\"a\":\"#/components/schemas/B\"", ""),
        DISCRIMINATOR("\"b\":\"#/components/schemas/B\"", ",{\"$ref\":\"#/components/schemas/U\"}"),
    };
    for (size_t i = 0; i < sizeof faulty / sizeof faulty[0]; i++)
        ck_assert_ptr_null(schema_load(faulty[i], strlen(faulty[i])));
    static const char *const good[] = {
        "{\"components\":{\"schemas\":{\"A\":{\"items\":true}}}}",
        DISCRIMINATOR("\"b\":\"#/components/schemas/B\"", ""),
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct schema *own = schema_load(good[i], strlen(good[i]));
        ck_assert_ptr_nonnull(own);
        schema_free(own);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("openapi");
    TCase *tc = tcase_create("openapi");
    tcase_add_checked_fixture(tc, load, unload);
    tcase_add_test(tc, references_resolve_and_examples_fit_their_schemas);
    tcase_add_test(tc, schemas_allow_what_the_service_takes);
    tcase_add_test(tc, exchanges_of_the_examples_fit_the_document);
    tcase_add_test(tc, the_validator_tells_what_fits_from_what_does_not);
    tcase_add_test(tc, the_validator_finds_the_operation_and_holds_exchanges_against_it);
    tcase_add_test(tc, faulty_documents_are_refused);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
