#include "server/log/verify.h"

#include "server/log/log_file.h"

#include <stdarg.h>

struct verify {
    struct srv_log_file file;
    struct obb_arena arena; /* of one line */
    struct obb_scene *scene;
    obb_digest digest; /* of its newest state */
    size_t commits;
    char *line;
    size_t line_size;
};

/* Writes the line of a state that is not the one of the log. */
__attribute__((format(printf, 3, 4))) static srv_verdict
differs(struct verify *v, uint64_t revision, const char *format, ...)
{
    char what[400];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(what, sizeof what, format, values);
    va_end(values);
    (void)snprintf(v->line, v->line_size, "%.80s: revision %llu differs (line %zu): %s",
                   v->file.path, (unsigned long long)revision, v->file.line, what);
    return SRV_VERIFY_DIFFERS;
}

static srv_verdict hash_differs(struct verify *v, uint64_t revision, uint64_t found, uint64_t said)
{
    return differs(v, revision, "its hash is %016llx, and the log says %016llx",
                   (unsigned long long)found, (unsigned long long)said);
}

/* Tells why the file cannot be read at the line of this revision. */
static srv_verdict broken(struct verify *v, uint64_t revision)
{
    if (v->file.began)
        return differs(v, revision, "%s", v->file.error);
    srv_log_file_explain(&v->file, v->line, v->line_size);
    return SRV_VERIFY_UNREADABLE;
}

static srv_verdict check_hash(struct verify *v, uint64_t said)
{
    obb_scene_info info;
    obb_scene_info_without_bounds(v->scene, &info);
    const uint64_t found = obb_digest_content(&v->digest, &info.settings, info.now.time);
    return found == said ? SRV_VERIFY_EQUAL : hash_differs(v, info.now.revision, found, said);
}

/* Commits what was prepared, and follows its effects with the digest. */
static obb_status commit(struct verify *v, struct obb_prepared *prepared,
                         obb_committed *out_committed)
{
    obb_effects effects;
    const obb_status status = obb_prepared_effects(prepared, &v->arena, &effects);
    if (status != OBB_OK) {
        obb_edit_discard(prepared);
        return status;
    }
    if (effects.replaces_all)
        v->digest = (obb_digest){0};
    for (size_t i = 0; i < effects.count; i++) {
        if (effects.list[i].before != NULL)
            obb_digest_remove(&v->digest, effects.list[i].before);
        if (effects.list[i].after != NULL)
            obb_digest_add(&v->digest, effects.list[i].after);
    }
    obb_edit_commit(prepared, out_committed);
    return OBB_OK;
}

/* Makes the state that the log begins with. */
static srv_verdict begin(struct verify *v)
{
    wire_log_head head = {.boxes = 0};
    obb_effects effects;
    if (!srv_log_file_open(&v->file, &v->arena, &head, &effects))
        return broken(v, head.moment.revision);
    obb_status status = obb_scene_create(head.scene, &head.settings, 0, NULL, &v->scene);
    struct obb_prepared *prepared = NULL;
    obb_committed done;
    if (status == OBB_OK)
        status = obb_effects_prepare(v->scene, &effects, true, &v->arena, &prepared);
    if (status == OBB_OK)
        status = commit(v, prepared, &done);
    if (status != OBB_OK)
        return differs(v, head.moment.revision, "its boxes cannot be: %s",
                       obb_status_sentence(status));
    const uint64_t exact = obb_digest_exact(&v->digest, &head.settings, head.moment, head.next_id);
    const srv_verdict verdict = check_hash(v, head.hash);
    return verdict == SRV_VERIFY_EQUAL && exact != head.exact
               ? hash_differs(v, head.moment.revision, exact, head.exact)
               : verdict;
}

static srv_verdict play(struct verify *v, const wire_log_commit *line)
{
    struct obb_prepared *prepared = NULL;
    obb_committed done;
    obb_fault fault;
    obb_status status =
        obb_edit_prepare(v->scene, &line->edit, 0, SIZE_MAX, &v->arena, &prepared, &fault);
    if (status == OBB_OK)
        status = commit(v, prepared, &done);
    if (status != OBB_OK)
        return differs(v, line->moment.revision, "%s", obb_status_sentence(status));
    if (done.moment.revision != line->moment.revision)
        return differs(v, line->moment.revision, "the commit changes nothing");
    v->commits++;
    return check_hash(v, line->hash);
}

static srv_verdict play_all(struct verify *v)
{
    obb_scene_info now;
    for (;;) {
        obb_arena_reset(&v->arena);
        wire_log_commit line;
        obb_scene_info_without_bounds(v->scene, &now);
        const srv_log_read read = srv_log_file_next(&v->file, &now, &v->arena, &line);
        if (read == SRV_LOG_END)
            break;
        if (read == SRV_LOG_BROKEN)
            return broken(v, now.now.revision + 1);
        const srv_verdict verdict = play(v, &line);
        if (verdict != SRV_VERIFY_EQUAL)
            return verdict;
    }
    const obb_str name = obb_scene_name(v->scene);
    (void)snprintf(v->line, v->line_size,
                   "%.80s: equal; %zu commits up to revision %llu of the scene %s", v->file.path,
                   v->commits, (unsigned long long)now.now.revision, wire_show(name).text);
    return SRV_VERIFY_EQUAL;
}

srv_verdict srv_verify(const char *path, char *line, size_t line_size)
{
    struct verify v = {.file = {.path = path}, .line_size = line_size};
    v.line = line;
    obb_arena_init(&v.arena);
    srv_verdict verdict = begin(&v);
    if (verdict == SRV_VERIFY_EQUAL)
        verdict = play_all(&v);
    srv_log_file_close(&v.file);
    obb_scene_destroy(v.scene);
    obb_arena_fini(&v.arena);
    return verdict;
}
