#include "tests/support/schema.h"

#include "tests/support/cbor.h"

#include <math.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct schema {
    json_t *root;
    json_t *seen; /* "operationId status": true */
    struct schema_counts counts;
    char fault[1024];
};

/* ---- Faults ---------------------------------------------------------------------------------- */

/* Where in the value we are: keys and indices, as a JSON pointer has them. */
enum { STEPS = 64 };
struct place {
    struct step {
        const char *key; /* NULL: an index */
        size_t index;
    } steps[STEPS];
    size_t depth; /* may be more; the steps beyond are not told */
};

struct check {
    struct schema *schema;
    struct place place;
    bool strict;
    bool quiet; /* faults are found and not described */
};

static void enter(struct check *check, const char *key, size_t index)
{
    if (check->place.depth < STEPS)
        check->place.steps[check->place.depth] = (struct step){.key = key, .index = index};
    check->place.depth++;
}

static void leave(struct check *check) { check->place.depth--; }

static void write_pointer(const struct place *place, char *out, size_t room)
{
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; i < place->depth && i < STEPS && length < room; i++) {
        const struct step *step = &place->steps[i];
        length += (size_t)(step->key != NULL
                               ? snprintf(out + length, room - length, "/%s", step->key)
                               : snprintf(out + length, room - length, "/%zu", step->index));
    }
}

__attribute__((format(printf, 2, 3))) static bool fault(struct check *check, const char *format,
                                                        ...)
{
    if (check->quiet)
        return false;
    char where[481], what[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    write_pointer(&check->place, where, sizeof where);
    (void)snprintf(check->schema->fault, sizeof check->schema->fault, "at \"%s\": %s", where, what);
    return false;
}

/* ---- Schemas --------------------------------------------------------------------------------- */

/* What a local reference names, or NULL. */
static json_t *follow(json_t *root, const char *reference)
{
    if (strncmp(reference, "#/", 2) != 0)
        return NULL;
    json_t *at = root;
    for (const char *part = reference + 1; *part == '/' && at != NULL;) {
        const size_t length = strcspn(++part, "/");
        at = json_object_getn(at, part, length);
        part += length;
    }
    return at;
}

/* Which members of the value at hand were named by some schema in place. */
struct evaluated {
    json_t *names; /* a set; NULL: none yet */
    bool any;      /* a schema spoke of members at all */
};

static void name_member(struct evaluated *evaluated, const char *key)
{
    if (evaluated->names == NULL)
        evaluated->names = json_object();
    (void)json_object_set_new(evaluated->names, key, json_true());
}

static void name_members(struct evaluated *evaluated, struct evaluated *more)
{
    const char *key;
    json_t *unused;
    evaluated->any = evaluated->any || more->any;
    json_object_foreach(more->names, key, unused) name_member(evaluated, key);
}

static bool fits(struct check *check, json_t *schema, json_t *value, struct evaluated *evaluated);

/* The schema of a place of its own: a new set of members, and for answers nothing beyond them. */
static bool fits_here(struct check *check, json_t *schema, json_t *value)
{
    struct evaluated evaluated = {.names = NULL};
    bool ok = fits(check, schema, value, &evaluated);
    if (ok && check->strict && evaluated.any && json_is_object(value)) {
        const char *key;
        json_t *member;
        json_object_foreach(value, key, member) if (json_object_get(evaluated.names, key) == NULL)
            ok = fault(check, "the member %s is in no schema", key);
    }
    json_decref(evaluated.names);
    return ok;
}

/* The same for a whole value. The branches of a schema have many faults that count for nothing, so
 * only the value that does not fit has its faults described, as it is looked at once more. */
static bool fits_whole(struct check *check, json_t *schema, json_t *value)
{
    check->quiet = true;
    const bool ok = fits_here(check, schema, value);
    check->quiet = false;
    return ok || fits_here(check, schema, value);
}

/* Most words differ in the first letter, which is seen sooner than strcmp is called. */
static inline bool is(const char *word, const char *other)
{
    return word[0] == other[0] && strcmp(word, other) == 0;
}

static bool is_integer(json_t *value)
{
    return json_is_integer(value) ||
           (json_is_real(value) && floor(json_real_value(value)) == json_real_value(value));
}

static bool has_type(json_t *value, const char *type)
{
    return is(type, "object")    ? json_is_object(value)
           : is(type, "array")   ? json_is_array(value)
           : is(type, "string")  ? json_is_string(value)
           : is(type, "number")  ? json_is_number(value)
           : is(type, "integer") ? is_integer(value)
           : is(type, "boolean") ? json_is_boolean(value)
           : is(type, "null")    ? json_is_null(value)
                                 : false;
}

static bool equal(json_t *a, json_t *b)
{
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) == json_number_value(b);
    return json_equal(a, b) != 0;
}

