#include "tests/proto/cbor_maker.h"
#include "tests/proto/request/requests.h"
#include "tests/support/fault.h"

START_TEST(what_is_malformed_is_a_400_wherever_it_lies)
{
    static const struct refusal refusals[] = {
        {"{", 400, NULL},
        {" ", 400, NULL},
        {"{" POSE "} x", 400, NULL},
        {"{" POSE ",}", 400, NULL},
        {"{\"center\":[NaN,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[0,0,0,],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[0 0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[01,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"\xef\xbb\xbf{" POSE "}", 400, NULL},
        {"{" POSE ",\"center\":[0,0,0]}", 400, NULL},
        {"{" POSE ",\"data\":{\"a\":1,\"a\":2}}", 400, NULL},
        {"{" POSE ",\"data\":{\"a\":1,\"\\u0061\":2}}", 400, NULL},
        {"{" POSE ",\"data\":\"\\ud800\"}", 400, NULL},
        {"{" POSE ",\"data\":\"\xff\"}", 400, NULL},
        {"{" POSE ",\"data\":[[[}", 400, NULL},
        {"{" POSE ",\"unknown\":{\"a\":1,\"a\":2}}", 400, NULL},
        {"{\"center\":[0,0,-2e9],\"half_extents\":[1,1,1],\"data\":tru}", 400, NULL},
        {"{\"center\":[0,0,-2e9],\"half_extents\":[1,1,1]}}", 400, NULL},
        {"[" POSE "]", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_BOX, 3, refusals);
}
END_TEST

START_TEST(what_takes_long_can_be_postponed)
{
    static const char tight[] = "{\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1]],\"fit\":\"tight\"}";
    static const char plain[] = "{\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1]]}";
    char lines[512], query[256], commit[256];
    (void)snprintf(query, sizeof query, "{\"shapes\":[%s]}", tight);
    (void)snprintf(commit, sizeof commit, "{\"put\":{\"a\":%s}}", tight);
    (void)snprintf(lines, sizeof lines,
                   "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,"
                   "\"history\":{\"span\":1,\"commits\":1}}\n"
                   "{\"name\":\"a\",%s\n",
                   tight + 1);
    const char *const texts[] = {tight, query, commit, lines, plain};
    for (int i = 0; i < 5; i++)
        for (int later = 0; later < 2; later++) {
            bool postponed = false, good = false;
            wire_body body = json(texts[i]);
            body.postponed = later ? NULL : &postponed;
            wire_problem problem = {0};
            obb_put put;
            obb_query read;
            wire_commit all;
            obb_edit edit;
            if (i == 0 || i == 4)
                good = wire_read_box(&body, 3, false, obb_str_of("a"), &arena, &put, &problem);
            else if (i == 1)
                good = wire_read_query(&body, OBB_QUERY_OVERLAP, 3, &arena, &read, &problem);
            else if (i == 2)
                good = wire_read_commit(&body, 3, &arena, &all, &problem);
            else
                good = wire_read_import(&body, &arena, &edit, &problem);
            ck_assert_msg(good == (later || i == 4), "%s: %s", texts[i],
                          problem.detail != NULL ? problem.detail : "");
            ck_assert(postponed == (!later && i < 4));
        }
}
END_TEST

static bool decode_list(int route, obb_query_kind kind, const wire_body *body,
                        struct obb_arena *room, wire_problem *problem)
{
    obb_put put;
    obb_query query;
    wire_commit commit;
    obb_edit edit;
    return route == 0   ? wire_read_box(body, 3, false, obb_str_of("a"), room, &put, problem)
           : route == 1 ? wire_read_query(body, kind, 3, room, &query, problem)
           : route == 2 ? wire_read_commit(body, 3, room, &commit, problem)
                        : wire_read_import(body, room, &edit, problem);
}

static const struct {
    int route;
    obb_query_kind kind;
    const char *text;
} lists[] = {
    {0, 0, "{\"points\":[[0,0,0],[1,0,0],[0,1,0],[0,0,1],[2,2,3]],\"fit\":\"tight\"}"},
    {0, 0, "{" POSE ",\"data\":[[1,2],{\"a\":[3],\"b\":\"c\"}]}"},
    {1, OBB_QUERY_PAIRS, "{\"by\":\"id\",\"pairs\":[1,2,3,4,5,6,7,8]}"},
    {1, OBB_QUERY_PAIRS, "{\"pairs\":[[\"a\",\"b\"],[\"a\",\"c\"]]}"},
    {1, OBB_QUERY_OVERLAP,
     "{\"shapes\":[{" POSE "},\"a\",{\"sphere\":{\"center\":[0,0,0],"
     "\"radius\":1}}]}"},
    {1, OBB_QUERY_POINT, "{\"points\":[[0,0,0],[1,0,0],[0,1,0]]}"},
    {1, OBB_QUERY_RAY, "{\"rays\":[{\"from\":[0,0,0],\"to\":[1,0,0]}]}"},
    {1, OBB_QUERY_SWEEP, "{\"sweeps\":[{\"box\":\"a\",\"motion\":[1,0,0]}]}"},
    {1, OBB_QUERY_NEAREST, "{\"boxes\":[\"a\",\"b\"],\"filter\":{\"exclude\":[\"c\",\"d\"]}}"},
    {2, 0,
     "{\"put\":{\"a\":{" POSE "}},\"remove\":[\"b\",\"c\"],\"pose\":{\"d\":{\"center\":"
     "[1,2,3]}},\"queries\":[{\"kind\":\"point\",\"points\":[[0,0,0]]}]}"},
    {3, 0,
     "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,\"history\":{\"span\":1,"
     "\"commits\":1}}\n{\"name\":\"a\"," POSE "}\n{\"name\":\"b\"," POSE "}\n"},
};
enum { LISTS = sizeof lists / sizeof *lists };

/* Returns the body in the form: 0 JSON, 1 CBOR. */
static wire_body body_of(int list, int form)
{
    wire_body body = json(lists[list].text);
    static struct cbor_maker made;
    if (form == 1) {
        made.length = 0;
        ck_assert(maker_from_json(&made, lists[list].text, strlen(lists[list].text), false));
        body = (wire_body){
            .bytes = (const char *)made.bytes, .length = made.length, .media = WIRE_CBOR};
    }
    return body;
}

START_TEST(decoding_can_be_cancelled_at_any_poll)
{
    const atomic_bool cancel = false;
    for (int i = 0; i < LISTS; i++)
        for (int form = 0; form < (lists[i].route == 3 ? 1 : 2); form++) {
            wire_body body = body_of(i, form);
            body.cancel = &cancel;
            size_t cancelled = 0;
            bool good = false;
            for (size_t n = 1; !good; n++) {
                wire_problem problem = {0};
                fault_cancel(n);
                good = decode_list(lists[i].route, lists[i].kind, &body, &arena, &problem);
                fault_cancel(0);
                ck_assert_msg(good || (problem.status == 503 && problem.pointer == NULL),
                              "%s: %d %s", lists[i].text, problem.status, problem.title);
                cancelled += !good;
            }
            ck_assert_msg(cancelled > 3, "%s: %zu", lists[i].text, cancelled);
        }
}
END_TEST

/* Returns the number of polls of decoding `count` boxes, whose names are in no order that the check
 * of names looks for: an import, or the puts of a commit. With cancel_at, the poll at which it is
 * cancelled; 0: it is not. */
static size_t polls_of_boxes(int route, size_t count, size_t cancel_at)
{
    enum { LINE = 96, HEAD = 128 };
    const atomic_bool cancel = false;
    char *text = malloc(HEAD + count * LINE);
    ck_assert_ptr_nonnull(text);
    size_t length = (size_t)sprintf(
        text, route == 3 ? "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,"
                           "\"history\":{\"span\":1,\"commits\":1}}\n"
                         : "{\"put\":{");
    for (size_t i = count; i > 0; i--)
        length += (size_t)(route == 3 ? sprintf(text + length, "{\"name\":\"n%zu\"," POSE "}\n", i)
                                      : sprintf(text + length, "%s\"n%zu\":{" POSE "}",
                                                i < count ? "," : "", i));
    if (route != 3)
        length += (size_t)sprintf(text + length, "}}");
    const wire_body body = {.bytes = text, .length = length, .media = WIRE_JSON, .cancel = &cancel};
    struct obb_arena room = {0};
    wire_problem problem = {0};
    fault_cancel(cancel_at);
    const bool good = decode_list(route, 0, &body, &room, &problem);
    const size_t polls = fault_polls();
    fault_cancel(0);
    ck_assert(good == (cancel_at == 0));
    if (!good) {
        ck_assert_int_eq(problem.status, 503);
        ck_assert_str_eq(problem.type, wire_problem_of(OBB_CANCELLED).type);
    }
    obb_arena_fini(&room);
    free(text);
    return polls;
}

START_TEST(the_check_of_many_names_can_be_cancelled)
{
    enum { MANY = 20000 };
    for (int route = 2; route <= 3; route++) {
        const size_t few = polls_of_boxes(route, 2, 0), each = polls_of_boxes(route, 3, 0) - few,
                     all = polls_of_boxes(route, MANY, 0), reading = few + (MANY - 2) * each;
        ck_assert_uint_gt(each, 0);
        ck_assert_uint_ge(all, reading + (size_t)2 * (MANY / 4096));
        /* the decoder around may poll once more before it ends */
        const size_t early = polls_of_boxes(route, MANY, reading + 1),
                     late = polls_of_boxes(route, MANY, all - 1);
        ck_assert(early == reading + 1 || early == reading + 2);
        ck_assert(late == all - 1 || late == all);
    }
}
END_TEST

START_TEST(decoding_keeps_within_its_budget)
{
    for (int i = 0; i < LISTS; i++) {
        const wire_body body = body_of(i, 0);
        bool good = false;
        for (size_t limit = 1; !good; limit *= 2) {
            struct obb_budget budget;
            obb_budget_init(&budget, limit);
            struct obb_arena drawing = {.budget = &budget};
            wire_problem problem = {0};
            good = decode_list(lists[i].route, lists[i].kind, &body, &drawing, &problem);
            ck_assert(good || problem.status == 503);
            ck_assert_uint_le(obb_budget_used(&budget), limit);
            obb_arena_fini(&drawing);
            ck_assert_uint_eq(obb_budget_used(&budget), 0);
        }
    }
}
END_TEST

static wire_problem problem_of(int route, const wire_body *body, int dimensions)
{
    wire_problem problem = {0};
    obb_put put;
    obb_transform_edit change;
    obb_query query;
    const obb_str name = obb_str_of("name");
    const bool good = route == DUMP_BOX
                          ? wire_read_box(body, dimensions, false, name, &arena, &put, &problem)
                      : route == DUMP_TRANSFORM
                          ? wire_read_transform(body, dimensions, name, &arena, &change, &problem)
                          : wire_read_query(body, (obb_query_kind)(route - DUMP_QUERY), dimensions,
                                            &arena, &query, &problem);
    ck_assert(!good);
    ck_assert_ptr_nonnull(problem.detail);
    return problem;
}

/* Bodies of one kind that take long: numbers of very many digits. */
START_TEST(very_many_digits_are_postponed)
{
    enum { ROOM = 40960 };
    static char text[ROOM + 2048], number[1024];
    static const struct {
        int route;
        const char *begin, *end;
    } bodies[] = {
        {DUMP_QUERY + OBB_QUERY_POINT, "{\"points\":[", "0,0]}"},
        {DUMP_QUERY + OBB_QUERY_POINT, "{\"points\":[0,[", "0]]}"},
        {DUMP_PATCH, "{\"entity\":[", "0]}"},
        {DUMP_COMMIT, "{\"pose\":{\"ids\":[", "0,\"a\"],\"centers\":[]}}"},
    };
    enum { EASY, TIES, BIGNUMS, FORMS };
    (void)snprintf(number, sizeof number,
                   "0.50000000000000005551115123125782702118158340454101562"
                   "5%0700d",
                   0); /* of 1/2 and the double after it */
    size_t postponed_bodies = 0;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (int form = 0; form < FORMS; form++)
            for (int later = 0; later < 2; later++) {
                const char *const item = form == EASY ? "-1.2345678901234567e-301" : number;
                struct cbor_maker m = {0};
                size_t length = (size_t)sprintf(text, "%s", bodies[i].begin);
                if (form != BIGNUMS) {
                    for (; length < ROOM - 1024; length += strlen(text + length))
                        (void)sprintf(text + length, "%s,", item);
                    length += (size_t)sprintf(text + length, "%s", bodies[i].end);
                } else { /* {"points":[..]} */
                    maker_head(&m, 5, 1);
                    maker_text(&m, "points", 6);
                    maker_head(&m, 4, 300);
                    for (int k = 0; k < 300; k++) {
                        maker_head(&m, 6, 2);
                        maker_head(&m, 2, 128);
                        maker_put(&m, "\x01", 1);
                        maker_put(&m, text, 127);
                    }
                }
                bool postponed = false;
                const wire_body body = {.bytes = form == BIGNUMS ? (const char *)m.bytes : text,
                                        .length = form == BIGNUMS ? m.length : length,
                                        .media = form == BIGNUMS ? WIRE_CBOR : WIRE_JSON,
                                        .postponed = later ? NULL : &postponed};
                wire_problem problem = {0};
                char *got;
                const int route = form == BIGNUMS ? DUMP_QUERY + OBB_QUERY_POINT : bodies[i].route;
                const bool good = dump_decode(route, &body, 3, &arena, &got, &problem);
                free(got);
                free(m.bytes);
                ck_assert_int_eq(postponed, form != EASY && !later);
                ck_assert(postponed ? !good : good || problem.status == 422);
                postponed_bodies += postponed;
            }
    printf("%zu bodies were postponed\n", postponed_bodies);
}
END_TEST

/* The lines of an import are one body. */
START_TEST(very_many_digits_in_lines_are_postponed)
{
    enum { LINES = 30 };
    static char text[40960];
    for (int digits = 10; digits <= 800; digits += 790) {
        size_t length =
            (size_t)sprintf(text, "{\"format\":\"obbd-scene\",\"version\":1,\"dimensions\":3,"
                                  "\"history\":{\"span\":1,\"commits\":1}}\n");
        for (int i = 0; i < LINES; i++)
            length += (size_t)sprintf(
                text + length,
                "{\"name\":\"%d\",\"center\":[0,0,0.%0*d],\"half_extents\":[1,1,1]}\n", i, digits,
                5);
        bool postponed = false;
        const wire_body body = {
            .bytes = text, .length = length, .media = WIRE_NDJSON, .postponed = &postponed};
        wire_problem problem = {0};
        obb_edit edit;
        const bool good = wire_read_import(&body, &arena, &edit, &problem);
        ck_assert_int_eq(postponed, digits > 10);
        ck_assert_int_eq(good, !postponed);
    }
}
END_TEST

START_TEST(details_say_what_is_taken)
{
    static const struct {
        int route, dimensions;
        const char *text, *type, *detail;
    } cases[] = {
        {DUMP_BOX, 2, "{" POSE "}", "bad-length", "2 dimensions"},
        {DUMP_BOX, 3, "{" FLAT "}", "bad-length", "3 dimensions"},
        {DUMP_BOX, 3, "{\"centre\":[0,0,0]}", "unknown-field",
         "found the field \"centre\"; the nearest known one is \"center\""},
        {DUMP_BOX, 3, "{\"center\":[0,0,0],\"half_extents\":[1,1,-1]}", "bad-extent",
         "found -1; a half extent is 0 to 1e9"},
        {DUMP_BOX, 3, "{\"center\":[0,0,0],\"half_extents\":[1,1,1e309]}", "bad-number",
         "found 1e309; a half extent is 0 to 1e9"},
        {DUMP_QUERY + OBB_QUERY_RAY, 3, "{\"rays\":[],\"mode\":\"fastest\"}", "bad-value",
         "found \"fastest\"; one of closest, any, all, closest_per_entity is needed here"},
        {DUMP_BOX, 3, "{\"points\":[[0,0,0],[0,0,0,0]]}", "bad-length", "3 dimensions"},
        {DUMP_BOX, 3, "{\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,2]}", "bad-value", "bottom row"},
        {DUMP_BOX, 3, "{\"matrix\":[1,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}", "singular", "two columns"},
        {DUMP_TRANSFORM, 3, "{\"scale\":null}", "wrong-type", "a factor, or one for each axis"},
        {DUMP_TRANSFORM, 3, "{\"scale\":[1,1]}", "bad-length", "3 dimensions"},
        {DUMP_TRANSFORM, 3, "{\"rotate\":90}", "wrong-type", "axis and degrees"},
        {DUMP_TRANSFORM, 2, "{\"rotate\":[0,0,0,1]}", "wrong-type", "degrees"},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, 3, "{\"shapes\":[{\"spheer\":{}}]}", "unknown-field",
         "the nearest known one is \"sphere\""},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, 3, "{\"shapes\":[{\"Capsul\":{}}]}", "unknown-field",
         "the nearest known one is \"capsule\""},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, 3, "{\"shapes\":[{\"frustrum\":[]}]}", "unknown-field",
         "the nearest known one is \"frustum\""},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, 3, "{\"shapes\":[{\"centre\":[0,0,0]}]}", "unknown-field",
         "the nearest known one is \"center\""},
        {DUMP_QUERY + OBB_QUERY_POINT, 3, "{\"POINTS\":[]}", "unknown-field",
         "the nearest known one is \"points\""},
        {DUMP_QUERY + OBB_QUERY_POINT, 3, "{\"shapes\":[]}", "unknown-field",
         "does not fit this kind of query"},
        {DUMP_QUERY + OBB_QUERY_RAY, 3, "{\"mod\":\"any\"}", "unknown-field",
         "the nearest known one is \"mode\""},
        {DUMP_QUERY + OBB_QUERY_POINT, 3, "{\"mod\":\"any\"}", "unknown-field",
         "the nearest known one is \"kind\""}, /* what is nearest of those that it takes */
        {DUMP_QUERY + OBB_QUERY_OVERLAP, 3,    /* a far plane at infinity */
         "{\"shapes\":[{\"frustum\":[1,0,0,0,0,1,0,0,0,0,-1,-1,0,0,-0.2,0]}]}", "singular",
         "finite corners"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wire_body body = json(cases[i].text);
        const wire_problem problem = problem_of(cases[i].route, &body, cases[i].dimensions);
        ck_assert_str_eq(problem.type, cases[i].type);
        ck_assert_msg(strstr(problem.detail, cases[i].detail) != NULL, "%s: %s", cases[i].text,
                      problem.detail);
    }

    static const char half[] = "\xa1\x66"
                               "center"
                               "\xd8\x56\x43\0\0\0";
    const wire_body body = {.bytes = half, .length = sizeof half - 1, .media = WIRE_CBOR};
    const wire_problem problem = problem_of(DUMP_BOX, &body, 3);
    ck_assert_str_eq(problem.pointer, "/center");
    ck_assert_ptr_nonnull(strstr(problem.detail, "ends within a number"));

    /* a whole number beyond 64 bits stands under a tag, too, and is a number as in JSON */
    static const char bignum[] = "\xa1\x66"
                                 "center"
                                 "\xc2\x49\x01\0\0\0\0\0\0\0\0";
    const wire_body number = {.bytes = bignum, .length = sizeof bignum - 1, .media = WIRE_CBOR};
    const wire_body same = json("{\"center\":18446744073709551616}");
    ck_assert_str_eq(problem_of(DUMP_BOX, &number, 3).detail,
                     problem_of(DUMP_BOX, &same, 3).detail);

    static const char endless[] = "\xbf\xff";
    const wire_body other = {.bytes = endless, .length = sizeof endless - 1, .media = WIRE_CBOR};
    const wire_problem refused = problem_of(DUMP_BOX, &other, 3);
    ck_assert_int_eq(refused.status, 400);
    ck_assert_ptr_null(strstr(refused.title, "well-formed")); /* for it is */
    ck_assert_ptr_nonnull(strstr(refused.detail, "indefinite"));
}
END_TEST

