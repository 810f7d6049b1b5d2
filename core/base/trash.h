/* Trash: large blocks that a thread has freed, until another thread gives them back to the system.
 *
 * The system takes about 100 ns to take a KiB back: 1 ms for 10 MB. A thread that must not compute
 * for so long begins to collect: obb_free then puts its large blocks aside. The thread hands them
 * to another one. Each thread has a trash of its own. */
#ifndef OBB_TRASH_H
#define OBB_TRASH_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes. Smaller blocks are freed at once: glibc gives no memory back to the system for them. */
#define OBB_TRASH_LARGE ((size_t)64 << 10)

struct obb_trash_block;

/* Called when a block of so many bytes begins to wait. */
typedef void obb_trash_note(void *context, size_t bytes);

/* Begins to collect on this thread. NULL ends it; the blocks that wait stay until they are
 * taken. */
void obb_trash_collect(obb_trash_note *note, void *context);

/* For alloc.c: takes over a block that is being freed. Returns false if the caller frees it. */
bool obb_trash_put(void *block);

/* Returns the bytes of this thread that wait, those that were taken included. */
size_t obb_trash_waiting(void);

/* Takes all blocks out of the trash of this thread. Returns NULL if there is none. *out_bytes is
 * their size. */
struct obb_trash_block *obb_trash_take(size_t *out_bytes);

/* Gives taken blocks back to the system. NULL is fine. Any thread. */
void obb_trash_empty(struct obb_trash_block *blocks);

/* Says that taken blocks of so many bytes are given back. The thread that took them. */
void obb_trash_emptied(size_t bytes);

#endif
