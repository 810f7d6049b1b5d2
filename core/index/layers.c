#include "core/index/layers.h"

#include "core/base/alloc.h"
#include "core/base/least.h"
#include "core/index/index_body.h"

#include <assert.h>
#include <string.h>

/* Merging: a new level takes in the levels before it as long as each is at most MERGE_RATIO times
 * as large as the entries gathered so far. So the sizes of levels grow geometrically, and a box is
 * indexed again a logarithmic number of times. */
#define MERGE_RATIO 4
#define MERGE_LIMIT \
    7168               /* entries that a commit may index again beyond MERGE_RATIO times its own */
#define ENDED_AHEAD 16 /* ended versions that are fetched ahead */
#define BITS_WORDS  16 /* words of 64 ids in a set of bits, for each entry it serves, at most */
#define SMALL       16384 /* entries; the commit itself rebuilds decayed layers of up to so many */
#define MOST_LEVELS 8     /* layers with more levels are decayed */

struct level {
    struct obb_index *index;
    uint64_t newest; /* revision of the index; entries were born after that of the level before */
    uint64_t floor;  /* entries born up to it are in an earlier level too and count as dead */
    size_t dead;     /* dead entries: exact, or an upper bound */
    size_t ending;   /* dead entries that died with the commit of these layers */
    bool exact;
    bool twice; /* an id may be in it twice: a version that the commit of the level ended, too */
};

struct obb_layers {
    size_t references;
    size_t bytes;    /* without the indexes */
    size_t *account; /* holds `bytes`; NULL: none */
    int dimensions;
    bool short_lived; /* few questions are asked of them (obb_layers_short_lived) */
    const struct obb_kernels *kernels;
    uint64_t revision;
    size_t alive;
    uint64_t ended; /* versions ended since the first layers of this line */
    size_t level_count;
    struct level levels[]; /* oldest first */
};

static obb_status create(int dimensions, const struct obb_kernels *kernels, size_t level_count,
                         size_t *account, struct obb_layers **out)
{
    const size_t bytes = sizeof(struct obb_layers) + level_count * sizeof(struct level);
    struct obb_layers *layers = obb_calloc(1, bytes);
    if (layers == NULL)
        return OBB_NO_MEMORY;
    layers->bytes = obb_heap_bytes(bytes);
    layers->account = account;
    if (account != NULL)
        *account += layers->bytes;
    layers->references = 1;
    layers->dimensions = dimensions;
    layers->kernels = kernels;
    *out = layers;
    return OBB_OK;
}

obb_status obb_layers_create(int dimensions, const struct obb_kernels *kernels,
                             struct obb_layers **out)
{
    return create(dimensions, kernels != NULL ? kernels : obb_kernels_choose(OBB_KERNEL_AUTO), 0,
                  NULL, out);
}

void obb_layers_short_lived(struct obb_layers *layers) { layers->short_lived = true; }

void obb_layers_charge(struct obb_layers *layers, size_t *account)
{
    assert(layers->account == NULL);
    layers->account = account;
    *account += layers->bytes;
    for (size_t i = 0; i < layers->level_count; i++)
        obb_index_charge(layers->levels[i].index, account);
}

void obb_layers_charge_pairs(const struct obb_layers *layers)
{
    for (size_t i = 0; i < layers->level_count; i++)
        obb_index_charge_pairs(layers->levels[i].index);
}

void obb_layers_drop_pairs(const struct obb_layers *layers)
{
    for (size_t i = 0; i < layers->level_count; i++)
        obb_index_drop_pairs(layers->levels[i].index);
}

size_t obb_layers_bytes(const struct obb_layers *layers)
{
    size_t sum = layers->bytes;
    for (size_t i = 0; i < layers->level_count; i++)
        sum += obb_index_bytes(layers->levels[i].index);
    return sum;
}

void obb_layers_ref(struct obb_layers *layers) { layers->references++; }