/* Returns the detail of the refusal of a body. */
static const char *detail_of(int route, const wire_body *body)
{
    wire_problem problem = {0};
    char *got;
    ck_assert(!dump_decode(route, body, 3, &arena, &got, &problem));
    free(got);
    ck_assert_int_eq(problem.status, 422);
    return problem.detail;
}

/* Where the text has @ there is a number that is no double. In CBOR it is also NaN. */
START_TEST(a_number_beyond_doubles_is_told_the_rule_of_its_field)
{
#define COLUMNS "{\"put\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"half_extents\":[1,1,1],"
#define BITS    "; a whole number from 0 to 4294967295 is needed here"
#define GROUP   "; a whole number from -2147483648 to 2147483647 is needed here"
#define TTL     "; a ttl is 0 to 2^53 milliseconds, or null for none"
#define WHOLE   "; a whole number from 0 to 9007199254740992 is needed here"
    static const struct {
        int route;
        const char *text, *rule;
    } cases[] = {
        {DUMP_BOX, "{" POSE ",\"mask\":@}", BITS},
        {DUMP_BOX, "{" POSE ",\"group\":@}", GROUP},
        {DUMP_BOX, "{" POSE ",\"ttl\":@}", TTL},
        {DUMP_BOX, "{" POSE ",\"data\":[@]}", "; a number in data is in the range of a double"},
        {DUMP_COMMIT, "{\"if_revision\":@}", WHOLE},
        {DUMP_COMMIT, "{\"if_box\":{\"a\":@}}", WHOLE},
        {DUMP_COMMIT, COLUMNS "\"category\":@}}", BITS},
        {DUMP_COMMIT, COLUMNS "\"mask\":[@]}}", BITS},
        {DUMP_COMMIT, COLUMNS "\"group\":[@]}}", GROUP},
        {DUMP_COMMIT, COLUMNS "\"ttl\":@}}", TTL},
        {DUMP_COMMIT, COLUMNS "\"ttl\":[@]}}", TTL},
        {DUMP_COMMIT, "{\"put\":{\"names\":[\"a\"],\"centers\":[0,@,0],\"half_extents\":[1,1,1]}}",
         "; a coordinate is -1e9 to 1e9"},
        {DUMP_COMMIT, "{\"pose\":{\"ids\":[@],\"centers\":[0,0,0]}}",
         "; an id is a whole number from 1 to 9007199254740992"},
        {DUMP_QUERY + OBB_QUERY_RAY, "{\"rays\":[],\"float\":@}", "; a float has 32 or 64 bits"},
        {DUMP_QUERY + OBB_QUERY_POINT, "{\"points\":[0,@,0]}", "; a coordinate is -1e9 to 1e9"},
        {DUMP_QUERY + OBB_QUERY_RAY,
         "{\"rays\":{\"origins\":[0,0,0],\"directions\":[0,0,1],\"max_distances\":[@]}}",
         "; a distance is 0 to 1e9"},
    };
    static const char bignum[] = "\xc2\x58\x81\x01", nan[] = "\xf9\x7e\0";
    const double number = 0.7234567890123;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int odd = 0; odd < 3; odd++) {
            static const char *const found[] = {"found 1e309",
                                                "found a whole number of more than 1024 bits",
                                                "found NaN or infinity"};
            char text[512], expected[256], spoilt[1024];
            const char *const mark = strchr(cases[i].text, '@');
            (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - cases[i].text),
                           cases[i].text, odd == 0 ? "1e309" : "0.7234567890123", mark + 1);
            wire_body body = json(text);
            if (odd > 0) {
                struct cbor_maker m = {0}, placed = {0};
                ck_assert(maker_from_json(&m, text, strlen(text), false));
                maker_double(&placed, number);
                size_t at = 0;
                while (memcmp(m.bytes + at, placed.bytes, placed.length) != 0)
                    at++;
                const size_t head = odd == 1 ? sizeof bignum - 1 : sizeof nan - 1,
                             size = odd == 1 ? 3 + 129 : head, after = at + placed.length;
                memset(spoilt, 0, sizeof spoilt);
                memcpy(spoilt, m.bytes, at);
                memcpy(spoilt + at, odd == 1 ? bignum : nan, head);
                memcpy(spoilt + at + size, m.bytes + after, m.length - after);
                body = (wire_body){
                    .bytes = spoilt, .length = m.length - placed.length + size, .media = WIRE_CBOR};
                free(m.bytes);
                free(placed.bytes);
            }
            (void)snprintf(expected, sizeof expected, "%s%s", found[odd], cases[i].rule);
            ck_assert_str_eq(detail_of(cases[i].route, &body), expected);
        }
