/* Records of the journal: what a commit did, or a piece of a snapshot, as bytes and back.
 *
 * A record is physical: it holds what came out of a commit to the bit (core/scene/effects.h), not
 * what was asked for. So a later version of obbd applies it to the same scene. A commit of poses
 * takes about 60 bytes a pose, a new box 100 to 150.
 *
 * All numbers are little-endian:
 *
 *   length    u32   of the whole record
 *   checksum  u32   CRC-32C of all that follows
 *   version   u8    WIRE_RECORD_VERSION
 *   kind      u8
 *   the fields of wire_record, in their order in record.c
 *
 * Steps to change the format:
 *   1. Raise WIRE_RECORD_VERSION, and write down beside it what is new.
 *   2. Let wire_record_read take every version from 1 on; the bytes of an old version must give the
 *      same effects as ever. wire_record_write writes the newest only.
 *   3. Keep records of the version before as bytes in tests/proto/record, and test that they are
 *      read. */
#ifndef WIRE_RECORD_H
#define WIRE_RECORD_H

#include "proto/base/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* 1   the first
 * 2   how many entries of each kind the commit had, and which boxes its puts named
 * 3   which record it follows: `base`
 * 4   the effects of a large commit may come before it, in parts
 * 5   the word that a snapshot is whole: WIRE_RECORD_WHOLE
 * 6   how many boxes the scene has: `boxes`; and hashes of commits */
enum { WIRE_RECORD_VERSION = 6 };

typedef enum wire_record_kind {
    WIRE_RECORD_MADE,     /* the scene `name` was made, and the effects are those of its making */
    WIRE_RECORD_COMMIT,   /* effects on the state before */
    WIRE_RECORD_GONE,     /* the scene is no more */
    WIRE_RECORD_SNAPSHOT, /* the head of a snapshot: a state of the scene `name` without boxes */
    WIRE_RECORD_BOXES,    /* a piece of it: frames by name, then boxes by id, all of them new */
    /* a commit before the end of the snapshot, with an id that the client may repeat */
    WIRE_RECORD_REMEMBERED,
    /* effects of the commit that follows, in their order; id.counter counts its parts from 0 */
    WIRE_RECORD_PART,
    /* a snapshot of the scene `name` is whole, whose pieces lie beside the log under the id of this
     * record. No record follows it */
    WIRE_RECORD_WHOLE,
    WIRE_RECORD_KINDS
} wire_record_kind;

/* Tells a record from all others. Zeroes: no record. */
typedef struct wire_record_id {
    uint64_t writer;  /* who wrote it: random bits of a process */
    uint64_t counter; /* the how-manieth record of that process it is */
} wire_record_id;

typedef struct wire_record {
    wire_record_kind kind;
    uint64_t epoch; /* of the scene */
    /* Of SNAPSHOT, the counter is the number of the snapshot, and there is no writer. */
    wire_record_id id;
    /* The newest record of the scene before this one; of SNAPSHOT and WHOLE: the newest one that
     * the snapshot holds. Zeroes: there is none, or nobody knows it any more. */
    wire_record_id base;
    uint64_t base_revision; /* the state that the commit builds on */
    /* The id of the next new box before the commit. Of WHOLE: the bytes of the pieces. */
    uint64_t base_id;
    /* The last record of the log that the writer had seen. Of WHOLE: the place of `base`. */
    uint64_t seen;
    obb_str name;      /* of the scene: of MADE, SNAPSHOT and WHOLE; else empty */
    obb_str commit_id; /* as the client chose it, up to 64 bytes; empty: none */
    obb_str answer;    /* what the answer to a repeated commit is made of; may be empty */
    /* Of MADE and COMMIT: the effects came before, in parts, and the list is empty. Of PART: it is
     * not the last one. */
    bool in_parts;
    bool has_hash;
    /* Of MADE and COMMIT in a log of many processes: obb_fingerprint_hash of the state after the
     * commit. In pieces of a snapshot: obb_digest_exact of that. */
    uint64_t hash;
    bool has_boxes;
    uint64_t boxes; /* of the scene after the commit; of WHOLE: in the newest state */
    /* Of MADE and COMMIT; of MADE always with the settings that the scene was made with, and with
     * revision 0 if nothing else was done. Of SNAPSHOT and WHOLE without list, with settings; of
     * WHOLE they are those of the newest state. Of BOXES and PART only the list; of REMEMBERED
     * only the moment. */
    obb_effects effects;
} wire_record;

/* Returns whether two ids are of the same record. */
bool wire_record_id_equal(wire_record_id a, wire_record_id b);

/* Returns false for zeroes. */
bool wire_record_id_is(wire_record_id id);

/* Appends the record. `dimensions` is that of the scene after the commit. Without memory
 * out->failed is set. About 30 ns a pose. */
void wire_record_write(const wire_record *record, int dimensions, struct wire_buf *out);

/* Takes the first one off records that follow each other. Returns false if their bytes do not begin
 * with a whole record. The record itself is not looked at. */
bool wire_record_next(obb_str *rest, obb_str *out);

/* Reads one whole record up to its effects, whose list is empty. Errors as wire_record_read. */
obb_status wire_record_head(obb_str bytes, wire_record *out);

/* Reads one whole record. The texts point into `bytes`, the list of effects is in the arena.
 *
 * errors  OBB_BAD_VALUE: not the bytes of a record, each truncation and flipped bit included;
 *         OBB_LIMIT: a newer obbd wrote it; OBB_NO_MEMORY. */
obb_status wire_record_read(obb_str bytes, struct obb_arena *arena, wire_record *out);

#endif