static size_t code_points(json_t *string)
{
    size_t count = 0;
    const char *text = json_string_value(string);
    for (size_t i = 0; i < json_string_length(string); i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

static bool matches_pattern(const char *pattern, const char *text)
{
    regex_t regex;
    if (regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    const bool found = regexec(&regex, text, 0, NULL, 0) == 0;
    regfree(&regex);
    return found;
}

static bool fits_scalar_keyword(struct check *check, const char *keyword, json_t *limit,
                                json_t *value)
{
    const double number = json_is_number(value) ? json_number_value(value) : 0.0;
    const double bound = json_is_number(limit) ? json_number_value(limit) : 0.0;
    if (is(keyword, "minimum") && json_is_number(value) && number < bound)
        return fault(check, "%.17g is below %g", number, bound);
    if (is(keyword, "exclusiveMinimum") && json_is_number(value) && number <= bound)
        return fault(check, "%.17g is not above %g", number, bound);
    if (is(keyword, "maximum") && json_is_number(value) && number > bound)
        return fault(check, "%.17g is above %g", number, bound);
    if (is(keyword, "minLength") && json_is_string(value) && (double)code_points(value) < bound)
        return fault(check, "the string is too short");
    if (is(keyword, "maxLength") && json_is_string(value) && (double)code_points(value) > bound)
        return fault(check, "the string is too long");
    if (is(keyword, "pattern") && json_is_string(value) &&
        !matches_pattern(json_string_value(limit), json_string_value(value)))
        return fault(check, "\"%s\" is not of the pattern", json_string_value(value));
    if (is(keyword, "minItems") && json_is_array(value) && (double)json_array_size(value) < bound)
        return fault(check, "%zu items are too few", json_array_size(value));
    if (is(keyword, "maxItems") && json_is_array(value) && (double)json_array_size(value) > bound)
        return fault(check, "%zu items are too many", json_array_size(value));
    if (is(keyword, "minProperties") && json_is_object(value) &&
        (double)json_object_size(value) < bound)
        return fault(check, "%zu members are too few", json_object_size(value));
    return true;
}

static bool fits_type(struct check *check, json_t *types, json_t *value)
{
    size_t i;
    json_t *type;
    if (json_is_string(types) && has_type(value, json_string_value(types)))
        return true;
    json_array_foreach(types, i, type) if (has_type(value, json_string_value(type))) return true;
    if (check->quiet)
        return false;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    (void)fault(check, "%.60s is not of type %s", text,
                json_is_string(types) ? json_string_value(types) : "any listed");
    free(text);
    return false;
}

static bool fits_enum(struct check *check, json_t *values, json_t *value)
{
    size_t i;
    json_t *allowed;
    json_array_foreach(values, i, allowed) if (equal(allowed, value)) return true;
    if (check->quiet)
        return false;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    (void)fault(check, "%.60s is not among the values allowed", text);
    free(text);
    return false;
}

static bool fits_required(struct check *check, json_t *names, json_t *value)
{
    size_t i;
    json_t *name;
    json_array_foreach(names, i, name) if (json_is_object(value) &&
                                           json_object_get(value, json_string_value(name)) ==
                                               NULL) return fault(check, "the member %s is missing",
                                                                  json_string_value(name));
    return true;
}

static bool fits_dependent(struct check *check, json_t *dependent, json_t *value)
{
    const char *key;
    json_t *names;
    json_object_foreach(dependent, key,
                        names) if (json_object_get(value, key) != NULL &&
                                   !fits_required(check, names, value)) return false;
    return true;
}

static bool fits_member(struct check *check, json_t *schema, const char *key, json_t *member)
{
    enter(check, key, 0);
    const bool ok = fits_here(check, schema, member);
    leave(check);
    return ok;
}

static bool fits_properties(struct check *check, json_t *properties, json_t *value,
                            struct evaluated *evaluated)
{
    const char *key;
    json_t *member;
    evaluated->any = true;
    json_object_foreach(value, key, member)
    {
        json_t *schema = json_object_get(properties, key);
        if (schema == NULL)
            continue;
        name_member(evaluated, key);
        if (!fits_member(check, schema, key, member))
            return false;
    }
    return true;
}

/* Members that `taken` does not hold against the schema of the rest. */
static bool fits_rest(struct check *check, json_t *rest, json_t *value, json_t *taken,
                      struct evaluated *evaluated)
{
    const char *key;
    json_t *member;
    evaluated->any = true;
    json_object_foreach(value, key, member)
    {
        if (json_object_get(taken, key) != NULL)
            continue;
        if (json_is_false(rest))
            return fault(check, "the member %s is not allowed", key);
        name_member(evaluated, key);
        if (!fits_member(check, rest, key, member))
            return false;
    }
    return true;
}

static bool fits_property_names(struct check *check, json_t *schema, json_t *value)
{
    const char *key;
    json_t *member;
    json_object_foreach(value, key, member)
    {
        json_t *name = json_string(key);
        const bool ok = fits_here(check, schema, name);
        json_decref(name);
        if (!ok)
            return false;
    }
    return true;
}

/* Long arrays are looked at in part: the first thousand, then one in 97. */
static bool fits_items(struct check *check, json_t *schema, json_t *value)
{
    const size_t count = json_array_size(value);
    for (size_t i = 0; i < count; i += i < 1000 ? 1 : 97) {
        enter(check, NULL, i);
        const bool ok = fits_here(check, schema, json_array_get(value, i));
        leave(check);
        if (!ok)
            return false;
    }
    return true;
}

/* How many of the schemas fit; their members are named. The fault kept is the one deepest in the
 * value. */
static size_t count_fitting(struct check *check, json_t *schemas, json_t *value,
                            struct evaluated *evaluated)
{
    size_t count = 0, i;
    json_t *schema;
    char deepest[sizeof check->schema->fault];
    deepest[0] = '\0';
    size_t depth = 0;
    json_array_foreach(schemas, i, schema)
    {
        struct evaluated branch = {.names = NULL};
        if (fits(check, schema, value, &branch)) {
            count++;
            name_members(evaluated, &branch);
        } else if (!check->quiet) {
            const size_t length = strcspn(check->schema->fault, ":");
            if (length > depth || deepest[0] == '\0') {
                memcpy(deepest, check->schema->fault, sizeof deepest);
                depth = length;
            }
        }
        json_decref(branch.names);
    }
    if (count == 0 && !check->quiet)
        memcpy(check->schema->fault, deepest, sizeof deepest);
    return count;
}

static bool fits_not(struct check *check, json_t *schema, json_t *value)
{
    struct evaluated unused = {.names = NULL};
    const bool unwanted = fits(check, schema, value, &unused);
    json_decref(unused.names);
    return unwanted ? fault(check, "fits a schema that it must not fit") : true;
}

/* Returns the reference that the discriminator maps the value's property to, or NULL. */
static const char *mapped(json_t *discriminator, json_t *value)
{
    const char *name = json_string_value(json_object_get(discriminator, "propertyName"));
    const char *word = json_string_value(json_object_get(value, name));
    if (word == NULL)
        return NULL;
    return json_string_value(json_object_get(json_object_get(discriminator, "mapping"), word));
}

/* Stands before the oneOf that it serves, so that a fault is one of the schema that is meant. */
static bool fits_discriminator(struct check *check, json_t *discriminator, json_t *value)
{
    const char *reference = mapped(discriminator, value);
    if (reference == NULL)
        return fault(check, "the member %s does not say which schema is meant",
                     json_string_value(json_object_get(discriminator, "propertyName")));
    struct evaluated unused = {.names = NULL};
    const bool ok = fits(check, follow(check->schema->root, reference), value, &unused);
    json_decref(unused.names);
    return ok;
}

static bool fits_applicator(struct check *check, const char *keyword, json_t *with, json_t *value,
                            struct evaluated *evaluated)
{
    if (is(keyword, "$ref"))
        return fits(check, follow(check->schema->root, json_string_value(with)), value, evaluated);
    if (is(keyword, "allOf")) {
        size_t i;
        json_t *schema;
        json_array_foreach(with, i,
                           schema) if (!fits(check, schema, value, evaluated)) return false;
        return true;
    }
    if (is(keyword, "anyOf"))
        return count_fitting(check, with, value, evaluated) > 0;
    if (is(keyword, "oneOf")) {
        const size_t count = count_fitting(check, with, value, evaluated);
        return count > 1 ? fault(check, "fits %zu schemas of which just one may fit", count)
                         : count == 1;
    }
    if (is(keyword, "discriminator"))
        return fits_discriminator(check, with, value);
    if (is(keyword, "not"))
        return fits_not(check, with, value);
    if (is(keyword, "items"))
        return fits_items(check, with, value);
    if (is(keyword, "properties"))
        return fits_properties(check, with, value, evaluated);
    if (is(keyword, "propertyNames"))
        return fits_property_names(check, with, value);
    if (is(keyword, "required"))
        return fits_required(check, with, value);
    if (is(keyword, "dependentRequired"))
        return fits_dependent(check, with, value);
    if (is(keyword, "type"))
        return fits_type(check, with, value);
    if (is(keyword, "enum"))
        return fits_enum(check, with, value);
    if (is(keyword, "const"))
        return equal(with, value) ? true : fault(check, "is not the one value allowed");
    return fits_scalar_keyword(check, keyword, with, value);
}

static bool fits(struct check *check, json_t *schema, json_t *value, struct evaluated *evaluated)
{
    if (json_is_boolean(schema))
        return json_is_true(schema) ? true : fault(check, "nothing is allowed here");
    const char *keyword;
    json_t *with;
    json_object_foreach(schema, keyword, with) if (!fits_applicator(check, keyword, with, value,
                                                                    evaluated)) return false;
    json_t *rest = json_object_get(schema, "additionalProperties");
    if (rest != NULL && json_is_object(value) &&
        !fits_rest(check, rest, value, json_object_get(schema, "properties"), evaluated))
        return false;
    rest = json_object_get(schema, "unevaluatedProperties");
    return rest == NULL || !json_is_object(value) ||
           fits_rest(check, rest, value, evaluated->names, evaluated);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* How the members of a schema lead to further schemas. */
enum below { BELOW_NONE, BELOW_SCHEMA, BELOW_LIST, BELOW_MAP };
static const struct {
    const char *name;
    enum below below;
} keywords[] = {{"$ref", BELOW_NONE},
                {"type", BELOW_NONE},
                {"enum", BELOW_NONE},
                {"const", BELOW_NONE},
                {"required", BELOW_NONE},
                {"dependentRequired", BELOW_NONE},
                {"minimum", BELOW_NONE},
                {"exclusiveMinimum", BELOW_NONE},
                {"maximum", BELOW_NONE},
                {"minLength", BELOW_NONE},
                {"maxLength", BELOW_NONE},
                {"pattern", BELOW_NONE},
                {"minItems", BELOW_NONE},
                {"maxItems", BELOW_NONE},
                {"minProperties", BELOW_NONE},
                {"description", BELOW_NONE},
                {"default", BELOW_NONE},
                {"discriminator", BELOW_NONE},
                {"properties", BELOW_MAP},
                {"additionalProperties", BELOW_SCHEMA},
                {"unevaluatedProperties", BELOW_SCHEMA},
                {"propertyNames", BELOW_SCHEMA},
                {"items", BELOW_SCHEMA},
                {"not", BELOW_SCHEMA},
                {"allOf", BELOW_LIST},
                {"anyOf", BELOW_LIST},
                {"oneOf", BELOW_LIST}};

/* A discriminator maps each schema of the oneOf beside it, and only those, by the one word that the
 * schema allows. */
static bool lint_discriminator(struct schema *schema, json_t *discriminator, json_t *list)
{
    json_t *mapping = json_object_get(discriminator, "mapping"), *reference, *one;
    const char *name = json_string_value(json_object_get(discriminator, "propertyName")), *word;
    bool ok = name != NULL && json_object_size(mapping) == json_array_size(list);
    json_object_foreach(mapping, word, reference)
    {
        size_t i;
        bool listed = false;
        json_array_foreach(list, i, one) listed |=
            json_equal(json_object_get(one, "$ref"), reference) != 0;
        json_t *target = listed ? follow(schema->root, json_string_value(reference)) : NULL;
        json_t *property = json_object_get(json_object_get(target, "properties"), name);
        const char *allowed = json_string_value(json_object_get(property, "const"));
        ok = ok && allowed != NULL && strcmp(allowed, word) == 0;
    }
    if (!ok)
        (void)fprintf(stderr, "schema: the discriminator does not map the schemas of its oneOf\n");
    return ok;
}

static bool lint_schema(struct schema *schema, json_t *at)
{
    schema->counts.schemas++;
    if (json_is_boolean(at))
        return true;
    if (!json_is_object(at)) {
        (void)fprintf(stderr, "schema: a schema is neither an object nor a boolean\n");
        return false;
    }
    const char *name, *key;
    json_t *with, *below;
    json_object_foreach(at, name, with)
    {
        size_t i = 0;
        while (i < sizeof keywords / sizeof keywords[0] && strcmp(keywords[i].name, name) != 0)
            i++;
        if (i == sizeof keywords / sizeof keywords[0]) {
            (void)fprintf(stderr, "schema: the keyword %s is not known\n", name);
            return false;
        }
        if (strcmp(name, "discriminator") == 0 &&
            !lint_discriminator(schema, with, json_object_get(at, "oneOf")))
            return false;
        const enum below kind = keywords[i].below;
        if (kind == BELOW_SCHEMA && !lint_schema(schema, with))
            return false;
        if (kind == BELOW_LIST)
            json_array_foreach(with, i, below) if (!lint_schema(schema, below)) return false;
        if (kind == BELOW_MAP)
            json_object_foreach(with, key, below) if (!lint_schema(schema, below)) return false;
    }
    return true;
}

/* Walks everything: references resolve, and each schema is made of known keywords. */
static bool lint_document(struct schema *schema, json_t *at, bool values)
{
    size_t i;
    const char *key;
    json_t *member;
    json_array_foreach(at, i, member) if (!lint_document(schema, member, values)) return false;
    json_object_foreach(at, key, member)
    {
        if (strcmp(key, "examples") == 0)
            continue;
        if (strcmp(key, "$ref") == 0 && json_is_string(member)) {
            schema->counts.references++;
            if (follow(schema->root, json_string_value(member)) == NULL) {
                (void)fprintf(stderr, "schema: %s leads nowhere\n", json_string_value(member));
                return false;
            }
        }
        if ((strcmp(key, "schema") == 0 || strcmp(key, "x-line") == 0) &&
            !lint_schema(schema, member))
            return false;
        if (strcmp(key, "x-events") == 0 || (strcmp(key, "schemas") == 0 && values)) {
            const char *name;
            json_t *one;
            json_object_foreach(member, name, one) if (!lint_schema(schema, one)) return false;
        }
        if (!lint_document(schema, member, strcmp(key, "components") == 0))
            return false;
    }
    return true;
}

struct schema *schema_load(const char *text, size_t length)
{
    struct schema *schema = calloc(1, sizeof *schema);
    if (schema == NULL)
        return NULL;
    json_error_t error;
    schema->seen = json_object();
    schema->root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (schema->root == NULL)
        (void)fprintf(stderr, "schema: line %d: %s\n", error.line, error.text);
    if (schema->root == NULL || !lint_document(schema, schema->root, false)) {
        schema_free(schema);
        return NULL;
    }
    return schema;
}

void schema_free(struct schema *schema)
{
    if (schema == NULL)
        return;
    json_decref(schema->root);
    json_decref(schema->seen);
    free(schema);
}

/* ---- Operations ------------------------------------------------------------------------------ */

static json_t *resolved(struct schema *schema, json_t *object)
{
    const char *reference = json_string_value(json_object_get(object, "$ref"));
    return reference != NULL ? follow(schema->root, reference) : object;
}

static bool matches_path(const char *template, const char *target)
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

static json_t *find_path(struct schema *schema, const char *target)
{
    const char *template;
    json_t *path;
    json_object_foreach(json_object_get(schema->root, "paths"), template,
                        path) if (matches_path(template, target)) return path;
    return NULL;
}

/* The media type object of a content type, parameters of the type left out. */
static json_t *find_media(json_t *holder, const char *type)
{
    char bare[128];
    (void)snprintf(bare, sizeof bare, "%.*s", (int)strcspn(type, "; "), type);
    return json_object_get(json_object_get(holder, "content"), bare);
}

/* ---- Parameters ------------------------------------------------------------------------------ */

static json_t *find_parameter(struct schema *schema, json_t *lists[2], const char *name)
{
    for (int i = 0; i < 2; i++) {
        size_t j;
        json_t *one;
        json_array_foreach(lists[i], j, one)
        {
            json_t *parameter = resolved(schema, one);
            if (strcmp(json_string_value(json_object_get(parameter, "in")), "query") == 0 &&
                strcmp(json_string_value(json_object_get(parameter, "name")), name) == 0)
                return parameter;
        }
    }
    return NULL;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

static void percent_decode(char *text)
{
    char *to = text;
    for (const char *at = text; *at != '\0'; at++) {
        if (*at == '%' && hex_digit(at[1]) >= 0 && hex_digit(at[2]) >= 0) {
            *to++ = (char)(hex_digit(at[1]) * 16 + hex_digit(at[2]));
            at += 2;
        } else {
            *to++ = (char)(*at == '+' ? ' ' : *at);
        }
    }
    *to = '\0';
}

/* A parameter's text as the value its schema speaks of. */
static json_t *parameter_value(struct schema *schema, json_t *wanted, const char *text)
{
    const char *reference = json_string_value(json_object_get(wanted, "$ref"));
    json_t *target = reference != NULL ? follow(schema->root, reference) : wanted;
    const char *type = json_string_value(json_object_get(target, "type"));
    if (type != NULL && is(type, "array")) {
        json_t *array = json_array();
        for (const char *at = text;; at++) {
            const size_t length = strcspn(at, ",");
            (void)json_array_append_new(array, json_stringn(at, length));
            at += length;
            if (*at == '\0')
                return array;
        }
    }
    char *end;
    const double number = strtod(text, &end);
    if (type != NULL && (is(type, "integer") || is(type, "number")) && *text != '\0' &&
        *end == '\0')
        return json_real(number);
    const bool yes = strcmp(text, "true") == 0;
    if (type != NULL && is(type, "boolean") && (yes || strcmp(text, "false") == 0))
        return json_boolean(yes);
    return json_string(text);
}

static bool check_parameters(struct check *check, json_t *path, json_t *operation,
                             const char *target)
{
    json_t *lists[2] = {json_object_get(path, "parameters"),
                        json_object_get(operation, "parameters")};
    const char *at = strchr(target, '?');
    while (at != NULL) {
        at++;
        char name[512];
        const size_t length = strcspn(at, "&");
        (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
        at = at[length] == '&' ? at + length : NULL;
        char *value = strchr(name, '=');
        if (value != NULL)
            *value++ = '\0';
        percent_decode(name);
        if (value != NULL)
            percent_decode(value);
        if (name[0] == '\0')
            continue;
        json_t *parameter = find_parameter(check->schema, lists, name);
        if (parameter == NULL)
            return fault(check, "the parameter %s is not in the document", name);
        if ((value == NULL || *value == '\0') &&
            json_is_true(json_object_get(parameter, "allowEmptyValue")))
            continue;
        json_t *wanted = json_object_get(parameter, "schema");
        json_t *given = parameter_value(check->schema, wanted, value != NULL ? value : "");
        const bool ok = fits_whole(check, wanted, given);
        json_decref(given);
        if (!ok)
            return false;
    }
    return true;
}

/* ---- Bodies ---------------------------------------------------------------------------------- */

static bool check_json(struct check *check, json_t *wanted, const char *text, size_t length)
{
    json_error_t error;
    json_t *value =
        json_loadb(text, length, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (value == NULL)
        return fault(check, "not JSON: %s", error.text);
    const bool ok = fits_whole(check, wanted, value);
    json_decref(value);
    return ok;
}

static bool check_lines(struct check *check, json_t *wanted, const char *text, size_t length)
{
    size_t line = 0;
    for (size_t at = 0; at < length; line++) {
        const char *end = memchr(text + at, '\n', length - at);
        if (end == NULL && check->strict)
            return fault(check, "the last line has no end");
        end = end == NULL ? text + length : end;
        const size_t size = (size_t)(end - (text + at));
        enter(check, NULL, line);
        const bool ok = check_json(check, wanted, text + at, size);
        leave(check);
        if (!ok)
            return false;
        at += size + 1;
    }
    return true;
}

/* Messages of an event stream that are complete. */
static bool check_events(struct check *check, json_t *wanted, const char *text, size_t length)
{
    char event[64] = "message";
    const char *data = NULL;
    size_t data_length = 0;
    for (size_t at = 0; at < length;) {
        const char *line = text + at, *end = memchr(line, '\n', length - at);
        if (end == NULL)
            return true;
        const size_t size = (size_t)(end - line);
        at += size + 1;
        if (size == 0 && data != NULL) {
            json_t *schema = json_object_get(wanted, event);
            if (schema == NULL)
                return fault(check, "the event %s is not in the document", event);
            if (!check_json(check, schema, data, data_length))
                return false;
        }
        if (size == 0) {
            data = NULL;
            (void)snprintf(event, sizeof event, "message");
        } else if (size > 7 && memcmp(line, "event: ", 7) == 0) {
            (void)snprintf(event, sizeof event, "%.*s", (int)size - 7, line + 7);
        } else if (size > 6 && memcmp(line, "data: ", 6) == 0) {
            data = line + 6;
            data_length = size - 6;
        } else if (line[0] != ':' && !(size > 4 && memcmp(line, "id: ", 4) == 0)) {
            return fault(check, "not a line of an event stream: %.*s", (int)size, line);
        }
    }
    return true;
}

static bool check_body(struct check *check, json_t *holder, const char *type, const char *text,
                       size_t length)
{
    if (type == NULL)
        return fault(check, "the body has no Content-Type");
    json_t *media = find_media(holder, type);
    if (media == NULL)
        return fault(check, "the document has no %s here", type);
    json_t *wanted = json_object_get(media, "schema");
    if (strncmp(type, "application/cbor", 16) == 0) {
        json_t *value = cbor_read(text, length);
        if (value == NULL)
            return fault(check, "not one well-formed item of CBOR");
        const bool ok = fits_whole(check, wanted, value);
        json_decref(value);
        return ok;
    }
    if (json_object_get(media, "x-line") != NULL)
        return check_lines(check, json_object_get(media, "x-line"), text, length);
    if (json_object_get(media, "x-events") != NULL)
        return check_events(check, json_object_get(media, "x-events"), text, length);
    if (strstr(type, "json") != NULL)
        return check_json(check, wanted, text, length);
    return true; /* text */
}

/* ---- Exchanges ------------------------------------------------------------------------------- */

static void note(struct schema *schema, json_t *operation, const char *status)
{
    char line[160];
    (void)snprintf(line, sizeof line, "%s %s",
                   json_string_value(json_object_get(operation, "operationId")), status);
    if (json_object_get(schema->seen, line) != NULL)
        return;
    (void)json_object_set_new(schema->seen, line, json_true());
    const char *path = getenv("OPERATIONS_SEEN");
    FILE *file = path != NULL ? fopen(path, "a") : NULL;
    if (file == NULL)
        return;
    (void)fprintf(file, "%s\n", line);
    (void)fclose(file);
}

/* A refusal of a path or method that the document does not have. */
static bool check_stray(struct check *check, json_t *path, const struct schema_exchange *exchange)
{
    if (strcmp(exchange->method, "OPTIONS") == 0 && path != NULL && exchange->status == 204)
        return true;
    if (exchange->status < 400)
        return fault(check, "%s %s is not in the document, but was answered %ld", exchange->method,
                     exchange->target, exchange->status);
    if (strcmp(exchange->method, "HEAD") == 0)
        return true;
    json_t *problem = follow(check->schema->root, "#/components/schemas/Problem");
    return check_json(check, problem, exchange->answer, exchange->answer_length);
}

static bool check_exchange(struct check *check, const struct schema_exchange *exchange)
{
    struct schema *schema = check->schema;
    const bool head = strcmp(exchange->method, "HEAD") == 0;
    char method[16] = "";
    for (size_t i = 0; exchange->method[i] != '\0' && i + 1 < sizeof method; i++)
        method[i] = (char)(exchange->method[i] | 0x20);
    json_t *path = find_path(schema, exchange->target);
    json_t *operation = json_object_get(path, head ? "get" : method);
    if (operation == NULL)
        return check_stray(check, path, exchange);

    char status[24];
    (void)snprintf(status, sizeof status, "%ld", exchange->status);
    json_t *responses = json_object_get(operation, "responses");
    json_t *response = resolved(schema, json_object_get(responses, status));
    if (response == NULL && exchange->status >= 400)
        response = resolved(schema, json_object_get(responses, "default"));
    if (response == NULL)
        return fault(check, "the status %ld is not in the document", exchange->status);
    if (!head)
        note(schema, operation, status);

    if (exchange->status < 300 &&
        (!check_parameters(check, path, operation, exchange->target) ||
         (exchange->request_length > 0 &&
          !check_body(check, resolved(schema, json_object_get(operation, "requestBody")),
                      exchange->request_type, exchange->request, exchange->request_length))))
        return false;

    check->strict = true;
    if (head || json_object_get(response, "content") == NULL)
        return exchange->answer_length == 0 ? true
                                            : fault(check, "there is a body where none may be");
    return check_body(check, response, exchange->answer_type, exchange->answer,
                      exchange->answer_length);
}

const char *schema_check(struct schema *schema, const struct schema_exchange *exchange)
{
    struct check check = {.schema = schema};
    if (check_exchange(&check, exchange))
        return NULL;
    char what[sizeof schema->fault];
    memcpy(what, schema->fault, sizeof what);
    (void)snprintf(schema->fault, sizeof schema->fault, "%s %s (%ld), %s: %.700s", exchange->method,
                   exchange->target, exchange->status, check.strict ? "answer" : "request", what);
    return schema->fault;
}

const char *schema_check_value(struct schema *schema, const char *name, json_t *value, bool strict)
{
    struct check check = {.schema = schema, .strict = strict};
    json_t *wanted = json_object_get(follow(schema->root, "#/components/schemas"), name);
    if (wanted == NULL)
        (void)fault(&check, "there is no schema %s", name);
    else if (fits_whole(&check, wanted, value))
        return NULL;
    return schema->fault;
}

/* ---- The document itself --------------------------------------------------------------------- */

static void lint_examples(struct schema *schema, json_t *holder, bool strict)
{
    const char *type, *name;
    json_t *media, *example;
    json_object_foreach(json_object_get(holder, "content"), type, media)
    {
        json_object_foreach(json_object_get(media, "examples"), name, example)
        {
            struct check check = {.schema = schema, .strict = strict};
            json_t *value = json_object_get(example, "value");
            schema->counts.examples++;
            bool ok = true;
            if (json_object_get(media, "x-line") != NULL) {
                const char *lines = json_string_value(value);
                char *text = malloc(strlen(lines) + 2);
                ok = text != NULL;
                if (ok) {
                    (void)sprintf(text, "%s\n", lines);
                    ok = check_lines(&check, json_object_get(media, "x-line"), text, strlen(text));
                }
                free(text);
            } else if (json_object_get(media, "x-events") != NULL) {
                ok = check_events(&check, json_object_get(media, "x-events"),
                                  json_string_value(value), json_string_length(value));
            } else {
                ok = fits_whole(&check, json_object_get(media, "schema"), value);
            }
            if (!ok) {
                (void)fprintf(stderr, "schema: example %s: %s\n", name, schema->fault);
                schema->counts.faults++;
            }
        }
    }
}

struct schema_counts schema_lint(struct schema *schema)
{
    const char *template, *method, *status, *name;
    json_t *path, *operation, *response;
    struct schema_counts *counts = &schema->counts;
    counts->operations = counts->statuses = counts->examples = counts->faults = 0;
    json_object_foreach(json_object_get(schema->root, "paths"), template, path)
    {
        json_object_foreach(path, method, operation)
        {
            if (json_object_get(operation, "operationId") == NULL)
                continue;
            counts->operations++;
            lint_examples(schema, json_object_get(operation, "requestBody"), false);
            json_object_foreach(json_object_get(operation, "responses"), status, response)
            {
                counts->statuses += strcmp(status, "default") != 0;
                lint_examples(schema, response, true);
            }
        }
    }
    json_object_foreach(follow(schema->root, "#/components/responses"), name, response)
        lint_examples(schema, response, true);
    return *counts;
}

size_t schema_unseen(struct schema *schema, const char *seen_file, size_t *out_of)
{
    json_t *seen = json_object();
    FILE *file = fopen(seen_file, "r");
    char line[256];
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        (void)json_object_set_new(seen, line, json_true());
    }
    if (file != NULL)
        (void)fclose(file);

    size_t unseen = 0;
    const char *template, *method, *status;
    json_t *path, *operation, *response;
    *out_of = 0;
    json_object_foreach(json_object_get(schema->root, "paths"), template, path)
    {
        json_object_foreach(path, method, operation)
        {
            const char *id = json_string_value(json_object_get(operation, "operationId"));
            json_object_foreach(json_object_get(operation, "responses"), status, response)
            {
                if (id == NULL || strcmp(status, "default") == 0)
                    continue;
                ++*out_of;
                (void)snprintf(line, sizeof line, "%s %s", id, status);
                if (json_object_get(seen, line) != NULL)
                    continue;
                (void)fprintf(stderr, "never seen: %s (%s %s)\n", line, method, template);
                unseen++;
            }
        }
    }
    json_decref(seen);
    return unseen;
}