#undef COLUMNS
#undef BITS
#undef GROUP
#undef TTL
#undef WHOLE
}
END_TEST

/* 2^53 + 1 is 2^53 as a double. Where the text has @ there is a number. */
START_TEST(a_whole_number_beyond_the_limit_is_not_rounded_to_it)
{
    static const struct {
        int route;
        const char *text, *pointer;
    } places[] = {
        {DUMP_COMMIT, "{\"if_revision\":@}", "/if_revision"},
        {DUMP_COMMIT, "{\"if_box\":{\"a\":@}}", "/if_box/a"},
        {DUMP_COMMIT, "{\"pose\":{\"ids\":[1,@,2],\"centers\":[0,0,0,0,0,0,0,0,0]}}",
         "/pose/ids/1"},
        {DUMP_COMMIT,
         "{\"pose\":{\"centers\":[0,0,0,0,0,0,0,0,0,0,0,0],"
         "\"ids\":[1,9007199254740992,3,@]}}",
         "/pose/ids/3"},
        {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"by\":\"id\",\"pairs\":[1,@]}", "/pairs/1"},
        {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"at\":{\"revision\":@}}", "/at/revision"},
    };
    static const struct {
        const char *number;
        bool good;
        obb_str cbor; /* of length 0: the number has no other form */
    } numbers[] = {
        {"9007199254740992", true, {"\x1b\0\x20\0\0\0\0\0\0", 9}},
        {"9007199254740992.000", true, {"\xfb\x43\x40\0\0\0\0\0\0", 9}},
        {"9.007199254740992e15", true, {"\xc2\x47\x20\0\0\0\0\0\0", 9}},
        {"90071992547409920000E-4", true, {"\xfa\x5a\0\0\0", 5}},
        {"0.0009007199254740992e+19", true, {0}},
        {"9007199254740993", false, {"\x1b\0\x20\0\0\0\0\0\1", 9}},
        {"9007199254740992.5", false, {"\xc2\x47\x20\0\0\0\0\0\1", 9}},
        {"9007199254740991.75", false, {0}},
        {"9.007199254740993e15", false, {0}},
        {"9007199254740994", false, {"\x1b\0\x20\0\0\0\0\0\2", 9}},
    };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            char text[512], bytes[512], *got;
            const char *const mark = strchr(places[i].text, '@');
            char expected[64];
            (void)snprintf(expected, sizeof expected, "422 %s", places[i].pointer);
            (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - places[i].text),
                           places[i].text, numbers[k].number, mark + 1);
            bool good = decode(places[i].route, 3, text, strlen(text), WIRE_JSON, &got);
            ck_assert_msg(good == numbers[k].good && (good || strcmp(got, expected) == 0), "%s: %s",
                          text, got);
            free(got);
            if (numbers[k].cbor.length == 0)
                continue;
            struct cbor_maker m = {0}, placed = {0};
            (void)snprintf(text, sizeof text, "%.*s0.7234567890123%s", (int)(mark - places[i].text),
                           places[i].text, mark + 1);
            ck_assert(maker_from_json(&m, text, strlen(text), false));
            maker_double(&placed, 0.7234567890123);
            size_t at = 0;
            while (memcmp(m.bytes + at, placed.bytes, placed.length) != 0)
                at++;
            const size_t rest = m.length - at - placed.length, size = numbers[k].cbor.length;
            memcpy(bytes, m.bytes, at);
            memcpy(bytes + at, numbers[k].cbor.bytes, size);
            memcpy(bytes + at + size, m.bytes + at + placed.length, rest);
            good = decode(places[i].route, 3, bytes, at + size + rest, WIRE_CBOR, &got);
            ck_assert_msg(good == numbers[k].good && (good || strcmp(got, expected) == 0),
                          "%s, number %zu: %s", text, k, got);
            free(got);
            free(m.bytes);
            free(placed.bytes);
        }
    const wire_body body = json("{\"if_revision\":9007199254740993}");
    ck_assert_str_eq(detail_of(DUMP_COMMIT, &body),
                     "found 9007199254740993; a whole number from 0 to 9007199254740992 is needed "
                     "here");
}
END_TEST