void obb_layers_unref(struct obb_layers *layers)
{
    if (layers == NULL || --layers->references > 0)
        return;
    for (size_t i = 0; i < layers->level_count; i++)
        obb_index_unref(layers->levels[i].index);
    if (layers->account != NULL)
        *layers->account -= layers->bytes;
    obb_free(layers);
}

int obb_layers_dimensions(const struct obb_layers *layers) { return layers->dimensions; }

uint64_t obb_layers_most_id(const struct obb_layers *layers)
{
    uint64_t most = 0;
    for (size_t i = 0; i < obb_layers_levels(layers); i++) {
        const uint64_t id = obb_layers_level(layers, i)->most_id;
        most = id > most ? id : most;
    }
    return most;
}

size_t obb_layers_alive(const struct obb_layers *layers) { return layers->alive; }

size_t obb_layers_entries(const struct obb_layers *layers)
{
    size_t sum = 0;
    for (size_t i = 0; i < layers->level_count; i++)
        sum += obb_index_count(layers->levels[i].index);
    return sum;
}

static void append(struct obb_layers *layers, struct level level)
{
    obb_index_ref(level.index);
    if (layers->account != NULL)
        obb_index_charge(level.index, layers->account);
    layers->levels[layers->level_count++] = level;
}

static uint64_t born(const struct obb_version *version)
{
    return atomic_load_explicit(&version->born, memory_order_relaxed);
}

/* Returns whether an entry is part of the state of `revision`. Its slot may hold another version by
 * now. */
static bool alive(const struct level *level, const struct obb_version *version, uint64_t revision)
{
    return obb_version_alive(version, level->newest, revision) && born(version) > level->floor;
}

/* Returns whether an entry is part of the newest state. */
static bool current(const struct level *level, const struct obb_version *version)
{
    return alive(level, version, OBB_NEVER - 1);
}

/* Returns the first of the levels that are indexed again, with all after it, by a commit that adds
 * so many versions. */
static size_t first_merged(const struct obb_layers *layers, size_t added_count)
{
    const size_t count = layers->level_count, total = obb_layers_entries(layers) + added_count;
    if (total <= SMALL && (total - layers->alive) * 3 > total)
        return 0;
    if (total <= SMALL && count >= MOST_LEVELS / 2) {
        /* A base that is large beside what lies over it stays until a third of all is dead. */
        const size_t base = obb_index_count(layers->levels[0].index);
        return base > (total - base) * MERGE_RATIO ? 1 : 0;
    }
    size_t first = count, again = 0;
    while (added_count > 0 && first > 0) {
        const size_t size = obb_index_count(layers->levels[first - 1].index);
        if (size > (added_count + again) * MERGE_RATIO ||
            again + size > MERGE_LIMIT + added_count * MERGE_RATIO)
            break;
        again += size;
        first--;
    }
    return first;
}

/* A set of ids, as bits. */
struct id_bits {
    uint64_t first, last; /* no id outside is in the set; first > last: empty */
    uint64_t *words;      /* NULL: the ids are too far apart, or there are none */
    size_t word_count;
};

