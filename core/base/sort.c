#include "core/base/sort.h"

#include "core/base/cancel.h"

#include <math.h>
#include <string.h>

static void sift_down(uint64_t *heap, size_t root, size_t count)
{
    const uint64_t value = heap[root];
    for (;;) {
        size_t child = 2 * root + 1;
        if (child >= count)
            break;
        if (child + 1 < count && heap[child + 1] > heap[child])
            child++;
        if (heap[child] <= value)
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = value;
}

void obb_sort_u64(uint64_t *values, size_t count)
{
    for (size_t i = count / 2; i > 0; i--)
        sift_down(values, i - 1, count);
    for (size_t end = count; end > 1; end--) {
        const uint64_t largest = values[0];
        values[0] = values[end - 1];
        values[end - 1] = largest;
        sift_down(values, 0, end - 1);
    }
}

static bool before(const struct obb_ranked *a, const struct obb_ranked *b)
{
    return a->major != b->major ? a->major < b->major : a->minor < b->minor;
}

#define POLLED_RANKED 4096 /* elements between two polls: 50 us */
#define RUN           16   /* elements; inserting so few one by one is cheaper than merging them */

static void insertion(struct obb_ranked *list, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const struct obb_ranked moving = list[i];
        size_t k = i;
        for (; k > 0 && before(&moving, &list[k - 1]); k--)
            list[k] = list[k - 1];
        list[k] = moving;
    }
}

/* Merges 0..middle-1 and middle..count-1 of `list` into `out`. Returns false if it was
 * cancelled. */
static bool merge(const struct obb_ranked *list, size_t middle, size_t count,
                  struct obb_ranked *out, const atomic_bool *cancel)
{
    const bool ordered = middle >= count || !before(&list[middle], &list[middle - 1]);
    size_t a = 0, b = middle;
    for (size_t i = 0; i < count;) {
        const size_t end = count - i < POLLED_RANKED ? count : i + POLLED_RANKED;
        if (obb_cancelled(cancel))
            return false;
        if (ordered) {
            memcpy(out + i, list + i, (end - i) * sizeof *list);
            i = end;
        }
        for (; i < end; i++)
            out[i] =
                b == count || (a < middle && !before(&list[b], &list[a])) ? list[a++] : list[b++];
    }
    return true;
}

struct obb_ranked *obb_sort_ranked(struct obb_ranked *list, size_t count, struct obb_ranked *spare,
                                   const atomic_bool *cancel)
{
    size_t unordered = 1;
    while (unordered < count && !before(&list[unordered], &list[unordered - 1]))
        unordered++;
    if (unordered >= count)
        return list;
    for (size_t i = 0; i < count; i += RUN) {
        if (i % POLLED_RANKED == 0 && obb_cancelled(cancel))
            return NULL;
        insertion(list + i, count - i < RUN ? count - i : RUN);
    }
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            const size_t rest = count - i;
            if (!merge(list + i, width, rest < 2 * width ? rest : 2 * width, spare + i, cancel))
                return NULL;
        }
        struct obb_ranked *sorted = spare;
        spare = list;
        list = sorted;
    }
    return list;
}

/* How elements of any size compare. */
struct order {
    size_t size;
    int (*compare)(const void *left, const void *right);
    const atomic_bool *cancel;
    unsigned compared; /* since the last poll */
};

/* Copies an element. A size that the compiler knows makes sorting points of the plane 6 %
 * faster. */
static void copy(const struct order *o, void *to, const void *from)
{
    if (o->size == 16)
        memcpy(to, from, 16);
    else
        memcpy(to, from, o->size);
}

/* Counts a comparison. Returns false if the sort is cancelled. */
static bool goes_on(struct order *o)
{
    enum { POLLED = 32 };
    if (++o->compared < POLLED)
        return true;
    o->compared = 0;
    return !obb_cancelled(o->cancel);
}

/* Merges the runs from..middle-1 and middle..end-1 of `list` into `out`. Returns false if it was
 * cancelled. */
static bool merge_runs(struct order *o, const char *list, size_t from, size_t middle, size_t end,
                       char *out)
{
    const size_t size = o->size;
    if (!goes_on(o))
        return false;
    if (middle >= end || o->compare(list + (middle - 1) * size, list + middle * size) <= 0) {
        enum { BLOCK = 4096 };
        for (size_t i = from; i < end; i += BLOCK) {
            if (i > from && obb_cancelled(o->cancel))
                return false;
            memcpy(out + i * size, list + i * size, (end - i < BLOCK ? end - i : BLOCK) * size);
        }
        return true;
    }
    size_t a = from, b = middle;
    for (size_t i = from; i < end; i++) {
        if (!goes_on(o))
            return false;
        const bool first =
            b == end || (a < middle && o->compare(list + a * size, list + b * size) <= 0);
        copy(o, out + i * size, list + (first ? a++ : b++) * size);
    }
    return true;
}

bool obb_sort_by(void *list, size_t count, size_t size,
                 int (*compare)(const void *left, const void *right), void *spare,
                 const atomic_bool *cancel)
{
    struct order o = {.size = size, .compare = compare, .cancel = cancel};
    char *from = list, *to = spare;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            const size_t middle = count - i < width ? count : i + width,
                         end = count - i < 2 * width ? count : i + 2 * width;
            if (!merge_runs(&o, from, i, middle, end, to))
                return false;
        }
        char *sorted = to;
        to = from;
        from = sorted;
    }
    if (from != list)
        memcpy(list, from, count * size);
    return true;
}

int obb_compare_u64(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

uint64_t obb_sort_rank(double value)
{
    const double positive = 0.0 + fabs(value);
    uint64_t bits;
    memcpy(&bits, &positive, sizeof bits);
    return bits;
}