/* Ids of 2^53 are looked at again, but not once for each. */
START_TEST(many_ids_at_the_limit_take_no_longer)
{
    enum { IDS = 20000 };
    const atomic_bool cancel = false;
    struct cbor_maker m = {0};
    size_t polls[2];
    for (int limit = 0; limit < 2; limit++) {
        m.length = 0;
        maker_head(&m, 5, 1);
        maker_text(&m, "pose", 4);
        maker_head(&m, 5, 2);
        maker_text(&m, "ids", 3);
        maker_head(&m, 4, IDS);
        for (int i = 0; i < IDS; i++)
            maker_head(&m, 0, ((uint64_t)1 << 53) - (limit == 0));
        maker_text(&m, "centers", 7);
        maker_head(&m, 4, (size_t)3 * IDS);
        for (int i = 0; i < 3 * IDS; i++)
            maker_head(&m, 0, 0);
        const wire_body body = {.bytes = (const char *)m.bytes,
                                .length = m.length,
                                .media = WIRE_CBOR,
                                .cancel = &cancel};
        fault_cancel(0);
        const wire_commit commit = commit_of(&body, 3);
        polls[limit] = fault_polls();
        ck_assert_uint_eq(commit.edit.pose_count, IDS);
    }
    free(m.bytes);
    ck_assert_uint_le(polls[1], polls[0] + IDS + 100);
}
END_TEST