/* Makes the set that of the ids of versions, as far as it can hold them. */
static void id_bits_set(struct id_bits *bits, const struct obb_version *const *versions,
                        size_t count)
{
    if (bits->words == NULL)
        return;
    memset(bits->words, 0, bits->word_count * sizeof *bits->words);
    for (size_t i = 0; i < count; i++) {
        const uint64_t bit = versions[i]->id - bits->first;
        if (bit <= bits->last - bits->first)
            bits->words[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

static bool id_bits_have(const struct id_bits *bits, uint64_t id)
{
    const uint64_t bit = id - bits->first;
    return bits->words != NULL && bits->first <= id && id <= bits->last &&
           (bits->words[bit / 64] >> bit % 64 & 1) != 0;
}

/* Counts the versions that a commit ends as dead, each in its level. */
static void count_ended(struct obb_layers *next, const struct obb_version *const *ended,
                        size_t count)
{
    struct level *levels = next->levels;
    if (next->level_count == 1) { /* all are there: no need to look at them */
        levels[0].ending = count;
    } else {
        for (size_t i = 0; i < count; i++) {
            if (i + ENDED_AHEAD < count)
                __builtin_prefetch(&ended[i + ENDED_AHEAD]->born);
            size_t k = 0;
            while (k < next->level_count && levels[k].newest < born(ended[i]))
                k++;
            assert(k < next->level_count);
            levels[k].ending++;
        }
    }
    for (size_t k = 0; k < next->level_count; k++)
        levels[k].dead =
            obb_least(levels[k].dead + levels[k].ending, obb_index_count(levels[k].index));
}

/* Makes room for the ids of the levels from `first` on, which have so many entries. The caller
 * frees `words`. OBB_NO_MEMORY. */
static obb_status id_bits_init(struct id_bits *bits, const struct obb_layers *layers, size_t first,
                               size_t entries)
{
    *bits = (struct id_bits){.first = UINT64_MAX};
    for (size_t i = first; i < layers->level_count; i++) {
        const struct obb_index *index = layers->levels[i].index;
        bits->first = index->least_id < bits->first ? index->least_id : bits->first;
        bits->last = index->most_id > bits->last ? index->most_id : bits->last;
    }
    if (bits->first > bits->last || (bits->last - bits->first) / 64 > entries * BITS_WORDS)
        return OBB_OK;
    bits->word_count = (size_t)((bits->last - bits->first) / 64) + 1;
    bits->words = obb_malloc(bits->word_count, sizeof *bits->words);
    return bits->words != NULL ? OBB_OK : OBB_NO_MEMORY;
}

/* Gathers, from the levels from `first` on, the versions of ids that are not in `seen`, and adds
 * them to it. The newest come first: an id that was seen has a newer version, or the commit ends
 * it. So these are just those that are alive, unless an earlier commit removed boxes, or a version
 * is in two levels, or an id twice in one. Returns whether they are: where no id is twice in one,
 * a dead version can only come in beside all that are alive, and `dead` is never too small. */
static bool gather_by_ids(const struct obb_layers *next, size_t first, struct id_bits *seen,
                          const struct obb_version **out, size_t *out_count)
{
    size_t count = 0, expected = 0;
    for (size_t i = next->level_count; i-- > first;) {
        const struct level *level = &next->levels[i];
        const struct obb_version *const *versions = obb_index_versions(level->index);
        const uint64_t *ids = obb_index_ids(level->index);
        const size_t n = obb_index_count(level->index);
        if (level->twice)
            return false;
        expected += n - level->dead;
        for (size_t k = 0; k < n; k++) { /* free of branches that depend on the ids */
            const uint64_t bit = ids[k] - seen->first;
            uint64_t *word = &seen->words[bit / 64];
            out[count] = versions[k];
            count += (*word >> bit % 64 & 1) == 0;
            *word |= (uint64_t)1 << bit % 64;
        }
    }
    *out_count = count;
    return count == expected;
}

/* Gathers them by asking each version, mostly at a cache miss. The entries that this commit ends
 * have no `died` yet: those that are in `ending` are left out. */
static size_t gather_by_versions(const struct obb_layers *next, size_t first,
                                 const struct id_bits *ending, const struct obb_version **out)
{
    size_t count = 0;
    for (size_t i = first; i < next->level_count; i++) {
        const struct level *level = &next->levels[i];
        const struct obb_version *const *versions = obb_index_versions(level->index);
        const uint64_t *ids = obb_index_ids(level->index);
        for (size_t k = 0, n = obb_index_count(level->index); k < n; k++)
            if (!id_bits_have(ending, ids[k]) && current(level, versions[k]))
                out[count++] = versions[k];
    }
    return count;
}

/* Gathers the versions of the levels from `first` on that are alive after the commit. out: has room
 * for all `entries` of these levels. *out_dead: how many of those gathered the commit ends, since
 * their ids are too far apart for bits. */
static obb_status gather(const struct obb_layers *next, size_t first,
                         const struct obb_version *const *ended, size_t ended_count, size_t entries,
                         const struct obb_version **out, size_t *out_count, size_t *out_dead)
{
    struct id_bits bits;
    const obb_status status = id_bits_init(&bits, next, first, entries);
    if (status != OBB_OK)
        return status;
    id_bits_set(&bits, ended, ended_count);
    if (bits.words == NULL || !gather_by_ids(next, first, &bits, out, out_count)) {
        id_bits_set(&bits, ended, ended_count);
        *out_count = gather_by_versions(next, first, &bits, out);
    }
    for (size_t i = first; i < next->level_count && bits.words == NULL; i++)
        *out_dead += next->levels[i].ending;
    obb_free(bits.words);
    return OBB_OK;
}

obb_status obb_layers_next(const struct obb_layers *previous,
                           const struct obb_version *const *added, size_t added_count,
                           const struct obb_version *const *ended, size_t ended_count,
                           uint64_t revision, const atomic_bool *cancel, struct obb_layers **out)
{
    assert(ended_count <= previous->alive);
    struct obb_layers *next;
    obb_status status = create(previous->dimensions, previous->kernels, previous->level_count + 1,
                               previous->account, &next);
    if (status != OBB_OK)
        return status;
    next->short_lived = previous->short_lived;
    next->revision = revision;
    next->alive = previous->alive + added_count - ended_count;
    next->ended = previous->ended + ended_count;
    for (size_t i = 0; i < previous->level_count; i++) {
        append(next, previous->levels[i]);
        next->levels[i].ending = 0;
    }

    count_ended(next, ended, ended_count);
    size_t kept = 0;
    for (size_t i = 0; i < next->level_count; i++) {
        const struct level level = next->levels[i];
        if (level.exact && level.dead == obb_index_count(level.index))
            obb_index_unref(level.index);
        else
            next->levels[kept++] = level;
    }
    next->level_count = kept;

    const size_t first = first_merged(next, added_count);
    size_t again = 0;
    for (size_t i = first; i < kept; i++)
        again += obb_index_count(next->levels[i].index);
    if (added_count + again == 0) {
        *out = next;
        return OBB_OK;
    }

    const struct obb_version **gathered = NULL;
    size_t count = 0, dead = 0;
    if (again > 0) {
        gathered = obb_malloc(added_count + again, sizeof *gathered);
        status = gathered == NULL
                     ? OBB_NO_MEMORY
                     : gather(next, first, ended, ended_count, again, gathered, &count, &dead);
    }
    if (status != OBB_OK) {
        obb_free((void *)gathered);
        obb_layers_unref(next);
        return status;
    }
    for (size_t i = 0; i < added_count && gathered != NULL; i++)
        gathered[count + i] = added[i];
    count += added_count;
    const struct obb_version *const *versions =
        gathered == NULL ? added : (const struct obb_version *const *)gathered;
    struct obb_index *index;
    if (next->short_lived && 0 < count && count <= OBB_INDEX_FEW)
        status = obb_index_build_few(versions, count, next->dimensions, next->kernels, &index);
    else
        status = obb_index_build(versions, NULL, count, next->dimensions, next->kernels, cancel,
                                 NULL, &index);
    obb_free((void *)gathered);
    if (status != OBB_OK) {
        obb_layers_unref(next);
        return status;
    }
    if (next->account != NULL)
        obb_index_charge(index, next->account);
    for (size_t i = first; i < kept; i++)
        obb_index_unref(next->levels[i].index);
    next->level_count = first + 1;
    next->levels[first] = (struct level){.index = index,
                                         .newest = revision,
                                         .dead = dead,
                                         .ending = dead,
                                         .exact = true,
                                         .twice = dead > 0};
    *out = next;
    return OBB_OK;
}

bool obb_layers_decayed(const struct obb_layers *layers)
{
    const size_t total = obb_layers_entries(layers);
    return layers->level_count > MOST_LEVELS || (total - layers->alive) * 4 > total;
}

/* ---- Rebuilding ------------------------------------------------------------------------------ */

obb_status obb_layers_over(const struct obb_layers *layers, struct obb_index *index,
                           uint64_t revision, struct obb_layers **out)
{
    struct obb_layers *fresh;
    /* Workers make `fresh`, and only the writer may count: obb_layers_rebased charges the index. */
    const obb_status status = create(layers->dimensions, layers->kernels, 1, NULL, &fresh);
    if (status != OBB_OK)
        return status;
    fresh->revision = revision;
    fresh->alive = obb_index_count(index);
    fresh->ended = layers->ended;
    fresh->levels[fresh->level_count++] =
        (struct level){.index = index, .newest = revision, .exact = true};
    *out = fresh;
    return OBB_OK;
}

obb_status obb_layers_rebased(struct obb_layers *layers, const struct obb_layers *fresh,
                              struct obb_layers **out)
{
    assert(fresh->level_count == 1);
    size_t first = 0; /* the first level that stays */
    while (first < layers->level_count && layers->levels[first].newest <= fresh->revision)
        first++;
    if (first == 0) {
        obb_layers_ref(layers);
        *out = layers;
        return OBB_OK;
    }
    /* Both are layers of one line, since a line has no entries from before its start. */
    assert(layers->ended >= fresh->ended);
    struct obb_layers *rebased;
    const obb_status status = create(layers->dimensions, layers->kernels, layers->level_count + 1,
                                     layers->account, &rebased);
    if (status != OBB_OK)
        return status;
    rebased->revision = layers->revision;
    rebased->alive = layers->alive;
    rebased->ended = layers->ended;
    struct level base = fresh->levels[0];
    const uint64_t since = layers->ended - fresh->ended; /* some may be in later levels */
    const size_t count = obb_index_count(base.index);
    base.dead = since < count ? (size_t)since : count;
    base.exact = since == 0;
    append(rebased, base);
    obb_pair_cache_succeed(base.index->pair_cache, layers->levels[0].index->pair_cache);
    for (size_t i = first; i < layers->level_count; i++) {
        struct level level = layers->levels[i];
        if (i == first && layers->levels[i - 1].newest < fresh->revision) {
            /* Some entries may be in the base too. It does not pay to count them. */
            level.floor = fresh->revision;
            level.dead = obb_index_count(level.index);
            level.exact = false;
        }
        append(rebased, level);
    }
    *out = rebased;
    return OBB_OK;
}

size_t obb_layers_levels(const struct obb_layers *layers) { return layers->level_count; }

const struct obb_index *obb_layers_level(const struct obb_layers *layers, size_t level)
{
    return layers->levels[level].index;
}

/* All versions that were born at the revision of a level are in it. So if it has no more entries
 * than that, it has no others. */
const struct obb_index *obb_layers_made(const struct obb_layers *layers, uint64_t revision,
                                        size_t count)
{
    if (layers->level_count == 0)
        return NULL;
    const struct level *newest = &layers->levels[layers->level_count - 1];
    const bool same = newest->newest == revision && obb_index_count(newest->index) == count;
    return same ? newest->index : NULL;
}

bool obb_layers_shows(const struct obb_layers *layers, size_t level,
                      const struct obb_version *version, uint64_t revision)
{
    return alive(&layers->levels[level], version, revision);
}

bool obb_layers_whole(const struct obb_layers *layers, size_t level, uint64_t revision)
{
    const struct level *l = &layers->levels[level];
    return l->exact && l->dead == 0 && revision == layers->revision;
}

bool obb_layers_supersede(const struct obb_layers *layers, uint64_t revision)
{
    bool once = true;
    for (size_t i = 0; i < layers->level_count; i++)
        once = once && layers->levels[i].floor == 0;
    return once && revision == layers->revision;
}

const struct obb_kernels *obb_layers_kernels(const struct obb_layers *layers)
{
    return layers->kernels;
}

bool obb_layers_validate(const struct obb_layers *layers, uint64_t revision)
{
    size_t sum = 0;
    for (size_t i = 0; i < layers->level_count; i++) {
        const struct level *level = &layers->levels[i];
        if (!obb_index_validate(level->index) ||
            (i > 0 && level->newest <= layers->levels[i - 1].newest))
            return false;
        const struct obb_version *const *versions = obb_index_versions(level->index);
        const size_t count = obb_index_count(level->index);
        size_t here = 0;
        for (size_t k = 0; k < count; k++)
            here += alive(level, versions[k], revision);
        if (revision == layers->revision &&
            (level->exact ? here + level->dead != count : here + level->dead < count))
            return false;
        sum += here;
    }
    return revision != layers->revision || sum == layers->alive;
}

/* ---- Queries ----------------------------------------------------------------------------------
 *
 * A query walks every level in turn and skips dead entries. It reads no version of a level without
 * dead entries. */

struct filter {
    const struct level *level;
    uint64_t revision;
    void *context;
    obb_index_visit *visit;
    obb_index_reach *reach;
};

static bool visit_alive(void *context, const struct obb_version *version, obb_verdict verdict)
{
    const struct filter *filter = context;
    return !alive(filter->level, version, filter->revision) ||
           filter->visit(filter->context, version, verdict);
}

static double reach_alive(void *context, const struct obb_version *version, double max_distance)
{
    const struct filter *filter = context;
    return alive(filter->level, version, filter->revision)
               ? filter->reach(filter->context, version, max_distance)
               : max_distance;
}

bool obb_layers_query(const struct obb_layers *layers, uint64_t revision, const obb_bounds *bounds,
                      void *context, obb_index_visit *visit)
{
    for (size_t i = 0; i < layers->level_count; i++) {
        struct filter filter = {
            .level = &layers->levels[i], .revision = revision, .context = context, .visit = visit};
        const bool whole = obb_layers_whole(layers, i, revision);
        if (!(whole ? obb_index_query(filter.level->index, bounds, context, visit)
                    : obb_index_query(filter.level->index, bounds, &filter, visit_alive)))
            return false;
    }
    return true;
}

bool obb_layers_overlap(const struct obb_layers *layers, uint64_t revision, const obb_solid *box,
                        double margin, void *context, obb_index_visit *visit)
{
    for (size_t i = 0; i < layers->level_count; i++) {
        struct filter filter = {
            .level = &layers->levels[i], .revision = revision, .context = context, .visit = visit};
        const bool whole = obb_layers_whole(layers, i, revision);
        if (!(whole ? obb_index_overlap(filter.level->index, box, margin, context, visit)
                    : obb_index_overlap(filter.level->index, box, margin, &filter, visit_alive)))
            return false;
    }
    return true;
}

void obb_layers_rays(const struct obb_layers *layers, uint64_t revision, struct obb_cast *casts,
                     size_t count, obb_vec3 grow, bool closest, obb_index_reach *visit)
{
    for (size_t i = 0; i < layers->level_count; i++) {
        const struct level *level = &layers->levels[i];
        if (obb_layers_whole(layers, i, revision)) {
            obb_index_rays(level->index, casts, count, grow, closest, visit);
            continue;
        }
        struct filter filters[OBB_CASTS];
        struct obb_cast filtered[OBB_CASTS];
        for (size_t c = 0; c < count; c++) {
            filters[c] = (struct filter){
                .level = level, .revision = revision, .context = casts[c].context, .reach = visit};
            filtered[c] = (struct obb_cast){.ray = casts[c].ray, .context = &filters[c]};
        }
        obb_index_rays(level->index, filtered, count, grow, false, reach_alive);
        for (size_t c = 0; c < count; c++)
            casts[c].ray.max_distance = filtered[c].ray.max_distance;
    }
}

double obb_layers_nearest(const struct obb_layers *layers, uint64_t revision,
                          const obb_bounds *bounds, double max_distance, void *context,
                          obb_index_reach *visit)
{
    for (size_t i = 0; i < layers->level_count && max_distance >= 0; i++) {
        struct filter filter = {
            .level = &layers->levels[i], .revision = revision, .context = context, .reach = visit};
        max_distance =
            obb_layers_whole(layers, i, revision)
                ? obb_index_nearest(filter.level->index, bounds, max_distance, context, visit)
                : obb_index_nearest(filter.level->index, bounds, max_distance, &filter,
                                    reach_alive);
    }
    return max_distance;
}