START_TEST(what_data_cannot_hold_is_told_what_it_can)
{
    static const char *const odds[] = {"\x41\x61", "\xf7", "\xc1\x00", "\xe0"};
    for (size_t i = 0; i < sizeof odds / sizeof *odds; i++) {
        char bytes[32];
        const int length = snprintf(bytes, sizeof bytes,
                                    "\xa1\x64"
                                    "data\x81%s",
                                    odds[i]) +
                           (i == 2); /* its zero byte */
        const wire_body body = {.bytes = bytes, .length = (size_t)length, .media = WIRE_CBOR};
        ck_assert_str_eq(detail_of(DUMP_PATCH, &body),
                         "found a value that JSON does not have; data holds what JSON has: "
                         "objects, arrays, strings, numbers, true, false and null");
    }
}
END_TEST

START_TEST(a_string_that_is_too_long_is_counted_in_bytes_of_its_text)
{
    static const struct {
        const char *begin; /* before the digits and a quote */
        int route, digits;
        const char *detail;
    } cases[] = {
        {"{\"id\":\"", DUMP_COMMIT, 65, "found 65 bytes; an id of a commit has 1 to 64 bytes"},
        {"{\"id\":\"\\u00e9", DUMP_COMMIT, 63,
         "found 65 bytes; an id of a commit has 1 to 64 bytes"},
        {"{\"data\":\"", DUMP_PATCH, 1023,
         "found 1025 bytes; data takes at most 1024 bytes as compact JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1200];
        (void)snprintf(text, sizeof text, "%s%0*d\"}", cases[i].begin, cases[i].digits, 0);
        const wire_body body = json(text);
        ck_assert_str_eq(detail_of(cases[i].route, &body), cases[i].detail);
    }
}
END_TEST

START_TEST(a_flipped_byte_never_does_harm)
{
    test_rng rng = {.s = 31};
    const size_t cases = test_effort(30000);
    size_t good = 0, malformed = 0;
    struct cbor_maker m = {0};
    ck_assert(maker_from_json(&m, WHOLE_TICK, strlen(WHOLE_TICK), true));
    for (size_t i = 0; i < cases; i++) {
        const bool cbor = i % 2 == 0;
        char *got;
        const size_t length = cbor ? m.length : strlen(WHOLE_TICK);
        char *bytes = cbor ? exact_copy(m.bytes, length) : exact_copy(WHOLE_TICK, length);
        bytes[test_below(&rng, length)] = (char)test_below(&rng, 256);
        if (decode(DUMP_COMMIT, 3, bytes, length, cbor ? WIRE_CBOR : WIRE_JSON, &got))
            good++;
        else
            malformed += strncmp(got, "400", 3) == 0;
        ck_assert_msg(strncmp(got, "0", 1) != 0, "no problem was said");
        exact_free(bytes, length);
        free(got);
    }
    free(m.bytes);
    ck_assert_uint_gt(good, cases / 10);
    ck_assert_uint_gt(malformed, cases / 10);
    ck_assert_uint_lt(good + malformed, cases);
    printf("%zu mutants, %zu taken, %zu malformed, %zu invalid\n", cases, good, malformed,
           cases - good - malformed);
}
END_TEST

/* A commit large enough that every list grows past the arena's first chunks. */
static char *large_commit(size_t *out_length)
{
    enum { ROOM = 1 << 20, COUNT = 300 };
    char *text = malloc(ROOM);
    ck_assert_ptr_nonnull(text);
    size_t n = (size_t)sprintf(text, "{\"remove\":[");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"r%d\"", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "],\"put\":{");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"p\\u00e9%d\":{" POSE ",\"data\":[%d]}",
                             i > 0 ? "," : "", i, i);
    n += (size_t)sprintf(text + n, "},\"pose\":{\"names\":[");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"n%d\"", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "],\"centers\":[");
    for (int i = 0; i < 3 * COUNT; i++)
        n += (size_t)sprintf(text + n, "%s%d.5", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "]},\"transform\":{");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(text + n, "%s\"t%d\":{\"scale\":2}", i > 0 ? "," : "", i);
    n += (size_t)sprintf(text + n, "},\"queries\":[");
    for (int i = 0; i < COUNT; i++)
        n += (size_t)sprintf(
            text + n,
            "%s{\"kind\":\"overlap\",\"shapes\":[\"a\",{" POSE
            "},{\"sphere\":{\"center\":[0,0,0],\"radius\":1}}],\"filter\":{\"exclude\":"
            "[\"x\"]}}",
            i > 0 ? "," : "");
    n += (size_t)sprintf(text + n, "]}");
    *out_length = n;
    return text;
}

START_TEST(a_failing_heap_is_a_503)
{
    size_t length;
    char *text = large_commit(&length);
    struct cbor_maker m = {0};
    ck_assert(maker_from_json(&m, text, length, true));
    size_t failed = 0;
    for (int cbor = 0; cbor < 2; cbor++) {
        const wire_body body = {.bytes = cbor ? (const char *)m.bytes : text,
                                .length = cbor ? m.length : length,
                                .media = cbor ? WIRE_CBOR : WIRE_JSON};
        for (size_t n = 1;; n++) {
            struct obb_arena a;
            wire_commit commit;
            wire_problem problem = {0};
            obb_arena_init(&a);
            fault_arm(n);
            const bool good = wire_read_commit(&body, 3, &a, &commit, &problem);
            const bool reached = fault_seen() >= n;
            fault_arm(0);
            obb_arena_fini(&a);
            if (!reached) {
                ck_assert(good && commit.edit.put_count == 300);
                break;
            }
            ck_assert(!good);
            ck_assert_int_eq(problem.status, 503);
            ck_assert_int_gt(problem.retry_after, 0);
            failed++;
        }
    }
    free(m.bytes);
    free(text);
    ck_assert_uint_ge(failed, 10);
    printf("%zu allocations failed in turn\n", failed);
}
END_TEST

START_TEST(a_request_takes_memory_in_proportion_to_its_bytes)
{
    /* the worst that a byte can ask for: lists of the smallest items */
    static const struct {
        int route;
        const char *before, *item, *after;
        double most; /* bytes of memory a byte of body */
    } cases[] = {
        {DUMP_COMMIT, "{\"remove\":[", "\"a\"", "]}", 12},
        {DUMP_QUERY + OBB_QUERY_PAIRS, "{\"by\":\"id\",\"pairs\":[", "1", "]}", 16},
        {DUMP_QUERY + OBB_QUERY_OVERLAP, "{\"shapes\":[", "\"a\"", "]}", 14},
        {DUMP_QUERY + OBB_QUERY_POINT, "{\"points\":[", "[0,0,0]", "]}", 5},
    };
    enum { ITEMS = 200000 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const size_t size = strlen(cases[i].item) + 1;
        char *text = malloc(100 + ITEMS * size);
        ck_assert_ptr_nonnull(text);
        size_t length = (size_t)sprintf(text, "%s", cases[i].before);
        for (int k = 0; k < ITEMS; k++)
            length += (size_t)sprintf(text + length, "%s%s", k > 0 ? "," : "", cases[i].item);
        length += (size_t)sprintf(text + length, "%s", cases[i].after);
        struct obb_arena a;
        wire_commit commit;
        obb_query query;
        wire_problem problem;
        const wire_body body = {.bytes = text, .length = length, .media = WIRE_JSON};
        obb_arena_init(&a);
        const bool good =
            cases[i].route == DUMP_COMMIT
                ? wire_read_commit(&body, 3, &a, &commit, &problem)
                : wire_read_query(&body, (obb_query_kind)(cases[i].route - DUMP_QUERY), 3, &a,
                                  &query, &problem);
        const double ratio = (double)a.total / (double)length;
        printf("%s%s...: %.1f bytes a byte\n", cases[i].before, cases[i].item, ratio);
        ck_assert(good && ratio < cases[i].most);
        obb_arena_fini(&a);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request");
    TCase *tc = tcase_create("request");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, what_is_malformed_is_a_400_wherever_it_lies);
    tcase_add_test(tc, what_takes_long_can_be_postponed);
    tcase_add_test(tc, very_many_digits_are_postponed);
    tcase_add_test(tc, very_many_digits_in_lines_are_postponed);
    tcase_add_test(tc, details_say_what_is_taken);
    tcase_add_test(tc, a_number_beyond_doubles_is_told_the_rule_of_its_field);
    tcase_add_test(tc, a_whole_number_beyond_the_limit_is_not_rounded_to_it);
    tcase_add_test(tc, many_ids_at_the_limit_take_no_longer);
    tcase_add_test(tc, what_data_cannot_hold_is_told_what_it_can);
    tcase_add_test(tc, a_string_that_is_too_long_is_counted_in_bytes_of_its_text);
    tcase_add_test(tc, a_flipped_byte_never_does_harm);
    tcase_add_test(tc, a_failing_heap_is_a_503);
    tcase_add_test(tc, a_request_takes_memory_in_proportion_to_its_bytes);
    tcase_add_test(tc, decoding_can_be_cancelled_at_any_poll);
    tcase_add_test(tc, the_check_of_many_names_can_be_cancelled);
    tcase_add_test(tc, decoding_keeps_within_its_budget);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
